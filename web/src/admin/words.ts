// SPDX-License-Identifier: MIT
// The server's words and numbers as an operator reads them.

import type { Breaker, Destination } from './types.ts';

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined,
	{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

export const count = (n: number): string => number.format(n);

/** "1 message", "12 messages". */
export const many = (n: number, one: string, more = `${one}s`): string =>
	`${count(n)} ${n === 1 ? one : more}`;

export const percent = (share: number): string => `${fine.format(share * 100)} %`;

export function rate(perSecond: number): string
{
	return `${perSecond < 10 ? fine.format(perSecond) : number.format(perSecond)}/s`;
}

export function bytes(n: number): string
{
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let at = 0;

	for (; n >= 1024 && at < units.length - 1; at++)
		n /= 1024;
	return `${n < 10 && at > 0 ? fine.format(n) : number.format(n)} ${units[at]}`;
}

const UNITS: [number, string][] = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1000, 's']];

/** How long ${ms} are: "340 ms", "2.4 s", "3 min 20 s", "5 d 2 h". */
export function duration(ms: number): string
{
	if (ms < 0)
		ms = 0;
	if (ms < 1000)
		return `${Math.round(ms)} ms`;
	if (ms < 10_000)
		return `${fine.format(ms / 1000)} s`;
	const at = UNITS.findIndex(([size]) => ms >= size);
	const [size, name] = UNITS[at]!;
	const [less, lesser] = UNITS[at + 1] ?? [0, ''];
	const whole = Math.floor(ms / size);
	const rest = less > 0 ? Math.floor((ms % size) / less) : 0;
	return rest > 0 && whole < 100 ? `${whole} ${name} ${rest} ${lesser}` : `${count(whole)} ${name}`;
}

/** A time of the server's as ms, if there is one. */
export function ms(at: string | null | undefined): number | null
{
	const found = at ? Date.parse(at) : NaN;
	return Number.isFinite(found) ? found : null;
}

/** The time of day; with the day when that is another than ${now}'s. */
export function moment(at: number, now: number): string
{
	const d = new Date(at);
	return d.toDateString() === new Date(now).toDateString() ? clock.format(d) :
		`${day.format(d)}, ${clock.format(d)}`;
}

/** The time of day to the millisecond. */
export function precise(at: number): string
{
	return `${clock.format(at)}.${String(at % 1000).padStart(3, '0')}`;
}

/** "3 min ago", "in 20 s". */
export function distance(at: number, now: number): string
{
	const way = at - now;

	if (Math.abs(way) < 1000)
		return 'now';
	// What is long past need not be told to the second.
	return way < 0 ? `${-way < 600_000 ? duration(-way) : brief(-way)} ago` : `in ${duration(way)}`;
}

/** How long ${ms} are, in one unit: "340 ms", "2.4 s", "13 min". */
export function brief(ms: number): string
{
	const [size, name] = UNITS.find(([one]) => ms >= one) ?? [1, 'ms'];
	return `${(ms / size < 10 && size >= 1000 && size !== 60_000 ? fine : number).format(ms / size)} ${name}`;
}

export const breakerWords: Record<Breaker, string> = {
	closed: 'Reachable',
	half_open: 'Trying again',
	open: 'Not reachable',
};

const reasons: Record<string, string> = {
	max_retries: 'every retry used up',
	rejected: 'refused for good',
	expired: 'too old',
	poison: 'made the relay fail',
	discarded: 'discarded here',
	too_large: 'too large for it',
};

export const REASONS = Object.keys(reasons);

/** Why a message ended; an unknown word stands for itself. */
export const reasonWords = (reason: string): string =>
	reasons[reason] ?? reason.replace(/_/g, ' ');

const outcomes: Record<string, string> = {
	accepted: 'accepted',
	duplicate: 'accepted, it had it already',
	later: 'taken, its answer comes later',
	retryable: 'refused for now',
	rejected: 'refused for good',
	too_large: 'too large for it',
	no_answer: 'no answer',
	predecessor: 'had to wait for an earlier one',
	unavailable: 'not reachable',
	lease_lost: 'the relay lost its lease',
	fenced: 'taken over meanwhile',
	restart: 'the server was restarted',
};

/** How an attempt ended. */
export const outcomeWords = (outcome: string | null): string =>
	outcome === null ? 'under way' : outcomes[outcome] ?? outcome.replace(/_/g, ' ');

/** Ends of attempts for which neither the message nor its destination is to blame. */
const BLAMELESS = ['predecessor', 'restart', 'lease_lost', 'fenced'];

/** Whether an attempt ended well, badly, or neither. */
export function outcomeKind(outcome: string | null): 'good' | 'bad' | 'open'
{
	if (outcome === null || BLAMELESS.includes(outcome))
		return 'open';
	return ['accepted', 'duplicate', 'later'].includes(outcome) ? 'good' : 'bad';
}

/** What a destination is called. */
export function destinationName(name: string): string
{
	return name === '*' ? 'everything' : name === 'local' ? 'inboxes here' : name;
}

/** The age buckets' heads: "under 1 min", …, "older". */
export function ageHeads(limits: number[]): string[]
{
	return [...limits.map((limit) => `< ${duration(limit)}`), 'older'];
}

/** How dark the cell of ${n} is when the largest has ${most}: 0 to 5. */
export function shade(n: number, most: number): number
{
	if (n <= 0)
		return 0;
	return most <= 1 ? 1 : 1 + Math.round(4 * Math.log(n) / Math.log(Math.max(most, n)));
}

/** Those that need somebody first: not reachable, paused, then what waits most. */
export function byNeed(list: Destination[]): Destination[]
{
	const need = (d: Destination) => (d.name === '*' ? 8 : 0) + (d.breaker === 'open' ? 4 : 0) +
		(d.paused_at ? 2 : 0) + (d.breaker === 'half_open' ? 1 : 0);
	return [...list].sort((a, b) => need(b) - need(a) || b.pending - a.pending ||
		(a.name < b.name ? -1 : 1));
}

/** An id short enough for a list. */
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
