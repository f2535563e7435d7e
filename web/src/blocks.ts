// SPDX-License-Identifier: MIT
// A history cut into blocks of about fifty messages.  A block is drawn again
// only when something in it has changed, and laid out only near the eye
// (place.ts): that is what makes thousands of rows as cheap as a few.
//
// The number of a message says which block it is in.  So blocks keep their rows
// when older messages come before them, and newer ones behind.

import type { Message } from './types.ts';

export const BLOCK = 50;

export interface Block {
	key: string;
	messages: Message[];
	above: Message | undefined; // the message before the first one
	from: number;               // the least and the greatest number in it; 0: none
	upto: number;
}

/** The key of the block of ${m}; null: that of the message before it. */
function keyOf(m: Message): string | null
{
	return m.seq === null ? null : `${m.stale ? 'stale ' : ''}${Math.floor(m.seq / BLOCK)}`;
}

function same(a: Block, b: Block): boolean
{
	return a.above === b.above && a.messages.length === b.messages.length &&
		a.messages.every((m, at) => m === b.messages[at]);
}

/** The blocks of ${shown}; those of ${old} that have not changed are the same
 * objects.  Messages from before a restore, whose numbers are others, may stand
 * between those of today: no key is given twice. */
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

/** Mark ${upto}, as far as it says anything about the messages of ${block}. */
export function markIn({ from, upto: last }: Block, upto: number): number
{
	return Math.min(Math.max(upto, from - 1), last);
}
