// SPDX-License-Identifier: MIT
// Requeues or discards many dead letters.  They are counted first, then changed a hundred at a
// time, so that the user can stop it.  Never more are changed than were counted.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { AdminClient } from './client.ts';
import { why } from './client.ts';
import { queryOf } from './route.ts';
import type { DeadFilter, DeadLetters, Done } from './types.ts';
import { useAdmin } from './use.ts';
import { count, many } from './words.ts';

const STEP = 100;
const MOST = 1_000; // at once; then the user must confirm again
const PAGE = 200;
const REFUSALS_SHOWN = 20;

export type Verb = 'requeue' | 'discard';
export type Which = { dead_ids: number[] } | { filter: DeadFilter };

export const verbWords = { requeue: { do: 'Requeue', done: 'Requeued' },
	discard: { do: 'Discard', done: 'Discarded' } };

/** Counts the open dead letters that match, up to MOST.  ${more} is true if there are others. */
export async function countDead(client: AdminClient, filter: DeadFilter): Promise<{ n: number; more: boolean }>
{
	let n = 0;
	let before = '';

	for (;;) {
		const page = await client.api.get<DeadLetters>(`/v1/admin/dead-letters${
			queryOf({ ...filter, before, limit: String(PAGE) })}`);
		n += page.dead_letters.length;
		if (page.next === null || n >= MOST)
			return { n: Math.min(n, MOST), more: n > MOST || page.next !== null };
		before = String(page.next);
	}
}

interface Progress {
	done: number;
	refused: Done['refused'];
}

/** Applies ${verb} to ${n} dead letters of ${which}.  Calls ${went} after each step, and stops if
 * it returns false. */
export async function handle(client: AdminClient, verb: Verb, which: Which, n: number,
	went: (progress: Progress) => boolean): Promise<Progress>
{
	const progress: Progress = { done: 0, refused: [] };
	const ids = 'dead_ids' in which ? [...which.dead_ids] : null;

	for (let left = n; left > 0;) {
		const size = Math.min(STEP, left);
		const answer = await client.api.post<Done>(`/v1/admin/dead-letters/${verb}`,
			ids ? { dead_ids: ids.splice(0, size) } : { ...which, limit: size });
		const moved = answer.requeued ?? answer.discarded ?? 0;
		progress.done += moved;
		// A refused dead letter stays, so a later step reports it again.  Count it once.
		const known = new Set(progress.refused.map((one) => one.dead_id));
		progress.refused.push(...answer.refused.filter((one) => !known.has(one.dead_id)));
		left -= ids ? size : moved;
		if (!went({ ...progress }) || (!ids && (moved === 0 || !answer.more)))
			break;
	}
	return progress;
}

export function Batch(props: { verb: Verb; which: Which; words: string; done: () => void }): JSX.Element
{
	const { client, say } = useAdmin();
	const { verb, which } = props;
	const dialog = useRef<HTMLDialogElement>(null);
	const going = useRef(true);
	const [found, setFound] = useState<{ n: number; more: boolean } | null>(
		'dead_ids' in which ? { n: which.dead_ids.length, more: false } : null);
	const [progress, setProgress] = useState<Progress | null>(null);
	const [ended, setEnded] = useState(false);
	const [wrong, setWrong] = useState('');
	const words = verbWords[verb];

	useLayoutEffect(() => {
		dialog.current?.showModal();
		if ('filter' in which)
			countDead(client, which.filter).then(setFound, (error) => setWrong(why(error)));
		return () => { going.current = false; };
	}, []);

	async function run(): Promise<void>
	{
		let last: Progress = { done: 0, refused: [] };

		setProgress(last);
		setWrong('');
		try {
			last = await handle(client, verb, which, found!.n, (now) => {
				setProgress(last = now);
				return going.current;
			});
		} catch (error) {
			setWrong(why(error));
		}
		setEnded(true);
		client.refresh();
		say(`${words.done} ${many(last.done, 'dead letter')}${
			last.refused.length > 0 ? `; ${count(last.refused.length)} refused` : ''}.`,
		last.refused.length > 0);
	}

	return (
		<dialog ref={dialog} class="card" aria-labelledby="batch-title" onClose={() => {
			going.current = false;
			props.done();
		}}>
			<div class="inside">
				<h2 id="batch-title">{found ? `${words.do} ${many(found.n, 'dead letter')}?` :
					`${words.do} dead letters?`}</h2>
				<p>{props.words}</p>
				{!found && !wrong && <p class="hint" role="status">Counting …</p>}
				{found?.more && <p>There are more than {count(found.n)}; the oldest {count(found.n)} now,
					then look again.</p>}
				{!progress && <p class="hint">{verb === 'requeue' ?
					'Each gets a new place at the end of its lane, with all its tries and time again.' :
					'Nobody will get these messages. This cannot be undone.'}</p>}
				{progress && <>
					<progress max={found!.n} value={progress.done + progress.refused.length}
						aria-label={`${words.do} dead letters`} />
					<p>{count(progress.done)} done, {count(progress.refused.length)} refused, of {
						count(found!.n)}.</p>
				</>}
				{progress && progress.refused.length > 0 && <ul class="refused" aria-label="Refused">
					{progress.refused.slice(0, REFUSALS_SHOWN).map((one) => <li key={one.dead_id}>
						<strong>{one.dead_id}</strong>: <bdi>{one.detail}</bdi></li>)}
					{progress.refused.length > REFUSALS_SHOWN && <li>and {
						count(progress.refused.length - REFUSALS_SHOWN)} more</li>}
				</ul>}
				<p class="wrong" role="alert">{wrong}</p>
				<div class="row end">
					{!progress && <button onClick={() => dialog.current?.close()}>Cancel</button>}
					{!progress && <button class={verb === 'discard' ? 'danger' : 'primary'}
						disabled={!found || found.n === 0} onClick={() => void run()}>{words.do}</button>}
					{progress && !ended && <button onClick={() => { going.current = false; }}>Stop</button>}
					{ended && <button class="primary" onClick={() => dialog.current?.close()}>Close</button>}
				</div>
			</div>
		</dialog>
	);
}
