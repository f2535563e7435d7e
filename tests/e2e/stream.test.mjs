// SPDX-License-Identifier: MIT
// tags: store
//
// The inbox as a stream of Server-Sent Events: one line of curl follows it, the
// last id resumes it without gaps and duplicates, and its last event says why
// it ends.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { contiguous } from './expect.mjs';
import {
	Stream, eventually, expectStatus, freshName, register, run, scaledTimes, serverForFile,
	startServer, users, uuid7,
} from './harness.mjs';
import { userCommand } from './operator.mjs';

const README = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../README.md');
const QUIET = scaledTimes('rest_stream_quiet', 50);
const PER_DEVICE = 8;
const STREAM = { accept: 'text/event-stream' };

const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
}, { unlimited: 'a thousand messages are sent as fast as it goes' });
let ann;

/** Registers a user whose inbox has ${n} messages of ann. */
async function reader(n = 0)
{
	const who = await register(server, freshName('reader'));

	for (let i = 1; i <= n; i++)
		await ann.send(who.name, `message ${i}`);
	if (n > 0)
		await who.event((e) => e.seq === n);
	return who;
}

const seqs = (events) => events.map((e) => e.seq);

/** Requests a stream that must be refused.  Returns the answer. */
const refused = (who, target, headers = {}, status = 400) =>
	who.get(target, { headers: { ...STREAM, ...headers } }).then((answer) => expectStatus(answer, status));

describe('curl follows an inbox by Server-Sent Events', () => {
	it('the line of README, in a shell', async () => {
		const bob = await reader(1);
		const [, line] = /^`(curl -N .*)` follows the inbox\./m.exec(fs.readFileSync(README, 'utf8'));
		const shell = run('bash', ['-c', `exec ${line}`],
			{ env: { ...process.env, URL: server.url, BOB: bob.token } });

		await eventually(() => shell.out.includes('"body":"message 1"'), () => `what is there: ${shell.out}`);
		await ann.send(bob.name, 'one more');
		await eventually(() => shell.out.includes('"body":"one more"'), () => `what comes: ${shell.out}`);
		shell.kill('SIGTERM');
		await shell.exited;
	});

	it('what is there, then what comes, as in a page', async () => {
		const bob = await reader(3);
		const stream = new Stream(bob, { target: '/v1/inbox?after=1' });

		assert.deepEqual(await stream.welcome().then(({ epoch, ...rest }) => rest),
			{ after: 1, head: 3, oldest: 1, acked: 0, unread: 3 });
		assert.deepEqual(seqs(await stream.until(2)), [2, 3]);
		for (let i = 4; i <= 6; i++) {
			await ann.send(bob.name, `message ${i}`);
			await stream.until(i - 1);
		}
		const page = await bob.inbox(1);
		assert.deepEqual(stream.events, page.events);
		assert.equal((await stream.named('welcome')).epoch, page.epoch);
		const { headers } = stream.answer;
		assert.equal(headers.get('content-type'), 'text/event-stream');
		assert.equal(headers.get('cache-control'), 'no-store');
		assert.equal(headers.get('x-accel-buffering'), 'no');
		assert.ok(stream.curl.out.startsWith('retry: 2000\nid: 1\nevent: welcome\n'));
		await stream.close();
	});

	it('without a cursor it begins where the device has acked, and moves no mark', async () => {
		const bob = await reader(4);

		await bob.ack(2);
		const stream = new Stream(bob);
		assert.equal((await stream.welcome()).after, 2);
		assert.deepEqual(seqs(await stream.until(2)), [3, 4]);
		await stream.close();
		assert.equal((await bob.inbox(4)).acked, 2);
		assert.equal((await bob.unread()).total, 4);
	});

	it('a thousand events, in pieces, none missing and none twice', async () => {
		const bob = await register(server, freshName('reader'));
		const stream = new Stream(bob);

		await stream.welcome();
		for (let i = 0; i < 10; i++) {
			const list = Array.from({ length: 100 }, (_, k) =>
				({ id: uuid7(), to: bob.name, body: `${i} ${k}` }));
			expectStatus(await ann.post('/v1/messages', list), 200);
		}
		contiguous(await stream.until(1000));
		assert.equal(stream.events.length, 1000);
		await stream.close();
		const again = new Stream(bob, { target: '/v1/inbox?after=0' });
		assert.deepEqual(seqs(await again.until(1000)), seqs((await bob.inbox()).events));
		await again.close();
	});

	it('own messages and receipts come as well', async () => {
		const bob = await reader();
		const stream = new Stream(bob);

		await stream.welcome();
		const { id } = await bob.send(ann.name, 'hello');
		await ann.received(id);
		await ann.ack((await ann.inbox()).head);
		const [own, receipt] = await stream.until(2);
		assert.equal(own.own, true);
		assert.equal(receipt.kind, 'receipt');
		await stream.close();
	});

	it('says that it is there when nothing happens', async () => {
		const quiet = await startServer({ env: QUIET.env });
		const [bob] = await users(quiet, 'bob');
		const stream = new Stream(bob);

		await stream.welcome();
		await eventually(() => stream.blocks.filter((one) => one.comment).length >= 3,
			'three comments', 4 * QUIET.ms(25_000) + 10_000);
		assert.deepEqual(stream.events, []);
		await bob.send(bob.name, 'a note');
		await stream.until(1);
		await stream.close();
		assert.equal((await quiet.stop()).code, 0);
	});

	it('HEAD is answered by the head alone', async () => {
		const bob = await reader(1);
		const answer = await bob.request('HEAD', '/v1/inbox', { headers: STREAM });

		expectStatus(answer, 200);
		assert.equal(answer.headers.get('content-type'), 'text/event-stream');
		assert.equal(answer.text, '');
	});

	it('a client of HTTP/1.0 gets it without chunks', async () => {
		const bob = await reader(2);
		const stream = new Stream(bob, { args: ['--http1.0'] });

		const { headers } = await stream.begun();
		assert.deepEqual(seqs(await stream.until(2)), [1, 2]);
		assert.equal(headers.get('transfer-encoding'), null);
		await ann.send(bob.name, 'message 3');
		await stream.until(3);
		await stream.close();
	});

	it('several Accept lines are one list', async () => {
		const bob = await reader(1);
		const type = async (...accept) => {
			const { port } = new URL(server.url);
			const socket = net.connect(port, '127.0.0.1');
			const head = new Promise((resolve, reject) => {
				let text = '';
				socket.on('data', (piece) => {
					text += piece;
					if (text.includes('\r\n\r\n'))
						resolve(/^content-type: (.*)\r$/im.exec(text)[1]);
				});
				socket.on('error', reject);
			});
			socket.write('GET /v1/inbox HTTP/1.1\r\nHost: x\r\n' +
				`Authorization: Bearer ${bob.token}\r\n` +
				`${accept.map((one) => `Accept: ${one}\r\n`).join('')}\r\n`);
			try {
				return await head;
			} finally {
				socket.destroy();
			}
		};

		assert.equal(await type('application/json', 'text/event-stream'), 'text/event-stream');
		assert.equal(await type('a/b', 'text/*;q=0.1, text/event-stream;q=0.5', ''), 'text/event-stream');
		assert.equal(await type('application/json', 'text/event-stream;q=0'), 'application/json');
		assert.equal(await type('application/json', 'text/event-stream; Q=0.000'), 'application/json');
		/* Other parameters, and weights that are not 0. */
		for (const more of [';seq=0', '; q=', ';q=0.001', ';q="0"', ';x=1'])
			assert.equal(await type('a/b', `text/event-stream${more}`), 'text/event-stream', more);
		assert.equal(await type('', '*/*'), 'application/json');
	});

	it('JSON is what everybody else gets', async () => {
		const bob = await reader(1);

		for (const accept of ['*/*', 'application/json', 'text/*', 'text/event-stream;q=0']) {
			const answer = expectStatus(await bob.get('/v1/inbox', { headers: { accept } }), 200);
			assert.equal(answer.body.events.length, 1, accept);
		}
	});
});

describe('Last-Event-ID is the cursor', () => {
	it('a stream is resumed without hole or double, however often it is cut', async () => {
		const bob = await register(server, freshName('reader'));
		const got = [];
		const TOTAL = 60;
		let sent = 0;

		while (got.length < TOTAL) {
			const last = got.at(-1)?.seq;
			const stream = new Stream(bob, last === undefined ? {} :
				{ headers: { 'last-event-id': String(last) } });
			for (let i = 0; i < 7 && sent < TOTAL; i++)
				await ann.send(bob.name, `message ${++sent}`);
			await stream.until(Math.min(5, TOTAL - got.length));
			await stream.close('SIGKILL');
			got.push(...stream.events);
		}
		assert.deepEqual(got, (await bob.inbox()).events);
	});

	it('it goes before the parameter, whose epoch still counts', async () => {
		const bob = await reader(4);
		const { epoch } = await bob.inbox();
		const from = async (target, id) => {
			const stream = new Stream(bob, { target, headers: { 'last-event-id': id } });
			const { after: place } = await stream.welcome();
			await stream.close();
			return place;
		};

		assert.equal(await from('/v1/inbox?after=1', '3'), 3);
		assert.equal(await from('/v1/inbox', `${epoch}:2`), 2);
		assert.equal(await from(`/v1/inbox?after=${epoch}:1`, '3'), 3);
		assert.equal(await from('/v1/inbox?after=1', ''), 1);
		for (const [target, id] of [['/v1/inbox?after=another:1', '3'], [`/v1/inbox?after=${epoch}:1`, 'another:3']]) {
			const { body } = await refused(bob, target, { 'last-event-id': id }, 410);
			assert.equal(body.epoch, epoch);
		}
	});

	it('410 and 400 come before the first event, as problems', async () => {
		const bob = await reader(2);

		const { body } = await refused(bob, '/v1/inbox?after=3', {}, 410);
		assert.equal(body.head, 2);
		await refused(bob, '/v1/inbox', { 'last-event-id': '3' }, 410);
		for (const [target, headers] of [['/v1/inbox?after=x', {}], ['/v1/inbox', { 'last-event-id': 'x' }],
			['/v1/inbox', { 'last-event-id': '-1' }], ['/v1/inbox?wait=5', {}], ['/v1/inbox?limit=5', {}],
			['/v1/inbox?strange=1', {}]])
			await refused(bob, target, headers);
		expectStatus(await server.rest().get('/v1/inbox', { headers: STREAM }), 401);
		// None of the refused requests has used up a stream of the
		// device.
		const all = Array.from({ length: PER_DEVICE }, () => new Stream(bob));
		for (const one of all)
			await one.welcome();
		for (const one of all)
			await one.close();
	});
});

describe('how a stream ends', () => {
	/**
	 * Opens streams of two devices of one user.  ${end} must end that of
	 * the first device only.
	 */
	async function endsOne(end, reason)
	{
		const bob = await reader(1);
		const other = await bob.device();
		const [stream, stays] = [new Stream(bob), new Stream(other)];

		await stream.welcome();
		await stays.welcome();
		await server.polled(2);
		await end(bob, other);
		const { code, blocks } = await stream.ended();
		assert.equal(code, 0, 'curl sees a whole answer');
		assert.deepEqual(blocks.at(-1), { event: 'end', data: { reason } });
		assert.equal(blocks.filter((one) => one.event === 'end').length, 1);
		return [bob, stays];
	}

	it('its token is revoked, by itself or by another device; others go on', async () => {
		const deviceOf = async (who) => (await who.get('/v1')).body.device.id;

		for (const by of [0, 1]) {
			const [bob, stays] = await endsOne(async (...devices) => expectStatus(
				await devices[by].delete(`/v1/tokens/${await deviceOf(devices[0])}`), 204), 'revoked');
			expectStatus(await bob.get('/v1/inbox', { headers: STREAM }), 401);
			await ann.send(bob.name, 'goes on');
			await stays.until(2);
			await stays.close();
		}
	});

	it('its user is disabled', async () => {
		const [, stays] = await endsOne(async (bob) => assert.equal(
			(await userCommand(server, ['disable', bob.name])).code, 0), 'revoked');
		assert.deepEqual((await stays.ended()).blocks.at(-1).data, { reason: 'revoked' });
	});

	it('the server stops, with all events before and a clean end', async () => {
		const stopping = await startServer();
		const [bob, cy] = await users(stopping, 'bob', 'cy');
		const streams = [new Stream(bob), new Stream(bob), new Stream(cy)];

		for (const one of streams)
			await one.welcome();
		await stopping.polled(3);
		await cy.send(bob.name, 'the last one');
		// A drain promises to send all events that are in the inbox, so
		// the test waits until the message is there.
		await bob.event((e) => e.seq === 1);
		assert.equal((await stopping.stop()).code, 0);
		for (const one of streams) {
			const { code, blocks } = await one.ended();
			assert.equal(code, 0);
			assert.deepEqual(blocks.at(-1), { event: 'end', data: { reason: 'restart' } });
			assert.equal(one.events.length, 1);
		}
		assert.doesNotMatch(stopping.output(), / server\.late /);
		// The stream continues after the restart.
		await stopping.start();
		await cy.send(bob.name, 'after the restart');
		const again = new Stream(bob, { headers: { 'last-event-id': '1' } });
		assert.deepEqual(seqs(await again.until(1)), [2]);
		await again.close();
		await stopping.stop();
	});

	it('the client goes: its place is free at once', async () => {
		const bob = await reader();
		const open = await server.metric('http_connections');

		for (let round = 0; round < 3; round++) {
			const all = Array.from({ length: PER_DEVICE }, () => new Stream(bob));
			for (const one of all)
				await one.welcome();
			await Promise.all(all.map((one) => one.close('SIGKILL')));
			await eventually(async () => (await bob.get('/v1/inbox', { headers: { accept: '*/*' } })).status === 200 &&
				await server.metric('http_connections') <= open + 1, 'no connection is left');
		}
		await server.polled(0);
	});

	it('a client that has ended its sending gets what is there, and the end', async () => {
		const bob = await reader(2);
		const { port } = new URL(server.url);
		let text = '';

		await new Promise((resolve, reject) => {
			const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
			socket.on('data', (piece) => (text += piece));
			socket.on('end', resolve);
			socket.on('error', reject);
			socket.end(`GET /v1/inbox HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n` +
				`Authorization: Bearer ${bob.token}\r\n\r\n`);
		});
		assert.match(text, /^HTTP\/1\.1 200/);
		assert.match(text, /^event: welcome$/m);
		assert.match(text, /^id: 2$/m);
	});
});

describe('what a device may have', () => {
	it(`${PER_DEVICE} streams; one more is 429 with Retry-After, until one goes`, async () => {
		const bob = await reader(1);
		const all = Array.from({ length: PER_DEVICE }, () => new Stream(bob));

		for (const one of all)
			await one.welcome();
		const { headers, body } = await refused(bob, '/v1/inbox', {}, 429);
		assert.equal(body.code, 'rate_limited');
		assert.ok(Number(headers.get('retry-after')) > 0);
		// Requests for pages, and other devices, are not limited by
		// this.
		expectStatus(await bob.get('/v1/inbox'), 200);
		const other = new Stream(await bob.device());
		await other.welcome();
		await other.close();
		await all.pop().close();
		await eventually(async () => {
			const one = new Stream(bob);
			const { status } = await eventually(() => one.head(), 'an answer');
			all.push(one);
			return status === 200;
		}, 'a place is free');
		await Promise.all(all.map((one) => one.close()));
	});

	it('a stream costs one request, whatever comes', async () => {
		const slow = await startServer({ args: ['--rate-limit', '5/s'] });
		const [bob, cy] = await users(slow, 'bob', 'cy');
		const stream = new Stream(bob);

		await stream.welcome();
		for (let i = 1; i <= 20; i++) {
			await eventually(async () => (await cy.post('/v1/messages', { to: bob.name, body: String(i) })).status === 201,
				'accepted', 60_000);
			await stream.until(i);
		}
		await stream.close();
		assert.equal((await slow.stop()).code, 0);
	});
});
