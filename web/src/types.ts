// SPDX-License-Identifier: MIT
// What the server says (the parts of /openapi.yaml and /asyncapi.yaml that the
// page uses), and what the page keeps.

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
	delivered: number; // a device has everything up to this conversation_seq
	read: number;      // seen by the person
}

export interface ServerConversation {
	id: string;
	kind: 'direct' | 'group';
	created_at: string;
	last_at: string;
	/** What I may see last; its text may be cut. */
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

/** A message as it is kept here. */
export interface Message {
	id: string;
	conversation: string;
	seq: number | null;  // conversation_seq; null until the server has told
	from: string;
	own: boolean;
	body: string | null; // null: deleted
	at: number;          // when it was written
	prev?: number;       // the seq before it in the history; 0: none
	stale?: boolean;     // from before the database was restored
	end?: 'failed' | 'expired' | 'canceled';
	why?: string;        // of that end
	sent?: Target;       // sent by this browser, in these terms
}

/** Whom a message is for, as it was first said: repeats must say the same. */
export type Target = { to: string } | { conversation: string };

/** A message that the server has not accepted yet. */
export interface Unsent {
	id: string;
	target: Target;
	body: string;
	at: number;
	refused?: string; // the server said no, for this reason
	delayed?: string; // not yet, for this reason; of this page only, not kept
}

/** A conversation as it is kept here. */
export interface Conversation {
	id: string;
	kind: 'direct' | 'group';
	at: number; // made, or last written to
	last: number;
	unread: number;
	counted?: number;   // the last message that unread includes if it is unread
	announced?: number; // the last message of others whose event has come
	members: Member[];
	preview?: { seq: number; id: string; from: string; body: string };
}

/** How far the inbox has been stored here. */
export interface Cursor {
	epoch: string;
	seq: number;
	old?: number; // events up to here are older than this browser's data: not announced
}

/** Who is logged in in this browser. */
export interface Login {
	token: string;
	user: string;
	device: { id: string; name: string };
}

/** What the ticks of a message of mine say. */
export type Tick = 'unsent' | 'refused' | 'accepted' | 'delivered' | 'read' | 'failed';
