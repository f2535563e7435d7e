// SPDX-License-Identifier: MIT
// tags: surface
//
// Bad input gets a clear problem document and loses nothing.  A table of bad
// requests gives the status, code and JSON pointer of each answer.  After each
// of them nothing was stored and good requests succeed.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem } from './expect.mjs';
import { eventually, expectStatus, rawRequest, serverForFile, users, uuid7, within } from './harness.mjs';

let ann, bob, eve, theirs;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
	theirs = (await eve.send(bob.name, 'between eve and bob')).conversation;
	await bob.received((await eve.send(bob.name, 'seen by bob')).id);
}, { unlimited: 'one user makes every bad request' });

/** Asserts that ${deed} stores nothing of ann's. */
async function storesNothing(deed)
{
	const look = async () => ({
		bob: (await bob.get('/v1/inbox?after=0&limit=1')).body.head,
		ann: (await ann.get('/v1/inbox?after=0&limit=1')).body.head,
		outbox: (await ann.get('/v1/outbox')).body.entries,
		conversations: (await ann.get('/v1/conversations')).body.conversations,
		unread: (await bob.unread()).total,
	});
	await eventually(async () =>
		(await ann.get('/v1/outbox?state=pending')).body.entries.length === 0,
		'all deliveries of earlier tests');
	const was = await look();
	const result = await deed();
	assert.deepEqual(await look(), was, 'something was stored');
	return result;
}

const json = { type: 'application/json' };

describe('POST /v1/messages with members that are wrong', () => {
	// [what, change to a good message, status, code, pointer]
	const table = [
		['an unknown member', { colour: 'red' }, 400, 'bad_request', '/colour'],
		['a member of the answer', { state: 'sent' }, 400, 'bad_request', '/state'],
		['from', { from: 'eve' }, 400, 'bad_request', '/from'],
		['a member with ~ and /', { 'a~/b': 1 }, 400, 'bad_request', '/a~0~1b'],
		['no body', { body: undefined }, 400, 'bad_request', '/body'],
		['body null', { body: null }, 400, 'bad_request', '/body'],
		['a body that is a number', { body: 5 }, 400, 'bad_request', '/body'],
		['a body that is an object', { body: {} }, 400, 'bad_request', '/body'],
		['an empty body', { body: '' }, 400, 'bad_request', '/body'],
		['a body of 16 KiB and one byte', { body: 'x'.repeat(16385) }, 413, 'body_too_large', '/body'],
		['a body too long in bytes, not in characters', { body: 'ü'.repeat(8193) },
			413, 'body_too_large', '/body'],
		['no recipient', { to: undefined }, 400, 'bad_request'],
		['a recipient that is a list', { to: ['bob'] }, 400, 'bad_request', '/to'],
		['an empty recipient', { to: '' }, [400, 422], undefined, '/to'],
		['a recipient with a space', { to: 'bob smith' }, [400, 422], undefined, '/to'],
		['a recipient in capitals', { to: 'BOB' }, [400, 422], undefined, '/to'],
		['a very long recipient', { to: 'b'.repeat(5000) }, [400, 422], undefined, '/to'],
		['an unknown recipient', { to: 'nobody-there' }, 422, 'unknown_recipient', '/to'],
		['a recipient elsewhere', { to: 'bob@other.example' }, 422, 'unknown_recipient', '/to'],
		['a recipient with two at signs', { to: 'bob@a@b' }, [400, 422], undefined, '/to'],
		['a recipient and a conversation', { conversation: () => theirs }, 400, 'bad_request'],
		['a conversation that is not an id', { to: undefined, conversation: 'x' },
			400, 'bad_request', '/conversation'],
		['an id that is no UUID', { id: 'x' }, 400, 'bad_request', '/id'],
		['an id of version 1', { id: '0191f0a2-7c3e-1a5b-8c6d-0123456789ab' }, 400, 'bad_request', '/id'],
		['an id without dashes', { id: '0191f0a27c3e7a5b8c6d0123456789ab' }, 400, 'bad_request', '/id'],
		['an id of nought', { id: '00000000-0000-0000-0000-000000000000' }, 400, 'bad_request', '/id'],
		['an id that is a number', { id: 7 }, 400, 'bad_request', '/id'],
		['an unknown priority', { priority: 'urgent' }, 400, 'bad_request', '/priority'],
		['a priority that is a number', { priority: 1 }, 400, 'bad_request', '/priority'],
		['metadata that is a text', { metadata: 'x' }, 400, 'bad_request', '/metadata'],
		['metadata with a number', { metadata: { a: 1 } }, 400, 'bad_request', '/metadata/a'],
		['nested metadata', { metadata: { a: {} } }, 400, 'bad_request', '/metadata/a'],
		['33 metadata keys', { metadata: Object.fromEntries(Array.from({ length: 33 },
			(_, i) => [`k${i}`, 'v'])) }, 400, 'bad_request', '/metadata'],
		['metadata of more than 4 KiB', { metadata: { a: 'x'.repeat(5000) } },
			400, 'bad_request', '/metadata'],
		['a content type that is none', { content_type: 'text' }, 400, 'bad_request', '/content_type'],
		['a content type with a line break', { content_type: 'text/plain\r\nx: y' },
			400, 'bad_request', '/content_type'],
		['a content type of 128 bytes', { content_type: `text/${'x'.repeat(123)}` },
			400, 'bad_request', '/content_type'],
		['a long correlation id', { correlation_id: 'x'.repeat(129) }, 400, 'bad_request',
			'/correlation_id'],
		['a correlation id that is a number', { correlation_id: 5 }, 400, 'bad_request',
			'/correlation_id'],
		['an answer to no id', { reply_to: 'x' }, 400, 'bad_request', '/reply_to'],
		['a day that is none', { deliver_at: '2026-02-30T00:00:00Z' }, 400, 'bad_request', '/deliver_at'],
		['a time in words', { deliver_at: 'tomorrow' }, 400, 'bad_request', '/deliver_at'],
		['a time as a number', { deliver_at: 1700000000 }, 400, 'bad_request', '/deliver_at'],
		['a time before 1970', { deliver_at: '1969-12-31T23:59:59Z' },
			400, 'bad_request', '/deliver_at'],
		['a time after 9999', { deliver_at: '10000-01-01T00:00:00Z' },
			400, 'bad_request', '/deliver_at'],
		['a negative expiry', { expires_in: -1 }, 400, 'bad_request', '/expires_in'],
		['no expiry', { expires_in: 0 }, 400, 'bad_request', '/expires_in'],
		['an expiry in words', { expires_in: 'soon' }, 400, 'bad_request', '/expires_in'],
		['an expiry of more than a year', { expires_in: 31_622_401 },
			400, 'bad_request', '/expires_in'],
	];
	for (const [what, change, status, code, pointer] of table) {
		it(`${what}: ${status}`, async () => {
			const message = { to: bob.name, body: 'good but for one thing', ...change };
			if (typeof message.conversation === 'function')
				message.conversation = message.conversation();
			const answer = await storesNothing(() => ann.post('/v1/messages', message));
			if (Array.isArray(status)) {
				assert.ok(status.includes(answer.status), answer.text);
				assert.equal(answer.body.pointer, pointer, answer.text);
			} else {
				problem(answer, status, code, pointer);
			}
		});
	}

	it("another's conversation and an unknown one get the same answer", async () => {
		const one = await storesNothing(() => ann.post('/v1/messages',
			{ conversation: theirs, body: 'let me in' }));
		const unknown = uuid7();
		const two = await storesNothing(() => ann.post('/v1/messages',
			{ conversation: unknown, body: 'let me in' }));
		problem(one, 422, 'unknown_recipient', '/conversation');
		problem(two, 422, 'unknown_recipient', '/conversation');
		assert.equal(one.body.detail.replace(theirs, '#'), two.body.detail.replace(unknown, '#'));
	});
});

describe('POST /v1/messages with text that is not valid JSON', () => {
	const good = () => `"to":"${bob.name}","body":"x"`;
	const bytes = (...parts) => Buffer.concat(parts.map((part) =>
		typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)));
	const table = [
		['nothing', () => ''],
		['words', () => 'hello'],
		['half an object', () => `{${good()}`],
		['something behind it', () => `{${good()}} x`],
		['two objects', () => `{${good()}}{${good()}}`],
		['a number', () => '5'],
		['a text', () => '"x"'],
		['null', () => 'null'],
		['a comma too much', () => `{${good()},}`],
		['a comment', () => `{${good()} /* x */}`],
		['single quotes', () => `{'to':'${bob.name}','body':'x'}`],
		['NaN', () => `{${good()},"priority":NaN}`],
		['a byte order mark', () => bytes([0xef, 0xbb, 0xbf], `{${good()}}`)],
		['UTF-16', () => Buffer.from(`{${good()}}`, 'utf16le')],
		['bytes that are no UTF-8', () => bytes(`{"to":"${bob.name}","body":"`, [0xff, 0xfe], '"}')],
		['an overlong form', () => bytes(`{"to":"${bob.name}","body":"`, [0xc0, 0xaf], '"}')],
		['a surrogate in UTF-8', () => bytes(`{"to":"${bob.name}","body":"`, [0xed, 0xa0, 0x80], '"}')],
		['beyond Unicode', () => bytes(`{"to":"${bob.name}","body":"`, [0xf4, 0x90, 0x80, 0x80], '"}')],
		['a lone high surrogate', () => `{"to":"${bob.name}","body":"a\\ud800b"}`],
		['a lone low surrogate', () => `{"to":"${bob.name}","body":"a\\udc00b"}`],
		['surrogates the wrong way round', () => `{"to":"${bob.name}","body":"\\udc00\\ud800"}`],
		['a NUL, escaped', () => `{"to":"${bob.name}","body":"a\\u0000b"}`],
		['a NUL, raw', () => `{"to":"${bob.name}","body":"a\0b"}`],
		['a NUL in a name', () => `{"to":"${bob.name}\\u0000","body":"x"}`],
		['a NUL in a member', () => `{${good()},"x\\u0000":1}`],
		['a NUL behind the object', () => `{${good()}}\0`],
		['a raw line break', () => `{"to":"${bob.name}","body":"a\nb"}`],
		['an unknown escape', () => `{"to":"${bob.name}","body":"\\x41"}`],
		['a member twice', () => `{${good()},"body":"y"}`],
		['a member twice, once escaped', () => `{${good()},"\\u0062ody":"y"}`],
		['a metadata key twice', () => `{${good()},"metadata":{"a":"1","a":"2"}}`],
		['33 levels', () => `{${good()},"metadata":${'['.repeat(33)}${']'.repeat(33)}}`],
		['1,000 levels', () => `{${good()},"metadata":${'['.repeat(1000)}${']'.repeat(1000)}}`],
		['50,000 open brackets', () => '['.repeat(50_000)],
		['50,000 open objects', () => '{"a":'.repeat(25_000)],
		['1e400', () => `{${good()},"expires_in":1e400}`],
		['twenty nines', () => `{${good()},"expires_in":99999999999999999999}`],
		['a number of 1,000 digits', () => `{${good()},"expires_in":${'9'.repeat(1000)}}`],
		['a fraction', () => `{${good()},"expires_in":1.5}`],
	];
	for (const [what, body] of table) {
		it(`${what}: 400`, async () => {
			problem(await storesNothing(() => ann.request('POST', '/v1/messages',
				{ body: body(), ...json })), 400, 'bad_request');
		});
	}

	it('all that passes: white space, any order, escapes, a pair of surrogates', async () => {
		const answer = expectStatus(await ann.request('POST', '/v1/messages', { ...json,
			body: ` \n\t{ "body" : "\\ud83e\\udd8a \\u00e9\\/" ,\r\n "to":"${bob.name}", ` +
				'"metadata": null, "correlation_id": null } \n' }), 201);
		assert.equal((await bob.received(answer.body.id)).body, '🦊 é/');
	});
});

it('a recipient in capitals is answered with the address in small letters', async () => {
	const { name } = bob;
	const capital = name[0].toUpperCase() + name.slice(1);
	for (const answer of [
		await ann.post('/v1/messages', { to: capital, body: 'x' }),
		await ann.request('POST', `/v1/to/${capital}`, { body: 'x', type: 'text/plain' }),
	]) {
		problem(answer, 400, 'bad_request');
		assert.ok(answer.body.detail.includes(`did you mean "${name}"?`), answer.body.detail);
	}
});

describe('sizes and types of the whole request', () => {
	it('a request of 128 KiB passes, one byte more is 413', async () => {
		const message = `{"to":"${bob.name}","body":"x"}`;
		const pad = (n) => message + ' '.repeat(n - message.length);
		expectStatus(await ann.request('POST', '/v1/messages',
			{ body: pad(131_072), ...json }), 201);
		problem(await storesNothing(() => ann.request('POST', '/v1/to/' + bob.name,
			{ body: 'x'.repeat(131_073), type: 'text/plain' })), 413, 'body_too_large');
	});

	it('a text that is too long and a body that is too long say both limits', async () => {
		const text = { type: 'text/plain' };
		const message = (n) => JSON.stringify({ to: bob.name, body: 'x'.repeat(n) });
		for (const [what, target, body, form] of [
			['a text', `/v1/to/${bob.name}`, 'x'.repeat(17_000), text],
			['a body that is text', `/v1/to/${bob.name}`, 'x'.repeat(200_000), text],
			['a text in JSON', '/v1/messages', message(17_000), json],
			['a body in JSON', '/v1/messages', message(200_000), json],
		]) {
			const answer = await ann.request('POST', target, { body, ...form });
			problem(answer, 413, 'body_too_large');
			for (const limit of [/\b16384\b/, /\b131072\b/])
				assert.match(answer.body.detail, limit, what);
		}
	});

	it('an object larger than 128 KiB is 413, also in chunks', async () => {
		const body = `{"to":"${bob.name}","body":"x"${' '.repeat(140_000)}}`;
		problem(await storesNothing(() => ann.request('POST', '/v1/messages',
			{ body, ...json })), 413, 'body_too_large');
		problem(await storesNothing(() => rawRequest(server, 'POST', '/v1/messages', {
			headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
			token: ann.token, body,
		})), 413, 'body_too_large');
	});

	it('an array of 1 MiB passes, a larger one is 413', async () => {
		const items = Array.from({ length: 60 }, () =>
			({ id: uuid7(), to: bob.name, body: 'x'.repeat(16_000) }));
		expectStatus(await ann.post('/v1/messages', items), 200);
		problem(await storesNothing(() => ann.request('POST', '/v1/messages',
			{ body: `[${' '.repeat(1_048_576)}]`, ...json })), 413, 'body_too_large');
	});

	it('a Content-Length that is too large is refused without waiting for the body', async () => {
		const url = new URL(server.url);
		const socket = net.connect(url.port, url.hostname);
		socket.write(`POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n` +
			'Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n');
		const text = await within(new Promise((resolve) => {
			let got = '';
			socket.setEncoding('utf8').on('data', (piece) => (got += piece));
			socket.on('close', () => resolve(got));
			socket.on('error', () => resolve(got));
		}), 10_000, 'the answer and the end of the connection');
		assert.match(text, /^HTTP\/1\.1 413 /);
	});

	for (const [type, status] of [['text/plain', 415], ['application/xml', 415],
		['application/x-www-form-urlencoded', 415], ['multipart/form-data; boundary=x', 415],
		['application/json5', 415], ['application/json', 201], ['Application/JSON', 201],
		['application/json; charset=utf-8', 201], ['application/json;charset="UTF-8"', 201]]) {
		it(`Content-Type: ${type} is ${status}`, async () => {
			const deed = () => ann.request('POST', '/v1/messages',
				{ body: `{"to":"${bob.name}","body":"typed"}`, type });
			if (status === 201)
				expectStatus(await deed(), 201);
			else
				problem(await storesNothing(deed), 415, 'unsupported_media');
		});
	}

	it('no Content-Type at all is 415', async () => {
		problem(await storesNothing(() => rawRequest(server, 'POST', '/v1/messages',
			{ token: ann.token, body: `{"to":"${bob.name}","body":"x"}` })),
			415, 'unsupported_media');
	});

	it('a body where none belongs is 400', async () => {
		const { id } = await ann.send(bob.name, 'x');
		problem(await rawRequest(server, 'DELETE', `/v1/outbox/${id}`,
			{ token: ann.token, body: '{}', headers: { 'content-type': 'application/json',
				'content-length': 2 } }), 400, 'bad_request');
	});
});

describe('paths and methods', () => {
	for (const target of ['/v1/nonsense', '/v2', '/v1/messages/', '/v1//messages', '/v1/inbox/1/2',
		'/V1/inbox', `/${'x'.repeat(2000)}`, '/favicon.ico', '/.git/config', '/etc/passwd',
		'/v1/to/']) {
		it(`unknown path ${target.slice(0, 40)} is 404`, async () => {
			problem(await rawRequest(server, 'GET', target, { token: ann.token }), 404, 'not_found');
		});
	}

	for (const target of ['/v1/inbox%2f1', '/v1/../v1/inbox', '/%00', '/v1/inbox/%ff',
		'/v1/%2e%2e/%2e%2e/etc/passwd']) {
		it(`a path that is none, ${target}, is 400`, async () => {
			problem(await rawRequest(server, 'GET', target, { token: ann.token }), 400, 'bad_request');
		});
	}

	for (const [method, target, allowed] of [
		['GET', '/v1/messages', 'POST'],
		['PUT', '/v1/messages', 'POST'],
		['DELETE', '/v1/messages', 'POST'],
		['POST', '/v1/inbox', 'GET'],
		['PUT', '/v1/inbox/ack', 'POST'],
		['PATCH', '/v1/inbox/read', 'POST'],
		['POST', '/v1/inbox/unread', 'GET'],
		['PUT', '/v1/outbox', 'GET'],
		['GET', '/v1/to/bob', 'POST'],
		['POST', '/healthz', 'GET'],
		['DELETE', '/metrics', 'GET'],
	]) {
		it(`${method} ${target} is 405 with Allow: ${allowed}`, async () => {
			const answer = await rawRequest(server, method, target, { token: ann.token });
			problem(answer, 405, 'method_not_allowed');
			assert.ok(answer.headers.get('allow').split(/, */).includes(allowed),
				answer.headers.get('allow'));
		});
	}

	it('a method that nobody knows is refused', async () => {
		const answer = await rawRequest(server, 'PROPFIND', '/v1/inbox', { token: ann.token });
		problem(answer, 400, 'bad_request');
	});

	it('without a token an unknown path says nothing about what there is', async () => {
		problem(await server.rest().get('/v1/nonsense'), 404, 'not_found');
	});

	it('every answer has a request id of its own', async () => {
		const ids = new Set();
		for (let i = 0; i < 20; i++)
			ids.add((await ann.get('/v1/nonsense')).headers.get('x-request-id'));
		assert.equal(ids.size, 20);
	});
});

describe('without a token', () => {
	for (const [method, target, body] of [
		['GET', '/v1/inbox'], ['GET', '/v1/inbox/1'], ['GET', '/v1/inbox/unread'],
		['POST', '/v1/inbox/ack', { upto: 1 }], ['POST', '/v1/inbox/read', { upto: 1 }],
		['POST', '/v1/messages', { to: 'bob', body: 'x' }],
		['POST', '/v1/messages', { nonsense: true }],
		['GET', '/v1/outbox'], ['GET', '/v1/outbox/01900000-0000-7000-8000-000000000000'],
		['DELETE', '/v1/outbox/01900000-0000-7000-8000-000000000000'],
		['GET', '/v1/conversations'], ['GET', '/v1/tokens'],
		['DELETE', '/v1/tokens/01900000-0000-7000-8000-000000000000'],
		['POST', '/v1/me/password', { password: 'x', new_password: 'y' }],
	]) {
		it(`${method} ${target} is 401`, async () => {
			problem(await server.rest().request(method, target, { json: body }),
				401, 'unauthenticated');
			problem(await server.rest('0'.repeat(43)).request(method, target, { json: body }),
				401, 'unauthenticated');
		});
	}

	it('POST /v1/to/{user} is 401, for users and others alike', async () => {
		for (const name of [bob.name, 'nobody-there']) {
			problem(await server.rest().request('POST', `/v1/to/${name}`,
				{ body: 'x', type: 'text/plain' }), 401, 'unauthenticated');
		}
	});
});

describe('after all of it', () => {
	it('good requests are served, and the inbox has no hole', async () => {
		const entry = await ann.send(bob.name, 'still here');
		await bob.received(entry.id);
		const { events } = await bob.inbox();
		events.forEach((event, i) => assert.equal(event.seq, i + 1));
		assert.ok(!events.some((event) => /good but for|let me in/.test(event.body)));
	});
});
