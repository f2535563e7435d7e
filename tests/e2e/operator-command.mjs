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

	child.stdin.on('error', () => {}); // some commands do not read standard input
	child.stdin.end(input);
	const { code } = await child.exited;
	return [code, child.out, child.err];
}

/** Runs a command that must fail.  Returns [code, its one error line]. */
export async function refused(args, options)
{
	const [code, out, err] = await command(args, options);

	assert.equal(out, '');
	assert.match(err, /^twinboxd: .*\n$/);
	return [code, err.slice('twinboxd: '.length, -1)];
}

/**
 * Runs `twinboxd user ARGS` on the database of ${data}.  Returns the same as
 * command().
 */
export const user = (data, args, password = PASSWORD) =>
	command(['user', ...args, ...dataArgs(data)], { input: `${password}\n` });
