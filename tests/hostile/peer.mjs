// SPDX-License-Identifier: MIT
//
// Another server, as far as its requests are concerned.  It signs with node's
// crypto according to docs/federation.md, or wrongly where a test says so.
//
//	const peer = new Peer();
//	await peer.pin(server, token);               // an administrator's token
//	const answer = await peer.deliver(server, { envelopes: [peer.message(to, 'Hello')] });
//
// `change` alters a request: `covered` and `parameters` change what is signed,
// `sent` changes a header after it was signed.

import { createHash, createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';

import { eventually, expectStatus, rawRequest, uuid7 } from '../e2e/harness.mjs';

export const HERE = 'b.example';
export const PATH = '/v1/federation/deliver';

/** Returns the arguments for a server that accepts requests from ${domains}. */
export const federation = (...domains) => ['--domain', HERE, '--federation', 'list',
	'--federation-allow', domains.join(',')];

const COMPONENTS = '("@method" "@authority" "@path" "content-digest" "content-type" "twinbox-from" "twinbox-to")';

/** The PKCS #8 bytes in front of the seed of an Ed25519 key. */
const PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export const digest = (body) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
export const nonce = () => randomBytes(18).toString('base64url');
export const now = () => Math.floor(Date.now() / 1000);

export class Peer {
	constructor({ domain = 'a.example', keyId = 'k1', seed = randomBytes(32), authority = HERE } = {})
	{
		this.domain = domain;
		this.keyId = keyId;
		this.authority = authority;
		this.key = createPrivateKey({ key: Buffer.concat([PREFIX, seed]), format: 'der', type: 'pkcs8' });
		this.public = Buffer.from(createPublicKey(this.key).export({ format: 'jwk' }).x, 'base64url')
			.toString('base64');
		this.sequences = new Map();
	}

	/**
	 * Pins this peer's key at ${server}, and waits until the server uses
	 * it.
	 */
	async pin(server, token)
	{
		expectStatus(await server.rest(token).post(`/v1/admin/peers/${this.domain}/pin`,
			{ key_id: this.keyId, public: this.public }), 200);
		return eventually(async () => (await this.deliver(server)).status === 200,
			`the key of ${this.domain}`);
	}

	/**
	 * Returns the headers of a request with ${body}, by name, in the order
	 * in which they are sent.
	 */
	headers(body, { covered = {}, parameters = {}, sent = {}, key = this.key } = {})
	{
		const values = {
			method: 'POST', authority: this.authority, path: PATH, digest: digest(body),
			type: 'application/json', from: this.domain, to: HERE, ...covered,
		};
		const of = {
			created: now(), expires: now() + 60, nonce: `"${nonce()}"`, keyid: `"${this.keyId}"`,
			alg: '"ed25519"', tag: '"twinbox-1"', ...parameters,
		};
		const params = COMPONENTS + Object.entries(of).filter(([, value]) => value !== undefined)
			.map(([name, value]) => `;${name}=${value}`).join('');
		const base = [
			`"@method": ${values.method}`,
			`"@authority": ${values.authority}`,
			`"@path": ${values.path}`,
			`"content-digest": ${values.digest}`,
			`"content-type": ${values.type}`,
			`"twinbox-from": ${values.from}`,
			`"twinbox-to": ${values.to}`,
			`"@signature-params": ${params}`,
		].join('\n');
		const headers = {
			'content-type': values.type,
			'content-digest': values.digest,
			'twinbox-from': values.from,
			'twinbox-to': values.to,
			'signature-input': `tb=${params}`,
			signature: `tb=:${sign(null, Buffer.from(base), key).toString('base64')}:`,
			...sent,
		};

		return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
	}

	/**
	 * Returns the head of a request as text, with the additional header
	 * lines ${extra}.
	 */
	head(body, change = {})
	{
		const lines = Object.entries(this.headers(body, change)).map(([name, value]) => `${name}: ${value}\r\n`);

		return `POST ${change.target ?? PATH} HTTP/1.1\r\nHost: x\r\n${lines.join('')}${change.extra ?? ''}` +
			`Content-Length: ${change.length ?? Buffer.byteLength(body)}\r\n\r\n`;
	}

	/**
	 * Sends ${content} (an object, or text) with a signature.  Returns the
	 * answer.
	 */
	async deliver(server, content = { envelopes: [] }, change = {})
	{
		const body = typeof content === 'string' ? content : JSON.stringify(content);

		return rawRequest(server, 'POST', change.target ?? PATH, { body: change.body ?? body, headers: {
			...this.headers(body, change), 'content-length': Buffer.byteLength(change.body ?? body) } });
	}

	/**
	 * Returns the next number of the sequence of ${lane}: sender and
	 * recipient.
	 */
	sequence(...lane)
	{
		const key = lane.join(' ');
		const next = (this.sequences.get(key) ?? 0) + 1;

		this.sequences.set(key, next);
		return next;
	}

	envelope(type, recipient, payload, more = {})
	{
		return { message_id: uuid7(), sequence: this.sequence(type.split('.')[0], payload.from, recipient),
			timestamp: new Date().toISOString(), message_type: type, recipient, attempt: 1, payload, ...more };
	}

	/**
	 * Returns an envelope with a message from ${name} of this server to the
	 * address ${recipient}.
	 */
	message(recipient, text, { name = 'bob', from = `${name}@${this.domain}`, id = uuid7(), ...more } = {})
	{
		return this.envelope('message.send', recipient,
			{ id, from, body: text, created_at: new Date().toISOString() }, more);
	}
}
