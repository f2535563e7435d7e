// SPDX-License-Identifier: MIT
//
// A browser and a server for the page's modules in node: a clock that stands
// still until a test moves it, WebSockets and REST that a test answers, a disk
// that a test holds back or breaks, and localStorage.
//
// A fake answers in microtasks only.  After turn() everything that can happen
// without the clock has therefore happened.

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';

const immediate = setImmediate;

/** Lets everything happen that does not wait for the clock. */
export const turn = () => new Promise((resolve) => { immediate(resolve); });

/** Timers that fire only in pass(). */
export class FakeClock {
	constructor(now)
	{
		this.now = now;
		this.timers = new Map();
		this.last = 0;
	}

	setTimeout = (run, ms = 0) => {
		this.timers.set(++this.last, { at: this.now + ms, run });
		return this.last;
	};

	clearTimeout = (id) => {
		this.timers.delete(id);
	};

	/** Lets ${ms} pass; timers fire one after the other, each at its time. */
	async pass(ms)
	{
		const end = this.now + ms;

		for (;;) {
			await turn();
			const [next] = [...this.timers].filter(([, one]) => one.at <= end)
				.sort(([a, one], [b, other]) => one.at - other.at || a - b);
			if (!next)
				break;
			const [id, { at, run }] = next;
			this.now = Math.max(this.now, at);
			this.timers.delete(id);
			run();
		}
		this.now = end;
	}
}

/** The server's end of a WebSocket, and the WebSocket. */
export class FakeWebSocket {
	static CONNECTING = 0;
	static OPEN = 1;
	static CLOSED = 3;

	constructor(url, protocol)
	{
		this.url = String(url);
		this.protocol = protocol;
		this.readyState = FakeWebSocket.CONNECTING;
		this.frames = []; // what the page has sent
		this.lastRead = 0;
	}

	send(text)
	{
		assert.equal(this.readyState, FakeWebSocket.OPEN, 'the page sends only while it is open');
		this.frames.push(JSON.parse(text));
	}

	close(code)
	{
		this.readyState = FakeWebSocket.CLOSED;
		this.closed = code;
	}

	/** The handshake is done. */
	opened()
	{
		this.readyState = FakeWebSocket.OPEN;
		this.onopen?.();
	}

	/** The server sends ${frame}. */
	say(frame)
	{
		this.onmessage?.({ data: JSON.stringify(frame) });
	}

	/** The connection ends with ${code}. */
	ends(code)
	{
		this.readyState = FakeWebSocket.CLOSED;
		this.onclose?.({ code });
	}

	/** What the page has sent of ${type}. */
	sent(type)
	{
		return this.frames.filter((one) => one.type === type);
	}

	/** What the page has sent since this was last asked. */
	fresh()
	{
		return this.frames.slice(this.lastRead, this.lastRead = this.frames.length);
	}
}

/** What the tabs of a browser say to each other; a tab does not hear itself. */
class FakeChannel {
	static all = new Set();

	constructor(name)
	{
		this.name = name;
		FakeChannel.all.add(this);
	}

	postMessage(data)
	{
		for (const one of FakeChannel.all)
			if (one !== this && one.name === this.name)
				queueMicrotask(() => one.onmessage?.({ data: structuredClone(data) }));
	}

	close()
	{
		FakeChannel.all.delete(this);
		this.onmessage = null;
	}
}

/** Exclusive Web Locks. */
export class FakeLocks {
	queues = new Map();

	async request(name, { signal }, run)
	{
		const queue = this.queues.get(name) ?? [];
		const turnOf = (entry) => queue[0] === entry && entry.go();
		const entry = {};
		const mine = new Promise((resolve) => { entry.go = resolve; });

		this.queues.set(name, queue);
		queue.push(entry);
		signal.addEventListener('abort', () => !entry.held && queue.splice(queue.indexOf(entry), 1));
		turnOf(entry);
		await mine;
		entry.held = true;
		await run();
		queue.shift();
		if (queue.length > 0)
			turnOf(queue[0]);
	}
}

/** Something that has events, and knows how many listeners there are. */
class FakeTarget extends EventTarget {
	listeners = 0;

	addEventListener(...args)
	{
		this.listeners++;
		super.addEventListener(...args);
	}

	removeEventListener(...args)
	{
		this.listeners--;
		super.removeEventListener(...args);
	}
}

/** localStorage, of which a test sees what is kept: each key is a property. */
class FakeStorage {
	getItem(key)
	{
		return Object.hasOwn(this, key) ? this[key] : null;
	}

	setItem(key, value)
	{
		this[key] = String(value);
	}

	removeItem(key)
	{
		delete this[key];
	}
}

/**
 * What Disk does, in memory.  hold() makes writes wait until letGo(); `broken`
 * is an error that writes end with.  What is here has been written.
 */
export class FakeDisk {
	lasting = true;
	broken = null;
	cursor = null;

	constructor()
	{
		this.kept = { messages: new Map(), conversations: new Map(), unsent: new Map() };
		this.cursors = []; // that were written, in order
		this.gate = null;
	}

	hold()
	{
		this.gate = {};
		this.gate.open = new Promise((resolve) => { this.gate.letGo = resolve; });
	}

	letGo()
	{
		this.gate.letGo();
		this.gate = null;
	}

	async load()
	{
		return structuredClone({ conversations: [...this.kept.conversations.values()],
			unsent: [...this.kept.unsent.values()], cursor: this.cursor });
	}

	async messages(conversation, limit)
	{
		return structuredClone([...this.kept.messages.values()]
			.filter((one) => one.conversation === conversation)
			.sort((a, b) => b.at - a.at).slice(0, limit));
	}

	async find(ids)
	{
		return structuredClone(ids.map((id) => this.kept.messages.get(id))
			.filter((one) => one !== undefined));
	}

	async everything()
	{
		return structuredClone([...this.kept.messages.values()]);
	}

	async write(batch)
	{
		const { cursor, done, ...stores } = structuredClone(batch);

		await this.gate?.open;
		if (this.broken)
			throw this.broken;
		for (const [name, list] of Object.entries(stores))
			for (const one of list)
				this.kept[name].set(one.id, one);
		for (const id of done ?? [])
			this.kept.unsent.delete(id);
		if (cursor !== undefined) {
			this.cursor = cursor;
			this.cursors.push(cursor);
		}
	}

	close()
	{
		this.closed = true;
	}

	async erase()
	{
		this.erased = true;
	}
}

/**
 * Puts a browser into this process until test ${t} ends.  Members: clock,
 * random (what Math.random returns), sockets (all that were made), storage,
 * requests (REST, in order), answers ("METHOD /path" without the query: a
 * function of the URL that returns [status, body], null for no answer at all,
 * or a promise of either; a body that is a string is sent as it is), page and
 * document (their events), navigator.
 */
export class Browser {
	static NOW = Date.UTC(2026, 4, 20, 12);

	constructor(t)
	{
		const browser = this;

		this.clock = new FakeClock(Browser.NOW);
		this.random = 0.5;
		this.sockets = [];
		this.storage = new FakeStorage();
		this.requests = [];
		this.answers = {};
		this.page = new FakeTarget();
		this.document = Object.assign(new FakeTarget(), { visibilityState: 'visible' });
		this.navigator = { onLine: true, userAgent: 'node' };
		this.undo = [];
		this.put(globalThis, {
			crypto: webcrypto,
			setTimeout: this.clock.setTimeout, clearTimeout: this.clock.clearTimeout,
			addEventListener: this.page.addEventListener.bind(this.page),
			removeEventListener: this.page.removeEventListener.bind(this.page),
			document: this.document, navigator: this.navigator, localStorage: this.storage,
			location: { href: 'http://twinbox.example:8080/?x#to/bob' },
			fetch: (path, init) => this.fetch(path, init),
			BroadcastChannel: FakeChannel,
			WebSocket: class extends FakeWebSocket {
				constructor(...args)
				{
					super(...args);
					browser.sockets.push(this);
				}
			},
		});
		this.put(Date, { now: () => this.clock.now });
		this.put(Math, { random: () => this.random });
		t.after(() => this.undo.reverse().forEach((one) => one()));
	}

	/** Calls ${end} when the test ends, while the browser is still there. */
	atEnd(end)
	{
		this.undo.push(end);
	}

	/** Gives ${object} the properties ${values} until the test ends. */
	put(object, values)
	{
		for (const [name, value] of Object.entries(values)) {
			const was = Object.getOwnPropertyDescriptor(object, name);
			Object.defineProperty(object, name,
				{ value, configurable: true, writable: true, enumerable: was?.enumerable ?? true });
			this.undo.push(() => was ? Object.defineProperty(object, name, was) : delete object[name]);
		}
	}

	async fetch(path, { method = 'GET', signal, headers, body, cache, credentials })
	{
		const url = new URL(path, location.href);
		const what = `${method} ${url.pathname}`;
		const answer = this.answers[what];

		this.requests.push({ what, query: url.search, authorization: headers.Authorization,
			accept: headers.Accept, type: headers['Content-Type'], cache, credentials,
			json: body && JSON.parse(body) });
		assert.ok(answer, `an answer to ${what}`);
		const [status, json] = await answer(url) ??
			await new Promise((_resolve, reject) => {
				signal.addEventListener('abort', () => reject(signal.reason));
			});
		const text = typeof json === 'string' ? json : JSON.stringify(json);
		return { ok: status < 300, status, text: async () => text, blob: async () => new Blob([text]) };
	}

	/** The connection that the page made last. */
	get socket()
	{
		return this.sockets[this.sockets.length - 1];
	}

	/** How many requests ${what} there were. */
	asked(what)
	{
		return this.requests.filter((one) => one.what === what).length;
	}

	/** Something happens to the page: online, offline, pageshow or pagehide. */
	happens(name)
	{
		this.page.dispatchEvent(new Event(name));
	}

	/** How many listeners to its events the page has. */
	get listeners()
	{
		return this.page.listeners + this.document.listeners;
	}

	/** The page is looked at, or not any more. */
	seen(state)
	{
		this.document.visibilityState = state;
		this.document.dispatchEvent(new Event('visibilitychange'));
	}
}
