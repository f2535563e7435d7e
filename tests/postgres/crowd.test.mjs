// SPDX-License-Identifier: MIT
//
// Many clients at three nodes.  64 clients of 16 users send arrays to everyone,
// in any order, and ack what they have received, all at the same time and each
// request at another node, so that all nodes need every conversation and every
// inbox at once.  Then users who have never written to one another all do so at
// once, so that every node wants to create every conversation.  All messages
// are there, once and in order, and the database has seen no deadlock.
//
// Environment: CROWD_MS (for each crowd, default 4000), CROWD_SEED (default:
// derived from the commit; it is printed, and repeats who does what but not the
// interleaving).

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { longerTimes } from '../e2e/harness/faults.mjs';
import {
	PASSWORD, Server, TWINBOXD, User, eventually, expectStatus, killAll, run, seedOf, tempDir, users,
	uuid7,
} from '../e2e/harness.mjs';
import { History, judge, told } from '../fault/crash-checker.mjs';
import { Nodes, insist, random } from '../fault/crash-load.mjs';
import { Peer, sameDestinations, skip as skipFaults } from '../fault/remote.mjs';
import { Cluster } from './cluster.mjs';

const NODES = 3;
const PEOPLE = 16;
const CLIENTS = 64;
const STRANGERS = 40;
const SERVERS = 4;
const PATIENCE_MS = 60_000;
const MS = Number(process.env.CROWD_MS ?? 4000);
const ARRAY_MOST = 12;
/*
 * A node refuses what has waited for 5 s for rows that others hold.  On a busy
 * machine the turns of many clients take longer without a fault.
 */
const PATIENT = longerTimes(['db_lock', 'db_statement', 'db_answer'], 10);
const SEED = seedOf('CROWD_SEED');

/**
 * ${user} sends to each of ${to} in one request, in this order.  The request is
 * repeated as a whole until every message is accepted.
 */
async function sendAll({ target, history, user, to, client })
{
	let open = to.map(({ name }, i) => history.invoke({ client, from: user.name, to: name,
		id: uuid7(), body: `${client} ${i}` }));

	while (open.length > 0) {
		const messages = open.map(({ to, id, body }) => ({ to, id, body }));
		const { body } = expectStatus(await insist(target, history, user, (here, patient) =>
			here.post('/v1/messages', messages, patient)), 200);

		open = open.filter((call, i) => {
			const { status, entry, replayed, problem } = body[i];
			if (status === 503) {
				history.unknown(problem.code);
				return true;
			}
			assert.ok(status === 200 || status === 201, JSON.stringify(body[i]));
			history.accepted(call, entry, replayed);
			return false;
		});
	}
}

/** ${user} sends to some of ${all}, possibly also to themselves. */
async function sendArray({ target, history, rnd, user, all, client })
{
	const to = Array.from({ length: 1 + Math.floor(rnd() * ARRAY_MOST) },
		() => all[Math.floor(rnd() * all.length)]);
	await sendAll({ target, history, user, to, client });
}

/** Returns ${list} in a random order. */
function shuffled(list, rnd)
{
	return list.map((one) => [rnd(), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
}

/** ${user} acks the whole inbox, or half of it. */
async function ack({ target, history, rnd, user })
{
	const { body: { head } } = expectStatus(await insist(target, history, user,
		(here, patient) => here.get('/v1/inbox?limit=1', patient)), 200);
	const upto = Math.floor(rnd() < 0.5 ? head : head / 2);
	const { body } = expectStatus(await insist(target, history, user,
		(here, patient) => here.post('/v1/inbox/ack', { upto }, patient)), 200);

	history.acked(user.name, user.device_name, body.acked);
}

/**
 * Starts ${NODES} nodes on one database, each with ${options}, and registers
 * ${people}.
 */
async function start(t, people, options = () => ({}))
{
	const cluster = await new Cluster().start();
	t.after(() => cluster.remove());
	const url = await cluster.createDatabase('chat');
	const nodes = Array.from({ length: NODES }, () =>
		new Server({ unlimited: 'a few people do as much as they can', env: PATIENT,
			...options(), args: ['--db', url] }));
	await Promise.all(nodes.map((node) => node.start()));
	const target = new Nodes(nodes);
	t.after(() => target.abandon());
	const all = await users(nodes[0], ...Array.from({ length: people }, (_, i) => `p${i}`));
	return { cluster, url, nodes, target, all };
}

/** Asserts that what the clients saw is correct and complete. */
async function look(t, { target, all }, history, done)
{
	const verdict = await judge(history, all.map((user) => target.at(user)));
	t.diagnostic(`seed ${SEED}: ${told(verdict, done)}`);
	assert.deepEqual(verdict.violations, []);
	assert.equal(verdict.counts.accepted, verdict.counts.sent);
	for (const user of all) {
		const { events } = await target.at(user).inbox();
		contiguous(events, 1);
	}
	return verdict;
}

/**
 * Stops the nodes.  Asserts that fsck finds nothing and that the database has
 * seen no deadlock.
 */
async function finish({ cluster, url, nodes })
{
	const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);
	assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
	assert.deepEqual(cluster.log().match(/deadlock detected[^]{0,3000}/g) ?? [], []);
	assert.equal(await cluster.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'chat'"),
		'0');
	for (const node of nodes)
		assert.equal((await node.stop()).code, 0);
}

/** Returns a random element of ${list}, which must not be empty. */
function pick(list, rnd)
{
	return list[Math.floor(rnd() * list.length)];
}

/**
 * The actions of a client.  Each has its own list ${ids} of sent messages.
 * Returns the answer.
 */
const DEEDS = {
	async send({ user, rnd, all, ids })
	{
		return this.array(user, ids, Array.from({ length: 1 + Math.floor(rnd() * 4) },
			() => ({ to: pick(all, rnd).name })));
	},

	async schedule({ user, rnd, all, ids })
	{
		return this.array(user, ids, Array.from({ length: 3 }, () => ({ to: pick(all, rnd).name,
			deliver_at: new Date(Date.now() + 200 + 600 * rnd()).toISOString() })));
	},

	async abroad({ user, rnd, abroad, ids })
	{
		return this.array(user, ids, Array.from({ length: 1 + Math.floor(rnd() * 4) },
			() => ({ to: pick(abroad, rnd), expires_in: rnd() < 0.3 ? 1 : 60 })));
	},

	async array(user, ids, messages)
	{
		const made = messages.map((one) => ({ id: uuid7(), body: 'x', ...one }));

		ids.push(...made.map(({ id }) => id));
		return user.post('/v1/messages', made);
	},

	/* One half cancels a scheduled message, the other half any message. */
	async cancel({ user, rnd, all, ids })
	{
		if (rnd() < 0.5)
			await this.array(user, ids, [{ to: pick(all, rnd).name, deliver_at: LATER }]);
		else
			ids.push(pick(ids, rnd));
		return user.delete(`/v1/outbox/${ids.pop()}`);
	},

	/*
	 * One half retries a message that waits for a server that is down, the
	 * other half any message.
	 */
	async retry({ user, rnd, down, ids })
	{
		if (rnd() < 0.5)
			await this.array(user, ids, [{ to: down }]);
		else
			ids.push(pick(ids, rnd));
		return user.post(`/v1/outbox/${ids.pop()}/retry`);
	},

	async read({ user, rnd })
	{
		const { body: { head } } = await user.get('/v1/inbox?limit=1');
		const got = await user.get(`/v1/inbox?limit=20&after=${Math.floor(head * rnd())}`);
		const seen = got.body.events?.filter(({ kind, own }) => kind === 'message' && !own) ?? [];

		return seen.length === 0 ? got :
			user.post('/v1/inbox/read', { ids: seen.map(({ id }) => id) });
	},

	async readUpto({ user, rnd })
	{
		const { body: { head } } = await user.get('/v1/inbox?limit=1');
		return user.post('/v1/inbox/read', { upto: Math.floor(head * rnd()) });
	},

	/* The log-in is as any user, so that every node needs every user. */
	async login({ user, rnd, all })
	{
		const { status, body } = await user.server.rest().post('/v1/tokens',
			{ name: pick(all, rnd).name, password: PASSWORD, device: uuid7() });

		return status !== 201 ? { status } : new User(user.server, body.user, body.token)
			.delete(`/v1/tokens/${body.device.id}`);
	},

	async ack({ user })
	{
		const { body: { head } } = await user.get('/v1/inbox?limit=1');
		return user.post('/v1/inbox/ack', { upto: head });
	},
};

/*
 * How each action ends: the status of a success, the least share of successes,
 * and the other statuses that are allowed.  A message that was sent cannot be
 * canceled, one that is neither failed nor waiting cannot be retried, and only
 * a few passwords are hashed at a time.  The limits allow everything else.
 */
const ENDS = {
	send: { good: 201, share: 0.95, else: [] },
	schedule: { good: 201, share: 0.95, else: [429] },
	abroad: { good: 201, share: 0.95, else: [429] },
	read: { good: 200, share: 0.95, else: [] },
	readUpto: { good: 200, share: 0.95, else: [] },
	ack: { good: 200, share: 0.95, else: [] },
	cancel: { good: 200, share: 0.25, else: [409] },
	retry: { good: 200, share: 0.1, else: [409] },
	login: { good: 204, share: 0.1, else: [503] },
};
/* The shares are checked only for actions with at least this many answers. */
const ENOUGH = 50;
const ENOUGH_LOGINS = 3;
const LATER = '2099-01-01T00:00:00Z';

after(killAll);

describe('a crowd', () => {
	it(`of ${CLIENTS} at ${NODES} nodes: all is there, and there was no deadlock`,
		async (t) => {
		const scene = await start(t, PEOPLE);
		const { target, all } = scene;
		const history = new History();
		const done = { array: 0, ack: 0 };
		const end = Date.now() + MS;

		await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
			const rnd = random(SEED + client);
			const user = all[client % PEOPLE];

			const mine = { array: 0, ack: 0 };

			/*
			 * A slow machine needs more time until there was enough
			 * load.
			 */
			while (Date.now() < end || mine.array === 0 ||
				done.array <= CLIENTS || done.ack <= CLIENTS) {
				const what = rnd() < 0.6 ? 'array' : 'ack';
				await { array: sendArray, ack }[what]({ target, history, rnd, user, all, client });
				done[what]++;
				mine[what]++;
			}
		}));
		const { counts } = await look(t, scene, history, done);
		assert.equal(counts.clients, CLIENTS, 'every client was at work');
		assert.ok(done.array > CLIENTS && done.ack > CLIENTS, 'there was hardly any load');
		await finish(scene);
	});

	it(`of ${STRANGERS} strangers at ${NODES} nodes, who all write to each other at once: ` +
		'each conversation is made once, and there was no deadlock',
		async (t) => {
		const scene = await start(t, STRANGERS);
		const { cluster, target, all } = scene;
		const history = new History();

		await Promise.all(all.map((user, client) => {
			const to = shuffled(all, random(SEED + client));
			return sendAll({ target, history, user, to, client });
		}));
		const { counts } = await look(t, scene, history, { array: STRANGERS });
		assert.equal(counts.sent, STRANGERS ** 2);
		assert.equal(await cluster.sql('SELECT count(*) FROM conversations', { database: 'chat' }),
			`${STRANGERS * (STRANGERS + 1) / 2}`);
		await finish(scene);
	});

	it(`of ${PEOPLE} at ${NODES} nodes who all write to people of other servers that nobody ` +
		'has written to: each is made once, and there was no deadlock',
		{ skip: skipFaults }, async (t) => {
		const scene = await start(t, PEOPLE, sameDestinations());
		const { cluster, nodes, target, all } = scene;
		const peers = Array.from({ length: SERVERS }, (_, i) => new Peer(nodes[0], `s${i}`));
		const abroad = peers.flatMap(({ name }) =>
			Array.from({ length: PEOPLE }, (_, i) => `q${i}@${name}`));
		const number = async (sql) => Number(await cluster.sql(sql, { database: 'chat' }));

		await Promise.all(all.map(async (user, client) => {
			const { body } = expectStatus(await target.at(user).post('/v1/messages',
				shuffled(abroad, random(SEED + client)).map((to) => ({ id: uuid7(), to, body: 'x' })),
				{ signal: AbortSignal.timeout(60_000) }), 200);
			assert.deepEqual(body.filter(({ status }) => status !== 201), []);
		}));
		for (const peer of peers)
			await eventually(() => peer.has().length >= PEOPLE ** 2, `${peer.name} has all`, 60_000);
		assert.deepEqual(peers.map((peer) => peer.has().length), peers.map(() => PEOPLE ** 2));
		assert.equal(await number('SELECT count(*) FROM conversations'), PEOPLE * abroad.length);
		assert.equal(await number('SELECT count(*) FROM users WHERE destination_id > 0'), abroad.length);
		await finish(scene);
	});

	it(`of ${CLIENTS} at ${NODES} nodes who do whatever they may, with other servers that ` +
		'fail: nothing is refused for it, and there was no deadlock',
		{ skip: skipFaults }, async (t) => {
		const scene = await start(t, PEOPLE, sameDestinations());
		const { nodes, target, all } = scene;
		const peers = [{ latency: 5 }, { reject: 50 }, { lost: 30, double: 20 }, { down: 1 }]
			.map((wishes, i) => {
				const peer = new Peer(nodes[0], `s${i}`);
				peer.does(wishes);
				return peer;
			});
		const abroad = peers.flatMap(({ name }) => ['q', 'r', 's'].map((who) => `${who}@${name}`));
		const down = abroad.at(-1);
		const end = Date.now() + MS;
		const answers = Object.fromEntries(Object.keys(ENDS).map((deed) => [deed, {}]));
		const count = (deed) => Object.values(answers[deed]).reduce((sum, n) => sum + n, 0);
		/*
		 * A slow machine goes on until there are enough of each action.
		 */
		const goesOn = () => Date.now() < end || (Date.now() < end + PATIENCE_MS && Object.keys(ENDS)
			.some((deed) => count(deed) < (deed === 'login' ? ENOUGH_LOGINS : ENOUGH)));

		await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
			const rnd = random(SEED + client);
			const of = all[client % PEOPLE];
			const ids = [];

			await DEEDS.send({ user: target.at(of), rnd, all, ids });
			while (goesOn()) {
				const deed = pick(Object.keys(ENDS), rnd);
				/*
				 * A log-in takes as long as a hundred other
				 * actions.
				 */
				if (deed === 'login' && rnd() > 0.05)
					continue;
				const { status, body } = await DEEDS[deed]({ user: target.at(of), rnd, all, abroad, down,
					ids });
				const each = Array.isArray(body) ? body.map((one) => [one.status, one.problem]) :
					[[status, body]];

				for (const [one, said] of each) {
					answers[deed][one] = (answers[deed][one] ?? 0) + 1;
					assert.ok(one === ENDS[deed].good || ENDS[deed].else.includes(one),
						`${deed}: ${one} ${JSON.stringify(said)}`);
				}
			}
		}));
		const met = scene.cluster.log().match(/could not obtain lock/g)?.length ?? 0;
		t.diagnostic(`seed ${SEED}: met=${met} ${JSON.stringify(answers)}`);
		for (const [deed, { good, share }] of Object.entries(ENDS)) {
			assert.ok((answers[deed][good] ?? 0) >= share * count(deed) && count(deed) > 0,
				`${deed}: ${JSON.stringify(answers[deed])}`);
		}
		for (const user of all) {
			const { events } = await target.at(user).inbox();
			contiguous(events, 1);
		}
		await finish(scene);
	});
});
