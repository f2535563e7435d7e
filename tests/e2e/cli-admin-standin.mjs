// SPDX-License-Identifier: MIT
//
// A stand-in for the server, and an operator who uses the command line with it.
// The stand-in answers /v1/admin/... as the contract says, with figures that
// the test chooses.  So a test can show unusual cases: empty lists, huge
// numbers, hostile names, refusals, a server that goes away and comes back.

import assert from 'node:assert/strict';
import http from 'node:http';

import { dataArgs } from './backend.mjs';
import { Person } from './cli-client.mjs';
import { PASSWORD, freshName, run } from './harness.mjs';

/** An address with sequences that must not reach a terminal unescaped. */
export const HOSTILE = 'eve\x1b[2J\x1b]0;owned\x07\u202ex@日本語.fault.test';
export const WIDE = '日本語の利用者の名前がとても長い場合@とても長い.fault.test';

/** The clock of the stand-in stands still, so that ages are exact. */
export const NOW = Math.floor(Date.now() / 1000) * 1000;
export const ago = (ms) => new Date(NOW - ms).toISOString();
export const ahead = (ms) => ago(-ms);

export const id = (n) => `01987a1c-0000-7000-8000-${String(n).padStart(12, '0')}`;

export const problem = (status, code, more = {}) => ({
	type: `/problems/${code.replaceAll('_', '-')}`, title: code, status, code, detail: `it is ${code}`, ...more,
});

/**
 * Statistics.  Members of ${more} replace those of the default, also in nested
 * objects.
 */
export function stats(more = {})
{
	const base = {
		at: ago(0),
		states: { pending: 12345, scheduled: 40, sending: 8, sent: 120345, failed: 17, expired: 2,
			canceled: 3 },
		totals: { accepted: 132760, sent: 120345, acked: 119800, retries: 312, failed: 19,
			expired: 2, canceled: 3, requeued: 2, rescues: 1, fenced: 0 },
		total_retries: 312, dead_letters_open: 17, oldest_pending_age_ms: 200_000,
		stuck_sending: 2, near_failure: 3, average_latency_ms: 85, retry_rate: 0.042,
		relay: { last_turn_age_ms: 210, in_flight: 8 }, wal_bytes: 3_250_585,
		queues: { writer_waiting: 0 }, limits: { max_pending: 1000, max_pending_total: 100_000 },
	};
	for (const [name, value] of Object.entries(more)) {
		base[name] = typeof value === 'object' && value !== null ? { ...base[name], ...value } : value;
	}
	return base;
}

export const destination = (name, more = {}) => ({
	name, breaker: 'closed', failures: 0, successes: 12, window: 16, in_flight: 0, next_probe_at: null,
	failing_since: null, last_success_at: ago(4000), last_failure_at: null, last_error: null,
	paused_at: null, paused_by: null, pause_reason: null, per_second: 0, pending: 0, lanes_ready: 0,
	truncated: false, oldest_pending_age_ms: null, ages: [0, 0, 0, 0, 0, 0, 0, 0], ...more,
});

/**
 * Four destinations: all together (*), the inboxes here, one whose breaker is
 * open, and a paused one.
 */
export const DESTINATIONS = () => [
	destination('*', { window: 0, last_success_at: null }),
	destination('local', { in_flight: 3, pending: 12, oldest_pending_age_ms: 40,
		ages: [12, 0, 0, 0, 0, 0, 0, 0] }),
	destination('far.fault.test', { breaker: 'open', failures: 9, window: 1, pending: 12333,
		next_probe_at: ahead(24_500), failing_since: ago(3_725_000), last_success_at: ago(3_800_000),
		last_failure_at: ago(6000), last_error: 'connection refused', oldest_pending_age_ms: 3_700_000, lanes_ready: 3,
		ages: [200, 800, 1000, 2000, 4000, 4333, 0, 0] }),
	destination('slow.fault.test', { breaker: 'half_open', in_flight: 1, per_second: 5, pending: 4,
		paused_at: ago(185_000), paused_by: 'ann', pause_reason: 'they asked us to',
		oldest_pending_age_ms: 400_000, ages: [0, 0, 4, 0, 0, 0, 0, 0] }),
];
export const AGE_LIMITS = [60000, 300000, 600000, 1200000, 2400000, 4800000, 9600000];

export const entry = (n, more = {}) => ({
	outbox_id: n, id: id(n), event_type: 'message', from: 'ann', to: 'bob@far.fault.test',
	destination: 'far.fault.test', state: 'pending', reason: null, priority: 'normal', attempts: 4,
	retry_count: 3, rescue_count: 0, event_time: ago(200_500), created_at: ago(200_400),
	last_attempt_at: ago(12_000), last_status_at: ago(12_000), next_retry_at: ahead(40_500), deliver_at: null,
	expires_at: ahead(400_000_000), sent_at: null, acked_at: null, last_error: 'connection refused',
	lane_id: 7, lane_seq: 12, labels: ['retrying'], ...more,
});

export const dead = (n, more = {}) => ({
	dead_id: n, outbox_id: n, id: id(n), from: 'ann', to: 'bob@far.fault.test', destination: 'far.fault.test',
	state: 'failed', reason: 'max_retries', last_error: 'connection refused', attempts: 11, retry_count: 10,
	event_time: ago(9_000_000), created_at: ago(9_000_000), dead_at: ago(250_000), resolution: null,
	resolved_at: null, resolved_by: null, ...more,
});

export const lane = (n, more = {}) => ({
	lane_id: n, conversation: id(900 + n), to: 'bob@far.fault.test', destination: 'far.fault.test', class: 'messages',
	state: 'ready', priority: 'normal', next_seq: 13, last_published_seq: 12, tail_seq: 40, pending: 28,
	due_at: ahead(40_500), lease_owner: null, lease_until: null, lease_token: 6, updated_at: ago(1000),
	replay_seq: null, ...more,
});

/**
 * A stand-in for the server.  ${answers} maps "METHOD /path" (without the
 * query) or "/path" to a value, or to a function of (query, body, request) that
 * returns one.  An array [status, body, headers] sets all three.  `requests`
 * records the requests.
 */
export class StandIn {
	constructor(answers = {})
	{
		this.requests = [];
		this.away = false;   /* connections are closed at once */
		this.silent = false; /* requests get no answer */
		this.answers = {
			'/v1/admin/stats': () => stats(),
			'/v1/admin/destinations': () => ({ destinations: DESTINATIONS(), age_limits_ms: AGE_LIMITS,
				next: null }),
			'/v1/admin/dead-letters': { dead_letters: [dead(1)], next: null },
			'/v1/admin/lanes': ({ state }) => ({ lanes: [lane(7), lane(8, { state: 'local', pending: 0 })]
				.filter((one) => !state || one.state === state), next: null }),
			...answers,
		};
		this.http = http.createServer((request, response) => this.serve(request, response));
		this.http.on('connection', (socket) => {
			if (this.away)
				socket.destroy();
		});
	}

	async serve(request, response)
	{
		let text = '';

		for await (const piece of request)
			text += piece;
		if (this.away) {
			request.socket.destroy();
			return;
		}
		const url = new URL(request.url, 'http://server');
		const body = text ? JSON.parse(text) : undefined;
		const one = { method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams),
			body, target: request.url };

		if (url.pathname.startsWith('/v1/admin/'))
			this.requests.push(one);
		if (this.silent)
			return;
		let found = this.answers[`${request.method} ${url.pathname}`] ??
			(request.method === 'GET' ? this.answers[url.pathname] : undefined);
		if (url.pathname === '/v1/tokens')
			found = [201, { token: 'tb_x', user: 'ann', device: { id: 'd', name: 'd' } }];
		if (typeof found === 'function')
			found = await found(one.query, body, one);
		const [status, answer, headers] = Array.isArray(found) ? found :
			found ? [200, found] : [404, problem(404, 'not_found')];
		response.writeHead(status, { 'content-type': 'application/json', date: new Date(NOW).toUTCString(),
			...headers });
		response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
	}

	/** Returns a person who is logged in here. */
	async person()
	{
		await new Promise((resolve) => {
			this.http.listen(0, '127.0.0.1', resolve);
		});
		this.url = `http://127.0.0.1:${this.http.address().port}`;
		const ann = new Person(this.url, { name: 'ann' });
		const done = await ann.withPassword(['login', 'ann']);
		assert.equal(done.code, 0, done.err);
		return ann;
	}

	/**
	 * Simulates a server that is down: closes the connections, and refuses
	 * new ones.
	 */
	leave()
	{
		this.away = true;
		this.http.closeAllConnections();
	}

	back()
	{
		this.away = false;
	}

	async close()
	{
		this.http.closeAllConnections();
		await new Promise((resolve) => {
			this.http.close(resolve);
		});
	}
}

/** Returns a stand-in and its operator, for test ${t}. */
export async function standIn(t, answers)
{
	const one = new StandIn(answers);
	const ann = await one.person();

	t.after(() => one.close());
	return [one, ann];
}

/**
 * Creates an administrator of the real server ${server} and logs in as that
 * user.
 */
export async function operator(server, url = server.url)
{
	const one = new Person(url, { name: freshName('root') });
	const child = run(server.program, ['user', 'add', one.name, '--admin', '--password-stdin',
		...dataArgs(server.data)], { stdio: ['pipe', 'pipe', 'pipe'] });

	child.stdin.end(`${PASSWORD}\n`);
	assert.equal((await child.exited).code, 0, child.err);
	assert.equal((await one.withPassword(['login', one.name])).code, 0);
	return one;
}

/**
 * Asserts that the command ${done} failed with exit code ${code}, and that its
 * one error line matches ${what}.
 */
export function failed(done, code, what)
{
	assert.equal(done.code, code, `${done.code}: ${done.out}${done.err}`);
	assert.match(done.err, /^twinbox: [^\n]+\n$/, done.err);
	assert.match(done.err, what);
}
