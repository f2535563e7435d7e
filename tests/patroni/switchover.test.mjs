// SPDX-License-Identifier: MIT
//
// Three nodes on the Patroni cluster of contrib/patroni: a switchover under load
// loses nothing that was accepted, doubles nothing, and keeps the epoch.

import { describe, it } from 'node:test';

import { PatroniWorld } from './load.mjs';

describe('Patroni', () => {
	it('a switchover is a pause', async (t) => {
		const world = await new PatroniWorld(t, 1).start();

		await world.accident('switchover', () => world.cluster.switchover());
		await world.finish();
	});
});
