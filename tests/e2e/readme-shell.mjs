// SPDX-License-Identifier: MIT
//
// What is documented for a shell, and a shell that somebody types it into: the
// blocks of a document, the place where its commands are, and a new user's
// environment.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { TWINBOX } from './cli-client.mjs';
import { TWINBOXD, eventually, run, tempDir, within } from './harness.mjs';

/**
 * Fenced blocks: {name, language, text, lines}.  The name is what a comment
 * right above says, `<!-- test: NAME -->`, or else the heading it stands under.
 * A line that ends with a backslash and the next one are one of the lines.
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

// ---- a shell that somebody types into ------------------------------------------

/** A directory with build/twinboxd and build/twinbox, as after scripts/build. */
export function workplace()
{
	const dir = tempDir('twinbox-readme-');

	fs.mkdirSync(path.join(dir, 'build'));
	fs.symlinkSync(TWINBOXD, path.join(dir, 'build/twinboxd'));
	fs.symlinkSync(TWINBOX, path.join(dir, 'build/twinbox'));
	return dir;
}

/** What a new user has in his environment, with a home of his own. */
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
		// Each answer's status, where no pipe takes it.
		fs.writeFileSync(path.join(dir, '.curlrc'),
			'write-out = "%{stderr}status %{http_code}\\n"\n');
		this.child = run(shell, [], {
			cwd: dir, env: newcomer(dir), stdio: ['pipe', 'pipe', 'pipe'],
		});
		this.child.stdin.on('error', () => {});
		this.typed = 0;
	}

	/** Types a line: {code, out, err, statuses} once it is done. */
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

	/** Types a line that must succeed with answers of ${statuses}. */
	async works(line, ...statuses)
	{
		const answer = await this.type(line);
		const told = `${line}\n${answer.out}${answer.err}`;

		assert.equal(answer.code, 0, told);
		assert.deepEqual(answer.statuses, statuses, told);
		return answer;
	}

	/** The same for an answer in JSON. */
	async json(line, status)
	{
		return JSON.parse((await this.works(line, status)).out);
	}

	/**
	 * Types a line that only asks, again while what it tells is on its way:
	 * somebody reads and types slower than the server works, this does not.
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

