// SPDX-License-Identifier: MIT
//
// The push thread gets more effects than it can pass on.  Effects are dropped,
// and sessions and long-polls read the store instead.  No client misses an
// event, a window that an ack has opened, the answer of a long-poll, or the
// revocation of its token.  A fault point at chosen effects stands in for the
// full mailbox.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the test is skipped; with TWINBOX_FAULTS_REQUIRED=1 it fails.

import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { expectStatus, startServer, users } from '../e2e/harness.mjs';

const program = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
const skip = program || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';

/** Starts a server that drops the effects whose numbers ${wanted} accepts. */
async function stage(t, wanted)
{
	const numbers = Array.from({ length: 60 }, (_, i) => i + 1).filter(wanted).slice(0, 32);
	const server = await startServer({
		program, env: { TWINBOX_FAULT: numbers.map((n) => `push.effects:${n}:fail`).join() },
	});

	t.after(() => server.running && server.stop());
	return [server, ...await users(server, 'ann', 'bob')];
}

/** Returns how many times effects were dropped. */
async function overflows(server)
{
	const { text } = await server.rest().get('/metrics');
	const found = /^twinbox_push_overflows_total (\d+)$/m.exec(text);

	assert.ok(found, 'the metric');
	return Number(found[1]);
}

describe('effects are dropped', { skip }, () => {
	for (const [what, wanted] of [
		['all', () => true],
		['every second one', (n) => n % 2 === 0],
		['two of three', (n) => n % 3 !== 0],
	]) {
		it(`${what}: each event comes, each ack opens the window`, async (t) => {
			const [server, ann, bob] = await stage(t, wanted);
			const ws = await bob.ws({ window: 1 });
			let head = ws.welcome.head;

			await ws.type('caught_up');
			for (let i = 0; i < 25; i++) {
				// Two messages at once: the second one needs
				// the ack of the first.
				const ids = [await ann.send(bob.name, `${i}`), await ann.send(bob.name, `${i}+`)]
					.map((entry) => entry.id);
				for (const id of ids) {
					const event = await ws.received(id);
					assert.equal(event.seq, ++head);
					await bob.ack(event.seq);
				}
			}
			contiguous(ws.events(), ws.welcome.head + 1);
			assert.ok(await overflows(server) >= 10);
			await ws.close();
		});
	}

	it('long-polls come back with what there is', async (t) => {
		const [server, ann, bob] = await stage(t, () => true);

		for (let i = 0; i < 8; i++) {
			const { head } = await bob.inbox();
			const poll = bob.get(`/v1/inbox?after=${head}&wait=30`);
			const { id } = await ann.send(bob.name, `${i}`);
			const sent = ann.get(`/v1/outbox/${id}?wait=30`);
			const page = expectStatus(await poll, 200).body;
			assert.deepEqual(page.events.map((e) => e.id), [id]);
			await bob.ack(page.next);
			expectStatus(await sent, 200);
		}
		assert.ok(await overflows(server) >= 8);
	});

	it('a revoked token ends its session', async (t) => {
		const [server, , bob] = await stage(t, () => true);
		const other = await bob.device();
		const ws = await other.ws();
		const { devices } = expectStatus(await bob.get('/v1/tokens'), 200).body;
		const token = devices.find((one) => one.name === other.device_name);

		expectStatus(await bob.delete(`/v1/tokens/${token.id}`), 204);
		assert.equal((await ws.closing()).code, 4401);
		assert.ok(await overflows(server) >= 1);
	});
});
