// SPDX-License-Identifier: MIT
// tags: store
//
// SIGTERM drains the server: it sends a reconnect frame, closes sessions with
// 1012, loses no accepted message, and ends within its time limit.  After any
// restart, each client continues at its cursor.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, it } from 'node:test';

import { bare, contiguous } from './expect.mjs';
import {
	Ws, eventually, expectStatus, rawRequest, startServer, users, uuid7, within,
} from './harness.mjs';

/* The log line of a stop that no longer waits for requests. */
const LATE = / server\.late /;

async function stage(t, options)
{
	const server = await startServer(options);

	t.after(async () => {
		if (server.running)
			await server.stop();
	});
	return [server, ...await users(server, 'ann', 'bob')];
}

/**
 * Opens a connection to ${server} for each of ${texts} and writes the text.
 * Returns when the server has accepted all connections.
 */
async function written(server, ...texts)
{
	const { port, hostname } = new URL(server.url);
	const sockets = texts.map((text) => {
		const socket = net.connect(port, hostname, () => socket.write(text));
		socket.on('error', () => {});
		return socket;
	});

	await Promise.all(sockets.map((socket) => once(socket, 'connect')));
	// Connections are accepted in order: when this later one is answered,
	// the others have been accepted.
	expectStatus(await rawRequest(server, 'GET', '/healthz'), 200);
	return sockets;
}

describe('R272 SIGTERM', () => {
	it('asks sessions to reconnect, then closes them with 1012', async (t) => {
		const [server, ann, bob] = await stage(t);
		const sockets = [await ann.ws(), await bob.ws()];
		const silent = new Ws(server);
		await silent.opened();
		const stopping = server.stop();
		for (const ws of sockets) {
			assert.equal((await ws.closing()).code, 1012);
			const frame = ws.frames.find((one) => one.type === 'reconnect');
			assert.ok(frame, 'no reconnect frame');
			assert.equal(frame.reason, 'restart');
			assert.ok(Number.isInteger(frame.after_ms) && frame.after_ms >= 0);
		}
		await silent.closing();
		const end = await stopping;
		assert.deepEqual([end.code, end.signal], [0, null]);
	});

	it('ends at once when nothing is to be done', async (t) => {
		const [server] = await stage(t);
		assert.equal((await server.stop()).code, 0);
		assert.doesNotMatch(server.output(), LATE);
	});

	it('answers waiting long-polls, each of them', async (t) => {
		const [server, ann, bob] = await stage(t);
		const polls = Array.from({ length: 50 }, (_, i) =>
			(i % 2 ? ann : bob).get('/v1/inbox?wait=50'));
		await server.polled(50);
		assert.equal((await server.stop()).code, 0);
		for (const { status, body } of await Promise.all(polls))
			assert.deepEqual([status, body.events], [200, []]);
		assert.doesNotMatch(server.output(), LATE);
	});

	it('is not held up by idle connections and half heads', async (t) => {
		const [server] = await stage(t);
		const sockets = await written(server, '', 'GET /v1/in', 'GET /v1/inbox HTTP/1.1\r\nHost: x\r\n',
			'GET /v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n');
		assert.equal((await server.stop()).code, 0);
		assert.doesNotMatch(server.output(), LATE);
		sockets.forEach((socket) => socket.destroy());
	});

	it('gives up a request whose body does not come, and says so', async (t) => {
		const [server, ann] = await stage(t);
		const [socket] = await written(server, 'POST /v1/messages HTTP/1.1\r\nHost: x\r\n' +
			`Authorization: Bearer ${ann.token}\r\nContent-Type: application/json\r\n` +
			'Content-Length: 100\r\n\r\n{');
		assert.equal((await server.stop()).code, 0);
		assert.match(server.output(), LATE);
		assert.match(server.output(), / server\.late pending=1 /);
		socket.destroy();
	});

	it('F44 under load: what was answered 201 is there, what was not may be repeated', async (t) => {
		const [server, ann, bob] = await stage(t, { unlimited: 'one user sends as fast as can be' });
		const accepted = new Set();
		const unknown = new Map();
		let on = true;
		const load = Array.from({ length: 16 }, async (_none, n) => {
			for (let i = 0; on; i++) {
				const message = { id: uuid7(), to: bob.name, body: `${n}:${i}` };
				try {
					const answer = await ann.post('/v1/messages', message);
					if (answer.status === 201)
						accepted.add(message.id);
					else
						unknown.set(message.id, message);
				} catch {
					unknown.set(message.id, message);
					return;
				}
			}
		});
		await eventually(() => accepted.size > 50, 'some are accepted');
		const end = await server.stop();
		on = false;
		await Promise.all(load);
		assert.deepEqual([end.code, end.signal], [0, null]);
		await server.start();
		for (const message of unknown.values())
			expectStatus(await ann.post('/v1/messages', message), 200, 201);
		const wanted = new Set([...accepted, ...unknown.keys()]);
		await bob.event((e) => e.seq === wanted.size, `event ${wanted.size}`);
		const { events } = await bob.inbox();
		contiguous(events);
		assert.deepEqual(new Set(events.map((e) => e.id)), wanted);
	});

	it('a second SIGTERM does no harm', async (t) => {
		const [server, ann] = await stage(t);
		const ws = await ann.ws();
		const { child } = server;
		child.kill('SIGTERM');
		child.kill('SIGTERM');
		assert.equal((await within(child.exited, 12_000, 'the end')).code, 0);
		await ws.closed;
	});

	it('SIGINT is the same', async (t) => {
		const [server] = await stage(t);
		assert.equal((await server.stop('SIGINT')).code, 0);
	});
});

for (const signal of ['SIGTERM', 'SIGKILL']) {
	describe(`R89 R90 R116 after ${signal}`, () => {
		it('everything is as it was', async (t) => {
			const [server, ann, bob] = await stage(t);
			for (let i = 0; i < 5; i++)
				await ann.send(bob.name, `m ${i}`);
			await bob.event((e) => e.body === 'm 4', 'the last');
			await bob.ack(3);
			await bob.read({ upto: 2 });
			await ann.event((e) => e.kind === 'receipt' && e.state === 'read', 'the receipt');
			const look = async () => ({
				ann: await ann.inbox(), bob: await bob.inbox(),
				outbox: (await ann.get('/v1/outbox')).body,
				unread: await bob.unread(),
				conversations: (await bob.get('/v1/conversations')).body,
			});
			const was = await look();
			await server.restart(signal);
			assert.deepEqual(await look(), was);
			const entry = await ann.send(bob.name, 'afterwards');
			assert.equal((await bob.received(entry.id)).seq, was.bob.head + 1);
		});

		it('a WebSocket goes on by its cursor', async (t) => {
			const [server, ann, bob] = await stage(t);
			await ann.send(bob.name, 'one');
			const first = await bob.ws({ after: '0' });
			await first.upTo(1);
			const { epoch } = first.welcome;
			await server.stop(signal);
			await first.closed;
			await server.start();
			await ann.send(bob.name, 'two');
			const second = await bob.ws({ after: `${epoch}:1` });
			assert.equal(second.welcome.recovered, true);
			assert.equal(second.welcome.epoch, epoch);
			await second.upTo(2);
			await ann.send(bob.name, 'three');
			await second.upTo(3);
			const got = [...first.events(), ...second.events()];
			contiguous(got);
			assert.deepEqual(got.map(bare), (await bob.inbox()).events);
			await second.close();
		});
	});
}

describe('R89 many restarts', () => {
	it('ten, each with a message before and after', async (t) => {
		const [server, ann, bob] = await stage(t);
		for (let i = 0; i < 10; i++) {
			await ann.send(bob.name, `round ${i}`);
			await server.restart(i % 2 ? 'SIGKILL' : 'SIGTERM');
		}
		await bob.event((e) => e.body === 'round 9', 'the last');
		const { events } = await bob.inbox();
		contiguous(events);
		assert.deepEqual(events.map((e) => e.body), Array.from({ length: 10 }, (_, i) => `round ${i}`));
	});
});
