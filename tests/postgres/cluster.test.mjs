// SPDX-License-Identifier: MIT
//
// The private PostgreSQL that tests run on.  It keeps what it has committed,
// and its replicas have that, too.  It never runs as root.  Nothing of it is
// left when it was removed, or when the test that made it was killed.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { eventually, run, tempDir, within } from '../e2e/harness.mjs';
import { Cluster, findBinaries } from './cluster.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const WITH = path.join(here, 'with-postgres');

/** Returns the processes whose working directory is in ${dir}. */
function livingIn(dir)
{
	return fs.readdirSync('/proc').filter((pid) => {
		try {
			return fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(dir);
		} catch {
			return false;
		}
	});
}

/** Waits until nothing is left of the cluster in ${dir}. */
async function nothingLeft(dir)
{
	await eventually(() => !fs.existsSync(dir) && livingIn(dir).length === 0,
		() => `nothing is left of ${dir}`);
}

describe('a cluster', () => {
	let cluster;

	before(async () => {
		cluster = await new Cluster().start();
		await cluster.createDatabase('kept');
		await cluster.sql('CREATE TABLE t (x int)', { database: 'kept' });
	});
	after(() => cluster?.remove());

	const count = () => cluster.sql('SELECT count(*) FROM t', { database: 'kept' });
	const insert = (n) => cluster.sql(`INSERT INTO t VALUES (${n})`, { database: 'kept' });

	it('is another server than one with initdb of its own', async (t) => {
		const other = await new Cluster({ own: true }).start();
		t.after(() => other.remove());
		const identifier = (of) => of.sql('SELECT system_identifier FROM pg_control_system()');

		assert.notEqual(await identifier(other), await identifier(cluster));
	});

	it('is durable, and not root\'s', async () => {
		const shown = (name) => cluster.sql(`SHOW ${name}`);

		assert.equal(await shown('fsync'), 'on');
		assert.equal(await shown('synchronous_commit'), 'on');
		assert.equal(await shown('full_page_writes'), 'on');
		assert.equal(await shown('max_connections'), '200');
		assert.notEqual(fs.statSync(`/proc/${cluster.pid}`).uid, 0);
		assert.equal(fs.statSync(cluster.dir).mode & 0o077, 0);
	});

	it('sorts by a language by default', async () => {
		const sorted = (more) => cluster.sql('SELECT string_agg(x, \'\' ORDER BY x ' +
			`${more}) FROM (VALUES ('a'), ('B'), ('c')) t (x)`, { database: 'kept' });

		assert.equal(await sorted(''), 'aBc');
		assert.equal(await sorted('COLLATE "C"'), 'Bac');
	});

	it('is reached by its socket and by its port', async () => {
		for (const tcp of [false, true]) {
			assert.equal(await cluster.sql('SELECT current_database()',
				{ url: cluster.url('kept', { tcp }) }), 'kept');
		}
		assert.equal(await cluster.sql('SELECT inet_server_addr()',
			{ url: cluster.url('kept', { tcp: true }) }), '127.0.0.1');
	});

	it('keeps what was committed, through every kind of end', async () => {
		const { pid, port, dir } = cluster;
		let n = 0;

		for (const mode of ['fast', 'immediate', 'smart']) {
			await insert(++n);
			await cluster.restart(mode);
			assert.equal(await count(), String(n));
		}
		await insert(++n);
		await cluster.kill();
		assert.equal(cluster.running, false);
		assert.deepEqual(livingIn(dir), []);
		await assert.rejects(insert(0), /connection/i);
		await cluster.start();
		assert.match(cluster.log(), /was not properly shut down/);
		assert.equal(await count(), String(n));
		assert.notEqual(cluster.pid, pid);
		assert.equal(cluster.port, port);
	});

	it('answers nobody while it is frozen, and then goes on', async () => {
		const psql = spawn(cluster.program('psql'), ['-XqAt', '-d', cluster.url('kept')],
			{ stdio: ['pipe', 'pipe', 'inherit'] });
		const ended = new Promise((resolve) => { psql.on('close', resolve); });
		let out = '';
		psql.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
		psql.stdin.write('SELECT 1;\n');
		await eventually(() => out === '1\n', 'a session is open');

		await cluster.pause();
		for (const pid of livingIn(cluster.dir))
			assert.match(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'), /\) T /);
		psql.stdin.end('SELECT 2;\n');
		await assert.rejects(cluster.sql('SELECT 1', { ms: 300 }), /not within 300 ms/);
		assert.equal(out, '1\n');
		cluster.resume();
		assert.equal(await within(ended, 10_000, 'psql ends'), 0);
		assert.equal(out, '1\n2\n');
	});

	it('ends while it is frozen', async () => {
		await cluster.pause();
		await cluster.kill();
		await cluster.start();
		await cluster.pause();
		await cluster.stop();
		await cluster.start();
	});

	it('makes databases from others, and drops them whoever is connected', async () => {
		await cluster.createDatabase('copy', { template: 'kept' });
		assert.equal(await cluster.sql('SELECT count(*) > 0 FROM t', { database: 'copy' }), 't');
		const psql = spawn(cluster.program('psql'), ['-Xq', '-d', cluster.url('copy')],
			{ stdio: ['pipe', 'ignore', 'ignore'] });
		await eventually(async () => await cluster.sql('SELECT count(*) FROM pg_stat_activity ' +
			"WHERE datname = 'copy'") === '1', 'somebody is connected');
		await cluster.dropDatabase('copy');
		psql.stdin.end();
		await assert.rejects(cluster.sql('SELECT 1', { database: 'copy' }), /does not exist/);
		await assert.rejects(cluster.createDatabase('x"; DROP DATABASE kept; --'), /plain name/);
	});

	it('says why it does not start', async () => {
		const other = new Cluster({ settings: { shared_buffers: 'many' } });

		await assert.rejects(other.start(), /does not start:[^]*shared_buffers/);
		const { dir } = other;
		await other.remove();
		await nothingLeft(dir);
	});
});

describe('a replica', () => {
	let cluster;
	let other;

	before(async () => {
		cluster = await new Cluster().start();
		await cluster.sql('CREATE TABLE t (x int)');
		other = await cluster.replica('second');
	});
	after(async () => {
		await other?.remove();
		await cluster?.remove();
	});

	it('follows and does not write', async () => {
		await cluster.sql('INSERT INTO t VALUES (1)');
		await other.caughtUp();
		assert.equal(await other.sql('SELECT count(*) FROM t'), '1');
		assert.equal(await other.inRecovery(), true);
		await assert.rejects(other.sql('INSERT INTO t VALUES (2)'), /read-only/);
	});

	it('is waited for when it is synchronous, and only then', async () => {
		await cluster.synchronous('second');
		await other.pause();
		await assert.rejects(cluster.sql('INSERT INTO t VALUES (10)', { ms: 500 }),
			/not within/);
		other.resume();
		await cluster.sql('INSERT INTO t VALUES (11)');
		await cluster.synchronous('');
		await other.pause();
		await cluster.sql('INSERT INTO t VALUES (12)');
		other.resume();
		await other.caughtUp();
	});

	it('has all that was committed while it was synchronous, and leads on another timeline', async () => {
		await cluster.synchronous('second');
		for (let i = 100; i < 110; i++)
			await cluster.sql(`INSERT INTO t VALUES (${i})`);
		await cluster.kill();
		await other.promote();
		assert.equal(await other.inRecovery(), false);
		assert.equal(await other.sql('SELECT count(*) FROM t WHERE x >= 100'), '10');
		/* A commit waits for no standby. */
		await other.sql('INSERT INTO t VALUES (200)');
		assert.match(await other.sql('SELECT pg_walfile_name(pg_current_wal_lsn())'), /^00000002/);
	});

	it('has a replica of its own after that', async () => {
		const third = await other.replica('third');

		await other.synchronous('third');
		await other.sql('INSERT INTO t VALUES (300)');
		await third.caughtUp();
		assert.equal(await third.sql('SELECT count(*) FROM t WHERE x = 300'), '1');
		await third.remove();
	});
});

describe('what is left', () => {
	it('is nothing when the test is killed, also of a frozen server and its replica', async () => {
		const script = path.join(tempDir(), 'test.mjs');
		fs.writeFileSync(script, `import { Cluster } from '${path.join(here, 'cluster.mjs')}';
			const one = await new Cluster().start();
			const two = await one.replica('two');
			await one.pause();
			console.log(JSON.stringify([one.dir, two.dir]));
			setInterval(() => {}, 1000);`);
		const child = run(process.execPath, [script]);
		const dirs = JSON.parse(await eventually(
			() => child.out.includes('\n') && child.out, 'two servers', 60_000));

		for (const dir of dirs)
			assert.ok(livingIn(dir).length > 3, dir);
		child.kill('SIGKILL');
		await child.exited;
		for (const dir of dirs)
			await nothingLeft(dir);
	});

	it('is nothing when a test ends without a word, and it does end', async () => {
		const script = path.join(tempDir(), 'test.mjs');
		fs.writeFileSync(script, `import { Cluster } from '${path.join(here, 'cluster.mjs')}';
			console.log((await new Cluster().start()).dir);`);
		const child = run(process.execPath, [script]);

		assert.deepEqual(await within(child.exited, 60_000, 'the script ends'),
			{ code: 0, signal: null });
		await nothingLeft(child.out.trim());
	});
});

describe('the PostgreSQL that is taken', () => {
	const programs = ['initdb', 'postgres', 'psql', 'pg_basebackup'];
	const told = process.env.TWINBOX_PG_BINDIR;

	before(() => { delete process.env.TWINBOX_PG_BINDIR; });
	after(() => {
		if (told !== undefined)
			process.env.TWINBOX_PG_BINDIR = told;
	});

	/**
	 * Makes a folder like Debian's with ${versions}, of which ${broken} are
	 * incomplete.
	 */
	const installed = (versions, broken = []) => {
		const root = tempDir();

		for (const version of versions) {
			fs.mkdirSync(path.join(root, version, 'bin'), { recursive: true });
			for (const program of broken.includes(version) ? ['psql'] : programs)
				fs.writeFileSync(path.join(root, version, 'bin', program), '');
		}
		return root;
	};
	const taken = (...args) => {
		const root = installed(...args);

		return path.relative(root, findBinaries(root));
	};

	it('is 15, the oldest that nodes take, else the newest that is whole', () => {
		assert.equal(taken(['13', '15', '16', '17']), '15/bin');
		assert.equal(taken(['16', '9', '17', '14']), '17/bin');
		assert.equal(taken(['15', '16', '17'], ['15', '17']), '16/bin');
		process.env.TWINBOX_PG_BINDIR = path.join(installed(['16']), '16', 'bin');
		assert.equal(findBinaries(installed(['15'])), process.env.TWINBOX_PG_BINDIR);
		delete process.env.TWINBOX_PG_BINDIR;
	});
});

describe('with-postgres', () => {
	const env = { ...process.env };
	delete env.TWINBOX_TEST_POSTGRES;
	const bin = findBinaries();
	const ask = (question) => ['sh', '-c',
		`"${bin}/psql" -XqAt -d "$TWINBOX_TEST_POSTGRES" -c "${question}"`];
	const finish = (child) => within(child.exited, 60_000, 'with-postgres ends');

	it('runs a command with a server that is gone afterwards', async () => {
		const child = run(WITH, ask("SELECT usesuper FROM pg_user WHERE usename = current_user; " +
			"SHOW data_directory"), { env });

		assert.deepEqual(await finish(child), { code: 0, signal: null }, child.err);
		const [superuser, data] = child.out.trim().split('\n');
		assert.equal(superuser, 't');
		await nothingLeft(path.dirname(data));
	});

	it('ends as its command ends', async () => {
		const ends = async (...args) => (await finish(run(WITH, args, { env }))).code;

		assert.equal(await ends('sh', '-c', 'exit 7'), 7);
		assert.equal(await ends('sh', '-c', 'kill -9 $$'), 137);
		assert.equal(await ends('/nonexistent/command'), 127);
		assert.equal(await ends(), 64);
	});

	it('takes the server that is there', async () => {
		const child = run(WITH, ['sh', '-c', 'echo "$TWINBOX_TEST_POSTGRES"'],
			{ env: { ...env, TWINBOX_TEST_POSTGRES: 'postgresql://somewhere/else' } });

		assert.equal((await finish(child)).code, 0);
		assert.equal(child.out, 'postgresql://somewhere/else\n');
	});

	it('says so where there is no PostgreSQL', () => {
		/* A PATH that contains only node. */
		const dir = tempDir();
		const script = `import { findBinaries } from '${path.join(here, 'cluster.mjs')}';
			console.log(findBinaries() ?? 'none');`;
		const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script],
			{ env: { PATH: dir, TWINBOX_PG_BINDIR: bin }, encoding: 'utf8' });

		assert.equal(stdout, `${bin}\n`);
		const { status, stderr } = spawnSync(WITH, ['true'],
			{ env: { ...env, TMPDIR: '/nonexistent' }, encoding: 'utf8' });
		assert.equal(status, 69);
		assert.match(stderr, /with-postgres: ENOENT/);
	});

	it('passes a signal on, and cleans up behind a command that it ended', async () => {
		const child = run(WITH, ['sh', '-c', 'echo "$TWINBOX_TEST_POSTGRES"; exec sleep 60'], { env });
		const url = await eventually(() => child.out.includes('\n') && child.out, 'the command runs',
			60_000);

		child.kill('SIGTERM');
		assert.deepEqual(await finish(child), { code: 143, signal: null });
		await nothingLeft(path.dirname(new URL(url.trim().replace('@/', '@x/')).searchParams.get('host')));
	});

	it('leaves nothing behind when it is killed', async () => {
		const child = run(WITH, ['sh', '-c', 'echo "$$ $TWINBOX_TEST_POSTGRES"; exec sleep 60'], { env });
		const [pid, url] = (await eventually(() => child.out.includes('\n') && child.out,
			'the command runs', 60_000)).trim().split(' ');

		child.kill('SIGKILL');
		/* The command is still alive and has this test's pipes. */
		process.kill(Number(pid), 'SIGKILL');
		await finish(child);
		await nothingLeft(path.dirname(new URL(url.replace('@/', '@x/')).searchParams.get('host')));
	});
});
