// SPDX-License-Identifier: MIT
//
// Well-formed frames that violate twinbox.v1: every frame with each member
// missing, with each member of every wrong type, and with an unknown member;
// JSON at its limits; objects of other users; instances; floods.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { contiguous, problemBody } from '../e2e/expect.mjs';
import { Ws, eventually, serverForFile, sleep, startServer, users, uuid7 }
	from '../e2e/harness.mjs';
import { SECOND, sessionEndedAt } from './logged.mjs';
import { connect, text } from './rawws.mjs';

let ann, bob, cat, dan, eve, ours, theirs;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob, cat, dan, eve] = await users(server, 'ann', 'bob', 'cat', 'dan', 'eve');
	ours = await ann.send(bob.name, 'between us');
	theirs = await cat.send(dan.name, 'between them');
	await dan.received(theirs.id);
});
let rows = 0;

const NOWHERE = '01900000-0000-7000-8000-000000000000';

/** Values of each type, by names that describe them. */
const values = {
	null: null, true: true, integer: 5, negative: -1, fraction: 1.5, text: 'x', empty: '',
	list: [], object: {}, nested: { a: [1] },
};

/**
 * For each frame, a good one and the kinds of values that each member accepts.
 */
const frames = {
	hello: {
		good: () => ({ token: ann.token, instance: 'abuse', window: 5, after: '0', outbox: false }),
		members: { token: [], instance: ['text', 'null'], window: ['integer', 'null'],
			after: ['null', 'integer'], outbox: ['true', 'null'] },
		required: [],
		id: true,
	},
	ack: { good: () => ({ upto: 0 }), members: { upto: [] }, required: ['upto'] },
	read: {
		good: () => ({ upto: 0, private: false }),
		members: { upto: [], private: ['true', 'null'] },
		required: ['upto'],
	},
	'read (by conversation)': {
		good: () => ({ conversation: ours.conversation, upto_conversation_seq: 0 }),
		members: { conversation: [], upto_conversation_seq: ['integer'] },
		required: ['conversation', 'upto_conversation_seq'],
	},
	typing: { good: () => ({ conversation: NOWHERE }), members: { conversation: [] },
		required: ['conversation'] },
	send: { good: () => ({ message: { to: bob.name, body: 'x' } }), members: { message: [] },
		required: ['message'] },
	ping: { good: () => ({}), members: {}, required: [] },
};

/**
 * Asserts that a request is refused with ${pointer}, and that the session goes
 * on.
 */
async function refused(ws, frame, pointer)
{
	const what = JSON.stringify(frame);
	const reply = await ws.request(frame);

	assert.equal(reply.type, 'error', `${what}: ${JSON.stringify(reply)}`);
	problemBody(reply.problem, 'bad_request', undefined, what);
	if (pointer !== undefined)
		assert.equal(reply.problem.pointer, pointer, `${what}: ${JSON.stringify(reply)}`);
}

describe('every frame, every member', () => {
	for (const [name, { good, members, required }] of Object.entries(frames)) {
		const type = name.replace(/ .*/, '');

		/**
		 * Yields the frames that must be refused, with the member at
		 * fault.
		 */
		const wrong = function* wrong() {
			const frame = { type, ...good() };
			for (const [member, taken] of Object.entries(members)) {
				for (const [kind, value] of Object.entries(values)) {
					if (!taken.includes(kind) && !(member === 'upto' && kind === 'integer'))
						yield [{ ...frame, [member]: value }, member, kind];
				}
			}
			for (const member of required) {
				const { [member]: _gone, ...rest } = frame;
				yield [rest, undefined, 'missing'];
			}
			for (const more of ['x', 'Type', 're', 'from', '', '__proto__ ', 'a/b', 'a~b'])
				yield [{ ...frame, [more]: 1 }, more, 'too many'];
		};

		it(name, async () => {
			if (type === 'hello') {
				for (const [frame, member, kind] of wrong()) {
					rows++;
					const ws = new Ws(server);
					await ws.opened();
					ws.send({ ...frame, id: 1 });
					const reply = await ws.type('error');
					const token = member === 'token' && ['text', 'null'].includes(kind);
					problemBody(reply.problem, token ? 'unauthenticated' : 'bad_request', undefined,
						JSON.stringify(frame));
					assert.equal((await ws.closing()).code, token ? 4401 : 4400);
				}
				return;
			}
			const ws = await ann.ws({ instance: `every ${name}` });
			for (const [frame, member, kind] of wrong()) {
				rows++;
				const pointer = member === undefined || kind === 'nested' || member === 'message' ?
					undefined : `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`;
				await refused(ws, frame, frame.type === 'read' && kind === 'null' ? undefined : pointer);
			}
			const reply = await ws.request({ type, ...good() });
			assert.ok(['ok', 'sent', 'pong'].includes(reply.type), JSON.stringify(reply));
			await ws.close();
		});
	}

	it('a message in a send, member by member', async () => {
		const ws = await ann.ws({ instance: 'message' });
		const message = { id: uuid7(), to: bob.name, body: 'x' };
		for (const member of ['to', 'conversation', 'body', 'content_type', 'id', 'metadata',
			'correlation_id', 'reply_to', 'priority', 'deliver_at', 'expires_in']) {
			for (const [kind, value] of Object.entries(values)) {
				if (kind === 'null' || (kind === 'text' && ['body', 'correlation_id', 'to'].includes(member)) ||
				    (kind === 'object' && member === 'metadata') ||
				    (kind === 'integer' && member === 'expires_in'))
					continue;
				rows++;
				const reply = await ws.request({ type: 'send',
					message: { ...message, id: uuid7(), [member]: value } });
				assert.equal(reply.type, 'error', `${member} ${kind}: ${JSON.stringify(reply)}`);
				assert.match(reply.problem.pointer ?? '', /^(\/message.*)?$/);
			}
		}
		for (const more of ['from', 'seq', 'own', 'sender', 'event_time', 'conversation_seq', 'epoch']) {
			rows++;
			await refused(ws, { type: 'send', message: { ...message, [more]: 1 } }, `/message/${more}`);
		}
		assert.equal((await ws.request({ type: 'send', message })).type, 'sent');
		await ws.close();
	});

	it('an id that is not an integer ends the session', async () => {
		for (const id of ['"1"', '1.5', 'true', '[]', '{}', '9223372036854775808', '1e400',
			'-9223372036854775809']) {
			rows++;
			const ws = await ann.ws({ instance: 'id' });
			ws.send(`{"type":"ping","id":${id}}`);
			assert.equal((await ws.closing()).code, 4400, id);
		}
	});

	it('an id may be any integer of 64 bits', async () => {
		const ws = await ann.ws({ instance: 'id' });
		for (const id of [0, -1, 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
			rows++;
			assert.equal((await ws.request({ type: 'ping', id })).re, id);
		}
		await ws.close();
		const raw = await (await connect(server)).hello(ann, { instance: 'id' });
		for (const id of ['9223372036854775807', '-9223372036854775808']) {
			rows++;
			raw.write(text(`{"type":"ping","id":${id}}`));
			await raw.until(() => raw.frames.some((one) =>
				one.payload.toString() === `{"type":"pong","re":${id}}`), `the pong ${id}`);
		}
		raw.destroy();
	});
});

describe('JSON at its edges closes with 4400', () => {
	const deep = (n, open, shut) => `${open.repeat(n)}${shut.repeat(n)}`;
	for (const [what, frame] of [
		['33 lists', `{"type":"ping","x":${deep(33, '[', ']')}}`],
		['60,000 lists', deep(60_000, '[', ']')],
		['60,000 lists that never end', '['.repeat(60_000)],
		['10,000 objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
		['20,000 values', `{"type":"ping","x":[${'0,'.repeat(19_999)}0]}`],
		['60,000 empty lists', `[${'[],'.repeat(40_000)}[]]`],
		['a type twice', '{"type":"ping","type":"ping"}'],
		['a type twice, once escaped', '{"type":"ping","\\u0074ype":"ack"}'],
		['an upto twice', '{"type":"ack","upto":0,"upto":0}'],
		['a member twice, deep inside', '{"type":"ping","x":{"a":[{"b":1,"b":2}]}}'],
		['2^63', '{"type":"ack","upto":9223372036854775808}'],
		['-2^63-1', '{"type":"ack","upto":-9223372036854775809}'],
		['a number of 100,000 digits', `{"type":"ack","upto":${'9'.repeat(100_000)}}`],
		['1e400', '{"type":"ack","upto":1e400}'],
		['1.0', '{"type":"ack","upto":1.0}'],
		['01', '{"type":"ack","upto":01}'],
		['+1', '{"type":"ack","upto":+1}'],
		['0x1', '{"type":"ack","upto":0x1}'],
		['NaN', '{"type":"ack","upto":NaN}'],
		['Infinity', '{"type":"ack","upto":Infinity}'],
		['single quotes', "{'type':'ping'}"],
		['a comma behind', '{"type":"ping",}'],
		['a comment', '{"type":"ping"/* */}'],
		['two values', '{"type":"ping"}{"type":"ping"}'],
		['something behind', '{"type":"ping"} x'],
		['a control character', '{"type":"pi\tng"}'],
		['a bare text', '"ping"'],
		['null', 'null'],
		['true', 'true'],
		['a lone high surrogate', '{"type":"ping","x":"\\ud800"}'],
		['a lone low surrogate', '{"type":"ping","x":"\\udc00"}'],
		['an escaped NUL in a name', '{"type":"ping","\\u0000":1}'],
		['a type in capitals', '{"type":"PING"}'],
		['a type with a NUL behind', '{"type":"ping\\u0000"}'],
		['a type of 100,000 letters', `{"type":"${'a'.repeat(100_000)}"}`],
	]) {
		rows++;
		it(`${what} [${frame.length > 60 ? `${frame.slice(0, 60)}…` : frame}]`, async () => {
			const ws = await ann.ws({ instance: 'json' });
			ws.send(frame);
			assert.equal((await ws.closing()).code, 4400);
		});
	}
});

describe("what is somebody else's", () => {
	it('read: as if it were not there, and nothing moves', async () => {
		const ws = await eve.ws();
		const answers = [];
		for (const conversation of [theirs.conversation, NOWHERE]) {
			rows++;
			const { problem } = await ws.request({ type: 'read', conversation,
				upto_conversation_seq: 1 });
			const { request_id: _id, ...rest } = problem;
			answers.push(JSON.stringify(rest).replaceAll(conversation, 'C'));
		}
		assert.equal(answers[0], answers[1], 'it reveals that there is such a conversation');
		assert.equal((await dan.unread()).total, 1);
		assert.deepEqual((await cat.entry(theirs.id)).counts.read, 0);
		await ws.close();
	});

	it('typing: nobody hears it, and the answers are alike', async () => {
		const ws = await eve.ws();
		const hears = await dan.ws();
		const answers = [];
		for (const conversation of [theirs.conversation, NOWHERE]) {
			rows++;
			ws.send({ type: 'typing', conversation });
			answers.push((await ws.request({ type: 'ping' })).type);
		}
		assert.deepEqual(answers, ['pong', 'pong']);
		await sleep(100);
		assert.ok(!hears.frames.some((one) => one.type === 'typing'));
		assert.ok(!ws.frames.some((one) => one.type === 'error'));
		await ws.close();
		await hears.close();
	});

	it('send into it: as if it were not there', async () => {
		const ws = await eve.ws();
		const answers = [];
		for (const conversation of [theirs.conversation, NOWHERE]) {
			rows++;
			const reply = await ws.request({ type: 'send',
				message: { id: uuid7(), conversation, body: 'psst' } });
			assert.equal(reply.type, 'error');
			const { request_id: _id, ...rest } = reply.problem;
			answers.push(JSON.stringify(rest).replaceAll(conversation, 'C'));
		}
		assert.equal(answers[0], answers[1]);
		assert.equal((await dan.inbox()).events.length, 1);
		await ws.close();
	});

	it('ack and read move only my own', async () => {
		rows += 2;
		const ws = await eve.ws();
		for (const type of ['ack', 'read']) {
			const reply = await ws.request({ type, upto: 1 });
			problemBody(reply.problem, 'ack_beyond_head', '/upto');
		}
		assert.equal((await dan.get('/v1/inbox')).body.acked, 0);
		assert.equal((await dan.unread()).total, 1);
		await ws.close();
	});

	it("another's cursor is a number like any other", async () => {
		rows++;
		const ws = new Ws(server, { token: eve.token });
		await ws.opened();
		ws.send({ type: 'hello', id: 1, token: eve.token, after: '1' });
		assert.equal((await ws.closing()).code, 4410);
		assert.equal(ws.events().length, 0);
	});
});

describe('marks', () => {
	it('beyond the head, at the edges of 64 bits: refused, and nothing moves', async () => {
		const ws = await (await connect(server)).hello(dan, { instance: 'marks' });
		let id = 100;
		for (const type of ['ack', 'read']) {
			for (const upto of ['2', '1000', '9007199254740993', '9223372036854775807']) {
				rows++;
				ws.write(text(`{"type":"${type}","id":${++id},"upto":${upto}}`));
				const at = id;
				const reply = await ws.json((one) => one.re === at);
				problemBody(reply.problem, 'ack_beyond_head', '/upto');
			}
		}
		assert.equal((await dan.get('/v1/inbox')).body.acked, 0);
		ws.destroy();
	});

	it('without an id they are refused, too, and the session goes on', async () => {
		rows++;
		const ws = await dan.ws({ instance: 'marks' });
		ws.ack(99);
		problemBody((await ws.type('error')).problem, 'ack_beyond_head', '/upto');
		assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
		assert.equal((await ws.request({ type: 'ack', upto: 0 })).acked, 0);
		await ws.close();
	});

	it('beyond the conversation: refused', async () => {
		rows++;
		const ws = await dan.ws({ instance: 'marks' });
		const reply = await ws.request({ type: 'read', conversation: theirs.conversation,
			upto_conversation_seq: 99 });
		assert.equal(reply.type, 'error', JSON.stringify(reply));
		assert.equal((await dan.unread()).total, 1);
		await ws.close();
	});
});

describe('windows', () => {
	for (const window of ['0', '-1', '257', '1000000', '9223372036854775807', '-9223372036854775808',
		'9223372036854775808', '1.5', '"5"', 'true', '[]']) {
		rows++;
		it(`${window}: 4400`, async () => {
			const ws = await connect(server);
			await ws.upgrade();
			ws.write(text(`{"type":"hello","token":"${ann.token}","window":${window}}`));
			assert.equal((await ws.closing()).code, 4400);
			assert.ok(!ws.frames.some((one) => one.json?.type === 'welcome'));
			ws.destroy();
		});
	}
});

describe('tokens', () => {
	for (const [what, token] of [['of nobody', 'A'.repeat(43)], ['of one letter', 'x'],
		['of 128 letters', 'x'.repeat(128)], ['with spaces', ' '.repeat(43)],
		['that is SQL', "' OR 1=1 --"], ['in another alphabet', 'я'.repeat(20)]]) {
		rows++;
		it(`${what}: 4401`, async () => {
			const ws = new Ws(server);
			await ws.opened();
			ws.send({ type: 'hello', id: 1, token });
			assert.equal((await ws.closing()).code, 4401);
		});
	}

	it('of 129 letters: 4400', async () => {
		rows++;
		const ws = new Ws(server);
		await ws.opened();
		ws.send({ type: 'hello', id: 1, token: 'x'.repeat(129) });
		assert.equal((await ws.closing()).code, 4400);
	});

	it('a good one in hello wins over a bad one on the upgrade, and the other way round not', async () => {
		rows += 2;
		const good = new Ws(server, { token: ann.token, headers: { authorization: 'Bearer nonsense' } });
		await good.opened();
		await good.hello({ instance: 'both' });
		await good.close();
		const bad = new Ws(server, { headers: { authorization: `Bearer ${ann.token}` } });
		await bad.opened();
		bad.send({ type: 'hello', id: 1, token: 'nonsense' });
		assert.equal((await bad.closing()).code, 4401);
	});
});

describe('S12 who may no longer', () => {
	it('a revoked token ends its sessions, and no others, within a second', async (t) => {
		rows++;
		const other = await startServer({ args: ['--log-level', 'debug'] });
		t.after(() => other.stop());
		const [fay] = await users(other, 'fay');
		const phone = await fay.device('phone');
		const [lost, kept] = [await phone.ws(), await fay.ws({ instance: 'kept' })];
		const { devices } = (await fay.get('/v1/tokens')).body;
		const { id } = devices.find((one) => one.name === 'phone');
		assert.equal((await fay.delete(`/v1/tokens/${id}`)).status, 204);
		const since = Date.now();
		assert.equal((await lost.closing()).code, 4401);
		const took = await sessionEndedAt(other, lost) - since;
		t.diagnostic(`ended after ${took} ms`);
		assert.ok(took < SECOND, `${took} ms`);
		assert.equal((await kept.request({ type: 'ping' })).type, 'pong');
		await kept.close();
	});
});

describe('instances', () => {
	it('a name of 64 bytes passes, 65 not, also in UTF-8', async () => {
		for (const [instance, code] of [['x'.repeat(64), 0], ['x'.repeat(65), 4400],
			['ü'.repeat(32), 0], ['ü'.repeat(33), 4400], ['😀'.repeat(17), 4400]]) {
			rows++;
			const ws = new Ws(server, { token: ann.token });
			await ws.opened();
			ws.send({ type: 'hello', id: 1, token: ann.token, instance });
			if (code === 0) {
				await ws.type('welcome');
				await ws.close();
			} else {
				assert.equal((await ws.closing()).code, code);
			}
		}
	});

	it('a hundred of the same name: each ends the one before with 4409', async () => {
		rows++;
		let older;
		for (let i = 0; i < 100; i++) {
			const ws = await eve.ws({ instance: 'same' });
			if (older)
				assert.equal((await older.closing()).code, 4409);
			older = ws;
		}
		await older.close();
	});

	it('the ninth is refused; the eight stay', async () => {
		rows++;
		const held = [];
		const phone = await eve.device('tablet');
		for (let i = 0; i < 8; i++)
			held.push(await phone.ws({ instance: `n${i}` }));
		for (let i = 0; i < 5; i++) {
			const ninth = new Ws(server);
			await ninth.opened();
			ninth.send({ type: 'hello', id: 1, token: phone.token, instance: 'n8' });
			assert.equal((await ninth.closing()).code, 4429);
		}
		for (const ws of held) {
			assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
			await ws.close();
		}
	});
});

describe('S13 floods', () => {
	it('of requests: each is answered, and others are served meanwhile', async () => {
		rows++;
		const flood = await ann.ws({ instance: 'flood' });
		const other = await bob.ws({ instance: 'other' });
		for (let i = 0; i < 5000; i++)
			flood.send({ type: 'ack', id: 1_000_000 + i, upto: 0 });
		for (let i = 0; i < 5; i++)
			assert.equal((await other.request({ type: 'ping' })).type, 'pong');
		// Refused requests are answered before those that wait for
		// their results.
		const answered = () => flood.frames.filter((one) => one.re >= 1_000_000);
		await eventually(async () => answered().length >= 5000, 'all answers', 60_000);
		const answers = answered();
		assert.equal(answers.length, 5000);
		assert.deepEqual([...new Set(answers.map((one) => one.re))].length, 5000);
		for (const one of answers) {
			if (one.type === 'error')
				problemBody(one.problem, 'busy');
		}
		await flood.close();
		await other.close();
	});

	it('of sends: those beyond the rate learn when to come again', async () => {
		rows++;
		const slow = await startServer({ args: ['--rate-limit', '5/s'] });
		try {
			const [fay, gus] = await users(slow, 'fay', 'gus');
			const ws = await fay.ws();
			const start = performance.now();
			const replies = await Promise.all(Array.from({ length: 60 }, () => ws.request(
				{ type: 'send', message: { id: uuid7(), to: gus.name, body: 'x' } })));
			const sent = replies.filter((one) => one.type === 'sent').length;
			const told = replies.filter((one) => one.type === 'error');
			assert.ok(sent >= 1 && told.length >= 1, `${sent} sent`);
			for (const { problem } of told) {
				problemBody(problem, 'rate_limited');
				assert.ok(problem.retry_after >= 1);
			}
			// REST and WebSocket share the limit: at most as many
			// are admitted now as were added since the bucket was
			// empty.
			const posts = await Promise.all(Array.from({ length: 20 }, () =>
				fay.post('/v1/messages', { to: gus.name, body: 'x' })));
			const admitted = posts.filter(({ status }) => status === 201).length;
			const since = (performance.now() - start) / 1000;
			assert.ok(admitted <= 5 * since + 1, `${admitted} admitted in ${since} s`);
			assert.ok(posts.every(({ status }) => [201, 429].includes(status)));
			await eventually(async () => (await ws.request({ type: 'send',
				message: { id: uuid7(), to: gus.name, body: 'later' } })).type === 'sent',
			'a later send', 20_000);
			await ws.close();
		} finally {
			await slow.stop();
		}
	});

	it('of frames: read more slowly, none lost, others served', async () => {
			rows += 2;
			// With 1/s, a session may send 20 frames or KiB per
			// second, and 20 at once.
			const slow = await startServer({ args: ['--rate-limit', '1/s'] });
			try {
				const [fay, gus] = await users(slow, 'fay', 'gus');
				const flood = await fay.ws({ instance: 'flood' });
				const start = performance.now();
				for (let i = 0; i < 100; i++)
					flood.send({ type: 'ping', id: 1000 + i });
				const other = await gus.ws();
				assert.equal((await other.request({ type: 'ping' })).type, 'pong');
				await flood.wait((one) => one.re === 1099, 'the last pong', { ms: 60_000 });
				// 100 frames at 20 a second, 20 of them at
				// once, take 4 s, less the frames that one read
				// takes in at once.
				flood.send({ type: 'ping', id: 2000 });
				await flood.wait((one) => one.re === 2000, 'one more', { ms: 60_000 });
				assert.ok(performance.now() - start > 2000, 'it was not made to wait');
				assert.deepEqual(flood.frames.filter((one) => one.re >= 1000).map((one) => one.re),
					[...Array.from({ length: 100 }, (_, i) => 1000 + i), 2000]);
				await flood.close();
				await other.close();
			} finally {
				await slow.stop();
			}
		});

	it('of bytes: few large frames are read as slowly', async (t) => {
		rows++;
		const slow = await startServer({ args: ['--rate-limit', '1/s'] });
		t.after(() => slow.stop());
		const [fay, gus] = await users(slow, 'fay', 'gus');
		const flood = await fay.ws({ instance: 'flood' });
		const start = performance.now();
		for (let i = 0; i < 6; i++)
			flood.send(JSON.stringify({ type: 'ping', id: 1000 + i }).padEnd(16 * 1024));
		const other = await gus.ws();
		assert.equal((await other.request({ type: 'ping' })).type, 'pong');
		await flood.wait((one) => one.re === 1005, 'the last pong', { ms: 60_000 });
		// Six frames are allowed at once, but 96 KiB are not.  At 20
		// KiB a second, with 20 KiB at once and the last 8 KiB in one
		// read, they take 3.4 s.
		const took = performance.now() - start;
		t.diagnostic(`96 KiB in ${(took / 1000).toFixed(1)} s`);
		assert.ok(took > 3000, `it was not made to wait: ${took} ms`);
		assert.deepEqual(flood.frames.filter((one) => one.re >= 1000).map((one) => one.re),
			[1000, 1001, 1002, 1003, 1004, 1005]);
		await flood.close();
		await other.close();
	});

	it('of tokens that are none: each is refused, good ones pass', async () => {
		rows++;
		const ends = await Promise.all(Array.from({ length: 100 }, async (_, i) => {
			const ws = new Ws(server);
			await ws.opened();
			ws.send({ type: 'hello', id: 1, token: `guess-${i}` });
			return (await ws.closing(30_000)).code;
		}));
		assert.deepEqual(new Set(ends), new Set([4401]));
		const ws = await ann.ws({ instance: 'good' });
		await ws.close();
	});

	it('of sessions that come and go: none is left', async () => {
		rows++;
		for (let round = 0; round < 5; round++) {
			await Promise.all(Array.from({ length: 60 }, async (_, i) => {
				const ws = await connect(server);
				if (i % 4 > 0)
					await ws.upgrade();
				if (i % 4 > 1)
					ws.write(text({ type: 'hello', token: eve.token, instance: `i${i % 8}` }));
				if (i % 4 === 3)
					ws.socket.resetAndDestroy();
				else
					ws.destroy();
			}));
		}
		await eventually(async () => /^twinbox_ws_sessions 0$/m.test(
			(await server.rest().get('/metrics')).text), 'no sessions', 30_000);
	});
});

describe('after all of this', () => {
	it('inboxes are whole', async () => {
		for (const user of [ann, bob, eve])
			contiguous((await user.inbox()).events);
	});

	it('the table of frames that break the protocol', (t) => {
		assert.ok(rows > 300);
		t.diagnostic(`protocol abuse: ${rows} rows`);
	});
});
