// SPDX-License-Identifier: MIT
//
// The admin routes when other servers fail: their circuit breakers, messages
// under way, retries, dead letters, and the changes that operators make.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { operator, sendMany, until, untilDead, userCommand } from '../e2e/operator.mjs';
import { problem, time } from '../e2e/expect.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { eventually, expectStatus, tempDir, users } from '../e2e/harness.mjs';
import { faultServer, Peer, skip } from './remote.mjs';

async function world(t, name, options)
{
	const server = await faultServer(t, options);
	const [root, [ann, eve]] = await Promise.all([operator(server), users(server, 'ann', 'eve')]);

	return { server, root, ann, eve, peer: new Peer(server, name), to: `bob@${name}.fault.test` };
}

describe('the admin routes and other servers', { skip }, () => {
	it('a message that was rejected: its attempts, its story, and the way back (R18, R83, R84, R326)', async (t) => {
		const { server, root, ann, eve, peer, to } = await world(t, 'no',
			{ args: ['--alert-interval', '1s'] });
		const alarmed = async () => (await root.ask('stats')).alerts.map((one) => one.name);

		peer.does({ reject: 100 });
		const { id } = await ann.send(to, 'unwanted');
		const other = await eve.send(to, 'unwanted, too');
		await until(ann, id, 'failed');
		await until(eve, other.id, 'failed');

		const [letter] = await root.all(`dead-letters?sender=${ann.name}`, 'dead_letters');
		assert.equal(letter.id, id);
		assert.equal(letter.destination, peer.name);
		assert.equal(letter.reason, 'rejected');
		assert.equal(letter.last_error, 'unknown_recipient');
		assert.equal(letter.attempts, 1);
		assert.equal((await root.all(`dead-letters?destination=${peer.name}&reason=rejected`, 'dead_letters')).length, 2);
		assert.equal((await root.all('dead-letters?destination=local', 'dead_letters')).length, 0);

		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.equal(row.to, to);
		assert.equal(row.state, 'failed');
		assert.equal(row.reason, 'rejected');
		assert.equal(row.attempt_count, 1);
		assert.equal(row.attempts.length, 1);
		const [attempt] = row.attempts;
		assert.equal(attempt.attempt, 1);
		assert.ok(time(attempt.finished_at) >= time(attempt.started_at));
		assert.ok(attempt.outcome && attempt.owner);
		assert.equal(attempt.error, 'unknown_recipient');
		assert.deepEqual(row.timeline.map((step) => step.event), ['accepted', 'attempt', 'outcome', 'failed']);
		const [entry] = await root.all(`outbox?state=failed&destination=${peer.name}&sender=${ann.name}`, 'entries');
		assert.equal(entry.id, id);

		const { alerts: [alert] } = await eventually(async () =>
			(await alarmed()).includes('outbox_failed') && root.ask('stats'), 'an alert is raised');
		assert.equal(alert.severity, 'critical');
		assert.ok(alert.text.length > 5);
		time(alert.since);

		peer.does({});
		assert.equal((await root.do('POST', 'dead-letters/requeue', { dead_ids: [letter.dead_id] })).requeued, 1);
		expectStatus(await eve.post(`/v1/outbox/${other.id}/retry`), 200);
		assert.deepEqual((await peer.gets(2)).map((got) => got.id).sort(), [id, other.id].sort());
		await until(ann, id, 'sent');
		const again = (await root.ask(`outbox/${id}`)).rows[0];
		assert.equal(again.attempts.length, 2);
		assert.deepEqual(again.timeline.map((step) => step.event),
			['accepted', 'attempt', 'outcome', 'failed', 'requeued', 'attempt', 'outcome', 'sent']);
		assert.equal((await root.ask('stats')).totals.requeued, 2);
		await until(eve, other.id, 'sent');
		await eventually(async () => (await alarmed()).length === 0, 'the alert is over');
		await assertSound(server);
	});

	it('a destination that is down: its breaker, what waits for it and for how long (R91, R100, R101)', async (t) => {
		const { root, ann, eve, peer, to } = await world(t, 'away');

		peer.does({ down: 1 });
		const ids = await sendMany(ann, to, 12);
		const open = await eventually(async () => {
			const { destinations } = await root.ask('destinations');
			const one = destinations.find((d) => d.name === peer.name);
			// The relay knows the breaker and what is in flight, and the store what is
			// pending: a row whose attempt ends just now may be in neither.
			return one?.breaker === 'open' && one.pending === 12 && one;
		}, 'the breaker opens, and all wait', 30_000);
		assert.ok(open.failures >= 5);
		assert.equal(open.ages.reduce((a, b) => a + b), open.pending);
		assert.equal(open.truncated, false);
		assert.ok(open.last_error.length > 0);
		time(open.failing_since);
		time(open.next_probe_at);
		time(open.last_failure_at);
		assert.equal(open.last_success_at, null);
		assert.ok(open.window >= 1);
		assert.ok(open.oldest_pending_age_ms >= 0);
		assert.equal((await root.ask('stats')).states.pending, 12);
		assert.equal((await root.all(`outbox?state=pending&destination=${peer.name}`, 'entries', 5)).length, 12);
		const [user] = (await root.all('users', 'users')).filter((one) => one.name === ann.name);
		assert.equal(user.pending, 12);
		assert.ok(!(await root.all('users', 'users')).some((one) => one.name === to));
		const [lane] = await root.all(`lanes?destination=${peer.name}`, 'lanes');
		assert.equal(lane.to, to);
		assert.equal(lane.pending, 12);
		assert.deepEqual(await root.all(`lanes?destination=${peer.name}&state=local`, 'lanes'), []);
		// Messages to other users do not wait.
		const { id } = await ann.send(eve.name, 'here');
		await until(ann, id, 'sent');
		// An operator who knows that the server is back can retry at
		// once instead of waiting for the probe.
		peer.does({});
		await root.do('POST', `outbox/${ids[0]}/retry`);
		await peer.gets(12);
		await until(ann, ids[11], 'sent');
		const closed = await eventually(async () => {
			const one = await root.destination(peer.name);
			return one.breaker === 'closed' && one.pending === 0 && one;
		}, 'the breaker closes');
		assert.equal(closed.failing_since, null);
		time(closed.last_success_at);
	});

	it('R371 what is under way, and what has been for too long', async (t) => {
		const { root, ann, peer, to } = await world(t, 'slow');

		peer.does({ latency: 6000 });
		const { id } = await ann.send(to, 'slowly');
		await until(ann, id, 'sending');
		const [entry] = await root.all('outbox?state=sending', 'entries');
		assert.equal(entry.id, id);
		assert.equal(entry.attempts, 1);
		assert.deepEqual(await root.all('outbox?stuck=1h', 'entries'), []);
		const [stuck] = await eventually(async () => {
			const found = await root.all('outbox?stuck=1s', 'entries');
			return found.length > 0 && found;
		}, 'it is stuck for a second');
		assert.equal(stuck.id, id);
		const [lane] = await root.all('lanes?state=leased', 'lanes');
		assert.equal(lane.destination, peer.name);
		assert.ok(lane.lease_owner && lane.lease_token >= 1);
		time(lane.lease_until);
		const destination = await root.destination(peer.name);
		assert.equal(destination.in_flight, 1);
		const stats = await root.ask('stats');
		assert.equal(stats.states.sending, 1);
		assert.ok(stats.relay.in_flight >= 1);
		assert.equal(stats.stuck_sending, 0);
		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.deepEqual(row.attempts.map((one) => [one.attempt, one.finished_at, one.outcome]), [[1, null, null]]);
		problem(await root.post(`/v1/admin/outbox/${id}/discard`), 409, 'conflict');
		await until(ann, id, 'sent');
	});

	it('R373 what is refused again and again', async (t) => {
		const { root, ann, peer, to } = await world(t, 'full');

		peer.does({ retry: 100 });
		const { id } = await ann.send(to, 'try me');
		await ann.entryWhen(id, (e) => e.retry_count >= 1 && e.state === 'pending', 'waits for a retry');
		const found = await root.all('outbox?near_failure=9', 'entries');
		assert.deepEqual(found.map((one) => [one.id, one.labels]), [[id, ['retrying']]]);
		assert.ok(found[0].retry_count >= 1);
		time(found[0].next_retry_at);
		assert.deepEqual(await root.all('outbox?near_failure=3', 'entries'), []);
		const stats = await root.ask('stats');
		assert.ok(stats.total_retries >= 1 && stats.retry_rate > 0);
		assert.equal(stats.near_failure, 0);
		peer.does({});
		await until(ann, id, 'sent');
		assert.deepEqual(await root.all('outbox?near_failure=9', 'entries'), []);
	});

	it('paused, nothing leaves; given up, it fails and its sender is notified', async (t) => {
		const { root, ann, eve, peer, to } = await world(t, 'held');
		const first = await ann.send(to, 'before');
		await until(ann, first.id, 'sent');

		await root.pause(peer.name, 'they asked for it');
		const [one, two, three] = await sendMany(ann, to, 3);
		const here = await ann.send(eve.name, 'not held');
		await until(ann, here.id, 'sent');
		const paused = await root.destination(peer.name);
		assert.equal(paused.pending, 3);
		assert.equal(paused.lanes_ready, 1);
		assert.equal(paused.pause_reason, 'they asked for it');
		await root.do('POST', `outbox/${two}/discard`);
		assert.equal((await ann.event((e) => e.kind === 'bounce', 'the bounce')).of, two);
		await root.resume(peer.name);
		assert.deepEqual((await peer.gets(3)).map((got) => got.id), [first.id, one, three]);
	});

	it('a lane that is rewound offers what it has again, and changes nothing else', async (t) => {
		const { server, root, ann, peer, to } = await world(t, 'lost');
		const ids = await sendMany(ann, to, 3);

		await until(ann, ids[2], 'sent');
		const [lane] = await root.all(`lanes?destination=${peer.name}&state=idle`, 'lanes');
		assert.equal(lane.next_seq, 4);
		problem(await root.post(`/v1/admin/lanes/${lane.lane_id}/rewind`, { seq: 4 }), 400, 'bad_request', '/seq');
		peer.does({ forget: 1 });
		const rewound = await root.do('POST', `lanes/${lane.lane_id}/rewind`, { seq: 2 });
		assert.equal(rewound.lane_id, lane.lane_id);
		assert.equal(rewound.next_seq, 4);
		assert.deepEqual((await peer.gets(5)).map((got) => got.id), [...ids, ids[1], ids[2]]);
		await eventually(async () =>
			(await root.all(`lanes?destination=${peer.name}&state=idle`, 'lanes'))[0]?.replay_seq === null,
		'the lane is idle again');
		assert.equal((await ann.entry(ids[1])).state, 'sent');
		const [row] = await root.all('audit', 'entries', 1);
		assert.deepEqual([row.action, row.object, row.actor], ['rewind', String(lane.lane_id), root.name]);
		await assertSound(server);
	});

	for (const [how, asked] of [['by filter', () => ({ filter: {}, limit: 1000 })],
		['by name', (letters) => ({ dead_ids: letters.map((one) => one.dead_id) })]]) {
		it(`many at once, ${how}: an operator who is disabled has no more of them requeued`, async (t) => {
			const UNITS = 6;
			const trace = path.join(tempDir(), 'trace');
			// A delay in each unit keeps the command busy until the
			// test has disabled the operator.
			const { server, root, ann, eve } = await world(t, 'many', {
				unlimited: `one user sends ${100 * UNITS} messages`,
				env: { TWINBOX_FAULT_TRACE: trace,
					TWINBOX_FAULT: Array.from({ length: UNITS }, (_, i) =>
						`requeue.row.after:${100 * i + 1}:delay=2000`).join() } });
			const other = await operator(server);

			await root.pause();
			await sendMany(ann, eve.name, 100 * UNITS, { expires_in: 1 });
			await untilDead(root, 100 * UNITS);
			const asks = root.post('/v1/admin/dead-letters/requeue',
				asked(await root.all('dead-letters', 'dead_letters')));
			await eventually(() => /^requeue\./m.test(fs.readFileSync(trace, 'utf8')), 'it has begun');
			assert.equal((await userCommand(server, ['disable', root.name])).code, 0);
			problem(await asks, 401, 'unauthenticated');
			// The units under way when the operator was disabled
			// are completed.  No other unit begins.
			const left = (await other.ask('stats')).dead_letters_open;
			assert.ok(left > 0 && left < 100 * UNITS && left % 100 === 0, `${left} are left`);
			assert.equal((await other.do('POST', 'dead-letters/requeue', { filter: {}, limit: 1000 })).requeued,
				left);
			await assertSound(server);
		});
	}

	it('no text of a message is shown', async (t) => {
		const { root, ann, peer, to } = await world(t, 'spy');
		const canary = 'for-the-eyes-of-one-alone';

		peer.does({ reject: 100 });
		const { id } = await ann.send(to, canary, { metadata: { [canary]: canary } });
		await until(ann, id, 'failed');
		for (const target of ['stats', 'outbox', `outbox/${id}`, 'dead-letters', 'destinations', 'lanes', 'users', 'audit'])
			await root.ask(target);
		await root.get('/v1/admin/dead-letters/export');
		assert.ok(root.said.includes(id));
		assert.ok(!root.said.includes(canary));
	});
});
