// SPDX-License-Identifier: MIT
//
// WebSocket handshakes, as bytes, that differ from RFC 6455.  Each is refused
// with a problem document and a close, or answered with 101; never anything in
// between, and never twice.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { checkAnswer } from '../e2e/contract.mjs';
import { eventually, serverForFile, startServer, users } from '../e2e/harness.mjs';
import { KEY, connect, handshake, text } from './rawws.mjs';

let ann;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
});
let rows = 0;

/**
 * Asserts that the refusal is one problem document and the end of the
 * connection.
 */
async function refused(ws, status, detail)
{
	const answer = await ws.answer();
	const headers = new Headers([...answer.headers]);

	assert.equal(answer.status, status, answer.text);
	checkAnswer({ method: 'GET', target: '/v1/ws', ...answer, headers }, server.url);
	if (detail)
		assert.match(answer.body.detail, detail);
	assert.equal(answer.headers.get('connection'), 'close');
	assert.equal(await ws.end(), 'end');
	assert.equal(ws.bytes.length, 0, `more came: ${ws}`);
}

/**
 * Asserts that the upgrade has subprotocol twinbox.v1 without extensions, and
 * that the connection works.
 */
async function upgraded(ws)
{
	const answer = await ws.answer();

	assert.equal(answer.status, 101, answer.text);
	assert.ok(answer.accepted, 'Sec-WebSocket-Accept');
	assert.equal(answer.headers.get('sec-websocket-protocol'), 'twinbox.v1');
	assert.equal(answer.headers.get('sec-websocket-extensions'), undefined);
	ws.write(text({ type: 'hello', token: ann.token, instance: 'row' }));
	await ws.type('welcome');
	ws.destroy();
}

const refusals = [
	// Upgrade and Connection.
	['no Upgrade, as any GET', { Upgrade: null }, 400, /only a WebSocket upgrade/],
	['no Connection', { Connection: null }, 400],
	['neither', { Upgrade: null, Connection: null }, 400],
	['Connection without upgrade', { Connection: 'keep-alive' }, 400],
	['Connection close', { Connection: 'close' }, 400],
	['Connection with a word that only begins so', { Connection: 'upgrades' }, 400],
	['two Connections', { Connection: ['Upgrade', 'keep-alive'] }, 400, /twice/],
	['two Upgrades', { Upgrade: ['websocket', 'websocket'] }, 400, /twice/],
	['Upgrade with a list', { Upgrade: 'websocket, h2c' }, 400],
	['Upgrade: h2c', { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings',
		'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA' }, 400],
	['Upgrade: h2c without a key', { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings',
		'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA', 'Sec-WebSocket-Key': null,
		'Sec-WebSocket-Version': null, 'Sec-WebSocket-Protocol': null }, 400],
	['Upgrade: foo', { Upgrade: 'foo' }, 400],
	['a space behind Upgrade', { Upgrade: 'websocket ' }, 400],
	['an empty Upgrade', { Upgrade: '' }, 400],
	['Upgrade: TLS/1.0', { Upgrade: 'TLS/1.0' }, 400],
	// Version.
	['version 8', { 'Sec-WebSocket-Version': '8' }, 400, /must be 13/],
	['version 14', { 'Sec-WebSocket-Version': '14' }, 400, /must be 13/],
	['version 013', { 'Sec-WebSocket-Version': '013' }, 400],
	['version 13.0', { 'Sec-WebSocket-Version': '13.0' }, 400],
	['version 13, 8', { 'Sec-WebSocket-Version': '13, 8' }, 400],
	['version -13', { 'Sec-WebSocket-Version': '-13' }, 400],
	['no version', { 'Sec-WebSocket-Version': null }, 400],
	['an empty version', { 'Sec-WebSocket-Version': '' }, 400],
	['two versions', { 'Sec-WebSocket-Version': ['13', '13'] }, 400, /twice/],
	// Key.
	['no key', { 'Sec-WebSocket-Key': null }, 400, /Sec-WebSocket-Key/],
	['an empty key', { 'Sec-WebSocket-Key': '' }, 400],
	['a short key', { 'Sec-WebSocket-Key': 'AAAA' }, 400],
	['a key of 15 bytes', { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAA' }, 400],
	['a key of 17 bytes', { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAAA=' }, 400],
	['a long key', { 'Sec-WebSocket-Key': 'A'.repeat(1000) }, 400],
	['a key with a star', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZ*==' }, 400],
	['a key without its padding', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ' }, 400],
	['a key with bits beyond its end', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZR==' }, 400],
	['two keys', { 'Sec-WebSocket-Key': [KEY, KEY] }, 400, /twice/],
	// The request line.
	['HTTP/1.0', { line: 'GET /v1/ws HTTP/1.0' }, 400, /HTTP\/1\.1/],
	['HTTP/0.9', { line: 'GET /v1/ws' }, 400],
	['HTTP/1.2', { line: 'GET /v1/ws HTTP/1.2' }, 400],
	['HTTP/2.0', { line: 'GET /v1/ws HTTP/2.0' }, 400],
	['something behind the version', { line: 'GET /v1/ws HTTP/1.1 x' }, 400],
	['two spaces', { line: 'GET /v1/ws  HTTP/1.1' }, 400],
	['a token in the query', { line: 'GET /v1/ws?token=secret HTTP/1.1' }, 400, /no query/],
	['an access_token in the query', { line: 'GET /v1/ws?access_token=x HTTP/1.1' }, 400],
	['an empty query', { line: 'GET /v1/ws? HTTP/1.1' }, 400],
	// Host, and bodies.
	['no Host', { Host: null }, 400, /no Host/],
	['an empty Host', { Host: '' }, 400],
	['two Hosts', { Host: ['a', 'b'] }, 400, /twice/],
	['Content-Length', { 'Content-Length': '5' }, 400, /no body/],
	['Transfer-Encoding', { 'Transfer-Encoding': 'chunked' }, 400, /no body/],
	// Subprotocol.
	['no subprotocol', { 'Sec-WebSocket-Protocol': null }, 400, /twinbox\.v1/],
	['an empty subprotocol', { 'Sec-WebSocket-Protocol': '' }, 400],
	['an unknown subprotocol', { 'Sec-WebSocket-Protocol': 'chat' }, 400],
	['a later version of it', { 'Sec-WebSocket-Protocol': 'twinbox.v11' }, 400],
	['only commas', { 'Sec-WebSocket-Protocol': ',,,' }, 400],
	['a list of 200 subprotocols', { 'Sec-WebSocket-Protocol':
		`${'a,'.repeat(200)}twinbox.v1` }, 400],
	['two headers of it', { 'Sec-WebSocket-Protocol': ['twinbox.v1', 'chat'] }, 400, /twice/],
	// Origin.
	['Origin null', { Origin: 'null' }, 403, /Origin/],
	['an empty Origin', { Origin: '' }, 403],
	['a foreign Origin', { Origin: 'https://evil.example' }, 403],
	['our name with another port', { Origin: 'http://127.0.0.1:1' }, 403],
	['our name without the port', { Origin: 'http://127.0.0.1' }, 403],
	['our name at the end of another', { Origin: 'http://evil.example/127.0.0.1' }, 403],
	['two Origins', { Origin: ['https://evil.example', 'null'] }, 400, /twice/],
	['two Origins in a list', { Origin: 'https://a.example, https://b.example' }, 403],
	// Headers.
	['a name with a space', { 'X Y': '1' }, 400, /name/],
	['a name with a space at its end', { 'X-Y ': '1' }, 400],
	['an empty name', { '': '1' }, 400],
	['a folded line', { 'X-Y': 'a\r\n b' }, 400],
	['a line without a colon', { 'X-Y': 'a\r\nnonsense' }, 400],
	['a bare CR', { 'X-Y': 'a\rb' }, 400, /control/],
	['a bare LF', { 'X-Y': 'a\nb' }, 400],
	['a NUL in a value', { 'X-Y': 'a\0b' }, 400],
	['a NUL in a name', { 'X\0Y': 'ab' }, 400],
	['a DEL in a value', { 'X-Y': 'a\x7fb' }, 400],
	['5,000 bytes of headers', { 'X-Y': 'x'.repeat(5000) }, 400, /4096/],
	['40 kB of headers', { 'X-Y': 'x'.repeat(40_000) }, 400, /4096/],
	['2,000 headers', { 'X-Y': Array.from({ length: 2000 }, () => '1') }, 400],
	['two Authorizations', { Authorization: ['Bearer a', 'Bearer b'] }, 400, /twice/],
];

describe('handshakes that are refused', () => {
	for (const [what, change, status, detail] of refusals) {
		rows++;
		it(`${what}: ${status}`, async () => {
			const ws = await connect(server);
			ws.write(handshake(server, change));
			await refused(ws, status, detail);
		});
	}

	it('says which version it speaks', async () => {
		const ws = await connect(server);
		ws.write(handshake(server, { 'Sec-WebSocket-Version': '8' }));
		assert.equal((await ws.answer()).headers.get('sec-websocket-version'), '13');
	});

	it('our own Origin with another scheme that is none of the web: 403', async () => {
		for (const scheme of ['ftp', 'file', 'chrome-extension', '']) {
			rows++;
			const ws = await connect(server);
			ws.write(handshake(server, { Origin: `${scheme}://${new URL(server.url).host}` }));
			await refused(ws, 403);
		}
	});

	it('lines that end with LF alone: 400', async () => {
		rows++;
		const ws = await connect(server);
		ws.write(handshake(server).replaceAll('\r\n', '\n'));
		await refused(ws, 400);
	});
});

describe('handshakes that are answered', () => {
	const host = () => new URL(server.url).host;
	const good = [
		['as a program does it', () => ({})],
		['headers in capitals', () => ({ Upgrade: 'WebSocket', Connection: 'UPGRADE' })],
		['Connection with keep-alive', () => ({ Connection: 'keep-alive, Upgrade' })],
		['spaces before values', () => ({ Upgrade: '  websocket', 'Sec-WebSocket-Version': ' 13' })],
		['no space before a value', () => ({ 'X-Y': null, 'X-Z:z\r\nX-Y': '' })],
		['our own Origin', () => ({ Origin: `http://${host()}` })],
		['our own Origin behind TLS', () => ({ Origin: `https://${host()}` })],
		['our own Origin in capitals', () => ({ Origin: `HTTP://${host()}` })],
		['a bearer token and no Origin', () => ({ Authorization: `Bearer ${ann.token}` })],
		['several subprotocols', () => ({ 'Sec-WebSocket-Protocol': 'chat, twinbox.v1, x' })],
		['permessage-deflate offered', () => ({ 'Sec-WebSocket-Extensions':
			'permessage-deflate; client_max_window_bits' })],
		['unknown extensions offered', () => ({ 'Sec-WebSocket-Extensions':
			['x-webkit-deflate-frame', 'foo; bar="baz"'] })],
		['HTTP2-Settings beside a WebSocket', () => ({ 'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA' })],
		['cookies of others, and UTF-8 in them', () => ({ Cookie: 'a=b; c=ü' })],
		['Content-Length 0', () => ({ 'Content-Length': '0' })],
		['3,500 bytes of headers', () => ({ 'X-Y': 'x'.repeat(3500) })],
	];
	for (const [what, change] of good) {
		rows++;
		it(`${what}: 101`, async () => {
			const ws = await connect(server);
			ws.write(handshake(server, change()));
			await upgraded(ws);
		});
	}

	it('a byte at a time: 101', async () => {
		rows++;
		const ws = await connect(server);
		for (const byte of Buffer.from(handshake(server))) {
			ws.write(Buffer.from([byte]));
			await new Promise(setImmediate);
		}
		await upgraded(ws);
	});

	it('in two halves, cut anywhere: 101', async () => {
		const whole = Buffer.from(handshake(server));
		for (let cut = 1; cut < whole.length; cut += 7) {
			rows++;
			const ws = await connect(server);
			ws.write(whole.subarray(0, cut));
			await new Promise((resolve) => setTimeout(resolve, 3));
			ws.write(whole.subarray(cut));
			await upgraded(ws);
		}
	});

	it('an Origin that is configured: 101, also the last of the list', async () => {
		const open = await startServer({ args: ['--allow-origin',
			'https://a.example,https://b.example:8443'] });
		try {
			for (const [origin, status] of [['https://a.example', 101],
				['https://b.example:8443', 101], ['https://b.example', 403],
				['https://a.example.evil', 403], ['a.example', 403], ['', 403]]) {
				rows++;
				const ws = await connect(open);
				ws.write(handshake(open, { Origin: origin }));
				assert.equal((await ws.answer()).status, status, origin);
				ws.destroy();
			}
		} finally {
			await open.stop();
		}
	});
});

describe('other methods and paths', () => {
	const others = [
		['POST', { line: 'POST /v1/ws HTTP/1.1', 'Content-Length': '0' }],
		['PUT', { line: 'PUT /v1/ws HTTP/1.1', 'Content-Length': '0' }],
		['CONNECT', { line: 'CONNECT /v1/ws HTTP/1.1' }],
		['get', { line: 'get /v1/ws HTTP/1.1' }],
		['a WebSocket of /', { line: 'GET / HTTP/1.1' }],
		['a WebSocket of /v1', { line: 'GET /v1 HTTP/1.1' }],
		['a WebSocket of /v1/ws/', { line: 'GET /v1/ws/ HTTP/1.1' }],
		['a WebSocket of //v1/ws', { line: 'GET //v1/ws HTTP/1.1' }],
		['a WebSocket of /v1/%77s', { line: 'GET /v1/%77s HTTP/1.1' }],
		['a WebSocket of /v1/inbox', { line: 'GET /v1/inbox HTTP/1.1' }],
		['a WebSocket of http://host/v1/ws', { line: 'GET http://127.0.0.1/v1/ws HTTP/1.1' }],
		['Upgrade: foo of /healthz', { line: 'GET /healthz HTTP/1.1', Upgrade: 'foo' }],
		['Upgrade: h2c of /healthz', { line: 'GET /healthz HTTP/1.1', Upgrade: 'h2c',
			Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA' }],
		['the preface of HTTP/2', { line: 'PRI * HTTP/2.0' }],
	];
	for (const [what, change] of others) {
		rows++;
		it(`${what}: never 101, never HTTP/2`, async () => {
			const ws = await connect(server);
			ws.write(handshake(server, change));
			let answer;
			try {
				answer = await ws.answer();
			} catch (error) {
				assert.ok(ws.ended, error); // closed without an answer
				return;
			}
			assert.ok(answer.status === 200 || answer.status >= 400, `${answer.status}`);
			ws.destroy();
		});
	}
});

describe('one handshake a connection', () => {
	it('a second request behind the handshake: 400, neither is done', async () => {
		rows++;
		const ws = await connect(server);
		ws.write(`${handshake(server)}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
		await refused(ws, 400, /before the upgrade was answered/);
	});

	it('a second handshake behind the first: 400', async () => {
		rows++;
		const ws = await connect(server);
		ws.write(handshake(server) + handshake(server));
		await refused(ws, 400);
	});

	it('a frame behind the handshake: 400', async () => {
		rows++;
		const ws = await connect(server);
		ws.write(Buffer.concat([Buffer.from(handshake(server)),
			text({ type: 'hello', token: ann.token })]));
		await refused(ws, 400);
	});

	it('a request after the upgrade is a bad frame: 1002', async () => {
		rows++;
		const ws = await connect(server);
		await ws.upgrade();
		ws.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
		assert.equal((await ws.closing()).code, 1002);
		ws.destroy();
	});

	for (const upgrade of ['websocket', 'WebSocket']) {
		rows++;
		it(`kept alive, then Upgrade: ${upgrade}: closed without an answer`, async () => {
			const ws = await connect(server);
			ws.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
			assert.equal((await ws.answer()).status, 200);
			ws.write(handshake(server, { Upgrade: upgrade }));
			await ws.end();
			assert.equal(ws.bytes.length, 0, `${ws}`);
		});
	}

	for (const upgrade of ['foo', 'h2c']) {
		rows++;
		it(`kept alive, then Upgrade: ${upgrade}: no upgrade`, async () => {
			const ws = await connect(server);
			ws.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
			assert.equal((await ws.answer()).status, 200);
			ws.write(handshake(server, { Upgrade: upgrade }));
			const answer = await ws.answer().catch(() => undefined);
			assert.ok(answer === undefined || answer.status >= 400, `${answer?.status}`);
			ws.destroy();
		});
	}
});

describe('slow hands and full tables', () => {
	it('a handshake that never ends is cut at the deadline; a good client is served',
		async () => {
			rows += 8;
			const dribblers = [];
			for (let i = 0; i < 8; i++) {
				const ws = await connect(server);
				ws.write('GET /v1/ws HTTP/1.1\r\nHost: x\r\n');
				dribblers.push(ws);
			}
			const timer = setInterval(() => dribblers.forEach((ws, i) =>
				ws.write(i % 2 ? 'X-Y: z\r\n' : 'X')), 200);
			try {
				for (let i = 0; i < 3; i++) {
					const good = await ann.ws({ instance: 'good' });
					await good.close();
				}
				// The deadline is 5 s after the first line, and
				// the server checks it once a second.
				await Promise.all(dribblers.map((ws) => ws.end(20_000)));
			} finally {
				clearInterval(timer);
			}
		});

	it('a socket that says nothing is closed', async () => {
		rows++;
		const mute = await startServer({ args: ['--request-deadline', '2s'] });
		try {
			const ws = await connect(mute);
			await ws.end(20_000);
			const half = await connect(mute);
			half.write('GET /v1/w');
			await half.end(20_000);
		} finally {
			await mute.stop();
		}
	});

	it('600 that have begun cost the oldest their place, not the newest', async () => {
		rows++;
		const many = [];
		for (let i = 0; i < 600; i++) {
			const ws = await connect(server);
			ws.write('GET /v1/ws HTTP/1.1\r\nHost: x\r\n');
			many.push(ws);
		}
		await Promise.all(many.slice(0, 80).map((ws) => ws.end()));
		const good = await ann.ws({ instance: 'good' });
		await good.close();
		many.forEach((ws) => ws.destroy());
	});

	it('a full table: 503 with Retry-After; a place that becomes free is taken', async () => {
		rows++;
		const small = await startServer({ args: ['--ws-limit', '4'] });
		try {
			const [bob] = await users(small, 'bob');
			const held = [];
			for (let i = 0; i < 4; i++)
				held.push(await bob.ws({ instance: `i${i}` }));
			const fifth = await connect(small);
			fifth.write(handshake(small));
			const answer = await fifth.answer();
			assert.equal(answer.status, 503);
			assert.equal(answer.body.code, 'busy');
			assert.match(answer.headers.get('retry-after'), /^\d+$/);
			assert.equal(await fifth.end(), 'end');
			await held[0].close();
			const again = await eventually(() => bob.ws({ instance: 'i5' }).catch(() => null),
				'a free place');
			for (const ws of [...held.slice(1), again])
				await ws.close();
		} finally {
			await small.stop();
		}
	});

	it('a burst has no more places than newcomers have; whoever leaves during it keeps none', async () => {
		rows++;
		const LIMIT = 10;
		/*
		 * The least number of places for connections without a session,
		 * whatever --ws-limit says.
		 */
		const NEWCOMERS = 64;
		const small = await startServer({ args: ['--ws-limit', String(LIMIT)] });
		const figure = async (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm')
			.exec((await small.rest().get('/metrics')).text)[1]);
		const open = () => figure('twinbox_ws_sessions');
		/*
		 * The oldest connections are cut or, while these are ending,
		 * the newest are refused.
		 */
		const gone = async () => await figure('twinbox_ws_newcomers_cut_total') +
			await figure('twinbox_ws_refused_total');
		/* As many connections at once as come back after a restart. */
		const burst = async () => {
			const all = await Promise.all(Array.from({ length: NEWCOMERS + 16 },
				() => connect(small)));
			all.forEach((ws) => ws.write(handshake(small)));
			return all;
		};
		try {
			const first = await burst();
			await eventually(async () => await gone() >= 16, 'there is no place for all');
			await eventually(async () => await open() === NEWCOMERS, 'all places are taken');
			assert.equal(await gone(), 16);
			first.forEach((ws) => ws.destroy());
			await eventually(async () => await open() === 0, 'all places are free');
			for (let i = 0; i < 5; i++)
				(await burst()).forEach((ws) => ws.socket.resetAndDestroy());
			const both = await users(small, 'bob', 'cid');
			for (let i = 0; i < LIMIT; i++) {
				await eventually(() => both[i % 2].ws({ instance: `i${i}` }).catch(() => null),
					'a free place');
			}
			const last = await connect(small);
			last.write(handshake(small));
			await refused(last, 503);
		} finally {
			await small.stop();
		}
	});

	it('counts what it refuses', async () => {
		const metric = async () => Number(/^twinbox_ws_refused_total (\d+)$/m
			.exec((await server.rest().get('/metrics')).text)[1]);
		const first = await metric();
		const ws = await connect(server);
		ws.write(handshake(server, { Origin: 'null' }));
		await refused(ws, 403);
		assert.equal(await metric(), first + 1);
	});
});

it('the table of handshakes', (t) => {
	assert.ok(rows > 150);
	t.diagnostic(`hostile handshakes: ${rows} rows`);
});
