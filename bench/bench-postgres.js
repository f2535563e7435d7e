#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// make bench-postgres: several twinboxd nodes on one PostgreSQL, compared with
// pgbench on the same PostgreSQL, in interleaved runs; and the time from a send
// at one node to the frame at another.  README.md beside this file explains the
// figures.
//
//	bench/bench-postgres.js [--build DIR] [--server FILE] [--against FILE]
//
// FILE is a twinboxd. --against measures a second one as well, in runs that
// alternate with those of the first, and prints the ratio of each pair.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const lib = require('./bench-lib.js');

const TOP = path.resolve(__dirname, '..');
const GROUPS = ['pgbench', 'nodes', 'latency'];
const USERS = 64;
const PAIRS = 32;
const RATE = 200;
// As long as the text of a message of the load generator.
const BODY = 'x'.repeat(200);
const BASE = 'base';
const BASE_AGAINST = 'base_against';
const BARE = 'bare';
const RUN = 'run';

function fail(text) {
	console.error(text);
	process.exit(64);
}

function numbersFrom(name, otherwise) {
	const text = process.env[name] || otherwise;

	if (!/^[1-9][0-9]*(,[1-9][0-9]*)*$/.test(text))
		fail(`${name} must be whole numbers of at least 1`);
	return text.split(',').map(Number);
}

function optionsOf(argv) {
	const options = {
		build: path.join(TOP, 'build'),
		runs: numbersFrom('BENCH_RUNS', '5')[0],
		seconds: numbersFrom('BENCH_SECONDS', '3')[0],
		nodes: numbersFrom('BENCH_NODES', '3')[0],
		clients: numbersFrom('BENCH_CLIENTS', '1,16,64'),
		only: (process.env.BENCH_ONLY || GROUPS.join(',')).split(','),
		dir: process.env.BENCH_DIR || os.tmpdir(),
	};

	for (let i = 0; i < argv.length; i += 2) {
		if (!['--build', '--server', '--against'].includes(argv[i]) ||
		    argv[i + 1] === undefined)
			fail('usage: bench-postgres.js [--build DIR] ' +
			    '[--server FILE] [--against FILE]');
		options[argv[i].slice(2)] = path.resolve(argv[i + 1]);
	}
	for (const group of options.only)
		if (!GROUPS.includes(group))
			fail(`BENCH_ONLY: ${group} is none of ` +
			    GROUPS.join(' '));
	options.server ??= path.join(options.build, 'twinboxd');
	options.loadgen = path.join(options.build, 'bench/loadgen');
	return options;
}

// Returns the rate of pgbench after its first second, in which its connections
// warm up (loadgen has a warm-up as well).
function rateOf(text) {
	const rates = [...text.matchAll(
	    /^progress: [0-9.]+ s, ([0-9.]+) tps, lat ([0-9.]+) .*?(?:, ([0-9]+) failed)?$/gm)]
	    .slice(1);

	if (rates.length === 0 || rates.some((r) => Number(r[3] ?? 0) > 0))
		throw new Error(`not what pgbench should say:\n${text}`);
	const mean = (k) => rates.reduce((sum, r) => sum + Number(r[k]), 0) /
	    rates.length;
	return { rate: mean(1), latency_ms: mean(2) };
}

class Bench {
	constructor(options, cluster) {
		this.options = options;
		this.cluster = cluster;
		this.failures = [];
		this.reports = new Map(); // name -> reports, one for each run
		this.nodes = [];
		this.dir = lib.makeWorkDir(options.dir);
		this.tokens = path.join(this.dir, 'tokens');
		process.on('exit', () => {
			for (const node of this.nodes)
				node.child?.kill('SIGKILL');
			fs.rmSync(this.dir, { recursive: true, force: true });
		});
		for (const signal of ['SIGINT', 'SIGTERM'])
			process.on(signal, () => process.exit(1));
	}

	// The second server is measured in the same groups as the first.
	wants(group) {
		return this.options.only.includes(
		    group === 'against' ? 'nodes' : group);
	}

	keep(name, report) {
		if (!this.reports.has(name))
			this.reports.set(name, []);
		this.reports.get(name).push(report);
		return report;
	}

	// Creates the schema, without the rows that twinboxd adds.
	async makeBare() {
		const schema = path.join(TOP, 'schema', 'postgres');
		const url = await this.cluster.createDatabase(BARE);

		for (const name of fs.readdirSync(schema).sort())
			if (/^[0-9]{4}-.*\.sql$/.test(name))
				execFileSync(this.cluster.program('psql'),
				    ['-Xq', '-v', 'ON_ERROR_STOP=1', '-d', url,
					'-f', path.join(schema, name)]);
	}

	// Creates a database with users, which a node registers.  Each server
	// migrates its own database, so the two may have different schemas.
	async makeBase(base, server) {
		const url = await this.cluster.createDatabase(base);

		await this.withNodes(url, server, 1, () => this.loadgen(base,
			['send', '--connections', String(USERS), '--messages',
				String(USERS)]));
	}

	// Returns a fresh copy of ${template}, after a checkpoint: no pages
	// wait to be written.
	async fresh(template) {
		await this.cluster.dropDatabase(RUN);
		const url = await this.cluster.createDatabase(RUN,
		    { template });
		await this.cluster.sql('CHECKPOINT');
		return url;
	}

	async withNodes(url, server, count, body) {
		for (let i = 0; i < count; i++)
			this.nodes.push(new lib.Server(server,
			    path.join(this.dir, `node${i}`),
			    ['--db', url, '--registration', 'open']));
		try {
			// The first node migrates the database.
			for (const node of this.nodes)
				await node.start();
			return await body();
		} catch (error) {
			error.message += this.complaints();
			throw error;
		} finally {
			await this.stopNodes();
		}
	}

	// Stops all of them, even if one fails to stop properly.
	async stopNodes() {
		const started = this.nodes.filter((node) => node.child);
		const ends = await Promise.allSettled(started.map(
		    (node) => node.stop()));

		this.nodes = [];
		this.failures.push(...ends.filter((end) => end.reason)
		    .map((end) => end.reason.message));
	}

	// Returns the last warnings and errors of the nodes and of PostgreSQL.
	complaints() {
		const wrong = (text) => text.split('\n')
		    .filter((line) => /\b(warn|error|ERROR|DETAIL)\b/.test(line))
		    .slice(-6).map((line) => `\n  ${line}`).join('');

		return [...this.nodes.map((node, i) => [`node ${i + 1}`,
			node.output]), ['PostgreSQL', this.cluster.log()]]
		    .map(([name, text]) => wrong(text) && `\n${name}:` +
			wrong(text)).join('');
	}

	// Each base has its own users and tokens.
	loadgen(base, args) {
		return lib.runTool(this.options.loadgen, [...args,
			...this.nodes.flatMap((node) => ['--url', node.url]),
			'--tokens', `${this.tokens}-${base}`], this.failures);
	}

	async pgbench(clients) {
		const url = await this.fresh(BARE);
		const text = await this.cluster.run('pgbench', ['-n',
			'-M', 'prepared', '-f',
			path.join(__dirname, 'pgbench.sql'),
			'-c', String(clients), '-j', String(Math.min(clients, 2)),
			'-T', String(this.options.seconds + 1), '-P', '1',
			'-D', 'n=0', '-D', `body=${BODY}`,
			'-D', `bytes16=\\x${'ab'.repeat(16)}`,
			'-D', `bytes32=\\x${'cd'.repeat(32)}`, url]);

		return rateOf(text);
	}

	async send(clients, base, server) {
		return this.withNodes(await this.fresh(base), server,
		    this.options.nodes, () => this.loadgen(base, ['send',
			'--connections', String(clients), '--users',
			String(USERS), '--seconds',
			String(this.options.seconds)]));
	}

	// Measures all sides with ${clients}.  The order alternates from run to
	// run.
	async compare(clients, first) {
		const { server, against } = this.options;
		const sides = [
			['pgbench', () => this.pgbench(clients)],
			['nodes', () => this.send(clients, BASE, server)],
		];
		const got = {};

		if (against)
			sides.push(['against', () => this.send(clients,
			    BASE_AGAINST, against)]);
		for (const [name, side] of first ? sides : sides.reverse())
			if (this.wants(name))
				got[name] = this.keep(`${name}${clients}`,
				    await side());
		for (const name of ['pgbench', 'against'])
			if (got[name] !== undefined && got.nodes !== undefined)
				this.keep(`ratio-${name}${clients}`,
				    { ratio: got.nodes.rate / got[name].rate });
	}

	async latency() {
		await this.withNodes(await this.fresh(BASE),
		    this.options.server, this.options.nodes,
		    async () => this.keep('latency',
			await this.loadgen(BASE, ['latency',
				'--rate', String(RATE), '--pairs',
				String(PAIRS), '--seconds',
				String(this.options.seconds)])));
	}

	async runOnce(run) {
		this.keep('load', { average: os.loadavg()[0] });
		for (const clients of this.options.clients)
			await this.compare(clients, run % 2 === 1);
		if (this.wants('latency'))
			await this.latency();
	}
}

// ---- the table ----

const round = (v) => v >= 100 ? Math.round(v).toLocaleString('en') :
    v >= 10 ? v.toFixed(1) : v.toFixed(2);

// name of the reports, member, text, target, scale
function figures({ clients, nodes }) {
	return [
		...clients.flatMap((n) => [
			[`pgbench${n}`, 'rate', `pgbench, ${n} clients: ` +
			    'transactions/s', ''],
			[`nodes${n}`, 'rate', `${nodes} nodes, ${n} ` +
			    'connections: durable sends/s', ''],
			[`ratio-pgbench${n}`, 'ratio', '  to pgbench',
				n === 1 ? '' : '>= 0.6'],
			[`against${n}`, 'rate', '  the other server', ''],
			[`ratio-against${n}`, 'ratio', '  to the other server',
				''],
			[`nodes${n}`, 'all_delivered_after_ms',
				'  last 201 to all delivered, ms', ''],
		]),
		['latency', 'latency_p50_us', `send at one node to frame at ` +
		    `another, ${RATE}/s: p50, ms`, '<= 5', 1e-3],
		['latency', 'latency_p99_us', '  p99, ms', '', 1e-3],
		['latency', 'late_p99_us', '  of that the load generator\'s ' +
		    'own, p99, ms', '', 1e-3],
		['load', 'average', 'load average before each run', ''],
	];
}

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
	const { Cluster } = await import('../tests/postgres/cluster.mjs');
	const cluster = await new Cluster({ dir: options.dir,
		locale: 'C.UTF-8', settings: { max_wal_size: '2GB' } }).start();
	const bench = new Bench(options, cluster);

	if (bench.wants('pgbench'))
		await bench.makeBare();
	if (bench.wants('nodes') || bench.wants('latency'))
		await bench.makeBase(BASE, options.server);
	if (bench.wants('against') && options.against)
		await bench.makeBase(BASE_AGAINST, options.against);
	for (let run = 1; run <= options.runs; run++) {
		console.error(`run ${run} of ${options.runs}`);
		await bench.runOnce(run);
	}
	console.log(`${os.cpus().length} processors, PostgreSQL, nodes and ` +
	    `load generator on the same machine, ${options.runs} runs of ` +
	    `${options.seconds} s each, 200-byte texts, fsync and ` +
	    'synchronous_commit on, Unix socket\n');
	console.log(tableOf(bench));
	fs.writeFileSync(path.join(options.build, 'bench-postgres.json'),
	    JSON.stringify(Object.fromEntries(bench.reports), null, 1) + '\n');
	for (const failure of new Set(bench.failures))
		console.log(`FAILED ${failure}`);
	process.exitCode = bench.failures.length > 0 ? 1 : 0;
	await cluster.remove();
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
