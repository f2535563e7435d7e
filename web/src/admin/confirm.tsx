// SPDX-License-Identifier: MIT
// A question before something is done: what will happen, in numbers, and what
// the server refused of it.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { why } from './client.ts';
import { useAdmin } from './use.ts';

export interface ConfirmProps {
	title: string;
	yes: string;
	busy?: string;       // what it says while it is done
	danger?: boolean;
	children?: ComponentChildren;
	/** Does it; what it returns is said as the outcome. */
	run: () => Promise<string>;
	done: () => void;
}

export function Confirm(props: ConfirmProps): JSX.Element
{
	const { client, say } = useAdmin();
	const dialog = useRef<HTMLDialogElement>(null);
	const [wrong, setWrong] = useState('');
	const [busy, setBusy] = useState(false);

	// Before it is seen: the next key is for it already.
	useLayoutEffect(() => dialog.current?.showModal(), []);

	async function run(): Promise<void>
	{
		setBusy(true);
		setWrong('');
		try {
			const said = await props.run();
			dialog.current?.close();
			say(said);
		} catch (error) {
			setWrong(why(error));
			setBusy(false);
		}
		client.refresh();
	}

	return (
		<dialog ref={dialog} class="card" aria-labelledby="confirm-title" onClose={props.done}>
			<form class="inside" onSubmit={(event) => {
				event.preventDefault();
				void run();
			}}>
				<h2 id="confirm-title">{props.title}</h2>
				{props.children}
				<p class="wrong" role="alert">{wrong}</p>
				<div class="row end">
					<button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
					<button class={props.danger ? 'danger' : 'primary'} disabled={busy}>
						{busy ? props.busy ?? 'One moment …' : props.yes}</button>
				</div>
			</form>
		</dialog>
	);
}
