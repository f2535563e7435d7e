// SPDX-License-Identifier: MIT
//
// A crowd at three nodes: 64 clients of 16 people send arrays to everybody, in any
// order, and ack what they have, all at the same time and each request at another
// node, so that every conversation and every inbox is wanted by all nodes at once.
// All of it is there, once and in order; and no two of their transactions ever
// stood in each other's way: the database has seen no deadlock.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import {
	Server, TWINBOXD, expectStatus, killAll, run, tempDir, users, uuid7,
} from '../e2e/harness.mjs';
import { History, judge, told } from '../fault/crash-checker.mjs';
import { Nodes, insist, random } from '../fault/crash-load.mjs';
import { Cluster } from './cluster.mjs';

const NODES = 3;
const PEOPLE = 16;
const CLIENTS = 64;
const MS = Number(process.env.CROWD_MS ?? 4000);
const ARRAY_MOST = 12;
const SEED = Number(process.env.CROWD_SEED ?? Date.now() % 1_000_000);

/** ${user} sends to some of ${all}, himself too, in one request; repeated as a whole
 *  until each of them is accepted. */
async function sendArray({ target, history, rnd, user, all, client })
{
	const calls = Array.from({ length: 1 + Math.floor(rnd() * ARRAY_MOST) }, (_, i) => {
		const to = all[Math.floor(rnd() * all.length)].name;
		return history.invoke({ client, from: user.name, to, id: uuid7(), body: `${client} ${i}` });
	});
	let open = calls;

	while (open.length > 0) {
		const messages = open.map(({ to, id, body }) => ({ to, id, body }));
		const { body } = expectStatus(await insist(target, history, user, (here, patient) =>
			here.post('/v1/messages', messages, patient)), 200);

		open = open.filter((call, i) => {
			const { status, entry, replayed, problem } = body[i];
			if (status === 503) {
				history.unknown(problem.code);
				return true;
			}
			assert.ok(status === 200 || status === 201, JSON.stringify(body[i]));
			history.accepted(call, entry, replayed);
			return false;
		});
	}
}

/** ${user} acks all that he has, or half of it. */
async function ack({ target, history, rnd, user })
{
	const { body: { head } } = expectStatus(await insist(target, history, user,
		(here, patient) => here.get('/v1/inbox?limit=1', patient)), 200);
	const upto = Math.floor(rnd() < 0.5 ? head : head / 2);
	const { body } = expectStatus(await insist(target, history, user,
		(here, patient) => here.post('/v1/inbox/ack', { upto }, patient)), 200);

	history.acked(user.name, user.device_name, body.acked);
}

after(killAll);

describe('a crowd', () => {
	it(`of ${CLIENTS} at ${NODES} nodes: all is there, and there was no deadlock`,
		{ timeout: 300_000 }, async (t) => {
		const cluster = await new Cluster().start();
		t.after(() => cluster.remove());
		const url = await cluster.createDatabase('chat');
		const nodes = Array.from({ length: NODES }, () => new Server({ args: ['--db', url] }));
		await Promise.all(nodes.map((node) => node.start()));
		const target = new Nodes(nodes);
		t.after(() => target.abandon());
		const all = await users(nodes[0],
			...Array.from({ length: PEOPLE }, (_, i) => `p${i}`));
		const history = new History();
		const done = { array: 0, ack: 0 };
		const end = Date.now() + MS;

		await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
			const rnd = random(SEED + client);
			const user = all[client % PEOPLE];

			while (Date.now() < end) {
				const what = rnd() < 0.6 ? 'array' : 'ack';
				await { array: sendArray, ack }[what]({ target, history, rnd, user, all, client });
				done[what]++;
			}
		}));
		const verdict = await judge(history, all.map((user) => target.at(user)));
		t.diagnostic(`seed ${SEED}: ${told(verdict, done)}`);
		assert.deepEqual(verdict.violations, []);
		const { counts } = verdict;
		assert.equal(counts.accepted, counts.sent);
		assert.equal(counts.clients, CLIENTS, 'every client was at work');
		assert.ok(done.array > CLIENTS && done.ack > CLIENTS, 'there was hardly any load');
		for (const user of all) {
			const { events } = await target.at(user).inbox();
			contiguous(events, 1);
		}
		const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);
		assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
		assert.equal((cluster.log().match(/deadlock detected/g) ?? []).length, 0, 'deadlocks');
		assert.equal(await cluster.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'chat'"),
			'0');
		for (const node of nodes)
			assert.equal((await node.stop()).code, 0);
	});
});
