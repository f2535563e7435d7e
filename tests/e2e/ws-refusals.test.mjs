// SPDX-License-Identifier: MIT
// tags: surface
//
// The WebSocket with clients that break the protocol: bad frames, frames before
// hello, silence, wrong epochs, wrong tokens, refused upgrades.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem, problemBody } from './expect.mjs';
import {
	Ws, rawRequest, scaledTimes, serverForFile, sleep, startServer, users, uuid7,
} from './harness.mjs';

let ann, bob;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
	await bob.received((await ann.send(bob.name, 'one')).id);
});

async function raw(options = {})
{
	const ws = new Ws(server, options);
	await ws.opened();
	return ws;
}

describe('before hello', () => {
	for (const frame of [
		{ type: 'ack', upto: 1 },
		{ type: 'send', id: 1, message: { to: 'x', body: 'x' } },
		{ type: 'typing', conversation: '01900000-0000-7000-8000-000000000000' },
	]) {
		it(`a ${frame.type} frame closes with 4400`, async () => {
			const ws = await raw();
			ws.send(frame);
			assert.equal((await ws.closing()).code, 4400);
			problemBody(ws.frames[0].problem, 'bad_request', '/type');
			assert.equal((await bob.get('/v1/inbox')).body.acked, 0);
		});
	}

	it('no hello within 5 s closes', async () => {
		const start = performance.now();
		const ws = await raw();
		const { code } = await ws.closing(9000);
		const took = performance.now() - start;
		assert.ok(took > 3900 && took < 7500, `${took} ms`);
		assert.equal(code, 4408);
	});

	it('… also when a token was on the upgrade', async () => {
		const ws = await raw({ headers: { authorization: `Bearer ${ann.token}` } });
		const { code } = await ws.closing(9000);
		assert.equal(code, 4408);
	});

	it('pings do not count as hello', async () => {
		const ws = await raw();
		const timer = setInterval(() => ws.socket.readyState === 1 && ws.socket.ping(), 500);
		try {
			await ws.closing(9000);
		} finally {
			clearInterval(timer);
		}
	});
});

describe('a token that is none', () => {
	it('in hello closes with 4401', async () => {
		const ws = await raw();
		ws.send({ type: 'hello', id: 1, token: 'nonsense' });
		assert.equal((await ws.closing()).code, 4401);
		const reply = ws.frames.find((frame) => frame.type === 'error');
		assert.equal(reply.re, 1);
		problemBody(reply.problem, 'unauthenticated');
		assert.ok(!ws.frames.some((frame) => frame.type === 'welcome'));
	});

	it('missing everywhere closes with 4401', async () => {
		const ws = await raw();
		ws.send({ type: 'hello', id: 1 });
		assert.equal((await ws.closing()).code, 4401);
	});

	it('on the upgrade is 401, or a close with 4401', async () => {
		const ws = new Ws(server, { headers: { authorization: 'Bearer nonsense' } });
		const opened = await ws.opened().then(() => true, () => false);
		if (opened) {
			ws.send({ type: 'hello', id: 1 });
			assert.equal((await ws.closing()).code, 4401);
		} else {
			assert.equal(ws.refused, 401);
		}
	});
});

describe('bad frames close with 4400', () => {
	const frames = [
		['no JSON', 'nonsense'],
		['half of it', '{"type":"ack","upto":'],
		['nothing', ''],
		['a list', '[]'],
		['a number', '5'],
		['no type', '{"upto":1}'],
		['an unknown type', '{"type":"dance"}'],
		['a type that is not text', '{"type":5}'],
		["a server's frame", '{"type":"welcome"}'],
		['a member twice', '{"type":"ack","upto":1,"upto":2}'],
		['a NUL', '{"type":"ack","upto":1,"x":"\\u0000"}'],
		['a lone surrogate', '{"type":"ack","upto":1,"x":"\\ud800"}'],
		['deep nesting', `{"type":"ack","upto":${'['.repeat(500)}${']'.repeat(500)}}`],
		['a huge number', '{"type":"ack","upto":1e400}'],
		['a binary frame', Buffer.from('{"type":"ack","upto":1}')],
		['a second hello', '{"type":"hello","id":9}'],
	];
	for (const [what, frame] of frames) {
		it(what, async () => {
			const ws = await ann.ws({ instance: 'bad' });
			ws.send(frame);
			assert.equal((await ws.closing()).code, 4400);
		});
	}

	it('an unknown member is named', async () => {
		const ws = await ann.ws({ instance: 'bad' });
		ws.send({ type: 'ack', id: 7, upto: 0, colour: 'red' });
		const reply = await ws.type('error');
		assert.equal(reply.re, 7);
		problemBody(reply.problem, 'bad_request', '/colour');
		// A bad request that can be answered does not end the session.
		assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
		await ws.close();
	});

	it('a wrong type is named', async () => {
		const ws = await ann.ws({ instance: 'bad' });
		ws.send({ type: 'ack', id: 7, upto: '1' });
		const reply = await ws.type('error');
		assert.equal(reply.re, 7);
		problemBody(reply.problem, 'bad_request', '/upto');
		ws.socket.terminate();
	});

	it('an inbound frame of 128 KiB passes, a larger one closes with 1009', async () => {
		const ws = await ann.ws({ instance: 'large' });
		const message = { id: uuid7(), to: bob.name, body: 'x' };
		const head = JSON.stringify({ type: 'send', id: 5, message });
		ws.send(head + ' '.repeat(131_072 - head.length));
		assert.equal((await ws.wait((frame) => frame.re === 5, 'a reply')).type, 'sent');
		ws.send(head + ' '.repeat(131_073 - head.length));
		assert.equal((await ws.closing()).code, 1009);
	});

	it('a bad hello is refused with its pointer', async () => {
		for (const [more, pointer] of [
			[{ window: 0 }, '/window'], [{ window: 257 }, '/window'], [{ window: 'x' }, '/window'],
			[{ after: 5.5 }, '/after'], [{ after: 'x' }, '/after'], [{ after: '-1' }, '/after'],
			[{ instance: 'x'.repeat(65) }, '/instance'], [{ outbox: 'yes' }, '/outbox'],
			[{ colour: 'red' }, '/colour'],
		]) {
			const ws = await raw();
			ws.send({ type: 'hello', id: 3, token: ann.token, ...more });
			const reply = await ws.type('error');
			assert.equal(reply.re, 3);
			problemBody(reply.problem, 'bad_request', pointer);
			assert.equal((await ws.closing()).code, 4400, pointer);
		}
	});
});

describe('a cursor that cannot be served', () => {
	for (const [what, cursor] of [
		['of another epoch', 'another-epoch:1'], ['of another epoch, at 0', '0123456789abcdef:0'],
		['beyond the head', '1000'],
	]) {
		it(`${what}: cursor_expired, with where the inbox stands, and 4410`, async () => {
			const before = (await bob.get('/v1/inbox')).body;
			const ws = await raw();
			ws.send({ type: 'hello', id: 1, token: bob.token, after: cursor });
			const { problem } = await ws.type('error');
			const { epoch, oldest, head } = (await bob.get('/v1/inbox')).body;

			assert.equal(ws.frames[0].re, 1);
			problemBody(problem, 'cursor_expired', '/after');
			assert.deepEqual([problem.epoch, problem.oldest], [epoch, oldest]);
			/* Messages of earlier tests may still arrive. */
			assert.ok(before.head <= problem.head && problem.head <= head,
				`${before.head} ${problem.head} ${head}`);
			assert.equal((await ws.closing()).code, 4410);
			assert.equal(ws.frames.length, 1);
		});
	}
});

describe('upgrades', () => {
	it('from a foreign origin are 403', async () => {
		for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
			const ws = new Ws(server, { headers: { origin } });
			await assert.rejects(ws.opened());
			assert.equal(ws.refused, 403, origin);
		}
	});

	it('from our own origin are welcome', async () => {
		const ws = new Ws(server, { token: ann.token, headers: { origin: server.url } });
		await ws.opened();
		await ws.hello({ instance: 'own-origin' });
		await ws.close();
	});

	it('of another path are refused', async () => {
		const ws = new Ws(server, { target: '/v1/inbox' });
		await assert.rejects(ws.opened());
		assert.ok(ws.refused === undefined || ws.refused >= 400, String(ws.refused));
	});

	it('a plain GET of the path is answered and closed', async () => {
		problem(await rawRequest(server, 'GET', '/v1/ws', { token: ann.token }), 400, 'bad_request');
	});

	it('the server outlives all of this', async () => {
		await Promise.all(Array.from({ length: 50 }, async (_, i) => {
			const ws = await raw();
			if (i % 2)
				ws.send('x'.repeat(i));
			ws.socket.terminate();
		}));
		await sleep(100);
		const ws = await bob.ws({ after: '0' });
		await ws.upTo(1);
		await ws.close();
	});
});

describe('stalled', () => {
	it('a window that stays full for 60 s is reported, not closed', async () => {
		const times = scaledTimes('push_stalled', 20);
		const other = await startServer({ env: times.env });
		const [may, joe] = await users(other, 'may', 'joe');
		for (let i = 0; i < 3; i++)
			await may.send(joe.name, `m ${i}`);
		await joe.received((await may.send(joe.name, 'last')).id);
		const ws = await joe.ws({ after: '0', window: 2 });
		await ws.upTo(2);
		const start = performance.now();
		await ws.type('stalled', { ms: times.ms(60_000) + 15_000 });
		const took = performance.now() - start;
		/*
		 * The window was full a little before the test began to measure
		 * the time.
		 */
		assert.ok(took > times.ms(50_000), `after ${took} ms`);
		ws.ack(2);
		await ws.upTo(4);
		await ws.close();
		await other.stop();
	});
});
