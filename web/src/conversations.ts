// SPDX-License-Identifier: MIT
// The known conversations: the server's list, joined with the events since then, ordered by the
// last activity.

import type { Api } from './api.ts';
import { isFor, mergeConversation, targetOf } from './merge.ts';
import type { Conversation, ServerConversation, Unsent } from './types.ts';

export interface ConversationsUser {
	/** The texts that the server has not accepted yet. */
	unsent(): Unsent[];
	/** The list was read from the server.  ${all} must be written to the disk. */
	refreshed(all: Conversation[]): Promise<void>;
}

export class Conversations {
	readonly all = new Map<string, Conversation>();

	private readonly me: string;
	private readonly api: Api;
	private readonly user: ConversationsUser;
	private listing = false;

	constructor(me: string, api: Api, user: ConversationsUser)
	{
		this.me = me;
		this.api = api;
		this.user = user;
	}

	put(c: Conversation): Conversation
	{
		this.all.set(c.id, c);
		return c;
	}

	/** Changes conversation ${id} with ${how} and returns it; undefined if it is not known. */
	change(id: string, how: (c: Conversation) => Conversation): Conversation | undefined
	{
		const c = this.all.get(id);

		return c && this.put(how(c));
	}

	/** Returns all conversations, the one with the latest message first. */
	list(): Conversation[]
	{
		return [...this.all.values()].sort((a, b) =>
			this.newest(b) - this.newest(a) || (a.id < b.id ? 1 : -1));
	}

	private newest(c: Conversation): number
	{
		return this.user.unsent().reduce((at, one) =>
			isFor(one, c, this.me) ? Math.max(at, one.at) : at, c.at);
	}

	/** Returns the names of new conversations whose first message is still unsent. */
	newNames(): string[]
	{
		const names = this.user.unsent().map((one) => 'to' in one.target ? one.target.to : '');
		return [...new Set(names)].filter((one) => one !== '' && !this.withPerson(one));
	}

	get unread(): number
	{
		let sum = 0;
		for (const one of this.all.values())
			sum += one.unread;
		return sum;
	}

	/** Returns the direct conversation with ${name}. */
	withPerson(name: string): Conversation | undefined
	{
		for (const one of this.all.values()) {
			const target = targetOf(one, this.me);
			if ('to' in target && target.to === name)
				return one;
		}
		return undefined;
	}

	/** Reads the server's list, with its counts and marks. */
	async refresh(): Promise<void>
	{
		if (this.listing)
			return;
		this.listing = true;
		try {
			let after = '';
			for (;;) {
				const page = await this.api.get<{ conversations: ServerConversation[];
					next: string | null; has_more: boolean }>(
					`/v1/conversations?limit=200${after}`);
				for (const one of page.conversations)
					this.put(mergeConversation(this.all.get(one.id), one, this.me));
				if (!page.has_more || !page.next)
					break;
				after = `&after=${encodeURIComponent(page.next)}`;
			}
			await this.user.refreshed([...this.all.values()]);
		} catch {
			// The next connection reads it again.
		} finally {
			this.listing = false;
		}
	}
}
