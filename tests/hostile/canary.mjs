// SPDX-License-Identifier: MIT
//
// Canaries are unique texts, each with the list of users who may see it.
// Everything that anyone is shown is recorded in the ledger. leaks() then
// returns every canary that reached someone else: in clear text, in
// hexadecimal, or in base64 (at any of its three alignments). counts() shows
// that there was something to find.

import { randomBytes } from 'node:crypto';

const MIN_LENGTH = 12;

/** Returns the forms in which ${secret}, a text or bytes, could appear. */
function forms(secret)
{
	const bytes = Buffer.from(secret);
	const hex = bytes.toString('hex');
	const found = new Set([hex, hex.toUpperCase(),
		...typeof secret === 'string' ? [secret, encodeURIComponent(secret)] :
			[bytes.toString('latin1')]]);

	for (let shift = 0; shift < 3; shift++) {
		const base = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
		// Cut off the characters that also depend on neighbouring
		// bytes.
		const inner = base.slice(shift === 0 ? 0 : shift + 1,
			(bytes.length + shift) % 3 === 0 ? undefined : -1);
		found.add(inner);
		found.add(inner.replaceAll('-', '+').replaceAll('_', '/'));
	}
	return [...found];
}

export class Ledger {
	constructor()
	{
		this.secrets = [];
		this.pages = [];
	}

	/**
	 * Registers ${text} as a secret (${kind}) of ${owner}, which only
	 * ${readers} may see.
	 */
	secret(owner, kind, text, readers)
	{
		if (text.length < MIN_LENGTH)
			throw new Error(`"${text}" is too short to be looked for`);
		this.secrets.push({ owner, kind, text, readers: new Set(readers), forms: forms(text) });
		return text;
	}

	/**
	 * Does the same for ${bytes} that are not text.  Pages that may contain
	 * such bytes are read as latin1.
	 */
	bytes(owner, kind, bytes, readers)
	{
		if (bytes.length < MIN_LENGTH)
			throw new Error(`${bytes.length} bytes are too few to be looked for`);
		this.secrets.push({ owner, kind, text: bytes.toString('hex'), readers: new Set(readers),
			forms: forms(bytes) });
		return bytes;
	}

	/** Makes a new secret text of ${owner}. */
	canary(owner, kind, readers)
	{
		return this.secret(owner, kind,
			`canary-${kind}-${randomBytes(9).toString('hex')}`, readers);
	}

	/** Records that ${reader} was shown ${text}. */
	see(reader, what, text)
	{
		this.pages.push({ reader, what, text });
	}

	/** Returns each secret that reached someone who may not see it. */
	leaks()
	{
		const found = [];

		for (const page of this.pages) {
			for (const secret of this.secrets) {
				if (!secret.readers.has(page.reader) &&
				    secret.forms.some((form) => page.text.includes(form))) {
					found.push(`${secret.kind} of ${secret.owner} (${secret.text}) ` +
						`came to ${page.reader} in ${page.what}`);
				}
			}
		}
		return found;
	}

	/**
	 * Returns the number of secrets and pages, and how many secrets reached
	 * their readers.
	 */
	counts()
	{
		const at_home = this.secrets.filter((secret) => this.pages.some((page) =>
			secret.readers.has(page.reader) && page.text.includes(secret.text)));

		return { pages: this.pages.length, secrets: this.secrets.length,
			seen: at_home.length,
			kinds: [...new Set(this.secrets.map((one) => one.kind))].sort() };
	}
}
