// SPDX-License-Identifier: MIT
// tags: unit
//
// The conversations in the page (web/src/client.ts) in node: read marks, the
// list, history and the typing indicator.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, DAY, GROUP, Scene, event, iso, last, listed, live, page, problem } from './client-scene.mjs';
import { Browser, turn } from './fakes.mjs';

describe('reading', () => {
	it('is repeated until the server confirms it, and only forward', async (t) => {
		const s = await live(t);
		await s.client.open(CHAT);
		await s.come(event(1), event(2), event(3));
		s.client.read(CHAT, 2);
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
		s.client.read(CHAT, 2);
		s.client.read(CHAT, 1);
		s.client.read('unknown', 7);
		assert.deepEqual(told(), []);
	});

	it('a late answer to an earlier mark does not confirm a later one', async (t) => {
		const s = await live(t);
		await s.come(event(1), event(2));
		s.client.read(CHAT, 1);
		s.client.read(CHAT, 2);
		s.socket.say({ type: 'ok', re: s.socket.sent('read')[0].id });
		await (await s.again()).welcome({ acked: 2 });
		assert.deepEqual(s.socket.sent('read').map((one) => one.upto_conversation_seq), [2]);
	});

	it('without a connection is sent by the next one', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.socket.ends(1006);
		s.client.read(CHAT, 1);
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
		assert.deepEqual([s.client.unread, s.disk.kept.conversations.get(CHAT).unread], [0, 0]);
		assert.deepEqual(s.acks(), [2, 3]);
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
		assert.deepEqual([...s.client.conversations.keys()], [CHAT, GROUP]);
		assert.deepEqual([...s.disk.kept.conversations.keys()], [CHAT, GROUP]);
		assert.equal(s.client.loaded, true);
		await (await s.again()).welcome();
		assert.equal(s.browser.asked('GET /v1/conversations'), 4);
	});

	it('that failed is read with the next welcome', async (t) => {
		const s = new Scene(t);
		s.browser.answers['GET /v1/conversations'] = () => [503, problem(503, 'busy')];
		s.open();
		await (await s.begin()).welcome();
		assert.equal(s.client.conversations.size, 0);
		s.browser.answers['GET /v1/conversations'] = () => [200, { conversations: s.list, next: null, has_more: false }];
		await (await s.again()).welcome();
		assert.equal(s.client.conversations.size, 1);
	});

	it('a first message from somebody makes a conversation, of which the server then says more', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = []; } });
		s.list = [listed({ last: 1, unread: 1 })];
		s.socket.say({ type: 'caught_up' });
		await s.come(event(1));
		assert.equal(s.browser.asked('GET /v1/conversations'), 2);
		assert.deepEqual(s.client.withPerson('bob').preview.body, 'text 1');
		assert.equal(s.client.unread, 1);
		assert.deepEqual(s.seen.words, ['bob: text 1']);
	});

	it('shows and keeps the last line of each, with one request for 101 conversations', async (t) => {
		const s = new Scene(t);
		const ids = Array.from({ length: 101 }, (_, n) => `${CHAT.slice(0, -3)}${100 + n}`);
		s.list = ids.map((id, n) => listed({ id, kind: 'group', ...last(n + 1) }));
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual(s.client.list().map((one) => one.preview.body),
			ids.map((_, n) => `text ${n + 1}`).reverse(), 'the last written to comes first');
		assert.equal(s.conversation(ids[0]).at, Browser.NOW + 1);
		assert.equal(s.browser.asked('GET /v1/conversations'), 1);
		for (const id of ids)
			assert.equal(s.browser.asked(`GET /v1/conversations/${id}/messages`), 0);
		// The next page shows the list from the disk, before any answer
		// of the server.
		s.browser.answers['GET /v1/conversations'] = () => null;
		s.open();
		await s.begin();
		assert.equal(s.client.list().filter((one) => one.preview).length, 101);
	});

	it('a late answer does not put back the last line, a new one replaces it', async (t) => {
		const s = await live(t);
		await s.come(event(4));
		s.list = [listed(last(3))];
		await (await s.again()).welcome({ acked: 4 });
		assert.equal(s.conversation().preview.body, 'text 4');
		s.list = [listed(last(5, { body: null }))];
		await (await s.again()).welcome({ acked: 4 });
		assert.deepEqual(s.conversation().preview, { id: 'm5', seq: 5, from: 'bob', body: '' });
	});

	it('numbers begin anew after a restore: the last line follows them', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = [listed(last(9))]; } });
		await s.client.epochGone();
		assert.equal(s.conversation().preview.body, 'text 9');
		s.list = [listed(last(2))];
		await s.client.listed.refresh();
		assert.equal(s.conversation().preview.body, 'text 2');
	});

	it('the last written to comes first, by what is unsent as well', async (t) => {
		const s = await live(t, { prepare: (scene) => {
			scene.list = [listed(), listed({ id: GROUP, kind: 'group', created_at: iso(Browser.NOW - DAY / 2) })];
		} });
		const ids = () => s.client.list().map((one) => one.id);
		assert.deepEqual(ids(), [GROUP, CHAT]);
		await s.client.send({ to: 'bob' }, 'Hello');
		assert.deepEqual(ids(), [CHAT, GROUP]);
	});
});

describe('history', () => {
	/**
	 * Makes the server answer with ${pages}.  They are in the order of the
	 * requests: newest first, and the last one has the oldest messages.
	 */
	const history = (s, pages) => {
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = ({ searchParams }) => {
			const at = pages.findIndex((one) => one.before === (searchParams.get('before') ?? ''));
			return [200, { messages: pages[at].seqs.map((n) => event(n)), has_more: at < pages.length - 1 }];
		};
	};

	it('numbers without a message leave no hole, within a page and between two', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = [listed({ last: 9 })]; } });
		history(s, [{ before: '', seqs: [9, 7] }, { before: '7', seqs: [4, 2] }]);
		await s.client.open(CHAT);
		const seqs = () => s.client.shown(CHAT).shown.map((one) => one.seq);
		assert.deepEqual([seqs(), s.client.shown(CHAT).before], [[7, 9], 7]);
		await s.client.older(CHAT, 7);
		assert.deepEqual([seqs(), s.client.shown(CHAT).before], [[2, 4, 7, 9], 0]);
		// The disk alone shows the same messages.
		s.open();
		await s.begin();
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = () => null;
		void s.client.open(CHAT);
		await turn();
		assert.deepEqual([seqs(), s.client.shown(CHAT).before], [[2, 4, 7, 9], 0]);
	});

	it('a server that does not answer is unreachable after 20 s', async (t) => {
		const s = await live(t);
		s.browser.answers[`GET /v1/conversations/${CHAT}/messages`] = () => null;
		const asked = assert.rejects(s.client.open(CHAT), page.Unreachable);
		await s.clock.pass(20_000);
		await asked;
	});
});

describe('typing', () => {
	it('is sent every 3 s at most', async (t) => {
		const s = await live(t);
		s.client.type(CHAT);
		await s.clock.pass(2999);
		s.client.type(CHAT);
		assert.equal(s.socket.sent('typing').length, 1);
		await s.clock.pass(1);
		s.client.type(CHAT);
		assert.deepEqual(s.socket.sent('typing'), [{ type: 'typing', conversation: CHAT }, { type: 'typing', conversation: CHAT }]);
	});

	it('of somebody else is shown for 6 s, or until the message is there', async (t) => {
		const s = await live(t);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		await s.clock.pass(5999);
		assert.equal(s.client.typingIn(CHAT), 'bob');
		await s.clock.pass(1);
		assert.equal(s.client.typingIn(CHAT), null);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		await s.come(event(1));
		assert.equal(s.client.typingIn(CHAT), null);
	});
});
