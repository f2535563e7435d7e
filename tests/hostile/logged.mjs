// SPDX-License-Identifier: MIT
//
// Times of events from the server's own log.  So the promise "within a second"
// is measured on the server, and a busy machine on which the test looks late
// does not matter.  The server must log at level debug.

import assert from 'node:assert/strict';

import { eventually } from '../e2e/harness.mjs';

/** The promised second.  Sanitizers are slower. */
export const SECOND = 1000 * Number(process.env.TWINBOX_SLOW ?? 1);

/**
 * Returns the time of the log line with ${event} and ${id} (key=value),
 * comparable to Date.now().
 */
export async function loggedAt(server, event, id)
{
	const line = new RegExp(`^(\\S+Z) .*\\b${event.replaceAll('.', '\\.')} (.* )?${id}( .*)?$`, 'm');
	const [, time] = await eventually(() => line.exec(server.output()), `${event} ${id} in the log`);
	const at = Date.parse(time);

	assert.ok(Number.isFinite(at), time);
	return at;
}

/** Returns when the session of ${ws} ended. */
export const sessionEndedAt = (server, ws) =>
	loggedAt(server, 'push.close', `session=${ws.welcome.session}`);

/**
 * Returns when the request that ${answer}, a problem, belongs to was answered.
 */
export const refusedAt = (server, answer) =>
	loggedAt(server, 'http.request', `request=${answer.body.request_id}`);
