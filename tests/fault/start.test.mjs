// SPDX-License-Identifier: MIT
//
// The start of the real program on a database with a log.  Before the server
// listens, the log has been moved into the database file, and a new boot row is
// committed after it. server/store/recovery.h and tests/fault/test_recovery.c
// describe the steps and their order.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import { assertSound } from '../e2e/fsck.mjs';
import { killAll, startServer, users } from '../e2e/harness.mjs';

after(killAll);

/**
 * Returns the size of the log of ${server}, and the boot row in it, if any.
 * (In a page the key and the value of a row are side by side.)
 */
function logOf(server)
{
	const log = fs.readFileSync(path.join(server.data, 'twinbox.db-wal'));

	return { size: log.length,
		row: [...log.toString('latin1').matchAll(/booted_at(\d{13})/g)].at(-1)?.[1] };
}

it('R89 a start empties the log and commits a boot row before it listens', async (t) => {
	const server = await startServer();

	t.after(() => server.kill());
	const [ann, bob] = await users(server, 'ann', 'bob');
	for (let i = 0; i < 20; i++)
		await ann.send(bob.name, `number ${i} ${'x'.repeat(8000)}`);
	await server.kill();
	let before = logOf(server);
	assert.ok(before.size > 160_000, `a log of ${before.size} bytes`);
	assert.ok(before.row, 'no boot row of the first start');
	for (let i = 0; i < 3; i++) {
		await server.start();
		await server.kill();
		const log = logOf(server);
		assert.ok(log.size > 0 && log.size < 100_000, `a log of ${log.size} bytes`);
		assert.ok(log.row > before.row, `boot row ${log.row} after ${before.row}`);
		before = log;
	}
	await assertSound(server);
});
