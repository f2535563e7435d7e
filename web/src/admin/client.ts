// SPDX-License-Identifier: MIT
// The admin page's client of /v1/admin.  It polls every two seconds while the page is visible.
// /v1/admin/stats is the heartbeat: while it fails, nothing else is polled, and its interval
// doubles.  Each view watches the paths that it shows.  A refusal of one path affects only that
// view.

import { Api, Refused, Unreachable } from '../api.ts';
import { sentence } from '../time.ts';
import { History } from './history.ts';
import type { Stats } from './types.ts';

const EVERY_MS = 2_000;
const CAP_MS = 30_000;
const SLOW_MS = 4_000;
const HEARTBEAT = '/v1/admin/stats';

export type Link =
	| { state: 'connecting' | 'live' | 'hidden' }
	| { state: 'slow'; since: number }
	| { state: 'waiting'; until: number; why: string };

/** The user of the page: not known yet; nobody (show the log-in); a user who is not an
 * administrator; an administrator. */
export type Stage = 'unknown' | 'login' | 'denied' | 'admin';

/** A path that is polled. */
export interface Watch {
	path: string;
	data: unknown;
	error: string;  // why the last poll failed; '': it did not
	failures: number;
	polling: boolean;
	timer: ReturnType<typeof setTimeout> | undefined;
	ended: boolean;
}

export class AdminApi extends Api {
	/** Returns the file at ${path}, of any length. */
	async file(path: string): Promise<Blob>
	{
		const answer = await fetch(path, { headers: { Authorization: `Bearer ${this.token}` },
			cache: 'no-store', credentials: 'omit' }).catch(() => { throw new Unreachable(); });

		if (!answer.ok)
			throw new Error(`The server answered ${answer.status}.`);
		return answer.blob();
	}
}

/** Returns the wait in ms after ${failures} failures, at least ${retryAfter} seconds. */
export function pause(failures: number, retryAfter = 0, random: () => number = Math.random): number
{
	const ms = Math.min(CAP_MS, EVERY_MS * 2 ** Math.min(failures, 8));
	return Math.max(ms * (0.75 + random() / 4), retryAfter * 1000);
}

export class AdminClient {
	readonly api: AdminApi;
	link: Link = { state: 'connecting' };
	stage: Stage = 'unknown';
	who = '';
	domain = '';
	stats: Stats | null = null;
	statsAt = 0;  // arrival time, by this computer's clock
	history = new History();

	private readonly changed: () => void;
	private readonly heart: Watch;
	private readonly watches = new Set<Watch>();
	private slow: ReturnType<typeof setTimeout> | undefined;
	private ended = false;

	/** Calls ${changed} whenever something shown has changed. */
	constructor(token: string, changed: () => void)
	{
		this.changed = changed;
		this.api = new AdminApi(token, () => this.leave('login'));
		this.heart = made(HEARTBEAT);
		document.addEventListener('visibilitychange', this.seen);
		addEventListener('online', this.retryNow);
		this.seen();
	}

	end(): void
	{
		this.ended = true;
		document.removeEventListener('visibilitychange', this.seen);
		removeEventListener('online', this.retryNow);
		this.hush();
	}

	/** The server's current time, from its last answer.  Ages are relative to the server's
	 * clock. */
	now(): number
	{
		return this.stats ? Date.parse(this.stats.at) + Date.now() - this.statsAt : Date.now();
	}

	watch(path: string): Watch
	{
		const one = made(path);

		this.watches.add(one);
		void this.poll(one);
		return one;
	}

	unwatch(one: Watch): void
	{
		one.ended = true;
		clearTimeout(one.timer);
		this.watches.delete(one);
	}

	/** Polls everything now, after the user has changed something. */
	refresh(): void
	{
		for (const one of [this.heart, ...this.watches])
			void this.poll(one);
	}

	readonly retryNow = (): void => {
		if (this.link.state === 'waiting')
			void this.poll(this.heart);
	};

	private readonly seen = (): void => {
		if (document.visibilityState === 'visible') {
			if (this.link.state === 'hidden')
				this.link = { state: 'connecting' };
			this.refresh();
		} else {
			this.hush();
			this.link = { state: 'hidden' };
		}
		this.changed();
	};

	private hush(): void
	{
		for (const one of [this.heart, ...this.watches])
			clearTimeout(one.timer);
		clearTimeout(this.slow);
	}

	private leave(stage: Stage): void
	{
		this.stage = stage;
		this.hush();
		this.changed();
	}

	/** Returns true if ${one} may be polled now. */
	private wanted(one: Watch): boolean
	{
		return !this.ended && !one.ended && document.visibilityState === 'visible' &&
			(this.stage === 'admin' || (this.stage === 'unknown' && one === this.heart)) &&
			(one === this.heart || this.link.state !== 'waiting');
	}

	private async poll(one: Watch): Promise<void>
	{
		clearTimeout(one.timer);
		if (one.polling || !this.wanted(one))
			return;
		one.polling = true;
		if (one === this.heart)
			this.minded();
		try {
			if (this.stage === 'unknown')
				await this.introduce();
			const data = this.stage === 'admin' ? await this.api.get(one.path) : null;
			one.polling = false;
			if (data !== null)
				this.answered(one, data);
		} catch (error) {
			one.polling = false;
			this.failed(one, error);
		}
		if (!this.ended && !one.ended)
			this.changed();
	}

	/** Changes the state to slow, if the heartbeat has no answer after SLOW_MS. */
	private minded(): void
	{
		const since = Date.now();

		this.slow = setTimeout(() => {
			if (this.link.state === 'waiting' || !this.wanted(this.heart))
				return;
			this.link = { state: 'slow', since };
			this.changed();
		}, SLOW_MS);
	}

	private async introduce(): Promise<void>
	{
		const info = await this.api.get<{ domain: string;
			user: { name: string; admin: boolean } | null }>('/v1');

		this.who = info.user?.name ?? '';
		this.domain = info.domain;
		this.stage = info.user ? info.user.admin ? 'admin' : 'denied' : 'login';
	}

	private answered(one: Watch, data: unknown): void
	{
		one.data = data;
		one.error = '';
		one.failures = 0;
		if (one === this.heart) {
			const were = this.link.state;
			clearTimeout(this.slow);
			this.stats = data as Stats;
			this.statsAt = Date.now();
			this.history.add(this.stats, EVERY_MS);
			if (document.visibilityState === 'visible')
				this.link = { state: 'live' };
			if (were !== 'live')
				for (const other of this.watches)
					void this.poll(other);
		}
		this.later(one, EVERY_MS);
	}

	private failed(one: Watch, error: unknown): void
	{
		const problem = error instanceof Refused ? error.problem : undefined;
		const ms = pause(++one.failures, problem?.retry_after);

		if (this.stage === 'login')
			return;
		if (problem?.status === 403 || (problem?.status === 401 && this.stage === 'unknown')) {
			this.leave(problem.status === 403 ? 'denied' : 'login');
			return;
		}
		// An unreachable server is reported once for the whole page, by the heartbeat.
		one.error = error instanceof Unreachable && one !== this.heart ? '' : why(error);
		if (one === this.heart) {
			clearTimeout(this.slow);
			if (document.visibilityState === 'visible')
				this.link = { state: 'waiting', until: Date.now() + ms, why: one.error };
		} else if (error instanceof Unreachable) {
			void this.poll(this.heart); // which reports the state of the connection
		}
		this.later(one, ms);
	}

	private later(one: Watch, ms: number): void
	{
		if (this.wanted(one))
			one.timer = setTimeout(() => void this.poll(one), ms);
	}
}

function made(path: string): Watch
{
	return { path, data: null, error: '', failures: 0, polling: false, timer: undefined, ended: false };
}

/** Returns the reason of a failure, as a sentence. */
export function why(error: unknown): string
{
	if (!(error instanceof Refused))
		return error instanceof Error ? sentence(error.message) : 'Something failed.';
	const { status, detail, retry_after } = error.problem;
	return status === 429 || status === 503 ?
		`${sentence(detail)}${retry_after ? ` It asks to wait ${retry_after} s.` : ''}` :
		sentence(detail);
}
