// SPDX-License-Identifier: MIT
// tags: unit
//
// The path of a text that the page's user writes (web/src/client.ts), run in
// node: storage, order, retry, refusal, and the later state of the message.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, DAY, GROUP, HELD, event, live } from './client-scene.mjs';
import { Browser, FakeDisk, turn } from './fakes.mjs';

describe('a text', () => {
	it('is let go only when it is on the disk, and then sent', async (t) => {
		const s = await live(t);
		s.disk.hold();
		void s.client.send({ to: 'bob' }, 'Hello');
		const [{ id }] = s.client.unsent;
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
		void s.client.send({ to: 'bob' }, 'Hello');
		const [{ id }] = s.client.unsent;
		const late = new FakeDisk();
		await late.write({ cursor: { epoch: 'e1', seq: 0 } });
		late.hold();
		s.disk = late;
		s.open();
		void s.client.start();
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
		assert.deepEqual(s.client.unsent.map((one) => one.id), ['a', 'b']);
		s.browser.storage.setItem(`${HELD}a`, JSON.stringify(s.client.unsent[0]));
		s.open();
		await s.begin();
		assert.deepEqual(s.client.unsent.map((one) => one.id), ['a', 'b']);
		assert.deepEqual(s.held, []);
	});

	it('is kept until it is accepted, and then as a message with its terms', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
		const [sent] = s.sends;
		assert.deepEqual(s.client.unsentFor({ conversation: s.conversation() }).map((one) => one.body), ['Hello']);
		await s.accept(sent);
		assert.deepEqual([s.client.unsent, [...s.disk.kept.unsent]], [[], []]);
		const { shown } = s.client.shown(CHAT);
		assert.deepEqual(shown.map((one) => [one.body, one.seq, one.own]), [['Hello', null, true]]);
		assert.deepEqual(s.disk.kept.messages.get(sent.message.id).sent, { to: 'bob' });
		assert.equal(s.client.tick(shown[0]), 'accepted');
	});

	it('whose event is faster than its answer is not sent or shown twice', async (t) => {
		const s = await live(t);
		await s.client.open(CHAT);
		await s.client.send({ to: 'bob' }, 'Hello');
		const [sent] = s.sends;
		await s.come(event(1, { id: sent.message.id, own: true, from: 'ann', to: 'bob', body: 'Hello' }));
		assert.deepEqual([s.client.unsent, [...s.disk.kept.unsent]], [[], []]);
		assert.deepEqual(s.disk.kept.messages.get(sent.message.id).sent, { to: 'bob' });
		await s.accept(sent);
		assert.deepEqual(s.client.shown(CHAT).shown.map((one) => [one.id, one.seq]), [[sent.message.id, 1]]);
		const kept = s.disk.kept.messages.get(sent.message.id);
		assert.deepEqual([kept.seq, kept.sent], [1, { to: 'bob' }]);
		await (await s.again()).welcome();
		assert.deepEqual(s.sends, []);
	});

	it('goes in order, one at a time, whomever it is for', async (t) => {
		const s = await live(t);
		for (const [target, body] of [[{ to: 'bob' }, 'one'], [{ conversation: GROUP }, 'two'], [{ to: 'bob' }, 'three']]) {
			await s.clock.pass(1);
			await s.client.send(target, body);
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
		await s.client.send({ to: 'bob' }, 'Hello');
		const [{ message: first }] = s.sends;
		await s.again();
		await s.client.send({ to: 'bob' }, 'More');
		assert.deepEqual(s.sends, [], 'not before the welcome');
		await s.welcome();
		assert.deepEqual(s.sends.map((one) => one.message), [first]);
		await s.accept(s.sends[0]);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello', 'More']);
	});

	it('that the server cannot take now waits as long as it says, also when more is written', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
		await s.refuse(s.sends[0], 429, 'rate_limited', { retry_after: 5 });
		await s.client.send({ to: 'bob' }, 'More');
		await s.clock.pass(5000);
		assert.equal(s.sends.length, 1);
		assert.deepEqual(s.client.unsent.map((one) => one.refused), [undefined, undefined]);
		await s.clock.pass(1000);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello', 'Hello']);
	});

	it('to one new server too many is kept and says why it waits, and others pass it', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'x@new.example' }, 'Far');
		await s.client.send({ to: 'bob' }, 'Near');
		await s.refuse(s.sends[0], 429, 'quota_used',
			{ pointer: '/message/to', retry_after: 5, detail: 'you have written to 50' });
		await s.accept(s.sends[1]);
		assert.deepEqual(s.client.unsent.map((one) => [one.body, one.refused, one.delayed]),
			[['Far', undefined, 'You have written to 50.']]);
		assert.equal(s.disk.kept.unsent.size, 1);
		await s.clock.pass(6000);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Far', 'Near', 'Far']);
		assert.equal(s.sends[2].message.id, s.sends[0].message.id);
		await s.accept(s.sends[2]);
		assert.deepEqual([s.client.unsent, [...s.disk.kept.unsent]], [[], []]);
	});

	it('to an inbox without room is kept and says why it waits, also after a reload', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
		await s.client.send({ to: 'eve' }, 'Other');
		await s.refuse(s.sends[0], 507, 'inbox_full', { detail: 'bob has no room' });
		await s.accept(s.sends[1]);
		assert.deepEqual(s.client.unsent.map((one) => [one.body, one.refused, one.delayed]),
			[['Hello', undefined, 'Bob has no room.']]);
		assert.deepEqual(s.seen.words, []);
		const { id } = s.sends[0].message;
		await (await s.again()).welcome();
		assert.deepEqual(s.sends.map(({ message }) => [message.id, message.body]), [[id, 'Hello']]);
		await s.accept(s.sends[0]);
		assert.deepEqual([s.client.unsent, [...s.disk.kept.unsent]], [[], []]);
	});

	it('that is refused says why, and holds nothing up', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'nobody' }, 'Hello');
		await s.client.send({ to: 'bob' }, 'More');
		await s.refuse(s.sends[0], 404, 'unknown_recipient', { detail: 'nobody is not known here' });
		const [refused] = s.client.unsent;
		assert.equal(refused.refused, 'Nobody is not known here.');
		assert.equal(s.disk.kept.unsent.get(refused.id).refused, refused.refused);
		assert.deepEqual(s.seen.words, ['Not sent: Nobody is not known here.']);
		await s.accept(s.sends[1]);
		assert.deepEqual(s.client.newNames(), ['nobody']);
		// Neither this page nor the next one sends a refused text
		// unless the user asks for it.
		await (await s.again()).welcome();
		assert.deepEqual(s.sends, []);
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual(s.sends, []);
		await s.client.again(s.client.unsent[0]);
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello']);
		assert.notEqual(s.sends[0].message.id, refused.id);
		assert.deepEqual([...s.disk.kept.unsent.keys()], [s.sends[0].message.id]);
		await s.refuse(s.sends[0], 404, 'unknown_recipient');
		await s.client.discard(s.client.unsent[0]);
		assert.deepEqual([s.client.unsent, [...s.disk.kept.unsent]], [[], []]);
	});

	it('whose token is revoked meanwhile is there for the next log-in', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
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
		await s.client.send({ to: 'bob' }, 'Hello');
		s.client.retryNow();
		await turn();
		s.socket.opened();
		await s.welcome();
		assert.deepEqual(s.sends.map((one) => one.message.body), ['Hello']);
	});

	it('has no NUL and no half characters', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'a\0b\ud800c\u{1f600}');
		assert.equal(s.sends[0].message.body, 'ab\ufffdc\u{1f600}');
	});
});

describe('what becomes of a message of mine', () => {
	/**
	 * Returns a page that shows a message of ann's that bob has not
	 * received yet.
	 */
	async function sent(t)
	{
		const s = await live(t);
		await s.client.open(CHAT);
		await s.client.send({ to: 'bob' }, 'Hello');
		const [{ message: { id } }] = s.sends;
		await s.accept(s.sends[0]);
		await s.come(event(1, { id, own: true, from: 'ann', to: 'bob', body: 'Hello' }));
		const tick = () => s.client.tick(s.client.shown(CHAT).shown[0]);
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
			assert.equal(s.client.shown(CHAT).shown[0].end, end);
			assert.equal(s.disk.kept.messages.get(id).end, end);
			assert.equal(s.client.entries.get(id), 1, 'whoever looks at it looks again');
		});
});
