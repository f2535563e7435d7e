// SPDX-License-Identifier: MIT
//
// States of a server for the stand-in: empty, a good day, a bad day.

import {
	StandIn, ago, attemptsFrom, dead, destination, failedStory, fullRow, lane, readStory, row, stats, user, uuid,
} from './admin-standin.mjs';

const MIN = 60_000;
const HOUR = 60 * MIN;

export const empty = () => new StandIn({
	destinations: [destination('*', { last_success_at: null }), destination('local', { last_success_at: null })],
});

/** A server that works well under load: its totals grow with time. */
export function busy()
{
	const start = Date.now();
	const wave = () => Math.sin((Date.now() - start) / 3000);
	const standin = new StandIn();

	standin.stats = () => {
		const s = (Date.now() - start) / 1000;
		const sent = 48_210 + Math.round(42 * s);
		return stats({ states: { pending: 38 + Math.round(20 * wave()), scheduled: 6, sending: 12, sent: 310 },
			totals: { accepted: sent + 40, sent, acked: sent - 300, retries: 512 + Math.round(s), canceled: 14 },
			oldest_pending_age_ms: 820, average_latency_ms: 64 + Math.round(12 * wave()), retry_rate: 0.011,
			relay: { last_turn_age_ms: 140, in_flight: 12 }, wal_bytes: 3_900_000,
			queues: { writer_waiting: 3 } });
	};
	standin.destinations = [destination('*'), destination('local', { pending: 20, in_flight: 8,
		oldest_pending_age_ms: 820, ages: [20, 0, 0, 0, 0, 0, 0, 0] }),
	destination('other.example', { pending: 18, in_flight: 4, per_second: 50, oldest_pending_age_ms: 610,
		ages: [18, 0, 0, 0, 0, 0, 0, 0] })];
	standin.rows = [row(1), row(2, { from: 'carol', to: 'dave', state: 'sent', acked_at: null }),
		row(3, { state: 'pending', sent_at: null, acked_at: null, labels: ['retrying'], attempts: 2,
			retry_count: 2, to: 'eve@other.example', destination: 'other.example',
			next_retry_at: new Date(Date.now() + 12_000).toISOString(), last_error: '450 try again later' }),
		row(4, { state: 'pending', labels: ['scheduled'], sent_at: null, acked_at: null, attempts: 0,
			deliver_at: new Date(Date.now() + 2 * HOUR).toISOString() })];
	standin.lanes = [lane(7), lane(9, { to: 'eve@other.example', destination: 'other.example', state: 'leased',
		pending: 14, tail_seq: 26, lease_owner: 'relay-1', lease_token: 41,
		lease_until: new Date(Date.now() + 50_000).toISOString() }),
	lane(11, { to: 'zoe@dead.example', destination: 'dead.example', state: 'ready', pending: 3,
		due_at: new Date(Date.now() + 20_000).toISOString(), replay_seq: 4 })];
	standin.users = [user('ada', { admin: true, display_name: 'Ada L.', devices: 3 }), user('bob', { pending: 4 }),
		user('carol', { disabled_at: ago(3 * HOUR), devices: 0, display_name: 'Carol with a name that is long enough to be cut' }),
		user('dora', { admin: true, disabled_at: ago(26 * HOUR), devices: 0 }), user('root', { admin: true })];
	standin.audit = [
		{ audit_id: 3, at: ago(2 * MIN), actor: 'root', action: 'resume', object: 'other.example', detail: null },
		{ audit_id: 2, at: ago(50 * MIN), actor: 'root', action: 'pause', object: 'other.example',
			detail: 'they move to another house' },
		{ audit_id: 1, at: ago(26 * HOUR), actor: 'ada', action: 'retry', object: uuid(4), detail: null }];
	return standin;
}

/**
 * One destination is down, another one fails sometimes, one is paused.  There
 * are hundreds of dead letters of several kinds.
 */
export function badDay(letters = 412)
{
	const standin = busy();
	const kinds = [{}, { reason: 'rejected', last_error: '550 no such person', attempts: 1, retry_count: 0,
		to: 'nobody@other.example', destination: 'other.example', from: 'carol' },
	{ reason: 'expired', state: 'expired', attempts: 96, retry_count: 0, last_error: 'connection refused' }];

	standin.dead = Array.from({ length: letters }, (_x, i) => dead(i + 1, kinds[i % 7 === 0 ? 1 : i % 11 === 0 ? 2 : 0]));
	standin.stats = () => stats({
		states: { pending: 12_480, scheduled: 6, sending: 31, sent: 310, failed: letters - 38, expired: 38 },
		totals: { accepted: 61_302, sent: 48_410, acked: 48_100, retries: 9_120, failed: letters - 38, expired: 38,
			requeued: 12, rescues: 2 },
		dead_letters_open: standin.dead.filter((one) => one.resolution === null).length,
		oldest_pending_age_ms: 9 * HOUR, stuck_sending: 2, near_failure: 41, average_latency_ms: 7_400,
		retry_rate: 0.184, relay: { last_turn_age_ms: 95, in_flight: 31 }, wal_bytes: 81 * 1024 * 1024,
		queues: { writer_waiting: 220 } });
	standin.destinations = [destination('*'),
		destination('local', { pending: 140, ages: [140, 0, 0, 0, 0, 0, 0, 0], oldest_pending_age_ms: 4_000 }),
		destination('dead.example', { breaker: 'open', failures: 212, window: 1, pending: 11_904, truncated: true,
			last_error: 'connection refused', failing_since: ago(9 * HOUR), last_success_at: ago(9 * HOUR),
			last_failure_at: ago(4 * MIN), next_probe_at: new Date(Date.now() + 340_000).toISOString(),
			oldest_pending_age_ms: 9 * HOUR, ages: [22, 96, 130, 242, 511, 1_020, 1_983, 7_900] }),
		destination('shaky.example', { breaker: 'half_open', failures: 6, successes: 1, window: 2, pending: 301,
			in_flight: 1, last_error: '503 overloaded', failing_since: ago(12 * MIN), last_success_at: ago(8_000),
			oldest_pending_age_ms: 13 * MIN, ages: [60, 140, 80, 21, 0, 0, 0, 0] }),
		destination('moving.example', { paused_at: ago(40 * MIN), paused_by: 'ada', pause_reason: 'they move tonight',
			pending: 135, oldest_pending_age_ms: 40 * MIN, ages: [3, 14, 20, 48, 50, 0, 0, 0] }),
		destination('other.example')];
	standin.messages.set(uuid(1), [failedStory(1)]);
	standin.messages.set(uuid(2), [readStory(2)]);
	standin.messages.set(uuid(3), [{ ...fullRow(3, { attempt_count: 60, state: 'pending', to: 'bob@dead.example',
		destination: 'dead.example', sent_at: null, acked_at: null, created_at: ago(9 * HOUR),
		event_time: ago(9 * HOUR), last_error: 'connection refused',
		next_retry_at: new Date(Date.now() + 340_000).toISOString() }),
	attempts: attemptsFrom(Date.now() - 9 * HOUR + 20, Array.from({ length: 60 }, (_x, i) =>
		Math.min(600_000, 5000 * 2 ** i)), {}).map((one) => ({ ...one, outcome: 'unavailable', status: null,
		error: 'connection refused' })),
	timeline: [{ at: ago(9 * HOUR), event: 'accepted', detail: null }] }]);
	for (const one of standin.dead.slice(3, 60))
		standin.messages.set(one.id, [{ ...failedStory(one.dead_id) }]);
	return standin;
}
