// SPDX-License-Identifier: MIT
// tags: unit
//
// The history of a message in the admin page (web/src/admin/story.ts), run in
// node.  For each state: all points with their times, the stretches between
// them, the steps still to come, and the same in words.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { fullRow } from './admin-standin.mjs';
import { bundle } from './modules.mjs';

const C = Date.UTC(2026, 4, 20, 12); // when the message was accepted

let page;

before(async () => {
	page = await import(bundle('web/src/admin', 'story.ts'));
});

const iso = (ms) => (ms === null ? null : new Date(C + ms).toISOString());

/**
 * Returns a row that was accepted at time 0.  The other times are milliseconds
 * since then.
 */
function row(state, { sent = null, acked = null, due = null, next = null, last = 0, attempts = [], timeline = [], ...more } = {})
{
	return { ...fullRow(1, { state, created_at: iso(0), event_time: iso(0), sent_at: iso(sent), acked_at: iso(acked),
		deliver_at: iso(due), next_retry_at: iso(next), last_status_at: iso(last), ...more }),
	attempts: attempts.map(([started, finished, outcome, status = null, error = null], i) => ({ attempt: i + 1,
		started_at: iso(started), finished_at: iso(finished), outcome, status, error, owner: 'r' })),
	timeline: timeline.map(([at, event, detail = null]) => ({ at: iso(at), event, detail })) };
}

const since = (at) => (at === null ? '-' : at - C);

/** Returns the whole history of ${given} at time ${now}, in lines. */
function told(given, now)
{
	const { points, stretches, from, to, ended } = page.storyOf(given, C + now);

	return [
		...points.map((one) => `${since(one.at)}${one.till === undefined ? '' : `..${since(one.till)}`} ${one.kind} ` +
			`${one.name}${one.detail && `: ${one.detail}`}${one.then ? ` > ${one.then}` : ''}`),
		...stretches.map((one) => `${one.phase} ${since(one.from)}..${since(one.to)}${one.open ? ' and on' : ''}`),
		`${since(from)}..${since(to)}${ended ? ' ended' : ''}`,
	];
}

const SENT = '- coming Sent: not yet';
const DELIVERED = '- coming Delivered: not yet';
const READ = '- coming Read: not yet';

describe('a message that is under way', () => {
	it('was accepted and waits', () => {
		assert.deepEqual(told(row('pending'), 5000), ['0 good Accepted: on the server’s disk > queue',
			SENT, DELIVERED, READ, 'queue 0..5000 and on', '0..5000']);
	});

	it('and a clock here that is behind the server’s', () => {
		assert.deepEqual(told(row('pending'), -5000), ['0 good Accepted: on the server’s disk > queue',
			SENT, DELIVERED, READ, '0..0']);
		assert.deepEqual(told(row('sending', { attempts: [[10, null, null]] }), -5000), [
			'0 good Accepted: on the server’s disk > queue', '10..- neutral Attempt 1: under way > retry',
			SENT, DELIVERED, READ, 'queue 0..10', 'try 10..10 and on', '0..10']);
	});

	it('is tried just now', () => {
		assert.deepEqual(told(row('sending', { attempts: [[10, null, null]] }), 3000), [
			'0 good Accepted: on the server’s disk > queue', '10..- neutral Attempt 1: under way > retry',
			SENT, DELIVERED, READ, 'queue 0..10', 'try 10..3000 and on', '0..3000']);
	});

	it('was refused and has its next try', () => {
		assert.deepEqual(told(row('pending', { next: 9000, attempts: [[10, 1510, 'retryable', 503, 'the mailbox is busy']] }), 3000), [
			'0 good Accepted: on the server’s disk > queue',
			'10..1510 bad Attempt 1: refused for now (503), took 1.5 s, the mailbox is busy > retry',
			'9000 coming Next try', SENT, DELIVERED, READ,
			'queue 0..10', 'try 10..1510', 'retry 1510..3000 and on', '0..3000']);
	});

	it('had to wait for an earlier one', () => {
		assert.deepEqual(told(row('pending', { next: 9000, attempts: [[0, 20, 'predecessor']] }), 3000), [
			'0 good Accepted: on the server’s disk > queue',
			'0..20 neutral Attempt 1: had to wait for an earlier one, took 20 ms > queue',
			'9000 coming Next try', SENT, DELIVERED, READ, 'try 0..20', 'queue 20..3000 and on', '0..3000']);
	});

	it('an attempt that was never finished ends where the next one begins', () => {
		assert.deepEqual(told(row('sending', { attempts: [[10, null, 'restart'], [500, 900, 'lease_lost'], [700, null, null]] }), 1000), [
			'0 good Accepted: on the server’s disk > queue', '10..- neutral Attempt 1: the server was restarted > retry',
			'500..900 neutral Attempt 2: the relay lost its lease, took 400 ms > retry',
			'700..- neutral Attempt 3: under way > retry', SENT, DELIVERED, READ,
			'queue 0..10', 'try 10..500', 'try 500..700', 'try 700..1000 and on', '0..1000']);
	});
});

describe('a message for later', () => {
	it('waits for its time, which the attempts do not repeat', () => {
		assert.deepEqual(told(row('pending', { due: 60_000, timeline: [[0, 'accepted'], [0, 'scheduled', 'x'],
			[1, 'attempt'], [2, 'outcome']] }), 5000), [
			'0 good Accepted: on the server’s disk > scheduled', '60000 coming Due', SENT, DELIVERED, READ,
			'scheduled 0..5000 and on', '0..5000']);
	});

	it('fell due when it was sent or tried', () => {
		const due = { due: 60_000 };
		assert.deepEqual(told(row('pending', { ...due, next: 70_000, attempts: [[60_010, 60_020, 'no_answer']] }), 61_000), [
			'0 good Accepted: on the server’s disk > scheduled', '60000 good Due > queue',
			'60010..60020 bad Attempt 1: no answer, took 10 ms > retry', '70000 coming Next try', SENT, DELIVERED, READ,
			'scheduled 0..60000', 'queue 60000..60010', 'try 60010..60020', 'retry 60020..61000 and on', '0..61000']);
		assert.deepEqual(told(row('sent', { ...due, sent: 60_030 }), 61_000), [
			'0 good Accepted: on the server’s disk > scheduled', '60000 good Due > queue',
			'60030 good Sent: in the inbox of bob > device', DELIVERED, READ,
			'scheduled 0..60000', 'queue 60000..60030', 'device 60030..61000 and on', '0..61000']);
		assert.deepEqual(told(row('sending', { ...due, timeline: [[60_001, 'due', 'late']] }), 61_000), [
			'0 good Accepted: on the server’s disk > scheduled', '60001 good Due: late > queue', SENT, DELIVERED, READ,
			'scheduled 0..60001', 'queue 60001..61000 and on', '0..61000']);
	});

	it('whose time was that of its acceptance was not scheduled', () => {
		assert.deepEqual(told(row('sent', { due: 0, sent: 30 }), 100), [
			'0 good Accepted: on the server’s disk > queue', '30 good Sent: in the inbox of bob > device', DELIVERED, READ,
			'queue 0..30', 'device 30..100 and on', '0..100']);
	});

	it('that was canceled never fell due', () => {
		assert.deepEqual(told(row('canceled', { due: 60_000, last: 500, timeline: [[0, 'accepted'], [400, 'due'],
			[500, 'canceled', 'by ann']] }), 1000), [
			'0 good Accepted: on the server’s disk > scheduled', '500 neutral Canceled: by ann', 'scheduled 0..500', '0..500 ended']);
	});
});

describe('a message that arrived', () => {
	const tried = [[10, 30, 'accepted', 200]];

	it('at another server, at a device, before a person', () => {
		const far = { destination: 'far.example', to: 'bob@far.example', attempts: tried, sent: 30 };
		const lines = ['0 good Accepted: on the server’s disk > queue',
			'10..30 good Attempt 1: accepted (200), took 20 ms > retry', '30 good Sent: far.example has it > device'];
		const spans = ['queue 0..10', 'try 10..30'];
		assert.deepEqual(told(row('sent', far), 100), [...lines, DELIVERED, READ, ...spans, 'device 30..100 and on', '0..100']);
		assert.deepEqual(told(row('acked', { ...far, acked: 60 }), 100), [...lines, '60 good Delivered: a device has it > person',
			READ, ...spans, 'device 30..60', 'person 60..100 and on', '0..100']);
		assert.deepEqual(told(row('acked', { ...far, acked: 60, timeline: [[0, 'accepted'], [30, 'sent'], [60, 'acked'],
			[90, 'read']] }), 100), [...lines, '60 good Delivered: a device has it > person', '90 good Read: it was seen',
			...spans, 'device 30..60', 'person 60..90', '0..90 ended']);
	});

	it('what happened at once takes no time', () => {
		assert.deepEqual(told(row('acked', { attempts: [[0, 0, 'accepted', 200]], sent: 0, acked: 0, timeline: [[0, 'read'],
			[0, 'sent'], [0, 'acked'], [0, 'accepted']] }), 100), ['0 good Accepted: on the server’s disk > queue',
			'0..0 good Attempt 1: accepted (200), took 0 ms > retry', '0 good Sent: in the inbox of bob > device',
			'0 good Delivered: a device has it > person', '0 good Read: it was seen', 'try 0..0', '0..0 ended']);
	});
});

describe('a message that did not arrive', () => {
	for (const [state, name, kind] of [['failed', 'Failed', 'bad'], ['expired', 'Expired', 'bad'], ['canceled', 'Canceled', 'neutral']])
		it(`${state}: also where only its state says so`, () => {
			assert.deepEqual(told(row(state, { last: 700, next: 9000 }), 1000), [
				'0 good Accepted: on the server’s disk > queue', `700 ${kind} ${name}${kind === 'bad' ? ' > dead' : ''}`,
				'queue 0..700', '0..700 ended']);
		});

	it('says why, and what was done about it', () => {
		const timeline = [[0, 'accepted'], [700, 'failed', 'max_retries'], [900, 'requeued', 'by root'],
			[1200, 'expired', 'expired'], [1500, 'discarded', 'by ada']];
		assert.deepEqual(told(row('expired', { last: 1200, attempts: [[600, 700, 'rejected', 410, 'gone']], timeline }), 5000), [
			'0 good Accepted: on the server’s disk > queue',
			'600..700 bad Attempt 1: refused for good (410), took 100 ms, gone > retry',
			'700 bad Failed: every retry used up > dead', '900 neutral Requeued: by root > queue',
			'1200 bad Expired: too old > dead', '1500 neutral Discarded: by ada',
			'queue 0..600', 'try 600..700', 'dead 700..900', 'queue 900..1200', 'dead 1200..1500', '0..1500 ended']);
	});

	it('that ended while it was tried', () => {
		assert.deepEqual(told(row('canceled', { last: 40, attempts: [[50, null, null]] }), 5000), [
			'0 good Accepted: on the server’s disk > queue', '40 neutral Canceled',
			'50..- neutral Attempt 1: under way > retry', 'queue 0..40', 'try 50..50 and on', '0..50 ended']);
		assert.deepEqual(told(row('failed', { last: 40, attempts: [[50, 80, 'later']] }), 5000), [
			'0 good Accepted: on the server’s disk > queue', '40 bad Failed > dead',
			'50..80 good Attempt 1: taken, its answer comes later, took 30 ms > retry', 'queue 0..40', 'dead 40..50',
			'try 50..80', '0..80 ended']);
	});

	it('steps that are not known here stand between, without a time they do not stand', () => {
		const given = row('pending', { timeline: [[0, 'accepted'], [300, 'moved_house', 'to b'], [null, 'lost']] });
		assert.deepEqual(told(given, 1000), ['0 good Accepted: on the server’s disk > queue', '300 neutral Moved house: to b > queue',
			SENT, DELIVERED, READ, 'queue 0..300', 'queue 300..1000 and on', '0..1000']);
	});
});

describe('in words', () => {
	it('each point, with what it came after', () => {
		const given = row('pending', { next: 90_000, attempts: [[10, 1510, 'retryable', 503], [4010, 4110, 'no_answer', null, 'timeout']] });
		assert.deepEqual(page.inWords(page.storyOf(given, C + 5000), (at) => `+${at - C}`), [
			'Accepted at +0 (on the server’s disk)',
			'Attempt 1 at +10, 10 ms later (refused for now (503), took 1.5 s)',
			'Attempt 2 at +4010, 2.5 s later (no answer, took 100 ms, timeout)',
			'Next try: expected at +90000', 'Sent: not yet', 'Delivered: not yet', 'Read: not yet']);
		assert.deepEqual(page.inWords(page.storyOf(row('canceled', { last: 60_000 }), C), (at) => `+${at - C}`),
			['Accepted at +0 (on the server’s disk)', 'Canceled at +60000, 1 min later']);
	});

	it('how long each phase lasted in all', () => {
		const given = row('pending', { next: 9000, attempts: [[10, 20, 'retryable'], [120, 140, 'retryable']] });
		assert.deepEqual(page.spent(page.storyOf(given, C + 200)), [{ phase: 'queue', ms: 10, open: false },
			{ phase: 'try', ms: 30, open: false }, { phase: 'retry', ms: 160, open: true }]);
		const done = row('sent', { sent: 200, attempts: [[10, null, 'restart'], [120, 140, 'accepted']] });
		assert.deepEqual(page.spent(page.storyOf(done, C + 200)), [{ phase: 'queue', ms: 10, open: false },
			{ phase: 'try', ms: 130, open: false }, { phase: 'retry', ms: 60, open: false }]);
	});
});
