// SPDX-License-Identifier: MIT
//
// Two real servers, a.example and b.example, that deliver to each other over
// loopback.  Each keeps its port over all its starts, because the other one has
// it in its settings.
//
//	const pair = await startPair(t);
//	const [alice] = await users(pair.a, 'alice');
//	const [bob] = await users(pair.b, 'bob');
//	const { id } = await alice.send(address(bob), 'hello');
//	await bob.received(id);
//
// b may be several nodes on one PostgreSQL database.  Then pair.b is the first
// of pair.nodes, and a reaches all of them through pair.front.

import assert from 'node:assert/strict';
import net from 'node:net';

import { dataArgs } from './backend.mjs';
import { assertSound } from './fsck.mjs';
import { Server, flaky, run, scaledTimes, sleep, within } from './harness.mjs';
import { freePort } from './harness/port.mjs';

/* How many sets of ports are tried if other programs have taken some. */
const TRIES = 5;

/**
 * Returns an environment in which messages that wait after an outage are tried
 * again soon.  ${more}: other times that are shorter (TWINBOX_TIME_SCALE).  On
 * the release build all times are those of users.
 */
export function hasty(...more)
{
	const { TWINBOX_TIME_SCALE } = scaledTimes('breaker', 10).env;

	return { TWINBOX_TIME_SCALE: TWINBOX_TIME_SCALE && [TWINBOX_TIME_SCALE, ...more].join(',') };
}

/** Returns the address of ${user} as users of other servers write it. */
export const address = (user) => `${user.name}@${user.server.domain}`;

/**
 * Returns the arguments of a server that is called ${domain} and reached at
 * ${url}.  ${peers} maps the domain of each pinned peer to its URL.
 */
export function federationArgs({ domain, url, peers = {}, federation = 'open' })
{
	const pinned = Object.entries(peers).map((entry) => entry.join('=')).join(',');

	return ['--domain', domain, '--federation', federation, '--federation-url', url,
		...(pinned === '' ? [] : ['--federation-peer', pinned])];
}

/** A server with a domain at a fixed port.  Port 0: the system chooses one. */
export class Side extends Server {
	/**
	 * Options: those of Server, and domain, port, url (where others reach
	 * the server), peers, federation.
	 */
	constructor({ domain, port, url = `http://127.0.0.1:${port}`, peers, federation, args = [], env = {}, ...more })
	{
		super({ ...more, env: { ...hasty(), ...env },
			args: [...federationArgs({ domain, url, peers, federation }), ...args] });
		this.domain = domain;
		this.port = port;
	}

	/*
	 * twinboxd refuses a setting that is given twice, so the port replaces
	 * the default.
	 */
	command()
	{
		return super.command().map((word) =>
			(word === '127.0.0.1:0' ? `127.0.0.1:${this.port}` : word));
	}

	/** Returns the document that the server publishes for other servers. */
	async document()
	{
		const response = await fetch(`${this.url}/.well-known/twinbox`);

		assert.equal(response.status, 200, await response.clone().text());
		return response.json();
	}

	/**
	 * Runs `twinboxd ${args}` on the server's data, whether the server runs
	 * or not.  Returns {code, text}.
	 */
	async commandOf(...args)
	{
		const child = run(this.program, [...args, ...dataArgs(this.data, this.args), ...this.database()]);
		const { code } = await child.exited;

		return { code, text: child.out + child.err };
	}

	/** Returns the --db that the server was started with, if any. */
	database()
	{
		const at = this.args.indexOf('--db');

		return at < 0 ? [] : this.args.slice(at, at + 2);
	}
}

/**
 * One address in front of several nodes.  Each new connection goes to the next
 * node that accepts it.  The bytes of the clients are recorded.
 */
export class Front {
	constructor(port)
	{
		this.port = port;
		this.url = `http://127.0.0.1:${port}`;
		this.nodes = [];
		this.turn = 0;
		this.sockets = new Set();
		this.served = new Map(); /* node -> connections */
		this.said = [];          /* the bytes of each connection's client */
	}

	async listen()
	{
		this.listener = net.createServer((client) => {
			client.on('error', () => {});
			this.connect(client, this.nodes.length);
		});
		await new Promise((resolve, reject) => {
			this.listener.once('error', reject);
			this.listener.listen(this.port, '127.0.0.1', resolve);
		});
	}

	/**
	 * Connects ${client} to the next node that accepts it; at most ${left}
	 * nodes are still tried.
	 */
	connect(client, left)
	{
		const node = this.nodes[this.turn++ % this.nodes.length];

		if (left === 0 || client.destroyed) {
			client.destroy();
			return;
		}
		if (!node.url) {
			this.connect(client, left - 1);
			return;
		}
		const server = net.connect(Number(new URL(node.url).port), '127.0.0.1');
		let joined = false;

		server.on('connect', () => {
			joined = true;
			this.served.set(node, (this.served.get(node) ?? 0) + 1);
			for (const socket of [client, server])
				this.sockets.add(socket);
			const said = [];
			this.said.push(said);
			client.on('data', (data) => said.push(data));
			client.pipe(server);
			server.pipe(client);
		});
		server.on('error', () => {
			if (joined)
				client.destroy();
			else
				this.connect(client, left - 1);
		});
		server.on('close', () => {
			this.sockets.delete(server);
			if (joined)
				client.destroy();
		});
		client.on('close', () => {
			this.sockets.delete(client);
			server.destroy();
		});
	}

	/** Returns the bytes of the newest request that begins with ${head}. */
	newest(head)
	{
		for (const said of [...this.said].reverse()) {
			const bytes = Buffer.concat(said);
			const at = bytes.lastIndexOf(head);
			if (at >= 0)
				return bytes.subarray(at);
		}
		return undefined;
	}

	async close()
	{
		for (const socket of [...this.sockets])
			socket.destroy();
		await new Promise((resolve) => { this.listener.close(resolve); });
	}
}

/**
 * Returns the result of ${make}.  If another program was faster and took a
 * port, runs ${undo} and calls ${make} again.
 */
async function withPorts(make, undo)
{
	for (let tries = 1; ; tries++) {
		try {
			return await make();
		} catch (error) {
			await undo();
			if (tries === TRIES || !/in use|EADDRINUSE/.test(`${error.message}${error.code}`))
				throw error;
			flaky('a port was taken before a server had it');
		}
	}
}

/**
 * Starts one Side, which is stopped at the end of ${t}.  See Side for the
 * options.
 */
export async function startSide(t, options)
{
	let side;

	t.after(() => side?.running && side.stop());
	return withPorts(async () => {
		side = new Side({ port: await freePort(), ...options });
		return side.start();
	}, () => {});
}

/** Two servers: {a, b}.  If b has several nodes, also {nodes, front}. */
export class Pair {
	/**
	 * Options: a and b are those of Side; args and env are for both.
	 * b.nodes and b.db: the number of nodes, and the URL of their database.
	 */
	constructor({ a = {}, b = {}, args = [], env = {} } = {})
	{
		this.nodes = [];
		this.options = [a, b].map((one) => ({ ...one,
			args: [...args, ...one.args ?? []], env: { ...env, ...one.env } }));
	}

	get all()
	{
		return [this.a, ...this.nodes].filter(Boolean);
	}

	async make()
	{
		const [a, { nodes = 1, db, ...b }] = this.options;
		const [port_a, port_b] = [await freePort(), await freePort()];
		const url = [port_a, port_b].map((port) => `http://127.0.0.1:${port}`);

		this.a = new Side({ domain: 'a.example', port: port_a, peers: { 'b.example': url[1] }, ...a });
		if (db === undefined) {
			this.nodes = [new Side({ domain: 'b.example', port: port_b, peers: { 'a.example': url[0] }, ...b })];
		} else {
			this.front = new Front(port_b);
			this.nodes = Array.from({ length: nodes }, () => new Side({ domain: 'b.example', port: 0,
				url: url[1], peers: { 'a.example': url[0] }, ...b, args: [...b.args, '--db', db] }));
			this.front.nodes = this.nodes;
			await this.front.listen();
		}
		[this.b] = this.nodes;
		for (const server of this.all)
			await server.start();
		return this;
	}

	start()
	{
		return withPorts(() => this.make(), () => this.stop('SIGKILL'));
	}

	/** Stops both servers.  Returns the results of stop(). */
	async stop(signal)
	{
		const ends = await Promise.all(this.all.map((server) => server.running && server.stop(signal)));

		await this.front?.close();
		this.front = undefined;
		return ends;
	}

	/** Asserts that fsck finds no violation on either server. */
	async sound()
	{
		await assertSound(this.a);
		if (this.options[1].db === undefined) {
			await assertSound(this.b);
			return;
		}
		const { code, text } = await this.b.commandOf('fsck');
		assert.equal(code, 0, text);
	}

	output()
	{
		return this.all.map((server) =>
			`---- log of ${server.domain} ----\n${server.output()}\n`).join('');
	}
}

/** Starts a pair for one test, and stops it at the end of the test. */
export async function startPair(t, options)
{
	const pair = new Pair(options);

	t.after(() => pair.stop());
	return pair.start();
}

/** Starts a pair for a file, like serverForFile(). */
export function pairForFile(hooks, options)
{
	const pair = new Pair(options);
	let failed = false;

	hooks.before(() => pair.start());
	hooks.afterEach?.((context) => {
		failed ||= context?.passed === false;
	});
	hooks.after(async () => {
		const ends = await pair.stop();
		if (failed)
			process.stderr.write(pair.output());
		for (const end of ends)
			assert.ok(!end || end.code === 0, `a server ended with ${JSON.stringify(end)}\n${pair.output()}`);
	});
	return pair;
}

// ---- what arrives --------------------------------------------------------------

/**
 * Returns the answer of ${ask}.  Repeats it as long as the server is down or
 * busy, or the rate limit refuses it.
 */
export async function surely(ask)
{
	for (;;) {
		try {
			const answer = await ask();
			if (answer.status !== 429 && answer.status !== 503)
				return answer;
		} catch (error) {
			/* fetch throws a TypeError if there is no answer. */
			if (!(error instanceof TypeError))
				throw error;
		}
		await sleep(20);
	}
}

/**
 * Waits until the inbox of ${user} has ${n} events for which ${wanted} returns
 * true.  Returns these events.  The server may go down and come back meanwhile.
 */
export async function gathers(user, wanted, n, { ms = 60_000, what = `${n} events` } = {})
{
	const found = [];
	let cursor = 0;
	let over = false;
	const gather = async () => {
		while (!over && found.length < n) {
			const { status, body, text } = await surely(() =>
				user.get(`/v1/inbox?after=${cursor}&limit=200&wait=5`));
			assert.equal(status, 200, text);
			cursor = body.next;
			found.push(...body.events.filter(wanted));
		}
	};

	try {
		await within(gather(), ms, () => `${what} in the inbox of ${user.name}, which has ${found.length}`);
	} finally {
		over = true;
	}
	return found;
}

/**
 * Returns a function that returns true for a message of ${from}, a user of
 * another server.
 */
export const isFrom = (from) => (e) => e.kind === 'message' && e.from === address(from);

/**
 * Asserts that ${to} receives exactly ${ids} from ${from}, a user of another
 * server: each message once and in this order.  The marker is sent when all
 * others are there, so a duplicate would arrive before the marker.
 */
export async function arriveOnce(from, to, ids, options)
{
	await gathers(to, isFrom(from), ids.length, { what: `${ids.length} messages`, ...options });
	const marker = await from.send(address(to), 'the marker');
	const events = await gathers(to, isFrom(from), ids.length + 1, { what: 'the marker', ...options });

	assert.deepEqual(events.map((e) => e.id), [...ids, marker.id]);
	return events;
}

/**
 * Waits until all messages ${ids} of ${user} are in ${state}, a final state.
 */
export async function allAre(user, ids, state)
{
	for (const id of ids)
		await user.entryWhen(id, (e) => e.state === state, `is ${state}`);
}
