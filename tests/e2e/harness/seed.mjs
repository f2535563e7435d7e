// SPDX-License-Identifier: MIT
//
// The seed of tests that use random numbers.

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

/**
 * Returns the seed: the value of the environment variable ${variable}, or else
 * a number derived from the commit.  So each commit tries another seed, and a
 * failed test fails again.  Without git the seed is derived from the date.
 * tests/stages/70-fuzz has the same rule.  A test that uses the seed must print
 * it.
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
