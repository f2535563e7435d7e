// SPDX-License-Identifier: MIT
// The view of one message: the way of each of its rows, its attempts, and buttons to try it now or
// to discard it.  Its text is never shown to operators.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { Confirm } from './confirm.tsx';
import { AttemptsTable } from './attempts.tsx';
import { Missing, stateTone, Tag } from './parts.tsx';
import { Picture } from './picture.tsx';
import { storyOf } from './story.ts';
import type { FullMessage, FullRow } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { destinationName, many, moment, ms } from './words.ts';
import { stateWords } from './view-outbox.tsx';

const MANY = 12; // more attempts than this are not shown at first

const isDead = (row: FullRow) => row.state === 'failed' || row.state === 'expired';

/** Returns true if another attempt is possible: the row is dead or waits for a retry. */
const canBeTried = (row: FullRow) => isDead(row) || row.labels.includes('retrying');

/** Returns true if the row can be discarded: it waits in its lane, or it is dead and not discarded
 * yet. */
const canBeGivenUp = (row: FullRow) => (row.state === 'pending' && !row.labels.includes('scheduled')) ||
	(isDead(row) && row.timeline[row.timeline.length - 1]?.event !== 'discarded');

function Facts({ message, row, now }: { message: FullMessage; row: FullRow; now: number }): JSX.Element
{
	const facts: [string, string | null][] = [
		['Destination', destinationName(row.destination)],
		['Conversation', `${message.conversation}${message.conversation_seq === null ? '' :
			`, ${message.conversation_seq}`}`],
		['Lane', row.lane_id === null ? null : `${row.lane_id}${row.lane_seq === null ? '' : `, place ${row.lane_seq}`}`],
		['Kind', row.event_type],
		['Priority', String(row.priority)],
		['Retries', `${row.retry_count}${row.rescue_count > 0 ? `, and taken up ${row.rescue_count} times after a lost lease` : ''}`],
		['Expires', row.expires_at && row.state === 'pending' ? moment(ms(row.expires_at)!, now) : null],
		['Last error', row.last_error],
		['Correlation', message.correlation_id],
		['Labels', row.labels.join(', ') || null],
	];

	return (
		<dl class="facts">
			{facts.filter(([, value]) => value !== null).map(([name, value]) => (
				<div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>))}
		</dl>
	);
}

export function MessageView({ id }: { id: string }): JSX.Element
{
	const { client } = useAdmin();
	const path = `/v1/admin/outbox/${encodeURIComponent(id)}`;
	const found = useWatch<FullMessage>(path);
	const [question, setQuestion] = useState<'retry' | 'discard' | null>(null);
	const message = found.data;
	const now = client.now();
	const rows = message?.rows ?? [];
	const tried = rows.some(canBeTried);
	const given = rows.some(canBeGivenUp);

	return (
		<>
			<div>
				<p class="up"><a href="#outbox">Outbox</a></p>
				<h1 tabIndex={-1}>The way of a message</h1>
				<p><code><bdi>{id}</bdi></code></p>
				{message && <p class="hint">Written by <bdi>{message.from}</bdi> at{' '}
					{moment(ms(message.event_time)!, now)}. Its text is not shown on this page.</p>}
			</div>
			<Missing watched={found} what="message with this id" />
			{message && <>
				{(tried || given) && <div class="row tools">
					{tried && <button class="primary" onClick={() => setQuestion('retry')}>Try now</button>}
					{given && <button class="danger" onClick={() => setQuestion('discard')}>Discard</button>}
				</div>}
				{rows.length === 0 && <p class="nothing">Nothing of it is left in the outbox.</p>}
				{rows.map((row) => (
					<section key={row.outbox_id} class="sheet" aria-label={`To ${row.to}`}>
						<header><h2>To <bdi>{row.to}</bdi></h2>
							<Tag tone={stateTone(row.state)}>{stateWords(row)}</Tag></header>
						<Picture story={storyOf(row, now)} now={now}
							label={`The way from ${row.from} to ${row.to}`} />
						<Facts message={message} row={row} now={now} />
						{row.attempts.length > 0 && <details class="attempts" open={row.attempts.length <= MANY}>
							<summary>{many(row.attempt_count, 'attempt')}{row.attempt_count > row.attempts.length &&
								`, the newest ${row.attempts.length}`}</summary>
							<AttemptsTable attempts={row.attempts} />
						</details>}
					</section>))}
			</>}
			{question === 'retry' && <Confirm title="Try this message now?" yes="Try now"
				done={() => setQuestion(null)} run={async () => {
					await client.api.post(`${path}/retry`, {});
					return 'It is tried again.';
				}}>
				<p>A message that waits for a retry is tried at once. One that has failed or expired gets a new place at
					the end of its lane, with all its tries and its full time.</p>
			</Confirm>}
			{question === 'discard' && <Confirm title="Discard this message?" yes="Discard" danger
				done={() => setQuestion(null)} run={async () => {
					await client.api.post(`${path}/discard`, {});
					return 'It is discarded; its sender is notified.';
				}}>
				<p>Nobody who does not have it yet will get it. This cannot be undone.</p>
			</Confirm>}
		</>
	);
}
