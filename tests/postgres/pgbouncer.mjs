// SPDX-License-Identifier: MIT
//
// A PgBouncer in front of a cluster, in one of its modes.  It runs in the
// cluster's directory, so that it ends with the cluster in any case.
//
//	const pooler = await new PgBouncer(cluster, 'transaction').start();
//	const url = pooler.url('chat');
//	const load = pooler.load('chat', 6);
//	await load.stop();
//	await pooler.stop();

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

import { eventually } from '../e2e/harness.mjs';
import { freePort } from '../e2e/harness/port.mjs';
import { owner } from './cluster.mjs';

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer']
	.find((file) => fs.existsSync(file)) ?? 'pgbouncer';

/** Returns true if a server accepts connections at ${port}. */
function listens(port)
{
	return new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		socket.on('connect', () => { socket.destroy(); resolve(true); });
		socket.on('error', () => resolve(false));
	});
}

export class PgBouncer {
	constructor(cluster, mode, { size = 30 } = {})
	{
		this.cluster = cluster;
		this.mode = mode;
		this.size = size;
	}

	async start()
	{
		this.port = await freePort();
		this.dir = fs.mkdtempSync(`${this.cluster.dir}/pooler-`);
		fs.writeFileSync(`${this.dir}/ini`, [
			'[databases]', `* = host=${this.cluster.dir}/s port=${this.cluster.port} user=twinbox`,
			'[pgbouncer]', 'listen_addr = 127.0.0.1', `listen_port = ${this.port}`,
			'unix_socket_dir =', 'auth_type = any', `pool_mode = ${this.mode}`,
			`default_pool_size = ${this.size}`, 'max_client_conn = 200',
			'ignore_startup_parameters = extra_float_digits', ''].join('\n'));
		const { uid, gid } = owner();
		if (uid !== undefined)
			fs.chownSync(this.dir, uid, gid);
		fs.chmodSync(`${this.dir}/ini`, 0o644);
		this.child = spawn(PROGRAM, [`${this.dir}/ini`], { ...owner(), cwd: this.dir,
			stdio: ['ignore', 'pipe', 'pipe'] });
		this.said = '';
		for (const stream of [this.child.stdout, this.child.stderr])
			stream.on('data', (text) => { this.said += text; });
		this.ended = new Promise((resolve) => {
			this.child.on('exit', resolve);
			this.child.on('error', (error) => { this.said += error.message; resolve(); });
		});
		await eventually(() => listens(this.port), () => `PgBouncer listens\n${this.said}`);
		return this;
	}

	url(database)
	{
		return `postgresql://twinbox@127.0.0.1:${this.port}/${database}`;
	}

	/**
	 * Runs ${clients} clients of pgbench through the pooler until stop(),
	 * which returns the number of their transactions.
	 */
	async load(database, clients)
	{
		fs.writeFileSync(`${this.dir}/sql`, 'SELECT pg_sleep(0.001);\n');
		const child = spawn(this.cluster.program('pgbench'), ['-n', '-c', String(clients),
			'-T', '3600', '-P', '1', '-f', `${this.dir}/sql`, this.url(database)],
		{ stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
		let said = '';
		let ended = false;

		for (const stream of [child.stdout, child.stderr])
			stream.on('data', (text) => { said += text; });
		const exited = new Promise((resolve) => {
			child.on('exit', () => { ended = true; resolve(); });
		});
		await eventually(() => /progress: .* [1-9][0-9.]* tps/.test(said),
			() => `pgbench is at work\n${said}`);
		return {
			stop: async () => {
				const was = ended;
				child.kill('SIGINT');
				await exited;
				if (was)
					throw new Error(`pgbench has ended by itself\n${said}`);
			},
		};
	}

	async stop()
	{
		this.child.kill('SIGINT');
		await this.ended;
	}
}
