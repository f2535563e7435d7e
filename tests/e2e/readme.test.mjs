// SPDX-License-Identifier: MIT
// tags: surface plain
//
// Tries the README as a new user does.  Every block of shell commands is typed
// line by line into a shell; only the address, the directory and the port are
// changed.  The tests check what the text around each block promises.  They
// also run the commands inside the text, and those that use the whole screen
// run in a terminal.  A block, a line or a command that no test knows is a
// failure, so that the README contains only commands that have been run.
//
// Environment: TWINBOXD and TWINBOX as for the other tests. scripts/run makes
// and starts the plain build; its test is skipped if TWINBOX_SANITIZED is set.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Cluster } from '../postgres/cluster.mjs';
import { EX, Proxy } from './cli-client.mjs';
import { Terminal } from './cli-terminal.mjs';
import { accepted } from './expect.mjs';
import {
	PASSWORD, Rest, START_TIMEOUT_MS, eventually, expectStatus, killAll, login, run, sleep,
	startServer, tempDir, within,
} from './harness.mjs';
import { Shell, blocksOf, newcomer, workplace } from './readme-shell.mjs';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const README = fs.readFileSync(path.join(top, 'README.md'), 'utf8');

/** Time for a build from scratch. */
const BUILD_MS = 600_000;

const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

after(killAll);

// ---- the blocks --------------------------------------------------------------

const blocks = blocksOf(README);

/** Returns the only block with the name ${name}. */
function block(name)
{
	const found = blocks.filter((one) => one.name === name);

	assert.equal(found.length, 1, `blocks "${name}" of README.md`);
	return found[0];
}

/** Returns the lines of the quickstart's blocks, in order. */
const quickstartLines = () =>
	blocks.filter((one) => one.name === 'quickstart').flatMap((one) => one.lines);

/** The README without its blocks. */
const prose = README.replace(/^ *(`{3,}|~{3,})[^]*?^ *\1 *$/gm, '');

/**
 * Returns ${text}, after checking that the text of the README has this command
 * exactly once.
 */
function inline(text)
{
	assert.equal(prose.split(`\`${text}\``).length, 2, `"${text}" in the text of README.md`);
	return text;
}

/** Returns ${line} with ${from}, which must be in it, replaced by ${to}. */
function instead(line, from, to)
{
	assert.ok(line.includes(from), `"${from}" in: ${line}`);
	return line.replaceAll(from, to);
}

// ---- the tests -----------------------------------------------------------------

/** Waits for the "listening:" line of ${child}.  Returns the URL. */
async function listening(child, ms = START_TIMEOUT_MS)
{
	return eventually(() => {
		assert.equal(child.exitCode, null, `it ended:\n${child.out}${child.err}`);
		return /^listening: (http:\/\/\S+)$/m.exec(child.out)?.[1];
	}, 'the "listening:" line', ms);
}

async function sigterm(child)
{
	child.kill('SIGTERM');
	return within(child.exited, 15_000, 'the end after SIGTERM');
}

describe('README.md', () => {
	it('has no block that is not tried here', () => {
		assert.deepEqual(blocks.map((b) => [b.name, b.language]).sort(), [
			['Test it', 'sh'], ['Try it', 'sh'], ['Use it', 'sh'],
			['client', 'sh'], ...Array(5).fill(['quickstart', 'sh']),
		]);
	});

	it('has no command in its text that is not tried', () => {
		const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map((m) => m[1]);

		assert.deepEqual(spans.filter((one) =>
			/^(build|scripts)\/|^(twinboxd|make|configure|ls|send|show|requeue)\b/.test(one)).sort(), [
			'build/twinbox --profile alice chat bob', 'build/twinbox --profile bob tail',
			'build/twinbox admin dlq', 'build/twinbox admin top',
			/*
			 * This needs a build of its own, which no test makes.
			 */
			'configure --disable-page',
			/*
			 * scripts/build runs the first one, and
			 * tests/package/dist.sh the last one.
			 */
			'make', 'make -C build bench', 'make dist',
			'requeue --all --destination far.example',
			/* scripts/test is what runs this test. */
			'scripts/test', 'scripts/test full', 'scripts/test quick',
			'scripts/test unit/test_relay',
			'send --wait read', 'show ID',
			'twinboxd --help', 'twinboxd copy --to postgresql://db.example/chat',
		]);
	});

	it('links to files that exist', () => {
		const links = [...README.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map((m) => m[1]);

		assert.ok(links.length > 0);
		for (const link of links.filter((one) => !/^\w+:/.test(one)))
			assert.ok(fs.existsSync(path.join(top, link)), link);
	});
});

for (const shell of ['sh', 'bash']) {
	describe(`README.md, try it, with ${shell}`, () => {
		it('R5 R49 R157 R224 its first page, then the same with the client', async (t) => {
			const server = await startServer();
			/*
			 * The address stays the same over restarts of the
			 * server.
			 */
			const proxy = await new Proxy(server).listen();
			t.after(async () => {
				await proxy.close();
				await server.stop();
			});
			const dir = workplace();
			const typist = new Shell(shell, dir);

			await quickstart(typist, proxy.url);
			await client(typist, proxy.url);
			await live(t, typist, server, dir);
			await typist.end();
			assert.equal((await server.stop()).code, 0);
		});
	});
}

async function quickstart(shell, url)
{
	const [address, alice, bob, send, inbox, ack, read, receipts, outbox, ...more] =
		quickstartLines();

	assert.deepEqual(more, [], 'lines that are not tried');
	await shell.works(instead(address, 'http://127.0.0.1:8080', url));
	await shell.works(alice, 201);
	await shell.works(bob, 201);

	const entry = await shell.json(send, 201);
	assert.equal(entry.to, 'bob');
	accepted(entry);

	await shell.tells((out) => JSON.parse(out).events.length > 0, inbox, 200);
	const page = await shell.json(inbox, 200);
	assert.equal(page.events.length, 1);
	const [event] = page.events;
	assert.deepEqual([event.seq, event.kind, event.from, event.body, event.id],
		[1, 'message', 'alice', 'Hello Bob', entry.id]);

	assert.deepEqual(await shell.json(ack, 200), { acked: 1, head: 1 });
	assert.equal((await shell.json(read, 200)).unread, 0);

	await shell.tells((out) => JSON.parse(out).events.length >= 2, receipts, 200);
	const { events } = await shell.json(receipts, 200);
	assert.deepEqual(events.map((e) => [e.kind, e.state, e.of, e.by]), [
		['receipt', 'delivered', entry.id, 'bob'], ['receipt', 'read', entry.id, 'bob'],
	]);

	const { entries } = await shell.json(outbox, 200);
	assert.deepEqual(entries.map((e) => [e.id, e.state, e.labels]),
		[[entry.id, 'acked', ['read']]]);
}

async function client(shell, url)
{
	const [address, bob, alice, send, inbox, history, outbox, ...more] = block('client').lines;

	assert.deepEqual(more, [], 'lines that are not tried');
	await shell.works(instead(address, 'http://127.0.0.1:8080', url));
	await shell.works(bob);
	await shell.works(alice);
	const { out } = await shell.works(send);
	const id = ID.exec(out)?.[0];
	assert.ok(id, out);
	await shell.tells((text) => /alice +Are you there\?$/m.test(text), inbox);
	assert.match((await shell.works(history)).out,
		/alice +Hello Bob\n.*alice +Are you there\?\n/);
	await shell.tells((text) => new RegExp(`^sent +bob .* ${id}$`, 'm').test(text), outbox);
	await asJson(shell);
}

/**
 * Checks what the text says about --json and --page, with alice's outbox as the
 * list.
 */
async function asJson(shell)
{
	const lines = async (flags) => (await shell.works(`build/twinbox --profile alice outbox ${flags}`)).out
		.trimEnd().split('\n').map((line) => JSON.parse(line));
	const entries = await lines(inline('--json'));
	const [page, ...more] = await lines(`--json ${inline('--page')}`);

	assert.ok(entries.length > 1, 'a list with more than one line');
	assert.ok(entries.every((one) => one.to === 'bob'), 'each line is an entry');
	assert.deepEqual([page.entries, more], [entries, []]);
}

/** Runs ${command} in a terminal, in the directory ${dir}. */
function terminal(t, dir, command, more = {})
{
	const it = new Terminal('sh', ['-c', `cd ${dir} && exec ${command}`],
		{ env: { ...newcomer(dir), ...more } });

	t.after(() => it.kill());
	return it;
}

/** Checks what the text says about the live client. */
async function live(t, shell, server, dir)
{
	const { out: url } = await shell.works('printf %s "$TWINBOX_SERVER"');
	const env = { TWINBOX_SERVER: url };
	const tail = terminal(t, dir, inline('build/twinbox --profile bob tail'), env);
	const chat = terminal(t, dir, inline('build/twinbox --profile alice chat bob'), env);
	// The tick is behind the text, or on a line below if that part of the
	// screen has scrolled away.
	const ticks = (text, mark, word) => chat.shows((screen) =>
		new RegExp(`you +${text} {2}${mark}$|${mark.split(' ')[0]} ${word}: ${text}$`, 'm').test(screen),
	`${mark} of: ${text}`);
	const read = async () => {
		const { head } = JSON.parse(
			(await shell.works('build/twinbox --profile bob inbox --json --page')).out);
		await shell.works(`build/twinbox --profile bob read --upto ${head}`);
	};

	// Line editing: go to the beginning of the line and add the missing
	// letter.
	await chat.shows(/^>/m, 'the prompt');
	chat.type('ello Bob, once more\x01H\r');
	await tail.shows(/alice +Hello Bob, once more$/m);
	await ticks('Hello Bob, once more', '✓✓', 'delivered');
	await read();
	await ticks('Hello Bob, once more', '✓✓ read', 'read');

	await server.restart();
	chat.type('after a restart\r');
	await tail.shows(/alice +after a restart$/m);
	await ticks('after a restart', '✓✓', 'delivered');

	const waits = run('sh', ['-c',
		`exec build/twinbox --profile alice ${inline('send --wait read')} bob 'Read this'`],
	{ cwd: dir, env: { ...newcomer(dir), ...env } });
	await tail.shows(/alice +Read this$/m);
	await ticks('Read this', '✓✓', 'delivered');
	assert.equal(waits.exitCode, null, 'it waits until it has been read');
	await read();
	assert.equal((await within(waits.exited, 20_000, 'the end of send --wait read')).code, 0,
		waits.err);

	chat.type('\x04');
	assert.equal(await within(chat.ended(), 20_000, 'the end of chat'), 0);
	tail.type('\x03');
	await within(tail.ended(), 20_000, 'the end of tail');
	for (const one of [tail, chat])
		assert.equal(one.screen.text().split('Hello Bob, once more').length, 2, 'it is there once');
}

/** Runs the admin commands as ann, who has written to ben. */
async function adminCommands(t, dir, url)
{
	const shell = new Shell('sh', dir);
	const admin = inline('build/twinbox admin dlq').replace(/ dlq$/, '');

	await shell.works(`export TWINBOX_SERVER=${url}`);
	await shell.works(`echo '${PASSWORD}' | build/twinbox login ann --password-stdin`);
	const { out: sent } = await shell.works("build/twinbox send ben 'Not for the operator'");
	const [id] = ID.exec(sent);

	const top = terminal(t, dir, inline('build/twinbox admin top'), { TWINBOX_SERVER: url });
	await top.shows(/^pending +0 +accepted +/m);
	top.type('q');
	assert.equal(await within(top.ended(), 20_000, 'the end of top'), 0);

	// Makes a dead letter: the message expires before deliveries are
	// resumed.
	await shell.works(`${admin} pause local`);
	const { out: late } = await shell.works("build/twinbox send ben 'Not for the operator' --expires-in 1s");
	await sleep(1500);
	await shell.works(`${admin} resume local`);
	const [dead] = ID.exec(late);
	await shell.tells((out) => out.includes(dead), `${admin} dlq`);

	const requeue = inline('requeue --all --destination far.example');
	const commands = [
		['top --once', /^twinbox top [^]*^dead letters +1 /m],
		['dlq', new RegExp(`^ *1 +expired .* ann → ben\n +${dead}$`, 'm')],
		[inline('show ID').replace('ID', id), new RegExp(`^id +${id}\n[^]*^→ ben +sent$`, 'm')],
		[instead(requeue, 'far.example', 'local'), /^requeued [01]$/m],
	];
	for (const [command, said] of commands) {
		const { out: json } = await shell.works(`${admin} ${command} --json`);
		for (const line of json.trimEnd().split('\n'))
			JSON.parse(line);
		const { out } = await shell.works(`${admin} ${command}`);
		assert.match(out, said, command);
		assert.doesNotMatch(out + json, /Not for the operator/);
	}
	await shell.tells((out) => out === '', `${admin} dlq`);
	const unknown = await shell.type(`${admin} ${requeue}`);
	assert.equal(unknown.code, EX.DATAERR);
	assert.match(unknown.err, /nobody and nothing here is called "far\.example"/);
	await shell.end();
}

describe('README.md, use it', () => {
	const [build, add, serve, check, prove, copy, ...more] = block('Use it').lines;
	const dir = workplace();
	const data = path.join(dir, 'srv/chat');
	const env = newcomer(dir);

	/**
	 * Returns the words of ${line}, with its directory and port replaced.
	 */
	function words(line)
	{
		const changed = instead(line, '/srv/chat', data).replace('/srv/copy.db', `${data}.copy`).replace('127.0.0.1:8080', '127.0.0.1:0');
		return changed.split(' ');
	}

	/**
	 * Runs the command in a terminal, as a person who is asked for the
	 * password.
	 */
	async function addUser(line)
	{
		const [program, ...args] = words(line);
		const terminal = new Terminal(path.join(dir, program), args, { env });

		await terminal.shows(/password/i);
		terminal.type(`${PASSWORD}\r`);
		await terminal.shows(/again|repeat|once more/i);
		terminal.type(`${PASSWORD}\r`);
		assert.equal(await within(terminal.ended(), 20_000, line), 0, terminal.screen.text());
		assert.doesNotMatch(terminal.screen.text(), new RegExp(PASSWORD));
		return terminal.screen.text();
	}

	it('has no line that is not tried', () => {
		assert.deepEqual(more, []);
		assert.equal(build, 'scripts/build');
		assert.match(add, /^build\/twinboxd user add ann --admin --data \/srv\/chat$/);
		assert.match(serve, /^build\/twinboxd serve .*--listen 127\.0\.0\.1:8080$/);
		assert.equal(check, 'build/twinboxd check-config');
		assert.match(prove, /^build\/twinboxd fsck /);
		assert.match(copy, /^build\/twinboxd backup /);
	});

	it('scripts/build is what the first stage of the tests runs', () => {
		fs.accessSync(path.join(top, build), fs.constants.X_OK);
		assert.match(fs.readFileSync(path.join(top, 'tests/stages/00-build'), 'utf8'),
			/^use_build plain$/m);
		assert.match(fs.readFileSync(path.join(top, 'tests/stages/lib.sh'), 'utf8'),
			/^\tplain\) set -- --enable-werror ;;[^]*scripts\/build --dir/m);
	});

	it('R243 the first user, then the server, then a user while it runs: one program, one file', async (t) => {
		assert.match(await addUser(add), /ann .*administrator/);

		const [program, ...args] = words(serve);
		const server = run(path.join(dir, program), args, { cwd: dir, env });
		const url = await listening(server);
		const ann = await login({ url, rest: () => new Rest({ url }) }, 'ann');
		assert.equal(expectStatus(await ann.get('/v1'), 200).body.user.name, 'ann');
		expectStatus(await new Rest({ url }).get('/readyz'), 200);

		const second = await addUser(instead(instead(add, ' ann', ' ben'), ' --admin', ''));
		assert.doesNotMatch(second, /administrator/);
		await login({ url, rest: () => new Rest({ url }) }, 'ben');

		await adminCommands(t, dir, url);

		const closed = await new Rest({ url }).post('/v1/users',
			{ name: 'eve', password: PASSWORD });
		assert.equal(closed.status, 403, 'registration is closed unless it is opened');

		for (const [line, said] of [[prove, /no violations$/m], [copy, /^backed up to /m]]) {
			const [tool, ...rest] = words(line);
			const told = run(path.join(dir, tool), rest, { cwd: dir, env });
			assert.equal((await told.exited).code, 0, told.err);
			assert.match(told.out, said);
		}
		assert.deepEqual(await sigterm(server), { code: 0, signal: null },
			`${server.out}${server.err}`);
		assert.deepEqual(fs.readdirSync(data).filter((name) => /\.db/.test(name)).sort(),
			['twinbox.db', 'twinbox.db-lock']);
	});

	it('all of it moves to PostgreSQL, and back', async () => {
		const cluster = await new Cluster().start();
		try {
			const to = await cluster.createDatabase('chat');
			const there = instead(inline('twinboxd copy --to postgresql://db.example/chat'),
				'postgresql://db.example/chat', to).split(' ');
			const back = ['twinboxd', 'copy', '--from', to, '--to', `sqlite:${dir}/back/twinbox.db`];

			fs.mkdirSync(path.join(dir, 'back'));
			for (const [program, ...args] of [[...there, '--data', data], back]) {
				const told = run(path.join(dir, 'build', program), args, { cwd: dir, env });
				assert.equal((await told.exited).code, 0, told.out + told.err);
				assert.match(told.out, /^messages +2 +2$[^]*^2 users, 2 messages, .*no violations$/m);
			}
		} finally {
			await cluster.remove();
		}
	});

	it('check-config prints every setting, its value and where it came from', async () => {
		const [program, ...args] = check.split(' ');
		const told = run(path.join(dir, program), args,
			{ cwd: dir, env: { ...env, TWINBOX_DOMAIN: 'chat.example' } });
		const help = run(path.join(dir, 'build', 'twinboxd'),
			inline('twinboxd --help').split(' ').slice(1), { cwd: dir, env });

		assert.equal((await told.exited).code, 0, told.err);
		assert.equal((await help.exited).code, 0, help.err);
		const lines = told.out.trimEnd().split('\n');
		const names = [...help.out.matchAll(/^ {2}--(\S+).*\[TWINBOX_/gm)].map((m) => m[1])
			.filter((name) => name !== 'config');
		assert.ok(names.length > 10);
		for (const name of names)
			assert.ok(lines.some((line) => line.startsWith(`${name} =`)), name);
		assert.ok(lines.includes('listen = 127.0.0.1:8080 ; default'), told.out);
		assert.match(told.out, /^domain = chat\.example ; .*TWINBOX_DOMAIN/m);
	});
});

describe('README.md, scripts', () => {
	const skip = process.env.TWINBOX_SANITIZED ? 'it runs the plain build' : false;

	it('scripts/run makes, starts and prints what to copy', { timeout: BUILD_MS, skip }, async (t) => {
		const { lines } = block('Try it');
		assert.deepEqual(lines, ['scripts/run']);

		const dir = tempDir('twinbox-readme-');
		const data = path.join(dir, 'data');
		const child = run(path.join(top, lines[0]), ['--listen', '127.0.0.1:0'], {
			cwd: dir, env: { ...newcomer(dir), TWINBOX_DATA: data },
		});
		const url = await listening(child, BUILD_MS);
		const database = /^database: (?:sqlite:)?(.+)$/m.exec(child.out)?.[1];
		assert.equal(database, path.join(data, 'twinbox.db'));
		assert.ok(fs.existsSync(database));

		// The printed lines are run with the program that scripts/build
		// has made.
		const told = child.out.slice(child.out.indexOf('With curl'));
		const shown = told.split('\n').filter((line) => /^ {2}/.test(line)).join('\n')
			.replaceAll('\\\n', '');
		const copied = shown.split('\n').map((line) => line.trim());
		/*
		 * The last command does not end, so it is tried in a terminal.
		 */
		const tail = copied.pop();
		assert.ok(copied.some((line) => line.includes(`curl -sS '${url}/v1/`)), child.out);
		assert.ok(copied.some((line) => line.includes('build/twinbox login')), child.out);
		fs.symlinkSync(path.join(top, 'build'), path.join(dir, 'build'));
		const shell = new Shell('sh', dir);
		for (const line of copied) {
			const answer = await shell.type(line);
			assert.equal(answer.code, 0, `${line}\n${answer.out}${answer.err}`);
			for (const status of answer.statuses)
				assert.ok(status < 300, `${line}\n${answer.out}${answer.err}`);
		}
		await shell.end();
		const screen = terminal(t, dir, instead(tail, ' tail', ' tail'));
		await screen.shows(/alice +Hello, Bob\.$/m);
		screen.type('\x03');
		await within(screen.ended(), 20_000, 'the end of tail');

		assert.deepEqual(await sigterm(child), { code: 0, signal: null },
			'scripts/run is the server once it has started it');
	});

	it('make bench measures', { timeout: BUILD_MS, skip }, async () => {
		const [program, ...args] = inline('make -C build bench').split(' ');
		/* Only the smallest part of the benchmark runs. */
		const told = run(program, args, { cwd: top, env: {
			...newcomer(tempDir()), BENCH_ONLY: 'latency', BENCH_RUNS: 1, BENCH_SECONDS: 1 } });

		assert.equal((await within(told.exited, BUILD_MS, 'the bench')).code, 0, told.out + told.err);
		assert.match(told.out, /^send to frame at 500\/s, p99, ms +<= /m);
	});

	it('scripts/test knows the runs that the text names', () => {
		const plan = fs.readFileSync(path.join(top, 'tests/stages/plan'), 'utf8');

		for (const command of ['scripts/test quick', 'scripts/test full'])
			assert.match(plan, new RegExp(`^00-build .*\\b${inline(command).split(' ')[1]}\\b`, 'm'));
	});

	it('scripts/test runs one file', { timeout: BUILD_MS, skip }, async () => {
		const [program, ...args] = inline('scripts/test unit/test_relay').split(' ');
		const told = run(program, args, { cwd: top,
			env: { ...newcomer(tempDir()), PATH: process.env.PATH } });

		assert.equal((await within(told.exited, BUILD_MS, 'the test')).code, 0, told.out + told.err);
		assert.match(told.out, /^# unit\/test_relay: \d+ passed, [\d.]+ s$/m);
		assert.match(told.out, /^\d+ passed, 0 failed$/m);
	});

	it('scripts/test is what CI runs', () => {
		assert.deepEqual(block('Test it').lines, ['scripts/test']);
		fs.accessSync(path.join(top, 'scripts/test'), fs.constants.X_OK);
		fs.accessSync(path.join(top, '.ci/run'), fs.constants.X_OK);
		assert.match(fs.readFileSync(path.join(top, '.ci/run'), 'utf8'),
			/exec scripts\/test$/m);
	});
});
