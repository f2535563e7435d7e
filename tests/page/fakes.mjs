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

	/**
	 * Lets ${ms} milliseconds pass.  Timers fire one after the other, each
	 * at its time.
	 */
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
		this.frames = []; // the frames that the page has sent
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

	/** Completes the handshake. */
	opened()
	{
		this.readyState = FakeWebSocket.OPEN;
		this.onopen?.();
	}

	/** Sends ${frame} to the page. */
	say(frame)
	{
		this.onmessage?.({ data: JSON.stringify(frame) });
	}

	/** Ends the connection with ${code}. */
	ends(code)
	{
		this.readyState = FakeWebSocket.CLOSED;
		this.onclose?.({ code });
	}

	/** Returns the frames of ${type} that the page has sent. */
	sent(type)
	{
		return this.frames.filter((one) => one.type === type);
	}

	/** Returns the frames that the page has sent since the last call. */
	fresh()
	{
		return this.frames.slice(this.lastRead, this.lastRead = this.frames.length);
	}
}

/**
 * A BroadcastChannel: the tabs of a browser send each other messages.  A tab
 * does not receive its own.
 */
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

/** An EventTarget that counts its listeners. */
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

/** localStorage.  Each key is a property, so a test can read what is stored. */
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
 * An in-memory version of Disk. hold() makes writes wait until letGo().
 * `broken` is an error with which writes end.  The members contain only what
 * has been written.
 */
export class FakeDisk {
	lasting = true;
	broken = null;
	cursor = null;

	constructor()
	{
		this.kept = { messages: new Map(), conversations: new Map(), unsent: new Map() };
		this.cursors = []; // all cursors that were written, in order
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
 * Puts a browser into this process until test ${t} ends.  Members: clock;
 * random (the value of Math.random); sockets (all that were made); storage;
 * requests (REST, in order); answers; page and document (their events);
 * navigator.  `answers` maps "METHOD /path", without the query, to a function
 * of the URL.  It returns [status, body], or null for no answer at all, or a
 * promise of either.  A body that is a string is sent unchanged.
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

	/** The newest connection of the page. */
	get socket()
	{
		return this.sockets[this.sockets.length - 1];
	}

	/** Returns the number of requests ${what}. */
	asked(what)
	{
		return this.requests.filter((one) => one.what === what).length;
	}

	/**
	 * Dispatches an event of the page: online, offline, pageshow or
	 * pagehide.
	 */
	happens(name)
	{
		this.page.dispatchEvent(new Event(name));
	}

	/** The number of listeners that the page has added. */
	get listeners()
	{
		return this.page.listeners + this.document.listeners;
	}

	/** Makes the page visible or hidden. */
	seen(state)
	{
		this.document.visibilityState = state;
		this.document.dispatchEvent(new Event('visibilitychange'));
	}
}
