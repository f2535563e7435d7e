// SPDX-License-Identifier: MIT
//
// SIGKILL at random moments under load by senders and readers, and a restart
// after each.  No message that was answered 201 is lost, none is twice in an
// inbox, order is kept, every inbox is without gaps, REST and WebSocket agree,
// and fsck finds nothing in the data that each kill leaves behind.  The test
// prints its counts.
//
// Environment: CRASH_ROUNDS (default 50), CRASH_SEED (default: derived from the
// commit; it is printed, and repeats the moments but not the interleaving).

import assert from 'node:assert/strict';
import { after, it } from 'node:test';

import { assertSound } from '../e2e/fsck.mjs';
import { eventually, killAll, seedOf, sleep, startServer, users } from '../e2e/harness.mjs';
import { History, judge, told } from './crash-checker.mjs';
import { Target, crowd, random } from './crash-load.mjs';

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 50);
/*
 * The most rounds on one database, because fsck reads all of it after each
 * kill.
 */
const ROUNDS_MOST = 100;
const SEED = seedOf('CRASH_SEED');

async function startAgain(server, target, rnd, kills, starts)
{
	// In every fifth round the server dies while it starts.
	while (rnd() < 0.2) {
		server.spawn();
		await sleep(rnd() * 60);
		await server.kill();
		kills.starting++;
	}
	const begin = performance.now();
	await server.start();
	starts.push(performance.now() - begin);
	target.up();
}

after(killAll);

/** Kills a server ${rounds} times; the server has its own data. */
async function story(t, rounds, seed)
{
	const rnd = random(seed);
	const server = await startServer({ unlimited: 'the load is as much as there can be' });
	const history = new History();
	const target = new Target(server);
	const kills = { running: 0, starting: 0 };
	const starts = [];

	t.after(() => {
		target.abandon();
		return server.kill();
	});
	const all = await users(server, 'ann', 'bob', 'cat', 'dan', 'eve', 'fox');
	target.up();
	const clients = crowd(target, history, all);
	for (let round = 0; round < rounds && !clients.broken; round++) {
		// A random moment during the next 100 messages, however long they take.
		const wanted = history.counts.accepted + rnd() * 100;
		await eventually(() => clients.broken || history.counts.accepted >= wanted,
			'messages are accepted');
		await sleep(rnd() * 30);
		target.down();
		await server.kill();
		kills.running++;
		await assertSound(server);
		await startAgain(server, target, rnd, kills, starts);
	}
	target.end();
	await clients.ended;
	const verdict = await judge(history, all);
	const { violations, counts } = verdict;
	starts.sort((a, b) => a - b);
	t.diagnostic(`seed ${seed}: ${told(verdict, { rounds,
		killed: kills.running + kills.starting, starting: kills.starting })}`);
	t.diagnostic(`start to ready median ${starts[starts.length >> 1].toFixed(0)} ms, longest ` +
		`${starts.at(-1).toFixed(0)} ms; fsck after each kill, and now: ` +
		await assertSound(server));
	assert.deepEqual(violations, []);
	assert.equal(kills.running, rounds);
	assert.equal(counts.accepted, counts.sent);
	assert.equal(counts.clients, 12, 'every client was at work');
	assert.ok(counts.accepted > rounds * 10, 'there was hardly any load');
	assert.ok(counts.unknown > rounds / 2, 'hardly a kill hit a request');
	assert.ok(counts.shown > counts.accepted / 2, 'hardly anything was read');
	assert.ok(counts.receipts > 0, 'no receipts');
	assert.equal((await server.stop()).code, 0);
}

for (let done = 0; done < ROUNDS; done += ROUNDS_MOST) {
	const rounds = Math.min(ROUNDS - done, ROUNDS_MOST);

	it(`R1 R2 R4 R89 R90 R91 R93 R237 R119 R191 R211 R212 R231 R235 I1 I2 I3 I7 SIGKILL under load, ${rounds} times after ${done}`,
	(t) => story(t, rounds, SEED + done));
}
