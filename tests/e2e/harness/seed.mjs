// SPDX-License-Identifier: MIT
//
// The seed of tests that draw lots.

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

/**
 * The seed: what environment variable ${variable} says, or else one of the
 * commit, so that each commit tries another one and a test that failed fails
 * again; of the day where there is no git.  Same rule as tests/stages/70-fuzz.
 * Whoever uses it prints it.
 */
export function seedOf(variable)
{
	const given = process.env[variable];
	let commit;

	if (given)
		return Number(given);
	try {
		commit = execFileSync('git', ['rev-parse', '--short=7', 'HEAD'],
			{ cwd: here, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
	} catch {
		commit = new Date().toISOString().slice(0, 10).replaceAll('-', '');
	}
	return Number.parseInt(commit, 16) + 1;
}
