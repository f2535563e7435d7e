// SPDX-License-Identifier: MIT
//
// Many requests on one connection, requests with Expect, bodies at the limit in
// pieces of all kinds, content types, and every escape in every kind of path
// parameter.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Rows, checkProblem, expectation } from './http-expect.mjs';
import { refused, served } from './http-rows.mjs';
import { RawSocket, closeAll, readable, untilClosed } from './raw.mjs';
import { WAIT_MS, serverForFile, users, uuid7 } from '../e2e/harness.mjs';

const HOST = 'Host: x\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const GET = `GET /healthz HTTP/1.1\r\n${HOST}`;
const PATIENCE = 3 * WAIT_MS;

let ann, bob;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
	await table.begin();
}, { unlimited: 'one user makes hundreds of requests on a connection' });
const table = new Rows(server);
after(closeAll);

const bearer = () => `Authorization: Bearer ${ann.token}\r\n`;
const named = (id) => `X-Request-Id: ${id}\r\n`;

/** Returns a POST of ${body} with its Content-Length. */
const post = (target, body, lines = '') => `POST ${target} HTTP/1.1\r\n${HOST}${bearer()}${JSON_TYPE}` +
	`${lines}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

async function withSocket(options, use)
{
	const socket = await RawSocket.open(server, options);

	try {
		return await use(socket);
	} finally {
		socket.destroy();
	}
}

// The rows come first.  Later tests cut connections, whose requests are counted
// some time after that, and this would disturb the count of the rows.

describe('bodies at the limit and one byte beyond', () => {
	const pad = (text, size) => text + ' '.repeat(size - text.length);
	const whole = (size) => ({ lines: `Content-Length: ${size}\r\n`, pieces: (body) => body });
	const inChunks = (n) => ({
		lines: 'Transfer-Encoding: chunked\r\n',
		pieces: (body) => {
			const out = [];
			for (let at = 0; at < body.length; at += n) {
				const piece = body.slice(at, at + n);
				out.push(`${piece.length.toString(16)}\r\n${piece}\r\n`);
			}
			return out.join('') + '0\r\n\r\n';
		},
	});
	for (const [target, limit, text, status] of [
		['/v1/inbox/ack', 131_072, () => '{"upto":0}', 200],
		['/v1/messages', 1_048_576, () => `[{"id":"${uuid7()}","to":"bob","body":"x"}]`, 200],
	]) {
		for (const [kind, make] of [['by length', whole], ['in one chunk', () => inChunks(limit * 2)],
			['in chunks of 4,096', () => inChunks(4096)], ['in chunks of 997', () => inChunks(997)],
			...(limit < 1e6 ? [['in chunks of 1', () => inChunks(1)]] : [])]) {
			for (const size of [limit, limit + 1]) {
				const fits = size === limit;
				it(`${target}, ${size} bytes ${kind}: ${fits ? status : 413}`, async () => {
					const { lines, pieces } = make(size);
					const head = `POST ${target} HTTP/1.1\r\n${HOST}${bearer()}${JSON_TYPE}${lines}\r\n`;
					await table.row(head + pieces(pad(text(), size)), fits ? served(status) : refused(413));
				});
			}
		}
	}
});

describe('content types', () => {
	const types = ['text/plain', 'text/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x',
		'application/jsonx', 'application/json; charset=utf-16', 'application/json, text/plain', '*/*', '', null];
	for (const [method, target] of [['POST', '/v1/users'], ['POST', '/v1/tokens'],
		['PATCH', '/v1/tokens/01900000-0000-7000-8000-000000000000'], ['POST', '/v1/me/password'],
		['POST', '/v1/messages'], ['POST', '/v1/inbox/ack'], ['POST', '/v1/inbox/read']]) {
		for (const type of types) {
			it(`${method} ${target} with ${type === null ? 'none' : `"${type}"`}: 415`, () =>
				table.row(`${method} ${target} HTTP/1.1\r\n${HOST}${bearer()}` +
					`${type === null ? '' : `Content-Type: ${type}\r\n`}Content-Length: 2\r\n\r\n{}`,
				refused(415)));
		}
	}

	for (const [type, expected] of [['text/plain', served(201)], ['text/plain; charset=utf-8', served(201)],
		['text/markdown', served(201)], ['application/x-www-form-urlencoded', served(201)], [null, served(201)],
		['text/plain; charset=utf-16', refused(415)], ['multipart/form-data; boundary=x', refused(415)],
		['application/octet-stream', refused(415)], ['image/png', refused(415)]]) {
		it(`/v1/to/bob with ${type ?? 'none'}: ${expectation(expected)}`, () =>
			table.row(`POST /v1/to/bob HTTP/1.1\r\n${HOST}${bearer()}` +
				`${type === null ? '' : `Content-Type: ${type}\r\n`}Content-Length: 2\r\n\r\nhi`, expected));
	}
});

describe('escapes in path parameters', () => {
	const escapes = ['%2f', '%2F', 'a%2fb', '%5c', '\\', '%00', 'a%00', '%0a', '%0d%0a', '%1f', '%7f', '%c0%ae',
		'%c0%ae%c0%ae', '%c0%af', '%e0%80%af', '%ed%a0%80', '%f4%90%80%80', '%ff', '%', '%2', '%zz', '%u0041',
		'.', '..', '%2e', '%2e%2e', '.%2E', '..%2f..%2fetc%2fpasswd'];
	const body = `${JSON_TYPE}Content-Length: 2\r\n\r\n{}`;
	for (const [method, before_, behind] of [
		['GET', '/v1/inbox/', ''], ['GET', '/v1/messages/', ''], ['GET', '/v1/outbox/', ''],
		['DELETE', '/v1/outbox/', ''], ['GET', '/v1/conversations/', ''],
		['GET', '/v1/conversations/', '/messages'], ['DELETE', '/v1/tokens/', ''],
		['PATCH', '/v1/tokens/', ''], ['POST', '/v1/to/', ''], ['GET', '/problems/', '']]) {
		for (const escape of escapes) {
			const line = `${method} ${before_}${escape}${behind}`;
			it(`${line}: refused 400`, () => table.row(`${line} HTTP/1.1\r\n${HOST}${bearer()}` +
				(method === 'POST' || method === 'PATCH' ? body : '\r\n'), refused(400)));
		}
	}
});

describe('pipelining', () => {
	it('1,000 requests in one write have 1,000 answers, in order', async () => {
		const ids = Array.from({ length: 1000 }, (_, i) => `pipe-${i}`);
		await withSocket({}, async (socket) => {
			socket.send(ids.map((id) => `${GET}${named(id)}\r\n`).join(''));
			const list = await socket.answers(1000, PATIENCE);
			assert.deepEqual(list.map((answer) => answer.headers.get('x-request-id')), ids);
			assert.ok(list.every((answer) => answer.status === 200));
		});
	});

	it('all kinds of requests mixed, each with its own answer', async () => {
		const asks = [];
		for (let i = 0; i < 200; i++) {
			const message = JSON.stringify({ id: uuid7(), to: bob.name, body: `piped ${i}` });
			const size = Buffer.byteLength(message).toString(16);
			asks.push(
				['GET', 200, `${GET}${named(`mix-${asks.length}`)}\r\n`],
				['POST', 201, post('/v1/messages', message, named(`mix-${asks.length + 1}`))],
				['HEAD', 200, `HEAD /healthz HTTP/1.1\r\n${HOST}${named(`mix-${asks.length + 2}`)}\r\n`],
				['POST', 200, `POST /v1/messages HTTP/1.1\r\n${HOST}${bearer()}${JSON_TYPE}` +
					`${named(`mix-${asks.length + 3}`)}Transfer-Encoding: chunked\r\n\r\n` +
					`${size}\r\n${message}\r\n0\r\n\r\n`], // the same again: a replay
				['GET', 404, `GET /nowhere HTTP/1.1\r\n${HOST}${named(`mix-${asks.length + 4}`)}\r\n`]);
		}
		await withSocket({ methods: asks.map(([method]) => method) }, async (socket) => {
			socket.send(asks.map(([, , text]) => text).join(''));
			const list = await socket.answers(asks.length, PATIENCE);
			list.forEach((answer, i) => {
				assert.equal(answer.headers.get('x-request-id'), `mix-${i}`);
				assert.equal(answer.status, asks[i][1], answer.text);
			});
		});
		const { events } = await bob.inbox();
		assert.deepEqual(events.map((event) => event.body).filter((body) => /^piped/.test(body)),
			Array.from({ length: 200 }, (_, i) => `piped ${i}`));
	});

	it('one byte a packet is the same as all at once', async () => {
		await withSocket({}, async (socket) => {
			const text = post('/v1/messages', JSON.stringify({ to: bob.name, body: 'slowly' })) + `${GET}\r\n`;
			for (const byte of text)
				await new Promise((resolve) => socket.socket.write(byte, 'latin1', resolve));
			const list = await socket.answers(2);
			assert.deepEqual(list.map((answer) => answer.status), [201, 200]);
		});
	});

	it('a bad request ends it: those before have answers, those behind none', async () => {
		const list = await untilClosed(server, `${GET}${named('a')}\r\n`.repeat(20) +
			`${GET}${HOST}\r\n` + `${GET}${named('behind')}\r\n`.repeat(20));
		assert.deepEqual(list.map((answer) => answer.status), [...Array(20).fill(200), 400]);
		checkProblem(list[20]);
	});

	it('what the library refuses ends it as well', async () => {
		const list = await untilClosed(server, `${GET}\r\n`.repeat(20) + 'this is nonsense\r\n\r\n' +
			`${GET}\r\n`.repeat(20));
		assert.deepEqual(list.map((answer) => answer.status), [...Array(20).fill(200), 400]);
	});

	it('Connection: close ends it, whatever is behind', async () => {
		const list = await untilClosed(server, `${GET}\r\n` + `${GET}Connection: close\r\n\r\n` +
			`${GET}\r\n`.repeat(5));
		assert.deepEqual(list.map((answer) => answer.status), [200, 200]);
		assert.equal(list[1].headers.get('connection'), 'close');
	});
});

describe('a client that closes its side', () => {
	it('behind requests: it has all answers', async () => {
		await withSocket({}, async (socket) => {
			socket.send(`${GET}\r\n`.repeat(50)).halfClose();
			const list = await socket.ended();
			assert.equal(list.length, 50);
		});
	});

	it('behind a message that is being stored: it has the answer', async () => {
		await withSocket({}, async (socket) => {
			socket.send(post('/v1/messages', JSON.stringify({ to: bob.name, body: 'half closed' }))).halfClose();
			assert.deepEqual((await socket.ended()).map((answer) => answer.status), [201]);
		});
	});

	for (const [what, text] of [['nothing', ''], ['half a method', 'GE'], ['half a line', 'GET /heal'],
		['half a head', GET], ['a head but no body', `POST /v1/tokens HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 9\r\n\r\n`],
		['half a body', `POST /v1/tokens HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 9\r\n\r\n{"na`],
		['half a chunk', `POST /v1/tokens HTTP/1.1\r\n${HOST}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n9\r\n{"na`],
		['no last chunk', `POST /v1/tokens HTTP/1.1\r\n${HOST}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`]]) {
		it(`behind ${what}: no answer, the end`, async () => {
			await withSocket({}, async (socket) => {
				socket.send(text).halfClose();
				assert.deepEqual(await socket.ended(), []);
			});
		});
	}
});

describe('Expect', () => {
	const head = (lines, target = '/v1/messages') =>
		`POST ${target} HTTP/1.1\r\n${HOST}${bearer()}${lines}`;
	const message = () => JSON.stringify({ to: bob.name, body: 'expected' });

	it('100-continue: 100, then the body, then the answer', async () => {
		await withSocket({}, async (socket) => {
			const body = message();
			socket.send(head(`${JSON_TYPE}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`));
			const [interim] = await socket.answers(1);
			assert.equal(interim.status, 100);
			socket.send(body + `${GET}\r\n`);
			const list = await socket.answers(3);
			assert.deepEqual(list.map((answer) => answer.status), [100, 201, 200]);
		});
	});

	it('100-continue with the body sent at once: one answer of each', async () => {
		await withSocket({}, async (socket) => {
			const body = message();
			socket.send(head(`${JSON_TYPE}Expect: 100-Continue\r\nContent-Length: ${body.length}\r\n\r\n`) +
				body + `${GET}\r\n`);
			const list = await socket.answers(3);
			assert.deepEqual(list.map((answer) => answer.status), [100, 201, 200]);
		});
	});

	for (const [what, status, lines, target] of [
		['a length that is too large', 413, `${JSON_TYPE}Content-Length: 1048577\r\n`],
		['a length far too large', 413, `${JSON_TYPE}Content-Length: 99999999999999\r\n`],
		['a length too large for this route', 413, `${JSON_TYPE}Content-Length: 131073\r\n`, '/v1/inbox/ack'],
		['a content type that is not taken', 415, 'Content-Type: text/plain\r\nContent-Length: 10\r\n'],
		['a path that is not there', 404, `${JSON_TYPE}Content-Length: 10\r\n`, '/nowhere'],
		['a method that is not there', 405, `${JSON_TYPE}Content-Length: 10\r\n`, '/healthz'],
		['a length and chunks', 400, `${JSON_TYPE}Content-Length: 10\r\nTransfer-Encoding: chunked\r\n`],
	]) {
		it(`100-continue with ${what}: ${status} at once, no 100`, async () => {
			const list = await untilClosed(server, head(`${lines}Expect: 100-continue\r\n\r\n`, target));
			assert.deepEqual(list.map((answer) => answer.status), [status]);
			assert.equal(list[0].headers.get('connection'), 'close');
			checkProblem(list[0]);
		});
	}

	for (const value of ['200-ok', '100-continue, 200-ok', 'nonsense', '100-continue;a=b', '']) {
		it(`Expect: "${value}" is 417`, async () => {
			const list = await untilClosed(server,
				head(`${JSON_TYPE}Content-Length: 10\r\nExpect: ${value}\r\n\r\n`));
			assert.deepEqual(list.map((answer) => answer.status), [417]);
			checkProblem(list[0]);
			assert.equal(list[0].body.code, 'expectation_failed');
		});
	}

	it('two of them are refused', async () => {
		const list = await untilClosed(server, head(
			`${JSON_TYPE}Content-Length: 10\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n`));
		assert.deepEqual(list.map((answer) => answer.status), [400]);
	});

	it('in HTTP/1.0 there is no 100', async () => {
		const body = message();
		const list = await untilClosed(server, head(
			`${JSON_TYPE}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`)
			.replace('1.1', '1.0') + body);
		assert.deepEqual(list.map((answer) => answer.status), [201]);
	});

	for (const [what, text] of [['GET', `${GET}Expect: 100-continue\r\n\r\n`],
		['POST without a length', `POST /v1/tokens HTTP/1.1\r\n${HOST}Expect: 100-continue\r\n\r\n`],
		['POST of nothing', `POST /v1/tokens HTTP/1.1\r\n${HOST}Content-Length: 0\r\nExpect: 100-continue\r\n\r\n`]]) {
		it(`${what}: 417, and the next request is not taken for a body`, async () => {
			const list = await untilClosed(server, text + `${GET}\r\n`);
			assert.deepEqual(list.map((answer) => answer.status), [417]);
		});
	}
});

describe('keeping a connection', () => {
	for (const [what, text, stays] of [
		['HTTP/1.1', `${GET}\r\n`, true],
		['HTTP/1.1, keep-alive', `${GET}Connection: keep-alive\r\n\r\n`, true],
		['HTTP/1.1, close', `${GET}Connection: close\r\n\r\n`, false],
		['HTTP/1.1, CLOSE', `${GET}Connection: CLOSE\r\n\r\n`, false],
		['HTTP/1.1, a list with close', `${GET}Connection: x, close ,y\r\n\r\n`, false],
		['HTTP/1.1, closed is not close', `${GET}Connection: closed\r\n\r\n`, true],
		['HTTP/1.0', `${GET}\r\n`.replace('1.1', '1.0'), false],
		['HTTP/1.0, keep-alive', `${GET}Connection: keep-alive\r\n\r\n`.replace('1.1', '1.0'), true],
		['HTTP/1.0, keep-alive and close', `${GET}Connection: keep-alive, close\r\n\r\n`.replace('1.1', '1.0'), false],
		['404', `GET /nowhere HTTP/1.1\r\n${HOST}\r\n`, true],
		['405', `PUT /healthz HTTP/1.1\r\n${HOST}\r\n`, true],
		['401', `GET /v1/inbox HTTP/1.1\r\n${HOST}\r\n`, true],
	]) {
		it(`${what}: ${stays ? 'stays' : 'ends'}`, async () => {
			await withSocket({}, async (socket) => {
				socket.send(text);
				const [answer] = await socket.answers(1);
				assert.equal(answer.headers.get('connection')?.toLowerCase() === 'close', !stays);
				if (!stays) {
					assert.equal((await socket.ended()).length, 1);
					return;
				}
				assert.equal((await socket.send(text).answers(2)).length, 2);
			});
		});
	}
});

describe('HEAD', () => {
	for (const target of ['/healthz', '/readyz', '/v1', '/openapi.yaml', '/problems/busy', '/nowhere', '/v1/inbox']) {
		it(`${target}: the head of GET, and nothing else`, async () => {
			const ask = (method) => `${method} ${target} HTTP/1.1\r\n${HOST}${bearer()}\r\n`;
			await withSocket({ methods: ['HEAD', 'GET', 'HEAD'] }, async (socket) => {
				socket.send(ask('HEAD') + ask('GET') + ask('HEAD'));
				const [head, get, again] = await socket.answers(3);
				assert.equal(head.status, get.status);
				assert.equal(again.status, get.status);
				assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
				assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
				assert.notEqual(get.text, '');
			});
		});
	}
});

describe('after all', () => {
	it('answers on the wire are the answers in the account', async (t) => {
		t.diagnostic(await table.account());
		assert.ok(table.rows > 300);
	});
});
