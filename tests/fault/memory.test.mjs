// SPDX-License-Identifier: MIT
//
// Allocations fail at random under mixed load, in the program and in its
// libraries.  The server never ends by a signal, nothing is corrupt, no
// accepted message is lost, and one second after the last failure every route
// works.  The tests run on both databases (TWINBOX_TEST_BACKEND) and on any
// build: under AddressSanitizer, which checks every access, and natively, with
// canaries around each block and without them.
//
// Environment: MEMORY_FAILURES (for each test, default 3000), MEMORY_SEED
// (default: derived from the commit; it is printed, and repeats the rates but
// not the interleaving).

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';

import { onPostgres } from '../e2e/backend.mjs';
import { expectReadyMade } from '../e2e/contract.mjs';
import { operator } from '../e2e/operator.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import {
	Server, eventually, expectStatus, killAll, seedOf, sleep, users,
} from '../e2e/harness.mjs';
import { History, judge, told } from './crash-checker.mjs';
import { crowd, random } from './crash-load.mjs';
import { Starved, arraySender, session, tour, walkers } from './memory-load.mjs';
import { Memory } from './memory.mjs';

const FAILURES = Number(process.env.MEMORY_FAILURES ?? 3000);
const SEED = seedOf('MEMORY_SEED');
const SANITIZED = process.env.TWINBOX_SANITIZED === '1';
/* The longest time from the last failure until every route answers. */
const RECOVERY_MS = 1000;
/* Without a failure for this long the server no longer allocates: it hangs. */
const STANDSTILL_MS = 60_000;
const EXIT_NO_MEMORY = 71;

/*
 * Failure rates, and how long each lasts.  Rare failures occur deep inside of
 * requests.  The failure of all calls is what a real shortage looks like.
 */
const WEATHER = [
	{ least: 0.001, most: 0.01, ms: 400 },
	{ least: 0.01, most: 0.1, ms: 200 },
	{ least: 0.1, most: 0.4, ms: 150 },
	{ least: 0.5, most: 1, ms: 50 },
	{ least: 0, most: 0, ms: 50 },
];

/**
 * Returns the output of ${server} that is not a log line (an assertion, a
 * report of a sanitizer, a damaged block), its reasons for answers with 500,
 * and the end of its log.
 */
function words(server)
{
	const lines = (server.child ?? server.last).err.split('\n');

	return [...lines.filter((line) => line !== '' && !/^\d{4}-\d\d-\d\dT/.test(line)).slice(-80),
		...lines.filter((line) => / (store\.(fail|abandon)|http\.fail) /.test(line)).slice(-20),
		...lines.slice(-12)].join('\n');
}

/** A server whose allocations fail, and all its clients. */
class World {
	constructor(guards)
	{
		this.rnd = random(SEED);
		this.memory = new Memory(SEED, guards);
		this.server = new Server({ env: this.memory.env,
			unlimited: 'the load is as much as there can be',
			args: ['--registration-rate', '1000000'] });
		this.history = new History();
		this.target = new Starved(this.server);
		this.ends = 0;
	}

	async begin()
	{
		const { server, history, target } = this;

		await server.start();
		this.people = await users(server, 'ann', 'bob', 'cat', 'dan');
		this.pair = await users(server, 'eve', 'fox');
		this.root = await operator(server);
		target.up();
		const arrays = this.people.map((user, i) => arraySender(target, history, user,
			this.people.filter((other) => other !== user), `${i}c`));
		this.ended = Promise.all([crowd(target, history, this.people).ended, ...arrays,
			...walkers(target, this.pair, this.root)]);
		this.ended.catch((error) => { this.broken = error; });
	}

	/**
	 * The server has ended.  For lack of memory it may, with its own exit
	 * code.  Starts it again, as a service manager would.
	 */
	async restart()
	{
		const { server, memory, target } = this;
		const { code, signal } = server.last;

		memory.rate(0);
		// This message replaces that of the assertion.
		assert.deepEqual({ code, signal }, { code: EXIT_NO_MEMORY, signal: null },
			`the server has ended: code ${code}, signal ${signal}\n${words(server)}`);
		this.ends++;
		target.down();
		await server.start();
		target.up();
	}

	/** Makes calls fail until ${n} have failed. */
	async starve(n)
	{
		const { memory, rnd } = this;
		let last = { failures: -1, at: 0 };

		for (;;) {
			const { failures } = memory.figures();
			if (failures >= n || this.broken)
				break;
			if (failures > last.failures)
				last = { failures, at: Date.now() };
			assert.ok(Date.now() - last.at < STANDSTILL_MS, 'nothing is allocated any more');
			const { least, most, ms } = WEATHER[Math.floor(rnd() * WEATHER.length)];
			memory.rate(least + rnd() * (most - least));
			await sleep(ms * (0.5 + rnd()));
			if (!this.server.running)
				await this.restart();
		}
		memory.rate(0);
		if (this.broken)
			throw new Error(`${this.broken.stack}\n${words(this.server)}`);
	}

	/** Waits until every route works.  Returns the number of steps. */
	async recovered()
	{
		const { server, pair, root } = this;

		return eventually(async () => {
			expectStatus(await server.rest().get('/readyz'), 200);
			await session(pair[0], pair[1]);
			return tour(pair, root);
		}, 'every route works', RECOVERY_MS).catch((error) => {
			throw new Error(`${error.message}: ${error.cause?.message}\n${words(server)}`);
		});
	}

	/** Waits until the server holds no answers, long-polls or sessions. */
	async released()
	{
		await eventually(async () => {
			for (const gauge of ['http_answer_bytes', 'long_polls', 'ws_sessions'])
				assert.equal(await this.server.metric(gauge), 0, gauge);
			return true;
		}, 'nothing is held for anybody');
	}

	end()
	{
		this.target.abandon();
		this.memory.end();
		return this.server.kill();
	}
}

after(killAll);
expectReadyMade();

function tell(t, world, verdict, more)
{
	const { calls, failures, checked, modules } = world.memory.figures();
	const { target, history } = world;
	const json = (map) => JSON.stringify(Object.fromEntries(map));

	t.diagnostic(`seed ${SEED}: ${told(verdict, { failures, calls, checked, ends: world.ends,
		...more })}`);
	t.diagnostic(`by library, failures: ${json(modules)}`);
	t.diagnostic(`answers ${JSON.stringify(target.answers)}; asked again because of ` +
		`${json(history.reasons)}; sessions ended ${json(history.ends)}`);
}

async function trial(t, guards)
{
	const world = new World(guards);
	const { memory, server } = world;

	t.after(() => world.end());
	await world.begin();
	const begin = performance.now();
	await world.starve(FAILURES);
	const seconds = ((performance.now() - begin) / 1000).toFixed(1);
	const steps = await world.recovered();
	world.target.end();
	await world.ended;
	const verdict = await judge(world.history, world.people);

	tell(t, world, verdict, { seconds, steps });
	t.diagnostic(`fsck: ${await assertSound(server)}`);
	assert.deepEqual(verdict.violations, []);
	assert.equal(verdict.counts.accepted, verdict.counts.sent);
	assert.ok(verdict.counts.accepted > 100, 'there was hardly any load');
	const { guarded, modules } = memory.figures();
	assert.equal(guarded, guards && !SANITIZED);
	for (const name of ['twinboxd', 'libmicrohttpd', 'libwebsockets',
		onPostgres ? 'libpq' : 'libsqlite3'])
		assert.ok(modules.get(name) > 0, `no allocation of ${name} has failed`);
	await world.released();
	const { code, signal } = await server.stop();
	assert.deepEqual({ code, signal }, { code: 0, signal: null },
		`the stop: code ${code}, signal ${signal}\n${words(server)}`);
}

describe(`${FAILURES} allocations fail under load`, () => {
	it(SANITIZED ? 'below a sanitizer' : 'between canaries', (t) => trial(t, true));
	if (!SANITIZED)
		it('without canaries', (t) => trial(t, false));
});
