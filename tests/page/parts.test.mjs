// SPDX-License-Identifier: MIT
// tags: unit
//
// The parts of the page that need no browser: ids, reconnecting after a lost
// connection, merging news with what is known, links in texts, times.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { bundle, modules } from './modules.mjs';

const page = {};

before(async () => {
	Object.assign(page, await modules('uuid.ts', 'backoff.ts', 'merge.ts', 'time.ts', 'data.ts', 'view-text.tsx',
		'view-list.tsx', 'view-timeline.tsx', 'visible.ts'));
});

const ANN = 'ann';
const CHAT = '01900000-0000-7000-8000-00000000000c';

const message = (seq, more = {}) => ({ id: `m${seq}`, conversation: CHAT, seq, from: 'bob', own: false,
	body: `text ${seq}`, at: 1000 * seq, ...more });
const chat = (more = {}) => ({ id: CHAT, kind: 'direct', at: 0, last: 0, unread: 0,
	members: [{ address: ANN, delivered: 0, read: 0 }, { address: 'bob', delivered: 0, read: 0 }],
	...more });
const seqs = (list) => list.map((m) => m.seq ?? m.id);

describe('uuid7', () => {
	it('is a UUID of version 7 that holds the time', () => {
		const now = 0x0190_1234_5678;
		for (let i = 0; i < 100; i++)
			assert.match(page.uuid7(now + i),
				/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
		assert.ok(page.uuid7(now + 100).startsWith('01901234-56dc-7'));
	});

	it('ascends, also within a millisecond and when the clock goes back', () => {
		const now = Date.now();
		const ids = Array.from({ length: 20_000 }, (_x, i) => page.uuid7(now - (i % 3) * 1000));
		assert.deepEqual(ids, [...ids].sort());
		assert.equal(new Set(ids).size, ids.length);
	});
});

describe('uuid7 within a millisecond', () => {
	it('counts up to 0xfff, then borrows from the next one', () => {
		const now = Date.now() + 86_400_000;
		const ids = Array.from({ length: 5000 }, () => page.uuid7(now).replace(/-/g, ''));
		const counts = (at) => ids.filter((one) => parseInt(one.slice(0, 12), 16) === at)
			.map((one) => parseInt(one.slice(13, 16), 16));
		const [first, next] = [counts(now), counts(now + 1)];
		assert.deepEqual([first.at(-1), next[0]], [0xfff, 0]);
		for (const list of [first, next])
			assert.deepEqual(list, list.map((_n, i) => list[0] + i));
		assert.ok(first[0] < 0x100, 'and leaves room for many');
	});
});

describe('the way back', () => {
	it('full jitter below 0.5 s × 2ⁿ, at most 20 s', () => {
		const bounds = [0, 1, 2, 3, 4, 5, 6, 50].map((n) => page.delay(n, () => 1));
		assert.deepEqual(bounds, [500, 1000, 2000, 4000, 8000, 16000, 20000, 20000]);
		assert.equal(page.delay(6, () => 0), 0);
		const some = Array.from({ length: 1000 }, () => page.delay(9));
		assert.ok(Math.min(...some) < 2000 && Math.max(...some) > 18_000 && Math.max(...some) < 20_000);
	});

	it('each close code as the contract says', () => {
		const codes = (verdict) => [1000, 1001, 1002, 1006, 1007, 1009, 1011, 1012, 1013, 4400, 4401, 4403, 4408,
			4409, 4410, 4429].filter((code) => page.verdict(code) === verdict);
		assert.deepEqual(codes('retry'), [1000, 1001, 1006, 1011, 1012, 1013, 4408, 4429]);
		assert.deepEqual(codes('stop'), [1002, 1007, 1009, 4400, 4403, 4409]);
		assert.deepEqual(codes('login'), [4401]);
		assert.deepEqual(codes('epoch'), [4410]);
	});
});

describe('chain', () => {
	it('ends at a hole, and says where to ask', () => {
		assert.deepEqual(page.chain([]), { shown: [], before: 0 });
		const { shown, before } = page.chain([9, 3, 8, 2, 7].map((n) => message(n)));
		assert.deepEqual(seqs(shown), [7, 8, 9]);
		assert.equal(before, 7);
	});

	it('is whole from the first message on', () => {
		const { shown, before } = page.chain([3, 1, 2].map((n) => message(n)));
		assert.deepEqual(seqs(shown), [1, 2, 3]);
		assert.equal(before, 0);
	});

	it('follows what the history says over numbers without a message', () => {
		const { shown, before } = page.chain([message(2, { prev: 0 }), message(5, { prev: 2 }), message(6)]);
		assert.deepEqual(seqs(shown), [2, 5, 6]);
		assert.equal(before, 0);
	});

	it('what has no number yet comes last, in order of its id', () => {
		const fresh = (id) => message(null, { id, own: true });
		assert.deepEqual(seqs(page.chain([fresh('b'), message(1), fresh('a')]).shown), [1, 'a', 'b']);
	});

	it('what is from before a restore stands by its time and breaks nothing', () => {
		const old = message(2, { id: 'old', stale: true, at: 1500 });
		assert.deepEqual(page.chain([message(1), old, message(2)]).shown.map((m) => m.id),
			['m1', 'old', 'm2']);
		const older = message(7, { id: 'older', stale: true, at: 5 });
		assert.deepEqual(page.chain([message(8), message(9), older]).shown.map((m) => m.id),
			['m8', 'm9'], 'only as far as the shown goes back');
	});

	it('what is as old as the oldest that is shown stands behind it', () => {
		const old = (id, at) => message(7, { id, stale: true, at });
		assert.deepEqual(page.chain([message(8), message(9), old('b', 9000), old('a', 8000), old('c', 9001), old('d', 7999)]).shown
			.map((m) => m.id), ['m8', 'a', 'm9', 'b', 'c']);
		assert.deepEqual(page.chain([old('b', 2), old('a', 1)]).shown.map((m) => m.id), ['a', 'b'], 'and where there is no other');
		assert.deepEqual(page.chain([message(1), old('a', 999), old('b', 1000)]).shown.map((m) => m.id), ['a', 'm1', 'b'],
			'before the first when the whole is shown');
	});
});

describe('messages', () => {
	it('the same news twice changes nothing', () => {
		const one = message(4, { prev: 3 });
		const twice = page.mergeMessage(one, message(4));
		assert.deepEqual(twice, one);
		assert.deepEqual(page.mergeMessage(twice, message(4)), twice);
	});

	it('what only this browser knows is kept', () => {
		const mine = message(null, { own: true, sent: { to: 'bob' } });
		const merged = page.mergeMessage(mine, { ...message(5), id: mine.id, own: true });
		assert.deepEqual(merged.sent, { to: 'bob' });
		assert.equal(merged.seq, 5);
		assert.equal(page.mergeMessage({ ...merged, stale: true }, message(5)).stale, undefined);
		assert.equal(page.mergeMessage(message(5, { end: 'failed', why: 'x' }), message(5)).end, 'failed');
		assert.equal(page.mergeMessage(undefined, mine), mine);
		const old = message(4, { prev: 3, sent: { to: 'bob' }, end: 'failed', why: 'x' });
		assert.deepEqual(page.mergeMessage(old, message(null)), { ...message(null), seq: 4, prev: 3, sent: { to: 'bob' },
			end: 'failed', why: 'x' });
		const fresh = message(5, { prev: 2, sent: { to: 'eve' }, end: 'expired', why: 'y' });
		assert.deepEqual(page.mergeMessage(old, fresh), fresh, 'what is fresh is better');
		assert.deepEqual(page.mergeMessage({ ...old, stale: true, sent: undefined, end: undefined }, message(5)), message(5));
		assert.deepEqual(Object.keys(page.mergeMessage(message(4, { end: 'expired' }), message(4))), Object.keys(message(4, { end: 1 })));
	});

	it('are made of what the server says', () => {
		const said = { id: 'm1', own: true, conversation: CHAT, conversation_seq: 4, from: ANN, to: 'bob', body: 'x',
			event_time: '1970-01-01T00:00:01.000Z' };
		const kept = { id: 'm1', conversation: CHAT, seq: 4, from: ANN, own: true, body: 'x', at: 1000 };
		assert.deepEqual([page.messageOf(said), page.messageOf(said, 0), page.messageOf(said, 3)],
			[kept, { ...kept, prev: 0 }, { ...kept, prev: 3 }]);
	});
});

describe('conversations', () => {
	it('count what is new once', () => {
		let c = chat();
		for (const n of [1, 2, 2, 1, 3])
			c = page.withMessage(c, message(n), ANN);
		assert.equal(c.unread, 3);
		assert.equal(c.last, 3);
		assert.equal(c.preview.body, 'text 3');
		assert.equal(page.withMessage(c, message(4, { own: true, from: ANN }), ANN).unread, 3);
	});

	it('what was read before it came is not new', () => {
		const c = page.withMark(chat({ last: 2 }), ANN, 3, true);
		assert.deepEqual([3, 4].map((n) => page.withMessage(c, message(n), ANN).unread), [0, 1]);
		const stranger = { ...c, members: [] };
		assert.equal(page.withMessage(stranger, message(3), ANN).unread, 1);
		assert.equal(page.withMessage(c, message(null), ANN), c, 'nor is what has no number');
	});

	it('the last line is that of the newest, as it is now', () => {
		const c = page.withMessage(chat({ at: 9000 }), message(4, { body: 'x'.repeat(161) }), ANN);
		assert.deepEqual([c.preview, c.at], [{ seq: 4, id: 'm4', from: 'bob', body: 'x'.repeat(160) }, 9000]);
		assert.equal(page.withMessage(c, message(3), ANN).preview.id, 'm4');
		assert.equal(page.withMessage(c, message(4, { body: null }), ANN).preview.body, '');
		assert.equal(page.previewOf(message(null)).seq, 0);
	});

	it('are called after the others in them', () => {
		const named = (kind, ...names) => chat({ kind, members: names.map((address) => ({ address, delivered: 0, read: 0 })) });
		for (const [c, name, target] of [
			[named('direct', ANN, 'bob'), 'bob', { to: 'bob' }],
			[named('direct', ANN), 'Notes to myself', { to: ANN }],
			[named('group', ANN, 'bob', 'carol'), 'bob, carol', { conversation: CHAT }],
		]) {
			assert.deepEqual([page.nameOf(c, ANN), page.targetOf(c, ANN)], [name, target]);
			assert.deepEqual([{ to: 'bob' }, { to: ANN }, { conversation: CHAT }, { conversation: 'x' }]
				.filter((one) => page.isFor({ target: one }, c, ANN)), [target, { conversation: CHAT }]
				.filter((one, at) => at === 1 || c.kind === 'direct'));
		}
	});

	it('marks go only forward', () => {
		let c = page.withMark(chat(), 'bob', 5, true);
		c = page.withMark(c, 'bob', 3, true);
		c = page.withMark(c, 'bob', 7, false);
		assert.deepEqual(c.members[1], { address: 'bob', delivered: 7, read: 5 });
		assert.deepEqual(page.withMark(c, 'stranger', 9, true).members, c.members);
	});

	it('reading lowers the count to what is left, and never raises it', () => {
		const known = [1, 2, 3, 4].map((n) => message(n));
		const c = chat({ last: 4, unread: 4 });
		assert.equal(page.withRead(c, ANN, 2, known).unread, 2);
		assert.equal(page.withRead(c, ANN, 4, []).unread, 0);
		assert.equal(page.withRead({ ...c, unread: 1 }, ANN, 1, known).unread, 1);
		const others = [message(3, { own: true }), message(4, { stale: true }), message(null)];
		assert.equal(page.withRead(c, ANN, 2, others).unread, 0, 'what is not to be read does not count');
		assert.equal(page.withRead(c, ANN, 4, [message(5)]).unread, 0, 'nor what the history has before its event');
		assert.deepEqual(page.withRead(c, ANN, 2, known).members[0], { address: ANN, delivered: 2, read: 2 });
	});

	it('the list of the server and faster events', () => {
		const server = { id: CHAT, kind: 'direct', created_at: '2026-01-01T00:00:00.000Z',
			last_at: '2026-01-01T00:00:00.000Z', last_message: { id: 'm3', conversation_seq: 3, from: 'bob', body: 'x' }, last: 3, unread: 2,
			members: chat().members };
		assert.equal(page.mergeConversation(undefined, server, ANN).unread, 2);
		const faster = page.mergeConversation(chat({ last: 5, unread: 4 }), server, ANN);
		assert.deepEqual([faster.last, faster.unread], [5, 4]);
		const read = page.mergeConversation(page.withMark(chat({ last: 3 }), ANN, 3, true), server, ANN);
		assert.equal(read.unread, 0, 'read here, the server does not know yet');
		// The server's answer numbers a message, but does not include
		// its delivery yet.
		assert.equal(page.mergeConversation(chat({ last: 3, unread: 1 }), { ...server, last_message: null, unread: 0 }, ANN).unread, 1);
		const elsewhere = { ...server, unread: 0, members: page.withMark(chat(), ANN, 2, true).members };
		assert.equal(page.mergeConversation(chat({ last: 3, unread: 1 }), elsewhere, ANN).unread, 0, 'read elsewhere');
	});

	it('the list of the server, which numbers a message before it counts it', () => {
		const server = (last, seen, unread) => ({ id: CHAT, kind: 'direct', created_at: '2026-01-01T00:00:00.000Z',
			last_at: '2026-01-01T00:00:00.000Z', last, unread, members: chat().members,
			last_message: seen ? { id: `m${seen}`, conversation_seq: seen, from: 'bob', body: 'x' } : null });
		const counts = (c, ...seqs) => seqs.map((n) => (c = page.withMessage(c, message(n), ANN)).unread);
		let c = page.mergeConversation(undefined, server(1, 0, 0), ANN);
		assert.deepEqual(counts(c, 1, 1, 2), [1, 1, 2], 'not delivered yet');
		c = page.mergeConversation(undefined, server(4, 2, 2), ANN);
		assert.deepEqual(counts(c, 1, 2, 3, 4), [2, 2, 3, 4], 'two of four delivered');
		// An older answer arrives after events that it does not count.
		c = page.withMessage(page.withMessage(chat(), message(1), ANN), message(2), ANN);
		c = page.mergeConversation(c, server(3, 1, 1), ANN);
		assert.deepEqual([c.last, c.unread, ...counts(c, 2, 3)], [3, 2, 2, 3]);
		c = page.mergeConversation(c, server(3, 3, 3), ANN);
		assert.deepEqual(counts(c, 3, 4), [3, 4]);
		// The user's own message is in the answer.  The message before
		// it is not delivered yet.
		c = page.withMessage(page.withMessage(chat(), message(3), ANN), message(4, { own: true, from: ANN }), ANN);
		assert.equal(page.mergeConversation(c, server(4, 4, 0), ANN).unread, 1);
		c = page.withMessage(c, message(5, { own: true, from: ANN }), ANN);
		c = page.mergeConversation(c, server(4, 4, 0), ANN);
		assert.deepEqual([c.last, c.unread], [5, 1]);
	});

	it('what is known here and what the server says make one', () => {
		const members = (delivered, read) => [{ address: ANN, delivered: 0, read: 0 }, { address: 'bob', delivered, read }];
		const server = { id: CHAT, kind: 'direct', created_at: '2026-01-01T00:00:00.000Z',
			last_at: '2026-01-01T00:00:00.000Z', last_message: null, last: 3, unread: 2,
			members: members(3, 1) };
		const created = Date.parse(server.created_at);
		const fresh = { id: CHAT, kind: 'direct', at: created, last: 3, counted: 0, unread: 2, members: server.members };
		assert.deepEqual(page.mergeConversation(undefined, server, ANN), fresh);
		assert.deepEqual(page.mergeConversation(chat(), server, ANN), fresh);
		const preview = { seq: 2, id: 'm2', from: 'bob', body: 'x' };
		assert.deepEqual(page.mergeConversation(chat({ at: created + 5, last: 3, unread: 7, preview, members: members(2, 2) }), server, ANN),
			{ ...fresh, at: created + 5, counted: 3, unread: 7, preview, members: members(3, 2) });
		assert.deepEqual(page.mergeConversation(chat({ members: members(5, 0) }), server, ANN).members, members(5, 1));
		assert.equal(page.mergeConversation(chat({ last: 4, unread: 1 }), server, ANN).unread, 2);
		for (const [read, unread] of [[2, 2], [3, 0], [4, 0]])
			assert.equal(page.mergeConversation(page.withMark(chat(), ANN, read, true), server, ANN).unread, unread);
	});
});

describe('ticks', () => {
	const group = chat({ kind: 'group', members: [
		{ address: ANN, delivered: 9, read: 9 }, { address: 'bob', delivered: 5, read: 5 },
		{ address: 'carol', delivered: 4, read: 2 }] });
	const mine = (seq, more) => message(seq, { own: true, from: ANN, ...more });

	it('the slowest of all says how far it is', () => {
		assert.equal(page.tickOf(mine(2), group, ANN), 'read');
		assert.equal(page.tickOf(mine(4), group, ANN), 'delivered');
		assert.equal(page.tickOf(mine(5), group, ANN), 'accepted');
		assert.equal(page.tickOf(mine(null), group, ANN), 'accepted');
	});

	it('of a conversation that is not known: accepted; of notes to oneself: read', () => {
		assert.equal(page.tickOf(mine(2), undefined, ANN), 'accepted');
		assert.equal(page.tickOf(mine(2), chat({ members: group.members.slice(0, 1) }), ANN), 'read');
	});

	it('what failed stays failed, whatever is read after it', () => {
		assert.equal(page.tickOf(mine(2, { end: 'failed' }), group, ANN), 'failed');
		assert.equal(page.tickOf(mine(2, { stale: true }), group, ANN), 'accepted');
	});
});

describe('links', () => {
	const links = (text) => page.cut(text).filter((_part, at) => at % 2 === 1);

	it('plain addresses, without the full stop behind them', () => {
		assert.deepEqual(links('see https://a.example/x?y=1#z, and (http://b.example).'),
			['https://a.example/x?y=1#z', 'http://b.example']);
		assert.deepEqual(links('no link'), []);
	});

	it('nothing else', () => {
		for (const text of ['javascript:alert(1)', 'data:text/html,x', 'JaVaScRiPt:https', 'vbscript:x',
			'file:///etc/passwd', 'https://', 'http:/x', '//evil.example', '<a href=https:x>'])
			assert.deepEqual(links(text), [], text);
	});

	it('an address ends at what would show another one', () => {
		for (const mark of ['\u202e', '\u2066', '\u200f', '\u061c', '\u200b', '\ufeff', '\u00ad', '\u2028',
			'\u{e0041}', '\u009b', '\u0001'])
			assert.deepEqual(links(`https://a.example/${mark}moc.elpmaxe.b//:sptth`), ['https://a.example/'],
				mark.codePointAt(0).toString(16));
		assert.deepEqual(links('https://a.example/grüß/日本'), ['https://a.example/grüß/日本']);
	});

	it('no character is lost', () => {
		for (const text of ['', 'a https://x.example b', 'https://x.example', '\u202ehttps://x.example"onclick=1'])
			assert.equal(page.cut(text).join(''), text);
	});
});

// The tests above run in the time zone of the machine.  These run in several.
describe('hidden characters', () => {
	it('are those that turn a text around and controls; marks and joiners stay', () => {
		const stays = new Set([0x09, 0x0a, 0x061c, 0x200e, 0x200f]);
		for (let code = 0; code <= 0x10ffff; code++) {
			const one = String.fromCodePoint(code);
			const seen = /\p{Bidi_Control}|\p{Cc}/u.test(one) && !stays.has(code);
			assert.equal(page.visible(one), seen ? `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩` : one);
		}
		assert.deepEqual(page.hidden('a\u202eb\u0000'), ['a', '\u202e', 'b', '\0', '']);
		assert.equal(page.visible('👩‍👩‍👧 שלום\n'), '👩‍👩‍👧 שלום\n');
	});
});

describe('the filter', () => {
	it('knows no accents and no capitals', () => {
		for (const [text, folded] of [['Zoë', 'zoe'], ['ÅNGSTRÖM', 'angstrom'], ['bob@far.example', 'bob@far.example']])
			assert.equal(page.folded(text), folded);
	});
});

describe('days and times are those of the reader', () => {
	const MINUTE = 60_000;
	const HOUR = 60 * MINUTE;

	/** Loads the module as a browser in ${zone} does. */
	async function timeIn(t, zone)
	{
		const was = process.env.TZ;

		t.after(() => {
			if (was === undefined)
				delete process.env.TZ;
			else
				process.env.TZ = was;
		});
		process.env.TZ = zone;
		assert.equal(new Intl.DateTimeFormat().resolvedOptions().timeZone, zone);
		return import(bundle('web/src', 'time.ts'));
	}

	// Each zone has the UTC time of a midnight in it.
	for (const [zone, midnight] of [
		['Pacific/Auckland', '2026-05-19T12:00:00Z'], ['Asia/Tokyo', '2026-05-19T15:00:00Z'],
		['America/Los_Angeles', '2026-05-20T07:00:00Z'], ['Europe/Berlin', '2026-05-19T22:00:00Z'],
		['America/St_Johns', '2026-05-20T02:30:00Z'], ['Pacific/Kiritimati', '2026-05-19T10:00:00Z'],
	]) it(zone, async (t) => {
		const time = await timeIn(t, zone);
		const start = Date.parse(midnight);
		const wednesday = time.dayOf(start);
		for (const at of [start + MINUTE, start + 12 * HOUR, start + 24 * HOUR - 1])
			assert.equal(time.dayOf(at), wednesday, new Date(at).toISOString());
		assert.equal(time.dayOf(start - 1), wednesday - 1);
		assert.equal(time.dayOf(start + 24 * HOUR), wednesday + 1);

		const late = start - 30 * MINUTE; // 23:30
		const early = start + 30 * MINUTE; // 00:30
		assert.equal(time.dayName(late, early), 'Yesterday');
		assert.equal(time.dayName(early, start + 24 * HOUR - 1), 'Today');
		assert.equal(time.whenOf(late, early), 'Yesterday');
		const written = (options, at) => new Intl.DateTimeFormat(undefined, { timeZone: zone, ...options }).format(at);
		const clock = { hour: 'numeric', minute: '2-digit' };
		assert.equal(time.whenOf(early, start + 12 * HOUR), written(clock, early));
		assert.equal(time.timeOf(late), written(clock, late));
		assert.match(time.timeOf(late), /11:30.PM|23:30/);
		assert.equal(time.dayName(late, early + 6 * 24 * HOUR), written({ dateStyle: 'long' }, late));
		assert.match(time.dayName(late, early + 6 * 24 * HOUR), /19/);
		assert.equal(time.dayName(early, start + 6 * 24 * HOUR), written({ weekday: 'long' }, early));
		assert.match(time.exactly(late), /19/);
	});

	it('a day of 23 hours and a day of 25 are one day each', async (t) => {
		const time = await timeIn(t, 'Europe/Berlin');
		for (const [first, hours] of [['2026-03-28T23:00:00Z', 23], ['2026-10-24T22:00:00Z', 25]]) {
			const start = Date.parse(first);
			const end = start + hours * HOUR;
			assert.equal(time.dayOf(end - 1), time.dayOf(start));
			assert.equal(time.dayOf(end), time.dayOf(start) + 1);
			assert.equal(time.dayOf(start - 1), time.dayOf(start) - 1);
			assert.equal(time.dayName(start, end), 'Yesterday');
			assert.equal(time.dayName(start, end - 1), 'Today');
		}
	});
});

describe('words', () => {
	it('days and spans', () => {
		const now = new Date(2026, 4, 20, 12).getTime();
		assert.equal(page.dayName(now - 3600_000, now), 'Today');
		assert.equal(page.dayName(now - 86_400_000, now), 'Yesterday');
		assert.notEqual(page.dayOf(now), page.dayOf(now - 13 * 3600_000));
		assert.equal(page.dayOf(now), page.dayOf(now + 11 * 3600_000));
		assert.deepEqual([5, 1500, 90_000, 7_200_000, 3 * 86_400_000].map((ms) => page.span(0, ms)),
			['5 ms', '1.5 s', '2 min', '2 h', '3 d']);
		assert.deepEqual([-1, 0, 999, 1000, 59_999, 60_000, 3_599_999, 3_600_000, 86_399_999, 86_400_000].map((ms) => page.span(7, 7 + ms)),
			['0 ms', '0 ms', '999 ms', '1.0 s', '60.0 s', '1 min', '60 min', '1 h', '24 h', '1 d']);
	});

	it('a day by its distance', () => {
		const noon = (days) => new Date(2026, 4, 20 - days, 12).getTime();
		const said = (how, days) => page[how](noon(days), noon(0));
		const written = (options, days) => new Intl.DateTimeFormat(undefined, options).format(noon(days));
		for (const days of [2, 6])
			assert.equal(said('dayName', days), written({ weekday: 'long' }, days));
		for (const days of [-1, 7])
			assert.equal(said('dayName', days), written({ dateStyle: 'long' }, days));
		for (const days of [-1, 0])
			assert.equal(said('whenOf', days), written({ hour: 'numeric', minute: '2-digit' }, days));
		assert.equal(said('whenOf', 2), written({ day: 'numeric', month: 'short' }, 2));
	});

	it('sentences', () => {
		assert.deepEqual(['too late', 'Too late.', 'really?', 'no!', ''].map(page.sentence),
			['Too late.', 'Too late.', 'Really?', 'No!', '.']);
	});

	it('devices', () => {
		const name = (text) => page.deviceName(text);
		assert.equal(name('Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0'),
			'Firefox on Linux');
		assert.equal(name('Mozilla/5.0 (Linux; Android 14) Chrome/120.0 Mobile Safari/537.36'),
			'Chrome on Android');
		assert.equal(name('something else'), 'Browser');
	});

	it('the steps of an entry', () => {
		const entry = { state: 'acked', created_at: '2026-01-01T00:00:00.000Z', destinations: [
			{ address: 'bob', sent_at: '2026-01-01T00:00:01.000Z', acked_at: null, read_at: null }],
		timeline: [{ state: 'acked', at: '2026-01-01T00:00:02.000Z' }] };
		assert.deepEqual(page.stepsOf(entry).map((step) => step.at && step.at % 10_000),
			[0, 1000, 2000, null]);
		const failed = page.stepsOf({ ...entry, state: 'failed', last_error: 'no such user' });
		assert.deepEqual(failed.map((step) => step.name), ['Accepted', 'Failed']);
		assert.equal(failed[1].what, 'no such user');
	});
});
