// SPDX-License-Identifier: MIT
//
// Two real servers, a.example and b.example, that deliver to each other over
// loopback.  Each keeps its port over all its lives, since the other one has it
// in its settings.
//
//	const pair = await startPair(t);
//	const [alice] = await users(pair.a, 'alice');
//	const [bob] = await users(pair.b, 'bob');
//	const { id } = await alice.send(address(bob), 'hello');
//	await bob.received(id);
//
// b may be several nodes on one database of PostgreSQL: then pair.b is the first
// of pair.nodes, and a reaches all of them through pair.front.

import assert from 'node:assert/strict';
import net from 'node:net';

import { dataArgs } from './backend.mjs';
import { assertSound } from './fsck.mjs';
import { Server, flaky, run, scaledTimes, sleep, within } from './harness.mjs';
import { freePort } from './harness/port.mjs';

/* So often are other ports tried, when somebody else has taken one. */
const TRIES = 5;

/**
 * Environment in which what waits after an outage is tried again soon; ${more}:
 * other times that are shorter (TWINBOX_TIME_SCALE).  On the release build all times
 * are those of users.
 */
export function hasty(...more)
{
	const { TWINBOX_TIME_SCALE } = scaledTimes('breaker', 10).env;

	return { TWINBOX_TIME_SCALE: TWINBOX_TIME_SCALE && [TWINBOX_TIME_SCALE, ...more].join(',') };
}

/** ${user} as people of other servers write it. */
export const address = (user) => `${user.name}@${user.server.domain}`;

/**
 * The arguments of a server that is called ${domain} and reached at ${url}.
 * ${peers}: the URL of each domain whose address is pinned.
 */
export function federationArgs({ domain, url, peers = {}, federation = 'open' })
{
	const pinned = Object.entries(peers).map((entry) => entry.join('=')).join(',');

	return ['--domain', domain, '--federation', federation, '--federation-url', url,
		...(pinned === '' ? [] : ['--federation-peer', pinned])];
}

/** A server with a domain, at a port of its own: 0 is one that the system chooses. */
export class Side extends Server {
	/** Options: those of Server, domain, port, url (where others reach it), peers,
	 *  federation. */
	constructor({ domain, port, url = `http://127.0.0.1:${port}`, peers, federation, args = [], env = {}, ...more })
	{
		super({ ...more, env: { ...hasty(), ...env },
			args: [...federationArgs({ domain, url, peers, federation }), ...args] });
		this.domain = domain;
		this.port = port;
	}

	/* A setting that is given twice is refused. */
	command()
	{
		return super.command().map((word) =>
			(word === '127.0.0.1:0' ? `127.0.0.1:${this.port}` : word));
	}

	/** What it tells other servers of itself. */
	async document()
	{
		const response = await fetch(`${this.url}/.well-known/twinbox`);

		assert.equal(response.status, 200, await response.clone().text());
		return response.json();
	}

	/** Runs `twinboxd ${args}` on its data, whether it runs or not: {code, text}. */
	async commandOf(...args)
	{
		const child = run(this.program, [...args, ...dataArgs(this.data, this.args), ...this.database()]);
		const { code } = await child.exited;

		return { code, text: child.out + child.err };
	}

	/** The --db that it was started with, if any. */
	database()
	{
		const at = this.args.indexOf('--db');

		return at < 0 ? [] : this.args.slice(at, at + 2);
	}
}

/** One address in front of several nodes: each connection goes to the next node
 *  that takes it.  What clients say is kept. */
export class Front {
	constructor(port)
	{
		this.port = port;
		this.url = `http://127.0.0.1:${port}`;
		this.nodes = [];
		this.turn = 0;
		this.sockets = new Set();
		this.served = new Map(); /* node -> connections */
		this.said = [];          /* by the client of each connection */
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

	/** Joins ${client} with the next node; ${left} of them may still be tried. */
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

	/** The bytes of the newest request that begins with ${head}. */
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

/** What ${make} gives; made again where a port was taken by somebody who was faster,
 *  after ${undo}. */
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

/** One started Side, which ends with ${t}; see there for the options. */
export async function startSide(t, options)
{
	let side;

	t.after(() => side?.running && side.stop());
	return withPorts(async () => {
		side = new Side({ port: await freePort(), ...options });
		return side.start();
	}, () => {});
}

/** Two servers, started; {a, b}, and with nodes {nodes, front}. */
export class Pair {
	/**
	 * Options: a, b: those of Side; args, env: of both.  b.nodes and b.db: so many
	 * nodes on the database of that URL.
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

	/** Both end; each with what stop() gives. */
	async stop(signal)
	{
		const ends = await Promise.all(this.all.map((server) => server.running && server.stop(signal)));

		await this.front?.close();
		this.front = undefined;
		return ends;
	}

	/** Neither has broken a promise. */
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

/** A pair for one test, which ends with it. */
export async function startPair(t, options)
{
	const pair = new Pair(options);

	t.after(() => pair.stop());
	return pair.start();
}

/** A pair for a file, as serverForFile(). */
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

/** What ${ask} gives, asked again as long as the server is away, busy, or asked too
 *  often. */
export async function surely(ask)
{
	for (;;) {
		try {
			const answer = await ask();
			if (answer.status !== 429 && answer.status !== 503)
				return answer;
		} catch (error) {
			/* What fetch throws when there is no answer. */
			if (!(error instanceof TypeError))
				throw error;
		}
		await sleep(20);
	}
}

/** Waits, whatever becomes of its server meanwhile, until the inbox of ${user} has
 *  ${n} events that ${wanted} likes; gives these. */
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

/** Whether an event is a message of ${from}, who is on another server. */
export const isFrom = (from) => (e) => e.kind === 'message' && e.from === address(from);

/**
 * All that ${to} gets of ${from}, who is on another server, is ${ids}: each once, in
 * this order.  What comes twice comes before the marker, which is sent when all
 * others are there.
 */
export async function arriveOnce(from, to, ids, options)
{
	await gathers(to, isFrom(from), ids.length, { what: `${ids.length} messages`, ...options });
	const marker = await from.send(address(to), 'the marker');
	const events = await gathers(to, isFrom(from), ids.length + 1, { what: 'the marker', ...options });

	assert.deepEqual(events.map((e) => e.id), [...ids, marker.id]);
	return events;
}

/** Waits until all ${ids} of ${user} are in ${state}, in which they stay. */
export async function allAre(user, ids, state)
{
	for (const id of ids)
		await user.entryWhen(id, (e) => e.state === state, `is ${state}`);
}
