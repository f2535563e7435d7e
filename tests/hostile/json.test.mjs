// SPDX-License-Identifier: MIT
//
// Invalid and dangerous JSON: depth, size, duplicate members, numbers,
// surrogates, NUL, byte order marks.  Each text goes to every route with a JSON
// body and into a frame, and is refused in the same words everywhere.  A
// refusal that concerns a member has the pointer to it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';

import { document } from '../e2e/contract.mjs';
import { operator } from '../e2e/operator.mjs';
import { problem } from '../e2e/expect.mjs';
import {
	expectStatus, freshName, rawRequest, serverForFile, users, uuid7,
} from '../e2e/harness.mjs';

let ann, bob, device, root;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
	device = (await ann.get('/v1/tokens')).body.devices[0].id;
	root = await operator(server);
}, { unlimited: 'one user makes every bad request' });

const bytes = (...parts) => Buffer.concat(parts.map((part) =>
	typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)));

// Every route with a JSON body, from openapi.yaml, and a good body for it.  The
// tests replace its first member.
const GOOD = {
	'POST /v1/users': () => ({ name: freshName('json'), password: 'long enough' }),
	'POST /v1/tokens': () => ({ name: freshName('nobody'), password: 'x', device: 'x' }),
	'PATCH /v1/tokens/{id}': () => ({ device: 'x' }),
	'POST /v1/me/password': () => ({ password: 'x', new_password: 'long enough' }),
	'POST /v1/messages': () => ({ to: bob.name, body: 'x' }),
	'POST /v1/inbox/ack': () => ({ upto: 0 }),
	'POST /v1/inbox/read': () => ({ upto: 0 }),
	'POST /v1/outbox/{id}/retry': () => ({}),
	'POST /v1/admin/outbox/{id}/retry': () => ({}),
	'POST /v1/admin/outbox/{id}/discard': () => ({}),
	'POST /v1/admin/dead-letters/requeue': () => ({ dead_ids: [1] }),
	'POST /v1/admin/dead-letters/discard': () => ({ dead_ids: [1] }),
	'PATCH /v1/admin/destinations/{name}': () => ({ per_second: 5 }),
	'POST /v1/admin/destinations/{name}/pause': () => ({ reason: 'x' }),
	'POST /v1/admin/destinations/{name}/resume': () => ({}),
	'POST /v1/admin/lanes/{id}/rewind': () => ({ seq: 1 }),
	'POST /v1/admin/peers/{domain}/pin': () => ({ key_id: 'k1',
		public: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' }),
	'POST /v1/admin/peers/{domain}/unpin': () => ({ key_id: 'k1' }),
	'POST /v1/admin/peers/{domain}/forget': () => ({}),
	'POST /v1/admin/peers/{domain}/block': () => ({ reason: 'x' }),
	'POST /v1/admin/peers/{domain}/unblock': () => ({}),
	'POST /v1/admin/users/{name}/disable': () => ({}),
	'POST /v1/admin/users/{name}/enable': () => ({}),
	'POST /v1/admin/users/{name}/promote': () => ({}),
	'POST /v1/admin/users/{name}/demote': () => ({}),
	'POST /v1/admin/users/{name}/password': () => ({}),
};
const bodies = new Map(Object.entries(document('openapi.yaml').paths).flatMap(([path, item]) =>
	Object.entries(item).filter(([, operation]) => !operation.responses?.[501] &&
		operation.requestBody?.content['application/json'])
		.map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation.requestBody])));
// The body of another server is parsed only if its signature is valid
// (federation.test.mjs).
bodies.delete('POST /v1/federation/deliver');
const routes = [...bodies.keys()];

function send(route, body)
{
	const [method, path] = route.split(' ');

	return rawRequest(server, method, path.replace('lanes/{id}', 'lanes/1').replace('{id}', device)
		.replace('{name}', 'local').replace('{domain}', 'far.example'), {
		token: path.startsWith('/v1/admin/') ? root.token : ann.token, body,
		headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } });
}

const NOT_JSON = /^not valid JSON at line \d+, column \d+: /;

// [what, the text, the reason].  None of these texts is a complete object.
const NONE = [
	['nothing', '', /there is nothing/],
	['spaces', ' \r\n\t ', /there is nothing/],
	['half', '{"a":', NOT_JSON],
	['trailing garbage', '{"a":1} x', NOT_JSON],
	['two texts', '{"a":1}{"a":1}', NOT_JSON],
	['a trailing comma', '{"a":1,}', NOT_JSON],
	['a comma too many', '{"a":[1,,2]}', NOT_JSON],
	['single quotes', "{'a':1}", NOT_JSON],
	['no quotes', '{a:1}', NOT_JSON],
	['a comment', '{"a":1/* one */}', NOT_JSON],
	['a line comment', '{"a":1}// one', NOT_JSON],
	['a number sign comment', '# one\n{"a":1}', NOT_JSON],
	['NaN', '{"a":NaN}', NOT_JSON],
	['Infinity', '{"a":-Infinity}', NOT_JSON],
	['undefined', '{"a":undefined}', NOT_JSON],
	['True', '{"a":True}', NOT_JSON],
	['hexadecimal', '{"a":0x10}', NOT_JSON],
	['an octal', '{"a":010}', NOT_JSON],
	['a plus', '{"a":+1}', NOT_JSON],
	['a bare fraction', '{"a":.5}', NOT_JSON],
	['an empty fraction', '{"a":1.}', NOT_JSON],
	['an empty exponent', '{"a":1e}', NOT_JSON],
	['beyond int64', '{"a":9223372036854775808}', /too big integer/],
	['below int64', '{"a":-9223372036854775809}', /too big negative integer|too big integer/],
	['a thousand digits', `{"a":${'9'.repeat(1000)}}`, /too big integer/],
	['beyond a double', '{"a":1e400}', /real number overflow/],
	['a member twice', '{"a":1,"a":1}', /duplicate object key/],
	['… the second as \\u0061', '{"a":1,"\\u0061":1}', /duplicate object key/],
	['… deep inside', '{"a":{"b":[{"c":1,"\\u0063":2}]}}', /duplicate object key/],
	['a lone high surrogate', '{"a":"\\ud800"}', /invalid Unicode/],
	['a lone low surrogate', '{"a":"\\udc00"}', /invalid Unicode/],
	['surrogates the wrong way round', '{"a":"\\udc00\\ud800"}', /invalid Unicode/],
	['a high surrogate and a letter', '{"a":"\\ud800\\u0061"}', /invalid Unicode/],
	['a lone surrogate in a name', '{"\\ud800":1}', /invalid Unicode/],
	['\\u0000', '{"a":"x\\u0000y"}', /holds a NUL/],
	['\\u0000 in a name', '{"\\u0000":1}', /NUL/],
	['a NUL', bytes('{"a":"x', [0], 'y"}'), NOT_JSON],
	['a NUL behind a number', bytes('{"a":1', [0], '}'), NOT_JSON],
	['a NUL behind a word', bytes('{"a":true', [0], '}'), NOT_JSON],
	['a NUL at the end', bytes('{"a":1}', [0]), NOT_JSON],
	['a newline in a text', '{"a":"x\ny"}', NOT_JSON],
	['an unknown escape', '{"a":"\\x41"}', NOT_JSON],
	['half an escape', '{"a":"\\u12"}', NOT_JSON],
	['a byte order mark', '\ufeff{"a":1}', /byte order mark/],
	['UTF-16', Buffer.from('{"a":1}', 'utf16le'), NOT_JSON],
	['Latin-1', bytes('{"a":"', [0xe4], '"}'), NOT_JSON],
	['an overlong slash', bytes('{"a":"', [0xc0, 0xaf], '"}'), NOT_JSON],
	['an overlong NUL', bytes('{"a":"', [0xc0, 0x80], '"}'), NOT_JSON],
	['a surrogate in UTF-8', bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'), NOT_JSON],
	['beyond U+10FFFF', bytes('{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}'), NOT_JSON],
	['half a character', bytes('{"a":"', [0xf0, 0x9f, 0xa6], '"}'), NOT_JSON],
	['a lone continuation', bytes('{"a":"', [0x80], '"}'), NOT_JSON],
	['33 levels', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, /nested deeper than 32 levels/],
	['33 levels of objects', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, /nested deeper than 32 levels/],
	['100,000 brackets', '['.repeat(100_000), /nested deeper than 32 levels/],
	['10,001 values', `{"a":[${'1,'.repeat(9_999)}1]}`, /more than 10000 values/],
	['10,001 empty objects', `{"a":[${'{},'.repeat(9_999)}{}]}`, /more than 10000 values/],
	['a closing bracket first', ']'.repeat(50) + '['.repeat(60), NOT_JSON],
];

// Valid JSON whose root is not an object.
const ROOTS = ['"text"', '1', '-1.5', 'true', 'false', 'null'];

describe('the routes', () => {
	it('all that take JSON are here', () => assert.deepEqual(routes.sort(), Object.keys(GOOD).sort()));
});

// These routes need no log-in, so their bodies must be short.
const SHORT = ['POST /v1/users', 'POST /v1/tokens'];

/**
 * Asserts that ${text} is refused.  Returns the answer, or undefined if the
 * text was refused because it is too long for ${route}.
 */
async function judged(route, text, pointer)
{
	const answer = await send(route, text);
	const long = SHORT.includes(route) && Buffer.byteLength(text) > 4096;

	if (long)
		problem(answer, 413, 'body_too_large');
	else
		problem(answer, 400, 'bad_request', pointer);
	return long ? undefined : answer;
}

for (const route of Object.keys(GOOD)) {
	describe(`${route}`, () => {
		// A route whose body is optional accepts an empty body.
		for (const [what, text, said] of NONE.slice(bodies.get(route)?.required === false ? 2 : 0)) {
			it(`refuses ${what}`, async () => {
				const answer = await judged(route, text);
				if (answer === undefined)
					return;
				assert.match(answer.body.detail, said);
				assert.ok(['', undefined].includes(answer.body.pointer), answer.text);
			});
		}

		it('refuses what is not an object', async () => {
			for (const root of route === 'POST /v1/messages' ? ROOTS : [...ROOTS, '[]', '[{}]']) {
				const answer = await send(route, root);
				problem(answer, 400, 'bad_request');
				assert.match(answer.body.detail, /an? (JSON )?(object|message|array)/, `${root}: ${answer.text}`);
			}
		});

		it('refuses what it does not know by name, however deep', async () => {
			const deep = `${'['.repeat(31)}${']'.repeat(31)}`;
			// The object is left open, so that one more member can
			// be added.
			const good = JSON.stringify(GOOD[route]()).slice(0, -1).replace(/([^{])$/, '$1,');
			for (const [member, pointer] of [['x', '/x'], ['', '/'], ['a/b~c', '/a~1b~0c'],
				['__proto__', '/__proto__'], ['Body', '/Body'], ['body ', '/body '], ['\u212a', '/\u212a']]) {
				const answer = await send(route, `${good}${JSON.stringify(member)}:${deep}}`);
				problem(answer, 400, 'bad_request', pointer);
			}
			// An unknown member may contain as many values as the
			// whole body may.
			await judged(route, `${good}"x":[${'{},'.repeat(4_900)}{}]}`, '/x');
		});

		it('refuses other types by the member', async () => {
			for (const member of Object.keys(GOOD[route]())) {
				for (const value of ['[]', '{}', 'true', '1.5', '1e2', '{"a":1}',
					typeof GOOD[route]()[member] === 'number' ? '"1"' : '7']) {
					const text = JSON.stringify({ ...GOOD[route](), [member]: '@' }).replace('"@"', value);
					problem(await send(route, text), 400, 'bad_request', `/${member}`);
				}
			}
		});
	});
}

describe('numbers', () => {
	for (const route of ['POST /v1/inbox/ack', 'POST /v1/inbox/read']) {
		for (const [text, status, code, pointer] of [
			['0', 200], ['-0', 200],
			['1.0', 400, 'bad_request', '/upto'], ['0.0', 400, 'bad_request', '/upto'],
			['1e0', 400, 'bad_request', '/upto'], ['1E2', 400, 'bad_request', '/upto'],
			['1e-400', 400, 'bad_request', '/upto'], ['-1', 400, 'bad_request', '/upto'],
			['-9223372036854775808', 400, 'bad_request', '/upto'],
			['9007199254740993', 422, 'ack_beyond_head'],
			['9223372036854775807', 422, 'ack_beyond_head'],
		]) {
			it(`${route} ${text} is ${status}`, async () => {
				const answer = await send(route, `{"upto":${text}}`);
				if (status === 200)
					expectStatus(answer, 200);
				else
					problem(answer, status, code, pointer);
			});
		}
	}

	it('an id of a frame comes back as it is, beyond 2^53 too', async () => {
		const ws = await ann.ws({ instance: 'numbers' });
		const texts = [];
		ws.socket.on('message', (data) => texts.push(data.toString()));
		for (const id of ['9007199254740993', '-9223372036854775808', '9223372036854775807', '-0'])
			ws.send(`{"type":"ping","id":${id}}`);
		await ws.request({ type: 'ping', id: 77 });
		assert.deepEqual(texts.filter((text) => text.includes('"pong"')).map((text) => /"re":(-?\d+)/.exec(text)[1]),
			['9007199254740993', '-9223372036854775808', '9223372036854775807', '0', '77']);
		await ws.close();
	});
});

describe('frames', () => {
	for (const [what, text] of NONE.filter(([, one]) => typeof one === 'string')) {
		it(`${what} closes with 4400`, async () => {
			const ws = await ann.ws({ instance: 'json' });
			ws.send(text);
			assert.equal((await ws.closing()).code, 4400);
		});
	}

	for (const root of [...ROOTS, '[]', '[{}]', '{}']) {
		it(`${root} closes with 4400`, async () => {
			const ws = await ann.ws({ instance: 'json' });
			ws.send(root);
			assert.equal((await ws.closing()).code, 4400);
		});
	}
});

describe('the items of an array', () => {
	it('are refused with the place, and none of them is stored', async () => {
		const good = { to: bob.name, body: 'must not be stored' };
		for (const [bad, pointer] of [[{ x: [[]] }, '/1/x'], [{ body: 7 }, '/1/body'],
			[{ metadata: { a: { b: 1 } } }, '/1/metadata/a'], [{ metadata: { 'a/b~': 7 } }, '/1/metadata/a~1b~0'],
			[{ metadata: [] }, '/1/metadata'], [{ id: '1' }, '/1/id'], [{ priority: 'x' }, '/1/priority'],
			[{ deliver_at: 'soon' }, '/1/deliver_at'], [{ expires_in: 1.5 }, '/1/expires_in']]) {
			problem(await ann.post('/v1/messages', [{ ...good, id: uuid7() },
				{ ...good, id: uuid7(), ...bad }, { ...good, id: uuid7() }]), 400, 'bad_request', pointer);
		}
		for (const item of ['1', 'null', '"x"', '[]', 'true'])
			problem(await send('POST /v1/messages', `[${item}]`), 400, 'bad_request', '/0');
	});
});

describe('memory', () => {
	const status = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(
		fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1024;
	/** Returns by how many MiB memory grew at most during ${deed}. */
	const growth = async (deed) => {
		fs.writeFileSync(`/proc/${server.pid}/clear_refs`, '5'); // resets VmHWM
		const was = status('VmRSS');
		await deed();
		return status('VmHWM') - was;
	};

	it('a MiB of [{},{},…] costs none', async (t) => {
		const text = `[${'{},'.repeat(349_000)}{}]`;
		assert.ok(text.length > 1_000_000 && text.length < 1_048_576);
		const grown = await growth(() => Promise.all(Array.from({ length: 16 }, async () => {
			const answer = await send('POST /v1/messages', text);
			problem(answer, 400, 'bad_request');
			assert.match(answer.body.detail, /more than 10000 values/);
		})));
		// Sixteen bodies of one MiB are held while they are received.
		// Parsed into trees they would take 77 times as much.
		t.diagnostic(`16 at once: ${grown.toFixed(1)} MiB more`);
		if (!process.env.TWINBOX_SANITIZED)
			// The kernel counts pages in batches for each thread,
			// so a small negative value is possible.
			assert.ok(grown > -1 && grown < 64, `${grown} MiB`);
	});

	it('as many values as may be, and as deep, cost little', async (t) => {
		const text = `[${Array.from({ length: 100 }, () =>
			`{"x":[${'[],'.repeat(45)}[]]}`).join(',')}]`;
		const grown = await growth(async () => {
			for (let i = 0; i < 20; i++)
				problem(await send('POST /v1/messages', text), 400, 'bad_request', '/0/x');
		});
		t.diagnostic(`20 of them: ${grown.toFixed(1)} MiB more`);
		if (!process.env.TWINBOX_SANITIZED)
			assert.ok(grown < 32, `${grown} MiB`);
	});
});

describe('after all of it', () => {
	it('nothing was stored but what was good', async () => {
		const { id } = await ann.send(bob.name, 'good');
		await bob.received(id);
		assert.deepEqual((await bob.inbox()).events.map((event) => event.body), ['good']);
		assert.equal((await ann.get('/v1/inbox')).body.acked, 0);
	});
});
