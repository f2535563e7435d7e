// SPDX-License-Identifier: MIT
// tags: unit
//
// Which messages the page's client (web/src/client.ts) announces, in node.
// When the event of a message arrives, the client reads the message out and
// passes it to the notifications, once.  The server's list of conversations
// that came before makes no difference.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, GROUP, Scene, event, last, listed, live, member } from './client-scene.mjs';
import { FakeDisk } from './fakes.mjs';

/**
 * Returns the ids of the messages that the open page of ${s} passed to the
 * notifications.  They must be the same as those that it read out.
 */
function announced(s)
{
	assert.deepEqual(s.seen.words, s.seen.arrived.map((id) => `bob: text ${id.slice(1)}`));
	return s.seen.arrived;
}

/**
 * The list of the server with messages up to ${seq}, ${unread} of them unread.
 */
const says = (seq, unread, more = {}) => [listed({ ...last(seq), unread, ...more })];

/**
 * Ends the connection of ${s}.  The next connection gets its welcome and the
 * list.
 */
const back = async (s, more) => (await s.again()).welcome(more);

describe('a message is announced', () => {
	it('although the list of a new connection was faster than its event', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.list = says(2, 2);
		await back(s, { acked: 1 });
		assert.deepEqual([s.conversation().last, s.client.unread, announced(s)], [2, 2, ['m1']]);
		await s.come(event(2));
		assert.deepEqual([s.client.unread, announced(s)], [2, ['m1', 'm2']]);
	});

	it('although the list numbered it before its delivery, without a count', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = [listed({ last: 1 })]; } });
		await s.come(event(1));
		assert.deepEqual([s.client.unread, announced(s)], [1, ['m1']]);
	});

	it('although the first list was faster', async (t) => {
		const s = await live(t, { prepare: (scene) => { scene.list = says(1, 1); } });
		assert.deepEqual([s.client.unread, announced(s)], [1, []]);
		await s.come(event(1));
		assert.deepEqual([s.client.unread, announced(s)], [1, ['m1']]);
	});

	it('although the list brought its conversation', async (t) => {
		const s = await live(t);
		s.list = [listed(), listed({ id: GROUP, kind: 'group', ...last(1), unread: 1 })];
		await back(s);
		await s.come(event(1, { conversation: GROUP, to: null }));
		assert.deepEqual([s.client.unread, announced(s)], [1, ['m1']]);
	});

	it('although the list brought the mark of a read before it, whose event comes first', async (t) => {
		const s = await live(t);
		s.list = says(3, 1, { members: [member('ann', 2, 2), member('bob')] });
		await back(s);
		await s.come(event(1), event(2), { type: 'event', kind: 'read', seq: 3, conversation: CHAT, upto: 2 },
			event(3, { seq: 4 }));
		assert.deepEqual([s.client.unread, announced(s)], [1, ['m3']]);
	});

	it('although this page has shown and read it before its event', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.list = says(3, 2);
		await back(s, { acked: 1 });
		s.client.read(CHAT, 2);
		s.client.read(CHAT, 3);
		assert.deepEqual([s.client.unread, announced(s)], [0, ['m1']]);
		await s.come(event(2), event(3));
		assert.deepEqual([s.client.unread, announced(s)], [0, ['m1', 'm2', 'm3']]);
	});

	it('by a page that was reloaded between the list and the event', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.list = says(2, 2);
		await back(s, { acked: 1 });
		s.open();
		await (await s.begin()).welcome({ acked: 1 });
		await s.come(event(2));
		assert.deepEqual(announced(s), ['m2']);
	});

	it('after a later one of one’s own', async (t) => {
		const s = await live(t);
		await s.come(event(2, { seq: 1, own: true, from: 'ann', to: 'bob' }), event(1, { seq: 2 }));
		assert.deepEqual(announced(s), ['m1']);
	});

	it('that comes to a new browser before it has caught up', async (t) => {
		const s = new Scene(t);
		s.inbox.head = 1;
		s.list = says(1, 1);
		s.open();
		await (await s.begin()).welcome();
		await s.come(event(1), event(2), { type: 'caught_up' });
		assert.deepEqual([s.client.unread, announced(s)], [2, ['m2']]);
	});
});

describe('a message is not announced', () => {
	it('again by a list, nor by an event that repeats it', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		s.list = says(1, 1);
		await back(s, { acked: 1 });
		await s.come(event(1), event(1, { seq: 2 }));
		assert.deepEqual([s.client.unread, announced(s)], [1, ['m1']]);
	});

	it('again by a page that was reloaded, nor by a second one', async (t) => {
		const s = await live(t);
		await s.come(event(1));
		for (const which of ['reloaded', 'second']) {
			s.open();
			await (await s.begin()).welcome({ acked: 1 });
			await s.come(event(1), event(1, { seq: 2 }));
			assert.deepEqual(announced(s), [], which);
		}
	});

	it('if it was read elsewhere before its event', async (t) => {
		const s = await live(t);
		s.list = says(2, 0, { members: [member('ann', 2, 2), member('bob')] });
		await back(s);
		await s.come(event(1), event(2));
		assert.deepEqual([s.client.unread, announced(s)], [0, []]);
	});

	it('if it was read elsewhere, and a later one here', async (t) => {
		const s = await live(t);
		s.list = says(4, 3);
		await back(s);
		s.client.read(CHAT, 1);
		s.list = says(4, 1, { members: [member('ann', 3, 3), member('bob')] });
		await back(s);
		s.client.read(CHAT, 4);
		await s.come(event(1), event(2), event(3), event(4));
		assert.deepEqual([s.client.unread, announced(s)], [0, ['m4']]);
	});

	for (const [what, slow] of [['is there', false], ['takes its time', true]])
		it(`if it is older than what a new browser keeps, while the list ${what}`, async (t) => {
			const s = new Scene(t);
			s.inbox.head = 3;
			s.list = says(3, 3);
			if (slow)
				s.withhold('/v1/conversations');
			s.open();
			await (await s.begin()).welcome();
			await s.come(event(1), event(2));
			// The page is reloaded before it has caught up.
			s.open();
			await (await s.begin()).welcome({ acked: 2 });
			await s.come(event(3), { type: 'caught_up' });
			assert.deepEqual(announced(s), []);
			await s.come(event(4));
			assert.deepEqual(announced(s), ['m4']);
		});

	it('if it comes again after a restore of the database', async (t) => {
		const s = await live(t);
		await s.come(event(1), event(2));
		s.browser.random = 0;
		s.inbox = { epoch: 'e2', head: 1, oldest: 1 };
		s.withhold('/v1/conversations');
		s.socket.ends(4410);
		await s.clock.pass(0);
		s.socket.opened();
		await s.welcome();
		await s.come(event(1), { type: 'caught_up' });
		assert.deepEqual(announced(s), ['m1', 'm2']);
		await s.come(event(2, { id: 'm3', body: 'text 3' }));
		assert.deepEqual(announced(s), ['m1', 'm2', 'm3']);
	});

	it('if the page keeps it from an earlier version, which noted nothing', async (t) => {
		const disk = new FakeDisk();
		await disk.write({ cursor: { epoch: 'e1', seq: 2 },
			conversations: [{ ...listed({ last: 2, unread: 2 }), at: 1 }] });
		const s = new Scene(t, disk);
		s.list = says(2, 2);
		s.open();
		await (await s.begin()).welcome({ acked: 2 });
		await s.come(event(2), event(3));
		assert.deepEqual([s.conversation(CHAT).unread, announced(s)], [3, ['m3']]);
	});
});
