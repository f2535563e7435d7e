// SPDX-License-Identifier: MIT
//
// A private PostgreSQL for tests: a cluster in a temporary directory, run by an
// unprivileged user (PostgreSQL refuses root), on a Unix socket and on a port
// of 127.0.0.1, for tests that put a proxy in front.  It can be stopped,
// killed, frozen, copied to a streaming replica, and promoted.
//
//	const cluster = await new Cluster().start();
//	const url = await cluster.createDatabase('chat');
//	const second = await cluster.replica('second');
//	await cluster.synchronous('second');
//	await cluster.kill();
//	await second.promote();
//	await second.remove();
//
// Promises: no wait is longer than its limit.  When the process that made a
// cluster ends, also by kill -9, the cluster's servers and directories are gone
// within a second (`keeper`), and a cluster keeps no process from ending.  Data
// is as safe as in production (fsync and synchronous_commit are on), because
// tests check what survives.  Text is sorted by the rules of a language unless
// a column says COLLATE "C", so that a missing COLLATE is found.
//
// Clusters of one run of scripts/test are copies of the first one.  Their system
// identifier and password are the same, and the databases that they create may
// have the same oid: a test about servers that are not the same needs {own: true}.
//
// Environment: TWINBOX_LOGS is the folder of the run's logs, which keeps the copy.
// TWINBOX_PG_BINDIR names the folder of initdb and postgres.  The
// default is version 15 in /usr/lib/postgresql, the oldest that nodes support,
// else the newest version there, else the programs in the PATH.  TWINBOX_SLOW
// and TWINBOX_KEEP are as in tests/e2e/harness.mjs.

import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { flaky } from '../e2e/harness/flaky.mjs';
import { freePort } from '../e2e/harness/port.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const SLOW = Number(process.env.TWINBOX_SLOW ?? 1);
const LIMIT_MS = 60_000 * SLOW;
const ROLE = 'twinbox';
/*
 * A statement that works with the oldest supported version also works with
 * later ones.  The reverse is not certain.
 */
const OLDEST = '15';
/* sun_path has 108 bytes, and the socket is DIR/s/.s.PGSQL.NNNNN. */
const DIR_MAX = 80;

const SETTINGS = {
	fsync: 'on',
	synchronous_commit: 'on',
	shared_buffers: '64MB',
	max_connections: '200',
	wal_level: 'replica',
	max_wal_senders: '10',
	wal_keep_size: '256MB',
	log_lock_waits: 'on',
	log_line_prefix: '%m [%p] %d %a ',
	timezone: 'UTC',
	listen_addresses: '127.0.0.1',
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Calls ${probe} until it returns a true value, and returns that value.  After
 * the limit it throws an error that says ${what}.
 */
async function until(probe, what, ms = LIMIT_MS)
{
	const end = Date.now() + ms;

	for (;;) {
		const value = await probe();
		if (value)
			return value;
		if (Date.now() > end) {
			throw new Error(`${typeof what === 'function' ? what() : what}: ` +
				`not within ${ms} ms`);
		}
		await sleep(10);
	}
}

/**
 * Runs a program to its end.  Returns its standard output, with {both} also its
 * standard error.  ${ms} is its time limit.
 */
function command(program, args, { ms = LIMIT_MS, both = false, ...options } = {})
{
	return new Promise((resolve, reject) => {
		execFile(program, args, { timeout: ms, killSignal: 'SIGKILL',
			maxBuffer: 64 * 1024 * 1024, cwd: '/', ...options },
		(error, stdout, stderr) => {
			if (!error) {
				resolve(both ? stderr + stdout : stdout);
				return;
			}
			reject(Object.assign(new Error(`${path.basename(program)}: ` +
				(error.killed ? `not within ${ms} ms` : stderr.trim() || error.message)),
			{ code: error.code, stderr }));
		}).stdin.end();
	});
}

// ---- the programs of PostgreSQL and the user who runs them
// -------------------

/**
 * Returns the directory of PostgreSQL's programs, or undefined.  ${root} is the
 * folder in which Debian has them, by version.
 */
export function findBinaries(root = '/usr/lib/postgresql')
{
	const debian = fs.existsSync(root) ? fs.readdirSync(root)
		.filter((name) => /^[0-9]+$/.test(name))
		.sort((a, b) => (b === OLDEST) - (a === OLDEST) || Number(b) - Number(a))
		.map((name) => path.join(root, name, 'bin')) : [];

	return [process.env.TWINBOX_PG_BINDIR, ...debian,
		...(process.env.PATH ?? '').split(':')]
		.filter(Boolean)
		.find((dir) => ['initdb', 'postgres', 'psql', 'pg_basebackup'].every(
			(name) => fs.existsSync(path.join(dir, name))));
}

let servant;

/**
 * Returns the user that runs a server: {uid, gid} if this process is root, else
 * {} for the user of this process.
 */
export function owner()
{
	if (process.getuid() !== 0)
		return {};
	for (const name of servant ? [] : ['postgres', 'nobody']) {
		try {
			const id = (what) => Number(execFileSync('id', [what, name],
				{ stdio: ['ignore', 'pipe', 'ignore'] }));
			servant = { uid: id('-u'), gid: id('-g') };
			break;
		} catch {
			// There is no such user.
		}
	}
	if (!servant)
		throw new Error('PostgreSQL refuses root, and there is neither postgres nor nobody');
	return servant;
}

/**
 * Returns ${name} if it needs no quotes as a role or database; throws
 * otherwise.
 */
function plain(name)
{
	if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
		throw new Error(`not a plain name: ${name}`);
	return name;
}

/**
 * Returns where the clusters of one run of scripts/test keep a data directory as
 * initdb made it with ${locale}, or undefined outside of such a run.  initdb
 * takes six times as long as a copy.
 */
function initialOf(bin, locale = 'icu')
{
	return process.env.TWINBOX_LOGS ? path.join(process.env.TWINBOX_LOGS, 'postgres',
		encodeURIComponent(`${bin} ${locale}`)) : undefined;
}

// ---- a cluster ---------------------------------------------------------------

export class Cluster {
	/**
	 * Options: dir (the parent of the cluster's directory; the user
	 * postgres must have access to it), settings (they override those
	 * above), locale (for initdb; default: a language), own (true: initdb
	 * runs for this cluster, so that its system identifier is its own).
	 */
	constructor({ dir = os.tmpdir(), settings = {}, locale, own = false } = {})
	{
		this.bin = findBinaries();
		if (!this.bin)
			throw new Error('no PostgreSQL here (Debian: postgresql-15)');
		this.where = dir;
		this.locale = locale;
		this.settings = { ...SETTINGS, ...settings };
		this.password = randomBytes(12).toString('hex');
		this.initial = own ? undefined : initialOf(this.bin, locale);
		this.name = 'primary';
	}

	get running()
	{
		return this.child !== undefined;
	}

	get pid()
	{
		return this.child?.pid;
	}

	/** Returns the log of the server. */
	log()
	{
		return this.dir && fs.existsSync(`${this.dir}/log`) ?
			fs.readFileSync(`${this.dir}/log`, 'utf8') : '';
	}

	/**
	 * Returns a libpq URL of ${database}.  By default it uses the Unix
	 * socket; with {tcp: true} it uses 127.0.0.1 and a password, which is
	 * in a file. {port} is another port, that of a proxy, or several
	 * separated by commas.
	 */
	url(database = 'postgres', { tcp = false, port } = {})
	{
		if (tcp || port) {
			const hosts = String(port ?? this.port).split(',')
				.map((one) => `127.0.0.1:${one}`).join(',');
			return `postgresql://${ROLE}@${hosts}/${database}?passfile=` +
				encodeURIComponent(`${this.dir}/passfile`);
		}
		return `postgresql://${ROLE}@/${database}?host=` +
			`${encodeURIComponent(`${this.dir}/s`)}&port=${this.port}`;
	}

	// ---- directories

	program(name)
	{
		return path.join(this.bin, name);
	}

	/** Makes an empty directory and starts its keeper. */
	makeDirectory()
	{
		this.dir = fs.realpathSync(fs.mkdtempSync(path.join(this.where, 'twinbox-pg-')));
		this.keeper = spawn(path.join(here, 'keeper'), [this.dir],
			{ stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
		this.keeper.ended = new Promise((resolve) => {
			this.keeper.on('exit', resolve);
			this.keeper.on('error', resolve);
		});
		this.keeper.stdin.on('error', () => {});
		this.keeper.unref();
		this.keeper.stdin.unref?.();
		if (this.dir.length > DIR_MAX)
			throw new Error(`too long for a Unix socket: ${this.dir}`);
		fs.mkdirSync(`${this.dir}/s`);
		const { uid, gid } = owner();
		if (uid !== undefined) {
			for (const one of [this.dir, `${this.dir}/s`])
				fs.chownSync(one, uid, gid);
		}
		this.data = `${this.dir}/data`;
		fs.writeFileSync(`${this.dir}/passfile`, `*:*:*:${ROLE}:${this.password}\n`,
			{ mode: 0o600 });
	}

	/**
	 * Makes the data directory: a copy of the first one of this run, whose
	 * password this cluster then has, else by initdb.
	 */
	async initialise()
	{
		const kept = this.initial && `${this.initial}/password`;

		if (kept && fs.existsSync(kept)) {
			this.password = fs.readFileSync(kept, 'latin1');
			this.makeDirectory();
			await command('cp', ['-a', `${this.initial}/data`, this.data]);
			return;
		}
		this.makeDirectory();
		await this.initdb();
		if (this.initial)
			await this.keepInitial();
	}

	async initdb()
	{
		const secret = `${this.dir}/password`;
		fs.writeFileSync(secret, `${this.password}\n`, { mode: 0o600 });
		const { uid, gid } = owner();
		if (uid !== undefined)
			fs.chownSync(secret, uid, gid);
		await command(this.program('initdb'), ['-D', this.data, '-U', ROLE,
			'--auth-local=trust', '--auth-host=scram-sha-256',
			`--pwfile=${secret}`, '--encoding=UTF8', '--no-sync',
			...(this.locale ? [`--locale=${this.locale}`] :
				['--locale-provider=icu', '--icu-locale=en', '--locale=C.UTF-8'])],
		{ ...owner(), env: { ...process.env, LC_ALL: 'C.UTF-8' } });
		fs.rmSync(secret);
	}

	/**
	 * Copies the new data directory to ${this.initial}.  Of several
	 * processes that do so at the same time, one succeeds.
	 */
	async keepInitial()
	{
		fs.mkdirSync(path.dirname(this.initial), { recursive: true });
		const copy = fs.mkdtempSync(`${this.initial}.`);

		await command('cp', ['-a', this.data, `${copy}/data`]);
		fs.writeFileSync(`${copy}/password`, this.password, { mode: 0o600 });
		try {
			fs.renameSync(copy, this.initial);
		} catch (error) {
			if (!['ENOTEMPTY', 'EEXIST'].includes(error.code))
				throw error;
			fs.rmSync(copy, { recursive: true });
		}
	}

	// ---- starting and stopping the server

	/**
	 * Starts the server, the first time on a new cluster, and waits until
	 * it accepts connections.
	 */
	async start()
	{
		if (this.child)
			throw new Error('the server is running');
		if (!this.dir)
			await this.initialise();
		for (let tries = 0; ; tries++) {
			this.port ??= await freePort();
			const error = await this.spawn();
			if (!error)
				return this;
			/* Another program was faster and took the port. */
			if (tries === 5 || this.started || !/could not bind|in use/.test(error.message))
				throw error;
			flaky(`port ${this.port} was taken before PostgreSQL had it`);
			this.port = undefined;
		}
	}

	/** Starts the process.  Returns an error if it did not come up. */
	async spawn()
	{
		const settings = { ...this.settings, port: this.port,
			unix_socket_directories: `${this.dir}/s` };
		const log = fs.openSync(`${this.dir}/log`, 'a');
		const from = fs.fstatSync(log).size;
		const child = spawn(this.program('postgres'), ['-D', this.data,
			...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
		{ ...owner(), stdio: ['ignore', log, log], detached: true, cwd: '/',
			env: { ...process.env, LC_ALL: 'C.UTF-8' } });

		fs.closeSync(log);
		child.unref();
		this.child = child;
		this.frozen = [];
		child.ended = new Promise((resolve) => {
			const end = (code, signal) => {
				if (this.child === child)
					this.child = undefined;
				resolve({ code, signal });
			};
			child.on('exit', end);
			child.on('error', (error) => end(error.message));
		});
		const failed = () => new Error('PostgreSQL does not start:\n' +
			fs.readFileSync(`${this.dir}/log`).subarray(from).toString().slice(-4000));
		try {
			await until(() => this.child !== child || this.ready(), failed);
		} catch (error) {
			await this.kill();
			return error;
		}
		if (this.child !== child)
			return failed();
		this.started = true;
		return undefined;
	}

	/**
	 * Returns true if this process, not an earlier one, accepts
	 * connections.  It checks what pg_ctl checks: the last line of
	 * postmaster.pid.
	 */
	ready()
	{
		let lines;

		try {
			lines = fs.readFileSync(`${this.data}/postmaster.pid`, 'latin1').split('\n');
		} catch {
			return false;
		}
		return Number(lines[0]) === this.child?.pid &&
			/^(ready|standby)\s*$/.test(lines[7] ?? '');
	}

	/**
	 * Stops the server.  Modes: fast (ends sessions and writes everything),
	 * smart (waits for sessions), immediate (writes nothing, as in a
	 * crash).
	 */
	async stop(mode = 'fast')
	{
		const child = this.child;
		const signal = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' }[mode];

		if (!child)
			return;
		this.resume();
		child.kill(signal);
		try {
			await this.gone(child, `the server ends on ${signal}`);
		} catch (error) {
			await this.kill();
			throw error;
		}
	}

	/**
	 * Waits for the end of a child and of the processes that it leaves
	 * behind.
	 */
	async gone(child, what)
	{
		let over = false;

		child.ended.then(() => { over = true; });
		await until(() => over && this.processes().length === 0,
			() => `${what}\n${this.log().slice(-2000)}`);
	}

	/**
	 * Returns the ids of all processes of the server, which are known by
	 * their working directory.
	 */
	processes()
	{
		return fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
			.filter((pid) => {
				try {
					return fs.readlinkSync(`/proc/${pid}/cwd`) === this.data;
				} catch {
					return false;
				}
			}).map(Number);
	}

	signal(pids, signal)
	{
		for (const pid of pids) {
			try {
				process.kill(pid, signal);
			} catch {
				// The process has ended already.
			}
		}
	}

	/** Kills the server and all its processes at once with SIGKILL. */
	async kill()
	{
		const child = this.child;

		if (!child)
			return;
		child.kill('SIGKILL');
		await until(() => {
			const left = this.processes();
			this.signal(left, 'SIGKILL');
			return left.length === 0;
		}, 'the processes of the server are gone');
		await this.gone(child, 'the server is killed');
	}

	async restart(mode)
	{
		await this.stop(mode);
		return this.start();
	}

	/**
	 * Freezes the server with all its processes: connections stay open, and
	 * nothing answers.
	 */
	async pause()
	{
		/*
		 * The postmaster is frozen first, because it would start more
		 * processes.
		 */
		await until(() => {
			const pids = [this.pid, ...this.processes()]
				.filter((pid) => !this.frozen.includes(pid));
			this.signal(pids, 'SIGSTOP');
			this.frozen.push(...pids);
			return pids.length === 0;
		}, 'the server is frozen');
	}

	resume()
	{
		this.signal(this.frozen.reverse(), 'SIGCONT');
		this.frozen = [];
	}

	/**
	 * Ends the server at once and removes its directory.  A cluster that is
	 * not removed is cleaned up when the process that made it ends.
	 */
	async remove()
	{
		if (!this.keeper)
			return;
		const { keeper } = this;
		this.keeper = undefined;
		keeper.ref();
		keeper.stdin.end();
		await until(async () => Promise.race([keeper.ended.then(() => true), sleep(50)]),
			'the keeper ends');
	}

	// ---- databases

	/**
	 * Returns what psql prints for ${text}: one row in each line, the
	 * columns separated by |.
	 */
	async sql(text, { database = 'postgres', ms = LIMIT_MS, url } = {})
	{
		return (await command(this.program('psql'), ['-XqAt', '-v', 'ON_ERROR_STOP=1',
			'-d', url ?? this.url(database), '-c', text],
		{ ms, env: { ...process.env, PGCONNECT_TIMEOUT: '10', PGOPTIONS: '' } })).trimEnd();
	}

	/**
	 * Runs one of PostgreSQL's programs.  Returns its output and its
	 * errors.
	 */
	async run(program, args, { ms = LIMIT_MS } = {})
	{
		return command(this.program(program), args, { ms, both: true });
	}

	/**
	 * Creates an empty database, or a copy of ${template} (which must have
	 * no connections).  Returns its URL.
	 */
	async createDatabase(name, { template = 'template0' } = {})
	{
		await this.sql(`CREATE DATABASE ${plain(name)} TEMPLATE ${plain(template)}`);
		return this.url(name);
	}

	/** Drops the database, even if it has connections. */
	async dropDatabase(name)
	{
		await this.sql(`DROP DATABASE IF EXISTS ${plain(name)} WITH (FORCE)`);
	}

	// ---- replicas

	/**
	 * Starts a second server that streams from this one.  `name` is its
	 * name for synchronous().
	 */
	async replica(name = 'replica')
	{
		const other = new Cluster({ dir: this.where, settings: this.settings });

		other.name = plain(name);
		other.password = this.password;
		other.makeDirectory();
		await command(this.program('pg_basebackup'), ['-D', other.data, '-R', '-X', 'stream',
			'--checkpoint=fast', '--no-sync', '-d', `${this.url('replication')
				}&application_name=${name}`], owner());
		/*
		 * The copied setting is cleared, so that the replica's own
		 * commits wait for no standby.
		 */
		fs.appendFileSync(`${other.data}/postgresql.auto.conf`,
			`synchronous_standby_names = ''\n`);
		other.upstream = this;
		await other.start();
		await other.caughtUp();
		return other;
	}

	/**
	 * For a replica: waits until it has replayed everything that its
	 * upstream has written by now.
	 */
	async caughtUp()
	{
		const at = await this.upstream.sql('SELECT pg_current_wal_flush_lsn()');

		await until(async () => await this.sql(
			`SELECT coalesce(pg_last_wal_replay_lsn() >= '${at}', false)`) === 't',
		`${this.name} has caught up`);
	}

	/**
	 * Makes commits wait for ${names} (a value of
	 * synchronous_standby_names; '': for none).  Returns when the setting
	 * is in effect and those standbys are connected.
	 */
	async synchronous(names)
	{
		await this.sql(`ALTER SYSTEM SET synchronous_standby_names = '${
			names.replaceAll("'", "''")}'`);
		await this.sql('SELECT pg_reload_conf()');
		const wanted = names === '' ? '0' : '[1-9][0-9]*';
		await until(async () => await this.sql('SHOW synchronous_standby_names') === names &&
			new RegExp(`^${wanted}$`).test(await this.sql('SELECT count(*) FROM ' +
				"pg_stat_replication WHERE sync_state IN ('sync', 'quorum')")),
		`synchronous_standby_names = '${names}'`);
	}

	/** Returns true if the server is still a replica. */
	async inRecovery()
	{
		return await this.sql('SELECT pg_is_in_recovery()') === 't';
	}

	/**
	 * Promotes a replica: it becomes an independent server on the next
	 * timeline.
	 */
	async promote()
	{
		if (await this.sql(`SELECT pg_promote(true, ${Math.ceil(LIMIT_MS / 1000)})`) !== 't')
			throw new Error(`${this.name} was not promoted\n${this.log().slice(-2000)}`);
		await until(async () => !await this.inRecovery(), `${this.name} leads`);
		this.upstream = undefined;
	}
}
