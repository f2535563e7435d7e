// SPDX-License-Identifier: MIT
//
// The events of an entry on its way to another server.  The answer of that
// server decides which of the four events its sender gets.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { expectStatus, users } from '../e2e/harness.mjs';
import { entryWhen, faultServer, Peer, skip } from './remote.mjs';

/**
 * Returns a sender with a session, a destination, and a function that waits for
 * an event.
 */
async function world(t, name, options)
{
	const server = await faultServer(t, options);
	const [ann] = await users(server, 'ann');
	const ws = await ann.ws({ outbox: true });
	const told = (id, event) => ws.wait((f) => f.type === 'outbox' && f.entry.id === id &&
		f.event === event, `the event ${event}`, { ms: 30_000 });

	return { ann, ws, told, peer: new Peer(server, name), to: `bob@${name}.fault.test` };
}

const names = (ws, id) => ws.frames.filter((f) => f.type === 'outbox' && f.entry.id === id)
	.map((f) => f.event);

describe('events on the way to another server', { skip }, () => {
	it('R64 R66 retry, each time that it is not taken now; failed, and retry once more', async (t) => {
		const { ann, ws, told, peer, to } = await world(t, 'busy');

		peer.does({ retry: 100, wait: 1 });
		const { id } = await ann.send(to, 'again and again');
		const first = await told(id, 'retry');
		assert.ok(first.entry.retry_count >= 1);
		const failed = await told(id, 'failed');
		assert.equal(failed.entry.retry_count, 10);
		peer.does({});
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
		assert.equal((await told(id, 'sent')).entry.state, 'sent');
		const all = names(ws, id);
		assert.deepEqual(all.slice(-3), ['failed', 'retry', 'sent']);
		assert.deepEqual([...new Set(all.slice(0, -3))], ['retry']);
	});

	it('R64 failed, when it is rejected', async (t) => {
		const { ann, ws, told, peer, to } = await world(t, 'strict');

		peer.does({ reject: 100 });
		const { id } = await ann.send(to, 'no');
		const failed = await told(id, 'failed');
		assert.equal(failed.entry.state, 'failed');
		assert.deepEqual(names(ws, id), ['failed']);
	});

	it('R9 R66 retry, when an answer that was promised does not come', async (t) => {
		const { ann, ws, told, peer, to } = await world(t, 'slow', { args: ['--ack-timeout', '3s'] });

		peer.does({ later: 100 });
		const { id } = await ann.send(to, 'later, they said');
		assert.equal((await told(id, 'sent')).entry.retry_count, 0);
		peer.does({});
		const retry = await told(id, 'retry');
		assert.equal(retry.entry.retry_count, 1);
		await ws.wait((f) => f.type === 'outbox' && f.entry.id === id && f.event === 'sent' &&
			f.entry.attempts === 2, 'it is sent again');
		assert.deepEqual([...new Set(names(ws, id))].sort(), ['retry', 'sent']);
	});

	it('none, while a destination does not answer: that is not the message\'s', async (t) => {
		const { ann, ws, told, peer, to } = await world(t, 'away');

		peer.does({ down: 1 });
		const { id } = await ann.send(to, 'wait for it');
		await entryWhen(ann, id, (e) => e.attempts > 0 && e.state === 'pending', 'it was tried');
		peer.does({});
		await told(id, 'sent');
		assert.deepEqual(names(ws, id), ['sent']);
	});
});
