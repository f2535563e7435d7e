// SPDX-License-Identifier: MIT
//
// A stand-in for /v1/admin, which playwright puts between the page and the
// server.  Its answers have the form of the contract and show any state that a
// test wants, also states that are rare on a real server.  Changes by the page
// appear in later answers.  The page itself comes from the real server, with
// its Content-Security-Policy.

import { Person } from './browser.mjs';

const MIN = 60_000;
const HOUR = 60 * MIN;
export const LIMITS = [1, 5, 10, 20, 40, 80, 160].map((min) => min * MIN);

const iso = (at) => (at === null ? null : new Date(at).toISOString());
export const ago = (ms) => iso(Date.now() - ms);
export const uuid = (n) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;

export const stats = (more = {}) => ({
	at: iso(Date.now()),
	states: { pending: 0, scheduled: 0, sending: 0, sent: 0, failed: 0, expired: 0, canceled: 0,
		...more.states },
	totals: { accepted: 0, sent: 0, acked: 0, retries: 0, failed: 0, expired: 0, canceled: 0, requeued: 0,
		rescues: 0, fenced: 0, ...more.totals },
	total_retries: more.totals?.retries ?? 0,
	dead_letters_open: 0, oldest_pending_age_ms: null, stuck_sending: 0, near_failure: 0,
	average_latency_ms: null, retry_rate: 0,
	relay: { last_turn_age_ms: 240, in_flight: 0 },
	wal_bytes: 1_200_000, queues: { writer_waiting: 0 },
	limits: { max_pending: 1000, max_pending_total: 100_000 }, alerts: [],
	...Object.fromEntries(Object.entries(more).filter(([name]) => !['states', 'totals'].includes(name))),
});

export const destination = (name, more = {}) => ({
	name, breaker: 'closed', failures: 0, successes: 0, window: name === '*' ? 0 : 8, in_flight: 0,
	next_probe_at: null, failing_since: null, last_success_at: ago(3000), last_failure_at: null,
	last_error: null, paused_at: null, paused_by: null, pause_reason: null, per_second: null, pending: 0,
	oldest_pending_age_ms: null, ages: [0, 0, 0, 0, 0, 0, 0, 0], lanes_ready: 0, truncated: false, ...more,
});

export const dead = (n, more = {}) => ({
	dead_id: n, outbox_id: 5000 + n, id: uuid(n), from: 'alice', to: `bob@dead.example`,
	destination: 'dead.example', state: 'failed', reason: 'max_retries',
	last_error: '503 the mailbox is busy', attempts: 10, retry_count: 10, event_time: ago(3 * HOUR),
	created_at: ago(3 * HOUR), dead_at: ago(n * MIN), resolution: null, resolved_at: null,
	resolved_by: null, ...more,
});

export const row = (n, more = {}) => ({
	outbox_id: 5000 + n, id: uuid(n), event_type: 'message.send', from: 'alice', to: 'bob', destination: 'local',
	state: 'acked', reason: null, priority: 'normal', attempts: 1, retry_count: 0, rescue_count: 0,
	event_time: ago(10 * MIN), created_at: ago(10 * MIN), last_attempt_at: ago(10 * MIN - 40),
	last_status_at: ago(9 * MIN), next_retry_at: null, deliver_at: null,
	expires_at: iso(Date.now() + 120 * HOUR), sent_at: ago(10 * MIN - 40), acked_at: ago(9 * MIN),
	last_error: null, lane_id: 7, lane_seq: n, labels: [], ...more,
});

/** Returns a row as the page of a message has it. */
export function fullRow(n, more = {})
{
	const { attempts, ...rest } = row(n, more);
	return { attempt_count: attempts, attempts: [], timeline: [], ...rest };
}

export const lane = (n, more = {}) => ({
	lane_id: n, conversation: uuid(900 + n), to: 'bob', destination: 'local', class: 'messages', state: 'local',
	priority: 0, next_seq: 12, last_published_seq: 11, tail_seq: 12, pending: 0, due_at: null,
	lease_owner: null, lease_until: null, lease_token: 0, updated_at: ago(MIN), replay_seq: null, ...more,
});

/**
 * Returns attempts that were refused, with the pauses of the retry schedule
 * between them.
 */
export function attemptsFrom(start, pauses, last = {})
{
	let at = start;

	return pauses.map((pause, i) => {
		const begun = at;
		const took = 40 + i * 90;
		at += took + pause;
		return { attempt: i + 1, started_at: iso(begun), finished_at: iso(begun + took), outcome: 'retryable',
			status: 503, error: 'the mailbox is busy', owner: 'relay-1',
			...(i === pauses.length - 1 ? last : {}) };
	});
}

/** The message of most tests: refused twice, then sent, delivered and read. */
export function readStory(n)
{
	const start = Date.now() - 10 * MIN;
	const attempts = attemptsFrom(start + 15, [1000, 2000, 0], { outcome: 'accepted', status: 200, error: null });
	const sent = Date.parse(attempts[2].finished_at);

	return { ...fullRow(n, { to: 'bob@slow.example', destination: 'slow.example', state: 'acked', labels: ['read'],
		created_at: iso(start), event_time: iso(start), sent_at: iso(sent), acked_at: iso(sent + 42_000),
		retry_count: 2, attempt_count: 3 }), attempts,
	timeline: [{ at: iso(start), event: 'accepted', detail: null },
		{ at: iso(sent), event: 'sent', detail: null },
		{ at: iso(sent + 42_000), event: 'acked', detail: null },
		{ at: iso(sent + 42_000 + 3 * MIN), event: 'read', detail: null }] };
}

/** A message that used up its retries. */
export function failedStory(n)
{
	const start = Date.now() - 3 * HOUR;
	const attempts = attemptsFrom(start + 12, [1, 2, 4, 8, 16, 32, 60, 60, 60, 0].map((s) => s * 1000));
	const end = Date.parse(attempts[9].finished_at);

	return { ...fullRow(n, { to: 'bob@dead.example', destination: 'dead.example', state: 'failed',
		reason: 'max_retries', created_at: iso(start), event_time: iso(start), sent_at: null, acked_at: null,
		last_status_at: iso(end), retry_count: 10, attempt_count: 10, last_error: '503 the mailbox is busy' }), attempts,
	timeline: [{ at: iso(start), event: 'accepted', detail: null },
		{ at: iso(end), event: 'failed', detail: 'max_retries' }] };
}

export class StandIn {
	constructor(more = {})
	{
		this.admin = true;
		this.stats = () => stats();
		this.destinations = [destination('*'), destination('local')];
		this.dead = [];
		this.rows = [];
		this.messages = new Map();
		this.lanes = [];
		this.users = [];
		this.audit = [];
		this.refuse = new Set(); // dead_ids that are too old to be requeued
		this.broken = null;      // (path) => { status, problem } or null
		this.gate = null;        // a promise that answers wait for, or null
		this.asked = [];         // all requests, in order
		Object.assign(this, more);
	}

	count(path)
	{
		return this.asked.filter((one) => one.path === path).length;
	}

	async attach(context)
	{
		await context.route((url) => url.pathname === '/v1' || url.pathname.startsWith('/v1/admin/'),
			(route) => this.answer(route));
	}

	async answer(route)
	{
		const request = route.request();
		const url = new URL(request.url());
		const json = request.postData() ? request.postDataJSON() : undefined;
		const ask = { method: request.method(), path: decodeURIComponent(url.pathname), query: url.searchParams,
			json, token: request.headers().authorization };

		this.asked.push(ask);
		const broken = this.broken?.(ask);
		await this.gate;
		if (broken === 'abort') {
			await route.abort('connectionrefused').catch(() => undefined);
			return;
		}
		const found = broken ?? this.route(ask) ?? [404, problem(404, 'not_found', 'there is no such thing')];
		const [status, body, headers = {}] = found;
		await route.fulfill({ status, headers: { 'cache-control': 'no-store', ...headers },
			contentType: typeof body === 'string' ? 'application/x-ndjson' : status >= 400 ?
				'application/problem+json' : 'application/json',
			body: typeof body === 'string' ? body : JSON.stringify(body) }).catch(() => undefined);
	}

	route(ask)
	{
		const { method, path, json } = ask;
		const [, , , what, id, verb] = path.split('/');

		if (path === '/v1')
			return [200, { name: 'twinbox', version: '1', domain: 'chat.example', user: { name: 'root',
				admin: this.admin } }];
		if (!this.admin)
			return [403, problem(403, 'forbidden', 'this is for administrators')];
		if (method === 'POST' || method === 'PATCH')
			this.audit.unshift({ audit_id: this.audit.length + 1, at: iso(Date.now()), actor: 'root',
				action: verb ?? id ?? what, object: id ?? what, detail: json ? JSON.stringify(json) : null });
		switch (what) {
		case 'stats':
			return [200, this.stats()];
		case 'destinations':
			return this.destination(ask, id, verb);
		case 'dead-letters':
			return this.deadLetters(ask, id);
		case 'outbox':
			return id ? this.message(id, verb) : [200, page(ask, this.rows.filter((one) =>
				this.matches(ask.query, one)), 'entries', 'outbox_id')];
		case 'lanes':
			return [200, page(ask, this.lanes, 'lanes', 'lane_id', 'after')];
		case 'users':
			return this.user(ask, id, verb);
		case 'audit':
			return [200, page(ask, this.audit, 'entries', 'audit_id')];
		default:
			return null;
		}
	}

	matches(query, one)
	{
		const is = (name, value) => !query.get(name) || query.get(name) === value;
		return is('state', one.state) && is('destination', one.destination) && is('sender', one.from) &&
			is('reason', one.reason) && (!query.get('stuck') || one.state === 'sending') &&
			(!query.get('near_failure') || one.retry_count >= 7);
	}

	destination({ method, json }, name, verb)
	{
		const found = this.destinations.find((one) => one.name === name);

		if (name === undefined)
			return [200, { destinations: this.destinations, age_limits_ms: LIMITS, next: null }];
		if (!found)
			return null;
		if (verb === 'pause')
			Object.assign(found, { paused_at: iso(Date.now()), paused_by: 'root', pause_reason: json?.reason ?? null });
		else if (verb === 'resume')
			Object.assign(found, { paused_at: null, paused_by: null, pause_reason: null });
		else if (method === 'PATCH')
			found.per_second = json.per_second;
		return [200, found];
	}

	/**
	 * Handles the user routes.  The names are sorted; a page begins after
	 * the name `after`, whether that user exists or not.
	 */
	user({ query }, name, verb)
	{
		const found = this.users.find((one) => one.name === name);

		if (name === undefined) {
			const rest = this.users.filter((one) => one.name > (query.get('after') ?? ''));
			const shown = rest.slice(0, Number(query.get('limit')));
			return [200, { users: shown, truncated: false,
				next: shown.length < rest.length ? shown.at(-1).name : null }];
		}
		if (!found)
			return null;
		const others = this.users.filter((one) => one !== found && one.admin && one.disabled_at === null);
		if (found.admin && others.length === 0 && ['disable', 'demote'].includes(verb))
			return [409, problem(409, 'conflict', `user "${name}" is the last administrator: promote another user first`)];
		if (verb === 'disable')
			Object.assign(found, { disabled_at: iso(Date.now()), devices: 0 });
		else if (verb === 'enable')
			found.disabled_at = null;
		else if (verb === 'password')
			return [200, { name, password: 'K7QM-X2RT-9WBD-E4HZ-PN6S', expires_at: iso(Date.now() + 86_400_000) }];
		else
			found.admin = verb === 'promote';
		return [200, found];
	}

	deadLetters(ask, verb)
	{
		const resolved = ask.query.get('resolved') ?? 'false';
		const open = (one) => resolved === 'any' || (one.resolution !== null) === (resolved === 'true');
		const found = this.dead.filter((one) => this.matches(ask.query, one) && open(one));

		if (ask.method === 'GET')
			return verb === 'export' ? [200, found.map((one) => `${JSON.stringify(one)}\n`).join('')] :
				[200, page(ask, found, 'dead_letters', 'dead_id')];
		const { dead_ids: ids, filter = {}, limit = 100 } = ask.json;
		const all = this.dead.filter((one) => one.resolution === null && (ids ? ids.includes(one.dead_id) :
			this.matches(new URLSearchParams(filter), one)));
		// Takes the oldest ones, and passes over those that are
		// refused.
		const done = all.filter((one) => !this.refuse.has(one.dead_id)).slice(ids ? 0 : -limit);
		const oldest = done.length > 0 && !ids ? all.indexOf(done[0]) : 0;
		const refused = all.slice(all.length === done.length ? all.length : oldest)
			.filter((one) => this.refuse.has(one.dead_id))
			.map((one) => ({ dead_id: one.dead_id, detail: 'the requeue window of 7 days is over' }));
		for (const one of done)
			Object.assign(one, { resolution: verb === 'requeue' ? 'requeued' : 'discarded',
				resolved_at: iso(Date.now()), resolved_by: 'root' });
		return [200, { [verb === 'requeue' ? 'requeued' : 'discarded']: done.length, refused,
			remaining: all.length - done.length, more: all.length > done.length + refused.length }];
	}

	message(id, verb)
	{
		const found = this.messages.get(id);

		if (found && verb)
			found[0].state = verb === 'retry' ? 'pending' : 'failed';
		return found ? [200, { id, from: found[0].from, conversation: uuid(800), conversation_seq: 4,
			event_time: found[0].event_time, created_at: found[0].created_at, correlation_id: null,
			rows: found }] : null;
	}
}

/** Returns a page of ${list}, newest first, as the routes do. */
function page({ query }, list, name, key, cursor = 'before')
{
	const at = query.get(cursor);
	const limit = Number(query.get('limit') ?? 50);
	const from = at === null ? 0 : list.findIndex((one) => String(one[key]) === at) + 1;
	const shown = list.slice(from, from + limit);

	return { [name]: shown, next: from + limit < list.length ? shown.at(-1)[key] : null };
}

export const user = (name, more = {}) => ({ name, display_name: null, admin: false, disabled_at: null,
	created_at: iso(Date.now() - 40 * HOUR), devices: 1, pending: 0, ...more });

export function problem(status, code, detail, more = {})
{
	return { type: `/problems/${code}`, title: code, status, detail, code, instance: '/', request_id: 'r', ...more };
}

export class Operator extends Person {
	/**
	 * Opens the admin page of ${standin} as an operator.  See Person.make
	 * for the options.
	 */
	static async at(holder, server, standin, { start = 'admin', prepare, ...options } = {})
	{
		const operator = await this.make(holder, server, 'root', { ...options, start,
			prepare: async (context) => {
				await prepare?.(context);
				await standin.attach(context);
				await context.addInitScript(() => localStorage.setItem('twinbox.login',
					JSON.stringify({ token: 'a-token', user: 'root', device: { id: 'd', name: 'desk' } })));
			} });
		operator.standin = standin;
		return operator;
	}

	/** Opens a view by its link. */
	async view(name)
	{
		await this.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
		await this.page.getByRole('heading', { level: 1, name }).waitFor();
	}

	button(name)
	{
		return this.page.getByRole('button', { name, exact: true });
	}

	get dialog()
	{
		return this.page.getByRole('dialog');
	}
}
