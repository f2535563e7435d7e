// SPDX-License-Identifier: MIT
// The WebSocket of this page: says hello, is pinged (a browser hides the
// protocol's own pings, so dead connections are found by ping frames), comes
// back after its end as the close code says, at once when the machine wakes
// or finds its network again.  It knows frames, not what they mean.

import { delay, reason, verdict } from './backoff.ts';
import type { Cursor, InboxEvent, Problem } from './types.ts';

export type Link =
	| { state: 'connecting' }
	| { state: 'live' }
	| { state: 'waiting'; until: number } // epoch milliseconds
	| { state: 'offline' }                // the browser says: no network
	| { state: 'stopped'; why: string };

export interface Welcome {
	epoch: string;
	head: number;
	oldest: number;
	acked: number; // by this device
	recovered: boolean;
}

export interface Frame {
	type: string;
	re?: number;
	problem?: Problem;
	[more: string]: unknown;
}

export interface SocketUser {
	/** How to say hello; null: not yet (the page finds out where to begin). */
	hello(): Promise<{ token: string; after: Cursor } | null>;
	welcome(welcome: Welcome): void;
	event(event: InboxEvent): void;
	/** Any other push. */
	frame(frame: Frame): void;
	linked(link: Link): void;
	/** The cursor is of another database. */
	epochGone(): Promise<void>;
	/** The token is no good any more. */
	loggedOut(): void;
}

const HELLO_MS = 15_000;
const PING_EVERY_MS = 25_000;
const PONG_MS = 10_000;
const LOST_MS = 1_500;
const STEADY_MS = 10_000;

export class SocketClosed extends Error {}

interface Waiting {
	resolve(frame: Frame): void;
	reject(error: Error): void;
}

export class Socket {
	link: Link = { state: 'connecting' };

	private readonly user: SocketUser;
	/** One for each page that is open: tabs of a device do not replace each other. */
	private readonly instance = crypto.getRandomValues(new Uint32Array(3)).join('-');
	private ws: WebSocket | null = null;
	private waiting = new Map<number, Waiting>();
	private lastId = 0;
	private attempt = 0;
	private pause = 0; // the server asked for at least that, once
	private timer: ReturnType<typeof setTimeout> | undefined;
	private alive: ReturnType<typeof setTimeout> | undefined;
	private steady: ReturnType<typeof setTimeout> | undefined;
	private opening = false;
	private ended = false;

	constructor(user: SocketUser)
	{
		this.user = user;
		addEventListener('online', this.wake);
		addEventListener('offline', this.lost);
		addEventListener('pageshow', this.wake);
		document.addEventListener('visibilitychange', this.wake);
	}

	get live(): boolean
	{
		return this.link.state === 'live';
	}

	/** For good. */
	end(): void
	{
		this.ended = true;
		removeEventListener('online', this.wake);
		removeEventListener('offline', this.lost);
		removeEventListener('pageshow', this.wake);
		document.removeEventListener('visibilitychange', this.wake);
		this.drop();
		clearTimeout(this.timer);
	}

	/** Connects now, whatever was being waited for. */
	connect(): void
	{
		if (this.ended || this.ws || this.opening)
			return;
		clearTimeout(this.timer);
		this.tell({ state: 'connecting' });
		this.opening = true;
		void this.open().finally(() => { this.opening = false; });
	}

	/** Sends a frame that wants no reply; false: not connected. */
	send(frame: object): boolean
	{
		if (!this.live || this.ws?.readyState !== WebSocket.OPEN)
			return false;
		this.ws.send(JSON.stringify(frame));
		return true;
	}

	/**
	 * Sends a request; its reply, or SocketClosed when it is not known.  The
	 * server closes a connection with 4400 that asks before its welcome.
	 */
	request(type: string, members: object): Promise<Frame>
	{
		return this.live ? this.exchange(type, members) : Promise.reject(new SocketClosed());
	}

	private exchange(type: string, members: object): Promise<Frame>
	{
		const ws = this.ws;
		const id = ++this.lastId;

		if (!ws || ws.readyState !== WebSocket.OPEN)
			return Promise.reject(new SocketClosed());
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			ws.send(JSON.stringify({ type, id, ...members }));
		});
	}

	// ---- its life ----

	private async open(): Promise<void>
	{
		const where = new URL('/v1/ws', location.href);
		let hello: { token: string; after: Cursor } | null;

		try {
			hello = await this.user.hello();
		} catch {
			hello = null;
		}
		if (this.ended)
			return;
		if (!hello) {
			this.later(1006);
			return;
		}
		where.protocol = where.protocol === 'https:' ? 'wss:' : 'ws:';
		const ws = new WebSocket(where, 'twinbox.v1');
		this.ws = ws;
		this.expect(HELLO_MS);
		ws.onopen = () => {
			const { token, after } = hello!;
			this.exchange('hello', {
				token, instance: this.instance, outbox: true,
				after: `${after.epoch}:${after.seq}`,
			}).catch(() => undefined);
		};
		ws.onmessage = (message) => {
			if (this.ws === ws)
				this.came(String(message.data));
		};
		ws.onclose = (close) => {
			if (this.ws === ws)
				this.gone(close.code);
		};
	}

	private came(text: string): void
	{
		const frame = JSON.parse(text) as Frame;

		this.rest();
		if (frame.type === 'welcome') {
			this.tell({ state: 'live' });
			// Only who stays is forgiven earlier failures.
			this.steady = setTimeout(() => { this.attempt = 0; }, STEADY_MS);
			this.user.welcome(frame as unknown as Welcome);
		}
		if (frame.re !== undefined) {
			const one = this.waiting.get(frame.re);
			this.waiting.delete(frame.re);
			one?.resolve(frame);
		} else if (frame.type === 'event') {
			this.user.event(frame as unknown as InboxEvent);
		} else if (frame.type === 'reconnect') {
			this.pause = Number(frame['after_ms']) || 0;
		} else {
			this.user.frame(frame);
		}
	}

	/** Forgets the connection; requests without a reply are in doubt. */
	private drop(): void
	{
		const ws = this.ws;

		this.ws = null;
		clearTimeout(this.alive);
		clearTimeout(this.steady);
		for (const one of this.waiting.values())
			one.reject(new SocketClosed());
		this.waiting.clear();
		if (ws) {
			ws.onopen = ws.onmessage = ws.onclose = null;
			ws.close(1000);
		}
	}

	private gone(code: number): void
	{
		this.drop();
		switch (verdict(code)) {
		case 'retry':
			this.later(code);
			break;
		case 'epoch':
			void this.user.epochGone().then(() => this.later(code));
			break;
		case 'login':
			this.tell({ state: 'stopped', why: 'Logged out.' });
			this.user.loggedOut();
			break;
		case 'stop':
			this.tell({ state: 'stopped', why: reason(code) });
			break;
		}
	}

	/** Tries again after a while. */
	private later(code: number): void
	{
		const ms = code === 4410 && this.attempt === 0 ? 0 :
			this.pause * (0.5 + Math.random()) + delay(this.attempt);

		if (this.ended)
			return;
		this.pause = 0;
		this.attempt++;
		// Without network it is tried as well: the server may be on this machine.
		this.tell(navigator.onLine ? { state: 'waiting', until: Date.now() + ms } :
			{ state: 'offline' });
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.connect(), ms);
	}

	/** The network is there again, or the page is looked at again. */
	private wake = (): void => {
		if (this.ended || document.visibilityState === 'hidden')
			return;
		if (this.ws && this.live)
			this.probe(PONG_MS / 2);
		else if (this.link.state === 'waiting' || this.link.state === 'offline')
			this.connect();
	};

	/** The browser has lost its network; a server on this machine is still there. */
	private lost = (): void => {
		if (this.ws && this.live)
			this.probe(LOST_MS);
	};

	// ---- is anybody there? ----

	/** Something came: all is well for a while. */
	private rest(): void
	{
		clearTimeout(this.alive);
		this.alive = setTimeout(() => this.probe(PONG_MS), PING_EVERY_MS);
	}

	private probe(patience: number): void
	{
		this.send({ type: 'ping' });
		this.expect(patience);
	}

	private expect(patience: number): void
	{
		clearTimeout(this.alive);
		this.alive = setTimeout(() => this.gone(1006), patience);
	}

	private tell(link: Link): void
	{
		this.link = link;
		this.user.linked(link);
	}
}
