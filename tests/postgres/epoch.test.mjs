// SPDX-License-Identifier: MIT
//
// After a failover the database may lack commits that clients have seen.  Then
// it gets another epoch, at every node and without a restart, and clients are
// notified.  If commits waited for the replica, the epoch stays and cursors
// remain valid.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import {
	Server, Stream, User, Ws, eventually, expectStatus, killAll, longerTimes, users, uuid7,
} from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';

const LONG_MS = 60_000;

/** Returns ${user} as a client of ${node}. */
const at = (user, node) => new User(node, user.name, user.token, user.device_name);

/**
 * Returns the epoch that ${node} shows to ${user}, or undefined if it does not
 * answer.
 */
async function epochOf(user, node)
{
	try {
		const { status, body } = await at(user, node).get('/v1/inbox?limit=1');
		return status === 200 ? body.epoch : undefined;
	} catch {
		return undefined;
	}
}

/**
 * Waits until all ${nodes} show ${user} the same epoch, and ${wanted} accepts
 * it.
 */
async function agreed(user, nodes, wanted, what)
{
	return eventually(async () => {
		const told = new Set(await Promise.all(nodes.map((node) => epochOf(user, node))));
		const [epoch] = told;
		return told.size === 1 && epoch !== undefined && wanted(epoch) && epoch;
	}, what, LONG_MS);
}

async function connected(user, node, more = {})
{
	const ws = new Ws(node, { token: user.token });

	await ws.opened();
	ws.welcome = await ws.hello(more);
	await ws.type('caught_up');
	return ws;
}

/**
 * Returns the mode of the lineage in the database: "sync", "async" or "local".
 */
const modeOf = async (cluster) =>
	(await cluster.sql("SELECT value FROM meta WHERE key = 'line'", { database: 'chat' }))
		.split(' ')[1];

async function mode(cluster, wanted)
{
	await eventually(async () => await modeOf(cluster) === wanted, `commits are ${wanted}`, LONG_MS);
}

describe('the epoch', () => {
	let made = [];

	/**
	 * Starts a primary, a replica of it, and ${n} nodes whose URL names
	 * both.
	 */
	async function start(n, { sync = false, args = [] } = {})
	{
		const leader = await new Cluster().start();
		made.push(() => leader.remove());
		await leader.createDatabase('chat');
		const replica = await leader.replica('replica');
		made.push(() => replica.remove());
		if (sync)
			await leader.synchronous('replica');
		/*
		 * The order of the ports must not matter: nodes use the server
		 * that is the primary.
		 */
		const ports = sync ? [replica.port, leader.port] : [leader.port, replica.port];
		const url = leader.url('chat', { port: ports.join() });
		/*
		 * A stream must not query the database during the short
		 * failover, because it would end with the reason away.
		 */
		const env = longerTimes(['rest_stream_quiet'], 10);
		const nodes = Array.from({ length: n }, () => new Server({ args: ['--db', url, ...args], env }));
		await Promise.all(nodes.map((node) => node.start()));
		return { leader, replica, nodes, url };
	}

	/** Stops the replication to ${replica}. */
	async function cutOff(replica)
	{
		await replica.sql("ALTER SYSTEM SET primary_conninfo = ''");
		await replica.sql('SELECT pg_reload_conf()');
		await eventually(async () =>
			await replica.sql('SELECT count(*) FROM pg_stat_wal_receiver') === '0',
		'the replica is cut off');
	}

	before(() => {});
	afterEach(async () => {
		await killAll();
		for (const end of made.reverse())
			await end();
		made = [];
	});
	after(killAll);

	it('is another after a promotion that lost something, at all nodes that go on', async () => {
		const { leader, replica, nodes: [a, b, c] } = await start(3);
		const pids = [a, b, c].map((node) => node.pid);
		const [ann, bob] = await users(a, 'ann', 'bob');
		const kept = await ann.send(bob.name, 'kept');
		await at(bob, b).received(kept.id);
		const ws = await connected(bob, b);
		const epoch = await epochOf(bob, a);

		await replica.caughtUp();
		await cutOff(replica);
		const lost = { id: uuid7(), to: bob.name, body: 'lost' };
		expectStatus(await ann.post('/v1/messages', lost), 201);
		const { seq } = await ws.received(lost.id);
		const poll = at(bob, c).get(`/v1/inbox?after=${epoch}:${seq}&wait=50`).catch(() => {});
		const stream = new Stream(at(bob, b), { target: `/v1/inbox?after=${epoch}:0` });
		await stream.until(seq);
		await b.polled(1);
		await leader.kill();
		await replica.promote();

		/*
		 * The session gets a reconnect frame and is closed, and
		 * receives no event of the new epoch.
		 */
		await ws.type('reconnect', { ms: LONG_MS });
		assert.equal((await ws.closing()).code, 1012);
		assert.equal(ws.events().at(-1).seq, seq);
		const now = await agreed(bob, [a, b, c], (e) => e !== epoch, 'another epoch');
		assert.deepEqual([a, b, c].map((node) => node.pid), pids);
		await poll;
		assert.deepEqual((await stream.ended()).blocks.at(-1), { event: 'end', data: { reason: 'epoch' } });
		assert.equal(stream.events.length, seq);
		/*
		 * A standard client reconnects with the last id and the
		 * original URL.
		 */
		const resumed = await at(bob, b).get(`/v1/inbox?after=${epoch}:0`,
			{ headers: { accept: 'text/event-stream', 'last-event-id': String(seq - 1) } });
		expectStatus(resumed, 410);

		for (const node of [a, b, c]) {
			const answer = await at(bob, node).get(`/v1/inbox?after=${epoch}:${seq}`);
			expectStatus(answer, 410);
			assert.equal(answer.body.code, 'cursor_expired');
			assert.equal(answer.body.epoch, now);
			assert.equal(answer.body.head, seq - 1);
		}
		const old = new Ws(b, { token: bob.token });
		await old.opened();
		const refused = await old.request({ type: 'hello', token: bob.token,
			after: `${epoch}:${seq}` });
		assert.equal(refused.problem.epoch, now);
		assert.equal((await old.closing()).code, 4410);

		/*
		 * The client reads the inbox from its beginning.  A message
		 * that was lost is sent again with its id.
		 */
		const again = await connected(bob, c, { after: `${now}:0` });
		contiguous(again.events(), 1);
		assert.deepEqual(again.events().map((e) => e.id), [kept.id]);
		expectStatus(await at(ann, b).post('/v1/messages', lost), 201);
		assert.equal((await again.received(lost.id)).seq, seq);
		await again.close();
	});

	it('stays where a replica was waited for, and so do cursors and sockets', async () => {
		const { leader, replica, nodes: [a, b] } = await start(2, { sync: true });
		const [ann, bob] = await users(a, 'ann', 'bob');
		const first = await ann.send(bob.name, 'first');
		const ws = await connected(bob, b);
		const epoch = await epochOf(bob, a);

		await mode(leader, 'sync');
		/* Each node finds this out at its next heartbeat. */
		const seen = () => leader.sql('SELECT sum(beat_at) FROM nodes', { database: 'chat' });
		const heartbeats = [await seen()];
		for (let i = 0; i < 4; i++)
			heartbeats.push(await eventually(async () => {
				const now = await seen();
				return now !== heartbeats.at(-1) && now;
			}, 'heartbeats'));
		await leader.kill();
		await replica.promote();
		const second = { id: uuid7(), to: bob.name, body: 'second' };
		await eventually(async () => [200, 201].includes(
			(await at(ann, b).post('/v1/messages', second)).status), 'the nodes go on', LONG_MS);
		const event = await ws.received(second.id);
		assert.equal(await agreed(bob, [a, b], () => true, 'an epoch'), epoch);
		contiguous(ws.events(), 1);
		assert.deepEqual(ws.events().map((e) => e.id), [first.id, second.id]);
		const { events } = expectStatus(
			await at(bob, a).get(`/v1/inbox?after=${epoch}:${event.seq - 1}`), 200).body;
		assert.deepEqual(events.map((e) => e.id), [second.id]);
		for (const node of [a, b])
			assert.match(node.output(), /cluster\.line/);
		await ws.close();
	});

	it('is another where replicas are waited for no more, and where nobody can say', async () => {
		const { leader, replica, nodes: [a, b] } = await start(2, { sync: true });
		const [ann] = await users(a, 'ann');
		const epoch = await epochOf(ann, a);

		await mode(leader, 'sync');
		await leader.synchronous('');
		await mode(leader, 'async');
		await leader.kill();
		await replica.promote();
		const second = await agreed(ann, [a, b], (e) => e !== epoch, 'another epoch');

		/*
		 * All nodes are down during the failover.  Commits did wait for
		 * the replica, but no node has seen until when.
		 */
		const next = await replica.replica('next');
		made.push(() => next.remove());
		await replica.synchronous('next');
		await mode(replica, 'sync');
		await a.stop();
		await b.stop();
		await replica.kill();
		await next.promote();
		const cold = new Server({ args: ['--db', next.url('chat', { tcp: true })] });
		await cold.start({ timeout: LONG_MS });
		assert.match(cold.output(), /cluster\.wait/);
		assert.notEqual(await epochOf(ann, cold), second);
	});

	it('is another while the database is away: nodes begin anew when it is back', async () => {
		const { leader, nodes: [a, b] } = await start(2);
		const [ann] = await users(a, 'ann');
		const epoch = await epochOf(ann, a);
		const { pid } = a;

		/* The same as if another node had made the epoch. */
		await leader.sql("UPDATE meta SET value = 'elsewhere' WHERE key = 'epoch'",
			{ database: 'chat' });
		await eventually(() => /cluster\.epoch/.test(a.output()) &&
			/cluster\.epoch/.test(b.output()), 'the nodes have seen it', LONG_MS);
		await leader.kill();
		await leader.start();
		const now = await agreed(ann, [a, b], (e) => e !== epoch, 'another epoch');
		assert.equal(now, 'elsewhere');
		assert.equal(a.pid, pid);
	});

	it('is another in a copy, and when an operator says so, at all nodes', async () => {
		const { leader, nodes: [a], url } = await start(1);
		const [ann] = await users(a, 'ann');
		const epoch = await epochOf(ann, a);
		const { pid } = a;

		await a.restart();
		assert.equal(await epochOf(ann, a), epoch);
		assert.notEqual(a.pid, pid);
		const b = new Server({ args: ['--db', url, '--accept-rollback'] });
		await b.start();
		const second = await agreed(ann, [a, b], (e) => e !== epoch, 'another epoch');
		await a.stop();
		await b.stop();
		await leader.createDatabase('copy', { template: 'chat' });
		const c = new Server({ args: ['--db', leader.url('copy', { tcp: true })] });
		await c.start();
		assert.notEqual(await epochOf(ann, c), second);
		assert.match(c.output(), /cluster\.epoch/);
	});
});
