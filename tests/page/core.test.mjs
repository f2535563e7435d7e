// SPDX-License-Identifier: MIT
// tags: unit
//
// A person's session in the page (web/src/core.ts) in node: what is acked and
// when, where the inbox begins, what becomes of a text until the server has
// it, what a restored database means, history, marks, log-out.  Clock, server
// and disk are fakes; the socket, the sender and the REST client are the
// page's own.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { Browser, FakeDisk, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

const CHAT = '01900000-0000-7000-8000-00000000000c';
const GROUP = '01900000-0000-7000-8000-00000000000d';
const LOGIN = { token: 'secret', user: 'ann', device: { id: 'd1', name: 'Firefox' } };
const HELD = 'twinbox.draft.ann.>';
const REPLAY = 2_000; // events that a new browser goes through
const DAY = 86_400_000;

let page;

before(async () => {
	page = await modules('core.ts', 'disk.ts', 'api.ts');
});

const iso = (at) => new Date(at).toISOString();
const member = (address, delivered = 0, read = 0) => ({ address, delivered, read });
const problem = (status, code, more = {}) => ({ type: 'about:blank', title: 'No', status, detail: 'so not', code, ...more });

/** What the server's list says of the conversation with bob. */
const listed = (more = {}) => ({ id: CHAT, kind: 'direct', created_at: iso(Browser.NOW - DAY), last: 0, unread: 0,
	members: [member('ann'), member('bob')], ...more });

/** The event of bob's message ${seq}. */
const event = (seq, more = {}) => ({ type: 'event', kind: 'message', seq, id: `m${seq}`, conversation: CHAT,
	conversation_seq: seq, own: false, from: 'bob', to: 'ann', body: `text ${seq}`,
	event_time: iso(Browser.NOW + seq), ...more });

/** A message as it is kept. */
const message = (seq, more = {}) => ({ id: `m${seq}`, conversation: CHAT, seq, from: 'bob', own: false,
	body: `text ${seq}`, at: Browser.NOW - DAY + seq, ...more });

/** The entry of the message that frame ${sent} sent. */
const entry = (sent, more = {}) => ({ id: sent.message.id, conversation: CHAT, to: 'bob', state: 'pending',
	created_at: iso(Browser.NOW), last_error: null, ...more });

/** A browser of ann's, and her page in it, which has not begun. */
class Scene {
	constructor(t, disk = new FakeDisk())
	{
		this.browser = new Browser(t);
		this.clock = this.browser.clock;
		this.disk = disk;
		this.list = [listed()];
		this.inbox = { epoch: 'e1', head: 0, oldest: 1 };
		Object.assign(this.browser.answers, {
			'GET /v1': () => [200, { limits: { text: 1000 }, user: { name: 'ann', admin: false } }],
			'GET /v1/inbox': () => [200, this.inbox],
			'GET /v1/conversations': () => [200, { conversations: this.list, next: null, has_more: false }],
			[`GET /v1/conversations/${CHAT}/messages`]: () => [200, { messages: [], has_more: false }],
		});
	}

	/** A page is opened; the one before is gone as if its tab had crashed. */
	open()
	{
		const seen = { words: [], logouts: 0 };

		this.browser.put(page.Disk, { open: async () => this.disk });
		this.session?.end();
		this.seen = seen;
		this.session = new page.Session(LOGIN, {
			changed: () => undefined,
			loggedOut: () => { seen.logouts++; },
			say: (words) => seen.words.push(words),
		});
		const { session } = this;
		this.browser.atEnd(() => session.end());
		return session;
	}

	/** The page that is open gets as far as its hello. */
	async begin()
	{
		void this.session.start();
		await turn();
		this.socket.opened();
		return this;
	}

	get socket()
	{
		return this.browser.socket;
	}

	get hello()
	{
		return this.socket.sent('hello')[0];
	}

	/** The server says welcome to the hello. */
	async welcome(more = {})
	{
		this.socket.say({ type: 'welcome', re: this.hello.id, epoch: this.inbox.epoch, head: this.inbox.head,
			oldest: this.inbox.oldest, acked: 0, recovered: true, ...more });
		await turn();
		return this;
	}

	/** The connection ends; the next one is opened, and is about to be welcomed. */
	async again(code = 1006)
	{
		this.socket.ends(code);
		await this.clock.pass(20_000);
		this.socket.opened();
		return this;
	}

	/** Events come, and all that follows from them happens. */
	async come(...events)
	{
		events.forEach((one) => this.socket.say(one));
		await this.clock.pass(0);
	}

	acks()
	{
		return this.socket.sent('ack').map((one) => one.upto);
	}

	/** What the page sends now, in order. */
	get sends()
	{
		return this.socket.sent('send');
	}

	/** The server has accepted what frame ${sent} sent. */
	async accept(sent, more)
	{
		this.socket.say({ type: 'sent', re: sent.id, entry: entry(sent, more) });
		await turn();
	}

	async refuse(sent, ...what)
	{
		this.socket.say({ type: 'error', re: sent.id, problem: problem(...what) });
		await turn();
	}

	get held()
	{
		return Object.keys(this.browser.storage).filter((key) => key.startsWith(HELD))
			.map((key) => key.slice(HELD.length));
	}

	conversation(id = CHAT)
	{
		return this.session.conversations.get(id);
	}
}

/** A page that is live; ${prepare} is given the scene before it begins. */
async function live(t, { disk, prepare } = {})
{
	const scene = new Scene(t, disk);

	prepare?.(scene);
	scene.open();
	return (await scene.begin()).welcome();
}

describe('an ack', () => {
	it('is sent when the events and the cursor behind them are on the disk, not before', async (t) => {
		const s = await live(t);
		s.disk.hold();
		await s.come(event(1), event(2));
		assert.equal(s.conversation().unread, 2, 'what is shown does not wait for the disk');
		await s.clock.pass(10_000);
		assert.deepEqual(s.acks(), []);
		s.disk.letGo();
		await turn();
		assert.deepEqual(s.acks(), [2]);
		assert.deepEqual(s.disk.cursor, { epoch: 'e1', seq: 2 });
		assert.deepEqual([...s.disk.kept.messages.keys()], ['m1', 'm2']);
		assert.equal(s.disk.kept.conversations.get(CHAT).last, 2);
	});

	it('is never sent for what the disk refused, nor for what comes after it', async (t) => {
		const s = await live(t);
		s.disk.hold();
		await s.come(event(1));
		await s.come(event(2));
		// Disk.write() of the page ends without an error, whatever happens; if
		// one came through it would be an error of the page.
		const writing = assert.rejects(s.session.writing, /broken/);
		s.disk.broken = new Error('broken');
		s.disk.letGo();
		await writing;
		await turn();
		assert.deepEqual([s.acks(), s.disk.cursors], [[], []]);
	});

	it('says no more than what has been written, batch after batch', async (t) => {
		const s = await live(t);
		s.disk.hold();
		await s.come(event(1), event(2));
		await s.come(event(3));
		s.disk.letGo();
		await turn();
		assert.deepEqual(s.acks(), [2, 3]);
		assert.deepEqual(s.disk.cursors.map((one) => one.seq), [2, 3]);
		s.disk.hold();
		await s.come(event(4));
		s.socket.say(event(5));
		s.disk.letGo();
		await turn();
		assert.deepEqual(s.acks(), [2, 3, 4]);
		await s.clock.pass(0);
		assert.deepEqual(s.acks(), [2, 3, 4, 5]);
	});

	it('an event that is known already moves no cursor and is not taken again', async (t) => {
		const s = await live(t);
		await s.come(event(1), event(2), event(3));
		s.socket.say({ type: 'caught_up' });
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		const kept = structuredClone(s.conversation());
		await s.come(event(2), event(3));
		assert.deepEqual(s.acks(), [3]);
		assert.deepEqual(s.disk.cursors.map((one) => one.seq), [3]);
		assert.deepEqual(s.conversation(), kept);
		assert.equal(s.session.typingIn(CHAT), 'bob', 'the old one does not end what he types now');
		await s.again();
		assert.equal(s.hello.after, 'e1:3');
		await s.welcome({ acked: 3 });
		await s.come(event(3), event(4));
		assert.deepEqual(s.acks(), [4]);
	});

	it('that was lost with its connection is sent on the next one', async (t) => {
		const s = await live(t);
		s.disk.hold();
		await s.come(event(1), event(2));
		s.socket.ends(1006);
		s.disk.letGo();
		await s.clock.pass(20_000);
		s.socket.opened();
		assert.deepEqual(s.acks(), [], 'not before the welcome');
		await s.welcome({ acked: 1 });
		assert.deepEqual(s.acks(), [2]);
		await (await s.again()).welcome({ acked: 2 });
		assert.deepEqual(s.acks(), [], 'the server has it');
		// And so in a page that was closed before it could say so.
		s.open();
		await (await s.begin()).welcome({ acked: 0 });
		assert.deepEqual(s.acks(), [2]);
	});

	it('of what is on no disk is not sent, wherever the page begins', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.inbox.head = 5000; } });
		assert.equal(s.hello.after, 'e1:3000');
		assert.deepEqual(s.acks(), []);
	});

	it('what comes as the page ends is neither written nor acked', async (t) => {
		const s = await live(t);
		s.socket.say(event(1));
		s.session.end();
		await s.clock.pass(DAY);
		assert.deepEqual([s.acks(), s.disk.cursors], [[], []]);
		assert.equal(s.disk.closed, true);
	});

	it('the event does not undo what only the disk knows of a message', async (t) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e1', seq: 0 }, messages: [
			message(null, { id: 'mine', own: true, from: 'ann', sent: { to: 'bob' } })] });
		const s = await live(t, { disk });
		await s.come(event(1, { id: 'mine', own: true, from: 'ann', to: 'bob' }));
		const kept = disk.kept.messages.get('mine');
		assert.deepEqual([kept.seq, kept.sent], [1, { to: 'bob' }]);
	});
});

describe('where the page begins', () => {
	for (const [what, inbox, after] of [
		['all of a short inbox', { head: 10, oldest: 1 }, 'e1:0'],
		['the last 2,000 of a long one', { head: 5000, oldest: 1 }, `e1:${5000 - REPLAY}`],
		['what is still kept', { head: 5000, oldest: 4001 }, 'e1:4000'],
	]) it(`in a new browser: ${what}`, async (t) => {
		const s = new Scene(t);
		Object.assign(s.inbox, inbox);
		s.open();
		await s.begin();
		assert.equal(s.browser.asked('GET /v1/inbox'), 1);
		assert.equal(s.hello.after, after);
		assert.equal(s.session.loaded, false);
	});

	it('in a new browser, when the first events are not kept any more, as the refusal says', async (t) => {
		const s = new Scene(t);
		s.browser.answers['GET /v1/inbox'] = () => [410, problem(410, 'cursor_expired',
			{ epoch: 'e1', head: 900, oldest: 801 })];
		s.open();
		await s.begin();
		assert.equal(s.hello.after, 'e1:800');
	});

	it('else behind what is on the disk, without a question', async (t) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e7', seq: 41 }, conversations: [] });
		const s = new Scene(t, disk);
		s.open();
		await s.begin();
		assert.equal(s.browser.asked('GET /v1/inbox'), 0);
		assert.equal(s.hello.after, 'e7:41');
		assert.equal(s.session.loaded, true);
	});

	it('when the cursor could not be served, at the oldest event there is', async (t) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e1', seq: 41 } });
		const s = new Scene(t, disk);
		s.open();
		await s.begin();
		await s.welcome({ recovered: false, oldest: 801, head: 900, acked: 41 });
		await s.come(event(800), event(801));
		assert.deepEqual([...disk.kept.messages.keys()], ['m801']);
		assert.deepEqual(disk.cursor, { epoch: 'e1', seq: 801 });
		assert.deepEqual(s.acks(), [801]);
	});

	it('a token that the server does not know: logged out once, no connection', async (t) => {
		const s = new Scene(t);
		for (const what of ['GET /v1', 'GET /v1/inbox'])
			s.browser.answers[what] = () => [401, problem(401, 'unauthenticated')];
		s.open();
		void s.session.start();
		await s.clock.pass(DAY);
		assert.ok(s.seen.logouts > 0);
		assert.equal(s.browser.sockets.length, 0);
	});

	it('a page that ended before its disk was open begins nothing', async (t) => {
		const s = new Scene(t);
		s.open();
		void s.session.start();
		s.session.end();
		await s.clock.pass(DAY);
		assert.deepEqual([s.browser.sockets.length, s.browser.requests.length], [0, 0]);
	});
});

describe('a text', () => {
	it('is let go only when it is on the disk, and then sent', async (t) => {
		const s = await live(t);
		s.disk.hold();
		void s.session.send({ to: 'bob' }, 'Hello');
		const [{ id }] = s.session.unsent;
		await turn();
		assert.deepEqual(s.held, [id], 'a page that goes away now leaves it behind');
		assert.deepEqual(s.sends, []);
		s.disk.letGo();
		await turn();
		assert.deepEqual(s.held, []);
		assert.equal(s.disk.kept.unsent.get(id).body, 'Hello');
		assert.deepEqual(s.sends.map((one) => one.message), [{ to: 'bob', body: 'Hello', id }]);
	});

	it('of a page that went away before it was on the disk is there for the next page', async (t) => {
		const s = await live(t);
		s.disk.hold();
		void s.session.send({ to: 'bob' }, 'Hello');
		const [{ id }] = s.session.unsent;
		const late = new FakeDisk();
		await late.write({ cursor: { epoch: 'e1', seq: 0 } });
		late.hold();
		s.disk = late;
		s.open();
		void s.session.start();
		await turn();
		assert.deepEqual(s.held, [id], 'it is not on this disk yet either');
		late.letGo();
		await turn();
		assert.deepEqual(s.held, []);
		assert.deepEqual([...late.kept.unsent.keys()], [id]);
		s.socket.opened();
		await s.welcome();
		assert.deepEqual(s.sends.map((one) => one.message.id), [id]);
	});

	it('what was left behind is there once, and in the order in which it was written', async (t) => {
		const s = await live(t, { prepare: ({ browser }) => {
			const one = (id) => ({ id, target: { to: 'bob' }, body: id, at: Browser.NOW });
			browser.storage.setItem(`${HELD}b`, JSON.stringify(one('b')));
			browser.storage.setItem(`${HELD}a`, JSON.stringify(one('a')));
			browser.storage.setItem('twinbox.draft.annie.>x', JSON.stringify(one('x')));
		} });
		assert.deepEqual(s.session.unsent.map((one) => one.id), ['a', 'b']);
		s.browser.storage.setItem(`${HELD}a`, JSON.stringify(s.session.unsent[0]));
		s.open();
		await s.begin();
		assert.deepEqual(s.session.unsent.map((one) => one.id), ['a', 'b']);
		assert.deepEqual(s.held, []);
	});

	it('is kept until it is accepted, and then as a message with its terms', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'bob' }, 'Hello');
		const [sent] = s.sends;
		assert.deepEqual(s.session.unsentFor({ conversation: s.conversation() }).map((one) => one.body), ['Hello']);
		await s.accept(sent);
		assert.deepEqual([s.session.unsent, [...s.disk.kept.unsent]], [[], []]);
		const { shown } = s.session.shown(CHAT);
		assert.deepEqual(shown.map((one) => [one.body, one.seq, one.own]), [['Hello', null, true]]);
		assert.deepEqual(s.disk.kept.messages.get(sent.message.id).sent, { to: 'bob' });
		assert.equal(s.session.tick(shown[0]), 'accepted');
	});

	it('whose event is faster than its answer is not sent or shown twice', async (t) => {
		const s = await live(t);
		await s.session.open(CHAT);
		await s.session.send({ to: 'bob' }, 'Hello');
		const [sent] = s.sends;
		await s.come(event(1, { id: sent.message.id, own: true, from: 'ann', to: 'bob', body: 'Hello' }));
		assert.deepEqual([s.session.unsent, [...s.disk.kept.unsent]], [[], []]);
		await s.accept(sent);
		assert.deepEqual(s.session.shown(CHAT).shown.map((one) => [one.id, one.seq]), [[sent.message.id, 1]]);
		const kept = s.disk.kept.messages.get(sent.message.id);
		assert.deepEqual([kept.seq, kept.sent], [1, { to: 'bob' }]);
		await (await s.again()).welcome();
		assert.deepEqual(s.sends, []);
	});

	it('goes in order, one at a time, whomever it is for', async (t) => {
		const s = await live(t);
		for (const [target, body] of [[{ to: 'bob' }, 'one'], [{ conversation: GROUP }, 'two'], [{ to: 'bob' }, 'three']]) {
			await s.clock.pass(1);
			await s.session.send(target, body);
		}
		for (const n of [1, 2, 3]) {
			assert.equal(s.sends.length, n);
			await s.accept(s.sends[n - 1]);
		}
		assert.deepEqual(s.sends.map((one) => one.message.body), ['one', 'two', 'three']);
		const ids = s.sends.map((one) => one.message.id);
		assert.deepEqual(ids, [...ids].sort());
	});

	it('whose answer is lost is sent again by the same id', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'bob' }, 'Hello');
		const [{ message: first }] = s.sends;
		await s.again();
		await s.session.send({ to: 'bob' }, 'More');
		assert.deepEqual(s.sends, [], 'not before the welcome');
		await s.welcome();
		assert.deepEqual(s.sends.map((one) => one.message), [first]);
		await s.accept(s.sends[0]);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello', 'More']);
	});

	it('that the server cannot take now waits as long as it says, also when more is written', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'bob' }, 'Hello');
		await s.refuse(s.sends[0], 429, 'rate_limited', { retry_after: 5 });
		await s.session.send({ to: 'bob' }, 'More');
		await s.clock.pass(5000);
		assert.equal(s.sends.length, 1);
		assert.deepEqual(s.session.unsent.map((one) => one.refused), [undefined, undefined]);
		await s.clock.pass(1000);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello', 'Hello']);
	});

	it('that is refused says why, and holds nothing up', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'nobody' }, 'Hello');
		await s.session.send({ to: 'bob' }, 'More');
		await s.refuse(s.sends[0], 404, 'unknown_recipient', { detail: 'nobody is not known here' });
		const [refused] = s.session.unsent;
		assert.equal(refused.refused, 'Nobody is not known here.');
		assert.equal(s.disk.kept.unsent.get(refused.id).refused, refused.refused);
		assert.deepEqual(s.seen.words, ['Not sent: Nobody is not known here.']);
		await s.accept(s.sends[1]);
		assert.deepEqual(s.session.newNames(), ['nobody']);
		// It is not tried by itself, in this page or the next.
		await (await s.again()).welcome();
		assert.deepEqual(s.sends, []);
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual(s.sends, []);
		await s.session.again(s.session.unsent[0]);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello']);
		assert.notEqual(s.sends[0].message.id, refused.id);
		assert.deepEqual([...s.disk.kept.unsent.keys()], [s.sends[0].message.id]);
		await s.refuse(s.sends[0], 404, 'unknown_recipient');
		await s.session.discard(s.session.unsent[0]);
		assert.deepEqual([s.session.unsent, [...s.disk.kept.unsent]], [[], []]);
	});

	it('whose token is revoked meanwhile is there for the next log-in', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'bob' }, 'Hello');
		const [{ message: first }] = s.sends;
		s.socket.ends(4401);
		await s.clock.pass(DAY);
		assert.equal(s.seen.logouts, 1);
		assert.equal(s.disk.erased, undefined);
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual(s.sends.map((one) => one.message), [first]);
	});

	it('that waits for a connection goes out as soon as a person says so', async (t) => {
		const s = await live(t);
		s.browser.random = 1;
		s.socket.ends(1006);
		await s.session.send({ to: 'bob' }, 'Hello');
		s.session.retryNow();
		await turn();
		s.socket.opened();
		await s.welcome();
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello']);
	});

	it('has no NUL and no half characters', async (t) => {
		const s = await live(t);
		await s.session.send({ to: 'bob' }, 'a\0b\ud800c\u{1f600}');
		assert.equal(s.sends[0].message.body, 'ab\ufffdc\u{1f600}');
	});
});

describe('a restored database', () => {
	const own = (id, more = {}) => message(3, { id, own: true, from: 'ann', at: Browser.NOW - DAY, sent: { to: 'bob' }, ...more });

	/** A page with messages of all kinds, whose cursor is of another epoch. */
	async function restored(t, more = () => undefined)
	{
		const disk = new FakeDisk();
		await disk.write({
			cursor: { epoch: 'e1', seq: 41 },
			conversations: [{ ...listed({ last: 5, unread: 2, members: [member('ann', 5, 3), member('bob', 4, 4)] }), at: 1 }],
			unsent: [{ id: 'x-queued', target: { to: 'bob' }, body: 'queued', at: Browser.NOW }],
			messages: [
				own('b-sent'), own('a-sent', { sent: { conversation: GROUP }, conversation: GROUP, seq: null }),
				own('c-failed', { end: 'failed', why: 'x' }), own('c-expired', { end: 'expired' }),
				own('c-canceled', { end: 'canceled' }), own('c-deleted', { body: null }),
				own('c-elsewhere', { sent: undefined }), message(4),
				own('c-old', { at: Browser.NOW - 14 * DAY }), own('d-recent', { at: Browser.NOW - 14 * DAY + 1000 }),
			],
		});
		const s = new Scene(t, disk);
		s.browser.random = 0;
		s.list = [];
		s.open();
		await s.begin();
		await more(s);
		s.inbox = { epoch: 'e2', head: 0, oldest: 1 };
		s.socket.ends(4410);
		await s.clock.pass(0);
		s.socket.opened();
		await s.welcome();
		return s;
	}

	it('what was sent is offered again by its ids; what failed, was canceled or is too old is not', async (t) => {
		const s = await restored(t);
		assert.deepEqual(s.session.unsent.map((one) => one.id), ['a-sent', 'b-sent', 'd-recent', 'x-queued']);
		for (const n of [1, 2, 3, 4]) {
			assert.equal(s.sends.length, n);
			await s.accept(s.sends[n - 1]);
		}
		assert.deepEqual(s.sends.map((one) => one.message), [
			{ conversation: GROUP, body: 'text 3', id: 'a-sent' },
			{ to: 'bob', body: 'text 3', id: 'b-sent' },
			{ to: 'bob', body: 'text 3', id: 'd-recent' },
			{ to: 'bob', body: 'queued', id: 'x-queued' }]);
		assert.deepEqual([...s.disk.kept.unsent], []);
	});

	it('a second restore offers nothing twice', async (t) => {
		const s = await restored(t);
		s.socket.ends(4410);
		await s.clock.pass(0);
		s.socket.opened();
		await s.welcome();
		assert.deepEqual(s.session.unsent.map((one) => one.id), ['a-sent', 'b-sent', 'd-recent', 'x-queued']);
	});

	it('the page begins anew: no cursor, no marks, and what is kept is marked', async (t) => {
		const s = await restored(t);
		assert.equal(s.hello.after, 'e2:0');
		assert.equal(s.disk.cursor, null);
		assert.ok([...s.disk.kept.messages.values()].every((one) => one.stale === true));
		const { last, unread, members } = s.disk.kept.conversations.get(CHAT);
		assert.deepEqual({ last, unread, members }, { last: 0, unread: 0, members: [member('ann'), member('bob')] });
		assert.deepEqual(s.acks(), [], 'an ack of before means nothing now');
		await s.come(event(1));
		assert.deepEqual(s.disk.cursor, { epoch: 'e2', seq: 1 });
		assert.deepEqual(s.acks(), [1]);
	});

	it('what is on its way to the disk gets there first', async (t) => {
		const s = await restored(t, async (scene) => {
			await scene.welcome({ acked: 41 });
			scene.disk.hold();
			await scene.come(event(42, { id: 'late' }));
			setTimeout(() => scene.disk.letGo(), 0);
		});
		assert.equal(s.disk.kept.messages.get('late').stale, true);
		assert.equal(s.disk.cursor, null);
		assert.equal(s.hello.after, 'e2:0');
	});

	it('what comes again is as good as new', async (t) => {
		const s = await restored(t, (scene) => scene.session.older(CHAT, 0));
		await s.session.open(CHAT);
		await s.come(event(1, { id: 'b-sent', own: true, from: 'ann', to: 'bob', body: 'text 3' }));
		const kept = s.disk.kept.messages.get('b-sent');
		assert.deepEqual([kept.stale, kept.seq], [undefined, 1]);
		assert.deepEqual(s.session.shown(CHAT).shown.filter((one) => one.id === 'b-sent').length, 1);
	});

	it('what was shown keeps its place in the page, marked', async (t) => {
		const s = await restored(t, async (scene) => {
			await scene.welcome({ acked: 41 });
			await scene.session.open(CHAT);
		});
		const { shown } = s.session.shown(CHAT);
		assert.ok(shown.length > 5);
		assert.ok(shown.every((one) => one.stale));
	});
});

describe('reading', () => {
	it('is told until the server confirms it, and only forward', async (t) => {
		const s = await live(t);
		await s.session.open(CHAT);
		await s.come(event(1), event(2), event(3));
		s.session.read(CHAT, 2);
		assert.equal(s.conversation().unread, 1);
		const told = () => s.socket.sent('read').map((one) => [one.conversation, one.upto_conversation_seq]);
		assert.deepEqual(told(), [[CHAT, 2]]);
		await turn();
		assert.equal(s.disk.kept.conversations.get(CHAT).members[0].read, 2);
		await (await s.again()).welcome({ acked: 3 });
		assert.deepEqual(told(), [[CHAT, 2]], 'the answer was lost');
		s.socket.say({ type: 'ok', re: s.socket.sent('read')[0].id });
		await turn();
		await (await s.again()).welcome({ acked: 3 });
		assert.deepEqual(told(), []);
		s.session.read(CHAT, 2);
		s.session.read(CHAT, 1);
		s.session.read('unknown', 7);
		assert.deepEqual(told(), []);
	});

	it('a late answer to an earlier mark does not confirm a later one', async (t) => {
		const s = await live(t);
		await s.come(event(1), event(2));
		s.session.read(CHAT, 1);
		s.session.read(CHAT, 2);
		s.socket.say({ type: 'ok', re: s.socket.sent('read')[0].id });
		await (await s.again()).welcome({ acked: 2 });
		assert.deepEqual(s.socket.sent('read').map((one) => one.upto_conversation_seq), [2]);
	});

	it('without a connection is told by the next one', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.socket.ends(1006);
		s.session.read(CHAT, 1);
		await s.clock.pass(20_000);
		s.socket.opened();
		assert.deepEqual(s.socket.sent('read'), []);
		await s.welcome({ acked: 1 });
		assert.deepEqual(s.socket.sent('read').map((one) => one.upto_conversation_seq), [1]);
	});

	it('elsewhere counts here as well', async (t) => {
		const s = await live(t);
		await s.come(event(1), event(2));
		await s.come({ type: 'event', kind: 'read', seq: 3, conversation: CHAT, upto: 2 });
		assert.deepEqual([s.session.unread, s.disk.kept.conversations.get(CHAT).unread], [0, 0]);
		assert.deepEqual(s.acks(), [2, 3]);
	});
});

describe('what becomes of a message of mine', () => {
	/** A page that shows message `mine`, which bob has not got yet. */
	async function sent(t)
	{
		const s = await live(t);
		await s.session.open(CHAT);
		await s.session.send({ to: 'bob' }, 'Hello');
		const [{ message: { id } }] = s.sends;
		await s.accept(s.sends[0]);
		await s.come(event(1, { id, own: true, from: 'ann', to: 'bob', body: 'Hello' }));
		const tick = () => s.session.tick(s.session.shown(CHAT).shown[0]);
		assert.equal(tick(), 'accepted');
		return { s, id, tick };
	}

	it('receipts move its tick', async (t) => {
		const { s, tick } = await sent(t);
		const receipt = (seq, state) => ({ type: 'event', kind: 'receipt', seq, conversation: CHAT, upto: 1, by: 'bob', state });
		await s.come(receipt(2, 'delivered'));
		assert.equal(tick(), 'delivered');
		await s.come(receipt(3, 'read'));
		assert.equal(tick(), 'read');
		assert.equal(s.disk.kept.conversations.get(CHAT).members[1].read, 1);
	});

	it('a bounce marks it, here and on the disk', async (t) => {
		const { s, id, tick } = await sent(t);
		await s.come({ type: 'event', kind: 'bounce', seq: 2, conversation: CHAT, of: id, state: 'failed', reason: 'no such user' });
		assert.equal(tick(), 'failed');
		const { end, why, body } = s.disk.kept.messages.get(id);
		assert.deepEqual([end, why, body], ['failed', 'no such user', 'Hello']);
	});

	for (const [state, end] of [['failed', 'failed'], ['expired', 'expired'], ['canceled', 'canceled'], ['acked', undefined]])
		it(`its entry is ${state}: ${end ? 'it is marked' : 'it is not marked'}`, async (t) => {
			const { s, id } = await sent(t);
			s.socket.say({ type: 'outbox', entry: { id, conversation: CHAT, state, last_error: 'why' } });
			await turn();
			assert.equal(s.session.shown(CHAT).shown[0].end, end);
			assert.equal(s.disk.kept.messages.get(id).end, end);
			assert.equal(s.session.entries.get(id), 1, 'whoever looks at it looks again');
		});
});

describe('the list', () => {
	it('is read to its end, and again after each welcome', async (t) => {
		const s = new Scene(t);
		s.browser.answers['GET /v1/conversations'] = (url) => url.searchParams.get('after') === 'a&b' ?
			[200, { conversations: [listed({ id: GROUP, kind: 'group' })], next: null, has_more: false }] :
			[200, { conversations: [listed()], next: 'a&b', has_more: true }];
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual([...s.session.conversations.keys()], [CHAT, GROUP]);
		assert.deepEqual([...s.disk.kept.conversations.keys()], [CHAT, GROUP]);
		assert.equal(s.session.loaded, true);
		await (await s.again()).welcome();
		assert.equal(s.browser.asked('GET /v1/conversations'), 4);
	});

	it('that failed is read with the next welcome', async (t) => {
		const s = new Scene(t);
		s.browser.answers['GET /v1/conversations'] = () => [503, problem(503, 'busy')];
		s.open();
		await (await s.begin()).welcome();
		assert.equal(s.session.conversations.size, 0);
		s.browser.answers['GET /v1/conversations'] = () => [200, { conversations: s.list, next: null, has_more: false }];
		await (await s.again()).welcome();
		assert.equal(s.session.conversations.size, 1);
	});

	it('a first message from somebody makes a conversation, of which the server then says more', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = []; } });
		s.list = [listed({ last: 1, unread: 1 })];
		s.socket.say({ type: 'caught_up' });
		await s.come(event(1));
		assert.equal(s.browser.asked('GET /v1/conversations'), 2);
		assert.deepEqual(s.session.withPerson('bob').preview.body, 'text 1');
		assert.equal(s.session.unread, 1);
		assert.deepEqual(s.seen.words, ['bob: text 1']);
	});

	it('shows the last line also of what the replay did not reach', async (t) => {
		const s = new Scene(t);
		s.list = [listed({ last: 9 })];
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = ({ searchParams }) => {
			assert.equal(searchParams.get('limit'), '1');
			return [200, { messages: [event(9)], has_more: true }];
		};
		s.open();
		await (await s.begin()).welcome();
		assert.equal(s.conversation().preview.body, 'text 9');
		assert.equal(s.conversation().at, Browser.NOW + 9);
	});

	it('the last written to comes first, by what is unsent as well', async (t) => {
		const s = await live(t, { prepare: (scene) => {
			scene.list = [listed(), listed({ id: GROUP, kind: 'group', created_at: iso(Browser.NOW - DAY / 2) })];
		} });
		const ids = () => s.session.list().map((one) => one.id);
		assert.deepEqual(ids(), [GROUP, CHAT]);
		await s.session.send({ to: 'bob' }, 'Hello');
		assert.deepEqual(ids(), [CHAT, GROUP]);
	});
});

describe('history', () => {
	/** Answers with the messages of ${pages}, newest first; the last page is the first of all. */
	const history = (s, pages) => {
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = ({ searchParams }) => {
			const at = pages.findIndex((one) => one.before === (searchParams.get('before') ?? ''));
			return [200, { messages: pages[at].seqs.map((n) => event(n)), has_more: at < pages.length - 1 }];
		};
	};

	it('numbers that are no messages leave no hole, within a page and between two', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = [listed({ last: 9 })]; } });
		history(s, [{ before: '', seqs: [9, 7] }, { before: '7', seqs: [4, 2] }]);
		await s.session.open(CHAT);
		const seqs = () => s.session.shown(CHAT).shown.map((one) => one.seq);
		assert.deepEqual([seqs(), s.session.shown(CHAT).before], [[7, 9], 7]);
		await s.session.older(CHAT, 7);
		assert.deepEqual([seqs(), s.session.shown(CHAT).before], [[2, 4, 7, 9], 0]);
		// And so from the disk alone.
		s.open();
		await s.begin();
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = () => null;
		void s.session.open(CHAT);
		await turn();
		assert.deepEqual([seqs(), s.session.shown(CHAT).before], [[2, 4, 7, 9], 0]);
	});

	it('a server that does not answer is unreachable after 20 s', async (t) => {
		const s = await live(t);
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = () => null;
		const asked = assert.rejects(s.session.open(CHAT), page.Unreachable);
		await s.clock.pass(20_000);
		await asked;
	});
});

describe('typing', () => {
	it('is told every 3 s at most', async (t) => {
		const s = await live(t);
		s.session.type(CHAT);
		await s.clock.pass(2999);
		s.session.type(CHAT);
		assert.equal(s.socket.sent('typing').length, 1);
		await s.clock.pass(1);
		s.session.type(CHAT);
		assert.deepEqual(s.socket.sent('typing'), [{ type: 'typing', conversation: CHAT }, { type: 'typing', conversation: CHAT }]);
	});

	it('of somebody else is shown for 6 s, or until the message is there', async (t) => {
		const s = await live(t);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		await s.clock.pass(5999);
		assert.equal(s.session.typingIn(CHAT), 'bob');
		await s.clock.pass(1);
		assert.equal(s.session.typingIn(CHAT), null);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		await s.come(event(1));
		assert.equal(s.session.typingIn(CHAT), null);
	});
});

describe('logging out', () => {
	for (const status of [204, 401, 404]) it(`${status}: the token is gone, and so is what was kept`, async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens/d1'] = () => [status, status === 204 ? null : problem(status, 'x')];
		await s.session.logOut();
		assert.equal(s.disk.erased, true);
		assert.equal(s.socket.closed, 1000);
		assert.equal(s.browser.requests.pop().authorization, 'Bearer secret');
	});

	it('the server says no: nothing is erased', async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens/d1'] = () => [503, problem(503, 'busy')];
		await assert.rejects(s.session.logOut(), page.Refused);
		assert.equal(s.disk.erased, undefined);
		assert.equal(s.session.link.state, 'live');
	});
});
