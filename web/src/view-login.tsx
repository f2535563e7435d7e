// SPDX-License-Identifier: MIT
// Log-in and registration.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Api, Refused, words } from './api.ts';
import { deviceName } from './data.ts';
import { Field } from './field.tsx';
import { Brand } from './icons.tsx';
import { sentence } from './time.ts';
import type { Login, ServerInfo } from './types.ts';

interface NewToken {
	token: string;
	user: string;
	device: { id: string; name: string };
	password_once?: boolean;
}

/* Accounts of older servers may have names that are not valid for a new account. */
const OLD_NAME = '[a-z0-9._\\-]+';
const NEW_NAME = '(?!.*\\.\\.)[a-z0-9]([a-z0-9._\\-]*[a-z0-9])?';

/** Returns why a new account cannot have the name, for the field of the name. */
function whyNot({ problem }: Refused): string
{
	switch (problem.status) {
	case 409:
		return 'This name is taken.';
	case 403:
		return 'This name is reserved.';
	default:
		return sentence(problem.detail);
	}
}

/** Returns a failure in words that help the user. */
const wordsFor = (error: unknown): string =>
	error instanceof Refused && error.problem.code === 'wrong_password' ? 'Name or password is wrong.' :
		words(error);

/** With ${admin} it is on the admin page, without registration.  ${done} gets the login and, if the
 * password was a one-time password, that password: the user must replace it. */
export function LoginView(props: { notice: string; forgotten: string | null;
	forget: () => void; done: (login: Login, once: string) => void; admin?: boolean; }): JSX.Element
{
	const [info, setInfo] = useState<ServerInfo | null>(null);
	const [registering, setRegistering] = useState(false);
	const [name, setName] = useState('');
	const [password, setPassword] = useState('');
	const [device, setDevice] = useState(deviceName);
	const [busy, setBusy] = useState(false);
	const [wrong, setWrong] = useState('');
	const [refused, setRefused] = useState({ name: '', why: '' });
	const form = useRef<HTMLFormElement>(null);

	useLayoutEffect(() => {
		new Api().get<ServerInfo>('/v1').then(setInfo, () => undefined);
		form.current?.querySelector('input')?.focus();
	}, []);

	async function submit(event: Event): Promise<void>
	{
		const api = new Api();

		event.preventDefault();
		setBusy(true);
		setWrong('');
		setRefused({ name: '', why: '' });
		try {
			if (registering)
				await api.post('/v1/users', { name, password });
			const made = await api.post<NewToken>('/v1/tokens', { name, password, device });
			props.done({ token: made.token, user: made.user, device: made.device },
				made.password_once ? password : '');
		} catch (error) {
			setBusy(false);
			if (registering && error instanceof Refused && error.problem.pointer === '/name') {
				setRefused({ name, why: whyNot(error) });
				form.current?.querySelector('input')?.focus();
			} else {
				setWrong(wordsFor(error));
			}
		}
	}

	const open = info?.registration === 'open' && !props.admin;
	return (
		<main class="login">
			<div class="card">
				<h1><Brand />{props.admin ? 'twinbox admin' : 'twinbox'}</h1>
				{props.notice && <p class="notice" role="status">
					{props.notice}
					{props.forgotten && <> Messages of {props.forgotten} are still kept in this
						browser. <button type="button" class="link" onClick={props.forget}>
							Forget them</button></>}
				</p>}
				{open && <div class="tabs" role="group" aria-label="Log in or register">
					{[false, true].map((which) => (
						<button type="button" aria-pressed={registering === which}
							onClick={() => { setRegistering(which); setWrong(''); }}>
							{which ? 'Register' : 'Log in'}
						</button>))}
				</div>}
				<form ref={form} onSubmit={submit}>
					<Field id="login-username" label="Name" name="username" value={name} complete="username" max={32}
						pattern={registering ? NEW_NAME : OLD_NAME}
						change={(value) => setName(value.trim().toLowerCase())}
						{...(registering ? { hint: 'Letters a to z, digits, and between them dot, dash, underscore.' } : {})}
						{...(registering && refused.name === name && refused.why ? { wrong: refused.why } : {})} />
					<Field id="login-password" label="Password" name="password" type="password" value={password}
						max={1024} change={setPassword}
						complete={registering ? 'new-password' : 'current-password'}
						{...(registering ? { min: 8, hint: 'At least 8 characters.' } : {})} />
					<Field id="login-device" label="This device" name="device" value={device} max={64}
						hint="The name shown in your list of devices." change={setDevice} />
					<p class="wrong" role="alert">{wrong}</p>
					<button class="primary" disabled={busy}>
						{busy ? 'One moment …' : registering ? 'Register' : 'Log in'}
					</button>
				</form>
				{info && !open && !props.admin && <p class="hint center">Registration is closed here; ask whoever
					runs {info.domain}.</p>}
			</div>
			<p class="foot"><a href="/docs">API reference</a>
				{info && ` · twinbox ${info.version}`}</p>
		</main>
	);
}
