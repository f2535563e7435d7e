// SPDX-License-Identifier: MIT
//
// Nodes on a PostgreSQL of their own, with users at work on all of them and a
// record of what has happened.  It is for tests that break something meanwhile
// and finally check whether everything that was answered is there, once and in
// order.
//
//	const world = await new World(t, seed).begin(3);
//	await world.round('a node is killed', async () => { … });
//	await world.verdict();

import assert from 'node:assert/strict';
import path from 'node:path';

import {
	Server, TWINBOXD, eventually, run, sleep, tempDir, users,
} from '../e2e/harness.mjs';
import { History, judge, told } from '../fault/crash-checker.mjs';
import { Nodes, crowd, random } from '../fault/crash-load.mjs';
import { Cluster } from './cluster.mjs';

export class World {
	constructor(t, seed)
	{
		this.t = t;
		this.rnd = random(seed);
		this.seed = seed;
		this.history = new History();
		this.done = {};
		this.killed = 0;
		this.rounds = 0;
		t.after(() => this.end());
	}

	/**
	 * Starts ${n} nodes and registers users.  ${options}(i) returns the
	 * options of node i (as for Server; `url`: where it finds the database,
	 * `args`: further arguments).  ${database} starts the PostgreSQL.
	 */
	async begin(n, options = () => ({}), database = () => new Cluster().start())
	{
		this.cluster = await database();
		this.url = await this.cluster.createDatabase('chat');
		this.nodes = await Promise.all(Array.from({ length: n }, async (_, i) => {
			const { url = this.url, args = [], ...more } = await options(i);
			return new Server({ unlimited: 'the load is as much as there can be', ...more,
				args: ['--db', url, ...args] });
		}));
		await Promise.all(this.nodes.map((node) => node.start()));
		this.target = new Nodes(this.nodes);
		this.people = await users(this.nodes[0], 'ann', 'bob', 'cat', 'dan', 'eve', 'fox');
		this.clients = crowd(this.target, this.history, this.people);
		return this;
	}

	async end()
	{
		this.target?.abandon();
		await Promise.all((this.nodes ?? []).map((node) => node.running && node.kill()));
		await this.cluster?.remove();
	}

	/**
	 * Waits for a random time up to ${ms} milliseconds, which depends on
	 * the seed.
	 */
	moment(ms)
	{
		return sleep(this.rnd() * ms);
	}

	pick(list)
	{
		return list[Math.floor(this.rnd() * list.length)];
	}

	/**
	 * Returns how many times other nodes have logged that they mark ${node}
	 * dead, whose process is or was ${pid}.  Only the first node that
	 * notices logs it.
	 */
	heldDead(node, pid = node.pid)
	{
		const name = new RegExp(`cluster\\.dead .*name=[^:\\s]+:${pid}:`, 'g');

		return this.nodes.filter((one) => one !== node).reduce((sum, one) =>
			sum + (one.output().match(name)?.length ?? 0), 0);
	}

	async kill(node)
	{
		await node.kill();
		this.killed++;
	}

	/**
	 * Asserts that fsck finds nothing in the database.  Returns its output.
	 */
	async assertSound()
	{
		const child = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', this.url]);
		const { code } = await child.exited;

		assert.equal(code, 0, child.out + child.err);
		return child.out.trim();
	}

	/** Waits until every node is ready and serves. */
	async recovered()
	{
		await Promise.all(this.nodes.map((node) => eventually(async () =>
			(await node.rest().get('/readyz')).status === 200 &&
			(await this.target.at(this.people[0]).get('/v1/inbox?limit=1')).status === 200,
		'a node serves again', 30_000)));
	}

	/**
	 * Runs one round: load, the accident ${name}, and then everything must
	 * work again.
	 */
	async round(name, accident)
	{
		await sleep(50);
		await this.moment(500);
		await accident(this);
		await this.recovered();
		await this.assertSound();
		this.rounds++;
		this.done[name] = (this.done[name] ?? 0) + 1;
	}

	/** Ends the load and checks the result.  Prints the counts. */
	async verdict(more = {})
	{
		this.target.end();
		await this.clients.ended;
		const verdict = await judge(this.history, this.people.map((user) => this.target.at(user)));

		this.t.diagnostic(`seed ${this.seed}: ${told(verdict, { rounds: this.rounds,
			killed: this.killed, ...more })}`);
		this.t.diagnostic(`${JSON.stringify(this.done)}; fsck after each, and now: ${
			await this.assertSound()}`);
		assert.deepEqual(verdict.violations, []);
		const { counts } = verdict;
		assert.equal(counts.accepted, counts.sent);
		assert.equal(counts.clients, 12, 'every client was at work');
		assert.ok(counts.accepted > this.rounds * 10, 'there was hardly any load');
		assert.ok(counts.unknown >= this.rounds, 'hardly an accident hit a request');
		assert.ok(counts.shown > counts.accepted / 2, 'hardly anything was read');
		assert.ok(counts.receipts > 0, 'no receipts');
		await Promise.all(this.nodes.map(async (node) => {
			assert.equal((await node.stop()).code, 0, node.output().slice(-2000));
		}));
	}
}
