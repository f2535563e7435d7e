// SPDX-License-Identifier: MIT
// Characters that must be seen and not obeyed: those that turn the order of a
// text around (embeddings, overrides, isolates), with which "exe.gpj" reads as
// a picture's name, and control characters.  Marks and joiners stay as they
// are: Arabic, Hebrew, Persian and emoji need them, and they turn no text.

const TURNING = /[\u202a-\u202e\u2066-\u2069]/;
const CONTROL = /(?![\n\t])\p{Cc}/u;
const HIDDEN = new RegExp(`(${TURNING.source}|${CONTROL.source})`, 'gu');

/** ${text} cut into what is shown as it is (even places) and single hidden
 * characters (odd ones). */
export function hidden(text: string): string[]
{
	return text.split(HIDDEN);
}

/** The name of a hidden character: U+202E. */
export function codeOf(character: string): string
{
	return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** ${text} with each hidden character as its name, where there is only text. */
export function visible(text: string): string
{
	return text.replace(HIDDEN, (character) => `\u27e8${codeOf(character)}\u27e9`);
}
