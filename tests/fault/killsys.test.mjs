// SPDX-License-Identifier: MIT
//
// SIGKILL before the k-th write-class system call on the files of the database,
// k = 1, 2, 3 … until k exceeds what a scripted run of five messages makes; the
// same for a start that has a log to recover.  After each kill: restart, the
// script is run to its end, the checker finds nothing, the end is the golden
// one.
//
// strace counts for each thread and each kind of call on its own, so each kind
// has a k of its own, and it is attached once the server listens: only the
// writer writes then.  Its -P leaves out logs and sockets.
//
// Environment: KILLSYS_STRIDE (default 1: every k), KILLSYS_WORKERS (default 3).

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import { entriesIn } from '../e2e/files.mjs';
import { Server, TWINBOXD, eventually, killAll, run, within } from '../e2e/harness.mjs';
import {
	Died, Script, copyData, dropData, goldenEnd, inParallel, prepare,
} from './crash-scenario.mjs';

const CALLS = ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'fdatasync', 'fsync',
	'ftruncate', 'fallocate', 'sync_file_range', 'unlink', 'unlinkat', 'rename', 'renameat2'];
const STRIDE = Number(process.env.KILLSYS_STRIDE ?? 1);
const WORKERS = Number(process.env.KILLSYS_WORKERS ?? 3);

/** Why it cannot be done here; false: it can. */
function obstacle()
{
	const scope = '/proc/sys/kernel/yama/ptrace_scope';

	if (spawnSync('strace', ['-V']).status !== 0)
		return 'strace is missing';
	if (process.getuid() !== 0 && fs.existsSync(scope) &&
	    fs.readFileSync(scope, 'utf8').trim() !== '0')
		return 'only root may attach strace here (kernel.yama.ptrace_scope)';
	return false;
}

const noStrace = obstacle();

const filesIn = (data) => entriesIn(data).filter(({ stat }) => stat.isFile())
	.map(({ file }) => file);

/** The files that the database has or may come to have. */
function watched(data)
{
	const files = new Set(filesIn(data));

	for (const name of [...files]) {
		if (/\.(db|sqlite3?)$/.test(name))
			['-wal', '-shm', '-journal'].forEach((end) => files.add(name + end));
	}
	return [...files].flatMap((name) => ['-P', name]);
}

/** Attaches strace with ${more} to ${pid}; resolves once it watches. */
async function attach(pid, more)
{
	const strace = run('strace', ['-f', '-p', String(pid), ...more]);

	await eventually(() => {
		if (strace.exitCode !== null)
			throw new Error(`strace ended: ${strace.err}`);
		return /attached/.test(strace.err);
	}, 'strace is attached');
	return strace;
}

/** The calls in a trace of strace, by kind. */
function counted(trace)
{
	const calls = {};

	for (const line of fs.readFileSync(trace, 'utf8').split('\n')) {
		const found = /^(?:\d+ +)?(\w+)\(/.exec(line);
		if (found)
			calls[found[1]] = (calls[found[1]] ?? 0) + 1;
	}
	return calls;
}

/** How many calls of each kind a whole run makes. */
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

/** How many calls of each kind a start makes. */
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

/** Restarts, finishes the script, proves the end. */
async function recover(server, script, golden)
{
	server.wrapper = [];
	await server.start();
	await script.run(server);
	await script.prove(golden);
	await server.kill();
	dropData(server.data);
}

/** One run that is killed at the k-th ${call}; false when it was not. */
async function runKilled(made, golden, call, k)
{
	const server = new Server({ data: copyData(made.data) });
	const script = new Script(made);

	await server.start();
	const strace = await attach(server.pid, ['-o', '/dev/null', '-e', `trace=${call}`,
		'-e', `inject=${call}:signal=SIGKILL:when=${k}`, ...watched(server.data)]);
	const killed = await script.run(server).then(() => false, (error) => {
		if (error instanceof Died)
			return true;
		throw error;
	});
	const end = killed ? server.last : await server.kill();
	await within(strace.exited, 5000, 'the end of strace');
	assert.equal(end.signal, 'SIGKILL');
	await recover(server, script, golden);
	return killed;
}

/** One start that is killed at the k-th ${call}; false when it was not. */
async function startKilled(made, golden, call, k)
{
	const data = copyData(made.data);
	const server = new Server({ data, wrapper: ['strace', '-D', '-f', '-qq', '-o', '/dev/null',
		'-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${k}`,
		...watched(data)] });
	const killed = await server.start().then(() => false, (error) => {
		if (server.last?.signal === 'SIGKILL')
			return true;
		throw error;
	});

	if (!killed)
		await server.kill();
	await recover(server, new Script(made), golden);
	return killed;
}

/** k = 1, 2, 3 … until three in a row were not killed: how many were. */
async function untilItPasses(call, one)
{
	let kills = 0;
	let passed = 0;
	const work = (function* () {
		for (let k = 1; passed < 3; k += STRIDE)
			yield k;
	})();

	await inParallel(WORKERS, work, async (k) => {
		let killed;
		try {
			killed = await one(k);
		} catch (error) {
			throw new Error(`killed at ${call} number ${k}: ${error.message}`, { cause: error });
		}
		if (killed)
			kills++;
		else
			passed++;
	});
	return kills;
}

after(killAll);

const TITLE = 'R1 R4 R191 R211 F1 SIGKILL before every write-class system call';

it(`${TITLE} of a run of 5 messages`, { timeout: 900_000, skip: noStrace }, async (t) => {
	const made = await prepare(TWINBOXD);
	const golden = await goldenEnd(made);
	const calls = await surveyRun(made);
	const kills = {};

	t.diagnostic(`a run makes ${JSON.stringify(calls)}`);
	assert.ok(Object.keys(calls).some((call) => /write/.test(call)), 'no writes were seen');
	assert.ok(Object.keys(calls).some((call) => /sync/.test(call)), 'no sync was seen');
	for (const call of Object.keys(calls))
		kills[call] = await untilItPasses(call, (k) => runKilled(made, golden, call, k));
	t.diagnostic(`killed at ${JSON.stringify(kills)}; nothing lost, nothing twice, golden end`);
	for (const call of Object.keys(calls)) {
		assert.ok(kills[call] >= Math.floor(calls[call] / STRIDE / 2),
			`${kills[call]} kills at ${calls[call]} calls of ${call}`);
	}
	dropData(made.data);
});

it(`${TITLE} of a start with a log to recover`, { timeout: 900_000, skip: noStrace }, async (t) => {
	const made = await prepare(TWINBOXD, { halfway: true });
	const golden = await goldenEnd(made);
	const calls = await surveyStart(made);
	const kills = {};

	t.diagnostic(`a start makes ${JSON.stringify(calls)}`);
	for (const call of Object.keys(calls))
		kills[call] = await untilItPasses(call, (k) => startKilled(made, golden, call, k));
	t.diagnostic(`killed at ${JSON.stringify(kills)}`);
	assert.ok(Object.values(kills).some((n) => n > 0), 'no start was killed');
	dropData(made.data);
});
