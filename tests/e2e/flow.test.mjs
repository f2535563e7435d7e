// SPDX-License-Identifier: MIT
// tags: store quick
//
// The flows and examples of the source documents, step by step, as a user
// experiences them: the inbox, the outbox, both together, a chat.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { contiguous, entryForm, messageEvent } from './expect.mjs';
import { expectStatus, serverForFile, users, uuid7 } from './harness.mjs';
import { operator } from './operator.mjs';

const server = serverForFile({ before, after, afterEach });

describe('the inbox pattern', () => {
	it('R107 R115 R118 R120 R157 R215 R229 delivered while away, read after the return', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		for (const text of ['Hello Bob!', 'How are you?'])
			await alice.send(bob.name, text);
		await bob.event((e) => e.body === 'How are you?', 'the second message');
		const { total } = await bob.unread();
		assert.equal(total, 2, `Bob has ${total} unread messages`);
		const { events } = await bob.inbox();
		assert.deepEqual(events.map((e) => [e.kind, e.from, e.body, e.read_at]), [
			['message', alice.name, 'Hello Bob!', null],
			['message', alice.name, 'How are you?', null],
		]);
		assert.deepEqual(await bob.read({ ids: events.map((e) => e.id) }), { unread: 0 });
		assert.equal((await bob.unread()).total, 0);
	});

	it('R133 R134 R135 R136 R137 R138 R139 R140 R143 R156 its eight steps', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		const phone = await bob.ws();
		const { id } = await alice.send(bob.name, 'eight steps');        // 1, 2
		await alice.entryWhen(id, (e) => e.state === 'sent', 'is sent');  // 3
		const pushed = await phone.received(id);                          // 4, 5
		const polled = (await bob.inbox()).events.find((e) => e.id === id); // 6, 7
		assert.equal(pushed.event_id, polled.event_id);
		messageEvent(polled, { id, from: alice.name, to: bob.name, body: 'eight steps' });
		await bob.read({ upto: polled.seq });                             // 8
		await alice.entryWhen(id, (e) => e.labels.includes('read'), 'is read');
		await phone.close();
	});
});

describe('the outbox pattern', () => {
	it('R111 R113 R124 R158 R159 R160 R161 R162 R163 R164 R165 R166 R167 R169 R190 R193 ' +
	   'R195 R197 R242 R251 accepted first, then delivered in the background', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		const root = await operator(server);
		// The pause keeps the message waiting.  Without it the message
		// would be delivered in the transaction that accepts it.
		await root.pause();
		const answer = expectStatus(await alice.post('/v1/messages',
			{ to: bob.name, body: 'Hello from outbox!' }), 201);
		const { id } = answer.body;
		entryForm(answer.body);
		assert.equal(answer.body.state, 'pending', 'the answer waited for the delivery');
		assert.equal(answer.body.event_type, 'message.send');
		assert.equal(answer.body.sent_at, null);
		// The message is on disk at once, and in the sender's own
		// inbox.
		assert.equal((await alice.entry(id)).id, id);
		assert.equal((await alice.received(id)).own, true);
		// Now the relay delivers it.
		await root.resume();
		const entry = await alice.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		assert.equal(entry.last_error, null);
		assert.equal(entry.retry_count, 0);
		assert.equal((await bob.received(id)).body, 'Hello from outbox!');
	});

	it('R407 R336 what was written once never changes', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		const first = await alice.send(bob.name, 'written once');
		const event = await bob.received(first.id);
		await bob.read({ upto: event.seq });
		const last = await alice.entryWhen(first.id, (e) => e.labels.includes('read'), 'is read');
		for (const member of ['id', 'conversation', 'to', 'event_time', 'created_at', 'expires_at',
			'priority', 'max_retries', 'metadata', 'correlation_id', 'event_type'])
			assert.deepEqual(last[member], first[member], member);
		const later = await bob.received(first.id);
		assert.deepEqual({ ...later, read_at: null }, event);
	});
});

describe('both together', () => {
	it('R198 R199 R200 R201 R202 R203 R204 R205 R206 R207 R208 R209 R210 R227 R228 R230 its twelve ' +
	   'steps', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		const desktop = await alice.ws({ outbox: true });
		const phone = await bob.ws();
		const { id } = await alice.send(bob.name, 'both patterns');
		await desktop.wait((f) => f.type === 'outbox' && f.entry.id === id &&
			f.entry.state === 'sent', 'the entry as sent');
		const { seq } = await phone.received(id);
		phone.ack(seq);
		await desktop.wait((f) => f.type === 'outbox' && f.entry.id === id &&
			f.entry.state === 'acked', 'the entry as acked');
		await desktop.event((e) => e.kind === 'receipt' && e.state === 'delivered' && e.of === id,
			'the delivered receipt');
		phone.send({ type: 'read', upto: seq });
		await desktop.event((e) => e.kind === 'receipt' && e.state === 'read' && e.of === id,
			'the read receipt');
		const kinds = desktop.events().map((e) => e.state ?? e.kind);
		assert.deepEqual(kinds, ['message', 'delivered', 'read']);
		contiguous(desktop.events());
		await desktop.close();
		await phone.close();
	});

	it('R220 R221 R222 R223 R224 R233 a chat, live on both sides', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		const desktop = await alice.ws();
		const phone = await bob.ws();
		const lines = ['Hi!', 'Hi Alice.', 'Coming tonight?', 'Yes, at eight.', 'See you!'];
		for (const [i, body] of lines.entries()) {
			const [ws, other, to] = i % 2 ? [phone, desktop, alice.name] : [desktop, phone, bob.name];
			const reply = await ws.request({ type: 'send', message: { id: uuid7(), to, body } });
			const event = await other.received(reply.entry.id);
			assert.equal(event.body, body);
			other.ack(event.seq);
			other.send({ type: 'read', upto: event.seq });
		}
		await desktop.event((e) => e.kind === 'receipt' && e.state === 'read' && e.upto === 5,
			'the last read receipt');
		for (const ws of [desktop, phone]) {
			assert.deepEqual(ws.events().filter((e) => e.kind === 'message').map((e) => e.body), lines);
			contiguous(ws.events());
			await ws.close();
		}
	});

	it('R115 R232 what was said while nobody listened is all there', async () => {
		const [alice, bob] = await users(server, 'alice', 'bob');
		for (let i = 0; i < 5; i++)
			await alice.send(bob.name, `line ${i}`);
		await server.restart('SIGKILL');
		const ws = await bob.ws();
		await ws.event((e) => e.body === 'line 4', 'the last line');
		const { body } = await bob.get('/v1/conversations');
		const history = expectStatus(await bob.get(
			`/v1/conversations/${body.conversations[0].id}/messages?after=0`), 200).body.messages;
		assert.deepEqual(history.map((m) => m.body), ws.events().map((e) => e.body));
		await ws.close();
	});
});
