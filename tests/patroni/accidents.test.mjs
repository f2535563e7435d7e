// SPDX-License-Identifier: MIT
//
// Accidents of the Patroni cluster of contrib/patroni, under load.  As long as
// commits wait for a standby, each accident is a pause: nothing is lost or
// doubled, and the epoch stays.  If commits do not wait, the loss of the leader
// makes another epoch, and clients are notified.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
	Server, eventually, expectStatus, sleep, users, uuid7,
} from '../e2e/harness.mjs';
import { PatroniWorld } from './load.mjs';
import { Patroni } from './patroni.mjs';

describe('Patroni, synchronous and strict', () => {
	it('accidents are pauses', async (t) => {
		const world = await new PatroniWorld(t, 2).start();
		const { cluster } = world;

		await world.accident('switchover', () => cluster.switchover());
		await world.accident('kill -9 of the leader', async () => {
			const leader = await cluster.leader();
			await cluster.kill(leader);
			await cluster.led(leader);
			cluster.startMember(leader);
		});
		await world.accident('the leader stands still beyond its TTL', async () => {
			const leader = await cluster.leader();
			cluster.stop(leader);
			try {
				/*
				 * The sessions of the stopped leader go on, and
				 * so do the nodes that use them, until no
				 * standby confirms their commits any more.
				 */
				await cluster.led(leader);
				await world.busy();
			} finally {
				cluster.resume(leader);
			}
		});
		await world.finish();
	});
});

/**
 * Sends one message after another to ${bob} until stop(), which returns the
 * accepted ids.
 */
function stream(ann, bob)
{
	const accepted = [];
	let going = true;

	const work = (async () => {
		while (going) {
			const id = uuid7();
			while (going) {
				const answer = await ann.post('/v1/messages', { id, to: bob.name, body: 'x' })
					.catch(() => undefined);
				if (answer && [200, 201].includes(answer.status)) {
					accepted.push(id);
					break;
				}
				await sleep(20);
			}
		}
	})();
	return { accepted,
		stop: async () => {
			going = false;
			await work;
		} };
}

/** Returns every id in the inbox of ${user}, by the Link of each page. */
async function inboxIds(user)
{
	const ids = [];
	let target = '/v1/inbox?after=0&limit=200';

	while (target) {
		const answer = expectStatus(await user.get(target), 200);
		ids.push(...answer.body.events.map((event) => event.id));
		target = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
	}
	return ids;
}

describe('Patroni, asynchronous', () => {
	it('the loss of the leader makes another epoch', async (t) => {
		const cluster = await new Patroni({ settings:
			{ synchronous_mode: false, synchronous_mode_strict: false } }).start();
		t.after(() => cluster.remove());
		const node = await new Server({ args: ['--db', cluster.url()],
			unlimited: 'one user sends as fast as can be' }).start();
		t.after(() => node.kill());
		const [ann, bob] = await users(node, 'ann', 'bob');
		const { epoch } = expectStatus(await ann.get('/v1'), 200).body;
		const work = stream(ann, bob);

		await eventually(() => work.accepted.length > 50, 'load');
		const { url } = node;
		const leader = await cluster.leader();
		await cluster.kill(leader);
		await cluster.led(leader);
		await eventually(() => /cluster\.epoch .*why=/.test(node.output()), 'another epoch', 60_000);
		const before = work.accepted.length;
		await eventually(() => work.accepted.length > before + 50, 'load goes on', 60_000);
		await work.stop();
		const now = expectStatus(await ann.get('/v1'), 200).body.epoch;
		assert.notEqual(now, epoch);
		assert.equal(node.url, url);
		const gone = expectStatus(await bob.get(`/v1/inbox?after=${epoch}:1`), 410).body;
		assert.equal(gone.epoch, now);
		const { length } = work.accepted;
		const ids = await eventually(async () => {
			const all = await inboxIds(bob);
			return all.includes(work.accepted.at(-1)) && all;
		}, 'the last one is there');
		assert.equal(new Set(ids).size, ids.length, 'none twice');
		const lost = work.accepted.filter((id) => !ids.includes(id)).length;
		t.diagnostic(`accepted=${length} lost=${lost} twice=0, which an asynchronous failover ` +
			`may; why=${/cluster\.epoch .*why=(.*)/.exec(node.output())[1]}`);
		/* A message that is sent again with its id is there once. */
		for (const id of work.accepted)
			expectStatus(await ann.post('/v1/messages', { id, to: bob.name, body: 'x' }), 200, 201);
		await eventually(async () => new Set(await inboxIds(bob)).size === length,
			'all are there');
		assert.equal((await node.stop()).code, 0);
	});
});
