// SPDX-License-Identifier: MIT
//
// The groups of bench/run that need other servers, and therefore a build with
// the fault carrier.  In "dead" a million messages wait for a server that is
// gone; in "drain" a server comes back.  See README.md.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const lib = require('./bench-lib.js');

const GONE = 'gone.fault.test';
const ALIVE = 'ok.fault.test';
const BACK = 'back.fault.test';
const ROOM = ['--max-pending', '1000000000', '--max-pending-total',
	'1000000000'];
const LATENCIES = [0, 5];
const SENDERS = 100;
const RATES = ['send', 'remote', 'e2e'];
// The size of a small pile, for comparison, as a part of the large one.
const FEW = 0.01;

// Messages that wait for the dead server; the same messages, acked long ago; no
// messages.
const SIDES = ['dead', 'settled', 'none'];

// Builds the configuration of BUILD with --enable-faults, in a directory inside
// BUILD.
function makeFaults(build) {
	const dir = path.join(build, 'bench-faults');
	const configure = path.resolve(__dirname, '..', 'configure');
	const run = (script) => execFileSync('sh', ['-ec', script],
		{ cwd: dir, stdio: ['ignore', 'ignore', 'inherit'],
			env: { ...process.env, CONFIGURE: configure } });

	if (!fs.existsSync(path.join(build, 'config.status')))
		throw new Error(`${build} is not configured: name a server ` +
		    'with --enable-faults by TWINBOXD_FAULTS');
	console.error(`building the fault carrier in ${dir}`);
	fs.mkdirSync(dir, { recursive: true });
	if (!fs.existsSync(path.join(dir, 'Makefile')))
		run('eval "\\"$CONFIGURE\\" $(../config.status --config) ' +
		    '--enable-faults"');
	run(`make -j${os.cpus().length}`);
	return path.join(dir, 'twinboxd');
}

// Returns a server with the fault carrier: TWINBOXD_FAULTS, or the measured
// server if it has the fault carrier, or one that is built now.
function faultServer(options) {
	if (process.env.TWINBOXD_FAULTS)
		return path.resolve(process.env.TWINBOXD_FAULTS);
	const makefile = path.join(options.build, 'Makefile');
	const text = fs.existsSync(makefile) ?
	    fs.readFileSync(makefile, 'utf8') : '';

	if (/^FAULT_CPPFLAGS = .*-DTWINBOX_FAULTS/m.test(text))
		return options.server;
	return makeFaults(options.build);
}

class Away {
	constructor(bench) {
		this.bench = bench;
		this.options = bench.options;
		this.turns = 0;
	}

	prepare() {
		this.program = faultServer(this.options);
		if (!this.bench.wants('dead'))
			return;
		console.error(`piling up ${this.options.messages} messages, ` +
		    'twice');
		this.makePile('dead', this.options.messages, []);
		this.makePile('settled', this.options.messages, ['--settled']);
		this.makePile('few', this.few(), []);
	}

	few() {
		return Math.ceil(this.options.messages * FEW);
	}

	dataOf(side) {
		return path.join(this.bench.dir, side);
	}

	makePile(side, messages, flags) {
		const data = this.dataOf(side);
		const lanes = Math.ceil(messages / 100);

		lib.copyData(this.bench.base, data);
		fs.mkdirSync(path.join(data, 'fault'), { recursive: true });
		fs.writeFileSync(path.join(data, 'fault', GONE), 'down 1\n');
		execFileSync(path.join(this.options.tools, 'seed'), ['--db',
			lib.databaseIn(data), '--pile',
			String(messages), '--lanes',
			String(Math.min(lanes, 10000)), '--domain', GONE,
			...flags]);
	}

	withServer(data, body) {
		return this.bench.withServer(data, body,
		    { program: this.program, flags: ROOM });
	}

	async withFresh(body) {
		const data = this.dataOf('data');

		lib.copyData(this.bench.base, data);
		await this.withServer(data, () => body(data));
	}

	seconds() {
		return ['--seconds', String(this.options.seconds)];
	}

	send(name, args) {
		return this.bench.loadgen(name, ['send', ...args]);
	}

	// Measures sends to inboxes of this server, to a healthy server, and
	// full circles.
	async measureSide(side, data) {
		this.bench.keep(`${side}-start`,
		    { ms: this.bench.server.readyMs });
		await this.send(`${side}-send`,
		    ['--connections', '64', ...this.seconds()]);
		await this.send(`${side}-remote`,
		    ['--connections', '64', ...this.seconds(), '--domain',
			ALIVE, '--faults', path.join(data, 'fault')]);
		await this.bench.loadgen(`${side}-e2e`,
		    ['e2e', '--pairs', '64', ...this.seconds()]);
	}

	last(name) {
		const report = this.bench.reports.get(name).at(-1);

		return name.endsWith('e2e') ? report.rate :
		    report.delivered_rate;
	}

	// Each run begins with another side.
	async dead() {
		const first = this.turns++;

		for (const side of ['dead', 'few'])
			this.bench.keep(`${side}-claim`, await this.bench.tool(
			    'claim-cost', ['--db',
				lib.databaseIn(this.dataOf(side)),
				'--domain', GONE]));
		for (let i = 0; i < SIDES.length; i++) {
			const side = SIDES[(first + i) % SIDES.length];
			const data = this.dataOf(side);
			const measure = (at) => this.measureSide(side, at);

			if (side === 'none')
				await this.withFresh(measure);
			else
				await this.withServer(data,
				    () => measure(data));
		}
		for (const rate of RATES)
			for (const than of ['settled', 'none'])
				this.bench.keep(`dead-${rate}-to-${than}`,
				    { ratio: this.last(`dead-${rate}`) /
					this.last(`${than}-${rate}`) });
	}

	async drain() {
		let normal;

		await this.withFresh(async () => {
			normal = await this.send('drain-normal',
			    ['--connections', '64', ...this.seconds()]);
		});
		for (const latency of LATENCIES)
			await this.withFresh(async (data) => {
				const r = await this.send(`drain-${latency}`, [
					'--messages',
					String(this.options.outage),
					'--connections', String(SENDERS),
					'--users', String(SENDERS),
					'--domain', BACK, '--outage',
					'--latency', String(latency),
					'--faults', path.join(data, 'fault')]);

				this.bench.keep(`drain-${latency}-to-normal`, {
					found: r.rate_from_found / normal.rate,
					back: r.rate_from_back / normal.rate,
				});
			});
	}

	async runOnce() {
		if (this.bench.wants('dead'))
			await this.dead();
		if (this.bench.wants('drain'))
			await this.drain();
	}
}

const count = (n) => n.toLocaleString('en');

function deadFigures(options) {
	const what = {
		send: ['delivered_rate', 'deliveries/s to inboxes here'],
		remote: ['delivered_rate', 'deliveries/s to another server'],
		e2e: ['rate', 'circles/s, 64 pairs'],
	};
	const where = {
		dead: `${count(options.messages)} pending behind a dead server`,
		settled: 'the same rows, acked',
		none: 'empty',
	};
	const rows = [];

	for (const rate of RATES) {
		const [member, text] = what[rate];

		for (const side of SIDES)
			rows.push([`${side}-${rate}`, member,
				`${text}: ${where[side]}`, {}]);
		rows.push([`dead-${rate}-to-settled`, 'ratio',
			'  pending to acked', { least: 0.9 }]);
		rows.push([`dead-${rate}-to-none`, 'ratio',
			'  pending to empty', { least: 0.9 }]);
	}
	rows.push(['few-claim', 'us', 'finding 50 to send, of ' +
		`${count(Math.ceil(options.messages * FEW))}: us`, {}]);
	rows.push(['dead-claim', 'us',
		`  of ${count(options.messages)}: us`, {}]);
	rows.push(['dead-start', 'ms',
		`start to ready, ${where.dead}, ms`, {}]);
	return rows;
}

function drainFigures(options) {
	const rows = [['drain-normal', 'rate',
		'sends/s to inboxes here, 64 connections', {}]];

	for (const latency of LATENCIES) {
		const name = `drain-${latency}`;

		rows.push([name, 'rate_from_found',
			`${count(options.outage)} after an outage, answers ` +
			`after ${latency} ms: deliveries/s`, {}]);
		rows.push([`${name}-to-normal`, 'found', '  to sends/s',
			{ least: 0.5 }]);
		rows.push([name, 'found_after_ms',
			'  back, until it is tried again, ms', {}]);
		rows.push([`${name}-to-normal`, 'back',
			'  to sends/s, with that wait', { least: 0.5 }]);
	}
	return rows;
}

const figures = (options) => [...deadFigures(options),
	...drainFigures(options)];

module.exports = { Away, GROUPS: ['dead', 'drain'], figures };
