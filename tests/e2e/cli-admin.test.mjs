// SPDX-License-Identifier: MIT
// tags: store
//
// The admin commands against a stand-in for the server: their requests, their
// output for people and for programs, and their error messages.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { EX, Person, TWINBOX } from './cli-client.mjs';
import {
	AGE_LIMITS, DESTINATIONS, HOSTILE, WIDE, ago, ahead, dead, destination, entry, failed, id, lane,
	problem, standIn, stats,
} from './cli-admin-standin.mjs';
import { Terminal } from './cli-terminal.mjs';

const LISTS = ['stats', 'outbox', 'dlq', 'destinations', 'lanes', 'peers', 'users', 'audit'];

/** The number of terminal columns that ${line} takes. */
const width = (line) => Array.from(line).reduce((all, c) =>
	all + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]/u.test(c) ? 2 : 1), 0);

/**
 * Asserts that no character of ${text} can control a terminal, and that no line
 * is wider than ${columns}.
 */
function tame(text, columns = 80)
{
	assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]/);
	for (const line of text.split('\n'))
		assert.ok(width(line) <= columns, `${width(line)} columns: ${line}`);
}

/** The last request that ${one} has received. */
const asked = (one) => one.requests.at(-1);

describe('the operator\'s lists', () => {
	it('stats say what waits, what was done, and what is wrong', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/stats': () => stats({
			alerts: undefined,
		}) });
		const { out } = await ann.run('admin', 'stats');

		tame(out);
		assert.match(out, /^pending +12,345 +oldest 3m 20s, 12% of 100,000$/m);
		assert.match(out, /^sending +8 +2 stuck: twinbox admin outbox --stuck 30m$/m);
		assert.match(out, /^dead letters +17$/m);
		assert.match(out, /^failed +19 +in all, 17 now$/m);
		assert.match(out, /^latency +85ms /m);
		assert.match(out, /^retry rate +4\.2%$/m);
		assert.match(out, /^relay +210ms +since its last turn, 8 in flight$/m);
		assert.match(out, /^log +3\.1 MiB$/m);
	});

	it('alerts are shown with their age', async (t) => {
		const [one, ann] = await standIn(t);

		one.answers['/v1/admin/stats'] = { ...stats(), alerts: [
			{ name: 'breaker_open', severity: 'error', since: ago(190_500), text: `far\x1b[0m is down` }] };
		const { out } = await ann.run('admin', 'stats');
		tame(out);
		assert.match(out, /^breaker_open +3m 10s +far\\x1b\[0m is down$/m);
	});

	it('--json is the server\'s own', async (t) => {
		const answers = {
			'/v1/admin/stats': stats(), '/v1/admin/outbox': { entries: [entry(1)], next: null },
			'/v1/admin/users': { users: [{ name: 'ann' }], next: null },
			'/v1/admin/audit': { entries: [{ audit_id: 1 }], next: null },
			'/v1/admin/peers': { peers: [{ domain: 'far.example' }], next: null },
			[`/v1/admin/outbox/${id(1)}`]: { id: id(1), rows: [] },
		};
		const [one, ann] = await standIn(t, answers);

		for (const name of LISTS) {
			const what = name === 'dlq' ? 'dead-letters' : name;
			const given = one.answers[`/v1/admin/${what}`];
			const page = typeof given === 'function' ? given({}) : given;
			const got = name === 'stats' ? await ann.json('admin', name) : await ann.page('admin', name);
			assert.deepEqual(got, page, name);
			assert.ok(Object.keys(got).length > 1, name);
			if (name !== 'stats')
				assert.deepEqual(await ann.rows('admin', name), Object.values(page).find(Array.isArray), name);
		}
		assert.deepEqual(await ann.json('admin', 'show', id(1)), answers[`/v1/admin/outbox/${id(1)}`]);
	});

	it('filters are passed on (R371 R373)', async (t) => {
		const [one, ann] = await standIn(t, { '/v1/admin/outbox': { entries: [], next: null } });

		await ann.run('admin', 'outbox', '--state', 'pending', '--destination', 'far.fault.test', '--sender',
			'b&b', '--stuck', '30m', '--near-failure', 3, '--limit', 7, '--before', 99);
		assert.deepEqual(asked(one).query, { state: 'pending', destination: 'far.fault.test', sender: 'b&b',
			stuck: '1800s', near_failure: '3', limit: '7', before: '99' });
		await ann.run('admin', 'outbox', '--state', 'delivered');
		assert.deepEqual(asked(one).query, { state: 'acked', limit: '50' });
		await ann.run('admin', 'dlq', '--reason', 'poison', '--resolved', 'any', '--limit', 200);
		assert.deepEqual(asked(one).query, { reason: 'poison', resolved: 'any', limit: '200' });
		await ann.run('admin', 'lanes', '--state', 'leased', '--destination', '日本語', '--after', 3);
		assert.deepEqual(asked(one).query, { state: 'leased', destination: '日本語', after: '3', limit: '50' });
		failed(await ann.try(['admin', 'outbox', '--stuck', 'soon']), EX.USAGE, /--stuck takes a time/);
		failed(await ann.try(['admin', 'outbox', '--limit', '0']), EX.USAGE, /--limit takes/);
		failed(await ann.try(['admin', 'outbox', '--near-failure', 'x']), EX.USAGE, /--near-failure takes/);
	});

	it('a list goes on over pages, also over empty ones, to its limit', async (t) => {
		const pages = { undefined: [[9, 8], 8], 8: [[], 5], 5: [[4, 3], 3], 3: [[2, 1], null] };
		const [one, ann] = await standIn(t, { '/v1/admin/outbox': ({ before, limit }) => {
			const [rows, next] = pages[before];
			return { entries: rows.slice(0, limit).map((n) => entry(n)), next };
		} });
		const all = await ann.page('admin', 'outbox');

		assert.deepEqual(all.entries.map((row) => row.outbox_id), [9, 8, 4, 3, 2, 1]);
		assert.equal(all.next, null);
		assert.deepEqual(one.requests.map(({ query }) => query.limit), ['50', '48', '48', '46']);
		const some = await ann.page('admin', 'outbox', '--limit', 3);
		assert.deepEqual(some.entries.map((row) => row.outbox_id), [9, 8, 4]);
		assert.equal(some.next, 3);
		one.answers['/v1/admin/outbox'] = { entries: [entry(1)], next: 7 };
		assert.equal((await ann.page('admin', 'outbox')).entries.length, 2, 'a cursor that stays ends it');
	});

	it('outbox and show: from whom, what is wrong, what was tried (R82)', async (t) => {
		const attempts = [
			{ attempt: 1, started_at: ago(190_000), finished_at: ago(189_000), outcome: 'retry', status: 503,
				error: 'HTTP 503', owner: 'relay-1' },
			{ attempt: 2, started_at: ago(9000), finished_at: null, outcome: null, status: null,
				error: null, owner: 'relay-1' }];
		const timeline = [{ at: ago(200_400), event: 'accepted', detail: null },
			{ at: ago(190_000), event: 'attempt', detail: 'attempt 1 by relay-1' },
			{ at: ago(189_000), event: 'retry', detail: 'HTTP 503' }];
		const [, ann] = await standIn(t, {
			'/v1/admin/outbox': { entries: [entry(1), entry(2, { state: 'failed', reason: 'rejected',
				labels: [], next_retry_at: null })], next: null },
			[`/v1/admin/outbox/${id(1)}`]: { id: id(1), from: 'ann', conversation: id(99),
				conversation_seq: 12, event_time: ago(200_500), created_at: ago(200_400),
				correlation_id: null, rows: [{ ...entry(1), attempts, timeline }] },
		});
		const list = await ann.run('admin', 'outbox');

		tame(list.out);
		assert.equal(list.lines.length, 5);
		assert.match(list.lines[1], new RegExp(`^${id(1)} +retrying +4 +3m 20s +in 41s$`));
		assert.equal(list.lines[2], '    ann → bob@far.fault.test; connection refused');
		assert.match(list.lines[3], new RegExp(`^${id(2)} +failed +4 +3m 20s$`));
		assert.equal(list.lines[4], '    ann → bob@far.fault.test; rejected; connection refused');
		const shown = await ann.run('admin', 'show', id(1).toUpperCase());
		tame(shown.out);
		assert.match(shown.out, /^→ bob@far\.fault\.test {2}retrying$/m);
		assert.match(shown.out, /^ +1 .* 1s +retry +503 +HTTP 503 +relay-1$/m);
		assert.match(shown.out, /^ +2 .* - +under way +- +relay-1$/m);
		assert.match(shown.out, /\d\d:.* \+11s +retry +HTTP 503$/m);
		assert.doesNotMatch(shown.out, /attempt 1 by/);
		assert.doesNotMatch(shown.out, /nothing of it is left/);
	});

	it('a message whose rows are purged says so', async (t) => {
		const [one, ann] = await standIn(t);
		const target = `/v1/admin/outbox/${id(1)}`;

		one.answers[target] = { id: id(1), from: 'ann', conversation: id(9), conversation_seq: 3,
			event_time: ago(90_000), created_at: ago(90_000), correlation_id: null, rows: [] };
		const { out } = await ann.run('admin', 'show', id(1));
		tame(out);
		assert.match(out, /^from +ann$/m);
		assert.match(out, /^nothing of it is left in the outbox$/m);
	});

	it('destinations: breakers, who paused, how old what waits is', async (t) => {
		const [, ann] = await standIn(t);
		const { out } = await ann.run('admin', 'destinations');

		tame(out);
		assert.match(out, /^local +closed +3\/16 +12 +0s +- +0$/m);
		assert.match(out, /^far\.fault\.test +open +0\/1 +12,333 +1h 1m +- +3$/m);
		assert.match(out, /^ {4}failing for 1h 2m, next probe in 25s: connection refused$/m);
		assert.match(out, /^slow\.fault\.test +paused +1\/16 +4 +6m 40s +5\/s/m);
		assert.match(out, /^ {4}paused 3m 5s ago by ann: they asked us to$/m);
		assert.match(out, /^PENDING BY AGE +ALL +<1m +<5m +<10m +<20m +<40m +<80m +<160m +>160m$/m);
		assert.match(out, /^far\.fault\.test +12333 +200 +800 +1000 +2000 +4000 +4333 +0 +0$/m);
	});

	it('lanes: cursors, leases, replays', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/lanes': { lanes: [lane(7),
			lane(8, { state: 'leased', lease_owner: 'relay-1', lease_until: ahead(30_500), due_at: null }),
			lane(9, { replay_seq: 3 })], next: null } });
		const { out } = await ann.run('admin', 'lanes');

		tame(out);
		assert.match(out, /^ +7 +bob@\S+ +messages +ready +28 +13 +12 +40 +in 41s$/m);
		assert.match(out, /^ {4}leased by relay-1, ends in 31s, token 6$/m);
		assert.match(out, /^ {4}offers again from 3$/m);
	});

	it('users and audit', async (t) => {
		const [, ann] = await standIn(t, {
			'/v1/admin/users': { users: [
				{ name: 'ann', display_name: 'Ann Ångström', admin: true, disabled_at: null,
					created_at: '2026-01-02T03:04:05.000Z', devices: 2, pending: 0 },
				{ name: 'bob', display_name: null, admin: false, disabled_at: ago(1000),
					created_at: '2025-01-02T03:04:05.000Z', devices: 0, pending: 12 }], next: 'bob' },
			'/v1/admin/audit': { entries: [{ audit_id: 1, at: ago(1000), actor: 'ann',
				action: 'destination.pause', object: 'far.fault.test', detail: 'they\nasked' }], next: null },
		});
		const users = await ann.run('admin', 'users', '--limit', 2);
		tame(users.out);
		assert.match(users.lines[1], /^ann +Ann Ångström +admin +2 +0 /);
		assert.match(users.lines[2], /^bob +disabled +0 +12 /);
		const audit = await ann.run('admin', 'audit');
		assert.match(audit.lines[1], /^\d\d.* ann +destination\.pause +far\.fault\.test$/);
		assert.equal(audit.lines[2], '    they\\nasked');
	});
});

describe('what an operator may meet', () => {
	it('nothing at all', async (t) => {
		const [, ann] = await standIn(t, {
			'/v1/admin/stats': {}, '/v1/admin/outbox': { entries: [], next: null },
			'/v1/admin/dead-letters': { dead_letters: [], next: null },
			'/v1/admin/destinations': { destinations: [], age_limits_ms: [], next: null },
			'/v1/admin/lanes': { lanes: [], next: null }, '/v1/admin/users': { users: [], next: null },
			'/v1/admin/audit': { entries: [], next: null }, '/v1/admin/peers': { peers: [], next: null },
		});
		for (const name of LISTS) {
			const { out, err } = await ann.run('admin', name);
			tame(out);
			assert.equal(err, '');
		}
		assert.match((await ann.run('admin', 'stats')).out, /^pending +-$/m);
	});

	it('huge, negative and strange numbers', async (t) => {
		const most = '9223372036854775807';
		const odd = JSON.stringify(stats()).replace('12345', most).replace('"acked":119800', '"acked":-5')
			.replace('200000', most).replace('0.042', '1e300').replace('"average_latency_ms":85', '"average_latency_ms":1e300')
			.replace('"wal_bytes":3250585', '"wal_bytes":"many"');
		const [, ann] = await standIn(t, {
			'/v1/admin/stats': [200, odd],
			'/v1/admin/destinations': { destinations: [destination('x', { pending: 1e15, truncated: true,
				window: null, oldest_pending_age_ms: 1e300, ages: [1e15, 123456, 99999, -1, null, 'x', 1] })],
			age_limits_ms: AGE_LIMITS, next: null },
		});
		const { out } = await ann.run('admin', 'stats');
		assert.match(out, /^pending +9,223,372,036,854,775,807 +oldest 106751991167d/m);
		assert.match(out, /^acked +-5$/m);
		assert.match(out, /^log +-$/m);
		const ages = await ann.run('admin', 'destinations');
		assert.match(ages.out, /^x +closed +0 +>1,000,000,000,000,000 /m);
		assert.match(ages.out, /^x +>1\.0P +1\.0P +123k +99999 +-1 +- +- +1 +-$/m);
		failed(await (await standIn(t, { '/v1/admin/stats': [200, '{"states":{"pending":99999999999999999999}}'] }))[1]
			.try(['admin', 'stats']), EX.PROTOCOL, /cannot be read: .*integer/);
	});

	it('hostile and wide names', async (t) => {
		const bad = { from: HOSTILE, to: WIDE, last_error: `\x1b]52;c;x\x07${'e'.repeat(500)}`, reason: '\x9b31m' };
		const [, ann] = await standIn(t, {
			'/v1/admin/outbox': { entries: [entry(1, bad)], next: null },
			'/v1/admin/dead-letters': { dead_letters: [dead(1, bad)], next: null },
			'/v1/admin/destinations': { destinations: [destination(HOSTILE, { paused_at: ago(1),
				paused_by: HOSTILE, pause_reason: HOSTILE }), destination(WIDE)],
			age_limits_ms: AGE_LIMITS, next: null },
			'/v1/admin/lanes': { lanes: [lane(1, { to: WIDE, state: HOSTILE, lease_owner: HOSTILE })], next: null },
			'/v1/admin/users': { users: [{ name: HOSTILE, display_name: WIDE }], next: null },
			'/v1/admin/peers': { peers: [{ domain: HOSTILE, blocked_at: ago(1), blocked_by: WIDE }], next: null },
			'/v1/admin/peers/x.example': { domain: WIDE, keys: [{ id: HOSTILE, public: WIDE, pinned_by: HOSTILE }] },
			'/v1/admin/audit': { entries: [{ actor: HOSTILE, action: 'x', object: WIDE, detail: HOSTILE }],
				next: null },
			[`/v1/admin/outbox/${id(1)}`]: { id: id(1), from: HOSTILE, rows: [entry(1, { ...bad,
				attempts: [{ attempt: 1, outcome: HOSTILE, error: WIDE, owner: HOSTILE }],
				timeline: [{ event: HOSTILE, detail: WIDE }] })] },
		});
		for (const name of ['outbox', 'dlq', 'destinations', 'peers', 'users', 'audit'])
			tame((await ann.run('admin', name)).out);
		for (const args of [['lanes'], ['show', id(1)], ['peers', 'show', 'x.example']])
			tame((await ann.run('admin', ...args)).out, 200);
		assert.match((await ann.run('admin', 'outbox')).out, /eve\\x1b\[2J\\x1b\]0;owned\\x07\\u202ex@日本語/);
	});

	it('tables are as wide as COLUMNS says, or the terminal', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/dead-letters': { dead_letters: [dead(1, { to: WIDE })], next: null } });

		assert.match((await ann.run('admin', 'dlq')).out, /…$/m);
		const wide = await ann.try(['admin', 'dlq'], { env: { COLUMNS: '160' } });
		assert.match(wide.out, /とても長い\.fault\.test$/m);
		tame(wide.out, 160);
		tame((await ann.try(['admin', 'dlq'], { env: { COLUMNS: '60' } })).out, 60);
		/* An invalid COLUMNS is ignored: the width is 80. */
		const [usual, least] = await Promise.all(['80', '20'].map(async (COLUMNS) =>
			(await ann.try(['admin', 'dlq'], { env: { COLUMNS } })).out));
		assert.notEqual(least, usual);
		for (const COLUMNS of ['', '0', '19', '1001', 'x', '200x'])
			assert.equal((await ann.try(['admin', 'dlq'], { env: { COLUMNS } })).out, usual, COLUMNS);
		assert.match((await ann.try(['admin', 'dlq'], { env: { COLUMNS: '1000' } })).out, /とても長い\.fault\.test$/m);
		const screen = new Terminal(TWINBOX, ['admin', 'dlq'], { env: ann.env, columns: 120 });
		assert.equal(await screen.ended(), 0);
		assert.match(screen.screen.text(), /とても長い\.fault\.test$/m);
	});

	it('colours are for terminals, and not with NO_COLOR', async (t) => {
		const [, ann] = await standIn(t);
		const raw = async (env) => {
			const screen = new Terminal(TWINBOX, ['admin', 'destinations'], { env: { ...ann.env, ...env } });
			assert.equal(await screen.ended(), 0);
			return screen.raw;
		};
		assert.match(await raw({}), /\x1b\[31mopen\x1b\[0m/);
		assert.match(await raw({ NO_COLOR: '' }), /\x1b\[31mopen\x1b\[0m/);
		assert.doesNotMatch(await raw({ NO_COLOR: '1' }), /\x1b/);
		assert.doesNotMatch(await raw({ TERM: 'dumb' }), /\x1b/);
		assert.doesNotMatch((await ann.run('admin', 'destinations')).out, /\x1b/);
	});

	it('ages are by the server\'s clock, not by this computer\'s', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/outbox': () => [200,
			{ entries: [entry(1, { created_at: '2030-01-01T00:00:00.000Z' })], next: null },
			{ date: 'Tue, 01 Jan 2030 00:03:20 GMT' }] });

		assert.match((await ann.run('admin', 'outbox')).out, / 3m 20s /);
	});

	it('a user who is not an administrator', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/stats': [403, problem(403, 'forbidden')] });

		failed(await ann.try(['admin', 'stats']), EX.NOPERM, /it is forbidden; log in as an administrator/);
		const told = await ann.try(['admin', 'stats', '--json']);
		assert.equal(told.code, EX.NOPERM);
		assert.deepEqual(JSON.parse(told.out).error.status, 403);
	});

	it('nobody is logged in; the server is older, busy, gone', async (t) => {
		const [one, ann] = await standIn(t, { '/v1/admin/stats': [404, problem(404, 'not_found')] });
		const nobody = new Person(ann.url);

		failed(await nobody.try(['admin', 'stats']), EX.NOPERM, /nobody is logged in/);
		failed(await ann.try(['admin', 'stats']), EX.PROTOCOL, /does not support admin commands; use a newer server/);
		one.answers['/v1/admin/stats'] = [503, problem(503, 'draining'), { 'retry-after': '120' }];
		failed(await ann.try(['admin', 'stats']), EX.TEMPFAIL, /asks for 120 s/);
		let times = 0;
		one.answers['/v1/admin/stats'] = () => (++times === 1 ?
			[503, problem(503, 'busy'), { 'retry-after': '1' }] : stats());
		await ann.run('admin', 'stats');
		assert.equal(times, 2, 'a short wait is waited out');
		one.answers['/v1/admin/stats'] = [200, '<html>'];
		failed(await ann.try(['admin', 'stats']), EX.PROTOCOL, /answers with what cannot be read/);
		one.answers['/v1/admin/outbox'] = { rows: [] };
		failed(await ann.try(['admin', 'outbox']), EX.PROTOCOL, /has no entries/);
		await one.close();
		failed(await ann.try(['admin', 'stats']), EX.UNAVAILABLE, /cannot reach/);
	});
});

describe('what an operator does', () => {
	it('retry and discard of a message', async (t) => {
		const shown = { id: id(1), from: 'ann', rows: [] };
		const [one, ann] = await standIn(t, {
			[`POST /v1/admin/outbox/${id(1)}/retry`]: shown, [`POST /v1/admin/outbox/${id(1)}/discard`]: shown,
			[`POST /v1/admin/outbox/${id(2)}/retry`]: [409, problem(409, 'conflict', { detail: 'too old' })],
		});

		assert.equal((await ann.run('admin', 'retry', id(1))).out, `${id(1)} is tried again\n`);
		assert.equal((await ann.run('admin', 'discard', id(1))).out, `${id(1)} is discarded\n`);
		assert.equal(asked(one).body, undefined);
		assert.deepEqual(await ann.json('admin', 'retry', id(1)), shown);
		failed(await ann.try(['admin', 'retry', id(2)]), EX.DATAERR, /too old; see twinbox admin show ID/);
		failed(await ann.try(['admin', 'retry', id(3)]), EX.DATAERR, /admin outbox and dlq list/);
		failed(await ann.try(['admin', 'show', 'x']), EX.USAGE, /not a valid UUID/);
	});

	it('pause, resume, rate', async (t) => {
		const far = destination('far.fault.test');
		const [one, ann] = await standIn(t, {
			'POST /v1/admin/destinations/far.fault.test/pause': far,
			'POST /v1/admin/destinations/far.fault.test/resume': far,
			'PATCH /v1/admin/destinations/far.fault.test': far,
			'POST /v1/admin/destinations/%2A/pause': far,
			'POST /v1/admin/destinations/*/pause': far,
		});

		assert.equal((await ann.run('admin', 'pause', 'far.fault.test', '--reason', 'they asked')).out,
			'far.fault.test is paused\n');
		assert.deepEqual(asked(one).body, { reason: 'they asked' });
		assert.equal((await ann.run('admin', 'pause', '*')).out, 'everything is paused\n');
		assert.deepEqual(asked(one).body, {});
		assert.equal((await ann.run('admin', 'resume', 'far.fault.test')).out, 'far.fault.test goes on\n');
		assert.equal((await ann.run('admin', 'rate', 'far.fault.test', 5)).out,
			'far.fault.test gets at most 5 a second\n');
		assert.deepEqual(asked(one).body, { per_second: 5 });
		assert.equal((await ann.run('admin', 'rate', 'far.fault.test', 0)).out, 'far.fault.test has no limit\n');
		assert.deepEqual(asked(one).body, { per_second: null });
		failed(await ann.try(['admin', 'rate', 'far.fault.test', 'fast']), EX.USAGE, /whole number/);
		failed(await ann.try(['admin', 'pause', '../x']), EX.DATAERR, /admin destinations lists/);
		assert.equal(asked(one).target, '/v1/admin/destinations/..%2Fx/pause');
	});

	it('rewind (R385 R418)', async (t) => {
		const [one, ann] = await standIn(t, { 'POST /v1/admin/lanes/7/rewind': lane(7, { replay_seq: 3 }),
			'POST /v1/admin/lanes/8/rewind': [409, problem(409, 'conflict', { detail: 'purged' })] });

		assert.equal((await ann.run('admin', 'rewind', 7, 3)).out, 'lane 7 is offered again from 3\n');
		assert.deepEqual(asked(one).body, { seq: 3 });
		failed(await ann.try(['admin', 'rewind', 8, 3]), EX.DATAERR, /purged; twinbox admin lanes/);
		failed(await ann.try(['admin', 'rewind', 'x', 3]), EX.USAGE, /whole numbers/);
	});

	it('requeue by number; what is refused is said (R83)', async (t) => {
		const [one, ann] = await standIn(t, { 'POST /v1/admin/dead-letters/requeue': (_, body) => ({
			requeued: body.dead_ids.filter((n) => n !== 17).length,
			refused: body.dead_ids.filter((n) => n === 17).map((n) => ({ dead_id: n, detail: 'too\x1b old' })),
			remaining: 40, more: false,
		}) });

		assert.equal((await ann.run('admin', 'requeue', 1, 2)).out, 'requeued 2\n');
		assert.deepEqual(asked(one).body, { dead_ids: [1, 2] });
		const some = await ann.try(['admin', 'requeue', '1', '17', '2']);
		assert.equal(some.out, 'requeued 2\n');
		failed(some, EX.DATAERR, /1 refused; 17: too\\x1b old/);
		failed(await ann.try(['admin', 'requeue']), EX.USAGE, /either DEAD_ID\.\.\. or --all/);
		failed(await ann.try(['admin', 'requeue', '1', '--all']), EX.USAGE, /either DEAD_ID\.\.\. or --all/);
		failed(await ann.try(['admin', 'requeue', id(1)]), EX.USAGE, /not the number of a dead letter/);
		const many = Array.from({ length: 1500 }, (_, i) => i + 100);
		assert.equal((await ann.run('admin', 'requeue', ...many)).out, 'requeued 1500\n');
		assert.deepEqual(one.requests.slice(-2).map(({ body }) => body.dead_ids.length), [1000, 500]);
	});

	it('requeue --all goes in batches until all is done, or to its limit', async (t) => {
		let left = 2300;
		const [one, ann] = await standIn(t, { 'POST /v1/admin/dead-letters/requeue': (_, body) => {
			const n = Math.min(left, body.limit);
			left -= n;
			return { requeued: n, refused: [], remaining: Math.min(left, 10_000), more: left > 0 };
		} });

		assert.equal((await ann.run('admin', 'requeue', '--all', '--yes', '--destination', 'far')).out,
			'requeued 2300\n');
		assert.deepEqual(one.requests.map(({ body }) => body), Array(3).fill(
			{ filter: { destination: 'far' }, limit: 1000 }));
		left = 2300;
		assert.equal((await ann.run('admin', 'requeue', '--all', '--yes', '--limit', 1200)).out,
			'requeued 1200; there are more\n');
		assert.deepEqual(one.requests.slice(-2).map(({ body }) => body.limit), [1000, 200]);
		let calls = 0;
		one.answers['POST /v1/admin/dead-letters/requeue'] = () => (++calls > 2 ? [500, problem(500, 'internal')] :
			{ requeued: 1000, refused: [], remaining: 10_000, more: true });
		const half = await ann.try(['admin', 'requeue', '--all', '--yes']);
		assert.equal(half.code, EX.SOFTWARE);
		assert.match(half.err, /^twinbox: admin requeue: requeued 2000 before it failed\ntwinbox: .*internal/);
		one.answers['POST /v1/admin/dead-letters/requeue'] = { requeued: 0, more: true, remaining: 5,
			refused: [{ dead_id: 3, detail: 'too old' }] };
		failed(await ann.try(['admin', 'requeue', '--all', '--yes']), EX.DATAERR, /1 refused; 3: too old/);
		assert.deepEqual(JSON.parse((await ann.try(['admin', 'requeue', '--all', '--yes', '--json'])).out
			.split('\n')[0]), { requeued: 0, refused: [{ dead_id: 3, detail: 'too old' }], remaining: 5 });
	});

	it('asks before many; without a terminal it wants --yes', async (t) => {
		const letters = (n) => ({ dead_letters: Array.from({ length: n }, (_, i) => dead(i + 1)), next: null });
		const [one, ann] = await standIn(t, { '/v1/admin/dead-letters': letters(27),
			'POST /v1/admin/dead-letters/requeue': { requeued: 27, refused: [], remaining: 0, more: false },
			'POST /v1/admin/dead-letters/discard': { discarded: 3, refused: [], remaining: 0, more: false } });
		const posts = () => one.requests.filter(({ method }) => method === 'POST').length;

		failed(await ann.try(['admin', 'requeue', '--all', '--sender', 'eve']), EX.USAGE,
			/this would requeue 27 dead letters; add --yes/);
		assert.equal(asked(one).query.sender, 'eve');
		assert.equal(posts(), 0);
		for (const [typed, code, shown] of [['n\r', EX.DATAERR, /nothing was requeued/], ['y\r', 0, /requeued 27/]]) {
			const screen = new Terminal(TWINBOX, ['admin', 'requeue', '--all'], { env: ann.env });
			await screen.shows('requeue 27 dead letters? [y/N]');
			screen.type(typed);
			assert.equal(await screen.ended(), code);
			assert.match(screen.screen.text(), shown);
		}
		assert.equal(posts(), 1);
		one.answers['/v1/admin/dead-letters'] = letters(3);
		await ann.run('admin', 'requeue', '--all');
		failed(await ann.try(['admin', 'discard', '--all']), EX.USAGE, /this would discard 3 dead letters/);
		assert.equal((await ann.run('admin', 'discard', '--all', '--yes')).out, 'discarded 3\n');
		one.answers['/v1/admin/dead-letters'] = ({ limit }) => ({ ...letters(Number(limit)), next: limit });
		failed(await ann.try(['admin', 'requeue', '--all']), EX.USAGE, /more than 200 dead letters/);
	});

	it('an export is a whole file, or none', async (t) => {
		const lines = Array.from({ length: 3000 }, (_, n) => `${JSON.stringify(dead(n + 1))}\n`).join('');
		const [one, ann] = await standIn(t, { '/v1/admin/dead-letters/export': [200, lines,
			{ 'content-type': 'application/x-ndjson' }] });
		const file = path.join(ann.home, 'dead.ndjson');
		const done = await ann.run('admin', 'dlq', '--export', file, '--destination', 'far', '--resolved', 'any');

		assert.equal(fs.readFileSync(file, 'utf8'), lines);
		assert.equal(fs.statSync(file).mode & 0o777, 0o600);
		assert.match(done.err, /3000 dead letters in/);
		assert.deepEqual(asked(one).query, { destination: 'far', resolved: 'any' });
		assert.equal((await ann.run('admin', 'dlq', '--export', '-')).out, lines);
		failed(await ann.try(['admin', 'dlq', '--export', file]), EX.CANTCREAT, /choose a name that is free/);
		failed(await ann.try(['admin', 'dlq', '--export', '/nowhere/x']), EX.CANTCREAT, /cannot make/);
		const full = await ann.try(['admin', 'dlq', '--export', '/dev/full']);
		assert.equal(full.code, EX.CANTCREAT, full.err);
		one.answers['/v1/admin/dead-letters/export'] = [403, problem(403, 'forbidden')];
		const other = path.join(ann.home, 'other');
		failed(await ann.try(['admin', 'dlq', '--export', other]), EX.NOPERM, /administrator/);
		one.answers['/v1/admin/dead-letters/export'] = (_query, _body) => {
			/* The Content-Length is larger than what is sent. */
			setTimeout(() => one.http.closeAllConnections(), 100);
			return [200, lines, { 'content-length': String(lines.length + 5) }];
		};
		failed(await ann.try(['admin', 'dlq', '--export', other]), EX.UNAVAILABLE, /no answer/);
		assert.deepEqual(fs.readdirSync(ann.home).filter((name) => !name.startsWith('.')), ['dead.ndjson']);
	});

	it('its sender\'s own retry (R83)', async (t) => {
		const [one, ann] = await standIn(t, { [`POST /v1/outbox/${id(1)}/retry`]: { id: id(1), state: 'pending' },
			[`POST /v1/outbox/${id(2)}/retry`]: [409, problem(409, 'conflict', { detail: 'it was sent' })] });

		one.answers['POST /v1/messages'] = [500, problem(500, 'internal')];
		assert.match((await ann.run('outbox', 'retry', id(1))).out, /trying .* again/);
		failed(await ann.try(['outbox', 'retry', id(2)]), EX.DATAERR, /it was sent/);
	});
});
