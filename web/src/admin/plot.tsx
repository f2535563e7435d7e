// SPDX-License-Identifier: MIT
// Figures over time, drawn by uPlot.  Lines differ in colour and in dashes.  Their current values
// stand beside their names; a screen reader reads those.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import type { Column } from './history.ts';

const HEIGHT = 150;
const LEAST_S = 60;
const DASHES = [[], [7, 4], [2, 3]];
// Steps of an axis of whole numbers: 1, 2, 5, 10, 20 … A step of a half would give two places of
// the axis the same number.
const WHOLE_STEPS = Array.from({ length: 39 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3));

export interface Line {
	name: string;
	colour: 1 | 2 | 3; // --line-N of the style sheet
	values: Column;
}

const short = new Intl.DateTimeFormat(undefined,
	{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const long = new Intl.DateTimeFormat(undefined,
	{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Returns the range from the first to the last sample. */
function rangeOf(times: ArrayLike<number>): [number, number]
{
	const last = times[times.length - 1] ?? 0;
	return [Math.min(times[0] ?? 0, last - LEAST_S), last];
}

function optionsOf(lines: Line[], axis: (n: number) => string, whole: boolean, width: number,
	hover: (at: number | null) => void): uPlot.Options
{
	const ink = colour('--soft');
	const grid = { stroke: colour('--line'), width: 1 };
	const font = '12px system-ui, sans-serif';

	return {
		width, height: HEIGHT,
		legend: { show: false },
		cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
		padding: [8, 8, 0, 0],
		scales: {
			// At least one minute wide, so that the first samples are at the right.
			x: { time: true, range: (u) => rangeOf(u.data[0]) },
			y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.15 : 1] },
		},
		axes: [
			{ stroke: ink, grid: { show: false }, ticks: grid, font, size: 28, space: 70,
				values: (_u, splits, _axis, _space, step) =>
					splits.map((at) => (step < 60 ? long : short).format(at * 1000)) },
			{ stroke: ink, grid, ticks: { show: false }, font, size: 58, space: 34,
				...(whole ? { incrs: WHOLE_STEPS } : {}),
				values: (_u, splits) => splits.map(axis) },
		],
		series: [{}, ...lines.map((line, i) => ({
			label: line.name, stroke: colour(`--line-${line.colour}`), width: 2,
			dash: DASHES[i % DASHES.length]!, spanGaps: false,
			// Show a sample without neighbours as a point.
			points: { size: 5, show: (_u: uPlot, _series: number, from: number, to: number) => to - from < 2 },
		}))],
		hooks: { setCursor: [(u) => hover(u.cursor.idx ?? null)] },
	};
}

/** Returns the value at index ${at}, or the last one if ${at} is null. */
function valueAt(values: Column, at: number | null): number | null
{
	return values[at ?? values.length - 1] ?? null;
}

function summary(title: string, times: number[], lines: Line[], words: (n: number) => string): string
{
	const said = lines.map(({ name, values }) => {
		const known = values.filter((one): one is number => one !== null);
		const now = valueAt(values, null);
		return known.length === 0 ? `${name}: not known` : `${name}: ${
			now === null ? 'not known now' : `now ${words(now)}`}, between ${
			words(Math.min(...known))} and ${words(Math.max(...known))}`;
	});
	return `${title}${times.length > 0 ? ` since ${long.format(times[0]! * 1000)}` : ''}. ${said.join('; ')}.`;
}

export function Plot(props: { title: string; times: number[]; lines: Line[];
	words: (n: number) => string; axis?: (n: number) => string;
	whole?: boolean; // all values are whole numbers
}): JSX.Element
{
	const { title, times, lines, words } = props;
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const [at, setAt] = useState<number | null>(null);
	const [scheme, setScheme] = useState(0);

	useEffect(() => {
		const seen = new MutationObserver(() => setScheme((n) => n + 1));
		seen.observe(document.documentElement, { attributeFilter: ['data-scheme'] });
		return () => seen.disconnect();
	}, []);
	useEffect(() => {
		const element = box.current!;
		const width = () => Math.max(120, Math.floor(element.clientWidth));
		const made = new uPlot(optionsOf(lines, props.axis ?? words, props.whole === true, width(), setAt), [[], ...lines.map(() => [])], element);
		const sized = new ResizeObserver(() => made.setSize({ width: width(), height: HEIGHT }));
		sized.observe(element);
		plot.current = made;
		return () => {
			sized.disconnect();
			made.destroy();
			plot.current = null;
		};
	}, [scheme]);
	useEffect(() => {
		plot.current?.setData([times, ...lines.map((line) => line.values)]);
	}, [times, scheme]);

	const shown = at !== null && at < times.length ? at : null;
	return (
		<figure class="plot">
			<figcaption>
				<h3>{title}</h3>
				<p class="soft">{shown === null ? '' : long.format(times[shown]! * 1000)}</p>
			</figcaption>
			<ul class="keys">
				{lines.map((line, i) => {
					const value = valueAt(line.values, shown);
					return <li key={line.name}>
						<svg class={`key line-${line.colour}`} viewBox="0 0 22 4" width="22" height="4"
							aria-hidden="true"><path d="M0 2h22" stroke-dasharray={DASHES[i % 3]!.join(' ')} /></svg>
						{line.name} <strong>{value === null ? '–' : words(value)}</strong></li>;
				})}
			</ul>
			<div class="canvas" ref={box} role="img" aria-label={summary(title, times, lines, words)} />
		</figure>
	);
}
