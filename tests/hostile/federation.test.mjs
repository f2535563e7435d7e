// SPDX-License-Identifier: MIT
//
// A hostile peer at POST /v1/federation/deliver.  Each of its requests gets the
// correct status and problem, and the server reads and writes only what the
// signature covers.  Meanwhile a good peer is served.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { HERE, PATH, Peer, digest, federation, nonce, now } from './peer.mjs';
import { RawSocket, closeAll } from './raw.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { userCommand } from '../e2e/operator.mjs';
import { eventually, expectStatus, freshName, login, rawRequest, serverForFile, users, uuid7,
} from '../e2e/harness.mjs';

const FAR = 'a.example';
let ann, root, to;
const peer = new Peer({ domain: FAR });
const other = new Peer({ domain: 'c.example' });

const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
	to = `${ann.name}@${HERE}`;
	const name = freshName('root');
	assert.equal((await userCommand(server, ['add', name, '--admin', '--password-stdin'])).code, 0);
	root = await login(server, name);
	await peer.pin(server, root.token);
	await other.pin(server, root.token);
}, { args: federation(FAR, 'c.example', '.many.example'), unlimited: 'a peer that never stops' });
after(closeAll);

/** Asserts that ${answer} is the problem ${code} with ${status}. */
function refused(answer, status, code, what)
{
	assert.equal(answer.status, status, `${what}: ${answer.text}`);
	assert.equal(answer.body.type, `/problems/${code}`, what);
	if (status === 503 || status === 429)
		assert.ok(Number(answer.headers.get('retry-after')) >= 1, what);
}

/** Returns the bodies in ann's inbox that begin with ${stem}. */
async function received(stem)
{
	const { events } = await ann.inbox(0, 200);

	return events.map((event) => event.body).filter((text) => text?.startsWith(stem));
}

/** Returns all values of the metric ${name}, by their labels. */
async function counters(name)
{
	const { text } = expectStatus(await server.rest().get('/metrics'), 200);

	return Object.fromEntries([...text.matchAll(new RegExp(`^twinbox_${name}\\{(.*)\\} (\\d+)$`, 'gm'))]
		.map(([, labels, value]) => [labels, Number(value)]));
}

describe('a good peer', () => {
	it('is answered with acks, and its message is there', async () => {
		const hello = peer.message(to, 'good: hello', { metadata: { a: 'b' }, correlation_id: 'c' });
		const stranger = peer.message(`${freshName('nobody')}@${HERE}`, 'x');
		const foreign = peer.message(to, 'x', { from: 'bob@c.example' });
		const answer = expectStatus(await peer.deliver(server, { envelopes: [hello, stranger, foreign],
			control: { heartbeat: { at: new Date().toISOString() }, ping: 'p' } }), 200);

		assert.deepEqual(answer.body.acks, [
			{ message_id: hello.message_id, status: 'accepted' },
			{ message_id: stranger.message_id, status: 'rejected', reason: 'unknown-recipient' },
			{ message_id: foreign.message_id, status: 'rejected', reason: 'foreign-sender' }]);
		assert.equal(answer.body.control.pong, 'p');
		assert.equal(answer.body.control.heartbeat.draining, false);
		const event = await ann.event((one) => one.body === 'good: hello');
		assert.equal(event.from, `bob@${FAR}`);
		assert.equal(event.correlation_id, 'c');
		assert.deepEqual(event.metadata, { a: 'b' });
		assert.equal(event.own, false);
		const again = expectStatus(await peer.deliver(server, { envelopes: [hello] }), 200);
		assert.deepEqual(again.body.acks, [{ message_id: hello.message_id, status: 'accepted', duplicate: true,
			sequence: hello.sequence }]);
		assert.equal(again.body.epoch, answer.body.epoch);
	});

	it('finds the document', async () => {
		const answer = expectStatus(await rawRequest(server, 'GET', '/.well-known/twinbox'), 200);

		assert.equal(answer.headers.get('cache-control'), 'public, max-age=300');
		assert.equal(answer.body.domain, HERE);
		assert.equal(answer.body.deliver, `https://${HERE}${PATH}`);
		assert.deepEqual(answer.body.versions, ['1']);
		assert.ok(answer.body.keys.length >= 1);
	});
});

// [what, status, problem, the change to a good request]
const times = (created, expires) => ({ parameters: { created: now() + created, expires: now() + expires } });
const refusals = [
	['no signature', 401, 'signature-missing', () => ({ sent: { signature: undefined } })],
	['no Signature-Input', 401, 'signature-missing', () => ({ sent: { 'signature-input': undefined } })],
	['two signatures', 401, 'signature-malformed', () => ({ extra: 'Signature: tb=:AA==:\r\n' })],
	['two inputs', 401, 'signature-malformed', () => ({ extra: 'signature-input: tb=()\r\n' })],
	['a second Twinbox-From', 401, 'signature-components', () => ({ extra: `Twinbox-From: ${FAR}\r\n` })],
	['a second Content-Digest', 401, 'signature-components', () => ({ extra: `Content-Digest: ${digest('')}\r\n` })],
	['no digest', 401, 'signature-components', () => ({ sent: { 'content-digest': undefined } })],
	['a coding', 401, 'signature-components', () => ({ extra: 'Content-Encoding: gzip\r\n' })],
	['a query', 401, 'signature-components', () => ({ target: `${PATH}?x=1` })],
	['an empty query', 401, 'signature-components', () => ({ target: `${PATH}?` })],
	['a query that is signed', 401, 'signature-components',
		() => ({ target: `${PATH}?x=1`, covered: { path: `${PATH}?x=1` } })],
	['another way to write the path', 401, 'signature-components', () => ({ target: '/v1/federation/%64eliver' })],
	['no nonce', 401, 'signature-parameters', () => ({ parameters: { nonce: undefined } })],
	['a short nonce', 401, 'signature-parameters', () => ({ parameters: { nonce: '"x"' } })],
	['another algorithm', 401, 'signature-parameters', () => ({ parameters: { alg: '"hmac-sha256"' } })],
	['another tag', 401, 'signature-parameters', () => ({ parameters: { tag: '"twinbox-2"' } })],
	['a life of an hour', 401, 'signature-parameters', () => times(0, 3600)],
	['a clock that is a day behind', 401, 'signature-expired', () => times(-86_400, -86_100)],
	['a clock that is a day ahead', 401, 'signature-early', () => times(86_400, 86_700)],
	['for another server', 401, 'signature-wrong', () => ({ covered: { to: 'c.example' } })],
	['for another authority', 401, 'signature-wrong', () => ({ covered: { authority: 'b.example:8443' } })],
	['for another path', 401, 'signature-wrong', () => ({ covered: { path: '/v1/federation/other' } })],
	['another type', 401, 'signature-wrong', () => ({ covered: { type: 'text/plain' } })],
	['from us', 401, 'signature-wrong', () => ({ covered: { from: HERE } })],
	['from nowhere', 401, 'signature-wrong', () => ({ covered: { from: '127.0.0.1' } })],
	['signed by another server with its own key', 401, 'signature-wrong', () => ({ key: other.key })],
	['zeros', 401, 'signature-wrong', () => ({ sent: { signature: `tb=:${Buffer.alloc(64).toString('base64')}:` } })],
	['another digest', 401, 'signature-wrong', () => ({ sent: { 'content-digest': digest('x') } })],
	['a digest of another kind', 401, 'digest-wrong', () => ({ covered: { digest: 'md5=:AAAA:' } })],
	['a key that it does not have', 503, 'key-unknown', () => ({ parameters: { keyid: '"k2"' } })],
	['a domain that is not served', 403, 'peer-refused', () => ({ covered: { from: 'd.example' } })],
];

describe('before a byte of the body', () => {
	for (const [what, status, code, change] of refusals) {
		it(`${what}: ${status} ${code}`, async () => {
			const socket = await RawSocket.open(server);
			// The head announces a body that is never sent.
			socket.send(peer.head(JSON.stringify({ envelopes: [] }), change()));
			const [answer] = await socket.ended();
			refused(answer, status, code, what);
			socket.destroy();
		});
	}

	it('both clocks are named', async () => {
		const { text } = await peer.deliver(server, undefined, times(-86_400, -86_100));
		assert.equal([...text.matchAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g)].length, 2, text);
	});

	it('a forger who is slow gets its answer before its body', async () => {
		const socket = await RawSocket.open(server);
		socket.send(peer.head('x'.repeat(200_000), { key: other.key }));
		refused((await socket.answers(1))[0], 401, 'signature-wrong', 'slow');
		socket.destroy();
	});

	it('nor is a request without a body anything', async () => {
		const ask = (headers) => rawRequest(server, 'POST', PATH, { headers: { ...headers, 'content-length': 0 } });
		refused(await ask({}), 401, 'signature-missing', 'nothing');
		refused(await ask(peer.headers('')), 400, 'bad-request', 'empty');
		refused(await ask(peer.headers('x')), 401, 'digest-wrong', 'lost');
	});

	it('each is counted by its reason', async () => {
		const failures = await counters('federation_signature_failures_total');
		const outcomes = await counters('federation_requests_total');
		for (const code of new Set(refusals.filter(([, status]) => status === 401).map(([, , one]) => one)))
			assert.ok(failures[`reason="${code}"`] >= 1, code);
		assert.equal(failures['reason="other"'], 0);
		assert.ok(outcomes['direction="in",outcome="unsigned"'] >= 25, JSON.stringify(outcomes));
		assert.equal(outcomes['direction="in",outcome="other"'], 0);
	});
});

describe('a good signature', () => {
	it('is not good for another body', async () => {
		const body = JSON.stringify({ envelopes: [peer.message(to, 'forged: body')] });
		refused(await peer.deliver(server, { envelopes: [] }, { body }), 401, 'digest-wrong', 'another body');
		assert.deepEqual(await received('forged:'), []);
	});

	it('is taken once', async () => {
		const body = JSON.stringify({ envelopes: [peer.message(to, 'once: replayed')] });
		const headers = { ...peer.headers(body), 'content-length': Buffer.byteLength(body) };
		expectStatus(await rawRequest(server, 'POST', PATH, { body, headers }), 200);
		for (let i = 0; i < 3; i++)
			refused(await rawRequest(server, 'POST', PATH, { body, headers }), 401, 'nonce-repeated', 'replay');
		assert.equal((await received('once:')).length, 1);
	});

	it('50 times at once: taken exactly once', async () => {
		const body = JSON.stringify({ envelopes: [peer.message(to, 'fifty: times')] });
		const headers = { ...peer.headers(body), 'content-length': Buffer.byteLength(body) };
		const answers = await Promise.all(Array.from({ length: 50 },
			() => rawRequest(server, 'POST', PATH, { body, headers })));
		assert.equal(answers.filter(({ status }) => status === 200).length, 1);
		for (const answer of answers.filter(({ status }) => status !== 200))
			refused(answer, 401, 'nonce-repeated', 'one of fifty');
		assert.equal((await received('fifty:')).length, 1);
	});

	it('a nonce is its key\'s and server\'s own', async () => {
		const parameters = { nonce: `"${nonce()}"` };
		expectStatus(await peer.deliver(server, undefined, { parameters }), 200);
		expectStatus(await other.deliver(server, undefined, { parameters }), 200);
		refused(await peer.deliver(server, undefined, { parameters }), 401, 'nonce-repeated', 'again');
	});
});

describe('bodies', () => {
	const garbage = [
		['nothing', ''],
		['no JSON', 'hello'],
		['half of it', '{"envelopes":['],
		['an array', '[]'],
		['another member', '{"envelopes":[],"more":1}'],
		['a member twice', '{"envelopes":[],"envelopes":[]}'],
		['a NUL', '{"envelopes":[],"control":{"ping":"a\\u0000"}}'],
		['a NUL byte behind a number', '{"envelopes":[],"control":{"x":1\0}}'],
		['deep', `{"envelopes":${'['.repeat(5000)}${']'.repeat(5000)}}`],
		['many values', `{"envelopes":[],"control":{"x":[${'1,'.repeat(50_000)}1]}}`],
		['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x7b]).toString('latin1')],
		['51 envelopes', JSON.stringify({ envelopes: Array.from({ length: 51 }, () => ({ message_id: uuid7() })) })],
		['an envelope without an id', '{"envelopes":[{}]}'],
		['51 acks', JSON.stringify({ envelopes: [], control: { acks: Array.from({ length: 51 },
			() => ({ message_id: uuid7(), status: 'accepted' })) } })],
	];
	for (const [what, body] of garbage) {
		it(`${what} is 400`, async () => {
			refused(await peer.deliver(server, body), 400, 'bad-request', what);
		});
	}

	it('262,144 bytes are taken, one more is 413', async () => {
		const text = '{"envelopes":[]}';
		expectStatus(await peer.deliver(server, text.padEnd(262_144)), 200);
		refused(await peer.deliver(server, text.padEnd(262_145)), 413, 'body-too-large', 'announced');
		// In chunks the length is not announced.  The body is refused
		// where it is too long.
		const body = text.padEnd(300_000);
		const socket = await RawSocket.open(server);
		socket.send(peer.head(body).replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked'));
		socket.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
		const [answer] = await socket.ended();
		refused(answer, 413, 'body-too-large', 'in a chunk');
	});

	it('wrong envelopes are refused one by one', async () => {
		const good = peer.message(to, 'beside: a wrong one');
		const wrong = { ...peer.message(to, 'x'), sequence: -1 };
		const later = { ...peer.message(to, 'x'), message_type: 'message.edit' };
		const { body } = expectStatus(await peer.deliver(server, { envelopes: [wrong, good, later] }), 200);
		assert.deepEqual(body.acks.map(({ status, reason }) => reason ?? status), ['malformed', 'accepted', 'unsupported']);
		assert.equal((await received('beside:')).length, 1);
	});
});

describe('many of them', () => {
	it('10,000 key ids leave the good peer served', async () => {
		let next = 0;
		const slowest = [];
		const forge = async () => {
			const socket = await RawSocket.open(server);
			while (next < 10_000) {
				const name = `x${next++}`;
				socket.forget();
				socket.send(peer.head('', { parameters: { keyid: `"${name}"` } }));
				refused((await socket.answers(1))[0], 503, 'key-unknown', name);
			}
			socket.destroy();
		};
		const good = async () => {
			while (next < 10_000) {
				const start = performance.now();
				expectStatus(await peer.deliver(server), 200);
				slowest.push(performance.now() - start);
			}
		};
		await Promise.all([good(), ...Array.from({ length: 8 }, forge)]);
		assert.ok(slowest.length > 10, `${slowest.length} good requests`);
	});

	it('domains that nobody knows are refused at once', async () => {
		for (let i = 0; i < 200; i++) {
			const answer = await peer.deliver(server, undefined, { covered: { from: `d${i}.many.example` } });
			refused(answer, 503, 'key-unknown', `d${i}`);
		}
	});

	it('one that sends its bodies slowly holds 128 requests, and no other peer waits', async () => {
		const body = JSON.stringify({ envelopes: [] });
		const sockets = await Promise.all(Array.from({ length: 128 }, () => RawSocket.open(server)));
		for (const socket of sockets) {
			socket.send(other.head(body, { extra: 'Expect: 100-continue\r\n' }));
			// The server has accepted the head.
			assert.equal((await socket.answers(1))[0].status, 100);
		}
		refused(await other.deliver(server), 429, 'rate-limited', 'the 129th');
		expectStatus(await peer.deliver(server), 200);
		for (const socket of sockets) {
			socket.send(body);
			expectStatus((await socket.answers(2))[1], 200);
			socket.destroy();
		}
		expectStatus(await eventually(async () => {
			const answer = await other.deliver(server);
			return answer.status === 200 && answer;
		}, 'the peer is served again'), 200);
	});
});

describe('after all of it', () => {
	it('ann has what the good peer sent, and nothing else', async () => {
		const { events } = await ann.inbox(0, 200);
		assert.deepEqual(events.filter((one) => one.kind === 'message').map((one) => one.body).sort(),
			['beside: a wrong one', 'fifty: times', 'good: hello', 'once: replayed']);
	});

	it('the database keeps its promises', async () => assertSound(server));
});
