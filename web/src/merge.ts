// SPDX-License-Identifier: MIT
// Joins news from the server with the known data.  The functions are pure, so that each can be
// tested alone.  The same news may come twice (from two tabs, a replay, or the history after an
// event); the second time it must change nothing.

import type {
	Conversation, Message, ServerConversation, ServerMessage, Target, Tick, Unsent,
} from './types.ts';

const PREVIEW_CHARS = 160;

/** Converts a message of the server into the stored form; ${prev} as in Message. */
export function messageOf(m: ServerMessage, prev?: number): Message
{
	const message: Message = {
		id: m.id, conversation: m.conversation, seq: m.conversation_seq, from: m.from,
		own: m.own, body: m.body, at: Date.parse(m.event_time),
	};
	if (prev !== undefined)
		message.prev = prev;
	return message;
}

/** Returns ${fresh} with the members that only ${old} has. */
export function mergeMessage(old: Message | undefined, fresh: Message): Message
{
	if (!old)
		return fresh;
	const merged: Message = { ...fresh };
	merged.seq ??= old.seq;
	if (merged.prev === undefined && old.prev !== undefined && !old.stale)
		merged.prev = old.prev;
	if (old.sent && !merged.sent)
		merged.sent = old.sent;
	if (old.end && !merged.end) {
		merged.end = old.end;
		if (old.why !== undefined)
			merged.why = old.why;
	}
	return merged;
}

/**
 * Returns the messages that can be shown without a hole, oldest first: from the newest back, as
 * long as each follows the one before.  Member `before` is the number before which older messages
 * must be fetched, 0 at the beginning of the conversation.  Messages without a number come last.
 * Messages from before a restore are placed by their time.
 */
export function chain(messages: Iterable<Message>): { shown: Message[]; before: number }
{
	const numbered: Message[] = [];
	const fresh: Message[] = [];
	const stale: Message[] = [];

	for (const m of messages)
		(m.stale ? stale : m.seq === null ? fresh : numbered).push(m);
	numbered.sort((a, b) => b.seq! - a.seq!);
	let before = numbered[0]?.seq ?? 0;
	const shown: Message[] = [];
	for (const m of numbered) {
		const above = shown[shown.length - 1];
		if (above && m.seq !== (above.prev ?? above.seq! - 1))
			break;
		shown.push(m);
		before = m.prev === 0 || m.seq === 1 ? 0 : m.seq!;
	}
	shown.reverse();
	const from = before === 0 ? -Infinity : shown[0]?.at ?? -Infinity;
	for (const m of stale.filter((one) => one.at >= from).sort((a, b) => a.at - b.at)) {
		const index = shown.findIndex((one) => one.at > m.at);
		shown.splice(index < 0 ? shown.length : index, 0, m);
	}
	shown.push(...fresh.sort((a, b) => (a.id < b.id ? -1 : 1)));
	return { shown, before };
}

/** Returns the preview of ${m} for the list. */
export function previewOf(m: Message): NonNullable<Conversation['preview']>
{
	return {
		seq: m.seq ?? 0, id: m.id, from: m.from,
		body: m.body === null ? '' : m.body.slice(0, PREVIEW_CHARS),
	};
}

/** Returns ${c} after the arrival of message ${m}.  ${me} is the user. */
export function withMessage(c: Conversation, m: Message, me: string): Conversation
{
	if (m.seq === null)
		return c;
	const next = { ...c };
	if (!m.own)
		next.announced = Math.max(c.announced ?? 0, m.seq);
	if (m.seq >= (c.preview?.seq ?? 0))
		next.preview = previewOf(m);
	if (m.seq > c.last) {
		next.last = m.seq;
		next.at = Math.max(c.at, m.at);
	}
	if (!m.own && m.seq > countedIn(c)) {
		next.counted = m.seq;
		if (m.seq > markOf(c, me).read)
			next.unread = c.unread + 1;
	}
	return next;
}

const markOf = (c: Conversation, address: string) =>
	c.members.find((one) => one.address === address) ?? { address, delivered: 0, read: 0 };

/** Data of earlier versions of the page has no `counted`; there all numbered messages are
 * counted. */
const countedIn = (c: Conversation) => c.counted ?? c.last;

/** The messages from number ${from} + 1 to ${upto} that this page showed and marked as read. */
export interface ReadHere {
	from: number;
	upto: number;
}

/** Returns true if the page must announce ${m} (read it out, notify) when its event comes.  ${c} is
 * the conversation before that event.  Its `last` cannot decide this: the server's list may have
 * raised it before the event.  A message that was read on another device is not announced.  One
 * that was read on this page is: the page may have fetched, shown and marked it before its event. */
export function isNews(m: Message, c: Conversation, me: string, here?: ReadHere): boolean
{
	if (m.own || m.seq === null || m.seq <= (c.announced ?? 0))
		return false;
	return m.seq > markOf(c, me).read ||
		(here !== undefined && m.seq > here.from && m.seq <= here.upto);
}

/** Returns ${c} after ${by} has received (or read) all messages up to ${upto}.  Marks only move
 * forward. */
export function withMark(c: Conversation, by: string, upto: number, read: boolean): Conversation
{
	const members = c.members.map((one) => one.address !== by ? one : {
		...one,
		delivered: Math.max(one.delivered, upto),
		read: read ? Math.max(one.read, upto) : one.read,
	});
	return { ...c, members };
}

/** Returns ${c} after the user has read up to ${upto}.  ${known} are known messages of it. */
export function withRead(c: Conversation, me: string, upto: number,
	known: Iterable<Message>): Conversation
{
	// The server's list may have brought this mark already, with a count of messages whose
	// events are still to come.
	if (upto <= markOf(c, me).read)
		return c;
	const next = withMark(c, me, upto, true);
	let unread = 0;

	if (upto < c.last)
		for (const m of known)
			unread += Number(!m.own && m.seq !== null && !m.stale && m.seq > upto);
	// If not all messages are known, the count is too low, never too high: so never raise it.
	next.unread = Math.min(c.unread, unread);
	return next;
}

/** Joins the server's ${fresh} with ${old}.  Marks only move forward. */
export function mergeConversation(old: Conversation | undefined, fresh: ServerConversation,
	me: string): Conversation
{
	const newest = fresh.last_message;
	let next: Conversation = {
		id: fresh.id, kind: fresh.kind, at: Date.parse(fresh.last_at),
		last: fresh.last, unread: fresh.unread, members: fresh.members,
	};
	// The server numbers a message when it accepts it, but lists and counts it when it is
	// delivered.
	const counted = newest?.conversation_seq ?? 0;
	next.counted = counted;
	if (newest)
		next.preview = { id: newest.id, seq: newest.conversation_seq, from: newest.from,
			body: (newest.body ?? '').slice(0, PREVIEW_CHARS) };
	if (!old)
		return next;
	if (old.announced !== undefined)
		next.announced = old.announced;
	const hasRead = markOf(next, me).read > markOf(old, me).read;
	next.at = Math.max(next.at, old.at);
	if (old.preview && old.preview.seq > (next.preview?.seq ?? 0))
		next.preview = old.preview;
	for (const one of old.members) {
		next = withMark(next, one.address, one.delivered, false);
		next = withMark(next, one.address, one.read, true);
	}
	// Events have come that are newer than this answer.
	if (countedIn(old) > counted || old.last > fresh.last || (old.last === fresh.last && !hasRead)) {
		next.last = Math.max(old.last, fresh.last);
		next.counted = Math.max(countedIn(old), counted);
		next.unread = Math.max(old.unread, fresh.unread);
	}
	if (markOf(next, me).read >= next.last)
		next.unread = 0;
	return next;
}

/** Returns the other members of a conversation; none for notes to oneself. */
export function others(c: Conversation, me: string): string[]
{
	return c.members.map((one) => one.address).filter((one) => one !== me);
}

/** Returns the name of a conversation. */
export function nameOf(c: Conversation, me: string): string
{
	const names = others(c, me);
	return names.length === 0 ? 'Notes to myself' : names.join(', ');
}

/** Returns the target of messages to ${c}. */
export function targetOf(c: Conversation, me: string): Target
{
	return c.kind === 'direct' ? { to: others(c, me)[0] ?? me } : { conversation: c.id };
}

/** Returns the numbers up to which all other members have received, and read, the messages of
 * ${c}. */
export function reachedIn(c: Conversation, me: string): { delivered: number; read: number }
{
	const rest = c.members.filter((one) => one.address !== me);

	return { delivered: Math.min(...rest.map((one) => one.delivered)),
		read: Math.min(...rest.map((one) => one.read)) };
}

/** Returns the tick of own message ${m}. */
export function tickOf(m: Message, c: Conversation | undefined, me: string): Tick
{
	if (m.end)
		return 'failed';
	if (m.seq === null || m.stale || !c)
		return 'accepted';
	const rest = c.members.filter((one) => one.address !== me);
	if (rest.every((one) => one.read >= m.seq!))
		return 'read';
	return rest.every((one) => one.delivered >= m.seq!) ? 'delivered' : 'accepted';
}

/** Returns true if unsent ${u} belongs to conversation ${c}. */
export function isFor(u: Unsent, c: Conversation, me: string): boolean
{
	const target = targetOf(c, me);
	return 'to' in u.target ? 'to' in target && u.target.to === target.to :
		u.target.conversation === c.id;
}
