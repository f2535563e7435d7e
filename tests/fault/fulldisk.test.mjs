// SPDX-License-Identifier: MIT
//
// Resources outside the program that run out: the disk, at any moment and at
// the start; file descriptors; the reader of the log.  In each case the server
// refuses with the correct problem or goes on, never ends by a signal, never
// spins, and recovers without a restart when there is room again.
//
// shortage.mjs has the small disk and the measurements.  Where no mount
// namespace can be made, the tests of the disk are skipped and say why.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, it } from 'node:test';

import {
	Server, User, eventually, expectStatus, freshName, killAll, register, removeDir, sleep,
	tempDir, users, uuid7, within,
} from '../e2e/harness.mjs';
import { History, check, viewOf } from './crash-checker.mjs';
import { copyData, dropData } from './crash-scenario.mjs';
import {
	KIB, MIB, PAGE, SmallDisk, lines, noDisk, quiet,
} from './shortage.mjs';

// ---- F11 -------------------------------------------------------------------

/** A record of the sends: which were accepted and which were refused. */
class Ledger {
	constructor()
	{
		this.history = new History();
		this.refused = [];
		this.accepted = 0;
		this.refusals = 0;
	}

	/**
	 * Sends ${message}.  The answer must be 201 or a correct 507.  Returns
	 * true if it was accepted.
	 */
	async send(user, client, message)
	{
		const start = this.history.clock++;
		const answer = expectStatus(await this.ask(user, message), 201, 507);

		if (answer.status === 201) {
			// The checker's history gets only accepted messages: a
			// refused one must leave no trace.
			const call = this.history.invoke({ client, from: user.name, ...message });
			call.start = start;
			this.history.accepted(call, answer.body);
			this.accepted++;
			return true;
		}
		isNoRoom(answer);
		this.refused.push({ user, message });
		this.refusals++;
		return false;
	}

	async ask(user, message)
	{
		try {
			return await user.post('/v1/messages', message);
		} catch (error) {
			await sleep(500);
			if (user.server.running)
				throw error;
			const { code, signal, err } = user.server.last;
			throw new Error(`the server ended: code ${code} signal ${signal}\n` +
				err.split('\n').slice(-4).join('\n'));
		}
	}

	/**
	 * Repeats every second refused send.  Each must be accepted now, for
	 * the first time.
	 */
	async repeat()
	{
		const again = this.refused.filter((_one, i) => i % 2 === 0);

		this.refused = this.refused.filter((_one, i) => i % 2 === 1);
		for (const { user, message } of again) {
			assert.ok(await this.send(user, `${user.name} again`, message),
				'there is room, and it is refused');
		}
		return again.length;
	}
}

/**
 * Asserts that the answer is the refusal of a full disk as the contract
 * describes it.
 */
function isNoRoom({ headers, body })
{
	assert.match(headers.get('content-type'), /^application\/problem\+json/);
	assert.equal(body.type, '/problems/storage-full');
	assert.equal(body.code, 'storage_full');
	assert.equal(body.status, 507);
	assert.match(body.detail, /full/);
	if (headers.has('retry-after'))
		assert.match(headers.get('retry-after'), /^[1-9][0-9]*$/);
}

const PRESS = 'a few users fill the disk';

/**
 * Several clients send until ${refusals} messages were refused, or ${most} were
 * sent.
 */
async function press(ledger, all, { refusals = Infinity, most, bytes = 2000 })
{
	const until = ledger.refusals + refusals;
	let sent = 0;

	await Promise.all([0, 1, 2, 3, 4, 5].map(async (n) => {
		const user = all[n % all.length];
		const to = all[(n + 1) % all.length].name;
		while (sent < most && ledger.refusals < until) {
			sent++;
			await ledger.send(user, `client ${n}`,
				{ id: uuid7(), to, body: `${n} ${sent} ${'x'.repeat(bytes)}` });
		}
	}));
	if (refusals < Infinity)
		assert.ok(ledger.refusals >= until, `${sent} were sent, and the disk is not full`);
}

/** Asserts that all read requests still succeed. */
async function readsWork(user)
{
	for (const target of ['/v1/inbox?after=0&limit=50', '/v1/inbox/unread', '/v1/outbox?limit=20',
		'/v1/conversations', '/healthz', '/metrics'])
		expectStatus(await user.get(target), 200);
}

/** Waits until every accepted message is delivered. */
async function delivered(ledger, all)
{
	for (const user of all) {
		const due = ledger.history.calls.filter((call) => call.to === user.name)
			.map((call) => call.id);
		await eventually(async () => {
			const there = new Set((await user.inbox()).events.map((event) => event.id));
			return due.every((id) => there.has(id));
		}, `all ${due.length} messages in the inbox of ${user.name}`, 30_000);
	}
}

/**
 * Asserts that the inboxes and outboxes contain each accepted message once, in
 * order, and nothing else.
 */
async function prove(ledger, all)
{
	const views = new Map();

	await delivered(ledger, all);
	for (const user of all)
		views.set(user.name, await viewOf(user));
	const { violations, counts } = check(ledger.history, views);
	assert.deepEqual(violations, []);
	assert.equal(counts.accepted, ledger.accepted);
	for (const { message } of ledger.refused) {
		for (const [name, view] of views) {
			assert.ok(!view.rest.some((event) => event.id === message.id),
				`${message.id} was refused, and is in the inbox of ${name}`);
		}
	}
	return `${counts.accepted} accepted and once there, ${ledger.refusals} refused with 507`;
}

/**
 * Asserts that a server which reads the log in ${data} anew finds none of the
 * refused messages.
 */
async function refusedStays(data, ledger, all)
{
	const server = new Server({ data });

	await server.start();
	for (const user of all) {
		const { events } = await new User(server, user.name, user.token, 'first').inbox();
		const there = ledger.refused.filter(({ message }) =>
			events.some((event) => event.id === message.id));
		assert.deepEqual(there.map(({ message }) => message.id), [],
			`refused, and in the inbox of ${user.name} after a kill`);
	}
	await server.kill();
	dropData(data);
	return 'nothing of what was refused is there';
}

after(killAll);

it('F11 a full disk: 507, reads go on, accepted again when there is room',
	{ skip: noDisk }, async (t) => {
		const disk = await new SmallDisk(24 * MIB).make();
		const server = disk.server({ args: ['--checkpoint-size', '1MiB'], unlimited: PRESS });
		const ledger = new Ledger();

		await server.start();
		const { pid } = server;
		const all = await users(server, 'ann', 'bob', 'cyd');
		await press(ledger, all, { most: 200 });
		assert.equal(ledger.refusals, 0, 'refused, and there is room');

		disk.leave(2 * MIB);
		await press(ledger, all, { most: 20_000, refusals: 200 });
		disk.leave(0);
		await press(ledger, all, { most: 100, refusals: 20 });
		t.diagnostic(`${ledger.accepted} accepted, ${ledger.refusals} refused with 507`);
		assert.match((await all[0].get('/problems/storage-full')).text, /Repeat later with the same id/);
		for (const user of all)
			await readsWork(user);
		// Other writes are refused in the same way, or have found room.
		const acked = await all[0].post('/v1/inbox/ack', { upto: 1 });
		if (expectStatus(acked, 200, 507).status === 507)
			isNoRoom(acked);
		const login = await server.rest().post('/v1/users',
			{ name: freshName('dan'), password: 'correct horse battery' });
		if (expectStatus(login, 201, 507).status === 507)
			isNoRoom(login);
		t.diagnostic(`full and idle: ${await quiet(server, 1500, 20)}; ack ${acked.status}, ` +
			`registration ${login.status}`);

		disk.room();
		assert.ok(await ledger.send(all[0], 'first', { id: uuid7(), to: all[1].name, body: 'room' }),
			'there is room, and it is refused');
		const repeated = await ledger.repeat();
		const before = ledger.refusals;
		await press(ledger, all, { most: 300 });
		assert.equal(ledger.refusals, before, 'refused, and there is room');
		await delivered(ledger, all);
		assert.equal(server.pid, pid);
		t.diagnostic(`room again: ${repeated} refused ones repeated and accepted`);

		// The server is stopped and started while the disk is full.
		disk.leave(64 * KIB);
		await press(ledger, all, { most: 5000, refusals: 20 });
		assert.deepEqual(await server.stop(), { code: 0, signal: null });
		disk.leave(0);
		await startOrSay(server);
		await server.stop();
		disk.room();
		await server.start();
		t.diagnostic(await prove(ledger, all));
		await server.stop();
		await disk.end();
	});

it('F11 a disk that is full when the index of the log has to grow',
	{ skip: noDisk }, async (t) => {
		const disk = await new SmallDisk(64 * MIB).make();
		const server = disk.server({ args: ['--checkpoint-size', '64MiB'], unlimited: PRESS });
		const ledger = new Ledger();
		// The number of frames of the log that one block of the index
		// covers gives the size at which the index must grow.
		const covered = (frames) => 32 + frames * (PAGE + 24);
		const log = () => disk.size('twinbox.db-wal');
		const index = () => disk.size('twinbox.db-shm');

		await server.start();
		const all = await users(server, 'ann', 'bob');
		for (let n = 0; log() < covered(3900) && n < 2000; n++)
			await press(ledger, all, { most: 6, bytes: 8000 });
		await delivered(ledger, all);
		assert.ok(log() < covered(4062), `the log is too large already: ${log()}`);
		const small = index();
		disk.leave(0);
		// The disk gets one page at a time, so that the log finds room
		// before the index does.
		let steps = 0;
		let torn;
		for (; index() === small && steps < 1000; steps++) {
			const message = { id: uuid7(), to: all[1].name, body: `${steps}` };
			const accepted = await ledger.send(all[0], 'one', message);
			expectStatus(await all[1].get('/v1/inbox?after=0'), 200);
			if (!accepted && log() > covered(4063)) {
				if (torn)
					dropData(torn);
				torn = copyData(disk.file());
			}
			disk.give(PAGE);
		}
		assert.ok(index() > small, 'the index never had to grow');
		t.diagnostic(`${steps} steps of a page: ${ledger.refusals} refused with 507`);
		if (torn)
			t.diagnostic(`a kill after a refusal: ${await refusedStays(torn, ledger, all)}`);
		disk.room();
		await ledger.repeat();
		await delivered(ledger, all);
		await server.kill();
		await server.start();
		t.diagnostic(await prove(ledger, all));
		assert.deepEqual(await server.stop(), { code: 0, signal: null });
		await disk.end();
	});

// ---- F12 -------------------------------------------------------------------

/**
 * Starts ${server}, possibly without room on the disk.  Returns true if it
 * serves.  Otherwise it must have ended by itself with EX_TEMPFAIL, after which
 * a service manager restarts a service, and with one line for people that says
 * what to do.
 */
async function startOrSay(server)
{
	const child = server.spawn();
	const listens = new Promise((resolve) => {
		child.on('twinbox-output', () => {
			const found = /^listening: (http:\/\/\S+)$/m.exec(child.out);
			if (found)
				resolve(found[1]);
		});
	});
	const url = await within(Promise.race([listens, child.exited.then(() => null)]), 15_000,
		'a start with a full disk comes to something');

	if (url) {
		server.url = url;
		expectStatus(await server.rest().get('/readyz'), 200);
		return true;
	}
	const { code, signal, err } = server.last;
	assert.equal(signal, null, `ended by ${signal}\n${err}`);
	assert.equal(code, 75, err);
	const said = err.split('\n').filter((line) => line.startsWith('twinboxd: '));
	assert.equal(said.length, 1, err);
	assert.match(said[0], /free room on the disk of the database/);
	assert.ok(lines(err) < 20, err);
	return false;
}

/**
 * Makes data directories with messages in them, after a stop, after a kill, and
 * after a power failure.
 */
async function madeData()
{
	const server = new Server({ unlimited: PRESS });
	const ledger = new Ledger();

	await server.start();
	const all = await users(server, 'ann', 'bob');
	await press(ledger, all, { most: 30, bytes: 500 });
	await delivered(ledger, all);
	await server.kill();
	const made = { ledger, all, killed: copyData(server.data), cut: copyData(server.data) };
	fs.rmSync(path.join(made.cut, 'twinbox.db-shm'));
	await server.start();
	await server.stop();
	made.stopped = copyData(server.data);
	return made;
}

it('F12 a start without room for the log and its index: a clear end, then a start',
	{ skip: noDisk }, async (t) => {
		const made = await madeData();
		const disk = await new SmallDisk(8 * MIB).make();
		const server = disk.server();
		const ends = {};
		let served = 0;
		let refused = 0;

		made.all = made.all.map((user) => new User(server, user.name, user.token, 'first'));
		for (const state of ['stopped', 'killed', 'cut', 'fresh']) {
			// An empty directory needs more room, because the
			// schema is written, too.
			const most = state === 'fresh' ? 512 * KIB : 64 * KIB;
			for (let free = 0; free <= most; free += state === 'fresh' ? 64 * KIB : PAGE) {
				disk.load(made[state]);
				disk.leave(free);
				if (await startOrSay(server)) {
					served++;
					await server.kill();
				} else {
					refused++;
					const end = `${server.last.code}: ` + server.last.err.trim().split('\n').at(-1)
						.replace(/\S*\/twinbox-fault-\w+\/\S*/, 'FILE');
					ends[end] = (ends[end] ?? 0) + 1;
				}
				disk.room();
				if (free % (16 * KIB) !== 0)
					continue;
				await server.start();
				if (state !== 'fresh')
					await prove(made.ledger, made.all);
				await server.kill();
			}
		}
		t.diagnostic(`${refused} starts ended with a message, ${served} had enough room`);
		for (const [end, n] of Object.entries(ends))
			t.diagnostic(`${n} × ${end}`);
		assert.ok(refused > 10, 'there was room for nearly all');
		await disk.end();
		for (const state of ['stopped', 'killed', 'cut'])
			dropData(made[state]);
	});

// ---- F14 -------------------------------------------------------------------

/** ${n} clients that hold a connection and reconnect when they lose it. */
class Crowd {
	constructor(server, n)
	{
		const { hostname, port } = new URL(server.url);

		this.where = { host: hostname, port: Number(port) };
		this.sockets = new Set();
		this.lost = 0;
		for (let i = 0; i < n; i++)
			this.come(i);
	}

	come(i)
	{
		if (this.over)
			return;
		const socket = net.connect(this.where);
		this.sockets.add(socket);
		// Half of the clients only connect; the others make a request
		// and stay connected.
		if (i % 2 === 0)
			socket.write('GET /healthz HTTP/1.1\r\nHost: crowd\r\n\r\n');
		socket.resume();
		socket.on('error', () => {});
		socket.on('close', () => {
			this.sockets.delete(socket);
			this.lost++;
			setTimeout(() => this.come(i), 100);
		});
	}

	leave()
	{
		this.over = true;
		for (const socket of this.sockets)
			socket.destroy();
	}
}

it('F14 no descriptors left: no spinning, no storm in the log, served when clients leave',
	async (t) => {
		const limit = 64;
		const server = new Server({ wrapper: ['prlimit', `--nofile=${limit}:${limit}`] });
		const open = () => fs.readdirSync(`/proc/${server.pid}/fd`).length;

		await server.start();
		const ours = open();
		assert.ok(ours < limit - 10, `${ours} descriptors without a client`);
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws();
		const crowd = new Crowd(server, 2 * limit);
		try {
			await eventually(() => open() >= limit - 2 && /front\.accept/.test(server.output()),
				`${limit} descriptors are open`);
			t.diagnostic(`${limit} descriptors (${ours} its own), ` +
				`${2 * limit} clients: ${await quiet(server, 2000, 5)}`);
			assert.ok(crowd.lost > 0, 'nobody was turned away');
			// Clients that are connected are served.
			const sent = await ws.request({ type: 'send',
				message: { id: uuid7(), to: bob.name, body: 'in the crowd' } });
			assert.equal(sent.type, 'sent', JSON.stringify(sent));
		} finally {
			crowd.leave();
		}
		const cyd = await eventually(() => register(server, freshName('cyd')), 'a new client');
		await cyd.send(bob.name, 'after the crowd');
		assert.equal((await bob.inbox()).events.filter((event) => event.kind === 'message').length, 2);
		await ws.close();
		assert.deepEqual(await server.stop(), { code: 0, signal: null });
		t.diagnostic(`${crowd.lost} connections were closed, ` +
			`${lines(server.output())} lines in the log of all`);
	});

// ---- F15 -------------------------------------------------------------------

/**
 * Makes ${n} requests over one connection, many at a time.  All must be
 * answered.
 */
async function flood(server, n)
{
	const { hostname, port } = new URL(server.url);
	const socket = net.connect({ host: hostname, port: Number(port) });
	const ask = `GET /problems/${'no-such-problem-'.repeat(15)} HTTP/1.1\r\nHost: flood\r\n\r\n`;
	const wanted = Buffer.from('HTTP/1.1 404');
	let rest = Buffer.alloc(0);
	let answers = 0;
	let ended;

	socket.on('error', (error) => {
		ended = error;
	});
	socket.on('close', () => {
		ended ??= new Error('the connection was closed');
	});
	socket.on('data', (data) => {
		rest = Buffer.concat([rest, data]);
		for (let at = rest.indexOf(wanted); at >= 0; at = rest.indexOf(wanted)) {
			answers++;
			rest = rest.subarray(at + wanted.length);
		}
		rest = rest.subarray(Math.max(0, rest.length - wanted.length + 1));
	});
	for (let asked = 0; asked < n; asked += 50) {
		socket.write(ask.repeat(50));
		await eventually(() => {
			if (answers < asked + 50 && ended)
				throw Object.assign(ended, { final: true });
			return answers >= asked + 50;
		}, `the answers to ${asked + 50} requests (${answers} came)`);
	}
	socket.destroy();
	return answers;
}

/** Makes standard error a pipe that the test reads when it wants to. */
function pipeLog()
{
	const fifo = path.join(tempDir('twinbox-fault-'), 'log');

	assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
	// The pipe is opened for reading and writing, so that no side waits for
	// the other.
	const fd = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
	const piece = Buffer.alloc(64 * KIB);
	return {
		wrapper: ['sh', '-c', 'log=$1; shift; exec "$@" 2>"$log"', 'sh', fifo],
		unread: () => {},
		read: () => {
			let text = '';
			try {
				for (let n = 1; n > 0;) {
					n = fs.readSync(fd, piece);
					text += piece.toString('latin1', 0, n);
				}
			} catch (error) {
				if (error.code !== 'EAGAIN')
					throw error;
			}
			return text;
		},
		end: () => {
			fs.closeSync(fd);
			removeDir(path.dirname(fifo));
		},
	};
}

/** Does the same with a socket, which is what node gives its children. */
function socketLog(server)
{
	let at = 0;

	return {
		unread: () => {
			server.child.stderr.pause();
			at = server.child.err.length;
		},
		read: () => {
			const { child } = server;
			const text = child.err.slice(at);
			at = child.err.length;
			child.stderr.resume();
			return text;
		},
		end: () => {},
	};
}

const REQUESTS = 6000; // more lines than the log's ring buffer and any pipe can hold

for (const kind of ['pipe', 'socket']) {
	it(`F15 a log that nobody reads (a ${kind}) holds up nobody, and reports what it dropped`,
		async (t) => {
			const server = new Server({ args: ['--log-level', 'debug'] });
			const log = kind === 'pipe' ? pipeLog() : socketLog(server);
			let text = '';

			server.wrapper = log.wrapper ?? [];
			await server.start();
			const [ann, bob] = await users(server, 'ann', 'bob');
			log.read();
			log.unread();
			const answered = await flood(server, REQUESTS);
			await ann.send(bob.name, 'unheard');
			await eventually(async () => (await bob.inbox()).events.length > 0, 'the message');

			// Now the log is read: the lines that were written are
			// complete, and the others are counted.
			const dropped = () => [...text.matchAll(/ log\.dropped .*?\bn=(\d+) total=(\d+)/g)];
			const logged = () => (text.match(/ path=\/problems\/no-such-problem/g) ?? []).length;
			await eventually(() => {
				text += log.read();
				return dropped().length > 0 &&
					logged() + Number(dropped().at(-1)[2]) >= answered;
			}, 'the lines and the count of the dropped ones').catch((error) => {
				throw new Error(`${error.message}: ${logged()} lines, dropped ` +
					JSON.stringify(dropped().map((found) => found[0])));
			});
			const sum = dropped().reduce((n, found) => n + Number(found[1]), 0);
			assert.equal(sum, Number(dropped().at(-1)[2]));
			for (const line of text.split('\n').slice(1, -1))
				assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z? (debug|info|warn|error) +[\w.]+/i);
			t.diagnostic(`${answered} requests answered; ${logged()} lines of them, ` +
				`${sum} dropped and reported in ${dropped().length} lines`);

			// No one reads the log, and the server is asked to
			// stop.
			log.unread();
			await flood(server, REQUESTS);
			const { child } = server;
			const gone = new Promise((resolve) => {
				child.on('exit', (code, signal) => resolve({ code, signal }));
			});
			const began = Date.now();
			child.kill('SIGTERM');
			assert.deepEqual(await within(gone, 8000, 'the end on SIGTERM'),
				{ code: 0, signal: null });
			t.diagnostic(`SIGTERM with the log unread: ended after ${Date.now() - began} ms`);
			log.read();
			await child.exited;
			log.end();
		});
}
