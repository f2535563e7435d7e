// SPDX-License-Identifier: MIT
// The data of the server (the parts of /openapi.yaml and /asyncapi.yaml that the page uses), and
// the data that the page stores.

export interface Problem {
	title: string;
	status: number;
	detail: string;
	code: string;
	pointer?: string;
	retry_after?: number;
}

export interface ServerInfo {
	version: string;
	domain: string;
	epoch: string;
	registration: 'open' | 'closed';
	limits: { text: number; page_max: number };
	user: { name: string; admin: boolean } | null;
}

export interface Member {
	address: string;
	delivered: number; // conversation_seq up to which a device has all
	read: number;      // up to which the person has seen all
}

export interface ServerConversation {
	id: string;
	kind: 'direct' | 'group';
	created_at: string;
	last_at: string;
	/** The newest message that the user may see.  Its text may be cut. */
	last_message: { id: string; conversation_seq: number; from: string; body: string | null } | null;
	last: number;
	unread: number;
	members: Member[];
}

export interface ServerMessage {
	id: string;
	own: boolean;
	conversation: string;
	conversation_seq: number | null;
	from: string;
	to: string | null;
	body: string | null;
	event_time: string;
}

export type InboxEvent = { seq: number; conversation: string } & (
	| ({ kind: 'message' } & ServerMessage)
	| { kind: 'receipt'; upto: number; by: string; state: 'delivered' | 'read' }
	| { kind: 'read'; upto: number }
	| { kind: 'bounce'; of: string; state: 'failed' | 'expired'; reason: string | null }
	| { kind: 'edit' | 'delete' | 'reaction' | 'member'; of: string | null });

export type State = 'pending' | 'sending' | 'sent' | 'acked' | 'failed' | 'expired' | 'canceled';

export interface Destination {
	address: string;
	state: State;
	attempts: number;
	last_attempt_at: string | null;
	next_retry_at: string | null;
	sent_at: string | null;
	acked_at: string | null;
	read_at: string | null;
	last_error: string | null;
}

export interface Entry {
	id: string;
	conversation: string;
	to: string | null;
	state: State;
	attempts: number;
	created_at: string;
	next_retry_at: string | null;
	last_error: string | null;
	labels: string[];
	destinations: Destination[];
	timeline?: { state: string; at: string }[];
}

/** A message as it is stored here. */
export interface Message {
	id: string;
	conversation: string;
	seq: number | null;  // conversation_seq; null until it is known
	from: string;
	own: boolean;
	body: string | null; // null: deleted
	at: number;          // when it was written
	prev?: number;       // the seq before it in the history; 0: none
	stale?: boolean;     // from before the database was restored
	end?: 'failed' | 'expired' | 'canceled';
	why?: string;        // the reason of `end`
	sent?: Target;       // the target, if this browser sent it
}

/** The recipient of a message in its first form.  A repetition must have the same form. */
export type Target = { to: string } | { conversation: string };

/** A message that the server has not accepted yet. */
export interface Unsent {
	id: string;
	target: Target;
	body: string;
	at: number;
	refused?: string; // the reason of a final refusal
	delayed?: string; // the reason of a delay; not stored
}

/** A conversation as it is stored here. */
export interface Conversation {
	id: string;
	kind: 'direct' | 'group';
	at: number; // creation, or last message
	last: number;
	unread: number;
	counted?: number;   // the last message that unread takes into account
	announced?: number; // the last message of others whose event has come
	members: Member[];
	preview?: { seq: number; id: string; from: string; body: string };
}

/** Up to which event the inbox is stored here. */
export interface Cursor {
	epoch: string;
	seq: number;
	old?: number; // events up to here existed before this browser's data: not announced
}

/** The user who is logged in in this browser. */
export interface Login {
	token: string;
	user: string;
	device: { id: string; name: string };
}

/** The tick of an own message. */
export type Tick = 'unsent' | 'refused' | 'accepted' | 'delivered' | 'read' | 'failed';
