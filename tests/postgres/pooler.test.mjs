// SPDX-License-Identifier: MIT
//
// A connection pooler between a node and PostgreSQL.  In transaction mode the
// start is refused, with the cure, before anything is left in a session that
// other clients get.  In session mode a node works as without a pooler.  Both
// are tested without other clients and under load.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { Server, expectStatus, users } from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { PgBouncer } from './pgbouncer.mjs';

const REFUSED = /server\.fail error=db: a connection pooler in transaction mode is between twinbox and PostgreSQL: set pool_mode = session for this database, or name the PostgreSQL server itself$/m;

describe('PgBouncer', () => {
	let cluster;

	before(async () => { cluster = await new Cluster().start(); });
	after(() => cluster?.remove());

	/**
	 * Returns the settings of a session of the pool, as another client
	 * finds them.
	 */
	async function settings(url)
	{
		return cluster.sql("SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) " +
			"FROM pg_settings WHERE source = 'session' AND name NOT IN " +
			"('client_encoding', 'application_name')", { url });
	}

	for (const [name, clients, size] of [
		['idle', 0, 20], ['under load', 6, 3], ['under load, with room', 6, 20],
	]) {
		it(`in transaction mode, ${name}: the start is refused and leaves nothing`, async (t) => {
			const database = `transaction_${clients}_${size}`;
			await cluster.createDatabase(database);
			const pooler = await new PgBouncer(cluster, 'transaction', { size }).start();
			t.after(() => pooler.stop());
			const load = clients > 0 ? await pooler.load(database, clients) : undefined;
			try {
				for (let i = 0; i < 5; i++) {
					const node = new Server({ args: ['--db', pooler.url(database)] });
					const { code } = await node.startAndEnd();
					assert.equal(code, 78, node.output());
					assert.match(node.output(), REFUSED);
				}
			} finally {
				await load?.stop();
			}
			for (let i = 0; i < 5; i++)
				assert.equal(await settings(pooler.url(database)), '');
			assert.equal(await cluster.sql(
				"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0');
			/*
			 * Nothing blocks a start that does not use the pooler.
			 */
			const node = await new Server({ args: ['--db', cluster.url(database)] }).start();
			assert.equal((await node.stop()).code, 0);
		});
	}

	for (const [name, clients] of [['idle', 0], ['under load', 6]]) {
		it(`in session mode, ${name}: a node serves`, async (t) => {
			const database = `session_${clients}`;
			await cluster.createDatabase(database);
			const pooler = await new PgBouncer(cluster, 'session').start();
			t.after(() => pooler.stop());
			const load = clients > 0 ? await pooler.load(database, clients) : undefined;
			const node = await new Server({ args: ['--db', pooler.url(database)] }).start();
			t.after(() => node.kill());
			const [ann, bob] = await users(node, 'ann', 'bob');
			for (let i = 0; i < 20; i++) {
				const { id } = await ann.send(bob.name, `${i}`);
				await bob.received(id);
			}
			expectStatus(await node.rest().get('/readyz'), 200);
			assert.doesNotMatch(node.output(), / error /);
			await load?.stop();
			assert.equal((await node.stop()).code, 0);
		});
	}
});
