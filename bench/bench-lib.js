// SPDX-License-Identifier: MIT
//
// Functions that bench/run and bench/ab share: starting and stopping a server
// on a data directory, running a tool and reading its line of JSON, medians,
// tables.  During a measurement only a process that waits runs here.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const START_LIMIT_MS = 60000;
const STOP_LIMIT_MS = 20000;
// Tick of /proc/PID/stat: 100 a second on Linux.
const TICK_MS = 10;
const TMPFS_MAGIC = 0x01021994;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function statusOf(url) {
	return new Promise((done) => {
		const request = http.get(url, { agent: false }, (answer) => {
			answer.resume();
			answer.on('end', () => done(answer.statusCode));
		});
		request.on('error', () => done(0));
	});
}

// Returns a sample of /metrics; NaN if there is none of this name.
function metric(url, name) {
	return new Promise((done, fail) => {
		http.get(url + '/metrics', { agent: false }, (answer) => {
			let text = '';

			answer.on('data', (chunk) => { text += chunk; });
			answer.on('end', () => {
				const found = new RegExp(`^${name} (\\S+)$`,
				    'm').exec(text);
				done(Number(found?.[1]));
			});
		}).on('error', fail);
	});
}

// A server of the benchmark. readyMs is the time from the start of the process
// until /readyz answers 200.
//
// With port 0 the system chooses the port. through has the words of a command
// that is put before the server's command line and becomes the server.
class Server {
	constructor(binary, data, flags, { port = 0, through = [] } = {}) {
		this.binary = binary;
		this.data = data;
		this.flags = flags || [];
		this.port = port;
		this.through = through;
		this.output = '';
	}

	async start() {
		const begin = process.hrtime.bigint();
		const [command, ...args] = [...this.through, this.binary,
			'serve', '--data', this.data, '--listen',
			`127.0.0.1:${this.port}`, '--rate-limit', 'off',
			...this.flags];

		this.child = spawn(command, args,
			{ stdio: ['ignore', 'pipe', 'pipe'] });
		this.pid = this.child.pid;
		this.ended = new Promise((done) => {
			this.child.on('exit', (code, signal) => {
				this.exit = signal || code;
				done();
			});
			this.child.on('error', (error) => {
				this.exit = error.message;
				done();
			});
		});
		const heard = (chunk) => {
			this.output = (this.output + chunk).slice(-20000);
		};
		this.child.stdout.on('data', heard);
		this.child.stderr.on('data', heard);
		const limit = Date.now() + START_LIMIT_MS;
		while (this.url === undefined) {
			const match =
			    /listening: (http:\/\/\S+)/.exec(this.output);
			if (match !== null)
				this.url = match[1].replace(/\/$/, '');
			else
				await this.waitStarting(limit);
		}
		while (await statusOf(this.url + '/readyz') !== 200)
			await this.waitStarting(limit);
		this.readyMs = Number(process.hrtime.bigint() - begin) / 1e6;
		return this;
	}

	async waitStarting(limit) {
		if (this.exit !== undefined || Date.now() > limit)
			throw new Error(`${this.binary} does not start ` +
			    `(${this.exit ?? 'time is up'}):\n${this.output}`);
		await sleep(1);
	}

	rssBytes() {
		const text = fs.readFileSync(
		    `/proc/${this.pid}/smaps_rollup`, 'latin1');
		return Number(/^Rss:\s*(\d+)/m.exec(text)[1]) * 1024;
	}

	// Returns the processor time of all its threads so far.
	cpuMs() {
		const text = fs.readFileSync(`/proc/${this.pid}/stat`, 'latin1');
		const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');

		return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
	}

	async stop() {
		const late = setTimeout(
		    () => this.child.kill('SIGKILL'), STOP_LIMIT_MS);

		this.child.kill('SIGTERM');
		await this.ended;
		clearTimeout(late);
		if (this.exit !== 0)
			throw new Error(`${this.binary} ended with ` +
			    `${this.exit}:\n${this.output}`);
	}
}

// Runs a tool and returns its report.  If the tool fails after its report
// (deliveries missing), the benchmark fails, but its figures are shown.
function runTool(tool, args, failures) {
	return new Promise((done, fail) => {
		const child = spawn(tool, args,
			{ stdio: ['ignore', 'pipe', 'pipe'] });
		let out = '', err = '';

		child.stdout.on('data', (chunk) => { out += chunk; });
		child.stderr.on('data', (chunk) => { err += chunk; });
		child.on('error', fail);
		child.on('close', (code, signal) => {
			const what = `${path.basename(tool)} ${args[0]}: ` +
			    err.trim();
			let report;

			try {
				report = JSON.parse(out);
			} catch {
				fail(new Error(`${what} (${signal || code})`));
				return;
			}
			if (code !== 0)
				failures.push(what);
			if (report.first_not_201 !== undefined ||
			    report.first_refused !== undefined)
				failures.push(`${path.basename(tool)} ` +
				    `${args[0]}: ${report.not_201 ??
				    report.refused} refused, first: ` +
				    (report.first_not_201 ??
				    report.first_refused));
			done(report);
		});
	});
}

// Returns the database in a data directory: the file that is not the search
// index.
function databaseIn(data) {
	const names = fs.readdirSync(data).filter(
	    (name) => name.endsWith('.db') && name !== 'search.db');

	if (names.length !== 1)
		throw new Error(`no single database in ${data}: ` +
		    fs.readdirSync(data).join(' '));
	return path.join(data, names[0]);
}

// Copies the data directory of a stopped server.
function copyData(from, to) {
	fs.rmSync(to, { recursive: true, force: true });
	fs.cpSync(from, to, {
		recursive: true,
		filter: (name) => !fs.lstatSync(name).isSocket(),
	});
}

// Makes a temporary directory, which should be on a disk.
function makeWorkDir(where) {
	if (fs.statfsSync(where).type === TMPFS_MAGIC)
		console.error(`warning: ${where} is in memory; an fsync costs ` +
		    'nothing there, so the figures mean nothing. Set BENCH_DIR.');
	return fs.mkdtempSync(path.join(where, 'bench-'));
}

function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;

	return sorted.length % 2 === 1 ? sorted[middle] :
	    (sorted[middle - 1] + sorted[middle]) / 2;
}

// Returns rows of texts as aligned lines.  The first row is the heading; the
// first column is aligned to the left.
function table(rows) {
	const widths = rows[0].map((_, column) => Math.max(
	    ...rows.map((row) => row[column].length)));
	const line = (row) => row.map((cell, column) => column === 0 ?
	    cell.padEnd(widths[column]) : cell.padStart(widths[column]))
	    .join('  ').trimEnd();

	return [line(rows[0]), widths.map((w) => '-'.repeat(w)).join('  '),
		...rows.slice(1).map(line)].join('\n');
}

module.exports = { Server, copyData, databaseIn, makeWorkDir, median, metric,
	runTool, sleep, table };
