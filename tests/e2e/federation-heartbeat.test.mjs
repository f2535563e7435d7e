// SPDX-License-Identifier: MIT
// tags: surface
//
// Heartbeats find out that a server is back if no message waits for it.  One
// test has a server that node plays, the other has two real servers, of which
// neither answers a heartbeat with a heartbeat.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { scene } from './federation-scene.mjs';
import { eventually, expectStatus, users } from './harness.mjs';
import { operator, until } from './operator.mjs';
import { address, startPair } from './pair.mjs';
import { parsePage } from '../watch/names.mjs';

/**
 * Waits until the admin routes show ${root} the breaker of ${name} in one of
 * ${states}.
 */
const breaker = (root, name, ...states) => eventually(
	async () => states.includes((await root.destination(name)).breaker), `${name} is ${states}`, 60_000);

/** The counters of requests from other servers that ${server} has accepted. */
async function taken(server)
{
	const families = parsePage(expectStatus(await server.rest().get('/metrics'), 200).text);

	return families.get('twinbox_federation_requests_total').samples
		.filter(({ labels }) => labels.direction === 'in' && labels.outcome === 'taken')
		.reduce((sum, { value }) => sum + value, 0);
}

describe('a server that was away, and for which nothing waits', () => {
	it('is asked by heartbeats until it answers twice', async (t) => {
		const s = await scene(t);
		const { ann, b, root } = s;
		await s.known();
		await b.close();
		const { id } = await ann.send('bob@b.example', 'soon over', { expires_in: '1s' });
		await breaker(root, 'b.example', 'open', 'half_open');
		await until(ann, id, 'expired');
		const before_it = b.requests.length;
		await b.listen();
		await breaker(root, 'b.example', 'closed');
		assert.equal(b.empty.length, 2);
		for (const { json } of b.empty) {
			assert.deepEqual(Object.keys(json.control), ['heartbeat']);
			assert.deepEqual(Object.keys(json.control.heartbeat), ['at']);
			assert.ok(Math.abs(Date.parse(json.control.heartbeat.at) - Date.now()) < 60_000);
		}
		assert.equal(b.requests.length, before_it, 'no envelope');
		// Messages are delivered as before.
		await b.gets((await ann.send('bob@b.example', 'welcome back')).id);
		assert.equal(b.empty.length, 2);
		await s.check();
	});

	it('two servers, of which neither answers a heartbeat with one', async (t) => {
		const pair = await startPair(t);
		const [[alice], [bob], root] = await Promise.all(
			[users(pair.a, 'alice'), users(pair.b, 'bob'), operator(pair.a)]);
		await bob.received((await alice.send(address(bob), 'hello')).id);
		await pair.b.stop();
		const { id } = await alice.send(address(bob), 'soon over', { expires_in: '1s' });
		await breaker(root, pair.b.domain, 'open', 'half_open');
		await until(alice, id, 'expired');
		const before_it = await taken(pair.a);
		await pair.b.start();
		await breaker(root, pair.b.domain, 'closed');
		assert.equal(await taken(pair.b), 2);
		assert.equal(await taken(pair.a), before_it);
	});
});
