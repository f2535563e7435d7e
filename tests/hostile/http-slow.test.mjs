// SPDX-License-Identifier: MIT
//
// Slow clients of every kind, all at once: each begins correctly and then sends
// or reads very little for ever, or nothing.  All must be cut at the absolute
// deadline, whatever they still send, and a good client is served all the
// while.  (With a deadline for inactivity only, clients that send one byte at a
// time could stay for ever.)

import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, afterEach, before, describe, it } from 'node:test';

import { Counters, RawSocket, closeAll, isCut } from './raw.mjs';
import { Stream, eventually, expectStatus, serverForFile, sleep, users } from '../e2e/harness.mjs';

const EACH = 8;
const CROWD = 200;
const LARGE = 60; // messages of 16 KB: together an answer of a megabyte
const HOST = 'Host: x\r\n';
const GET = `GET /healthz HTTP/1.1\r\n${HOST}`;
// The server reads a body only if the head has a token.  Ann's token is put in
// when the request is sent.
const TOKEN = '<token>';
const POST = `POST /v1/messages HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n` +
	`Authorization: Bearer ${TOKEN}\r\n`;
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;

// [what, how many, the beginning, the repeated part: a byte or a piece at a
// time]
const senders = [
	['nothing at all', EACH, '', []],
	['a blank line at a time', EACH, '', ['\r\n']],
	['half a blank line at a time', EACH, '', ['\r', '\n']],
	['a letter of the method at a time', EACH, '', ['X']],
	['a method and no more', EACH, 'GET ', []],
	['a letter of the target at a time', EACH, 'GET /', ['x']],
	['a letter of another target at a time', EACH, 'POST /', ['x']],
	['a letter of a value at a time', CROWD, `${GET}X-A: `, ['b']],
	['a letter of a name at a time', EACH, `${GET}X`, ['-']],
	['a header at a time', EACH, GET, ['a:\r\n']],
	['a folded line at a time', EACH, `${GET}X-A: b\r\n`, [' b\r\n']],
	['all but the last blank line', EACH, `${GET}X-A: b\r\n`, []],
	['a byte of a body at a time', EACH, `${POST}Content-Length: 100000\r\n\r\n`, ['x']],
	['no body', EACH, `${POST}Content-Length: 100000\r\n\r\n`, []],
	['no body, though asked to', EACH, `${POST}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n`, []],
	['a chunk of a byte at a time', EACH, CHUNKED, ['1\r\nx\r\n']],
	['a nought of a size at a time', EACH, CHUNKED, ['0']],
	['a letter of an extension at a time', EACH, `${CHUNKED}1;`, ['x']],
	['a byte of a large chunk at a time', EACH, `${CHUNKED}ffff\r\n`, ['x']],
	['a trailer at a time', EACH, `${CHUNKED}1\r\nx\r\n0\r\n`, ['a:\r\n']],
	['a letter of a trailer at a time', EACH, `${CHUNKED}1\r\nx\r\n0\r\nX-A: `, ['b']],
];
// The same after a request that was answered.
const KEPT = ['nothing at all', 'half a blank line at a time', 'a letter of the method at a time',
	'a letter of a value at a time', 'a byte of a body at a time', 'a chunk of a byte at a time'];

const DEADLINE = 2000;
const IDLE = 3000;
// No connection may be cut before the deadline.  A line that is sent slowly can
// take two deadlines, one in the front and one in the event loop that takes
// over the connection.  The factor is for slow machines, and the delay of this
// process is added.
const MOST = (IDLE + 2 * DEADLINE) * Number(process.env.TWINBOX_SLOW ?? 1);
const heldUp = monitorEventLoopDelay();
heldUp.enable();
after(() => heldUp.disable());
const most = () => MOST + heldUp.max / 1e6;

let ann, bob, counters, was;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
	for (let i = 0; i < LARGE; i++)
		await ann.send(bob.name, 'x'.repeat(16_000));
	counters = await new Counters(server).open();
}, { args: ['--request-deadline', `${DEADLINE / 1000}s`, '--idle-deadline', `${IDLE / 1000}s`],
	unlimited: 'the good client asks all the while' });
after(closeAll);

/** Sends ${pieces} in turn until the server closes the connection. */
async function dribble(socket, pieces)
{
	for (let i = 0; !socket.closed; i++) {
		if (pieces.length > 0)
			socket.send(pieces[i % pieces.length]);
		await sleep(60);
	}
}

async function attack(begin, pieces, kept)
{
	let began = performance.now();
	const socket = await RawSocket.open(server);

	if (kept) {
		socket.send(`${GET}\r\n`);
		const [answer] = await socket.answers(1);
		assert.equal(answer.status, 200);
		socket.forget();
		began = performance.now();
	}
	socket.began = began;
	if (begin)
		socket.send(begin.replace(TOKEN, ann.token));
	void dribble(socket, pieces);
	return socket;
}

/** A good client, which works while the others are there. */
class Good {
	begin()
	{
		this.answers = 0;
		this.work = (async () => {
			while (!this.enough) {
				const { id } = await ann.send(bob.name, 'served all the while');
				expectStatus(await ann.get(`/v1/outbox/${id}`), 200);
				this.answers += 2;
			}
		})();
		this.work.catch(() => {});
	}

	async end()
	{
		this.enough = true;
		await this.work;
		return this.answers;
	}
}

describe('slow senders', () => {
	const good = new Good();
	const crowds = new Map();
	const lives = [];
	let attackers = 0;
	let silent = 0;

	before(async () => {
		was = await counters.read();
		good.begin();
		const begin = async (name, n, first, pieces, kept) => {
			crowds.set(name, await Promise.all(Array.from({ length: n }, () =>
				attack(first, pieces, kept))));
			attackers += n;
			if (kept && !first && pieces.length === 0)
				silent += n;
		};
		await Promise.all([
			...senders.map(([what, n, first, pieces]) => begin(what, n, first, pieces, false)),
			...senders.filter(([what]) => KEPT.includes(what)).map(([what, , first, pieces]) =>
				begin(`kept alive, then ${what}`, EACH, first, pieces, true)),
		]);
	});

	for (const what of [...senders.map(([name]) => name), ...KEPT.map((name) => `kept alive, then ${name}`)]) {
		it(`${what}: dead at the deadline, without an answer`, async () => {
			for (const socket of crowds.get(what)) {
				await socket.until(() => socket.closed, `the end of who sends ${what}`, 20_000);
				const text = socket.received.toString().replace('HTTP/1.1 100 Continue\r\n\r\n', '');
				assert.equal(text, '');
				const lived = socket.closedAt - socket.began;
				lives.push(lived);
				assert.ok(lived > 0.9 * DEADLINE, `cut after ${lived} ms`);
				assert.ok(lived < most(), `lived ${lived} ms, not ${most()}`);
			}
		});
	}

	it('a good client was served all the while', async (t) => {
		const answers = await good.end();
		assert.ok(answers > 0);
		t.diagnostic(`${attackers} slow senders of ${crowds.size} kinds; ` +
			`${answers} answers to a good client meanwhile; they lived ` +
			`${Math.min(...lives).toFixed(0)} to ${Math.max(...lives).toFixed(0)} ms, ` +
			`this process was held up for ${(heldUp.max / 1e6).toFixed(0)} ms at most`);
	});

	it('each was cut at the deadline, the merely idle were not blamed', async () => {
		await eventually(async () =>
			(await counters.read()).http_deadlines_total - was.http_deadlines_total ===
			attackers - silent, 'the account of the deadlines');
	});
});

describe('the log', () => {
	it('does not grow with the number of those who were cut', () => {
		const lines = server.output().match(/ http\.deadline /g) ?? [];
		assert.ok(lines.length > 0 && lines.length < CROWD / 2, `${lines.length} lines`);
	});
});

describe('slow readers', () => {
	it('a client that does not read its answers is cut, others read theirs', async (t) => {
		const before_ = (await counters.read()).http_deadlines_total;
		const good = new Good();
		const ask = `GET /v1/inbox?after=0&limit=${LARGE} HTTP/1.1\r\n${HOST}` +
			`Authorization: Bearer ${bob.token}\r\n\r\n`;
		const readers = [];
		const began = performance.now();

		good.begin();
		for (let i = 0; i < EACH; i++) {
			const socket = await RawSocket.open(server, { paused: true });
			readers.push(socket.send(ask.repeat(16)));
		}
		// Others read a few bytes from time to time.
		for (let i = 0; i < EACH; i++) {
			const socket = await RawSocket.open(server, { paused: true });
			readers.push(socket.send(ask.repeat(16)));
			void (async () => {
				while (!socket.socket.destroyed) {
					socket.socket.read(10);
					await sleep(50);
				}
			})();
		}
		await eventually(() => readers.every(isCut), 'the end of all who do not read', 20_000);
		assert.ok((await counters.read()).http_deadlines_total - before_ >= readers.length);
		const lived = performance.now() - began;
		assert.ok(lived > 0.9 * DEADLINE && lived < most(), `lived ${lived} ms, not ${most()}`);
		const answers = await good.end();
		assert.ok(answers > 0);
		t.diagnostic(`${readers.length} slow readers, the last cut after ${lived.toFixed(0)} ms; ` +
			`${answers} answers to a good client meanwhile`);
		for (const socket of readers)
			socket.destroy();
	});
});

describe('slow readers of event streams', () => {
	it('who takes nothing, or a little, of a stream is cut; one who reads is not', async (t) => {
		const before_ = (await counters.read()).http_deadlines_total;
		const ask = `GET /v1/inbox?after=0 HTTP/1.1\r\n${HOST}Accept: text/event-stream\r\n` +
			`Authorization: Bearer ${bob.token}\r\n\r\n`;
		// With the good one, as many streams as a device may have.
		const readers = [];
		const stays = new Stream(bob, { target: '/v1/inbox?after=0' });

		await stays.until(LARGE);
		for (let i = 0; i < 7; i++) {
			const socket = await RawSocket.open(server, { paused: true });
			readers.push(socket.send(ask));
			void (async () => {
				while (i % 2 === 1 && !socket.socket.destroyed) {
					socket.socket.read(10);
					await sleep(50);
				}
			})();
		}
		const began = performance.now();
		await eventually(() => readers.every(isCut), 'the end of all who do not read', 20_000);
		// On a slow machine connections of earlier tests end meanwhile, and
		// count as well.
		assert.ok((await counters.read()).http_deadlines_total - before_ >= readers.length);
		const lived = performance.now() - began;
		await ann.send(bob.name, 'for the one who reads');
		await stays.until(stays.events.length + 1);
		await stays.close();
		t.diagnostic(`${readers.length} slow readers of streams, the last cut after ${lived.toFixed(0)} ms`);
		for (const socket of readers)
			socket.destroy();
	});
});

describe('event streams whose rest is in the kernel', () => {
	it('are cut as well, though the server has nothing left to send', async () => {
		const [cy] = await users(server, 'cy');
		const ask = `GET /v1/inbox?after=0 HTTP/1.1\r\n${HOST}Accept: text/event-stream\r\n` +
			`Authorization: Bearer ${cy.token}\r\n\r\n`;

		// The amount is more than the receive buffer of a socket takes,
		// and less than that buffer and the send buffer on the server's
		// side take together.
		for (let i = 0; i < 8; i++)
			await ann.send(cy.name, 'x'.repeat(16_000));
		const stays = new Stream(cy);
		await stays.until(8);
		await server.polled(1);
		const open = await server.metric('http_connections');
		const sockets = [];
		for (let i = 0; i < 7; i++)
			sockets.push((await RawSocket.open(server, { paused: true })).send(ask));
		await eventually(async () => await server.metric('long_polls') > 1, 'they wait for more');
		await eventually(async () => await server.metric('long_polls') === 1 &&
			await server.metric('http_connections') <= open, 'they are cut', 20_000);
		await ann.send(cy.name, 'for the one who reads');
		await stays.until(9);
		await stays.close();
		for (const socket of sockets)
			socket.destroy();
	});
});

describe('afterwards', () => {
	it('no connection is left over', async () => {
		await eventually(async () => {
			const now = await counters.read();
			return now.http_connections <= was.http_connections + 1;
		}, 'the connections to be gone', 20_000);
	});
});
