// SPDX-License-Identifier: MIT
//
// strace as what breaks a server from outside: at the k-th system call of a kind
// on the files of its database it is killed, or the call fails.  It counts for
// each thread and each kind of call on its own.  Attached once the server
// listens, it sees only the writer and who syncs for it; its -P leaves out logs
// and sockets.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

import { entriesIn } from '../e2e/files.mjs';
import { eventually, run } from '../e2e/harness.mjs';

/** Why it cannot be done here; false: it can. */
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

/** A reason to skip what needs strace; false: there is none. */
export const noStrace = obstacle();

/** The arguments that name the files which the database in ${data} has or may
 * come to have. */
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

/** Attaches strace with ${more} to ${pid}; resolves once it watches. */
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

/** The system calls of ${trace} that came back, in that order: {pid, name, args,
 * result, began, ended}, the last two as lines. */
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

/** How many calls of each kind in ${trace} came back, of the thread that made the
 * most: what strace's k goes up to. */
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
