// SPDX-License-Identifier: MIT
// The view of destinations: whether each is reachable, how many messages wait and for how long, and
// buttons to pause and resume it.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { Confirm } from './confirm.tsx';
import { Missing, Table, Tag, when, When, type Column, type Tone } from './parts.tsx';
import { hashOf } from './route.ts';
import type { Destination, Destinations } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { ageHeads, breakerWords, byNeed, count, destinationName, duration, many, ms, shade } from './words.ts';

const tones: Record<Destination['breaker'], Tone> = { closed: 'good', half_open: 'wait', open: 'bad' };

type Question = { what: 'pause' | 'resume' | 'rate'; d: Destination };

const pathOf = (d: Destination, verb = '') =>
	`/v1/admin/destinations/${encodeURIComponent(d.name)}${verb && `/${verb}`}`;

const waits = (d: Destination) => `${many(d.pending, 'message waits', 'messages wait')}${
	d.truncated ? ' or more' : ''}`;

function PauseAsk({ d, done }: { d: Destination; done: () => void }): JSX.Element
{
	const { client } = useAdmin();
	const [reason, setReason] = useState('');

	return (
		<Confirm title={`Pause ${destinationName(d.name)}?`} yes="Pause" danger done={done} run={async () => {
			await client.api.post(pathOf(d, 'pause'), reason.trim() ? { reason: reason.trim() } : {});
			return `Paused: ${destinationName(d.name)}.`;
		}}>
			<p>{d.name === '*' ? 'Nothing is delivered to anybody' : d.name === 'local' ?
				'Nothing is delivered to the inboxes here' : 'Nothing is sent there'} until somebody resumes
				it. Messages are still accepted and wait; now {waits(d)}.</p>
			<label for="pause-reason">Reason, for colleagues</label>
			<input id="pause-reason" value={reason} maxLength={120} autocomplete="off"
				onInput={(event) => setReason(event.currentTarget.value)} />
		</Confirm>
	);
}

function RateAsk({ d, done }: { d: Destination; done: () => void }): JSX.Element
{
	const { client } = useAdmin();
	const [value, setValue] = useState(String(d.per_second ?? ''));

	return (
		<Confirm title={`Limit ${destinationName(d.name)}`} yes="Limit" done={done} run={async () => {
			await client.api.patch(pathOf(d), { per_second: value === '' ? null : Number(value) });
			return value === '' ? `No limit any more: ${destinationName(d.name)}.` :
				`At most ${value} a second: ${destinationName(d.name)}.`;
		}}>
			<label for="rate">Messages a second; empty is no limit</label>
			<input id="rate" type="number" min="1" max="1000000" step="1" value={value}
				onInput={(event) => setValue(event.currentTarget.value)} />
		</Confirm>
	);
}

function ResumeAsk({ d, done }: { d: Destination; done: () => void }): JSX.Element
{
	const { client } = useAdmin();

	return (
		<Confirm title={`Resume ${destinationName(d.name)}?`} yes="Resume" done={done} run={async () => {
			await client.api.post(pathOf(d, 'resume'), {});
			return `Resumed: ${destinationName(d.name)}.`;
		}}>
			<p>Paused by {d.paused_by ?? 'somebody'}{d.pause_reason && <>: “<bdi>{d.pause_reason}</bdi>”</>}.
				Now {waits(d)}.</p>
		</Confirm>
	);
}

function Breaker({ d, now }: { d: Destination; now: number }): JSX.Element
{
	const since = ms(d.failing_since);

	return (
		<div class="stack">
			{d.name !== '*' && <Tag tone={tones[d.breaker]}>{breakerWords[d.breaker]}</Tag>}
			{d.paused_at ? <Tag tone="off">Paused</Tag> : d.name === '*' && <Tag tone="good">Running</Tag>}
			{d.paused_at && <span class="soft">by {d.paused_by}, <When at={d.paused_at} />
				{d.pause_reason && <>: <bdi>{d.pause_reason}</bdi></>}</span>}
			{d.breaker !== 'closed' && since !== null &&
				<span class="soft">for {duration(now - since)}, {many(d.failures, 'failure')}</span>}
			{d.last_error && d.breaker !== 'closed' && <span class="soft"><bdi>{d.last_error}</bdi></span>}
		</div>
	);
}

const FEW = 100;

/** A table of destinations by age.  A darker cell has more waiting messages. */
function Ages({ all, limits }: { all: Destination[]; limits: number[] }): JSX.Element
{
	const rows = all.filter((d) => d.name !== '*' && d.pending > 0);
	const heads = ageHeads(limits);
	// A low count is never dark.
	const most = Math.max(FEW, ...rows.flatMap((d) => d.ages));

	return (
		<section aria-labelledby="ages-title">
			<h2 id="ages-title">How long they wait</h2>
			{rows.length === 0 ? <p class="nothing">Nothing waits.</p> :
				<div class="scroll" role="region" aria-labelledby="ages-title" tabIndex={0}>
					<table class="ages">
						<thead><tr><th scope="col">Destination</th><th scope="col" class="num">All</th>
							{heads.map((head) => <th key={head} scope="col" class="num">{head}</th>)}</tr></thead>
						<tbody>{rows.map((d) => (
							<tr key={d.name}>
								<th scope="row"><a href={hashOf('outbox', { destination: d.name, state: 'pending' })}>
									<bdi>{destinationName(d.name)}</bdi></a></th>
								<td class="num">{count(d.pending)}{d.truncated && '+'}</td>
								{heads.map((head, i) => <td key={head}
									class={`num shade-${shade(d.ages[i] ?? 0, most)}`}>
									{d.ages[i] ? count(d.ages[i]!) : <span class="soft">·</span>}</td>)}
							</tr>))}</tbody>
					</table>
				</div>}
		</section>
	);
}

export function DestinationsView(): JSX.Element
{
	const { client } = useAdmin();
	const found = useWatch<Destinations>('/v1/admin/destinations');
	const [question, setQuestion] = useState<Question | null>(null);
	const done = () => setQuestion(null);
	const now = client.now();
	const button = (what: Question['what'], d: Destination, words: string) =>
		<button class="small" aria-label={`${words} ${destinationName(d.name)}`}
			onClick={() => setQuestion({ what, d })}>{words}</button>;
	const columns: Column<Destination>[] = [
		{ head: 'Destination', bare: true, cell: (d) => <strong><bdi>{destinationName(d.name)}</bdi></strong> },
		{ head: 'State', bare: true, wide: true, cell: (d) => <Breaker d={d} now={now} /> },
		{ head: 'Pending', num: true, cell: (d) => (d.name === '*' ? '' : <>{count(d.pending)}{d.truncated && '+'}</>) },
		{ head: 'Oldest', num: true, cell: (d) => (d.name === '*' ? '' : d.oldest_pending_age_ms === null ? null :
			duration(d.oldest_pending_age_ms)) },
		{ head: 'In flight', num: true, cell: (d) => d.name === '*' ? '' : `${count(d.in_flight)}${
			d.window === null || d.window === 0 ? '' : ` of ${count(d.window)}`}` },
		{ head: 'Limit', num: true, cell: (d) => (d.name === '*' ? '' : d.per_second ? `${count(d.per_second)}/s` : null) },
		{ head: 'Next probe', cell: (d) => (d.name === '*' ? '' :
			when(d.breaker === 'closed' ? null : d.next_probe_at)) },
		{ head: 'Last success', cell: (d) => (d.name === '*' ? '' : when(d.last_success_at)) },
		{ head: 'Actions', bare: true, cell: (d) => <div class="row">
			{d.paused_at ? button('resume', d, 'Resume') : button('pause', d, 'Pause')}
			{d.name !== '*' && d.name !== 'local' && button('rate', d, 'Limit')}
		</div> },
	];

	return (
		<>
			<h1 tabIndex={-1}>Destinations</h1>
			<Missing watched={found} what="destinations" />
			{found.data && <>
				<Table label="Destinations" columns={columns} rows={byNeed(found.data.destinations)}
					id={(d) => d.name} />
				{found.data.next !== null && <p class="hint">These are the first{' '}
					{count(found.data.destinations.length)}; there are more.</p>}
				<Ages all={byNeed(found.data.destinations)} limits={found.data.age_limits_ms} />
			</>}
			{question?.what === 'pause' && <PauseAsk d={question.d} done={done} />}
			{question?.what === 'resume' && <ResumeAsk d={question.d} done={done} />}
			{question?.what === 'rate' && <RateAsk d={question.d} done={done} />}
		</>
	);
}
