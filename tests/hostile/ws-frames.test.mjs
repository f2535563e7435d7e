// SPDX-License-Identifier: MIT
//
// Frames, as bytes, that RFC 6455 forbids, or that are too large, too many or
// too late.  Each closes the session with its code, and no other session is
// affected.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile, users, uuid7 } from '../e2e/harness.mjs';
import { close, connect, frame, more, ping, pong, readable, text } from './rawws.mjs';

let ann, bob, witness;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
	witness = await bob.ws({ instance: 'witness' });
});
let rows = 0;
let serial = 0;

const LIMIT = 131_072;
const PING = JSON.stringify({ type: 'ping', id: 7 });
const bytes = (...values) => Buffer.from(values);
const MASK = bytes(1, 2, 3, 4);

async function session()
{
	return (await connect(server)).hello(ann, { instance: `i${serial++ % 8}` });
}

/**
 * Asserts that ${frames} in an open session end it with ${code}.  Valid frames
 * before the bad one are handled.
 */
async function closes(frames, code, reason)
{
	const ws = await session();

	ws.write(Buffer.concat([frames].flat()));
	const end = await ws.closing();
	assert.equal(end.code, code, JSON.stringify(end));
	if (reason)
		assert.match(end.reason, reason);
	ws.write(close(1000));
	assert.equal(await ws.end(), 'end');
	assert.equal(ws.frames.at(-1).opcode, 8, 'something came behind the close');
}

/** Asserts that ${frames} are accepted: a ping after them is answered. */
async function passes(frames)
{
	const ws = await session();

	ws.write(Buffer.concat([frames, text({ type: 'ping', id: 4711 })].flat()));
	await ws.json((one) => one.type === 'pong' && one.re === 4711, 'the pong');
	assert.ok(!ws.frames.some((one) => one.opcode === 8));
	ws.destroy();
	return ws;
}

function table(what, cases)
{
	describe(what, () => {
		for (const [name, frames, code, reason] of cases) {
			rows++;
			const all = Buffer.concat([frames].flat());
			it(`${name}: ${code ?? 'taken'} [${readable(all)}]`, () =>
				(code ? closes(frames, code, reason) : passes(frames)));
		}
	});
}

table('masking', [
	['an unmasked text', text(PING, { mask: false }), 1002, /masked/],
	['an unmasked ping', ping('x', { mask: false }), 1002, /masked/],
	['an unmasked close', frame(8, bytes(3, 232), { mask: false }), 1002, /masked/],
	['an unmasked empty text', text('', { mask: false }), 1002],
	['an unmasked continuation', [text('{', { fin: false }), more(PING.slice(1), { mask: false })], 1002],
	['a mask of zeros', text(PING, { mask: bytes(0, 0, 0, 0) })],
	['a mask of ones', text(PING, { mask: bytes(255, 255, 255, 255) })],
]);

table('reserved bits', [1, 2, 3, 4, 5, 6, 7].flatMap((rsv) => [
	[`RSV ${rsv} on a text`, text(PING, { rsv }), 1002, /reserved bits/],
	[`RSV ${rsv} on a ping`, ping('', { rsv }), 1002],
	[`RSV ${rsv} on a continuation`, [text('{', { fin: false }), more(PING.slice(1), { rsv })], 1002],
]));

table('reserved opcodes', [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((opcode) => [
	[`opcode ${opcode}`, frame(opcode), 1002, /reserved opcode/],
	[`opcode ${opcode} with a payload`, frame(opcode, 'x'.repeat(20)), 1002],
]));

table('control frames', [
	['a ping in fragments', ping('x', { fin: false }), 1002, /fragmented/],
	['a pong in fragments', pong('x', { fin: false }), 1002],
	['a close in fragments', frame(8, bytes(3, 232), { fin: false }), 1002],
	['a ping of 125 bytes', ping('x'.repeat(125))],
	['a ping of 126 bytes', ping('x'.repeat(126)), 1002, /too long/],
	['a ping of 65,536 bytes', ping('x'.repeat(65536)), 1002],
	['a pong of 126 bytes', pong('x'.repeat(126)), 1002],
	['a close of 126 bytes', close(1000, 'x'.repeat(124)), 1002],
	['a ping between the fragments of a text',
		[text(PING.slice(0, 5), { fin: false }), ping('x'), more(PING.slice(5))]],
	['a pong that nobody asked for', pong('x')],
	['a ping of bytes that are no UTF-8', ping(bytes(0xff, 0xfe))],
]);

table('fragments', [
	['a continuation of nothing', more(PING), 1002, /continuation of nothing/],
	['a continuation of nothing that goes on', more('x', { fin: false }), 1002],
	['a continuation behind a whole message', [text(PING), more('x')], 1002],
	['a text inside a text', [text('{', { fin: false }), text(PING)], 1002, /inside/],
	['a binary inside a text', [text('{', { fin: false }), frame(2, 'x')], 1002],
	['a text in three', [text(PING.slice(0, 3), { fin: false }),
		more(PING.slice(3, 9), { fin: false }), more(PING.slice(9))]],
	['a text in fragments of a byte', [...PING].map((one, i) => frame(i ? 0 : 1, one,
		{ fin: i === PING.length - 1 }))],
	['a text with empty fragments', [text('', { fin: false }), more('', { fin: false }),
		more(PING, { fin: false }), more('')]],
	['256 fragments', [text(PING, { fin: false }),
		...Array.from({ length: 254 }, () => more(' ', { fin: false })), more(' ')]],
	['257 fragments', [text(PING, { fin: false }),
		...Array.from({ length: 255 }, () => more(' ', { fin: false })), more(' ')], 1009, /fragments/],
	['100,000 empty fragments', [text('', { fin: false }),
		...Array.from({ length: 100_000 }, () => more('', { fin: false, mask: MASK }))], 1009, /fragments/],
	['100,000 fragments of a byte', [text('{', { fin: false }),
		...Array.from({ length: 100_000 }, () => more(' ', { fin: false, mask: MASK }))], 1009],
]);

table('lengths', [
	['5 in 16 bits', text('12345', { form: 16 }), 1002, /shortest/],
	['125 in 16 bits', text('x'.repeat(125), { form: 16 }), 1002],
	['0 in 16 bits', text('', { form: 16 }), 1002],
	['126 in 16 bits', text(PING.padEnd(126), { form: 16 })],
	['126 in 64 bits', text(PING.padEnd(126), { form: 64 }), 1002],
	['65,535 in 64 bits', text(PING.padEnd(65535), { form: 64 }), 1002],
	['65,535 in 16 bits', text(PING.padEnd(65535))],
	['65,536 in 64 bits', text(PING.padEnd(65536))],
	['5 in 64 bits', text('12345', { form: 64 }), 1002],
	['the top bit of 64', frame(1, '', { form: 64, length: 1n << 63n }), 1002],
	['all bits of 64', frame(1, '', { form: 64, length: (1n << 64n) - 1n }), 1002],
	['the top bit and a small length', frame(1, 'x', { form: 64, length: (1n << 63n) | 1n }), 1002],
	['131,072, the limit', text(PING.padEnd(LIMIT))],
	['131,073, known from the head alone', frame(1, '', { length: LIMIT + 1 }), 1009, /too large/],
	['4 GiB, known from the head alone', frame(1, '', { length: 1n << 32n }), 1009],
	['2^63 - 1, known from the head alone', frame(1, '', { length: (1n << 63n) - 1n }), 1009],
	['two fragments that are more', [text(PING.padEnd(LIMIT), { fin: false }), more('x')], 1009],
	['two fragments, known from the second head', [text('{', { fin: false }),
		frame(0, '', { length: LIMIT })], 1009],
	['fragments up to the limit', [text(PING.padEnd(100_000), { fin: false }),
		more(' '.repeat(LIMIT - 100_000))]],
	['32 fragments of 5,000 bytes', [text('{', { fin: false }), ...Array.from({ length: 31 },
		() => more(' '.repeat(5000), { fin: false }))], 1009],
]);

const BAD_UTF8 = [
	['a lone continuation byte', [0x80]],
	['0xff', [0xff]],
	['0xfe', [0xfe]],
	['a start without its end', [0xc3]],
	['a start before an ASCII', [0xc3, 0x41]],
	['two of three bytes', [0xe2, 0x82]],
	['three of four bytes', [0xf0, 0x9f, 0x98]],
	['an overlong slash of 2', [0xc0, 0xaf]],
	['an overlong slash of 3', [0xe0, 0x80, 0xaf]],
	['an overlong slash of 4', [0xf0, 0x80, 0x80, 0xaf]],
	['an overlong NUL', [0xc0, 0x80]],
	['a high surrogate', [0xed, 0xa0, 0x80]],
	['a low surrogate', [0xed, 0xbf, 0xbf]],
	['a pair of surrogates', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
	['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
	['five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
	['six bytes', [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80]],
];

table('UTF-8 that is none', BAD_UTF8.flatMap(([what, bad]) => {
	const payload = Buffer.concat([Buffer.from('{"type":"'), bytes(...bad), Buffer.from('"}')]);
	return [
		[`${what} in a text`, text(payload), 1007, /UTF-8/],
		[`${what}, nothing else`, text(bytes(...bad)), 1007],
		[`${what}, cut by fragments`, [text(payload.subarray(0, 10), { fin: false }),
			more(payload.subarray(10))], 1007],
		[`${what} as the reason of a close`, close(1000, bytes(...bad)), 1007],
	];
}));

table('UTF-8 that is some', [
	['a smile in a text', text({ type: 'typing', conversation: uuid7(), id: 1 }), undefined],
	...[1, 2, 3].map((cut) => {
		const smile = Buffer.from('{"type":"ping","id":1}').toString().replace('}', ',"x":"😀"}');
		const all = Buffer.from(smile);
		const at = all.indexOf(0xf0) + cut;
		return [`a smile cut after ${cut} bytes is whole again`,
			[text(all.subarray(0, at), { fin: false }), more(all.subarray(at))]];
	}),
]);

table('what is not text', [
	['a binary frame', frame(2, PING), 4400, /text frames only/],
	['an empty binary frame', frame(2), 4400],
	['a binary frame in fragments', frame(2, 'x', { fin: false }), 4400],
	['a huge binary frame, known from its head', frame(2, '', { length: 1n << 40n }), 4400],
	['an empty text', text(''), 4400, /bad frame/],
	['an empty text in two fragments', [text('', { fin: false }), more('')], 4400],
	['spaces', text('   '), 4400],
	['a NUL', text('\0'), 4400],
	['a byte order mark', text('\ufeff{"type":"ping"}'), 4400],
]);

/** A close is answered with its own code, if that code may be sent. */
const answered = (code) => [`close ${code}`, close(code), code];

table('close', [
	...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000,
		4400, 4999].map(answered),
	...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 9999, 65535].map((code) =>
		[`close ${code}`, close(code), 1002, /close code/]),
	['a close without a code', close(), 1005],
	['a close of one byte', frame(8, bytes(3)), 1002, /half/],
	['a close with a reason', close(1000, 'bye'), 1000],
	['a close with the longest reason', close(1000, 'x'.repeat(123)), 1000],
	['a close, then a text', [close(1000), text(PING)], 1000],
	['a close, then a ping', [close(1000), ping('x')], 1000],
	['a close, then another', [close(1000), close(4000)], 1000],
	['a close, then nonsense', [close(1000), bytes(...Array.from({ length: 300 }, (_, i) => i & 255))], 1000],
	['a close inside a text', [text('{', { fin: false }), close(1001)], 1001],
]);

describe('after a close', () => {
	it('of ours nothing is done any more', async () => {
		rows++;
		const ws = await session();
		const id = uuid7();
		ws.write(Buffer.concat([text(PING, { mask: false }),
			text({ type: 'send', id: 1, message: { id, to: bob.name, body: 'late' } })]));
		assert.equal((await ws.closing()).code, 1002);
		ws.write(text({ type: 'send', id: 1, message: { id, to: bob.name, body: 'late' } }));
		ws.write(close(1000));
		await ws.end();
		assert.equal((await ann.get(`/v1/outbox/${id}`)).status, 404);
	});

	it('of theirs nothing is done any more', async () => {
		rows++;
		const ws = await session();
		const id = uuid7();
		ws.write(Buffer.concat([close(1000),
			text({ type: 'send', id: 1, message: { id, to: bob.name, body: 'late' } })]));
		assert.equal((await ws.closing()).code, 1000);
		await ws.end();
		assert.equal((await ann.get(`/v1/outbox/${id}`)).status, 404);
	});

	it('that nobody answers the connection ends by itself', async () => {
		rows++;
		const ws = await session();
		ws.write(text(PING, { mask: false }));
		assert.equal((await ws.closing()).code, 1002);
		assert.equal(await ws.end(), 'end');
	});

	it('a flood does not keep the connection', async () => {
		rows++;
		const ws = await session();
		ws.write(text(PING, { mask: false }));
		assert.equal((await ws.closing()).code, 1002);
		const timer = setInterval(() => ws.write(text(PING)), 50);
		try {
			await ws.end();
		} finally {
			clearInterval(timer);
		}
	});
});

describe('pings', () => {
	it('are answered with their payload', async () => {
		rows++;
		const ws = await session();
		for (const payload of ['', 'x', 'y'.repeat(125)]) {
			ws.write(ping(payload));
			await ws.until(() => ws.frames.find((one) => one.opcode === 10 &&
				one.payload.toString() === payload), `the pong to ${payload}`);
		}
		ws.destroy();
	});

	for (const [what, one] of [['pings', ping('x')], ['pongs', pong('x')],
		['empty pings', ping()]]) {
		rows++;
		it(`a flood of ${what} is counted: 4429`, async () => {
			const ws = await session();
			ws.write(Buffer.concat(Array.from({ length: 10_000 }, () => one)));
			const end = await ws.closing();
			assert.equal(end.code, 4429);
			assert.match(end.reason, /pings/);
			const answers = ws.frames.filter(({ opcode }) => opcode === 10).length;
			// 64 at once and 8 a second.  The time depends on the
			// machine; a minute is the most.
			assert.ok(answers <= 64 + 8 * 60, `${answers} pongs`);
			ws.destroy();
		});
	}

	it('50 at once are not a flood', async () => {
		rows++;
		await passes(Array.from({ length: 50 }, () => ping('x')));
	});

	it('also before hello', async () => {
		rows++;
		const ws = await connect(server);
		await ws.upgrade();
		ws.write(Buffer.concat(Array.from({ length: 1000 }, () => ping('x'))));
		assert.equal((await ws.closing()).code, 4429);
		ws.destroy();
	});
});

describe('bytes in any portions', () => {
	it('a session byte by byte', async () => {
		rows++;
		const ws = await connect(server);
		await ws.upgrade();
		const id = uuid7();
		const all = Buffer.concat([
			text({ type: 'hello', token: ann.token, instance: 'bytes' }),
			ping('abc'),
		]);
		for (const byte of all) {
			ws.write(bytes(byte));
			await new Promise(setImmediate);
		}
		await ws.type('welcome');
		for (const byte of text({ type: 'send', id: 1, message: { id, to: bob.name, body: 'b' } })) {
			ws.write(bytes(byte));
			await new Promise(setImmediate);
		}
		await ws.type('sent');
		assert.ok(ws.frames.some((one) => one.opcode === 10 && `${one.payload}` === 'abc'));
		await bob.received(id);
		ws.destroy();
	});

	it('two frames cut at every byte', async () => {
		const both = Buffer.concat([text({ type: 'ping', id: 1 }, { mask: MASK }),
			text({ type: 'ping', id: 2 }, { form: undefined, mask: MASK })]);
		const ws = await session();
		for (let cut = 1; cut < both.length; cut++) {
			rows++;
			const answers = () => ws.frames.filter((one) => one.json?.type === 'pong')
				.slice((cut - 1) * 2);
			ws.write(both.subarray(0, cut));
			await new Promise((resolve) => setTimeout(resolve, 1));
			ws.write(both.subarray(cut));
			await ws.until(() => answers().length >= 2, `the pongs, cut at ${cut}`);
			assert.deepEqual(answers().map((one) => one.json.re), [1, 2]);
		}
		ws.destroy();
	});

	it('1,000 frames in one write are all answered', async () => {
		rows++;
		const ws = await session();
		ws.write(Buffer.concat(Array.from({ length: 1000 }, (_, id) => text({ type: 'ping', id }))));
		await ws.json((one) => one.re === 999, 'the last pong');
		assert.deepEqual(ws.frames.filter((one) => one.json?.type === 'pong').map((one) => one.json.re),
			Array.from({ length: 1000 }, (_, i) => i));
		ws.destroy();
	});
});

describe('before hello', () => {
	for (const [what, one, code] of [
		['an unmasked frame', text('{}', { mask: false }), 1002],
		['a binary frame', frame(2, 'x'), 4400],
		['nonsense', text('nonsense'), 4400],
		['a frame that comes after hello', text({ type: 'ack', upto: 0 }), 4400],
		['a ping frame of ours', text({ type: 'ping' }), 4400],
		['a frame of 131,073 bytes', frame(1, '', { length: LIMIT + 1 }), 1009],
		['a close', close(1000), 1000],
	]) {
		rows++;
		it(`${what}: ${code}`, async () => {
			const ws = await connect(server);
			await ws.upgrade();
			ws.write(one);
			assert.equal((await ws.closing()).code, code);
			ws.destroy();
		});
	}

	it('no hello in 5 s: 4408, whatever else comes', async () => {
		rows += 3;
		const all = await Promise.all([0, 1, 2].map(async () => (await connect(server)).upgrade()));
		all[1].write(text('{"type":"hello"', { fin: false }));
		const timer = setInterval(() => all[2].write(ping('x')), 300);
		try {
			for (const ws of all)
				assert.equal((await ws.closing(15_000)).code, 4408);
		} finally {
			clearInterval(timer);
			all.forEach((ws) => ws.destroy());
		}
	});
});

describe('all the while', () => {
	it('the witness stays and gets the message', async () => {
		const { id } = await ann.send(bob.name, 'still here?');
		await witness.received(id);
		await witness.close();
	});

	it('no session is left over', async () => {
		await eventually(async () => /^twinbox_ws_sessions 0$/m.test(
			(await server.rest().get('/metrics')).text), 'no sessions', 30_000);
	});

	it('the table of frames', (t) => {
		assert.ok(rows > 250);
		t.diagnostic(`hostile frames: ${rows} rows`);
	});
});
