// SPDX-License-Identifier: MIT
//
// Another node may change a row between the moment at which a node reads it and
// the moment at which it locks it.  The node must then act on the current row,
// not on the old one.  In these tests a psql locks the conversation until all
// nodes that need it wait for it, each at a critical moment.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Operator, until } from '../e2e/operator.mjs';
import { problem } from '../e2e/expect.mjs';
import {
	Server, TWINBOXD, User, eventually, expectStatus, killAll, login, longerTimes, run, sleep,
	tempDir, users,
} from '../e2e/harness.mjs';
import { Peer, sameDestinations, skip as skipFaults } from '../fault/remote.mjs';
import { Cluster } from './cluster.mjs';
import { Holder } from './holder.mjs';

/* Nodes check every 10 s for leases that have run out. */
const TAKEN_MS = 30_000 * Number(process.env.TWINBOX_SLOW ?? 1);

/*
 * A unit that waits for a row keeps what it has read, and this is what the
 * tests need.  A deferred unit would read its rows again, so deferral is
 * delayed.
 */
const WAITS_FOR_ROWS = longerTimes(['db_patience'], 100);

let cluster;
let databases = 0;

before(async () => {
	cluster = await new Cluster().start();
});
after(async () => {
	await killAll();
	await cluster?.remove();
});

/**
 * Starts ${n} nodes on a database of their own.  Returns functions that act on
 * the database.
 */
async function world(t, n, options = () => ({}))
{
	const database = `meanwhile_${++databases}`;
	const url = await cluster.createDatabase(database);
	const nodes = Array.from({ length: n }, () =>
		new Server({ ...options(), env: WAITS_FOR_ROWS, args: ['--db', url] }));
	const sql = (text) => cluster.sql(text, { database });

	await Promise.all(nodes.map((node) => node.start()));
	t.after(() => Promise.all(nodes.map((node) => node.running && node.stop())));
	return {
		nodes, sql,
		/** Locks the conversation of message ${id}. */
		async hold(id)
		{
			const holder = new Holder(cluster, database, 'SELECT 1 FROM conversations c ' +
				`JOIN messages m USING (conversation_id) WHERE m.message_id = '${id}' ` +
				'FOR UPDATE OF c');

			t.after(() => holder.child.kill('SIGKILL'));
			return holder.held();
		},
		/** Waits until ${k} nodes wait for a lock. */
		async waiting(k)
		{
			await eventually(async () => Number(await sql('SELECT count(*) ' +
				'FROM pg_stat_activity WHERE datname = current_database() ' +
				"AND application_name = 'twinbox writer' AND wait_event_type = 'Lock'")) === k,
			`${k} nodes wait`);
		},
		/** Returns an administrator, once for each node. */
		async operators()
		{
			const [{ name }] = await users(nodes[0], 'root');

			await sql(`UPDATE users SET admin = 1 WHERE name = '${name}'`);
			const { token, device_name } = await login(nodes[0], name);
			return nodes.map((node) => new Operator(node, name, token, device_name));
		},
		/** Asserts that fsck finds nothing. */
		async sound()
		{
			const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);

			assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
		},
	};
}

describe('what is read before it is locked', () => {
	it('canceled at two nodes when it is due: once, whether it was released before or not',
		async (t) => {
		const { nodes, hold, waiting, operators, sound } = await world(t, 2);
		const [ann, bob] = await users(nodes[0], 'ann', 'bob');
		const first = await ann.send(bob.name, 'before');
		await bob.received(first.id);
		/*
		 * Otherwise the message could be delivered before it is
		 * canceled.
		 */
		for (const root of await operators())
			await root.pause();

		const due = Date.now() + 1000;
		const { id } = await ann.send(bob.name, 'never',
			{ deliver_at: new Date(due).toISOString() });
		const holder = await hold(first.id);
		await sleep(due + 500 - Date.now());
		await waiting(0);
		const answers = nodes.map((node) =>
			new User(node, ann.name, ann.token).delete(`/v1/outbox/${id}`));
		await waiting(2);
		assert.equal(await holder.release(), 0);
		assert.deepEqual((await Promise.all(answers)).map(({ status }) => status).sort(),
			[200, 409]);
		assert.equal((await ann.entry(id)).state, 'canceled');
		const seen = (await ann.inbox()).events.filter((event) => event.id === id ||
			event.of === id).map((event) => event.kind);
		assert.ok(['', 'message delete'].includes(seen.join(' ')), seen.join(' '));
		assert.equal((await bob.inbox()).head, 1);
		await sound();
	});

	it('due while another session locks its conversation: others go on, and it comes when that is free',
		async (t) => {
		const { nodes, hold, waiting, sound } = await world(t, 1);
		const [ann, bob, cat] = await users(nodes[0], 'ann', 'bob', 'cat');
		const first = await ann.send(bob.name, 'before');
		await bob.received(first.id);

		const deliver_at = new Date(Date.now() + 1500).toISOString();
		const [{ id }, { id: other }] = [await ann.send(bob.name, 'then', { deliver_at }),
			await ann.send(cat.name, 'then', { deliver_at })];
		const holder = await hold(first.id);
		await cat.received(other);
		assert.equal((await ann.entry(id)).state, 'pending');
		await waiting(0);
		assert.equal(await holder.release(), 0);
		await bob.received(id);
		await sound();
	});

	it('expired while another session locks its conversation: others go on, and it learns when that is free',
		{ skip: skipFaults }, async (t) => {
		const { nodes, hold, waiting, operators, sound } =
			await world(t, 1, sameDestinations());
		const [root] = await operators();
		const [ann] = await users(nodes[0], 'ann');
		const there = new Peer(nodes[0], 'there');

		/*
		 * The destination is paused.  An attempt that is under way when
		 * the conversation is held could not be settled.
		 */
		await until(ann, (await ann.send(`zoe@${there.name}`, 'before')).id, 'sent');
		await root.pause(there.name);
		const [{ id }, { id: other }] = [await ann.send(`zoe@${there.name}`, 'x', { expires_in: 2 }),
			await ann.send(`yan@${there.name}`, 'x', { expires_in: 2 })];
		const holder = await hold(id);
		await until(ann, other, 'expired');
		assert.equal((await ann.entry(id)).state, 'pending');
		await waiting(0);
		assert.equal(await holder.release(), 0);
		await until(ann, id, 'expired');
		await sound();
	});

	it('discarded here while it leaves there: it is on its way, and the operator learns it',
		{ skip: skipFaults }, async (t) => {
		const { nodes, hold, waiting, operators, sql, sound } =
			await world(t, 1, sameDestinations());
		const [root] = await operators();
		const [ann] = await users(nodes[0], 'ann');
		const there = new Peer(nodes[0], 'there');
		const first = await ann.send(`zoe@${there.name}`, 'before');
		await until(ann, first.id, 'sent');

		await root.pause(there.name);
		const { id } = await ann.send(`zoe@${there.name}`, 'once');
		const holder = await hold(id);
		const answer = root.post(`/v1/admin/outbox/${id}/discard`);
		await waiting(1);
		/*
		 * The psql does the same as the claim of another node, with a
		 * lease that has already run out.
		 */
		const row = '(SELECT id FROM outbox JOIN messages USING (mid) ' +
			`WHERE message_id = '${id}')`;
		assert.equal(await holder.release(`
			UPDATE outbox SET state = 'sending', attempts = 1 WHERE id = ${row};
			INSERT INTO outbox_attempts (outbox_id, attempt, destination_id, owner, started_at)
				SELECT ${row}, 1, destination_id, 'other:1', 1 FROM outbox_lanes
				WHERE state = 'ready';
			UPDATE outbox_lanes SET state = 'leased', lease_until = 1, lease_token = 99,
				lease_owner = 'other:1' WHERE state = 'ready';
			INSERT INTO outbox_totals (node, pending, sending) VALUES (65, -1, 1)`), 0);
		problem(await answer, 409, 'conflict');
		assert.equal(await sql('SELECT count(*) FROM dead_letter_queue'), '0');
		await root.resume(there.name);
		await eventually(() => there.has().length > 1, 'it is there', TAKEN_MS);
		await until(ann, id, 'sent');
		assert.deepEqual(there.has().map((got) => got.id), [first.id, id]);
		await sound();
	});

	const past = { discard: 'discarded', requeue: 'requeued' };
	for (const [one, other] of [['discard', 'requeue'], ['requeue', 'discard']]) {
		it(`two operators, one letter: an attempt to ${other} it after a ${one} is refused`,
			{ skip: skipFaults }, async (t) => {
			const { nodes, hold, waiting, operators, sql, sound } =
				await world(t, 2, sameDestinations());
			const roots = await operators();
			const [ann] = await users(nodes[0], 'ann');
			const there = new Peer(nodes[0], 'there');

			there.does({ reject: 100 });
			const { id } = await ann.send(`zoe@${there.name}`, 'unwanted');
			await until(ann, id, 'failed');
			const [{ dead_id }] = await roots[0].all('dead-letters', 'dead_letters');
			there.does({});
			const holder = await hold(id);
			const first = roots[0].do('POST', `dead-letters/${one}`, { dead_ids: [dead_id] });
			await waiting(1);
			const second = roots[1].do('POST', `dead-letters/${other}`, { dead_ids: [dead_id] });
			await waiting(2);
			assert.equal(await holder.release(), 0);
			assert.equal((await first)[past[one]], 1);
			const refused = await second;
			assert.equal(refused[past[other]], 0);
			assert.match(JSON.stringify(refused), /it is resolved already/);
			await until(ann, id, one === 'discard' ? 'failed' : 'sent');
			assert.equal(await sql("SELECT string_agg(resolution, ' ') FROM dead_letter_queue"),
				past[one]);
			await sound();
		});
	}
});
