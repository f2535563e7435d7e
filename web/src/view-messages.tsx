// SPDX-License-Identifier: MIT
// The messages of one conversation, and the behaviour of scrolling.

import { Component, type ComponentChild, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { blocksOf, markIn, type Block } from './blocks.ts';
import type { ChatClient, Route } from './client.ts';
import { Down, TickIcon, tickWords } from './icons.tsx';
import { reachedIn } from './merge.ts';
import { Place } from './place.ts';
import { dayName, dayOf, exactly, timeOf } from './time.ts';
import type { Message, Tick, Unsent } from './types.ts';
import { Text } from './view-text.tsx';
import { visible } from './visible.ts';

const TOGETHER_MS = 5 * 60_000; // messages of one person within this time are grouped
const BOTTOM_PX = 48;
const AHEAD = 2; // screens above the visible part, from which older messages are fetched

// ---- one message -----------------------------------------------------------

interface RowProps {
	m: Message;
	tick: Tick | null; // null: another person's
	follows: boolean;  // same person, shortly after
	named: boolean;    // show the author's name
	last: boolean;     // the user's newest: show its state in words
	show: (id: string) => void;
}

/** A message.  It is drawn again only when something in it has changed. */
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
			<div class={`msg ${side} ${follows ? 'follows' : ''}`} role="listitem"
				data-seq={m.seq ?? undefined}>
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
			</div>
		);
	}
}

function UnsentRow({ one, client }: { one: Unsent; client: ChatClient }): JSX.Element
{
	const tick: Tick = one.refused === undefined ? 'unsent' : 'refused';

	return (
		<div class="msg own" role="listitem">
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
		</div>
	);
}

// ---- the messages ----------------------------------------------------------

interface MessagesProps {
	client: ChatClient;
	route: Route;
	show: (id: string) => void;
}

interface BlockProps {
	client: ChatClient;
	block: Block;
	named: boolean;
	fresh: string;     // id of the first unread message, if in this block
	last: string;      // id of the user's newest message, if in this block
	delivered: number; // up to which the others have received these messages, and read them
	read: number;
	today: number;     // the day that is called today
	place: () => Place;
	show: (id: string) => void;
}

/** Messages, with the days and the "New" line between them.  A block is drawn again only when
 * something in it has changed. */
class BlockView extends Component<BlockProps> {
	override componentDidMount(): void
	{
		this.props.place().watch(this.base as Element);
	}

	override componentWillUnmount(): void
	{
		this.props.place().unwatch(this.base as Element);
	}

	override shouldComponentUpdate(next: BlockProps): boolean
	{
		const was = this.props;
		return was.block !== next.block || was.named !== next.named || was.fresh !== next.fresh ||
			was.last !== next.last || was.delivered !== next.delivered || was.read !== next.read ||
			was.today !== next.today;
	}

	override render({ client, block, named, fresh, last, show }: BlockProps): ComponentChild
	{
		const rows: JSX.Element[] = [];
		let { above } = block;

		for (const m of block.messages) {
			const day = !above || dayOf(above.at) !== dayOf(m.at);
			if (day)
				rows.push(<div key={`day ${m.id}`} class="day" role="listitem">{dayName(m.at)}</div>);
			if (m.id === fresh)
				rows.push(<div key="new" class="fresh" role="listitem">New</div>);
			rows.push(<Row key={m.id} m={m} tick={m.own ? client.tick(m) : null} named={named}
				follows={!day && m.id !== fresh && above!.from === m.from && m.at - above!.at < TOGETHER_MS}
				last={m.id === last} show={show} />);
			above = m;
		}
		return <div class="block">{rows}</div>;
	}
}

/** The parts of a history that are drawn.  The same object until the history or ${upto}, the number
 * up to which it is read, changes. */
interface Cut {
	shown: Message[];
	upto: number;
	blocks: Block[];
	unread: Message | undefined; // the first one
	mine: Message | undefined;   // the user's newest one
}

function cutOf(shown: Message[], upto: number, was: Cut): Cut
{
	let at = shown.length - 1;

	if (was.shown === shown && was.upto === upto)
		return was;
	while (at >= 0 && !shown[at]!.own)
		at--;
	return { shown, upto, blocks: blocksOf(shown, was.blocks), mine: shown[at],
		unread: shown.find((m) => !m.own && m.seq !== null && m.seq > upto) };
}

export function Messages(props: MessagesProps): JSX.Element
{
	const { client, route, show } = props;
	const box = useRef<HTMLDivElement>(null);
	const list = useRef<HTMLDivElement>(null);
	const made = useRef<Place | null>(null);
	const place = () => made.current ??= new Place(box.current!, () => list.current);
	const was = useRef({ seen: 0, sent: '' });
	const [loading, setLoading] = useState(false);
	const [away, setAway] = useState(false); // from the newest
	const asking = useRef({ now: false, failed: false });
	const cut = useRef<Cut>({ shown: [], upto: 0, blocks: [], unread: undefined, mine: undefined });
	const c = 'conversation' in route ? route.conversation : null;
	const id = c?.id;
	const { shown, before } = id ? client.shown(id) : { shown: [], before: 0 };
	const unsent = client.unsentFor(route).filter((one) => !shown.some((m) => m.id === one.id));
	const myRead = c?.members.find((one) => one.address === client.me)?.read ?? 0;
	// The messages that were unread when this was opened, or when the window last lost the
	// focus.
	const readUpto = useRef<number | null>(null);
	if (readUpto.current === null && c)
		readUpto.current = c.unread > 0 ? myRead : Infinity;

	/** Marks as read what the user sees, if the window has the focus. */
	const look = () => {
		if (!id || !box.current?.offsetParent || document.visibilityState !== 'visible' ||
		    !document.hasFocus())
			return;
		const seen = place().lastSeen();
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

	/* Fetches the next page before it is needed.  Called after each drawing: at the upper end
	 * there are no more scroll events. */
	const ahead = () => {
		const at = box.current!;
		const short = at.scrollHeight <= at.clientHeight;
		if ((short || !place().stick) && at.scrollTop < AHEAD * at.clientHeight)
			void older();
	};

	const scrolled = () => {
		// The browser sends this event one frame later; the conversation may be closed by
		// then.
		if (!box.current)
			return;
		const at = place();
		at.stick = at.below < BOTTOM_PX;
		at.mark();
		setAway(!at.stick);
		asking.current.failed = false;
		ahead();
		look();
	};

	const toNewest = () => {
		place().stick = true;
		setAway(false);
		place().keep();
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

	// After each drawing: stay at the bottom, or at the row that the user is reading.
	useLayoutEffect(() => {
		const at = place();
		// A user who sends wants to see the message.  A new text has a higher id than all
		// before it.
		const sent = unsent[unsent.length - 1]?.id ?? '';
		if (sent > was.current.sent) {
			was.current.sent = sent;
			at.stick = true;
			setAway(false);
		}
		if (at.stick)
			was.current.seen = c?.last ?? 0;
		at.keep();
		at.mark();
		if (!asking.current.failed)
			ahead();
		look();
	});

	useEffect(() => () => made.current?.end(), []);

	const { blocks, unread, mine } = cut.current = cutOf(shown, readUpto.current ?? Infinity, cut.current);
	const reached = c ? reachedIn(c, client.me) : { delivered: 0, read: 0 };
	const named = c?.kind === 'group';
	const today = dayOf(Date.now());
	const rows = blocks.map((block) => {
		const here = (one: Message | undefined) => one && block.messages.includes(one) ? one.id : '';
		return <BlockView key={block.key} client={client} block={block} named={named} show={show}
			fresh={here(unread)} last={here(mine)} place={place} today={today}
			delivered={markIn(block, reached.delivered)} read={markIn(block, reached.read)} />;
	});
	const fresh = !away ? 0 :
		shown.filter((m) => !m.own && !m.stale && (m.seq ?? 0) > was.current.seen).length;
	return <>
		<div class="messages" ref={box} onScroll={scrolled} tabIndex={0} role="region"
			aria-label="Messages">
			{before > 0 && <button class="link older" onClick={() => void older()}
				disabled={loading}>{loading ? 'Loading …' : 'Older messages'}</button>}
			{shown.length + unsent.length === 0 ?
				<p class="empty">{c && c.last > 0 ? 'Loading …' : 'Write the first message.'}</p> :
				<div class="rows" role="list" ref={list}>{rows}{unsent.map((one) =>
					<UnsentRow key={one.id} one={one} client={client} />)}</div>}
		</div>
		{away && <div class="newest">
			<button class="round" title="Go to the newest message"
				aria-label={fresh === 0 ? 'Go to the newest message' :
					`${fresh} new ${fresh === 1 ? 'message' : 'messages'}, go to the newest`}
				onClick={() => {
					toNewest();
					// The button with the focus is removed.
					box.current!.focus();
				}}><Down />{fresh > 0 && <span class="badge" aria-hidden="true">{fresh}</span>}
			</button>
		</div>}
	</>;
}
