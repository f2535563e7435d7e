// SPDX-License-Identifier: MIT
// tags: surface
//
// node plays another server (peer.mjs) that is away, sends invalid answers,
// asks to wait, or describes itself wrongly.  No message is charged or lost,
// order is kept, an operator is alerted, and a healthy server gets its messages
// meanwhile.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { scene, sceneForAll, uncharged } from './federation-scene.mjs';
import { assertSound } from './fsck.mjs';
import { eventually } from './harness.mjs';
import { until } from './operator.mjs';
import { accepts, acceptsAndBreaks, endless, json, problem, resets, says, silent, writes } from './peer-answers.mjs';
import { said } from './upkeep.mjs';

describe('as if the server were away', () => {
	// A whole answer must arrive within 2 s here, so that slow answers fail
	// soon.
	const s = sceneForAll({ args: ['--delivery-timeout', '2s', '--lease', '6s'] });
	const page = '<html><body>Sorry</body></html>';
	const deep = `{"acks":${'['.repeat(5000)}${']'.repeat(5000)}}`;
	const large = JSON.stringify({ acks: [], epoch: 'x'.repeat(2 * 1024 * 1024) });
	const elsewhere = (status, to) => says(status, '', { location: to() });

	for (const [name, answer, error, alert] of [
		['401 signature-wrong', problem(401, 'signature-wrong'), /401/],
		['401 digest-wrong', problem(401, 'digest-wrong'), /401/],
		['401 of somebody else', says(401, page, { 'www-authenticate': 'Basic' }), /401/],
		['403 peer-refused', problem(403, 'peer-refused'), /403/],
		['404', says(404, page), /404/, true],
		['405', says(405, page, { allow: 'GET' }), /405/, true],
		['410', problem(410, 'gone'), /410/, true],
		['418', says(418), /418/, true],
		['301', (...args) => elsewhere(301, () => `${s.c.url}/v1/federation/deliver`)(...args), /301/, true],
		['307', (...args) => elsewhere(307, () => `${s.c.url}/v1/federation/deliver`)(...args), /307/, true],
		['308', (...args) => elsewhere(308, () => 'file:///etc/passwd')(...args), /308/, true],
		['429 without Retry-After', problem(429, 'rate-limited'), /429/],
		['500', problem(500, 'internal'), /500/],
		['501', says(501), /501/],
		['502 of a proxy', says(502, page), /502/],
		['503 without Retry-After', problem(503, 'busy'), /503/],
		['503 with a Retry-After that is none', problem(503, 'busy', { 'retry-after': 'soon' }), /503/],
		['204', says(204), /204/, true],
		['206', says(206, '{"acks":[]}', { 'content-type': 'application/json' }), /206/, true],
		['200 with a page', says(200, page), /./],
		['200 without a body', json(''), /./],
		['200 that is no JSON', json('acks: []'), /./],
		['200 that ends early', json('{"acks":['), /./],
		['200 with more behind it', json('{"acks":[]}{}'), /./],
		['200 with a member twice', json('{"acks":[],"acks":[]}'), /./],
		['200 that is no UTF-8', json(Buffer.from('{"acks":[],"epoch":"\xff"}', 'latin1')), /./],
		['200 with a NUL', json('{"acks":[],"epoch":"\u0000"}'), /./],
		['200 that is a list', json('[]'), /./],
		['200 that is null', json('null'), /./],
		['200 without acks', json('{}'), /./],
		['200 whose acks are none', json('{"acks":{}}'), /./],
		['200 that is 5000 lists deep', json(deep), /./],
		['202 without acks', says(202, '{"later":"yes"}', { 'content-type': 'application/json' }), /./],
		['200 with 2 MiB', json(large), /./],
		['200 without an end', endless('x'.repeat(65_536), 0), /./],
		['200, a byte now and then', endless(' ', 50), /./],
		['200 that says that it is longer', writes('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n' +
			'Content-Length: 1000\r\n\r\n{"acks":[]}'), /./],
		['chunks that are none', writes('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'), /./],
		['no HTTP', writes('SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n'), /./],
		['a head of 2 MiB', writes(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(2 * 1024 * 1024)}\r\n\r\n{"acks":[]}`), /./],
		['half a head', writes('HTTP/1.1 200 OK\r\nContent-Ty', { reset: true }), /./],
		['a connection that breaks', resets(), /./],
		['a connection that ends', writes(''), /./],
		['no answer at all', silent(), /./],
		['400 of a proxy', says(400, page), /400/, true],
		['400 with a problem of somebody else', problem(400, 'no-such-thing'), /400/, true],
		['400 with a problem that is none', says(400, '{"type":"bad-request"', { 'content-type': 'application/problem+json' }), /400/, true],
		['400 with a problem as plain JSON', says(400, '{"type":"/problems/bad-request"}', { 'content-type': 'application/json' }), /400/, true],
		['413 of a proxy', says(413, page), /413/, true],
		['422 of a proxy', says(422, page), /422/, true],
	]) {
		it(name, async () => {
			const { ann, b, c, root } = s;
			const had = b.messages().length;
			const foreign = c.requests.length;
			b.otherwise = answer;
			const felt = (e) => e.attempts >= 1 && e.state === 'pending' && e.last_error !== null;
			const ids = [(await ann.send('bob@b.example', name)).id];
			const waits = await ann.entryWhen(ids[0], felt, 'was not taken');
			assert.match(waits.last_error, error);
			assert.equal(waits.retry_count, 0, 'it is charged to the destination');
			assert.match((await root.destination('b.example')).last_error, error);
			ids.push((await ann.send('bob@b.example', `${name}, behind it`)).id);
			assert.equal(c.requests.length, foreign, 'a redirect is not followed');
			await s.meanwhile();
			assert.equal(b.messages().length, had);
			if (alert)
				await alerted(s, error);
			b.otherwise = accepts();
			ids.push((await ann.send('bob@b.example', `${name}, after it`)).id);
			assert.deepEqual((await b.has(had + 3)).slice(had), ids);
			for (const id of ids)
				assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
			for (const [outcome, , why] of (await s.attempts(ids[0])).slice(0, -1)) {
				assert.equal(outcome, 'unavailable');
				assert.match(why, error);
			}
			b.check();
			c.check();
		});
	}

	it('none of it has stopped anybody', async () => {
		await assertSound(s.server);
		assert.deepEqual((await s.ann.inbox()).events.filter((e) => e.kind === 'bounce'), []);
	});
});

/** Waits for the log line that says that b.example answers with ${error}. */
async function alerted({ server }, error)
{
	await said(server, new RegExp(`peer\\.answer .*domain=b\\.example why=.*(${error.source})`));
}

describe('no connection', () => {
	it('R240 nothing is charged, and all of it arrives afterwards', async (t) => {
		const s = await scene(t);
		const { ann, b, root } = s;
		const ids = [await s.known()];
		await b.close();
		for (let i = 0; i < 20; i++)
			ids.push((await ann.send('bob@b.example', `${i}`)).id);
		await eventually(async () => (await root.destination('b.example')).breaker === 'open',
			'the breaker opens', 30_000);
		assert.equal((await ann.entry(ids[1])).retry_count, 0);
		await s.meanwhile(10);
		await b.listen();
		assert.deepEqual(await b.has(21), ids);
		await eventually(async () => (await root.destination('b.example')).breaker === 'closed',
			'the breaker closes', 30_000);
		await s.check();
	});

	it('one that says nothing does not slow another one', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.otherwise = silent();
		const { id } = await ann.send('bob@b.example', 'is anybody there?');
		const request = await b.asked(1);
		await s.meanwhile(30);
		assert.ok(b.open.has(request), 'it waits still');
		assert.equal((await ann.entry(id)).state, 'sending');
	});

	for (const [name, n] of [['before a byte of it came', 0], ['in its head', 30], ['in its body', 120]]) {
		it(`the answer is lost ${name}: what was taken is not taken twice`, async (t) => {
			const s = await scene(t);
			const { ann, b } = s;
			b.next(acceptsAndBreaks(n), acceptsAndBreaks(n));
			const ids = [];
			for (let i = 0; i < 10; i++)
				ids.push((await ann.send('bob@b.example', `${i}`)).id);
			for (const id of ids)
				assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
			assert.deepEqual(b.messages(), ids);
			assert.equal((await s.attempts(ids[0])).at(-1)[0], 'duplicate');
			await s.meanwhile();
			await s.check();
		});
	}
});

describe('what parks a destination', () => {
	for (const status of [408, 425, 429, 503]) {
		it(`${status} with Retry-After`, async (t) => {
			const s = await scene(t);
			const { ann, b } = s;
			b.next(problem(status, 'busy', { 'retry-after': '2' }));
			const { id } = await ann.send('bob@b.example', 'in two seconds');
			await b.asked(1);
			await s.meanwhile();
			await b.gets(id);
			const [one, two] = b.requests;
			assert.equal(b.requests.length, 2);
			assert.ok(two.at - one.at >= 1950, `after ${two.at - one.at} ms`);
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
			await s.check();
		});
	}

	it('Retry-After as a date', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		let due;
		b.next((...args) => {
			due = Math.ceil(Date.now() / 1000) * 1000 + 2000;
			return problem(503, 'busy', { 'retry-after': new Date(due).toUTCString() })(...args);
		});
		const { id } = await ann.send('bob@b.example', 'at a time');
		let came;
		await b.asked(1);
		await b.when(() => b.requests.length >= 2 && (came ??= Date.now()), 'the second request');
		assert.ok(came >= due - 50, `${due - came} ms too early`);
		await b.gets(id);
		await s.check();
	});

	it('at once means after a second', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.next(...Array.from({ length: 3 }, () => problem(503, 'busy', { 'retry-after': '0' })));
		const { id } = await ann.send('bob@b.example', 'now, now, now');
		await b.gets(id);
		const times = b.requests.map(({ at }) => at);
		for (let i = 1; i < times.length; i++)
			assert.ok(times[i] - times[i - 1] >= 950, `after ${times[i] - times[i - 1]} ms`);
		assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		await s.check();
	});

	it('one hour at most', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.next(problem(503, 'busy', { 'retry-after': '99999999999999999999' }));
		await ann.send('bob@b.example', 'next year');
		await b.asked(1);
		assert.equal(await s.parkedFor(), 3_600_000);
		await s.meanwhile();
	});
});

describe('a document', () => {
	const key = (peer, i) => ({ id: `key-${i}`, alg: 'ed25519', public: peer.public });
	const told = (change) => (peer) => (_request, response) => {
		response.writeHead(200, { 'content-type': 'application/json' });
		response.end(typeof change === 'function' ? JSON.stringify({ ...peer.document(), ...change(peer) }) : change);
	};
	const plain = (answer) => () => answer;

	for (const [name, describes] of [
		['of another domain', told(() => ({ domain: 'c.example' }))],
		['without a domain', told(() => ({ domain: undefined }))],
		['in upper case', told(() => ({ domain: 'B.example' }))],
		['of more than 64 KiB', told(() => ({ more: 'x'.repeat(65 * 1024) }))],
		['with nine keys', told((peer) => ({ keys: Array.from({ length: 9 }, (_, i) => key(peer, i)) }))],
		['with one key twice', told((peer) => ({ keys: [key(peer, 1), key(peer, 1)] }))],
		['without a key', told(() => ({ keys: [] }))],
		['with keys of another kind alone', told((peer) => ({ keys: [{ ...key(peer, 1), alg: 'rsa-pss-sha512' }] }))],
		['with a key that is too short', told((peer) => ({ keys: [{ ...key(peer, 1), public: 'AAAA' }] }))],
		['with another host to deliver to', told(() => ({ deliver: 'https://evil.example/v1/federation/deliver' }))],
		['with another port to deliver to', told(() => ({ deliver: 'http://127.0.0.1:9/v1/federation/deliver' }))],
		['with another path to deliver to', told((peer) => ({ deliver: `${peer.url}/v1/federation/deliver/` }))],
		['with a query to deliver to', told((peer) => ({ deliver: `${peer.url}/v1/federation/deliver?x=1` }))],
		['of another version', told(() => ({ versions: ['2'] }))],
		['with limits of nothing', told(() => ({ limits: { items: 0, bytes: 1, requests: 1 } }))],
		['that is no JSON', told('domain=b.example')],
		['that is a list', told('[]')],
		['that is empty', told('')],
		['that is a page', plain(says(200, '<html></html>'))],
		['that is not there', plain(says(404))],
		['that is somewhere else', plain(says(302, '', { location: '/elsewhere' }))],
		['that breaks off', plain(writes('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"domain"', { reset: true }))],
		['without an end', plain((_, response) => {
			const closed = new Promise((resolve) => { response.once('close', resolve); });
			return endless(' '.repeat(65_536), 0)({ closed }, response);
		})],
	]) {
		it(`${name}: nothing is sent, nothing is charged; a right one cures it`, async (t) => {
			const s = await scene(t, { args: ['--delivery-timeout', '5s', '--lease', '15s'] });
			const { ann, b, root } = s;
			b.describe = describes(b);
			const ids = [];
			for (let i = 0; i < 3; i++)
				ids.push((await ann.send('bob@b.example', `${i}`)).id);
			await b.when(() => b.documents > 0, 'the document is asked for');
			const waits = await ann.entryWhen(ids[0], (e) => e.state === 'pending' && e.attempts >= 1 &&
				e.last_error !== null, 'waits');
			assert.equal(waits.retry_count, 0);
			assert.ok((await root.destination('b.example')).last_error, 'why, for the operator');
			await s.meanwhile();
			assert.deepEqual(b.requests, []);
			delete b.describe;
			assert.deepEqual(await b.has(3), ids);
			for (const id of ids)
				assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
			await s.check();
		});
	}

	it('with eight keys, one of another kind, and members that nobody knows', async (t) => {
		const s = await scene(t);
		const { b } = s;
		b.describe = told((peer) => ({ keys: [...Array.from({ length: 7 }, (_, i) => key(peer, i)),
			{ id: 'other', alg: 'rsa-pss-sha512', public: 'AAAA' }], colour: ['red'] }))(b);
		await s.known();
		await s.check();
	});
});
