// SPDX-License-Identifier: MIT
//
// The main functions through nginx and Caddy, over HTTP/1.1, HTTP/2 and
// WebSocket with TLS, with the samples of contrib/ unchanged.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Ws, users, uuid7 } from '../e2e/harness.mjs';
import { PROXIES, Site2, connect, answersIn, eventually, http, stage, within } from './proxy.mjs';

const hooks = { before, after, afterEach };

/**
 * Sends, long-polls, acks and reads, and checks the receipts, as any client
 * would.
 */
async function circle(ann, bob)
{
	const poll = bob.get('/v1/inbox?after=0&wait=30');
	const id = uuid7();
	const entry = await ann.post('/v1/messages', { to: bob.name, body: 'häl\u{1f600}o', id });
	assert.equal(entry.status, 201);
	assert.match(entry.headers.get('location'), /^\/v1\//);
	const page = (await poll).body;
	assert.equal(page.events[0].id, id);
	assert.equal(page.events[0].body, 'häl\u{1f600}o');
	await bob.ack(1);
	await bob.read({ upto: 1 });
	const seen = await ann.entryWhen(id, (e) => e.state === 'acked', 'is acked');
	assert.equal(seen.counts.acked, 1);
	assert.equal((await ann.send(bob.name, 'häl\u{1f600}o', { id })).id, id);
	assert.equal((await bob.inbox()).events.filter((e) => e.kind === 'message').length, 1);
}

for (const kind of PROXIES) {
	describe(`${kind}: a conversation`, () => {
		const on = stage(hooks, kind);

		it('by HTTP/1.1', async () => {
			await circle(...await users(on.site, 'ann', 'bob'));
		});

		it('by HTTP/2, fifty requests at once on one connection', async (t) => {
			const site = await new Site2(on.proxy).open();
			t.after(() => site.close());
			const [ann, bob] = await users(site, 'ann', 'bob');
			await circle(ann, bob);
			const sent = await Promise.all(Array.from({ length: 50 }, (_, i) =>
				ann.post('/v1/messages', { to: bob.name, body: `no ${i}`, id: uuid7() })));
			assert.deepEqual(new Set(sent.map((a) => a.status)), new Set([201]));
			await eventually(async () => (await bob.inbox()).events
				.filter((e) => e.kind === 'message').length === 51, 'all messages');
		});

		it('by WebSocket', async () => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			const [a, b] = [await ann.ws(), await bob.ws()];
			const { id } = await ann.send(bob.name, 'live');
			const event = await b.received(id);
			b.ack(event.seq);
			await a.event((e) => e.kind === 'receipt' && e.state === 'delivered', 'the receipt');
			await Promise.all([a.close(), b.close()]);
		});

		it('takes a page of our own origin, no other', async () => {
			const [ann] = await users(on.site, 'ann');
			const { port } = on.proxy;
			const refused = async (headers) => {
				const ws = new Ws(on.site, { headers });
				await assert.rejects(ws.opened(), undefined, JSON.stringify(headers));
				assert.equal(ws.refused, 403, JSON.stringify(headers));
			};
			const ws = await ann.ws({}, { headers: { origin: on.proxy.url } });
			await ws.close();
			for (const origin of [`http://localhost:${port}`, 'https://localhost',
				'https://evil.example', `https://localhost.evil.example:${port}`, 'null',
				`https://localhost:${port}.evil.example`, on.server.url]) {
				const host = origin.replace(/^.*:\/\//, '');
				await refused({ origin });
				await refused({
					origin, Forwarded: `for=127.0.0.9;proto=http;host="${host}"`,
					'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': host,
				});
			}
		});

		it('refuses bodies beyond the limits', async () => {
			const [ann, bob] = await users(on.site, 'ann', 'bob');
			/*
			 * If the server refuses a request while the body is
			 * still being sent, Caddy may lose the answer and
			 * return 502.
			 */
			const refusals = kind === 'caddy' ? [413, 502] : [413];
			for (const size of [1024 * 1024 + 1, 2e6, 12345678]) {
				const large = await ann.request('POST', '/v1/messages',
					{ body: 'x'.repeat(size), type: 'application/json' });
				assert.ok(refusals.includes(large.status), `${size}: ${large.text}`);
				if (large.status === 413)
					assert.equal(large.body.code, 'body_too_large');
			}
			const by_server = await ann.request('POST', `/v1/to/${bob.name}`,
				{ body: 'x'.repeat(256 * 1024), type: 'text/plain' });
			assert.ok(refusals.includes(by_server.status), by_server.text);
			if (by_server.status === 413)
				assert.ok(by_server.headers.get('x-request-id'));
			const items = Array.from({ length: 60 }, () =>
				({ to: bob.name, body: 'y'.repeat(16 * 1024), id: uuid7() }));
			const whole = await ann.post('/v1/messages', items);
			assert.equal(whole.status, 200, whole.text);
			await bob.received(items.at(-1).id);
			assert.equal((await bob.inbox()).events.length, 60);
		});

		it('adds and hides what the sample says', async () => {
			const health = await on.site.rest().get('/healthz');
			assert.equal(health.status, 200);
			assert.match(health.headers.get('strict-transport-security'), /^max-age=31536000/);
			assert.equal((await on.site.request(new URL('/metrics', on.site.url))).status, 404);
			const moved = await within(new Promise((resolve, reject) => {
				http.get({ host: '127.0.0.1', port: on.proxy.plain, path: '/v1?x=1', agent: false,
					headers: { host: `localhost:${on.proxy.plain}` } }, resolve)
					.on('error', reject);
			}), 5000, 'the answer of the plain port');
			moved.resume();
			assert.ok([301, 308].includes(moved.statusCode));
			assert.equal(moved.headers.location.replace(`:${on.proxy.port}`, ''),
				'https://localhost/v1?x=1');
		});

		it('passes on no other upgrade', async () => {
			for (const [target, upgrade] of [['/v1/ws', 'h2c'], ['/v1', 'h2c'],
				['/v1', 'websocket'], ['/v1/ws', 'websocket, h2c'], ['/v1/ws', 'foo']]) {
				const socket = await connect(on.proxy);
				socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n` +
					`Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n` +
					'HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n');
				await eventually(() => socket.gone || answersIn(socket.text).length > 0,
					`an answer to ${upgrade} on ${target}`);
				for (const { status } of answersIn(socket.text))
					assert.ok(status >= 200, `${upgrade}: ${status}`);
				assert.doesNotMatch(socket.text, /^HTTP\/1\.1 101/, `${upgrade} on ${target}`);
				socket.destroy();
			}
		});
	});
}
