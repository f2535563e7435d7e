// SPDX-License-Identifier: MIT
// tags: surface
//
// The client against a server that the test plays: how it reacts to gaps,
// repetitions, close codes, another epoch, Retry-After, and answers that are
// not valid.

import assert from 'node:assert/strict';
import http from 'node:http';
import { afterEach, describe, it } from 'node:test';

import { WebSocketServer } from 'ws';

import { EX, Person } from './cli-client.mjs';
import { eventually, within } from './harness.mjs';

const open = new Set();

afterEach(() => {
	for (const one of open)
		one.end();
	open.clear();
});

const problem = (status, code, more = {}) => ({
	type: `/problems/${code.replaceAll('_', '-')}`, title: code, status, code, detail: `it is ${code}`, ...more,
});

/**
 * A server that the test plays.  ${rest}(request, body) returns the answer
 * [status, body, headers].  ${session}(socket, hello, n) handles the n-th
 * session, n counting from 0.
 */
class Played {
	constructor({ rest, session } = {})
	{
		this.requests = [];
		this.hellos = [];
		this.times = [];
		this.http = http.createServer(async (request, response) => {
			let text = '';
			for await (const piece of request)
				text += piece;
			const body = text ? JSON.parse(text) : undefined;
			this.requests.push({ method: request.method, url: request.url, headers: request.headers,
				body, at: performance.now() });
			const [status, answer, headers] = rest?.(request, body, this.requests.length - 1) ??
				this.usual(request, body);
			response.writeHead(status, { 'content-type': 'application/json', ...headers });
			response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
		});
		this.ws = new WebSocketServer({ server: this.http, path: '/v1/ws' });
		this.ws.on('connection', (socket) => {
			socket.frames = [];
			socket.say = (frame) => socket.send(JSON.stringify(frame));
			socket.welcome = (epoch, more = {}) => socket.say({
				type: 'welcome', re: 1, session: 's', user: 'ann', epoch, head: 9, oldest: 1,
				acked: 0, unread: 0, recovered: true, ping_ms: 25000, window: 256, ...more,
			});
			socket.event = (seq, more = {}) => socket.say({
				type: 'event', seq, event_id: `event-${seq}`, kind: 'message', id: `id-${seq}`,
				own: false, conversation: 'c', conversation_seq: seq, from: 'bob', to: 'ann',
				body: `m ${seq}`, event_time: '2030-01-01T00:00:00.000Z', ...more,
			});
			socket.on('message', (data) => {
				const frame = JSON.parse(data);
				socket.frames.push(frame);
				if (frame.type !== 'hello')
					return;
				this.hellos.push(frame);
				this.times.push(performance.now());
				this.socket = socket;
				session?.(socket, frame, this.hellos.length - 1);
			});
		});
		open.add(this);
	}

	usual(request, body)
	{
		if (request.url === '/v1/tokens')
			return [201, { token: 'tb_x', user: 'ann', device: { id: 'd', name: 'd' } }];
		if (request.url === '/v1/messages')
			return [201, { id: body.id, to: body.to, state: 'pending', labels: [] }];
		if (request.url.startsWith('/v1/inbox'))
			return [200, { epoch: this.epoch ?? 'E1', events: [], next: 0, head: 0, acked: 0, unread: 0,
				has_more: false }];
		return [404, problem(404, 'not_found')];
	}

	/** Returns a person who is logged in here. */
	async person()
	{
		await new Promise((resolve) => {
			this.http.listen(0, '127.0.0.1', resolve);
		});
		this.url = `http://127.0.0.1:${this.http.address().port}`;
		const ann = new Person(this.url, { name: 'ann' });
		const done = await ann.withPassword(['login', 'ann']);
		assert.equal(done.code, 0, done.err);
		this.requests.length = 0;
		return ann;
	}

	/** The bodies of the sends that were requested. */
	sends()
	{
		return this.requests.filter((one) => one.url === '/v1/messages').map((one) => one.body);
	}

	end()
	{
		for (const socket of this.ws.clients)
			socket.terminate();
		this.http.closeAllConnections();
		this.http.close();
		this.follow?.kill('SIGKILL');
	}

	tail(person, ...args)
	{
		this.follow = person.start('tail', '--json', ...args);
		this.follow.seqs = () => this.follow.out.split('\n').slice(0, -1).map((line) => JSON.parse(line).seq)
			.filter((seq) => seq !== undefined);
		return this.follow;
	}
}

describe('the cursor', () => {
	it('a gap is not believed, a repetition is not shown', async () => {
		const server = new Played({
			session(socket, hello, n)
			{
				socket.welcome('E1');
				for (const seq of [[1, 2, 2, 1, 3, 5, 6], [3, 4, 5, 6]][n] ?? [])
					socket.event(seq);
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().includes(6), 'all are there');
		assert.deepEqual(follow.seqs(), [1, 2, 3, 4, 5, 6]);
		assert.equal(server.hellos[0].after, undefined, 'without a cursor: as acked');
		assert.equal(server.hellos[1].after, 'E1:3');
		assert.equal(server.hellos[0].instance, server.hellos[1].instance);
		assert.equal(server.hellos[0].window, 256);
		assert.equal(Object.keys(server.hellos[0])[0], 'type');
	});

	it('R50 acks what was shown, once it is stored; the next process begins there', async () => {
		const server = new Played({
			session(socket, hello)
			{
				socket.welcome('E1', { acked: 2 });
				const from = hello.after === undefined ? 2 : Number(hello.after.split(':')[1]);
				for (let seq = from + 1; seq <= 8; seq++)
					socket.event(seq);
				socket.say({ type: 'caught_up', seq: 8 });
			},
		});
		const ann = await server.person();
		const follow = server.tail(ann);
		await eventually(() => server.socket?.frames.some((frame) => frame.type === 'ack' && frame.upto === 8),
			'the ack');
		assert.deepEqual(follow.seqs(), [3, 4, 5, 6, 7, 8]);
		follow.kill('SIGKILL');
		await follow.exited;
		assert.equal((await ann.run('tail', '--once', '--json')).out, '');
		assert.equal(server.hellos[1].after, 'E1:8');
		assert.notEqual(server.hellos[1].instance, server.hellos[0].instance);
	});

	it('--no-ack sends none', async () => {
		const server = new Played({
			session(socket)
			{
				socket.welcome('E1');
				socket.event(1);
			},
		});
		const follow = server.tail(await server.person(), '--no-ack');
		await eventually(() => follow.seqs().length === 1, 'it is there');
		// The client would write a pending ack before it ends.
		follow.kill('SIGTERM');
		assert.equal((await follow.exited).code, 0);
		await eventually(() => server.socket.readyState === 3, 'all it wrote is here');
		assert.deepEqual(server.socket.frames.map((frame) => frame.type), ['hello']);
	});

	it('an event in many pieces, as large as they come', async () => {
		const body = '\u0001'.repeat(16384);
		const server = new Played({
			session(socket)
			{
				socket.welcome('E1');
				socket.event(1, { body });
				socket.send('{"type":"event","seq":2,"event_id":"e2","kind"', { fin: false });
				setTimeout(() => socket.send(':"read","conversation":"c","upto":1}', { fin: true }), 50);
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().length === 2, 'both are there');
		assert.equal(JSON.parse(follow.out.split('\n')[0]).body, body);
	});

	it('events that are no longer kept are said to be gone', async () => {
		const server = new Played({
			session(socket, hello, n)
			{
				if (n === 0) {
					socket.welcome('E1');
					socket.event(1);
					socket.say({ type: 'caught_up', seq: 1 });
				} else {
					socket.welcome('E1', { recovered: false, oldest: 5 });
					socket.event(5);
				}
			},
		});
		const ann = await server.person();
		await ann.run('tail', '--once');
		const follow = server.tail(ann);
		await eventually(() => follow.seqs().length === 1, 'it goes on');
		assert.deepEqual(follow.seqs(), [5]);
		assert.match(follow.err, /events 2 to 4 are no longer kept/);
	});
});

describe('a new epoch', () => {
	for (const how of ['4410', 'welcome', 'error']) {
		it(`received by ${how}: own messages go out again, what was shown is not shown again`, async () => {
			const server = new Played({
				session(socket, hello, n)
				{
					if (n === 0) {
						socket.welcome('E1');
						socket.event(1);
						socket.event(2);
						socket.say({ type: 'caught_up', seq: 2 });
					} else if (n === 1 && how === '4410') {
						socket.close(4410);
					} else if (n === 1 && how === 'error') {
						socket.say({ type: 'error', re: 1, problem: problem(410, 'cursor_expired',
							{ epoch: 'E2', oldest: 1, head: 2 }) });
						socket.close(4410);
					} else if (n === 1) {
						socket.welcome('E2', { recovered: false });
					} else {
						socket.welcome('E2');
						socket.event(1); // after the restore
						socket.event(2, { event_id: 'other', body: 'new' });
						socket.say({ type: 'caught_up', seq: 2 });
					}
				},
			});
			const ann = await server.person();
			await ann.run('inbox');
			const { id } = await ann.json('send', 'bob', 'mine');
			const other = await ann.json('send', 'bob', 'mine too');
			await ann.run('tail', '--once');
			server.epoch = 'E2';
			server.requests.length = 0;
			const follow = server.tail(ann);
			await eventually(() => follow.out.includes('"new"'), 'the new one');
			assert.deepEqual(follow.seqs(), [2]);
			assert.equal(server.hellos[1].after, 'E1:2');
			assert.equal(server.hellos.at(-1).after, '0');
			await eventually(() => server.sends().length === 2, 'both again');
			assert.deepEqual(server.sends().map((one) => one.id), [id, other.id]);
			assert.match(follow.err, /was restored/);
			await eventually(() => server.socket.frames.some((frame) => frame.type === 'ack' && frame.upto === 2),
				'it is stored and acked');
			const again = await ann.run('tail', '--once', '--json');
			assert.equal(again.out, '');
			assert.equal(server.hellos.at(-1).after, 'E2:2');
		});
	}
});

describe('close codes', () => {
	for (const code of [1001, 1011, 1012, 1013, 4408, 4429, 'cut']) {
		it(`${code}: it connects again`, async () => {
			const server = new Played({
				session(socket, hello, n)
				{
					socket.welcome('E1');
					if (n > 0)
						socket.event(1);
					else if (code === 'cut')
						socket.terminate();
					else
						socket.close(code);
				},
			});
			const follow = server.tail(await server.person());
			await eventually(() => follow.seqs().length === 1, 'it is back');
			assert.ok(server.times[1] - server.times[0] < 3000);
		});
	}
	for (const [code, exit] of [[4400, EX.PROTOCOL], [4401, EX.NOPERM], [4403, EX.NOPERM],
		[4409, EX.UNAVAILABLE], [1009, EX.PROTOCOL]]) {
		it(`${code}: not without a person, exit ${exit}`, async () => {
			const server = new Played({
				session(socket)
				{
					socket.welcome('E1');
					socket.event(1);
					socket.close(code);
				},
			});
			const follow = server.tail(await server.person());
			const end = await within(follow.exited, 5000, 'the end');
			assert.equal(end.code, exit, follow.err);
			assert.deepEqual(follow.seqs(), [1]);
			assert.match(follow.err, /^twinbox: tail: [^\n]+\n$/);
			assert.equal(server.hellos.length, 1);
		});
	}

	it('a refused ack does not decide the exit code', async () => {
		const server = new Played({
			session(socket, hello, n)
			{
				socket.welcome('E1');
				if (n === 0) {
					socket.say({ type: 'error', problem: problem(422, 'ack_beyond_head') });
					socket.close(1012);
				} else
					socket.event(1);
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().length === 1, 'it is back');
	});

	it('reconnect says when', async () => {
		const server = new Played({
			session(socket, hello, n)
			{
				socket.welcome('E1');
				if (n === 0) {
					socket.say({ type: 'reconnect', after_ms: 1500, reason: 'restart' });
					socket.close(1012);
				} else
					socket.event(1);
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().length === 1, 'it is back');
		assert.ok(server.times[1] - server.times[0] >= 1500, `${server.times}`);
	});

	// This test counts the connections only.
	// tests/unit/test_client_connection tests the delays.
	it('comes again as often as it is sent away', async () => {
		const server = new Played({
			session(socket, hello, n)
			{
				if (n < 3) {
					socket.close(1013);
					return;
				}
				socket.welcome('E1');
				socket.event(1);
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().length === 1, 'it is back');
		assert.equal(server.hellos.length, 4);
	});

	it('a frame that is none ends it, loudly', async () => {
		const server = new Played({ session: (socket) => socket.send('hello') });
		const follow = server.tail(await server.person());
		assert.equal((await within(follow.exited, 5000, 'the end')).code, EX.PROTOCOL);
		assert.match(follow.err, /a frame that cannot be read: not valid JSON/);
	});

	it('what it does not know it leaves alone', async () => {
		const server = new Played({
			session(socket)
			{
				socket.welcome('E1', { colour: 'blue' });
				socket.say({ type: 'weather', forecast: 'rain' });
				socket.event(1, { kind: 'wave', of: 'x', mood: 'good' });
			},
		});
		const follow = server.tail(await server.person());
		await eventually(() => follow.seqs().length === 1, 'it is there');
	});
});

describe('REST', () => {
	it('R79 Retry-After is honoured, with the same id', async () => {
		const server = new Played({
			rest: (request, _body, n) => (n === 0 && request.url === '/v1/messages' ?
				[503, problem(503, 'busy', { retry_after: 2 }), { 'retry-after': '2' }] : undefined),
		});
		const ann = await server.person();
		await ann.run('send', 'bob', 'patience');
		const [first, second] = server.requests;
		assert.ok(second.at - first.at >= 2000, `${second.at - first.at}`);
		assert.deepEqual(first.body, second.body);
		const asked = await ann.try(['send', 'bob', 'no patience', '--try-for', '1s']);
		assert.equal(asked.code, 0, asked.err);
	});

	it('… and when there is no time for it, the message is kept', async () => {
		const server = new Played({
			rest: (request) => (request.url === '/v1/messages' ?
				[429, problem(429, 'rate_limited', { retry_after: 60 }), { 'retry-after': '60' }] : undefined),
		});
		const ann = await server.person();
		const start = performance.now();
		const done = await ann.try(['send', 'bob', 'x', '--try-for', '3s']);
		assert.equal(done.code, EX.TEMPFAIL, done.err);
		assert.ok(performance.now() - start < 2500, 'it waited for nothing');
		assert.match(done.err, /kept as/);
	});

	it('an option that cannot be read sends nothing, now or later', async () => {
		const server = new Played();
		const ann = await server.person();
		for (const option of ['--try-for', '--timeout']) {
			const done = await ann.try(['send', 'bob', 'by mistake', option, 'soon']);
			assert.equal(done.code, EX.USAGE, done.err);
			assert.match(done.err, new RegExp(option));
		}
		await ann.run('send', 'bob', 'meant');
		assert.deepEqual(server.sends().map((one) => one.body), ['meant']);
	});

	it('a recipient without room holds up nobody else', async () => {
		const server = new Played({
			rest: (request, body) => (request.url === '/v1/messages' && body.to === 'full' ?
				[507, problem(507, 'inbox_full')] : undefined),
		});
		const ann = await server.person();
		const full = await ann.try(['send', 'full', 'one', '--try-for', '0s']);
		assert.equal(full.code, EX.TEMPFAIL, full.err);
		await ann.run('send', 'bob', 'two', '--try-for', '0s');
		assert.deepEqual(server.sends().map((one) => one.to), ['full', 'full', 'bob']);
	});

	it('a token that is no longer good keeps the message', async () => {
		let good = false;
		const server = new Played({
			rest: (request) => (request.url === '/v1/messages' && !good ?
				[401, problem(401, 'unauthenticated')] : undefined),
		});
		const ann = await server.person();
		const done = await ann.try(['send', 'bob', 'later']);
		assert.equal(done.code, EX.NOPERM, done.err);
		assert.match(done.err, /kept here.*twinbox login/);
		good = true;
		server.requests.length = 0;
		await ann.withPassword(['login', 'ann']);
		await ann.run('inbox');
		assert.deepEqual(server.sends().map((one) => one.body), ['later']);
	});

	for (const [what, answer] of [['HTML', [200, '<html>hello</html>', { 'content-type': 'text/html' }]],
		['an empty object', [200, {}]], ['a list', [200, []]], ['404 of another program', [404, 'not here']]]) {
		it(`${what} is not what a twinbox server says`, async () => {
			const server = new Played({
				rest: (request) => (request.url.startsWith('/v1/inbox') ? answer : undefined),
			});
			const ann = await server.person();
			const done = await ann.try(['inbox']);
			assert.equal(done.code, EX.PROTOCOL, done.err);
			assert.match(done.err, /^twinbox: inbox: [^\n]+; [^\n]+\n$/);
		});
	}

	it('redirects are not followed: a token goes nowhere else', async () => {
		const elsewhere = new Played();
		await elsewhere.person();
		const server = new Played({
			rest: (request) => (request.url.startsWith('/v1/inbox') ?
				[307, '', { location: `${elsewhere.url}/v1/inbox` }] : undefined),
		});
		const ann = await server.person();
		assert.equal((await ann.try(['inbox'])).code, EX.PROTOCOL);
		assert.equal(elsewhere.requests.length, 0);
	});

	it('what a server says in a problem cannot reach the terminal', async () => {
		const server = new Played({
			rest: (request) => (request.url.startsWith('/v1/inbox') ?
				[403, problem(403, 'forbidden', { detail: '\x1b[2J\x9b1mhidden\nnew line' })] : undefined),
		});
		const ann = await server.person();
		const done = await ann.try(['inbox']);
		assert.equal(done.code, EX.NOPERM);
		assert.match(done.err, /^twinbox: inbox: \\x1b\[2J\\x9b1mhidden\\nnew line; [^\n]+\n$/);
	});

	it('a token is in the header and in the hello, never in an address', async () => {
		const server = new Played({
			session(socket)
			{
				socket.welcome('E1');
				socket.say({ type: 'caught_up', seq: 0 });
			},
		});
		const ann = await server.person();
		await ann.run('inbox');
		await ann.run('tail', '--once');
		for (const one of server.requests) {
			assert.ok(!one.url.includes('tb_x'));
			assert.equal(one.headers.authorization, 'Bearer tb_x');
		}
		assert.equal(server.hellos[0].token, 'tb_x');
	});
});
