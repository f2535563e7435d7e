// SPDX-License-Identifier: MIT
// Times in the user's time zone, in the language of the settings (settings.ts) or of the browser.

function formats(locale: string | undefined)
{
	const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);

	return {
		clock: format({ hour: 'numeric', minute: '2-digit' }),
		exact: format({ dateStyle: 'medium', timeStyle: 'medium' }),
		weekday: format({ weekday: 'long' }),
		full: format({ dateStyle: 'long' }),
		short: format({ day: 'numeric', month: 'short' }),
		near: new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }),
	};
}

let by = formats(undefined);

/** Writes times in the language ${locale} from now on; "": the browser's language. */
export function setLocale(locale: string): void
{
	by = formats(locale || undefined);
}

const DAY_MS = 86_400_000;

/** Returns the local day of ${at} as a number of days. */
export function dayOf(at: number): number
{
	const d = new Date(at);
	return Math.round(Date.UTC(d.getFullYear(), d.getMonth(), d.getDate()) / DAY_MS);
}

export const timeOf = (at: number): string => by.clock.format(at);
export const exactly = (at: number): string => by.exact.format(at);

/** Returns "Today" for 0, "Yesterday" for 1. */
function near(daysAgo: number): string
{
	const word = by.near.format(-daysAgo, 'day');
	return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Returns the day in words: "Today", "Yesterday", "Tuesday", "3 May 2026". */
export function dayName(at: number, now = Date.now()): string
{
	const days = dayOf(now) - dayOf(at);

	if (days === 0 || days === 1)
		return near(days);
	return days > 1 && days < 7 ? by.weekday.format(at) : by.full.format(at);
}

/** Returns a short form for a list: the time of today, or else the day. */
export function whenOf(at: number, now = Date.now()): string
{
	const days = dayOf(now) - dayOf(at);

	if (days <= 0)
		return by.clock.format(at);
	return days === 1 ? near(days) : by.short.format(at);
}

/** Returns the duration from ${from} to ${to} in one unit. */
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

/** Writes the text of a problem as a full sentence. */
export function sentence(words: string): string
{
	const text = words.charAt(0).toUpperCase() + words.slice(1);
	return /[.!?]$/.test(text) ? text : `${text}.`;
}
