// SPDX-License-Identifier: MIT
// tags: store
//
// twinboxd check-federation tests the way to another server step by step.  Here
// node plays the other server, and each step fails in turn.  The last test has
// two real servers and checks both directions.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { dataArgs, onPostgres } from './backend.mjs';
import { TWINBOXD, run, tempDir } from './harness.mjs';
import { freePort } from './harness/port.mjs';
import { operator } from './operator.mjs';
import { federationArgs, startPair, startSide } from './pair.mjs';
import { problem, says } from './peer-answers.mjs';
import { Peer } from './peer.mjs';

const WELL = ['setting', 'DNS', 'connection', 'document', 'clock', 'key', 'own document', 'signed request'];
const WIDTH = 79;

/**
 * Runs the command with ${args}.  Returns {code, out, err, steps}; each of the
 * steps is [ok or fails, name of the step, its text in one line].
 */
async function command(...args)
{
	const child = run(TWINBOXD, ['check-federation', ...args]);
	const { code } = await child.exited;
	const steps = [];

	for (const line of child.out.split('\n\n')[0].split('\n')) {
		const [, mark, step, text] = /^(ok|fails) +([A-Za-z ]+): (.*)$/.exec(line) ?? [];
		if (step)
			steps.push([mark, step, text]);
		else if (line.startsWith('       '))
			steps.at(-1)[2] += ` ${line.trim()}`;
	}
	for (const line of child.out.split('\n'))
		assert.ok(line.length <= WIDTH || !line.trim().includes(' '), `${line.length}: ${line}`);
	return { code, out: child.out, err: child.err, steps };
}

/**
 * Runs the command with the settings of ${side} and the further arguments
 * ${more}.
 */
const check = (side, domain, ...more) =>
	command(domain, ...dataArgs(side.data, side.args), ...side.args, ...more);

const said = ({ steps }, wanted) => steps.find(([, step]) => step === wanted)?.[2];
const failed = ({ steps }) => steps.filter(([mark]) => mark === 'fails').map(([, step]) => step);
const tried = ({ steps }) => steps.map(([, step]) => step);

/**
 * Asserts that exactly ${step} failed, and that its text has ${reason} and
 * ${cure}.
 */
function assertFails(result, step, reason, cure)
{
	assert.deepEqual([result.code, failed(result), result.err], [69, [step], ''], result.out);
	assert.match(said(result, step), reason);
	assert.match(said(result, step), cure);
}

describe('the way to another server', () => {
	const ends = [];
	const b = new Peer('b.example');
	let side;

	before(async () => {
		await b.listen();
		side = await startSide({ after: (act) => ends.push(act) }, { domain: 'a.example', peers: { 'b.example': b.url } });
		b.knows(side);
	});
	after(async () => {
		for (const end of ends)
			await end();
		await b.close();
	});

	/**
	 * Runs the command while b has the properties ${broken}, which make it
	 * answer wrongly.
	 */
	async function whileItAnswers(broken)
	{
		Object.assign(b, broken);
		try {
			return await check(side, 'b.example');
		} finally {
			for (const name of Object.keys(broken))
				delete b[name];
		}
	}

	it('is well: each step is printed, and the way back', async () => {
		const { empty } = b;
		const result = await check(side, 'b.example');
		const [{ id }] = (await side.document()).keys;

		assert.deepEqual([result.code, result.err], [0, ''], result.out);
		assert.deepEqual(result.steps.map(([mark, step]) => [mark, step]), WELL.map((step) => ['ok', step]), result.out);
		assert.equal(said(result, 'setting'), `b.example is allowed: federation-peer fixes its URL, ${b.url}`);
		assert.equal(said(result, 'DNS'), '127.0.0.1 has 1 address 127.0.0.1 may be contacted');
		assert.equal(said(result, 'connection'), `127.0.0.1 port ${b.port}, without TLS, as federation-peer says`);
		assert.equal(said(result, 'document'), `key ${b.key_id}; at most 50 envelopes and 262144 bytes in a request, ` +
			`32 requests at once; messages go to ${b.url}/v1/federation/deliver`);
		assert.match(said(result, 'clock'), /^the clocks agree to the second$|^the other server's clock is 1 s /);
		assert.equal(said(result, 'key'), `this server signs with ${id}`);
		assert.equal(said(result, 'own document'),
			`others find the key ${id}, with which this server signs, and are sent to ${new URL(side.url).host}`);
		assert.match(said(result, 'signed request'), /^the signature is good there, and the ping came back after \d+ ms$/);
		assert.match(result.out, /\n\nAll is well from here to b\.example\. .*"twinboxd\s+check-federation\s+a\.example"\s+there\.\n$/s);
		b.check();
		assert.deepEqual(empty.map(({ json }) => json), [{ envelopes: [], control: { ping: 'check-federation' } }]);
	});

	it('needs a database', async () => {
		const result = await command('b.example', '--data', `${tempDir()}/none`, ...side.args);
		assert.deepEqual([result.code, result.out], [66, ''], result.err);
		assert.match(result.err, /^twinboxd: .+\n$/);
	});

	it('ends with the settings if these do not allow it', async () => {
		const base = dataArgs(side.data, side.args);
		const on = federationArgs({ domain: 'a.example', url: 'https://a.example', federation: 'list' });
		for (const [domain, args, reason, cure] of [
			['c.example', on, /neither federation-allow nor federation-peer names it/, /Add c\.example to federation-allow/],
			['c.example', [...on, '--federation-allow', '.example', '--federation-deny', 'c.example'],
				/federation-deny names it/, /Take it out/],
			['a.example', on, /this server itself/, /Name another/],
			['https://b.example', on, /is not a valid domain/, /without https/],
			['B.example', on, /is not a valid domain/, /lower case/],
			['b.example', [], /federation is off/, /Set federation to open/],
		]) {
			const result = await command(domain, ...base, ...args);
			assertFails(result, 'setting', reason, cure);
			assert.deepEqual(tried(result), ['setting']);
			assert.doesNotMatch(result.out, /way back/);
		}
	});

	it('ends with the setting if an administrator has blocked it', async () => {
		const root = await operator(side);
		await root.do('POST', 'peers/b.example/block', {});
		const result = await check(side, 'b.example');
		await root.do('POST', 'peers/b.example/unblock', {});
		assertFails(result, 'setting', /an administrator of this server has blocked b\.example/,
			/"twinbox admin peers unblock b\.example"/);
		assert.deepEqual(tried(result), ['setting']);
		assert.equal((await check(side, 'b.example')).code, 0);
	});

	it('sees that the other server signs with another key than the one that is pinned', async () => {
		const root = await operator(side);
		await root.do('POST', 'peers/b.example/pin', { key_id: b.key_id, public: Buffer.alloc(32, 7).toString('base64') });
		const wrong = await check(side, 'b.example');
		await root.do('POST', 'peers/b.example/pin', { key_id: b.key_id, public: b.public });
		const right = await check(side, 'b.example');
		await root.do('POST', 'peers/b.example/forget', {});
		assertFails(wrong, 'document', /none of those that are pinned here/, /"twinbox admin peers pin b\.example/);
		assert.deepEqual(tried(wrong), WELL);
		assert.equal(right.code, 0, right.out);
	});

	it('ends with DNS if no address may be contacted', async () => {
		const result = await command('b.example', ...dataArgs(side.data, side.args), ...federationArgs({
			domain: 'a.example', url: 'https://a.example', peers: { 'b.example': 'https://10.1.2.3' } }));

		assertFails(result, 'DNS', /10\.1\.2\.3 has 1 address, and this server may contact none of them/,
			/federation-networks.* 10\.1\.2\.3 may not be contacted: it is a private network$/);
		assert.deepEqual(tried(result), ['setting', 'DNS']);
	});

	it('ends with the connection if there is none, or no TLS', async () => {
		for (const [url, reason, cure] of [
			[`http://127.0.0.1:${await freePort()}`, /^no connection: /, /firewalls/],
			[`https://127.0.0.1:${b.port}`, /^TLS failed: /, /does not speak TLS/],
		]) {
			const result = await command('b.example', ...dataArgs(side.data, side.args),
				...federationArgs({ domain: 'a.example', url: 'https://a.example', peers: { 'b.example': url } }));
			assertFails(result, 'connection', reason, cure);
			assert.deepEqual(tried(result), ['setting', 'DNS', 'connection']);
		}
	});

	it('ends with the document if that is not one', async () => {
		for (const [document, reason, cure] of [
			[says(404, 'Not Found'), /^HTTP 404, there is no document/, /must not be off/],
			[problem(404, 'not-found'), /^HTTP 404 not-found, there is no document\. It says: "it is not-found"/, /proxy/],
			[says(302, '', { location: 'https://b.example/x' }), /^HTTP 302, a redirect/, /itself/],
			[says(502), /^HTTP 502, its proxy does not reach twinboxd/, /must run/],
			[says(200, '<html>'), /^the document cannot be read/, /is not twinbox/],
			[says(200, JSON.stringify({ ...b.document(), domain: 'c.example' })),
				/^the document is that of "c\.example"/, /docs\/federation\.md/],
			[says(200, JSON.stringify({ ...b.document(), deliver: 'https://c.example/v1/federation/deliver' })),
				/^"deliver" .* is neither on the domain/, /docs\/federation\.md/],
			[says(200, JSON.stringify({ ...b.document(), keys: [] })), /^"keys" is not an array of 1/, /too old/],
		]) {
			const result = await whileItAnswers({ describe: document });
			assertFails(result, 'document', reason, cure);
			assert.deepEqual(tried(result), ['setting', 'DNS', 'connection', 'document', 'clock']);
		}
		const result = await whileItAnswers({ describe: says(200, 'x'.repeat(65_537)) });
		assertFails(result, 'document', /^the answer is too long/, /proxy/);
	});

	it('sees a clock that is off, and goes on', async () => {
		for (const [ahead, reason] of [
			[3600, /^the other server's clock is 3(600|599) s ahead of this one's Cure: .*timedatectl/],
			[-90, /^the other server's clock is (89|90) s behind this one's Cure: /],
		]) {
			const result = await whileItAnswers({ describe: (_request, response) => says(200, JSON.stringify(b.document()), {
				date: new Date(Date.now() + ahead * 1000).toUTCString() })(_request, response) });
			assertFails(result, 'clock', reason, /cannot be known/);
			assert.deepEqual(tried(result), WELL);
		}
	});

	it('says why the signed request is not taken', async () => {
		for (const [idle, reason, cure] of [
			[problem(401, 'signature-wrong'), /^HTTP 401 signature-wrong, .*It says: "it is signature-wrong"/, /keys list/],
			[problem(401, 'signature-early'), /from the future/, /clocks is wrong/],
			[problem(401, 'digest-wrong'), /not the one signed/, /A proxy/],
			[says(401, 'Password?'), /asks for a password/, /as it is/],
			[problem(403, 'peer-refused'), /set not to talk/, /federation-allow/],
			[says(403), /in front of it refuses/, /firewall/],
			[says(404), /does not reach twinboxd/, /POST \/v1\/federation\/deliver/],
			[says(200, '<html>'), /not an answer of the protocol/, /Something else/],
			[(_request, response) => b.answer(response, {}), /without an answer to the ping/, /updated/],
			[(_request, response) => b.answer(response, { control: { reconnect: { after_ms: 5 } } }), /is stopping/, /in a minute/],
		])
			assertFails(await whileItAnswers({ idle }), 'signed request', reason, cure);
		b.check();
	});

	it('waits for a server that gets the key first, once', async () => {
		const unknown = problem(503, 'key-unknown', { 'retry-after': '1' });
		const first = b.empty.length;
		let asked = 0;
		const well = await whileItAnswers({ idle: (request, response, peer) => (++asked === 1 ?
			unknown(request, response) : Peer.prototype.idle.call(peer, request, response)) });

		assert.deepEqual([well.code, asked], [0, 2], well.out);
		const [one, two] = b.empty.slice(first);
		assert.notEqual(one.nonce, two.nonce);
		assert.ok(two.at - one.at >= 990, `${two.at - one.at} ms`);
		asked = 0;
		const result = await whileItAnswers({ idle: (...args) => { asked++; return unknown(...args); } });
		assertFails(result, 'signed request', /^HTTP 503 key-unknown, /, /own document/);
		assert.equal(asked, 2);
		b.check();
	});

	it('sees that its own document is not there, or is not its own', async () => {
		/*
		 * The command runs with the settings of another server, whose
		 * document does not contain this server's key.
		 */
		const other = new Peer('a.example');
		await other.listen();
		try {
			const result = await command('b.example', ...dataArgs(side.data, side.args), ...federationArgs({
				domain: 'a.example', url: other.url, peers: { 'b.example': b.url } }));
			assertFails(result, 'own document', /^it does not have the key /, /another server or database/);
			assert.deepEqual(tried(result), WELL);
		} finally {
			await other.close();
		}
		await side.stop();
		const file = onPostgres ? undefined : fs.readFileSync(path.join(side.data, 'twinbox.db'));
		const result = await check(side, 'b.example');
		/* The command has written nothing into the database. */
		if (!onPostgres)
			assert.ok(file.equals(fs.readFileSync(path.join(side.data, 'twinbox.db'))));
		await side.start();
		assertFails(result, 'own document', /^no connection: /, /must run and listen/);
		assert.deepEqual(tried(result), WELL);
		b.check();
	});

	it('wants one domain, and settings that exist', async () => {
		const usage = 'usage: twinboxd check-federation DOMAIN [SETTING...]\n';
		for (const args of [[], ['b.example', 'c.example']]) {
			const { code, out, err } = await command(...args);
			assert.deepEqual([code, out, err], [64, '', usage]);
		}
		const { code, err } = await command('b.example', '--federation', 'maybe');
		assert.equal(code, 78);
		assert.match(err, /^twinboxd: --federation: "maybe" is not one of /);
	});
});

describe('between two servers', () => {
	it('both ways are well, and one that is refused is printed', async (t) => {
		const { a, b } = await startPair(t);

		for (const [from, to] of [[a, b], [b, a], [a, b]]) {
			const result = await check(from, to.domain);
			assert.deepEqual([result.code, tried(result), failed(result)], [0, WELL, []], result.out);
		}
		await b.stop();
		b.args.push('--federation-deny', 'a.example');
		await b.start();
		assertFails(await check(a, 'b.example'), 'signed request', /^HTTP 403 peer-refused, it is set not to talk/, /federation-deny/);
	});
});
