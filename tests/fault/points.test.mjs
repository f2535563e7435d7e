// SPDX-License-Identifier: MIT
//
// Every fault point that a scripted run of five messages passes: in one run for
// each passage, the server is killed there.  After a restart the script is
// completed, and its final state must be the golden end.  Every point in the
// server's sources must be reached.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the test is skipped; with TWINBOX_FAULTS_REQUIRED=1 it fails.
// POINTS_MAX (default 30) limits the passages of one point that are tried: the
// first ones and the last one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import { onPostgres } from '../e2e/backend.mjs';
import { Server, killAll } from '../e2e/harness.mjs';
import {
	Died, Script, copyData, dropData, goldenEnd, inParallel, isRemotePoint, pointsInSources, prepare,
} from './crash-scenario.mjs';

const program = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
const skip = program || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';
const MAX = Number(process.env.POINTS_MAX ?? 30);
const WORKERS = Number(process.env.POINTS_WORKERS ?? 3);

/**
 * Returns a Map from each point to the number of passages in an undisturbed
 * run.
 */
async function survey(made)
{
	const data = copyData(made.data);
	const trace = path.join(path.dirname(data), 'trace');
	const server = new Server({ program, data, env: { TWINBOX_FAULT_TRACE: trace } });
	const script = new Script(made);

	await server.start();
	await script.run(server);
	await server.kill();
	const points = new Map();
	for (const name of fs.readFileSync(trace, 'utf8').split('\n').filter(Boolean))
		points.set(name, (points.get(name) ?? 0) + 1);
	dropData(data);
	return points;
}

/** Returns the passages to kill at: the first ${MAX} - 1 and the last. */
function passages(count)
{
	const all = Array.from({ length: count }, (_none, i) => i + 1);

	return count <= MAX ? all : [...all.slice(0, MAX - 1), count];
}

/**
 * Kills at the ${n}-th passage of ${name}.  Returns true if the run got there.
 */
async function killAt(made, golden, name, n)
{
	const server = new Server({ program, data: copyData(made.data) });
	const script = new Script(made);
	const killed = await server.start({ env: { TWINBOX_FAULT: `${name}:${n}:kill` } })
		.then(() => script.run(server)).then(() => false, (error) => {
			if (error instanceof Died || server.last?.signal === 'SIGKILL')
				return true;
			throw error;
		});

	if (killed)
		assert.equal(server.last.signal, 'SIGKILL');
	else
		await server.kill();
	await server.start();
	await script.run(server);
	await script.prove(golden);
	await server.kill();
	dropData(server.data);
	return killed;
}

/*
 * Points that this test cannot reach.  With SQLite the log is synced beside the
 * writer; PostgreSQL syncs in its commit, and there the relay makes all
 * receipts.  There is no other server here:
 * tests/contract/test_receive_receipts.c kills at `receive`.
 */
const ELSEWHERE = onPostgres ? /^(writer\.sync|receive|receipt)\./ : /^receive\./;
/*
 * Points of commands, which tests/postgres/copy.test.mjs and signals.test.mjs
 * kill.
 */
const COMMANDS = /^(backup|copy|fsck|migrate|restore)\./;
/* Points where only a note to other nodes can be lost. */
const LOST_ONLY = /^cluster\./;

after(killAll);

it('R1 R4 R168 R191 F2 a kill at every fault point ends golden',
   { skip }, async (t) => {
	assert.ok(program, 'TWINBOXD_FAULTS is not set');
	const made = await prepare(program, { pauses: true });
	const golden = await goldenEnd(made, { program });
	const points = await survey(made);
	const killed = {};
	const work = [...points].flatMap(([name, count]) =>
		passages(count).map((n) => [name, n]));

	t.diagnostic(`points passed: ${JSON.stringify(Object.fromEntries(points))}`);
	assert.ok(points.size >= 5, `only ${points.size} fault points: is it a build with faults?`);
	assert.deepEqual([...points.keys()].filter((name) => !LOST_ONLY.test(name)).sort(),
		pointsInSources().filter((name) => !isRemotePoint(name) && !ELSEWHERE.test(name) &&
			!COMMANDS.test(name)));
	await inParallel(WORKERS, work, async ([name, n]) => {
		let hit;
		try {
			hit = await killAt(made, golden, name, n);
		} catch (error) {
			throw new Error(`killed at ${name}:${n}: ${error.message}`, { cause: error });
		}
		killed[name] = (killed[name] ?? 0) + (hit ? 1 : 0);
	});
	t.diagnostic(`killed: ${JSON.stringify(killed)}; ${points.size} points, ${work.length} runs, ` +
		'golden each time');
	for (const name of points.keys())
		assert.ok(killed[name] > 0, `no run died at ${name}`);
	dropData(made.data);
});
