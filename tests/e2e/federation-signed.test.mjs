// SPDX-License-Identifier: MIT
// tags: store
//
// Requests that node signs with its own crypto library: a good one is accepted
// once, and the others are refused.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { sceneForAll } from './federation-scene.mjs';
import { assertSound } from './fsck.mjs';
import { users, uuid7, within } from './harness.mjs';

describe('a request that node has signed', () => {
	const s = sceneForAll();
	const messages = async (user) => (await user.inbox()).events.filter((e) => e.kind === 'message');
	let dave = 0;
	const envelope = (to, more) => s.b.message('dave', `${to.name}@a.example`, { sequence: ++dave, ...more });

	it('R128 R259 is taken, and receipts go back', async () => {
		const { b, server } = s;
		const [eve] = await users(server, 'eve');
		const one = envelope(eve, { correlation_id: 'order 17', metadata: { k: 'v' } });
		const two = envelope(eve, { body: 'the second' });
		const answer = await b.delivers(server, { envelopes: [one, two] });
		assert.equal(answer.status, 200, answer.text);
		assert.deepEqual(answer.body.acks, [one, two].map(({ message_id }) => ({ message_id, status: 'accepted' })));
		assert.equal(answer.body.epoch, (await server.document()).epoch);
		const events = await messages(eve);
		assert.deepEqual(events.map((e) => [e.id, e.from, e.to, e.body]), [one, two].map(({ payload }) =>
			[payload.id, 'dave@b.example', eve.name, payload.body]));
		assert.deepEqual([events[0].correlation_id, events[0].metadata], ['order 17', { k: 'v' }]);
		await eve.read({ upto: events[1].seq });
		const receipts = () => b.taken.filter((e) => e.recipient === 'dave@b.example');
		await b.when(() => receipts().some((e) => e.message_type === 'receipt.read'), 'the receipt');
		for (const receipt of receipts()) {
			assert.equal(receipt.payload.from, `${eve.name}@a.example`);
			assert.equal(receipt.payload.upto, two.payload.id);
		}
		b.check();
	});

	it('R42 R53-R61 is taken once: again is a duplicate, with another text it is refused', async () => {
		const { b, server } = s;
		const [eve] = await users(server, 'eve');
		const one = envelope(eve);
		for (const duplicate of [undefined, true, true]) {
			const { body } = await b.delivers(server, { envelopes: [one] });
			assert.deepEqual(body.acks, [{ message_id: one.message_id, status: 'accepted',
				...(duplicate && { duplicate, sequence: one.sequence }) }]);
		}
		const other = { ...one, payload: { ...one.payload, body: 'another text' } };
		const { body } = await b.delivers(server, { envelopes: [other] });
		assert.deepEqual(body.acks.map((ack) => [ack.status, ack.reason]), [['rejected', 'event-reused']]);
		assert.equal((await messages(eve)).length, 1);
	});

	it('with its nonce again is refused, and nothing is taken', async () => {
		const { b, server } = s;
		const [eve] = await users(server, 'eve');
		const nonce = 'n'.repeat(40);
		const one = envelope(eve);
		assert.equal((await b.delivers(server, { envelopes: [one] }, { nonce })).status, 200);
		const again = await b.delivers(server, { envelopes: [envelope(eve)] }, { nonce });
		assert.deepEqual([again.status, again.body.code], [401, 'nonce_repeated']);
		assert.deepEqual((await messages(eve)).map((e) => e.id), [one.payload.id]);
	});

	it('is refused with any part of it changed', async () => {
		const { b, c, server } = s;
		const [eve] = await users(server, 'eve');
		const content = { envelopes: [envelope(eve)] };
		await b.delivers(server, { envelopes: [] });
		for (const [what, change, code] of [
			['the body', { body: JSON.stringify({ envelopes: [envelope(eve)] }) }, 'digest_wrong'],
			['the key', { privateKey: c.keys.privateKey }, 'signature_wrong'],
			['the clock, behind', { skew: -86_400 }, 'signature_expired'],
			['the clock, ahead', { skew: 86_400 }, 'signature_early'],
			['the digest', { headers: { 'content-digest': `sha-256=:${Buffer.alloc(32).toString('base64')}:` } }, 'signature_wrong'],
			['no signature', { headers: { signature: '' } }, /^signature_/],
		]) {
			const answer = await b.deliver(server, content, change);
			assert.equal(answer.status, 401, `${what}: ${answer.text}`);
			assert.match(answer.body.code, code instanceof RegExp ? code : new RegExp(`^${code}$`), what);
		}
		assert.ok((await b.deliver(server, content, { headers: { 'content-encoding': 'identity' } })).status >= 400);
		assert.equal((await messages(eve)).length, 0);
		// The correct request is still accepted.
		assert.equal((await b.deliver(server, content)).body.acks[0].status, 'accepted');
	});

	it('speaks for its own people alone, to people of this server', async () => {
		const { b, server } = s;
		const [eve] = await users(server, 'eve');
		const list = [
			[{ ...envelope(eve), payload: { ...envelope(eve).payload, from: 'dave@c.example' } }, 'foreign-sender'],
			[{ ...envelope(eve), payload: { ...envelope(eve).payload, from: `${eve.name}@a.example` } }, 'foreign-sender'],
			[{ ...envelope(eve), recipient: 'nobody-here@a.example' }, 'unknown-recipient'],
			[{ ...envelope(eve), recipient: 'bob@c.example' }, /./],
			[{ ...envelope(eve), message_type: 'message.edit' }, 'unsupported'],
			[{ ...envelope(eve), message_type: 'receipt.read', payload: { from: 'dave@b.example', upto: uuid7() } }, 'unknown-message'],
			[{ ...envelope(eve), payload: { ...envelope(eve).payload, body: 'x'.repeat(16_385) } }, /^(too-large|malformed)$/],
		];
		const answer = await b.delivers(server, { envelopes: list.map(([one]) => one) });
		assert.equal(answer.status, 200, answer.text);
		assert.deepEqual(answer.body.acks.map((ack) => ack.message_id), list.map(([one]) => one.message_id));
		answer.body.acks.forEach((ack, i) => {
			assert.equal(ack.status, 'rejected', JSON.stringify(ack));
			assert.match(ack.reason, list[i][1] instanceof RegExp ? list[i][1] : new RegExp(`^${list[i][1]}$`));
		});
		assert.deepEqual((await eve.inbox()).events, []);
		assert.deepEqual((await eve.get('/v1/conversations')).body.conversations, []);
	});

	it('fifty at once are taken once', async () => {
		const { b, server } = s;
		const [eve] = await users(server, 'eve');
		const one = envelope(eve);
		await b.delivers(server, { envelopes: [] });
		const answers = await within(Promise.all(Array.from({ length: 50 }, () =>
			b.deliver(server, { envelopes: [one] }))), 30_000, 'fifty answers');
		const statuses = answers.filter(({ status }) => status === 200).map(({ body }) => body.acks[0]);
		assert.ok(statuses.length > 0, answers[0].text);
		assert.equal(statuses.filter((ack) => ack.status === 'accepted' && !ack.duplicate).length, 1);
		assert.equal((await messages(eve)).length, 1);
		await assertSound(server);
	});
});
