// SPDX-License-Identifier: MIT
//
// Locks rows of a database that nodes want to write: a psql whose transaction
// stays open until it is asked to end.

import { spawn } from 'node:child_process';

import { eventually } from '../e2e/harness.mjs';

/** A psql transaction that runs ${sql} and then stays open. */
export class Holder {
	constructor(cluster, database, sql)
	{
		this.out = '';
		this.child = spawn(cluster.program('psql'), ['-XqAt', '-v', 'ON_ERROR_STOP=1',
			'-d', cluster.url(database)], { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
		this.child.stdout.on('data', (text) => { this.out += text; });
		this.ended = new Promise((resolve) => { this.child.on('exit', resolve); });
		this.child.stdin.on('error', () => {});
		this.child.stdin.write(`BEGIN;\n${sql};\n\\echo held\n`);
	}

	async held()
	{
		await eventually(() => /^held$/m.test(this.out), 'psql holds the row');
		return this;
	}

	/** Runs ${sql} and commits.  Returns the exit code of psql. */
	async release(sql = '')
	{
		this.child.stdin.end(`${sql};\nCOMMIT;\n`);
		return this.ended;
	}
}
