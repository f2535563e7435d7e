// SPDX-License-Identifier: MIT
// Cuts a history into blocks of about fifty messages.  A block is drawn again only when something
// in it has changed, and laid out only near the visible part (place.ts).  This makes thousands of
// rows as cheap as a few.
//
// The number of a message determines its block.  So a block keeps its rows when older messages are
// added before it, or newer ones after it.

import type { Message } from './types.ts';

export const BLOCK = 50;

export interface Block {
	key: string;
	messages: Message[];
	above: Message | undefined; // the message before the first one
	from: number;               // least and greatest seq in the block; 0: none
	upto: number;
}

/** Returns the key of the block of ${m}; null means the block of the message before it. */
function keyOf(m: Message): string | null
{
	return m.seq === null ? null : `${m.stale ? 'stale ' : ''}${Math.floor(m.seq / BLOCK)}`;
}

function same(a: Block, b: Block): boolean
{
	return a.above === b.above && a.messages.length === b.messages.length &&
		a.messages.every((m, at) => m === b.messages[at]);
}

/** Returns the blocks of ${shown}.  Blocks of ${old} that have not changed are returned as the same
 * objects.  Messages from before a restore have numbers of their own and may stand between current
 * messages, so a key that comes again does not start a second block. */
export function blocksOf(shown: Message[], old: Block[]): Block[]
{
	const blocks: Block[] = [];
	const known = new Map(old.map((one) => [one.key, one]));
	const given = new Set<string>();
	let block: Block | undefined;
	let above: Message | undefined;

	for (const m of shown) {
		const key = keyOf(m) ?? block?.key ?? 'new';
		if (!given.has(key)) {
			given.add(key);
			blocks.push(block = { key, messages: [], above, from: 0, upto: 0 });
		}
		block!.messages.push(m);
		if (m.seq !== null && !m.stale) {
			block!.from = block!.from === 0 ? m.seq : Math.min(block!.from, m.seq);
			block!.upto = Math.max(block!.upto, m.seq);
		}
		above = m;
	}
	return blocks.map((one) => {
		const was = known.get(one.key);
		return was && same(was, one) ? was : one;
	});
}

/** Limits mark ${upto} to the numbers of ${block}, so that a mark outside of it changes nothing. */
export function markIn({ from, upto: last }: Block, upto: number): number
{
	return Math.min(Math.max(upto, from - 1), last);
}
