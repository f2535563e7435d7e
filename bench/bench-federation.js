#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// make bench-federation: servers on this machine that deliver to each other
// over loopback.  README.md beside this file explains each figure.
//
//	bench/bench-federation.js [--build DIR] [--server FILE] [--against FILE]
//
// FILE is a twinboxd. --against names a second one, which may be older; its
// memory is measured as well.
'use strict';

const { execFileSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const lib = require('./bench-lib.js');
const { BadPeers, DelayProxy, DOCUMENT, Strangers } =
    require('./federation-net.js');
const { figures } = require('./federation-figures.js');

const TOP = path.resolve(__dirname, '..');
const GROUPS = ['oneway', 'rtt', 'outage', 'bad', 'memory'];
const NAMES = ['a', 'b', 'c'];
const PAIRS = 64;
const PILERS = 100;
const USERS = 128;
const ROUND_TRIPS_MS = [0, 50, 150];
const BAD = 20;
const BAD_MESSAGES = 50;
// This number of bad peers must delay a request before the good one is
// measured.
const BAD_HELD = 8;
const BAD_LIMIT_MS = 15000;
const ROOM = ['--max-pending', '1000000000', '--max-pending-total',
	'1000000000'];
const POLL_MS = 50;
const PATIENCE_MS = 60000;
const RETURN_LIMIT_MS = 300000;
const IDLE_SETTLE_MS = 1000;

// Ids as messages need them.
function uuid7() {
	const time = Date.now().toString(16).padStart(12, '0');

	return `${time.slice(0, 8)}-${time.slice(8)}-7` +
	    randomUUID().slice(15);
}

const domainOf = (name) => `${name}.example`;

function fail(text) {
	console.error(text);
	process.exit(64);
}

function numberFrom(name, otherwise) {
	const text = process.env[name] || String(otherwise);

	if (!/^[1-9][0-9]*$/.test(text))
		fail(`${name} must be a whole number of at least 1`);
	return Number(text);
}

function optionsOf(argv) {
	const options = {
		build: path.join(TOP, 'build'),
		runs: numberFrom('BENCH_RUNS', 5),
		seconds: numberFrom('BENCH_SECONDS', 3),
		outage: numberFrom('BENCH_OUTAGE', 100000),
		only: (process.env.BENCH_ONLY || GROUPS.join(',')).split(','),
		bad: BAD,
		round_trips_ms: ROUND_TRIPS_MS,
	};

	for (let i = 0; i < argv.length; i += 2) {
		if (!['--build', '--server', '--against'].includes(argv[i]) ||
		    argv[i + 1] === undefined)
			fail('usage: bench-federation.js [--build DIR] ' +
			    '[--server FILE] [--against FILE]');
		options[argv[i].slice(2)] = path.resolve(argv[i + 1]);
	}
	for (const group of options.only)
		if (!GROUPS.includes(group))
			fail(`BENCH_ONLY: ${group} is none of ` +
			    GROUPS.join(' '));
	options.server ??= path.join(options.build, 'twinboxd');
	options.tools = path.join(options.build, 'bench');
	return options;
}

class Bench {
	constructor(options) {
		this.options = options;
		this.failures = [];
		this.reports = new Map(); // name -> reports, one for each run
		this.ports = {};
		this.servers = {};
		this.dir = lib.makeWorkDir(
		    process.env.BENCH_DIR || options.build);
		process.on('exit', () => {
			for (const server of Object.values(this.servers))
				server.child?.kill('SIGKILL');
			fs.rmSync(this.dir, { recursive: true, force: true });
		});
		for (const signal of ['SIGINT', 'SIGTERM'])
			process.on(signal, () => process.exit(1));
	}

	wants(group) {
		return this.options.only.includes(group);
	}

	keep(name, report) {
		if (!this.reports.has(name))
			this.reports.set(name, []);
		this.reports.get(name).push(report);
		return report;
	}

	// ---- servers

	pathOf(name) {
		return path.join(this.dir, name);
	}

	// ${front} maps names of servers to the ports at which others reach
	// them, if these are not the servers' own.
	flags(name, { front = {} } = {}) {
		const url = (one) => 'http://127.0.0.1:' +
		    (front[one] ?? this.ports[one]);
		const peers = NAMES.filter((one) => one !== name)
		    .map((one) => `${domainOf(one)}=${url(one)}`);

		return ['--domain', domainOf(name), '--federation', 'open',
			'--federation-url', url(name), '--federation-peer',
			peers.join(','), ...ROOM];
	}

	// ${how} has front, and for each server, by name, its flags and
	// through.
	async start(name, how = {}) {
		const { flags = [], through } = how[name] ?? {};

		this.servers[name] = new lib.Server(this.options.server,
		    this.pathOf(name),
		    [...this.flags(name, how), ...flags],
		    { port: this.ports[name], through });
		return this.servers[name].start();
	}

	async stop(name) {
		const server = this.servers[name];

		delete this.servers[name];
		await server.stop();
	}

	// Users and keys, but no messages.
	async makeBase(name) {
		fs.mkdirSync(this.pathOf(name));
		await this.start(name);
		await this.stop(name);
		execFileSync(path.join(this.options.tools, 'seed'), ['--db',
			lib.databaseIn(this.pathOf(name)), '--tokens',
			this.pathOf(`${name}-tokens`), '--users',
			String(USERS)]);
		fs.renameSync(this.pathOf(name), this.pathOf(`${name}-base`));
	}

	async prepare() {
		const { freePort } =
		    await import('../tests/e2e/harness/port.mjs');

		for (const name of [...NAMES, 'front'])
			this.ports[name] = await freePort();
		for (const name of NAMES)
			await this.makeBase(name);
	}

	// Runs ${body} with the servers ${names} on fresh copies.  The first
	// one, a, has already sent to people of the others.
	async withServers(names, how, body) {
		try {
			for (const name of names) {
				lib.copyData(this.pathOf(`${name}-base`),
				    this.pathOf(name));
				await this.start(name, how);
			}
			for (const name of names.slice(1))
				await this.greet(name);
			return await body(this.servers);
		} catch (error) {
			error.message += this.complaints();
			throw error;
		} finally {
			await this.stopAll();
		}
	}

	// Stops all of them, even if one fails to stop properly.
	async stopAll() {
		const ends = await Promise.allSettled(
		    Object.keys(this.servers).map((name) => this.stop(name)));

		this.failures.push(...ends.filter((end) => end.reason)
		    .map((end) => end.reason.message));
	}

	complaints() {
		return Object.entries(this.servers).map(([name, server]) =>
		    server.output.split('\n')
			.filter((line) => /\b(warn|error)\b/.test(line))
			.slice(-6).map((line) => `\n  ${name}: ${line}`)
			.join('')).join('');
	}

	// ---- messages

	loadgen(args) {
		return lib.runTool(path.join(this.options.tools, 'loadgen'),
		    [...args, '--url', this.servers.a.url, '--pid',
			String(this.servers.a.pid), '--tokens',
			this.pathOf('a-tokens')], this.failures);
	}

	seconds() {
		return ['--seconds', String(this.options.seconds)];
	}

	// Users of a send to people of ${name}, or of a itself.
	send(name, connections, args) {
		return this.loadgen(['send', '--connections',
			String(connections), '--users', String(connections),
			...args, ...name === 'a' ? [] :
			    ['--domain', domainOf(name)]]);
	}

	// Waits until ${name} has written ${n} events to inboxes since its
	// start, as long as some arrive within ${patience_ms}.
	async arrival(name, n, patience_ms = PATIENCE_MS) {
		const { url } = this.servers[name];
		let seen = 0, since = Date.now();

		while (seen < n && Date.now() - since < patience_ms) {
			const now = await lib.metric(url,
			    'twinbox_inbox_events_total');

			if (now > seen)
				since = Date.now();
			seen = now;
			await lib.sleep(POLL_MS);
		}
		return seen;
	}

	// Sends the first message of each pair, which creates the conversations
	// and fetches the keys.
	async greet(name) {
		const began = Date.now();

		await this.send(name, PAIRS, ['--messages', String(PAIRS)]);
		await this.arrival(name, PAIRS);
		this.keep('greet', { ms: Date.now() - began });
	}

	// Returns what has arrived at ${name}; see arrived.sql.  Both servers
	// have stopped.
	arrived(what, name, since) {
		const text = execFileSync('sqlite3', ['-batch', '-bail', '-json',
			'-cmd', `ATTACH '${lib.databaseIn(this.pathOf(name))}' ` +
			    'AS there', '-cmd',
			`.parameter set :domain "'${domainOf(name)}'"`, '-cmd',
			`.parameter set :since ${since}`,
			lib.databaseIn(this.pathOf('a'))],
		    { input: fs.readFileSync(
			path.join(__dirname, 'arrived.sql')) });
		const [got] = JSON.parse(text);

		for (const fault of ['missing', 'surplus', 'out_of_order'])
			if (got[fault] !== 0)
				this.failures.push(`${what}: ${got[fault]} of ` +
				    `${got.sent} messages ${fault} at ${name}`);
		const rate = (n, from) => n * 1000 / (got.last_ms - from);
		got.rate = rate(got.messages, got.sent_ms);
		got.late_rate = rate(got.messages / 2, got.middle_ms);
		return got;
	}

	// ${PAIRS} users of a send to the same number of users of b for the
	// measured time.  ${meanwhile} starts other work and may return a
	// function that ends it.
	async flow(name, how = {}, meanwhile = () => {}) {
		const got = {};
		let since;

		await this.withServers(['a', 'b'], how, async (servers) => {
			const cpu = () => ['a', 'b'].map(
			    (one) => servers[one].cpuMs());
			const end = await meanwhile(servers);
			const before = cpu();

			since = Date.now();
			got.send = await this.send('b', PAIRS, this.seconds());
			await this.arrival('b', PAIRS + got.send.accepted);
			got.cpu = cpu().map((ms, i) => ms - before[i]);
			await end?.();
		});
		Object.assign(got, this.arrived(name, 'b', since));
		for (const [i, one] of ['a', 'b'].entries())
			got[`cpu_${one}_us`] = got.cpu[i] * 1000 / got.messages;
		got.send_rate = got.send.rate;
		return this.keep(name, got);
	}

	// Runs the flow without other work, once in each run.
	async plain() {
		this.oneway ??= await this.flow('oneway');
		return this.oneway;
	}

	async compare(name, plain, how, meanwhile) {
		const got = await this.flow(name, how, meanwhile);

		this.keep(`${name}-to-oneway`, { rate: got.rate / plain.rate,
			late_rate: got.late_rate / plain.late_rate });
		return got;
	}

	// ---- groups

	async rtt() {
		const plain = await this.plain();

		for (const ms of ROUND_TRIPS_MS) {
			const proxy = await new DelayProxy(this.ports.front,
			    this.ports.b, ms).listen();

			await this.compare(`rtt${ms}`, plain,
			    { front: { b: this.ports.front } });
			this.keep(`rtt${ms}-proxy`,
			    { ms: ms + 2 * proxy.lateness });
			await proxy.close();
		}
	}

	// Measures the rates to inboxes of a and to c.
	async beside() {
		const local = await this.send('a', PAIRS, this.seconds());
		const since = Date.now();
		const away = await this.send('c', PAIRS, this.seconds());

		await this.arrival('c', PAIRS + away.accepted);
		return { since, local: local.delivered_rate };
	}

	// Measures the other rates while a number of messages to b wait because
	// b is away, or after the same number has arrived.
	async outageSide(name) {
		const away = name === 'outage';
		const { outage } = this.options;
		let since, got, ready;

		await this.withServers(['a', 'b', 'c'], {}, async () => {
			if (away)
				await this.stop('b');
			since = Date.now();
			await this.send('b', PILERS,
			    ['--messages', String(outage)]);
			if (!away)
				await this.arrival('b', PAIRS + outage);
			got = await this.beside();
			if (!away)
				return;
			await this.start('b');
			ready = Date.now();
			await this.arrival('b', outage, RETURN_LIMIT_MS);
		});
		const b = this.arrived(name, 'b', since);
		const c = this.arrived(`${name}, third server`, 'c', got.since);

		return this.keep(name, { ...got, away: c.rate, b, c,
			tried_after_ms: b.tried_ms - ready,
			first_after_ms: b.first_ms - b.tried_ms,
			drain_rate: b.messages * 1000 / (b.last_ms - b.first_ms),
			back_rate: b.messages * 1000 / (b.last_ms - ready) });
	}

	async outage(run) {
		const names = ['outage', 'no-outage'];

		for (const name of run % 2 === 1 ? names : [...names].reverse())
			await this.outageSide(name);
		const [out, none] = names.map(
		    (name) => this.reports.get(name).at(-1));
		this.keep('outage-to-none', { local: out.local / none.local,
			away: out.away / none.away });
	}

	// A user of a sends a message to each of ${domains}.
	async writeTo(domains, url) {
		const tokens = fs.readFileSync(this.pathOf('a-tokens'), 'latin1')
		    .split('\n').map((line) => line.split(' ')[1]);

		await Promise.all(domains.map(async (domain, i) => {
			const answer = await fetch(`${url}/v1/messages`, {
				method: 'POST',
				headers: { 'Content-Type': 'application/json',
					Authorization: `Bearer ${tokens[i]}` },
				body: JSON.stringify(Array.from(
				    { length: BAD_MESSAGES }, (_, k) => ({
					id: uuid7(),
					to: `u${k % 5}@${domain}`,
					body: 'x'.repeat(200) }))),
			});
			const text = await answer.text();

			if (!answer.ok || !text.includes('"id"'))
				throw new Error(`to ${domain}: ${answer.status} ` +
				    text.slice(0, 300));
		}));
	}

	// a has messages for faulty peers.
	async badPeers(plain) {
		const peers = await new BadPeers(this.dir, BAD).listen();
		const how = { a: { flags: peers.flags, through: peers.through } };
		const seen = {};

		try {
			const got = await this.compare('bad-peers', plain, how,
			    async ({ a }) => {
				await this.writeTo(peers.domains, a.url);
				await this.holdUp(peers);
				seen.held = peers.held.size;
				const before = peers.requests;

				return () => {
					seen.requests = peers.requests - before;
				};
			});
			Object.assign(got, seen);
		} finally {
			await peers.close();
		}
	}

	// Waits until enough of the peers delay a.
	async holdUp(peers) {
		const until = Date.now() + BAD_LIMIT_MS;

		while (peers.held.size < BAD_HELD && Date.now() < until)
			await lib.sleep(POLL_MS);
		if (peers.held.size < BAD_HELD)
			this.failures.push('bad-peers: only ' +
			    `${peers.held.size} requests wait for an answer`);
	}

	// b receives requests of faulty strangers.
	async strangers(plain) {
		await this.compare('strangers', plain, {}, async ({ a, b }) => {
			const answer = await fetch(a.url + DOCUMENT);
			const [key] = (await answer.json()).keys;
			const crowd = new Strangers(Number(new URL(b.url).port),
			    BAD, { from: domainOf('a'), to: domainOf('b'),
				key_id: key.id });

			crowd.start();
			return () => crowd.stop();
		});
	}

	async bad() {
		const plain = await this.plain();

		await this.badPeers(plain);
		await this.strangers(plain);
	}

	// Measures the resident memory of a server one second after its start.
	async memoryOf(name, program, flags) {
		const data = this.pathOf('memory');

		fs.rmSync(data, { recursive: true, force: true });
		fs.mkdirSync(data);
		this.servers.memory = new lib.Server(program, data, flags);
		await this.servers.memory.start();
		await lib.sleep(IDLE_SETTLE_MS);
		this.keep(`memory-${name}`,
		    { bytes: this.servers.memory.rssBytes() });
		await this.stop('memory');
		return this.reports.get(`memory-${name}`).at(-1).bytes;
	}

	async memory() {
		const { server, against } = this.options;
		const off = await this.memoryOf('off', server, []);
		const open = await this.memoryOf('open', server, this.flags('a'));

		this.keep('memory-open-to-off', { bytes: open - off });
		if (against === undefined)
			return;
		const other = await this.memoryOf('against', against, []);
		this.keep('memory-off-to-against', { bytes: off - other });
		this.keep('memory-open-to-against', { bytes: open - other });
	}

	async runOnce(run) {
		this.oneway = undefined;
		this.keep('load', { average: os.loadavg()[0] });
		if (this.wants('oneway'))
			await this.plain();
		if (this.wants('rtt'))
			await this.rtt();
		if (this.wants('outage'))
			await this.outage(run);
		if (this.wants('bad'))
			await this.bad();
		if (this.wants('memory'))
			await this.memory();
	}
}

// ---- the table ----

const round = (v) => v >= 100 ? Math.round(v).toLocaleString('en') :
    v >= 10 ? v.toFixed(1) : v.toFixed(2);

function tableOf(bench) {
	const rows = [['figure', 'asked', 'median', 'least - most']];

	for (const [name, member, text, asked, scale = 1] of
	    figures(bench.options)) {
		const values = (bench.reports.get(name) ?? [])
		    .map((r) => r[member] * scale);
		if (values.length > 0)
			rows.push([text, asked, round(lib.median(values)),
				`${round(Math.min(...values))} - ` +
				round(Math.max(...values))]);
	}
	return lib.table(rows);
}

async function main() {
	const options = optionsOf(process.argv.slice(2));
	const bench = new Bench(options);

	await bench.prepare();
	for (let run = 1; run <= options.runs; run++) {
		console.error(`run ${run} of ${options.runs}`);
		await bench.runOnce(run);
	}
	console.log(`${os.cpus().length} processors, servers and load ` +
	    `generator on the same machine, ${options.runs} runs of ` +
	    `${options.seconds} s each, 200-byte texts, synchronous=FULL\n`);
	console.log(tableOf(bench));
	fs.writeFileSync(path.join(options.build, 'bench-federation.json'),
	    JSON.stringify(Object.fromEntries(bench.reports), null, 1) + '\n');
	for (const failure of new Set(bench.failures))
		console.log(`FAILED ${failure}`);
	process.exitCode = bench.failures.length > 0 ? 1 : 0;
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
