// SPDX-License-Identifier: MIT
// tags: store
//
// The sender's outbox: the list, the entry, long-polls, the timeline, scheduled
// messages, canceling.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { entryForm, problem, time } from './expect.mjs';
import {
	WAIT_MS, eventually, expectStatus, once, serverForFile, startServer, users, uuid7, within,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

const inSeconds = (s) => new Date(Date.now() + s * 1000).toISOString();

describe('R82 R172 R281 R282 R283 R284 R286 R287 R288 R290 R291 an entry', () => {
	it('R7 R17 R18 R19 R20 R21 R24 R26 R27 R182 R186 R187 R310 R312 R329 R330 R331 R332 R333 R334 R335 R346 has its timeline, and the times are in order', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'follow me');
		const sent = await ann.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		entryForm(sent);
		assert.equal(sent.counts.sent, 1);
		assert.equal(sent.counts.acked, 0);
		assert.equal(sent.retry_count, 0);
		assert.equal(sent.last_error, null);
		const { seq } = await bob.received(id);
		await bob.ack(seq);
		await ann.entryWhen(id, (e) => e.state === 'acked', 'is acked');
		await bob.read({ upto: seq });
		const read = await ann.entryWhen(id, (e) => e.labels.includes('read'), 'is read');
		entryForm(read);
		const times = ['created_at', 'sent_at', 'acked_at', 'read_at'].map((m) => time(read[m], m));
		assert.deepEqual(times, [...times].sort((a, b) => a - b), JSON.stringify(read));
		assert.equal(read.event_time, sent.event_time, 'event_time never changes');
		assert.equal(read.created_at, sent.created_at, 'created_at never changes');
		assert.equal(read.sent_at, sent.sent_at);
		assert.equal(read.destinations.length, 1);
		const [destination] = read.destinations;
		assert.equal(destination.address, bob.name);
		assert.equal(destination.state, 'acked');
		for (const member of ['sent_at', 'acked_at', 'read_at', 'attempts', 'retry_count'])
			assert.equal(destination[member], read[member], member);
		assert.equal(destination.last_error, null);
	});

	it('R26 R314 sent is stable, however long its person is away', async (t) => {
		const other = await startServer({ args: ['--ack-timeout', '1s'] });
		t.after(() => other.stop());
		const [ann, bob, cat] = await users(other, 'ann', 'bob', 'cat');
		const { id } = await ann.send(bob.name, 'waiting for you');
		const one = await ann.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		// The scheduled message falls due after the time of a second
		// attempt, and the marker is sent after it.  When both are
		// there, a second delivery of the first message would be there,
		// too.
		const due = await ann.send(cat.name, 'later', { deliver_at: inSeconds(2) });
		await cat.received(due.id);
		const next = await ann.send(bob.name, 'the marker');
		await bob.received(next.id);
		assert.deepEqual(await ann.entry(id), one);
		assert.deepEqual((await bob.inbox()).events.map((e) => e.id), [id, next.id]);
		problem(await ann.delete(`/v1/outbox/${id}`), 409, 'already_sent');
		assert.deepEqual(await ann.entry(id), one);
	});

	it('an ETag saves the answer', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'x');
		await ann.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		const etag = (await ann.get(`/v1/outbox/${id}`)).headers.get('etag');
		assert.ok(etag);
		const same = await ann.get(`/v1/outbox/${id}`, { headers: { 'if-none-match': etag } });
		assert.equal(same.status, 304);
		await bob.ack((await bob.received(id)).seq);
		await ann.entryWhen(id, (e) => e.state === 'acked', 'is acked');
		expectStatus(await ann.get(`/v1/outbox/${id}`, { headers: { 'if-none-match': etag } }), 200);
	});

	it('an unknown one is 404, and so is an id that is none', async () => {
		const [ann] = await users(server, 'ann');
		for (const id of [uuid7(), 'x'])
			problem(await ann.get(`/v1/outbox/${id}`), 404, 'not_found');
		problem(await ann.delete(`/v1/outbox/${uuid7()}`), 404, 'not_found');
	});
});

describe('?wait=', () => {
	const shared = once(async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		return { ann, id: (await ann.send(bob.name, 'x')).id };
	});

	it('answers when the entry changes', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'x');
		await ann.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		const poll = ann.get(`/v1/outbox/${id}?wait=55`);
		await server.polled(1);
		await bob.ack((await bob.received(id)).seq);
		const { body } = expectStatus(await within(poll, WAIT_MS, 'the end of the poll'), 200);
		assert.equal(body.state, 'acked');
	});

	it('ends after its time', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'x');
		await ann.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		const start = performance.now();
		const { body } = expectStatus(await within(ann.get(`/v1/outbox/${id}?wait=1`), WAIT_MS,
			'the end of the poll'), 200);
		assert.ok(performance.now() - start >= 900, 'it did not wait');
		assert.equal(body.state, 'sent');
	});

	for (const query of ['wait=56', 'wait=-1', 'wait=x', 'colour=red']) {
		it(`refuses ?${query}`, async () => {
			const { ann, id } = await shared();
			problem(await ann.get(`/v1/outbox/${id}?${query}`), 400, 'bad_request');
		});
	}
});

describe('R370 the list', () => {
	const shared = once(() => users(server, 'ann'));

	it('newest first, in pages', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ids = [];
		for (let i = 0; i < 5; i++)
			ids.push((await ann.send(bob.name, `m${i}`)).id);
		const seen = [];
		let target = '/v1/outbox?limit=2';
		while (target) {
			const answer = expectStatus(await ann.get(target), 200);
			assert.ok(answer.body.entries.length <= 2);
			answer.body.entries.forEach(entryForm);
			seen.push(...answer.body.entries.map((e) => e.id));
			const next = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
			assert.equal(Boolean(next), Boolean(answer.body.next));
			assert.equal(answer.body.has_more, Boolean(next));
			target = next;
			assert.ok(seen.length <= 5);
		}
		assert.deepEqual(seen, [...ids].reverse());
		assert.deepEqual((await bob.get('/v1/outbox')).body.entries, []);
	});

	it('by state and by label', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const first = await ann.send(bob.name, 'will be read');
		const second = await ann.send(bob.name, 'will be acked');
		const third = await ann.send(bob.name, 'will be sent');
		const later = await ann.send(bob.name, 'later', { deliver_at: inSeconds(3600) });
		await bob.received(third.id);
		await bob.read({ upto: 1 });
		await bob.ack(2);
		await ann.entryWhen(first.id, (e) => e.labels.includes('read'), 'is read');
		await ann.entryWhen(second.id, (e) => e.state === 'acked', 'is acked');
		await ann.entryWhen(third.id, (e) => e.state === 'sent', 'is sent');
		const of = async (state) => expectStatus(await ann.get(`/v1/outbox?state=${state}`), 200)
			.body.entries.map((e) => e.id);
		assert.deepEqual(await of('sent'), [third.id]);
		assert.deepEqual(await of('acked'), [second.id, first.id]);
		assert.deepEqual(await of('read'), [first.id]);
		assert.deepEqual(await of('pending'), [later.id]);
		assert.deepEqual(await of('scheduled'), [later.id]);
		for (const state of ['failed', 'expired', 'canceled', 'retrying', 'sending'])
			assert.deepEqual(await of(state), [], state);
	});

	for (const query of ['state=lost', 'limit=0', 'limit=201', 'limit=x', 'before=%00', 'colour=red']) {
		it(`refuses ?${query}`, async () => {
			const [ann] = await shared();
			problem(await ann.get(`/v1/outbox?${query}`), 400, 'bad_request');
		});
	}
});

describe('R299 R300 R364 R365 scheduled messages', () => {
	it('R356 R366 R367 are only in the outbox until they are due, then arrive', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'in two seconds', { deliver_at: inSeconds(2) });
		assert.equal(entry.state, 'pending');
		assert.ok(entry.labels.includes('scheduled'));
		// The later message overtakes the scheduled one.
		const now = await ann.send(bob.name, 'now');
		for (const user of [ann, bob]) {
			await user.received(now.id);
			assert.deepEqual((await user.inbox()).events.map((e) => e.id), [now.id]);
		}
		const event = await bob.received(entry.id);
		assert.ok(Date.now() >= time(entry.deliver_at), 'too early');
		assert.equal(event.body, 'in two seconds');
		assert.equal((await ann.received(entry.id)).own, true);
		const done = await ann.entryWhen(entry.id, (e) => e.state === 'sent', 'is sent');
		assert.equal(done.retry_count, 0);
		assert.ok(!done.labels.includes('scheduled'));
	});

	it('do not hold up later ones', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const late = await ann.send(bob.name, 'late', { deliver_at: inSeconds(3600) });
		const now = await ann.send(bob.name, 'now');
		const event = await bob.received(now.id);
		assert.equal(event.conversation_seq, 1);
		expectStatus(await ann.delete(`/v1/outbox/${late.id}`), 200, 204);
	});

	it('R355 R357 a time that has passed means now', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'yesterday', { deliver_at: inSeconds(-86_400) });
		assert.ok(!entry.labels.includes('scheduled'));
		await bob.received(entry.id);
	});

	it('survive a restart', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'after the restart', { deliver_at: inSeconds(3) });
		await server.restart('SIGKILL');
		assert.equal((await bob.received(entry.id)).body, 'after the restart');
	});

	it('at most 100 a sender', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const deliver_at = inSeconds(3600);
		const items = Array.from({ length: 100 },
			() => ({ id: uuid7(), to: bob.name, body: 'x', deliver_at }));
		const results = expectStatus(await ann.post('/v1/messages', items), 200).body;
		assert.ok(results.every((one) => one.status === 201));
		/*
		 * The array has used up the burst of the rate limit, so the
		 * request is repeated.
		 */
		const send = (more) => eventually(async () => {
			const answer = await ann.post('/v1/messages', { to: bob.name, body: 'x', ...more });
			return answer.body.code !== 'rate_limited' && answer;
		}, 'the rate allows one more');
		problem(await send({ deliver_at }), 429, 'queue_full');
		expectStatus(await send(), 201);
	});
});

describe('trying again', () => {
	it('what is sent is 409, to others and to myself', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		for (const to of [bob.name, ann.name]) {
			const { id } = await ann.send(to, 'sent');
			await ann.entryWhen(id, (e) => e.state !== 'pending', 'is sent');
			problem(await ann.post(`/v1/outbox/${id}/retry`), 409, 'conflict');
		}
		problem(await ann.post(`/v1/outbox/${uuid7()}/retry`), 404, 'not_found');
	});
});

describe('cancelling', () => {
	it('what is not sent is canceled and never arrives', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'never', { deliver_at: inSeconds(1) });
		const later = await ann.send(bob.name, 'the marker', { deliver_at: inSeconds(1.5) });
		const answer = expectStatus(await ann.delete(`/v1/outbox/${entry.id}`), 200);
		assert.equal(answer.body.state, 'canceled');
		const canceled = await ann.entry(entry.id);
		assert.equal(canceled.state, 'canceled');
		assert.deepEqual(canceled.timeline.map((step) => step.state), ['pending', 'canceled']);
		assert.ok(time(canceled.timeline[1].at) >= time(canceled.created_at));
		assert.deepEqual((await ann.get('/v1/outbox?state=canceled')).body.entries
			.map((e) => e.id), [entry.id]);
		for (const user of [ann, bob]) {
			await user.received(later.id);
			assert.deepEqual((await user.inbox()).events.map((e) => e.id), [later.id]);
		}
	});

	it('again is 409', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'never', { deliver_at: inSeconds(3600) });
		expectStatus(await ann.delete(`/v1/outbox/${entry.id}`), 200);
		problem(await ann.delete(`/v1/outbox/${entry.id}`), 409, 'already_sent');
		assert.equal((await ann.entry(entry.id)).state, 'canceled');
	});

	it('what is sent is 409 already-sent', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'too late');
		const { seq } = await bob.received(entry.id);
		problem(await ann.delete(`/v1/outbox/${entry.id}`), 409, 'already_sent');
		await bob.ack(seq);
		problem(await ann.delete(`/v1/outbox/${entry.id}`), 409, 'already_sent');
		assert.equal((await bob.inbox()).head, 1);
	});

	it("nobody cancels another's", async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const entry = await ann.send(bob.name, 'mine', { deliver_at: inSeconds(3600) });
		problem(await bob.delete(`/v1/outbox/${entry.id}`), 404, 'not_found');
		assert.equal((await ann.entry(entry.id)).state, 'pending');
	});

	it('a canceled id stays used', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const message = { id: uuid7(), to: bob.name, body: 'x', deliver_at: inSeconds(3600) };
		expectStatus(await ann.post('/v1/messages', message), 201);
		expectStatus(await ann.delete(`/v1/outbox/${message.id}`), 200);
		const again = expectStatus(await ann.post('/v1/messages', message), 200);
		assert.equal(again.body.state, 'canceled');
	});
});
