// SPDX-License-Identifier: MIT
// tags: unit
//
// The alerts of the admin page, which an operator should read first
// (web/src/admin/alerts.ts), run in node: the whole text of each alert, at its
// limit and just below it, and their order.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { destination, stats } from './admin-standin.mjs';
import { bundle } from './modules.mjs';

const NOW = Date.UTC(2026, 4, 20, 12);
const MIN = 60_000;
const MIB = 1024 * 1024;

let page;

before(async () => {
	page = await import(bundle('web/src/admin', 'alerts.ts', 'history.ts'));
});

const at = (ms, more) => ({ ...stats(more), at: new Date(ms).toISOString() });
const iso = (ms) => new Date(NOW + ms).toISOString();

/** Returns the alerts for statistics with ${more} and for ${destinations}. */
function alerts(more = {}, destinations = [], { history = new page.History(), here = NOW } = {})
{
	return page.alertsOf(at(NOW, more), destinations, history, NOW, here);
}

/** Returns the only alert, or undefined. */
function alert(...given)
{
	const found = alerts(...given);
	assert.ok(found.length <= 1, JSON.stringify(found));
	return found[0];
}

const ids = (...given) => alerts(...given).map((one) => one.id);

describe('the clock', () => {
	const clock = (here) => alert({}, [], { here });

	it('may differ by a minute', () => {
		for (const off of [MIN, -MIN])
			assert.equal(clock(NOW + off), undefined);
		for (const off of [90_000, -90_000])
			assert.deepEqual(clock(NOW + off), { id: 'clock', bad: false,
				title: 'The server’s clock and this computer’s differ by 1 min 30 s',
				cure: 'Find out which one is wrong; the server times retries and expiry by its own.' });
		for (const off of [MIN + 1, -MIN - 1])
			assert.equal(clock(NOW + off).id, 'clock');
	});

	it('is the server’s where nothing else is said', () => {
		const away = destination('a.example', { breaker: 'open', failing_since: iso(-11 * MIN) });
		assert.deepEqual(page.alertsOf(at(NOW), [away], new page.History()).map((one) => one.title),
			['a.example is not reachable, for 11 min']);
	});
});

describe('a destination', () => {
	const away = (more) => destination('a.example', { breaker: 'open', failing_since: iso(-10 * MIN), ...more });
	const about = (one) => alert({}, [one]);

	it('that is not reachable is urgent after ten minutes', () => {
		assert.deepEqual(about(away()), { id: 'breaker a.example', bad: false, href: '#destinations',
			title: 'a.example is not reachable, for 10 min', cure: 'No message waits for it. Nothing is lost meanwhile.' });
		assert.equal(about(away({ failing_since: iso(-10 * MIN - 1) })).bad, true);
		assert.deepEqual(about(away({ failing_since: null, pending: 1, last_error: 'refused' })), { id: 'breaker a.example',
			bad: true, href: '#destinations', title: 'a.example is not reachable',
			cure: 'It says: refused. One message waits for it. Nothing is lost meanwhile.' });
	});

	it('says when the next try is', () => {
		for (const [next, words] of [[-1, 'The next try is due. '], [0, 'The next try is due. '],
			[1, 'The next try is now. '], [30_000, 'The next try is in 30 s. ']])
			assert.equal(about(away({ pending: 2000, next_probe_at: iso(next) })).cure,
				`2,000 messages wait for it. ${words}Nothing is lost meanwhile.`);
	});

	it('that is tried again is not urgent', () => {
		assert.deepEqual(about(away({ breaker: 'half_open', failing_since: iso(-60 * MIN) })), { id: 'breaker a.example',
			bad: false, href: '#destinations', title: 'a.example is being tried again',
			cure: 'No message waits for it. Nothing is lost meanwhile.' });
	});

	it('that is paused says by whom and why', () => {
		const paused = (name, more) => about(destination(name, { paused_at: iso(-MIN), paused_by: 'ada',
			pause_reason: 'moving', ...more }));
		assert.deepEqual(paused('*'), { id: 'paused *', bad: true, href: '#destinations', title: 'Everything is paused',
			cure: 'By ada, 1 min ago: “moving”. Messages are accepted and wait. Resume when the reason is gone.' });
		assert.deepEqual(paused('local', { pending: 1, pause_reason: null }), { id: 'paused local', bad: true,
			href: '#destinations', title: 'Delivery to the inboxes here is paused',
			cure: 'By ada, 1 min ago. One message waits for it. Resume when the reason is gone.' });
		assert.deepEqual(paused('a.example', { paused_by: null }), { id: 'paused a.example', bad: false,
			href: '#destinations', title: 'a.example is paused',
			cure: 'By somebody, 1 min ago: “moving”. No message waits for it. Resume when the reason is gone.' });
	});

	it('that is paused and not reachable is both; one that is well is neither', () => {
		const both = away({ paused_at: iso(-MIN), paused_by: 'ada' });
		assert.deepEqual(ids({}, [destination('b.example'), both]), ['paused a.example', 'breaker a.example']);
	});

	it('explains what waits, but not that the outbox is full', () => {
		const waits = { states: { pending: 5000 }, oldest_pending_age_ms: 60 * MIN };
		const { pending, old } = { pending: 'pending', old: 'old' };
		assert.deepEqual(ids(waits, [destination('b.example')]), [pending, old]);
		for (const why of [away(), away({ breaker: 'half_open' }), destination('a.example', { paused_at: iso(-MIN) })])
			assert.equal(ids(waits, [destination('b.example'), why]).length, 1);
		assert.ok(ids({ states: { pending: 80_000 } }, [away()]).includes('full'));
	});
});

describe('the relay', () => {
	const relay = (age) => alert({ relay: { last_turn_age_ms: age, in_flight: 0 } });

	it('may be silent for ten seconds', () => {
		assert.equal(relay(10_000), undefined);
		const cure = 'It delivers everything. Look at the server’s log; if nothing explains it, restart the server: ' +
			'what was accepted is kept.';
		assert.deepEqual(relay(10_001), { id: 'relay', bad: true, title: 'The relay has been silent for 10 s', cure });
		assert.deepEqual(relay(null), { id: 'relay', bad: true, title: 'The relay has not turned yet', cure });
	});
});

describe('the outbox', () => {
	const waits = (pending, limits = { max_pending: 1000, max_pending_total: 1000 }) => alert({ states: { pending }, limits });

	it('is full', () => {
		assert.deepEqual(waits(799), { id: 'pending', bad: false, title: '799 messages wait', href: '#destinations',
			cure: 'See which destination they wait for, and how long they have.' });
		assert.deepEqual(waits(800), { id: 'full', bad: false, title: 'The outbox is 80 % full', href: '#destinations',
			cure: '800 of 1,000 messages wait. See which destination they wait for.' });
		assert.deepEqual([waits(999).bad, waits(999).title], [false, 'The outbox is 99.9 % full']);
		assert.deepEqual(waits(1000), { id: 'full', bad: true, title: 'The outbox is full: new messages are refused',
			href: '#destinations', cure: '1,000 of 1,000 messages wait. See which destination they wait for.' });
	});

	it('without a limit is never full', () => {
		const none = { max_pending: 1000, max_pending_total: 0 };
		assert.equal(waits(100, none), undefined);
		assert.equal(waits(5000, none).id, 'pending');
		assert.equal(waits(1, { ...none, max_pending_total: 1 }).id, 'full');
	});

	it('of which much waits', () => {
		const limits = { max_pending: 1000, max_pending_total: 100_000 };
		assert.equal(waits(100, limits), undefined);
		for (const [pending, bad] of [[101, false], [1000, false], [1001, true]])
			assert.deepEqual([waits(pending, limits).id, waits(pending, limits).bad], ['pending', bad]);
	});

	it('whose oldest waits for long', () => {
		assert.equal(alert({ oldest_pending_age_ms: 15 * MIN }), undefined);
		assert.equal(alert({ oldest_pending_age_ms: 15 * MIN + 1 }).id, 'old');
		assert.deepEqual(alert({ oldest_pending_age_ms: 16 * MIN }), { id: 'old', bad: true, href: '#lanes',
			title: 'The oldest message waits for 16 min',
			cure: 'No destination is away or paused: look at what is stuck and at the lanes.' });
	});

	it('in which messages are stuck, or have few retries left', () => {
		const stuck = { id: 'stuck', bad: true, href: '#outbox?state=sending&stuck=30m',
			cure: 'The relay should have taken them up again. Open one and see its attempts; it may make the relay fail.' };
		assert.deepEqual(alert({ stuck_sending: 1 }), { ...stuck, title: '1 message or receipt is stuck in sending' });
		assert.deepEqual(alert({ stuck_sending: 2 }), { ...stuck, title: '2 messages or receipts are stuck in sending' });
		const near = { id: 'near', bad: false, href: '#outbox?near_failure=3',
			cure: 'If the refusals go on, they soon become dead letters.' };
		assert.deepEqual(alert({ near_failure: 1 }), { ...near, title: '1 message or receipt has few retries left' });
		assert.deepEqual(alert({ near_failure: 2 }), { ...near, title: '2 messages or receipts have few retries left' });
	});
});

describe('dead letters', () => {
	const dead = { id: 'dead', href: '#dead' };
	const cure = 'Find the reason they share; then requeue or discard them.';
	/**
	 * A history in which ${ms} milliseconds ago ${open} dead letters were
	 * open, and ${to} are open now.
	 */
	const before_ = (open, ms, to) => {
		const history = new page.History();
		history.add(at(NOW - ms, { dead_letters_open: open }), MIN);
		history.add(at(NOW, { dead_letters_open: to }), MIN);
		return { history };
	};

	it('are urgent when they are many', () => {
		assert.deepEqual(alert({ dead_letters_open: 1 }), { ...dead, bad: false, title: '1 dead letter to decide about', cure });
		assert.deepEqual(alert({ dead_letters_open: 10 }), { ...dead, bad: false, title: '10 dead letters to decide about', cure });
		assert.deepEqual(alert({ dead_letters_open: 11 }), { ...dead, bad: true, title: '11 dead letters to decide about', cure });
	});

	it('or when a hundred come within a minute', () => {
		const given = { dead_letters_open: 5 };
		assert.deepEqual(alert(given, [], before_(0, MIN, 99)), { ...dead, bad: false, title: '5 dead letters to decide about', cure });
		assert.deepEqual(alert(given, [], before_(0, MIN, 100)), { ...dead, bad: true, title: '5 dead letters to decide about',
			cure: `100 more within a minute. ${cure}` });
		assert.equal(alert(given, [], before_(0, MIN + 1, 100)).bad, false, 'longer than a minute ago');
		assert.equal(alert({}, [], before_(0, MIN, 100)), undefined, 'all are decided about');
	});
});

describe('how the relay does', () => {
	it('repeats too much', () => {
		assert.equal(alert({ retry_rate: 0.1 }), undefined);
		assert.deepEqual(alert({ retry_rate: 0.125 }), { id: 'retries', bad: false, href: '#destinations',
			title: '12.5 % of attempts had to be repeated', cure: 'See which destination refuses, and with which words.' });
		// The page uses what it has measured in the last minute, not
		// the server's value for the last hour.
		const history = new page.History();
		for (let i = 0; i <= 30; i++)
			history.add(at(NOW + (i - 30) * 2000, { totals: { sent: i * 10 } }), 2000);
		assert.equal(alert({ retry_rate: 0.5 }, [], { history }), undefined);
	});

	it('takes long', () => {
		assert.equal(alert({ average_latency_ms: 5 * MIN }), undefined);
		assert.equal(alert({ average_latency_ms: 5 * MIN + 1 }).id, 'latency');
		assert.deepEqual(alert({ average_latency_ms: 6 * MIN }), { id: 'latency', bad: false, href: '#destinations',
			title: 'A message takes 6 min on average',
			cure: 'Over the last hour, from acceptance to the inbox. See where they wait.' });
	});

	it('has a long write-ahead log', () => {
		const cure = 'A reader or a back-up holds it. Look for a back-up that does not end, and for free space.';
		assert.equal(alert({ wal_bytes: 64 * MIB }), undefined);
		assert.equal(alert({ wal_bytes: 64 * MIB + 1 }).id, 'wal');
		assert.deepEqual(alert({ wal_bytes: 1024 * MIB }), { id: 'wal', bad: false, title: 'The write-ahead log has 1 GiB', cure });
		assert.deepEqual(alert({ wal_bytes: 1024 * MIB + 1 }), { id: 'wal', bad: true, title: 'The write-ahead log has 1 GiB', cure });
	});
});

it('the worst comes first, then what is said first', () => {
	assert.deepEqual(ids({ near_failure: 1, stuck_sending: 1, wal_bytes: 65 * MIB, dead_letters_open: 11,
		relay: { last_turn_age_ms: null, in_flight: 0 } }, [destination('a.example', { paused_at: iso(-MIN) }),
		destination('local', { paused_at: iso(-MIN) })], { here: NOW + 61_000 }),
	['paused local', 'relay', 'stuck', 'dead', 'paused a.example', 'near', 'wal', 'clock']);
});

describe('other servers', () => {
	const own = (name, severity, text) => ({ name, severity, since: iso(-MIN), text });

	it('are reported by the server alone', () => {
		assert.deepEqual(alert({ alerts: [own('peer_restored', 'error', 'b.example: twinbox admin rewind 17 1')] }),
			{ id: 'peer_restored', bad: true, title: 'Another server may have lost what was sent to it',
				cure: 'b.example: twinbox admin rewind 17 1. Afterwards compare both databases ' +
					'(twinboxd fsck --with-peer).' });
		assert.deepEqual(ids({ alerts: [own('peer_keys_changed', 'warning', 'x'), own('peer_clock_off', 'warning', 'y'),
			own('peer_restored', 'error', 'z')] }), ['peer_restored', 'peer_keys_changed', 'peer_clock_off']);
	});

	it('what the page judges itself is said once', () => {
		assert.deepEqual(alerts({ alerts: [own('outbox_depth_high', 'warning', 'x'), own('toString', 'warning', 'x')] }),
			[]);
	});
});
