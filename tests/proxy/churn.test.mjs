// SPDX-License-Identifier: MIT
//
// Kept-alive connections between proxy and server: a thousand requests without
// a failure, upgrades that are sent on such a connection, a server that
// restarts under load, and slow clients.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Ws, sleep, users, uuid7 } from '../e2e/harness.mjs';
import {
	PROXIES, SHARED, Site, Site2, answersIn, connect, eventually, stage, within,
} from './proxy.mjs';

const hooks = { before, after, afterEach };
const UPGRADE = 'GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n' +
	'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: twinbox.v1\r\n' +
	'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Runs ${n} jobs, at most ${width} at a time. */
async function pool(n, width, job)
{
	let next = 0;

	await Promise.all(Array.from({ length: width }, async () => {
		while (next < n)
			await job(next++);
	}));
}

/**
 * Requests an upgrade through ${proxy} on a route that has none.  Caddy (Go's
 * net/http) keeps connections that were used for upgrades apart from all
 * others, so only such a request leaves a connection that the next upgrade can
 * reuse.
 */
async function vainUpgrade(proxy, user)
{
	const socket = await connect(proxy);

	socket.write('GET /v1/inbox?limit=1 HTTP/1.1\r\nHost: localhost\r\n' +
		`Authorization: Bearer ${user.token}\r\n` +
		'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
	await eventually(() => answersIn(socket.text).length === 1, 'the answer');
	assert.equal(answersIn(socket.text)[0].status, 200, socket.text);
	socket.destroy();
}

for (const kind of PROXIES) {
	describe(`${kind}: kept-alive connections`, () => {
		const on = stage(hooks, kind, { unlimited: 'one user makes a thousand requests' });

		it('a thousand requests from connections that come and go, none fails', async (t) => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			let site = new Site(on.proxy);
			t.after(() => site.close());
			let answers = 0;
			await pool(1000, 16, async (i) => {
				/*
				 * The client opens a new connection from time
				 * to time.
				 */
				if (i % 50 === 49)
					site = new Site(on.proxy);
				const user = Object.assign(Object.create(i % 3 ? ann : bob), { server: site });
				const answer = i % 4 === 0 ?
					await user.post('/v1/messages', { to: ann.name, body: `no ${i}`, id: uuid7() }) :
					await user.get(i % 4 === 1 ? '/v1/inbox?limit=5' : '/v1/outbox?limit=5');
				assert.equal(answer.status, i % 4 === 0 ? 201 : 200, answer.text);
				answers++;
			});
			assert.equal(answers, 1000);
		});

		it('a pipeline of a thousand is answered in order', async () => {
			const socket = await connect(on.proxy);
			const text = Array.from({ length: 1000 }, (_, i) =>
				`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: p${i}\r\n\r\n`).join('');
			socket.write(text);
			await eventually(() => answersIn(socket.text).length === 1000 || socket.gone,
				'1000 answers', 30_000);
			const ids = answersIn(socket.text).map((a) => a.headers.get('x-request-id'));
			assert.deepEqual(ids, Array.from({ length: 1000 }, (_, i) => `p${i}`));
			socket.destroy();
		});

		it('a connection that begins in silence and ends so harms nobody', async () => {
			const idle = await Promise.all(Array.from({ length: 20 }, () => connect(on.proxy)));
			idle.forEach((socket, i) => socket.write(GET.slice(0, i)));
			assert.equal((await on.site.rest().get('/healthz')).status, 200);
			idle.forEach((socket) => socket.destroy());
		});

		it('slow senders hold the proxy, not the server', async (t) => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			const connections = await on.server.metric('http_connections');
			const slow = await Promise.all(Array.from({ length: 40 }, () => connect(on.proxy)));
			t.after(() => slow.forEach((socket) => socket.destroy()));
			for (const socket of slow) {
				socket.write('POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n' +
					`Authorization: Bearer ${ann.token}\r\nContent-Type: application/json\r\n` +
					'Content-Length: 60\r\n\r\n{"to":');
			}
			for (let i = 0; i < 5; i++) {
				await sleep(100);
				slow.forEach((socket) => socket.write(' '));
			}
			assert.equal((await ann.send(bob.name, 'meanwhile')).state !== undefined, true);
			/*
			 * The connections of the earlier requests may be kept
			 * open, but there are no new ones.
			 */
			assert.ok(await on.server.metric('http_connections') <= connections + 4,
				`${connections} connections became ${await on.server.metric('http_connections')}`);
			assert.equal(slow.filter((socket) => socket.gone).length, 0);
		});

		it('slow readers too', async (t) => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			await ann.post('/v1/messages', Array.from({ length: 60 }, () =>
				({ to: bob.name, body: 'x'.repeat(16_000), id: uuid7() })));
			await eventually(async () =>
				(await bob.inbox()).events.length === 60, 'a long inbox');
			const before_it = await on.server.metric('http_requests_total');
			const socket = await connect(on.proxy);
			t.after(() => socket.destroy());
			socket.pause();
			socket.write('GET /v1/inbox?limit=200 HTTP/1.1\r\nHost: localhost\r\n' +
				`Authorization: Bearer ${bob.token}\r\n\r\n`);
			/*
			 * The server completes the answer although no one reads
			 * it.  Each read of the metrics counts as a request,
			 * too.
			 */
			let looks = 0;
			await eventually(async () =>
				await on.server.metric('http_requests_total') - before_it - ++looks >= 1,
			'the answer has left the server');
			socket.resume();
			await eventually(() => socket.text.length > 900_000, 'the whole answer');
		});
	});

	describe(`${kind}: an upgrade on a kept-alive connection`, () => {
		const on = stage(hooks, kind, { edit: SHARED[kind],
			unlimited: 'one user asks for hundreds of upgrades' });

		it('is closed by the server without a byte, and only then', async () => {
			const stray = await on.server.metric('http_stray_upgrades_total');
			for (const before_it of [GET, GET + GET, 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n']) {
				const socket = await connect({ port: on.server.port });
				socket.write(before_it);
				const n = before_it === GET + GET ? 2 : 1;
				await eventually(() => answersIn(socket.text).length === n, 'the answer');
				socket.text = '';
				socket.write(UPGRADE);
				await within(socket.ended, 5000, 'the end of the connection');
				assert.equal(socket.text, '');
			}
			const whole = await connect({ port: on.server.port });
			whole.write(GET + UPGRADE + GET);
			await within(whole.ended, 5000, 'the end of the connection');
			assert.equal(answersIn(whole.text).length, 1, 'nothing behind it is answered');
			assert.equal(await on.server.metric('http_stray_upgrades_total'), stray + 4);
			const fresh = await connect({ port: on.server.port });
			fresh.write(UPGRADE);
			await eventually(() => fresh.text.startsWith('HTTP/1.1 101'), 'the upgrade');
			fresh.destroy();
		});

		it('and repeated by the proxy on a fresh one: no upgrade fails', async (t) => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			const stray = await on.server.metric('http_stray_upgrades_total');
			for (let round = 0; round < 15; round++) {
				/*
				 * These requests leave connections that can be
				 * reused.
				 */
				await pool(6, 6, () => ann.get('/v1/inbox?limit=1'));
				if (kind === 'caddy')
					await pool(2, 2, () => vainUpgrade(on.proxy, ann));
				const some = await Promise.all([0, 1].map(() =>
					new Ws(on.site, { token: bob.token }).opened()));
				await Promise.all(some.map((ws, i) => ws.hello({ instance: `tab${i}` })));
				const { id } = await ann.send(bob.name, `round ${round}`);
				await Promise.all(some.map((ws) => ws.received(id)));
				await Promise.all(some.map((ws) => ws.close()));
			}
			const strays = await on.server.metric('http_stray_upgrades_total') - stray;
			t.diagnostic(`${kind}: 30 upgrades, ${strays} of them repeated`);
			assert.ok(strays > 0, 'none met a kept-alive connection');
		});
	});

	describe(`F44 ${kind}: the server restarts behind it`, () => {
		const on = stage(hooks, kind, { unlimited: 'one user sends as fast as can be' });

		it('every 201 is there once; clients see 502 or 503 at worst', async (t) => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			const site2 = await new Site2(on.proxy).open();
			t.after(() => site2.close());
			const accepted = [];
			const statuses = new Map();
			let stop = false;
			const sender = async (server) => {
				const me = Object.assign(Object.create(ann), { server });
				while (!stop) {
					const id = uuid7();
					for (;;) {
						const { status, text } = await me.post('/v1/messages',
							{ to: bob.name, body: `it is ${id}`, id });
						statuses.set(status, (statuses.get(status) ?? 0) + 1);
						if (status === 201 || status === 200) {
							accepted.push(id);
							break;
						}
						assert.ok([502, 503].includes(status), `${status} ${text}`);
						await sleep(20);
					}
					await sleep(2);
				}
			};
			const load = [on.site, on.site, on.site, site2, site2, site2].map(sender);
			for (let i = 0; i < 3; i++) {
				await sleep(400);
				await on.server.restart();
			}
			const n = accepted.length;
			await eventually(() => accepted.length > n + 20, 'sends after the restart');
			stop = true;
			await Promise.all(load);
			const got = (await eventually(async () => {
				const events = (await bob.inbox()).events.filter((e) => e.kind === 'message');
				return events.length >= accepted.length && events;
			}, 'all that was accepted')).map((e) => e.id);
			assert.deepEqual([...got].sort(), [...accepted].sort());
			assert.equal(new Set(got).size, got.length);
			t.diagnostic(`${kind}: ${accepted.length} accepted over 3 restarts, answers: ` +
				[...statuses].map(([s, k]) => `${s}: ${k}`).join(', '));
		});
	});
}
