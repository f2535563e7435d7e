// SPDX-License-Identifier: MIT
// The list of conversations, and the start of a new one.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { ChatClient } from './client.ts';
import { loadDraft } from './data.ts';
import { Brand, Gauge, Gear, Plus } from './icons.tsx';
import { nameOf, others } from './merge.ts';
import { SETTINGS, hashOf } from './route.ts';
import { whenOf } from './time.ts';
import type { Conversation, Unsent } from './types.ts';
import { Plain } from './view-text.tsx';

const HUES = 8;
const FILTER_ABOVE = 20; // conversations; with fewer, no filter is needed
const ADDRESS = '[a-z0-9._\\-]{1,32}(@[a-z0-9.\\-]{1,253})?';

export function Avatar({ name }: { name: string }): JSX.Element
{
	let sum = 0;

	for (const letter of name)
		sum = (sum * 31 + letter.codePointAt(0)!) >>> 0;
	return <span class={`avatar hue-${sum % HUES}`} aria-hidden="true">{
		[...name][0]?.toUpperCase() ?? '?'}</span>;
}

function Waiting({ one }: { one: Unsent }): JSX.Element
{
	return <>{one.refused === undefined ? <span class="draft">Waiting:</span> :
		<span class="draft bad">Not sent:</span>}{' '}
		<bdi><Plain text={one.body} /></bdi></>;
}

function lineOf(client: ChatClient, c: Conversation, open: boolean): JSX.Element
{
	const typing = client.typingIn(c.id);
	const draft = open ? '' : loadDraft(client.me, hashOf(c, client.me));

	if (typing)
		return <span class="typing">typing …</span>;
	if (draft)
		return <><span class="draft">Draft:</span> <bdi><Plain text={draft} /></bdi></>;
	const unsent = client.unsentFor({ conversation: c }).pop();
	if (unsent)
		return <Waiting one={unsent} />;
	if (!c.preview)
		return <>{c.last > 0 ? '…' : 'No messages yet'}</>;
	const own = c.preview.from === client.me && others(c, client.me).length > 0;
	return <>{own && 'You: '}{c.kind === 'group' && !own && `${c.preview.from}: `}
		<bdi><Plain text={c.preview.body || 'Deleted message'} /></bdi></>;
}

/** The arrow keys, Home and End move the focus in the list. */
function move(event: JSX.TargetedKeyboardEvent<HTMLElement>): void
{
	const items = [...event.currentTarget.querySelectorAll<HTMLElement>('a')];
	const at = items.indexOf(document.activeElement as HTMLElement);
	const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];

	if (to === undefined || event.altKey || event.ctrlKey || event.metaKey)
		return;
	event.preventDefault();
	items[Math.max(0, Math.min(items.length - 1, to))]?.focus();
}

/** Returns ${text} without accents and in lower case, for comparison. */
export function folded(text: string): string
{
	return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/* The text of the list's filter.  On a phone the list is removed while a conversation is open, and
 * comes back with the same filter. */
const filters = new WeakMap<ChatClient, string>();

function Filter(props: { value: string; found: number; change: (value: string) => void }): JSX.Element
{
	const { value, found, change } = props;

	return (
		<div class="filter">
			<input type="search" aria-label="Filter conversations" placeholder="Filter" value={value}
				autocomplete="off" autocapitalize="none" spellcheck={false}
				onInput={(event) => change(event.currentTarget.value)}
				onKeyDown={(event) => {
					if (event.key === 'Escape' && value !== '') {
						event.preventDefault();
						change('');
					} else if (event.key === 'ArrowDown') {
						event.preventDefault();
						document.querySelector<HTMLElement>('.list nav a')?.focus();
					}
				}} />
			<p class="sr" role="status">{value !== '' &&
				(found === 1 ? 'One conversation' : `${found} conversations`)}</p>
		</div>
	);
}

function NewForm({ client, done }: { client: ChatClient; done: () => void }): JSX.Element
{
	const [name, setName] = useState('');
	const field = useRef<HTMLInputElement>(null);

	useLayoutEffect(() => field.current?.focus(), []);
	return (
		<form class="new" onSubmit={(event) => {
			event.preventDefault();
			done();
			location.hash = `#to/${encodeURIComponent(name)}`;
		}} onKeyDown={(event) => {
			if (event.key === 'Escape') {
				event.stopPropagation();
				done();
			}
		}}>
			<label for="new-name">Write to</label>
			<div class="row">
				<input id="new-name" value={name} required pattern={ADDRESS} maxLength={286}
					autocomplete="off" autocapitalize="none" spellcheck={false} placeholder="name"
					title="A name: letters a to z, digits, dot, dash, underscore"
					ref={field}
					onInput={(event) => setName(event.currentTarget.value.trim().toLowerCase())} />
				<button class="primary small">Open</button>
			</div>
			<p class="hint">Your own name, {client.me}, opens notes to yourself.</p>
		</form>
	);
}

export function ListView(props: { client: ChatClient; open: string; alone: boolean }): JSX.Element
{
	const { client } = props;
	const [adding, setAdding] = useState(false);
	const button = useRef<HTMLButtonElement>(null);
	const [filter, setFilter] = useState(() => filters.get(client) ?? '');
	const all = client.list();
	const filtering = all.length > FILTER_ABOVE;
	const wanted = filtering ? folded(filter.trim()) : '';
	const list = all.filter((c) => folded(nameOf(c, client.me)).includes(wanted));
	const names = client.newNames().filter((name) => folded(name).includes(wanted));

	return (
		<div class="list" role={props.alone ? 'main' : undefined}>
			<div class="bar">
				<Brand />
				<div class="who">
					<h1>twinbox</h1>
					<p>{client.me}<span class={`dot ${client.link.state}`} aria-hidden="true" /></p>
				</div>
				{client.admin && <a class="round" href="/admin" aria-label="Admin page"
					title="Admin page"><Gauge /></a>}
				<button ref={button} class="round" aria-label="New conversation" title="New conversation"
					aria-expanded={adding} onClick={() => setAdding(!adding)}><Plus /></button>
				<a class="round" href={`#${SETTINGS}`} aria-label="Settings" title="Settings"
					aria-current={props.open === SETTINGS ? 'page' : undefined}><Gear /></a>
			</div>
			{adding && <NewForm client={client} done={() => {
				setAdding(false);
				button.current?.focus();
			}} />}
			{filtering && <Filter value={filter} found={list.length + names.length}
				change={(value) => {
					filters.set(client, value);
					setFilter(value);
				}} />}
			<nav aria-label="Conversations" onKeyDown={move}>
				<ul>
					{names.map((name) => (
						<li key={`to/${name}`}><a href={`#to/${encodeURIComponent(name)}`}
							aria-current={props.open === `to/${name}` ? 'page' : undefined}>
							<Avatar name={name} />
							<span class="name">{name}</span>
							<span class="line">
								<Waiting one={client.unsentFor({ to: name }).pop()!} /></span>
						</a></li>))}
					{list.map((c) => {
						const hash = hashOf(c, client.me);
						const name = nameOf(c, client.me);
						const open = hash === props.open;
						return (
							<li key={c.id}><a href={`#${hash}`} aria-current={open ? 'page' : undefined}>
								<Avatar name={name} />
								<span class="name"><bdi>{name}</bdi></span>
								{c.at > 0 && <time class="when">{whenOf(c.at)}</time>}
								<span class="line">{lineOf(client, c, open)}</span>
								{c.unread > 0 && <span class="badge">{c.unread > 999 ? '999+' : c.unread}
									<span class="sr"> unread</span></span>}
							</a></li>);
					})}
				</ul>
				{wanted !== '' && list.length + names.length === 0 && <p class="empty">
					Nothing matches.</p>}
				{wanted === '' && client.loaded && list.length + names.length === 0 && <div class="empty">
					<p>No conversations yet.</p>
					<button onClick={() => setAdding(true)}>Write to somebody</button>
				</div>}
			</nav>
		</div>
	);
}
