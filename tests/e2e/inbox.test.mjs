// SPDX-License-Identifier: MIT
// tags: store
//
// Reading the inbox: cursor, epoch, pages, long-polls, and 410 for a cursor
// that cannot be served.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { onPostgres } from './backend.mjs';
import { contiguous, messageEvent, problem } from './expect.mjs';
import {
	WAIT_MS, eventually, expectStatus, filled as filledAt, once, rawRequest, serverForFile, users,
	within,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

const filled = (n) => filledAt(server, n);

describe('an inbox', () => {
	it('is empty at first', async () => {
		const [ann] = await users(server, 'ann');
		const { body } = expectStatus(await ann.get('/v1/inbox'), 200);
		assert.deepEqual(body.events, []);
		assert.equal(body.head, 0);
		assert.equal(body.acked, 0);
		assert.equal(body.unread, 0);
		assert.equal(body.has_more, false);
		assert.equal(typeof body.epoch, 'string');
		assert.ok(body.epoch.length > 0);
	});

	it('R116 R138 R146 numbers its events 1, 2, 3 … and replays them from any place', async () => {
		const { bob, entries } = await filled(5);
		const all = (await bob.get('/v1/inbox?after=0')).body;
		contiguous(all.events);
		assert.equal(all.head, 5);
		assert.equal(all.oldest, 1);
		assert.equal(all.unread, 5);
		assert.deepEqual(all.events.map((e) => e.id), entries.map((e) => e.id));
		const rest = (await bob.get('/v1/inbox?after=3')).body;
		assert.deepEqual(rest.events, all.events.slice(3));
		assert.deepEqual((await bob.get('/v1/inbox?after=5')).body.events, []);
		assert.deepEqual((await bob.get('/v1/inbox?after=0')).body.events, all.events,
			'reading it changed it');
	});

	it('R123 pages of limit events; next and has_more lead on', async () => {
		const { bob } = await filled(7);
		const first = (await bob.get('/v1/inbox?after=0&limit=3')).body;
		assert.deepEqual(first.events.map((e) => e.seq), [1, 2, 3]);
		assert.equal(first.has_more, true);
		const second = (await bob.get(`/v1/inbox?after=${first.next}&limit=3`)).body;
		assert.deepEqual(second.events.map((e) => e.seq), [4, 5, 6]);
		assert.equal(second.has_more, true);
		const third = (await bob.get(`/v1/inbox?after=${second.next}&limit=3`)).body;
		assert.deepEqual(third.events.map((e) => e.seq), [7]);
		assert.equal(third.has_more, false);
		const none = (await bob.get(`/v1/inbox?after=${third.next}`)).body;
		assert.deepEqual(none.events, []);
		assert.equal(none.next, third.next);
	});

	it('a Link leads on as well, as long as there is more', async () => {
		const { bob } = await filled(5);
		const seqs = [];
		let target = '/v1/inbox?after=0&limit=2';
		while (target) {
			const answer = expectStatus(await bob.get(target), 200);
			seqs.push(...answer.body.events.map((e) => e.seq));
			target = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
			assert.ok(seqs.length <= 5);
			if (target) {
				assert.equal(target,
					`/v1/inbox?after=${answer.body.epoch}:${answer.body.next}&limit=2`);
			}
		}
		assert.deepEqual(seqs, [1, 2, 3, 4, 5]);
	});

	it('a bare number has no epoch: within the head it is served, beyond it refused', async () => {
		const { bob } = await filled(5);
		const foreign = '0123456789abcdef0123456789abcdef';

		assert.deepEqual(expectStatus(await bob.get('/v1/inbox?after=4'), 200)
			.body.events.map((e) => e.seq), [5]);
		for (const after of ['6', `${foreign}:4`, `${foreign}:6`]) {
			const { body } = expectStatus(await bob.get(`/v1/inbox?after=${after}`), 410);
			assert.equal(body.head, 5);
			assert.notEqual(body.epoch, foreign);
		}
	});

	it('a page has 50 events by default', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		await Promise.all(Array.from({ length: 60 }, (_, i) => ann.send(bob.name, `m ${i}`)));
		await eventually(async () => (await bob.get('/v1/inbox?after=60')).status === 200 &&
			(await bob.get('/v1/inbox')).body.head === 60, '60 events');
		assert.equal((await bob.get('/v1/inbox?after=0')).body.events.length, 50);
		assert.equal((await bob.get('/v1/inbox?after=0&limit=200')).body.events.length, 60);
	});

	it('without after it begins at what this device has acked', async () => {
		const { bob } = await filled(4);
		await bob.ack(2);
		const { body } = await bob.get('/v1/inbox');
		assert.deepEqual(body.events.filter((e) => e.seq <= 4).map((e) => e.seq), [3, 4]);
		assert.equal(body.acked, 2);
	});

	it('a GET moves no mark', async () => {
		const { ann, bob, entries } = await filled(2);
		await bob.get('/v1/inbox?after=0');
		await bob.get('/v1/inbox?after=2');
		const { body } = await bob.get('/v1/inbox');
		assert.equal(body.acked, 0);
		assert.equal(body.unread, 2);
		assert.equal((await ann.entry(entries[0].id)).state, 'sent');
	});

	it('one event by its number', async () => {
		const { ann, bob, entries } = await filled(3);
		const { body } = expectStatus(await bob.get('/v1/inbox/2'), 200);
		messageEvent(body, { id: entries[1].id, from: ann.name, to: bob.name,
			body: 'message 2' });
		assert.deepEqual(body, (await bob.get('/v1/inbox?after=1&limit=1')).body.events[0]);
		for (const seq of ['0', '99', '-1', 'x', '1.5', '99999999999999999999'])
			problem(await bob.get(`/v1/inbox/${seq}`), 404, 'not_found');
	});

	it('every inbox has numbers of its own', async () => {
		const { ann, bob } = await filled(3);
		contiguous((await ann.inbox()).events);
		contiguous((await bob.inbox()).events);
	});
});

describe('the cursor', () => {
	const shared = once(() => filled(0));

	it('may carry the epoch', async () => {
		const { bob } = await filled(2);
		const { epoch, events } = await bob.inbox();
		const { body } = expectStatus(await bob.get(`/v1/inbox?after=${epoch}:1`), 200);
		assert.deepEqual(body.events, events.slice(1));
	});

	it('of another epoch is 410 with oldest, head and epoch', async () => {
		const { bob } = await filled(2);
		const { epoch } = await bob.inbox();
		for (const cursor of ['not-this-epoch:1', '00000000-0000-4000-8000-000000000000:0']) {
			const answer = await bob.get(`/v1/inbox?after=${cursor}`);
			problem(answer, 410, 'cursor_expired');
			assert.equal(answer.body.epoch, epoch);
			assert.equal(answer.body.head, 2);
			assert.equal(answer.body.oldest, 1);
		}
	});

	it('beyond the head is 410', async () => {
		const { bob } = await filled(2);
		const answer = await bob.get('/v1/inbox?after=3');
		problem(answer, 410, 'cursor_expired');
		assert.equal(answer.body.head, 2);
		problem(await bob.get('/v1/inbox?after=3&wait=5'), 410, 'cursor_expired');
	});

	it('beyond the head in this epoch is 503 where another node may be ahead', async () => {
		const { bob } = await filled(2);
		const { epoch } = await bob.inbox();
		for (const wait of ['', '&wait=5'])
			problem(await bob.get(`/v1/inbox?after=${epoch}:3${wait}`),
				...onPostgres ? [503, 'busy'] : [410, 'cursor_expired']);
	});

	for (const query of ['after=x', 'after=-1', 'after=1.5', 'after=', 'after=1:2:3', 'after=:',
		'after=99999999999999999999', 'limit=0', 'limit=-1', 'limit=201', 'limit=x', 'limit=',
		'wait=-1', 'wait=56', 'wait=x', 'colour=red', 'after=0&after=1']) {
		it(`refuses ?${query}`, async () => {
			const { bob } = await shared();
			problem(await bob.get(`/v1/inbox?${query}`), 400, 'bad_request');
		});
	}

	it('the epoch outlives a restart', async () => {
		const { bob } = await filled(1);
		const before_it = await bob.inbox();
		await server.restart();
		assert.deepEqual(await bob.inbox(), before_it);
	});
});

describe('long-poll', () => {
	it('R136 R391 ends as soon as something arrives', async () => {
		const { ann, bob } = await filled(1);
		const poll = bob.get('/v1/inbox?after=1&wait=55');
		await server.polled(1);
		const entry = await ann.send(bob.name, 'now');
		const { body } = expectStatus(await within(poll, WAIT_MS, 'the end of the poll'), 200);
		assert.equal(body.events.length, 1);
		assert.equal(body.events[0].id, entry.id);
		assert.equal(body.head, 2);
	});

	it('answers at once when there is something', async () => {
		const { bob } = await filled(1);
		const { body } = await within(bob.get('/v1/inbox?after=0&wait=55'), WAIT_MS, 'an answer');
		assert.equal(body.events.length, 1);
	});

	it('ends after its time, empty, with the cursor unchanged', async () => {
		const { bob } = await filled(1);
		const start = performance.now();
		const { body } = expectStatus(await within(bob.get('/v1/inbox?after=1&wait=1'), WAIT_MS,
			'the end of the poll'), 200);
		assert.ok(performance.now() - start >= 900, 'it did not wait');
		assert.deepEqual(body.events, []);
		assert.equal(body.has_more, false);
		assert.deepEqual((await bob.get(`/v1/inbox?after=${body.next}`)).body.events, []);
	});

	it('a hundred at once all hear of it', async () => {
		const { ann, bob } = await filled(1);
		const polls = Array.from({ length: 100 }, (_, i) =>
			(i % 2 ? ann : bob).get('/v1/inbox?after=1&wait=20'));
		await server.polled(100);
		const entry = await ann.send(bob.name, 'to all');
		for (const { status, body } of await Promise.all(polls)) {
			assert.equal(status, 200);
			assert.equal(body.events[0].id, entry.id);
		}
	});

	it('a waiting one does not disturb others, nor does one that went away', async () => {
		const { ann, bob } = await filled(1);
		const gone = new AbortController();
		const polls = Array.from({ length: 20 }, () =>
			bob.get('/v1/inbox?after=1&wait=20', { signal: gone.signal }).catch(() => 'gone'));
		await server.polled(20);
		expectStatus(await bob.get('/v1/inbox?after=0'), 200);
		gone.abort();
		assert.deepEqual(new Set(await Promise.all(polls)), new Set(['gone']));
		await server.polled(0);
		const entry = await ann.send(bob.name, 'after they went');
		await bob.received(entry.id);
	});

	it('HEAD is GET without the body', async () => {
		const { bob } = await filled(1);
		const answer = await rawRequest(server, 'HEAD', '/v1/inbox', { token: bob.token });
		assert.equal(answer.status, 200);
		assert.equal(answer.text, '');
	});
});
