// SPDX-License-Identifier: MIT
//
// Shared by the tests of upkeep: values of /metrics, lines of the archive,
// starts that must be refused, and database files that are put back by hand.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { eventually, within } from './harness.mjs';

/**
 * Returns the value of metric ${name} (without the prefix, with its labels).
 */
export const metric = (server, name) => server.metric(name);

export const purged = (server, table = 'outbox') =>
	metric(server, `purged_total{table="${table}"}`);

/** Waits until the log of ${server} matches ${pattern}.  Returns the match. */
export async function said(server, pattern)
{
	return eventually(() => pattern.exec(server.output()), `${pattern} in the log`);
}

/**
 * Returns all lines of the archive in ${dir}, in order.  No line may be
 * incomplete.
 */
export function archived(dir)
{
	return fs.readdirSync(dir).sort().flatMap((name) => {
		assert.match(name, /^twinbox-\d{4}-\d\d-\d\d\.jsonl$/);
		const text = fs.readFileSync(path.join(dir, name), 'utf8');
		assert.ok(text === '' || text.endsWith('\n'), 'whole lines');
		return text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
	});
}

/**
 * Starts ${server}, which must end before it listens.  Returns {code, text}.
 */
export async function refusedStart(server, ...args)
{
	const before = server.args;

	server.args = [...before, ...args];
	const child = server.spawn();
	server.args = before;
	const { code } = await within(child.exited, 15_000, 'the end of a refused start');

	assert.ok(!child.out.includes('listening:'), 'it never listened');
	return { code, text: child.out + child.err };
}

/** Copies the files of the database while the server is down. */
export function takeFiles(server, to)
{
	fs.mkdirSync(to, { recursive: true });
	for (const name of fs.readdirSync(server.data).filter((one) => /^twinbox\.db/.test(one)))
		fs.copyFileSync(path.join(server.data, name), path.join(to, name));
}

/** Puts the copied files back, as an operator in a hurry does. */
export function putFiles(server, from)
{
	for (const name of fs.readdirSync(server.data).filter((one) => /^twinbox\.db/.test(one)))
		fs.rmSync(path.join(server.data, name));
	for (const name of fs.readdirSync(from))
		fs.copyFileSync(path.join(from, name), path.join(server.data, name));
}

export const markFile = (server) => path.join(server.data, 'mark');

/** Returns the content of DATA/mark: {epoch, number}. */
export function readMark(server)
{
	const text = fs.readFileSync(markFile(server), 'utf8');
	const match = /^twinbox mark 1\nepoch ([0-9a-f]{32})\nnumber (\d+)\n$/.exec(text);

	assert.ok(match, `no mark: ${text}`);
	return { epoch: match[1], number: Number(match[2]) };
}
