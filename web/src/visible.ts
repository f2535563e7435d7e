// SPDX-License-Identifier: MIT
// Characters that must be shown and not obeyed.  They are the ones that change the direction of a
// text (embeddings, overrides, isolates), with which "exe.gpj" looks like the name of a picture,
// and control characters.  Marks and joiners stay as they are: Arabic, Hebrew, Persian and emoji
// need them, and they change no direction.

const TURNING = /[\u202a-\u202e\u2066-\u2069]/;
const CONTROL = /(?![\n\t])\p{Cc}/u;
const HIDDEN = new RegExp(`(${TURNING.source}|${CONTROL.source})`, 'gu');

/** Cuts ${text} into parts that are shown as they are (at even indexes) and single hidden
 * characters (at odd ones). */
export function hidden(text: string): string[]
{
	return text.split(HIDDEN);
}

/** Returns the name of a hidden character: U+202E. */
export function codeOf(character: string): string
{
	return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Returns ${text} with the name of each hidden character in its place, for plain text. */
export function visible(text: string): string
{
	return text.replace(HIDDEN, (character) => `\u27e8${codeOf(character)}\u27e9`);
}
