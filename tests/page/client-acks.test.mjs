// SPDX-License-Identifier: MIT
// tags: unit
//
// Which inbox events the page acks, and when (web/src/client.ts) in node.  The
// page acks an event only after its disk holds the event and the cursor.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, DAY, event, live, message } from './client-scene.mjs';
import { FakeDisk, turn } from './fakes.mjs';

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
		// The page's own Disk.write() never fails.  If it failed after
		// all, the client must not send an ack.
		const writing = assert.rejects(s.client.writing, /broken/);
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
		assert.equal(s.client.typingIn(CHAT), 'bob', 'the old one does not end what is typed now');
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
		// The next page sends the ack also if the page was closed
		// before it could.
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
		s.client.end();
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
