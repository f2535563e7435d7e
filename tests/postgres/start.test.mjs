// SPDX-License-Identifier: MIT
//
// A node that starts while its database is down waits for it, logs this every
// 10 s, and answers on its port meanwhile that it is not ready.  An error that
// waiting cannot cure ends it at once.  The same for a first start on a cluster
// whose standbys are missing, and for a start during the migration of another
// node.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';

import { Rest } from '../e2e/harness/rest.mjs';
import { Server, eventually, expectStatus, users } from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { Holder } from './holder.mjs';

/* The key of the advisory lock in server/db/db_postgres_schema.c. */
const MIGRATE_LOCK = '32779049022645112';

/* The lines about what a start waits for come ten times as frequently. */
const OFTEN = { TWINBOX_TIME_SCALE: 'log_wait=10' };

/**
 * Starts a node on a database that is not there.  Returns it and the address at
 * which it listens while it waits.
 */
async function waiting(url, { args = [] } = {})
{
	const node = new Server({ args: ['--db', url, ...args], env: OFTEN });

	node.spawn();
	const where = await eventually(() =>
		/store\.wait url=(http:\S+)/.exec(node.output())?.[1], 'the node waits', 30_000);
	node.url = where;
	return node;
}

/** Waits until the started node serves. */
async function serves(node)
{
	const found = await eventually(() =>
		/^listening: (http:\S+)$/m.exec(node.output())?.[1], 'the node serves', 60_000);
	node.url = found;
	return node;
}

const lines = (node, event) => node.output().split('\n')
	.filter((line) => line.includes(` ${event} `));

describe('a start without a database', () => {
	let cluster;
	let url;

	before(async () => {
		cluster = await new Cluster().start();
		url = (await cluster.createDatabase('chat'),
			cluster.url('chat', { tcp: true }));
	});
	after(() => cluster?.remove());

	it('waits, says so, answers 503, and serves when the database is there', async () => {
		await cluster.stop();
		const node = await waiting(url);
		try {
			const rest = new Rest(node);
			assert.equal(expectStatus(await rest.get('/healthz'), 200).text, 'ok\n');
			const ready = await rest.get('/readyz');
			assert.equal(ready.status, 503);
			assert.match(ready.body.detail, /^the database is away/);
			assert.ok(Number(ready.headers.get('retry-after')) > 0);
			for (const path of ['/v1/inbox', '/v1', '/v1/ws', '/metrics'])
				assert.equal((await rest.get(path)).status, 503, path);
			/*
			 * A client would give up a message that is said to be
			 * too large, so a long one gets the same answer.
			 */
			for (const body of ['x', 'x'.repeat(16_000)])
				assert.equal((await rest.post('/v1/messages', { to: 'bob', body })).status,
					503, `${body.length} bytes`);
			/*
			 * There is one line every 10 s (here scaled to 1 s),
			 * not one for each attempt.
			 */
			await eventually(() => lines(node, 'store.wait').length >= 4, 'it says so again');
			for (const line of lines(node, 'store.wait').slice(1)) {
				if (!line.includes(' url='))
					assert.match(line, /for=the database error=db: .*refused/);
			}
			const where = node.url;
			await cluster.start();
			await serves(node);
			assert.equal(node.url, where, 'on the same port');
			const [ann, bob] = await users(node, 'ann', 'bob');
			expectStatus(await ann.post('/v1/messages', { to: bob.name, body: 'x' }), 201);
			assert.equal(expectStatus(await node.rest().get('/readyz'), 200).status, 200);
			assert.equal((await node.stop()).code, 0);
		} finally {
			await node.kill();
			await cluster.start().catch(() => {});
		}
	});

	it('ends at once on SIGTERM, whatever call it is in', async () => {
		/*
		 * This server accepts connections and says nothing.  For each
		 * of the two addresses libpq waits 5 s, and signals do not
		 * interrupt it.
		 */
		const silent = net.createServer(() => {}).listen(0, '127.0.0.1');
		await once(silent, 'listening');
		const { port } = silent.address();
		const node = new Server({ args: ['--db',
			cluster.url('chat', { port: `${port},${port}` })] });
		try {
			const connected = once(silent, 'connection');
			node.spawn();
			await connected;
			const begun = performance.now();
			const end = await node.stop();
			assert.equal(end.code, 0, node.output());
			assert.match(node.output(), /server\.stop signal=TERM[^]*server\.stopped/);
			assert.ok(performance.now() - begun < 4000);
		} finally {
			await node.kill();
			silent.close();
		}
	});

	it('gives up with 75 when database-wait is over', async () => {
		await cluster.stop();
		const node = new Server({ args: ['--db', url, '--database-wait', '1s'] });
		try {
			const { code } = await node.startAndEnd();
			assert.equal(code, 75, node.output());
			assert.match(node.output(), /server\.fail error=waited 1 s for the database: db: /);
		} finally {
			await cluster.start();
		}
	});

	for (const [name, code, said, make] of [
		['a database that does not exist', 78, /database "nowhere" does not exist/,
			() => ({ db: cluster.url('nowhere') })],
		['a wrong password', 77, /password authentication failed/,
			() => ({ db: url.replace(/\?.*/, ''), env: { PGPASSWORD: 'wrong' } })],
		['a role that does not exist', 77, /role "stranger" does not exist/,
			() => ({ db: cluster.url('chat').replace('twinbox@', 'stranger@') })],
		['a server that could lose what it has', 78, /full_page_writes=off/, async () => {
			await cluster.sql('ALTER SYSTEM SET full_page_writes TO off');
			await cluster.sql('SELECT pg_reload_conf()');
			await eventually(async () => await cluster.sql('SHOW full_page_writes') === 'off',
				'the setting is taken over');
			return { db: url };
		}],
	]) {
		it(`ends at once on ${name}`, async () => {
			const { db, env } = await make();
			const node = new Server({ args: ['--db', db], env });
			const end = await node.startAndEnd();

			assert.equal(end.code, code, node.output());
			assert.match(node.output(), said);
			assert.doesNotMatch(node.output(), /store\.wait/);
		});
	}
});

describe('a first start on a cluster without its standbys', () => {
	it('says that it waits for a standby, and serves when there is one', async (t) => {
		const cluster = await new Cluster().start();
		t.after(() => cluster.remove());
		await cluster.createDatabase('chat');
		await cluster.sql("ALTER SYSTEM SET synchronous_standby_names = 'late'");
		await cluster.sql('SELECT pg_reload_conf()');
		await eventually(async () => await cluster.sql('SHOW synchronous_standby_names') === 'late',
			'commits wait');
		/* An answer is given up after 3 s instead of 15 s. */
		const nodes = Array.from({ length: 2 }, () => new Server({
			args: ['--db', cluster.url('chat')],
			env: { TWINBOX_TIME_SCALE: 'log_wait=10,db_answer=5' } }));
		t.after(() => Promise.all(nodes.map((node) => node.kill())));
		for (const node of nodes)
			node.spawn();
		await Promise.all(nodes.map((node) => eventually(() => lines(node, 'store.wait')
			.some((line) => /for=.*whose commit waits for a standby/.test(line)),
		() => `a node says what it waits for\n${node.output()}`, 60_000)));
		for (const node of nodes) {
			assert.equal(node.starts, 1);
			assert.ok(lines(node, 'store.wait').some((line) =>
				/for=the migration of another node: PostgreSQL session [0-9]+ from/.test(line)));
		}
		/*
		 * A commit that waits for a standby does not block the copying
		 * of the database.
		 */
		const other = await cluster.replica('late');
		t.after(() => other.remove());
		await Promise.all(nodes.map(serves));
		assert.equal(await cluster.sql('SELECT count(*) FROM schema_migrations',
			{ database: 'chat' }), await cluster.sql(
			'SELECT max(number) FROM schema_migrations', { database: 'chat' }));
		await Promise.all(nodes.map(async (node) => assert.equal((await node.stop()).code, 0)));
	});
});

describe('a start while another node migrates', () => {
	it('waits for it, and says for whom', async (t) => {
		const cluster = await new Cluster().start();
		t.after(() => cluster.remove());
		const url = await cluster.createDatabase('chat');
		const holder = await new Holder(cluster, 'chat',
			`SELECT 'pid ' || pg_backend_pid(); SELECT pg_advisory_xact_lock(${MIGRATE_LOCK})`).held();
		t.after(() => holder.child.kill('SIGKILL'));
		const [, pid] = /^pid ([0-9]+)$/m.exec(holder.out);
		const node = new Server({ args: ['--db', url], env: OFTEN });
		t.after(() => node.kill());
		node.spawn();
		const said = new RegExp('store\\.wait for=the migration of another node: ' +
			`PostgreSQL session ${pid} from this machine$`, 'm');
		await eventually(() => said.test(node.output()), () => node.output());
		await eventually(() => lines(node, 'store.wait').length > 2, 'it says so again');
		/* The wait leaves no lock in the server. */
		assert.equal(await cluster.sql(
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '1');
		assert.equal(await holder.release(), 0);
		await serves(node);
		assert.equal(await cluster.sql(
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0');
		assert.equal((await node.stop()).code, 0);
	});
});
