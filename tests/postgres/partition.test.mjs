// SPDX-License-Identifier: MIT
//
// A node that cannot reach the database for longer than every time-out.  It
// answers 503 with Retry-After, is not ready, keeps no request waiting for ever
// and accepts nothing, while the others mark it dead and go on.  When the
// network works again, the node continues without a restart, nothing is half
// done, and a message that was repeated with its id is there once.  The last
// tests are about slow commits, and about commits whose answer is lost.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { longerTimes } from '../e2e/harness/faults.mjs';
import {
	Server, Stream, User, Ws, PASSWORD, eventually, expectStatus, killAll, scaledTimes, sleep, users, uuid7,
	within,
} from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { TcpProxy } from './proxy.mjs';
import { World } from './world.mjs';

const SLOW = Number(process.env.TWINBOX_SLOW ?? 1);
/*
 * docs/scaling.md promises that a request under way is answered within 15 s
 * (the longest wait for an answer of the database), and one that waited behind
 * it within 20 s (a connection attempt is given up after 5 s).  On an
 * overloaded machine, where these tests run side by side, two delays may add to
 * this: the machine's own, and a second connection attempt for requests that
 * still waited.  LOADED_MS is the most that the tests allow for both.
 */
const LOADED_MS = 15_000;
const UNDER_WAY_MS = (15_000 + LOADED_MS) * SLOW;
const BEHIND_MS = (20_000 + LOADED_MS) * SLOW;
const DEAD_WAIT_MS = 60_000;

const at = (user, node) => new User(node, user.name, user.token, user.device_name);
const patient = (ms = BEHIND_MS) => ({ signal: AbortSignal.timeout(ms) });

/**
 * Starts a server with a proxy between it and its database.  The test must stop
 * the server.
 */
async function behindProxy(t, options = {})
{
	const cluster = await new Cluster().start();
	t.after(() => cluster.remove());
	const proxy = await new TcpProxy({ port: cluster.port }).start();
	t.after(() => proxy.stop());

	await cluster.createDatabase('chat');
	const url = cluster.url('chat', { port: proxy.port });
	return { proxy, server: await new Server({ args: ['--db', url], ...options }).start() };
}

/** Opens a session of ${user} at ${node} and waits until it has all events. */
async function connected(user, node, hello = {})
{
	const ws = new Ws(node, { token: user.token });

	await ws.opened();
	await ws.hello(hello);
	await ws.type('caught_up');
	return ws;
}

/**
 * Opens a session of ${user} at ${node}, which must fail.  Returns the close
 * code, for example "1011", or the status of a refused upgrade, "503".
 */
async function fate(user, node)
{
	const ws = new Ws(node, { token: user.token });

	try {
		await ws.opened();
		ws.send({ type: 'hello', id: 1, token: user.token });
		return String((await ws.closing(BEHIND_MS / SLOW)).code);
	} catch (error) {
		if (ws.refused)
			return String(ws.refused);
		throw error;
	}
}

after(killAll);

describe('a node without its database', { concurrency: true }, () => {
	const ways = {
		'no byte passes': [(proxy) => proxy.blackhole(), (proxy) => proxy.forward()],
		'connections are refused': [(proxy) => proxy.refuse(), (proxy) => proxy.accept()],
	};

	for (const [name, [cut, mend]] of Object.entries(ways)) {
		it(`${name}: 503 meanwhile, the others go on, full recovery after`,
			async (t) => {
			let proxy;
			const world = new World(t, 1);
			t.after(() => proxy?.stop());
			await world.begin(3, async (i) => {
				if (i > 0)
					return {};
				proxy = await new TcpProxy({ port: world.cluster.port }).start();
				return { url: world.cluster.url('chat', { port: proxy.port }) };
			});
			const [lonely, other] = world.nodes;
			const [ann, bob, cat] = await users(other, 'ann', 'bob', 'cat');
			const here = at(ann, lonely);
			const [there, fresh] = [await connected(bob, other), await connected(bob, lonely)];
			const sender = await connected(ann, lonely, { instance: 'sender' });
			const { id: first } = await here.send(bob.name, 'before');
			await Promise.all([there.received(first), fresh.received(first)]);

			await cut(proxy);
			const refused = await meanwhile({ world, lonely, other, ann, bob, cat, there, sender });
			t.diagnostic(`${refused.length} requests refused, and what they asked for repeated`);
			await mend(proxy);

			await eventually(async () => (await lonely.rest().get('/readyz')).status === 200,
				'it is ready again', 60_000);
			assert.equal(lonely.starts, 1);
			/* All refused messages are sent again, at once. */
			await Promise.all(refused.map((message) => eventually(async () =>
				[200, 201].includes((await here.post('/v1/messages', message)).status),
			'a repeat is accepted', 30_000)));
			await recovered({ lonely, bob, there, fresh, refused, first });
			await world.recovered();
			await world.assertSound();
			world.rounds++;
			await world.verdict({ refused: refused.length });
		});
	}

	it('one with nothing else to do: what is under way is answered within 15 s, what waits ' +
	   'behind that within 20', async (t) => {
		const { proxy, server } = await behindProxy(t);
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'before');
		const message = { id: uuid7(), to: bob.name, body: 'meanwhile' };
		const took = [];
		const refuses = async (what, ask) => {
			const from = Date.now();
			const answer = await ask();
			took.push(`${what} ${Date.now() - from} ms`);
			assert.equal(answer.status, 503, answer.text);
			assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]/);
		};

		await bob.received(id);
		proxy.blackhole();
		/* The second send may have to wait for the first one. */
		await Promise.all([
			refuses('inbox', () => bob.get('/v1/inbox', patient(UNDER_WAY_MS))),
			refuses('send', () => ann.post('/v1/messages', message, patient())),
			sleep(1000).then(() => refuses('a send after it', () => ann.post('/v1/messages',
				{ ...message, id: uuid7() }, patient()))),
		]);
		t.diagnostic(took.join(', '));
		proxy.forward();
		await eventually(async () => [200, 201].includes(
			(await ann.post('/v1/messages', message)).status), 'a repeat is accepted', 30_000);
		await bob.received(message.id);
		await server.stop();
	});
});

/*
 * A stream reads the database when it has been quiet for a time, so no message
 * is needed to end it.
 */
it('an event stream ends with the reason away, and a later one goes on behind its last id', async (t) => {
	const { proxy, server } = await behindProxy(t, scaledTimes('rest_stream_quiet', 50));
	t.after(() => server.running && server.kill());
	const [ann, bob] = await users(server, 'ann', 'bob');
	await ann.send(bob.name, 'before');
	const stream = new Stream(bob);
	const [{ seq }] = await stream.until(1);

	await proxy.refuse();
	const { blocks } = await within(stream.ended(), BEHIND_MS, 'the end of the stream');
	assert.deepEqual(blocks.at(-1), { event: 'end', data: { reason: 'away' } });

	await proxy.accept();
	await eventually(async () => (await server.rest().get('/readyz')).status === 200, 'it is ready again', 60_000);
	const { id } = await ann.send(bob.name, 'after');
	const resumed = new Stream(bob, { headers: { 'last-event-id': String(seq) } });
	assert.deepEqual((await resumed.until(1)).map((event) => event.id), [id]);
	await resumed.close();
	await server.stop();
});

/**
 * Makes requests at ${lonely} until all nodes have noticed the failure.
 * Returns the messages that were refused.
 */
async function meanwhile({ world, lonely, other, ann, bob, cat, there, sender })
{
	const here = at(ann, lonely);
	const refused = [];
	const refuses = async (what, ask) => {
		const asked = Date.now();
		const { status, text } = await ask().catch((error) => {
			throw new Error(`${what}, after ${Date.now() - asked} ms: ${error.message}`);
		});
		assert.equal(status, 503, `${what}: ${status} ${text}`);
	};
	const send = () => {
		const message = { id: uuid7(), to: bob.name, body: `${refused.length}` };
		refused.push(message);
		return refuses('send', () => here.post('/v1/messages', message, patient()));
	};

	/*
	 * Requests of all kinds at once, before any node knows of the failure.
	 */
	await Promise.all([
		send(), send(),
		refuses('inbox', () => at(bob, lonely).get('/v1/inbox', patient())),
		refuses('long-poll', () => at(cat, lonely).get('/v1/inbox?after=0&wait=2', patient())),
		refuses('entry', () => here.get(`/v1/outbox/${uuid7()}`, patient())),
		refuses('ack', () => at(bob, lonely).post('/v1/inbox/ack', { upto: 1 }, patient())),
		refuses('log-in', () => lonely.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'new' }, patient())),
		(async () => {
			const message = { id: uuid7(), to: bob.name, body: 'by WebSocket' };
			refused.push(message);
			const reply = await sender.request({ type: 'send', message }, { ms: BEHIND_MS / SLOW });
			assert.equal(reply.type, 'error', JSON.stringify(reply));
			assert.equal(reply.problem.status, 503, JSON.stringify(reply));
		})(),
		(async () => assert.match(await fate(cat, lonely), /^(1011|1013|503)$/))(),
	]);
	/* Then until all nodes know.  Meanwhile the others go on. */
	await eventually(async () => {
		await send().catch((error) => {
			throw Object.assign(error, { final: true });
		});
		expectStatus(await other.rest().get('/readyz'), 200);
		const { id } = await at(ann, other).send(bob.name, 'meanwhile');
		await there.received(id);
		await sleep(200);
		return (await lonely.rest().get('/readyz')).status === 503 && world.heldDead(lonely) > 0;
	}, 'it is not ready, and held dead', DEAD_WAIT_MS);
	expectStatus(await lonely.rest().get('/healthz'), 200);
	return refused;
}

/**
 * Asserts that all ${refused} messages are in the inbox once, and that every
 * session receives them, also the old ones.
 */
async function recovered({ lonely, bob, there, fresh, refused, first })
{
	const { events } = await at(bob, lonely).inbox();
	const ids = events.filter((event) => event.kind === 'message').map((event) => event.id);

	contiguous(events, 1);
	assert.equal(new Set(ids).size, ids.length);
	assert.equal(ids[0], first);
	const missing = refused.filter(({ id }) => !ids.includes(id)).map(({ id }) => id);
	for (const id of missing)
		await there.received(id);
	await there.upTo(events.at(-1).seq);
	/*
	 * A session whose read failed was closed with the advice to reconnect.
	 */
	const again = fresh.ended ? await connected(bob, lonely,
		{ after: String(fresh.events().at(-1).seq) }) : fresh;
	await again.upTo(events.at(-1).seq);
	contiguous(there.events(), 1);
	contiguous([...fresh.events(), ...again === fresh ? [] : again.events()], 1);
	if (fresh.ended)
		assert.match(String(fresh.ended.code), /^(1011|1013)$/);
	await Promise.all([there.close(), again.close()]);
}

describe('a commit under way', () => {
	it('holds up nobody who reads', async (t) => {
		const cluster = await new Cluster().start();
		t.after(() => cluster.remove());
		/*
		 * On a busy machine the questions below last longer than a node
		 * waits for its commit, or for its heartbeat.
		 */
		const server = await new Server({
			args: ['--db', await cluster.createDatabase('chat')],
			env: longerTimes(['db_answer', 'db_statement', 'cluster_dead'], 10) }).start();
		t.after(() => server.running && server.stop());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'before');
		await bob.received(id);
		const standby = async (name) => {
			await cluster.sql(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
			await cluster.sql('SELECT pg_reload_conf()');
		};

		/* The commits of the message and of a heartbeat, on connections of their own. */
		const bothWait = async () => Number(await cluster.sql('SELECT count(*) FROM pg_stat_activity ' +
			"WHERE wait_event = 'SyncRep' AND application_name = 'twinbox writer'")) >= 2;
		let sent;
		let underWay = false;

		/*
		 * Commits wait for a standby that does not exist, from the time
		 * when PostgreSQL's checkpointer has read the setting.
		 */
		await standby('nobody');
		while (!underWay) {
			underWay = true;
			sent = ann.post('/v1/messages', { id: uuid7(), to: bob.name, body: 'slow' }, patient())
				.finally(() => { underWay = false; });
			await eventually(async () => !underWay || await bothWait(), 'the commit waits',
				BEHIND_MS / SLOW);
		}
		expectStatus(await bob.get('/v1/inbox', patient()), 200);
		assert.equal((await ann.entry(id)).id, id);
		assert.ok(underWay, 'who reads waited for who writes');
		await standby('');
		expectStatus(await sent, 201);
	});
});

describe('a commit whose answer is lost', () => {
	it('is answered 503, known when it is repeated, and delivered; what was delivered so is ' +
	   'shown all the same', async (t) => {
		const { proxy, server } = await behindProxy(t);
		t.after(() => server.running && server.stop());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await connected(bob, server);

		for (const after of ['message_insert', 'outbox_settle_sent']) {
			const message = { id: uuid7(), to: bob.name, body: 'hello' };
			const caught = proxy.cutAfter('COMMIT', after);
			const { status, text } = await ann.post('/v1/messages', message);
			await within(caught, BEHIND_MS / SLOW, 'the commit passes');
			assert.equal(status, after === 'message_insert' ? 503 : 201, text);
			await ws.received(message.id);
			await eventually(async () => (await ann.post('/v1/messages', message)).status === 200,
				'it is known');
		}
		contiguous(ws.events(), 1);
		const { events } = await bob.inbox();
		assert.equal(events.length, 2);
		await ws.close();
	});
});
