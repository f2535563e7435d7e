// SPDX-License-Identifier: MIT
//
// A server on SQLite, and one that consists of two nodes on one PostgreSQL,
// deliver to each other.  To other servers the nodes are one server, whichever
// node gets the request, and also while one node is down.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';

import { User, WAIT_MS, eventually, expectStatus, killAll, users, uuid7, within } from '../e2e/harness.mjs';
import { operator } from '../e2e/operator.mjs';
import { address, allAre, arriveOnce, gathers, isFrom, startPair, surely } from '../e2e/pair.mjs';
import { Cluster } from './cluster.mjs';

let cluster;
let databases = 0;

before(async () => {
	cluster = await new Cluster().start();
});
after(async () => {
	await killAll();
	await cluster?.remove();
});

/*
 * The rows that a killed node was delivering stay leased until the lease runs
 * out.
 */
const ARGS = ['--delivery-timeout', '3s', '--lease', '9s'];
const PATIENCE = { ms: 90_000 };

async function world(t)
{
	const db = await cluster.createDatabase(`federation_${++databases}`);
	const pair = await startPair(t, { args: ARGS, a: { unlimited: 'one user sends as fast as can be' },
		b: { nodes: 2, db, unlimited: 'the same' } });
	const [[alice], [bob]] = await Promise.all([users(pair.a, 'alice'), users(pair.b, 'bob')]);

	return { pair, alice, bob };
}

/** Returns ${user} as a client of ${node}. */
const at = (user, node) => new User(node, user.name, user.token, user.device_name);

/**
 * Sends ${n} messages one by one, even if the sender's node goes down
 * meanwhile.  Returns their ids.
 */
async function sendThrough(from, to, n)
{
	const ids = [];

	for (let i = 0; i < n; i++) {
		const message = { id: uuid7(), to, body: `number ${i}` };
		expectStatus(await surely(() => from.post('/v1/messages', message)), 200, 201);
		ids.push(message.id);
	}
	return ids;
}

/**
 * Sends ${bytes} to ${node}.  Returns the answer up to the end of a JSON
 * object.
 */
async function exchange(node, bytes)
{
	const socket = net.connect(Number(new URL(node.url).port), '127.0.0.1');
	let text = '';

	try {
		await within(new Promise((resolve, reject) => {
			socket.on('error', reject);
			socket.on('close', resolve);
			socket.on('data', (data) => {
				text += data;
				if (/\r\n\r\n.*\}\s*$/s.test(text))
					resolve();
			});
			socket.write(bytes);
		}), WAIT_MS, () => `an answer of a node, which has said ${text}`);
	} finally {
		socket.destroy();
	}
	return text;
}

describe('two nodes are one server to another', () => {
	it('with the same keys, whoever is asked', async (t) => {
		const { pair } = await world(t);
		const documents = await Promise.all(pair.nodes.map((node) => node.document()));
		assert.deepEqual(documents[0], documents[1]);
		assert.equal(documents[0].domain, 'b.example');
		assert.equal(documents[0].deliver, `${pair.front.url}/v1/federation/deliver`);
	});

	it('what one takes in the other pushes, and either answers', async (t) => {
		const { pair, alice, bob } = await world(t);
		const sockets = await Promise.all(pair.nodes.map((node) => at(bob, node).ws()));
		const { id } = await alice.send(address(bob), 'hello');
		for (const ws of sockets)
			assert.equal((await ws.received(id)).from, address(alice));
		const { seq } = await bob.received(id);
		await at(bob, pair.nodes[1]).ack(seq);
		await alice.entryWhen(id, (e) => e.state === 'acked', 'is acked');
		for (const node of pair.nodes) {
			const answer = await at(bob, node).send(address(alice), 'hello back');
			assert.equal((await alice.received(answer.id)).from, address(bob));
		}
		await Promise.all(sockets.map((ws) => ws.close()));
	});

	it('and lose, double and reorder nothing while each of them is killed', async (t) => {
		const { pair, alice, bob } = await world(t);
		const sending = sendThrough(alice, address(bob), 200);
		for (const [i, node] of [...pair.nodes, ...pair.nodes].entries()) {
			const reader = at(bob, pair.nodes.find((one) => one !== node));
			await gathers(reader, isFrom(alice), 30 * (i + 1), PATIENCE);
			await node.kill();
			// Meanwhile the other node receives everything.
			await gathers(reader, isFrom(alice), 30 * (i + 1) + 10, PATIENCE);
			await node.start();
		}
		const ids = await sending;
		await arriveOnce(alice, bob, ids, PATIENCE);
		await bob.ack((await bob.inbox()).head);
		await allAre(alice, ids, 'acked');
		await pair.sound();
	});

	it('also as senders', async (t) => {
		const { pair, alice, bob } = await world(t);
		const [first, second] = pair.nodes;
		const ids = await sendThrough(at(bob, first), address(alice), 40);
		await gathers(alice, isFrom(bob), 10, PATIENCE);
		await first.kill();
		ids.push(...await sendThrough(at(bob, second), address(alice), 40));
		await gathers(alice, isFrom(bob), 80, PATIENCE);
		await first.start();
		await arriveOnce(bob, alice, ids, PATIENCE);
		await pair.sound();
	});

	it('a block that is made at one holds at the other, which had no reason to ask', async (t) => {
		const { pair, alice, bob } = await world(t);
		const [first, second] = pair.nodes;
		const root = await operator(first);
		const refuses = (to) => async () => {
			const answer = await at(bob, second).post('/v1/messages', { to, body: 'hello' });
			return answer.status === 422 && answer;
		};
		// Deliveries are paused, because sending would make the other
		// node read the row of the peer.
		await root.pause('*');
		// First a peer that was never met, then one that is in use.
		await root.do('POST', 'peers/never-met.example/block', {});
		await eventually(refuses('x@never-met.example'), 'the other node knows of the block');
		await sendThrough(alice, address(bob), 1);
		await gathers(at(bob, second), isFrom(alice), 1);
		await root.do('POST', 'peers/a.example/block', {});
		await eventually(refuses(address(alice)), 'the same of a server in use');
	});

	it('a request that one has taken is taken by neither again', async (t) => {
		const { pair, alice, bob } = await world(t);
		const ids = await sendThrough(alice, address(bob), 3);
		await arriveOnce(alice, bob, ids);
		const request = pair.front.newest('POST /v1/federation/deliver ');
		assert.ok(request, 'a request went by');
		for (const node of pair.nodes) {
			const answer = await exchange(node, request);
			assert.match(answer, /^HTTP\/1\.1 401 /);
			assert.match(answer, /nonce-repeated/);
		}
		await pair.sound();
	});
});
