// SPDX-License-Identifier: MIT
// The time line of an own message: the steps that it has reached, and when.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { ChatClient } from './client.ts';
import { Close } from './icons.tsx';
import { exactly, span } from './time.ts';
import type { Destination, Entry } from './types.ts';
import { visible } from './visible.ts';

interface Step {
	name: string;
	what: string;
	at: number | null;
	bad?: boolean;
}

const time = (at: string | null | undefined) => (at ? Date.parse(at) : null);

/** Returns the steps of ${entry}.  Steps to come have no time. */
export function stepsOf(entry: Entry): Step[]
{
	const one = entry.destinations.length === 1 ? entry.destinations[0] : undefined;
	const at = (state: string) =>
		time(entry.timeline?.find((step) => step.state === state)?.at);
	const steps: Step[] = [
		{ name: 'Accepted', what: 'on the server’s disk', at: time(entry.created_at) }];
	const end = (['failed', 'expired', 'canceled'] as const).find((s) => s === entry.state);

	if (end) {
		const names = { failed: 'Failed', expired: 'Expired', canceled: 'Canceled' };
		steps.push({ name: names[end], what: visible(entry.last_error ?? ''), at: at(end), bad: true });
		return steps;
	}
	steps.push(
		{ name: 'Sent', what: `in the inbox of ${one?.address ?? 'everybody'}`,
			at: at('sent') ?? time(one?.sent_at) },
		{ name: 'Delivered', what: 'a device has it', at: at('acked') ?? time(one?.acked_at) },
		{ name: 'Read', what: 'it was seen', at: at('read') ?? time(one?.read_at) });
	return steps;
}

function attemptsOf(d: Destination): string
{
	const parts = [`${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'}`];

	if (d.last_error)
		parts.push(`last error: ${visible(d.last_error)}`);
	if (d.next_retry_at)
		parts.push(`next try ${exactly(Date.parse(d.next_retry_at))}`);
	return parts.join(', ');
}

function Steps({ steps }: { steps: Step[] }): JSX.Element
{
	const first = steps[0]!.at;

	return (
		<ol class="steps">
			{steps.map((step) => (
				<li key={step.name} class={step.bad ? 'bad' : step.at ? 'done' : ''}>
					<strong>{step.name}</strong> <span class="what">{step.what}</span>
					{step.at ? <time dateTime={new Date(step.at).toISOString()}>
						{exactly(step.at)}{first && step !== steps[0] &&
							<span class="span"> +{span(first, step.at)}</span>}
					</time> : <span class="pending">{step.bad ? '' : 'not yet'}</span>}
				</li>))}
		</ol>
	);
}

/** Copies ${text}.  Returns false if the browser does not allow it. */
async function copy(text: string): Promise<boolean>
{
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		// Without TLS this interface is missing; a selection can still be copied.
	}
	const field = document.createElement('textarea');
	field.value = text;
	document.querySelector('dialog[open]')!.append(field);
	field.select();
	const copied = document.execCommand('copy');
	field.remove();
	return copied;
}

function CopyText({ text }: { text: string }): JSX.Element
{
	const [said, say] = useState('');

	return (
		<div class="row end">
			<p role="status">{said}</p>
			<button onClick={() => void copy(text).then((copied) =>
				say(copied ? 'Copied.' : 'The browser does not let the page copy.'))}>Copy text</button>
		</div>
	);
}

export function TimelineView(props: { client: ChatClient; id: string; done: () => void }): JSX.Element
{
	const { client, id } = props;
	const dialog = useRef<HTMLDialogElement>(null);
	const text = client.textOf(id);
	const [entry, setEntry] = useState<Entry | null>(null);
	const [wrong, setWrong] = useState('');
	const version = `${client.entries.get(id) ?? 0}.${client.entries.get('') ?? 0}.${
		client.link.state}`;

	useLayoutEffect(() => {
		dialog.current?.showModal();
	}, []);
	useEffect(() => {
		let here = true;
		client.entry(id).then((found) => {
			if (!here)
				return;
			setEntry(found);
			setWrong('');
		}, (error: Error) => here && setWrong(error.message));
		return () => { here = false; };
	}, [id, version]);

	return (
		<dialog ref={dialog} class="card timeline" aria-labelledby="timeline-title"
			onClose={props.done} onClick={(event) => {
				if (event.target === dialog.current)
					dialog.current?.close();
			}}>
			<div class="inside">
				<header>
					<h2 id="timeline-title">The way of this message</h2>
					<button class="round" aria-label="Close" title="Close"
						onClick={() => dialog.current?.close()}><Close /></button>
				</header>
				{!entry && !wrong && <p class="hint">Asking the server …</p>}
				{wrong && <p class="wrong" role="alert">{wrong}</p>}
				{entry && <>
					<Steps steps={stepsOf(entry)} />
					<dl>
						{entry.destinations.map((one) => (
							<div key={one.address}><dt>{one.address}</dt><dd>{attemptsOf(one)}</dd></div>))}
						<div><dt>Id</dt><dd><code>{entry.id}</code></dd></div>
					</dl>
				</>}
				{text && <CopyText text={text} />}
			</div>
		</dialog>
	);
}
