// SPDX-License-Identifier: MIT
//
// Every character comes back as it was sent: all 1,112,063 characters except
// NUL, one after the other in bodies; and some of every class by each way in
// and each way out, in each member that takes text.  Nothing is normalised and
// nothing is removed.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import {
	PASSWORD, eventually, expectStatus, freshName, rawRequest, serverForFile, users, uuid7,
} from '../e2e/harness.mjs';

let ann, bob;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
}, { unlimited: 'one user sends every text' });

const range = (from, to, step = 1) => {
	let text = '';
	for (let point = from; point <= to; point += step) {
		if (point < 0xd800 || point > 0xdfff)
			text += String.fromCodePoint(point);
	}
	return text;
};

const CLASSES = {
	'controls': range(1, 0x1f),
	'DEL and C1 controls': range(0x7f, 0x9f),
	'ASCII': range(0x20, 0x7e),
	'composed': '\u00c5 \u212b \u00e9 \u1e9b\u0323 \ufb01 \u2126 \uac00 \u01c4',
	'decomposed': 'A\u030a e\u0301 \u017f\u0323\u0307 fi \u1100\u1161 o\u0302\u0323 o\u0323\u0302',
	'many combining marks': `Z${range(0x300, 0x36f).repeat(3)}`,
	'a combining mark first': '\u0301 alone',
	'bidirectional': '\u202eabc\u202c \u2066\u05d0\u05d1\u2069 \u200e\u200f\u061c \u0627\u0644\u0639 \u05e9\u05c1',
	'zero width': 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u180eg\u00adh\u034f',
	'a byte order mark first': '\ufeffabc\ufeff',
	'spaces': '\u00a0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000\t\r\n \r \n\n x ',
	'only spaces': '  \u00a0 \n',
	'private use': `${range(0xe000, 0xf8ff, 37)}${range(0xf0000, 0xffffd, 4001)}${range(0x100000, 0x10fffd, 4001)}`,
	'non-characters': `${range(0xfdd0, 0xfdef)}${Array.from({ length: 17 }, (_, plane) =>
		range(plane * 0x10000 + 0xfffe, plane * 0x10000 + 0xffff)).join('')}`,
	'emoji with joiners': '👩‍👩‍👧‍👦 🏳️‍🌈 👨🏽‍🚀 ❤️‍🔥 🇩🇪🇫🇷 1️⃣ ☎︎ ☎️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿',
	'tags and selectors': `${range(0xe0001, 0xe007f)}${range(0xfe00, 0xfe0f)}${range(0xe0100, 0xe01ef)}`,
	'what JSON escapes': '"\\/\b\f\n\r\t\u007f\u2028 \\u0041 \\" \\\\',
	'what HTML and SQL escape': '<script>alert("&amp;\'")</script>--\' OR 1=1; %00 %s %n ${x} {{x}} $1',
	'each plane': Array.from({ length: 17 }, (_, plane) => range(plane * 0x10000 + (plane ? 0 : 1),
		plane * 0x10000 + 0xffff, 1777)).join(''),
	'the edges of UTF-8': '\u0001\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}',
	'unassigned': '\u0378\u0b00\u2fe0\u{1ffff}\u{30000}\u{dffff}\u{e0fff}',
};

/** Writes each character as \\u and four digits. */
const escaped = (text) => JSON.stringify(text).replace(/[^\x20-\x7e]/g, (unit) =>
	`\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const WAYS_IN = {
	'REST in UTF-8': async (body, id) => expectStatus(await ann.post('/v1/messages',
		{ to: bob.name, body, id }), 201),
	'REST in escapes': async (body, id) => expectStatus(await ann.request('POST', '/v1/messages', {
		body: `{"to":"${bob.name}","id":"${id}","body":${escaped(body)}}`, type: 'application/json' }), 201),
	'REST as text': async (body, id) => expectStatus(await rawRequest(server, 'POST',
		`/v1/to/${bob.name}?id=${id}`, { token: ann.token, body: Buffer.from(body),
			headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(body) } }), 201),
	'WebSocket': async (body, id) => {
		const ws = await ann.ws({ instance: 'in' });
		assert.equal((await ws.request({ type: 'send', message: { to: bob.name, body, id } })).type, 'sent');
		await ws.close();
	},
};

/**
 * Asserts that ${got} is ${sent}.  Compares code points, so that a failure
 * shows them.
 */
function same(got, sent, where)
{
	if (got !== sent) {
		assert.deepEqual([...String(got)].map((c) => c.codePointAt(0).toString(16)),
			[...sent].map((c) => c.codePointAt(0).toString(16)), where);
		assert.fail(where);
	}
	assert.ok(Buffer.from(got).equals(Buffer.from(sent)), where);
}

describe('every way in and out', () => {
	for (const [what, body] of Object.entries(CLASSES)) {
		it(what, async () => {
			for (const [way, put] of Object.entries(WAYS_IN)) {
				const id = uuid7();
				const live = await bob.ws({ instance: 'live' });
				await put(body, id);
				const event = await bob.received(id);
				same(event.body, body, `${way}: inbox`);
				same((await live.received(id)).body, body, `${way}: live frame`);
				await live.close();
				const late = await bob.ws({ instance: 'late', after: event.seq - 1 });
				same((await late.received(id)).body, body, `${way}: frame read from the store`);
				await late.close();
				same((await bob.get(`/v1/inbox/${event.seq}`)).body.body, body, `${way}: one event`);
				for (const user of [ann, bob])
					same((await user.get(`/v1/messages/${id}`)).body.body, body, `${way}: message`);
				const history = (await ann.get(`/v1/conversations/${event.conversation}/messages?limit=1`)).body;
				same(history.messages.find((one) => one.id === id)?.body, body, `${way}: history`);
				same((await ann.event((one) => one.own && one.id === id)).body, body, `${way}: own copy`);
				// The content is the same, so this is the same
				// message, however it is written.
				expectStatus(await ann.post('/v1/messages', { to: bob.name, body, id }), 200);
			}
		});
	}
});

describe('metadata and names', () => {
	const pieces = (text, n) => {
		const list = [];
		let piece = '';
		for (const c of text) {
			if (Buffer.byteLength(piece + c) > n) {
				list.push(piece);
				piece = '';
			}
			piece += c;
		}
		return piece === '' ? list : [...list, piece];
	};

	for (const [what, text] of Object.entries(CLASSES)) {
		it(`metadata: ${what}`, async () => {
			const metadata = Object.fromEntries(pieces(text, 300).slice(0, 3).flatMap((piece, i) =>
				[[`k${i}`, piece], [pieces(piece, 40)[0] + i, 'v']]));
			const { id } = await ann.send(bob.name, 'with metadata', { metadata });
			const event = await bob.received(id);
			assert.deepEqual(event.metadata, metadata);
			assert.deepEqual((await ann.entry(id)).metadata, metadata);
			assert.deepEqual((await bob.get(`/v1/messages/${id}`)).body.metadata, metadata);
			const ws = await bob.ws({ instance: 'metadata', after: event.seq - 1 });
			assert.deepEqual((await ws.received(id)).metadata, metadata);
			await ws.close();
		});

		it(`device: ${what}`, async () => {
			const device = pieces(text, 64)[0];
			const { id } = (await ann.get('/v1/tokens')).body.devices[0];
			const answer = await ann.request('PATCH', `/v1/tokens/${id}`, { json: { device } });
			same(expectStatus(answer, 200).body.name, device, 'device');
			same((await ann.get('/v1/tokens')).body.devices[0].name, device, 'list of devices');
			same((await ann.get('/v1')).body.device.name, device, 'GET /v1');
		});
	}

	it('display names', async () => {
		const display_name = '👩‍👩‍👧‍👦 A\u030a\u200e\u200c\ufeff';
		const { body } = expectStatus(await server.rest().post('/v1/users',
			{ name: freshName('ann'), password: PASSWORD, display_name }), 201);
		same(body.display_name, display_name, 'display name');
	});
});

describe('all of Unicode', () => {
	it('comes back in the order in which it was sent', async (t) => {
		const [cat, dan] = await users(server, 'cat', 'dan');
		const bodies = [];
		let body = '';
		let size = 0;
		let count = 0;
		for (let point = 1; point <= 0x10ffff; point++) {
			if (point >= 0xd800 && point <= 0xdfff)
				continue;
			const length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
			if (size + length > 16_384) {
				bodies.push(body);
				body = '';
				size = 0;
			}
			body += String.fromCodePoint(point);
			size += length;
			count++;
		}
		bodies.push(body);
		assert.equal(count, 1_112_063);
		for (let i = 0; i < bodies.length; i += 50) {
			const { body: results } = expectStatus(await cat.post('/v1/messages',
				bodies.slice(i, i + 50).map((one) => ({ id: uuid7(), to: dan.name, body: one }))), 200);
			assert.ok(results.every((one) => one.status === 201), JSON.stringify(results.find((one) => one.status !== 201)));
		}
		const { events } = await eventually(async () => {
			const page = await dan.inbox(0, 40);
			return page.events.length === bodies.length && page;
		}, 'all of it is there');
		const sent = new Map(bodies.map((one) => [one, true]));
		assert.ok(events.every((event) => sent.delete(event.body)), 'a body is not what was sent');
		const ws = await dan.ws({ after: 0, window: 256 });
		for (let i = 0; i < events.length; i += 100) {
			const upto = Math.min(i + 100, events.length);
			await ws.upTo(upto);
			ws.ack(upto);
		}
		ws.events().slice(0, events.length).forEach((event, i) => same(event.body, events[i].body, `frame ${i}`));
		t.diagnostic(`${count} characters in ${bodies.length} messages, by REST and by WebSocket`);
		await ws.close();
	});
});
