// SPDX-License-Identifier: MIT
//
// SIGKILL before the k-th write or sync system call on the files of the
// database, for k = 1, 2, 3 … until k is larger than the number of calls in a
// scripted run of five messages.  The same for a start that has a log to
// recover.  After each kill the server is restarted and the script is run to
// its end.  The checker must find nothing, and the final state must be the
// golden end.
//
// strace counts per thread and kind of call (strace.mjs), so each kind has a k
// of its own.  A run that was not killed at the k-th call counts as such only
// if none of its threads made k calls.
//
// Environment: KILLSYS_STRIDE (default 1: every k), KILLSYS_WORKERS (default
// 3).

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, it } from 'node:test';

import { Server, TWINBOXD, killAll, within } from '../e2e/harness.mjs';
import {
	Died, Script, copyData, dropData, goldenEnd, inParallel, prepare,
} from './crash-scenario.mjs';
import { attach, counted, noStrace, watched } from './strace.mjs';

const CALLS = ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'fdatasync', 'fsync',
	'ftruncate', 'fallocate', 'sync_file_range', 'unlink', 'unlinkat', 'rename', 'renameat2'];
const STRIDE = Number(process.env.KILLSYS_STRIDE ?? 1);
const WORKERS = Number(process.env.KILLSYS_WORKERS ?? 3);

/** Returns the number of calls of each kind in a whole run. */
async function surveyRun(made)
{
	const data = copyData(made.data);
	const trace = path.join(path.dirname(data), 'trace');
	const server = new Server({ data });
	const script = new Script(made);

	await server.start();
	const strace = await attach(server.pid, ['-o', trace,
		'-e', `trace=${CALLS.join(',')}`, ...watched(data)]);
	await script.run(server);
	await server.kill();
	await strace.exited;
	const calls = counted(trace);
	dropData(data);
	return calls;
}

/** Returns the number of calls of each kind in a start. */
async function surveyStart(made)
{
	const data = copyData(made.data);
	const trace = path.join(path.dirname(data), 'trace');
	const server = new Server({ data, wrapper: ['strace', '-D', '-f', '-qq', '-o', trace,
		'-e', `trace=${CALLS.join(',')}`, ...watched(data)] });

	await server.start();
	await server.kill();
	const calls = counted(trace);
	dropData(data);
	return calls;
}

/** Restarts the server, completes the script, and checks the final state. */
async function recover(server, script, golden)
{
	server.wrapper = [];
	await server.start();
	await script.run(server);
	await script.prove(golden);
	await server.kill();
	dropData(server.data);
}

/**
 * Asserts that no thread reached the k-th ${call}, which should have killed it.
 * Returns the number of calls.
 */
function notMore(trace, call, k)
{
	const n = counted(trace)[call] ?? 0;

	assert.ok(n < k, `${call} number ${k} was made, of ${n}, and did not kill`);
	return n;
}

/**
 * Makes one run that is killed at the k-th ${call}.  Returns {killed, calls}.
 */
async function runKilled(made, golden, call, k)
{
	const server = new Server({ data: copyData(made.data) });
	const script = new Script(made);

	const trace = path.join(path.dirname(server.data), 'trace');

	await server.start();
	const strace = await attach(server.pid, ['-o', trace, '-e', `trace=${call}`,
		'-e', `inject=${call}:signal=SIGKILL:when=${k}`, ...watched(server.data)]);
	const killed = await script.run(server).then(() => false, (error) => {
		if (error instanceof Died)
			return true;
		throw error;
	});
	const end = killed ? server.last : await server.kill();
	await within(strace.exited, 5000, 'the end of strace');
	assert.equal(end.signal, 'SIGKILL');
	const calls = notMore(trace, call, k);
	await recover(server, script, golden);
	return { killed, calls };
}

/**
 * Makes one start that is killed at the k-th ${call}.  Returns {killed, calls}.
 */
async function startKilled(made, golden, call, k)
{
	const data = copyData(made.data);
	const trace = path.join(path.dirname(data), 'trace');
	const server = new Server({ data, wrapper: ['strace', '-D', '-f', '-qq', '-o', trace,
		'-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${k}`,
		...watched(data)] });
	const killed = await server.start().then(() => false, (error) => {
		if (server.last?.signal === 'SIGKILL')
			return true;
		throw error;
	});

	if (!killed)
		await server.kill();
	const calls = notMore(trace, call, k);
	await recover(server, new Script(made), golden);
	return { killed, calls };
}

/**
 * Kills at k = 1, 2, 3 … until three consecutive runs were not killed.  Returns
 * the number of kills, and the fewest calls of a run that was not killed.  The
 * kills must reach as far as that run, or as the surveyed one, which made
 * ${surveyed} calls.
 */
async function untilItPasses(call, surveyed, one)
{
	const passed = new Set();
	const killed = [];
	let fewest = surveyed;
	const over = () => [...passed].some((k) =>
		passed.has(k + STRIDE) && passed.has(k + 2 * STRIDE));
	const work = (function* () {
		for (let k = 1; !over(); k += STRIDE)
			yield k;
	})();

	await inParallel(WORKERS, work, async (k) => {
		let run;
		try {
			run = await one(k);
		} catch (error) {
			throw new Error(`killed at ${call} number ${k}: ${error.message}`, { cause: error });
		}
		if (run.killed) {
			killed.push(k);
		} else {
			passed.add(k);
			fewest = Math.min(fewest, run.calls);
		}
	});
	const furthest = Math.max(0, ...killed);
	assert.ok(furthest + STRIDE > fewest,
		`the kills reach ${call} number ${furthest}, and a run makes ${fewest}`);
	return { kills: killed.length, fewest };
}

/** Asserts that ${calls} include writes and syncs. */
function assertSeen(calls)
{
	for (const kind of [/write/, /sync/])
		assert.ok(Object.keys(calls).some((call) => kind.test(call)), `no ${kind} was seen`);
}

/**
 * Does this for each kind of ${calls}.  Returns the number of kills of each
 * kind.  A kind may have no kill if not every run makes it: only a slow run
 * writes DATA/mark, which upkeep writes from time to time.
 */
async function killAtEach(calls, one)
{
	const had = {};

	for (const [call, surveyed] of Object.entries(calls)) {
		const { kills, fewest } = await untilItPasses(call, surveyed, (k) => one(call, k));
		assert.ok(kills > 0 || fewest === 0, `no kill at ${call}`);
		if (kills > 0)
			had[call] = kills;
	}
	assertSeen(had);
	return had;
}

after(killAll);

const TITLE = 'R1 R4 R191 R211 F1 SIGKILL before every write-class system call';

it(`${TITLE} of a run of 5 messages`, { skip: noStrace }, async (t) => {
	const made = await prepare(TWINBOXD);
	const golden = await goldenEnd(made);
	const calls = await surveyRun(made);

	t.diagnostic(`a run makes ${JSON.stringify(calls)}`);
	assertSeen(calls);
	const kills = await killAtEach(calls, (call, k) => runKilled(made, golden, call, k));
	t.diagnostic(`killed at ${JSON.stringify(kills)}; nothing lost, nothing twice, golden end`);
	dropData(made.data);
});

it(`${TITLE} of a start with a log to recover`, { skip: noStrace }, async (t) => {
	const made = await prepare(TWINBOXD, { halfway: true });
	const golden = await goldenEnd(made);
	const calls = await surveyStart(made);

	t.diagnostic(`a start makes ${JSON.stringify(calls)}`);
	assertSeen(calls);
	const kills = await killAtEach(calls, (call, k) => startKilled(made, golden, call, k));
	t.diagnostic(`killed at ${JSON.stringify(kills)}`);
	dropData(made.data);
});
