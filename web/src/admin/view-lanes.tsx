// SPDX-License-Identifier: MIT
// The view of lanes: the queue of one conversation to one recipient, in order.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { Confirm } from './confirm.tsx';
import { Filters, Missing, Pages, Table, Tag, when, When, type Column, type Tone } from './parts.tsx';
import { queryOf, type Params } from './route.ts';
import type { Lane, Lanes } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { count, destinationName, shortId } from './words.ts';

const PAGE = 50;
const tones: Record<string, Tone> = { local: 'plain', idle: 'plain', ready: 'wait', leased: 'good' };
const states: Record<string, string> = { local: 'here', idle: 'idle', ready: 'ready', leased: 'at work' };

function RewindAsk({ lane, done }: { lane: Lane; done: () => void }): JSX.Element
{
	const { client } = useAdmin();
	const [seq, setSeq] = useState('');
	const [since, setSince] = useState(''); // local time of the browser

	return (
		<Confirm title={`Rewind lane ${lane.lane_id}?`} yes="Rewind" danger done={done} run={async () => {
			const time = since === '' ? undefined : new Date(since);
			await client.api.post(`/v1/admin/lanes/${lane.lane_id}/rewind`,
				time ? { since: time.toISOString() } : { seq: Number(seq) });
			return `Lane ${lane.lane_id} offers again ${time ? `what was sent since ${time.toLocaleString()}` :
				`everything from ${seq}`}.`;
		}}>
			<p>Everything from this place or time on that was not purged is offered to <bdi>{lane.to}</bdi> again. States do not change, and whoever has a message already keeps one of it.</p>
			<label for="rewind-seq">From place (the next is {count(lane.next_seq)})</label>
			<input id="rewind-seq" type="number" min="1" max={lane.next_seq} step="1" required={since === ''}
				disabled={since !== ''} value={seq} onInput={(event) => setSeq(event.currentTarget.value)} />
			<label for="rewind-since">Or what was sent since</label>
			<input id="rewind-since" type="datetime-local" step="1" disabled={seq !== ''} value={since}
				onInput={(event) => setSince(event.currentTarget.value)} />
		</Confirm>
	);
}

export function LanesView({ params }: { params: Params }): JSX.Element
{
	const found = useWatch<Lanes>(`/v1/admin/lanes${queryOf({ ...params, limit: String(PAGE) })}`);
	const [rewinding, setRewinding] = useState<Lane | null>(null);
	const lanes = found.data?.lanes ?? [];
	const columns: Column<Lane>[] = [
		{ head: 'Lane', num: true, cell: (one) => one.lane_id },
		{ head: 'To', bare: true, cell: (one) => <div class="stack"><strong><bdi>{one.to}</bdi></strong>
			<span class="soft"><bdi>{destinationName(one.destination)}</bdi>, {one.class}</span></div> },
		{ head: 'Conversation', cell: (one) => <code title={one.conversation}>{shortId(one.conversation)}</code> },
		{ head: 'State', bare: true, cell: (one) => <Tag tone={tones[one.state] ?? 'plain'}>
			{states[one.state] ?? one.state}</Tag> },
		{ head: 'Pending', num: true, cell: (one) => count(one.pending) },
		{ head: 'Next', num: true, cell: (one) => count(one.next_seq) },
		{ head: 'Published', num: true, cell: (one) => count(one.last_published_seq) },
		{ head: 'Tail', num: true, cell: (one) => count(one.tail_seq) },
		{ head: 'Due', cell: (one) => when(one.due_at) },
		{ head: 'Lease', cell: (one) => (one.lease_owner ? <div class="stack"><code>{one.lease_owner}</code>
			<span class="soft">ends <When at={one.lease_until} /></span></div> : null) },
		{ head: 'Actions', bare: true, cell: (one) => (one.state === 'local' ? '' :
			<div class="row"><button class="small" aria-label={`Rewind lane ${one.lane_id}`}
				onClick={() => setRewinding(one)}>Rewind</button>
			{one.replay_seq !== null && <span class="soft">replays from {count(one.replay_seq)}</span>}</div>) },
	];

	return (
		<>
			<h1 tabIndex={-1}>Lanes</h1>
			<p class="hint">A lane has the messages of one conversation for one recipient, in order. A message
				that waits stops only its own lane.</p>
			<Filters view="lanes" params={params} filters={[
				{ name: 'destination', label: 'Destination', hint: 'other.example' },
				{ name: 'state', label: 'State', options: [['', 'Any'], ...Object.entries(states)] }]} />
			<Missing watched={found} what="lanes" />
			{found.data && <>
				{lanes.length > 0 && <Table label="Lanes" columns={columns} rows={lanes} id={(one) => one.lane_id} />}
				<Pages view="lanes" params={params} shown={lanes.length} next={found.data.next} key_="after"
					none={Object.keys(params).length > 0 ? 'None that match.' : 'No lanes yet.'} />
			</>}
			{rewinding && <RewindAsk lane={rewinding} done={() => setRewinding(null)} />}
		</>
	);
}
