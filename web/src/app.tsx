// SPDX-License-Identifier: MIT
// The chat page as a whole: who is logged in, the route, and the state of the connection.

import { Fragment, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Unreachable } from './api.ts';
import { ChatClient } from './client.ts';
import { eraseDrafts, loadLogin, onLogin, saveLogin } from './data.ts';
import { Disk } from './disk.ts';
import { Notifier } from './notify.ts';
import { SETTINGS, routeOf } from './route.ts';
import { onSettings, settings } from './settings.ts';
import type { Login } from './types.ts';
import { ChatView } from './view-chat.tsx';
import { ListView } from './view-list.tsx';
import { LoginView } from './view-login.tsx';
import { SettingsView } from './view-settings.tsx';
import { TimelineView } from './view-timeline.tsx';
import { visible } from './visible.ts';

const PHONE = '(max-width: 719px)';
const SAID_LINES = 10; // kept for a screen reader

/** Returns true if there is room for one pane only, and follows changes. */
function usePhone(): boolean
{
	const [query] = useState(() => matchMedia(PHONE));
	const [phone, setPhone] = useState(query.matches);

	useEffect(() => {
		const changed = () => setPhone(query.matches);
		query.addEventListener('change', changed);
		return () => query.removeEventListener('change', changed);
	}, []);
	return phone;
}

/** Returns the route in the address bar, without the #. */
function useHash(): string
{
	const [hash, setHash] = useState(location.hash.slice(1));

	useEffect(() => {
		const changed = () => setHash(location.hash.slice(1));
		addEventListener('hashchange', changed);
		return () => removeEventListener('hashchange', changed);
	}, []);
	return hash;
}

// ---- the connection --------------------------------------------------------

function Countdown({ until }: { until: number }): JSX.Element
{
	const [now, setNow] = useState(Date.now());

	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 250);
		return () => clearInterval(timer);
	}, []);
	return <>{Math.max(1, Math.ceil((until - now) / 1000))} s</>;
}

/** Shows the state of the connection while the page is not connected.  A screen reader reads each
 * change, but not the seconds. */
function Connection({ client }: { client: ChatClient }): JSX.Element
{
	const { link } = client;
	const words = {
		connecting: 'Connecting …',
		live: 'Live',
		waiting: 'Not connected. Reconnecting',
		offline: 'No network. Messages that you write are kept and sent later.',
		stopped: '',
	}[link.state];

	return (
		<div class={`connection ${link.state}`}>
			<p role="status" data-link={link.state}>{words}{link.state === 'stopped' && link.why}</p>
			{link.state === 'waiting' && <span aria-hidden="true">in <Countdown until={link.until} /></span>}
			{(link.state === 'waiting' || link.state === 'offline' || link.state === 'stopped') &&
				<button class="link" onClick={() => client.retryNow()}>Try now</button>}
			{!client.lasting && link.state === 'live' && <p class="warning">This browser keeps
				nothing: what is unsent is lost with the page.</p>}
		</div>
	);
}

// ---- leaving ---------------------------------------------------------------

function LogOut(props: { client: ChatClient; everywhere: boolean;
	done: (left: boolean) => void }): JSX.Element
{
	const { client, everywhere } = props;
	const dialog = useRef<HTMLDialogElement>(null);
	const [wrong, setWrong] = useState('');
	const [busy, setBusy] = useState(false);
	const unsent = client.unsent.length;

	// Open the dialog before the first paint, so that the next key goes to it.
	useLayoutEffect(() => dialog.current?.showModal(), []);

	async function leave(anyway: boolean): Promise<void>
	{
		setBusy(true);
		try {
			await (anyway ? client.forget() : client.logOut(everywhere));
			props.done(true);
		} catch (error) {
			setBusy(false);
			setWrong(error instanceof Unreachable ?
				`The server cannot be reached, so ${everywhere ? 'your devices stay' :
					'this device stays'} logged in there.` :
				(error as Error).message);
		}
	}

	return (
		<dialog ref={dialog} class="card" aria-labelledby="logout-title"
			onClose={() => props.done(false)}>
			<div class="inside">
				<h2 id="logout-title">{everywhere ? 'Log out everywhere?' : 'Log out?'}</h2>
				<p>{everywhere ? 'All your devices are logged out, this one too' :
					`This device, ${visible(client.login.device.name)}, is taken from your list`}, and what this
					browser keeps of {client.me} is erased. Messages stay on the server.</p>
				{unsent > 0 && <p class="wrong">{unsent === 1 ? 'One message is' :
					`${unsent} messages are`} not sent yet and would be lost.</p>}
				{wrong && <p class="wrong" role="alert">{wrong}</p>}
				<div class="row end">
					<button onClick={() => dialog.current?.close()}>Stay</button>
					{wrong && <button onClick={() => void leave(true)}>Erase here only</button>}
					<button class="primary" disabled={busy} onClick={() => void leave(false)}>
						{everywhere ? 'Log out everywhere' : 'Log out'}</button>
				</div>
			</div>
		</dialog>
	);
}

// ---- logged in -------------------------------------------------------------

function Home(props: { login: Login; once: string; replaced: () => void;
	left: (notice: string, kept: boolean) => void }): JSX.Element
{
	const [, draw] = useState(0);
	const [said, setSaid] = useState<{ number: number; words: string }[]>([]);
	const [shown, show] = useState<string | null>(null);
	const [leaving, setLeaving] = useState<'here' | 'everywhere' | null>(null);
	const [client, setClient] = useState<ChatClient | null>(null);
	const hash = useHash();
	const was = useRef(hash);
	const phone = usePhone();

	useEffect(() => {
		let waiting = false;
		let notifier: Notifier | undefined;
		const made = new ChatClient(props.login, {
			// Several changes at once are drawn once.
			changed: () => {
				if (waiting)
					return;
				waiting = true;
				setTimeout(() => {
					waiting = false;
					notifier?.changed();
					draw((n) => n + 1);
				}, 0);
			},
			loggedOut: () => props.left('You were logged out: this device is no longer known ' +
				'to the server.', true),
			// Several messages in a row are all read out, so each is a line of its own.
			say: (words) => setSaid((lines) => [...lines.slice(1 - SAID_LINES),
				{ number: (lines[lines.length - 1]?.number ?? 0) + 1, words }]),
			arrived: (message, conversation) => void notifier?.arrived(message, conversation),
		});
		notifier = new Notifier(made);
		setClient(made);
		void made.start();
		return () => {
			notifier?.end();
			made.end();
		};
	}, [props.login.token]);

	useEffect(() => onSettings(() => draw((n) => n + 1)), []);

	useEffect(() => {
		const key = (event: KeyboardEvent) => {
			if (event.key === 'Escape' && !event.defaultPrevented && !event.isComposing &&
			    !document.querySelector('dialog[open]'))
				location.hash = '';
		};
		addEventListener('keydown', key);
		return () => removeEventListener('keydown', key);
	}, []);

	// Back in the list, the focus returns to the conversation that was open.
	useLayoutEffect(() => {
		if (hash === '' && was.current !== '')
			document.querySelector<HTMLElement>(`.list a[href="#${CSS.escape(was.current)}"]`)?.focus();
		was.current = hash;
	}, [hash]);

	const unread = client?.unread ?? 0;
	useEffect(() => {
		document.title = unread > 0 ? `(${unread}) twinbox` : 'twinbox';
	}, [unread]);

	if (!client)
		return <Fragment />;
	const choosing = hash === SETTINGS;
	const route = choosing ? null : routeOf(hash, client);
	const pane = choosing || route !== null;
	// On a phone only one pane is in the document at a time.
	return (
		<div class={`home ${pane ? 'open' : ''}`}>
			<Connection client={client} />
			<div class="panes">
				{!(phone && pane) && <ListView key={settings().locale} client={client}
					alone={phone} open={hash} />}
				{choosing ? <SettingsView client={client} once={props.once} replaced={props.replaced}
					logOut={(everywhere) => setLeaving(everywhere ? 'everywhere' : 'here')} /> :
				route ? <ChatView key={hash} client={client} route={route} hash={hash} show={show} /> :
					!phone && <main class="chat nothing"><p>Choose a conversation, or press + to
						write to somebody.</p></main>}
			</div>
			{shown && <TimelineView client={client} id={shown} done={() => show(null)} />}
			{leaving && <LogOut client={client} everywhere={leaving === 'everywhere'} done={(left) => {
				setLeaving(null);
				if (left)
					props.left(leaving === 'everywhere' ? 'You are logged out on all devices.' :
						'You are logged out.', false);
			}} />}
			<div class="sr" role="log" aria-live="polite">{said.map((line) =>
				<p key={line.number}>{line.words}</p>)}</div>
		</div>
	);
}

export function App(): JSX.Element
{
	const [login, setLogin] = useState<Login | null>(loadLogin);
	const [notice, setNotice] = useState('');
	const [forgotten, setForgotten] = useState<string | null>(null);
	/* The one-time password of the log-in.  It is only in memory: a reload discards it. */
	const [once, setOnce] = useState('');

	useEffect(() => onLogin((changed) => {
		setOnce('');
		setLogin(changed);
	}), []);

	if (!login)
		return <LoginView notice={notice} forgotten={forgotten} forget={() => {
			eraseDrafts(forgotten!);
			void Disk.open(forgotten!).then((disk) => disk.erase());
			setForgotten(null);
			setNotice('Nothing is kept here.');
		}} done={(made, password) => {
			saveLogin(made);
			setNotice('');
			setForgotten(null);
			setOnce(password);
			if (password !== '')
				location.hash = SETTINGS;
			setLogin(made);
		}} />;
	return <Home key={login.token} login={login} once={once} replaced={() => setOnce('')} left={(why, kept) => {
		setOnce('');
		saveLogin(null);
		if (!kept)
			eraseDrafts(login.user);
		setForgotten(kept ? login.user : null);
		setNotice(why);
		setLogin(null);
		location.hash = '';
	}} />;
}
