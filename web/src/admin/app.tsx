// SPDX-License-Identifier: MIT
// The desk as a whole: who is at it, the way between its views, and how well
// it is connected.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { loadLogin, onLogin, saveLogin } from '../data.ts';
import { Brand, Close } from '../icons.tsx';
import { LoginView } from '../view-login.tsx';
import { Desk, type Link } from './desk.ts';
import { Mark, type Tone } from './parts.tsx';
import { placeOf, type Place } from './place.ts';
import { DeskContext } from './use.ts';
import { AuditView } from './view-audit.tsx';
import { DeadView } from './view-dead.tsx';
import { DestinationsView } from './view-destinations.tsx';
import { LanesView } from './view-lanes.tsx';
import { MessageView } from './view-message.tsx';
import { OutboxView } from './view-outbox.tsx';
import { OverviewView } from './view-overview.tsx';
import { count } from './words.ts';

const VIEWS = [['overview', 'Overview'], ['destinations', 'Destinations'], ['dead', 'Dead letters'],
	['outbox', 'Outbox'], ['lanes', 'Lanes'], ['audit', 'Audit']] as const;

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

/** Says whether what is shown is live; screen readers hear each change, but not
 * the seconds. */
function Connection({ desk }: { desk: Desk }): JSX.Element
{
	const { link } = desk;
	const words: Record<Link['state'], string> = { connecting: 'Connecting …', live: 'Live',
		slow: 'The server is slow to answer', waiting: 'No answer', hidden: 'Not looked at' };
	const tones: Record<Link['state'], Tone> = { connecting: 'wait', live: 'good', slow: 'wait',
		waiting: 'bad', hidden: 'off' };

	return (
		<div class={`link-state ${link.state}`}>
			<Mark tone={tones[link.state]} />
			<p role="status" data-link={link.state}>{words[link.state]}</p>
			{link.state === 'slow' && <span aria-hidden="true"><Seconds at={link.since} ahead={false} /></span>}
		</div>
	);
}

function Away({ desk }: { desk: Desk }): JSX.Element | null
{
	const { link } = desk;

	if (link.state !== 'waiting')
		return null;
	return (
		<div class="connection stopped away">
			<p>{link.why} {desk.stats && 'What is shown is what was known before.'}</p>
			<span aria-hidden="true">Next try in <Seconds at={link.until} ahead /></span>
			<button class="link" onClick={() => desk.retryNow()}>Try now</button>
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

function View({ place }: { place: Place }): JSX.Element
{
	switch (place.view) {
	case 'destinations':
		return <DestinationsView />;
	case 'dead':
		return <DeadView params={place.params} />;
	case 'outbox':
		return <OutboxView params={place.params} />;
	case 'message':
		return <MessageView key={place.id} id={place.id} />;
	case 'lanes':
		return <LanesView params={place.params} />;
	case 'audit':
		return <AuditView params={place.params} />;
	default:
		return <OverviewView />;
	}
}

/** The name of the view, for the title of the window. */
function titleOf(place: Place): string
{
	return place.view === 'message' ? 'A message' :
		VIEWS.find(([view]) => view === place.view)?.[1] ?? 'Overview';
}

function Nav({ desk, place }: { desk: Desk; place: Place }): JSX.Element
{
	const current = place.view === 'message' ? 'outbox' : place.view;
	const dead = desk.stats?.dead_letters_open ?? 0;

	return (
		<nav class="views" aria-label="Views">
			{VIEWS.map(([view, name]) => <a key={view} href={`#${view}`}
				aria-current={current === view ? 'page' : undefined}>{name}
				{view === 'dead' && dead > 0 && <span class="badge">{dead > 999 ? '999+' : count(dead)}
					<span class="sr"> to decide</span></span>}</a>)}
		</nav>
	);
}

function DeskView({ desk }: { desk: Desk }): JSX.Element
{
	const hash = useHash();
	const place = useMemo(() => placeOf(hash), [hash]);
	const was = useRef(place.view);
	const [said, setSaid] = useState<{ words: string; bad: boolean } | null>(null);
	const user = useMemo(() => ({ desk,
		say: (words: string, bad = false) => setSaid({ words, bad }) }), [desk]);

	// With the view, not after it has been seen: the focus would be taken from
	// who types there already.
	useLayoutEffect(() => {
		document.title = `${titleOf(place)} – twinbox desk`;
		// Who goes to another view begins at its top, also by ear.
		if (was.current !== place.view) {
			document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
			scrollTo(0, 0);
			setSaid(null);
		}
		was.current = place.view;
	}, [place]);

	return (
		<DeskContext.Provider value={user}>
			<div class="desk">
				<header class="top">
					<div class="brand-row">
						<Brand />
						<p class="who"><strong>twinbox desk</strong><span class="soft">{desk.domain}</span></p>
						<Connection desk={desk} />
						<a class="to-chat" href="/">{desk.who}</a>
					</div>
					<Nav desk={desk} place={place} />
				</header>
				<Away desk={desk} />
				<main>
					<div role="status" class={`said ${said?.bad ? 'bad' : ''}`}>
						{said && <><p>{said.words}</p><button class="round" aria-label="Hide this"
							onClick={() => setSaid(null)}><Close /></button></>}
					</div>
					<View place={place} />
				</main>
			</div>
		</DeskContext.Provider>
	);
}

// ---- who is there ----------------------------------------------------------

function Denied({ desk }: { desk: Desk }): JSX.Element
{
	return (
		<main class="login">
			<div class="card">
				<h1><Brand /> twinbox desk</h1>
				<p>This page is for administrators. {desk.who ? `${desk.who} is logged in here and is none.` :
					'Who is logged in here is none.'}</p>
				<p class="hint">Whoever runs {desk.domain || 'this server'} makes somebody one with{' '}
					<code>twinboxd user add NAME --admin</code>.</p>
				<p><a href="/">To the messages</a></p>
			</div>
		</main>
	);
}

export function App(): JSX.Element
{
	const [login, setLogin] = useState(loadLogin);
	const [, draw] = useState(0);
	const [desk, setDesk] = useState<Desk | null>(null);
	const token = login?.token;

	useEffect(() => onLogin(setLogin), []);
	useEffect(() => {
		if (!token)
			return undefined;
		const made = new Desk(token, () => draw((n) => n + 1));
		setDesk(made);
		return () => {
			made.end();
			setDesk(null);
		};
	}, [token]);

	if (!token || desk?.stage === 'login')
		return <LoginView desk forgotten={null} forget={() => undefined}
			notice={token ? 'You were logged out: this device is no longer known to the server.' : ''}
			done={(made) => {
				saveLogin(made);
				setLogin(made);
			}} />;
	if (!desk)
		return <></>;
	return desk.stage === 'denied' ? <Denied desk={desk} /> : <DeskView desk={desk} />;
}
