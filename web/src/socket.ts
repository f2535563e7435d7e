// SPDX-License-Identifier: MIT
// The WebSocket of this page.  It sends the hello, keeps the connection alive (ping frames, because
// a browser hides the protocol's own pings, detect a dead connection), and reconnects after its end
// as the close code says.  It reconnects at once when the machine wakes up or is back in a network.
// It handles frames without interpreting them.

import { delay, reason, verdict } from './backoff.ts';
import type { Cursor, InboxEvent, Problem } from './types.ts';

export type Link =
	| { state: 'connecting' }
	| { state: 'live' }
	| { state: 'waiting'; until: number } // ms since 1970
	| { state: 'offline' }                // the browser reports that there is no network
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
	/** Returns the hello; null: not yet, the page still determines where to begin. */
	hello(): Promise<{ token: string; after: Cursor } | null>;
	welcome(welcome: Welcome): void;
	event(event: InboxEvent): void;
	/** Any other frame that is not a reply. */
	frame(frame: Frame): void;
	linked(link: Link): void;
	/** The database has another epoch than the cursor. */
	epochGone(): Promise<void>;
	/** The token is no longer valid. */
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
	/** One for each open page: tabs of a device do not replace each other's sessions. */
	private readonly instance = crypto.getRandomValues(new Uint32Array(3)).join('-');
	private ws: WebSocket | null = null;
	private waiting = new Map<number, Waiting>();
	private lastId = 0;
	private attempt = 0;
	private pause = 0; // shortest wait that the server asked for, once
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

	/** Ends the socket for good. */
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

	/** Connects now, without waiting for the back-off. */
	connect(): void
	{
		if (this.ended || this.ws || this.opening)
			return;
		clearTimeout(this.timer);
		this.tell({ state: 'connecting' });
		this.opening = true;
		void this.open().finally(() => { this.opening = false; });
	}

	/** Sends a frame that has no reply.  Returns false if the socket is not connected. */
	send(frame: object): boolean
	{
		if (!this.live || this.ws?.readyState !== WebSocket.OPEN)
			return false;
		this.ws.send(JSON.stringify(frame));
		return true;
	}

	/**
	 * Sends a request and returns its reply; fails with SocketClosed if the reply is not known.
	 * A request before the welcome is not sent, because the server would close the connection
	 * with 4400.
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

	// ---- the connection ----

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
			// Only a connection that lasts resets the back-off.
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

	/** Drops the connection.  The outcome of requests without a reply is not known. */
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

	/** Reconnects after the back-off. */
	private later(code: number): void
	{
		const ms = code === 4410 && this.attempt === 0 ? 0 :
			this.pause * (0.5 + Math.random()) + delay(this.attempt);

		if (this.ended)
			return;
		this.pause = 0;
		this.attempt++;
		// Without a network it reconnects as well: the server may be on this machine.
		this.tell(navigator.onLine ? { state: 'waiting', until: Date.now() + ms } :
			{ state: 'offline' });
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.connect(), ms);
	}

	/** The network is back, or the page is visible again. */
	private wake = (): void => {
		if (this.ended || document.visibilityState === 'hidden')
			return;
		if (this.ws && this.live)
			this.probe(PONG_MS / 2);
		else if (this.link.state === 'waiting' || this.link.state === 'offline')
			this.connect();
	};

	/** The browser has lost its network.  A server on this machine can still be reached. */
	private lost = (): void => {
		if (this.ws && this.live)
			this.probe(LOST_MS);
	};

	// ---- keep-alive ----

	/** Something arrived: restarts the timer of the next ping. */
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
