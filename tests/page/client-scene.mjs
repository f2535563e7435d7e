// SPDX-License-Identifier: MIT
//
// The chat page's client (web/src/client.ts) in node, for client-*.test.mjs.
// Clock, server and disk are fakes; the socket, the sender and the REST client
// are the page's own.

import { Browser, FakeDisk, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

export const CHAT = '01900000-0000-7000-8000-00000000000c';
export const GROUP = '01900000-0000-7000-8000-00000000000d';
export const HELD = 'twinbox.draft.ann.>';
export const REPLAY = 2_000; // a new browser replays at most this many inbox events
export const DAY = 86_400_000;
const LOGIN = { token: 'secret', user: 'ann', device: { id: 'd1', name: 'Firefox' } };

/** The page's modules. */
export const page = await modules('client.ts', 'disk.ts', 'api.ts');

export const iso = (at) => new Date(at).toISOString();
export const member = (address, delivered = 0, read = 0) => ({ address, delivered, read });
export const problem = (status, code, more = {}) => ({ type: 'about:blank', title: 'No', status, detail: 'so not', code, ...more });

/** The conversation with bob as the server lists it. */
export const listed = (more = {}) => ({ id: CHAT, kind: 'direct', created_at: iso(Browser.NOW - DAY),
	last_at: more.created_at ?? iso(Browser.NOW - DAY), last_message: null, last: 0, unread: 0,
	members: [member('ann'), member('bob')], ...more });

/** Bob's message ${seq} as the list shows the last one. */
export const last = (seq, more = {}) => ({ last: seq, last_at: iso(Browser.NOW + seq), last_message: {
	id: `m${seq}`, conversation_seq: seq, from: 'bob', own: false, body: `text ${seq}`, truncated: false,
	content_type: 'text/plain', event_time: iso(Browser.NOW + seq), ...more } });

/** The event of bob's message ${seq}. */
export const event = (seq, more = {}) => ({ type: 'event', kind: 'message', seq, id: `m${seq}`, conversation: CHAT,
	conversation_seq: seq, own: false, from: 'bob', to: 'ann', body: `text ${seq}`,
	event_time: iso(Browser.NOW + seq), ...more });

/** Bob's message ${seq} as the page stores it. */
export const message = (seq, more = {}) => ({ id: `m${seq}`, conversation: CHAT, seq, from: 'bob', own: false,
	body: `text ${seq}`, at: Browser.NOW - DAY + seq, ...more });

/** The outbox entry of the message in send frame ${sent}. */
const entry = (sent, more = {}) => ({ id: sent.message.id, conversation: CHAT, to: 'bob', state: 'pending',
	created_at: iso(Browser.NOW), last_error: null, ...more });

/** Ann's browser with the page, whose client has not started. */
export class Scene {
	constructor(t, disk = new FakeDisk())
	{
		this.browser = new Browser(t);
		this.clock = this.browser.clock;
		this.disk = disk;
		this.list = [listed()];
		this.inbox = { epoch: 'e1', head: 0, oldest: 1 };
		Object.assign(this.browser.answers, {
			'GET /v1': () => [200, { limits: { text: 1000 }, user: { name: 'ann', admin: false } }],
			'GET /v1/inbox': () => [200, this.inbox],
			'GET /v1/conversations': () => [200, { conversations: this.list, next: null, has_more: false }],
			[`GET /v1/conversations/${CHAT}/messages`]: () => [200, { messages: [], has_more: false }],
		});
	}

	/** Opens a page; the page before it ends as if its tab had crashed. */
	open()
	{
		const seen = { words: [], arrived: [], logouts: 0, changes: 0 };

		this.browser.put(page.Disk, { open: async () => this.disk });
		this.client?.end();
		this.seen = seen;
		this.client = new page.ChatClient(LOGIN, {
			changed: () => { seen.changes++; },
			loggedOut: () => { seen.logouts++; },
			say: (words) => seen.words.push(words),
			arrived: (m) => seen.arrived.push(m.id),
		});
		const { client } = this;
		this.browser.atEnd(() => client.end());
		return client;
	}

	/** Starts the client of the open page, up to its hello. */
	async begin()
	{
		void this.client.start();
		await turn();
		this.socket.opened();
		return this;
	}

	/**
	 * Returns true if the page was notified to draw since the last call.
	 */
	drawn()
	{
		return this.seen.changes - (this.seen.changes = 0) > 0;
	}

	/**
	 * Makes the server withhold its answer to GET ${path}.  The returned
	 * function gives the answer.
	 */
	withhold(path)
	{
		let give;
		const waiting = new Promise((resolve) => { give = resolve; });
		this.browser.answers[`GET ${path}`] = () => waiting;
		return give;
	}

	get socket()
	{
		return this.browser.socket;
	}

	get hello()
	{
		return this.socket.sent('hello')[0];
	}

	/** The server answers the hello with a welcome. */
	async welcome(more = {})
	{
		this.socket.say({ type: 'welcome', re: this.hello.id, epoch: this.inbox.epoch, head: this.inbox.head,
			oldest: this.inbox.oldest, acked: 0, recovered: true, ...more });
		await turn();
		return this;
	}

	/** The connection ends; the page opens the next one, which has no welcome yet. */
	async again(code = 1006)
	{
		this.socket.ends(code);
		await this.clock.pass(20_000);
		this.socket.opened();
		return this;
	}

	/** Events arrive, and the page has handled them when this returns. */
	async come(...events)
	{
		events.forEach((one) => this.socket.say(one));
		await this.clock.pass(0);
	}

	acks()
	{
		return this.socket.sent('ack').map((one) => one.upto);
	}

	/** The send frames of this connection, in order. */
	get sends()
	{
		return this.socket.sent('send');
	}

	/** The server accepts the message in send frame ${sent}. */
	async accept(sent, more)
	{
		this.socket.say({ type: 'sent', re: sent.id, entry: entry(sent, more) });
		await turn();
	}

	/** The server refuses the message in send frame ${sent} with problem(...${what}). */
	async refuse(sent, ...what)
	{
		this.socket.say({ type: 'error', re: sent.id, problem: problem(...what) });
		await turn();
	}

	/** The ids of the texts that localStorage holds. */
	get held()
	{
		return Object.keys(this.browser.storage).filter((key) => key.startsWith(HELD))
			.map((key) => key.slice(HELD.length));
	}

	conversation(id = CHAT)
	{
		return this.client.conversations.get(id);
	}
}

/** Returns the scene of a live page; ${prepare} gets it before the page opens. */
export async function live(t, { disk, prepare } = {})
{
	const scene = new Scene(t, disk);

	prepare?.(scene);
	scene.open();
	return (await scene.begin()).welcome();
}