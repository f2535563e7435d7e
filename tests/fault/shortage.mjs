// SPDX-License-Identifier: MIT
//
// Makes resources scarce from outside: a small disk; and measures how a process
// behaves that lacks something.  The disk is a tmpfs in a mount namespace that
// a process of the test holds, so no other process sees it.  A server enters
// the namespace by its `wrapper`.  A ballast file, written through
// /proc/PID/root, fills the disk.  Disk and process are gone after end(), or
// when the test process ends.

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
export const PAGE = 4096; // the unit in which a tmpfs gives out memory and the database writes

const UNSHARE = process.getuid() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];

// ---- the small disk --------------------------------------------------------

/** Returns the reason why a small disk cannot be made here, or false. */
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

/** The reason to skip tests that need a small disk, or false. */
export const noDisk = obstacle();

/** A tmpfs of ${bytes}, which end() removes. */
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

	/**
	 * The disk is smaller than the default disk-reserve, so the reserve is
	 * switched off.
	 */
	server({ args = [], ...options } = {})
	{
		return new Server({ data: this.data, wrapper: this.wrapper, ...options,
			args: ['--disk-reserve', '0B', ...args] });
	}

	/**
	 * Returns the path at which the test sees ${name} of the data
	 * directory.
	 */
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

	/** Writes ballast until only ${bytes} bytes are free. */
	leave(bytes)
	{
		const fd = fs.openSync(path.join(this.outside, 'ballast'), 'a');
		const piece = Buffer.alloc(MIB);

		try {
			for (let n = this.free() - bytes; n >= PAGE; n = this.free() - bytes)
				fs.writeSync(fd, piece, 0, Math.min(n - n % PAGE, MIB));
		} catch (error) {
			// The server took the last page meanwhile, so the disk
			// is full, too.
			if (error.code !== 'ENOSPC')
				throw error;
		} finally {
			fs.closeSync(fd);
		}
	}

	/** Removes ${bytes} bytes of the ballast. */
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

	/**
	 * Makes the disk read-only, or writable again.  No process may have a
	 * file open for writing there.
	 */
	readOnly(yes)
	{
		const [program, ...args] = this.wrapper;
		const { status, stderr } = spawnSync(program, [...args, 'mount', '-o',
			`remount,${yes ? 'ro' : 'rw'}`, this.dir], { encoding: 'utf8' });

		assert.equal(status, 0, stderr);
	}

	/** Makes the data directory a copy of ${data}, or empty. */
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

// ---- how the process behaves -----------------------------------------------

const TICKS = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout);

/** Returns the seconds of processor time that ${pid} has used. */
function cpu(pid)
{
	const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
		.replace(/^.*\) /s, '').split(' ').slice(11, 13).map(Number);

	return (user + system) / TICKS;
}

export const lines = (text) => text.split('\n').length - 1;

/**
 * For ${ms} milliseconds no client makes a request.  The process must not spin
 * (half a processor is far more than it needs) and must not write more than
 * ${most} log lines a second.
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
