// SPDX-License-Identifier: MIT
//
// Programs and directories of a test, all of which are gone when the test
// process ends; and functions that wait, each with a time-out.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * Time-outs: long enough for argon2 on a loaded machine, and short enough that
 * a hang is noticed.
 */
export const START_TIMEOUT_MS = 20_000;
export const WAIT_MS = 10_000;

/** All time-outs are multiplied by this factor. */
const SLOW = Number(process.env.TWINBOX_SLOW ?? 1);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const children = new Set();
const directories = new Set();

/** Makes a directory that is removed when the test process ends. */
export function tempDir(prefix = 'twinbox-e2e-')
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), prefix));
	directories.add(dir);
	return dir;
}

/** Removes a directory of tempDir() now instead of at the end. */
export function removeDir(dir)
{
	directories.delete(dir);
	if (!process.env.TWINBOX_KEEP)
		fs.rmSync(dir, { recursive: true, force: true });
}

/**
 * Kills all programs that were started here.  It is for tests that failed
 * halfway.
 */
export function killAll()
{
	for (const child of children) {
		try {
			child.kill('SIGKILL');
		} catch {
			// The program has ended already.
		}
	}
}

process.on('exit', () => {
	killAll();
	for (const dir of [...directories])
		removeDir(dir);
});

/*
 * A test process that is stopped because it takes too long cleans up as well.
 */
process.on('SIGTERM', () => process.exit(143));

/*
 * The search for leaks at the end of a process takes up to a third of the
 * processor time of a short command.  Every server searches, but of the
 * commands of a file only the first and every eighth after it.  In full runs
 * all do.
 */
const LEAKS_EVERY = process.env.TWINBOX_TIER === 'full' ? 1 : 8;
let commands = 0;

/** Returns ${env} for a command: with or without the search for leaks. */
function commandEnv(env)
{
	return env.ASAN_OPTIONS === undefined || commands++ % LEAKS_EVERY === 0 ? env :
		{ ...env, ASAN_OPTIONS: `${env.ASAN_OPTIONS}:detect_leaks=0` };
}

/**
 * Starts a program.  `exited` is a promise of its end; `out` and `err` are its
 * output so far.  {server: true}: it is a server, not a command.
 */
export function run(program, args, { env = process.env, server = false, ...options } = {})
{
	const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'],
		env: server ? env : commandEnv(env), ...options });
	children.add(child);
	child.out = '';
	child.err = '';
	child.stdout?.setEncoding('utf8').on('data', (text) => {
		child.out += text;
		child.emit('twinbox-output');
	});
	child.stderr?.setEncoding('utf8').on('data', (text) => {
		child.err += text;
		child.emit('twinbox-output');
		if (process.env.TWINBOX_LOG)
			process.stderr.write(text);
	});
	child.exited = new Promise((resolve) => {
		child.on('error', (error) => {
			children.delete(child);
			resolve({ code: null, signal: null, error });
		});
		child.on('close', (code, signal) => {
			children.delete(child);
			resolve({ code, signal });
		});
	});
	return child;
}

/**
 * Returns the result of ${promise}, or fails with an error that says ${what}
 * after ${ms} milliseconds.
 */
export async function within(promise, ms, what)
{
	let timer;
	const late = new Promise((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(
			`${typeof what === 'function' ? what() : what}: not within ${ms * SLOW} ms`)),
		ms * SLOW);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Calls ${probe} until it returns a true value, and returns that value.  An
 * error of ${probe} counts as false, unless it has a true member `final`.
 */
export async function eventually(probe, what, ms = WAIT_MS)
{
	const end = Date.now() + ms * SLOW;
	let pause = 2;
	let last;

	for (;;) {
		try {
			const value = await probe();
			if (value)
				return value;
			last = undefined;
		} catch (error) {
			if (error.final)
				throw error;
			last = error;
		}
		if (Date.now() > end) {
			throw new Error(`${what}: not within ${ms * SLOW} ms`,
				{ cause: last });
		}
		await sleep(pause);
		pause = Math.min(pause * 2, 50);
	}
}
