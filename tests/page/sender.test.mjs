// SPDX-License-Identifier: MIT
// tags: unit
//
// How the page sends texts to the server (web/src/sender.ts), in node: one
// after the other, each under its own id; again if the answer was lost; later
// if the server asks for that; never if it was refused.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { Browser, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

// sender.ts adds at most this to a pause, in milliseconds.
const AGAIN = 1_000;
const DAY = 86_400_000;

let Sender, SocketClosed, recipientOf;

before(async () => {
	({ Sender, SocketClosed, recipientOf } = await modules('sender.ts', 'socket.ts'));
});

const text = (id, target = { to: 'bob' }) => ({ id, target, body: `text ${id}`, at: 1 });
const problem = (status, more = {}) => ({ title: 'No', status, detail: 'no', code: 'x', ...more });

/** Returns a sender with the texts ${queue}.  A test answers its requests. */
function scene(t, ...queue)
{
	const { clock } = new Browser(t);
	const seen = { clock, queue, requests: [], accepted: [], refused: [], delayed: [] };
	const take = (one) => { seen.queue = seen.queue.filter((other) => other !== one); };

	seen.sender = new Sender({
		waiting: (held) => seen.queue.find((one) => !held.has(recipientOf(one))),
		request: (type, members) => new Promise((resolve, reject) => {
			assert.equal(type, 'send');
			seen.requests.push({ ...members.message, resolve, reject });
		}),
		accepted: (one, entry) => {
			seen.accepted.push([one.id, entry]);
			take(one);
		},
		delayed: (one, why) => seen.delayed.push([one.id, why.detail]),
		refused: (one, why) => {
			seen.refused.push([one.id, why]);
			take(one);
		},
	});
	seen.ids = () => seen.requests.map((one) => one.id);
	/** Answers the last request. */
	seen.answer = async (frame) => {
		seen.requests[seen.requests.length - 1].resolve(frame);
		await turn();
	};
	seen.accept = () => seen.answer({ type: 'sent', entry: `entry ${seen.ids().pop()}` });
	seen.refuse = (status, more) => seen.answer({ type: 'error', problem: problem(status, more) });
	seen.lose = async () => {
		seen.requests[seen.requests.length - 1].reject(new SocketClosed());
		await turn();
	};
	t.after(() => seen.sender.end());
	return seen;
}

describe('texts', () => {
	it('go one at a time and in order, each in its own terms', async (t) => {
		const group = { conversation: '01900000-0000-7000-8000-00000000000c' };
		const s = scene(t, text('a'), text('b', group), text('c'));
		void s.sender.kick();
		void s.sender.kick();
		await turn();
		assert.deepEqual(s.ids(), ['a'], 'b waits for the answer to a');
		await s.accept();
		void s.sender.kick();
		await turn();
		assert.deepEqual(s.ids(), ['a', 'b']);
		await s.accept();
		await s.accept();
		assert.deepEqual(s.requests.map(({ resolve: _r, reject: _j, ...one }) => one), [
			{ to: 'bob', id: 'a', body: 'text a' },
			{ ...group, id: 'b', body: 'text b' },
			{ to: 'bob', id: 'c', body: 'text c' }]);
		assert.deepEqual(s.accepted, [['a', 'entry a'], ['b', 'entry b'], ['c', 'entry c']]);
		s.queue.push(text('d'));
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a', 'b', 'c'], 'it is called when there is more');
		void s.sender.kick();
		assert.deepEqual(s.ids(), ['a', 'b', 'c', 'd']);
	});

	it('a lost answer: the same id again on the next connection, and nothing before it', async (t) => {
		const s = scene(t, text('a'), text('b'));
		void s.sender.kick();
		await s.lose();
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a']);
		void s.sender.kick();
		assert.deepEqual(s.ids(), ['a', 'a']);
		assert.deepEqual([s.accepted, s.refused], [[], []]);
		await s.accept();
		assert.deepEqual(s.ids(), ['a', 'a', 'b']);
	});

	it('an error of the page itself does not stop it for good', async (t) => {
		const s = scene(t, text('a'));
		const failed = s.sender.kick();
		s.requests[0].reject(new RangeError('odd'));
		await assert.rejects(failed, RangeError);
		void s.sender.kick();
		assert.deepEqual(s.ids(), ['a', 'a']);
	});
});

describe('a refusal', () => {
	for (const status of [400, 401, 403, 404, 409, 413, 422]) it(`${status} is shown, and the next goes on`, async (t) => {
		const s = scene(t, text('a'), text('b'));
		void s.sender.kick();
		await s.refuse(status, { detail: 'so not' });
		assert.deepEqual(s.refused, [['a', problem(status, { detail: 'so not' })]]);
		assert.deepEqual(s.ids(), ['a', 'b']);
		await s.accept();
		assert.deepEqual(s.accepted, [['b', 'entry b']]);
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a', 'b']);
	});

	for (const status of [429, 500, 503]) it(`${status} passes: it is sent again when the server says`, async (t) => {
		const s = scene(t, text('a'), text('b'));
		void s.sender.kick();
		await s.refuse(status, { retry_after: 7 });
		assert.deepEqual(s.refused, []);
		await s.clock.pass(7000 + AGAIN / 2 - 1);
		assert.deepEqual(s.ids(), ['a']);
		await s.clock.pass(1);
		assert.deepEqual(s.ids(), ['a', 'a'], 'the same text, before the one behind it');
		await s.refuse(status, { retry_after: 2 });
		await s.clock.pass(2000 + AGAIN / 2 - 1);
		assert.equal(s.ids().length, 2);
		await s.clock.pass(1);
		await s.accept();
		assert.deepEqual(s.ids(), ['a', 'a', 'a', 'b']);
		assert.deepEqual([s.accepted, s.refused], [[['a', 'entry a']], []]);
	});

	it('a problem without a time is tried again after up to a second', async (t) => {
		const s = scene(t, text('a'));
		void s.sender.kick();
		await s.refuse(503);
		await s.clock.pass(AGAIN / 2 - 1);
		assert.deepEqual(s.ids(), ['a']);
		await s.clock.pass(1);
		assert.deepEqual(s.ids(), ['a', 'a']);
	});

	it('what is written, or a new connection, does not shorten the time', async (t) => {
		const s = scene(t, text('a'));
		void s.sender.kick();
		await s.refuse(429, { retry_after: 7 });
		s.queue.push(text('b'));
		void s.sender.kick();
		await s.clock.pass(7000);
		void s.sender.kick();
		assert.deepEqual(s.ids(), ['a']);
		await s.clock.pass(AGAIN / 2);
		assert.deepEqual(s.ids(), ['a', 'a']);
		await s.accept();
		await s.accept();
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a', 'a', 'b'], 'one more try, not one a kick');
	});

	it('a pause that ends while there is no connection waits for the next one', async (t) => {
		const s = scene(t, text('a'));
		void s.sender.kick();
		await s.refuse(429, { retry_after: 7 });
		await s.clock.pass(7000 + AGAIN);
		await s.lose();
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a', 'a']);
		void s.sender.kick();
		assert.deepEqual(s.ids(), ['a', 'a', 'a']);
	});

	it('one new server too many holds up what is for the same person, and nothing else', async (t) => {
		const far = { to: 'x@new.example' };
		const s = scene(t, text('a', far), text('b'), text('c', far), text('d', { conversation: 'talk' }));
		void s.sender.kick();
		await s.refuse(429, { code: 'quota_used', pointer: '/message/to', retry_after: 1728, detail: 'too many' });
		assert.deepEqual([s.delayed, s.refused], [[['a', 'too many']], []]);
		await s.accept();
		await s.accept();
		s.queue.push(text('e'));
		void s.sender.kick();
		await turn();
		await s.accept();
		assert.deepEqual(s.ids(), ['a', 'b', 'd', 'e']);
		await s.clock.pass(1_728_000 + AGAIN / 2 - 1);
		assert.equal(s.ids().length, 4);
		await s.clock.pass(1);
		await s.accept();
		await s.accept();
		assert.deepEqual(s.ids(), ['a', 'b', 'd', 'e', 'a', 'c']);
		assert.deepEqual(s.queue, []);
	});

	it('an inbox without room holds up what is for it, at growing intervals', async (t) => {
		const s = scene(t, text('a'), text('b'), text('c', { to: 'eve' }));
		void s.sender.kick();
		await s.refuse(507, { code: 'inbox_full', detail: 'no room' });
		assert.deepEqual([s.delayed, s.refused], [[['a', 'no room']], []]);
		await s.accept();
		assert.deepEqual(s.ids(), ['a', 'c'], 'b stays behind a');
		for (let i = 0, wait = AGAIN; i < 9; i++, wait = Math.min(2 * wait, 60_000)) {
			await s.clock.pass(wait / 2 - 1);
			assert.equal(s.ids().length, i + 2);
			await s.clock.pass(1);
			assert.equal(s.ids().length, i + 3);
			await s.refuse(507, { code: 'inbox_full', detail: 'no room' });
		}
		await s.clock.pass(30_000);
		await s.accept();
		assert.deepEqual(s.ids().slice(-2), ['a', 'b']);
		// After a text was accepted, the next pause is short again.
		await s.refuse(507, { code: 'inbox_full' });
		await s.clock.pass(AGAIN / 2);
		await s.accept();
		assert.deepEqual([s.accepted.map(([id]) => id), s.refused], [['c', 'a', 'b'], []]);
	});

	it('a server whose disk is full gets them again, in order', async (t) => {
		const s = scene(t, text('a'), text('b', { to: 'eve' }));
		void s.sender.kick();
		await s.refuse(507, { code: 'storage_full' });
		await s.clock.pass(AGAIN / 2);
		await s.refuse(507, { code: 'storage_full' });
		await s.clock.pass(AGAIN - 1);
		assert.deepEqual(s.ids(), ['a', 'a']);
		await s.clock.pass(1);
		await s.accept();
		await s.accept();
		assert.deepEqual([s.ids(), s.refused], [['a', 'a', 'a', 'b'], []]);
	});

	it('of the recipient, too, is not tried again after the end', async (t) => {
		const s = scene(t, text('a'));
		void s.sender.kick();
		await s.refuse(429, { code: 'quota_used', pointer: '/message/to', retry_after: 7 });
		s.sender.end();
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a']);
		assert.equal(s.clock.timers.size, 0);
	});

	it('after the end nothing is sent any more', async (t) => {
		const s = scene(t, text('a'));
		void s.sender.kick();
		await s.refuse(429, { retry_after: 7 });
		s.sender.end();
		await s.clock.pass(DAY);
		assert.deepEqual(s.ids(), ['a']);
		assert.equal(s.clock.timers.size, 0);
	});
});
