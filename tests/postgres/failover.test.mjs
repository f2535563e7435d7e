// SPDX-License-Identifier: MIT
//
// A node whose URL names two servers, a primary and its replica.  The primary
// is killed and the replica promoted, and the node continues by itself.
// Messages that were accepted while commits waited for the replica are there,
// once and in order.  A message with any other answer may be repeated with its
// id.  The same with three nodes and many clients, whose sessions continue at
// their cursors.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { Server, eventually, expectStatus, sleep, users, uuid7 } from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { World } from './world.mjs';

const SENDERS = 4;

describe('failover', () => {
	let cluster;
	let replica;
	let server;
	let ann;
	let bob;

	before(async () => {
		cluster = await new Cluster().start();
		await cluster.createDatabase('chat');
		replica = await cluster.replica('replica');
		await cluster.synchronous('replica');
		/*
		 * The URL names both, the primary first, so that the node must
		 * move on to the second.
		 */
		const url = cluster.url('chat', { port: `${cluster.port},${replica.port}` });
		server = await new Server({ args: ['--db', url],
			unlimited: 'one user sends as fast as can be' }).start();
		[ann, bob] = await users(server, 'ann', 'bob');
	});
	after(async () => {
		await server?.kill();
		await replica?.remove();
		await cluster?.remove();
	});

	it('accepts nothing that the replica does not have', async () => {
		const message = { id: uuid7(), to: bob.name, body: 'waits' };
		const next = { id: uuid7(), to: bob.name, body: 'waits for a row' };
		let first;
		let second;

		await replica.pause();
		try {
			first = await ann.post('/v1/messages', message);
			/*
			 * The session of the abandoned commit still locks the
			 * rows of the same users.
			 */
			second = await ann.post('/v1/messages', next);
		} finally {
			replica.resume();
		}
		for (const { status, body, headers } of [first, second]) {
			assert.equal(status, 503);
			assert.match(body.detail, /^no standby of the database confirms it, .*same id$/);
			assert.ok(Number(headers.get('retry-after')) > 0);
		}
		assert.equal(server.output().match(/ store\.fail /g).length, 1, server.output());
		await eventually(async () => [200, 201].includes(
			(await ann.post('/v1/messages', message)).status), 'a repeat is accepted', 60_000);
		await bob.received(message.id);
	});

	for (const [name, call, said] of [
		['cancelled', 'pg_cancel_backend', 'canceling wait for synchronous replication'],
		['ended with its session', 'pg_terminate_backend', 'canceling the wait for synchronous'],
	]) {
		it(`does not take a commit whose wait for the replica is ${name} for one`, async () => {
			const message = { id: uuid7(), to: bob.name, body: name };
			const { length } = cluster.log();
			let status;

			await replica.pause();
			try {
				const answer = ann.post('/v1/messages', message);
				await eventually(() => cluster.sql(`SELECT ${call}(pid) FROM pg_stat_activity ` +
					"WHERE application_name = 'twinbox writer' AND wait_event = 'SyncRep'"),
				'the commit waits');
				({ status } = await answer);
			} finally {
				replica.resume();
			}
			assert.equal(status, 503);
			assert.ok(cluster.log().slice(length).includes(said));
			/*
			 * The commit was done all the same, so a repeat does
			 * not store the message again.
			 */
			await eventually(async () => (await ann.post('/v1/messages', message)).status === 200,
				'it is known', 60_000);
			await bob.received(message.id);
		});
	}

	it('loses nothing that was accepted, and doubles nothing', async () => {
		const { head } = await bob.inbox();
		const accepted = [];
		const unknown = [];
		const reasons = new Set();
		let going = true;
		let later = 0;

		const load = Array.from({ length: SENDERS }, async (_none, who) => {
			for (let i = 0; going; i++) {
				const message = { id: uuid7(), to: bob.name, body: `${who}:${i}` };
				try {
					const { status, body } = await ann.post('/v1/messages', message);
					if (status === 503)
						reasons.add(body.detail);
					if (status === 201) {
						accepted.push(message.id);
						later += replica.upstream ? 0 : 1;
						continue;
					}
					assert.ok(status >= 500, `${status}`);
				} catch (error) {
					if (error.code === 'ERR_ASSERTION')
						throw error;
				}
				unknown.push(message);
				await sleep(50);
			}
		});
		try {
			await eventually(() => accepted.length > 50, 'load');
			await cluster.kill();
			await replica.promote();
			await eventually(() => later > 50, 'the node goes on', 60_000);
		} finally {
			going = false;
			await Promise.all(load);
		}
		for (const message of unknown) {
			await eventually(async () => [200, 201].includes(
				(await ann.post('/v1/messages', message)).status), 'a repeat is accepted');
		}
		const wanted = new Set([...accepted, ...unknown.map((one) => one.id)]);
		const { events } = await eventually(async () => {
			const inbox = await bob.inbox(head);
			return inbox.head >= head + wanted.size && inbox;
		}, `${wanted.size} messages in the inbox`, 60_000);

		contiguous(events, head + 1);
		assert.equal(events.length, wanted.size);
		assert.deepEqual(new Set(events.map((e) => e.id)), wanted);
		assert.ok(reasons.has('the database is away; repeat with the same id'), [...reasons].join());
		assert.equal(expectStatus(await server.rest().get('/readyz'), 200).status, 200);
		await server.stop();
	});
});

describe('failover of three nodes under load', () => {
	it('loses nothing that was answered; clients go on by their cursors', async (t) => {
		const world = new World(t, 1);
		let making;

		const replica = async () => {
			const other = await world.cluster.replica('replica');
			t.after(() => other.remove());
			await world.cluster.synchronous('replica');
			return other;
		};
		await world.begin(3, async () => {
			const other = await (making ??= replica());
			return { url: world.cluster.url('chat',
				{ port: `${world.cluster.port},${other.port}` }) };
		});
		const other = await making;
		const before = () => world.history.calls.filter((call) => call.end !== null).length;

		await eventually(() => before() > 200, 'load');
		await world.round('the leader is lost and its replica promoted', async () => {
			await world.cluster.kill();
			world.killed++;
			await other.promote();
			world.url = other.url('chat');
		});
		const after = before();
		await eventually(() => before() > after + 200, 'load goes on', 60_000);
		await world.verdict();
		assert.ok(world.nodes.every((node) => node.starts === 1));
	});
});
