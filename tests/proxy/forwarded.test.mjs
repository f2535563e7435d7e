// SPDX-License-Identifier: MIT
//
// The address of a client, for the log and for the limits.  It is the one that
// a trusted proxy names, and never what any other client writes into the
// headers.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { PASSWORD, users } from '../e2e/harness.mjs';
import { Behind, PROXIES, SOMEBODY, Site, answersIn, connect, eventually, stage } from './proxy.mjs';

const FORGED = {
	'X-Forwarded-For': '203.0.113.7', 'X-Real-IP': '203.0.113.7',
	Forwarded: 'for=203.0.113.7;proto=http;host=evil.example',
	'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'evil.example',
	'X-Client-IP': '203.0.113.7', Via: '1.1 evil',
};

let serial = 0;

/** Returns the peer that the server logs for a request made by ${send}. */
async function peerOf(server, send)
{
	const mark = `mark-${process.pid}-${serial++}`;

	await send(mark);
	const found = await eventually(() => new RegExp(
		`http\\.(?:request|refused) request=${mark} peer=(\\S*)`).exec(server.output()),
	`the line of ${mark}`);
	return found[1];
}

/**
 * Sends one request in plain text, with these header lines.  Returns the logged
 * peer.
 */
async function asked(server, address, lines)
{
	return peerOf(server, async (mark) => {
		const socket = await connect({ port: server.port }, { address });
		socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${mark}\r\n` +
			`${lines.map((line) => `${line}\r\n`).join('')}\r\n`);
		await eventually(() => answersIn(socket.text).length > 0, 'the answer');
		assert.equal(answersIn(socket.text)[0].status, 200);
		socket.destroy();
	});
}

/**
 * Returns the peer that the server logs for a WebSocket with these header
 * lines.
 */
async function upgraded(server, address, pieces)
{
	const from = server.output().length;
	const socket = await connect({ port: server.port }, { address });
	const head = 'GET /v1/ws HTTP/1.1\r\nHost: chat.example\r\nConnection: Upgrade\r\n' +
		'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
		'Sec-WebSocket-Protocol: twinbox.v1\r\n' +
		'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
	const whole = [head, ...pieces, '\r\n'];
	for (const piece of whole) {
		socket.write(piece);
		/*
		 * The pause makes the head arrive in parts.  The address is
		 * known all the same.
		 */
		await new Promise((resolve) => {
			setTimeout(resolve, 20);
		});
	}
	await eventually(() => socket.text.includes('\r\n\r\n') || socket.gone, 'the upgrade');
	const status = Number(/^HTTP\/1\.[01] (\d+)/.exec(socket.text)?.[1]);
	const peer = status === 101 && (await eventually(() =>
		/push\.open session=\S+ peer=(\S*)/.exec(server.output().slice(from)), 'push.open'))[1];
	socket.destroy();
	return [status, peer];
}

describe('the server itself', () => {
	const server = new Behind({
		args: ['--allow-origin', 'https://app.example,http://localhost:5173'],
	});

	before(() => server.start());
	after(() => server.stop());

	it('believes its proxy', async () => {
		for (const [lines, peer] of [
			[[], '127.0.0.1'],
			[['X-Forwarded-For: 203.0.113.7'], '203.0.113.7'],
			[['X-Forwarded-For: 6.6.6.6, 203.0.113.7, 127.0.0.1'], '203.0.113.7'],
			[['X-Forwarded-For: 6.6.6.6', 'X-Forwarded-For: 203.0.113.7'], '203.0.113.7'],
			[['Forwarded: for="[2001:db8::7]:80";proto=https'], '2001:db8::7'],
			[['X-Forwarded-For: ::ffff:203.0.113.7'], '203.0.113.7'],
			[['Forwarded: for=6.6.6.6', 'X-Forwarded-For: 203.0.113.7'], '127.0.0.1'],
			[['X-Forwarded-For: 203.0.113.7 peer=6.6.6.6'], '127.0.0.1'],
			[['X-Real-IP: 6.6.6.6'], '127.0.0.1'],
		])
			assert.equal(await asked(server, '127.0.0.1', lines), peer, lines.join());
	});

	it('and nobody else', async () => {
		for (const lines of [['X-Forwarded-For: 127.0.0.1'], ['X-Forwarded-For: 203.0.113.7'],
			['Forwarded: for=203.0.113.7;by=127.0.0.1'],
			['X-Forwarded-For: 203.0.113.7, 127.0.0.1', 'Via: 1.1 127.0.0.1']])
			assert.equal(await asked(server, SOMEBODY, lines), SOMEBODY, lines.join());
	});

	it('each request of a connection has its own', async () => {
		const socket = await connect({ port: server.port }, { address: '127.0.0.1' });
		for (const [peer, lines] of [['203.0.113.7', 'X-Forwarded-For: 203.0.113.7\r\n'],
			['203.0.113.8', 'X-Forwarded-For: 203.0.113.8\r\n'], ['127.0.0.1', '']]) {
			assert.equal(await peerOf(server, (mark) => {
				socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${mark}\r\n${lines}\r\n`);
			}), peer);
		}
		socket.destroy();
	});

	it('for WebSockets too, however their head comes', async () => {
		for (const [address, pieces, peer] of [
			['127.0.0.1', [], '127.0.0.1'],
			['127.0.0.1', ['X-Forwarded-For: 203.0.113.7\r\n'], '203.0.113.7'],
			['127.0.0.1', ['X-Forwarded-', 'For: 203.0.', '113.7\r', '\nX-Y: z\r\n'], '203.0.113.7'],
			['127.0.0.1', ['Forwarded: for=6.6.6.6\r\n', 'X-Forwarded-For: 203.0.113.7\r\n'], '127.0.0.1'],
			['127.0.0.1', [`X-Y: ${'z'.repeat(1500)}\r\n`, 'Forwarded: for="[2001:db8::7]"\r\n'],
				'2001:db8::7'],
			[SOMEBODY, ['X-Forwarded-For: 203.0.113.7\r\n'], SOMEBODY],
			[SOMEBODY, ['Forwarded: for=203.0.113.7\r\n'], SOMEBODY],
		])
			assert.deepEqual(await upgraded(server, address, pieces), [101, peer], pieces.join());
	});

	it('Origin: the scheme and the host that the client used', async () => {
		for (const [address, pieces, status] of [
			['127.0.0.1', ['Origin: https://chat.example\r\n'], 101],
			['127.0.0.1', ['Origin: http://chat.example\r\n'], 101],
			['127.0.0.1', ['Origin: https://chat.example\r\n', 'X-Forwarded-Proto: https\r\n'], 101],
			['127.0.0.1', ['Origin: http://chat.example\r\n', 'X-Forwarded-Proto: https\r\n'], 403],
			['127.0.0.1', ['Origin: https://chat.example\r\n', 'X-Forwarded-Proto: http\r\n'], 403],
			['127.0.0.1', ['Origin: https://chat.example\r\n',
				'Forwarded: for=203.0.113.7;proto=https;host=other.example\r\n'], 403],
			['127.0.0.1', ['Origin: https://other.example\r\n',
				'Forwarded: for=203.0.113.7;proto=https;host=other.example\r\n'], 101],
			[SOMEBODY, ['Origin: https://other.example\r\n',
				'Forwarded: for=203.0.113.7;proto=https;host=other.example\r\n'], 403],
			[SOMEBODY, ['Origin: https://chat.example\r\n', 'X-Forwarded-Proto: http\r\n'], 101],
			[SOMEBODY, ['Origin: https://app.example\r\n'], 101],
			[SOMEBODY, ['Origin: http://localhost:5173\r\n'], 101],
			['127.0.0.1', ['Origin: https://app.example\r\n', 'X-Forwarded-Proto: http\r\n'], 101],
			[SOMEBODY, ['Origin: http://app.example\r\n'], 403],
			[SOMEBODY, ['Origin: https://app.exampl\r\n'], 403],
			[SOMEBODY, ['Origin: https://app.example.evil\r\n'], 403],
			[SOMEBODY, ['Origin: null\r\n'], 403],
			[SOMEBODY, ['Origin: https://app.example\r\n', 'Origin: https://evil.example\r\n'], 400],
		])
			assert.equal((await upgraded(server, address, pieces))[0], status,
				`${address} ${pieces.join()}`);
	});
});

for (const kind of PROXIES) {
	describe(`${kind}: whose address counts`, () => {
		const on = stage({ before, after, afterEach }, kind);

		it('names its client in the log, whatever the client says', async () => {
			for (const headers of [{}, FORGED, { 'X-Forwarded-For': '127.0.0.1' },
				{ Forwarded: 'for="' }, { 'X-Forwarded-For': '6.6.6.6, 7.7.7.7' }]) {
				assert.equal(await peerOf(on.server, async (mark) => {
					const answer = await on.site.rest().get('/healthz',
						{ headers: { ...headers, 'X-Request-Id': mark } });
					assert.equal(answer.status, 200);
				}), SOMEBODY, JSON.stringify(headers));
			}
		});

		it('and that of a WebSocket', async () => {
			const [ann] = await users(on.site, 'ann');
			for (const headers of [{}, FORGED]) {
				const from = on.server.output().length;
				const ws = await ann.ws({}, { headers });
				const line = await eventually(() => /push\.open session=\S+ peer=(\S+)/
					.exec(on.server.output().slice(from)), 'push.open');
				assert.equal(line[1], SOMEBODY);
				await ws.close();
			}
		});

		it('wrong passwords are counted by the client\'s address', async (t) => {
			const [ann] = await users(on.site, 'ann');
			const guess = (site, password, headers) => site.rest().post('/v1/tokens',
				{ name: ann.name, password, device: 'x' }, { headers });
			let n = 0;
			for (let status = 401; status !== 429; n++) {
				({ status } = await guess(on.site, 'not the password',
					n % 2 ? { ...FORGED, 'X-Forwarded-For': `203.0.113.${n}` } : {}));
				assert.ok([401, 429].includes(status), String(status));
				assert.ok(n < 60, 'no limit, or it is counted by what the client says');
			}
			assert.equal((await guess(on.site, PASSWORD)).status, 429);
			const owner = new Site(on.proxy, { address: '127.0.0.3' });
			t.after(() => owner.close());
			assert.equal((await guess(owner, PASSWORD)).status, 201);
			await eventually(() => new RegExp(
				`auth\\.login user=${ann.name} device=\\S+ peer=127\\.0\\.0\\.3`)
				.test(on.server.output()), 'the log-in in the log');
			assert.doesNotMatch(on.server.output(), /peer=203\.0\.113/);
		});
	});
}
