// SPDX-License-Identifier: MIT
// tags: store
//
// Limits of what a user may send: the quota of a day, by REST, by arrays and by
// WebSocket; the rate limit, which counts each item of an array.  And a disk
// with too little room, where only new messages are refused.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';

import { onPostgres } from './backend.mjs';
import { problem, problemBody } from './expect.mjs';
import { eventually, expectStatus, Server, users, uuid7 } from './harness.mjs';

const servers = [];

after(async () => {
	for (const server of servers)
		await server.stop();
});

async function serve(...args)
{
	const server = new Server({ args });

	servers.push(server);
	await server.start();
	return server;
}

const message = (to, body = 'x') => ({ id: uuid7(), to: to.name, body });

/** The number of seconds until the next day (UTC). */
const toMidnight = () => Math.ceil((86400000 - Date.now() % 86400000) / 1000);

function isUsedUp(body, headers)
{
	problemBody(body, 'quota_used');
	assert.ok(Math.abs(body.retry_after - toMidnight()) <= 30, `${body.retry_after}`);
	if (headers !== undefined)
		assert.equal(headers.get('retry-after'), String(body.retry_after));
}

describe('the quota of messages', () => {
	it('is of a user and day, whatever way they come; a replay is answered', async () => {
		const server = await serve('--quota-messages', '5');
		const [ann, bob] = await users(server, 'ann', 'bob');
		const socket = await ann.ws();
		const first = message(bob);

		expectStatus(await ann.post('/v1/messages', first), 201);
		const two = [message(bob), message(bob)];
		const array = expectStatus(await ann.post('/v1/messages', two), 200).body;
		assert.deepEqual(array.map(({ status }) => status), [201, 201]);
		assert.equal((await socket.request(
			{ type: 'send', id: 1, message: message(bob) })).type, 'sent');
		// Refused messages and repeated sends do not count.
		problem(await ann.post('/v1/messages', message({ name: 'nobody' })), 422, 'unknown_recipient');
		expectStatus(await ann.post('/v1/messages', first), 200);
		expectStatus(await ann.post('/v1/messages', message(bob)), 201);

		const refused = await ann.post('/v1/messages', message(bob));
		problem(refused, 429, 'quota_used');
		isUsedUp(refused.body, refused.headers);
		expectStatus(await ann.post('/v1/messages', first), 200);
		const mixed = expectStatus(await ann.post('/v1/messages',
			[two[0], message(bob)]), 200).body;
		assert.deepEqual(mixed.map(({ status }) => status), [200, 429]);
		isUsedUp(mixed[1].problem);
		const frame = await socket.request({ type: 'send', id: 2, message: message(bob) });
		assert.equal(frame.type, 'error');
		isUsedUp(frame.problem);
		expectStatus(await bob.post('/v1/messages', message(ann)), 201);
		socket.close();

		// The usage survives a restart.
		await server.stop();
		await server.start();
		await eventually(async () => (await ann.post('/v1/messages', message(bob))).status === 429,
			'the quota is known again');
		expectStatus(await ann.get('/v1/inbox'), 200);
	});
});

describe('the quota of bytes', () => {
	it('counts text and metadata', async () => {
		const server = await serve('--quota-bytes', '1KiB');
		const [ann, bob] = await users(server, 'ann', 'bob');

		expectStatus(await ann.post('/v1/messages', message(bob, 'x'.repeat(1000))), 201);
		problem(await ann.post('/v1/messages', message(bob, 'x'.repeat(25))), 429, 'quota_used');
		problem(await ann.post('/v1/messages',
			{ ...message(bob, 'x'.repeat(10)), metadata: { k: 'value'.repeat(4) } }), 429, 'quota_used');
		expectStatus(await ann.post('/v1/messages', message(bob, 'x'.repeat(24))), 201);
	});
});

describe('the rate', () => {
	it('is charged the items of an array, which is refused whole', async () => {
		const server = await serve('--rate-limit', '10/s');
		const [ann, bob] = await users(server, 'ann', 'bob');
		const array = (n) => Array.from({ length: n }, () => message(bob));

		expectStatus(await ann.post('/v1/messages', array(15)), 200);
		const refused = await ann.post('/v1/messages', array(15));
		problem(refused, 429, 'rate_limited');
		assert.match(refused.body.detail, /each message of an array is one/);
		const waiting = Number(refused.headers.get('retry-after'));
		assert.ok(waiting >= 1 && waiting <= 2, `${waiting}`);
		const { body } = expectStatus(await bob.get('/v1/inbox?limit=200'), 200);
		assert.ok(body.events.length <= 15, 'nothing of it was written');
	});
});

describe('a user who sends arrays as fast as can be', () => {
	it('has no more accepted than the rate and the burst', async (t) => {
		const RATE = 20;
		const server = await serve('--rate-limit', `${RATE}/s`);
		const [ann, bob] = await users(server, 'ann', 'bob');
		const from = performance.now();
		let accepted = 0;

		while (performance.now() - from < 3000) {
			const answers = await Promise.all([1, 7, 30, 100].map((n) => ann.post('/v1/messages',
				Array.from({ length: n }, () => message(bob)))));
			for (const { status, body } of answers)
				accepted += status === 200 ? body.filter((one) => one.status === 201).length : 0;
		}
		const most = 2 * RATE + (performance.now() - from) / 1000 * RATE + 100;
		t.diagnostic(`${accepted} messages accepted in 3 s, ${Math.floor(most)} at most`);
		assert.ok(accepted >= 2 * RATE, `${accepted}`);
		assert.ok(accepted <= most, `${accepted}`);
	});
});

describe('a disk with less room than disk-reserve', () => {
	it('refuses new messages only', async () => {
		const server = await serve('--disk-reserve', '0B');
		const [ann, bob] = await users(server, 'ann', 'bob');
		const first = message(bob);

		expectStatus(await ann.post('/v1/messages', first), 201);
		await server.stop();
		server.args = ['--disk-reserve', '1073741824GiB'];
		await server.start();
		if (onPostgres) {
			// With PostgreSQL, the server cannot see the disk of
			// the database.
			expectStatus(await ann.post('/v1/messages', message(bob)), 201);
			assert.equal(await server.metric('disk_low'), 0);
			return;
		}
		await eventually(() => server.child.err.includes('store.low'), 'it is logged');
		const refused = await ann.post('/v1/messages', message(bob));
		problem(refused, 507, 'storage_full');
		expectStatus(await ann.post('/v1/messages', first), 200);
		const { body } = await eventually(async () => {
			const page = await bob.get('/v1/inbox?after=0');
			return page.body.events?.length > 0 && page;
		}, 'what was accepted is delivered');
		expectStatus(await bob.post('/v1/inbox/ack', { upto: body.events[0].seq }), 200);
		expectStatus(await bob.post('/v1/inbox/read', { upto: body.events[0].seq }), 200);
		assert.equal(await server.metric('disk_low'), 1);
	});
});
