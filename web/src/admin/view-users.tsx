// SPDX-License-Identifier: MIT
// The view of users: who has an account, who is an administrator, and the changes that an
// administrator can make.  Only the dialog that shows a one-time password has it.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Confirm } from './confirm.tsx';
import { Filters, Missing, Pages, Table, Tag, When, type Column } from './parts.tsx';
import { hashOf, queryOf, type Params } from './route.ts';
import type { OncePassword, User, Users } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { count, moment } from './words.ts';

const PAGE = 50;

type Word = 'disable' | 'enable' | 'promote' | 'demote' | 'password';

const buttons: Record<Word, string> = { disable: 'Disable', enable: 'Enable', promote: 'Promote', demote: 'Demote',
	password: 'One-time password' };
const titles: Record<Word, (name: string) => string> = {
	disable: (name) => `Disable ${name}?`,
	enable: (name) => `Enable ${name}?`,
	promote: (name) => `Make ${name} an administrator?`,
	demote: (name) => `Take the rights of an administrator from ${name}?`,
	password: (name) => `Make a one-time password for ${name}?`,
};
const outcomes: Record<Word, string> = { disable: 'is disabled', enable: 'is enabled',
	promote: 'is an administrator', demote: 'is no longer an administrator',
	password: 'has a one-time password' };

/** A page of the list begins after a given name.  This name sorts just before all names that begin
 * with ${prefix}, because no name contains "~". */
export function before(prefix: string): string
{
	return prefix === '' ? '' :
		`${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) - 1)}~`;
}

function Consequences({ word, self }: { word: Word; self: boolean }): JSX.Element
{
	switch (word) {
	case 'disable':
		return <p>{self ? 'This is you: you are logged out of this page. ' : ''}The user is logged out of all
			devices at once and can no longer log in. People who write to this user get the answer that there is no such
			user, and messages that the user has scheduled are canceled when they are due.</p>;
	case 'enable':
		return <p>The user can log in again with the same password. Devices that were logged out stay logged out.</p>;
	case 'promote':
		return <p>An administrator sees this page and may do everything on it: pause destinations, discard
			messages, disable users. It shows no texts of messages.</p>;
	case 'password':
		return <p>It takes the place of the user's password, and the user is logged out of all devices at once.
			It is shown once, here, and is good for one log-in within 24 hours. The page then asks the user to
			choose another.</p>;
	default:
		return <p>{self ? 'This is you: this page ends for you. ' : ''}The rights end at once, on all devices of
			the user.</p>;
	}
}

/** Shows ${made}, the one-time password, until the user closes the dialog. */
function Once({ made, done }: { made: OncePassword; done: () => void }): JSX.Element
{
	const dialog = useRef<HTMLDialogElement>(null);
	const [said, say] = useState('');

	useLayoutEffect(() => dialog.current?.showModal(), []);

	async function copy(): Promise<void>
	{
		try {
			await navigator.clipboard.writeText(made.password);
			say('Copied.');
		} catch {
			say('The browser does not let the page copy.');
		}
	}

	return (
		<dialog ref={dialog} class="card" aria-labelledby="once-title" onClose={done}>
			<div class="inside">
				<h2 id="once-title">One-time password of {made.name}</h2>
				<p class="once"><code>{made.password}</code></p>
				<p>Give it to {made.name} in a way that nobody else reads. It is good for one log-in
					until <time dateTime={made.expires_at}>{moment(Date.parse(made.expires_at), Date.now())}</time>,
					and is not shown again.</p>
				<p role="status">{said}</p>
				<div class="row end">
					<button onClick={() => void copy()}>Copy</button>
					<button class="primary" onClick={() => dialog.current?.close()}>Close</button>
				</div>
			</div>
		</dialog>
	);
}

function Ask({ user, word, done, made }: { user: User; word: Word; done: () => void;
	made: (password: OncePassword) => void }): JSX.Element
{
	const { client } = useAdmin();
	const { name } = user;

	return (
		<Confirm title={titles[word](name)} yes={word === 'password' ? 'Make it' : buttons[word]}
			danger={word === 'disable' || word === 'demote' || word === 'password'}
			done={done} run={async () => {
				const answer = await client.api.post<OncePassword>(
					`/v1/admin/users/${encodeURIComponent(name)}/${word}`, {});
				if (word === 'password')
					made(answer);
				return `${name} ${outcomes[word]}.`;
			}}>
			<Consequences word={word} self={name === client.who} />
		</Confirm>
	);
}

/** Returns the possible changes of ${user}.  An administrator gets no one-time password for the own
 * account: it ends this session, so the page could not show it. */
function wordsFor(user: User, self: boolean): Word[]
{
	const rights: Word[] = user.admin ? ['demote'] : user.disabled_at === null ? ['promote'] : [];
	if (user.disabled_at !== null)
		return ['enable', ...rights];
	return ['disable', ...rights, ...(self ? [] : ['password'] as const)];
}

function State({ user }: { user: User }): JSX.Element
{
	if (user.disabled_at !== null)
		return <div class="stack"><Tag tone="off">disabled</Tag>
			<span class="soft"><When at={user.disabled_at} />{user.admin && ', administrator'}</span></div>;
	return <Tag tone={user.admin ? 'good' : 'plain'}>{user.admin ? 'administrator' : 'user'}</Tag>;
}

export function UsersView({ params }: { params: Params }): JSX.Element
{
	const { client } = useAdmin();
	const prefix = (params.name ?? '').toLowerCase();
	const after = params.after ?? before(prefix);
	const found = useWatch<Users>(`/v1/admin/users${queryOf({ after, limit: String(PAGE) })}`);
	const [asked, setAsked] = useState<{ user: User; word: Word } | null>(null);
	const [made, setMade] = useState<OncePassword | null>(null);
	const users = (found.data?.users ?? []).filter((one) => one.name.startsWith(prefix));
	const next = found.data?.next?.startsWith(prefix) ? found.data.next : null;
	const columns: Column<User>[] = [
		{ head: 'Name', bare: true, cell: (one) => <div class="stack"><strong><bdi>{one.name}</bdi></strong>
			{one.display_name !== null && <span class="soft"><bdi>{one.display_name}</bdi></span>}</div> },
		{ head: 'Role', bare: true, cell: (one) => <State user={one} /> },
		{ head: 'Devices', num: true, cell: (one) => count(one.devices) },
		{ head: 'Pending', num: true, cell: (one) => (one.pending === 0 ? count(0) :
			<a href={hashOf('outbox', { sender: one.name, state: 'pending' })}>{count(one.pending)}
				<span class="sr"> messages of {one.name}</span></a>) },
		{ head: 'Created', cell: (one) => <When at={one.created_at} /> },
		{ head: 'Actions', bare: true, cell: (one) => <div class="row">{wordsFor(one, one.name === client.who).map((word) =>
			<button key={word} class="small" aria-label={`${buttons[word]} ${one.name}`}
				onClick={() => setAsked({ user: one, word })}>{buttons[word]}</button>)}</div> },
	];

	return (
		<>
			<h1 tabIndex={-1}>Users</h1>
			<p class="hint">Everybody with an account here, by name. Users of other servers are not listed.</p>
			<Filters view="users" params={params} filters={[
				{ name: 'name', label: 'Name begins with', hint: 'ann' }]} />
			<Missing watched={found} what="users" />
			{found.data && <>
				{found.data.truncated && <p class="hint">More messages wait than were counted: the numbers under
					Pending are the least.</p>}
				{users.length > 0 && <Table label="Users" columns={columns} rows={users} id={(one) => one.name} />}
				<Pages view="users" params={params} shown={users.length} next={next} key_="after" first="First"
					more="None on this page; there may be some on the next one."
					none={prefix === '' ? 'No users yet.' : `No user whose name begins with ${prefix}.`} />
			</>}
			{asked && <Ask {...asked} done={() => setAsked(null)} made={setMade} />}
			{made && !asked && <Once made={made} done={() => setMade(null)} />}
		</>
	);
}
