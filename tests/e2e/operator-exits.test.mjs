// SPDX-License-Identifier: MIT
// tags: surface
//
// The exit codes of twinboxd.  They distinguish a missing file (66), a missing
// right (77), a wrong setting (78) and a bad flag (64).  Only a failing disk or
// damaged data ends with 74; tests/fault has the failing disks.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { dataArgs, sqliteOnly } from './backend.mjs';
import { TWINBOXD, Server, run, startServer, tempDir } from './harness.mjs';

const ROOT = process.getuid() === 0;
const NOBODY = 65534;
/* Root may open every file, so the commands run as another user. */
const UNPRIVILEGED = ROOT
	? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
const PASSWORD = 'a good password\n';

const tried = new Set();

/**
 * Runs a command of twinboxd that fails.  Returns [code, the last line of its
 * text].
 */
async function ends(args, { wrapper = UNPRIVILEGED, input = PASSWORD } = {})
{
	const [program, ...rest] = [...wrapper, TWINBOXD, ...args];
	const child = run(program, rest, { stdio: ['pipe', 'pipe', 'pipe'] });

	child.stdin.on('error', () => {}); // some commands do not read standard input
	child.stdin.end(input);
	const { code } = await child.exited;
	tried.add(code);
	return [code, child.err.trimEnd().split('\n').at(-1)
		.replace(/^twinboxd: (fsck could not look at everything: )?/, '')];
}

/** Makes a folder that the unprivileged user owns. */
function folder()
{
	const dir = tempDir();

	if (ROOT)
		fs.chownSync(dir, NOBODY, NOBODY);
	return dir;
}

/**
 * Makes file or folder ${name} in ${dir} with ${mode}, owned by the
 * unprivileged user.
 */
function place(dir, name, mode, text)
{
	const file = path.join(dir, name);

	if (text === undefined)
		fs.mkdirSync(file);
	else
		fs.writeFileSync(file, text);
	if (ROOT)
		fs.chownSync(file, NOBODY, NOBODY);
	fs.chmodSync(file, mode);
	return file;
}

const LISTEN = ['--listen', '127.0.0.1:0'];
const denied = /: Permission denied$/;

before(() => {
	if (ROOT)
		execFileSync('setpriv', ['--version']);
});

describe('64: a flag that cannot be', () => {
	const commands = ['serve', 'check-config', 'migrate', 'fsck', 'backup', 'restore', 'copy', 'keys', 'user'];

	it('one that does not exist is named without its value, by each command', async () => {
		for (const name of commands) {
			assert.deepEqual(await ends([name, '--dta=secret']),
				[64, '--dta: there is no setting "dta"; did you mean "data"?'], name);
			assert.deepEqual(await ends([name, '-d']), [64, 'there is no flag -d; --help lists them'], name);
		}
		assert.deepEqual(await ends(['serve', `--${'x'.repeat(100)}=secret`]),
			[64, `--${'x'.repeat(40)}: there is no setting "${'x'.repeat(40)}"; --help lists them`]);
	});

	it('one without its value', async () => {
		for (const name of commands) {
			assert.deepEqual(await ends([name, '--listen']),
				[64, '--listen needs a value: --listen HOST:PORT'], name);
		}
		assert.deepEqual(await ends(['serve', '--config']), [64, '--config needs a value: --config FILE']);
	});

	it('one that is given twice, a setting or a flag of the command', async () => {
		for (const name of commands) {
			assert.deepEqual(await ends([name, '--readers', '1', '--readers=1']),
				[64, '--readers is given twice; leave one of them out'], name);
		}
		for (const [flag, ...args] of [
			['--admin', 'user', 'add', 'ann', '--admin', '--admin'],
			['--display-name', 'user', 'add', 'ann', '--display-name', 'A', '--display-name=A'],
			['--json', 'user', 'list', '--json', '--json'],
			['--now', 'keys', 'retire', 'k1', '--now', '--now'],
			['--replace', 'restore', 'file', '--replace', '--replace'],
			['--with-peer', 'fsck', '--with-peer', 'a', '--with-peer', ''],
			['--to', 'copy', '--from', 'a', '--to', 'b', '--to', 'c'],
		])
			assert.deepEqual(await ends(args), [64, `${flag} is given twice; leave one of them out`]);
	});

	it('an unknown name in a file is a wrong setting instead', async () => {
		const conf = place(folder(), 'conf', 0o600, 'dta = x\n');

		assert.deepEqual(await ends(['check-config', '--config', conf]),
			[78, `${conf}:1: there is no setting "dta"; did you mean "data"?`]);
	});
});

describe('66: a file that is named is missing', () => {
	const none = '/nonexistent/x';

	it('the file of settings, for each command', async () => {
		for (const name of ['serve', 'check-config', 'migrate', 'fsck', 'backup', 'restore', 'copy', 'keys', 'user']) {
			assert.deepEqual(await ends([name, '--config', none]),
				[66, `cannot read the settings in ${none}: No such file or directory`], name);
		}
	});

	it('the database, for each command that only reads it', { skip: sqliteOnly }, async () => {
		const data = path.join(folder(), 'none');
		const line = `cannot read the database ${data}/twinbox.db: No such file or directory`;

		for (const args of [['fsck'], ['keys', 'list'], ['backup', path.join(folder(), 'copy')]])
			assert.deepEqual(await ends([...args, '--data', data]), [66, line], args[0]);
	});

	it('the file that is restored, and the folder of a copy', { skip: sqliteOnly }, async () => {
		const data = path.join(folder(), 'data');

		assert.deepEqual(await ends(['restore', none, '--data', data]),
			[66, `cannot open ${none}: No such file or directory`]);
		assert.equal((await ends(['user', 'add', 'ann', '--password-stdin', '--data', data]))[0], 0);
		const [code, text] = await ends(['backup', none, '--data', data]);
		assert.equal(code, 66, text);
		assert.match(text, /^cannot make \/nonexistent\/x\.\w+\.part: No such file or directory$/);
	});
});

describe('77: a right is missing', () => {
	it('to read the file of settings', async () => {
		const file = place(folder(), 'conf', 0o000, '');

		for (const name of ['serve', 'check-config', 'fsck'])
			assert.deepEqual(await ends([name, '--config', file]),
				[77, `cannot read the settings in ${file}: Permission denied`], name);
	});

	it('to make or write the data directory', async () => {
		const dir = folder();
		const shut = place(dir, 'shut', 0o500);

		for (const args of [['serve', ...LISTEN], ['migrate'], ['user', 'add', 'ann', '--password-stdin'], ['keys', 'rotate']]) {
			for (const data of [shut, path.join(shut, 'below')]) {
				const [code, text] = await ends([...args, '--data', data]);
				assert.equal(code, 77, `${args[0]}: ${text}`);
				assert.match(text, denied);
			}
		}
	});

	it('to read or write the database', { skip: sqliteOnly }, async (t) => {
		const data = path.join(folder(), 'data');
		const file = path.join(data, 'twinbox.db');

		assert.equal((await ends(['user', 'add', 'ann', '--password-stdin', '--data', data]))[0], 0);
		for (const mode of [0o000, 0o400]) {
			fs.chmodSync(file, mode);
			for (const args of [['serve', ...LISTEN], ['migrate'], ['user', 'disable', 'ann']]) {
				const [code, text] = await ends([...args, '--data', data]);
				assert.equal(code, 77, `${mode} ${args[0]}: ${text}`);
			}
		}
		fs.chmodSync(file, 0o000);
		for (const args of [['fsck'], ['keys', 'list'], ['backup', path.join(folder(), 'copy')]]) {
			assert.deepEqual(await ends([...args, '--data', data]),
				[77, `cannot read the database ${file}: Permission denied`], args[0]);
		}
		fs.chmodSync(file, 0o600);
		// SQLite gives the files that it makes beside the database the
		// mode of the database.
		fs.chmodSync(`${file}-shm`, 0o400);
		assert.deepEqual(await ends(['serve', ...LISTEN, '--data', data]),
			[77, `cannot write ${file}-shm: Permission denied`]);
		fs.rmSync(`${file}-shm`);
		// The database cannot be read without that file, either.
		fs.chmodSync(data, 0o500);
		assert.deepEqual(await ends(['fsck', '--data', data]),
			[77, `cannot make ${file}-shm: Permission denied`]);
		fs.chmodSync(data, 0o700);
		// With the rights restored the server starts: nothing else was
		// wrong.
		const server = new Server({ data, wrapper: UNPRIVILEGED });
		t.after(() => server.running && server.kill());
		await server.start();
		assert.equal((await server.stop()).code, 0);
	});

	it('to write where a copy goes, and to read what is restored', { skip: sqliteOnly }, async () => {
		const dir = folder();
		const data = path.join(dir, 'data');
		const shut = place(dir, 'shut', 0o500);
		const secret = place(dir, 'secret', 0o000, '');

		assert.equal((await ends(['user', 'add', 'ann', '--password-stdin', '--data', data]))[0], 0);
		const [code, text] = await ends(['backup', path.join(shut, 'copy'), '--data', data]);
		assert.equal(code, 77, text);
		assert.match(text, denied);
		assert.deepEqual(await ends(['restore', secret, '--data', path.join(dir, 'other')]),
			[77, `cannot open ${secret}: Permission denied`]);
	});
});

describe('78: a setting is wrong', () => {
	it('a data directory that is a file, or below one', async () => {
		const file = place(folder(), 'file', 0o600, '');
		const below = path.join(file, 'x');

		for (const args of [['serve', ...LISTEN], ['migrate'], ['user', 'add', 'ann', '--password-stdin'], ['keys', 'rotate']]) {
			const [code, text] = await ends([...args, '--data', file]);
			assert.equal(code, 78, `${args[0]}: ${text}`);
			assert.match(text, /data: cannot open .*\/file: Not a directory$/);
			const [again, other] = await ends([...args, '--data', below]);
			assert.equal(again, 78, `${args[0]}: ${other}`);
			assert.match(other, /data: cannot make .*\/file\/x: Not a directory$/);
		}
	});

	it('a database whose folder is missing, or is a file', { skip: sqliteOnly }, async () => {
		const dir = folder();
		const file = place(dir, 'file', 0o600, '');
		const data = ['--data', path.join(dir, 'data')];

		for (const db of [path.join(dir, 'none', 'x.db'), path.join(file, 'x.db')]) {
			for (const args of [['serve', ...LISTEN], ['migrate'], ['user', 'add', 'ann', '--password-stdin']]) {
				const [code, text] = await ends([...args, ...data, '--db', `sqlite:${db}`]);
				assert.equal(code, 78, `${args[0]}: ${text}`);
			}
		}
		assert.equal((await ends(['fsck', '--data', file]))[0], 78);
	});

	it('a file of settings that is a directory, or below a file', async () => {
		const dir = folder();
		const file = place(dir, 'file', 0o600, '');

		assert.deepEqual(await ends(['check-config', '--config', dir]),
			[78, `${dir} is a directory: name a regular file`]);
		assert.deepEqual(await ends(['check-config', '--config', path.join(file, 'x')]),
			[78, `cannot read the settings in ${file}/x: Not a directory`]);
	});

	it('a value that cannot be, from each source', async () => {
		const conf = place(folder(), 'conf', 0o600, 'log-level = loud\n');

		for (const args of [['--log-level', 'loud'], ['--config', conf], ['--listen', 'nowhere']])
			assert.equal((await ends(['check-config', ...args]))[0], 78, args.join(' '));
		assert.equal((await ends(['serve'], { wrapper: ['env', 'TWINBOX_LOG_LEVEL=loud'] }))[0], 78);
	});
});

describe('75 and 74: what may pass, and what a disk has done', () => {
	it('75: a data directory that is in use, and an address that is taken', async (t) => {
		const server = await startServer();
		t.after(() => server.kill());
		const other = path.join(tempDir(), 'other');

		const [code, text] = await ends(['migrate', ...dataArgs(server.data)], { wrapper: [] });
		if (!dataArgs(server.data).includes('--db'))
			assert.deepEqual([code, text], [75, `data: ${server.data} is in use: another twinboxd holds its lock`]);
		assert.equal((await ends(['serve', ...dataArgs(other), '--listen', server.url.replace('http://', '')],
			{ wrapper: [] }))[0], 75);
	});

	it('74: a database that is damaged', { skip: sqliteOnly }, async () => {
		const data = place(folder(), 'data', 0o700);

		place(data, 'twinbox.db', 0o600, 'not a database at all '.repeat(400));
		const [code, text] = await ends(['serve', ...LISTEN, '--data', data]);
		assert.equal(code, 74);
		assert.match(text, /not a database/);
	});
});

describe('65, 68, 73: what a command was asked for', () => {
	it('cannot be, is not there, is there already', { skip: sqliteOnly }, async () => {
		const data = path.join(folder(), 'data');
		const copy = path.join(folder(), 'copy');
		const add = ['user', 'add', 'ann', '--password-stdin', '--data', data];

		assert.equal((await ends(add))[0], 0);
		assert.equal((await ends(['restore', path.dirname(copy), '--data', path.join(folder(), 'd')]))[0], 65);
		for (const text of ['hello', 'not a database at all '.repeat(400)]) {
			const file = place(folder(), 'hello', 0o600, text);
			assert.deepEqual(await ends(['restore', file, '--data', path.join(folder(), 'd')]),
				[65, `${file} is not a back-up: it is not a database, or is damaged; ` +
					'name a file that `twinboxd backup` has made']);
		}
		assert.equal((await ends(['user', 'disable', 'bob', '--data', data]))[0], 68);
		assert.equal((await ends(['keys', 'retire', 'k1', '--data', data]))[0], 68);
		assert.equal((await ends(add))[0], 73);
		assert.equal((await ends(['backup', copy, '--data', data]))[0], 0);
		assert.equal((await ends(['backup', copy, '--data', data]))[0], 73);
	});
});

describe('the documents', () => {
	const read = (file) => fs.readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
	const numbers = (text, row) => [...text.matchAll(row)].map(([, code]) => Number(code)).sort();
	/*
	 * Codes that other tests show: a failed step (e2e/check-federation), a
	 * defect, too little memory.
	 */
	const elsewhere = [69, 70, 71];

	it('the manual page and the table of operations.md have the codes that are tried here', { skip: sqliteOnly }, () => {
		const man = read('docs/man/twinboxd.8.in').match(/^\.Sh EXIT STATUS$(.*?)^\.Sh/ms)[1];
		const table = read('docs/operations.md').match(/^## Exit codes$(.*?)^## /ms)[1];
		const want = [...tried, ...elsewhere].sort();

		assert.deepEqual(numbers(man, /^\.It (\d+)$/gm), want);
		assert.deepEqual(numbers(table, /^\| (\d\d) \|/gm), want.filter((code) => code !== 0));
	});

	it('the unit and operations.md agree about the codes that nothing repeats', () => {
		const unit = read('contrib/systemd/twinboxd.service.in').match(/^RestartPreventExitStatus=(.*)$/m)[1];
		const said = read('docs/operations.md').match(/but not after (.*?), which do not get better/)[1];
		const manual = read('docs/install.md').match(/after all exit codes but (.*?), which a repetition/)[1];

		assert.equal(said.replace(' and', ',').replaceAll(',', ''), unit);
		assert.equal(manual.replace(' and', ',').replaceAll(',', ''), unit);
	});
});
