// SPDX-License-Identifier: MIT
// Times in the reader's own zone and language.

const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const exact = new Intl.DateTimeFormat(undefined,
	{ dateStyle: 'medium', timeStyle: 'medium' });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'long' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

const DAY_MS = 86_400_000;

/** The local day of ${at} as a number that counts days. */
export function dayOf(at: number): number
{
	const d = new Date(at);
	return Math.round(Date.UTC(d.getFullYear(), d.getMonth(), d.getDate()) / DAY_MS);
}

export const timeOf = (at: number): string => clock.format(at);
export const exactly = (at: number): string => exact.format(at);

/** "Today", "Yesterday", "Tuesday", "3 May 2026". */
export function dayName(at: number, now = Date.now()): string
{
	const days = dayOf(now) - dayOf(at);

	if (days === 0)
		return 'Today';
	if (days === 1)
		return 'Yesterday';
	return days > 1 && days < 7 ? weekday.format(at) : full.format(at);
}

/** Shortest for a list: the time if it was today, else the day. */
export function whenOf(at: number, now = Date.now()): string
{
	const days = dayOf(now) - dayOf(at);

	if (days <= 0)
		return clock.format(at);
	return days === 1 ? 'Yesterday' : short.format(at);
}

/** How long from ${from} to ${to}, in one unit. */
export function span(from: number, to: number): string
{
	const ms = Math.max(0, to - from);

	if (ms < 1000)
		return `${ms} ms`;
	if (ms < 60_000)
		return `${(ms / 1000).toFixed(1)} s`;
	if (ms < 3_600_000)
		return `${Math.round(ms / 60_000)} min`;
	return ms < DAY_MS ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / DAY_MS)} d`;
}

/** A problem's words as a sentence of their own. */
export function sentence(words: string): string
{
	const text = words.charAt(0).toUpperCase() + words.slice(1);
	return /[.!?]$/.test(text) ? text : `${text}.`;
}
