// SPDX-License-Identifier: MIT
// tags: store quick
//
// ack: a device confirms that it has stored events.  Acks are cumulative and
// monotone, and each device has its own watermark.  The first device of a user
// that acks a message causes the delivered receipt for the sender.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem, time } from './expect.mjs';
import {
	expectStatus, filled as filledAt, once, receiptsUpTo, serverForFile, users,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

const filled = (n) => filledAt(server, n);

/**
 * Proves that a receipt did not come, by two events that would come after it:
 * bob reads both messages of ann, and ann reads bob's answer.  When both read
 * receipts are there, every earlier receipt would be there, too.
 */
async function showRead(ann, bob, conversation)
{
	await bob.read({ conversation, upto_conversation_seq: 2 });
	const { id } = await bob.send(ann.name, 'an answer');
	await ann.received(id);
	await ann.read({ conversation, upto_conversation_seq: 3 });
}

describe('R51 R135 R224 ack', () => {
	const shared = once(() => filled(1));

	it('moves the mark of this device', async () => {
		const { bob } = await filled(3);
		assert.deepEqual(await bob.ack(2), { acked: 2, head: 3 });
		assert.equal((await bob.get('/v1/inbox')).body.acked, 2);
	});

	it('R94 lower and equal ones change nothing', async () => {
		const { bob } = await filled(3);
		await bob.ack(3);
		assert.equal((await bob.ack(1)).acked, 3);
		assert.equal((await bob.ack(3)).acked, 3);
		assert.equal((await bob.ack(0)).acked, 3);
	});

	it('beyond the head is 422 and moves nothing', async () => {
		const { bob } = await filled(3);
		const answer = await bob.post('/v1/inbox/ack', { upto: 4 });
		problem(answer, 422, 'ack_beyond_head', '/upto');
		assert.equal(answer.body.head, 3);
		assert.equal((await bob.get('/v1/inbox')).body.acked, 0);
	});

	it('is not read: unread stays', async () => {
		const { ann, bob, entries } = await filled(2);
		await bob.ack(2);
		assert.equal((await bob.unread()).total, 2);
		assert.equal((await ann.entry(entries[0].id)).read_at, null);
		assert.equal((await bob.get('/v1/inbox/1')).body.read_at, null);
	});

	it('survives a restart', async () => {
		const { bob } = await filled(2);
		await bob.ack(2);
		await server.restart('SIGKILL');
		assert.equal((await bob.get('/v1/inbox')).body.acked, 2);
	});

	it('R216 each device has a mark of its own', async () => {
		const { bob } = await filled(3);
		const phone = await bob.device('phone');
		await bob.ack(3);
		assert.equal((await phone.get('/v1/inbox')).body.acked, 0);
		assert.equal((await phone.ack(1)).acked, 1);
		assert.equal((await bob.get('/v1/inbox')).body.acked, 3);
	});

	for (const [what, json, pointer] of [
		['nothing', {}, '/upto'],
		['a text', { upto: '1' }, '/upto'],
		['a fraction', { upto: 1.5 }, '/upto'],
		['a negative number', { upto: -1 }, '/upto'],
		['null', { upto: null }, '/upto'],
		['an unknown member', { upto: 1, device: 'x' }, '/device'],
		['a list', [1], undefined],
	]) {
		it(`refuses ${what}`, async () => {
			const { bob } = await shared();
			problem(await bob.post('/v1/inbox/ack', json), 400, 'bad_request', pointer);
			assert.equal((await bob.get('/v1/inbox')).body.acked, 0);
		});
	}
});

describe('R10 R27 R49 R294 the delivered receipt', () => {
	it('comes back as an event and moves the outbox entry to acked', async () => {
		const { ann, bob, entries } = await filled(3);
		await ann.entryWhen(entries[2].id, (e) => e.state === 'sent', 'is sent');
		await bob.ack(2);
		const receipt = await ann.event((e) => e.kind === 'receipt', 'a receipt');
		assert.equal(receipt.state, 'delivered');
		assert.equal(receipt.by, bob.name);
		assert.equal(receipt.conversation, entries[0].conversation);
		assert.equal(receipt.upto, 2);
		assert.equal(receipt.of, entries[1].id);
		time(receipt.at);
		for (const [i, state] of ['acked', 'acked', 'sent'].entries()) {
			const entry = await ann.entry(entries[i].id);
			assert.equal(entry.state, state, `message ${i + 1}`);
			assert.equal(entry.acked_at === null, state !== 'acked');
			assert.equal(entry.counts.acked, state === 'acked' ? 1 : 0);
		}
	});

	it('only the first device makes one', async () => {
		const { ann, bob, entries } = await filled(1);
		const phone = await bob.device('phone');
		await bob.ack(1);
		await ann.event((e) => e.kind === 'receipt', 'a receipt');
		await phone.ack(1);
		const next = await ann.send(bob.name, 'one more');
		const { seq } = await bob.received(next.id);
		await phone.ack(seq);
		await ann.entryWhen(next.id, (e) => e.state === 'acked', 'is acked');
		assert.deepEqual(await receiptsUpTo(ann, ['delivered', 2]),
			[['delivered', 1], ['delivered', 2]]);
		assert.equal((await ann.entry(entries[0].id)).state, 'acked');
	});

	it('the same ack again makes none, nor does acking receipts', async () => {
		const { ann, bob, conversation } = await filled(2);
		await bob.ack(2);
		const receipt = await ann.event((e) => e.kind === 'receipt', 'a receipt');
		await bob.ack(2);
		await bob.ack(1);
		await ann.ack(receipt.seq);
		await showRead(ann, bob, conversation);
		assert.deepEqual(await receiptsUpTo(ann, ['read', 2]), [['delivered', 2], ['read', 2]]);
		assert.deepEqual(await receiptsUpTo(bob, ['read', 3]), [['read', 3]]);
	});

	it('own copies neither cause receipts nor move marks', async () => {
		const { ann, bob, entries, conversation } = await filled(2);
		const { events } = await ann.inbox();
		await ann.ack(events.at(-1).seq);
		for (const { id } of entries)
			assert.equal((await ann.entry(id)).state, 'sent');
		await showRead(ann, bob, conversation);
		assert.deepEqual(await receiptsUpTo(ann, ['read', 2]), [['read', 2]]);
		assert.deepEqual(await receiptsUpTo(bob, ['read', 3]), [['read', 3]]);
	});

	it('receipts are not in the outbox list', async () => {
		const { ann, bob } = await filled(1);
		await bob.ack(1);
		await ann.event((e) => e.kind === 'receipt', 'a receipt');
		assert.deepEqual((await bob.get('/v1/outbox')).body.entries, []);
	});

	it('one for each conversation', async () => {
		const [ann, eve, bob] = await users(server, 'ann', 'eve', 'bob');
		const one = await ann.send(bob.name, 'from ann');
		const two = await eve.send(bob.name, 'from eve');
		await bob.received(one.id);
		await bob.received(two.id);
		await bob.ack(2);
		const of_ann = await ann.event((e) => e.kind === 'receipt', 'a receipt');
		const of_eve = await eve.event((e) => e.kind === 'receipt', 'a receipt');
		assert.equal(of_ann.of, one.id);
		assert.equal(of_eve.of, two.id);
		expectStatus(await ann.get('/v1/inbox'), 200);
	});
});
