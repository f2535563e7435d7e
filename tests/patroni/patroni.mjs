// SPDX-License-Identifier: MIT
//
// A Patroni cluster for tests: one etcd, three members and an HAProxy, made
// from the samples in contrib/patroni with other addresses, in a temporary
// directory on 127.0.0.1.
//
//	const cluster = await new Patroni().start();
//	await cluster.switchover();
//	await cluster.kill(await cluster.leader());
//	await cluster.whole();
//	await cluster.remove();
//
// Promises: no wait is longer than its limit; processes are ended by their ids;
// when the process that made a cluster ends, in whatever way, its servers and
// its directory are gone within a second (tests/postgres/keeper).

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { eventually, sleep } from '../e2e/harness.mjs';
import { freePort } from '../e2e/harness/port.mjs';
import { findBinaries, owner } from '../postgres/cluster.mjs';

const YAML = createRequire(new URL('../e2e/package.json', import.meta.url))('yaml');
const here = path.dirname(fileURLToPath(import.meta.url));
const contrib = path.join(here, '../../contrib/patroni');
const LIMIT_MS = 120_000;
const NAMES = ['db1', 'db2', 'db3'];
/* HAProxy is in a folder that only the PATH of an administrator has. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LC_ALL: 'C.UTF-8' };

/**
 * Returns the status and text of the answer of ${url}, or undefined if there is
 * no answer.
 */
async function ask(url, options = {})
{
	try {
		const answer = await fetch(url, { signal: AbortSignal.timeout(5000), ...options });
		return { status: answer.status, text: await answer.text() };
	} catch {
		return undefined;
	}
}

export class Patroni
{
	constructor({ settings = {} } = {})
	{
		this.bin = findBinaries();
		this.settings = settings;
		this.password = randomBytes(12).toString('hex');
		this.members = {};
	}

	// ---- processes

	/**
	 * Starts ${program} as the owner of the directory, with its output in a
	 * file.
	 */
	spawn(name, program, args, env = {})
	{
		const log = fs.openSync(`${this.dir}/${name}.log`, 'a');
		const child = spawn(program, args, { ...owner(), detached: true, cwd: this.dir,
			stdio: ['ignore', log, log], env: { ...ENV, ...env } });

		fs.closeSync(log);
		child.unref();
		child.gone = new Promise((resolve) => {
			child.on('exit', () => { child.over = true; resolve(); });
			child.on('error', (error) => {
				fs.appendFileSync(`${this.dir}/${name}.log`, `${error.message}\n`);
				child.over = true;
				resolve();
			});
		});
		return child;
	}

	log(name)
	{
		return fs.readFileSync(`${this.dir}/${name}.log`, 'utf8').slice(-3000);
	}

	/** Returns the process id of the postmaster of ${name}. */
	postmaster(name)
	{
		return Number(fs.readFileSync(`${this.dir}/${name}/postmaster.pid`, 'latin1')
			.split('\n')[0]);
	}

	makeDirectory()
	{
		this.dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'twinbox-patroni-')));
		this.keeper = spawn(path.join(here, '../postgres/keeper'), [this.dir],
			{ stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
		this.keeper.ended = new Promise((resolve) => { this.keeper.on('exit', resolve); });
		this.keeper.stdin.on('error', () => {});
		this.keeper.unref();
		this.keeper.stdin.unref?.();
		fs.writeFileSync(`${this.dir}/passfile`, `*:*:*:*:${this.password}\n`, { mode: 0o600 });
		this.secret = `${this.dir}/twinbox-password`;
		fs.writeFileSync(this.secret, this.password, { mode: 0o600 });
		const { uid, gid } = owner();
		if (uid !== undefined) {
			for (const one of [this.dir, this.secret])
				fs.chownSync(one, uid, gid);
		}
	}

	// ---- the samples, with other addresses

	/**
	 * Writes contrib/patroni/patroni.yml for ${name}.  The settings on
	 * which the promises of the sample rest stay; the values of a machine
	 * are replaced.
	 */
	writeMember(name)
	{
		const sample = YAML.parse(fs.readFileSync(`${contrib}/patroni.yml`, 'utf8'));
		const { port, rest } = this.members[name];
		const file = `${this.dir}/${name}.yml`;

		sample.name = name;
		sample.restapi = { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` };
		sample.etcd3.hosts = `127.0.0.1:${this.etcd.port}`;
		sample.bootstrap.post_bootstrap = `${contrib}/make-database`;
		Object.assign(sample.bootstrap.dcs.postgresql.parameters,
			{ shared_buffers: '32MB', max_wal_size: '1GB' });
		Object.assign(sample.bootstrap.dcs, this.settings);
		Object.assign(sample.postgresql, { listen: `127.0.0.1:${port}`,
			connect_address: `127.0.0.1:${port}`, data_dir: `${this.dir}/${name}`,
			bin_dir: this.bin, pgpass: `${this.dir}/${name}.pgpass`,
			parameters: { unix_socket_directories: this.dir },
			pg_hba: sample.postgresql.pg_hba.map((line) =>
				line.replace('10.0.0.0/24', '127.0.0.0/8')) });
		for (const one of Object.values(sample.postgresql.authentication))
			one.password = this.password;
		/* There is no watchdog here, and the tests do not need one. */
		sample.watchdog = { mode: 'off' };
		fs.writeFileSync(file, YAML.stringify(sample), { mode: 0o644 });
		return file;
	}

	writeProxy()
	{
		let text = fs.readFileSync(`${contrib}/haproxy.cfg`, 'utf8');

		NAMES.forEach((name, i) => {
			const line = `server ${name} 10.0.0.2${i + 1}:5432 check port 8008`;
			if (!text.includes(line))
				throw new Error(`haproxy.cfg: no line "${line}"`);
			text = text.replace(line, `server ${name} 127.0.0.1:${this.members[name].port} ` +
				`check port ${this.members[name].rest}`);
		});
		text = text.replace('bind 127.0.0.1:5000', `bind 127.0.0.1:${this.proxyPort}`);
		fs.writeFileSync(`${this.dir}/haproxy.cfg`, text);
	}

	// ---- starting and stopping

	async startEtcd()
	{
		const [client, peer] = [await freePort(), await freePort()];
		const [at, to] = [client, peer].map((port) => `http://127.0.0.1:${port}`);

		this.etcd = this.spawn('etcd', 'etcd', ['--name', 'e1', '--data-dir', `${this.dir}/e1`,
			'--listen-client-urls', at, '--advertise-client-urls', at,
			'--listen-peer-urls', to, '--initial-advertise-peer-urls', to,
			'--initial-cluster', `e1=${to}`, '--logger', 'zap']);
		this.etcd.port = client;
		await eventually(async () => /true/.test((await ask(`${at}/health`))?.text ?? ''),
			() => `etcd answers\n${this.log('etcd')}`, LIMIT_MS);
	}

	startMember(name)
	{
		this.members[name].child = this.spawn(name, 'patroni', [this.members[name].file],
			{ TWINBOX_PASSWORD_FILE: this.secret });
	}

	async start()
	{
		this.makeDirectory();
		await this.startEtcd();
		for (const name of NAMES)
			this.members[name] = { port: await freePort(), rest: await freePort() };
		for (const name of NAMES)
			this.members[name].file = this.writeMember(name);
		this.proxyPort = await freePort();
		this.writeProxy();
		this.startMember('db1');
		await eventually(() => this.leader(), () => `a leader\n${this.log('db1')}`, LIMIT_MS);
		for (const name of NAMES.slice(1))
			this.startMember(name);
		this.proxy = this.spawn('haproxy', 'haproxy', ['-db', '-f', `${this.dir}/haproxy.cfg`]);
		await this.whole();
		return this;
	}

	async remove()
	{
		if (!this.keeper)
			return;
		const { keeper } = this;
		this.keeper = undefined;
		keeper.ref();
		keeper.stdin.end();
		await eventually(() => Promise.race([keeper.ended.then(() => true), sleep(50)]),
			'the keeper ends', 30_000);
	}

	// ---- the state of the cluster

	/**
	 * Returns the state of the cluster as the first member that answers
	 * reports it.
	 */
	async cluster()
	{
		for (const name of NAMES) {
			const answer = await ask(`http://127.0.0.1:${this.members[name]?.rest}/cluster`);
			if (answer?.status === 200)
				return JSON.parse(answer.text);
		}
		return undefined;
	}

	/**
	 * Returns the name of the member that leads and holds the leader key,
	 * or undefined.
	 */
	async leader()
	{
		for (const name of NAMES) {
			if (this.members[name]?.stopped)
				continue;
			const answer = await ask(`http://127.0.0.1:${this.members[name]?.rest}/primary`);
			if (answer?.status === 200)
				return name;
		}
		return undefined;
	}

	/** Waits until a member other than ${not} leads.  Returns its name. */
	async led(not)
	{
		return eventually(async () => {
			const name = await this.leader();
			return name !== undefined && name !== not && name;
		}, () => `another than ${not} leads`, LIMIT_MS);
	}

	/**
	 * Waits until all members run and two of them follow the leader.  In
	 * synchronous mode one of those must be the standby that commits wait
	 * for.
	 */
	async whole({ synchronous = this.settings.synchronous_mode ?? true } = {})
	{
		let said;

		await eventually(async () => {
			said = await this.cluster();
			const roles = (said?.members ?? []).map(({ role, state }) => `${role} ${state}`);
			const followers = roles.filter((one) => /^(sync_standby|replica) (running|streaming)$/
				.test(one));
			return roles.includes('leader running') && followers.length === 2 &&
				roles.some((one) => one.startsWith('sync_standby')) === synchronous &&
				await this.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
					.catch(() => '') === '2';
		}, () => `three members\n${JSON.stringify(said)}\n${NAMES.map((name) =>
			fs.existsSync(`${this.dir}/${name}.log`) ? this.log(name) : '').join('\n')}`, LIMIT_MS);
		return said;
	}

	// ---- accidents and changes

	/** Does the same as patronictl switchover. */
	async switchover()
	{
		const said = await this.whole();
		const candidate = said.members.find(({ role }) => role === 'sync_standby').name;
		const leader = await this.leader();
		const answer = await ask(`http://127.0.0.1:${this.members[leader].rest}/switchover`,
			{ method: 'POST', body: JSON.stringify({ leader, candidate }),
				signal: AbortSignal.timeout(60_000) });

		if (answer?.status !== 200)
			throw new Error(`switchover: ${answer?.status} ${answer?.text}`);
		return candidate;
	}

	/**
	 * Simulates the sudden end of the machine of ${name}, as far as
	 * processes are concerned.
	 */
	async kill(name)
	{
		const { child } = this.members[name];
		const postmaster = this.postmaster(name);

		child.kill('SIGKILL');
		process.kill(postmaster, 'SIGKILL');
		await child.gone;
		/*
		 * The sessions end when they notice that the postmaster has
		 * ended.
		 */
		await eventually(() => this.processes(name).length === 0,
			`the processes of ${name} are gone`, LIMIT_MS);
	}

	/** Returns the ids of all processes of the server of ${name}. */
	processes(name)
	{
		return fs.readdirSync('/proc').filter((pid) => /^[0-9]+$/.test(pid)).filter((pid) => {
			try {
				return fs.readlinkSync(`/proc/${pid}/cwd`) === `${this.dir}/${name}`;
			} catch {
				return false;
			}
		}).map(Number);
	}

	/**
	 * Stops Patroni and the postmaster of ${name} (SIGSTOP).  Its sessions
	 * go on.
	 */
	stop(name)
	{
		const member = this.members[name];

		member.stopped = [member.child.pid, this.postmaster(name)];
		for (const pid of member.stopped)
			process.kill(pid, 'SIGSTOP');
	}

	resume(name)
	{
		const member = this.members[name];

		for (const pid of member.stopped.reverse())
			process.kill(pid, 'SIGCONT');
		member.stopped = undefined;
	}

	/** Changes the configuration in etcd, like patronictl edit-config. */
	async configure(change)
	{
		const leader = await this.leader();
		const answer = await ask(`http://127.0.0.1:${this.members[leader].rest}/config`,
			{ method: 'PATCH', body: JSON.stringify(change) });

		if (answer?.status !== 200)
			throw new Error(`config: ${answer?.status} ${answer?.text}`);
		Object.assign(this.settings, change);
	}

	// ---- the database

	/**
	 * Has the interface of Cluster.createDatabase().  The database is the
	 * one that the sample has created.
	 */
	async createDatabase()
	{
		return this.url();
	}

	passfile(user)
	{
		return `postgresql://${user}@%/twinbox?passfile=${
			encodeURIComponent(`${this.dir}/passfile`)}`;
	}

	/** Returns the URL that names all members. */
	url(user = 'twinbox')
	{
		return this.passfile(user).replace('%/', `${NAMES.map((name) =>
			`127.0.0.1:${this.members[name].port}`).join(',')}/`);
	}

	/** Returns the URL that goes through HAProxy. */
	proxied()
	{
		return this.passfile('twinbox').replace('%/', `127.0.0.1:${this.proxyPort}/`);
	}

	/** Returns what psql prints for ${text} at the leader, as superuser. */
	sql(text)
	{
		return new Promise((resolve, reject) => {
			execFile(path.join(this.bin, 'psql'), ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d',
				`${this.url('postgres')}&target_session_attrs=read-write`, '-c', text],
			{ cwd: '/', timeout: 20_000, env: { ...process.env, PGCONNECT_TIMEOUT: '5' } },
			(error, stdout, stderr) => (error ? reject(new Error(stderr || error.message)) :
				resolve(stdout.trim())));
		});
	}
}
