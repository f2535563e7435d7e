// SPDX-License-Identifier: MIT
// The route of the page: the part of the address after #. "to/bob" is the conversation with bob,
// which need not exist yet; "c/<id>" is a group; "settings" are the settings.

import type { ChatClient, Route } from './client.ts';
import { targetOf } from './merge.ts';
import type { Conversation } from './types.ts';

export const SETTINGS = 'settings';

/** Returns the route of a conversation, without the #. */
export function hashOf(c: Conversation, me: string): string
{
	const target = targetOf(c, me);
	return 'to' in target ? `to/${encodeURIComponent(target.to)}` : `c/${c.id}`;
}

/** Returns the target of ${hash}; null for the list or an unknown route. */
export function routeOf(hash: string, client: ChatClient): Route | null
{
	const id = /^c\/([0-9a-f-]{36})$/.exec(hash)?.[1];
	const to = /^to\/([a-z0-9._-]{1,32}(?:(?:@|%40)[a-z0-9.-]{1,253})?)$/.exec(hash)?.[1];

	if (to) {
		const name = to.replace('%40', '@');
		const conversation = client.withPerson(name);
		return conversation ? { conversation } : { to: name };
	}
	const conversation = id && client.conversations.get(id);
	return conversation ? { conversation } : null;
}
