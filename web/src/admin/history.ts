// SPDX-License-Identifier: MIT
// What the figures were while the page was open: the last hour at most, in
// memory only.  Where the page was not looked at there is a hole, which is
// drawn as one.

import type { Stats } from './types.ts';

export const KEPT = 1_800;        // samples: an hour of one every 2 s
const RATE_OVER_MS = 10_000;
const RETRY_OVER_MS = 60_000;
const FEW_TRIES = 20;             // from which no share is told

interface Sample {
	at: number; // ms; the server's clock
	stats: Stats | null; // null: a hole
}

/** One column of numbers over time; null is a hole. */
export type Column = (number | null)[];

export class History {
	private samples: Sample[] = [];

	get length(): number
	{
		return this.samples.length;
	}

	/** Adds ${stats}, which are asked for every ${every} ms. */
	add(stats: Stats, every: number): void
	{
		const at = Date.parse(stats.at);
		const last = this.samples[this.samples.length - 1];

		// A clock that was set back, or a second answer to one question.
		if (last && at <= last.at) {
			if (last.at - at < every)
				return;
			this.samples = [];
		} else if (last && at - last.at > every * 5) {
			this.samples.push({ at: last.at + 1, stats: null });
		}
		this.samples.push({ at, stats });
		// Less than none is none.
		this.samples.splice(0, this.samples.length - KEPT);
	}

	/** Seconds since the epoch, for the axis. */
	times(): number[]
	{
		return this.samples.map((one) => one.at / 1000);
	}

	/** A figure over time. */
	figure(of: (stats: Stats) => number | null): Column
	{
		return this.samples.map((one) => one.stats && of(one.stats));
	}

	/** How much of a total came in a second, over the last ten. */
	rate(of: (stats: Stats) => number): Column
	{
		return this.over(RATE_OVER_MS, (first, last, ms) =>
			(of(last) - of(first)) * 1000 / ms);
	}

	/** The share of attempts that had to be repeated, over the last minute. */
	retryRate(): Column
	{
		return this.over(RETRY_OVER_MS, (first, last) => {
			const retries = last.totals.retries - first.totals.retries;
			const tries = retries + last.totals.sent - first.totals.sent;
			return tries > 0 ? retries / tries : null;
		});
	}

	/** The same now; null while too little is known to say so. */
	recentRetryRate(): number | null
	{
		const tries = this.growth((one) => one.totals.retries + one.totals.sent, RETRY_OVER_MS);
		const known = this.samples.length > RETRY_OVER_MS / 2 / 2000;

		return known ? tries < FEW_TRIES ? 0 : this.retryRate().pop() ?? 0 : null;
	}

	/** How much a total has grown in the last ${ms}. */
	growth(of: (stats: Stats) => number, ms: number): number
	{
		const last = this.samples[this.samples.length - 1];
		const first = last && this.samples.find((one) => one.stats && last.at - one.at <= ms);

		return last?.stats && first?.stats ? of(last.stats) - of(first.stats) : 0;
	}

	/** ${made} of the first and last sample of the ${ms} before each; what is
	 * less than nothing (the database was restored) is a hole. */
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
			// Nor is the first sample a rate: it is 0 / 0.
			return value !== null && value >= 0 && Number.isFinite(value) ? value : null;
		});
	}
}
