// SPDX-License-Identifier: MIT
//
// Canaries: texts that nobody else has, each with the list of those who may be
// shown it.  Whatever anybody is told goes into the ledger; leaks() then says
// which canary came to whom it is not for, in clear, in hexadecimal or in
// base64 (at any of its three places).  It also says when it saw nothing.

import { randomBytes } from 'node:crypto';

const MIN_LENGTH = 12;

/** The forms in which ${secret}, a text or bytes, would be found. */
function forms(secret)
{
	const bytes = Buffer.from(secret);
	const hex = bytes.toString('hex');
	const found = new Set([hex, hex.toUpperCase(),
		...typeof secret === 'string' ? [secret, encodeURIComponent(secret)] :
			[bytes.toString('latin1')]]);

	for (let shift = 0; shift < 3; shift++) {
		const base = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
		// Without what its neighbours have a part in.
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

	/** ${text} is ${kind} of ${owner}, and only for ${readers}. */
	secret(owner, kind, text, readers)
	{
		if (text.length < MIN_LENGTH)
			throw new Error(`"${text}" is too short to be looked for`);
		this.secrets.push({ owner, kind, text, readers: new Set(readers), forms: forms(text) });
		return text;
	}

	/** The same of ${bytes} that are no text; pages with such are read as latin1. */
	bytes(owner, kind, bytes, readers)
	{
		if (bytes.length < MIN_LENGTH)
			throw new Error(`${bytes.length} bytes are too few to be looked for`);
		this.secrets.push({ owner, kind, text: bytes.toString('hex'), readers: new Set(readers),
			forms: forms(bytes) });
		return bytes;
	}

	/** A new text that is ${kind} of ${owner}. */
	canary(owner, kind, readers)
	{
		return this.secret(owner, kind,
			`canary-${kind}-${randomBytes(9).toString('hex')}`, readers);
	}

	/** ${reader} was shown ${text}. */
	see(reader, what, text)
	{
		this.pages.push({ reader, what, text });
	}

	/** What came to whom it is not for. */
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

	/** How much there is to look at, and how much of it is for its readers. */
	counts()
	{
		const at_home = this.secrets.filter((secret) => this.pages.some((page) =>
			secret.readers.has(page.reader) && page.text.includes(secret.text)));

		return { pages: this.pages.length, secrets: this.secrets.length,
			seen: at_home.length,
			kinds: [...new Set(this.secrets.map((one) => one.kind))].sort() };
	}
}
