// SPDX-License-Identifier: MIT
//
// Uses strace to break a server from outside: at the k-th system call of one
// kind on the files of its database the server is killed, or the call fails.
// strace counts per thread and kind of call.  When it is attached after the
// server listens, it sees only the writer and the thread that syncs for it.
// Its option -P leaves out logs and sockets.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

import { entriesIn } from '../e2e/files.mjs';
import { eventually, run } from '../e2e/harness.mjs';

/** Returns the reason why strace cannot be used here, or false. */
function obstacle()
{
	const scope = '/proc/sys/kernel/yama/ptrace_scope';
	const { error, status, stderr } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'],
		{ encoding: 'utf8' });

	if (error)
		return `strace: ${error.message}`;
	if (status !== 0)
		return `strace may not be used here: ${stderr.trim()}`;
	if (process.getuid() !== 0 && fs.existsSync(scope) &&
	    fs.readFileSync(scope, 'utf8').trim() !== '0')
		return 'only root may attach strace here (kernel.yama.ptrace_scope)';
	return false;
}

/** The reason to skip tests that need strace, or false. */
export const noStrace = obstacle();

/**
 * Returns the arguments that name all files which the database in ${data} has
 * or may create.
 */
export function watched(data)
{
	const files = new Set(entriesIn(data).filter(({ stat }) => stat.isFile())
		.map(({ file }) => file));

	for (const name of [...files]) {
		if (/\.(db|sqlite3?)$/.test(name))
			['-wal', '-shm', '-journal'].forEach((end) => files.add(name + end));
	}
	return [...files].flatMap((name) => ['-P', name]);
}

/**
 * Attaches strace to ${pid} with the arguments ${more}.  Resolves when it is
 * attached.
 */
export async function attach(pid, more)
{
	const strace = run('strace', ['-f', '-p', String(pid), ...more]);

	await eventually(() => {
		if (strace.exitCode !== null)
			throw new Error(`strace ended: ${strace.err}`);
		return /attached/.test(strace.err);
	}, 'strace is attached');
	return strace;
}

/**
 * Returns the completed system calls in ${trace}, in the order of completion:
 * {pid, name, args, result, began, ended}.  `began` and `ended` are line
 * numbers.
 */
export function callsIn(trace)
{
	const open = new Map();
	const calls = [];

	for (const [ended, line] of fs.readFileSync(trace, 'latin1').split('\n').entries()) {
		const [, pid, rest] = /^(?:(\d+) +)?(.*)$/.exec(line);
		const begun = /^(\w+)\((.*?)(?: <unfinished \.\.\.>|\) += \S+(?: E\w+ \(.*\))?)$/.exec(rest);
		const end = /\) += (-?\d+)(?: E\w+ \(.*\))?$/.exec(rest);
		if (begun)
			open.set(pid, { pid, name: begun[1], args: begun[2], began: ended });
		if (end && open.has(pid))
			calls.push({ ...open.get(pid), result: Number(end[1]), ended });
	}
	return calls;
}

/**
 * Returns the number of completed calls of each kind in ${trace}, for the
 * thread that made the most.  The k of strace counts up to this number.
 */
export function counted(trace)
{
	const by = {};
	const most = {};

	for (const { pid, name } of callsIn(trace)) {
		const key = `${pid} ${name}`;
		by[key] = (by[key] ?? 0) + 1;
		most[name] = Math.max(most[name] ?? 0, by[key]);
	}
	return most;
}
