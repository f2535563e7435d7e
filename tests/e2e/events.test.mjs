// SPDX-License-Identifier: MIT
// tags: store quick
//
// The events of an outbox entry that the sender's sessions get: sent, acked,
// retry and failed, each with the current entry.  A subscriber inside the
// server counts them for the operator.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator } from './operator.mjs';
import { entryForm, problem } from './expect.mjs';
import { expectStatus, serverForFile, users } from './harness.mjs';
import { metric } from './upkeep.mjs';

let root;
const server = serverForFile({ before, after, afterEach }, async () => {
	root = await operator(server);
});

const EVENTS = ['sent', 'acked', 'retry', 'failed'];

/** The counters of the four events and of all others. */
async function counted()
{
	const entries = [...EVENTS, 'other'].map(async (event) =>
		[event, await metric(server, `outbox_events_total{event="${event}"}`)]);

	return Object.fromEntries(await Promise.all(entries));
}

/** The frames about entry ${id} that ${ws} has received, as [event, state]. */
const shown = (ws, id) => ws.frames
	.filter((f) => f.type === 'outbox' && f.entry.id === id)
	.map((f) => [f.event, f.entry.state]);

/** Asserts that ${frame} has a complete entry in state ${state}. */
function isEntry(frame, state)
{
	entryForm(frame.entry);
	assert.equal(frame.entry.state, state);
}

/** Waits for the frame with ${event} of entry ${id}. */
const told = (ws, id, event) => ws.wait(
	(f) => f.type === 'outbox' && f.entry.id === id && f.event === event, `the event ${event}`);

describe('R63 R64 R65 R66 the four events of an entry', () => {
	it('failed, retry, sent, acked: each is published, with the entry as it is', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws({ outbox: true });
		const was = await counted();

		await root.pause();
		const { id } = await ann.send(bob.name, 'too late, then not', { expires_in: 1 });
		const failed = await told(ws, id, 'failed');
		isEntry(failed, 'expired');
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
		const retry = await told(ws, id, 'retry');
		isEntry(retry, 'pending');
		assert.deepEqual(shown(ws, id), [['failed', 'expired'], ['retry', 'pending']]);
		await root.resume();
		const sent = await told(ws, id, 'sent');
		isEntry(sent, 'sent');
		await bob.ack((await bob.received(id)).seq);
		const acked = await told(ws, id, 'acked');
		isEntry(acked, 'acked');
		assert.deepEqual(shown(ws, id), [['failed', 'expired'], ['retry', 'pending'],
			['sent', 'sent'], ['acked', 'acked']]);
		const now = await counted();
		assert.deepEqual(EVENTS.map((event) => now[event] - was[event]), [1, 1, 1, 1]);
		await ws.close();
	});

	it('all sessions of the sender hear them, and nobody else', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const [one, two, his] = await Promise.all([ann.ws({ outbox: true, instance: 'one' }),
			ann.ws({ outbox: true, instance: 'two' }), bob.ws({ outbox: true })]);
		const { id } = await ann.send(bob.name, 'x');

		await bob.ack((await his.received(id)).seq);
		await told(one, id, 'acked');
		await told(two, id, 'acked');
		const { id: note } = await bob.send(ann.name, 'back');
		await told(his, note, 'sent');
		assert.deepEqual(shown(his, id), []);
		assert.deepEqual(shown(one, note), []);
		for (const ws of [one, two, his])
			await ws.close();
	});

	it('what is none of the four is "changed": canceled, released, read', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws({ outbox: true });
		const was = await counted();
		const inAnHour = new Date(Date.now() + 3600_000).toISOString();

		const { id: gone } = await ann.send(bob.name, 'x', { deliver_at: inAnHour });
		expectStatus(await ann.delete(`/v1/outbox/${gone}`), 200);
		assert.equal((await told(ws, gone, 'changed')).entry.state, 'canceled');
		const { id: read } = await ann.send(bob.name, 'y');
		await bob.read({ upto: (await bob.received(read)).seq });
		const changed = await told(ws, read, 'changed');
		assert.ok(changed.entry.labels.includes('read'));
		assert.deepEqual([...new Set(shown(ws, gone).map(([event]) => event))], ['changed']);
		const now = await counted();
		assert.ok(now.other - was.other >= 2, `${now.other - was.other} others`);
		await ws.close();
	});

	it('a note to oneself that falls due is acked at once', async () => {
		const [ann] = await users(server, 'ann');
		const ws = await ann.ws({ outbox: true });
		const soon = new Date(Date.now() + 1000).toISOString();
		const { id, state } = await ann.send(ann.name, 'tea', { deliver_at: soon });

		assert.equal(state, 'pending');
		assert.equal((await told(ws, id, 'acked')).entry.state, 'acked');
		assert.deepEqual(shown(ws, id), [['acked', 'acked']]);
		await ws.close();
	});

	it('one that is canceled publishes nothing more', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws({ outbox: true });

		await root.pause();
		const { id } = await ann.send(bob.name, 'x');
		expectStatus(await ann.delete(`/v1/outbox/${id}`), 200);
		await told(ws, id, 'changed');
		problem(await ann.post(`/v1/outbox/${id}/retry`), 409, 'conflict');
		await root.resume();
		const { id: next } = await ann.send(bob.name, 'y');
		await told(ws, next, 'sent');
		assert.deepEqual(shown(ws, id), [['changed', 'canceled']]);
		await ws.close();
	});
});
