// SPDX-License-Identifier: MIT
//
// Clients that do not read, read one byte a second, or say nothing, while much
// is sent to them (F23, F24).  Each costs a bounded amount of memory and does
// not affect others, is closed by the rule for its case, and receives
// everything exactly once when it comes back.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { Ws, eventually, login, serverForFile, sleep, startServer, users, uuid7 }
	from '../e2e/harness.mjs';
import { loggedAt } from './logged.mjs';
import { connect, ping, text } from './rawws.mjs';

// The log has the end of a session at level debug only.
const DEBUG = { args: ['--log-level', 'debug'], unlimited: 'one user sends hundreds in arrays' };
const server = serverForFile({ before, after, afterEach }, undefined, DEBUG);
const SANITIZED = process.env.TWINBOX_SANITIZED !== undefined;
// The memory that a client which does not read may cost, in KiB: a page on its
// way to the client, of which one frame stays; and its session with the
// overhead of malloc.
const PAGE = 64;
const SESSION = 16;

/** Returns the resident memory of ${server} in KiB, without shared pages. */
function resident(server)
{
	const status = fs.readFileSync(`/proc/${server.pid}/status`, 'utf8');
	return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)[1]);
}

async function metric(name, server)
{
	const page = (await server.rest().get('/metrics')).text;
	return Number(new RegExp(`^twinbox_${name} (\\d+)$`, 'm').exec(page)[1]);
}

/** Waits until the server's log says that ${session} ended with ${code}. */
async function ended(session, code, ms, of = server)
{
	const line = new RegExp(`push\\.close session=${session} code=(\\d+)`);
	const [, found] = await eventually(() => line.exec(of.output()),
		`the end of session ${session}`, ms);

	assert.equal(Number(found), code);
}

/**
 * Sends ${n} messages of ${size} bytes.  Returns their ids when the last one
 * was delivered.
 */
async function fill(from, to, n, size)
{
	const ids = [];

	while (ids.length < n) {
		const batch = Array.from({ length: Math.min(50, n - ids.length) }, () =>
			({ id: uuid7(), to: to.name, body: 'f'.repeat(size) }));
		const { status, text: answer } = await from.post('/v1/messages', batch);
		assert.equal(status, 200, answer);
		ids.push(...batch.map((one) => one.id));
	}
	await eventually(async () => (await from.entry(ids.at(-1))).state === 'sent', 'the delivery');
	return ids;
}

/**
 * Opens a session that receives and acks everything from the beginning.
 * Returns the ids of its messages.
 */
async function comeBack(user, upto)
{
	const ws = new Ws(user.server, { token: user.token });
	ws.onframe = (frame) => {
		if (frame.type === 'event' && frame.seq % 16 === 0)
			ws.ack(frame.seq);
	};
	await ws.opened();
	await ws.hello({ after: '0', instance: 'back' });
	await ws.event((e) => e.seq === upto, `event ${upto}`, { ms: 60_000 });
	await ws.close();
	contiguous(ws.events());
	return ws.events().map((e) => e.id);
}

/** Waits until the server sends nothing more to any client. */
async function quiet(server)
{
	let last = -1;

	await eventually(async () => {
		const was = last;
		last = await metric('ws_events_total', server);
		return last === was || await sleep(300);
	}, 'nothing more is sent', 60_000);
}

/**
 * Opens ${n} clients with ${open}.  Returns the memory that each of them takes,
 * in KiB.  Memory that pages and caches take once is there after the first
 * ${first} clients, or in only one half of the others, so the smaller half is
 * used.
 */
async function measured(server, t, first, n, open)
{
	const half = first + (n - first) / 2;
	const sizes = [];

	for (let i = 0; i < n; i++) {
		if (i === first || i === half) {
			await quiet(server);
			sizes.push(resident(server));
		}
		await open(i);
	}
	await quiet(server);
	const [before, between] = sizes;
	const each = Math.min(between - before, resident(server) - between) / (n - half);
	t.diagnostic(`memory for each of ${n} clients: ${each.toFixed(0)} KiB`);
	return each;
}

/** Asserts that another user is served meanwhile. */
async function live(from, to, watching)
{
	const ids = [];

	for (let i = 0; i < 50; i++)
		ids.push((await from.send(to.name, `live ${i}`)).id);
	for (const id of ids)
		await watching.received(id);
}

describe('slow and silent clients', { concurrency: true }, () => {
	it('24 that read nothing: memory is bounded, the others are served, all is there later',
		async (t) => {
			const other = await startServer(DEBUG);
			t.after(() => other.stop());
			const [ann, bob, dan] = await users(other, 'ann', 'bob', 'dan');
			const devices = [bob, await bob.device('b'), await bob.device('c')];
			const ids = await fill(ann, bob, 200, 16_000);
			const watching = await dan.ws();
			const deaf = [];
			const each = await measured(other, t, 8, 24, async (i) => {
				const ws = await connect(other);
				await ws.upgrade();
				ws.socket.pause();
				ws.write(text({ type: 'hello', token: devices[i % 3].token,
					instance: `d${i}`, after: '0' }));
				deaf.push(ws);
			});
			ids.push(...await fill(ann, bob, 50, 16_000));
			await live(ann, dan, watching);
			if (!SANITIZED)
				assert.ok(each < PAGE + SESSION, `${each} KiB each`);
			// These clients also say nothing, so they are closed
			// after 35 s.
			await eventually(() => (other.output().match(/push\.close session=\S+ code=4408/g) ?? [])
				.length >= deaf.length, 'they are gone', 120_000);
			assert.deepEqual(await comeBack(bob, 250), ids);
			deaf.forEach((ws) => ws.destroy());
			assert.equal((await watching.request({ type: 'ping' })).type, 'pong');
			await watching.close();
		});

	it('64 that read a byte a second and send pings: as bounded; dropped when a frame is stuck for 60 s',
		async (t) => {
			const other = await startServer(DEBUG);
			t.after(() => other.stop());
			const [ann, bob, dan] = await users(other, 'ann', 'bob', 'dan');
			const devices = [bob];
			for (let i = 1; i < 8; i++)
				devices.push(await login(other, bob.name, `device ${i}`));
			const ids = await fill(ann, bob, 100, 16_000);
			const watching = await dan.ws();
			const crawlers = [];
			const reading = setInterval(() => crawlers.forEach((ws) => ws.socket.resume()), 1000);
			const pinging = setInterval(() => crawlers.forEach((ws) => ws.write(ping('x'))), 5000);
			try {
				const each = await measured(other, t, 16, 64, async (i) => {
					const ws = await connect(other, { byByte: true });
					await ws.upgrade();
					ws.began = Date.now();
					ws.write(text({ type: 'hello', token: devices[i % 8].token,
						instance: `crawl ${i}`, after: '0' }));
					ws.welcome = await ws.type('welcome');
					ws.slow = true;
					crawlers.push(ws);
				});
				// The memory of a client does not depend on how
				// much waits for it: the additional 320 KiB are
				// in the server's caches, once for all clients.
				const was = resident(other);
				ids.push(...await fill(ann, bob, 20, 16_000));
				await live(ann, dan, watching);
				const more = (resident(other) - was) / crawlers.length;
				t.diagnostic(`with 20 messages more for each ${more.toFixed(0)} KiB more`);
				if (!SANITIZED) {
					assert.ok(each < PAGE + SESSION, `${each} KiB each`);
					assert.ok(more < PAGE, `${more} KiB more for each`);
				}
				assert.ok(crawlers.every((ws) => ws.frames.length < 50), 'they read as others do');
				for (const ws of crawlers) {
					await ended(ws.welcome.session, 1013, 180_000, other);
					const lived = await loggedAt(other, 'push.close',
						`session=${ws.welcome.session}`) - ws.began;
					assert.ok(lived > 55_000, `too early: ${lived} ms`);
				}
			} finally {
				clearInterval(reading);
				clearInterval(pinging);
				crawlers.forEach((ws) => ws.destroy());
			}
			assert.deepEqual(await comeBack(bob, 120), ids);
			assert.equal((await watching.request({ type: 'ping' })).type, 'pong');
			await watching.close();
		});

	it('one that never answers a ping gets one after 25 s, and 4408 after 35 s', async () => {
		const [bob] = await users(server, 'bob');
		const ws = await (await connect(server)).hello(bob);
		const start = performance.now();
		await ws.until(() => ws.frames.some((one) => one.opcode === 9), 'a ping', 60_000);
		assert.ok(performance.now() - start > 23_000, 'a ping too early');
		const end = await ws.closing(60_000);
		assert.equal(end.code, 4408);
		assert.ok(performance.now() - start > 33_000, 'closed too early');
		ws.destroy();
	});

	it('one that answers pings stays, though it says nothing else', async () => {
		const [bob] = await users(server, 'bob');
		const ws = await bob.ws();
		await eventually(() => ws.pings >= 2, 'two pings', 120_000);
		assert.equal(ws.ended, undefined);
		assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
		await ws.close();
	});

	it('one that reads no answers is not read either, and dropped after 60 s', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const big = await ann.send(bob.name, 'x'.repeat(16_000));
		await bob.received(big.id);
		const ws = await (await connect(server)).hello(bob);
		ws.socket.pause();
		// The server makes no answers beyond what the kernel's buffers
		// hold.
		const one = text({ type: 'ping', id: 1 });
		const many = Buffer.concat(Array.from({ length: 2000 }, () => one));
		let held = 0;
		const timer = setInterval(() => {
			held = Math.max(held, ws.socket.writableLength);
			if (ws.socket.writableLength < 1_000_000)
				ws.write(many);
		}, 20);
		try {
			await ended(ws.welcome.session, 1013, 180_000);
			assert.ok(held >= 1_000_000, 'all of it was read');
		} finally {
			clearInterval(timer);
			ws.destroy();
		}
		const again = await bob.ws({ after: '0' });
		await again.received(big.id);
		await again.close();
	});
});
