// SPDX-License-Identifier: MIT
//
// twinboxd fsck on the data directory of a server, running or dead.

import assert from 'node:assert/strict';

import { dataArgs } from './backend.mjs';
import { run } from './harness.mjs';

/** What fsck of ${server}'s data says: {code, text}. */
export async function fsck(server, program = server.program)
{
	const child = run(program, ['fsck', ...dataArgs(server.data)]);
	const { code } = await child.exited;

	return { code, text: child.out + child.err };
}

/** Dies unless the data of ${server} keep every promise; what was looked at. */
export async function assertSound(server)
{
	const { code, text } = await fsck(server);

	assert.equal(code, 0, text);
	return text.trim();
}
