#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// make bench-list: the cost of the list of conversations (GET
// /v1/conversations) for a user with 100 and one with 2,000 conversations, on a
// large database of SQLite and on a copy of it in PostgreSQL: time, pages and
// rows of each statement, with the plans.  README.md beside this file explains
// the figures.
//
//	bench/bench-list.js [--build DIR] [--server FILE]
'use strict';

const { execFile, execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const lib = require('./bench-lib.js');

const TOP = path.resolve(__dirname, '..');
const CROWD = 10000;
const PEOPLE = [
	{ number: CROWD, conversations: 100 },
	{ number: CROWD + 1, conversations: 2000 },
];
// The number of messages in each direction of each conversation.
const ROUNDS = 10;
const ARRAY_ITEMS = 100;
const AT_ONCE = 32;
const PAGE = 50;
const ROOM = ['--max-pending', '1000000000', '--max-pending-total',
	'1000000000'];
const TALK = PEOPLE.reduce(
    (sum, person) => sum + 2 * ROUNDS * person.conversations, 0);
// The statements of a page, found by words in their texts.  The first runs
// once, the others run for each row.
const STATEMENTS = [
	{ name: 'conversation_recent', words: 'WITH recent AS' },
	{ name: 'history_before', words: 'ORDER BY m.conversation_seq DESC LIMIT' },
	{ name: 'participants_of', words: 'FROM participants p' },
];
const run = promisify(execFile);

function fail(text) {
	console.error(text);
	process.exit(64);
}

function numberFrom(name, otherwise, least) {
	const text = process.env[name] || otherwise;

	if (!/^[1-9][0-9]*$/.test(text) || Number(text) < least)
		fail(`${name} must be a whole number of at least ${least}`);
	return Number(text);
}

function optionsOf(argv) {
	const options = {
		build: path.join(TOP, 'build'),
		messages: numberFrom('BENCH_MESSAGES', '1000000', 2 * TALK),
		runs: numberFrom('BENCH_RUNS', '31', 1),
		dir: process.env.BENCH_DIR || os.tmpdir(),
	};

	for (let i = 0; i < argv.length; i += 2) {
		if (!['--build', '--server'].includes(argv[i]) ||
		    argv[i + 1] === undefined)
			fail('usage: bench-list.js [--build DIR] [--server FILE]');
		options[argv[i].slice(2)] = path.resolve(argv[i + 1]);
	}
	options.server ??= path.join(options.build, 'twinboxd');
	options.tools = path.join(options.build, 'bench');
	return options;
}

// ---- a client ----

const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });

function call(url, method, target, token, body) {
	return new Promise((done, reject) => {
		const request = http.request(url + target, { method, agent,
			headers: { authorization: `Bearer ${token}`,
				'content-type': 'application/json' } },
		    (answer) => {
			let text = '';

			answer.on('data', (chunk) => { text += chunk; });
			answer.on('end', () => {
				if (answer.statusCode > 299 ||
				    text.includes('"problem":{'))
					reject(new Error(`${method} ${target}: ` +
					    `${answer.statusCode} ${text}`));
				else
					done(JSON.parse(text));
			});
		});
		request.on('error', reject);
		request.end(body === undefined ? undefined : JSON.stringify(body));
	});
}

// Calls ${each} for 0 .. ${n} - 1, with AT_ONCE calls at a time.
async function many(n, each) {
	let next = 0;
	const work = async () => {
		while (next < n)
			await each(next++);
	};

	await Promise.all(Array.from({ length: AT_ONCE }, work));
}

class Bench {
	constructor(options) {
		this.options = options;
		this.dir = lib.makeWorkDir(options.dir);
		this.data = path.join(this.dir, 'data');
		this.tokenFile = path.join(this.dir, 'tokens');
		this.failures = [];
		this.reports = {};
		process.on('exit', () => {
			this.server?.child?.kill('SIGKILL');
			fs.rmSync(this.dir, { recursive: true, force: true });
		});
		for (const signal of ['SIGINT', 'SIGTERM'])
			process.on(signal, () => process.exit(1));
	}

	async withServer(flags, body) {
		this.server = new lib.Server(this.options.server, this.data,
		    [...ROOM, ...flags]);
		await this.server.start();
		this.url = this.server.url;
		try {
			await body();
		} finally {
			agent.destroy();
			await this.server.stop();
		}
	}

	readTokens() {
		this.tokens = Object.fromEntries(fs.readFileSync(
		    this.tokenFile, 'latin1').trim().split('\n')
		    .map((line) => line.split(' ')));
	}

	token(number) {
		return this.tokens[`u${number}`];
	}

	// Sends in both directions of each of the person's conversations, round
	// by round, so that the messages of one conversation lie as far apart
	// as in real use.
	async talk({ number, conversations }) {
		const message = (to, round) => ({ key: `${number}-${to}-${round}`,
			to: `u${to}`, body: 'x'.repeat(200) });

		for (let round = 0; round < ROUNDS; round++) {
			for (let i = 0; i < conversations; i += ARRAY_ITEMS)
				await call(this.url, 'POST', '/v1/messages',
				    this.token(number), Array.from({ length:
					Math.min(ARRAY_ITEMS, conversations - i) },
				    (_, k) => message(i + k, round)));
			await many(conversations, (i) => call(this.url, 'POST',
			    '/v1/messages', this.token(i),
			    [message(number, round)]));
		}
	}

	// Marks one half of the inbox as read, so that conversations have
	// unread messages.
	async read({ number }) {
		const token = this.token(number);
		const { head } = await call(this.url, 'GET', '/v1/inbox?limit=1',
		    token);
		const upto = head >> 1;

		await call(this.url, 'POST', '/v1/inbox/ack', token, { upto: head });
		await call(this.url, 'POST', '/v1/inbox/read', token, { upto });
	}

	async delivered() {
		while (await lib.metric(this.url, 'twinbox_outbox_pending') > 0)
			await lib.sleep(50);
	}

	async fill() {
		const { options } = this;

		fs.mkdirSync(this.data, { mode: 0o700 });
		await this.withServer([], () => {});
		await run(path.join(options.tools, 'seed'), ['--db',
			lib.databaseIn(this.data), '--tokens', this.tokenFile,
			'--users', String(CROWD + PEOPLE.length)]);
		this.readTokens();
		await this.withServer([], async () => {
			await lib.runTool(path.join(options.tools, 'loadgen'),
			    ['fill', '--url', this.url, '--tokens',
				this.tokenFile, '--users', String(CROWD),
				'--connections', '16', '--messages',
				String(options.messages - TALK)], this.failures);
			for (const person of PEOPLE) {
				await this.talk(person);
				await this.delivered();
				await this.read(person);
			}
			await this.delivered();
		});
	}

	keep(store, person, report) {
		const of = this.reports[store] ??= {};

		of[person.conversations] = { ...of[person.conversations],
			...report };
	}

	// ---- through the server

	page(person, after) {
		return call(this.url, 'GET', `/v1/conversations?limit=${PAGE}` +
		    (after === undefined ? '' : `&after=${after}`),
		    this.token(person.number));
	}

	async timeOf(person, after) {
		const times = [];

		for (let i = 0; i < this.options.runs; i++) {
			const begin = process.hrtime.bigint();

			await this.page(person, after);
			times.push(Number(process.hrtime.bigint() - begin) / 1e6);
		}
		return { median: lib.median(times), least: Math.min(...times),
			most: Math.max(...times) };
	}

	// Measures the first page and the last one.  Checks that the pages have
	// each conversation once, with its last message.
	async measure(store) {
		for (const person of PEOPLE) {
			const seen = new Set();
			let after, last, pages = 0;

			do {
				const got = await this.page(person, after);

				for (const one of got.conversations)
					if (one.last_message !== null)
						seen.add(one.id);
				last = after;
				after = got.next ?? undefined;
				pages++;
			} while (after !== undefined);
			if (seen.size !== person.conversations)
				this.failures.push(`${store}: the list has ` +
				    `${seen.size} conversations with a message, ` +
				    `not ${person.conversations}`);
			this.keep(store, person, { pages,
				first: await this.timeOf(person),
				last: await this.timeOf(person, last) });
		}
	}

	// ---- SQLite's own figures: the statement in the sqlite3 tool

	async sqlite(args, script) {
		return execFileSync('sqlite3', ['-batch', '-bail', '-readonly',
			...args, lib.databaseIn(this.data)],
		{ input: script, encoding: 'latin1' });
	}

	async explainSqlite() {
		const text = statementText('conversation_recent');

		for (const person of PEOPLE) {
			const id = (await this.sqlite([], 'SELECT user_id FROM ' +
			    `users WHERE name = 'u${person.number}';`)).trim();
			const bind = '.parameter init\n' +
			    `.parameter set $user_id ${id}\n` +
			    `.parameter set $before_at ${2n ** 63n - 1n}\n` +
			    ".parameter set $before_id \"x'00'\"\n" +
			    `.parameter set $limit ${PAGE + 1}\n`;
			const plan = await this.sqlite([],
			    `${bind}EXPLAIN QUERY PLAN ${text}`);
			// The first one fills the page cache.
			const got = await this.sqlite([], `${bind}${text}\n` +
			    '.timer on\n' +
			    `${text}\n`.repeat(this.options.runs) +
			    // The first answer counts from the beginning.
			    `.timer off\n.stats on\nSELECT 1;\n${text}\n`);
			const stat = (name) => Number([...got.matchAll(
			    new RegExp(`^${name}:\\s+(\\d+)`, 'gm'))].at(-1)?.[1]);
			const times = [...got.matchAll(
			    /^Run Time: real ([0-9.]+) /gm)]
			    .map((match) => Number(match[1]) * 1000);

			this.keep('SQLite', person, { plan, statements: {
				conversation_recent: {
					pages: stat('Page cache hits') +
					    stat('Page cache misses'),
					steps: stat('Virtual Machine Steps'),
					fullscan: stat('Fullscan Steps'),
					ms: lib.median(times),
				},
			} });
		}
	}

	// ---- PostgreSQL's own figures: auto_explain in the server's sessions

	async explainPostgres(cluster) {
		for (const person of PEOPLE) {
			const from = cluster.log().length;

			for (let i = 0; i < this.options.runs; i++)
				await this.page(person);
			const logged = explained(cluster.log().slice(from));

			this.keep('PostgreSQL', person, { statements:
				Object.fromEntries(STATEMENTS.map((statement) =>
				    [statement.name, costOf(logged.filter((one) =>
					one.text.includes(statement.words)))])) });
		}
	}

	// Copies without the final fsck, which takes longer than everything
	// else here.
	async copyTo(url) {
		const child = spawn(this.options.server, ['copy', '--data',
			this.data, '--from', `sqlite:${lib.databaseIn(this.data)}`,
			'--to', url], { stdio: ['ignore', 'pipe', 'inherit'] });
		let said = '';

		child.stdout.on('data', (chunk) => {
			said += chunk;
			if (said.includes('copied; '))
				child.kill();
		});
		await new Promise((done) => child.on('close', done));
		if (!said.includes('copied; '))
			throw new Error(`twinboxd copy has failed: ${said}`);
	}

	async postgres(cluster) {
		const url = await cluster.createDatabase('list');

		await this.copyTo(url);
		// autovacuum leaves a grown database in this state.
		await cluster.sql('VACUUM ANALYZE', { database: 'list',
			ms: 600000 });
		await this.withServer(['--db', url], async () => {
			await this.measure('PostgreSQL');
			await setExplain(cluster, true);
			await this.explainPostgres(cluster);
			await setExplain(cluster, false);
		});
	}
}

// Returns the text of a statement, as the build embeds it.
function statementText(name) {
	const kinds = fs.readFileSync(path.join(TOP, 'server/model/event.h'),
	    'latin1');

	for (const dir of ['common', 'sqlite'])
		for (const file of fs.readdirSync(path.join(TOP, 'schema', dir))) {
			const text = fs.readFileSync(path.join(TOP, 'schema', dir,
			    file), 'utf8');
			const from = text.indexOf(`-- name: ${name}(`);

			if (from < 0)
				continue;
			return text.slice(from).split(/\n(?=-- name: )/)[0]
			    .replace(/^--.*\n/gm, '')
			    .replace(/\bEVENT_[A-Z_]+/g, (word) => new RegExp(
				`X\\(${word}, (\\d+),`).exec(kinds)[1]);
		}
	throw new Error(`there is no statement ${name}`);
}

// Returns the entries that auto_explain has logged: text, plan and time of each
// statement.
function explained(log) {
	return log.split(/\n(?=\d{4}-)/).filter((entry) =>
	    / ms {2}plan:/.test(entry)).map((entry) => {
		const json = JSON.parse(entry.slice(entry.indexOf('{')));

		return { text: json['Query Text'], plan: json.Plan,
			ms: Number(/duration: ([0-9.]+) ms/.exec(entry)[1]) };
	});
}

// Returns the number of rows that all scans of tables and indexes below ${plan}
// have read.
function rowsOf(plan) {
	const own = /^(Index|Seq|Bitmap Heap|Tid)\b.*Scan/.test(plan['Node Type']) ?
	    plan['Actual Loops'] * (plan['Actual Rows'] +
	    (plan['Rows Removed by Filter'] ?? 0) +
	    (plan['Rows Removed by Index Recheck'] ?? 0)) : 0;

	return (plan.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), own);
}

function nodesOf(plan, depth = 0) {
	const on = plan['Index Name'] ?? plan['Relation Name'] ?? plan['CTE Name'];
	const line = `${'  '.repeat(depth)}${plan['Node Type']}` +
	    `${on === undefined ? '' : ` on ${on}`}, ${plan['Actual Loops']} times`;

	return [line, ...(plan.Plans ?? []).flatMap(
	    (one) => nodesOf(one, depth + 1))];
}

function costOf(statements) {
	if (statements.length === 0)
		throw new Error('auto_explain has not logged a statement');
	const of = (value) => lib.median(statements.map(value));

	return {
		pages: of(({ plan }) => plan['Shared Hit Blocks'] +
		    plan['Shared Read Blocks']),
		rows: of(({ plan }) => rowsOf(plan)),
		ms: of(({ ms }) => ms),
		plan: nodesOf(statements.at(-1).plan).join('\n'),
	};
}

// Takes effect with a session's next statement.
async function setExplain(cluster, on) {
	const sets = { log_min_duration: on ? '0' : '-1', log_analyze: on,
		log_buffers: on, log_timing: false, log_format: 'json' };

	for (const [name, value] of Object.entries(sets))
		await cluster.sql(`ALTER SYSTEM SET auto_explain.${name} = '${value}'`);
	await cluster.sql('SELECT pg_reload_conf()');
	while (await cluster.sql('SHOW auto_explain.log_min_duration') !==
	    sets.log_min_duration)
		await lib.sleep(10);
}

// ---- the table ----

const round = (v) => v === undefined ? '' :
    v >= 100 ? Math.round(v).toLocaleString('en') : v.toFixed(v >= 10 ? 1 : 2);

function tableOf(reports) {
	const rows = [['figure', ...Object.keys(reports).flatMap((store) =>
	    PEOPLE.map((person) => `${store}, ${person.conversations}`))]];
	const columns = Object.values(reports).flatMap((of) =>
	    PEOPLE.map((person) => of[person.conversations]));
	const add = (name, value) => rows.push([name,
		...columns.map((one) => value(one) ?? '')]);
	const spread = (t) => `${round(t.median)} (${round(t.least)} - ` +
	    `${round(t.most)})`;

	add('first page, ms', (one) => spread(one.first));
	add('last page, ms', (one) => spread(one.last));
	for (const { name } of STATEMENTS)
		for (const member of ['ms', 'pages', 'rows', 'steps'])
			add(`${name}: ${member}`, (one) =>
			    round(one.statements[name]?.[member]));
	return lib.table(rows);
}

async function main() {
	const options = optionsOf(process.argv.slice(2));
	const { Cluster } = await import('../tests/postgres/cluster.mjs');
	const bench = new Bench(options);

	console.error(`filling with ${options.messages} messages`);
	await bench.fill();
	console.error('SQLite');
	await bench.withServer([], () => bench.measure('SQLite'));
	await bench.explainSqlite();
	console.error('PostgreSQL');
	const cluster = await new Cluster({ dir: options.dir, locale: 'C.UTF-8',
		settings: { max_wal_size: '2GB',
			session_preload_libraries: 'auto_explain' } }).start();
	await bench.postgres(cluster);
	console.log(`${os.cpus().length} processors, load average ` +
	    `${os.loadavg()[0].toFixed(1)}, ${options.messages} messages, ` +
	    `medians of ${options.runs}\n`);
	console.log(tableOf(bench.reports));
	fs.writeFileSync(path.join(options.build, 'bench-list.json'),
	    JSON.stringify(bench.reports, null, 1) + '\n');
	for (const failure of new Set(bench.failures))
		console.log(`FAILED ${failure}`);
	process.exitCode = bench.failures.length > 0 ? 1 : 0;
	await cluster.remove();
}

main().catch((error) => {
	console.error(error.message);
	process.exit(1);
});
