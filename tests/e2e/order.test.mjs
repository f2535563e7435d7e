// SPDX-License-Identifier: MIT
// tags: store quick
//
// Order and privacy among many users: 64 users send to each other at once over
// REST and WebSocket.  Every inbox is without gaps, shows each sender's
// messages in the order of acceptance, and holds nothing that belongs to
// another user.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { bare, contiguous } from './expect.mjs';
import { eventually, expectStatus, serverForFile, users, uuid7 } from './harness.mjs';

const server = serverForFile({ before, after, afterEach }, undefined,
	{ unlimited: 'eight connections of one user send as fast as they can' });

const USERS = 64;
const EACH = 30;

describe('R41 R414 R432 order', () => {
	it(`of ${USERS} users, each sending ${EACH} messages to many`, async () => {
		const all = await users(server, ...Array.from({ length: USERS }, (_, i) => `u${i}`));
		const by_name = new Map(all.map((user) => [user.name, user]));
		const sockets = await Promise.all(all.map((user) => user.ws({ after: '0' })));
		// sender → recipient → ids in order of acceptance
		const sent = new Map(all.map((user) => [user.name, new Map()]));
		let count = 0;

		sockets.forEach((ws) => {
			ws.onframe = (frame) => {
				if (frame.type === 'event' && frame.seq % 16 === 0)
					ws.ack(frame.seq);
			};
		});
		await Promise.all(all.map(async (user, n) => {
			for (let i = 0; i < EACH; i++) {
				const to = all[(n + 1 + (i % 7) * 9) % USERS].name;
				const message = { id: uuid7(), to, body: `canary ${user.name}>${to} ${i}` };
				if (i % 2) {
					const reply = await sockets[n].request({ type: 'send', id: 5000 + i, message });
					assert.equal(reply.type, 'sent', JSON.stringify(reply));
				} else {
					expectStatus(await user.post('/v1/messages', message), 201);
				}
				if (!sent.get(user.name).has(to))
					sent.get(user.name).set(to, []);
				sent.get(user.name).get(to).push(message.id);
				count++;
			}
		}));
		assert.equal(count, USERS * EACH);
		for (const [n, user] of all.entries()) {
			const expected = [...sent.values()].reduce((sum, to) =>
				sum + (to.get(user.name)?.length ?? 0), 0);
			await eventually(() => sockets[n].events().filter((e) =>
				e.kind === 'message' && !e.own).length >= expected,
				`${expected} messages for ${user.name}`, 30_000);
		}
		for (const [n, user] of all.entries()) {
			const { events, head } = await user.inbox();
			contiguous(events);
			assert.equal(events.length, head);
			const messages = events.filter((e) => e.kind === 'message');
			assert.equal(new Set(messages.map((e) => e.id)).size, messages.length, 'one came twice');
			for (const [sender, to] of sent) {
				const got = messages.filter((e) => e.from === sender && !e.own && e.to === user.name);
				assert.deepEqual(got.map((e) => e.id), to.get(user.name) ?? [],
					`${sender} → ${user.name}`);
				const seqs = got.map((e) => e.conversation_seq);
				assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b));
			}
			for (const event of messages) {
				assert.ok(event.from === user.name || event.to === user.name, 'not the own');
				assert.ok(by_name.has(event.from));
				assert.equal(event.own, event.from === user.name);
			}
			const seen = sockets[n].events();
			contiguous(seen);
			assert.deepEqual(seen.map((e) => bare(e).event_id),
				events.slice(0, seen.length).map((e) => e.event_id));
		}
		await Promise.all(sockets.map((ws) => ws.close()));
	});

	it('one sender, eight connections, one recipient: in the order of answers', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const starts = [];
		const ends = [];
		await Promise.all(Array.from({ length: 8 }, async (_none, n) => {
			for (let i = 0; i < 25; i++) {
				const id = uuid7();
				starts.push([id, performance.now()]);
				await ann.send(bob.name, `${n} ${i}`, { id });
				ends.push([id, performance.now()]);
			}
		}));
		await eventually(async () => (await bob.get('/v1/inbox')).body.head === 200, '200 events');
		const place = new Map((await bob.inbox()).events.map((e) => [e.id, e.seq]));
		const started = new Map(starts);
		// A message that is sent after the answer to another one has a
		// later place.
		for (const [id, end] of ends) {
			for (const [other, start] of started) {
				if (start > end)
					assert.ok(place.get(other) > place.get(id), 'overtaken');
			}
		}
	});
});
