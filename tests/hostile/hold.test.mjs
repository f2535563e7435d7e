// SPDX-License-Identifier: MIT
//
// How much memory clients can make the server hold: 300 connections of each
// kind that takes resources and gives nothing, and the memory that they add.
// Meanwhile another user reads and sends, and every request is answered.  The
// times are printed but not asserted.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { Server, eventually, expectStatus, sleep, users, uuid7 } from '../e2e/harness.mjs';
import { RawSocket, closeAll } from './raw.mjs';
import { connect, frame, handshake } from './rawws.mjs';

const MANY = 300;
const MOST_MIB = 64;
const SANITIZED = process.env.TWINBOX_SANITIZED !== undefined;

const server = new Server({ unlimited: 'one user opens hundreds of connections' });
// The most sessions that a device may have.
const INSTANCES = 8;
let ann, bob, eve;
const devices = [];

/** Returns the resident memory of the server in MiB, without shared pages. */
function resident()
{
	const status = fs.readFileSync(`/proc/${server.pid}/status`, 'utf8');
	return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)[1]) / 1024;
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function timed(work)
{
	const from = performance.now();

	await work();
	return performance.now() - from;
}

/**
 * Returns the medians in ms of small reads and of sends, by a user whom the
 * other connections do not concern.
 */
async function probe(n = 60)
{
	const reads = [], sends = [];

	for (let i = 0; i < n; i++) {
		reads.push(await timed(async () =>
			expectStatus(await eve.get('/v1/inbox/unread'), 200)));
		sends.push(await timed(async () => expectStatus(
			await eve.post('/v1/messages', { id: uuid7(), to: eve.name, body: 'x' }), 201)));
	}
	return { read: median(reads), send: median(sends) };
}

before(async () => {
	await server.start();
	[ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
	// The largest answers that a text can cause: in JSON each of its bytes
	// takes six.
	let last;
	for (let i = 0; i < 3; i++) {
		const list = Array.from({ length: 16 }, () =>
			({ id: uuid7(), to: bob.name, body: '\u0001'.repeat(10_000) }));
		expectStatus(await ann.post('/v1/messages', list), 200);
		last = list.at(-1).id;
	}
	await bob.received(last);
	while (devices.length * INSTANCES < MANY)
		devices.push(await ann.device(`number ${devices.length}`));
});

after(async () => {
	closeAll();
	const { code } = await server.stop();
	assert.equal(code, 0);
});

/**
 * Defines a test: ${open}(i) opens connection i of kind ${what}.  The test
 * prints the memory that these connections add, and the times of other users.
 */
function kind(what, open, { settled = async () => sleep(1000), close } = {})
{
	it(what, async (t) => {
		const quiet = await probe();
		const before_it = resident();
		const all = [];
		for (let i = 0; i < MANY; i += 20)
			all.push(...await Promise.all(Array.from({ length: 20 }, (_, k) => open(i + k))));
		await settled(all);
		const meanwhile = await probe();
		const added = resident() - before_it;
		for (const one of all.flat())
			close ? close(one) : one.destroy();
		t.diagnostic(`${what}: ${MANY} connections add ${added.toFixed(1)} MiB; ` +
			`a read ${meanwhile.read.toFixed(2)} ms (quiet ${quiet.read.toFixed(2)}), ` +
			`a send ${meanwhile.send.toFixed(2)} ms (quiet ${quiet.send.toFixed(2)})`);
		if (!SANITIZED)
			assert.ok(added <= MOST_MIB, `${added} MiB`);
		await eventually(async () => await server.metric('http_answer_bytes') === 0, 'nothing is held');
	});
}

const head = (method, target, lines = '') => `${method} ${target} HTTP/1.1\r\nHost: x\r\n${lines}`;
const bearer = (user) => `Authorization: Bearer ${user.token}\r\n`;
const body = (length) => `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
const MIB = 1048576;

async function raw(...pieces)
{
	const socket = await RawSocket.open(server, { paused: true });

	for (const piece of pieces)
		socket.send(piece);
	return socket;
}

const filler = Buffer.alloc(MIB - 1, 'x');

async function websocket(...frames)
{
	const ws = await connect(server);

	ws.socket.on('error', () => {});
	ws.socket.write(handshake(server));
	assert.equal((await ws.answer()).status, 101);
	for (const one of frames)
		ws.socket.write(one);
	return ws;
}

describe(`${MANY} connections`, () => {
	kind('slow readers of the largest pages, one user',
		() => raw(head('GET', '/v1/inbox?after=0&limit=200', bearer(bob)) + '\r\n'));
	kind('event streams that take nothing, one user', (i) => raw(head('GET', '/v1/inbox?after=0',
		bearer(devices[Math.floor(i / INSTANCES)]) + 'Accept: text/event-stream\r\n') + '\r\n'));
	kind('bodies without a token',
		() => raw(head('POST', '/v1/messages') + body(MIB), filler));
	kind('bodies with a token that is none',
		() => raw(head('POST', '/v1/messages', `Authorization: Bearer ${'x'.repeat(43)}\r\n`) + body(MIB), filler));
	kind('bodies of a user that do not end',
		() => raw(head('POST', '/v1/messages', bearer(ann)) + body(MIB), filler));
	kind('registrations that do not end',
		() => raw(head('POST', '/v1/users') + body(8192), filler.subarray(0, 8191)));
	kind('messages before hello',
		() => websocket(frame(1, filler.subarray(0, 131_000)).subarray(0, 130_000)),
		{ close: (ws) => ws.socket.destroy() });
	kind('messages after hello that do not end', async (i) => {
		const { token } = devices[Math.floor(i / INSTANCES)];
		const ws = await websocket(frame(1, JSON.stringify({ type: 'hello', token,
			instance: `i${i % INSTANCES}`, after: '48' })));
		await ws.until(() => ws.frames.some(({ payload }) => payload.includes('"welcome"')), 'welcome');
		ws.socket.write(frame(1, filler.subarray(0, 131_000)).subarray(0, 130_000));
		return ws;
	}, { close: (ws) => ws.socket.destroy() });
	kind('event streams that wait, one user', (i) => raw(head('GET', '/v1/inbox?after=48',
		bearer(devices[Math.floor(i / INSTANCES)]) + 'Accept: text/event-stream\r\n') + '\r\n'),
	{ settled: () => server.polled(MANY) });
});

describe('readers who hang up', () => {
	it('60 of them after 10 ms: another one\'s next small read', async (t) => {
		const quiet = (await probe()).read;
		const all = await Promise.all(Array.from({ length: 60 }, () =>
			raw(head('GET', '/v1/inbox?after=0&limit=200', bearer(bob)) + '\r\n')));
		await sleep(10);
		for (const socket of all)
			socket.destroy();
		const next = await timed(async () =>
			expectStatus(await eve.get('/v1/inbox/unread'), 200));
		t.diagnostic(`the next small read took ${next.toFixed(2)} ms, quiet ${quiet.toFixed(2)} ms`);
	});
});

describe('strangers who open WebSockets without end', () => {
	const crowded = new Server({ args: ['--ws-limit', '2000'] });
	const RATE = 600;
	const TRIES = 20;
	const strangers = new Set();
	let opening;

	after(async () => {
		clearInterval(opening);
		for (const one of strangers)
			one.socket.destroy();
		assert.equal((await crowded.stop()).code, 0);
	});

	it(`a user connects in ${TRIES} of ${TRIES} tries`, async (t) => {
		await crowded.start();
		const [user] = await users(crowded, 'ann');
		let opened = 0;
		const from = performance.now();
		opening = setInterval(async () => {
			const due = (performance.now() - from) / 1000 * RATE;
			for (; opened < due; opened++) {
				const stranger = await connect(crowded);
				strangers.add(stranger);
				stranger.socket.on('close', () => strangers.delete(stranger));
				stranger.socket.write(handshake(crowded));
			}
		}, 10);
		await eventually(async () => await crowded.metric('ws_newcomers_cut_total') > 0,
			'strangers fill their places');
		for (let i = 0; i < TRIES; i++) {
			const ws = await connect(crowded);
			ws.socket.write(handshake(crowded));
			assert.equal((await ws.answer()).status, 101, `try ${i}`);
			await sleep(200);
			ws.socket.write(frame(1, JSON.stringify({ type: 'hello', token: user.token })));
			await ws.until(() => ws.frames.some(({ payload }) => payload.includes('"welcome"')),
				`welcome at try ${i}`);
			ws.socket.destroy();
		}
		const seconds = (performance.now() - from) / 1000;
		t.diagnostic(`${(opened / seconds).toFixed(0)} handshakes a second of strangers`);
	});
});
