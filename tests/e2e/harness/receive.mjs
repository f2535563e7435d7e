// SPDX-License-Identifier: MIT
//
// Checks of the events that a user has received, and of those not received.  A
// later event, the marker, proves that an event did not come: when the marker
// is there, every event that was made before it would be there, too.

import { users } from './users.mjs';

/**
 * Makes bob, whose inbox has ${n} messages of ann.  Returns both users, the
 * entries of the messages and the conversation, if any.
 */
export async function filled(server, n)
{
	const [ann, bob] = await users(server, 'ann', 'bob');
	const entries = [];

	for (let i = 1; i <= n; i++)
		entries.push(await ann.send(bob.name, `message ${i}`));
	if (n > 0)
		await bob.received(entries.at(-1).id);
	return { ann, bob, entries, conversation: entries[0]?.conversation };
}

/**
 * Waits for the receipt ${marker}, an array [state, upto], in the inbox of
 * ${user}.  Returns all receipts up to then as such arrays.
 *
 * Why this works: the receipts that one person gives in one conversation arrive
 * in the order in which they were made.  Of the receipts that wait, a later one
 * replaces only one of the same state.  So a read receipt is a marker for
 * delivered receipts, and the other way round.
 */
export async function receiptsUpTo(user, marker)
{
	const is = ({ kind, state, upto }) => kind === 'receipt' && state === marker[0] &&
		upto === marker[1];

	await user.event(is, `the receipt ${marker.join(' ')}`);
	const { events } = await user.inbox();
	return events.filter(({ kind }) => kind === 'receipt').map(({ state, upto }) => [state, upto]);
}

/**
 * Returns the events that ${ws} has received, once the server has sent it
 * everything that is in the inbox of ${user} now.  The marker is a new message.
 * When the session ${witness} has received it and a request of ${ws} is
 * answered, ${ws} has received all events before the marker, because one thread
 * (push) does all of this in order.
 */
export async function eventsBy(ws, witness, from, user)
{
	const marker = await from.send(user.name, 'the marker');

	await witness.received(marker.id);
	await ws.request({ type: 'ack', upto: 0 });
	return ws.events();
}
