// SPDX-License-Identifier: MIT
// Parts that several views share: tables that become cards on a phone, states with a shape and a
// word, filters, the links to older rows.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { hashOf, messageHash, type Params } from './route.ts';
import type { Next } from './types.ts';
import { useAdmin, type Watched } from './use.ts';
import { distance, moment, ms, shortId } from './words.ts';

// ---- states ----------------------------------------------------------------

export type Tone = 'good' | 'wait' | 'bad' | 'off' | 'plain';

/** Each tone has its own shape: a disc, a half disc, a square, two bars. */
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

/** A time for a cell; null if there is none. */
export const when = (at: string | null | undefined): JSX.Element | null =>
	(ms(at) === null ? null : <When at={at} />);

/** A time as a distance from now.  The tooltip has the exact time. */
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
	cell: (row: T) => ComponentChildren; // null: no value, '': not for this row
	num?: boolean;  // align numbers at the right
	wide?: boolean; // the last column to be cut
	bare?: boolean; // on a phone, without its heading
	pick?: boolean; // a tick box, at the corner of the card
}

/** A table.  On a phone each row is a card.  The ARIA roles are explicit because the style of the
 * cards would remove them. */
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

/** Shows, while there is no data, that the answer is still missing, or the failure. */
export function Missing({ watched, what }: { watched: Watched<unknown>; what: string }): JSX.Element | null
{
	if (watched.error !== '')
		return <p class="wrong" role="alert">{watched.data ?
			'This is what was known before: the server has refused to say more. ' : `No ${what}. `}
			{watched.error}</p>;
	return watched.data ? null : <p class="hint" role="status">Asking the server …</p>;
}

/** The end of a page of a list: a text if nothing was found, and the links to older rows. */
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
	options?: [string, string][]; // value and text; without options: a text field
	hint?: string;
	suggest?: string[];
}

/** A field that keeps the typed text until it is applied, even if the view is drawn again. */
function Typed(props: { name: string; value: string; hint: string; list: string | undefined }): JSX.Element
{
	const { name, value } = props;
	const [text, setText] = useState(value);

	useLayoutEffect(() => setText(value), [value]);
	return <input id={`f-${name}`} name={name} value={text} maxLength={286} autocomplete="off"
		autocapitalize="none" spellcheck={false} placeholder={props.hint} list={props.list}
		onInput={(event) => setText(event.currentTarget.value)} />;
}

/** A form of filters.  A chosen option changes the address at once. */
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
