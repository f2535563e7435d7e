// SPDX-License-Identifier: MIT
//
// Shortage, made from outside: a small disk, and how a process behaves that
// lacks something.  The disk is a tmpfs in a mount namespace that a process of
// the test holds, so that nobody else sees it; a server enters it by its
// `wrapper`.  A ballast file, written through /proc/PID/root, makes it full.
// Promises: disk and process are gone with end(), or with the test process.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { copyFiles } from '../e2e/files.mjs';
import {
	Server, eventually, removeDir, run, sleep, tempDir, within,
} from '../e2e/harness.mjs';

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const PAGE = 4096; // what a tmpfs gives out, and what the database writes

const UNSHARE = process.getuid() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];

// ---- the small disk --------------------------------------------------------

/** Why there can be no small disk here; false: there can. */
function obstacle()
{
	const dir = tempDir('twinbox-fault-');
	const tried = spawnSync('unshare', [...UNSHARE, 'mount', '-t', 'tmpfs', '-o', 'size=64k',
		'twinbox', dir], { encoding: 'utf8' });

	removeDir(dir);
	if (tried.error)
		return `unshare: ${tried.error.message}`;
	if (tried.status !== 0)
		return `no mount namespace may be made here: ${tried.stderr.trim()}`;
	if (spawnSync('nsenter', ['--version']).status !== 0)
		return 'nsenter is missing';
	return false;
}

/** A reason to skip what needs a small disk; false: there is none. */
export const noDisk = obstacle();

/** A tmpfs of ${bytes}, which is gone with end(). */
export class SmallDisk {
	constructor(bytes)
	{
		this.dir = tempDir('twinbox-fault-');
		this.bytes = bytes;
	}

	async make()
	{
		this.holder = run('unshare', [...UNSHARE, 'sh', '-c',
			'mount -t tmpfs -o size="$1",mode=0700 twinbox "$2" && echo ready && exec cat',
			'sh', String(this.bytes), this.dir], { stdio: ['pipe', 'pipe', 'pipe'] });
		await eventually(() => {
			if (this.holder.exitCode !== null)
				throw Object.assign(new Error(this.holder.err), { final: true });
			return this.holder.out.includes('ready');
		}, 'the small disk');
		const proc = `/proc/${this.holder.pid}`;
		this.wrapper = ['nsenter', `--mount=${proc}/ns/mnt`];
		if (UNSHARE.includes('--user'))
			this.wrapper.push(`--user=${proc}/ns/user`, '--preserve-credentials');
		this.wrapper.push('--');
		this.outside = `${proc}/root${this.dir}`;
		this.data = path.join(this.dir, 'data');
		return this;
	}

	/** Its disk is smaller than what the server keeps free for other things. */
	server({ args = [], ...options } = {})
	{
		return new Server({ data: this.data, wrapper: this.wrapper, ...options,
			args: ['--disk-reserve', '0B', ...args] });
	}

	/** Where the test sees ${name} of the data directory. */
	file(name = '')
	{
		return path.join(this.outside, 'data', name);
	}

	size(name)
	{
		return fs.statSync(this.file(name), { throwIfNoEntry: false })?.size ?? 0;
	}

	free()
	{
		const { bavail, bsize } = fs.statfsSync(this.outside);

		return Number(bavail) * Number(bsize);
	}

	/** Writes ballast until only ${bytes} are free. */
	leave(bytes)
	{
		const fd = fs.openSync(path.join(this.outside, 'ballast'), 'a');
		const piece = Buffer.alloc(MIB);

		try {
			for (let n = this.free() - bytes; n >= PAGE; n = this.free() - bytes)
				fs.writeSync(fd, piece, 0, Math.min(n - n % PAGE, MIB));
		} catch (error) {
			// The server took the last page meanwhile: it is full, too.
			if (error.code !== 'ENOSPC')
				throw error;
		} finally {
			fs.closeSync(fd);
		}
	}

	/** Takes ${bytes} of the ballast away. */
	give(bytes)
	{
		const name = path.join(this.outside, 'ballast');
		const { size } = fs.statSync(name);

		assert.ok(size >= bytes, 'there is ballast left to give');
		fs.truncateSync(name, size - bytes);
	}

	room()
	{
		fs.rmSync(path.join(this.outside, 'ballast'), { force: true });
	}

	/** May be written to, or not; nobody has a file open there for writing. */
	readOnly(yes)
	{
		const [program, ...args] = this.wrapper;
		const { status, stderr } = spawnSync(program, [...args, 'mount', '-o',
			`remount,${yes ? 'ro' : 'rw'}`, this.dir], { encoding: 'utf8' });

		assert.equal(status, 0, stderr);
	}

	/** Has exactly what is in ${data} and nothing else. */
	load(data)
	{
		this.room();
		fs.rmSync(this.file(), { recursive: true, force: true });
		if (data)
			copyFiles(data, this.file());
	}

	async end()
	{
		this.holder.stdin.end();
		await within(this.holder.exited, 5000, 'the end of the small disk');
		removeDir(this.dir);
	}
}

// ---- what the process does -------------------------------------------------

const TICKS = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout);

/** Seconds of processor time that ${pid} has used. */
function cpu(pid)
{
	const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
		.replace(/^.*\) /s, '').split(' ').slice(11, 13).map(Number);

	return (user + system) / TICKS;
}

export const lines = (text) => text.split('\n').length - 1;

/**
 * For ${ms} nobody asks for anything: the process must neither spin (half a
 * processor is far more than it needs) nor write more than ${most} lines a
 * second.
 */
export async function quiet(server, ms, most)
{
	const before = { cpu: cpu(server.pid), lines: lines(server.output()), at: Date.now() };

	await sleep(ms);
	const seconds = (Date.now() - before.at) / 1000;
	const busy = (cpu(server.pid) - before.cpu) / seconds;
	const said = (lines(server.output()) - before.lines) / seconds;
	assert.ok(busy < 0.5, `it spins: ${busy.toFixed(2)} of a processor`);
	assert.ok(said <= most, `it fills the log: ${said.toFixed(0)} lines a second\n` +
		server.output().slice(-2000));
	return `${(busy * 100).toFixed(0)} % of a processor, ${said.toFixed(1)} lines a second`;
}
