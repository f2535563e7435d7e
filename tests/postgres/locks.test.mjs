// SPDX-License-Identifier: MIT
//
// Another session (for example an operator's psql that was left open) locks a
// row that a node must write, for longer than the lock time-out.  Requests that
// need the row are answered 503 with Retry-After and leave nothing.  Other
// nodes, and requests that do not need the row, go on.  When the lock is
// released, everything works again.  The values that the other session has
// written count: a changed password; or all rows of a lane, written as they
// were read, after which the lease of a node that died meanwhile must still
// end.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import {
	PASSWORD, Server, TWINBOXD, User, eventually, expectStatus, killAll, longerTimes, run, sleep,
	tempDir, users, uuid7,
} from '../e2e/harness.mjs';
import { Peer, sameDestinations, skip as skipFaults } from '../fault/remote.mjs';
import { Cluster } from './cluster.mjs';
import { Holder } from './holder.mjs';

/*
 * A lock is given up after 5 s, and what waits behind a waiting unit, after
 * another 5 s.  A longer wait is a hang, however busy the machine is.
 */
const HANG_MS = 30_000 * Number(process.env.TWINBOX_SLOW ?? 1);

after(killAll);

/*
 * The other nodes mark a node dead after 10 s, and check for leases every 10 s.
 */
const TAKEN_MS = 30_000 * Number(process.env.TWINBOX_SLOW ?? 1);

describe('a row that somebody else holds', () => {
	let cluster;

	before(async () => {
		cluster = await new Cluster().start();
	});
	after(() => cluster?.remove());

	const number = async (sql) => Number(await cluster.sql(sql, { database: 'chat' }));
	const patient = () => ({ signal: AbortSignal.timeout(HANG_MS) });

	/** Returns how many rows ${messages} have left. */
	const traces = (messages) => {
		const ids = messages.map(({ id }) => `'${id}'`).join(', ');
		return number(`SELECT (SELECT count(*) FROM messages WHERE message_id IN (${ids})) + ` +
			`(SELECT count(*) FROM outbox WHERE event_id IN (${ids})) + ` +
			`(SELECT count(*) FROM inbox WHERE event_id IN (${ids}))`);
	};

	it('a conversation: its messages are refused, nothing of them stays, all goes on after',
		async (t) => {
		const url = await cluster.createDatabase('chat');
		const nodes = await Promise.all([0, 1].map(() => new Server({ args: ['--db', url],
			unlimited: 'one user sends on while a conversation is locked' }).start()));
		const [here, there] = nodes;
		const [ann, bob, cat, dan] = await users(here, 'ann', 'bob', 'cat', 'dan');
		const catThere = new User(there, cat.name, cat.token, cat.device_name);

		const { id: first } = await ann.send(bob.name, 'before');
		await catThere.send(dan.name, 'before');
		await bob.received(first);
		const holder = await new Holder(cluster, 'chat', 'SELECT 1 FROM conversations c ' +
			`JOIN messages m USING (conversation_id) WHERE m.message_id = '${first}' ` +
			'FOR UPDATE OF c').held();
		t.after(() => holder.child.kill('SIGKILL'));

		/* A message alone, in an array, and by WebSocket. */
		const refused = [];
		const message = () => {
			const one = { id: uuid7(), to: bob.name, body: `${refused.length}` };
			refused.push(one);
			return one;
		};
		const send = async () => {
			const { status, headers, text } = await ann.post('/v1/messages', message(), patient());
			assert.equal(status, 503, text);
			assert.match(headers.get('retry-after') ?? '', /^[1-9][0-9]*$/);
		};
		const sendArray = async () => {
			const { body } = expectStatus(await ann.post('/v1/messages',
				[message(), message()], patient()), 200);
			assert.deepEqual(body.map(({ status }) => status), [503, 503]);
			for (const { problem } of body)
				assert.ok(problem.retry_after >= 1, JSON.stringify(problem));
		};
		const ws = await ann.ws({ instance: 'sender' });
		let waits = true;
		const all = Promise.all([send(), send(), sendArray(),
			(async () => {
				const { type, problem } = await ws.request({ type: 'send', message: message() },
					{ ms: HANG_MS });
				assert.equal(`${type} ${problem?.status}`, 'error 503');
			})()]).finally(() => { waits = false; });
		all.catch(() => {});
		/*
		 * Meanwhile requests at the other node are not delayed, and
		 * neither are reads here.
		 */
		let others = 0;
		while (waits) {
			expectStatus(await catThere.post('/v1/messages',
				{ id: uuid7(), to: dan.name, body: 'meanwhile' }, patient()), 201);
			expectStatus(await bob.get('/v1/inbox?limit=1', patient()), 200);
			others++;
		}
		await all;
		t.diagnostic(`${refused.length} messages refused, ${others} others accepted meanwhile`);
		assert.ok(others > 10, `${others}`);
		assert.equal(await traces(refused), 0);
		assert.equal((await bob.inbox()).events.length, 1);

		assert.equal(await holder.release(), 0);
		for (const one of refused)
			expectStatus(await ann.post('/v1/messages', one, patient()), 201);
		for (const one of refused)
			assert.equal((await ann.post('/v1/messages', one)).status, 200);
		await bob.received(refused.at(-1).id);
		const { events } = await bob.inbox();
		contiguous(events, 1);
		assert.deepEqual(events.filter((event) => event.kind === 'message').map(({ id }) => id),
			[first, ...refused.map(({ id }) => id)]);
		await ws.close();
		for (const node of nodes) {
			expectStatus(await node.rest().get('/readyz'), 200);
			assert.equal((await node.stop()).code, 0);
		}
		const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);
		assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
	});

	it('the name of a conversation in the making: who wants it, too, holds nothing meanwhile',
		async (t) => {
		const url = await cluster.createDatabase('name');
		/*
		 * The deferral is delayed, so that the rest of the batch is not
		 * written meanwhile.
		 */
		const node = await new Server({ args: ['--db', url],
			env: longerTimes(['db_patience'], 100) }).start();
		const [ann, bob, cat] = await users(node, 'ann', 'bob', 'cat');
		const sql = (text) => cluster.sql(text, { database: 'name' });
		const key = [ann.name, cat.name].sort().join(' ');
		const person = (user) => `(SELECT user_id FROM users WHERE name = '${user.name}')`;

		const { id } = await ann.send(bob.name, 'before');
		await bob.received(id);
		/* A node makes a conversation in the same way. */
		const holder = await new Holder(cluster, 'name',
			`SELECT pg_advisory_xact_lock(6451064, hashtext('${key}')); ` +
			'INSERT INTO conversations (public_id, kind, direct_key, created_at) ' +
			`VALUES (gen_random_uuid(), 'direct', '${key}', 1); ` +
			'INSERT INTO participants (conversation_id, user_id) SELECT ' +
			`conversation_id, unnest(ARRAY [${person(ann)}, ${person(cat)}]) ` +
			`FROM conversations WHERE direct_key = '${key}'`).held();
		t.after(() => holder.child.kill('SIGKILL'));
		const answer = ann.post('/v1/messages', [bob, cat].map(({ name }) =>
			({ id: uuid7(), to: name, body: 'meanwhile' })), patient());

		await eventually(async () => await sql('SELECT count(*) FROM pg_locks ' +
			"WHERE locktype = 'advisory' AND NOT granted") === '1', 'it waits', HANG_MS);
		/*
		 * The unit that waits for the name has not locked the other
		 * rows that it needs.
		 */
		assert.equal(await sql('SELECT count(*) FROM (SELECT 1 FROM conversations ' +
			'FOR UPDATE NOWAIT) c'), '1');
		assert.equal(await holder.release(), 0);
		const { body } = expectStatus(await answer, 200);
		assert.deepEqual(body.map(({ status }) => status), [201, 201]);
		await cat.received(body[1].entry.id);
		assert.equal(await sql('SELECT count(*) FROM conversations'), '2');
		assert.equal((await node.stop()).code, 0);
	});

	it('a person, to change the password: a log-in waits, and learns that it is another',
		async (t) => {
		const url = await cluster.createDatabase('person');
		/*
		 * The deferral is delayed, so that the test can see the wait.
		 */
		const node = await new Server({ args: ['--db', url],
			env: longerTimes(['db_patience'], 100) }).start();
		const [ann] = await users(node, 'ann');
		const holder = await new Holder(cluster, 'person', "UPDATE users SET password_hash = 'x' " +
			`WHERE name = '${ann.name}'`).held();
		t.after(() => holder.child.kill('SIGKILL'));
		const login = node.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'second' }, patient());

		await eventually(async () => await cluster.sql('SELECT count(*) FROM pg_stat_activity ' +
			"WHERE datname = 'person' AND wait_event_type = 'Lock'") === '1', 'it waits');
		assert.equal(await holder.release(), 0);
		expectStatus(await login, 401);
		assert.equal((await node.stop()).code, 0);
	});

	/*
	 * The two sessions lock the row in turn, and each waits for the other.
	 * A unit that only tried the lock without waiting would always find the
	 * row locked.
	 */
	it('a conversation that two others lock one after another: who needs it gets a turn',
		async (t) => {
		const url = await cluster.createDatabase('turns');
		/*
		 * On a busy machine the node may get the lock only at the tenth
		 * attempt.
		 */
		const node = await new Server({ args: ['--db', url],
			env: longerTimes(['db_lock'], 6) }).start();
		const [ann, bob] = await users(node, 'ann', 'bob');
		await ann.send(bob.name, 'before');
		const locking = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'turns' AND " +
			"query LIKE 'DO %' AND state = 'active'";
		const loops = [1, 2].map(() => cluster.sql('DO $$ BEGIN FOR i IN 1..2000 LOOP ' +
			'PERFORM 1 FROM conversations WHERE conversation_id = 1 FOR UPDATE; ' +
			'PERFORM pg_sleep(0.01); COMMIT; END LOOP; END $$', { database: 'turns', ms: HANG_MS })
			.catch((error) => error));

		await eventually(async () => await cluster.sql(locking) === '2', 'both lock it');
		for (let i = 0; i < 5; i++)
			expectStatus(await ann.post('/v1/messages',
				{ id: uuid7(), to: bob.name, body: `${i}` }, patient()), 201);
		assert.equal(await cluster.sql(locking), '2', 'both still do');
		t.diagnostic((await node.rest().get('/metrics').then(({ text }) => text))
			.match(/^twinbox_.*deferred.*$/m)?.[0] ?? '');
		await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
			"WHERE datname = 'turns' AND query LIKE 'DO %'");
		await Promise.all(loops);
		assert.equal((await node.stop()).code, 0);
	});

	it('a conversation with a lease in it, when the node that has the lease dies: it is taken over',
		{ skip: skipFaults }, async (t) => {
		const url = await cluster.createDatabase('lease');
		const options = sameDestinations();
		const nodes = await Promise.all([0, 1].map(() =>
			new Server({ ...options(), args: ['--db', url] }).start()));
		const there = new Peer(nodes[0], 'there');
		const [ann] = await users(nodes[0], 'ann');
		const sql = (text) => cluster.sql(text, { database: 'lease' });
		/* Returns the owner of the lease and its end. */
		const lease = async () => {
			const row = await sql("SELECT split_part(lease_owner, ':', 2), lease_until, " +
				"conversation_id FROM outbox_lanes WHERE state = 'leased'");
			const [pid, until, conversation] = row.split('|').map(Number);
			return row !== '' && { node: nodes.find((one) => one.pid === pid), pid, until,
				conversation };
		};

		there.does({ latency: 120_000 });
		const { id } = expectStatus(await ann.post('/v1/messages',
			{ id: uuid7(), to: `zoe@${there.name}`, body: 'once' }), 201).body;
		const { node, pid, until, conversation } = await eventually(lease, 'it is on its way');
		const heir = nodes.find((one) => one !== node);
		const holder = await new Holder(cluster, 'lease', 'SELECT 1 FROM conversations ' +
			`WHERE conversation_id = ${conversation} FOR UPDATE`).held();
		t.after(() => holder.child.kill('SIGKILL'));
		await node.kill();
		await eventually(() => heir.output().includes(`:${pid}:`) &&
			/cluster\.dead/.test(heir.output()), 'it is held dead', TAKEN_MS);
		/*
		 * In this time the other node checks several times, and would
		 * have taken over the lease.
		 */
		await sleep(3000);
		assert.equal((await lease()).pid, pid, 'nobody takes over what somebody else holds');
		/*
		 * Like a sender, the session writes the whole lane as it was
		 * when it was read.
		 */
		assert.equal(await holder.release('UPDATE outbox_lanes SET tail_seq = tail_seq, ' +
			`lease_until = ${until} WHERE conversation_id = ${conversation}`), 0);
		there.does({ latency: 0 });
		await eventually(async () => (await lease()).pid !== pid, 'it is taken over', TAKEN_MS);
		await eventually(() => there.has().length > 0, 'it is there', TAKEN_MS);
		assert.deepEqual(there.has().map((got) => got.id), [id]);
		assert.equal((await heir.stop()).code, 0);
		const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);
		assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
	});
});
