// SPDX-License-Identifier: MIT
// The known messages of one conversation, by id, and the part of them that can be shown.  That part
// is computed at its first use after a change and is the same object until the next change: the
// page is drawn far more often than a history of thousands of messages changes.

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
