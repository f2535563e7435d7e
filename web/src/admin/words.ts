// SPDX-License-Identifier: MIT
// The server's words and numbers in readable form.

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

/** Returns the duration ${ms} in words: "340 ms", "2.4 s", "3 min 20 s", "5 d 2 h". */
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

/** Parses a time of the server.  Returns ms since 1970, or null if there is none. */
export function ms(at: string | null | undefined): number | null
{
	const found = at ? Date.parse(at) : NaN;
	return Number.isFinite(found) ? found : null;
}

/** Returns the time of day, with the date if it is not the day of ${now}. */
export function moment(at: number, now: number): string
{
	const d = new Date(at);
	return d.toDateString() === new Date(now).toDateString() ? clock.format(d) :
		`${day.format(d)}, ${clock.format(d)}`;
}

/** Returns the time of day with milliseconds. */
export function precise(at: number): string
{
	return `${clock.format(at)}.${String(at % 1000).padStart(3, '0')}`;
}

/** Returns the distance from ${now}: "3 min ago", "in 20 s". */
export function distance(at: number, now: number): string
{
	const way = at - now;

	if (Math.abs(way) < 1000)
		return 'now';
	// Seconds do not matter for a time long ago.
	return way < 0 ? `${-way < 600_000 ? duration(-way) : brief(-way)} ago` : `in ${duration(way)}`;
}

/** Returns the duration ${ms} in one unit: "340 ms", "2.4 s", "13 min". */
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

/** Returns the reason of a final state in words.  An unknown reason is shown as it is. */
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

/** Returns the outcome of an attempt in words. */
export const outcomeWords = (outcome: string | null): string =>
	outcome === null ? 'under way' : outcomes[outcome] ?? outcome.replace(/_/g, ' ');

/** Outcomes that are the fault neither of the message nor of its destination. */
const BLAMELESS = ['predecessor', 'restart', 'lease_lost', 'fenced'];

/** Returns the kind of an outcome: good, bad, or neither. */
export function outcomeKind(outcome: string | null): 'good' | 'bad' | 'open'
{
	if (outcome === null || BLAMELESS.includes(outcome))
		return 'open';
	return ['accepted', 'duplicate', 'later'].includes(outcome) ? 'good' : 'bad';
}

/** Returns the name of a destination in words. */
export function destinationName(name: string): string
{
	return name === '*' ? 'everything' : name === 'local' ? 'inboxes here' : name;
}

/** Returns the headings of the age buckets: "< 1 min", …, "older". */
export function ageHeads(limits: number[]): string[]
{
	return [...limits.map((limit) => `< ${duration(limit)}`), 'older'];
}

/** Returns the shade of a cell with ${n} messages, 0 to 5, if the largest cell has ${most}. */
export function shade(n: number, most: number): number
{
	if (n <= 0)
		return 0;
	return most <= 1 ? 1 : 1 + Math.round(4 * Math.log(n) / Math.log(Math.max(most, n)));
}

/** Sorts destinations by urgency: unreachable, paused, then by the number of waiting messages. */
export function byNeed(list: Destination[]): Destination[]
{
	const need = (d: Destination) => (d.name === '*' ? 8 : 0) + (d.breaker === 'open' ? 4 : 0) +
		(d.paused_at ? 2 : 0) + (d.breaker === 'half_open' ? 1 : 0);
	return [...list].sort((a, b) => need(b) - need(a) || b.pending - a.pending ||
		(a.name < b.name ? -1 : 1));
}

/** Shortens an id for a list. */
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);
