// SPDX-License-Identifier: MIT
//
// Three nodes on one PostgreSQL.  A message that one node accepts, another
// delivers and pushes; receipts come back; a revoked token ends everywhere;
// notes between nodes may be lost; nodes die and the others go on.  Whatever
// the nodes do at the same time, every inbox is complete and in order, and fsck
// finds nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import {
	Server, User, Ws, TWINBOXD, eventually, expectStatus, killAll, longerTimes, run, tempDir,
	users, within,
} from '../e2e/harness.mjs';
import { operator, userCommand } from '../e2e/operator.mjs';
import { metric } from '../e2e/upkeep.mjs';
import { Cluster } from './cluster.mjs';

const FAULTS = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
const skipFaults = FAULTS || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';

// the most faults that the server accepts
const MOST_FAULTS = 32;

let cluster;
let databases = 0;

before(async () => {
	cluster = await new Cluster().start();
});
after(async () => {
	await killAll();
	await cluster?.remove();
});

/** Starts ${n} nodes together, on a database of their own. */
async function nodes(t, n, options = () => ({}))
{
	const url = await cluster.createDatabase(`nodes_${++databases}`);
	const list = Array.from({ length: n }, (_, i) => {
		const { args = [], ...more } = options(i);
		return new Server({ ...more, args: ['--db', url, ...args] });
	});

	await Promise.all(list.map((node) => node.start()));
	t.after(() => Promise.all(list.map((node) => node.running && node.stop())));
	list.url = url;
	return list;
}

/** Returns ${user} as a client of ${node}. */
const at = (user, node) => new User(node, user.name, user.token, user.device_name);

async function connected(user, node, more = {})
{
	const ws = new Ws(node, { token: user.token });

	await ws.opened();
	ws.welcome = await ws.hello(more);
	await ws.type('caught_up');
	return ws;
}

/** Revokes the token of ${user} at ${node}. */
async function revoke(user, node)
{
	const here = at(user, node);
	const { devices } = expectStatus(await here.get('/v1/tokens'), 200).body;

	expectStatus(await here.delete(`/v1/tokens/${devices.find((one) => one.current).id}`), 204);
}

/** Asserts that fsck finds nothing in the nodes' database. */
async function assertSound(list)
{
	const child = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', list.url]);
	const { code } = await child.exited;

	assert.equal(code, 0, child.out + child.err);
}

describe('three nodes', () => {
	// Each step of the schema is a transaction of its own, so another node
	// may make the next step.
	it('start together on an empty database: each step is made once', async (t) => {
		const list = await nodes(t, 3);
		const made = list.filter((node) => /store\.migrate/.test(node.output()));

		assert.ok(made.length >= 1);
		const epochs = await Promise.all(list.map(async (node) => {
			const [ann] = await users(node, 'ann');
			return (await ann.get('/v1/inbox')).body.epoch;
		}));
		assert.equal(new Set(epochs).size, 1);
	});

	it('what one accepts is pushed by another, and its receipts come back', async (t) => {
		const [a, b, c] = await nodes(t, 3);
		const [ann, bob] = await users(a, 'ann', 'bob');
		const ws = await connected(bob, b);
		const sender = await connected(ann, c);

		for (let i = 0; i < 20; i++) {
			const { id } = await ann.send(bob.name, `message ${i}`);
			const event = await ws.received(id);
			assert.equal(event.body, `message ${i}`);
		}
		ws.ack(20);
		const delivered = (event) => event.kind === 'receipt' &&
			event.state === 'delivered' && event.upto === 20;
		await sender.event(delivered, 'the receipt');
		contiguous(ws.events(), 1);
		contiguous(sender.events(), 1);
		await at(bob, c).read({ upto: 20 });
		await sender.event((event) => event.state === 'read' && event.upto === 20);
		await Promise.all([ws.close(), sender.close()]);
	});

	it('a long-poll on one comes back with what another accepted', async (t) => {
		const [a, b] = await nodes(t, 2);
		const [ann, bob] = await users(a, 'ann', 'bob');
		const poll = at(bob, b).get('/v1/inbox?after=0&wait=20');
		const { id } = await ann.send(bob.name, 'are you there?');
		const { body } = expectStatus(await poll, 200);

		assert.deepEqual(body.events.map((event) => event.id), [id]);
	});

	it('a token that one revokes ends the sessions of another', async (t) => {
		const [a, b] = await nodes(t, 2);
		const [ann] = await users(a, 'ann');
		const second = await ann.device();
		const ws = await connected(second, b);

		expectStatus(await at(second, b).get('/v1/inbox'), 200);
		await revoke(second, a);
		assert.equal((await ws.closing()).code, 4401);
		await eventually(async () => (await at(second, b).get('/v1/inbox')).status === 401,
			'the token is worth nothing on the other node');
	});

	it('the rights of an administrator end at once on every node', async (t) => {
		// The recheck that makes up for lost notes is made rare here,
		// so that it cannot be what finds the change.
		const list = await nodes(t, 2, () => ({ program: FAULTS, env: longerTimes(['cluster_recheck'], 100) }));
		const [a, b] = list;
		const admin = await operator(a);
		const other = await operator(a);
		const status = async (who, node) => (await at(who, node).get('/v1/admin/users')).status;
		const all = async (who) => Promise.all(list.map((node) => status(who, node)));
		const through = async (word, who) => {
			const { code, text } = await userCommand(a, [word, who.name]);
			assert.equal(code, 0, text);
		};
		const beside = async (word, who) => {
			const { code, text } = await userCommand({ program: TWINBOXD, data: tempDir() },
				[word, who.name, '--db', list.url]);
			assert.equal(code, 0, text);
		};

		assert.deepEqual(await all(admin), [200, 200]);
		// Once by a command that goes through node a, and once by one
		// that writes to the database itself.
		for (const change of [through, beside]) {
			await change('demote', admin);
			await eventually(async () => (await all(admin)).join() === '403,403', 'no rights on either node');
			assert.deepEqual(await Promise.all(list.map((node) => at(admin, node).get('/v1/inbox')))
				.then((answers) => answers.map(({ status }) => status)), [200, 200]);
			await change('promote', admin);
			await eventually(async () => (await all(admin)).join() === '200,200', 'the rights are back on both');
		}
		assert.deepEqual(await all(other), [200, 200]);
		await beside('disable', other);
		await eventually(async () => (await all(other)).join() === '401,401', 'no token on either node');
	});

	it('two nodes that demote an administrator each leave one', async (t) => {
		const list = await nodes(t, 2);
		const admins = [await operator(list[0]), await operator(list[0])];

		for (let round = 0; round < 20; round++) {
			const words = [0, 1].map((i) => ((round >> i) & 1 ? 'disable' : 'demote'));
			const codes = await Promise.all(list.map(async (node, i) =>
				(await userCommand(node, [words[i], admins[i].name])).code));

			assert.deepEqual(codes.sort(), [0, 65], words.join());
			for (const { name } of admins) {
				await userCommand(list[0], ['enable', name]);
				await userCommand(list[0], ['promote', name]);
			}
		}
	});

	it('a one-time password lets one in of those who log in at two nodes', async (t) => {
		const list = await nodes(t, 2);
		const admin = await operator(list[0]);
		const [ann] = await users(list[0], 'ann');

		for (let round = 0; round < 10; round++) {
			const { password } = await admin.do('POST', `users/${ann.name}/password`);
			const answers = await Promise.all([0, 1, 0, 1].map((i) =>
				list[i].rest().post('/v1/tokens', { name: ann.name, password, device: 'x' })));

			assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401]);
			for (const { status, body } of answers.filter((answer) => answer.status === 401))
				assert.equal(body.code, 'one_time_password', `${status} ${body.detail}`);
		}
	});

	it('a node is killed: its sessions go on at another, from their cursors', async (t) => {
		const [a, b, c] = await nodes(t, 3);
		const [ann, bob] = await users(a, 'ann', 'bob');
		const ws = await connected(bob, b);
		const first = await ann.send(bob.name, 'before');

		await ws.received(first.id);
		await b.kill();
		await ws.closing();
		const meanwhile = await ann.send(bob.name, 'meanwhile');
		const again = await connected(bob, c, { after: ws.events().at(-1).seq });
		await again.received(meanwhile.id);
		const later = await ann.send(bob.name, 'later');
		await again.received(later.id);
		contiguous([...ws.events(), ...again.events()], 1);
		await again.close();
	});

	it('more nodes than a node looks after: said once, with what to do', async (t) => {
		const list = await nodes(t, 1);
		const [node] = list;
		const lines = (pattern) => node.output().split('\n').filter((line) => pattern.test(line));

		/*
		 * Rows of nodes without a heartbeat.  A node watches 64 other
		 * nodes at most.
		 */
		const join = (name, n) => cluster.sql(`INSERT INTO nodes (name, started_at, beat_at)
			SELECT '${name}' || i, 1, 1 FROM generate_series(1, ${n}) i`, { url: list.url });
		await join('early', 64);
		await eventually(() => lines(/ cluster\.node .* name=early/).length === 64,
			'64 others are seen', 30_000);
		assert.deepEqual(lines(/cluster\.full/), []);
		await join('late', 2);
		await eventually(() => lines(/cluster\.full/).length > 0, 'the warning', 30_000);
		/* Several heartbeats later the dead nodes make room. */
		await eventually(() => lines(/ cluster\.node .* name=late/).length === 2,
			'those that were too many', 60_000);
		assert.equal(lines(/cluster\.full/).length, 1);
		assert.match(lines(/cluster\.full/)[0],
			/ warn cluster\.full .*nodes_most=65 .* cells /);
		expectStatus(await node.rest().get('/readyz'), 200);
	});

	it('all at once, everybody to everybody: whole, in order, once', async (t) => {
		const list = await nodes(t, 3);
		const people = await users(list[0], 'ann', 'bob', 'cat', 'dan');
		const sent = new Map(people.map((person) => [person.name, []]));

		// Each user sends at all nodes at the same time.  The messages
		// that a user sends at one node are a thread, and the order of
		// each thread is checked below.
		await Promise.all(people.flatMap((person) => list.map(async (node, k) => {
			const here = at(person, node);
			for (let i = 0; i < 25; i++) {
				const others = people.filter((one) => one !== person);
				const to = others[(i + k) % others.length];
				const { id } = await here.send(to.name, `${person.name} ${k} ${i}`);
				sent.get(to.name).push(id);
			}
		})));
		for (const person of people) {
			const wanted = sent.get(person.name).sort();
			const { events } = await eventually(async () => {
				const inbox = await person.inbox();
				const got = inbox.events.filter((e) => e.kind === 'message' && !e.own);
				return got.length >= wanted.length && inbox;
			}, `all messages of ${person.name}`);
			const got = events.filter((e) => e.kind === 'message' && !e.own);

			contiguous(events, 1);
			assert.deepEqual(got.map((e) => e.id).sort(), wanted);
			const threads = new Map();
			for (const { body } of got) {
				const [from, k, i] = body.split(' ');
				const last = threads.get(from + k) ?? -1;
				assert.ok(Number(i) > last, `${body} after ${last}`);
				threads.set(from + k, Number(i));
			}
			await person.ack(events.at(-1).seq);
		}
		await assertSound(list);
	});
});

/** Starts two nodes that receive no notes from each other. */
async function deafNodes(t)
{
	const deaf = Array.from({ length: MOST_FAULTS }, (_, i) => `cluster.note:${i + 1}:fail`).join();
	const traces = [];
	const list = await nodes(t, 2, (i) => {
		traces[i] = path.join(tempDir(), 'trace');
		return { program: FAULTS, env: { TWINBOX_FAULT: deaf, TWINBOX_FAULT_TRACE: traces[i] } };
	});

	// Asserts that there were notes, and that none arrived.
	list.assertDeaf = () => {
		for (const trace of traces) {
			const n = readFileSync(trace, 'utf8').split('\n')
				.filter((line) => line === 'cluster.note').length;
			assert.ok(n > 0 && n <= MOST_FAULTS, `${n} notes have come`);
		}
	};
	return list;
}

describe('two nodes that hear nothing of one another', { skip: skipFaults }, () => {
	it('what is sent at one is pushed by the other', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [ann, bob] = await users(a, 'ann', 'bob');
		const ws = await connected(bob, b);

		const { id } = await ann.send(bob.name, 'nobody notified you');
		await ws.received(id);
		list.assertDeaf();
		await ws.close();
	});

	it('a long-poll at one comes back with what the other accepted', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [ann, bob] = await users(a, 'ann', 'bob');
		const poll = at(bob, b).get('/v1/inbox?after=0&wait=50');
		const { id } = await ann.send(bob.name, 'are you there?');
		const answer = await within(poll, 30_000, 'an answer long before the wait is over');

		assert.deepEqual(expectStatus(answer, 200).body.events.map((event) => event.id), [id]);
		list.assertDeaf();
	});

	it('a revoked token is worth nothing at the other: session, long-poll, request', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [bob] = await users(a, 'bob');
		const second = await bob.device();
		const ws = await connected(second, b);
		const poll = at(second, b).get('/v1/inbox?after=0&wait=50');

		expectStatus(await at(second, b).get('/v1/inbox'), 200);
		await revoke(second, a);
		assert.equal((await ws.closing()).code, 4401);
		expectStatus(await poll, 401);
		await eventually(async () => (await at(second, b).get('/v1/inbox')).status === 401,
			'the token is worth nothing on the other node');
		list.assertDeaf();
	});

	it('the rights of an administrator end at the other', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [admin] = [await operator(a), await operator(a)];

		expectStatus(await at(admin, b).get('/v1/admin/users'), 200);
		assert.equal((await userCommand(a, ['demote', admin.name])).code, 0);
		expectStatus(await at(admin, a).get('/v1/admin/users'), 403);
		await eventually(async () => (await at(admin, b).get('/v1/admin/users')).status === 403,
			'no rights on the other node');
		list.assertDeaf();
	});

	it('a full window is opened by what the device acked at the other', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [ann, bob] = await users(a, 'ann', 'bob');
		const ws = await connected(bob, b, { window: 2 });
		const sent = [];

		for (let i = 0; i < 4; i++)
			sent.push((await ann.send(bob.name, `message ${i}`)).id);
		await ws.received(sent[1]);
		await bob.ack(2);
		await ws.received(sent[3]);
		assert.deepEqual(ws.events().map((event) => event.id), sent);
		list.assertDeaf();
		await ws.close();
	});

	it('who waits at one for an entry sees what has become of it at the other', async (t) => {
		const list = await deafNodes(t);
		const [a, b] = list;
		const [ann, bob] = await users(a, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'ack me');

		await ann.entryWhen(id, (entry) => entry.state === 'sent', 'is sent');
		const etag = (await ann.get(`/v1/outbox/${id}`)).headers.get('etag');
		const poll = at(ann, b).get(`/v1/outbox/${id}?wait=50`,
			{ headers: { 'if-none-match': etag } });
		await eventually(async () => await metric(b, 'long_polls') === 1, 'the request waits');
		await at(bob, a).ack(1);
		const answer = await within(poll, 30_000, 'an answer long before the wait is over');
		assert.equal(expectStatus(answer, 200).body.state, 'acked');
		list.assertDeaf();
	});
});
