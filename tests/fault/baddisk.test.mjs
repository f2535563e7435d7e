// SPDX-License-Identifier: MIT
//
// A disk that fails under the real program.  The k-th sync returns EIO, for
// many k: under load, in a checkpoint and at the start.  Or every write from
// the k-th on fails with EROFS or EIO.  Or the disk is mounted read-only before
// a start.  The server must log the failure and end with exit code 74, and no
// client may have an answer for something that is not on the disk.
//
// After EIO, lost data may still be in the page cache, where a restart would
// find it.  So before fsck, a start and clients use the data again, the log is
// cut back to what the last successful sync covered, as a power failure would
// do.
//
// strace makes the system calls fail (strace.mjs), or a mount made by the test
// is the disk (shortage.mjs).  Where neither is possible, the tests are skipped
// and say why.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import { assertSound } from '../e2e/fsck.mjs';
import { Server, TWINBOXD, killAll, tempDir, users, within } from '../e2e/harness.mjs';
import { History, judge, told } from './crash-checker.mjs';
import { Target, crowd } from './crash-load.mjs';
import { Script, copyData, dropData, goldenEnd, prepare } from './crash-scenario.mjs';
import { MIB, SmallDisk, noDisk } from './shortage.mjs';
import { attach, callsIn, counted, noStrace, watched } from './strace.mjs';

const SYNCS = 'fdatasync,fsync';
const WRITES = 'pwrite64,ftruncate,fallocate,write';
const DATABASE = 'twinbox.db';
const LOG = 'twinbox.db-wal';
const EX_IOERR = 74;

/**
 * Asserts that ${end} is the end of a server whose disk failed while it served.
 */
function assertFailed({ code, signal, err })
{
	assert.deepEqual({ code, signal }, { code: EX_IOERR, signal: null }, err);
	assert.match(err.trimEnd().split('\n').at(-1), /^\S+ error +store\.fail .*\bexit=74\b/);
}

/**
 * Asserts that ${end} is the end of a start that found a failing disk.  Returns
 * the line for people.
 */
function assertRefused({ code, signal, err })
{
	const said = err.split('\n').filter((line) => line.startsWith('twinboxd: '));

	assert.deepEqual({ code, signal }, { code: EX_IOERR, signal: null }, err);
	assert.equal(said.length, 1, err);
	return said[0];
}

/**
 * Returns how many bytes of the log were on the disk at the end of ${trace}:
 * what was written before the beginning of a successful sync.  ${base} is the
 * size of the log at the beginning of the trace.
 */
function durable(trace, base)
{
	const calls = callsIn(trace);
	const syncs = calls.filter(({ name, result }) => /sync/.test(name) && result === 0);
	const until = Math.max(-1, ...syncs.map(({ began }) => began));
	const ends = calls.filter(({ name, ended, result }) =>
		name === 'pwrite64' && ended < until && result > 0)
		.map(({ args, result }) => Number(/(\d+)$/.exec(args)[1]) + result);

	return { bytes: Math.max(base, ...ends), syncs: syncs.length,
		failed: calls.filter(({ result }) => result < 0).length };
}

/**
 * Cuts off the part of the log in ${data} that was never on the disk.  Returns
 * the number of bytes cut.
 */
function cutLog(data, bytes)
{
	const log = path.join(data, LOG);
	const { size } = fs.statSync(log);

	if (size > bytes)
		fs.truncateSync(log, bytes);
	fs.rmSync(`${path.join(data, DATABASE)}-shm`, { force: true });
	return Math.max(0, size - bytes);
}

/**
 * Clients work while ${server} is started once for each k of ${ks}.  Each time
 * it ends because a system call on ${file} fails: ${fails}(k) is the injection
 * for strace.  Then the checker and fsck must find nothing.  Returns the
 * counts.
 */
async function underLoad(t, server, file, fails, ks)
{
	const history = new History();
	const target = new Target(server);
	const sum = { syncs: 0, cut: 0 };

	await server.start();
	t.after(() => {
		target.abandon();
		return server.kill();
	});
	const all = await users(server, 'ann', 'bob', 'cat');
	const clients = crowd(target, history, all);
	for (const k of ks) {
		const trace = path.join(path.dirname(server.data), 'trace');
		const base = fs.statSync(path.join(server.data, LOG)).size;
		const strace = await attach(server.pid, ['-o', trace, '-e', `trace=${WRITES},${SYNCS}`,
			'-e', `inject=${fails(k)}`, '-P', path.join(server.data, file)]);
		target.up();
		await within(server.child.exited, 30_000, `the end by ${fails(k)} of ${file}`);
		target.down();
		await within(strace.exited, 5000, 'the end of strace');
		assertFailed(server.last);
		const disk = durable(trace, base);
		assert.equal(disk.failed, 1, 'it went on after what had failed');
		sum.syncs += disk.syncs;
		if (file === LOG)
			sum.cut += cutLog(server.data, disk.bytes);
		await assertSound(server);
		await server.start();
		if (clients.broken)
			break;
	}
	target.up();
	target.end();
	await clients.ended;
	const verdict = await judge(history, all);
	t.diagnostic(told(verdict, { lives: ks.length, synced: sum.syncs, cut: sum.cut }));
	assert.deepEqual(verdict.violations, []);
	assert.equal(verdict.counts.accepted, verdict.counts.sent);
	await assertSound(server);
	assert.equal((await server.stop()).code, 0);
	return { ...sum, ...verdict.counts };
}

const LOAD = 'the load is as much as there can be';

const failingSync = (k) => `${SYNCS}:error=EIO:when=${k}`;

after(killAll);

it('R1 R4 R153 R211 F8 a failed sync of the log ends the process; nobody had an answer about what it lost',
	{ skip: noStrace }, async (t) => {
		const server = new Server({ data: path.join(tempDir('twinbox-fault-'), 'data'),
			unlimited: LOAD });
		const ks = [1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 35, 60];
		const sum = await underLoad(t, server, LOG, failingSync, ks);

		assert.ok(sum.syncs >= ks.reduce((n, k) => n + k - 1, 0), `${sum.syncs} good syncs`);
		assert.ok(sum.cut > 0, 'nothing was lost by any of them');
	});

it('F8 a failed sync in a checkpoint ends the process; the log has it all',
	{ skip: noStrace }, async (t) => {
		const server = new Server({ data: path.join(tempDir('twinbox-fault-'), 'data'),
			args: ['--checkpoint-size', '1MiB'], unlimited: LOAD });

		await underLoad(t, server, DATABASE, failingSync, [1, 2, 3]);
	});

it('F8 a failed sync at the start: a clear end with 74, then a start',
	{ skip: noStrace }, async (t) => {
		const made = await prepare(TWINBOXD, { halfway: true });
		const golden = await goldenEnd(made);
		const trace = path.join(path.dirname(made.data), 'trace');
		const failed = {};
		const start = async (order, deed) => {
			const data = copyData(made.data);
			const server = new Server({ data, wrapper: ['strace', '-D', '-f', '-qq', '-o', trace,
				'-e', `trace=${SYNCS}`, ...order, ...watched(data)] });
			const came = await server.start().then(() => true, (error) => {
				if (server.last?.code === null)
					throw error;
				return false;
			});
			if (came)
				await server.kill();
			await deed?.(server, came);
			dropData(data);
			return came;
		};

		await start([]);
		const calls = counted(trace);
		for (const [call, most] of Object.entries(calls)) {
			failed[call] = 0;
			for (let k = 1; k <= most; k++) {
				await start(['-e', `inject=${call}:error=EIO:when=${k}`], async (server, came) => {
					if (!came) {
						assertRefused(server.last);
						failed[call]++;
					}
					const script = new Script(made);
					server.wrapper = [];
					await server.start();
					await script.run(server);
					await script.prove(golden);
					await server.kill();
				});
			}
		}
		t.diagnostic(`a start syncs ${JSON.stringify(calls)}; ended by ${JSON.stringify(failed)}`);
		// The log is synced, and so is the database when the log is
		// moved into it.
		assert.ok(failed.fdatasync >= 2, JSON.stringify(failed));
		dropData(made.data);
	});

for (const [fault, error] of [['F10', 'EIO'], ['F13', 'EROFS']]) {
	it(`${fault} writes of the log give ${error}: it ends with 74, and nobody had an answer about what it lost`,
		{ skip: noStrace }, async (t) => {
			const server = new Server({ data: path.join(tempDir('twinbox-fault-'), 'data'),
				unlimited: LOAD });

			await underLoad(t, server, LOG, (k) => `${WRITES}:error=${error}:when=${k}+`,
				[1, 2, 3, 4, 5, 8, 13, 30]);
		});
}

it('F13 a start on a disk that is read-only: a clear end with 74; writable again, a start',
	{ skip: noDisk }, async (t) => {
		const disk = await new SmallDisk(16 * MIB).make();
		const server = disk.server();
		const stopped = await prepare(TWINBOXD);
		const killed = await prepare(TWINBOXD, { halfway: true });

		for (const made of [null, stopped, killed]) {
			const golden = made && await goldenEnd(made);
			disk.load(made?.data);
			disk.readOnly(true);
			server.spawn();
			await within(server.child.exited, 15_000, 'the end of a start');
			const said = assertRefused(server.last);
			assert.match(said, /: Read-only file system$/);
			assert.ok(said.includes(disk.data), said);
			t.diagnostic(said.replaceAll(disk.dir, ''));
			disk.readOnly(false);
			await server.start();
			assert.equal((await server.stop()).code, 0);
			if (!made)
				continue;
			// A copy outside the small disk is checked, because
			// fsck can read it there.
			const again = new Server({ data: copyData(disk.file()) });
			const script = new Script(made);
			await again.start();
			await script.run(again);
			await script.prove(golden);
			await again.kill();
			dropData(again.data);
			dropData(made.data);
		}
		await disk.end();
	});
