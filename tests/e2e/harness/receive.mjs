// SPDX-License-Identifier: MIT
//
// What somebody has received, and what they have not.  That nothing came is
// shown by a later event, the marker: its arrival proves that what was made
// before it would have come.

import { users } from './users.mjs';

/** bob with ${n} messages of ann in his inbox: the two, their entries and their
 *  conversation, if any. */
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
 * The receipts in the inbox of ${user} as [state, upto], once there is one that
 * is ${marker}, such an array, too.  The receipts that one person gives of one
 * conversation come in the order in which they were made; of those that wait,
 * only one of the same state is replaced by a later one.  So a read receipt is
 * the marker for delivered ones and the other way round.
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
 * The events that ${ws} has received, after all that the server would send it of
 * what is in the inbox of ${user} by now.  The marker is a new message: another
 * session, ${witness}, has it, and then ${ws} is answered.  The push thread
 * does all of that, one after the other.
 */
export async function eventsBy(ws, witness, from, user)
{
	const marker = await from.send(user.name, 'the marker');

	await witness.received(marker.id);
	await ws.request({ type: 'ack', upto: 0 });
	return ws.events();
}
