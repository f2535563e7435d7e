// SPDX-License-Identifier: MIT
//
// Shared by the tests of documented commands: they read the blocks of a
// document, make a directory with the commands, and run a shell in the
// environment of a new user.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { TWINBOX } from './cli-client.mjs';
import { TWINBOXD, eventually, run, tempDir, within } from './harness.mjs';

/**
 * Returns the fenced blocks of ${text}: {name, language, text, lines}.  The
 * name comes from the comment right above the block, `<!-- test: NAME -->`, or
 * else from the heading above it.  A line that ends with a backslash and the
 * next line count as one of the lines.
 */
export function blocksOf(text)
{
	const blocks = [];
	let heading = '';
	let name;
	let block;

	for (const line of text.split('\n')) {
		const fence = /^ *(?:`{3,}|~{3,}) *(.*)$/.exec(line);
		if (fence && block) {
			block.lines = block.text.join('\n').split(/(?<!\\)\n/)
				.filter((l) => !/^\s*(#|$)/.test(l));
			blocks.push(block);
			block = undefined;
			name = undefined;
		} else if (fence) {
			block = { name: name ?? heading, language: fence[1], text: [] };
		} else if (block) {
			block.text.push(line);
		} else if (/^#+ /.test(line)) {
			heading = line.replace(/^#+ /, '');
			name = undefined;
		} else if (line.trim()) {
			name = /^<!-- test: (\S+) -->$/.exec(line)?.[1];
		}
	}
	assert.equal(block, undefined, 'the last block has an end');
	return blocks;
}

// ---- a shell for typing
// -----------------------------------------------------------

/**
 * Makes a directory with build/twinboxd and build/twinbox, as scripts/build
 * leaves them.
 */
export function workplace()
{
	const dir = tempDir('twinbox-readme-');

	fs.mkdirSync(path.join(dir, 'build'));
	fs.symlinkSync(TWINBOXD, path.join(dir, 'build/twinboxd'));
	fs.symlinkSync(TWINBOX, path.join(dir, 'build/twinbox'));
	return dir;
}

/** Returns the environment of a new user whose home directory is ${home}. */
export function newcomer(home)
{
	const env = {
		PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'xterm',
	};

	for (const name of ['ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS']) {
		if (process.env[name])
			env[name] = process.env[name];
	}
	return env;
}

/** A shell that keeps its variables and functions from line to line. */
export class Shell {
	constructor(shell, dir)
	{
		// curl prints the status of each answer to standard error,
		// where no pipe takes it.
		fs.writeFileSync(path.join(dir, '.curlrc'),
			'write-out = "%{stderr}status %{http_code}\\n"\n');
		this.child = run(shell, [], {
			cwd: dir, env: newcomer(dir), stdio: ['pipe', 'pipe', 'pipe'],
		});
		this.child.stdin.on('error', () => {});
		this.typed = 0;
	}

	/**
	 * Types a line and waits until it is done.  Returns {code, out, err,
	 * statuses}.
	 */
	async type(line)
	{
		const mark = `(done ${++this.typed}) `;
		const at = [this.child.out.length, this.child.err.length];
		const done = () => {
			const out = this.child.out.slice(at[0]);
			const err = this.child.err.slice(at[1]);
			const end = out.indexOf(mark);
			const end_err = err.indexOf(mark);
			const code = /^(\d+)\n/.exec(out.slice(end + mark.length));
			return end >= 0 && end_err >= 0 && code && {
				code: Number(code[1]), out: out.slice(0, end), err: err.slice(0, end_err),
			};
		};

		this.child.stdin.write(`${line}\nprintf '${mark}%d\\n' $?; printf '${mark}' >&2\n`);
		const answer = await eventually(done, `the end of: ${line}`, 20_000);
		answer.statuses = [...answer.err.matchAll(/^status (\d+)$/gm)].map((m) => Number(m[1]));
		return answer;
	}

	/** Types a line that must succeed and get answers with ${statuses}. */
	async works(line, ...statuses)
	{
		const answer = await this.type(line);
		const told = `${line}\n${answer.out}${answer.err}`;

		assert.equal(answer.code, 0, told);
		assert.deepEqual(answer.statuses, statuses, told);
		return answer;
	}

	/**
	 * Does the same for a line whose output is JSON.  Returns the parsed
	 * JSON.
	 */
	async json(line, status)
	{
		return JSON.parse((await this.works(line, status)).out);
	}

	/**
	 * Types a line that only queries, and repeats it until ${wanted}
	 * accepts the output.  A person reads and types more slowly than the
	 * server works; a test does not.
	 */
	async tells(wanted, line, ...statuses)
	{
		return eventually(async () => {
			const answer = await this.works(line, ...statuses);
			return wanted(answer.out) && answer;
		}, `what is promised of: ${line}`);
	}

	async end()
	{
		this.child.stdin.end();
		return within(this.child.exited, 10_000, 'the end of the shell');
	}
}

