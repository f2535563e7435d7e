// SPDX-License-Identifier: MIT
// The messages of one conversation, and how one scrolls through them.

import { Component, type ComponentChild, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { ChatClient, Route } from './client.ts';
import { Down, TickIcon, tickWords } from './icons.tsx';
import { dayName, dayOf, exactly, timeOf } from './time.ts';
import type { Message, Tick, Unsent } from './types.ts';
import { Text } from './view-text.tsx';
import { visible } from './visible.ts';

const TOGETHER_MS = 5 * 60_000; // messages of one person this close stand together
const BOTTOM_PX = 48;
const AHEAD = 2; // screens above, from which on older messages are read

// ---- one message -----------------------------------------------------------

interface RowProps {
	m: Message;
	tick: Tick | null; // null: not mine
	follows: boolean;  // same person, shortly after
	named: boolean;    // say visibly who wrote it
	last: boolean;     // my newest: its state in words
	show: (id: string) => void;
}

/** Drawn again only when something about it has changed. */
class Row extends Component<RowProps> {
	override shouldComponentUpdate(next: RowProps): boolean
	{
		const was = this.props;
		return was.m !== next.m || was.tick !== next.tick || was.follows !== next.follows ||
			was.named !== next.named || was.last !== next.last;
	}

	override render({ m, tick, follows, named, last, show }: RowProps): ComponentChild
	{
		const side = m.own ? 'own' : 'theirs';
		return (
			<li class={`msg ${side} ${follows ? 'follows' : ''}`} data-seq={m.seq ?? undefined}>
				<span class={named && !m.own && !follows ? 'from' : 'sr'}>
					{m.own ? 'You' : m.from}: </span>
				<div class={`bubble ${tick === 'failed' ? 'bad' : ''}`}>
					{m.body === null ? <p class="gone">This message was deleted.</p> :
						<p class="text" dir="auto"><Text text={m.body} /></p>}
					<span class="meta">
						<time dateTime={new Date(m.at).toISOString()} title={exactly(m.at)}>
							{timeOf(m.at)}</time>
						{tick && <button class={`tick ${tick}`} title={tickWords[tick]}
							aria-label={`${tickWords[tick]}. Show the way of this message`}
							onClick={() => show(m.id)}><TickIcon tick={tick} /></button>}
					</span>
				</div>
				{m.stale && <span class="under">from before the server was restored</span>}
				{m.end ? <span class="under bad">{tickWords.failed}{m.why && `: ${visible(m.why)}`}</span> :
					last && tick && <span class="under" aria-hidden="true">{tickWords[tick]}</span>}
			</li>
		);
	}
}

function UnsentRow({ one, client }: { one: Unsent; client: ChatClient }): JSX.Element
{
	const tick: Tick = one.refused === undefined ? 'unsent' : 'refused';

	return (
		<li class="msg own">
			<span class="sr">You: </span>
			<div class={`bubble waiting ${one.refused === undefined ? '' : 'bad'}`}>
				<p class="text" dir="auto"><Text text={one.body} /></p>
				<span class="meta">
					<time dateTime={new Date(one.at).toISOString()}>{timeOf(one.at)}</time>
					<span class={`tick ${tick}`} role="img" aria-label={tickWords[tick]}
						title={tickWords[tick]}><TickIcon tick={tick} /></span>
				</span>
			</div>
			{one.refused !== undefined && <span class="under bad">{one.refused}{' '}
				<button class="link" onClick={() => void client.again(one)}>Try again</button>{' '}
				<button class="link" onClick={() => void client.discard(one)}>Discard</button>
			</span>}
			{one.refused === undefined && one.delayed !== undefined &&
				<span class="under">It waits: {one.delayed}{' '}
					<button class="link" onClick={() => void client.discard(one)}>Discard</button>
				</span>}
		</li>
	);
}

// ---- the messages ----------------------------------------------------------

interface MessagesProps {
	client: ChatClient;
	route: Route;
	show: (id: string) => void;
}

/** The rows: messages with the days and the line of what is new between them. */
function rowsOf({ client, route, show }: MessagesProps, shown: Message[], readUpto: number): JSX.Element[]
{
	const rows: JSX.Element[] = [];
	const named = 'conversation' in route && route.conversation.kind === 'group';
	const mine = shown.filter((m) => m.own);
	let above: Message | undefined;
	let marked = false;

	for (const m of shown) {
		const fresh = !marked && !m.own && m.seq !== null && m.seq > readUpto;
		const day = !above || dayOf(above.at) !== dayOf(m.at);
		if (day)
			rows.push(<li key={`day ${m.id}`} class="day">{dayName(m.at)}</li>);
		if (fresh) {
			marked = true;
			rows.push(<li key="new" class="fresh">New</li>);
		}
		rows.push(<Row key={m.id} m={m} tick={m.own ? client.tick(m) : null} named={named}
			follows={!day && !fresh && above!.from === m.from && m.at - above!.at < TOGETHER_MS}
			last={m === mine[mine.length - 1]} show={show} />);
		above = m;
	}
	return rows;
}

export function Messages(props: MessagesProps): JSX.Element
{
	const { client, route } = props;
	const box = useRef<HTMLDivElement>(null);
	const was = useRef({ first: '', height: 0, stick: true, seen: 0, sent: '' });
	const [loading, setLoading] = useState(false);
	const [away, setAway] = useState(false); // from the newest
	const asking = useRef({ now: false, failed: false });
	const c = 'conversation' in route ? route.conversation : null;
	const id = c?.id;
	const { shown, before } = id ? client.shown(id) : { shown: [], before: 0 };
	const unsent = client.unsentFor(route).filter((one) => !shown.some((m) => m.id === one.id));
	const myRead = c?.members.find((one) => one.address === client.me)?.read ?? 0;
	// What was unread when this was opened, or when it was last looked away from.
	const readUpto = useRef<number | null>(null);
	if (readUpto.current === null && c)
		readUpto.current = c.unread > 0 ? myRead : Infinity;

	/** Where a person has seen messages up to, if one is looking. */
	const look = () => {
		const bottom = box.current?.getBoundingClientRect().bottom ?? 0;

		if (!id || !box.current?.offsetParent || document.visibilityState !== 'visible' ||
		    !document.hasFocus())
			return;
		const rows = [...box.current.querySelectorAll<HTMLElement>('li[data-seq]')];
		const seen = rows.reverse().find((row) =>
			row.getBoundingClientRect().bottom <= bottom + 4);
		if (seen)
			client.read(id, Number(seen.dataset['seq']));
	};

	const older = async () => {
		if (asking.current.now || !id || before === 0)
			return;
		asking.current.now = true;
		setLoading(true);
		asking.current.failed = await client.older(id, before).then(() => false, () => true);
		asking.current.now = false;
		setLoading(false);
	};

	/* The next page, before the eye needs it.  It is looked for after each
	 * drawing: no scroll event comes from one who is at the top already. */
	const ahead = () => {
		const at = box.current!;
		const short = at.scrollHeight <= at.clientHeight;
		if ((short || !was.current.stick) && at.scrollTop < AHEAD * at.clientHeight)
			void older();
	};

	const scrolled = () => {
		const at = box.current;
		// The browser tells a frame later: the conversation may be closed.
		if (!at)
			return;
		was.current.stick = at.scrollHeight - at.scrollTop - at.clientHeight < BOTTOM_PX;
		setAway(!was.current.stick);
		asking.current.failed = false;
		ahead();
		look();
	};

	const toNewest = () => {
		was.current.stick = true;
		setAway(false);
		box.current!.scrollTop = box.current!.scrollHeight;
	};

	useEffect(() => {
		if (id)
			void client.open(id).catch(() => undefined);
	}, [id, client.link.state === 'live']);

	useEffect(() => {
		const away = () => {
			readUpto.current = (id && client.conversations.get(id)?.last) || null;
		};
		const seen = () => look();
		addEventListener('focus', seen);
		addEventListener('blur', away);
		addEventListener('resize', seen);
		document.addEventListener('visibilitychange', seen);
		return () => {
			removeEventListener('focus', seen);
			removeEventListener('blur', away);
			removeEventListener('resize', seen);
			document.removeEventListener('visibilitychange', seen);
		};
	}, [id]);

	// After each drawing: stay at the bottom, or where one was reading.
	useLayoutEffect(() => {
		const at = box.current!;
		const first = shown[0]?.id ?? '';
		// Whoever sends wants to see it; the ids of what one sends ascend.
		const sent = unsent[unsent.length - 1]?.id ?? '';
		if (sent > was.current.sent) {
			was.current.sent = sent;
			was.current.stick = true;
			setAway(false);
		}
		if (was.current.stick)
			was.current.seen = c?.last ?? 0;
		if (was.current.stick)
			at.scrollTop = at.scrollHeight;
		else if (first !== was.current.first)
			at.scrollTop += at.scrollHeight - was.current.height;
		was.current.first = first;
		was.current.height = at.scrollHeight;
		if (!asking.current.failed)
			ahead();
		look();
	});

	// The field below may grow, the keyboard of a phone may come.
	useEffect(() => {
		const watcher = new ResizeObserver(() => {
			if (was.current.stick && box.current)
				box.current.scrollTop = box.current.scrollHeight;
		});
		watcher.observe(box.current!);
		return () => watcher.disconnect();
	}, []);

	const rows = rowsOf(props, shown, readUpto.current ?? Infinity);
	const fresh = !away ? 0 :
		shown.filter((m) => !m.own && !m.stale && (m.seq ?? 0) > was.current.seen).length;
	return <>
		<div class="messages" ref={box} onScroll={scrolled} tabIndex={0} role="region"
			aria-label="Messages">
			{before > 0 && <button class="link older" onClick={() => void older()}
				disabled={loading}>{loading ? 'Loading …' : 'Older messages'}</button>}
			{shown.length + unsent.length === 0 ?
				<p class="empty">{c && c.last > 0 ? 'Loading …' : 'Write the first message.'}</p> :
				<ol>{rows}{unsent.map((one) =>
					<UnsentRow key={one.id} one={one} client={client} />)}</ol>}
		</div>
		{away && <div class="newest">
			<button class="round" title="Go to the newest message"
				aria-label={fresh === 0 ? 'Go to the newest message' :
					`${fresh} new ${fresh === 1 ? 'message' : 'messages'}, go to the newest`}
				onClick={() => {
					toNewest();
					// The button goes away, and the focus with it.
					box.current!.focus();
				}}><Down />{fresh > 0 && <span class="badge" aria-hidden="true">{fresh}</span>}
			</button>
		</div>}
	</>;
}
