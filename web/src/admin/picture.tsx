// SPDX-License-Identifier: MIT
// The picture of a story.  A strip on top, true to scale, shows where the time went.  Below it is a
// line with all points.  The distance between two points grows with the time between them, but more
// slowly, so that a millisecond and a day both fit.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { inWords, phaseWords, spent, type Point, type Story } from './story.ts';
import { duration, moment, precise } from './words.ts';

const STRIP = 18;
const TOP = 26;         // of the line, below the strip
const LETTER = 6.7;     // width of a small letter, about
const ROW = 17;         // height of a small line of text
const LEAST = 46;       // between points, plus ROW for each line of details
const MOST = 116;
const LONG_MS = 20 * 3_600_000; // longer stories show the day, too
const NARROW = 520;     // below this width, times have seconds only
const SHOWN = 26;       // most points shown; those in the middle are left out

const days = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit',
	minute: '2-digit', hourCycle: 'h23' });

/** Returns the positions in a picture of this width, and the format of its times. */
function placesOf(width: number, story: Story): { line: number; text: number; clock: (at: number) => string }
{
	if (story.to - story.from > LONG_MS)
		return { line: 104, text: 122, clock: (at) => days.format(at) };
	return width < NARROW ? { line: 74, text: 92, clock: (at) => precise(at).slice(0, 8) } :
		{ line: 112, text: 136, clock: precise };
}

/** Returns the distance between two points that are ${span} ms apart, without the details. */
export function gap(span: number): number
{
	return Math.min(MOST, LEAST + 12 * Math.log10(1 + Math.max(0, span) / 100));
}

/** Returns the points to draw: all, or the first and the last ones around the number of points left
 * out. */
export function drawn(points: Point[]): (Point | number)[]
{
	const half = SHOWN / 2;
	return points.length <= SHOWN ? points :
		[...points.slice(0, half), points.length - SHOWN, ...points.slice(-half)];
}

const fits = (width: number) => Math.max(8, Math.floor(width / LETTER));

const cut = (text: string, fit: number) => {
	const letters = [...text];
	return letters.length <= fit ? text : `${letters.slice(0, fit - 1).join('')}…`;
};

/** Breaks ${text} into at most two lines of ${fit} letters. */
export function rowsOf(text: string, fit: number): string[]
{
	if (text === '')
		return [];
	const letters = [...text];
	if (letters.length <= fit)
		return [text];
	const space = letters.slice(0, fit).lastIndexOf(' ');
	const at = space > fit / 2 ? space : fit;
	return [letters.slice(0, at).join(''), cut(letters.slice(at).join('').trimStart(), fit)];
}

function Dot({ point, x, y }: { point: Point; x: number; y: number }): JSX.Element
{
	switch (point.kind) {
	case 'bad':
		return <rect class="p-bad" x={x - 6} y={y - 6} width="12" height="12" />;
	case 'neutral':
		return <path class="p-neutral" d={`M${x} ${y - 7}l7 7-7 7-7-7z`} />;
	default:
		return <circle class={`p-${point.kind}`} cx={x} cy={y} r="6" />;
	}
}

/** One point, and the line from it down to the next point. */
function Part(props: { story: Story; point: Point; y: number; down: number; width: number;
	next: Point | number | undefined }): JSX.Element
{
	const { story, point, y, down, width } = props;
	const left = typeof props.next === 'number'; // the next points are left out
	const next = typeof props.next === 'number' ? undefined : props.next;
	const { line, text, clock } = placesOf(width, story);
	const fit = fits(width - text);
	const from = point.till ?? point.at;
	// A stretch has a length if it reaches the next point or still lasts.  After the last point
	// of an ended story nothing lasts.
	const open = !next || next.kind === 'coming';
	const till = open ? story.ended ? null : story.to : next.at;
	const span = left || from === null || till === null || point.kind === 'coming' ? null : till - from;
	const tried = point.till !== undefined && point.at !== null ? (point.till ?? story.to) - point.at : null;
	const thick = tried === null || down === 0 ? 0 :
		Math.max(10, Math.min(down - 12, down * tried / Math.max(1, tried + (span ?? 0))));
	const rows = rowsOf(point.detail, fit);
	const top = y + 4 + rows.length * ROW;
	const says = span !== null && point.then !== null && span > 0 ?
		`${duration(span)}${open ? ' so far' : ''} · ${point.till === null ? phaseWords.try :
			phaseWords[point.then]}` : '';

	return (
		<g>
			{down > 0 && <path class={`p-line ${open ? 'open' : ''}`} d={`M${line} ${y}v${down}`} />}
			{thick > 0 && <path class={`p-try p-line-${point.kind}`} d={`M${line} ${y}v${thick}`} />}
			<Dot point={point} x={line} y={y} />
			{point.at !== null && <text class="p-time" x={line - 14} y={y + 4} text-anchor="end">
				{clock(point.at)}</text>}
			<text class={`p-name ${point.kind}`} x={text} y={y + 4}>{cut(point.name, Math.floor(fit * 0.85))}</text>
			{rows.map((row, i) => <text key={i} class="p-detail" x={text} y={y + 4 + (i + 1) * ROW}>{row}</text>)}
			{says !== '' && down > 0 && <text class="p-span" x={text} y={(top + y + down) / 2 + 1}>
				{cut(says, fit)}</text>}
		</g>
	);
}

function Strip({ story, width }: { story: Story; width: number }): JSX.Element
{
	const all = Math.max(1, story.to - story.from);

	return (
		<g>
			{story.stretches.map((one, i) => {
				const x = width * (one.from - story.from) / all;
				return <rect key={i} class={`phase ${one.phase}`} x={Math.min(x, width - 2)} y="0"
					width={Math.max(2, width * (one.to - one.from) / all)} height={STRIP} />;
			})}
		</g>
	);
}

export function Picture({ story, now, label }: { story: Story; now: number; label: string }): JSX.Element
{
	const box = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(600);
	const shown = drawn(story.points);
	const { line, text } = placesOf(width, story);
	const words = inWords(story, (at) => moment(at, now));
	let y = STRIP + TOP + 8;

	useEffect(() => {
		const sized = new ResizeObserver(() => setWidth(Math.max(280, box.current!.clientWidth)));
		sized.observe(box.current!);
		return () => sized.disconnect();
	}, []);

	const parts = shown.map((one, i) => {
		const here = y;
		if (typeof one === 'number') {
			y += LEAST;
			return <g key={i}><path class="p-line open" d={`M${line} ${here}v${LEAST}`} />
				<text class="p-detail" x={text} y={here + 5}>… {one} more, listed below …</text></g>;
		}
		const next = shown[i + 1];
		const to = typeof next === 'object' ? next.at ?? story.to : null;
		const high = rowsOf(one.detail, fits(width - text)).length * ROW;
		const down = i === shown.length - 1 ? 0 :
			high + gap(one.at === null || to === null ? 0 : to - one.at);
		y += down === 0 ? high : down;
		return <Part key={i} story={story} point={one} y={here} down={down} next={next} width={width} />;
	});
	return (
		<div class="picture">
			<ul class="keys">
				{spent(story).map((one) => <li key={one.phase}><span class={`swatch ${one.phase}`} aria-hidden="true" />
					{phaseWords[one.phase]} <strong>{duration(one.ms)}{one.open && ' so far'}</strong></li>)}
			</ul>
			<div ref={box}>
				<svg role="img" aria-label={`${label}. ${words.join('. ')}.`} width={width} height={y + 12}
					viewBox={`0 0 ${width} ${y + 12}`}>
					<Strip story={story} width={width} />
					<text class="p-time" x="0" y={STRIP + 14}>{moment(story.from, now)}</text>
					<text class="p-time" x={width} y={STRIP + 14} text-anchor="end">
						{duration(story.to - story.from)}{story.ended ? ' in all' : ' so far'}</text>
					{parts}
				</svg>
			</div>
			<details>
				<summary>The same in words</summary>
				<ol class="words">{words.map((one, i) => <li key={i}><bdi>{one}</bdi></li>)}</ol>
			</details>
		</div>
	);
}
