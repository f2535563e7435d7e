#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// make bench-peers: twinbox compared with redis Streams and PostgreSQL.  All are
// durable and are driven by the same load generator, in interleaved runs.
// README.md beside this file explains the figures.
//
//	bench/bench-peers.js [--build DIR] [--server FILE]
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const lib = require('./bench-lib.js');
const { tableOf } = require('./peers-figures.js');

const PEERS = ['redis', 'postgres'];
// Named in the table, so that readers know what twinbox was not compared with.
const NOT_DRIVEN = { RabbitMQ: 'rabbitmq-server', ejabberd: 'ejabberdctl',
	prosody: 'prosody' };
const PAIRS = 64;
const RATE = 500;
const USERS = 2 * PAIRS;
const REDIS_START_MS = 10000;
const SYNC_CALLS = 'fsync,fdatasync,sync_file_range,msync,syncfs';

// The figures: the name, and the load generator's command for each side that has
// one.
const FIGURES = [
	['send1', { twinbox: ['send', '--connections', '1'],
		redis: ['redis-send', '--connections', '1'],
		postgres: ['postgres-send', '--connections', '1'] }],
	['send64', { twinbox: ['send', '--connections', '64'],
		redis: ['redis-send', '--connections', '64'],
		postgres: ['postgres-send', '--connections', '64'] }],
	['flow', { twinbox: ['flow', '--http', '--pairs', String(PAIRS)],
		redis: ['redis-flow', '--pairs', String(PAIRS)] }],
	['circle', { twinbox: ['e2e', '--pairs', String(PAIRS)],
		redis: ['redis-circle', '--pairs', String(PAIRS)] }],
	['latency', { twinbox: ['latency', '--rate', String(RATE), '--pairs', String(PAIRS)],
		redis: ['redis-latency', '--rate', String(RATE), '--pairs', String(PAIRS)] }],
];

function fail(text) {
	console.error(text);
	process.exit(64);
}

function optionsOf(argv) {
	const options = {
		build: path.resolve(__dirname, '..', 'build'),
		runs: Number(process.env.BENCH_RUNS || 5),
		seconds: Number(process.env.BENCH_SECONDS || 3),
		only: (process.env.BENCH_ONLY ||
		    FIGURES.map(([name]) => name).join(',')).split(','),
		dir: process.env.BENCH_DIR,
	};

	for (let i = 0; i < argv.length; i += 2) {
		if (!['--build', '--server'].includes(argv[i]) || argv[i + 1] === undefined)
			fail('usage: bench-peers.js [--build DIR] [--server FILE]');
		options[argv[i].slice(2)] = path.resolve(argv[i + 1]);
	}
	for (const name of options.only)
		if (!FIGURES.some(([figure]) => figure === name))
			fail(`BENCH_ONLY: ${name} is none of ` +
			    FIGURES.map(([figure]) => figure).join(' '));
	options.server ??= path.join(options.build, 'twinboxd');
	options.loadgen = path.join(options.build, 'bench', 'loadgen');
	options.dir ??= options.build;
	return options;
}

function isInstalled(program) {
	try {
		execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
		return true;
	} catch {
		return false;
	}
}

function childrenOf(pid) {
	try {
		return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
		    .split(' ').filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

// 0 if the process has ended meanwhile.
function shareBytes(pid) {
	try {
		return Number(/^Pss:\s*(\d+)/m.exec(fs.readFileSync(
		    `/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0) * 1024;
	} catch {
		return 0;
	}
}

// Returns the memory of a process and its children.  Shared memory counts once.
function memoryBytes(pid) {
	return [pid, ...childrenOf(pid)].map(shareBytes).reduce((a, b) => a + b);
}

function freePort() {
	return new Promise((done, refuse) => {
		const server = net.createServer();

		server.on('error', refuse);
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address();
			server.close(() => done(port));
		});
	});
}

// ---- the sides ----

// Each side starts fresh for each figure: begin() returns its process and the
// load generator's arguments, end() stops it.

class Twinbox {
	constructor(options, dir) {
		this.options = options;
		this.base = path.join(dir, 'base');
		this.data = path.join(dir, 'data');
		this.tokens = path.join(dir, 'tokens');
	}

	args() {
		return ['--url', this.server.url, '--tokens', this.tokens];
	}

	async open(data) {
		this.server = await new lib.Server(this.options.server, data, ['--demo']).start();
		this.pid = this.server.pid;
	}

	// The server creates its database, then seed adds the users.
	async prepare() {
		fs.mkdirSync(this.base);
		await this.open(this.base);
		await this.end();
		execFileSync(path.join(this.options.build, 'bench', 'seed'),
		    ['--db', lib.databaseIn(this.base), '--tokens', this.tokens,
			'--users', String(USERS)]);
	}

	async begin() {
		lib.copyData(this.base, this.data);
		await this.open(this.data);
	}

	async end() {
		await this.server.stop();
	}
}

class Redis {
	constructor(_options, dir) {
		this.dir = path.join(dir, 'redis');
	}

	args() {
		return ['--url', `http://127.0.0.1:${this.port}`];
	}

	async prepare() {}

	async begin() {
		let output = '';

		fs.rmSync(this.dir, { recursive: true, force: true });
		fs.mkdirSync(this.dir);
		this.port = await freePort();
		this.child = spawn('redis-server', ['--port', String(this.port),
			'--bind', '127.0.0.1', '--dir', this.dir, '--appendonly', 'yes',
			'--appendfsync', 'always', '--save', '', '--daemonize', 'no'],
		{ stdio: ['ignore', 'pipe', 'inherit'] });
		this.pid = this.child.pid;
		this.ended = new Promise((done) => this.child.on('exit', done));
		this.child.stdout.on('data', (chunk) => { output += chunk; });
		for (const limit = Date.now() + REDIS_START_MS;
			!/Ready to accept connections/.test(output); await lib.sleep(10))
			if (Date.now() > limit || this.child.exitCode !== null)
				throw new Error(`redis-server does not start:\n${output}`);
	}

	async end() {
		this.child.kill('SIGTERM');
		await this.ended;
	}
}

class Postgres {
	constructor(options) {
		this.options = options;
	}

	args() {
		return ['--conninfo', this.url];
	}

	async prepare() {
		const { Cluster } = await import('../tests/postgres/cluster.mjs');

		this.cluster = await new Cluster({ dir: this.options.dir, locale: 'C.UTF-8',
			settings: { max_wal_size: '2GB' } }).start();
		this.pid = this.cluster.pid;
	}

	async begin() {
		await this.cluster.dropDatabase('run');
		this.url = await this.cluster.createDatabase('run');
		await this.cluster.sql('CHECKPOINT');
	}

	async end() {}

	remove() {
		return this.cluster.remove();
	}
}

const SIDES = { twinbox: Twinbox, redis: Redis, postgres: Postgres };

// ---- syncs ----

// Returns the number of calls that wait for the disk while ${body} runs; undefined
// without strace.
async function countSyncs(pid, body) {
	if (!isInstalled('strace'))
		return undefined;
	const file = path.join(os.tmpdir(), `bench-peers-${process.pid}.strace`);
	const targets = [pid, ...childrenOf(pid)].flatMap((one) => ['-p', String(one)]);
	const tracer = spawn('strace', ['-f', '-c', '-U', 'calls,name',
		'-e', `trace=${SYNC_CALLS}`, '-o', file, ...targets],
	{ stdio: ['ignore', 'ignore', 'pipe'] });
	const ended = new Promise((done) => tracer.on('exit', done));
	let said = '';

	await new Promise((done) => {
		tracer.stderr.on('data', (chunk) => {
			said += chunk;
			if (/attached/.test(said))
				done();
		});
		tracer.on('exit', done);
	});
	try {
		await body();
	} finally {
		tracer.kill('SIGINT');
		await ended;
	}
	const text = fs.readFileSync(file, 'utf8');
	fs.rmSync(file);
	// The last line is the total.
	return [...text.matchAll(/^\s*(\d+)\s+(?!total$)\w+$/gm)]
	    .reduce((sum, [, calls]) => sum + Number(calls), 0);
}

// ---- the runs ----

class Bench {
	constructor(options) {
		this.options = options;
		this.failures = [];
		this.reports = new Map(); // "figure side" -> reports, one for each run
		this.dir = lib.makeWorkDir(options.dir);
		this.sides = {};
		process.on('exit', () => fs.rmSync(this.dir, { recursive: true, force: true }));
		for (const signal of ['SIGINT', 'SIGTERM'])
			process.on(signal, () => process.exit(1));
	}

	async prepare() {
		const { findBinaries } = await import('../tests/postgres/cluster.mjs');
		const there = { redis: isInstalled('redis-server'),
			postgres: findBinaries() !== undefined };

		this.missing = PEERS.filter((name) => !there[name]);
		for (const [name, Side] of Object.entries(SIDES))
			if (!this.missing.includes(name)) {
				this.sides[name] = new Side(this.options, this.dir);
				await this.sides[name].prepare();
			}
	}

	tool(side, command, seconds) {
		return lib.runTool(this.options.loadgen, [...command, ...side.args(),
			'--pid', String(side.pid), '--seconds', String(seconds)], this.failures);
	}

	async measure(figure, name, command) {
		const side = this.sides[name];

		await side.begin();
		try {
			const report = await this.tool(side, command, this.options.seconds);

			report.memory_bytes = memoryBytes(side.pid);
			this.keep(`${figure} ${name}`, report);
			return report;
		} finally {
			await side.end();
		}
	}

	// In a separate run, because the tracer makes each call slower.
	async syncs(figure, name, command) {
		const side = this.sides[name];
		let report;

		await side.begin();
		try {
			const calls = await countSyncs(side.pid, async () => {
				report = await this.tool(side, [...command, '--warmup', '0'], 1);
			});
			if (calls !== undefined)
				this.keep(`syncs ${figure} ${name}`,
				    { each: calls / report.rate });
		} finally {
			await side.end();
		}
	}

	keep(name, report) {
		if (!this.reports.has(name))
			this.reports.set(name, []);
		this.reports.get(name).push(report);
	}

	// Measures all sides of all figures.  The order alternates from run to run.
	async runOnce(run) {
		this.keep('load', { average: os.loadavg()[0] });
		for (const [figure, commands] of FIGURES) {
			if (!this.options.only.includes(figure))
				continue;
			const names = Object.keys(commands).filter((name) => this.sides[name]);
			for (const name of run % 2 === 1 ? names : names.reverse())
				await this.measure(figure, name, commands[name]);
		}
	}

	async countAllSyncs() {
		for (const [figure, commands] of FIGURES)
			for (const [name, command] of Object.entries(commands))
				if (this.sides[name] && this.options.only.includes(figure) &&
				    figure !== 'latency')
					await this.syncs(figure, name, command);
	}

	async end() {
		await this.sides.postgres?.remove();
	}
}

function absent(bench) {
	const lines = bench.missing.map((name) => `${name}: not installed`);

	for (const [name, program] of Object.entries(NOT_DRIVEN))
		lines.push(`${name}: ${isInstalled(program) ? 'installed, but the load generator does ' +
			'not speak its protocol' : 'not installed'}`);
	return lines.join('\n');
}

async function main() {
	const options = optionsOf(process.argv.slice(2));
	const bench = new Bench(options);

	await bench.prepare();
	try {
		for (let run = 1; run <= options.runs; run++) {
			console.error(`run ${run} of ${options.runs}`);
			await bench.runOnce(run);
		}
		await bench.countAllSyncs();
	} finally {
		await bench.end();
	}
	console.log(`${os.cpus().length} processors, servers and load generator on the same ` +
	    `machine, ${options.runs} runs of ${options.seconds} s each, 200-byte texts.\n` +
	    'Each answer means "on disk": twinbox as always, redis appendfsync always,\n' +
	    'PostgreSQL synchronous_commit on.\n');
	console.log(tableOf(bench.reports));
	console.log(`\nNot in the table:\n${absent(bench)}`);
	fs.writeFileSync(path.join(options.build, 'bench-peers.json'),
	    JSON.stringify(Object.fromEntries(bench.reports), null, 1) + '\n');
	for (const failure of new Set(bench.failures))
		console.log(`FAILED ${failure}`);
	process.exitCode = bench.failures.length > 0 ? 1 : 0;
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
