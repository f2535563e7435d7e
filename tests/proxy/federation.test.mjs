// SPDX-License-Identifier: MIT
//
// Two servers deliver to each other as in a closed network.  Each is behind its
// own proxy, one with the sample for nginx and one with that for Caddy, with
// certificates of a private authority, at port 443 of private addresses.  Then
// the TLS of one of them fails in each possible way: an operator is informed of
// the reason, no message is charged, and all messages arrive when the TLS is
// repaired.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import https from 'node:https';
import { after, before, describe, it } from 'node:test';

import { users, eventually } from '../e2e/harness.mjs';
import { operator } from '../e2e/operator.mjs';
import { address, allAre, arriveOnce, gathers, hasty, isFrom } from '../e2e/pair.mjs';
import { Authority, B, enterNetwork, sendThrough, startSites, systemTrusts } from './network.mjs';

const skip = await enterNetwork();

const people = async ({ a, b }) => (await Promise.all([users(a, 'alice'), users(b, 'bob')])).flat();

/**
 * Returns the document of ${site}, fetched through its proxy, with the headers.
 */
const documentOf = (site, { ca }) => new Promise((resolve, reject) => {
	https.get(`https://${site.domain}/.well-known/twinbox`, { ca: fs.readFileSync(ca), agent: false }, (response) => {
		let text = '';
		response.on('data', (piece) => { text += piece; });
		response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
	}).on('error', reject);
});

describe('behind nginx and Caddy, with a private authority', { skip }, () => {
	let s;

	before(async () => {
		const authority = new Authority('hospital');
		// Both ways in which an operator can trust the authority.
		systemTrusts(authority);
		s = await startSites({ authority, args: ['--delivery-timeout', '3s', '--lease', '9s'],
			env: hasty('keyring=5', 'directory_again=20'),
			a: { kind: 'nginx', args: ['--federation-ca', authority.ca], unlimited: 'one user sends as fast as can be' },
			b: { kind: 'caddy', unlimited: 'the same' } });
	});
	after(() => s?.stop());

	it('each finds the other one and all is well, both ways', async () => {
		for (const [one, other] of [[s.a, s.b], [s.b, s.a]]) {
			const { code, text } = await one.check(other.domain);
			assert.equal(code, 0, text);
			assert.match(text, new RegExp(`^ok setting: ${other.domain} is allowed`));
			assert.ok(text.includes(`ok DNS: ${other.domain} has 1 address ${other.machine.address} may be contacted`), text);
			assert.match(text, new RegExp(`ok connection: ${other.machine.address} port 443, TLS with a certificate that is ` +
				`valid for ${other.domain} until `));
			assert.match(text, /ok clock: .*ok own document: .*ok signed request: the signature is good there/);
		}
	});

	it('the document is what each says of itself, and may be cached', async () => {
		for (const site of [s.a, s.b]) {
			const { status, headers, text } = await documentOf(site, s.authority);
			assert.equal(status, 200, text);
			assert.match(headers['cache-control'], /max-age=300/);
			const document = JSON.parse(text);
			assert.equal(document.domain, site.domain);
			assert.equal(document.deliver, `https://${site.domain}/v1/federation/deliver`);
			assert.deepEqual(document, await site.document());
		}
	});

	it('a conversation, with receipts in both directions', async () => {
		const [alice, bob] = await people(s);
		for (const [one, other] of [[alice, bob], [bob, alice]]) {
			const { id } = await one.send(address(other), 'grüß dich \u{1f600}');
			const event = await other.received(id);
			assert.deepEqual([event.from, event.body], [address(one), 'grüß dich \u{1f600}']);
			await other.ack(event.seq);
			const acked = await one.entryWhen(id, (e) => e.state === 'acked', 'is acked');
			assert.deepEqual([acked.retry_count, acked.last_error], [0, null]);
			await other.read({ upto: event.seq });
			await one.entryWhen(id, (e) => e.labels.includes('read'), 'is read');
			await one.event((e) => e.kind === 'receipt' && e.state === 'read' && e.by === address(other), 'the receipt');
		}
		await s.sound();
	});

	for (const [victim, other] of [['b', 'a'], ['a', 'b']]) {
		it(`kill -9 of ${victim}.example in the middle of traffic both ways: nothing is lost or doubled`, async () => {
			const [alice, bob] = await people(s);
			const sending = [sendThrough(alice, address(bob), 100), sendThrough(bob, address(alice), 100)];
			const watcher = victim === 'b' ? alice : bob;
			const talker = victim === 'b' ? bob : alice;
			for (const n of [20, 60]) {
				await gathers(watcher, isFrom(talker), n);
				await s[victim].kill();
				await s[victim].start();
			}
			const [there, back] = await Promise.all(sending);
			await arriveOnce(alice, bob, there, { ms: 90_000 });
			await arriveOnce(bob, alice, back, { ms: 90_000 });
			await allAre(s[other] === s.a ? alice : bob, s[other] === s.a ? there : back, 'sent');
			await s.sound();
		});
	}

	it('a new key of one is believed by the other while messages flow', async () => {
		const [[alice, bob], root] = await Promise.all([people(s), operator(s.b)]);
		const ids = await sendThrough(alice, address(bob), 5);
		const [{ id: first }] = (await s.a.document()).keys;
		let going = true;
		const flow = (async () => {
			while (going)
				ids.push(...await sendThrough(alice, address(bob), 5));
		})();
		try {
			const retired = await s.a.commandOf('keys', 'retire', first, '--now');
			assert.equal(retired.code, 0, retired.text);
			const [, second] = /key (\S+) takes its place/.exec(retired.text) ?? assert.fail(retired.text);
			await eventually(async () => {
				const { keys } = await root.ask('peers/a.example');
				const good = keys.filter((key) => key.verifies).map((key) => key.id);
				return good.includes(second) && !good.includes(first);
			}, 'the new key alone is believed', 60_000);
		} finally {
			going = false;
			await flow;
		}
		ids.push(...await sendThrough(alice, address(bob), 5));
		await arriveOnce(alice, bob, ids, { ms: 90_000 });
		assert.equal((await s.a.check('b.example')).code, 0);
		await s.sound();
	});
});

describe('TLS that fails', { skip }, () => {
	const other = skip || new Authority('somebody else');
	let s, alice, bob, root, good;

	before(async () => {
		const authority = new Authority('hospital');
		// The system trusts another authority. federation-ca replaces
		// it.
		systemTrusts(other);
		s = await startSites({ authority, args: ['--federation-ca', authority.ca], env: hasty() });
		[alice, bob] = await people(s);
		root = await operator(s.a);
		good = s.gates.b.certificate;
		await bob.received((await alice.send(address(bob), 'all is well')).id);
	});
	after(() => s?.stop());

	const certificate = /Cure: The certificate there must be valid for this name, .*federation-ca/;
	for (const [name, broken, error, cure, options] of [
		['an expired certificate', () => s.authority.certify('b.example', { days: -1 }), /certificate has expired/, certificate],
		['a certificate for another name', () => s.authority.certify('c.example'),
			/no alternative certificate subject name matches target host name 'b\.example'/, certificate],
		['an authority that only the system trusts', () => other.certify('b.example'), /unable to get local issuer certificate/,
			certificate],
		['plain http at port 443', () => good, /wrong version number/,
			/Cure: The server there does not speak TLS/,
			{ edit: [[`listen ${B.address}:443 ssl http2;`, `listen ${B.address}:443;`]] }],
	]) {
		it(`${name}: an operator learns it, messages wait uncharged, and arrive when it is repaired`, async () => {
			await s.gates.b.become(broken(), options);
			const ids = [(await alice.send(address(bob), name)).id];
			const waits = await alice.entryWhen(ids[0], (e) => e.attempts >= 1 && e.state === 'pending' &&
				/TLS failed/.test(e.last_error ?? ''), 'waits');
			assert.match(waits.last_error, error);
			assert.equal(waits.retry_count, 0, 'it is charged to the destination');
			assert.match((await root.destination('b.example')).last_error, error);
			await eventually(() => s.a.output().split('\n').some((line) => error.test(line) &&
				/relay\.breaker destination=b\.example state=open why=TLS failed/.test(line)), 'the log says it');
			const { code, text } = await s.a.check('b.example');
			assert.equal(code, 69, text);
			assert.match(text, /fails connection: TLS failed: /);
			assert.match(text, error);
			assert.match(text, cure);
			assert.doesNotMatch(text, /document:/);
			ids.push((await alice.send(address(bob), `${name}, behind it`)).id);
			await s.gates.b.become(good);
			const events = await gathers(bob, (e) => ids.includes(e.id), 2);
			assert.deepEqual(events.map((e) => e.id), ids);
			for (const id of ids) {
				const { retry_count, last_error } = await alice.entryWhen(id, (e) => e.state === 'sent', 'is sent');
				assert.deepEqual([retry_count, last_error], [0, null]);
			}
			assert.equal((await s.a.check('b.example')).code, 0);
			await s.sound();
		});
	}

	it('nobody learned that a message failed', async () => {
		assert.deepEqual((await alice.inbox()).events.filter((e) => e.kind === 'bounce'), []);
	});
});
