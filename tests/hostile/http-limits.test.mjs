// SPDX-License-Identifier: MIT
//
// Too many connections: in all, from one address, and more than there are file
// descriptors.  A connection above the limit is refused with a reason.  Those
// that are open are served, and when there is room again, new ones are.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, describe, it } from 'node:test';

import { checkProblem } from './http-expect.mjs';
import { Counters, RawSocket, closeAll, untilClosed } from './raw.mjs';
import { Server, eventually, expectStatus, killAll, sleep, startServer } from '../e2e/harness.mjs';

const ASK = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
after(closeAll);
after(killAll);

/** Makes a request on ${socket}.  Returns the answer. */
async function ask(socket)
{
	socket.forget();
	return (await socket.send(ASK).answers(1))[0];
}

/** Opens ${n} connections, each of which was served and stays open. */
async function held(server, n, options)
{
	const sockets = [];

	for (let i = 0; i < n; i++) {
		const socket = await RawSocket.open(server, options);
		assert.equal((await ask(socket)).status, 200, `connection ${i + 1}`);
		sockets.push(socket);
	}
	return sockets;
}

/**
 * Connects without sending anything.  Asserts that a complete refusal comes,
 * and then the end.
 */
async function turnedAway(server, status, code, options)
{
	const socket = await RawSocket.open(server, options);
	const [answer, more] = await socket.ended();

	socket.destroy();
	assert.equal(answer?.status, status);
	assert.equal(more, undefined);
	checkProblem(answer);
	assert.equal(answer.body.code, code);
	assert.equal(answer.headers.get('retry-after'), '1');
	assert.equal(answer.headers.get('connection'), 'close');
	return answer;
}

/** Connects again, as a good client does, until it is not refused any more. */
async function served(server, options)
{
	return eventually(async () => {
		const socket = await RawSocket.open(server, options);
		try {
			return (await ask(socket)).status === 200;
		} finally {
			socket.destroy();
		}
	}, 'a good client to be served', 20_000);
}

describe('a full table of connections', () => {
	const LIMIT = 20;
	let server;
	afterEach(() => server.stop());

	it('503 with Retry-After; who is in is served; room is used at once', async () => {
		server = await startServer({ args: ['--connection-limit', String(LIMIT)] });
		const counters = await new Counters(server).open();
		await counters.read();
		const sockets = await held(server, LIMIT - 1);
		for (let i = 0; i < 30; i++)
			await turnedAway(server, 503, 'busy');
		assert.equal((await ask(sockets[7])).status, 200);
		assert.equal((await counters.read()).http_turned_away_total, 30);
		sockets.pop().destroy();
		await served(server);
		await eventually(async () =>
			(await counters.read()).http_connections === LIMIT - 1, 'room for one');
		const [more] = await held(server, 1);
		await turnedAway(server, 503, 'busy');
		more.destroy();
		await served(server);
	});

	it('who holds it idle loses it at the idle deadline', async () => {
		server = await startServer({ args: ['--connection-limit', String(LIMIT),
			'--idle-deadline', '1s', '--request-deadline', '1s'] });
		const sockets = [];
		for (let i = 0; i < LIMIT; i++)
			sockets.push(await RawSocket.open(server));
		await served(server);
	});
});

describe('connections of one address', () => {
	const LIMIT = 10;
	const THERE = { localAddress: '127.0.0.2' };
	let server;
	afterEach(() => server.stop());

	it('429 for one too many, and only for that address', async () => {
		server = await startServer({ args: ['--connections-per-address', String(LIMIT)] });
		const counters = await new Counters(server).open();
		await counters.read();
		const sockets = await held(server, LIMIT, THERE);
		for (let i = 0; i < 30; i++)
			await turnedAway(server, 429, 'rate_limited', THERE);
		for (let i = 0; i < 30; i++)
			await served(server);
		assert.equal((await ask(sockets[3])).status, 200);
		assert.equal((await counters.read()).http_turned_away_total, 30);
		sockets.pop().destroy();
		await served(server, THERE);
	});

	it('those who never finish a request count too', async () => {
		server = await startServer({ args: ['--connections-per-address', String(LIMIT)] });
		for (let i = 0; i < LIMIT; i++)
			(await RawSocket.open(server, THERE)).send('GET /');
		await turnedAway(server, 429, 'rate_limited', THERE);
		await served(server);
	});

	it('loopback has no limit by itself', async () => {
		server = await startServer();
		await held(server, 300);
	});

	it('behind a proxy there is none', async () => {
		class Proxied extends Server {
			command()
			{
				return super.command().filter((word) => word !== '--demo');
			}
		}
		server = await new Proxied({ args: ['--behind-proxy', '127.0.0.0/8',
			'--connections-per-address', String(LIMIT)] }).start();
		await held(server, 5 * LIMIT);
	});
});

// ---- no descriptors --------------------------------------------------------

/**
 * Returns for each thread of ${pid}, in seconds, how long it ran and how long
 * it waited for a processor.  A thread that spins always does one of the two,
 * however busy the machine is.
 */
function runs(pid)
{
	const threads = new Map();

	for (const task of fs.readdirSync(`/proc/${pid}/task`)) {
		const read = (file) => fs.readFileSync(`/proc/${pid}/task/${task}/${file}`, 'utf8').trim();
		const [ran, waited] = read('schedstat').split(' ').map((ns) => Number(ns) / 1e9);
		threads.set(`${read('comm')} ${task}`, { ran, waited });
	}
	return threads;
}

const lines = (server) => server.output().split('\n').length;

describe('no descriptors', () => {
	it('nothing spins, the log stays small, and all is well afterwards', async (t) => {
		const server = await startServer({ wrapper: ['prlimit', '--nofile=120:120'] });
		const rest = server.rest();
		expectStatus(await rest.get('/healthz'), 200);
		const [inside] = await held(server, 1);
		const used = fs.readdirSync(`/proc/${server.pid}/fd`).length;
		const sockets = [];
		for (let i = used; i < 120 + 200; i++)
			sockets.push(await RawSocket.open(server));
		await eventually(() => sockets.some((socket) => socket.closed), 'one to be shed');
		assert.match(server.output(), /front\.accept why="?no descriptors/);

		// Meanwhile more clients try to connect, for three seconds.
		const before = { runs: runs(server.pid), lines: lines(server), at: Date.now() };
		for (let i = 0; i < 60; i++) {
			sockets.push(new RawSocket(server));
			await sleep(50);
			// Clients that are connected are served.
			if (i % 6 === 0)
				assert.equal((await ask(inside)).status, 200);
		}
		const seconds = (Date.now() - before.at) / 1000;
		const threads = [...runs(server.pid)].map(([name, now]) => {
			const was = before.runs.get(name) ?? { ran: 0, waited: 0 };
			const ran = (now.ran - was.ran) / seconds;
			return { name, ran, runnable: ran + (now.waited - was.waited) / seconds };
		}).sort((a, b) => b.runnable - a.runnable);
		assert.ok(threads.some(({ name }) => /^front /.test(name)) && threads.length > 8);
		const percent = (share) => `${(share * 100).toFixed(0)} %`;
		const [busiest] = threads;
		const told = `${busiest.name} ran ${percent(busiest.ran)} of the time and ` +
			`wanted to ${percent(busiest.runnable)}`;
		const said = lines(server) - before.lines;
		t.diagnostic(`${sockets.length} connections to ${120 - used} descriptors: ` +
			`of ${threads.length} threads ${told}, ${said} lines in ${seconds.toFixed(1)} s`);
		assert.ok(!threads.some(({ ran, runnable }) => ran > 0.5 || ran > 0.05 && runnable > 0.8),
			`it spins: ${told}`);
		assert.ok(said <= 5 * seconds + 5, `${said} lines in ${seconds} s`);

		for (const socket of [inside, ...sockets])
			socket.destroy();
		await served(server);
		const { code } = await server.stop();
		assert.equal(code, 0);
	});
});

describe('refusals past the library', () => {
	it('are counted each time, also where there is no other connection', async () => {
		const server = await startServer();
		const counters = await new Counters(server).open();
		const refused = async () => (await counters.read()).http_refused_total;

		for (let i = 0; i < 4; i++) {
			const was = await refused();
			const [answer] = await untilClosed(server,
				`GET /healthz\0?${'&'.repeat(2000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
			assert.equal(answer.status, 431);
			await eventually(async () => await refused() === was + 1, `refusal ${i + 1}`);
		}
		counters.close();
		await server.stop();
	});
});
