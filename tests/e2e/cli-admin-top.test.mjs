// SPDX-License-Identifier: MIT
// tags: surface
//
// twinbox admin top: the content of the screen, keys, sizes, signals, a server
// that goes away and comes back, and the output of --once without a terminal.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, it } from 'node:test';

import { EX, TWINBOX } from './cli-client.mjs';
import {
	AGE_LIMITS, DESTINATIONS, HOSTILE, NOW, WIDE, dead, destination, failed, lane, problem, standIn, stats,
} from './cli-admin-standin.mjs';
import { Terminal } from './cli-terminal.mjs';
import { eventually, run } from './harness.mjs';

/** Statistics of a server in its ${n}-th period of ten seconds. */
const later = (n, more = {}) => ({
	...stats(), at: new Date(NOW + n * 10_000).toISOString(),
	totals: { ...stats().totals, accepted: 1000 + n * 2140, sent: 500 + n * 4, retries: 7 }, ...more,
});

/** Runs top in a terminal as ${ann}, and waits for its first picture. */
async function top(t, ann, args = [], options = {})
{
	const screen = new Terminal(TWINBOX, ['admin', 'top', '--interval', '1s', ...args],
		{ env: ann.env, ...options });
	t.after(() => screen.kill());
	await screen.shows(/^twinbox top /m, 'its title');
	return screen;
}

/** Asserts that top has restored the terminal. */
function given_back(screen)
{
	assert.equal(screen.screen.other, null, 'the alternate screen');
	assert.equal(screen.screen.cursor, true, 'the cursor');
	assert.equal(screen.screen.wraps, true, 'lines wrap');
	assert.deepEqual(screen.screen.unknown, []);
	assert.doesNotMatch(screen.screen.text(), /twinbox top/);
}

/** The number of requests for statistics that ${one} has received. */
const looks = (one) => one.requests.filter(({ path }) => path.endsWith('/stats')).length;

describe('the live view', () => {
	it('a server without a limit of what may wait is not full', async (t) => {
		const [, ann] = await standIn(t, { '/v1/admin/stats': () => stats({ limits: { max_pending_total: 0 } }) });
		const screen = await top(t, ann);

		await screen.shows(/^relay turned 210ms ago, 8 in flight; writer: 0 wait$/m);
		await screen.shows(/^write-ahead log 3\.1 MiB$/m);
	});

	it('overview: what waits, rates of successive totals, trouble first', async (t) => {
		let n = 0;
		const [, ann] = await standIn(t, { '/v1/admin/stats': () => later(n++) });
		const screen = await top(t, ann);

		await screen.shows(/^pending +12,345 +accepted +214 +214 /m);
		await screen.shows(/^scheduled +40 +sent +0\.4 +0\.4 /m);
		await screen.shows(/^stuck +2 +retries +0 +0 +7$/m);
		await screen.shows(/^pending +█{2,} +most 12,345 in \d+s/m);
		await screen.shows(/^retry rate +4\.2% /m);
		await screen.shows(/^relay turned 210ms ago, 8 in flight; writer: 0 wait$/m);
		await screen.shows(/^write-ahead log 3\.1 MiB; pending is 12% of max-pending-total$/m);
		// The check is repeated, because the terminal may have received
		// only half of a picture.
		await eventually(() => {
			const lines = screen.screen.lines().map((line) => line.split(' ')[0]);
			const order = ['far.fault.test', 'slow.fault.test', 'local'].map((name) => lines.indexOf(name));
			return order[0] > 0 && order[0] < order[1] && order[1] < order[2];
		}, 'destinations with trouble come first');
		await screen.shows(/^\[1 overview\] +2 destinations +3 dead letters +4 lanes$/m);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('totals that have become smaller begin anew, and make no negative rates', async (t) => {
		let n = 0;
		const [, ann] = await standIn(t, { '/v1/admin/stats': () => later(n === 3 ? (n = 0) : n++) });
		const screen = await top(t, ann);

		await screen.shows(/^pending .* accepted +214 +214 /m);
		await screen.shows(/^pending .* accepted +- +- +1,000$/m);
		await screen.shows(/^pending .* accepted +214 +214 /m);
		assert.doesNotMatch(screen.raw, /accepted[^\n]* -\d/);
	});

	it('keys change views, scroll, and end it', async (t) => {
		const letters = Array.from({ length: 40 }, (_, i) => dead(i + 1));
		const [, ann] = await standIn(t, { '/v1/admin/dead-letters': { dead_letters: letters, next: null } });
		const screen = await top(t, ann);

		screen.type('\x1b[C');
		await screen.shows('[2 destinations]');
		await screen.shows(/^PENDING BY AGE +ALL +<1m /m);
		screen.type('3');
		await screen.shows('[3 dead letters]');
		await screen.shows(/^ +1 +max_retries /m);
		await screen.shows('(0 above, 61 below)');
		screen.type('\x1b[B\x1bOB');
		await screen.shows('(2 above, 59 below)');
		await screen.shows(/^DEAD +REASON /m);
		assert.doesNotMatch(screen.screen.text(), /^ +1 +max_retries /m);
		screen.type('\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~');
		await screen.shows('(61 above, 0 below)');
		await screen.shows(/^ +40 +max_retries /m);
		screen.type('\x1b[5~');
		await screen.shows('(42 above, 19 below)');
		screen.type('\x1b[H');
		await screen.shows('(0 above, 61 below)');
		screen.type('\t');
		await screen.shows('[4 lanes]');
		await screen.shows(/^ +7 +bob@far/m);
		screen.type('\x1b[C');
		await screen.shows('[1 overview]');
		screen.type('\x1b[D');
		await screen.shows('[4 lanes]');
		/*
		 * Keys without a meaning, incomplete escape sequences, and a
		 * very long one.
		 */
		screen.type('x\x1b[99;99~\x1b\x1b[1;5P\x1bZ\x1b[' + '9'.repeat(100) + '~');
		screen.type('1');
		await screen.shows('[1 overview]');
		screen.type('\x03');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('it fills the terminal, whatever its size', async (t) => {
		const [, ann] = await standIn(t);
		const screen = await top(t, ann);

		await screen.shows(/^q quit/m);
		assert.equal(screen.screen.grid.length, 24);
		screen.resize(120, 40);
		await eventually(() => /^q quit/.test((screen.screen.grid[39] ?? []).join('')), 'the last line is down there');
		await screen.shows(/^twinbox top .* {60,}/m);
		screen.resize(30, 8);
		await eventually(() => /^q quit/.test((screen.screen.grid[7] ?? []).join('')), 'the last line is up here');
		await screen.shows(/^twinbox top +http:\/\/127[^ ]*…$/m);
		assert.deepEqual(screen.screen.history, []);
		screen.resize(2, 1);
		screen.resize(80, 24);
		await screen.shows(/^relay turned /m);
		assert.deepEqual(screen.screen.history, []);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('hostile and wide names stay in their lines', async (t) => {
		const bad = { from: HOSTILE, to: WIDE, last_error: `\x1b]52;c;x\x07${'e'.repeat(500)}` };
		const [, ann] = await standIn(t, {
			'/v1/admin/destinations': { destinations: [destination(HOSTILE), destination(WIDE),
				destination('z'.repeat(253), { paused_at: new Date(NOW).toISOString(), paused_by: HOSTILE,
					pause_reason: WIDE.repeat(4) })], age_limits_ms: AGE_LIMITS, next: null },
			'/v1/admin/dead-letters': { dead_letters: [dead(1, bad), dead(2)], next: null },
			'/v1/admin/lanes': ({ state }) => ({ lanes: state === 'ready' ?
				[lane(1, { to: WIDE }), lane(2, { to: HOSTILE })] : [], next: null }),
		});
		const screen = await top(t, ann);

		for (const [key, shown] of [['2', '[2 destinations]'], ['3', '[3 dead letters]'], ['4', '[4 lanes]'],
			['1', '[1 overview]']]) {
			screen.type(key);
			await screen.shows(shown);
			await screen.shows(key === '2' || key === '1' ? /^zzz+/m : /^ +2 /m);
			await screen.shows(/eve\\x1b/);
			assert.deepEqual(screen.screen.history, []);
			for (const row of screen.screen.grid)
				assert.ok(row.length <= 80);
		}
		assert.doesNotMatch(screen.raw, /owned\x07|\x1b\]|\u202e/);
		assert.deepEqual(screen.screen.unknown, []);
	});

	it('lanes: what is being sent, what is ready, what is owed here', async (t) => {
		const rows = { leased: [lane(3, { state: 'leased', lease_owner: 'r' })], ready: [lane(2)],
			local: [lane(4, { state: 'local', pending: 0 }), lane(5, { state: 'local', pending: 6 })] };
		const [one, ann] = await standIn(t, { '/v1/admin/lanes': ({ state }) => ({ lanes: rows[state], next: null }) });
		const screen = await top(t, ann, ['--view', 'lanes']);

		await screen.shows(/^ +5 +bob@/m);
		assert.deepEqual(screen.screen.lines().map((line) => /^ +(\d+) +bob/.exec(line)?.[1]).filter(Boolean),
			['3', '2', '5']);
		one.answers['/v1/admin/lanes'] = { lanes: [], next: null };
		await screen.shows('no lane has anything to send');
	});

	it('SIGTERM, SIGINT, SIGHUP give the terminal back', async (t) => {
		for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
			const [, ann] = await standIn(t);
			const screen = await top(t, ann);
			assert.notEqual(screen.screen.other, null);
			process.kill(screen.program(), signal);
			assert.equal(await screen.ended(), 0, signal);
			given_back(screen);
		}
	});

	it('it ends when its terminal is taken away', async (t) => {
		const [, ann] = await standIn(t);
		const screen = await top(t, ann);
		const pid = screen.program();

		screen.kill();
		await eventually(() => !fs.existsSync(`/proc/${pid}`) ||
			/ Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')), 'it has ended');
	});

	it('Ctrl-Z stops it with the terminal given back; it goes on where it was', async (t) => {
		const [, ann] = await standIn(t);
		const screen = await top(t, ann, ['--view', 'lanes']);
		const stopped = (pid) => / T /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));

		await screen.shows('[4 lanes]');
		const pid = screen.program();
		const before = screen.raw.length;
		screen.type('\x1a');
		await eventually(() => stopped(pid), 'it is stopped');
		/*
		 * The program script(1) stops together with top, and resumes
		 * it.
		 */
		await eventually(() => stopped(screen.child.pid), 'script is stopped');
		process.kill(screen.child.pid, 'SIGCONT');
		await eventually(() => /\x1b\[\?1049l[^]*\x1b\[\?1049h[^]*4 lanes/.test(screen.raw.slice(before)),
			'the terminal was given back and taken again');
		await screen.shows('[4 lanes]');
		screen.type('1');
		await screen.shows('[1 overview]');
		screen.type('q');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('the server goes away and comes back', async (t) => {
		const [one, ann] = await standIn(t);
		const screen = await top(t, ann);

		await screen.shows(/^q quit/m);
		one.leave();
		await screen.shows(/^last answer \ds ago, trying again: (no answer from|cannot reach) http/m);
		await screen.shows(/^pending +12,345 /m);
		screen.type('3');
		await screen.shows('[3 dead letters]');
		await screen.shows('asking the server …');
		one.back();
		await screen.shows(/^ +1 +max_retries /m);
		await screen.shows(/^q quit/m);
		one.leave();
		await screen.shows(/trying again: /m);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('a server that does not answer keeps nobody in it', async (t) => {
		const [one, ann] = await standIn(t);
		const screen = await top(t, ann);

		one.silent = true;
		const before = looks(one);
		await eventually(() => looks(one) > before, 'it asks');
		screen.type('4');
		await screen.shows('[4 lanes]');
		screen.resize(100, 30);
		await eventually(() => /^q quit/.test((screen.screen.grid[29] ?? []).join('')), 'it is drawn anew');
		screen.type('q');
		assert.equal(await screen.ended(), 0);
		given_back(screen);
	});

	it('a busy server is left alone as long as it asks for', async (t) => {
		const [one, ann] = await standIn(t);
		const screen = await top(t, ann);

		one.answers['/v1/admin/stats'] = [503, problem(503, 'busy'), { 'retry-after': '3600' }];
		await screen.shows(/^last answer \ds ago, trying again: it is busy$/m);
		const before = looks(one);
		await screen.shows(/last answer [3-9]s ago/m);
		assert.equal(looks(one), before);
		screen.type('r');
		await eventually(() => looks(one) === before + 1, 'it is asked at once by a key');
		/*
		 * A key for another view causes a request at once, too, even if
		 * a refusal arrives at the same moment.
		 */
		let refuse;
		one.answers['/v1/admin/stats'] = () => (refuse ? stats() : new Promise((resolve) => {
			refuse = () => resolve([503, problem(503, 'busy'), { 'retry-after': '3600' }]);
		}));
		screen.type('r');
		await eventually(() => refuse, 'it is asking');
		screen.type('2');
		await screen.shows('[2 destinations]');
		refuse();
		await screen.shows(/^q quit/m);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
	});

	it('whose token was revoked says so, on a terminal as it was', async (t) => {
		const [one, ann] = await standIn(t);
		const screen = await top(t, ann);

		one.answers['/v1/admin/stats'] = [401, problem(401, 'unauthenticated')];
		assert.equal(await screen.ended(), EX.NOPERM);
		given_back(screen);
		assert.match(screen.screen.text(), /^twinbox: admin top: this device was logged out; log in again: twinbox login/m);
	});

	it('colours: trouble is red; none with NO_COLOR', async (t) => {
		const [, ann] = await standIn(t);
		const coloured = await top(t, ann);

		await coloured.shows(/^relay turned/m);
		assert.match(coloured.raw, /\x1b\[31mopen\x1b\[0m/);
		const plain = await top(t, { env: { ...ann.env, NO_COLOR: '1' } });
		await plain.shows(/^relay turned/m);
		assert.doesNotMatch(plain.raw, /\x1b\[[1-9]\d?m/);
	});
});

describe('without a terminal', () => {
	it('it refuses, and says what to do', async (t) => {
		const [one, ann] = await standIn(t);

		failed(await ann.try(['admin', 'top']), EX.USAGE,
			/top needs a terminal; twinbox admin top --once prints one picture as text/);
		failed(await ann.try(['admin', 'top', '--interval', '0s', '--once']), EX.USAGE, /--interval is from 1s/);
		failed(await ann.try(['admin', 'top', '--view', 'x', '--once']), EX.USAGE, /--view takes overview/);
		const json = await ann.try(['admin', 'top', '--json']);
		assert.equal(json.code, EX.USAGE);
		assert.match(json.err, /add --once/);
		assert.deepEqual(one.requests, []);
		const dumb = new Terminal(TWINBOX, ['admin', 'top'], { env: { ...ann.env, TERM: 'dumb' } });
		assert.equal(await dumb.ended(), EX.USAGE);
		assert.match(dumb.screen.text(), /TERM says/);
		const child = run('sh', ['-c', `${TWINBOX} admin top </dev/null`], { env: ann.env });
		assert.equal((await child.exited).code, EX.USAGE);
	});

	it('--once prints each view as text', async (t) => {
		const [one, ann] = await standIn(t);
		const shows = { overview: /^pending +12,345 +accepted +- +- +132,760$/m, destinations: /^PENDING BY AGE/m,
			dead: /^ +1 +max_retries/m, lanes: /^ +7 +bob@far/m };

		for (const [view, shown] of Object.entries(shows)) {
			one.requests.length = 0;
			const { out, err } = await ann.run('admin', 'top', '--once', '--view', view);
			assert.equal(err, '');
			assert.match(out, shown);
			assert.match(out, /^twinbox top {2}http:/);
			assert.doesNotMatch(out, /[\x00-\x09\x0b-\x1f]|q quit|every/);
			for (const line of out.split('\n'))
				assert.ok(Array.from(line).length <= 80, line);
			assert.equal(one.requests.length, view === 'lanes' ? 4 : 2);
		}
		let n = 0;
		one.answers['/v1/admin/stats'] = () => later(n++);
		assert.match((await ann.run('admin', 'top', '--once', '--interval', '1s')).out, /accepted +214 +214 /);
		const all = await ann.json('admin', 'top', '--once', '--view', 'dead');
		assert.equal(all.stats.dead_letters_open, 17);
		assert.equal(all.dead_letters.length, 1);
	});

	it('--once says what is wrong', async (t) => {
		const [one, ann] = await standIn(t, { '/v1/admin/destinations': { destinations: DESTINATIONS(),
			age_limits_ms: AGE_LIMITS, next: null } });

		one.answers['/v1/admin/stats'] = [403, problem(403, 'forbidden')];
		failed(await ann.try(['admin', 'top', '--once']), EX.NOPERM, /log in as an administrator/);
		await one.close();
		failed(await ann.try(['admin', 'top', '--once']), EX.UNAVAILABLE, /cannot reach/);
		const screen = new Terminal(TWINBOX, ['admin', 'top'], { env: ann.env });
		assert.equal(await screen.ended(), EX.UNAVAILABLE);
		assert.match(screen.screen.text(), /cannot reach/);
	});
});
