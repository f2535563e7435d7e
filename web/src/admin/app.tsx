// SPDX-License-Identifier: MIT
// The admin page as a whole: log-in, navigation between the views, and the state of the connection.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { loadLogin, onLogin, saveLogin } from '../data.ts';
import { Brand, Close } from '../icons.tsx';
import { LoginView } from '../view-login.tsx';
import { AdminClient, type Link } from './client.ts';
import { StatusIcon, type Tone } from './parts.tsx';
import { routeOf, type Route } from './route.ts';
import { AdminContext } from './use.ts';
import { AuditView } from './view-audit.tsx';
import { DeadView } from './view-dead.tsx';
import { DestinationsView } from './view-destinations.tsx';
import { LanesView } from './view-lanes.tsx';
import { MessageView } from './view-message.tsx';
import { OutboxView } from './view-outbox.tsx';
import { OverviewView } from './view-overview.tsx';
import { UsersView } from './view-users.tsx';
import { count } from './words.ts';

const VIEWS = [['overview', 'Overview'], ['destinations', 'Destinations'], ['dead', 'Dead letters'],
	['outbox', 'Outbox'], ['lanes', 'Lanes'], ['users', 'Users'], ['audit', 'Audit']] as const;

// ---- the connection --------------------------------------------------------

function Seconds({ at, ahead }: { at: number; ahead: boolean }): JSX.Element
{
	const [now, setNow] = useState(Date.now());

	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 250);
		return () => clearInterval(timer);
	}, []);
	return <>{Math.max(1, Math.round((ahead ? at - now : now - at) / 1000))} s</>;
}

/** Shows whether the figures are live.  A screen reader reads each change of the state, but not the
 * seconds. */
function Connection({ client }: { client: AdminClient }): JSX.Element
{
	const { link } = client;
	const words: Record<Link['state'], string> = { connecting: 'Connecting …', live: 'Live',
		slow: 'The server is slow to answer', waiting: 'No answer', hidden: 'Not looked at' };
	const tones: Record<Link['state'], Tone> = { connecting: 'wait', live: 'good', slow: 'wait',
		waiting: 'bad', hidden: 'off' };

	return (
		<div class={`link-state ${link.state}`}>
			<StatusIcon tone={tones[link.state]} />
			<p role="status" data-link={link.state}>{words[link.state]}</p>
			{link.state === 'slow' && <span aria-hidden="true"><Seconds at={link.since} ahead={false} /></span>}
		</div>
	);
}

function Away({ client }: { client: AdminClient }): JSX.Element | null
{
	const { link } = client;

	if (link.state !== 'waiting')
		return null;
	return (
		<div class="connection stopped away">
			<p>{link.why} {client.stats && 'The page shows the last known state.'}</p>
			<span aria-hidden="true">Next try in <Seconds at={link.until} ahead /></span>
			<button class="link" onClick={() => client.retryNow()}>Try now</button>
		</div>
	);
}

// ---- views -----------------------------------------------------------------

function useHash(): string
{
	const [hash, setHash] = useState(location.hash);

	useEffect(() => {
		const changed = () => setHash(location.hash);
		addEventListener('hashchange', changed);
		return () => removeEventListener('hashchange', changed);
	}, []);
	return hash;
}

function View({ route }: { route: Route }): JSX.Element
{
	switch (route.view) {
	case 'destinations':
		return <DestinationsView />;
	case 'dead':
		return <DeadView params={route.params} />;
	case 'outbox':
		return <OutboxView params={route.params} />;
	case 'message':
		return <MessageView key={route.id} id={route.id} />;
	case 'lanes':
		return <LanesView params={route.params} />;
	case 'users':
		return <UsersView params={route.params} />;
	case 'audit':
		return <AuditView params={route.params} />;
	default:
		return <OverviewView />;
	}
}

/** Returns the name of the view, for the title of the window. */
function titleOf(route: Route): string
{
	return route.view === 'message' ? 'A message' :
		VIEWS.find(([view]) => view === route.view)?.[1] ?? 'Overview';
}

function Nav({ client, route }: { client: AdminClient; route: Route }): JSX.Element
{
	const current = route.view === 'message' ? 'outbox' : route.view;
	const dead = client.stats?.dead_letters_open ?? 0;

	return (
		<nav class="views" aria-label="Views">
			{VIEWS.map(([view, name]) => <a key={view} href={`#${view}`}
				aria-current={current === view ? 'page' : undefined}>{name}
				{view === 'dead' && dead > 0 && <span class="badge">{dead > 999 ? '999+' : count(dead)}
					<span class="sr"> to decide</span></span>}</a>)}
		</nav>
	);
}

/** ${once} is true if the user logged in with a one-time password. */
function AdminView({ client, once }: { client: AdminClient; once: boolean }): JSX.Element
{
	const hash = useHash();
	const route = useMemo(() => routeOf(hash), [hash]);
	const was = useRef(route.view);
	const [said, setSaid] = useState<{ words: string; bad: boolean } | null>(null);
	const user = useMemo(() => ({ client,
		say: (words: string, bad = false) => setSaid({ words, bad }) }), [client]);

	// A layout effect, because a later effect could take the focus from a user who has begun to
	// type in the new view.
	useLayoutEffect(() => {
		document.title = `${titleOf(route)} – twinbox admin`;
		// A new view begins at its top, also for a screen reader.
		if (was.current !== route.view) {
			document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
			scrollTo(0, 0);
			setSaid(null);
		}
		was.current = route.view;
	}, [route]);

	return (
		<AdminContext.Provider value={user}>
			<div class="admin">
				<header class="top">
					<div class="brand-row">
						<Brand />
						<p class="who"><strong>twinbox admin</strong><span class="soft">{client.domain}</span></p>
						<Connection client={client} />
						<a class="to-chat" href="/">{client.who}</a>
					</div>
					<Nav client={client} route={route} />
				</header>
				<Away client={client} />
				<main>
					{once && <p class="notice">You have logged in with a one-time password, which works only
						once. <a href="/#settings">Choose a password of your own</a>; the one-time password is
						the current one there.</p>}
					<div role="status" class={`said ${said?.bad ? 'bad' : ''}`}>
						{said && <><p>{said.words}</p><button class="round" aria-label="Hide this"
							onClick={() => setSaid(null)}><Close /></button></>}
					</div>
					<View route={route} />
				</main>
			</div>
		</AdminContext.Provider>
	);
}

// ---- who is there ----------------------------------------------------------

function Denied({ client }: { client: AdminClient }): JSX.Element
{
	return (
		<main class="login">
			<div class="card">
				<h1><Brand /> twinbox admin</h1>
				<p>This page is for administrators. {client.who || 'This user'} is not an administrator.</p>
				<p class="hint">An administrator of {client.domain || 'this server'} can promote you in the view
					Users of this page; its operator can with <code>twinboxd user promote {client.who || 'NAME'}</code>.</p>
				<p><a href="/">To the messages</a></p>
			</div>
		</main>
	);
}

export function App(): JSX.Element
{
	const [login, setLogin] = useState(loadLogin);
	const [, draw] = useState(0);
	const [client, setClient] = useState<AdminClient | null>(null);
	const [once, setOnce] = useState(false);
	const token = login?.token;

	useEffect(() => onLogin(setLogin), []);
	useEffect(() => {
		if (!token)
			return undefined;
		const made = new AdminClient(token, () => draw((n) => n + 1));
		setClient(made);
		return () => {
			made.end();
			setClient(null);
		};
	}, [token]);

	if (!token || client?.stage === 'login')
		return <LoginView admin forgotten={null} forget={() => undefined}
			notice={token ? 'You were logged out: this device is no longer known to the server.' : ''}
			done={(made, password) => {
				saveLogin(made);
				setOnce(password !== '');
				setLogin(made);
			}} />;
	if (!client)
		return <></>;
	return client.stage === 'denied' ? <Denied client={client} /> : <AdminView client={client} once={once} />;
}
