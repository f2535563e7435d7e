// SPDX-License-Identifier: MIT
// Texts that a tab could not send before it was closed are sent by another tab of the same user.
//
// Each tab sends the texts that were written in it.  The tab that holds the lock is the heir of the
// others.  A tab that is closed sends its unsent texts to the heir.  When the heir itself is
// closed, the next tab gets the lock and reads the texts from the disk.  Two tabs may then send the
// same text; the server accepts it once, because of its id.  A text that is discarded in one tab is
// discarded in all.

import { holdLock } from './lock.ts';
import type { Unsent } from './types.ts';

type News = { left: Unsent[] } | { discarded: string };

export interface HeirUser {
	/** The texts that this tab has not sent yet. */
	left(): Unsent[];
	/** Receives the texts of a closed tab; null: those on the disk. */
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

	/** Informs the other tabs that the user has discarded text ${id}. */
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
