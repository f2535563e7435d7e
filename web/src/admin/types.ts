// SPDX-License-Identifier: MIT
// The parts of the answers of /v1/admin that the admin page shows.  Times are RFC 3339 or null.  No
// answer contains the text of a message.

import type { State } from '../types.ts';

export interface Stats {
	at: string;
	states: Record<'pending' | 'scheduled' | 'sending' | 'sent' | 'failed' | 'expired' | 'canceled', number>;
	totals: Record<'accepted' | 'sent' | 'acked' | 'retries' | 'failed' | 'expired' | 'canceled' |
		'requeued' | 'rescues' | 'fenced', number>;
	dead_letters_open: number;
	oldest_pending_age_ms: number | null;
	stuck_sending: number;
	near_failure: number;
	average_latency_ms: number | null;
	retry_rate: number; // 0 … 1, since the beginning
	relay: { last_turn_age_ms: number | null; in_flight: number };
	wal_bytes: number;
	queues: { writer_waiting: number };
	limits: { max_pending: number; max_pending_total: number };
	alerts: { name: string; severity: 'warning' | 'error' | 'critical'; since: string; text: string }[];
}

export type Breaker = 'closed' | 'open' | 'half_open';

export interface Destination {
	name: string; // "*": all of them; "local": the inboxes of this server
	breaker: Breaker;
	failures: number;
	successes: number;
	window: number | null;
	in_flight: number;
	next_probe_at: string | null;
	failing_since: string | null;
	last_success_at: string | null;
	last_failure_at: string | null;
	last_error: string | null;
	paused_at: string | null;
	paused_by: string | null;
	pause_reason: string | null;
	per_second: number | null; // null: no limit
	pending: number;
	oldest_pending_age_ms: number | null;
	ages: number[]; // one more than the limits: the last is older than all of them
	truncated: boolean; // more messages wait than were counted
}

export interface Destinations {
	destinations: Destination[];
	age_limits_ms: number[];
	next: string | null;
}

export interface Dead {
	dead_id: number;
	outbox_id: number;
	id: string;
	from: string;
	to: string;
	destination: string;
	state: 'failed' | 'expired';
	reason: string;
	last_error: string | null;
	attempts: number;
	retry_count: number;
	event_time: string;
	created_at: string;
	dead_at: string;
	resolution: 'requeued' | 'discarded' | null;
	resolved_at: string | null;
	resolved_by: string | null;
}

/** The cursor of the next page of a list; null after the last page. */
export type Next = number | null;

export interface DeadLetters {
	dead_letters: Dead[];
	next: Next;
}

/** The filters of dead letters, with the names of the query parameters. */
export interface DeadFilter {
	reason?: string;
	destination?: string;
	sender?: string;
}

export interface Done {
	requeued?: number;
	discarded?: number;
	refused: { dead_id: number; detail: string }[];
	remaining: number;
	more: boolean;
}

export interface Attempt {
	attempt: number;
	started_at: string;
	finished_at: string | null;
	outcome: string | null; // null: under way
	status: number | null;
	error: string | null;
	owner: string;
}

export interface Step {
	at: string;
	event: string;
	detail: string | null;
}

/** One row of the outbox: one message for one destination. */
export interface Row {
	outbox_id: number;
	id: string;
	event_type: string;
	from: string;
	to: string;
	destination: string;
	state: State;
	reason: string | null;
	priority: string;
	attempts: number;
	retry_count: number;
	rescue_count: number;
	event_time: string;
	created_at: string;
	last_attempt_at: string | null;
	last_status_at: string | null;
	next_retry_at: string | null;
	deliver_at: string | null;
	expires_at: string | null;
	sent_at: string | null;
	acked_at: string | null;
	last_error: string | null;
	lane_id: number | null;
	lane_seq: number | null;
	labels: string[];
}

export interface Rows {
	entries: Row[];
	next: Next;
}

/** A row of one message has more: `attempts` is the list of its newest attempts. */
export type FullRow = Omit<Row, 'attempts'> & { attempt_count: number; attempts: Attempt[];
	timeline: Step[] };

export interface FullMessage {
	id: string;
	from: string;
	conversation: string;
	conversation_seq: number | null;
	event_time: string;
	created_at: string;
	correlation_id: string | null;
	rows: FullRow[];
}

export interface Lane {
	lane_id: number;
	conversation: string;
	to: string;
	destination: string;
	class: string;
	state: string;
	priority: number;
	next_seq: number;
	last_published_seq: number;
	tail_seq: number;
	pending: number;
	due_at: string | null;
	lease_owner: string | null;
	lease_until: string | null;
	lease_token: number;
	updated_at: string;
	replay_seq: number | null;
}

export interface Lanes {
	lanes: Lane[];
	next: Next;
}

export interface User {
	name: string;
	display_name: string | null;
	admin: boolean;
	disabled_at: string | null;
	created_at: string;
	devices: number;
	pending: number;
}

export interface OncePassword {
	name: string;
	password: string;
	expires_at: string;
}

export interface Users {
	users: User[];
	truncated: boolean; // more messages wait than were counted
	next: string | null;
}

export interface Audit {
	entries: { audit_id: number; at: string; actor: string; action: string; object: string;
		detail: string | null }[];
	next: Next;
}
