// SPDX-License-Identifier: MIT
//
// A signal in the middle of a command ends it at once, as it ends any program,
// and no half-done result is left.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { Terminal } from '../e2e/cli-terminal.mjs';
import { eventually, startServer, run, tempDir, users, within } from '../e2e/harness.mjs';
import { program as faultsProgram, skip } from './remote.mjs';

/**
 * Runs ${command} and ends it with ${signal} when it has reached ${point}.
 * Returns its output.
 */
async function interrupted(signal, point, command)
{
	const trace = path.join(tempDir(), 'trace');
	const child = run(faultsProgram, command, { env: { ...process.env,
		TWINBOX_FAULT_TRACE: trace, TWINBOX_FAULT: `${point}:1:delay=60000` } });
	const passed = async () => {
		while (!fs.existsSync(trace) || !fs.readFileSync(trace, 'utf8').split('\n').includes(point)) {
			assert.equal(child.exitCode, null, child.err);
			await new Promise((next) => setTimeout(next, 10));
		}
	};
	await within(passed(), 20_000, `${command[0]} comes to ${point}`);
	child.kill(signal);
	const { code, signal: by } = await within(child.exited, 10_000, `${command[0]} ends`);
	assert.deepEqual([code, by], [null, signal], child.err);
	return child.out + child.err;
}

describe('a signal', { skip }, () => {
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
		it(`${signal} ends backup, restore and fsck, and removes what is half done`, async (t) => {
			const server = await startServer({ program: faultsProgram });
			t.after(() => server.running && server.kill());
			const [ann, bob] = await users(server, 'ann', 'bob');
			const folder = tempDir();
			const file = path.join(folder, 'copy.db');
			const data = path.join(folder, 'data');

			await ann.send(bob.name, 'hello');
			await interrupted(signal, 'backup.copied', ['backup', file, '--data', server.data]);
			assert.deepEqual(fs.readdirSync(folder), []);
			await interrupted(signal, 'fsck.opened', ['fsck', '--data', server.data]);
			const made = run(faultsProgram, ['backup', file, '--data', server.data]);
			assert.equal((await made.exited).code, 0, made.err);
			await interrupted(signal, 'restore.copied', ['restore', file, '--data', data]);
			assert.deepEqual(fs.readdirSync(data).sort(), ['lock', 'twinbox.db-lock']);
			// Existing data stays unchanged.
			await server.stop();
			const before = fs.readdirSync(server.data).sort();
			await interrupted(signal, 'restore.copied',
				['restore', file, '--replace', '--data', server.data]);
			assert.deepEqual(fs.readdirSync(server.data).sort(), before);
		});
	}

	it('SIGKILL between two renames of restore --replace leaves the old database its log', async (t) => {
		const server = await startServer({ program: faultsProgram });
		const database = path.join(server.data, 'twinbox.db');
		const file = path.join(tempDir(), 'copy.db');
		const [ann, bob] = await users(server, 'ann', 'bob');
		// A snapshot of another program keeps later commits in the log.
		const reader = run('sqlite3', [database], { stdio: ['pipe', 'pipe', 'pipe'] });
		t.after(() => reader.kill('SIGKILL'));
		t.after(() => server.running && server.kill());

		assert.equal((await run(faultsProgram, ['backup', file, '--data', server.data]).exited).code, 0);
		reader.stdin.write('BEGIN; SELECT count(*) FROM users;\n.shell echo open\n');
		await eventually(() => reader.out.includes('open'), 'the snapshot is open');
		const { id } = await ann.send(bob.name, 'hello');
		await server.kill();
		await interrupted('SIGKILL', 'restore.log-taken',
			['restore', file, '--replace', '--data', server.data]);
		assert.deepEqual([`${database}-wal`, `${database}.replaced-wal`].map((name) => fs.existsSync(name)),
			[false, true]);
		reader.kill('SIGKILL');
		await reader.exited;
		// A reader leaves an empty log.
		fs.writeFileSync(`${database}-wal`, '');

		await server.start();
		await bob.received(id);
		await server.stop();
		const made = run(faultsProgram, ['restore', file, '--replace', '--data', server.data]);
		assert.equal((await made.exited).code, 0, made.err);
		assert.deepEqual(fs.readdirSync(server.data).filter((name) => /replaced/.test(name)),
			['twinbox.db.replaced']);
		await server.start();
		assert.deepEqual((await bob.inbox()).events, []);
	});

	it('one that is ignored by the parent stays ignored', async () => {
		const child = run('sh', ['-c', 'trap "" HUP; "$0" user add ann --password-stdin --data "$1"',
			faultsProgram, path.join(tempDir(), 'd')], { stdio: ['pipe', 'pipe', 'pipe'] });
		const children = () => fs.readFileSync(
			`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
		const isCommand = (pid) => pid &&
			fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${faultsProgram}\0user\0`);
		const ready = async () => {
			let pid;
			while (!(pid = [child.pid, ...children()].find(isCommand)))
				await new Promise((next) => setTimeout(next, 10));
			return Number(pid);
		};
		const pid = await within(ready(), 10_000, 'the command begins');
		process.kill(pid, 'SIGHUP');
		child.stdin.end('a good password\n');
		assert.equal((await child.exited).code, 0, child.err);
	});

	it('at the prompt for a password gives the terminal its echo back', async (t) => {
		const terminal = new Terminal('sh', ['-c', '"$0" user add ann --data "$1"; stty -a',
			faultsProgram, path.join(tempDir(), 'd')]);
		t.after(() => terminal.kill());
		await terminal.shows(/password:/);
		const shell = terminal.program();
		const [pid] = fs.readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').split(' ');
		process.kill(Number(pid), 'SIGTERM');
		await terminal.shows(/ echo /);
	});
});
