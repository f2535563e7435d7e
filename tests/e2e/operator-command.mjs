// SPDX-License-Identifier: MIT
//
// Runs commands of twinboxd for the operator tests.

import assert from 'node:assert/strict';

import { dataArgs } from './backend.mjs';
import { PASSWORD, TWINBOXD, run } from './harness.mjs';

export const SETTINGS = '[SETTING...]';

/** Runs a command of twinboxd: [code, standard output, standard error]. */
export async function command(args, { input = '', wrapper = [], env = {} } = {})
{
	const [program, ...rest] = [...wrapper, TWINBOXD, ...args];
	const child = run(program, rest,
		{ stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });

	child.stdin.on('error', () => {}); // not every command reads
	child.stdin.end(input);
	const { code } = await child.exited;
	return [code, child.out, child.err];
}

/** The same of a command that has to fail: [code, its one line]. */
export async function refused(args, options)
{
	const [code, out, err] = await command(args, options);

	assert.equal(out, '');
	assert.match(err, /^twinboxd: .*\n$/);
	return [code, err.slice('twinboxd: '.length, -1)];
}

/** `twinboxd user ARGS` on the database of ${data}: as command(). */
export const user = (data, args, password = PASSWORD) =>
	command(['user', ...args, ...dataArgs(data)], { input: `${password}\n` });
