// SPDX-License-Identifier: MIT
//
// The database behind the servers of the tests.  With
// TWINBOX_TEST_BACKEND=postgres each data directory has a database of its own
// in the PostgreSQL server that TWINBOX_TEST_POSTGRES names.  The database is
// created at its first use and dropped when the test process ends:
//
//   TWINBOX_TEST_BACKEND=postgres tests/postgres/with-postgres \
//       node --test tests/e2e/send.test.mjs
//
// A password must be in the environment (PGPASSWORD) or in a password file.
//
// Without the variable, or with the value sqlite, the database is the file in
// the data directory, and this module does nothing.

import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';

const backend = process.env.TWINBOX_TEST_BACKEND || 'sqlite';

if (!['sqlite', 'postgres'].includes(backend))
	throw new Error(`TWINBOX_TEST_BACKEND: ${backend} is neither sqlite nor postgres`);

const PATIENCE_MS = 10_000;

export const onPostgres = backend === 'postgres';

/**
 * The reason why a test about an SQLite file is skipped on PostgreSQL: a value
 * for { skip }.
 */
export const sqliteOnly = onPostgres ? 'it is about a file of SQLite' : false;

const databases = new Map(); /* data directory -> {name, url} */

/**
 * The URL of the PostgreSQL server; throws if the environment does not have it.
 */
function superuser()
{
	const url = process.env.TWINBOX_TEST_POSTGRES;

	if (!url) {
		throw new Error('TWINBOX_TEST_BACKEND=postgres wants TWINBOX_TEST_POSTGRES: ' +
			'run the tests by tests/postgres/with-postgres');
	}
	return url;
}

/*
 * Returns the output of psql for the statements ${text}.  An SQL error throws,
 * with psql's message.
 */
function psql(text, url = superuser())
{
	return execFileSync('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', text],
		{ encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Returns ${url} with the database replaced by ${name}. */
export function withDatabase(url, name)
{
	const found = /^(postgres(?:ql)?:\/\/[^/?]*)(?:\/[^?]*)?(\?.*)?$/.exec(url);

	if (!found)
		throw new Error(`not a URL of PostgreSQL: ${url}`);
	return `${found[1]}/${name}${found[2] ?? ''}`;
}

function createFor(data, template)
{
	const name = `e2e_${randomBytes(8).toString('hex')}`;

	psql(`CREATE DATABASE ${name} TEMPLATE ${template}`);
	databases.set(data, { name, url: withDatabase(superuser(), name) });
	return databases.get(data);
}

function databaseFor(data)
{
	return databases.get(data) ?? createFor(data, 'template0');
}

/**
 * Copies the database of data directory ${from}, whose server has ended, for
 * data directory ${to}.  Retries for a moment, because the sessions of a killed
 * server may still be ending.
 */
export function copyDatabase(from, to)
{
	const end = Date.now() + PATIENCE_MS;

	while (databases.has(from) && !databases.has(to)) {
		try {
			createFor(to, databases.get(from).name);
		} catch (error) {
			if (!/being accessed by other users/.test(error.stderr) || Date.now() > end)
				throw error;
		}
	}
}

/** Drops the database of ${data} now, if it has one. */
export function dropDatabase(data)
{
	if (databases.has(data))
		psql(`DROP DATABASE ${databases.get(data).name} WITH (FORCE)`);
	databases.delete(data);
}

/**
 * Returns the URL of the database of data directory ${data}, or undefined on
 * SQLite.
 */
export function databaseUrl(data)
{
	return onPostgres ? databaseFor(data).url : undefined;
}

/**
 * Returns what psql prints for the statements ${text} in the database of
 * ${data}.
 */
export function ask(data, text)
{
	return psql(text, databaseFor(data).url).trimEnd();
}

/**
 * Runs the statements ${text} in the database of ${data}, on which no server is
 * running.
 */
export function changeRows(data, text)
{
	if (onPostgres)
		ask(data, text);
	else
		execFileSync('sqlite3', ['-batch', '-bail', path.join(data, 'twinbox.db'), text]);
}

/**
 * Returns the arguments by which a twinboxd finds data directory ${data} and
 * its database.  A --db in ${args} takes precedence.
 */
export function dataArgs(data, args = [])
{
	const db = onPostgres && !args.some((arg) => /^--db(=|$)/.test(arg)) ?
		['--db', databaseFor(data).url] : [];

	return ['--data', data, ...db];
}

process.on('exit', () => {
	if (databases.size === 0 || process.env.TWINBOX_KEEP)
		return;
	spawnSync('psql', ['-Xq', '-d', superuser(), ...[...databases.values()].flatMap(
		({ name }) => ['-c', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`])],
	{ stdio: 'ignore', timeout: 60_000 });
});
