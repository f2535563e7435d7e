// SPDX-License-Identifier: MIT
//
// The rights of each kind of caller.  Every caller makes every call of
// who.table, and the results are compared with the table.  Then the same with
// HEAD and OPTIONS, with ids that do not exist, and with members that only the
// server may set.  At the end no one may have been shown what belongs to
// someone else.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, before, describe, it } from 'node:test';

import { document } from '../e2e/contract.mjs';
import { problem, problemBody } from '../e2e/expect.mjs';
import { TWINBOXD, expectStatus, rawRequest, serverForFile, uuid7 } from '../e2e/harness.mjs';
import { federation } from './peer.mjs';
import { CALLERS, TABLE, World, rows } from './who-world.mjs';

const table = rows();
const rest = table.filter((row) => row.method !== 'WS' && row.path !== '/v1/ws');
const frames = table.filter((row) => row.method === 'WS');
const routes = execFileSync(TWINBOXD, ['routes'], { encoding: 'utf8' })
	.trim().split('\n').map((line) => line.split(' '));

let world;
const watching = {};
const server = serverForFile({ before, after, afterEach }, async () => {
	world = await new World(server).make();
	for (const who of ['alice', 'bob']) {
		const { name, user } = world.people[who];
		watching[who] = await world.socket(name, { token: user.token });
		await watching[who].hello({ instance: 'watch' });
	}
}, { args: ['--log-level', 'debug', ...federation('a.example')], unlimited: 'each caller makes every call at once' });

const TITLE = { 400: 'bad_request', 401: 'unauthenticated', 403: 'forbidden',
	404: 'not_found', 410: 'cursor_expired', 501: 'not_implemented' };

describe('the table', () => {
	const key = ([method, path]) => `${method} ${path}`;
	const have = new Set(table.map((row) => key([row.method, row.path])));

	it('has a row for every route and frame, and for nothing else', () => {
		assert.ok(routes.length > 60, `${routes.length} routes`);
		assert.deepEqual(routes.map(key).filter((one) => !have.has(one)), []);
		const known = new Set(routes.map(key));
		assert.deepEqual([...have].filter((one) => !known.has(one)), []);
	});

	it('the routes are those of openapi.yaml, the frames those of asyncapi.yaml', () => {
		const documented = Object.entries(document('openapi.yaml').paths).flatMap(
			([path, item]) => ['get', 'put', 'post', 'delete', 'patch'].filter((method) => item[method])
				.map((method) => [`${method.toUpperCase()} ${path}`, item[method]]));
		const served = routes.filter(([method]) => method !== 'WS');
		assert.deepEqual(documented.map(([one]) => one).sort(), served.map(key).sort());
		for (const [one, operation] of documented) {
			const access = served.find((route) => key(route) === one)[2];
			const open = operation.security?.some((way) => Object.keys(way).length === 0) ||
				operation.security?.length === 0;
			if (one === 'GET /v1/ws')
				continue;
			assert.equal(access === 'public', Boolean(open), `${one} is ${access}`);
			assert.equal(access === 'admin', operation.tags.includes('admin'), `${one} is ${access}`);
		}
		const received = Object.values(document('asyncapi.yaml').operations)
			.filter(({ action }) => action === 'receive')
			.flatMap(({ messages }) => messages.map((one) => one.$ref.replace(/.*\//, '')));
		assert.deepEqual(received.sort(),
			routes.filter(([method]) => method === 'WS').map(([, type]) => type).sort());
	});

	it('says no to strangers wherever a token is needed, and to users at the admin\'s', () => {
		for (const row of table) {
			const access = routes.find((route) => key(route) === key([row.method, row.path]))[2];
			const no = row.method === 'WS' ? '4401' : '401';
			for (const who of CALLERS.slice(0, 4)) {
				assert.equal(row.cells[who].replace(/:.*/, '') === no || row.path === 'hello', access !== 'public' ||
					row.path === 'hello' || (row.path === '/v1/tokens' && row.method === 'POST') ||
					(row.path === '/v1' && who !== 'stranger'),
				`who.table:${row.line} ${who}`);
			}
			for (const who of ['other', 'member', 'owner'])
				assert.equal(row.cells[who] === '403', access === 'admin' || row.path === '/v1/me/password' &&
					row.cells[who] === '403', `who.table:${row.line} ${who}`);
		}
	});

	it('one that lacks a row is seen to', () => {
		const short = rows(TABLE.replace(/^DELETE \/v1\/tokens\/.*\n/m, ''));
		const left = new Set(short.map((row) => key([row.method, row.path])));
		assert.deepEqual(routes.map(key).filter((one) => !left.has(one)), ['DELETE /v1/tokens/{id}']);
		assert.throws(() => rows('GET /v1 200 200\n'), /not 8 cells/);
		assert.throws(() => rows(`GET /v1 ${'200 '.repeat(8)} what\n`), /what\?/);
	});
});

describe('each call by each caller', () => {
	for (const row of rest) {
		it(`who.table:${row.line} ${row.method} ${row.path}`, async () => {
			const made = {};
			for (const caller of CALLERS) {
				const [status, code] = row.cells[caller].split(':');
				const answer = await world.rest(row, caller, made);
				assert.equal(String(answer.status), status, `${caller}: ${answer.text}`);
				if (answer.status >= 400)
					problem(answer, answer.status, code ?? TITLE[status] ?? answer.body.code);
			}
		});
	}
});

/** Returns the body of an answer without the parts that differ by chance. */
function bare(answer, ids)
{
	let text = JSON.stringify({ ...answer.body, request_id: 0 });

	for (const id of ids)
		text = text.replaceAll(id, '#');
	return `${answer.status} ${text} ${[...answer.headers.keys()].sort()}`;
}

describe('what exists looks like what does not', () => {
	const named = (row) => /\$(message|conversation|scheduled|device)\b/
		.exec(Object.values(row.params).join(' ') + row.query + (row.body ?? ''))?.[1];
	const hidden = rest.filter((row) => named(row) &&
		/^4(00|04|22:unknown_recipient)$/.test(row.cells.other));

	it('there are such rows', () => assert.ok(hidden.length >= 12, `${hidden.length}`));

	for (const row of hidden) {
		it(`who.table:${row.line} ${row.method} ${row.path}`, async () => {
			const name = named(row);
			const made = {};
			for (const caller of CALLERS.filter((who) => row.cells[who] === row.cells.other)) {
				const id = uuid7();
				const there = await world.rest(row, caller, made);
				const nowhere = await world.rest(row, caller, made, { other: { [name]: id } });
				const value = await world.value(name, caller, made);
				assert.equal(bare(there, [value, id]), bare(nowhere, [value, id]), caller);
			}
		});
	}

	it('… by the clock too', async (t) => {
		const took = { there: [], nowhere: [] };
		const row = rest.find((one) => one.method === 'GET' && one.path === '/v1/outbox/{id}');
		// The two cases take turns, so that other load on the machine
		// affects both alike.
		for (let i = 0; i < 200; i++) {
			const which = i % 2 ? 'there' : 'nowhere';
			const start = performance.now();
			await world.rest(row, 'other', {}, { other: which === 'there' ? undefined : { message: uuid7() } });
			took[which].push(performance.now() - start);
		}
		const middle = (list) => list.sort((a, b) => a - b)[list.length >> 1];
		const [there, nowhere] = [middle(took.there), middle(took.nowhere)];
		const told = `another's entry ${there.toFixed(3)} ms, none ${nowhere.toFixed(3)} ms (medians of 100)`;
		t.diagnostic(told);
		// Noise is smaller than this.  Work that is done in only one of
		// the two cases is larger.
		assert.ok(there < 3 * nowhere + 1 && nowhere < 3 * there + 1, told);
	});

	it('of a message that is answered', async () => {
		const ask = (reply_to) => world.call(world.reader('other'), 'POST', '/v1/messages', {
			token: world.tokens.other, json: { to: world.people.mallory.name,
				body: 'an answer', reply_to, id: uuid7() } });
		const { id } = await world.send('alice', ['alice', 'bob'], { to: world.people.bob.name });
		const [there, nowhere] = [await ask(id), await ask(uuid7())];
		assert.equal(there.status, nowhere.status, there.text);
	});

	it('of a frame', async () => {
		for (const row of frames.filter((one) => /^error:(not_found|unknown_recipient)$/.test(one.cells.other))) {
			for (const caller of ['other', 'admin']) {
				const id = uuid7();
				const there = await world.frame(row, caller, {});
				const nowhere = await world.frame(row, caller, {}, { conversation: id });
				assert.equal(JSON.stringify(there.reply).replaceAll(world.conversation, '#'),
					JSON.stringify(nowhere.reply).replaceAll(id, '#'), `who.table:${row.line}`);
			}
		}
	});
});

describe('HEAD and OPTIONS', () => {
	for (const row of rest.filter((one) => one.method === 'GET')) {
		it(`who.table:${row.line} HEAD ${row.path} is as GET`, async () => {
			const made = {};
			for (const caller of CALLERS) {
				const answer = await world.rest(row, caller, made, { method: 'HEAD' });
				assert.equal(String(answer.status), row.cells[caller].replace(/:.*/, ''), caller);
				assert.equal(answer.text, '', 'HEAD has a body');
			}
		});
	}

	it('OPTIONS lists methods and nothing else, the same to all', async () => {
		const paths = new Map(rest.map((row) => [row.path, row]));
		for (const row of paths.values()) {
			const answers = [];
			for (const caller of CALLERS)
				answers.push(await world.rest(row, caller, {}, { method: 'OPTIONS' }));
			for (const answer of answers) {
				assert.equal(answer.text, '', row.path);
				assert.equal(answer.headers.get('access-control-allow-origin'), null, row.path);
				assert.equal(answer.headers.get('allow'), answers[0].headers.get('allow'));
				assert.equal(answer.status, 204, `${row.path}: ${answer.status}`);
			}
			assert.ok(answers[0].headers.get('allow').includes(row.method), row.path);
		}
	});
});

describe('each frame by each caller', () => {
	for (const row of frames) {
		it(`who.table:${row.line} ${row.path}`, async () => {
			const made = {};
			for (const caller of CALLERS) {
				const { text, reply } = await world.frame(row, caller, made);
				assert.equal(text, row.cells[caller], `${caller}: ${JSON.stringify(reply)}`);
			}
		});
	}

	it('the upgrade, and a token that comes with it', async () => {
		const row = table.find((one) => one.path === '/v1/ws');
		for (const caller of CALLERS) {
			const token = world.tokens[caller];
			const ws = await world.socket(world.reader(caller),
				token && { headers: { authorization: `Bearer ${token}` } });
			assert.equal(row.cells[caller], '101');
			ws.send({ type: 'hello', id: 1, instance: 'upgrade' });
			const reply = await Promise.race([ws.closed, ws.type('welcome').catch(() => ws.closed)]);
			assert.equal(String(reply.code ?? reply.type),
				frames.find((one) => one.path === 'hello').cells[caller], caller);
			ws.socket.terminate();
		}
	});

	it('only members are seen typing', async () => {
		for (const [who, other] of [['alice', 'bob'], ['bob', 'alice']]) {
			await watching[who].request({ type: 'ping' });
			const seen = watching[who].frames.filter((frame) => frame.type === 'typing');
			assert.deepEqual([...new Set(seen.map((frame) => frame.from))],
				[world.people[other].name]);
		}
	});
});

// Members of a message, a watermark or a user that only the server may set.
describe('members that are not the caller\'s to set', () => {
	const message = { from: 'alice', sender: 'alice', user: 'alice', seq: 1, conversation_seq: 1,
		event_id: uuid7(), event_time: '2020-01-01T00:00:00.000Z', created_at: '2020-01-01T00:00:00.000Z',
		delivered_at: '2020-01-01T00:00:00.000Z', read_at: null, own: true, state: 'acked', attempt: 0,
		digest: 'x', kind: 'message', device: 'x', origin: 'x', recipients: ['bob'] };
	const targets = [
		['POST', '/v1/messages', () => ({ to: world.people.bob.name, body: 'x' }), message],
		['POST', '/v1/inbox/ack', () => ({ upto: 0 }),
			{ device: 'x', user: 'alice', head: 1, acked: 1, at: 'x' }],
		['POST', '/v1/inbox/read', () => ({ upto: 0 }), { user: 'alice', device: 'x', at: 'x', by: 'alice' }],
		['POST', '/v1/tokens', () => ({ name: world.people.mallory.name, password: 'x', device: 'x' }),
			{ user: 'alice', admin: true, token: 'x', id: uuid7(), acked: 5 }],
		['POST', '/v1/users', () => ({ name: 'x', password: 'long enough' }),
			{ admin: true, user_id: 1, disabled: false, created_at: 'x', password_hash: '$argon2id$' }],
		['POST', '/v1/me/password', () => ({ password: 'x', new_password: 'long enough' }),
			{ name: 'alice', user: 'alice', admin: true }],
	];
	for (const [method, target, base, members] of targets) {
		for (const [member, value] of Object.entries(members)) {
			it(`${method} ${target} ${member}`, async () => {
				const answer = await world.call(world.reader('other'), method, target,
					{ token: world.tokens.other, json: { ...base(), [member]: value } });
				problem(answer, 400, 'bad_request', `/${member}`);
			});
		}
	}

	it('PATCH /v1/tokens/{id}', async () => {
		for (const [member, value] of Object.entries({ acked: 5, user: 'alice', id: uuid7(), revoked_at: null })) {
			const answer = await world.call(world.reader('other'), 'PATCH', `/v1/tokens/${world.people.mallory.user.id}`,
				{ token: world.tokens.other, json: { device: 'x', [member]: value } });
			problem(answer, 400, 'bad_request', `/${member}`);
		}
	});

	it('in frames', async () => {
		const { name, user } = world.people.mallory;
		for (const frame of [
			...Object.entries(message).map(([member, value]) =>
				[`/message/${member}`, { type: 'send', id: 2, message: { to: name, body: 'x', [member]: value } }]),
			['/user', { type: 'ack', id: 2, upto: 0, user: 'alice' }],
			['/device', { type: 'ack', id: 2, upto: 0, device: 'x' }],
			['/by', { type: 'read', id: 2, upto: 0, by: 'alice' }],
			['/from', { type: 'typing', id: 2, conversation: world.conversation, from: 'alice' }],
		]) {
			const ws = await world.socket(name, { token: user.token });
			await ws.hello({ instance: 'fields' });
			const reply = await ws.request(frame[1]);
			assert.equal(reply.type, 'error');
			problemBody(reply.problem, 'bad_request', frame[0]);
			ws.socket.terminate();
		}
	});
});

describe('numbers and ids that can be guessed', () => {
	function nothingOfAlice({ text }, what)
	{
		for (const hers of [world.people.alice.name, world.message, world.conversation])
			assert.ok(!text.includes(hers), `${what}: ${text}`);
	}

	it('nobody finds what is alice\'s by counting', async () => {
		for (const caller of ['other', 'admin']) {
			for (let seq = 1; seq <= 30; seq++) {
				const answer = await world.call(world.reader(caller), 'GET', `/v1/inbox/${seq}`,
					{ token: world.tokens[caller] });
				assert.ok([200, 404].includes(answer.status));
				nothingOfAlice(answer, `${caller} ${seq}`);
			}
			const lists = ['/v1/inbox?after=0&limit=200', '/v1/outbox?limit=200', '/v1/conversations?limit=200',
				'/v1/inbox/unread', '/v1/tokens', '/v1'];
			for (const target of lists) {
				const answer = await world.call(world.reader(caller), 'GET', target,
					{ token: world.tokens[caller] });
				expectStatus(answer, 200);
				nothingOfAlice(answer, `${caller} ${target}`);
			}
		}
	});

	it('ids are not neighbours', async () => {
		const ids = [];
		for (let i = 0; i < 20; i++)
			ids.push((await world.people.mallory.user.send(world.people.mallory.name, 'x')).id);
		const tails = ids.map((id) => id.replaceAll('-', '').slice(16));
		assert.equal(new Set(tails.map((tail) => tail.slice(0, 12))).size, ids.length, 'the random half repeats');
	});

	it('an id in another form is the same object or none, never another\'s', async () => {
		const { conversation } = world;
		for (const form of [conversation.toUpperCase(), `{${conversation}}`, conversation.replaceAll('-', ''),
			`urn:uuid:${conversation}`, `${conversation}%00`, `${conversation}%20`, '1', '-1', '%2e%2e', '*', '0x1']) {
			const answer = await rawRequest(server, 'GET', `/v1/conversations/${form}`,
				{ token: world.tokens.other });
			assert.ok([400, 404].includes(answer.status), `${form}: ${answer.status}`);
		}
	});
});

describe('after all of it', () => {
	it('the conversation is what its members said, and nothing is lost', async () => {
		const { alice, bob } = world.people;
		const answer = expectStatus(await world.call(alice.name, 'GET',
			`/v1/conversations/${world.conversation}/messages?limit=200`, { token: alice.user.token }), 200);
		assert.deepEqual([...new Set(answer.body.messages.map((one) => one.from))].sort(),
			[alice.name, bob.name].sort());
		const { devices } = (await alice.user.get('/v1/tokens')).body;
		assert.ok(devices.some((one) => one.current));
		assert.equal((await alice.user.inbox()).events.every((event, i) => event.seq === i + 1), true);
	});

	it('nobody was shown what belongs to others', async (t) => {
		t.diagnostic(`${table.length} rows, ${table.length * CALLERS.length} cells, ${routes.length} routes and frames`);
		for (const [who, { name, user }] of Object.entries(world.people)) {
			if (who === 'dora')
				continue;
			for (const target of ['/v1/inbox?after=0&limit=200', '/v1/outbox?limit=200', '/v1/conversations', '/v1/tokens'])
				await world.call(name, 'GET', target, { token: user.token });
		}
		const counts = world.ledger.counts();
		t.diagnostic(`${counts.pages} answers and frames, ${counts.secrets} canaries ` +
			`(${counts.kinds.join(', ')}), ${counts.seen} of them at home`);
		assert.ok(counts.pages > 800 && counts.secrets > 100 && counts.seen > 40, JSON.stringify(counts));
		assert.deepEqual(world.ledger.leaks(), []);
	});

	it('nor was the log, at debug level', () => {
		const log = server.output();
		assert.ok(/ http\.request /.test(log) && log.split('\n').length > 500, 'the log is not at debug level');
		world.ledger.see('the log', 'the log', log);
		assert.deepEqual(world.ledger.leaks(), []);
	});
});
