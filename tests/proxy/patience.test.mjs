// SPDX-License-Identifier: MIT
//
// What says nothing for a minute is not cut by the proxies: the longest
// long-poll, and a WebSocket that only the server's pings keep alive.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { users } from '../e2e/harness.mjs';
import { PROXIES, eventually, stage } from './proxy.mjs';

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

		it(`${kind}: a WebSocket lives on by pings`, async () => {
			const [ann, bob] = await users(sites[kind].site, 'ann', 'bob');
			const ws = await bob.ws();
			await eventually(() => ws.pings >= 3, 'three pings of the server', 90_000);
			await ws.received((await ann.send(bob.name, 'still there?')).id);
			await ws.close();
		});
	}
});
