// SPDX-License-Identifier: MIT
// The messages of one conversation that are known, by their ids, and what of
// them can be shown.  That is computed when it is asked for the first time after
// a change, and is the same object until the next change: the page is drawn far
// more often than a history of thousands of messages changes.

import { chain } from './merge.ts';
import type { Message } from './types.ts';

export type Shown = ReturnType<typeof chain>;

export class History extends Map<string, Message> {
	private chained: Shown | undefined;

	override set(id: string, m: Message): this
	{
		if (this.get(id) !== m)
			this.chained = undefined;
		return super.set(id, m);
	}

	/** See chain(). */
	get shown(): Shown
	{
		return this.chained ??= chain(this.values());
	}
}
