// SPDX-License-Identifier: MIT
// tags: store
//
// The lifecycle of an outbox message as the source documents describe it,
// between users of this server: the five steps of the outbox, and the five
// properties of the cursor.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { onPostgres } from './backend.mjs';
import { operator } from './operator.mjs';
import { time } from './expect.mjs';
import { eventually, expectStatus, once, serverForFile, users, uuid7 } from './harness.mjs';

const server = serverForFile({ before, after, afterEach });
const admin = once(() => operator(server));

describe('the five steps of the outbox', () => {
	it('R5 R7 R10 R30 R170 kept, offered, sent, waited for, acked', async () => {
		const [root, [ann, bob]] = await Promise.all([admin(), users(server, 'ann', 'bob')]);

		await root.pause();
		const entry = await ann.send(bob.name, 'five steps');       // 1
		assert.equal(entry.state, 'pending');
		if (!onPostgres)
			assert.ok(fs.statSync(path.join(server.data, 'twinbox.db')).size > 0);
		assert.equal((await ann.entry(entry.id)).attempts, 0);
		await root.resume();                                        // 2
		const sent = await ann.entryWhen(entry.id, (e) => e.state === 'sent', 'is sent'); // 3
		assert.equal(sent.attempts, 1);
		assert.equal(sent.acked_at, null);                          // 4
		await bob.ack((await bob.received(entry.id)).seq);          // 5
		const acked = await ann.entryWhen(entry.id, (e) => e.state === 'acked', 'is acked');
		assert.ok(time(acked.acked_at) >= time(sent.sent_at));
	});
});

describe('sending', () => {
	it('R112 R405 R406 R416 is accepted while nothing is delivered, in every way to send', async () => {
		const [root, [ann, bob]] = await Promise.all([admin(), users(server, 'ann', 'bob')]);
		const message = (body) => ({ id: uuid7(), to: bob.name, body });
		const ws = await ann.ws();

		await root.pause();
		const one = expectStatus(await ann.post('/v1/messages', message('by itself')), 201).body;
		const [two] = expectStatus(await ann.post('/v1/messages', [message('in an array')]), 200).body;
		assert.equal(two.status, 201);
		const three = await ws.request({ type: 'send', message: message('by WebSocket') });
		assert.equal(three.type, 'sent');
		const ids = [one, two.entry, three.entry].map(({ id, state }) => {
			assert.equal(state, 'pending');
			return id;
		});
		for (const id of ids)
			assert.deepEqual([(await ann.entry(id)).state, (await ann.entry(id)).attempts], ['pending', 0]);
		assert.equal((await bob.inbox()).head, 0);
		await root.resume();
		await bob.received(ids[2]);
		assert.deepEqual((await bob.inbox()).events.map((e) => e.id), ids);
		await ws.close();
	});
});

describe('the cursor of a conversation', () => {
	it('R37 R382 R404 R408 R411 R413 R429 R430 R432 R433 begins at 1 and 0, keeps the ' +
	   'order and moves', async () => {
		const [root, [ann, bob]] = await Promise.all([admin(), users(server, 'ann', 'bob')]);
		const lane = async () => (await root.all('lanes?destination=local&state=local', 'lanes'))
			.find((one) => one.to === bob.name && one.class === 'messages');
		const ids = [];

		assert.equal(await lane(), undefined);
		await root.pause();
		for (let i = 0; i < 5; i++)
			ids.push((await ann.send(bob.name, `number ${i}`)).id);
		const first = await lane();
		assert.deepEqual([first.next_seq, first.last_published_seq, first.tail_seq, first.pending], [1, 0, 5, 5]);
		assert.deepEqual((await bob.inbox()).events, []);
		await root.resume();
		const last = await eventually(async () => {
			const one = await lane();
			return one.pending === 0 && one;
		}, 'all is delivered');
		assert.deepEqual([last.next_seq, last.last_published_seq], [6, 5]);
		assert.ok(time(last.updated_at) > time(first.updated_at));
		assert.deepEqual((await bob.inbox()).events.map((e) => e.id), ids);
		for (const id of ids)
			time((await ann.entry(id)).sent_at);
	});
});
