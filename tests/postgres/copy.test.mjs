// SPDX-License-Identifier: MIT
//
// twinboxd copy: what an SQLite server has, a PostgreSQL server has after a
// copy, in every column, and the same in the other direction; clients notice
// nothing.  An interrupted copy leaves an empty database, never half of one.  A
// copy that cannot work is refused with the cure.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Operator, userCommand } from '../e2e/operator.mjs';
import { contiguous } from '../e2e/expect.mjs';
import {
	Server, TWINBOXD, User, eventually, expectStatus, killAll, login, run, tempDir,
	users, uuid7, within,
} from '../e2e/harness.mjs';
import { Peer, entryWhen } from '../fault/remote.mjs';
import { Cluster } from './cluster.mjs';
import { copy, lite, postgresRows, printed, sqliteRows, tablesOf, twinboxd } from './copied.mjs';
import { TcpProxy } from './proxy.mjs';

const FAULTS = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
const skipFaults = FAULTS || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';
const OLD_SCHEMA = path.join(path.dirname(TWINBOXD), 'tests/contract/old_schema');
/* No --db: the database is the file in the data directory. */
const SQLITE = ['--db', ''];

let cluster;
let serial = 0;

before(async () => {
	cluster = await new Cluster().start();
});
after(async () => {
	await killAll();
	await cluster?.remove();
});

const fileOf = (data) => path.join(data, 'twinbox.db');
const urlOf = (data) => `sqlite:${fileOf(data)}`;

async function freshDatabase()
{
	const name = `copy_${++serial}`;

	return { name, url: await cluster.createDatabase(name) };
}

/** Returns true if the tables that have rows in every copy are empty. */
async function isEmpty({ name })
{
	return await cluster.sql("SELECT count(*) FROM pg_tables WHERE tablename = 'users'",
		{ database: name }) === '0' ||
		await cluster.sql('SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM meta) + ' +
			'(SELECT count(*) FROM messages)', { database: name }) === '0';
}

const pasting = (copied) => assert.equal(copied.code, 0, copied.text);

// ---- every column ------------------------------------------------------------

/*
 * Values that the CHECK of a column allows: the value in a row with all values,
 * and the one in a row with as many NULLs as possible.
 */
const WANTED = {
	'users.admin': [1, 0],
	'conversations.kind': ["'direct'", "'group'"],
	'participants.role': ["'owner'", "'admin'"],
	'messages.priority': [1, -1],
	'destinations.breaker': ["'open'", "'half_open'"],
	'outbox_lanes.dest_kind': ["'server'", "'user'"],
	'outbox_lanes.state': ["'idle'", "'local'"],
	'outbox_lanes.class': [1, 0],
	'outbox.dest_kind': ["'server'", "'user'"],
	'outbox.state': ["'failed'", "'canceled'"],
	'inbox.own': [1, 0],
	'dead_letter_queue.state': ["'failed'", "'expired'"],
	'dead_letter_queue.resolution': ["'requeued'", 'NULL'],
	'federation_lanes.class': [1, 0],
	'federation_nonces.nonce': ["'nonce-of-16-bytes'", "'another-of-such-ones'"],
};
const BYTES = { token_hash: 32, digest: 32, public: 32, seed: 32 };

/**
 * Returns INSERTs of two rows in each table except totals.  All values are
 * different.
 */
function everything(file, tables)
{
	const first = {}; /* values of the first columns, by table */
	let n = 100;
	const made = (table, name, type, notnull, full) => {
		const wanted = WANTED[`${table}.${name}`];
		n++;
		if (wanted)
			return wanted[full ? 0 : 1];
		if (!full && !notnull)
			return 'NULL';
		if (['devices', 'inboxes', 'participants'].includes(table) &&
			['user_id', 'conversation_id'].includes(name)) {
			return first[name === 'user_id' ? 'users' : 'conversations'][full ? 0 : 1];
		}
		if (['peers', 'peer_keys'].includes(table) && name === 'destination_id')
			return first.destinations[full ? 0 : 1];
		switch (type) {
		case 'INTEGER':
			return /_at$|_time$/.test(name) ? `${1700000000000 + n}` : `${n}`;
		case 'BLOB':
			return `x'${n.toString(16).padStart(2 * (BYTES[name] ?? 16), '0')}'`;
		default:
			return `'Tä €" ${n}'`;
		}
	};
	const referred = ['users', 'conversations', 'destinations', 'peers'];
	const order = [...referred, ...[...tables.keys()].filter((one) => !referred.includes(one))];

	return order.filter((table) => table !== 'outbox_totals').flatMap((table) => {
		const columns = lite(file, `PRAGMA table_info(${table});`).split('\n')
			.map((line) => line.split('|'));
		return [true, false].map((full) => {
			const values = columns.map(([, name, type, notnull, , pk]) =>
				made(table, name, type, notnull === '1' || pk !== '0', full));
			first[table] = [...first[table] ?? [], values[0]];
			return `INSERT INTO ${table} VALUES (${values.join(', ')});`;
		});
	}).join('\n') + `UPDATE outbox_totals SET ${
		tables.get('outbox_totals').map(({ name }, i) => `${name} = ${1000 + i}`).join(', ')};`;
}

describe('every column of every table', () => {
	let data, db, tables, copied, original;

	before(async () => {
		data = path.join(tempDir(), 'data');
		db = await freshDatabase();
		pasting(await twinboxd(['migrate', '--data', data]));
		pasting(await twinboxd(['migrate', '--data', path.join(tempDir(), 'x'), '--db', db.url]));
		tables = await tablesOf(cluster, db.name);
		lite(fileOf(data), everything(fileOf(data), tables));
		original = sqliteRows(fileOf(data), tables);
		copied = await copy(urlOf(data), db.url);
	});

	it('is what it was, on PostgreSQL', async () => {
		assert.ok(tables.size >= 17);
		/*
		 * fsck fails on these rows, because they are not real messages.
		 */
		assert.equal(copied.code, 65, copied.text);
		const shown = printed(copied.out);
		assert.deepEqual(Object.keys(shown).sort(), [...tables.keys()].sort());
		for (const [table, [from, to, word]] of Object.entries(shown)) {
			assert.deepEqual([from, word], [to, undefined], table);
			assert.ok(from > 0, `${table} had rows`);
		}
		assert.deepEqual(await postgresRows(cluster, db.name, tables), original);
	});

	it('and again in a file', async () => {
		const back = path.join(tempDir(), 'back');

		assert.equal((await copy(db.url, urlOf(back))).code, 65);
		assert.deepEqual(sqliteRows(fileOf(back), tables), original);
	});

	it('every sequence goes on beyond it', async () => {
		const highest = await cluster.sql(`SELECT ${[...tables.keys()]
			.filter((table) => !['outbox_totals', 'meta', 'server_keys'].includes(table))
			.map((table) => [table, tables.get(table)[0].name])
			.filter(([, column]) => /_id$/.test(column))
			.map(([table, column]) => `coalesce((nextval(pg_get_serial_sequence('${table}', ` +
				`'${column}')) <= (SELECT max(${column}) FROM ${table}))::text, '-')`)
			.join(" || ' ' || ")}`, { database: db.name });
		assert.doesNotMatch(highest, /true/);
		assert.ok(highest.split(' ').filter((one) => one === 'false').length >= 9, highest);
		// fsck runs next, and its plans need statistics.
		assert.equal(await cluster.sql("SELECT reltuples = (SELECT count(*) FROM outbox) FROM pg_class " +
			"WHERE oid = 'outbox'::regclass", { database: db.name }), 't');
		assert.equal(await cluster.sql("SELECT nextval('message_ids') = 1 + max(mid) FROM messages",
			{ database: db.name }), 't');
		assert.equal(await cluster.sql("SELECT nextval('outbox_ids') = 1 + max(id) FROM outbox",
			{ database: db.name }), 't');
	});
});

// ---- a server, before and after ----------------------------------------------

/** Returns everything that ${user} can read of their own data. */
async function seen(user)
{
	const inbox = await user.inbox();
	const { conversations } = expectStatus(await user.get('/v1/conversations?limit=100'), 200).body;
	const history = {};
	const entries = [];

	for (const { id } of conversations) {
		history[id] = expectStatus(await user.get(
			`/v1/conversations/${id}/messages?limit=200`), 200).body;
	}
	for (let next = '/v1/outbox?limit=100'; next;) {
		const answer = expectStatus(await user.get(next), 200);
		entries.push(...answer.body.entries);
		next = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
	}
	return { inbox, conversations, history, entries, unread: await user.unread() };
}

describe('a server that has seen a good deal', { skip: skipFaults }, () => {
	const ROWS = 620; /* more than a batch */
	let server, ann, bob, cid, root, scheduled, canceled, waiting, away, mute, full, failed, was;
	const db = {};
	const at = (user, other) => new User(other, user.name, user.token, user.device_name);

	/** Makes messages in every possible state. */
	async function fill()
	{
		const mail = (to, more) => ann.send(to, `to ${to}`, more);
		const peer = (name, wishes) => new Peer(server, name).does(wishes);

		for (let i = 0; i < ROWS; i += 100) {
			const list = Array.from({ length: Math.min(100, ROWS - i) }, (_, k) =>
				({ id: uuid7(), to: cid.name, body: `number ${i + k}` }));
			expectStatus(await ann.post('/v1/messages', list), 200, 201, 207);
		}
		const first = await mail(bob.name, { metadata: { tag: 'ä' }, correlation_id: 'c-1',
			priority: 'high' });
		await bob.received(first.id);
		await bob.send(ann.name, 'an answer', { reply_to: first.id });
		for (let i = 0; i < 5; i++)
			await mail(bob.name);
		await bob.event((event) => event.seq === 7);
		await bob.read({ upto: 3 });
		await bob.ack(5);
		scheduled = (await mail(bob.name, { deliver_at: '2099-01-01T00:00:00.000Z' })).id;
		canceled = (await mail(bob.name, { deliver_at: '2099-01-01T00:00:00.000Z' })).id;
		expectStatus(await ann.delete(`/v1/outbox/${canceled}`), 200);
		peer('no', { reject: 100 });
		failed = (await mail('x@no.fault.test')).id;
		await ann.event((event) => event.kind === 'bounce');
		peer('away', { down: 1 });
		away = (await mail('x@away.fault.test')).id;
		peer('full', { retry: 100 });
		full = (await mail('x@full.fault.test')).id;
		await entryWhen(ann, full, (entry) => entry.retry_count > 0, 'it is charged');
		await cid.event((event) => event.conversation_seq === ROWS, 'the last of many');
		await root.pause('full.fault.test');
		await root.pause('away.fault.test');
		await root.pause();
		waiting = [];
		for (let i = 0; i < 3; i++)
			waiting.push((await mail(bob.name)).id);
		peer('mute', { silent: 1 });
		mute = (await mail('x@mute.fault.test', { priority: 'high' })).id;
		await entryWhen(ann, mute, (entry) => entry.state === 'sending', 'it is on its way');
	}

	before(async () => {
		server = await new Server({ program: FAULTS, args: SQLITE,
			unlimited: 'one user sends arrays of a hundred' }).start();
		[ann, bob, cid] = await users(server, 'ann', 'bob', 'cid');
		const added = await userCommand(server, ['add', 'root', '--admin', '--password-stdin']);
		assert.equal(added.code, 0, added.text);
		const { token } = await login(server, 'root');
		root = new Operator(server, 'root', token, 'first');
		await fill();
		was = await Promise.all([ann, bob, cid].map(seen));
		/* As after a power failure, the file contains a lease. */
		await server.kill();
		assert.equal(lite(fileOf(server.data),
			"SELECT count(*) FROM outbox_lanes WHERE state = 'leased';"), '1');
		Object.assign(db, await freshDatabase());
	});

	it('is copied, counted, and proved', async () => {
		const copied = await copy(urlOf(server.data), db.url, { program: FAULTS });

		pasting(copied);
		const shown = printed(copied.out);
		assert.equal(Object.keys(shown).length, 22);
		assert.ok(shown.messages[1] > ROWS);
		assert.ok(shown.outbox_attempts[1] > 2);
		assert.equal(shown.dead_letter_queue[1], 1);
		assert.match(copied.out, /^copied; fsck of the target:\n.*: \d+ checks, no violations$/m);
	});

	it('serves the same on PostgreSQL, with the tokens of before', async (t) => {
		const node = await new Server({ program: FAULTS, data: server.data, args: ['--db', db.url] })
			.start();
		t.after(() => node.running && node.stop());
		const [a, b, c] = [ann, bob, cid].map((user) => at(user, node));
		const operator = new Operator(node, 'root', root.token, 'first');
		const now = await Promise.all([a, b, c].map(seen));

		/*
		 * This message was under way and is taken back.  Its entry
		 * differs, depending on whether it has left again yet.
		 */
		for (const side of [was, now])
			side[0].entries = side[0].entries.filter((entry) => entry.id !== mute);
		assert.deepEqual(now, was);
		assert.deepEqual([was[1].unread.total, was[2].inbox.events.length], [4, ROWS]);
		for (const { inbox } of now)
			contiguous(inbox.events, 1);
		assert.equal((await a.entry(canceled)).state, 'canceled');
		assert.ok((await a.entry(scheduled)).labels.includes('scheduled'));
		assert.equal((await a.entry(failed)).state, 'failed');
		assert.equal((await operator.all('dead-letters', 'dead_letters')).length, 1);

		/* The waiting messages are delivered. */
		for (const name of ['mute', 'away', 'full', 'no'])
			new Peer(node, name).does({});
		await Promise.all(['local', 'full.fault.test', 'away.fault.test']
			.map((name) => operator.resume(name)));
		for (const id of waiting)
			await b.received(id);
		for (const id of [mute, away, full])
			await entryWhen(a, id, (entry) => entry.state === 'sent', 'it has arrived');
		const taken = await a.entry(mute);
		assert.equal(taken.retry_count, 0);
		assert.equal(await cluster.sql('SELECT sum(rescue_count) FROM outbox',
			{ database: db.name }), '0');
		assert.deepEqual(new Peer(node, 'mute').has().map((one) => one.id), [mute]);

		/* New numbers continue after the old ones. */
		const { id } = await a.send(c.name, 'one more');
		assert.equal((await c.received(id)).conversation_seq, ROWS + 1);
		const events = (await b.inbox()).events;
		contiguous(events, 1);
		assert.equal((await b.inbox()).epoch, was[1].inbox.epoch);
		await b.ack(events.length);
		await a.event((event) => event.kind === 'receipt' && event.upto === 10, 'the receipt');
		await b.device('another');
		await users(node, 'dan');
		pasting(await twinboxd(['fsck', '--data', path.join(tempDir(), 'x'), '--db', db.url]));
	});

	it('and goes back to a file with all that has come since', async (t) => {
		const back = path.join(tempDir(), 'back');
		const served = await eventually(async () => {
			const copied = await copy(db.url, urlOf(back), { program: FAULTS });
			return copied.code === 0 && copied;
		}, 'the copy back');

		assert.equal(Object.values(printed(served.out)).filter(([x, y]) => x !== y).length, 0);
		const file = await new Server({ program: FAULTS, data: back, args: SQLITE }).start();
		t.after(() => file.running && file.stop());
		const { events, epoch } = await at(cid, file).inbox();
		assert.equal(events.at(-1).body, 'one more');
		assert.equal(epoch, was[2].inbox.epoch);
		contiguous(events, 1);
		const { id } = await at(ann, file).send(cid.name, 'and another');
		assert.equal((await at(cid, file).received(id)).conversation_seq, ROWS + 2);
		await file.stop();
		pasting(await twinboxd(['fsck', '--data', back]));
	});
});

// ---- copies that are refused
// ---------------------------------------------------

/** Makes a data directory with some messages, whose server has ended. */
async function some(options)
{
	const server = await new Server({ args: SQLITE, ...options }).start();
	const [ann, bob] = await users(server, 'ann', 'bob');

	for (let i = 0; i < 4; i++)
		await ann.send(bob.name, `number ${i}`);
	await bob.event((event) => event.seq === 4);
	await server.stop();
	return { data: server.data, url: urlOf(server.data), ann, bob };
}

describe('refused', () => {
	let source;

	before(async () => {
		source = await some();
	});

	const refused = async (from, to, code, why, more) => {
		const tried = await copy(from, to, more);
		assert.equal(tried.code, code, tried.text);
		assert.match(tried.text, why);
		assert.equal(tried.text.trim().split('\n').length, 1, tried.text);
	};

	it('a source that is served, also by nodes', async (t) => {
		const server = await new Server({ data: source.data, args: SQLITE }).start();
		t.after(() => server.running && server.stop());
		const db = await freshDatabase();

		await refused(source.url, db.url, 75, /the source is being served .*: stop that twinboxd first/);
		assert.ok(await isEmpty(db));
		await server.stop();
		const node = await new Server({ args: ['--db', db.url] }).start();
		t.after(() => node.running && node.stop());
		await refused(db.url, urlOf(path.join(tempDir(), 'new')), 75,
			/the source is being served by node \S+: stop all nodes first/);
		await node.stop();
		pasting(await copy(db.url, urlOf(path.join(tempDir(), 'new'))));
	});

	/**
	 * Makes a trigger that holds a copy into ${db} in its first table, until
	 * end() is called.
	 */
	async function holdCopy(t, db)
	{
		pasting(await twinboxd(['migrate', '--data', path.join(tempDir(), 'x'), '--db', db.url]));
		await cluster.sql('CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS ' +
			"'BEGIN PERFORM set_config(''lock_timeout'', ''0'', true); " +
			"PERFORM pg_advisory_xact_lock(77); RETURN NEW; END'; " +
			'CREATE TRIGGER hold BEFORE INSERT ON meta FOR EACH ROW EXECUTE FUNCTION hold()',
		{ database: db.name });
		const holder = run(cluster.program('psql'), ['-XqAt', '-d', db.url,
			'-c', 'SELECT pg_advisory_lock(77)', '-c', 'SELECT pg_sleep(3600)']);
		t.after(() => holder.kill('SIGKILL'));
		const locks = async (granted) => await cluster.sql('SELECT count(*) FROM pg_locks WHERE ' +
			`locktype = 'advisory' AND objid = 77 AND ${granted}`) === '1';
		await eventually(() => locks('granted'), 'the lock is held');
		return {
			waits: () => eventually(() => locks('NOT granted'), 'the copy is held'),
			end: () => cluster.sql('SELECT pg_terminate_backend(pid) FROM pg_locks WHERE ' +
				"locktype = 'advisory' AND objid = 77 AND granted"),
		};
	}

	it('a source whose node has a clock that is far behind', async (t) => {
		const from = await freshDatabase();
		const to = await freshDatabase();
		const beats = (sql) => cluster.sql(sql, { database: from.name });

		pasting(await twinboxd(['migrate', '--data', path.join(tempDir(), 'x'), '--db', from.url]));
		await beats("INSERT INTO nodes (name, started_at, beat_at) VALUES ('behind', 1000, 1000); " +
			"INSERT INTO meta (key, value) VALUES ('epoch', 'e')");
		const held = await holdCopy(t, to);
		const copying = copy(from.url, to.url);
		await held.waits();
		await beats('UPDATE nodes SET beat_at = beat_at + 2000');
		await held.end();
		const changed = await copying;
		assert.equal(changed.code, 75, changed.text);
		assert.match(changed.text, /the source has changed while it was copied/);
		assert.ok(await isEmpty(to));
	});

	it('a source whose server has another data directory', async (t) => {
		const elsewhere = path.join(tempDir(), 'else');
		const link = path.join(tempDir(), 'link');
		const db = await freshDatabase();

		fs.mkdirSync(elsewhere, { mode: 0o700 });
		const server = await new Server({ args: ['--db', urlOf(elsewhere)] }).start();
		t.after(() => server.running && server.stop());
		fs.symlinkSync(elsewhere, link);
		for (const place of [elsewhere, link])
			await refused(urlOf(place), db.url, 75, /is being served .*: stop that twinboxd first/);
		assert.ok(await isEmpty(db));
		/* A second server would deliver to the inboxes of the first. */
		const second = await twinboxd(['serve', '--data', path.join(tempDir(), 'b'),
			'--listen', '127.0.0.1:0', '--db', urlOf(link)]);
		assert.equal(second.code, 75, second.text);
		assert.ok(second.text.includes(`directory holds ${elsewhere}/twinbox.db-lock`), second.text);
	});

	it('a source that another program changes', async (t) => {
		const server = await new Server({ args: SQLITE }).start();
		assert.equal((await server.stop()).code, 0);
		const db = await freshDatabase();
		const held = await holdCopy(t, db);
		const copying = copy(urlOf(server.data), db.url);

		await held.waits();
		lite(fileOf(server.data), "INSERT INTO meta (key, value) VALUES ('x', 'y')");
		await held.end();
		const changed = await copying;
		assert.equal(changed.code, 75, changed.text);
		assert.match(changed.text, /the source has changed while it was copied/);
		assert.ok(await isEmpty(db));
	});

	it('a target with content, or that was ever served', async () => {
		const full = await freshDatabase();
		const used = await freshDatabase();

		pasting(await copy(source.url, full.url));
		const rows = await cluster.sql('SELECT count(*), max(mid) FROM messages', { database: full.name });
		await refused(source.url, full.url, 73, /the target is not empty: copy into a new database/);
		assert.equal(await cluster.sql('SELECT count(*), max(mid) FROM messages',
			{ database: full.name }), rows);
		pasting(await twinboxd(['migrate', '--data', path.join(tempDir(), 'x'), '--db', used.url]));
		await cluster.sql("INSERT INTO audit_log (at, actor, action, object) VALUES (1, 'a', 'b', 'c')",
			{ database: used.name });
		await refused(source.url, used.url, 73, /the target is not empty \(audit_log: 1\)/);
		await refused(full.url, source.url, 73, /the target is not empty/);
	});

	it('a database of somebody else', async () => {
		const db = await freshDatabase();

		await cluster.sql('CREATE TABLE other (x int)', { database: db.name });
		await refused(source.url, db.url, 65, /has 1 tables, but none of twinbox/);
	});

	it('a source of an older schema, with the cure', async () => {
		const old = path.join(tempDir(), 'old');
		const db = await freshDatabase();

		fs.mkdirSync(old, { mode: 0o700 });
		const { code, text } = await twinboxd([fileOf(source.data), fileOf(old), '1'],
			{ program: OLD_SCHEMA });
		assert.equal(code, 0, text);
		fs.chmodSync(fileOf(old), 0o600);
		await refused(urlOf(old), db.url, 65, /has schema 1, this program looks at \d+: see twinboxd migrate/);
		pasting(await twinboxd(['migrate', '--data', old]));
		pasting(await copy(urlOf(old), db.url));
	});

	it('what is not a source, and not a url', async () => {
		const db = await freshDatabase();
		const usage = async (args, why) => {
			const { code, text } = await twinboxd(['copy', ...args]);
			assert.equal(code, 64, text);
			assert.match(text, why);
		};
		const missing = path.join(tempDir(), 'none');

		await refused(urlOf(missing), db.url, 66, /there is no database /);
		assert.ok(!fs.existsSync(missing));
		await usage(['--from', source.url], /--to URL/);
		await usage(['--from', source.url, '--to', 'chat'], /--to: "chat" is neither sqlite:PATH nor/);
		await usage(['--from', source.url, '--to', 'postgresql://a:secret@b/c'], /--to: a password in the url/);
		await usage(['--from', source.url, '--to', urlOf(missing)], /what backup is for/);
	});

	it('a text that PostgreSQL cannot hold is named', async () => {
		const nul = path.join(tempDir(), 'nul');
		const db = await freshDatabase();

		fs.mkdirSync(nul, { mode: 0o700 });
		fs.copyFileSync(fileOf(source.data), fileOf(nul));
		lite(fileOf(nul), "UPDATE messages SET body = 'a' || char(0) || 'b' WHERE conversation_seq = 3;");
		await refused(urlOf(nul), db.url, 65, /messages, row 3, column 7: a text with a NUL/);
		assert.ok(await isEmpty(db));
	});

	it('a row that does not arrive is missed, and nothing is kept', async () => {
		const db = await freshDatabase();

		pasting(await twinboxd(['migrate', '--data', path.join(tempDir(), 'x'), '--db', db.url]));
		await cluster.sql('CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS ' +
			"'BEGIN RETURN NULL; END'; CREATE TRIGGER lose BEFORE INSERT ON inbox FOR EACH ROW " +
			'WHEN (NEW.seq = 3) EXECUTE FUNCTION lose()', { database: db.name });
		const lost = await copy(source.url, db.url);
		assert.equal(lost.code, 65, lost.text);
		const shown = printed(lost.out);
		assert.equal(shown.inbox[1], shown.inbox[0] - 2);
		assert.deepEqual(Object.entries(shown).filter(([, [,, word]]) => word === 'differ')
			.map(([table]) => table), ['inbox']);
		assert.match(lost.text, /1 table would not have the rows of the source: nothing was kept/);
		assert.ok(await isEmpty(db));
		await cluster.sql('DROP TRIGGER lose ON inbox', { database: db.name });
		pasting(await copy(source.url, db.url));
	});
});

// ---- interrupted -------------------------------------------------------------

describe('interrupted', () => {
	let source;

	before(async () => {
		source = await some();
	});

	for (const point of ['copy.batch.before:1', 'copy.batch.before:7', 'copy.commit.before:1']) {
		it(`killed at ${point}: nothing is there, and the next one succeeds`,
			{ skip: skipFaults }, async () => {
				const db = await freshDatabase();
				const killed = await copy(source.url, db.url,
					{ program: FAULTS, env: { TWINBOX_FAULT: `${point}:kill` } });
				assert.equal(killed.signal, 'SIGKILL', killed.text);
				assert.ok(await isEmpty(db));
				/*
				 * Until PostgreSQL has noticed the kill, the
				 * old transaction blocks the next copy.
				 */
				const again = await eventually(async () => {
					const tried = await copy(source.url, db.url);
					return tried.code !== 75 && tried;
				}, 'the next copy');
				pasting(again);
			});
	}

	it('killed on the way into a file', { skip: skipFaults }, async () => {
		const db = await freshDatabase();
		const back = path.join(tempDir(), 'back');

		pasting(await copy(source.url, db.url));
		const killed = await copy(db.url, urlOf(back),
			{ program: FAULTS, env: { TWINBOX_FAULT: 'copy.commit.before:1:kill' } });
		assert.equal(killed.signal, 'SIGKILL', killed.text);
		assert.equal(lite(fileOf(back), 'SELECT count(*) FROM users;'), '0');
		pasting(await copy(db.url, urlOf(back)));
	});

	it('a server that is started meanwhile does not begin', { skip: skipFaults }, async (t) => {
		const db = await freshDatabase();
		/*
		 * The copy pauses for an hour just before its commit, and is
		 * then killed.
		 */
		const copying = run(FAULTS, ['copy', '--from', source.url, '--to', db.url],
			{ env: { ...process.env, TWINBOX_FAULT: 'copy.commit.before:1:delay=3600000' } });
		t.after(() => copying.kill('SIGKILL'));
		await within(new Promise((resolve) => {
			const look = () => /^audit_log /m.test(copying.out) && resolve();
			copying.on('twinbox-output', look);
			look();
		}), 20_000, 'the copy is counted');
		/* The node waits for the copy, here for one second only. */
		const node = new Server({ args: ['--db', db.url, '--database-wait', '1s'] });
		await assert.rejects(node.start(), /code 75 /);
		copying.kill('SIGKILL');
		await copying.exited;
		const again = await eventually(async () => {
			const tried = await copy(source.url, db.url);
			return tried.code !== 75 && tried;
		}, 'the next copy');
		pasting(again);
	});

	it('the connection is lost in the middle, or in the commit', async (t) => {
		const proxy = await new TcpProxy({ port: cluster.port }).start();
		t.after(() => proxy.stop());
		const db = await freshDatabase();
		const through = cluster.url(db.name, { port: proxy.port });

		proxy.cutAfter('copy_outbox_put');
		const cut = await copy(source.url, through);
		assert.equal(cut.code, 75, cut.text);
		assert.match(cut.text, /^twinboxd: .*outbox/m);
		await eventually(() => isEmpty(db), 'nothing is there');
		proxy.cutAfter('COMMIT');
		/*
		 * The first COMMIT can be that of the migration, so the copy is
		 * repeated until the lost one is its own.
		 */
		const uncertain = await eventually(async () => {
			const tried = await copy(source.url, through);
			return /copy once more/.test(tried.text) && tried;
		}, 'a commit without an answer');
		assert.equal(uncertain.code, 75);
		assert.match(uncertain.text, /may have the copy or not .*: copy once more, it is refused if it has/);
		const again = await copy(source.url, through);
		assert.equal(again.code, 73, again.text);
		pasting(await twinboxd(['fsck', '--data', path.join(tempDir(), 'x'), '--db', db.url]));
	});
});

// ---- an older program --------------------------------------------------------

describe('a database of a newer program', () => {
	it('is refused in one sentence by all that would touch it', async () => {
		const source = await some();
		const db = await freshDatabase();
		const x = path.join(tempDir(), 'x');
		const newer = new RegExp('^twinboxd: (fsck could not look at everything: )?the database ' +
			'has schema 99, this program knows [0-9]+: use the newer program\n$');

		pasting(await copy(source.url, db.url));
		await cluster.sql("INSERT INTO schema_migrations VALUES (99, 'later', 0)", { database: db.name });
		const rows = () => cluster.sql('SELECT (SELECT count(*) FROM meta), (SELECT count(*) FROM nodes)',
			{ database: db.name });
		const untouched = await rows();
		for (const args of [['serve', '--listen', '127.0.0.1:0', '--data', x, '--db', db.url],
			['fsck', '--data', x, '--db', db.url],
			['migrate', '--data', x, '--db', db.url],
			['user', 'disable', source.ann.name, '--data', x, '--db', db.url],
			['copy', '--from', db.url, '--to', urlOf(path.join(tempDir(), 'new'))],
			['copy', '--from', source.url, '--to', db.url]]) {
			const { code, text } = await twinboxd(args);
			assert.equal(code, args[0] === 'serve' ? 78 : 65, `${args[0]}: ${text}`);
			/*
			 * The message is one line; serve also logs its start.
			 */
			const said = text.split('\n').filter((line) => args[0] !== 'serve' ||
				!/^\S+Z (info|error) server\./.test(line)).join('\n');
			assert.match(said, newer, args[0]);
		}
		assert.equal(await rows(), untouched);
	});
});
