// SPDX-License-Identifier: MIT
// tags: store quick
//
// Sending: POST /v1/messages with an object and with an array, and the shortcut
// for curl, POST /v1/to/{user}.  A message arrives as it was sent.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';

import { UUID } from './contract.mjs';
import { accepted, entryForm, messageEvent, problem, problemBody, time } from './expect.mjs';
import { operator } from './operator.mjs';
import { eventually, expectStatus, serverForFile, startServer, users, uuid7 } from './harness.mjs';

let ann, bob, eve;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
}, { unlimited: 'an array of a hundred costs a hundred requests' });

describe('UUIDs of version 4 are accepted as message ids', () => {
	const message = () => ({ id: randomUUID(), to: bob.name, body: 'an id by crypto.randomUUID' });

	/**
	 * Sends ${one} twice by ${send}.  Asserts that both answers have its
	 * id, and that it arrives once.
	 */
	async function arrives(one, send)
	{
		assert.deepEqual([await send(), await send()], [[201, one.id], [200, one.id]]);
		assert.equal((await bob.received(one.id)).body, one.body);
		assert.equal((await bob.inbox()).events.filter((event) => event.id === one.id).length, 1);
	}

	it('by POST /v1/messages', async () => {
		const one = message();
		await arrives(one, async () => {
			const { status, body } = await ann.post('/v1/messages', one);
			return [status, body.id];
		});
	});

	it('in an array', async () => {
		const one = message();
		await arrives(one, async () => {
			const { body } = expectStatus(await ann.post('/v1/messages', [one]), 200);
			return [body[0].status, body[0].entry?.id];
		});
	});

	it('by POST /v1/to/{address}', async () => {
		const one = message();
		await arrives(one, async () => {
			const { status, body } = await ann.request('POST', `/v1/to/${bob.name}?id=${one.id}`,
				{ body: one.body, type: 'text/plain' });
			return [status, body.id];
		});
	});

	it('over the WebSocket', async () => {
		const one = message();
		const ws = await ann.ws();
		await arrives(one, async () => {
			const reply = await ws.request({ type: 'send', message: one });
			return [reply.replayed ? 200 : 201, reply.entry?.id];
		});
		await ws.close();
	});
});

describe('one message', () => {
	it('R5 R111 R188 R199 R296 a send is answered 201 with its outbox entry', async () => {
		const start = Date.now();
		const answer = await ann.post('/v1/messages', { to: bob.name, body: 'hello' });
		expectStatus(answer, 201);
		const entry = answer.body;
		accepted(entry);
		assert.equal(answer.headers.get('location'), `/v1/outbox/${entry.id}`);
		assert.equal(answer.headers.get('idempotency-replayed'), null);
		assert.equal(entry.to, bob.name);
		assert.equal(entry.priority, 'normal');
		assert.equal(entry.retry_count, 0);
		assert.equal(entry.counts.recipients, 1);
		assert.equal(entry.id[14], '7');
		assert.ok(Math.abs(time(entry.created_at) - start) < 60_000);
		assert.ok(time(entry.expires_at) - time(entry.created_at) === 5 * 86_400_000);
	});

	it('R108 R109 R110 R145 R147 R148 R149 R150 R151 R152 it is in the inbox of its recipient', async () => {
		const entry = await ann.send(bob.name, 'hello in the inbox');
		const event = await bob.received(entry.id);
		messageEvent(event, { id: entry.id, from: ann.name, to: bob.name,
			body: 'hello in the inbox' });
		assert.equal(event.conversation, entry.conversation);
		assert.equal(event.content_type, 'text/plain');
		assert.deepEqual(event.metadata, {});
		assert.equal(event.correlation_id, null);
		assert.equal(event.reply_to, null);
		assert.equal(event.read_at, null);
		assert.equal(event.event_time, entry.event_time);
	});

	it('R160 its sender has it in the own inbox at once', async () => {
		const entry = await ann.send(bob.name, 'my own copy');
		const event = (await ann.inbox()).events.find((one) => one.id === entry.id);
		messageEvent(event, { id: entry.id, from: ann.name, to: bob.name,
			body: 'my own copy', own: true });
		assert.equal((await ann.unread()).total, 0);
	});

	it('nobody else sees it', async () => {
		const entry = await ann.send(bob.name, 'canary-of-ann-and-bob');
		await bob.received(entry.id);
		for (const target of ['/v1/inbox', '/v1/outbox', '/v1/conversations', '/v1/inbox/unread'])
			assert.ok(!(await eve.get(target)).text.includes('canary'), target);
		for (const target of [`/v1/outbox/${entry.id}`, `/v1/messages/${entry.id}`,
			`/v1/conversations/${entry.conversation}`,
			`/v1/conversations/${entry.conversation}/messages`])
			problem(await eve.get(target), 404, 'not_found');
		problem(await bob.get(`/v1/outbox/${entry.id}`), 404, 'not_found');
		problem(await eve.delete(`/v1/outbox/${entry.id}`), 404, 'not_found');
	});

	it('R189 R248 R250 R253 all that may be given comes out as it went in', async () => {
		const first = await ann.send(bob.name, 'the first');
		const id = uuid7();
		const entry = await ann.send(bob.name, '# a heading', {
			id,
			content_type: 'text/markdown',
			metadata: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
				'key with "quotes" \\ and ünïcode 🦊': 'line\nbreak\ttab' },
			correlation_id: 'order-4711',
			reply_to: first.id,
			priority: 'high',
			expires_in: 3600,
		});
		assert.equal(entry.id, id);
		assert.equal(entry.priority, 'high');
		assert.equal(entry.correlation_id, 'order-4711');
		assert.equal(time(entry.expires_at) - time(entry.created_at), 3_600_000);
		for (const event of [await bob.received(id), await ann.received(id)]) {
			assert.equal(event.content_type, 'text/markdown');
			assert.deepEqual(event.metadata, {
				traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
				'key with "quotes" \\ and ünïcode 🦊': 'line\nbreak\ttab' });
			assert.equal(event.correlation_id, 'order-4711');
			assert.equal(event.reply_to, first.id);
		}
		assert.deepEqual(entry.metadata, (await ann.entry(id)).metadata);
	});

	const texts = [
		['one letter', 'x'],
		['exactly 16 KiB', 'x'.repeat(16384)],
		['16 KiB of four-byte characters', '🦊'.repeat(4096)],
		['16 KiB of control characters, each escaped six-fold', '\u0001'.repeat(16384)],
		['all ASCII control characters but NUL',
			Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)).join('')],
		['quotes, backslashes, slashes', '"\\/"\\\\//\'`</script>'],
		['line breaks of every kind', 'a\nb\r\nc\rd\u2028e\u2029f'],
		['DEL and C1', '\u007f\u0080\u009f'],
		['bidirectional and zero-width characters', '\u202eabc\u202c\u200b\u200d\ufeff'],
		['noncharacters', '\ufffe\uffff\u{1ffff}\u{10ffff}'],
		['decomposed and composed forms, kept apart', 'e\u0301 é'],
		['only spaces', '   '],
		['something like JSON', '{"type":"event","seq":1}'],
		['something like SQL', "'); DROP TABLE messages; --"],
		['percent signs', '%s%n%d %00 %'],
	];
	for (const [what, body] of texts) {
		it(`R149 R178 R252 R285 the text comes out byte for byte: ${what}`, async () => {
			const ws = await bob.ws();
			const entry = await ann.send(bob.name, body);
			assert.equal((await ws.received(entry.id)).body, body);
			assert.equal((await bob.received(entry.id)).body, body);
			assert.equal((await ann.received(entry.id)).body, body);
			const history = await bob.get(
				`/v1/conversations/${entry.conversation}/messages?limit=1`);
			assert.equal(history.body.messages[0].body, body);
			await ws.close();
		});
	}

	it('a message to oneself is a note: own copy, acked at once, not unread', async () => {
		const [may] = await users(server, 'may');
		const entry = await may.send(may.name, 'buy milk');
		assert.equal(entry.state, 'acked');
		const { events, unread } = await may.inbox();
		assert.equal(events.length, 1);
		messageEvent(events[0], { id: entry.id, from: may.name, to: may.name,
			body: 'buy milk', own: true });
		assert.equal(unread, 0);
		assert.equal((await may.entry(entry.id)).state, 'acked');
	});

	it('an answer goes to the same conversation, by name and by its id', async () => {
		const there = await ann.send(bob.name, 'there');
		const back = await bob.send(ann.name, 'and back');
		assert.equal(back.conversation, there.conversation);
		const answer = expectStatus(await bob.post('/v1/messages',
			{ conversation: there.conversation, body: 'by id' }), 201);
		assert.equal(answer.body.conversation, there.conversation);
		assert.equal(answer.body.to, ann.name);
		assert.equal((await ann.received(answer.body.id)).body, 'by id');
	});
});

describe('what all together may have waiting', () => {
	it('is --max-pending-total messages: one more is refused, whoever sends it', async (t) => {
		const full = await startServer({ args: ['--max-pending-total', '3'] });

		t.after(() => full.stop());
		const [root, [one, two]] = await Promise.all([operator(full), users(full, 'one', 'two')]);

		await root.pause();
		for (const [from, to] of [[one, two], [two, one], [one, two]])
			await from.send(to.name, 'waits');
		const fourth = { to: one.name, body: 'the fourth', id: uuid7() };
		const refused = await two.post('/v1/messages', fourth);
		problem(refused, 429, 'queue_full');
		assert.ok(!('pointer' in refused.body), 'it is about no member of the request');
		await two.send(two.name, 'a note to oneself does not wait');
		await root.resume();
		await eventually(async () =>
			(await two.post('/v1/messages', fourth)).status === 201, 'there is room again');
		await one.received(fourth.id);
	});
});

describe('an array', () => {
	it('is answered item by item, in order', async () => {
		const items = Array.from({ length: 100 }, (_, i) => ({
			id: uuid7(), to: i % 2 ? bob.name : eve.name, body: `item ${i}`,
		}));
		const answer = expectStatus(await ann.post('/v1/messages', items), 200);
		const results = answer.body;
		assert.equal(results.length, 100);
		results.forEach((result, i) => {
			assert.equal(result.status, 201);
			assert.equal(result.replayed, false);
			assert.equal(result.entry.id, items[i].id);
			entryForm(result.entry);
		});
		const again = expectStatus(await ann.post('/v1/messages', items), 200).body;
		again.forEach((result, i) => {
			assert.equal(result.status, 200);
			assert.equal(result.replayed, true);
			assert.equal(result.entry.id, items[i].id);
		});
		await bob.received(items[99].id);
		const got = (await bob.inbox()).events.filter((e) => /^item \d+$/.test(e.body));
		assert.deepEqual(got.map((e) => e.body),
			items.filter((one) => one.to === bob.name).map((one) => one.body));
	});

	it('each item stands alone: bad ones are named, good ones are accepted', async () => {
		const [good1, unknown, good2] = [uuid7(), uuid7(), uuid7()];
		const answer = expectStatus(await ann.post('/v1/messages', [
			{ id: good1, to: bob.name, body: 'good 1' },
			{ id: unknown, to: 'nobody-of-that-name', body: 'x' },
			{ id: good2, to: bob.name, body: 'good 2' },
		]), 200);
		const results = answer.body;
		assert.deepEqual(results.map((one) => one.status), [201, 422, 201]);
		problemBody(results[1].problem, 'unknown_recipient', '/1/to');
		await bob.received(good1);
		await bob.received(good2);
		problem(await ann.get(`/v1/outbox/${unknown}`), 404, 'not_found');
	});

	it('the same id twice in one array is one message', async () => {
		const id = uuid7();
		const item = { id, to: bob.name, body: 'twice in one array' };
		const results = expectStatus(
			await ann.post('/v1/messages', [item, item]), 200).body;
		assert.deepEqual(results.map((one) => one.status), [201, 200]);
		await bob.received(id);
		const got = (await bob.inbox()).events.filter((e) => e.id === id);
		assert.equal(got.length, 1);
	});

	for (const [what, make, pointer] of [
		['no items', () => [], undefined],
		['101 items', () => Array.from({ length: 101 },
			() => ({ id: uuid7(), to: bob.name, body: 'x' })), undefined],
		['an item without id', () => [{ id: uuid7(), to: bob.name, body: 'x' },
			{ to: bob.name, body: 'x' }], '/1/id'],
		['an item that is not an object', () => [{ id: uuid7(), to: bob.name, body: 'x' }, 5], '/1'],
		['an item with an unknown member', () => [{ id: uuid7(), to: bob.name, body: 'x', y: 1 }],
			'/0/y'],
	]) {
		it(`with ${what} is refused as a whole`, async () => {
			const head = (await bob.inbox()).head;
			problem(await ann.post('/v1/messages', make()), 400, 'bad_request', pointer);
			assert.equal((await bob.inbox()).head, head);
		});
	}
});

describe('R32 POST /v1/to/{user}', () => {
	const text = { type: 'text/plain' };

	it('the body is the text', async () => {
		const answer = expectStatus(await ann.request('POST', `/v1/to/${bob.name}`,
			{ body: 'plain words, ünïcode 🦊\n', ...text }), 201);
		entryForm(answer.body);
		assert.equal(answer.headers.get('location'), `/v1/outbox/${answer.body.id}`);
		assert.equal((await bob.received(answer.body.id)).body, 'plain words, ünïcode 🦊\n');
	});

	it("curl's own content type does no harm", async () => {
		const answer = expectStatus(await ann.request('POST', `/v1/to/${bob.name}`,
			{ body: 'a=b&c', type: 'application/x-www-form-urlencoded' }), 201);
		const event = await bob.received(answer.body.id);
		assert.equal(event.body, 'a=b&c');
		assert.equal(event.content_type, 'text/plain');
	});

	it('an object in JSON arrives as its text', async () => {
		const answer = expectStatus(await ann.request('POST', `/v1/to/${bob.name}`,
			{ body: '{"body":"hi"}', type: 'application/json' }), 201);
		const event = await bob.received(answer.body.id);
		assert.deepEqual([event.body, event.content_type], ['{"body":"hi"}', 'application/json']);
	});

	it('options go in the query', async () => {
		const target = `/v1/to/${bob.name}?priority=high&key=a-key&correlation_id=c%20d&expires_in=2h`;
		const answer = expectStatus(await ann.request('POST', target,
			{ body: 'with options', ...text }), 201);
		assert.equal(answer.body.priority, 'high');
		assert.equal(answer.body.id[14], '8');
		const event = await bob.received(answer.body.id);
		assert.equal(event.correlation_id, 'c d');
		assert.equal(time(answer.body.expires_at) - time(answer.body.created_at), 7_200_000);
		const again = expectStatus(await ann.request('POST', target,
			{ body: 'with options', ...text }), 200);
		assert.equal(again.body.id, answer.body.id);
	});

	it('or in headers', async () => {
		const options = { body: 'by header', ...text,
			headers: { 'idempotency-key': 'k1', 'x-priority': 'low', 'x-correlation-id': 'c',
				'x-expires-in': '1h' } };
		const one = expectStatus(await ann.request('POST', `/v1/to/${bob.name}`, options), 201);
		const two = expectStatus(await ann.request('POST', `/v1/to/${bob.name}`, options), 200);
		assert.equal(one.body.id, two.body.id);
		assert.equal(one.body.priority, 'low');
		assert.equal(one.body.correlation_id, 'c');
		assert.equal(time(one.body.expires_at) - time(one.body.created_at), 3_600_000);
		assert.match(one.body.id, UUID);
	});

	it('a parameter wins over the header', async () => {
		const { body } = expectStatus(await ann.request('POST', `/v1/to/${bob.name}?priority=high`,
			{ body: 'x', ...text, headers: { 'x-priority': 'low' } }), 201);
		assert.equal(body.priority, 'high');
	});

	it('R366 ?in=30m schedules', async () => {
		const answer = expectStatus(await ann.request('POST', `/v1/to/${bob.name}?in=30m`,
			{ body: 'later', ...text }), 201);
		const { body } = answer;
		assert.equal(body.state, 'pending');
		assert.ok(body.labels.includes('scheduled'));
		const wait = time(body.deliver_at) - time(body.created_at);
		assert.ok(Math.abs(wait - 1_800_000) < 5000, `in ${wait} ms`);
		assert.ok(!(await ann.inbox()).events.some((e) => e.id === body.id));
		expectStatus(await ann.delete(`/v1/outbox/${body.id}`), 200, 204);
	});

	for (const [what, target, body, status, code] of [
		['an unknown user', '/v1/to/nobody-of-that-name', 'x', 422, 'unknown_recipient'],
		['an unknown option', '/v1/to/{bob}?colour=red', 'x', 400, 'bad_request'],
		['a bad priority', '/v1/to/{bob}?priority=urgent', 'x', 400, 'bad_request'],
		['a bad delay', '/v1/to/{bob}?in=tomorrow', 'x', 400, 'bad_request'],
		['a negative delay', '/v1/to/{bob}?in=-5m', 'x', 400, 'bad_request'],
		['an empty key', '/v1/to/{bob}?key=', 'x', 400, 'bad_request'],
		['no text', '/v1/to/{bob}', '', 400, 'bad_request'],
		['16 KiB and one byte', '/v1/to/{bob}', 'x'.repeat(16385), 413, 'body_too_large'],
		['bytes that are no UTF-8', '/v1/to/{bob}', Buffer.from([0x61, 0xff]), 400, 'bad_request'],
		['a NUL', '/v1/to/{bob}', 'a\0b', 400, 'bad_request'],
		['an overlong slash', '/v1/to/{bob}', Buffer.from([0xc0, 0xaf]), 400, 'bad_request'],
		['a surrogate in UTF-8', '/v1/to/{bob}', Buffer.from([0xed, 0xa0, 0x80]), 400, 'bad_request'],
		['a code point beyond Unicode', '/v1/to/{bob}', Buffer.from([0xf4, 0x90, 0x80, 0x80]),
			400, 'bad_request'],
		['a cut character', '/v1/to/{bob}', Buffer.from([0xf0, 0x9f, 0xa6]), 400, 'bad_request'],
	]) {
		it(`refuses ${what}`, async () => {
			const head = (await bob.inbox()).head;
			problem(await ann.request('POST', target.replace('{bob}', bob.name),
				{ body, ...text }), status, code);
			assert.equal((await bob.inbox()).head, head);
		});
	}
});
