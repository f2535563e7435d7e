// SPDX-License-Identifier: MIT
// The settings: the account, its password and devices; and the choices for this browser.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { ChatClient } from './client.ts';
import { Back } from './icons.tsx';
import { AppearanceForm } from './view-appearance.tsx';
import { Devices } from './view-devices.tsx';
import { NotifyForm } from './view-notify.tsx';
import { PasswordForm } from './view-password.tsx';

function Section(props: { id: string; title: string; children: ComponentChildren }): JSX.Element
{
	return (
		<section aria-labelledby={`settings-${props.id}`}>
			<h3 id={`settings-${props.id}`}>{props.title}</h3>
			{props.children}
		</section>
	);
}

/** ${once} is as in PasswordForm.  Calls ${replaced} when the one-time password is replaced.
 * ${logOut} asks for confirmation, then logs out this device or, with ${everywhere}, all
 * devices. */
export function SettingsView({ client, once, replaced, logOut }: { client: ChatClient; once: string;
	replaced: () => void; logOut: (everywhere: boolean) => void }): JSX.Element
{
	const [round, setRound] = useState(0);
	const heading = useRef<HTMLHeadingElement>(null);

	// A screen reader and the keyboard begin at the heading, or at the password that must be
	// set.
	useLayoutEffect(() => {
		if (once === '')
			heading.current?.focus();
	}, []);
	return (
		<main class="chat settings" aria-labelledby="settings-title">
			<div class="bar">
				<a class="round back" href="#" aria-label="Back to the conversations"><Back /></a>
				<div class="who"><h2 id="settings-title" ref={heading} tabIndex={-1}>Settings</h2></div>
			</div>
			<div class="sections">
				<Section id="account" title="Account">
					<p>You are logged in as <strong>{client.me}</strong>.</p>
					<div class="row">
						<button onClick={() => logOut(false)}>Log out</button>
						<button onClick={() => logOut(true)}>Log out everywhere</button>
					</div>
				</Section>
				<Section id="password" title="Password">
					<PasswordForm client={client} once={once} changed={() => {
						setRound(round + 1);
						replaced();
					}} />
				</Section>
				<Section id="devices" title="Devices">
					<Devices client={client} round={round} />
				</Section>
				<Section id="notify" title="Notifications">
					<NotifyForm />
				</Section>
				<Section id="appearance" title="Times and appearance">
					<AppearanceForm />
				</Section>
			</div>
		</main>
	);
}
