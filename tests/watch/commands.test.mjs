// SPDX-License-Identifier: MIT
//
// The commands, options and settings in the run-books exist in the programs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';

import { TWINBOXD } from '../e2e/harness.mjs';
import { read } from './names.mjs';

const TWINBOX = path.resolve(process.env.TWINBOX ?? path.join(path.dirname(TWINBOXD), 'twinbox'));

const helps = new Map();

/**
 * Returns the help of ${program} for ${words}, or undefined if there is no such
 * command.  Runs the program once for the same arguments.
 */
function help(program, ...words)
{
	const key = [program, ...words].join(' ');

	if (!helps.has(key)) {
		const done = spawnSync(program, [...words, '--help'], { encoding: 'utf8' });

		if (done.error)
			throw done.error;
		helps.set(key, done.status === 0 ? done.stdout : undefined);
	}
	return helps.get(key);
}

/** Returns the pieces of code in a Markdown page. */
function code(page)
{
	const blocks = [...page.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, text]) => text.split('\n'));
	const inline = [...page.replace(/^```[^]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, text]) => text);

	return [...blocks, ...inline];
}

/** Returns complaints about ${page}. */
function judge(page)
{
	const complaints = [];
	const pieces = code(page);
	const server = help(TWINBOXD);
	// Problem codes, entries of the audit log, findings of fsck.
	const words = ['server/model/refusal.h', 'server/delivery/peers.c', 'server/upkeep/pair.c']
		.map(read).join('');
	let seen = 0;

	for (const piece of pieces) {
		for (const [, words, rest] of piece.matchAll(/\btwinbox ((?:admin )?[a-z]+)([^|;&#]*)/g)) {
			const text = help(TWINBOX, ...words.split(' '));
			seen++;
			if (text === undefined) {
				complaints.push(`no command: twinbox ${words}`);
				continue;
			}
			for (const [option] of rest.matchAll(/--[a-z-]+/g)) {
				if (!text.includes(option))
					complaints.push(`twinbox ${words} has no ${option}`);
			}
		}
		for (const [, words, rest] of piece.matchAll(/\btwinboxd ([a-z][a-z-]*(?: [a-z]+)?)([^|;&#]*)/g)) {
			seen++;
			if (!server.includes(`  ${words.trim()}`) && !server.includes(`  ${words.split(' ')[0]} `))
				complaints.push(`no command: twinboxd ${words}`);
			for (const [option] of rest.matchAll(/--[a-z-]+/g)) {
				if (!server.includes(option))
					complaints.push(`twinboxd ${words} has no ${option}`);
			}
		}
		// The piece is a setting, a command, or another word of the
		// server.
		const setting = /^([a-z]+(?:-[a-z]+)+|retention|expiry|lease|archive)(?: = .*)?$/.exec(piece);
		if (setting) {
			seen++;
			if (!server.includes(`--${setting[1]}`) && !server.includes(`  ${setting[1]} `) &&
			    !words.includes(`"${setting[1]}"`) && !words.includes(`"${setting[1]}: `))
				complaints.push(`no setting: ${setting[1]}`);
		}
	}
	assert.ok(seen > 50, `${seen} commands and settings`);
	return complaints;
}

describe('the run-books', () => {
	const page = read('docs/operations.md');

	it('name commands and settings that there are', () => {
		assert.deepEqual(judge(page), []);
	});

	it('one that there is not is caught', () => {
		for (const [piece, complaint] of [
			['`twinbox admin defrost`', /no command: twinbox admin defrost/],
			['`twinbox admin dlq --colour red`', /dlq has no --colour/],
			['`twinboxd vacuum`', /no command: twinboxd vacuum/],
			['`twinboxd restore F --force`', /restore F has no --force|restore has no --force/],
			['`purge-colour`', /no setting: purge-colour/],
			['```sh\ntwinbox admin thaw\n```', /no command: twinbox admin thaw/]]) {
			const complaints = judge(`${page}\n${piece}\n`).filter((one) => !judge(page).includes(one));
			assert.equal(complaints.length, 1, `${piece}: ${complaints}`);
			assert.match(complaints[0], complaint);
		}
	});
});
