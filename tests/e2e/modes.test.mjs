// SPDX-License-Identifier: MIT
// tags: surface
//
// File modes of the data.  The server and every command refuse a directory or a
// database that other users may write, and warn of one that they may read.  No
// mode is ever changed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { sqliteOnly } from './backend.mjs';
import { TWINBOXD, Server, tempDir } from './harness.mjs';

/** Runs a command that needs no terminal.  Returns [code, text]. */
function command(...args)
{
	const { status, stdout, stderr } = spawnSync(TWINBOXD, args,
		{ encoding: 'utf8', input: 'a good password\n', timeout: 20_000 });

	return [status, stdout + stderr];
}

describe('what others may do with the data', { skip: sqliteOnly }, () => {
	const data = path.join(tempDir(), 'data');
	const database = path.join(data, 'twinbox.db');
	const copy = path.join(tempDir(), 'copy.db');
	const commands = [['migrate'], ['fsck'], ['backup', path.join(tempDir(), 'x.db')], ['restore', copy, '--replace'],
		['user', 'add', 'bob', '--password-stdin'], ['serve', '--listen', '127.0.0.1:0']];

	before(() => {
		assert.equal(command('user', 'add', 'ann', '--password-stdin', '--data', data)[0], 0);
		assert.equal(command('backup', copy, '--data', data)[0], 0);
	});

	for (const [what, file, was, mode] of [['directory', data, 0o700, 0o770], ['directory', data, 0o700, 0o707],
		['database', database, 0o600, 0o620], ['database', database, 0o600, 0o666]]) {
		it(`a ${what} of mode ${mode.toString(8)} is refused with the cure`, () => {
			fs.chmodSync(file, mode);
			for (const args of commands) {
				const [code, text] = command(...args, '--data', data);
				assert.equal(code, 77, `${args[0]}: ${text}`);
				assert.ok(text.includes(`data: others may write to ${file} (mode 0${mode.toString(8)}): run ` +
					`chmod go-w ${file}`), text);
			}
			assert.equal(fs.statSync(file).mode & 0o777, mode);
			fs.chmodSync(file, was);
		});
	}

	for (const mode of [0o770, 0o707, 0o1777]) {
		it(`a database in another folder, of mode ${mode.toString(8)}, is not opened for writing`, () => {
			const folder = path.join(tempDir(), 'shared');
			const args = ['--data', path.join(tempDir(), 'data'), '--db', `sqlite:${folder}/chat.db`];

			fs.mkdirSync(folder);
			fs.chmodSync(folder, mode);
			for (const words of [['migrate'], ['user', 'add', 'bob', '--password-stdin'],
				['serve', '--listen', '127.0.0.1:0']]) {
				const [code, text] = command(...words, ...args);
				assert.equal(code, 77, `${words[0]}: ${text}`);
				assert.ok(text.includes(`db: others may write to ${folder} (mode ${
					mode.toString(8).padStart(4, '0')}), and so replace the database`), text);
			}
			assert.deepEqual(fs.readdirSync(folder), []);
			fs.chmodSync(folder, 0o755);
			const [code, text] = command('migrate', ...args);
			assert.equal(code, 0, text);
			assert.doesNotMatch(text, /data\.readable path=\S+shared /);
			// A copy that lies in a shared folder may still be read.
			fs.chmodSync(folder, mode);
			assert.equal(command('fsck', ...args)[0], 0);
		});
	}

	it('a folder that others may read is logged, and serves', async () => {
		fs.chmodSync(data, 0o755);
		fs.chmodSync(database, 0o640);
		const [code, text] = command('fsck', '--data', data);
		assert.equal(code, 0, text);
		assert.match(text, /warn data\.readable path=\S+ mode=0755 cure=chmod go-r \S+data\n/);
		assert.match(text, /warn data\.readable path=\S+twinbox\.db mode=0640 cure=chmod go-r \S+twinbox\.db\n/);
		const server = new Server({ data });
		await server.start();
		assert.match(server.output(), /warn data\.readable path=\S+ mode=0755 /);
		await server.stop();
		assert.equal(fs.statSync(data).mode & 0o777, 0o755);
		assert.equal(fs.statSync(database).mode & 0o777, 0o640);
		fs.chmodSync(data, 0o700);
		fs.chmodSync(database, 0o600);
		assert.doesNotMatch(command('fsck', '--data', data)[1], /data\.readable/);
	});

	it('a database that is not a regular file is refused', () => {
		const other = path.join(tempDir(), 'data');

		fs.mkdirSync(other, { mode: 0o700 });
		assert.equal(spawnSync('mkfifo', ['-m', '600', path.join(other, 'twinbox.db')]).status, 0);
		for (const args of commands.filter(([name]) => name !== 'restore')) {
			const [code, text] = command(...args, '--data', other);
			assert.equal(code, 78, `${args[0]}: ${text}`);
			assert.match(text, /twinbox\.db is a FIFO: name a regular file/);
		}
	});
});
