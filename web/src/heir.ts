// SPDX-License-Identifier: MIT
// Texts that a tab could not send before it was closed are sent by another tab
// of the same person.
//
// Each tab sends what was written in it.  The one that holds the lock is the
// heir of the others: a tab that is closed says what is unsent, and when the
// heir itself is closed the next one gets the lock, and reads the disk.  Two tabs
// may then send the same text; by its id the server accepts it once.  A discarded
// text is discarded in all tabs.

import { holdLock } from './lock.ts';
import type { Unsent } from './types.ts';

type News = { left: Unsent[] } | { discarded: string };

export interface HeirUser {
	/** What this tab has not sent yet. */
	left(): Unsent[];
	/** Texts of a tab that was closed; null: those that are on the disk. */
	inherit(texts: Unsent[] | null): void;
	/** Text ${id} was discarded in another tab. */
	discarded(id: string): void;
}

export class Heir {
	private readonly user: HeirUser;
	private readonly channel: BroadcastChannel | null;
	private readonly leave: () => void;
	private chosen = false;
	private readonly hidden = (): void => {
		const left = this.user.left();
		if (left.length > 0)
			this.tell({ left });
	};

	constructor(name: string, user: HeirUser)
	{
		this.user = user;
		this.channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(name) : null;
		if (this.channel)
			this.channel.onmessage = (event) => this.heard(event.data as News);
		this.leave = holdLock(name, 'exclusive', () => {
			this.chosen = true;
			user.inherit(null);
		});
		addEventListener('pagehide', this.hidden);
	}

	end(): void
	{
		removeEventListener('pagehide', this.hidden);
		this.chosen = false;
		this.leave();
		this.channel?.close();
	}

	/** A person has discarded text ${id} here. */
	discard(id: string): void
	{
		this.tell({ discarded: id });
	}

	private tell(news: News): void
	{
		this.channel?.postMessage(news);
	}

	private heard(news: News): void
	{
		if ('discarded' in news)
			this.user.discarded(news.discarded);
		else if (this.chosen)
			this.user.inherit(news.left);
	}
}
