// SPDX-License-Identifier: MIT
//
// The proxy between a node and its database does to connections what it
// promises, and nothing else.  An echo server is behind it; the last tests use
// a PostgreSQL.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';

import { eventually, sleep, within } from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { TcpProxy } from './proxy.mjs';

/* A byte that passes has passed after this time. */
const QUIET_MS = 150;

/** A client that collects what it receives. */
class Client {
	constructor(port)
	{
		this.heard = '';
		this.socket = net.connect({ host: '127.0.0.1', port });
		this.socket.setEncoding('utf8').on('data', (text) => { this.heard += text; });
		this.closed = new Promise((resolve) => {
			this.socket.on('error', (error) => { this.error = error.code; });
			this.socket.on('close', () => resolve(this.error ?? 'end'));
		});
	}

	async say(text)
	{
		const from = this.heard.length;

		this.socket.write(text);
		await this.hears(text, from);
	}

	async hears(text, from = 0)
	{
		await eventually(() => this.heard.slice(from).includes(text),
			() => `"${text}" comes back; ${JSON.stringify(this.heard.slice(-80))}`);
	}

	ended()
	{
		return within(this.closed, 10_000, 'the connection ends');
	}
}

describe('a proxy for tests', () => {
	let echo;
	let proxy;
	const arrived = { bytes: 0, ends: [] };

	before(async () => {
		echo = net.createServer({ allowHalfOpen: true }, (socket) => {
			socket.on('data', (bytes) => {
				arrived.bytes += bytes.length;
				socket.write(bytes);
			});
			socket.on('end', () => {
				arrived.ends.push('end');
				socket.end();
			});
			socket.on('error', (error) => arrived.ends.push(error.code));
		});
		await new Promise((resolve) => { echo.listen(0, '127.0.0.1', resolve); });
		proxy = await new TcpProxy({ port: echo.address().port }).start();
	});
	after(async () => {
		await proxy.stop();
		echo.close();
	});

	it('passes bytes and ends on, and forgets what has ended', async () => {
		const client = new Client(proxy.port);

		await client.say('hello');
		await client.say('x'.repeat(1_000_000));
		client.socket.end('last words');
		assert.equal(await client.ended(), 'end');
		assert.ok(client.heard.endsWith('last words'));
		assert.equal(arrived.ends.at(-1), 'end');
		await eventually(() => proxy.links.size === 0, 'no connection is remembered');
	});

	it('cuts every connection with a reset on both sides, and takes new ones', async () => {
		const clients = [new Client(proxy.port), new Client(proxy.port)];

		for (const client of clients)
			await client.say('hello');
		proxy.cut();
		for (const client of clients)
			assert.equal(await client.ended(), 'ECONNRESET');
		await eventually(() => arrived.ends.slice(-2).join() === 'ECONNRESET,ECONNRESET',
			'the other side is reset');
		const next = new Client(proxy.port);
		await next.say('again');
		next.socket.destroy();
	});

	it('refuses, and takes connections again at the same port', async () => {
		const { port } = proxy;
		const client = new Client(port);

		await client.say('hello');
		await proxy.refuse();
		assert.equal(await client.ended(), 'ECONNRESET');
		assert.equal(await new Client(port).ended(), 'ECONNREFUSED');
		await proxy.accept();
		assert.equal(proxy.port, port);
		const next = new Client(port);
		await next.say('again');
		next.socket.destroy();
	});

	it('is a black hole until it is none, and then loses nothing', async () => {
		const client = new Client(proxy.port);

		await client.say('before');
		const { bytes } = arrived;
		const { heard } = client;
		proxy.blackhole();
		client.socket.write('held;');
		const late = new Client(proxy.port);
		late.socket.write('taken');
		await eventually(() => late.socket.readyState === 'open', 'a new connection is taken');
		await sleep(QUIET_MS);
		assert.equal(arrived.bytes, bytes);
		assert.equal(client.heard, heard);
		assert.equal(late.heard, '');
		proxy.forward();
		await client.hears('held;');
		await late.hears('taken');
		await client.say('after');
		client.socket.destroy();
		late.socket.destroy();
	});

	it('holds at most what the kernel and 64 pieces hold', async () => {
		const client = new Client(proxy.port);

		await client.say('before');
		proxy.blackhole();
		const much = 'y'.repeat(16 * 1024 * 1024);
		client.socket.write(`${much}end`);
		await sleep(QUIET_MS);
		assert.ok(client.socket.writableLength > 1024 * 1024, 'the sender is held back');
		proxy.forward();
		await client.hears('yend');
		assert.equal(client.heard.length, 'before'.length + much.length + 3);
		client.socket.destroy();
	});

	it('delays each way, in order', async () => {
		const client = new Client(proxy.port);

		await client.say('before');
		proxy.delay(60);
		const begun = process.hrtime.bigint();
		client.socket.write('one ');
		await sleep(5);
		client.socket.write('two');
		await client.hears('one two');
		proxy.delay(0);
		/*
		 * Two delays of 60 ms, less a tolerance for timers, which may
		 * fire a millisecond early.
		 */
		const ms = Number(process.hrtime.bigint() - begun) / 1e6;
		assert.ok(ms >= 117, `${ms} ms`);
		await client.say('three');
		client.socket.destroy();
	});

	it('lets a text through and loses the answer', async () => {
		const client = new Client(proxy.port);

		await client.say('before');
		const caught = proxy.cutAfter('COMMIT');
		await client.say('INSERT');
		const { bytes } = arrived;
		client.socket.write('COMMIT;');
		await within(caught, 10_000, 'the text is seen');
		assert.equal(await client.ended(), 'ECONNRESET');
		assert.ok(!client.heard.includes('COMMIT'));
		await eventually(() => arrived.bytes === bytes + 7, 'the text arrives');
		const next = new Client(proxy.port);
		await next.say('COMMIT');
		next.socket.destroy();
	});

	it('waits for another text before it', async () => {
		const [client, other] = [new Client(proxy.port), new Client(proxy.port)];

		await client.say('before');
		const caught = proxy.cutAfter('COMMIT', 'DELETE');
		await client.say('COMMIT;');
		await client.say('DELETE;');
		await other.say('COMMIT;');
		client.socket.write('COMMIT;');
		await within(caught, 10_000, 'the text is seen');
		assert.equal(await client.ended(), 'ECONNRESET');
		await other.say('still here');
		other.socket.destroy();
	});

	it('resets a client when nothing listens behind it', async () => {
		const nobody = await new TcpProxy({ port: 1 }).start();

		assert.equal(await new Client(nobody.port).ended(), 'ECONNRESET');
		await nobody.stop();
	});
});

describe('a PostgreSQL behind a proxy', () => {
	let cluster;
	let proxy;

	before(async () => {
		cluster = await new Cluster().start();
		proxy = await new TcpProxy({ port: cluster.port }).start();
	});
	after(async () => {
		await proxy?.stop();
		await cluster?.remove();
	});

	it('is reached with its password, and not without', async () => {
		const url = cluster.url('postgres', { port: proxy.port });

		assert.equal(await cluster.sql('SELECT 40 + 2', { url }), '42');
		await assert.rejects(cluster.sql('SELECT 1', { url: url.replace('twinbox@', 'twinbox:wrong@') }),
			/password authentication failed/);
	});

	it('has committed where the answer to COMMIT was lost', async () => {
		await cluster.sql('CREATE TABLE t (x int)');
		const psql = spawn(cluster.program('psql'), ['-Xq', '-d',
			cluster.url('postgres', { port: proxy.port })], { stdio: ['pipe', 'ignore', 'pipe'] });
		const ended = new Promise((resolve) => { psql.on('close', resolve); });
		let err = '';
		psql.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
		const caught = proxy.cutAfter('COMMIT');
		psql.stdin.end('BEGIN;\nINSERT INTO t VALUES (7);\nCOMMIT;\n');
		await within(caught, 10_000, 'COMMIT is seen');
		await within(ended, 10_000, 'psql ends');
		assert.match(err, /connection to server was lost|server closed the connection|Connection reset/);
		await eventually(async () => await cluster.sql('SELECT x FROM t') === '7', 'the row is there');
	});
});
