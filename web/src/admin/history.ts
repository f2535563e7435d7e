// SPDX-License-Identifier: MIT
// The figures of the last hour at most, while the page was open, in memory only.  Time in which the
// page was not visible is a hole, and is drawn as a hole.

import type { Stats } from './types.ts';

export const KEPT = 1_800;        // samples: one hour, one every 2 s
const RATE_OVER_MS = 10_000;
const RETRY_OVER_MS = 60_000;
const FEW_TRIES = 20;             // with fewer tries no share is shown

interface Sample {
	at: number; // ms, by the server's clock
	stats: Stats | null; // null: a hole
}

/** One series of numbers over time. null is a hole. */
export type Column = (number | null)[];

export class History {
	private samples: Sample[] = [];

	get length(): number
	{
		return this.samples.length;
	}

	/** Adds ${stats}, which are polled every ${every} ms. */
	add(stats: Stats, every: number): void
	{
		const at = Date.parse(stats.at);
		const last = this.samples[this.samples.length - 1];

		// Either the clock was set back, or this is a second answer to one request.
		if (last && at <= last.at) {
			if (last.at - at < every)
				return;
			this.samples = [];
		} else if (last && at - last.at > every * 5) {
			this.samples.push({ at: last.at + 1, stats: null });
		}
		this.samples.push({ at, stats });
		// A negative count removes nothing.
		this.samples.splice(0, this.samples.length - KEPT);
	}

	/** Seconds since 1970, for the time axis. */
	times(): number[]
	{
		return this.samples.map((one) => one.at / 1000);
	}

	/** Returns one figure over time. */
	figure(of: (stats: Stats) => number | null): Column
	{
		return this.samples.map((one) => one.stats && of(one.stats));
	}

	/** Returns the growth of a total per second, averaged over the last ten seconds. */
	rate(of: (stats: Stats) => number): Column
	{
		return this.over(RATE_OVER_MS, (first, last, ms) =>
			(of(last) - of(first)) * 1000 / ms);
	}

	/** Returns the share of attempts that had to be repeated, over the last minute. */
	retryRate(): Column
	{
		return this.over(RETRY_OVER_MS, (first, last) => {
			const retries = last.totals.retries - first.totals.retries;
			const tries = retries + last.totals.sent - first.totals.sent;
			return tries > 0 ? retries / tries : null;
		});
	}

	/** Returns the current share. null means that too few samples are known. */
	recentRetryRate(): number | null
	{
		const tries = this.growth((one) => one.totals.retries + one.totals.sent, RETRY_OVER_MS);
		const known = this.samples.length > RETRY_OVER_MS / 2 / 2000;

		return known ? tries < FEW_TRIES ? 0 : this.retryRate().pop() ?? 0 : null;
	}

	/** Returns the growth of a total in the last ${ms}. */
	growth(of: (stats: Stats) => number, ms: number): number
	{
		const last = this.samples[this.samples.length - 1];
		const first = last && this.samples.find((one) => one.stats && last.at - one.at <= ms);

		return last?.stats && first?.stats ? of(last.stats) - of(first.stats) : 0;
	}

	/** Returns ${made} of the first and the last sample of the ${ms} before each sample.  A
	 * negative value (the database was restored) is a hole. */
	private over(ms: number, made: (first: Stats, last: Stats, ms: number) => number | null): Column
	{
		let from = 0;

		return this.samples.map((one, i) => {
			if (!one.stats) {
				from = i + 1;
				return null;
			}
			while (one.at - this.samples[from]!.at > ms)
				from++;
			const first = this.samples[from]!;
			const value = first.stats && made(first.stats, one.stats, one.at - first.at);
			// The first sample has no rate: it would be 0 / 0.
			return value !== null && value >= 0 && Number.isFinite(value) ? value : null;
		});
	}
}
