// SPDX-License-Identifier: MIT
//
// Runs `twinboxd copy` and compares two databases table by table: each column
// of each table in PostgreSQL's catalogue, as text in the same form for both.

import { execFileSync } from 'node:child_process';

import { TWINBOXD, run } from '../e2e/harness.mjs';

/** Columns that only PostgreSQL has: counters that SQLite computes. */
const COUNTERS = ['conversations.last_seq', 'conversations.last_digest', 'inboxes.head',
	'inboxes.acked', 'outbox_totals.node'];

/** Runs twinboxd ${args} to its end.  Returns {code, text}. */
export async function twinboxd(args, { program = TWINBOXD, env = {} } = {})
{
	const child = run(program, args, { env: { ...process.env, ...env } });
	const { code, signal } = await child.exited;

	return { code, signal, out: child.out, text: child.out + child.err };
}

/** Runs twinboxd copy from ${from} to ${to}, which are URLs. */
export function copy(from, to, options)
{
	return twinboxd(['copy', '--from', from, '--to', to], options);
}

/**
 * Returns what the sqlite3 tool prints for ${sql} on ${file}, on which no
 * server runs.
 */
export function lite(file, sql)
{
	return execFileSync('sqlite3', ['-batch', '-bail', file],
		{ input: sql, encoding: 'utf8', maxBuffer: 1 << 28, timeout: 60_000 }).trimEnd();
}

/**
 * Returns the tables of PostgreSQL database ${name}: a Map from a name to its
 * columns {name, type}, without those that SQLite does not have.
 */
export async function tablesOf(cluster, name)
{
	const tables = new Map();
	const rows = await cluster.sql('SELECT table_name, column_name, udt_name ' +
		'FROM information_schema.columns WHERE table_schema = current_schema() ' +
		'ORDER BY table_name, ordinal_position', { database: name });

	for (const row of rows.split('\n')) {
		const [table, column, type] = row.split('|');
		if (table === 'schema_migrations')
			continue;
		tables.set(table, tables.get(table) ?? []);
		if (!COUNTERS.includes(`${table}.${column}`))
			tables.get(table).push({ name: column, type });
	}
	return tables;
}

/* Only PostgreSQL stores the tail of a lane to this server. */
function value(table, { name })
{
	return table === 'outbox_lanes' && name === 'tail_seq' ?
		"CASE WHEN state = 'local' THEN 0 ELSE tail_seq END" : name;
}

function inPostgres(table, column)
{
	const of = value(table, column);

	switch (column.type) {
	case 'uuid':
		return `upper(replace(${of}::text, '-', ''))`;
	case 'bytea':
		return `upper(encode(${of}, 'hex'))`;
	default:
		return `(${of})::text`;
	}
}

function inSqlite(table, column)
{
	const of = value(table, column);

	return ['uuid', 'bytea'].includes(column.type) ? `hex(${of})` : `CAST(${of} AS TEXT)`;
}

/** Returns a query for all rows of ${table} as text, sorted by that text. */
function query(table, columns, render, separator)
{
	const parts = columns.map((column) => `CASE WHEN ${column.name} IS NULL ` +
		`THEN '(null)' ELSE ${render(table, column)} END`);

	return `SELECT ${parts.join(` || ${separator} || `)} FROM ${table}`;
}

/** Returns all rows of all tables: {table: [text of a row, ...]}. */
export async function postgresRows(cluster, name, tables)
{
	const rows = {};

	for (const [table, columns] of tables) {
		rows[table] = (await cluster.sql(query(table, columns, inPostgres, 'chr(31)'),
			{ database: name })).split('\n').sort();
	}
	return rows;
}

export function sqliteRows(file, tables)
{
	const rows = {};

	for (const [table, columns] of tables) {
		rows[table] = lite(file, `${query(table, columns, inSqlite, 'char(31)')};`)
			.split('\n').sort();
	}
	return rows;
}

/** Returns the table that copy printed: {name: [source, target, word]}. */
export function printed(out)
{
	return Object.fromEntries(out.split('\n')
		.map((line) => /^([a-z_]+) +(\d+) +(\d+)(?: +(\w+))?$/.exec(line))
		.filter(Boolean)
		.map(([, table, from, to, word]) => [table, [Number(from), Number(to), word]]));
}
