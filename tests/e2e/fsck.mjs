// SPDX-License-Identifier: MIT
//
// Runs twinboxd fsck on the data directory of a server, whether it runs or not.

import assert from 'node:assert/strict';

import { dataArgs } from './backend.mjs';
import { run } from './harness.mjs';

/** Runs fsck on the data of ${server}.  Returns {code, text}. */
export async function fsck(server, program = server.program)
{
	const child = run(program, ['fsck', ...dataArgs(server.data)]);
	const { code } = await child.exited;

	return { code, text: child.out + child.err };
}

/**
 * Asserts that fsck finds no violation in the data of ${server}.  Returns what
 * it has checked.
 */
export async function assertSound(server)
{
	const { code, text } = await fsck(server);

	assert.equal(code, 0, text);
	return text.trim();
}
