// SPDX-License-Identifier: MIT
//
// The implementation of with-postgres, whose comment describes it.

import { spawn } from 'node:child_process';
import os from 'node:os';

import { Cluster } from './cluster.mjs';

const [program, ...args] = process.argv.slice(2);
/*
 * Signals that a terminal or the end of a job sends are passed on to the
 * command.
 */
const PASSED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs the command to its end.  Returns its exit code. */
function runCommand(env)
{
	return new Promise((resolve) => {
		let child;

		/*
		 * The handlers are installed first, because the command may
		 * cause a signal before spawn() has returned.
		 */
		for (const signal of PASSED)
			process.on(signal, () => child.kill(signal));
		child = spawn(program, args, { stdio: 'inherit', env });
		child.on('error', (error) => {
			process.stderr.write(`with-postgres: ${error.message}\n`);
			resolve(error.code === 'ENOENT' ? 127 : 126);
		});
		child.on('exit', (code, signal) => resolve(
			signal ? 128 + os.constants.signals[signal] : code));
	});
}

/** Runs the command with a PostgreSQL server of its own. */
async function runWithCluster()
{
	let cluster;

	try {
		cluster = await new Cluster().start();
	} catch (error) {
		process.stderr.write(`with-postgres: ${error.message}\n`);
		return 69;
	}
	const code = await runCommand({ ...process.env,
		TWINBOX_TEST_POSTGRES: cluster.url() });
	await cluster.remove();
	return code;
}

if (program === undefined) {
	process.stderr.write('usage: with-postgres COMMAND [ARGUMENT...]\n');
	process.exitCode = 64;
} else if (process.env.TWINBOX_TEST_POSTGRES) {
	process.exitCode = await runCommand(process.env);
} else {
	process.exitCode = await runWithCluster();
}
