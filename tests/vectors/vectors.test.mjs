// SPDX-License-Identifier: MIT
// tags: unit
//
// The vectors, verified by a second implementation of docs/federation.md on node's
// crypto: it agrees with each fault, and refuses each valid request after a change.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const here = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const text = (name, dir = here) => readFileSync(join(dir, name), 'utf8');
const ed25519 = JSON.parse(text('ed25519.json'));
const { receiver, keys, requests } = JSON.parse(text('requests.json'));

const lowOrder = new Set(ed25519.low_order);

/** Whether ${signature} of ${message} is that of ${key}, all but the message in base64. */
function verifies(key, message, signature)
{
	if (lowOrder.has(key))
		return false;
	const bytes = Buffer.from(key, 'base64');
	const object = createPublicKey({
		key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
		format: 'jwk',
	});
	return verify(null, message, object, Buffer.from(signature, 'base64'));
}

/** ${length} bytes in base64, in the only form that they have; null: another text. */
function base64(value, length)
{
	const bytes = Buffer.from(value, 'base64');
	return bytes.length === length && bytes.toString('base64') === value ? bytes : null;
}

const COMPONENTS = ['@method', '@authority', '@path', 'content-digest', 'content-type', 'twinbox-from', 'twinbox-to'];
const INPUT = /^tb=\(([^()]*)\)(.*)$/;
const NUMBER = /^(0|[1-9][0-9]{0,9})$/;
const FORMS = {
	created: NUMBER,
	expires: NUMBER,
	nonce: /^"[A-Za-z0-9_-]{16,64}"$/,
	keyid: /^"[A-Za-z0-9_-]{1,64}"$/,
	alg: /^"ed25519"$/,
	tag: /^"twinbox-1"$/,
};

/** The parameters of ${list} (";name=value…"); null: not those of the profile. */
function parameters(list)
{
	const params = new Map();
	const parts = list.split(';');
	if (parts.shift() !== '')
		return null;
	for (const part of parts) {
		const at = part.indexOf('=');
		const name = part.slice(0, at);
		if (at < 0 || !Object.hasOwn(FORMS, name) || params.has(name) || !FORMS[name].test(part.slice(at + 1)))
			return null;
		params.set(name, part.slice(at + 1));
	}
	const life = Number(params.get('expires')) - Number(params.get('created'));
	return params.size === 6 && life > 0 && life <= 300 ? params : null;
}

/** Returns the receiver's verdict on ${request}, and the base that it verifies. */
function judge({ head, body, now })
{
	const [method, target] = head[0].split(' ');
	const headers = new Map(head.slice(1).map((line) => {
		const at = line.indexOf(': ');
		return [line.slice(0, at).toLowerCase(), line.slice(at + 2)];
	}));
	const input = headers.get('signature-input');
	const value = headers.get('signature');
	if (input === undefined || value === undefined)
		return ['signature-missing'];
	const signature = /^tb=:([^:]*):$/.exec(value)?.[1];
	if (input.length > 512 || !input.startsWith('tb=') || signature === undefined || base64(signature, 64) === null)
		return ['signature-malformed'];
	const [, components, list] = INPUT.exec(input) ?? [];
	if (components !== COMPONENTS.map((name) => `"${name}"`).join(' '))
		return ['signature-components'];
	const params = parameters(list);
	if (params === null)
		return ['signature-parameters'];
	if (now < Number(params.get('created')) - 300)
		return ['signature-early'];
	if (now >= Number(params.get('expires')) + 300)
		return ['signature-expired'];
	const key = keys.find(({ domain, id }) => domain === headers.get('twinbox-from') && `"${id}"` === params.get('keyid'));
	if (key === undefined)
		return ['key-unknown'];
	const values = {
		'@method': method,
		'@authority': receiver.authority,
		'@path': target,
		...Object.fromEntries(headers),
	};
	const base = [
		...COMPONENTS.map((name) => `"${name}": ${values[name]}`),
		`"@signature-params": ${input.slice('tb='.length)}`,
	].join('\n');
	if (!verifies(key.public, Buffer.from(base), signature))
		return ['signature-wrong', base];
	const digest = /^sha-256=:([^:]*):$/.exec(headers.get('content-digest'))?.[1];
	const hash = digest === undefined ? null : base64(digest, 32);
	if (hash === null || !hash.equals(createHash('sha256').update(body).digest()))
		return ['digest-wrong', base];
	return ['good', base];
}

const good = requests.filter(({ fault }) => fault === 'good');

describe('the vectors', () => {
	it('are what make.mjs writes', () => {
		const dir = mkdtempSync(join(tmpdir(), 'vectors-'));
		try {
			execFileSync(process.execPath, [join(here, 'make.mjs'), dir]);
			for (const name of ['ed25519.json', 'requests.json'])
				assert.ok(text(name) === text(name, dir), `${name} is old`);
		} finally {
			rmSync(dir, { recursive: true });
		}
	});

	it('have each fault, and names of their own', () => {
		assert.deepEqual([...new Set(requests.map(({ fault }) => fault))].sort(), [
			'digest-wrong', 'good', 'key-unknown', 'signature-components', 'signature-early',
			'signature-expired', 'signature-malformed', 'signature-missing',
			'signature-parameters', 'signature-wrong',
		]);
		assert.equal(new Set(requests.map(({ name }) => name)).size, requests.length);
		assert.ok(good.length >= 9);
	});

	for (const { name, public: key, message, signature, valid } of ed25519.vectors)
		it(`Ed25519: ${name}`, () => {
			assert.equal(verifies(key, Buffer.from(message, 'base64'), signature), valid);
		});

	for (const request of requests)
		it(`${request.fault}: ${request.name}`, () => {
			const [fault, base] = judge(request);
			assert.equal(fault, request.fault);
			assert.equal(base, request.base);
		});
});

describe('a valid request', () => {
	for (const request of good)
		it(`is refused after any change: ${request.name}`, () => {
			for (let i = 1; i < request.head.length; i++) {
				const line = request.head[i];
				if (line.startsWith('Host: '))
					continue;
				for (const at of [line.indexOf(': ') + 2, line.length - 1]) {
					const changed = line.slice(0, at) + (line[at] === 'x' ? 'y' : 'x') + line.slice(at + 1);
					const head = request.head.with?.(i, changed) ?? Object.assign([...request.head], { [i]: changed });
					assert.notEqual(judge({ ...request, head })[0], 'good', changed);
				}
			}
			assert.equal(judge({ ...request, body: `${request.body} ` })[0], 'digest-wrong');
			const head = [request.head[0].replace('deliver', 'deliver?x'), ...request.head.slice(1)];
			assert.equal(judge({ ...request, head })[0], 'signature-wrong');
		});
});
