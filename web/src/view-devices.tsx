// SPDX-License-Identifier: MIT
// The devices that are logged in: their names, their last activity, and buttons to log them out.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { words } from './api.ts';
import type { ChatClient } from './client.ts';
import { saveLogin } from './data.ts';
import { exactly, whenOf } from './time.ts';
import { Plain } from './view-text.tsx';
import { visible } from './visible.ts';

interface Device {
	id: string;
	name: string;
	created_at: string;
	last_seen_at: string;
	current: boolean;
}

function Time({ at }: { at: string }): JSX.Element
{
	const ms = Date.parse(at);
	return <time dateTime={at} title={exactly(ms)}>{whenOf(ms)}</time>;
}

/** A dialog that asks for confirmation before devices are logged out. */
function Ask(props: { title: string; children: string; yes: string; run: () => Promise<void>;
	done: () => void }): JSX.Element
{
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
			await props.run();
			dialog.current?.close();
		} catch (error) {
			setWrong(words(error));
			setBusy(false);
		}
	}

	return (
		<dialog ref={dialog} class="card" aria-labelledby="ask-title" onClose={props.done}>
			<div class="inside">
				<h2 id="ask-title">{props.title}</h2>
				<p>{props.children}</p>
				<p class="wrong" role="alert">{wrong}</p>
				<div class="row end">
					<button onClick={() => dialog.current?.close()}>Cancel</button>
					<button class="primary" disabled={busy} onClick={() => void run()}>{props.yes}</button>
				</div>
			</div>
		</dialog>
	);
}

function Rename(props: { device: Device; client: ChatClient; done: (name?: string) => void }): JSX.Element
{
	const { device, client } = props;
	const [name, setName] = useState(device.name);
	const [wrong, setWrong] = useState('');
	const field = useRef<HTMLInputElement>(null);

	useLayoutEffect(() => field.current?.select(), []);

	async function submit(event: Event): Promise<void>
	{
		event.preventDefault();
		try {
			const { name: now } = await client.api.patch<Device>(
				`/v1/tokens/${device.id}`, { device: name.trim() });
			props.done(now);
		} catch (error) {
			setWrong(words(error));
		}
	}

	return (
		<form class="rename" onSubmit={submit} onKeyDown={(event) => {
			if (event.key === 'Escape') {
				event.stopPropagation();
				props.done();
			}
		}}>
			<div class="row">
				<input ref={field} aria-label={`New name of ${visible(device.name)}`} value={name} required
					maxLength={64} pattern=".*\S.*" title="A name" autocomplete="off"
					onInput={(event) => setName(event.currentTarget.value)} />
				<button class="primary">Rename</button>
				<button type="button" onClick={() => props.done()}>Cancel</button>
			</div>
			<p class="wrong" role="alert">{wrong}</p>
		</form>
	);
}

/** The list is read again when ${round} changes. */
export function Devices({ client, round }: { client: ChatClient; round: number }): JSX.Element
{
	const [devices, setDevices] = useState<Device[] | null>(null);
	const [wrong, setWrong] = useState('');
	const [said, say] = useState('');
	const [renaming, setRenaming] = useState('');
	const [asking, ask] = useState<Device | 'others' | null>(null);
	const box = useRef<HTMLDivElement>(null);
	const renamed = useRef('');
	const live = client.link.state === 'live';

	async function load(): Promise<void>
	{
		try {
			setDevices((await client.api.get<{ devices: Device[] }>('/v1/tokens')).devices);
			setWrong('');
		} catch (error) {
			setWrong(words(error));
		}
	}

	// Read again when the server can be reached again.
	useEffect(() => void load(), [round, live]);

	// The focus returns to the button that the form had replaced.
	useLayoutEffect(() => {
		if (renaming === '' && renamed.current !== '')
			box.current?.querySelector<HTMLElement>(`[data-rename="${renamed.current}"]`)?.focus();
		renamed.current = renaming;
	}, [renaming]);

	function rename(device: Device, name?: string): void
	{
		setRenaming('');
		if (name === undefined)
			return;
		setDevices(devices!.map((one) => one.id === device.id ? { ...one, name } : one));
		say(`It is called ${visible(name)} now.`);
		// Store the new name of this browser's device, for the next load.
		if (device.current) {
			client.login.device.name = name;
			saveLogin(client.login);
		}
	}

	async function revoke(): Promise<void>
	{
		const others = asking === 'others';

		await client.api.delete(others ? '/v1/tokens' : `/v1/tokens/${(asking as Device).id}`);
		await load();
		// The list is up to date before the outcome is announced.
		say(others ? 'All other devices are logged out.' :
			`${visible((asking as Device).name)} is logged out.`);
		// The button that was pressed no longer exists.
		box.current?.focus();
	}

	const others = devices?.filter((one) => !one.current).length ?? 0;
	return (
		<div ref={box} class="devices" tabIndex={-1}>
			<ul>
				{devices?.map((one) => (
					<li key={one.id}>
						{renaming === one.id ?
							<Rename device={one} client={client} done={(name) => rename(one, name)} /> :
							<>
								<div class="what">
									<p class="name"><bdi><Plain text={one.name} /></bdi></p>
									<p class="hint">{one.current ? <strong>This device</strong> :
										<>Last active <Time at={one.last_seen_at} /></>}
									{' · '}logged in <Time at={one.created_at} /></p>
								</div>
								<button data-rename={one.id} aria-label={`Rename ${visible(one.name)}`}
									onClick={() => { say(''); setRenaming(one.id); }}>Rename</button>
								{!one.current && <button aria-label={`Log out ${visible(one.name)}`}
									onClick={() => ask(one)}>Log out</button>}
							</>}
					</li>))}
			</ul>
			{wrong && <p class="wrong" role="alert">{wrong}</p>}
			<p class="done" role="status">{said}</p>
			{others > 0 && <button onClick={() => ask('others')}>Log out all other devices</button>}
			{asking && <Ask done={() => ask(null)} run={revoke} yes="Log out"
				title={asking === 'others' ? 'Log out all other devices?' : `Log out ${visible(asking.name)}?`}>
				{`${asking === 'others' ? `${others === 1 ? 'The other device' :
					`${others} other devices`}` : 'It'} can read and send nothing until somebody logs in ` +
					'there again with your password. Messages that it has stored are not erased.'}
			</Ask>}
		</div>
	);
}
