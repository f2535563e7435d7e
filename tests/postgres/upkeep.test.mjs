// SPDX-License-Identifier: MIT
//
// Upkeep on a database with several nodes: one node purges for all, and when it
// is killed, another takes over.  Nodes that come and go leave no rows behind.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import {
	Server, TWINBOXD, eventually, killAll, run, tempDir, users,
} from '../e2e/harness.mjs';
import { archived, metric, purged } from '../e2e/upkeep.mjs';
import { Cluster } from './cluster.mjs';

const LONG_MS = 60_000;
const QUICK = ['--retention', '1s', '--purge-rate', '20000'];

let cluster;

before(async () => {
	cluster = await new Cluster().start();
});
after(async () => {
	await killAll();
	await cluster?.remove();
});

/** Sends ${n} messages from ann to bob, who acks them. */
async function talk([ann, bob], n)
{
	const ids = [];

	for (let i = 0; i < n; i++)
		ids.push((await ann.send(bob.name, `message ${i}`)).id);
	for (const id of ids)
		await bob.received(id);
	await bob.ack((await bob.inbox()).head);
	return ids;
}

/** Returns true if ${node} has logged that it does the upkeep. */
const first = (node) => /cluster\.first/.test(node.output());

/** Waits until ${ids} are in the archive of ${node}. */
async function archivedBy(node, ids)
{
	await eventually(() => {
		const there = new Set(archived(node.archive).filter((line) => line.type === 'outbox')
			.map((line) => line.id));
		return ids.every((id) => there.has(id));
	}, 'the rows in the archive', LONG_MS);
}

describe('upkeep of several nodes', () => {
	it('is done by one, and by another when that is killed', async () => {
		const url = await cluster.createDatabase('upkeep');
		const nodes = [];
		for (let i = 0; i < 3; i++) {
			const archive = path.join(tempDir(), 'archive');
			const node = new Server({ args: ['--db', url, ...QUICK, '--archive', archive] });
			nodes.push(Object.assign(await node.start(), { archive }));
		}
		const [a, b, c] = nodes;
		const people = await users(c, 'ann', 'bob');

		const early = await talk(people, 5);
		await archivedBy(a, early);
		await eventually(async () => await purged(a) >= 5, 'five rows purged');
		assert.deepEqual(nodes.map(first), [true, false, false]);
		for (const node of [b, c]) {
			assert.equal(await purged(node), 0);
			assert.equal(await metric(node, 'purge_last_run_timestamp_seconds'), 0);
			assert.deepEqual(archived(node.archive), []);
		}
		assert.ok(await metric(a, 'purge_last_run_timestamp_seconds') > 0);

		await a.kill();
		const late = await talk(people, 5);
		await archivedBy(b, late);
		await eventually(async () => await purged(b) >= 5, 'five more', LONG_MS);
		assert.deepEqual(nodes.map(first), [true, true, false]);
		assert.equal(await purged(c), 0);
		assert.ok(await metric(b, 'purge_last_run_timestamp_seconds') > 0);
		assert.deepEqual(archived(c.archive), []);
		/*
		 * After a clean stop another node takes over at once, because
		 * the row of a node says that it has left.
		 */
		await b.stop();
		await eventually(() => first(c), 'the last one', LONG_MS);
		await c.stop();
	});

	it('forgets nodes that have left, and not what they have counted', async () => {
		const url = await cluster.createDatabase('forgets');
		const sql = (text) => cluster.sql(text, { database: 'forgets' });
		const node = new Server({ args: ['--db', url] });

		for (let i = 0; i < 4; i++) {
			await node.start();
			await talk(await users(node, 'ann', 'bob'), 2);
			await node.stop();
		}
		assert.equal(await sql('SELECT count(*) FROM nodes'), '4');
		assert.equal(await sql('SELECT count(*) FROM outbox_totals'), '4');
		const counted = await sql('SELECT sum(accepted_total), sum(sent_total) FROM outbox_totals');
		assert.equal(counted, '8|8');
		/* Makes two of them have left more than an hour ago. */
		await sql('UPDATE nodes SET left_at = left_at - 3600000 WHERE node_id <= 2');
		await node.start();
		await eventually(async () => await sql('SELECT count(*) FROM nodes') === '3',
			'two rows are gone', LONG_MS);
		assert.equal(await sql('SELECT string_agg(node::text, \' \' ORDER BY node) FROM ' +
			'outbox_totals WHERE node < 5'), '0 3 4');
		assert.equal(await sql('SELECT sum(accepted_total), sum(sent_total) FROM outbox_totals'),
			counted);
		assert.equal(await metric(node, 'outbox_sent_total'), 8);
		await node.stop();
		const { code } = await run(TWINBOXD,
			['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]).exited;
		assert.equal(code, 0);
	});
});
