// SPDX-License-Identifier: MIT
// tags: unit
//
// What the client of the page shows (web/src/client.ts), in node.  The page is
// notified to draw whenever that changes: by events, frames, lists, history,
// and by what the user does.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, DAY, GROUP, Scene, event, iso, listed, live, member, message, page, problem } from './client-scene.mjs';
import { Browser, FakeDisk, turn } from './fakes.mjs';

const MESSAGES = `/v1/conversations/${CHAT}/messages`;
const receipt = (seq, more = {}) => ({ type: 'event', kind: 'receipt', seq, conversation: CHAT, upto: 1, by: 'bob',
	state: 'delivered', ...more });
const texts = (s) => s.client.shown(CHAT).shown.map((one) => one.body);

describe('what the server says of itself', () => {
	for (const [what, user, admin] of [['nobody', null, false], ['a user', { name: 'ann', admin: false }, false],
		['an administrator', { name: 'ann', admin: true }, true]])
		it(`its limit, and that this is ${what}`, async (t) => {
			const s = new Scene(t);
			const give = s.withhold('/v1');
			s.open();
			await s.begin();
			assert.deepEqual([s.client.limit, s.client.admin], [16_384, false]);
			s.drawn();
			give([200, { limits: { text: 1000 }, user }]);
			await turn();
			assert.deepEqual([s.client.limit, s.client.admin, s.drawn()], [1000, admin, true]);
		});

	it('nothing: the usual limit will do', async (t) => {
		const s = new Scene(t);
		s.browser.answers['GET /v1'] = () => [503, problem(503, 'busy')];
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual([s.client.limit, s.client.link.state], [16_384, 'live']);
	});
});

describe('the page is drawn', () => {
	it('as soon as the disk is read, with what was kept', async (t) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e1', seq: 1 }, conversations: [{ ...listed(), at: 1 }] });
		const s = new Scene(t, disk);
		s.open();
		assert.equal(s.client.lasting, true, 'not known yet');
		void s.client.start();
		await turn();
		assert.deepEqual([s.drawn(), s.client.list().length, s.client.link], [true, 1, { state: 'connecting' }]);
		disk.lasting = false;
		assert.equal(s.client.lasting, false);
	});

	it('with each state of the connection', async (t) => {
		const s = await live(t);
		s.drawn();
		s.socket.ends(1006);
		assert.deepEqual([s.client.link.state, s.drawn()], ['waiting', true]);
	});

	it('with each event', async (t) => {
		const s = await live(t);
		for (const one of [event(1), receipt(2), { type: 'event', kind: 'read', seq: 3, conversation: CHAT, upto: 1 },
			{ type: 'event', kind: 'bounce', seq: 4, conversation: CHAT, of: 'm1', state: 'expired', reason: null }]) {
			s.drawn();
			s.socket.say(one);
			assert.equal(s.drawn(), true, one.kind);
			await s.clock.pass(0);
		}
		assert.deepEqual(s.acks(), [1, 2, 3, 4]);
	});

	it('with each frame', async (t) => {
		const s = await live(t);
		for (const frame of [{ type: 'typing', conversation: CHAT, from: 'bob' }, { type: 'caught_up' },
			{ type: 'outbox', entry: { id: 'x', conversation: CHAT, state: 'acked' } }]) {
			s.drawn();
			s.socket.say(frame);
			assert.equal(s.drawn(), true, frame.type);
		}
	});

	it('again when somebody does not type any more', async (t) => {
		const s = await live(t);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		s.drawn();
		await s.clock.pass(6000);
		assert.equal(s.drawn(), false);
		await s.clock.pass(50);
		assert.deepEqual([s.drawn(), s.client.typingIn(CHAT)], [true, null]);
	});

	it('with what a person does, before the disk has it', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.disk.hold();
		s.drawn();
		s.client.read(CHAT, 1);
		assert.deepEqual([s.drawn(), s.client.unread], [true, 0]);
		void s.client.send({ to: 'bob' }, 'Hello');
		assert.deepEqual([s.drawn(), s.client.unsent.length], [true, 1]);
		void s.client.discard(s.client.unsent[0]);
		assert.deepEqual([s.drawn(), s.client.unsent.length], [true, 0]);
		s.disk.letGo();
	});

	it('with what becomes of a text', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'one');
		await s.client.send({ to: 'bob' }, 'two');
		s.drawn();
		await s.accept(s.sends[0]);
		assert.equal(s.drawn(), true);
		await s.refuse(s.sends[1], 404, 'unknown_recipient');
		assert.equal(s.drawn(), true);
	});

	it('when the database was restored', async (t) => {
		const s = await live(t);
		s.drawn();
		await s.client.epochGone();
		assert.equal(s.drawn(), true);
	});
});

describe('a conversation that is opened', () => {
	const kept = async (...messages) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e1', seq: 3 }, conversations: [{ ...listed({ last: 3 }), at: 1 }], messages });
		return disk;
	};

	it('shows what the disk has at once, then what the server says', async (t) => {
		const s = await live(t, { disk: await kept(message(1), message(2)) });
		const give = s.withhold(MESSAGES);
		s.drawn();
		const opened = s.client.open(CHAT);
		await turn();
		assert.deepEqual([texts(s), s.drawn()], [['text 1', 'text 2'], true]);
		give([200, { messages: [event(3), event(2)], has_more: true }]);
		await opened;
		assert.deepEqual([texts(s), s.drawn()], [['text 1', 'text 2', 'text 3'], true]);
	});

	it('also when a text of before was accepted there meanwhile, of which it knows more', async (t) => {
		const s = await live(t, { disk: await kept(message(1), message(2)) });
		await s.client.send({ to: 'bob' }, 'Hello');
		await s.accept(s.sends[0]);
		const { id } = s.sends[0].message;
		assert.deepEqual(texts(s), ['Hello']);
		await s.disk.write({ messages: [message(null, { id, body: 'older' })] });
		s.withhold(MESSAGES);
		void s.client.open(CHAT);
		await turn();
		assert.deepEqual(texts(s), ['text 1', 'text 2', 'Hello']);
	});

	it('reads the disk once', async (t) => {
		const s = await live(t, { disk: await kept(message(1)) });
		await s.client.open(CHAT);
		await s.disk.write({ messages: [message(2)] });
		await s.client.open(CHAT);
		assert.deepEqual(texts(s), ['text 1']);
	});

	it('asks for fifty, the newest or those before', async (t) => {
		const s = await live(t);
		await s.client.open(CHAT);
		await s.client.older(CHAT, 7);
		assert.deepEqual(s.browser.requests.filter((one) => one.what === `GET ${MESSAGES}`).map((one) => one.query),
			['?limit=50', '?limit=50&before=7']);
	});

	it('what is from before a restore does not stand behind a page', async (t) => {
		const s = await live(t, { disk: await kept(message(7, { id: 'old', stale: true }), message(7)) });
		s.browser.answers[`GET ${MESSAGES}`] = ({ searchParams }) => [200, searchParams.has('before') ?
			{ messages: [event(5)], has_more: true } : { messages: [], has_more: false }];
		await s.client.open(CHAT);
		await s.client.older(CHAT, 7);
		const { kept: { messages } } = s.disk;
		assert.deepEqual([messages.get('m7').prev, messages.get('old').prev, messages.get('m5').prev], [5, undefined, undefined]);
	});

	describe('has its last line in the list', () => {
		/**
		 * Requests the page before ${before}, for which the server has
		 * ${seqs}.  Returns the last line of the conversation, its
		 * time, and the last line on the disk.
		 */
		async function older(t, before, seqs, more = {})
		{
			const s = await live(t, { disk: new FakeDisk(), prepare: (scene) => { scene.list = [listed(more.listed)]; } });
			await more.first?.(s);
			s.browser.answers[`GET ${MESSAGES}`] = () => [200, { messages: seqs.map((n) => event(n)), has_more: false }];
			await s.client.older(more.id ?? CHAT, before);
			const c = s.conversation();
			return [c.preview?.body, c.at - Browser.NOW, s.disk.kept.conversations.get(CHAT).preview?.body];
		}

		for (const [what, before, seqs, given, wanted] of [
			['from the newest page', 0, [9, 7], {}, ['text 9', 9, 'text 9']],
			['and does not go down in the list', 0, [9], { created_at: iso(Browser.NOW + 20) }, ['text 9', 20, 'text 9']],
			['not from an older page', 9, [7], {}, [undefined, -DAY, undefined]],
			['not from an empty one', 0, [], {}, [undefined, -DAY, undefined]],
		]) it(what, async (t) => {
			assert.deepEqual(await older(t, before, seqs, { listed: given }), wanted);
		});

		it('not where there is one', async (t) => {
			assert.deepEqual(await older(t, 0, [1], { first: (s) => s.come(event(2)) }), ['text 2', 2, 'text 2']);
		});

		it('not where nobody knows of it yet', async (t) => {
			const s = await live(t);
			s.browser.answers[`GET /v1/conversations/${GROUP}/messages`] = () => [200, { messages: [event(1)], has_more: false }];
			await s.client.older(GROUP, 0);
			assert.equal(s.client.conversations.has(GROUP), false);
		});
	});
});

describe('the list', () => {
	const LIST = '/v1/conversations';

	it('is drawn when it comes, and asked for once at a time', async (t) => {
		const s = new Scene(t);
		const give = s.withhold(LIST);
		s.open();
		await (await s.begin()).welcome();
		assert.deepEqual([s.client.loaded, s.client.list()], [false, []]);
		await s.come(event(1, { conversation: GROUP, to: null }), event(2));
		assert.equal(s.browser.asked(`GET ${LIST}`), 1);
		s.drawn();
		give([200, { conversations: [listed({ last: 2 })], next: null, has_more: false }]);
		await turn();
		assert.deepEqual([s.client.loaded, s.drawn()], [true, true]);
	});

	for (const end of [{ has_more: false, next: 'more' }, { has_more: true, next: null }])
		it(`ends with ${JSON.stringify(end)}`, async (t) => {
			const s = new Scene(t);
			s.browser.answers[`GET ${LIST}`] = () => [200, { conversations: s.list, ...end }];
			s.open();
			await (await s.begin()).welcome();
			assert.deepEqual([s.browser.asked(`GET ${LIST}`), s.client.loaded], [1, true]);
		});

	const same = [CHAT, GROUP, `${CHAT.slice(0, -1)}a`];
	for (const order of [same, [...same].reverse()]) it(`of equally old ones has a steady order: ${order[0]} first`, async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = order.map((id) => listed({ id, kind: 'group' })); } });
		assert.deepEqual(s.client.list().map((one) => one.id), [...same].sort().reverse());
	});
});

describe('an event', () => {
	for (const [what, more, kind, names] of [
		['of a person', {}, 'direct', ['bob', 'ann']],
		['of oneself', { from: 'ann', to: 'ann', own: true }, 'direct', ['ann']],
		['of a group', { to: null }, 'group', ['bob']],
	]) it(`${what} makes a conversation that is shown before the server says more`, async (t) => {
		const s = await live(t);
		s.withhold('/v1/conversations');
		await s.come(event(1, { conversation: GROUP, ...more }));
		const c = s.conversation(GROUP);
		assert.deepEqual([c.kind, c.members], [kind, names.map((name) => member(name))]);
		assert.deepEqual([c.last, c.unread, c.preview.body], [1, more.own ? 0 : 1, 'text 1']);
		assert.deepEqual(s.disk.kept.conversations.get(GROUP), c);
	});

	it('is read out, unless it is one’s own', async (t) => {
		const s = await live(t);
		await s.come(event(3), event(4, { own: true, from: 'ann' }), event(5, { body: null }),
			event(6, { body: 'x'.repeat(201) }));
		assert.deepEqual(s.seen.words, ['bob: text 3', 'bob: ', `bob: ${'x'.repeat(200)}`]);
	});

	it('is not read out while a new browser catches up', async (t) => {
		const s = new Scene(t);
		s.inbox.head = 1;
		s.withhold('/v1/conversations');
		s.open();
		await (await s.begin()).welcome();
		await s.come(event(1));
		assert.deepEqual([s.seen.words, s.client.loaded], [[], false]);
		s.socket.say({ type: 'caught_up' });
		assert.equal(s.client.loaded, true);
		await s.come(event(2));
		assert.deepEqual(s.seen.words, ['bob: text 2']);
	});

	it('a receipt has the entry that is looked at asked for again', async (t) => {
		const s = await live(t);
		await s.come(receipt(1), receipt(2, { state: 'read' }));
		assert.equal(s.client.entries.get(''), 2);
		s.browser.answers['GET /v1/outbox/m1'] = () => [200, { id: 'm1', state: 'acked' }];
		assert.deepEqual(await s.client.entry('m1'), { id: 'm1', state: 'acked' });
	});

	it('of what is not known here changes nothing and is acked', async (t) => {
		const s = await live(t);
		await s.come(receipt(1, { conversation: GROUP }), { type: 'event', kind: 'read', seq: 2, conversation: GROUP, upto: 1 },
			{ type: 'event', kind: 'bounce', seq: 3, conversation: GROUP, of: 'm9', state: 'failed', reason: 'x' },
			{ type: 'event', kind: 'reaction', seq: 4, conversation: CHAT, of: 'm1' });
		assert.deepEqual([[...s.client.conversations.keys()], [...s.disk.kept.messages]], [[CHAT], []]);
		assert.deepEqual([s.client.shown(GROUP), s.acks()], [{ shown: [], before: 0 }, [4]]);
	});

	it('a bounce without a reason, and an entry without an error, say no more than the end', async (t) => {
		const s = await live(t);
		await s.client.open(CHAT);
		await s.come(event(1, { own: true, from: 'ann' }), event(2, { own: true, from: 'ann' }));
		await s.come({ type: 'event', kind: 'bounce', seq: 3, conversation: CHAT, of: 'm1', state: 'expired', reason: null });
		s.socket.say({ type: 'outbox', entry: { id: 'm2', conversation: CHAT, state: 'failed', last_error: null } });
		await turn();
		assert.deepEqual(s.client.shown(CHAT).shown.map((one) => [one.end, one.why]), [['expired', ''], ['failed', '']]);
		assert.deepEqual(['m1', 'm2'].map((id) => s.disk.kept.messages.get(id).end), ['expired', 'failed']);
	});

	it('whose database is gone before it was written is neither written nor acked', async (t) => {
		const s = await live(t);
		s.socket.say(event(1));
		s.inbox = { epoch: 'e2', head: 0, oldest: 1 };
		s.browser.random = 0;
		s.socket.ends(4410);
		await s.clock.pass(0);
		s.socket.opened();
		await s.welcome();
		await s.come(event(1, { id: 'new' }));
		assert.deepEqual([[...s.disk.kept.messages.keys()], s.disk.cursor, s.acks()], [['new'], { epoch: 'e2', seq: 1 }, [1]]);
	});
});

describe('a text', () => {
	it('to somebody new: once it is accepted, the list is asked for', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
		await s.accept(s.sends[0]);
		assert.equal(s.browser.asked('GET /v1/conversations'), 1, 'it is in the list');
		await s.client.send({ to: 'carol' }, 'Hello');
		await s.client.send({ to: 'carol' }, 'More');
		await s.client.send({ conversation: GROUP }, 'Hello');
		await s.client.send({ to: 'dave' }, 'Hello');
		assert.deepEqual(s.client.newNames(), ['carol', 'dave']);
		assert.deepEqual(s.client.unsentFor({ to: 'carol' }).map((one) => one.body), ['Hello', 'More']);
		s.list = [listed({ id: GROUP, members: [member('ann'), member('carol')] })];
		await s.accept(s.sends[1], { conversation: GROUP });
		assert.equal(s.browser.asked('GET /v1/conversations'), 2);
		assert.deepEqual(s.client.newNames(), ['dave']);
		assert.equal(s.client.withPerson('carol').id, GROUP);
	});

	it('that waits for its time is not sent by a page that has ended', async (t) => {
		const s = await live(t);
		await s.client.send({ to: 'bob' }, 'Hello');
		await s.refuse(s.sends[0], 429, 'rate_limited', { retry_after: 5 });
		s.client.end();
		assert.equal(s.clock.timers.size, 0);
	});
});

describe('reading', () => {
	it('in a group that one has left is not sent', async (t) => {
		const s = await live(t, { prepare: (scene) => {
			scene.list = [listed(), listed({ id: GROUP, kind: 'group', members: [member('bob')] })];
		} });
		s.client.read(GROUP, 1);
		assert.deepEqual(s.socket.sent('read'), []);
	});

	it('that the server refused is sent again', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.client.read(CHAT, 1);
		s.socket.say({ type: 'error', re: s.socket.sent('read')[0].id, problem: problem(503, 'busy') });
		await turn();
		await (await s.again()).welcome({ acked: 1 });
		assert.deepEqual(s.socket.sent('read').map((one) => one.upto_conversation_seq), [1]);
	});
});

describe('no answer', () => {
	it('to where the inbox begins: it is asked again', async (t) => {
		const s = new Scene(t);
		s.browser.random = 1;
		s.browser.answers['GET /v1/inbox'] = () => [503, problem(503, 'busy', { epoch: 'e1', head: 900, oldest: 801 })];
		s.open();
		void s.client.start();
		await turn();
		assert.deepEqual([s.client.link.state, s.browser.sockets.length], ['waiting', 0]);
		s.browser.answers['GET /v1/inbox'] = () => [200, s.inbox];
		await s.clock.pass(500);
		s.socket.opened();
		assert.equal(s.hello.after, 'e1:0');
	});

	it('to a log-out: nothing is erased', async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens/d1'] = () => { throw new TypeError('Failed to fetch'); };
		await assert.rejects(s.client.logOut(), page.Unreachable);
		assert.equal(s.disk.erased, undefined);
	});
});

describe('the history of a conversation', () => {
	it('is the same object until a message changes, so that drawing it again costs nothing', async (t) => {
		const s = await live(t);
		assert.equal(s.client.shown(GROUP), s.client.shown(GROUP), 'of which nothing is known');
		await s.client.open(CHAT);
		await s.come(event(1), event(2));
		const was = s.client.shown(CHAT);
		assert.deepEqual(was.shown.map((one) => one.id), ['m1', 'm2']);
		s.socket.say({ type: 'typing', conversation: CHAT, from: 'bob' });
		await s.come(receipt(3));
		await s.client.send({ to: 'bob' }, 'Hello');
		assert.equal(s.client.shown(CHAT), was, 'marks, typing and what is unsent are not messages');
		await s.come(event(4, { id: 'm3', conversation_seq: 3 }));
		assert.deepEqual(s.client.shown(CHAT).shown.map((one) => one.id), ['m1', 'm2', 'm3']);
		assert.deepEqual(was.shown.map((one) => one.id), ['m1', 'm2']);
		await s.come({ type: 'event', kind: 'bounce', seq: 5, conversation: CHAT, of: 'm1', state: 'expired', reason: null });
		assert.equal(s.client.shown(CHAT).shown[0].end, 'expired');
	});
});
