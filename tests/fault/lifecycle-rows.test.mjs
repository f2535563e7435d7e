// SPDX-License-Identifier: MIT
//
// The lifecycle of an outbox message to another server, as the source documents
// describe it: the five steps of the outbox, retries until none is left, what a
// failed message leaves behind, and downtime.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { operator, sendMany } from '../e2e/operator.mjs';
import { time } from '../e2e/expect.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { expectStatus, users } from '../e2e/harness.mjs';
import { entryWhen, faultServer, Peer, skip } from './remote.mjs';

async function world(t, name, options)
{
	const server = await faultServer(t, options);
	const [root, [ann]] = await Promise.all([operator(server), users(server, 'ann')]);

	return { server, root, ann, peer: new Peer(server, name), to: `bob@${name}.fault.test` };
}

/** Returns the attempts of ${id} as [outcome, error]. */
async function attempts(root, id)
{
	const [row] = (await root.ask(`outbox/${id}`)).rows;

	return row.attempts.map((one) => [one.outcome, one.error]);
}

describe('the lifecycle on the way to another server', { skip }, () => {
	// The test checks what each state shows: pending, sending, pending,
	// sending, sent.
	it('R25 R69 R244 R292 R302 R303 R307 R308 R327 R358 R360 R361 R362 pending, sending, waiting for ' +
	   'a retry, sent', async (t) => {
		const { root, ann, peer, to } = await world(t, 'stages');

		peer.does({ latency: 3000, retry: 100, wait: 5000 });
		const { id, state } = await ann.send(to, 'in stages');
		assert.equal(state, 'pending');
		const sending = await entryWhen(ann, id, (e) => e.state === 'sending', 'it is under way');
		assert.equal(sending.attempts, 1);
		assert.equal(sending.sent_at, null);
		assert.equal((await root.ask('stats')).states.sending, 1);
		const waits = await entryWhen(ann, id, (e) => e.retry_count === 1, 'it was refused for now');
		assert.equal(waits.state, 'pending');
		assert.ok(waits.labels.includes('retrying'));
		assert.equal(waits.last_error, 'inbox_full');
		assert.ok(time(waits.next_retry_at) > time(waits.last_status_at));
		assert.equal((await root.ask('stats')).states.sending, 0);
		peer.does({});
		const sent = await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent');
		assert.equal(sent.next_retry_at, null);
		assert.equal(sent.last_error, null);
		assert.equal(sent.event_time, waits.event_time);
		assert.equal(sent.created_at, waits.created_at);
		assert.ok(time(sent.sent_at) >= time(sent.last_attempt_at));
		// The second attempt did not begin before its time.
		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.ok(time(row.attempts[1].started_at) >= time(waits.next_retry_at));
		assert.deepEqual(row.attempts.map((one) => one.outcome), ['retryable', 'accepted']);
	});

	// The destination asks for one millisecond between retries.  With the
	// default pauses ten retries would take more than five minutes.
	it('R28 R47 R48 R64 R72 R73 R75 R87 R293 R317 R319 R321 R323 R328 R347 R353 R363 R127 R171 R194 R213 R214 R236 ' +
	   'the eleventh refusal is the last', async (t) => {
		const { server, root, ann, peer, to } = await world(t, 'full');
		const ws = await ann.ws({ outbox: true });

		peer.does({ retry: 100, wait: 1 });
		const { id, max_retries } = await ann.send(to, 'again and again');
		assert.equal(max_retries, 10);
		const failed = await entryWhen(ann, id, (e) => e.state === 'failed', 'its retries are used up');
		assert.equal(failed.retry_count, 10);
		assert.equal(failed.attempts, 11);
		assert.equal(failed.last_error, 'inbox_full');
		assert.deepEqual(peer.has(), []);
		// The sender gets a bounce in the inbox and a frame in the open
		// session.
		const bounce = await ann.event((e) => e.kind === 'bounce', 'the bounce');
		assert.deepEqual([bounce.of, bounce.state, bounce.to], [id, 'failed', to]);
		assert.match(bounce.reason, /retries/);
		await ws.wait((f) => f.type === 'outbox' && f.entry.id === id && f.entry.state === 'failed',
			'the entry as failed');
		await ws.close();
		// An operator finds the dead letter with its reason and each
		// attempt.
		const [letter, ...rest] = await root.all('dead-letters', 'dead_letters');
		assert.deepEqual(rest, []);
		assert.deepEqual([letter.id, letter.state, letter.reason, letter.last_error, letter.retry_count],
			[id, 'failed', 'max_retries', 'inbox_full', 10]);
		assert.deepEqual(await attempts(root, id), Array(11).fill(['retryable', 'inbox_full']));
		const stats = await root.ask('stats');
		assert.equal(stats.states.failed, 1);
		assert.equal(stats.total_retries, 10);
		assert.equal(stats.dead_letters_open, 1);
		// The message stays failed until an operator or its sender
		// acts.  A requeued message has all its retries again.
		await server.restart();
		assert.equal((await ann.entry(id)).state, 'failed');
		peer.does({});
		assert.equal((await root.do('POST', 'dead-letters/requeue', { dead_ids: [letter.dead_id] })).requeued, 1);
		assert.equal((await peer.gets(1))[0].id, id);
		assert.equal((await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent')).retry_count, 0);
		await assertSound(server);
	});

	it('R9 R11 R245 an answer that was promised and never comes: offered again', async (t) => {
		const { root, ann, peer, to } = await world(t, 'later', { args: ['--ack-timeout', '2s'] });

		peer.does({ later: 100 });
		const { id } = await ann.send(to, 'later, they said');
		const waits = await entryWhen(ann, id, (e) => e.state === 'sent', 'it waits for the answer');
		assert.equal(waits.attempts, 1);
		assert.equal(waits.retry_count, 0);
		assert.deepEqual(peer.has(), []);
		peer.does({});
		assert.equal((await peer.gets(1))[0].attempt, 2);
		const sent = await entryWhen(ann, id, (e) => e.state === 'sent' && e.attempts === 2, 'it is sent');
		assert.equal(sent.retry_count, 1);
		assert.deepEqual(await attempts(root, id), [['later', null], ['accepted', null]]);
	});

	it('R314 what was accepted is not offered again, however long its person is away', async (t) => {
		const { root, ann, peer, to } = await world(t, 'once', { args: ['--ack-timeout', '1s'] });

		const { id } = await ann.send(to, 'for good');
		const sent = await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent');
		// The marker falls due when any answer that was still owed
		// would be late.
		const later = await ann.send(to, 'the marker',
			{ deliver_at: new Date(Date.now() + 2500).toISOString() });
		await entryWhen(ann, later.id, (e) => e.state === 'sent', 'the marker is sent');
		assert.deepEqual(peer.has().map((got) => [got.id, got.attempt]), [[id, 1], [later.id, 1]]);
		assert.deepEqual(await ann.entry(id), sent);
		assert.deepEqual(await attempts(root, id), [['accepted', null]]);
	});

	it('R349 R354 the profile of retries is a setting: half a minute after the first refusal', async (t) => {
		const { ann, peer, to } = await world(t, 'patient', { args: ['--retry-profile', 'relay'] });

		peer.does({ retry: 100 });
		const ws = await ann.ws({ outbox: true });
		const { id, max_retries } = await ann.send(to, 'patience');
		assert.equal(max_retries, 5, 'of the answer to the send');
		const waits = await entryWhen(ann, id, (e) => e.retry_count === 1, 'it waits for a retry');
		const delay = time(waits.next_retry_at) - time(waits.last_status_at);
		assert.ok(delay >= 24_000 && delay <= 36_000, `retry after ${delay} ms`);
		// Every place that shows the entry shows the same.
		const again = { id, to, body: 'patience' };
		const shown = {
			entry: waits,
			listed: (await ann.get('/v1/outbox')).body.entries[0],
			replayed: (await ann.post('/v1/messages', again)).body,
			replayedInArray: (await ann.post('/v1/messages', [again])).body[0].entry,
			frame: (await ws.wait((f) => f.type === 'outbox' && f.entry.id === id, 'the entry as frame')).entry,
			sent: (await ws.request({ type: 'send', message: again })).entry,
		};
		for (const [where, entry] of Object.entries(shown))
			assert.deepEqual([where, entry.id, entry.max_retries], [where, id, 5]);
		await ws.close();
		// The sender may retry earlier.
		peer.does({});
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
		assert.equal((await peer.gets(1))[0].id, id);
	});

	// Two messages may go out at once, the others at the given rate.  The
	// time between the first and the last shows that the rate is never
	// exceeded.
	it('R369 a destination is sent at most its rate a second', async (t) => {
		const { root, ann, peer, to } = await world(t, 'paced');
		const first = await ann.send(to, 'first');
		const started = [];

		await entryWhen(ann, first.id, (e) => e.state === 'sent', 'the destination is known');
		await root.pause(peer.name);
		await root.do('PATCH', `destinations/${peer.name}`, { per_second: 2 });
		const ids = await sendMany(ann, to, 6);
		await root.resume(peer.name);
		assert.deepEqual((await peer.gets(7)).map((got) => got.id), [first.id, ...ids]);
		for (const id of ids) {
			await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent');
			started.push(time((await root.ask(`outbox/${id}`)).rows[0].attempts[0].started_at));
		}
		assert.ok(started.at(-1) - started[0] >= 1500, started.map((at) => at - started[0]).join(' '));
	});

	it('R31 R33 R276 R277 R278 R279 R280 what the carrier says decides: taken, again, never, or nothing', async (t) => {
		const { root, ann, peer, to } = await world(t, 'says');
		const sends = (text) => ann.send(to, text);

		peer.does({ down: 1 });
		const first = await sends('not reached');
		const away = await entryWhen(ann, first.id, (e) => e.attempts >= 1 && e.state === 'pending', 'put off');
		assert.equal(away.retry_count, 0);
		assert.equal(away.last_error, 'connection refused');
		peer.does({});
		await entryWhen(ann, first.id, (e) => e.state === 'sent', 'taken');
		// If the answer says nothing about a message, the message is
		// treated as refused for now.
		peer.does({ none: 100, wait: 2000 });
		const silence = await sends('nothing');
		const kept = await entryWhen(ann, silence.id, (e) => e.retry_count === 1, 'nothing was said of it');
		assert.equal(kept.state, 'pending');
		peer.does({});
		await entryWhen(ann, silence.id, (e) => e.state === 'sent', 'taken after all');
		assert.deepEqual((await attempts(root, silence.id)).map(([outcome]) => outcome), ['no_answer', 'accepted']);
		peer.does({ retry: 100, wait: 2000 });
		const again = await sends('again');
		await entryWhen(ann, again.id, (e) => e.retry_count >= 1, 'again');
		peer.does({ reject: 100 });
		const never = await entryWhen(ann, again.id, (e) => e.state === 'failed', 'never');
		assert.equal(never.last_error, 'unknown_recipient');
		assert.deepEqual((await attempts(root, first.id)).at(-1), ['accepted', null]);
		const said = await attempts(root, again.id);
		assert.deepEqual(said[0], ['retryable', 'inbox_full']);
		assert.deepEqual(said.at(-1), ['rejected', 'unknown_recipient']);
	});

	// Each kind of failure lasts until the server has noticed it.  No
	// message is charged, except for the last kind, which concerns the
	// messages themselves.
	it('R40 R126 R196 R234 R238 R415 R417 R425 downtime of every kind, then all of it, once and ' +
	   'in order', async (t) => {
		const { server, root, ann, peer, to } = await world(t, 'storm');
		const ids = [];

		for (const [wishes, error] of [
			[{ down: 1 }, 'connection refused'],
			[{ status: 503 }, 'HTTP 503'],
			[{ lost: 100 }, 'the answer was lost'],
		]) {
			peer.does(wishes);
			for (let i = 0; i < 5; i++)
				ids.push((await ann.send(to, `${error} ${i}`)).id);
			const felt = await entryWhen(ann, ids[0], (e) => e.state === 'pending' && e.last_error === error, error);
			assert.equal(felt.retry_count, 0);
		}
		await server.restart();
		peer.does({ none: 20, wait: 1 });
		await entryWhen(ann, ids[0], (e) => e.state === 'sent', 'it is sent');
		peer.does({});
		assert.deepEqual((await peer.gets(ids.length)).map((got) => got.id), ids);
		for (const id of ids)
			await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent');
		assert.equal(peer.has().length, ids.length);
		assert.deepEqual(await root.all('dead-letters', 'dead_letters'), []);
	});
});
