// SPDX-License-Identifier: MIT
// tags: store
//
// read: a person has seen a message.  The watermark is kept for each user and
// conversation and only moves forward.  A read has three forms.  The tests also
// check its receipt, private reads, and the unread counts.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem, time } from './expect.mjs';
import {
	filled as filledAt, once, receiptsUpTo, serverForFile, users, uuid7,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

const filled = (n) => filledAt(server, n);

/**
 * Makes a marker: bob acks one more message of ann, number ${n}.  Returns the
 * receipt that ann gets.
 */
async function ackOneMore(ann, bob, n)
{
	const { seq } = await bob.received((await ann.send(bob.name, 'one more')).id);

	await bob.ack(seq);
	return ['delivered', n];
}

describe('R140 R142 R155 R210 read', () => {
	const shared = once(() => filled(1));

	it('by inbox number, which acks as well', async () => {
		const { bob } = await filled(3);
		assert.deepEqual(await bob.read({ upto: 2 }), { unread: 1 });
		const { acked, unread } = (await bob.get('/v1/inbox')).body;
		assert.equal(acked, 2);
		assert.equal(unread, 1);
	});

	it('by conversation and its number, which does not ack', async () => {
		const { bob, conversation } = await filled(3);
		assert.deepEqual(await bob.read({ conversation, upto_conversation_seq: 2 }), { unread: 1 });
		assert.equal((await bob.get('/v1/inbox')).body.acked, 0);
	});

	it('by ids: the highest of each conversation', async () => {
		const { bob, entries } = await filled(4);
		assert.deepEqual(await bob.read({ ids: [entries[2].id, entries[0].id] }), { unread: 1 });
		assert.equal((await bob.get('/v1/inbox')).body.acked, 0);
	});

	it('R141 R142 shows in the events, and only forward', async () => {
		const { bob, conversation } = await filled(3);
		await bob.read({ conversation, upto_conversation_seq: 2 });
		await bob.read({ conversation, upto_conversation_seq: 1 });
		const events = (await bob.inbox()).events.filter((e) => e.kind === 'message');
		assert.deepEqual(events.map((e) => e.read_at !== null), [true, true, false]);
		time(events[0].read_at);
		assert.equal((await bob.unread()).total, 1);
	});

	it('an inbox number concerns every conversation up to it', async () => {
		const [ann, eve, bob] = await users(server, 'ann', 'eve', 'bob');
		for (const [from, body] of [[ann, 'a1'], [eve, 'e1'], [ann, 'a2'], [eve, 'e2']])
			await bob.received((await from.send(bob.name, body)).id);
		assert.deepEqual(await bob.read({ upto: 3 }), { unread: 1 });
		const { conversations } = await bob.unread();
		assert.equal(conversations.length, 1);
		assert.equal(conversations[0].last, 2);
	});

	it('survives a restart', async () => {
		const { bob } = await filled(2);
		await bob.read({ upto: 1 });
		await server.restart('SIGKILL');
		assert.equal((await bob.unread()).total, 1);
	});

	for (const [what, make, status, code, pointer] of [
		['nothing', () => ({}), 400, 'bad_request'],
		['two forms at once', ({ entries }) => ({ upto: 1, ids: [entries[0].id] }), 400, 'bad_request'],
		['a conversation without number', ({ conversation }) => ({ conversation }),
			400, 'bad_request'],
		['a number without conversation', () => ({ upto_conversation_seq: 1 }),
			400, 'bad_request'],
		['a text', () => ({ upto: 'all' }), 400, 'bad_request', '/upto'],
		['beyond the head', () => ({ upto: 99 }), 422, 'ack_beyond_head', '/upto'],
		['beyond the conversation', ({ conversation }) =>
			({ conversation, upto_conversation_seq: 2 }), 422, 'ack_beyond_head',
			'/upto_conversation_seq'],
		['ids that are not a list', () => ({ ids: 'x' }), 400, 'bad_request', '/ids'],
		['no ids', () => ({ ids: [] }), 400, 'bad_request', '/ids'],
		['an id that is none', () => ({ ids: ['x'] }), 400, 'bad_request', '/ids/0'],
		['an unknown id', () => ({ ids: [uuid7()] }), 404, 'not_found'],
		['an unknown conversation', () => ({ conversation: uuid7(), upto_conversation_seq: 1 }),
			404, 'not_found', '/conversation'],
		['an unknown member', () => ({ upto: 1, loud: true }), 400, 'bad_request', '/loud'],
		['private as a text', () => ({ upto: 1, private: 'yes' }), 400, 'bad_request', '/private'],
	]) {
		it(`refuses ${what}`, async () => {
			const all = await shared();
			problem(await all.bob.post('/v1/inbox/read', make(all)), status, code, pointer);
			assert.equal((await all.bob.unread()).total, 1);
			assert.equal((await all.bob.get('/v1/inbox')).body.acked, 0);
		});
	}

	it("what is in another's conversation cannot be read", async () => {
		const { entries, conversation, bob } = await filled(1);
		const [eve] = await users(server, 'eve');
		problem(await eve.post('/v1/inbox/read', { ids: [entries[0].id] }), 404, 'not_found');
		problem(await eve.post('/v1/inbox/read', { conversation, upto_conversation_seq: 1 }),
			404, 'not_found');
		assert.equal((await bob.unread()).total, 1);
	});
});

describe('R210 R224 the read receipt', () => {
	it('comes back as an event; the outbox entry is labelled read', async () => {
		const { ann, bob, entries, conversation } = await filled(2);
		await bob.read({ upto: 1 });
		const receipt = await ann.event((e) => e.kind === 'receipt' && e.state === 'read',
			'a read receipt');
		assert.equal(receipt.by, bob.name);
		assert.equal(receipt.conversation, conversation);
		assert.equal(receipt.upto, 1);
		assert.equal(receipt.of, entries[0].id);
		time(receipt.at);
		const entry = await ann.entry(entries[0].id);
		assert.equal(entry.state, 'acked');
		assert.ok(entry.labels.includes('read'));
		assert.equal(entry.counts.read, 1);
		assert.ok(time(entry.read_at) >= time(entry.created_at));
		const other = await ann.entry(entries[1].id);
		assert.ok(!other.labels.includes('read'));
		assert.equal(other.read_at, null);
	});

	it('reading what was not acked shows acked and read', async () => {
		const { ann, bob, entries, conversation } = await filled(1);
		await bob.read({ conversation, upto_conversation_seq: 1 });
		const entry = await ann.entryWhen(entries[0].id, (e) => e.labels.includes('read'), 'is read');
		assert.equal(entry.state, 'acked');
	});

	it('again makes no other', async () => {
		const { ann, bob, conversation } = await filled(2);
		await bob.read({ conversation, upto_conversation_seq: 2 });
		await ann.event((e) => e.kind === 'receipt' && e.state === 'read', 'a read receipt');
		for (const upto_conversation_seq of [2, 1])
			await bob.read({ conversation, upto_conversation_seq });
		assert.deepEqual(await receiptsUpTo(ann, await ackOneMore(ann, bob, 3)),
			[['read', 2], ['delivered', 3]]);
	});

	it('a private read notifies nobody, and counts for me', async () => {
		const { ann, bob, entries } = await filled(2);
		assert.deepEqual(await bob.read({ upto: 2, private: true }), { unread: 0 });
		assert.equal((await bob.unread()).total, 0);
		assert.deepEqual(await receiptsUpTo(ann, ['delivered', 2]), [['delivered', 2]]);
		assert.deepEqual(await receiptsUpTo(ann, await ackOneMore(ann, bob, 3)),
			[['delivered', 2], ['delivered', 3]]);
		const entry = await ann.entry(entries[1].id);
		assert.equal(entry.read_at, null);
		assert.ok(!entry.labels.includes('read'));
		const conversation = (await ann.get('/v1/conversations')).body.conversations[0];
		const of_bob = conversation.members.find((member) => member.address === bob.name);
		assert.equal(of_bob.read, 0, 'the mark shows it');
	});

	it('after a private read, a later open one reports up to there', async () => {
		const { ann, bob, entries } = await filled(2);
		await bob.read({ upto: 1, private: true });
		await bob.read({ upto: 2 });
		const receipt = await ann.event((e) => e.kind === 'receipt' && e.state === 'read',
			'a read receipt');
		assert.equal(receipt.upto, 2);
		assert.ok((await ann.entry(entries[1].id)).labels.includes('read'));
	});

	it('after a private read, a later open one of nothing but own messages notifies nobody', async () => {
		const { ann, bob, conversation, entries } = await filled(1);
		await bob.read({ upto: 1, private: true });
		await bob.send(ann.name, 'an answer');
		await bob.received((await ann.send(bob.name, 'and more')).id);
		await bob.read({ conversation, upto_conversation_seq: 2 });
		const { members } = (await ann.get('/v1/conversations')).body.conversations[0];
		assert.equal(members.find((member) => member.address === bob.name).read, 0);
		assert.ok(!(await ann.entry(entries[0].id)).labels.includes('read'));
	});

	it('R216 my other devices hear of it by a read event', async () => {
		const { bob, conversation } = await filled(2);
		const phone = await bob.device('phone');
		await bob.read({ conversation, upto_conversation_seq: 2 });
		const event = await phone.event((e) => e.kind === 'read', 'a read event');
		assert.equal(event.conversation, conversation);
		assert.equal(event.upto, 2);
		assert.equal((await phone.unread()).total, 0);
	});
});

describe('R154 R219 unread', () => {
	it('counts by conversation', async () => {
		const [ann, eve, bob] = await users(server, 'ann', 'eve', 'bob');
		const from_ann = await ann.send(bob.name, 'a1');
		await ann.send(bob.name, 'a2');
		const from_eve = await eve.send(bob.name, 'e1');
		await bob.received(from_eve.id);
		await bob.event((e) => e.body === 'a2', 'a2');
		const { total, conversations } = await bob.unread();
		assert.equal(total, 3);
		assert.deepEqual(Object.fromEntries(conversations.map((one) =>
			[one.conversation, one.unread])),
			{ [from_ann.conversation]: 2, [from_eve.conversation]: 1 });
		assert.deepEqual(Object.fromEntries(conversations.map((one) =>
			[one.conversation, one.last])),
			{ [from_ann.conversation]: 2, [from_eve.conversation]: 1 });
	});

	it('my own messages, receipts and read events are not unread', async () => {
		const { ann, bob } = await filled(2);
		await bob.read({ upto: 2 });
		await ann.event((e) => e.kind === 'receipt' && e.state === 'read', 'a read receipt');
		assert.deepEqual(await ann.unread(), { total: 0, conversations: [] });
		assert.deepEqual(await bob.unread(), { total: 0, conversations: [] });
	});

	it('an answer of mine leaves the rest unread', async () => {
		const { ann, bob } = await filled(2);
		await bob.send(ann.name, 'my answer');
		assert.equal((await bob.unread()).total, 2);
	});
});
