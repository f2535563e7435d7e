// SPDX-License-Identifier: MIT
// The form that changes the user's password, which logs out all other devices.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Refused, words } from './api.ts';
import type { ChatClient } from './client.ts';
import { Field } from './field.tsx';
import { sentence } from './time.ts';

interface Wrong {
	old?: string;
	fresh?: string;
	again?: string;
	all?: string;
}

/** Returns the failure, at the field that it concerns. */
function wrongOf(error: unknown): Wrong
{
	const problem = error instanceof Refused ? error.problem : null;

	if (problem?.status === 403 && problem.pointer === '/password')
		return { old: 'This is not your current password.' };
	if (problem?.pointer === '/new_password')
		return { fresh: sentence(problem.detail) };
	return { all: words(error) };
}

/** ${once} is the one-time password of this log-in, which the new password replaces; "": none.
 * Calls ${changed} when the password is changed and the other devices are logged out. */
export function PasswordForm({ client, once, changed }: { client: ChatClient; once: string;
	changed: () => void }): JSX.Element
{
	const [old, setOld] = useState(once);
	const [fresh, setFresh] = useState('');
	const [again, setAgain] = useState('');
	const [wrong, setWrong] = useState<Wrong>({});
	const [said, say] = useState('');
	const [busy, setBusy] = useState(false);
	const form = useRef<HTMLFormElement>(null);

	useLayoutEffect(() => {
		if (once !== '')
			form.current?.querySelector<HTMLElement>('#password-fresh')?.focus();
	}, []);

	function refuse(what: Wrong): void
	{
		setWrong(what);
		const at = what.old ? 'old' : what.fresh ? 'fresh' : what.again ? 'again' : '';
		if (at)
			form.current?.querySelector<HTMLElement>(`#password-${at}`)?.focus();
	}

	async function submit(event: Event): Promise<void>
	{
		event.preventDefault();
		say('');
		if (fresh !== again)
			return refuse({ again: 'This is not the same as the new password.' });
		if (fresh.toLowerCase() === client.me)
			return refuse({ fresh: 'Your name cannot be your password.' });
		setWrong({});
		setBusy(true);
		try {
			await client.api.post('/v1/me/password', { password: old, new_password: fresh });
			setOld('');
			setFresh('');
			setAgain('');
			say('Your password is changed. All other devices were logged out.');
			changed();
		} catch (error) {
			const what = wrongOf(error);
			// The form has no field for the one-time password.
			refuse(once !== '' && what.old ? { all: what.old } : what);
		}
		setBusy(false);
	}

	return (
		<form ref={form} onSubmit={submit}>
			<input class="sr" name="username" value={client.me} autocomplete="username" readOnly
				tabIndex={-1} aria-hidden="true" />
			{once !== '' ? <p class="notice" role="alert">You have logged in with a one-time password, which works only
				once. Choose a password of your own: you need it for your next log-in.</p> :
				<Field id="password-old" label="Current password" name="password" type="password" value={old}
					max={1024} complete="current-password" change={setOld}
					{...(wrong.old ? { wrong: wrong.old } : {})} />}
			<Field id="password-fresh" label="New password" name="new-password" type="password"
				value={fresh} min={8} max={1024} complete="new-password" change={setFresh}
				hint="At least 8 characters." {...(wrong.fresh ? { wrong: wrong.fresh } : {})} />
			<Field id="password-again" label="New password, once more" name="new-password-again"
				type="password" value={again} max={1024} complete="new-password" change={setAgain}
				{...(wrong.again ? { wrong: wrong.again } : {})} />
			{wrong.all && <p class="wrong" role="alert">{wrong.all}</p>}
			<p class="done" role="status">{said}</p>
			<button class="primary" disabled={busy}>{busy ? 'One moment …' : 'Change password'}</button>
		</form>
	);
}
