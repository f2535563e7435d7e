// SPDX-License-Identifier: MIT
// The picture of a story: on top a strip true to scale, which shows where the
// time went; below it a line with each point, whose distances grow with the
// time between but slower than it, so that a millisecond and a day both fit.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { inWords, phaseWords, spent, type Point, type Story } from './story.ts';
import { duration, moment, precise } from './words.ts';

const STRIP = 18;
const TOP = 26;         // of the line, below the strip
const LINE_X = 112;
const TEXT_X = 136;
const LETTER = 6.7;     // of the small text, about
const LEAST = 62;
const MOST = 132;
const SHOWN = 26;       // points; of more, those in the middle are left out

/** How far below a point the next one stands. */
export function gap(span: number): number
{
	return Math.min(MOST, LEAST + 12 * Math.log10(1 + Math.max(0, span) / 100));
}

/** The points to draw: all, or the first and the last, and how many are left out. */
export function drawn(points: Point[]): (Point | number)[]
{
	const half = SHOWN / 2;
	return points.length <= SHOWN ? points :
		[...points.slice(0, half), points.length - SHOWN, ...points.slice(-half)];
}

const cut = (text: string, width: number) => {
	const letters = [...text];
	const fit = Math.max(8, Math.floor(width / LETTER));
	return letters.length <= fit ? text : `${letters.slice(0, fit - 1).join('')}…`;
};

function Dot({ point, y }: { point: Point; y: number }): JSX.Element
{
	const x = LINE_X;

	switch (point.kind) {
	case 'bad':
		return <rect class="p-bad" x={x - 6} y={y - 6} width="12" height="12" />;
	case 'note':
		return <path class="p-note" d={`M${x} ${y - 7}l7 7-7 7-7-7z`} />;
	default:
		return <circle class={`p-${point.kind}`} cx={x} cy={y} r="6" />;
	}
}

/** One point with what follows it down to the next. */
function Part(props: { story: Story; point: Point; y: number; down: number; last: boolean;
	width: number; next: Point | undefined }): JSX.Element
{
	const { story, point, y, down, width, next } = props;
	const end = next?.at ?? null;
	const from = point.till ?? point.at;
	// Only a stretch that has lasted is given a length.
	const open = !next || next.kind === 'coming';
	const till = open ? story.ended ? null : story.to : end;
	const span = from === null || till === null || point.kind === 'coming' ? null : till - from;
	const tried = point.till !== undefined && point.at !== null ? (point.till ?? story.to) - point.at : null;
	const thick = tried === null || down === 0 ? 0 :
		Math.max(10, Math.min(down - 12, down * tried / Math.max(1, tried + (span ?? 0))));
	const says = span !== null && point.then !== null && span > 0 ?
		`${duration(span)}${open ? ' so far' : ''} · ${point.till === null ? phaseWords.try :
			phaseWords[point.then]}` : '';

	return (
		<g>
			{down > 0 && <path class={`p-line ${open ? 'open' : ''}`} d={`M${LINE_X} ${y}v${down}`} />}
			{thick > 0 && <path class={`p-try p-line-${point.kind}`} d={`M${LINE_X} ${y}v${thick}`} />}
			<Dot point={point} y={y} />
			{point.at !== null && <text class="p-time" x={LINE_X - 16} y={y + 4} text-anchor="end">
				{precise(point.at)}</text>}
			<text class={`p-name ${point.kind}`} x={TEXT_X} y={y + 4}>
				{cut(point.name, (width - TEXT_X) * 0.92)}</text>
			{point.detail !== '' && <text class="p-detail" x={TEXT_X} y={y + 21}>
				{cut(point.detail, width - TEXT_X)}</text>}
			{says !== '' && down > 0 && <text class="p-span" x={TEXT_X}
				y={y + (point.detail === '' ? down / 2 + 5 : Math.max(40, down / 2 + 12))}>
				{cut(says, width - TEXT_X)}</text>}
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
			return <g key={i}><path class="p-line open" d={`M${LINE_X} ${here}v${LEAST}`} />
				<text class="p-detail" x={TEXT_X} y={here + 5}>… {one} more, in the list below …</text></g>;
		}
		const next = shown[i + 1];
		const after = typeof next === 'object' ? next : undefined;
		const to = after?.at ?? (story.ended ? null : story.to);
		const down = i === shown.length - 1 ? 0 : gap(one.at === null || to === null ? 0 : to - one.at);
		y += down;
		return <Part key={i} story={story} point={one} y={here} down={down} next={after}
			last={i === shown.length - 1} width={width} />;
	});
	return (
		<div class="picture">
			<ul class="keys">
				{spent(story).map((one) => <li key={one.phase}><span class={`swatch ${one.phase}`} aria-hidden="true" />
					{phaseWords[one.phase]} <strong>{duration(one.ms)}{one.open && ' so far'}</strong></li>)}
			</ul>
			<div ref={box}>
				<svg role="img" aria-label={`${label}. ${words.join('. ')}.`} width={width} height={y + 28}
					viewBox={`0 0 ${width} ${y + 28}`}>
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
