// SPDX-License-Identifier: MIT
//
// Which database the servers of the tests are on.  With
// TWINBOX_TEST_BACKEND=postgres each data directory has a database of its own
// in the PostgreSQL that TWINBOX_TEST_POSTGRES names, made when it is first
// asked for and dropped when the test process ends:
//
//	TWINBOX_TEST_BACKEND=postgres tests/postgres/with-postgres \
//	    node --test tests/e2e/send.test.mjs
//
// (A password has to be in the environment, PGPASSWORD, or in a file.)
//
// Without it, or with sqlite, it is the file in the data directory, and nothing
// here does anything.

import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';

const backend = process.env.TWINBOX_TEST_BACKEND || 'sqlite';

if (!['sqlite', 'postgres'].includes(backend))
	throw new Error(`TWINBOX_TEST_BACKEND: ${backend} is neither sqlite nor postgres`);

const PATIENCE_MS = 10_000;

export const onPostgres = backend === 'postgres';

/** Why a test is skipped that is about a file of SQLite: for { skip }. */
export const sqliteOnly = onPostgres ? 'it is about a file of SQLite' : false;

const databases = new Map(); /* data directory -> {name, url} */

/** The URL that must be there. */
function superuser()
{
	const url = process.env.TWINBOX_TEST_POSTGRES;

	if (!url) {
		throw new Error('TWINBOX_TEST_BACKEND=postgres wants TWINBOX_TEST_POSTGRES: ' +
			'run the tests by tests/postgres/with-postgres');
	}
	return url;
}

/* What psql is asked in vain is an error that says why. */
function psql(text, url = superuser())
{
	return execFileSync('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', text],
		{ encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** ${url} with another database in it. */
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

/** Gives data directory ${to} a copy of the database of ${from}, whose server has
 *  ended; the sessions of one that was killed may take a moment to end. */
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

/** The URL of the database of data directory ${data}, or undefined. */
export function databaseUrl(data)
{
	return onPostgres ? databaseFor(data).url : undefined;
}

/** What psql prints for ${text}, asked of the database of ${data}. */
export function ask(data, text)
{
	return psql(text, databaseFor(data).url).trimEnd();
}

/** Has the database of ${data}, which nobody serves, run the statements ${text}. */
export function changeRows(data, text)
{
	if (onPostgres)
		ask(data, text);
	else
		execFileSync('sqlite3', ['-batch', '-bail', path.join(data, 'twinbox.db'), text]);
}

/** Where a twinboxd finds data directory ${data}: arguments.  What ${args} say
 *  of the database themselves stands. */
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
