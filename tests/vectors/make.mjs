#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// tests/vectors/make.mjs [DIR]: writes ed25519.json and requests.json to DIR (this
// folder).  Ed25519 needs no random numbers, so the files are the same each time.

import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

// ---- Ed25519 ------------------------------------------------------------------
const hex = (text) => Buffer.from(text, 'hex');
const base64 = (bytes) => Buffer.from(bytes).toString('base64');
const number = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const bytes = (n) => Buffer.from(n.toString(16).padStart(64, '0'), 'hex').reverse();

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
// The point B and S = 1: holds for each key of low order whose factor is 0.
const BASE_POINT = hex('58' + '66'.repeat(31));
const ONE = bytes(1n);

const secret = (seed) => createPrivateKey({
	key: Buffer.concat([hex('302e020100300506032b657004220420'), seed]),
	format: 'der',
	type: 'pkcs8',
});
const publicOf = (seed) =>
	createPublicKey(secret(seed)).export({ format: 'der', type: 'spki' }).subarray(-32);
const signed = (seed, message) => sign(null, Buffer.from(message), secret(seed));

const RFC8032 = [
	['9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', ''],
	['4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', '72'],
	['c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7', 'af82'],
];

const LOW_ORDER = [
	['order 1', '01' + '00'.repeat(31)],
	['order 2', 'ec' + 'ff'.repeat(30) + '7f'],
	['order 4', '00'.repeat(32)],
	['order 4, with a sign', '00'.repeat(31) + '80'],
	['order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
	['order 8, with a sign', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
	['order 8, the other', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
	['order 8, the other, with a sign', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'],
	['order 4, not canonical', 'ed' + 'ff'.repeat(30) + '7f'],
	['order 1, not canonical', 'ee' + 'ff'.repeat(30) + '7f'],
];

// A message for which (B, 1) is a signature of the key of low order.
function forgeable(key)
{
	for (let i = 0; ; i++) {
		const message = Buffer.from(`message ${i}`);
		const hash = createHash('sha512').update(BASE_POINT).update(key).update(message).digest();
		if (number(hash) % ORDER % 8n === 0n)
			return message;
	}
}

const RFC9421_BASE = [
	'"date": Tue, 20 Apr 2021 02:07:55 GMT',
	'"@method": POST',
	'"@path": /foo',
	'"@authority": example.com',
	'"content-type": application/json',
	'"content-length": 18',
	'"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")' +
		';created=1618884473;keyid="test-key-ed25519"',
].join('\n');
const RFC9421_SEED = Buffer.from('n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU', 'base64url');

function ed25519()
{
	const rows = [];
	const add = (name, key, message, signature, valid) => rows.push({
		name, public: base64(key), message: base64(message), signature: base64(signature), valid,
	});
	RFC8032.forEach(([seed, text], i) => {
		const message = hex(text);
		const key = publicOf(hex(seed));
		const right = signed(hex(seed), message);
		const [r, s] = [right.subarray(0, 32), right.subarray(32)];
		const of = `RFC 8032, 7.1, test ${i + 1}`;
		add(of, key, message, right, true);
		add(`${of}: another message`, key, Buffer.concat([message, hex('00')]), right, false);
		add(`${of}: S + L`, key, message, Buffer.concat([r, bytes(number(s) + ORDER)]), false);
		add(`${of}: S = 0`, key, message, Buffer.concat([r, bytes(0n)]), false);
		add(`${of}: R of order 1`, key, message, Buffer.concat([hex(LOW_ORDER[0][1]), s]), false);
	});
	const key = publicOf(RFC9421_SEED);
	const right = signed(RFC9421_SEED, RFC9421_BASE);
	add('RFC 9421, B.2.6', key, Buffer.from(RFC9421_BASE), right, true);
	add('RFC 9421, B.2.6: a newline at the end', key, Buffer.from(`${RFC9421_BASE}\n`), right, false);
	for (const [name, text] of LOW_ORDER)
		add(`a key of low order: ${name}`, hex(text), forgeable(hex(text)),
			Buffer.concat([BASE_POINT, ONE]), false);
	return { low_order: LOW_ORDER.map(([, text]) => base64(hex(text))), vectors: rows };
}

// ---- requests -----------------------------------------------------------------
const NOW = 1_700_000_010;
const COMPONENTS = '("@method" "@authority" "@path" "content-digest" "content-type" "twinbox-from" "twinbox-to")';
const PARAMETERS = {
	created: 1_700_000_000,
	expires: 1_700_000_300,
	nonce: '"x8Jq3kP0vT2mW5yZ"',
	keyid: '"k7f3a9c2"',
	alg: '"ed25519"',
	tag: '"twinbox-1"',
};
const BODY = '{"envelopes":[],"control":{"ping":"abc"}}';
const KEYS = [
	{ domain: 'a.example', id: 'k7f3a9c2', seed: Buffer.alloc(32, 1) },
	{ domain: 'a.example', id: 'k'.repeat(64), seed: Buffer.alloc(32, 2) },
	{ domain: 'c.example', id: 'k7f3a9c2', seed: Buffer.alloc(32, 3) },
];
const seedOf = (domain, id) => KEYS.find((key) => key.domain === domain && key.id === id)?.seed ?? KEYS[0].seed;
const digest = (body) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
const parameters = (from, order = Object.keys(PARAMETERS)) =>
	order.map((name) => `;${name}=${({ ...PARAMETERS, ...from })[name]}`).join('');

// A request that is right, but for what ${change} says: what is signed, how it is
// signed, and what is written.
function request(change = {})
{
	const covered = {
		authority: 'b.example',
		path: '/v1/federation/deliver',
		digest: digest(BODY),
		type: 'application/json',
		from: 'a.example',
		to: 'b.example',
		...change.covered,
	};
	const params = change.params ?? `${change.components ?? COMPONENTS}${parameters(change.parameters, change.order)}`;
	const base = (c) => [
		'"@method": POST',
		`"@authority": ${c.authority}`,
		`"@path": ${c.path}`,
		`"content-digest": ${c.digest}`,
		`"content-type": ${c.type}`,
		`"twinbox-from": ${c.from}`,
		`"twinbox-to": ${c.to}`,
		`"@signature-params": ${params}`,
	].join('\n');
	const id = { ...PARAMETERS, ...change.parameters }.keyid.slice(1, -1);
	const value = signed(change.seed ?? seedOf(covered.from, id), base(covered));
	const sent = { host: 'b.example', ...covered, authority: 'b.example', ...change.sent };
	const headers = [
		`Host: ${sent.host}`,
		`Content-Type: ${sent.type}`,
		`Content-Digest: ${sent.digest}`,
		`Twinbox-From: ${sent.from}`,
		`Twinbox-To: ${sent.to}`,
		sent.input === null ? null : `Signature-Input: ${sent.input ?? `tb=${params}`}`,
		sent.value === null ? null : `Signature: ${sent.value?.(base64(value)) ?? `tb=:${base64(value)}:`}`,
	];
	const fault = change.fault ?? 'good';
	// The part that a receiver verifies, if it comes that far.
	const read = ['good', 'signature-wrong', 'digest-wrong'].includes(fault);
	return {
		name: change.name,
		fault,
		now: change.now ?? NOW,
		head: [`POST ${sent.path} HTTP/1.1`, ...headers.filter((line) => line !== null)],
		body: change.body ?? BODY,
		...(read ? { base: base(sent) } : {}),
	};
}

const rows = [
	{ name: 'as in docs/federation.md' },
	{ name: 'parameters in another order', order: ['tag', 'keyid', 'nonce', 'expires', 'alg', 'created'] },
	{ name: 'the longest nonce and key id', parameters: { nonce: `"${'n'.repeat(64)}"`, keyid: `"${'k'.repeat(64)}"` } },
	{ name: 'every character of a nonce', parameters: { nonce: '"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"' } },
	{ name: 'a life of one second', parameters: { expires: 1_700_000_001 } },
	{ name: 'the same key id of another domain', covered: { from: 'c.example' } },
	{ name: 'Host is not looked at', sent: { host: 'other.example' } },
	{ name: 'the first second', now: 1_700_000_000 - 300 },
	{ name: 'the last second', now: 1_700_000_300 + 299 },

	{ name: 'a second too early', fault: 'signature-early', now: 1_700_000_000 - 301 },
	{ name: 'a second too late', fault: 'signature-expired', now: 1_700_000_300 + 300 },
	{ name: 'a clock that is a day behind', fault: 'signature-early', now: NOW - 86_400 },
	{ name: 'a clock that is a day ahead', fault: 'signature-expired', now: NOW + 86_400 },

	{ name: 'no Signature-Input', fault: 'signature-missing', sent: { input: null } },
	{ name: 'no Signature', fault: 'signature-missing', sent: { value: null } },

	{ name: 'another label', fault: 'signature-malformed', sent: { input: `sig1=${COMPONENTS}${parameters()}` } },
	{ name: 'another label of the value', fault: 'signature-malformed', sent: { value: (text) => `sig1=:${text}:` } },
	{ name: 'two values', fault: 'signature-malformed', sent: { value: (text) => `tb=:${text}:, sig1=:${text}:` } },
	{ name: 'a value without padding', fault: 'signature-malformed', sent: { value: (text) => `tb=:${text.slice(0, -2)}:` } },
	{ name: 'a value with bits that are left over', fault: 'signature-malformed', sent: { value: (text) => `tb=:${text.slice(0, 85)}${{ A: 'B', Q: 'R', g: 'h', w: 'x' }[text[85]]}==:` } },
	{ name: 'a value in the alphabet of URLs', fault: 'signature-malformed', sent: { value: (text) => `tb=:-_${text.slice(2)}:` } },
	{ name: 'a value of 63 bytes', fault: 'signature-malformed', sent: { value: (text) => `tb=:${text.slice(0, 84)}:` } },
	{ name: 'a value that is cut off', fault: 'signature-malformed', sent: { value: (text) => `tb=:${text.slice(0, 40)}` } },
	{ name: 'a value as a string', fault: 'signature-malformed', sent: { value: (text) => `tb="${text}"` } },
	{ name: 'more than 512 bytes', fault: 'signature-malformed', sent: { input: `tb=${COMPONENTS}${parameters()}`.padEnd(513, 'x') } },

	{ name: 'a component less', fault: 'signature-components', components: COMPONENTS.replace('"content-digest" ', '') },
	{ name: 'a component more', fault: 'signature-components', components: COMPONENTS.replace(')', ' "date")') },
	{ name: 'a component twice', fault: 'signature-components', components: COMPONENTS.replace(')', ' "twinbox-to")') },
	{ name: 'components in another order', fault: 'signature-components', components: COMPONENTS.replace('"@authority" "@path"', '"@path" "@authority"') },
	{ name: 'a component with a parameter', fault: 'signature-components', components: COMPONENTS.replace('"content-digest"', '"content-digest";sf') },
	{ name: 'two spaces between components', fault: 'signature-components', components: COMPONENTS.replace(' ', '  ') },

	{ name: 'no tag', fault: 'signature-parameters', order: ['created', 'expires', 'nonce', 'keyid', 'alg'] },
	{ name: 'no nonce', fault: 'signature-parameters', order: ['created', 'expires', 'keyid', 'alg', 'tag'] },
	{ name: 'no expires', fault: 'signature-parameters', order: ['created', 'nonce', 'keyid', 'alg', 'tag'] },
	{ name: 'created twice', fault: 'signature-parameters', order: ['created', 'created', 'expires', 'nonce', 'keyid', 'alg', 'tag'] },
	{ name: 'a parameter more', fault: 'signature-parameters', params: `${COMPONENTS}${parameters()};x=1` },
	{ name: 'a second signature', fault: 'signature-parameters', sent: { input: `tb=${COMPONENTS}${parameters()}, x=()` } },
	{ name: 'optional whitespace', fault: 'signature-parameters', params: `${COMPONENTS}${parameters().replace(';nonce', '; nonce')}` },
	{ name: 'another algorithm', fault: 'signature-parameters', parameters: { alg: '"hmac-sha256"' } },
	{ name: 'another tag', fault: 'signature-parameters', parameters: { tag: '"twinbox-2"' } },
	{ name: 'a nonce of 15 characters', fault: 'signature-parameters', parameters: { nonce: '"x8Jq3kP0vT2mW5y"' } },
	{ name: 'a nonce of 65 characters', fault: 'signature-parameters', parameters: { nonce: `"${'n'.repeat(65)}"` } },
	{ name: 'a nonce with another character', fault: 'signature-parameters', parameters: { nonce: '"x8Jq3kP0vT2mW5y+"' } },
	{ name: 'an empty key id', fault: 'signature-parameters', parameters: { keyid: '""' } },
	{ name: 'expires is created', fault: 'signature-parameters', parameters: { expires: 1_700_000_000 } },
	{ name: 'a life of 301 seconds', fault: 'signature-parameters', parameters: { expires: 1_700_000_301 } },
	{ name: 'a leading zero', fault: 'signature-parameters', parameters: { created: '0999999999', expires: '1000000000' } },
	{ name: 'a sign', fault: 'signature-parameters', parameters: { created: '+1700000000' } },
	{ name: 'a time that is a decimal', fault: 'signature-parameters', parameters: { created: '1700000000.0' } },
	{ name: 'a time of eleven digits', fault: 'signature-parameters', parameters: { created: '17000000000', expires: '17000000300' } },
	{ name: 'a time that overflows', fault: 'signature-parameters', parameters: { expires: '18446744073709551915' } },

	{ name: 'a key id that nobody has', fault: 'key-unknown', parameters: { keyid: '"k0000000"' } },
	{ name: 'a domain without keys', fault: 'key-unknown', covered: { from: 'd.example' } },

	{ name: 'signed by another key', fault: 'signature-wrong', seed: Buffer.alloc(32, 9) },
	{ name: 'signed by another domain with the same key id', fault: 'signature-wrong', seed: KEYS[2].seed },
	{ name: 'signed for another authority', fault: 'signature-wrong', covered: { authority: 'c.example' } },
	{ name: 'signed with the port of https', fault: 'signature-wrong', covered: { authority: 'b.example:443' } },
	{ name: 'signed for another path', fault: 'signature-wrong', covered: { path: '/v1/federation/other' }, sent: { path: '/v1/federation/deliver' } },
	{ name: 'signed with a query', fault: 'signature-wrong', covered: { path: '/v1/federation/deliver?x=1' }, sent: { path: '/v1/federation/deliver' } },
	{ name: 'another Content-Type', fault: 'signature-wrong', sent: { type: 'application/json; charset=utf-8' } },
	{ name: 'another Content-Digest, with its body', fault: 'signature-wrong', sent: { digest: digest('{}') }, body: '{}' },
	{ name: 'another Twinbox-From', fault: 'signature-wrong', sent: { from: 'c.example' } },
	{ name: 'another Twinbox-To', fault: 'signature-wrong', sent: { to: 'c.example' } },
	{ name: 'another created', fault: 'signature-wrong', sent: { input: `tb=${COMPONENTS}${parameters({ created: 1_700_000_001 })}` } },
	{ name: 'another nonce', fault: 'signature-wrong', sent: { input: `tb=${COMPONENTS}${parameters({ nonce: '"y8Jq3kP0vT2mW5yZ"' })}` } },
	{ name: 'the signed parameters in another order', fault: 'signature-wrong', sent: { input: `tb=${COMPONENTS}${parameters({}, ['expires', 'created', 'nonce', 'keyid', 'alg', 'tag'])}` } },
	{ name: 'all zeros', fault: 'signature-wrong', sent: { value: () => `tb=:${base64(Buffer.alloc(64))}:` } },
	{ name: 'S + L', fault: 'signature-wrong', sent: { value: (text) => {
		const right = Buffer.from(text, 'base64');
		return `tb=:${base64(Buffer.concat([right.subarray(0, 32), bytes(number(right.subarray(32)) + ORDER)]))}:`;
	} } },

	{ name: 'another body', fault: 'digest-wrong', body: BODY.replace('abc', 'abd') },
	{ name: 'a byte more', fault: 'digest-wrong', body: `${BODY}\n` },
	{ name: 'no body', fault: 'digest-wrong', body: '' },
	{ name: 'another algorithm of the digest', fault: 'digest-wrong', covered: { digest: digest(BODY).replace('256', '512') } },
	{ name: 'two digests', fault: 'digest-wrong', covered: { digest: `${digest(BODY)}, ${digest(BODY)}` } },
	{ name: 'a digest without padding', fault: 'digest-wrong', covered: { digest: digest(BODY).replace(/=:$/, ':') } },
];

// The base of a request whose headers were changed has what the headers say.
function finish(row)
{
	if (row.base === undefined)
		return row;
	const input = row.head.find((line) => line.startsWith('Signature-Input: tb='));
	return { ...row, base: row.base.replace(/"@signature-params": .*$/, `"@signature-params": ${input.slice('Signature-Input: tb='.length)}`) };
}

function requests()
{
	return {
		receiver: { domain: 'b.example', authority: 'b.example', path: '/v1/federation/deliver' },
		keys: KEYS.map(({ domain, id, seed }) => ({
			domain, id, alg: 'ed25519', public: base64(publicOf(seed)), seed: base64(seed),
		})),
		requests: rows.map((row) => finish(request(row))),
	};
}

const files = { 'ed25519.json': ed25519(), 'requests.json': requests() };
for (const [name, content] of Object.entries(files))
	writeFileSync(join(process.argv[2] ?? here, name), `${JSON.stringify(content, null, '\t')}\n`);
