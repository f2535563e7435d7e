// SPDX-License-Identifier: MIT
// Texts of people.  Only a plain web address becomes a link.  It shows its target, and is opened
// only by a click.

import type { JSX } from 'preact';

import { codeOf, hidden } from './visible.ts';

/* A control or format character ends the address: a direction mark in it would show another address
 * than the target of the link. */
const LINK = /https?:\/\/[^\s<>"'`\p{Cc}\p{Cf}]+/gu;
const CLOSING = /[.,;:!?)\]}]+$/;

/** Cuts ${text} into plain parts (at even indexes) and addresses (at odd ones). */
export function cut(text: string): string[]
{
	const parts: string[] = [];
	let from = 0;

	for (const match of text.matchAll(LINK)) {
		const address = match[0].replace(CLOSING, '');
		if (!parses(address))
			continue;
		parts.push(text.slice(from, match.index), address);
		from = match.index! + address.length;
	}
	parts.push(text.slice(from));
	return parts;
}

function parses(address: string): boolean
{
	try {
		return new URL(address).protocol.startsWith('http');
	} catch {
		return false;
	}
}

/** Text with visible names for hidden characters.  Copying gives the visible form. */
export function Plain({ text }: { text: string }): JSX.Element
{
	return <>{hidden(text).map((part, at) => at % 2 === 0 ? part :
		<span class="code">⟨{codeOf(part)}⟩</span>)}</>;
}

export function Text({ text }: { text: string }): JSX.Element
{
	return <>{cut(text).map((part, at) => at % 2 === 0 ? <Plain text={part} /> :
		<a href={part} target="_blank" rel="noopener noreferrer nofollow">{part}</a>)}</>;
}
