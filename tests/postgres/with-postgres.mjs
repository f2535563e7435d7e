// SPDX-License-Identifier: MIT
//
// What with-postgres does; see there.

import { spawn } from 'node:child_process';
import os from 'node:os';

import { Cluster } from './cluster.mjs';

const [program, ...args] = process.argv.slice(2);
/* A signal that a terminal or a job's end sends is the command's affair. */
const PASSED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs the command to its end; its exit code. */
function runCommand(env)
{
	return new Promise((resolve) => {
		let child;

		/* First: the command may ask for one before spawn() is back. */
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

/** The same with a server of our own. */
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
