// SPDX-License-Identifier: MIT
//
// The checker of the crash tests, in the manner of Jepsen.  Clients record what
// they requested, which answers they got and what they were shown.  After the
// last restart the inboxes and outboxes are read, and the checker reports every
// contradiction between the two.  It promises to check everything that it is
// given and to say how much that was.  It does not depend on a server.
//
//	const history = new History();
//	const call = history.invoke({ client, from, to, id, body });
//	history.accepted(call, entry);          // 201, or 200 for a replay
//	history.shown('bob', event);            // by push or poll, while running
//	history.acked('bob', device, seq);      // an ack that was answered
//	const { violations, counts } = check(history, views);
//
// `views` is a Map from user to {rest, ws, head, outbox}: all events as REST
// and as WebSocket return them, the head of the inbox, and all outbox entries.

import { eventually, sleep } from '../e2e/harness.mjs';

/** The record of what the clients requested and saw. */
export class History {
	constructor()
	{
		this.calls = [];
		this.by_id = new Map();
		this.seen = new Map();
		this.acks = new Map();
		this.reasons = new Map();
		this.ends = new Map();
		this.clock = 0;
		this.counts = { accepted: 0, unknown: 0, replayed: 0 };
	}

	/**
	 * Records that a client is about to send.  ${call} = {client, from, to,
	 * id, body}.
	 */
	invoke(call)
	{
		const made = { ...call, start: this.clock++, end: null, entry: null };

		this.calls.push(made);
		this.by_id.set(made.id, made);
		return made;
	}

	/**
	 * Records that the server accepted ${call}, at the first try or a later
	 * one.
	 */
	accepted(call, entry, replayed = false)
	{
		if (replayed)
			this.counts.replayed++;
		if (call.end === null) {
			this.counts.accepted++;
			call.end = this.clock++;
			call.entry = entry;
		}
	}

	/**
	 * Records a request without an answer, or with one that leaves the
	 * result open: it may have happened.  ${why} is what the client saw.
	 */
	unknown(why)
	{
		this.counts.unknown++;
		this.reasons.set(why, (this.reasons.get(why) ?? 0) + 1);
	}

	/**
	 * Records that a session ended with ${code}, with or without a
	 * reconnect frame before.
	 */
	ended(code, reconnect)
	{
		const end = `${code}${reconnect ? ' reconnect' : ''}`;

		this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
	}

	/** Records that ${user} was shown ${event}. */
	shown(user, event)
	{
		if (!this.seen.has(user))
			this.seen.set(user, []);
		this.seen.get(user).push({ seq: event.seq, event_id: event.event_id, id: event.id });
	}

	/** Records the answered ack of ${device} of ${user} up to ${seq}. */
	acked(user, device, seq)
	{
		const key = `${user} ${device}`;

		this.acks.set(key, { user, device,
			seq: Math.max(seq, this.acks.get(key)?.seq ?? 0) });
	}
}

const RULES = {
	lost: 'accepted, and not in the inbox of its recipient',
	own_lost: "accepted, and not in its sender's own inbox",
	twice: 'more than once in one inbox',
	invented: 'in an inbox, and never sent there',
	changed: 'not as it was sent',
	hole: 'an inbox is not contiguous 1..head',
	order: 'overtaken by a later one of the same client',
	numbers: 'conversation numbers have a hole or come twice',
	views: 'REST and WebSocket differ',
	unshown: 'shown to a client, and different or gone afterwards',
	ack_lost: 'an answered ack is gone',
	unanswered: 'a send never had an answer',
	entry: 'the outbox entry does not fit the inbox',
	receipt: 'receipts do not fit the acks',
};

/** The rules, with their meaning. */
export const rules = Object.keys(RULES);

const MAX_TOLD = 20;

class Findings {
	constructor()
	{
		this.violations = [];
		this.total = 0;
		this.found = Object.fromEntries(rules.map((rule) => [rule, 0]));
	}

	add(rule, detail)
	{
		this.total++;
		this.found[rule]++;
		if (this.violations.length < MAX_TOLD)
			this.violations.push({ rule, meaning: RULES[rule], detail });
	}
}

function checkContiguous(findings, user, view)
{
	view.rest.forEach((event, i) => {
		if (event.seq !== i + 1)
			findings.add('hole', `${user}: place ${i + 1} has seq ${event.seq}`);
	});
	if (view.rest.length !== view.head)
		findings.add('hole', `${user}: ${view.rest.length} events, head ${view.head}`);
}

function checkTwice(findings, user, view)
{
	for (const member of ['event_id', 'id']) {
		const met = new Set();
		for (const event of view.rest) {
			const value = event[member];
			if (value === undefined || (member === 'id' && event.kind !== 'message'))
				continue;
			if (met.has(value))
				findings.add('twice', `${user}: ${member} ${value}`);
			met.add(value);
		}
	}
}

function checkContent(findings, history, user, view)
{
	for (const event of view.rest) {
		if (event.kind !== 'message')
			continue;
		const call = history.by_id.get(event.id);
		if (!call || (call.from !== user && call.to !== user)) {
			findings.add('invented', `${user}: ${JSON.stringify(event)}`);
			continue;
		}
		if (event.from !== call.from || event.to !== call.to || event.body !== call.body ||
		    event.own !== (call.from === user) ||
		    (call.entry && event.conversation !== call.entry.conversation))
			findings.add('changed', `${user}: ${JSON.stringify(event)}, ` +
				`sent: ${JSON.stringify(call)}`);
	}
}

function checkLost(findings, history, places)
{
	for (const call of history.calls) {
		if (call.end === null) {
			findings.add('unanswered', `${call.from} → ${call.to} ${call.id}`);
			continue;
		}
		if (!places.get(call.to)?.has(call.id))
			findings.add('lost', `${call.from} → ${call.to} ${call.id} ${call.body}`);
		if (!places.get(call.from)?.has(call.id))
			findings.add('own_lost', `${call.from} → ${call.to} ${call.id}`);
	}
}

/**
 * If the sending of a message began after the answer to another one, its place
 * is after the other one's.
 */
function checkOrder(findings, history, places)
{
	const lanes = new Map();

	for (const call of history.calls) {
		if (call.end === null)
			continue;
		const key = `${call.from} ${call.to}`;
		if (!lanes.has(key))
			lanes.set(key, []);
		lanes.get(key).push(call);
	}
	for (const calls of lanes.values()) {
		for (const reader of new Set([calls[0].from, calls[0].to])) {
			const place = places.get(reader) ?? new Map();
			const by_end = [...calls].sort((a, b) => a.end - b.end);
			let next = 0;
			let highest = 0;
			let whose;
			for (const call of [...calls].sort((a, b) => a.start - b.start)) {
				while (next < by_end.length && by_end[next].end < call.start) {
					const at = place.get(by_end[next].id)?.seq ?? 0;
					if (at > highest)
						[highest, whose] = [at, by_end[next]];
					next++;
				}
				const at = place.get(call.id)?.seq;
				if (at !== undefined && at < highest)
					findings.add('order', `${reader}: ${call.id} at ${at}, ` +
						`though sent after ${whose.id} at ${highest}`);
			}
		}
	}
}

function checkNumbers(findings, views)
{
	const conversations = new Map();

	for (const [user, view] of views) {
		const last = new Map();
		for (const event of view.rest) {
			if (event.kind !== 'message')
				continue;
			const known = conversations.get(event.conversation) ?? new Map();
			conversations.set(event.conversation, known);
			if ((known.get(event.conversation_seq) ?? event.id) !== event.id)
				findings.add('numbers', `${event.conversation} has ` +
					`${event.conversation_seq} twice`);
			known.set(event.conversation_seq, event.id);
			const lane = `${event.conversation} ${event.from}`;
			if (event.conversation_seq <= (last.get(lane) ?? 0))
				findings.add('order', `${user}: ${lane} shows ` +
					`${event.conversation_seq} after ${last.get(lane)}`);
			last.set(lane, event.conversation_seq);
		}
	}
	for (const [conversation, known] of conversations) {
		if (Math.max(...known.keys()) !== known.size)
			findings.add('numbers', `${conversation}: ${known.size} messages, ` +
				`numbered up to ${Math.max(...known.keys())}`);
	}
	return conversations.size;
}

function checkViews(findings, user, view)
{
	if (!view.ws)
		return;
	const plain = ({ type: _type, ...event }) => JSON.stringify(
		Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)));
	const length = Math.max(view.rest.length, view.ws.length);
	for (let i = 0; i < length; i++) {
		const [rest, ws] = [view.rest[i], view.ws[i]];
		if (!rest || !ws || plain(rest) !== plain(ws)) {
			findings.add('views', `${user}: REST ${JSON.stringify(rest)}, ` +
				`WebSocket ${JSON.stringify(ws)}`);
		}
	}
}

function checkShown(findings, user, view, seen)
{
	for (const one of seen) {
		const event = view.rest[one.seq - 1];
		if (event?.event_id !== one.event_id || event?.id !== one.id)
			findings.add('unshown', `${user}: seq ${one.seq} was ` +
				`${JSON.stringify(one)}, is ${JSON.stringify(event)}`);
	}
}

/** Compares entries and receipts with the acks of the recipients. */
function checkOutbox(findings, history, views, places)
{
	for (const [user, view] of views) {
		if (!view.outbox)
			continue;
		const entries = new Map(view.outbox.map((entry) => [entry.id, entry]));
		if (entries.size !== view.outbox.length)
			findings.add('entry', `${user}: the outbox lists one twice`);
		for (const call of history.calls) {
			if (call.from !== user || call.end === null)
				continue;
			const entry = entries.get(call.id);
			const acked = views.get(call.to)?.acked;
			const seq = places.get(call.to)?.get(call.id)?.seq;
			const state = acked === undefined || seq === undefined ? undefined :
				seq <= acked ? 'acked' : 'sent';
			if (!entry)
				findings.add('entry', `${user}: no entry for ${call.id}`);
			else if (state && entry.state !== state && call.from !== call.to)
				findings.add('entry', `${user}: ${call.id} is ${entry.state}, ` +
					`its seq ${seq}, acked ${acked}`);
		}
		for (const id of entries.keys()) {
			if (history.by_id.get(id)?.from !== user)
				findings.add('entry', `${user}: an entry ${id} that this user never sent`);
		}
	}
}

/** Watermarks only grow, and end where the acks of the recipients end. */
function checkReceipts(findings, history, views, places)
{
	let count = 0;

	for (const [user, view] of views) {
		const marks = new Map();
		for (const event of view.rest) {
			if (event.kind !== 'receipt')
				continue;
			count++;
			const key = `${event.conversation} ${event.state}`;
			if (event.upto <= (marks.get(key) ?? 0))
				findings.add('receipt', `${user}: ${key} goes from ` +
					`${marks.get(key)} to ${event.upto}`);
			marks.set(key, event.upto);
			const of = history.by_id.get(event.of);
			if (of?.from !== user || of.to !== event.by)
				findings.add('receipt', `${user}: of a message of another user: ` +
					JSON.stringify(event));
		}
		const due = new Map();
		for (const call of history.calls) {
			const at = places.get(call.to)?.get(call.id);
			const acked = views.get(call.to)?.acked;
			if (call.from !== user || call.to === user || !at || !(at.seq <= acked))
				continue;
			due.set(at.conversation, Math.max(due.get(at.conversation) ?? 0,
				at.conversation_seq));
		}
		for (const [conversation, upto] of due) {
			const mark = marks.get(`${conversation} delivered`) ?? 0;
			if (mark !== upto)
				findings.add('receipt', `${user}: ${conversation} is acked up to ` +
					`${upto}, the last receipt says ${mark}`);
		}
	}
	return count;
}

/**
 * Checks ${views} against ${history}.  Returns {violations, total, found,
 * counts}; `found` has the number of violations of each rule.
 */
export function check(history, views)
{
	const findings = new Findings();
	const places = new Map();
	const counts = {
		...history.counts,
		sent: history.calls.length,
		accepted: history.calls.filter((call) => call.end !== null).length,
		clients: new Set(history.calls.filter((call) => call.end !== null)
			.map((call) => call.client)).size,
		inboxes: views.size, events: 0, ws_events: 0, shown: 0,
		acks: history.acks.size,
	};

	for (const [user, view] of views) {
		places.set(user, new Map(view.rest.filter((event) => event.kind === 'message')
			.map((event) => [event.id, event])));
		counts.events += view.rest.length;
		counts.ws_events += view.ws?.length ?? 0;
		checkContiguous(findings, user, view);
		checkTwice(findings, user, view);
		checkContent(findings, history, user, view);
		checkViews(findings, user, view);
		const seen = history.seen.get(user) ?? [];
		counts.shown += seen.length;
		checkShown(findings, user, view, seen);
	}
	for (const { user, device, seq } of history.acks.values()) {
		const mark = views.get(user)?.devices?.[device] ?? views.get(user)?.acked;
		if (mark !== undefined && mark < seq)
			findings.add('ack_lost', `${user} ${device}: ${seq} was answered, is ${mark}`);
	}
	checkLost(findings, history, places);
	checkOrder(findings, history, places);
	counts.conversations = checkNumbers(findings, views);
	checkOutbox(findings, history, views, places);
	counts.receipts = checkReceipts(findings, history, views, places);
	return { violations: findings.violations, total: findings.total, found: findings.found,
		counts };
}

/** Returns what was checked and found, in one line: "accepted=12 … lost=0". */
export function told({ counts, found, total }, more = {})
{
	const { sent, accepted, unknown, replayed, shown, receipts, events } = counts;
	const { lost, twice, hole, order } = found;

	return Object.entries({ ...more, sent, accepted, unknown, replayed, shown, receipts, events,
		lost, twice, hole, order, violations: total })
		.map(([name, n]) => `${name}=${n}`).join(' ');
}

/** Returns the whole inbox and outbox of ${user}, by REST and by WebSocket. */
export async function viewOf(user)
{
	const page = await user.inbox();
	const outbox = [];
	let target = '/v1/outbox?limit=200';

	while (target) {
		const answer = await user.get(target);
		if (answer.status !== 200)
			throw new Error(`${target}: ${answer.status} ${answer.text}`);
		outbox.push(...answer.body.entries);
		target = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
	}
	return { rest: page.events, ws: await wsView(user), head: page.head,
		acked: page.acked, outbox };
}

/**
 * Waits until everything that ${all} have sent is delivered and the receipts
 * have arrived.
 */
export async function settled(all)
{
	await eventually(async () => (await Promise.all(all.map((user) =>
		user.get('/v1/outbox?state=pending')))).every((a) => a.body.entries.length === 0),
	'I8 everything is delivered', 30_000);
	/*
	 * Receipts of the last acks may still be on their way.  When the heads
	 * of the inboxes no longer move, all have arrived.
	 */
	let heads;
	await eventually(async () => {
		const was = heads;
		await sleep(100);
		heads = JSON.stringify(await Promise.all(all.map(async (user) =>
			(await user.get('/v1/inbox?limit=1')).body.head)));
		return heads === was;
	}, 'the inboxes stand still');
}

/**
 * Checks the current inboxes and outboxes of ${all} against ${history}, like
 * check().  If only receipts are missing, they may still be on their way, so
 * they have up to 30 s.
 */
export async function judge(history, all)
{
	let verdict;

	await settled(all);
	await eventually(async () => {
		const views = new Map();

		for (const user of all)
			views.set(user.name, await viewOf(user));
		verdict = check(history, views);
		return verdict.total === 0 || verdict.total > verdict.found.receipt;
	}, 'the last receipts', 30_000).catch((error) => {
		if (verdict === undefined)
			throw error;
	});
	return verdict;
}

/**
 * Returns all events by WebSocket, one window after the other.  It opens new
 * sessions instead of acking, because an ack would move watermarks.
 */
async function wsView(user)
{
	const events = [];
	const window = 256;
	let caught = false;

	while (!caught) {
		const ws = await user.ws({ after: String(events.length), instance: 'checker', window });
		await ws.wait((frame) => frame.type === 'caught_up' ||
			ws.events().length >= window, 'caught_up or a full window', { ms: 30_000 });
		await ws.close();
		caught = ws.frames.some((frame) => frame.type === 'caught_up');
		events.push(...ws.events());
	}
	return events;
}
