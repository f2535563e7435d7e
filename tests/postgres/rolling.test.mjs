// SPDX-License-Identifier: MIT
//
// Three nodes behind the nginx of the samples are restarted one after the other
// under load.  No request fails; sessions get a reconnect frame and continue at
// another node at their cursor; in the end everything is there, once and in
// order.  Clients repeat nothing: nginx itself retries what its sample says,
// connections that were not made, and never a request that is not idempotent.
// A balancer that queries a node itself, on connections that it keeps open, is
// notified that the node is not ready any more.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, describe, it } from 'node:test';

import { Server, eventually, killAll, run, sleep, tempDir, users } from '../e2e/harness.mjs';
import { longerTimes } from '../e2e/harness/faults.mjs';
import { freePort } from '../e2e/harness/port.mjs';
import { History, judge, told } from '../fault/crash-checker.mjs';
import { Target, crowd } from '../fault/crash-load.mjs';
import { Behind, Proxy, Site } from '../proxy/proxy.mjs';
import { Cluster } from './cluster.mjs';

const NODES = 3;
const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? 1);

/** A node that keeps its port while it is down. */
class Node extends Behind {
	async start(options)
	{
		this.port ??= await freePort();
		return super.start(options);
	}
}

/** Returns the nginx sample with all ${nodes} in it, as in contrib/compose. */
function balancer(nodes)
{
	const [{ port }] = nodes;
	const servers = nodes.map((node) =>
		`server 127.0.0.1:${node.port} max_fails=1 fail_timeout=5s;`).join('\n\t');

	return new Proxy('nginx', port, [[`server 127.0.0.1:${port};`, servers, 2]]).start();
}

/**
 * Queries the readiness of ${node} all the time, on one connection, until that
 * is closed.  Calls ${begun} after each answer.  Returns the answers: {status,
 * kept, last}.
 */
async function watch(node, begun)
{
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	const said = [];
	const ask = () => new Promise((resolve) => {
		const request = http.get(new URL('/readyz', node.url), { agent }, (response) => {
			response.resume();
			response.on('end', () => resolve({ status: response.statusCode,
				kept: request.reusedSocket, last: response.headers.connection === 'close' }));
		});
		request.on('error', () => resolve(undefined));
	});

	for (let one = await ask(); one; one = !one.last && await ask()) {
		said.push(one);
		begun();
		await sleep(2);
	}
	agent.destroy();
	return said;
}

/**
 * Checks ${said}, the answers of several clients that watched a node while it
 * stopped.  Returns how many of them saw that the node is not ready.
 */
function toldNotReady(said)
{
	for (const answers of said) {
		const statuses = answers.map(({ status }) => status);
		const last = answers.at(-1);

		assert.match(statuses.join(' '), /^200( 200)*( 503)*$/);
		assert.ok(answers.slice(1).every(({ kept }) => kept), 'on one connection');
		/*
		 * The last answer closes the connection, unless the node closed
		 * it while no request was under way.
		 */
		assert.ok(last.status === 200 || last.last, JSON.stringify(last));
	}
	return said.filter((answers) => answers.at(-1).status === 503).length;
}

after(killAll);

describe('a rolling restart', () => {
	it(`of ${NODES} nodes, ${ROUNDS} times: no request fails`, async (t) => {
		const cluster = await new Cluster().start();
		t.after(() => cluster.remove());
		const url = await cluster.createDatabase('chat');
		// A drain gives clients time to react.  They may need more of
		// it here, because three nodes, PostgreSQL and nginx share the
		// processors.
		const env = longerTimes(['push_drain', 'push_close', 'stop_'], 4);
		const nodes = Array.from({ length: NODES }, () => new Node({ args: ['--db', url], env,
			unlimited: 'the load is as much as there can be' }));
		t.after(() => Promise.all(nodes.map((node) => node.running && node.kill())));
		await Promise.all(nodes.map((node) => node.start()));
		const proxy = await balancer(nodes);
		t.after(() => proxy.stop());
		const site = new Site(proxy, { maxSockets: 32 });
		t.after(() => site.close());

		const history = new History();
		const target = new Target(site);
		const people = await users(site, 'ann', 'bob', 'cat', 'dan', 'eve', 'fox');
		target.up();
		const clients = crowd(target, history, people);
		t.after(() => target.abandon());
		let restarted = 0;
		let notReady = 0;

		for (let round = 0; round < ROUNDS; round++) {
			for (const node of nodes) {
				await eventually(() => history.calls.length > 100 * (restarted + 1), 'load');
				const begun = new Set();
				const watched = [1, 2].map((one) => watch(node, () => begun.add(one)));
				await eventually(() => begun.size === 2, 'both watch the node');
				assert.equal((await node.stop()).code, 0);
				notReady += toldNotReady(await Promise.all(watched));
				await sleep(100);
				await node.start();
				/*
				 * nginx does not use a failed node for 5 s, so
				 * the next restart waits until this node gets
				 * requests again.
				 */
				await eventually(() => node.child.err.split('path=/v1/messages').length > 20,
					'it is given requests again', 30_000);
				restarted++;
			}
		}
		target.end();
		await clients.ended;
		const verdict = await judge(history, people);
		const { counts, violations } = verdict;
		const reconnects = history.ends.get('1012 reconnect') ?? 0;
		t.diagnostic(told(verdict, { rounds: ROUNDS, restarted, failed: counts.unknown,
			reconnects, notReady }));
		assert.deepEqual(violations, []);
		assert.deepEqual([...history.reasons], [], 'requests failed');
		assert.equal(counts.clients, 12, 'every client was at work');
		assert.equal(restarted, ROUNDS * NODES);
		assert.ok(notReady > 0, 'no probe saw that a node is not ready');
		/*
		 * No session ended in another way, except those that its client
		 * closed.
		 */
		assert.deepEqual([...history.ends.keys()].filter((end) =>
			!['1000', '1000 reconnect', '1012 reconnect'].includes(end)), []);
		assert.ok(reconnects >= restarted, `${reconnects} sessions were asked to reconnect`);
	});
});
