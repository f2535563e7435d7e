// SPDX-License-Identifier: MIT
// What several views are made of: tables that become cards on a phone, states
// with a shape and a word, filters, the way to older rows.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { hashOf, messageHash, type Params } from './route.ts';
import type { Next } from './types.ts';
import { useAdmin, type Watched } from './use.ts';
import { distance, moment, ms, shortId } from './words.ts';

// ---- states ----------------------------------------------------------------

export type Tone = 'good' | 'wait' | 'bad' | 'off' | 'plain';

/** Each tone has a shape of its own: a disc, a half disc, a square, two bars. */
export function StatusIcon({ tone }: { tone: Tone }): JSX.Element
{
	return (
		<svg class={`status-icon ${tone}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
			{tone === 'good' && <circle cx="6" cy="6" r="5" />}
			{tone === 'wait' && <><circle cx="6" cy="6" r="4.5" class="ring" />
				<path d="M6 1.5a4.5 4.5 0 0 1 0 9z" /></>}
			{tone === 'bad' && <rect x="1" y="1" width="10" height="10" />}
			{tone === 'off' && <path d="M2 1h3v10H2zM7 1h3v10H7z" />}
			{tone === 'plain' && <circle cx="6" cy="6" r="4.5" class="ring" />}
		</svg>
	);
}

export function Tag({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element
{
	return <span class={`tag ${tone}`}><StatusIcon tone={tone} />{children}</span>;
}

export function stateTone(state: string): Tone
{
	switch (state) {
	case 'sent':
	case 'acked':
		return 'good';
	case 'failed':
	case 'expired':
		return 'bad';
	case 'canceled':
		return 'off';
	default:
		return 'wait';
	}
}

/** When, for a cell: null if never. */
export const when = (at: string | null | undefined): JSX.Element | null =>
	(ms(at) === null ? null : <When at={at} />);

/** A time: how far away it is, and exactly when told more. */
export function When({ at, none = '–' }: { at: string | null | undefined; none?: string }): JSX.Element
{
	const { client } = useAdmin();
	const found = ms(at);

	if (found === null)
		return <span class="soft">{none}</span>;
	return <time dateTime={at!} title={moment(found, 0)}>{distance(found, client.now())}</time>;
}

export function MessageLink({ id }: { id: string }): JSX.Element
{
	return <a href={messageHash(id)} title={id}><code>{shortId(id)}</code></a>;
}

// ---- tables ----------------------------------------------------------------

export interface Column<T> {
	head: string;
	cell: (row: T) => ComponentChildren; // null: none, '': not for this row
	num?: boolean;  // numbers stand below each other
	wide?: boolean; // the last to be cut
	bare?: boolean; // on a phone without its head
	pick?: boolean; // something to tick, at the card's corner
}

/** A table; on a phone each row is a card.  The roles are said because the
 * card's style would take them away. */
export function Table<T>(props: { label: string; columns: Column<T>[]; rows: T[];
	id: (row: T) => string | number; more?: (row: T) => ComponentChildren;
	tight?: boolean }): JSX.Element
{
	const { columns } = props;

	return (
		<table class={`table ${props.tight ? 'tight' : ''}`} role="table" aria-label={props.label}>
			<thead role="rowgroup"><tr role="row">
				{columns.map((one) => <th key={one.head} role="columnheader" scope="col"
					class={one.num ? 'num' : ''}>{one.head}</th>)}
			</tr></thead>
			<tbody role="rowgroup">{props.rows.map((row) => {
				const more = props.more?.(row);
				return [
					<tr key={props.id(row)} role="row" class={more ? 'opened' : ''}>
						{columns.map((one) => {
							const cell = one.cell(row);
							const empty = cell === null || cell === '';
							return <td key={one.head} role="cell" data-head={one.bare ? '' : one.head}
								class={`${one.num ? 'num' : ''} ${one.wide ? 'wide' : ''} ${one.pick ? 'pick' : ''} ${empty ? 'empty' : ''}`}>
								<div class="cell">{cell ?? <span class="soft">–</span>}</div></td>;
						})}
					</tr>,
					more && <tr key={`${props.id(row)} more`} role="row" class="more">
						<td role="cell" colSpan={columns.length}>{more}</td></tr>,
				];
			})}</tbody>
		</table>
	);
}

/** While there is nothing to show: that it is asked for, or why not. */
export function Missing({ watched, what }: { watched: Watched<unknown>; what: string }): JSX.Element | null
{
	if (watched.error !== '')
		return <p class="wrong" role="alert">{watched.data ?
			'This is what was known before: the server has refused to say more. ' : `No ${what}. `}
			{watched.error}</p>;
	return watched.data ? null : <p class="hint" role="status">Asking the server …</p>;
}

/** What follows a page of a list: nothing found, and the way to older ones. */
export function Pages(props: { view: string; params: Params; shown: number; next: Next | string;
	key_?: string; none: string; more?: string; first?: string }): JSX.Element
{
	const { view, params, next } = props;
	const key = props.key_ ?? 'before';
	const { [key]: at, ...first } = params;

	return (
		<div class="pages">
			{props.shown === 0 && <p class="nothing">{next === null ? props.none :
				props.more ?? 'None among the newest; there may be some among the older ones.'}</p>}
			{at !== undefined && <a class="button" href={hashOf(view, first)}>{props.first ?? 'Newest'}</a>}
			{next !== null && next !== undefined &&
				<a class="button" href={hashOf(view, { ...params, [key]: String(next) })}>
					{key === 'after' ? 'More' : 'Older'}</a>}
		</div>
	);
}

// ---- filters ---------------------------------------------------------------

export interface Filter {
	name: string;
	label: string;
	options?: [string, string][]; // value and words; without: something typed
	hint?: string;
	suggest?: string[];
}

/** A field that keeps what is typed until it is applied, however often the
 * view is drawn again meanwhile. */
function Typed(props: { name: string; value: string; hint: string; list: string | undefined }): JSX.Element
{
	const { name, value } = props;
	const [text, setText] = useState(value);

	useLayoutEffect(() => setText(value), [value]);
	return <input id={`f-${name}`} name={name} value={text} maxLength={286} autocomplete="off"
		autocapitalize="none" spellcheck={false} placeholder={props.hint} list={props.list}
		onInput={(event) => setText(event.currentTarget.value)} />;
}

/** Filters as a form: what is chosen stands in the address at once. */
export function Filters(props: { view: string; params: Params; filters: Filter[];
	children?: ComponentChildren }): JSX.Element
{
	const form = useRef<HTMLFormElement>(null);
	const { params, filters, view } = props;
	const apply = () => {
		const given: Params = {};
		for (const { name } of filters) {
			const field = form.current!.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement;
			given[name] = field.value.trim();
		}
		const hash = hashOf(view, given);
		if (hash !== location.hash)
			location.hash = hash;
	};

	return (
		<form ref={form} class="filters" role="search" aria-label="Filters" onChange={apply}
			onSubmit={(event) => {
				event.preventDefault();
				apply();
			}}>
			{filters.map(({ name, label, options, hint, suggest }) => (
				<div key={name} class="filter">
					<label for={`f-${name}`}>{label}</label>
					{options ? <select id={`f-${name}`} name={name} value={params[name] ?? ''}>
						{options.map(([value, words]) => <option key={value} value={value}
							selected={value === (params[name] ?? '')}>{words}</option>)}
					</select> : <Typed name={name} value={params[name] ?? ''} hint={hint ?? ''}
						list={suggest ? `f-${name}-list` : undefined} />}
					{suggest && <datalist id={`f-${name}-list`}>
						{suggest.map((one) => <option key={one} value={one} />)}</datalist>}
				</div>))}
			{props.children}
		</form>
	);
}
