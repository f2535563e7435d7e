// SPDX-License-Identifier: MIT
// The view of dead letters: messages that failed or expired, until an operator decides.

import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

import { AttemptsTable } from './attempts.tsx';
import { Batch, verbWords, type Verb, type Which } from './batch.tsx';
import { why } from './client.ts';
import { Filters, MessageLink, Missing, Pages, Table, Tag, When, type Column } from './parts.tsx';
import { queryOf, type Params } from './route.ts';
import type { Dead, DeadFilter, DeadLetters, Destinations, FullMessage } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { count, many, reasonWords, REASONS } from './words.ts';

const PAGE = 50;

interface Question {
	verb: Verb;
	which: Which;
	words: string;
}

/** Returns the filter of ${params} for the routes that change many dead letters. */
function filterOf({ reason, destination, sender }: Params): DeadFilter
{
	return { ...(reason && { reason }), ...(destination && { destination }), ...(sender && { sender }) };
}

function inWords(filter: DeadFilter): string
{
	const parts = [];

	if (filter.reason)
		parts.push(`with the reason “${reasonWords(filter.reason)}”`);
	if (filter.destination)
		parts.push(`for ${filter.destination}`);
	if (filter.sender)
		parts.push(`from ${filter.sender}`);
	return parts.length === 0 ? 'All that wait for a decision.' : `All ${parts.join(', ')}.`;
}

/** The attempts of one dead letter, fetched when it is opened. */
function Opened({ dead }: { dead: Dead }): JSX.Element
{
	const found = useWatch<FullMessage>(`/v1/admin/outbox/${dead.id}`);
	const row = found.data?.rows.find((one) => one.outbox_id === dead.outbox_id);

	return (
		<div class="inner">
			<p><strong>Last error:</strong> <bdi>{dead.last_error ?? 'none'}</bdi></p>
			<Missing watched={found} what="attempts" />
			{row && <AttemptsTable attempts={row.attempts} />}
			{found.data && !row && <p class="hint">Its row in the outbox is gone.</p>}
		</div>
	);
}

/** Fetches all matching dead letters as JSON lines, and lets the browser save them. */
function Export({ query }: { query: string }): JSX.Element
{
	const { client, say } = useAdmin();
	const [busy, setBusy] = useState(false);

	async function save(): Promise<void>
	{
		setBusy(true);
		try {
			const url = URL.createObjectURL(await client.api.file(`/v1/admin/dead-letters/export${query}`));
			const link = document.createElement('a');
			link.href = url;
			link.download = `dead-letters-${new Date(client.now()).toISOString().slice(0, 10)}.ndjson`;
			link.click();
			setTimeout(() => URL.revokeObjectURL(url), 60_000);
		} catch (error) {
			say(why(error), true);
		}
		setBusy(false);
	}

	return <button type="button" disabled={busy} onClick={() => void save()}>Export</button>;
}

export function DeadView({ params }: { params: Params }): JSX.Element
{
	const { client } = useAdmin();
	const asked: Params = { ...params, limit: String(PAGE) };
	const found = useWatch<DeadLetters>(`/v1/admin/dead-letters${queryOf(asked)}`);
	const places = useWatch<Destinations>('/v1/admin/destinations');
	const [open, setOpen] = useState<number | null>(null);
	const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
	const [question, setQuestion] = useState<Question | null>(null);
	const filter = filterOf(params);
	const rows = found.data?.dead_letters ?? [];
	const free = rows.filter((one) => one.resolution === null);
	const picked = free.filter((one) => chosen.has(one.dead_id));
	const query = queryOf(params);

	useLayoutEffect(() => setChosen(new Set()), [query]);

	const choose = (id: number, yes: boolean) => {
		const next = new Set(chosen);
		if (yes)
			next.add(id);
		else
			next.delete(id);
		setChosen(next);
	};
	const one = (verb: Verb, dead: Dead) =>
		<button class="small" aria-label={`${verbWords[verb].do} the message from ${dead.from} to ${dead.to}`}
			onClick={() => setQuestion({ verb, which: { dead_ids: [dead.dead_id] },
				words: `The message from ${dead.from} to ${dead.to}.` })}>{verbWords[verb].do}</button>;
	const several = (verb: Verb) => <button type="button" class={verb === 'discard' ? 'danger' : ''}
		disabled={free.length === 0} onClick={() => setQuestion(picked.length > 0 ?
			{ verb, which: { dead_ids: picked.map((dead) => dead.dead_id) }, words: 'Those that are chosen.' } :
			{ verb, which: { filter }, words: inWords(filter) })}>
		{verbWords[verb].do} {picked.length > 0 ? `${count(picked.length)} chosen` :
			Object.keys(filter).length > 0 ? 'all that match' : 'all'}</button>;
	const columns: Column<Dead>[] = [
		{ head: 'Choose', bare: true, pick: true, cell: (dead) => (dead.resolution === null ? <input type="checkbox"
			aria-label={`Choose the message from ${dead.from} to ${dead.to}`} checked={chosen.has(dead.dead_id)}
			onChange={(event) => choose(dead.dead_id, event.currentTarget.checked)} /> : '') },
		{ head: 'Message', bare: true, cell: (dead) => <div class="stack"><span><bdi>{dead.from}</bdi> → <bdi>{dead.to}</bdi></span>
			<MessageLink id={dead.id} /></div> },
		{ head: 'Why', wide: true, cell: (dead) => <div class="stack">
			<Tag tone="bad">{dead.state === 'expired' ? 'Expired' : `Failed: ${reasonWords(dead.reason)}`}</Tag>
			{dead.last_error && <span class="soft clip"><bdi>{dead.last_error}</bdi></span>}</div> },
		{ head: 'Died', cell: (dead) => <When at={dead.dead_at} /> },
		{ head: 'Accepted', cell: (dead) => <When at={dead.created_at} /> },
		{ head: 'Attempts', num: true, cell: (dead) => <button class="link"
			aria-expanded={open === dead.dead_id} aria-label={`${many(dead.attempts, 'attempt')}: show them`}
			onClick={() => setOpen(open === dead.dead_id ? null : dead.dead_id)}>
			{count(dead.attempts)} {open === dead.dead_id ? '▴' : '▾'}</button> },
		{ head: 'Actions', bare: true, cell: (dead) => (dead.resolution === null ?
			<div class="row">{one('requeue', dead)}{one('discard', dead)}</div> :
			<span class="soft">{dead.resolution} by {dead.resolved_by}, <When at={dead.resolved_at} /></span>) },
	];

	return (
		<>
			<h1 tabIndex={-1}>Dead letters</h1>
			<p class="hint">Messages that failed or became too old. Their senders were notified.</p>
			<Filters view="dead" params={params} filters={[
				{ name: 'reason', label: 'Reason',
					options: [['', 'Any'], ...REASONS.map((name): [string, string] => [name, reasonWords(name)])] },
				{ name: 'destination', label: 'Destination', hint: 'other.example',
					suggest: (places.data?.destinations ?? []).map((d) => d.name).filter((n) => n !== '*') },
				{ name: 'sender', label: 'Sender', hint: 'name' },
				{ name: 'resolved', label: 'Show',
					options: [['', 'Undecided'], ['true', 'Decided'], ['any', 'Both']] }]} />
			<div class="row tools">
				{several('requeue')}{several('discard')}
				<Export query={query} />
				{free.length > 0 && <button type="button" class="link" onClick={() => setChosen(
					picked.length > 0 ? new Set() : new Set(free.map((dead) => dead.dead_id)))}>
					{picked.length > 0 ? 'Select none' : `Select all ${count(free.length)} shown`}</button>}
			</div>
			<Missing watched={found} what="dead letters" />
			{found.data && <>
				{rows.length > 0 && <Table label="Dead letters" columns={columns} rows={rows}
					id={(dead) => dead.dead_id}
					more={(dead) => (open === dead.dead_id ? <Opened dead={dead} /> : null)} />}
				<Pages view="dead" params={params} shown={rows.length} next={found.data.next}
					none={Object.keys(params).length > 0 ? 'None that match.' :
						'No dead letters. Nothing is to be decided.'} />
			</>}
			{question && <Batch {...question} done={() => {
				setQuestion(null);
				setChosen(new Set());
				client.refresh();
			}} />}
		</>
	);
}
