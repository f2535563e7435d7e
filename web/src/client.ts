// SPDX-License-Identifier: MIT
// The chat page's client: the known conversations and messages, kept in step with the server by the
// events of the inbox, and with the disk.
//
// Order: an event changes the shown data at once.  It is then written to the disk together with the
// cursor behind it.  Then it is acked.  So every acked event is found again after a reload.

import { Api, Refused } from './api.ts';
import { Conversations } from './conversations.ts';
import { held, hold, release } from './data.ts';
import { Disk, type Batch } from './disk.ts';
import { Heir } from './heir.ts';
import { History, type Shown } from './history.ts';
import {
	isFor, isNews, mergeMessage, messageOf, previewOf, tickOf, withMark, withMessage, withRead,
	type ReadHere,
} from './merge.ts';
import { Sender, recipientOf } from './sender.ts';
import { Socket, type Frame, type Link, type Welcome } from './socket.ts';
import { sentence } from './time.ts';
import type {
	Conversation, Cursor, Entry, InboxEvent, Login, Message, ServerInfo, ServerMessage, Target, Tick,
	Unsent,
} from './types.ts';
import { uuid7 } from './uuid.ts';
import { visible } from './visible.ts';

const REPLAY = 2_000;    // events that a new browser reads
const KEPT_SHOWN = 200;  // messages read from the disk at once
const PAGE = 50;
const TYPING_MS = 6_000;
const TYPING_EVERY_MS = 3_000;
const RESUBMIT_MS = 14 * 86_400_000; // the server remembers ids for at least this time
const NOTHING: Shown = { shown: [], before: 0 };

export interface ChatListener {
	/** Something that is shown has changed. */
	changed(): void;
	/** The server no longer accepts the token. */
	loggedOut(): void;
	/** Words for a screen reader. */
	say(words: string): void;
	/** A message from another person has come in ${conversation}. */
	arrived?(message: Message, conversation: Conversation): void;
}

/** The target of an item in the list, or of the address bar. */
export type Route = { conversation: Conversation } | { to: string };

export class ChatClient {
	readonly login: Login;
	readonly me: string;
	readonly api: Api;
	link: Link = { state: 'connecting' };
	limit = 16_384; // bytes of a text
	admin = false;  // may open the admin page
	loaded = false;
	unsent: Unsent[] = [];
	typing = new Map<string, { from: string; until: number }>();
	entries = new Map<string, number>(); // number of changes of each entry

	private readonly user: ChatListener;
	private readonly listed: Conversations;
	private readonly socket: Socket;
	private readonly sender: Sender;
	private heir: Heir | undefined; // set by start()
	private disk!: Disk; // set by start()
	private cursor: Cursor | null = null;
	private stored: Cursor | null = null; // the cursor on the disk
	private messages = new Map<string, History>();
	private opened = new Set<string>(); // conversations whose messages were read from the disk
	private batch: Required<Pick<Batch, 'messages' | 'conversations'>> & { seq: number } | null = null;
	private writing: Promise<void> = Promise.resolve();
	private reads = new Map<string, number>(); // own read marks that the server has not confirmed
	private readHere = new Map<string, ReadHere>(); // by conversation
	private typed = 0;
	private ended = false;
	private leaving = false; // logOut() is under way

	constructor(login: Login, user: ChatListener)
	{
		this.login = login;
		this.me = login.user;
		this.user = user;
		this.api = new Api(login.token, () => this.loggedOut());
		this.listed = new Conversations(this.me, this.api, {
			unsent: () => this.unsent,
			refreshed: (all) => this.refreshed(all),
		});
		this.socket = new Socket(this);
		this.sender = new Sender({
			waiting: (held) => this.unsent.find((one) => one.refused === undefined &&
				!held.has(recipientOf(one))),
			request: (type, members) => this.socket.request(type, members),
			accepted: (unsent, entry) => this.accepted(unsent, entry),
			delayed: (unsent, problem) => this.delayed(unsent, sentence(problem.detail)),
			refused: (unsent, problem) => this.refused(unsent, sentence(problem.detail)),
		});
	}

	async start(): Promise<void>
	{
		this.disk = await Disk.open(this.me);
		const kept = await this.disk.load();
		if (this.ended)
			return;
		for (const one of kept.conversations)
			this.listed.put(one);
		// Texts in localStorage that an earlier page could not write to the disk.  The
		// server has not answered them.
		const late = held(this.me).filter((one) => !kept.unsent.some((there) => there.id === one.id));
		if (late.length > 0)
			await this.disk.write({ unsent: late });
		this.unsent = [...kept.unsent, ...late].sort((a, b) => (a.id < b.id ? -1 : 1));
		for (const one of this.unsent)
			release(this.me, one.id);
		this.cursor = kept.cursor;
		this.stored = kept.cursor;
		this.loaded = kept.cursor !== null;
		this.heir = new Heir(`twinbox.sender.${this.me}`, {
			left: () => this.unsent,
			inherit: (texts) => void this.inherit(texts).catch(() => undefined), // the next start has them
			discarded: (id) => this.drop(id),
		});
		this.socket.connect();
		this.api.get<ServerInfo>('/v1').then((info) => {
			this.limit = info.limits.text;
			this.admin = info.user?.admin ?? false;
			this.user.changed();
		}, () => undefined); // keep the default limits
	}

	/** Ends the client.  Stored data stays for the next start. */
	end(): void
	{
		this.ended = true;
		this.heir?.end();
		this.socket.end();
		this.sender.end();
		this.disk?.close();
	}

	/** Revokes this token, or all tokens of the account, and erases all data here. */
	async logOut(everywhere = false): Promise<void>
	{
		// The socket may close because of this before the answer arrives.
		this.leaving = true;
		try {
			await this.api.delete(everywhere ? '/v1/tokens?all=true' :
				`/v1/tokens/${this.login.device.id}`);
		} catch (error) {
			const status = error instanceof Refused ? error.problem.status : 0;
			this.leaving = false;
			// If the server does not accept the token, it is revoked already, but it
			// has not revoked any other token.
			if (everywhere && status === 401)
				this.loggedOut();
			if (everywhere || (status !== 401 && status !== 404))
				throw error;
		}
		await this.forget();
	}

	async forget(): Promise<void>
	{
		this.end();
		await this.disk.erase();
	}

	retryNow(): void
	{
		this.socket.connect();
	}

	/** Returns true if the data survives a reload of the page. */
	get lasting(): boolean
	{
		return (this.disk as Disk | undefined)?.lasting ?? true;
	}

	// ---- what is shown ----

	get conversations(): ReadonlyMap<string, Conversation>
	{
		return this.listed.all;
	}

	/** Returns the conversations, the one with the latest message first. */
	list(): Conversation[]
	{
		return this.listed.list();
	}

	/** Returns the names of new conversations whose first message is still unsent. */
	newNames(): string[]
	{
		return this.listed.newNames();
	}

	get unread(): number
	{
		return this.listed.unread;
	}

	/** Returns the direct conversation with ${name}. */
	withPerson(name: string): Conversation | undefined
	{
		return this.listed.withPerson(name);
	}

	/** Returns the messages of a conversation that can be shown: the same object until they
	 * change. */
	shown(conversation: string): Shown
	{
		return this.messages.get(conversation)?.shown ?? NOTHING;
	}

	/** Returns the unsent texts for ${route}. */
	unsentFor(route: Route): Unsent[]
	{
		return this.unsent.filter((one) => 'to' in route ?
			'to' in one.target && one.target.to === route.to :
			isFor(one, route.conversation, this.me));
	}

	tick(m: Message): Tick
	{
		return tickOf(m, this.conversations.get(m.conversation), this.me);
	}

	typingIn(conversation: string): string | null
	{
		const one = this.typing.get(conversation);
		return one && one.until > Date.now() ? one.from : null;
	}

	// ---- actions of the user ----

	/** Opens a conversation: shows messages from the disk at once, then fetches newer ones. */
	async open(id: string): Promise<void>
	{
		if (!this.opened.has(id)) {
			const kept = await this.disk.messages(id, KEPT_SHOWN);
			const known = this.known(id);
			this.opened.add(id);
			for (const m of kept)
				if (!known.has(m.id))
					known.set(m.id, m);
			this.user.changed();
		}
		await this.older(id, 0);
	}

	/** Fetches the messages before number ${before}; 0: the newest ones. */
	async older(id: string, before: number): Promise<void>
	{
		const page = await this.api.get<{ messages: ServerMessage[]; has_more: boolean }>(
			`/v1/conversations/${id}/messages?limit=${PAGE}${before > 0 ? `&before=${before}` : ''}`);
		const known = this.known(id);
		const fresh: Message[] = [];
		const seqOf = (at: number) => page.messages[at]?.conversation_seq ?? 0;

		// The page has the newest message first.  The message before each one is the next
		// of the page; for the last one it is unknown, or none at the beginning of the
		// conversation.
		page.messages.forEach((m, at) => {
			const last = at === page.messages.length - 1;
			const prev = !last ? seqOf(at + 1) : page.has_more ? undefined : 0;
			fresh.push(mergeMessage(known.get(m.id), messageOf(m, prev)));
		});
		// The oldest message that was known follows the newest one of this page.
		for (const m of known.values())
			if (m.seq === before && !m.stale)
				fresh.push({ ...m, prev: seqOf(0) });
		for (const m of fresh)
			known.set(m.id, m);
		const c = this.conversations.get(id);
		const newest = fresh[0];
		const changed = c && newest && before === 0 && !c.preview ?
			[this.listed.put({ ...c, preview: previewOf(newest), at: Math.max(c.at, newest.at) })] : [];
		this.user.changed();
		await this.disk.write({ messages: fresh, conversations: changed });
	}

	/** Accepts a text, to be sent now or on the next connection. */
	async send(target: Target, text: string): Promise<void>
	{
		// The server refuses NUL and unpaired surrogates.
		const body = new TextDecoder().decode(new TextEncoder().encode(text.replace(/\0/g, '')));
		const unsent: Unsent = { id: uuid7(), target, body, at: Date.now() };

		this.unsent = [...this.unsent, unsent];
		hold(this.me, unsent);
		this.user.changed();
		await this.disk.write({ unsent: [unsent] });
		release(this.me, unsent.id);
		this.kick();
	}

	/** Sends a refused text again, under a new id, because it was never accepted. */
	async again(unsent: Unsent): Promise<void>
	{
		await this.discard(unsent);
		await this.send(unsent.target, unsent.body);
	}

	async discard(unsent: Unsent): Promise<void>
	{
		this.drop(unsent.id);
		this.heir?.discard(unsent.id);
		await this.disk.write({ done: [unsent.id] });
	}

	private drop(id: string): void
	{
		this.unsent = this.unsent.filter((one) => one.id !== id);
		this.user.changed();
	}

	/** Sends ${texts} of a tab that was closed; null: the texts on the disk. */
	private async inherit(texts: Unsent[] | null): Promise<void>
	{
		const all = texts ?? [...(await this.disk.load()).unsent, ...held(this.me)];
		// A text that is stored as a message was accepted.
		const sent = new Set((await this.disk.find(all.map((one) => one.id))).map((m) => m.id));
		const fresh = new Map(all.map(({ delayed, ...one }) => [one.id, one as Unsent]));

		for (const one of this.unsent)
			fresh.delete(one.id);
		for (const id of sent)
			fresh.delete(id);
		if (this.ended || fresh.size === 0)
			return;
		this.unsent = [...this.unsent, ...fresh.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
		this.user.changed();
		await this.disk.write({ unsent: [...fresh.values()] });
		for (const id of fresh.keys())
			release(this.me, id);
		this.kick();
	}

	/** The user has seen all messages up to number ${upto}. */
	read(id: string, upto: number): void
	{
		const c = this.conversations.get(id);
		const mine = c?.members.find((one) => one.address === this.me);

		if (!c || !mine || upto <= mine.read)
			return;
		const here = this.readHere.get(id);
		this.readHere.set(id, { from: here?.upto === mine.read ? here.from : mine.read, upto });
		this.listed.put(withRead(c, this.me, upto, this.known(id).values()));
		this.reads.set(id, upto);
		void this.disk.write({ conversations: [this.conversations.get(id)!] });
		this.tellReads();
		this.user.changed();
	}

	/** The user is typing. */
	type(id: string): void
	{
		const now = Date.now();

		if (now - this.typed < TYPING_EVERY_MS)
			return;
		this.typed = now;
		this.socket.send({ type: 'typing', conversation: id });
	}

	/** Returns the text of message ${id}, or null if it is not known here. */
	textOf(id: string): string | null
	{
		for (const known of this.messages.values()) {
			const m = known.get(id);
			if (m)
				return m.body;
		}
		return null;
	}

	entry(id: string): Promise<Entry>
	{
		return this.api.get<Entry>(`/v1/outbox/${id}`);
	}

	// ---- callbacks of the socket ----

	async hello(): Promise<{ token: string; after: Cursor } | null>
	{
		if (!this.cursor) {
			const page = await this.api.get<{ head: number; oldest: number; epoch: string }>(
				'/v1/inbox?after=0&limit=1').catch((error: unknown) => {
				// The first events are no longer kept.  The 410 problem says where
				// the inbox begins.
				if (error instanceof Refused && error.problem.status === 410)
					return error.problem as unknown as
						{ head: number; oldest: number; epoch: string };
				throw error;
			});
			const seq = Math.max(page.oldest - 1, page.head - REPLAY, 0);
			this.cursor = { epoch: page.epoch, seq, ...(page.head > seq && { old: page.head }) };
		}
		return { token: this.login.token, after: this.cursor };
	}

	welcome(welcome: Welcome): void
	{
		if (!welcome.recovered)
			this.cursor = { ...this.cursor, epoch: welcome.epoch, seq: Math.max(0, welcome.oldest - 1) };
		// The ack of the last connection may be lost, and the next event may come much
		// later.
		if (this.stored?.epoch === welcome.epoch && this.stored.seq > welcome.acked)
			this.socket.send({ type: 'ack', upto: this.stored.seq });
		void this.listed.refresh();
		this.kick();
		this.tellReads();
	}

	linked(link: Link): void
	{
		this.link = link;
		this.user.changed();
	}

	event(event: InboxEvent): void
	{
		if (!this.cursor || event.seq <= this.cursor.seq)
			return;
		this.cursor = { ...this.cursor, seq: event.seq };
		if (!this.batch) {
			this.batch = { messages: [], conversations: [], seq: 0 };
			setTimeout(() => this.flush(), 0);
		}
		this.batch.seq = event.seq;
		this.take(event);
	}

	frame(frame: Frame): void
	{
		if (frame.type === 'typing') {
			const until = Date.now() + TYPING_MS;
			this.typing.set(String(frame['conversation']), { from: String(frame['from']), until });
			setTimeout(() => this.user.changed(), TYPING_MS + 50);
		} else if (frame.type === 'outbox') {
			this.changedEntry(frame['entry'] as Entry);
		} else if (frame.type === 'caught_up') {
			this.loaded = true;
		}
		this.user.changed();
	}

	/**
	 * The database was restored, so the numbers from before are not valid.  Known messages stay
	 * and are marked as stale.  Messages that this browser has sent are sent again by their
	 * ids, so that messages lost in the restore come back.
	 */
	async epochGone(): Promise<void>
	{
		await this.writing;
		const since = Date.now() - RESUBMIT_MS;
		const all = (await this.disk.everything()).map((m) => ({ ...m, stale: true }));
		const again: Unsent[] = all
			.filter((m) => m.sent && m.body !== null && !m.end && m.at > since)
			.map((m) => ({ id: m.id, target: m.sent!, body: m.body!, at: m.at }));

		for (const c of this.conversations.values())
			this.listed.put({ ...c, last: 0, unread: 0, counted: 0, announced: 0,
				...(c.preview && { preview: { ...c.preview, seq: 0 } }),
				members: c.members.map((one) => ({ ...one, delivered: 0, read: 0 })) });
		for (const known of this.messages.values())
			for (const m of known.values())
				known.set(m.id, { ...m, stale: true });
		const queued = new Set(this.unsent.map((one) => one.id));
		this.unsent = [...again.filter((one) => !queued.has(one.id)), ...this.unsent]
			.sort((a, b) => (a.id < b.id ? -1 : 1));
		this.reads.clear();
		this.readHere.clear();
		this.cursor = null;
		await this.disk.write({ messages: all, unsent: again, cursor: null,
			conversations: [...this.conversations.values()] });
		this.user.changed();
	}

	loggedOut(): void
	{
		if (this.leaving)
			return;
		this.end();
		this.user.loggedOut();
	}

	// ---- events ----

	private take(event: InboxEvent): void
	{
		switch (event.kind) {
		case 'message':
			this.takeMessage(event);
			break;
		case 'receipt':
			this.change(event.conversation, (c) =>
				withMark(c, event.by, event.upto, event.state === 'read'));
			this.touch();
			break;
		case 'read':
			this.change(event.conversation, (c) =>
				withRead(c, this.me, event.upto, this.known(c.id).values()));
			break;
		case 'bounce':
			this.changeMessage(event.conversation, event.of, (m) =>
				({ ...m, end: event.state, why: event.reason ?? '' }));
			break;
		default:
			// Ignore kinds that only a newer version of the page knows.
			break;
		}
		this.user.changed();
	}

	private takeMessage(event: InboxEvent & { kind: 'message' }): void
	{
		const id = event.conversation;
		const known = this.messages.get(id);
		const waiting = this.unsent.find((one) => one.id === event.id);
		let fresh = mergeMessage(known?.get(event.id), messageOf(event));

		if (waiting) {
			fresh = { ...fresh, sent: waiting.target };
			this.settle(waiting.id);
		}
		if (!this.conversations.has(id)) {
			this.listed.put(strange(event));
			void this.listed.refresh();
		}
		known?.set(fresh.id, fresh);
		this.batch?.messages.push(fresh);
		const before = this.conversations.get(id)!;
		this.change(id, (c) => withMessage(c, fresh, this.me));
		this.typing.delete(id);
		if (event.seq > (this.cursor?.old ?? 0) &&
		    isNews(fresh, before, this.me, this.readHere.get(id))) {
			this.user.say(`${fresh.from}: ${visible((fresh.body ?? '').slice(0, 200))}`);
			this.user.arrived?.(fresh, before);
		}
	}

	/** Counts a change of an own outbox entry, so that a view of it reads it again. */
	private touch(id = ''): void
	{
		this.entries.set(id, (this.entries.get(id) ?? 0) + 1);
	}

	private changedEntry(entry: Entry): void
	{
		this.touch(entry.id);
		if (entry.state === 'failed' || entry.state === 'expired' || entry.state === 'canceled') {
			const end = entry.state;
			this.changeMessage(entry.conversation, entry.id, (m) =>
				({ ...m, end, why: entry.last_error ?? '' }));
		}
	}

	private accepted(unsent: Unsent, entry: Entry): void
	{
		const id = entry.conversation;
		const known = this.known(id);
		// The message's own event may have come first.
		const message = mergeMessage(known.get(entry.id), {
			id: entry.id, conversation: id, seq: null, from: this.me, own: true,
			body: unsent.body, at: Date.parse(entry.created_at), sent: unsent.target,
		});

		known.set(message.id, message);
		if (!this.conversations.has(id))
			void this.listed.refresh();
		this.settle(unsent.id);
		void this.disk.find([entry.id]).then(([kept]) =>
			this.disk.write({ messages: [mergeMessage(kept, message)] }));
		this.user.changed();
	}

	private delayed(unsent: Unsent, why: string): void
	{
		this.unsent = this.unsent.map((one) => one.id === unsent.id ? { ...one, delayed: why } : one);
		this.user.changed();
	}

	private refused(unsent: Unsent, why: string): void
	{
		const marked = { ...unsent, refused: why };

		this.unsent = this.unsent.map((one) => one.id === unsent.id ? marked : one);
		void this.disk.write({ unsent: [marked] });
		this.user.say(`Not sent: ${why}`);
		this.user.changed();
	}

	private settle(id: string): void
	{
		this.unsent = this.unsent.filter((one) => one.id !== id);
		void this.disk.write({ done: [id] });
	}

	// ---- server and disk ----

	/** Writes the events of the batch, then acks them. */
	private flush(): void
	{
		const batch = this.batch;
		const cursor = this.cursor;

		this.batch = null;
		if (!batch || !cursor || this.ended)
			return;
		this.writing = this.writing.then(async () => {
			// The stored message may have more than the event: its target, and the
			// number before it.
			const kept = new Map((await this.disk.find(
				batch.messages.map((m) => m.id)).catch(() => [])).map((m) => [m.id, m]));
			const behind = { ...cursor, seq: batch.seq };
			await this.disk.write({
				messages: batch.messages.map((m) => mergeMessage(kept.get(m.id), m)),
				conversations: [...new Set(batch.conversations.map((one) => one.id))]
					.map((id) => this.conversations.get(id)!),
				cursor: behind,
			});
			this.stored = behind;
			this.socket.send({ type: 'ack', upto: batch.seq });
		});
	}

	private async refreshed(all: Conversation[]): Promise<void>
	{
		this.loaded = true;
		this.user.changed();
		await this.disk.write({ conversations: all });
	}

	private kick(): void
	{
		if (this.socket.live)
			void this.sender.kick();
	}

	private tellReads(): void
	{
		if (!this.socket.live)
			return;
		for (const [conversation, upto] of this.reads) {
			this.socket.request('read', { conversation, upto_conversation_seq: upto })
				.then((reply) => {
					if (reply.type === 'ok' && this.reads.get(conversation) === upto)
						this.reads.delete(conversation);
				}).catch(() => undefined);
		}
	}

	private known(id: string): History
	{
		let known = this.messages.get(id);

		if (!known)
			this.messages.set(id, known = new History());
		return known;
	}

	private change(id: string, how: (c: Conversation) => Conversation): void
	{
		const changed = this.listed.change(id, how);

		if (changed)
			this.batch?.conversations.push(changed);
	}

	private changeMessage(conversation: string, id: string, how: (m: Message) => Message): void
	{
		const known = this.messages.get(conversation);
		const m = known?.get(id);

		if (m)
			known!.set(id, how(m));
		void this.disk.find([id]).then(([kept]) =>
			kept && this.disk.write({ messages: [how(kept)] }));
	}
}

/** Returns a conversation of which only its first event is known. */
function strange(event: InboxEvent & { kind: 'message' }): Conversation
{
	const names = [...new Set([event.from, ...(event.to === null ? [] : [event.to])])];

	return {
		id: event.conversation, kind: event.to === null ? 'group' : 'direct', last: 0, unread: 0,
		at: 0, members: names.map((address) => ({ address, delivered: 0, read: 0 })),
	};
}
