// SPDX-License-Identifier: MIT
// The chat page's client: conversations and messages as they are known, kept in
// step with the server by the inbox's events, and with the disk.
//
// Order of things: an event changes what is shown at once; it is written to
// the disk with the cursor behind it; then it is acked.  So an ack never
// promises what a reload would not find.

import { Api, Refused } from './api.ts';
import { Conversations } from './conversations.ts';
import { held, hold, release } from './data.ts';
import { Disk, type Batch } from './disk.ts';
import { Heir } from './heir.ts';
import { History, type Shown } from './history.ts';
import {
	isFor, isNews, mergeMessage, messageOf, previewOf, tickOf, withMark, withMessage, withRead,
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

const REPLAY = 2_000;    // events that a new browser goes through
const KEPT_SHOWN = 200;  // messages taken from the disk at once
const PAGE = 50;
const TYPING_MS = 6_000;
const TYPING_EVERY_MS = 3_000;
const RESUBMIT_MS = 14 * 86_400_000; // as long as ids are surely remembered
const NOTHING: Shown = { shown: [], before: 0 };

export interface ChatListener {
	/** Something that is shown has changed. */
	changed(): void;
	/** The server does not know the token any more. */
	loggedOut(): void;
	/** Words for those who do not see the page. */
	say(words: string): void;
	/** A message of somebody else has come in ${conversation}. */
	arrived?(message: Message, conversation: Conversation): void;
}

/** What an item of the list or the address bar stands for. */
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
	entries = new Map<string, number>(); // how often an entry has changed

	private readonly user: ChatListener;
	private readonly listed: Conversations;
	private readonly socket: Socket;
	private readonly sender: Sender;
	private heir: Heir | undefined; // from start() on
	private disk!: Disk; // from start() on
	private cursor: Cursor | null = null;
	private stored: Cursor | null = null; // as it is on the disk
	private messages = new Map<string, History>();
	private opened = new Set<string>(); // conversations whose messages were read from the disk
	private batch: Required<Pick<Batch, 'messages' | 'conversations'>> & { seq: number } | null = null;
	private writing: Promise<void> = Promise.resolve();
	private reads = new Map<string, number>(); // said by me, not yet confirmed
	private typed = 0;
	private ended = false;
	private leaving = false; // by logOut()

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
		// What a page could not put there any more; it had no answer for it.
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
		}, () => undefined); // what a server allows by default will do
	}

	/** Ends it; what is kept stays for the next time. */
	end(): void
	{
		this.ended = true;
		this.heir?.end();
		this.socket.end();
		this.sender.end();
		this.disk?.close();
	}

	/** Revokes the token, or all of this account, and forgets everything here. */
	async logOut(everywhere = false): Promise<void>
	{
		// The socket may hear of it before the answer is here.
		this.leaving = true;
		try {
			await this.api.delete(everywhere ? '/v1/tokens?all=true' :
				`/v1/tokens/${this.login.device.id}`);
		} catch (error) {
			const status = error instanceof Refused ? error.problem.status : 0;
			this.leaving = false;
			// A token that the server does not know any more is revoked already,
			// but it has revoked no other.
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

	/** Whether what is written here outlives the page. */
	get lasting(): boolean
	{
		return (this.disk as Disk | undefined)?.lasting ?? true;
	}

	// ---- what is shown ----

	get conversations(): ReadonlyMap<string, Conversation>
	{
		return this.listed.all;
	}

	/** Conversations, the last written to first. */
	list(): Conversation[]
	{
		return this.listed.list();
	}

	/** Names of new conversations whose first message is still unsent. */
	newNames(): string[]
	{
		return this.listed.newNames();
	}

	get unread(): number
	{
		return this.listed.unread;
	}

	/** The direct conversation with ${name}. */
	withPerson(name: string): Conversation | undefined
	{
		return this.listed.withPerson(name);
	}

	/** What can be shown of a conversation; the same object until that changes. */
	shown(conversation: string): Shown
	{
		return this.messages.get(conversation)?.shown ?? NOTHING;
	}

	/** What is unsent there, without what has arrived by another way. */
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

	// ---- what a person does ----

	/** Opens a conversation: from the disk at once, then what is newer. */
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

	/** Asks for messages before number ${before}; 0: for the newest. */
	async older(id: string, before: number): Promise<void>
	{
		const page = await this.api.get<{ messages: ServerMessage[]; has_more: boolean }>(
			`/v1/conversations/${id}/messages?limit=${PAGE}${before > 0 ? `&before=${before}` : ''}`);
		const known = this.known(id);
		const fresh: Message[] = [];
		const seqOf = (at: number) => page.messages[at]?.conversation_seq ?? 0;

		// What stands before: the next of the page; nothing, at its end.
		page.messages.forEach((m, at) => {
			const last = at === page.messages.length - 1;
			const prev = !last ? seqOf(at + 1) : page.has_more ? undefined : 0;
			fresh.push(mergeMessage(known.get(m.id), messageOf(m, prev)));
		});
		// And what was shown last stands right behind this page.
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

	/** Takes a text to be sent, now or when there is a connection. */
	async send(target: Target, text: string): Promise<void>
	{
		// NUL and half characters are no text; the server would refuse them.
		const body = new TextDecoder().decode(new TextEncoder().encode(text.replace(/\0/g, '')));
		const unsent: Unsent = { id: uuid7(), target, body, at: Date.now() };

		this.unsent = [...this.unsent, unsent];
		hold(this.me, unsent);
		this.user.changed();
		await this.disk.write({ unsent: [unsent] });
		release(this.me, unsent.id);
		this.kick();
	}

	/** Tries a refused one again.  It was never accepted: it gets a new id. */
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

	/** Sends ${texts} of a tab that was closed; null: those that are kept. */
	private async inherit(texts: Unsent[] | null): Promise<void>
	{
		const all = texts ?? [...(await this.disk.load()).unsent, ...held(this.me)];
		// What is a message by now was accepted.
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

	/** A person has seen everything up to number ${upto}. */
	read(id: string, upto: number): void
	{
		const c = this.conversations.get(id);
		const mine = c?.members.find((one) => one.address === this.me);

		if (!c || !mine || upto <= mine.read)
			return;
		this.listed.put(withRead(c, this.me, upto, this.known(id).values()));
		this.reads.set(id, upto);
		void this.disk.write({ conversations: [this.conversations.get(id)!] });
		this.tellReads();
		this.user.changed();
	}

	/** I am typing. */
	type(id: string): void
	{
		const now = Date.now();

		if (now - this.typed < TYPING_EVERY_MS)
			return;
		this.typed = now;
		this.socket.send({ type: 'typing', conversation: id });
	}

	/** The text of message ${id}, if it is known here. */
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

	// ---- the socket's user ----

	async hello(): Promise<{ token: string; after: Cursor } | null>
	{
		if (!this.cursor) {
			const page = await this.api.get<{ head: number; oldest: number; epoch: string }>(
				'/v1/inbox?after=0&limit=1').catch((error: unknown) => {
				// The beginning is not there any more: 410 tells what is.
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
		// An ack is lost with its connection, and the next event may be far away.
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
	 * The database was restored: numbers of before mean nothing now.  What is
	 * kept stays, marked; what this browser sent is sent again by its ids, so
	 * that what the restore lost comes back.
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

	// ---- news ----

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
			// Edits and members come with a version that knows them.
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
		if (event.seq > (this.cursor?.old ?? 0) && isNews(fresh, before, this.me)) {
			this.user.say(`${fresh.from}: ${visible((fresh.body ?? '').slice(0, 200))}`);
			this.user.arrived?.(fresh, before);
		}
	}

	/** An entry of mine that may be looked at has changed. */
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
		// Its own event may have been faster.
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

	// ---- in step with server and disk ----

	/** Writes what came, then acks it. */
	private flush(): void
	{
		const batch = this.batch;
		const cursor = this.cursor;

		this.batch = null;
		if (!batch || !cursor || this.ended)
			return;
		this.writing = this.writing.then(async () => {
			// What is kept may know more than the event: who sent it, what stands
			// before it.
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

/** A conversation of which nothing is known but its first event. */
function strange(event: InboxEvent & { kind: 'message' }): Conversation
{
	const names = [...new Set([event.from, ...(event.to === null ? [] : [event.to])])];

	return {
		id: event.conversation, kind: event.to === null ? 'group' : 'direct', last: 0, unread: 0,
		at: 0, members: names.map((address) => ({ address, delivered: 0, read: 0 })),
	};
}
