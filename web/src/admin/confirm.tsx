// SPDX-License-Identifier: MIT
// A dialog that asks for confirmation of a change.  It says in numbers what will happen, and
// afterwards what the server has refused.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { why } from './client.ts';
import { useAdmin } from './use.ts';

export interface ConfirmProps {
	title: string;
	yes: string;
	busy?: string;       // text of the button during the change
	danger?: boolean;
	children?: ComponentChildren;
	/** Makes the change.  Returns the text of the outcome. */
	run: () => Promise<string>;
	done: () => void;
}

export function Confirm(props: ConfirmProps): JSX.Element
{
	const { client, say } = useAdmin();
	const dialog = useRef<HTMLDialogElement>(null);
	const [wrong, setWrong] = useState('');
	const [busy, setBusy] = useState(false);

	// Open the dialog before the first paint, so that the next key goes to it.
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
