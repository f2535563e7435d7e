// SPDX-License-Identifier: MIT
// tags: store quick
//
// The idempotency key is the message id: two equal sends are one message,
// whatever happens between them.  A different content under the same id is
// refused.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem, problemBody } from './expect.mjs';
import { expectStatus, serverForFile, users, uuid7 } from './harness.mjs';

let ann, bob, eve;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
});

function replayed(answer, id)
{
	expectStatus(answer, 200);
	assert.equal(answer.headers.get('idempotency-replayed'), 'true');
	assert.equal(answer.body.id, id);
}

async function onlyOnce(user, id)
{
	await user.received(id);
	const found = (await user.inbox()).events.filter((e) => e.kind === 'message' && e.id === id);
	assert.equal(found.length, 1);
}

describe('R15 R42 R53 R54 R55 R56 R125 R129 R212 R247 the same send again', () => {
	it('by id is answered 200 with the current entry', async () => {
		const message = { id: uuid7(), to: bob.name, body: 'once' };
		const first = expectStatus(await ann.post('/v1/messages', message), 201);
		assert.equal(first.body.id, message.id);
		const event = await bob.received(message.id);
		const second = await ann.post('/v1/messages', message);
		replayed(second, message.id);
		assert.equal(second.headers.get('location'), `/v1/outbox/${message.id}`);
		assert.equal(second.body.state, 'sent');
		await bob.ack(event.seq);
		const third = await ann.post('/v1/messages', message);
		replayed(third, message.id);
		assert.equal(third.body.state, 'acked');
		assert.equal(third.body.created_at, first.body.created_at);
		await onlyOnce(bob, message.id);
		await onlyOnce(ann, message.id);
	});

	it('by Idempotency-Key gets an id of version 8', async () => {
		const message = { to: bob.name, body: 'by key' };
		const headers = { 'idempotency-key': 'order 4711 / «ü»' };
		// fetch takes header values as latin-1, so the UTF-8 bytes are
		// written as such characters.
		headers['idempotency-key'] = Buffer.from(headers['idempotency-key']).toString('latin1');
		const first = expectStatus(await ann.post('/v1/messages', message, { headers }), 201);
		assert.equal(first.body.id[14], '8');
		replayed(await ann.post('/v1/messages', message, { headers }), first.body.id);
		await onlyOnce(bob, first.body.id);
	});

	it('the same key of another sender is another message', async () => {
		const headers = { 'idempotency-key': 'shared-key' };
		const one = expectStatus(await ann.post('/v1/messages',
			{ to: bob.name, body: 'x' }, { headers }), 201);
		const two = expectStatus(await eve.post('/v1/messages',
			{ to: bob.name, body: 'y' }, { headers }), 201);
		assert.notEqual(one.body.id, two.body.id);
	});

	it('the body counts, not its spelling', async () => {
		const id = uuid7();
		const type = 'application/json';
		const first = await ann.request('POST', '/v1/messages', { type,
			body: `{"id":"${id}","to":"${bob.name}","body":"h\\u00e9","metadata":{"a":"1","b":"2"}}` });
		expectStatus(first, 201);
		replayed(await ann.request('POST', '/v1/messages', { type,
			body: ` { "metadata" : {"b":"2","a":"1"},\n"body": "hé", "to":"${bob.name}", ` +
				`"content_type":"text/plain", "id":"${id}" } ` }), id);
	});

	it('an id may be written in capitals', async () => {
		const id = uuid7();
		await ann.send(bob.name, 'capitals', { id });
		replayed(await ann.post('/v1/messages',
			{ id: id.toUpperCase(), to: bob.name, body: 'capitals' }), id);
	});

	it('fifty at once are one message', async () => {
		const message = { id: uuid7(), to: bob.name, body: 'fifty at once' };
		const answers = await Promise.all(Array.from({ length: 50 },
			() => ann.post('/v1/messages', message)));
		const statuses = answers.map((answer) => answer.status);
		assert.equal(statuses.filter((status) => status === 201).length, 1);
		assert.equal(statuses.filter((status) => status === 200).length, 49);
		await onlyOnce(bob, message.id);
		await onlyOnce(ann, message.id);
	});

	it('is known after a restart, also a hard one', async () => {
		const message = { id: uuid7(), to: bob.name, body: 'before the restart' };
		expectStatus(await ann.post('/v1/messages', message), 201);
		await server.restart();
		replayed(await ann.post('/v1/messages', message), message.id);
		await server.restart('SIGKILL');
		replayed(await ann.post('/v1/messages', message), message.id);
		problem(await ann.post('/v1/messages', { ...message, body: 'another' }),
			422, 'key_reused');
		await onlyOnce(bob, message.id);
	});

	it('over the WebSocket and REST is one message', async () => {
		const message = { id: uuid7(), to: bob.name, body: 'both ways' };
		const ws = await ann.ws();
		const sent = await ws.request({ type: 'send', message });
		assert.equal(sent.type, 'sent');
		assert.equal(sent.replayed, false);
		replayed(await ann.post('/v1/messages', message), message.id);
		const again = await ws.request({ type: 'send', message });
		assert.equal(again.replayed, true);
		assert.equal(again.entry.id, message.id);
		await onlyOnce(bob, message.id);
		await ws.close();
	});
});

describe('items of an array may carry key instead of id', () => {
	it('each has an id of version 8, and sent again is the same message', async () => {
		const items = ['one', 'two'].map((key) => ({ key, to: bob.name, body: `by key ${key}` }));
		const first = expectStatus(await ann.post('/v1/messages', items), 200).body;
		assert.deepEqual(first.map((one) => one.status), [201, 201]);
		const ids = first.map((one) => one.entry.id);
		assert.deepEqual(ids.map((id) => id[14]), ['8', '8']);
		assert.notEqual(...ids);
		const again = expectStatus(await ann.post('/v1/messages', items), 200).body;
		assert.deepEqual(again.map((one) => [one.status, one.replayed, one.entry.id]),
			ids.map((id) => [200, true, id]));
		for (const id of ids)
			await onlyOnce(bob, id);
	});

	it('Idempotency-Key with an array is refused, and nothing is sent', async () => {
		const item = { key: 'in the item', to: bob.name, body: 'by two keys' };
		const { head } = expectStatus(await ann.get('/v1/inbox'), 200).body;

		for (const items of [[item], [{ ...item, key: undefined, id: uuid7() }], [{ ...item, key: undefined }]]) {
			const answer = await ann.post('/v1/messages', items, { headers: { 'idempotency-key': 'k' } });
			problem(answer, 400, 'bad_request');
			assert.match(answer.body.detail, /^Idempotency-Key is for one message: .*"key" or an "id"$/);
		}
		assert.equal(expectStatus(await ann.get('/v1/inbox'), 200).body.head, head);
	});

	it('the same key twice in one array is one message', async () => {
		const item = { key: 'twice', to: bob.name, body: 'twice by key' };
		const results = expectStatus(await ann.post('/v1/messages',
			[item, item, { ...item, body: 'another' }]), 200).body;
		assert.deepEqual(results.map((one) => one.status), [201, 200, 422]);
		assert.equal(results[0].entry.id, results[1].entry.id);
		problemBody(results[2].problem, 'key_reused', '/2/key');
		await onlyOnce(bob, results[0].entry.id);
	});

	it('the key is that of the header, alone and over the WebSocket, too', async () => {
		const message = { key: 'everywhere', to: bob.name, body: 'by key everywhere' };
		const { id } = expectStatus(await ann.post('/v1/messages', { ...message, key: undefined },
			{ headers: { 'idempotency-key': message.key } }), 201).body;
		replayed(await ann.post('/v1/messages', message), id);
		const [result] = expectStatus(await ann.post('/v1/messages', [message]), 200).body;
		assert.deepEqual([result.status, result.entry?.id], [200, id]);
		const ws = await ann.ws();
		const sent = await ws.request({ type: 'send', message });
		assert.deepEqual([sent.type, sent.replayed, sent.entry?.id], ['sent', true, id]);
		const reused = await ws.request({ type: 'send', message: { ...message, body: 'another' } });
		problemBody(reused.problem, 'key_reused', '/message/key');
		await ws.close();
		await onlyOnce(bob, id);
	});

	it('the same key of another sender is another message', async () => {
		const item = { key: 'of both', to: bob.name, body: 'x' };
		const [one] = expectStatus(await ann.post('/v1/messages', [item]), 200).body;
		const [two] = expectStatus(await eve.post('/v1/messages', [item]), 200).body;
		assert.deepEqual([one.status, two.status], [201, 201]);
		assert.notEqual(one.entry.id, two.entry.id);
	});

	for (const [what, more, pointer, headers] of [
		['a key and an id', { key: 'k3', id: uuid7() }, '/key'],
		['an empty key', { key: '' }, '/key'],
		['a key of 256 bytes', { key: 'k'.repeat(256) }, '/key'],
		['a key that is a number', { key: 1 }, '/key'],
		['a key and an Idempotency-Key', { key: 'k4' }, '/key', { 'idempotency-key': 'k4' }],
	]) {
		it(`${what}: 400`, async () => {
			const message = { ...more, to: bob.name, body: 'refused' };
			problem(await ann.post('/v1/messages', message, { headers }), 400, 'bad_request', pointer);
			if (headers === undefined)
				problem(await ann.post('/v1/messages', [message]),
					400, 'bad_request', `/0${pointer}`);
		});
	}

	it('a key of 255 bytes is accepted', async () => {
		expectStatus(await ann.post('/v1/messages',
			{ key: 'k'.repeat(255), to: bob.name, body: 'a long key' }), 201);
	});
});

describe('another content under the same id', () => {
	const base = () => ({ id: uuid7(), to: bob.name, body: 'the first',
		content_type: 'text/plain', metadata: { a: '1' }, correlation_id: 'c' });
	const changes = [
		['body', { body: 'the second' }],
		['recipient', { to: () => eve.name }],
		['content_type', { content_type: 'text/markdown' }],
		['metadata', { metadata: { a: '2' } }],
		['correlation_id', { correlation_id: 'd' }],
	];

	for (const [what, change] of changes) {
		it(`422 key-reused: another ${what}`, async () => {
			const message = base();
			const other = { ...message, ...change };
			if (typeof other.to === 'function')
				other.to = other.to();
			expectStatus(await ann.post('/v1/messages', message), 201);
			problem(await ann.post('/v1/messages', other), 422, 'key_reused');
			assert.equal((await bob.received(message.id)).body, 'the first');
			await onlyOnce(bob, message.id);
			assert.ok(!(await eve.inbox()).events.some((e) => e.id === message.id));
		});
	}

	it('422 key-reused: by Idempotency-Key', async () => {
		const headers = { 'idempotency-key': 'k' };
		expectStatus(await ann.post('/v1/messages', { to: bob.name, body: '1' }, { headers }), 201);
		problem(await ann.post('/v1/messages', { to: bob.name, body: '2' }, { headers }),
			422, 'key_reused');
	});

	it('of two different ones at once exactly one wins', async () => {
		const id = uuid7();
		const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
			ann.post('/v1/messages', { id, to: bob.name, body: `body ${i % 2}` })));
		const winner = answers.find((answer) => answer.status === 201);
		const { body } = await bob.received(id);
		answers.forEach((answer, i) => {
			if (`body ${i % 2}` === body)
				expectStatus(answer, 200, 201);
			else
				problem(answer, 422, 'key_reused');
		});
		assert.ok(winner);
		await onlyOnce(bob, id);
	});
});

describe("another's id", () => {
	it('is 409 and reveals nothing of it', async () => {
		const id = uuid7();
		await ann.send(bob.name, 'canary text of ann', { id });
		const answer = await eve.post('/v1/messages',
			{ id, to: bob.name, body: 'canary text of ann' });
		problem(answer, 409, 'conflict', '/id');
		assert.ok(!answer.text.includes(ann.name));
		problem(await bob.post('/v1/messages', { id, to: ann.name, body: 'x' }),
			409, 'conflict', '/id');
		await onlyOnce(bob, id);
	});

	it('an id and an Idempotency-Key together are refused', async () => {
		const id = uuid7();
		problem(await ann.post('/v1/messages', { id, to: bob.name, body: 'both' },
			{ headers: { 'idempotency-key': 'k2' } }), 400, 'bad_request');
		problem(await ann.get(`/v1/outbox/${id}`), 404, 'not_found');
	});

	for (const [what, key] of [['an empty key', ''], ['a key of 256 bytes', 'k'.repeat(256)]]) {
		it(`${what} is refused`, async () => {
			problem(await ann.post('/v1/messages', { to: bob.name, body: 'x' },
				{ headers: { 'idempotency-key': key } }), 400, 'bad_request');
		});
	}

	it('only accepted sends are remembered', async () => {
		const id = uuid7();
		problem(await ann.post('/v1/messages', { id, to: 'nobody-there', body: 'x' }),
			422, 'unknown_recipient', '/to');
		expectStatus(await ann.post('/v1/messages', { id, to: bob.name, body: 'y' }), 201);
	});
});
