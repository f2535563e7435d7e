// SPDX-License-Identifier: MIT
//
// A private PostgreSQL for tests: a cluster of its own in a temporary
// directory, as an unprivileged user (PostgreSQL refuses root), on a Unix
// socket and on a port of 127.0.0.1, for tests that put something between.
// It can be stopped, killed, frozen, copied to a streaming replica, promoted.
//
//	const cluster = await new Cluster().start();
//	const url = await cluster.createDatabase('chat');
//	const second = await cluster.replica('second');
//	await cluster.synchronous('second');
//	await cluster.kill();
//	await second.promote();
//	await second.remove();
//
// Promises: no wait is longer than its limit; when the process that made a
// cluster ends, also by kill -9, its servers and directories are gone within a
// second (`keeper`), and a cluster keeps no process from ending.  Data is as
// safe as in earnest (fsync and synchronous_commit are on), because tests ask
// what survives.  Text sorts by a language's rules unless a column says
// COLLATE "C", so that one which forgot to is found.
//
// Environment: TWINBOX_PG_BINDIR says where initdb and postgres are (default: 15
// in /usr/lib/postgresql, the oldest that nodes take, else the newest there, else
// in the PATH); TWINBOX_SLOW and TWINBOX_KEEP as in tests/e2e/harness.mjs.

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
/* What works with the oldest version works with those after it; the other way
 * round nobody knows. */
const OLDEST = '15';
/* sun_path has 108 bytes; the socket is DIR/s/.s.PGSQL.NNNNN. */
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

/** Calls ${probe} until it gives something true; an error that says ${what}
 *  after the limit. */
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

/** Runs a program to its end: what it printed, with {both} also to standard
 *  error.  ${ms}: its limit. */
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

// ---- where PostgreSQL is, and as whom it runs --------------------------------

/** The directory of PostgreSQL's programs, or undefined; ${root}: where Debian has
 *  them, by version. */
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

/** As whom a server runs: {uid, gid} when this is root, else as this user. */
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

/** Whether role and database ${name} need no quotes. */
function plain(name)
{
	if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
		throw new Error(`not a plain name: ${name}`);
	return name;
}

// ---- a cluster ---------------------------------------------------------------

export class Cluster {
	/**
	 * Options: dir (where the directory is made; must be open to the user
	 * postgres), settings (over those above), locale (of initdb, instead
	 * of a language's rules).
	 */
	constructor({ dir = os.tmpdir(), settings = {}, locale } = {})
	{
		this.bin = findBinaries();
		if (!this.bin)
			throw new Error('no PostgreSQL here (Debian: postgresql-15)');
		this.where = dir;
		this.locale = locale;
		this.settings = { ...SETTINGS, ...settings };
		this.password = randomBytes(12).toString('hex');
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

	/** What the server has logged. */
	log()
	{
		return this.dir && fs.existsSync(`${this.dir}/log`) ?
			fs.readFileSync(`${this.dir}/log`, 'utf8') : '';
	}

	/** A libpq URL of ${database}: by the Unix socket, or with {tcp: true} by
	 *  127.0.0.1 and a password, which is in a file; {port}: another one, of
	 *  a proxy, or several with commas between. */
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

	/** An empty directory and its keeper. */
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

	async initialise()
	{
		this.makeDirectory();
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

	// ---- the life of the server

	/** Starts it, the first time on a new cluster, and waits until it takes
	 *  connections. */
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
			/* Somebody was faster. */
			if (tries === 5 || this.started || !/could not bind|in use/.test(error.message))
				throw error;
			flaky(`port ${this.port} was taken before PostgreSQL had it`);
			this.port = undefined;
		}
	}

	/** Starts the process; the error if it did not come up. */
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

	/** Whether this process, not one before it, takes connections; as pg_ctl
	 *  looks: the last line of postmaster.pid. */
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

	/** Stops it: mode fast (sessions are ended, all is written), smart (waits
	 *  for sessions), immediate (nothing is written, as in a crash). */
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

	/** Waits for a child to end, and for the processes it leaves behind. */
	async gone(child, what)
	{
		let over = false;

		child.ended.then(() => { over = true; });
		await until(() => over && this.processes().length === 0,
			() => `${what}\n${this.log().slice(-2000)}`);
	}

	/** Every process of the server, by the directory in which they live. */
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
				// It has ended already.
			}
		}
	}

	/** Kill -9: the server and all its processes at once. */
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

	/** Freezes it with all its processes: connections stay, nothing answers. */
	async pause()
	{
		/* The postmaster first, or it would start more. */
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

	/** Ends it at once and removes its directory.  A cluster that is not removed
	 *  goes with the process that made it. */
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

	/** What psql prints for ${text}: rows in lines, columns with | between. */
	async sql(text, { database = 'postgres', ms = LIMIT_MS, url } = {})
	{
		return (await command(this.program('psql'), ['-XqAt', '-v', 'ON_ERROR_STOP=1',
			'-d', url ?? this.url(database), '-c', text],
		{ ms, env: { ...process.env, PGCONNECT_TIMEOUT: '10', PGOPTIONS: '' } })).trimEnd();
	}

	/** Runs one of PostgreSQL's programs: what it says, on both outputs. */
	async run(program, args, { ms = LIMIT_MS } = {})
	{
		return command(this.program(program), args, { ms, both: true });
	}

	/** An empty database, or a copy of ${template} (to which nobody may be
	 *  connected); its URL. */
	async createDatabase(name, { template = 'template0' } = {})
	{
		await this.sql(`CREATE DATABASE ${plain(name)} TEMPLATE ${plain(template)}`);
		return this.url(name);
	}

	/** Drops it, whoever is connected. */
	async dropDatabase(name)
	{
		await this.sql(`DROP DATABASE IF EXISTS ${plain(name)} WITH (FORCE)`);
	}

	// ---- replicas

	/**
	 * A second server that streams from this one, started; `name` is what
	 * synchronous() knows it by.
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
		/* What this one waits for is its own affair. */
		fs.appendFileSync(`${other.data}/postgresql.auto.conf`,
			`synchronous_standby_names = ''\n`);
		other.upstream = this;
		await other.start();
		await other.caughtUp();
		return other;
	}

	/** Of a replica: waits until it has replayed what its upstream has
	 *  written by now. */
	async caughtUp()
	{
		const at = await this.upstream.sql('SELECT pg_current_wal_flush_lsn()');

		await until(async () => await this.sql(
			`SELECT coalesce(pg_last_wal_replay_lsn() >= '${at}', false)`) === 't',
		`${this.name} has caught up`);
	}

	/** A commit waits for ${names} (of synchronous_standby_names; '': for
	 *  nobody); returns when the server knows, and those are connected. */
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

	/** Whether it is a replica still. */
	async inRecovery()
	{
		return await this.sql('SELECT pg_is_in_recovery()') === 't';
	}

	/** Makes a replica a server of its own, on the next timeline. */
	async promote()
	{
		if (await this.sql(`SELECT pg_promote(true, ${Math.ceil(LIMIT_MS / 1000)})`) !== 't')
			throw new Error(`${this.name} was not promoted\n${this.log().slice(-2000)}`);
		await until(async () => !await this.inRecovery(), `${this.name} leads`);
		this.upstream = undefined;
	}
}
