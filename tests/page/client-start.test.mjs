// SPDX-License-Identifier: MIT
// tags: unit
//
// Start and end of the page's client (web/src/client.ts) in node: the inbox
// cursor of its hello, the restart after the server's database was restored,
// and the log-out.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, DAY, GROUP, REPLAY, Scene, event, listed, live, member, message, page, problem } from './client-scene.mjs';
import { Browser, FakeDisk } from './fakes.mjs';

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
		assert.equal(s.client.loaded, false);
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
		assert.equal(s.client.loaded, true);
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
		void s.client.start();
		await s.clock.pass(DAY);
		assert.ok(s.seen.logouts > 0);
		assert.equal(s.browser.sockets.length, 0);
	});

	it('a page that ended before its disk was open begins nothing', async (t) => {
		const s = new Scene(t);
		s.open();
		void s.client.start();
		s.client.end();
		await s.clock.pass(DAY);
		assert.deepEqual([s.browser.sockets.length, s.browser.requests.length], [0, 0]);
	});
});

describe('a restored database', () => {
	const own = (id, more = {}) => message(3, { id, own: true, from: 'ann', at: Browser.NOW - DAY, sent: { to: 'bob' }, ...more });

	/**
	 * Returns the scene of a page with messages of all kinds.  Its cursor
	 * has another epoch than the server.
	 */
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
		assert.deepEqual(s.client.unsent.map((one) => one.id), ['a-sent', 'b-sent', 'd-recent', 'x-queued']);
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
		assert.deepEqual(s.client.unsent.map((one) => one.id), ['a-sent', 'b-sent', 'd-recent', 'x-queued']);
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
		const s = await restored(t, (scene) => scene.client.older(CHAT, 0));
		await s.client.open(CHAT);
		await s.come(event(1, { id: 'b-sent', own: true, from: 'ann', to: 'bob', body: 'text 3' }));
		const kept = s.disk.kept.messages.get('b-sent');
		assert.deepEqual([kept.stale, kept.seq], [undefined, 1]);
		assert.deepEqual(s.client.shown(CHAT).shown.filter((one) => one.id === 'b-sent').length, 1);
	});

	it('a read mark that was not confirmed means nothing now', async (t) => {
		const s = await restored(t, async (scene) => {
			await scene.welcome({ acked: 41 });
			scene.client.read(CHAT, 5);
			assert.equal(scene.socket.sent('read').length, 1);
		});
		assert.deepEqual(s.socket.sent('read'), []);
	});

	it('what was shown keeps its place in the page, marked', async (t) => {
		const s = await restored(t, async (scene) => {
			await scene.welcome({ acked: 41 });
			await scene.client.open(CHAT);
		});
		const { shown } = s.client.shown(CHAT);
		assert.ok(shown.length > 5);
		assert.ok(shown.every((one) => one.stale));
	});
});

describe('logging out', () => {
	it('elsewhere ends this page as well; what is kept stays', async (t) => {
		const s = await live(t);
		s.socket.ends(4401);
		assert.deepEqual([s.seen.logouts, s.disk.closed, s.disk.erased], [1, true, undefined]);
		s.client.retryNow();
		await s.clock.pass(DAY);
		assert.deepEqual([s.browser.sockets.length, s.browser.listeners], [1, 0]);
	});

	for (const status of [204, 401, 404]) it(`${status}: the token is gone, and so is what was kept`, async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens/d1'] = () => [status, status === 204 ? null : problem(status, 'x')];
		await s.client.logOut();
		assert.equal(s.disk.erased, true);
		assert.equal(s.socket.closed, 1000);
		assert.equal(s.browser.requests.pop().authorization, 'Bearer secret');
	});

	it('everywhere: all tokens are gone; the socket may hear of it first', async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens'] = () => {
			s.socket.ends(4401);
			return [204, null];
		};
		await s.client.logOut(true);
		assert.equal(s.browser.requests.pop().query, '?all=true');
		assert.deepEqual([s.disk.erased, s.seen.logouts], [true, 0]);
	});

	it('everywhere, by a token that is gone: no other was revoked, so it is shown as any log-out', async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens'] = () => [401, problem(401, 'x')];
		await assert.rejects(s.client.logOut(true), page.Refused);
		assert.deepEqual([s.disk.erased, s.seen.logouts], [undefined, 1]);
	});

	it('the server says no: nothing is erased', async (t) => {
		const s = await live(t);
		s.browser.answers['DELETE /v1/tokens/d1'] = () => [503, problem(503, 'busy')];
		await assert.rejects(s.client.logOut(), page.Refused);
		assert.equal(s.disk.erased, undefined);
		assert.equal(s.client.link.state, 'live');
	});
});
