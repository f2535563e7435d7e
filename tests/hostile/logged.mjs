// SPDX-License-Identifier: MIT
//
// When something happened, by the server's own log: so that a promise of "within
// a second" is held to the second, and not to when a busy machine let the test
// look.  The server must log at level debug.

import assert from 'node:assert/strict';

import { eventually } from '../e2e/harness.mjs';

/** The second that is promised; sanitizers take longer. */
export const SECOND = 1000 * Number(process.env.TWINBOX_SLOW ?? 1);

/** The time of the line with ${event} and ${id} (key=value), as of Date.now(). */
export async function loggedAt(server, event, id)
{
	const line = new RegExp(`^(\\S+Z) .*\\b${event.replaceAll('.', '\\.')} (.* )?${id}( .*)?$`, 'm');
	const [, time] = await eventually(() => line.exec(server.output()), `${event} ${id} in the log`);
	const at = Date.parse(time);

	assert.ok(Number.isFinite(at), time);
	return at;
}

/** When the session of ${ws}, which is over, ended. */
export const sessionEndedAt = (server, ws) =>
	loggedAt(server, 'push.close', `session=${ws.welcome.session}`);

/** When the request with ${answer}, a problem, was answered. */
export const refusedAt = (server, answer) =>
	loggedAt(server, 'http.request', `request=${answer.body.request_id}`);
