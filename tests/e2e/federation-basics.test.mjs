// SPDX-License-Identifier: MIT
// tags: store quick
//
// The most important properties of two servers that deliver to each other: a
// message and its receipts, an unknown recipient, and a server that has
// federation switched off. federation.test.mjs has the rest.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';

import { entryForm, messageEvent, problem, time } from './expect.mjs';
import { startServer, users } from './harness.mjs';
import { address, arriveOnce, pairForFile } from './pair.mjs';

const pair = pairForFile({ before, after, afterEach });

const people = async () => (await Promise.all(
	[users(pair.a, 'alice'), users(pair.b, 'bob')])).flat();

describe('between two servers', () => {
	it('R6 R34 R52 R128 a message arrives with its whole address, and receipts come back', async () => {
		const [alice, bob] = await people();
		const entry = await alice.send(address(bob), 'hello over there');
		entryForm(entry);
		assert.equal(entry.state, 'pending');
		assert.equal(entry.to, address(bob));
		const event = await bob.received(entry.id);
		messageEvent(event, { id: entry.id, from: address(alice), to: bob.name, body: 'hello over there' });
		const sent = await alice.entryWhen(entry.id, (e) => e.state === 'sent', 'is sent');
		assert.equal(sent.retry_count, 0);
		assert.equal(sent.last_error, null);
		assert.equal(sent.acked_at, null);
		await bob.ack(event.seq);
		const acked = await alice.entryWhen(entry.id, (e) => e.state === 'acked', 'is acked');
		assert.ok(!acked.labels.includes('read'));
		const delivered = await alice.event((e) => e.kind === 'receipt' && e.state === 'delivered', 'the receipt');
		assert.equal(delivered.by, address(bob));
		assert.equal(delivered.upto, 1);
		await bob.read({ upto: event.seq });
		const read = await alice.entryWhen(entry.id, (e) => e.labels.includes('read'), 'is read');
		entryForm(read);
		const times = ['created_at', 'sent_at', 'acked_at', 'read_at'].map((m) => time(read[m], m));
		assert.deepEqual(times, [...times].sort((x, y) => x - y), JSON.stringify(read));
		assert.equal(read.destinations[0].address, address(bob));
		await alice.event((e) => e.kind === 'receipt' && e.state === 'read' && e.by === address(bob),
			'the receipt of reading');
	});

	it('UUIDs of version 4 are accepted as message ids there, too', async () => {
		const [alice, bob] = await people();
		const { id } = await alice.send(address(bob), 'an id by crypto.randomUUID', { id: randomUUID() });
		assert.equal(id[14], '4');
		await bob.received(id);
		await alice.entryWhen(id, (e) => e.state === 'sent', 'is sent');
		await arriveOnce(alice, bob, [id]);
	});

	it('an answer goes the other way, and both have one conversation', async () => {
		const [alice, bob] = await people();
		const { id } = await alice.send(address(bob), 'are you there?');
		const asked = await bob.received(id);
		const answer = await bob.post('/v1/messages', { conversation: asked.conversation, body: 'I am', reply_to: id });
		assert.equal(answer.status, 201, answer.text);
		const event = await alice.received(answer.body.id);
		messageEvent(event, { id: answer.body.id, from: address(bob), to: alice.name, body: 'I am' });
		assert.equal(event.reply_to, id);
		await arriveOnce(alice, bob, [id]);
		for (const [user, other] of [[alice, bob], [bob, alice]]) {
			const { body: { conversations: [one, ...more] } } = await user.get('/v1/conversations');
			assert.equal(more.length, 0);
			assert.equal(one.kind, 'direct');
			assert.equal(one.last, 3);
			assert.deepEqual(one.members.map((member) => member.address).sort(),
				[user.name, address(other)].sort());
		}
	});

	it('a recipient whom nobody knows: the sender learns why', async () => {
		const [alice, bob] = await people();
		const to = `no-${bob.name}@b.example`;
		const { id } = await alice.send(to, 'is this you?');
		const failed = await alice.entryWhen(id, (e) => e.state === 'failed', 'has failed');
		assert.equal(failed.last_error, 'unknown-recipient');
		assert.equal(failed.retry_count, 0);
		const bounce = await alice.event((e) => e.kind === 'bounce', 'the bounce');
		assert.deepEqual([bounce.of, bounce.state, bounce.to], [id, 'failed', to]);
		assert.match(bounce.reason, /rejected/);
		// The next message does not wait for the rejected one.
		const next = await alice.send(address(bob), 'then you');
		await bob.received(next.id);
	});

	it('a server that delivers to no other says so, and how that is changed', async (t) => {
		const alone = await startServer();
		t.after(() => alone.stop());
		const [alice] = await users(alone, 'alice');
		const answer = await alice.post('/v1/messages', { to: 'bob@b.example', body: 'hello?' });
		problem(answer, 422, 'unknown_recipient', '/to');
		assert.match(answer.body.detail, /federation/, 'the setting is named');
		assert.equal((await alice.get('/v1/outbox')).body.entries.length, 0);
		// Requests from other servers get the same refusal.
		problem(await alone.rest().get('/.well-known/twinbox'), 404, 'not_found');
		problem(await alone.rest().post('/v1/federation/deliver', { envelopes: [] }), 403, 'peer_refused');
	});
});
