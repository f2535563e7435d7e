// SPDX-License-Identifier: MIT
//
// Ports for servers that need a fixed one.

import { randomBytes } from 'node:crypto';
import net from 'node:net';

/**
 * Returns a port that was free a moment ago.  It is below the range from which
 * the system assigns ports, so that no other program gets it while the server
 * is down.
 */
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
