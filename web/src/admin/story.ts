// SPDX-License-Identifier: MIT
// The story of one row of the outbox, from accepted to read: points in time and the phases between
// them.  The picture is drawn from it, and the same is written as sentences.

import type { Attempt, FullRow } from './types.ts';
import { duration, ms, outcomeKind, outcomeWords, reasonWords } from './words.ts';

export type Phase = 'scheduled' | 'queue' | 'try' | 'retry' | 'dead' | 'device' | 'person';

export interface Point {
	at: number | null;    // null: has not happened
	till?: number | null; // end of an attempt; null: under way
	name: string;
	detail: string;
	kind: 'good' | 'bad' | 'neutral' | 'coming';
	then: Phase | null;   // phase from here (or till) to the next point
}

export interface Stretch {
	phase: Phase;
	from: number;
	to: number;
	open: boolean; // has not ended
}

export interface Story {
	points: Point[];
	stretches: Stretch[];
	from: number;
	to: number;
	ended: boolean;
}

export const phaseWords: Record<Phase, string> = {
	scheduled: 'scheduled for later',
	queue: 'waits for its turn',
	try: 'attempt under way',
	retry: 'waits for the next try',
	dead: 'a dead letter',
	device: 'waits for a device',
	person: 'waits to be read',
};

/** The server's events, and their names and kinds on this page. */
const events: Record<string, { name: string; kind: Point['kind']; then: Phase | null }> = {
	accepted: { name: 'Accepted', kind: 'good', then: 'queue' },
	due: { name: 'Due', kind: 'good', then: 'queue' },
	sent: { name: 'Sent', kind: 'good', then: 'device' },
	acked: { name: 'Delivered', kind: 'good', then: 'person' },
	read: { name: 'Read', kind: 'good', then: null },
	failed: { name: 'Failed', kind: 'bad', then: 'dead' },
	expired: { name: 'Expired', kind: 'bad', then: 'dead' },
	canceled: { name: 'Canceled', kind: 'neutral', then: null },
	discarded: { name: 'Discarded', kind: 'neutral', then: null },
	requeued: { name: 'Requeued', kind: 'neutral', then: 'queue' },
};

/** Events that are left out, because the attempts and deliver_at have the same information. */
const TOLD = ['attempt', 'outcome', 'scheduled'];

function attemptPoint(one: Attempt): Point
{
	const till = ms(one.finished_at);
	const status = one.status === null ? '' : ` (${one.status})`;
	const parts = [`${outcomeWords(one.outcome)}${status}`,
		till === null ? '' : `took ${duration(till - ms(one.started_at)!)}`, one.error ?? ''];
	const kind = { good: 'good', bad: 'bad', open: 'neutral' } as const;

	return { at: ms(one.started_at), till, name: `Attempt ${one.attempt}`,
		detail: parts.filter((part) => part !== '').join(', '), kind: kind[outcomeKind(one.outcome)],
		then: one.outcome === 'predecessor' ? 'queue' : 'retry' };
}

function detailOf(name: string, detail: string | null, row: FullRow): string
{
	switch (name) {
	case 'accepted':
		return 'on the server’s disk';
	case 'sent':
		return row.destination === 'local' ? `in the inbox of ${row.to}` : `${row.destination} has it`;
	case 'acked':
		return 'a device has it';
	case 'read':
		return 'it was seen';
	case 'failed':
	case 'expired':
		return detail ? reasonWords(detail) : '';
	default:
		return detail ?? '';
	}
}

/** Returns the points that have happened, in order. */
function happened(row: FullRow): Point[]
{
	const points: Point[] = row.attempts.map(attemptPoint);
	const known = new Map<string, { at: number; detail: string | null }[]>();
	const ensure = (name: string, at: number | null) => {
		if (at !== null && !known.has(name))
			known.set(name, [{ at, detail: null }]);
	};

	for (const step of row.timeline) {
		const at = ms(step.at);
		if (at !== null && !TOLD.includes(step.event))
			known.set(step.event, [...known.get(step.event) ?? [], { at, detail: step.detail }]);
	}
	ensure('accepted', ms(row.created_at));
	ensure('sent', ms(row.sent_at));
	ensure('acked', ms(row.acked_at));
	if (row.state === 'failed' || row.state === 'expired' || row.state === 'canceled')
		ensure(row.state, ms(row.last_status_at));
	const due = ms(row.deliver_at);
	if (due !== null && due > ms(row.created_at)!) {
		if (row.state !== 'pending' || row.attempts.length > 0)
			ensure('due', due);
		// A canceled row never became due.
		if (row.state === 'canceled')
			known.delete('due');
	}
	for (const [name, times] of known) {
		const how = events[name] ?? { name: name.charAt(0).toUpperCase() + name.slice(1).replace(/_/g, ' '),
			kind: 'neutral' as const, then: 'queue' as const };
		for (const { at, detail } of times)
			points.push({ ...how, at, detail: detailOf(name, detail, row) });
	}
	if (due !== null && due > ms(row.created_at)!)
		for (const point of points)
			if (point.name === 'Accepted')
				point.then = 'scheduled';
	// Order within one millisecond: causes of an attempt, the attempt, its results.
	const order = ['Accepted', 'Due', 'Requeued', 'Attempt', 'Sent', 'Delivered', 'Read', 'Failed', 'Expired',
		'Discarded'];
	const rank = (one: Point) => order.indexOf(one.till === undefined ? one.name : 'Attempt');
	return points.sort((a, b) => a.at! - b.at! || rank(a) - rank(b));
}

/** Returns the points that are still to come. */
function coming(row: FullRow, points: Point[]): Point[]
{
	const has = (name: string) => points.some((one) => one.name === name);
	const next = ms(row.next_retry_at);
	const list: Point[] = [];
	const add = (name: string, detail: string, at: number | null = null) =>
		list.push({ at, name, detail, kind: 'coming', then: null });

	if (row.state === 'failed' || row.state === 'expired' || row.state === 'canceled')
		return [];
	if (row.state === 'pending') {
		if (next !== null)
			add('Next try', '', next);
		else if (row.deliver_at && !has('Due'))
			add('Due', '', ms(row.deliver_at));
	}
	for (const name of ['Sent', 'Delivered', 'Read'])
		if (!has(name))
			add(name, 'not yet');
	return list;
}

export function storyOf(row: FullRow, now: number): Story
{
	const points = happened(row);
	const stretches: Stretch[] = [];
	const ended = ['failed', 'expired', 'canceled'].includes(row.state) ||
		points[points.length - 1]?.name === 'Read';

	points.forEach((point, i) => {
		const next = points[i + 1];
		const end = next ? next.at! : ended ? point.till ?? point.at! : Math.max(now, point.at!);
		let from = point.at!;
		if (point.till !== undefined) {
			const till = Math.min(point.till ?? end, Math.max(end, from));
			stretches.push({ phase: 'try', from, to: till, open: point.till === null && !next });
			from = till;
		}
		if (point.then !== null && end > from)
			stretches.push({ phase: point.then, from, to: end, open: !next && !ended });
	});
	const from = points[0]?.at ?? now;
	const to = stretches.reduce((most, one) => Math.max(most, one.to),
		points[points.length - 1]?.at ?? from);
	return { points: [...points, ...coming(row, points)], stretches, from, to, ended };
}

/** Returns the story as sentences.  ${clock} formats a time. */
export function inWords(story: Story, clock: (at: number) => string): string[]
{
	let before: number | null = null;

	return story.points.map((one) => {
		const after = before === null || one.at === null ? '' :
			`, ${duration(one.at - before)} later`;
		const tail = one.detail === '' ? '' : ` (${one.detail})`;
		if (one.at !== null)
			before = one.till ?? one.at;
		return one.at === null ? `${one.name}: not yet` :
			one.kind === 'coming' ? `${one.name}: expected at ${clock(one.at)}` :
				`${one.name} at ${clock(one.at)}${after}${tail}`;
	});
}

/** Returns the total time of each phase, in the order in which the phases began. */
export function spent(story: Story): { phase: Phase; ms: number; open: boolean }[]
{
	const sums = new Map<Phase, { phase: Phase; ms: number; open: boolean }>();

	for (const { phase, from, to, open } of story.stretches) {
		const sum = sums.get(phase) ?? { phase, ms: 0, open: false };
		sums.set(phase, { phase, ms: sum.ms + to - from, open: sum.open || open });
	}
	return [...sums.values()];
}
