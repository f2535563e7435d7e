// SPDX-License-Identifier: MIT
// The view of the outbox: messages on their way, and the search for one message.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { Filters, MessageLink, Missing, Pages, stateTone, Table, Tag, when, When, type Column } from './parts.tsx';
import { messageHash, queryOf, type Params } from './route.ts';
import type { Destinations, Row, Rows } from './types.ts';
import { useWatch } from './use.ts';
import { count, destinationName, reasonWords } from './words.ts';

const PAGE = 50;
const ID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const STATES = ['pending', 'scheduled', 'sending', 'sent', 'acked', 'failed', 'expired', 'canceled'];

function FindForm(): JSX.Element
{
	const [id, setId] = useState('');

	return (
		<form class="find" onSubmit={(event) => {
			event.preventDefault();
			location.hash = messageHash(id.trim().toLowerCase());
		}}>
			<label for="find-id">Message id</label>
			<div class="row">
				<input id="find-id" value={id} required pattern={`\\s*${ID}\\s*`} autocomplete="off"
					spellcheck={false} placeholder="01900000-0000-7000-8000-000000000000"
					title="The id of a message, a UUID"
					onInput={(event) => setId(event.currentTarget.value)} />
				<button class="primary">Show</button>
			</div>
		</form>
	);
}

export function stateWords(row: { state: string; reason: string | null; labels: string[] }): string
{
	const label = ['scheduled', 'retrying', 'read'].find((one) => row.labels.includes(one));
	return `${row.state}${label ? `, ${label}` : ''}${row.reason ? `: ${reasonWords(row.reason)}` : ''}`;
}

export function OutboxView({ params }: { params: Params }): JSX.Element
{
	const found = useWatch<Rows>(`/v1/admin/outbox${queryOf({ ...params, limit: String(PAGE) })}`);
	const places = useWatch<Destinations>('/v1/admin/destinations');
	const rows = found.data?.entries ?? [];
	const columns: Column<Row>[] = [
		{ head: 'Message', bare: true, cell: (row) => <div class="stack"><span><bdi>{row.from}</bdi> → <bdi>{row.to}</bdi></span><MessageLink id={row.id} /></div> },
		{ head: 'State', bare: true, cell: (row) => <Tag tone={stateTone(row.state)}>{stateWords(row)}</Tag> },
		{ head: 'Destination', cell: (row) => <bdi>{destinationName(row.destination)}</bdi> },
		{ head: 'Accepted', cell: (row) => <When at={row.created_at} /> },
		{ head: 'Changed', cell: (row) => when(row.last_status_at) },
		{ head: 'Tries', num: true, cell: (row) => count(row.attempts) },
		{ head: 'Next try', cell: (row) => when(row.next_retry_at ?? (row.state === 'pending' ?
			row.deliver_at : null)) },
		{ head: 'Last error', wide: true, cell: (row) => row.last_error &&
			<span class="clip"><bdi>{row.last_error}</bdi></span> },
	];

	return (
		<>
			<h1 tabIndex={-1}>Outbox</h1>
			<FindForm />
			<Filters view="outbox" params={params} filters={[
				{ name: 'state', label: 'State',
					options: [['', 'Any'], ...STATES.map((one): [string, string] => [one, one])] },
				{ name: 'destination', label: 'Destination', hint: 'other.example',
					suggest: (places.data?.destinations ?? []).map((d) => d.name).filter((n) => n !== '*') },
				{ name: 'sender', label: 'Sender', hint: 'name' },
				{ name: 'stuck', label: 'Stuck in sending', options: [['', 'Any'], ['1m', 'over 1 min'],
					['5m', 'over 5 min'], ['30m', 'over 30 min'], ['2h', 'over 2 h']] },
				{ name: 'near_failure', label: 'Near failure', options: [['', 'Any'],
					['1', 'last try'], ['3', '3 tries left'], ['5', '5 tries left']] }]} />
			<Missing watched={found} what="messages" />
			{found.data && <>
				{rows.length > 0 && <Table label="Messages" columns={columns} rows={rows}
					id={(row) => row.outbox_id} />}
				<Pages view="outbox" params={params} shown={rows.length} next={found.data.next}
					none={Object.keys(params).length > 0 ? 'None that match.' : 'Nothing was ever sent.'} />
			</>}
		</>
	);
}
