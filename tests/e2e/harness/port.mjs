// SPDX-License-Identifier: MIT
//
// Ports for servers that have to be told theirs.

import { randomBytes } from 'node:crypto';
import net from 'node:net';

/** A port that was free a moment ago, below those that the system gives out by
 *  itself, so that nobody gets it while a server is away. */
export async function freePort()
{
	for (;;) {
		const port = 10_000 + randomBytes(4).readUInt32BE() % 20_000;
		const probe = net.createServer();
		const free = await new Promise((resolve) => {
			probe.once('error', () => resolve(false));
			probe.listen(port, '127.0.0.1', () => resolve(true));
		});
		if (free) {
			await new Promise((resolve) => { probe.close(resolve); });
			return port;
		}
	}
}
