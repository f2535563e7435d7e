// SPDX-License-Identifier: MIT
//
// The nginx sample limits the connections from a network: an IPv4 address, or
// the /64 of an IPv6 address.  Here the limit is one connection, and nginx
// believes the address that a test names (realip), because loopback has only
// one IPv6 address.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { users } from '../e2e/harness.mjs';
import { answersIn, connect, eventually, stage } from './proxy.mjs';

const on = stage({ before, after, afterEach }, 'nginx', { edit: [
	['limit_conn twinbox_network 256;', 'limit_conn twinbox_network 1;\n' +
		'\tset_real_ip_from 127.0.0.0/8;\n\treal_ip_header X-Test-Client;'],
] });

/**
 * Opens a connection of ${client} with one request, which is not answered yet.
 */
async function request(client, target, token)
{
	const socket = await connect(on.proxy);

	socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
		`X-Test-Client: ${client}\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}\r\n`);
	return socket;
}

async function statusOf(client)
{
	const socket = await request(client, '/healthz');

	await eventually(() => answersIn(socket.text).length > 0, 'an answer');
	await socket.ended;
	return answersIn(socket.text)[0].status;
}

describe('nginx counts the connections', () => {
	const cases = [
		['2001:db8:1:2::1', ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2:ffff:ffff:ffff:ffff',
			// Addresses with newline bytes in them.
			'2001:db8:1:2:a0a:a0a:a0a:a0a'],
		['2001:db8:1:3::1', '2001:db8:1::1', '2001:db8:1:2a::1', '2001:db9:1:2::1', '192.0.2.1']],
		['a0a:a0a:a0a:a0a::1', ['a0a:a0a:a0a:a0a:1::'], ['a0a:a0a:a0a:a0b::1', 'a0a:a0a:a0a:a00::1']],
		['::1', ['::2', '0:0:0:0:ffff::'], ['0:0:0:1::1', '::1:0:0:0:0']],
		['192.0.2.1', ['192.0.2.1'], ['192.0.2.2', '10.10.10.10', '2001:db8:1:2::1']],
		['10.10.10.10', ['10.10.10.10'], ['10.10.10.11']],
	];

	for (const [holder, same, others] of cases) {
		it(`of the network of ${holder}`, async () => {
			const [ann] = await users(on.server, 'ann');
			const polls = async () => on.server.metric('long_polls');
			const held = await request(holder, '/v1/inbox?wait=55', ann.token);
			await eventually(async () => await polls() === 1, 'the long-poll waits');
			for (const client of same)
				assert.equal(await statusOf(client), 429, client);
			for (const client of others)
				assert.equal(await statusOf(client), 200, client);
			// The event ends the long-poll, which frees the place.
			await ann.send(ann.name, 'an event');
			await held.ended;
			assert.equal(answersIn(held.text)[0].status, 200);
			for (const client of same)
				await eventually(async () => await statusOf(client) === 200, `a place for ${client}`);
		});
	}
});
