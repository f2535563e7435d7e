// SPDX-License-Identifier: MIT
//
// The proxies do not cut connections that are silent for a minute: the longest
// long-poll, a WebSocket that only the server's pings keep alive, and an event
// stream that only its comments keep alive.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Stream, users } from '../e2e/harness.mjs';
import { PROXIES, certificates, eventually, stage } from './proxy.mjs';

const sites = Object.fromEntries(PROXIES.map((kind) =>
	[kind, stage({ before, after, afterEach }, kind)]));

describe('a minute of silence', { concurrency: 8 }, () => {
	for (const kind of PROXIES) {
		it(`${kind}: a long-poll without news ends by itself, not before`, async () => {
			const [ann] = await users(sites[kind].site, 'ann');
			const start = performance.now();
			const page = await ann.get('/v1/inbox?after=0&wait=55');
			assert.equal(page.status, 200);
			assert.deepEqual(page.body.events, []);
			assert.ok(performance.now() - start > 54_000);
		});

		for (const version of ['http1.1', 'http2']) {
			it(`${kind}: an event stream by ${version} lives on by comments`, async () => {
				const [ann, bob] = await users(sites[kind].site, 'ann', 'bob');
				const stream = new Stream(bob,
					{ args: ['--cacert', certificates().ca, `--${version}`] });
				await stream.welcome();
				// The third comment comes after 75 s, which is
				// the longest time-out in the samples.
				await eventually(() => stream.blocks.filter((one) => one.comment).length >= 3,
					'three comments', 90_000);
				await ann.send(bob.name, 'still there?');
				await stream.until(1);
				await stream.close();
			});
		}

		it(`${kind}: a WebSocket lives on by pings`, async () => {
			const [ann, bob] = await users(sites[kind].site, 'ann', 'bob');
			const ws = await bob.ws();
			await eventually(() => ws.pings >= 3, 'three pings of the server', 90_000);
			await ws.received((await ann.send(bob.name, 'still there?')).id);
			await ws.close();
		});
	}
});
