// SPDX-License-Identifier: MIT
//
// Event streams through nginx and Caddy, over HTTP/1.1 and HTTP/2: nothing is
// buffered in the proxy, and the server notices when the client goes away.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Stream, expectStatus, users } from '../e2e/harness.mjs';
import { PROXIES, certificates, stage } from './proxy.mjs';

const hooks = { before, after, afterEach };

for (const kind of PROXIES) {
	describe(`${kind}: an event stream`, () => {
		const on = stage(hooks, kind);

		for (const version of ['http1.1', 'http2']) {
			const follow = (who, options) => new Stream(who, {
				...options, args: ['--cacert', certificates().ca, `--${version}`] });

			it(`${version}: each event comes when it happens, and the end with its reason`, async () => {
				const [ann, bob] = await users(on.site, 'ann', 'bob');
				const stream = follow(bob);

				assert.equal((await stream.welcome()).head, 0);
				for (let i = 1; i <= 5; i++) {
					await ann.send(bob.name, `message ${i}`);
					await stream.until(i);
				}
				assert.equal(stream.answer.headers.get('content-type'), 'text/event-stream');
				const { body } = await bob.get('/v1');
				expectStatus(await bob.delete(`/v1/tokens/${body.device.id}`), 204);
				const { code, blocks } = await stream.ended();
				assert.equal(code, 0);
				assert.deepEqual(blocks.at(-1), { event: 'end', data: { reason: 'revoked' } });
			});

			it(`${version}: the server learns that the client has gone`, async () => {
				const [bob] = await users(on.site, 'bob');
				const stream = follow(bob);

				await stream.welcome();
				await on.server.polled(1);
				await stream.close('SIGKILL');
				await on.server.polled(0);
			});

			it(`${version}: it is resumed, and refused, as without the proxy`, async () => {
				const [ann, bob] = await users(on.site, 'ann', 'bob');

				for (let i = 1; i <= 3; i++)
					await ann.send(bob.name, `message ${i}`);
				const stream = follow(bob, { headers: { 'last-event-id': '2' } });
				assert.deepEqual((await stream.until(1)).map((e) => e.seq), [3]);
				await stream.close();
				const { status } = await bob.get('/v1/inbox?after=9', { headers: { accept: 'text/event-stream' } });
				assert.equal(status, 410);
			});
		}
	});
}
