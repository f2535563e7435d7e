// SPDX-License-Identifier: MIT
// tags: surface
//
// `twinboxd user`: the whole text and the exit code of each command and
// refusal, and the questions on the terminal.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { changeRows, dataArgs, sqliteOnly } from './backend.mjs';
import { Terminal } from './cli-terminal.mjs';
import { TWINBOXD, login, startServer, tempDir } from './harness.mjs';
import { SETTINGS, command, refused, user } from './operator-command.mjs';

const USER_USAGE = `usage: twinboxd user list [--json] ${SETTINGS}
       twinboxd user add NAME [--admin] [--display-name TEXT] [--password-stdin] ${SETTINGS}
       twinboxd user passwd NAME [--password-stdin] ${SETTINGS}
       twinboxd user disable NAME ${SETTINGS}
       twinboxd user enable NAME ${SETTINGS}
       twinboxd user promote NAME ${SETTINGS}
       twinboxd user demote NAME ${SETTINGS}
`;

const HEAD = (width) => `${'NAME'.padEnd(width)}  ROLE   STATE                DEVICES  CREATED     DISPLAY NAME`;

/** Returns the lines of `user list`, with YYYY-MM-DD in place of each date. */
async function list(data, ...args)
{
	const [code, out, err] = await user(data, ['list', ...args]);

	assert.deepEqual([code, err], [0, '']);
	return out.replaceAll(/\d{4}-\d\d-\d\d(?!T)/g, 'YYYY-MM-DD').trimEnd().split('\n');
}

describe('user list', () => {
	it('prints a row for each user, and a JSON object for each with --json', async () => {
		const data = path.join(tempDir(), 'd');

		await user(data, ['add', 'cid', '--password-stdin']);
		await user(data, ['add', 'ann', '--admin', '--password-stdin']);
		await user(data, ['disable', 'cid']);
		assert.deepEqual(await list(data), [HEAD(4),
			'ann   admin  active                     0  YYYY-MM-DD',
			'cid   user   disabled YYYY-MM-DD        0  YYYY-MM-DD']);
		const objects = (await list(data, '--json')).map((line) => JSON.parse(line));
		for (const [i, one] of objects.entries()) {
			assert.match(one.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
			assert.equal(one.disabled_at !== null, i === 1);
			assert.ok(one.disabled_at === null || one.disabled_at >= one.created_at);
			delete one.created_at;
			delete one.disabled_at;
		}
		assert.deepEqual(objects, [
			{ name: 'ann', display_name: null, admin: true, devices: 0 },
			{ name: 'cid', display_name: null, admin: false, devices: 0 }]);
	});

	it('reads page after page, leaves out users of other servers, and escapes what moves the cursor', async () => {
		const data = path.join(tempDir(), 'd');
		const names = Array.from({ length: 450 }, (_, i) => `u${String(i).padStart(3, '0')}`);
		const row = (name, display, destination) => `('${name}', ${display}, 0, 1700000000000, ${destination})`;

		await user(data, ['add', 'a-name-that-is-longer', '--password-stdin']);
		changeRows(data, `INSERT INTO users (name, display_name, admin, created_at, destination_id) VALUES ${[
			...names.map((name) => row(name, "'\u001b[2Jclear'", 'NULL')),
			...names.map((name) => row(`${name}@b.example`, 'NULL', 1))].join(', ')}`);
		const [head, first, ...rest] = await list(data);
		assert.equal(head, HEAD(21));
		assert.equal(first, 'a-name-that-is-longer  user   active                     0  YYYY-MM-DD');
		assert.deepEqual(rest, names.map((name) =>
			`${name}                   user   active                     0  YYYY-MM-DD  \\u{001B}[2Jclear`));
		assert.deepEqual((await list(data, '--json')).map((line) => JSON.parse(line).name),
			['a-name-that-is-longer', ...names]);
	});

	it('works beside the server that runs, and counts devices', async (t) => {
		const server = await startServer();

		t.after(() => server.kill());
		await server.rest().post('/v1/tokens', { name: 'bob', password: 'twinbox-demo', device: 'one' });
		assert.deepEqual(await list(server.data), [HEAD(5),
			...['alice', 'bob', 'carol'].map((name) =>
				`${name.padEnd(5)}  user   active                     ${name === 'bob' ? 1 : 0}  YYYY-MM-DD`)]);
	});

	it('of a database without users names the command that makes the first', async () => {
		const data = path.join(tempDir(), 'd');

		await command(['migrate', ...dataArgs(data)]);
		assert.deepEqual(await user(data, ['list']), [0,
			'there are no users: "twinboxd user add NAME --admin" makes the first\n', '']);
		assert.deepEqual(await user(data, ['list', '--json']), [0, '', '']);
	});

	it('without a database says so with the code of a missing file', { skip: sqliteOnly }, async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await refused(['user', 'list', '--data', data]),
			[66, `cannot read the database ${data}/twinbox.db: No such file or directory`]);
		assert.ok(!fs.existsSync(data));
	});
});

describe('user', () => {
	it('without a command and a name shows how it is called', async () => {
		const data = path.join(tempDir(), 'd');

		for (const args of [[], ['add'], ['add', 'ann', 'bob'], ['shave', 'ann'], ['ann', 'add'], ['list', 'ann'],
			['disable', 'ann', '--json'], ['disable', 'ann', '--display-name', 'Ann'],
			['passwd', 'ann', '--admin'], ['promote', 'ann', '--password-stdin'],
			['list', '--admin'], ['list', '--password-stdin'], ['list', '--display-name', 'Ann']])
			assert.deepEqual(await user(data, args), [64, '', USER_USAGE], args.join(' '));
		assert.ok(!fs.existsSync(data));
	});

	it('a name that is none is refused before a password is read', async () => {
		const data = path.join(tempDir(), 'd');

		for (const name of ['Ann', '', 'a b', 'x'.repeat(33), '.', '..', 'ann.', '_ann', 'a..b']) {
			assert.deepEqual(await refused(['user', 'add', name, '--password-stdin', ...dataArgs(data)]),
				[65, `"${name}" is not a valid name: 1 to 32 of a-z, 0-9, '.', '_', '-', ` +
					'with a letter or digit first and last, and without ".."']);
		}
		assert.ok(!fs.existsSync(data));
	});

	it('a password has 8 to 1024 bytes, and is not the name', async () => {
		const data = path.join(tempDir(), 'd');
		const add = (name, input) => command(['user', 'add', name, '--password-stdin', ...dataArgs(data)], { input });
		const none = [65, '', 'twinboxd: no password can be read from standard input, ' +
			'or it has more than 1024 bytes\n'];
		const size = (n) => [65, '', `twinboxd: a password has 8 to 1024 bytes, this one has ${n}\n`];

		for (const nothing of ['', '\n', '\r\n'])
			assert.deepEqual(await add('ann', nothing), size(0));
		assert.deepEqual(await add('ann', 'seven77\n'), size(7));
		assert.deepEqual(await add('ann', 'seven77\r\n'), size(7));
		assert.deepEqual(await add('ann', 'eight888\0more\n'), none);
		assert.deepEqual(await add('ann', 'ä'.repeat(512) + 'x\n'), size(1025));
		assert.deepEqual(await add('ann', 'x'.repeat(1026)), none);
		assert.deepEqual(await add('alexandra', 'alexandra\n'),
			[65, '', 'twinboxd: the password is the name, which is the first that is tried\n']);
		assert.ok(!fs.existsSync(data));
		assert.deepEqual(await add('ann', 'eight888\n'), [0, 'user ann added\n', '']);
		// The end of the input ends the line, too.
		assert.deepEqual(await add('bob', 'x'.repeat(1024)), [0, 'user bob added\n', '']);
		assert.deepEqual(await add('x'.repeat(32), 'eight888\nsecond line\n'),
			[0, `user ${'x'.repeat(32)} added\n`, '']);
	});

	it('add --display-name', async (t) => {
		const data = path.join(tempDir(), 'd');
		const add = (name, ...more) => user(data, ['add', name, '--password-stdin', '--display-name', ...more]);
		const none = (text) => [65, '', `twinboxd: a display name ${text}\n`];

		assert.deepEqual(await add('ann', ''), none('has 1 to 128 bytes, this one has 0'));
		assert.deepEqual(await add('ann', 'ä'.repeat(64) + 'x'), none('has 1 to 128 bytes, this one has 129'));
		const line = (at) => none('is UTF-8 without control characters, line breaks and characters that turn ' +
			`the direction of text; look at byte ${at}`);
		for (const control of ['\n', '\x1b', '\x7f', '\u009b', '\u2029', '\u202e', '\u2069'])
			assert.deepEqual(await add('ann', `A${control}n`), line(1), JSON.stringify(control));
		assert.deepEqual(await command(['user', 'add', 'ann', '--password-stdin', ...dataArgs(data)],
			{ input: 'good password\n', wrapper: ['sh', '-c', `exec "$0" "$@" --display-name "$(printf '\\377')"`] }),
		line(0));
		assert.ok(!fs.existsSync(data));
		assert.deepEqual(await add('ann', `👩‍👧${'ä'.repeat(58)}`), [0, 'user ann added\n', '']);
		assert.deepEqual(await user(data, ['add', 'bob', '--display-name=Bob B.', '--password-stdin']),
			[0, 'user bob added\n', '']);
		assert.deepEqual((await list(data, '--json')).map((line) => JSON.parse(line).display_name),
			[`👩‍👧${'ä'.repeat(58)}`, 'Bob B.']);
		// The same command works through the running server.
		const server = await startServer();
		t.after(() => server.kill());
		assert.deepEqual(await user(server.data, ['add', 'dan', '--display-name', 'Dan D.', '--password-stdin']),
			[0, 'user dan added\n', '']);
		assert.equal((await list(server.data)).at(-1), 'dan    user   active                     0  YYYY-MM-DD  Dan D.');
	});

	it('says what it has done, and what there is not', async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await user(data, ['add', 'ann', '--admin', '--password-stdin']),
			[0, 'user ann added as administrator\n', '']);
		assert.deepEqual(await user(data, ['add', 'bob', '--password-stdin']), [0, 'user bob added\n', '']);
		assert.deepEqual(await user(data, ['passwd', 'bob', '--password-stdin']),
			[0, 'user bob has a new password\n', '']);
		assert.deepEqual(await user(data, ['disable', 'bob']), [0, 'user bob disabled\n', '']);
		for (const what of ['passwd', 'disable', 'enable', 'promote', 'demote']) {
			assert.deepEqual(await user(data, [what, 'cid', ...what === 'passwd' ? ['--password-stdin'] : []]),
				[68, '', 'twinboxd: there is no user "cid"\n']);
		}
	});

	it('add of a user who is there names the command to use, before it asks for a password', async (t) => {
		const data = path.join(tempDir(), 'd');
		const server = await startServer();

		t.after(() => server.kill());
		for (const where of [data, server.data]) {
			const add = (...args) => refused(['user', 'add', ...args, ...dataArgs(where)], { wrapper: ['setsid', '-w'] });

			for (const args of [['ann', '--admin'], ['bea'], ['cat']])
				assert.equal((await user(where, ['add', ...args, '--password-stdin']))[0], 0);
			await user(where, ['disable', 'cat']);
			assert.deepEqual(await add('ann', '--admin'),
				[73, 'there is an administrator "ann": twinboxd user passwd ann sets a new password']);
			assert.deepEqual(await add('bea'),
				[73, 'there is a user "bea": twinboxd user passwd bea sets a new password']);
			assert.deepEqual(await add('bea', '--admin'),
				[73, 'there is a user "bea": twinboxd user promote bea makes this user an administrator']);
			for (const more of [[], ['--admin']]) {
				assert.deepEqual(await add('cat', ...more),
					[73, 'there is a user "cat", who is disabled: twinboxd user enable cat lets this user log in again']);
			}
		}
	});

	it('passwd of a disabled user says that the user is disabled', async (t) => {
		const data = path.join(tempDir(), 'd');
		const server = await startServer();

		t.after(() => server.kill());
		for (const where of [data, server.data]) {
			await user(where, ['add', 'ann', '--password-stdin']);
			await user(where, ['disable', 'ann']);
			assert.deepEqual(await user(where, ['passwd', 'ann', '--password-stdin']), [0,
				'user ann has a new password\n' +
				'user ann is disabled: twinboxd user enable ann lets this user log in again\n', '']);
		}
	});

	it('enable, promote and demote, alone and through the server that runs', async (t) => {
		const data = path.join(tempDir(), 'd');
		const server = await startServer();

		t.after(() => server.kill());
		for (const where of [data, server.data]) {
			const done = async (what, text) => assert.deepEqual(await user(where, [what, 'bea']), [0, `user bea ${text}\n`, '']);
			const not = async (what, text) => assert.deepEqual(await user(where, [what, 'bea']),
				[65, '', `twinboxd: user "bea" ${text}\n`]);

			for (const args of [['ann', '--admin'], ['bea']])
				assert.equal((await user(where, ['add', ...args, '--password-stdin']))[0], 0);
			await not('enable', 'is not disabled');
			await done('disable', 'disabled');
			await not('disable', 'is disabled already');
			await done('promote', 'is an administrator\n' +
				'user bea is disabled: twinboxd user enable bea lets this user log in again');
			await done('enable', 'enabled');
			await not('promote', 'is an administrator already');
			await done('demote', 'is no longer an administrator');
			await not('demote', 'is not an administrator');
		}
	});

	it('demote and disable of the last administrator are refused', async (t) => {
		const data = path.join(tempDir(), 'd');
		const server = await startServer();

		t.after(() => server.kill());
		for (const where of [data, server.data]) {
			const done = async (...args) => assert.equal((await user(where, args))[0], 0, args.join(' '));
			const last = async (what, name) => assert.deepEqual(await user(where, [what, name]),
				[65, '', `twinboxd: user "${name}" is the last administrator: promote another user first\n`]);

			await done('add', 'ann', '--admin', '--password-stdin');
			await done('add', 'bea', '--admin', '--password-stdin');
			await done('demote', 'ann');
			await last('demote', 'bea');
			await last('disable', 'bea');
			await done('promote', 'ann');
			await done('disable', 'bea');
			await last('disable', 'ann');
		}
	});

	it('promote and demote change the rights of a token at once', async (t) => {
		const server = await startServer();

		t.after(() => server.kill());
		await user(server.data, ['add', 'ann', '--admin', '--password-stdin']);
		await user(server.data, ['add', 'bea', '--password-stdin']);
		const bea = await login(server, 'bea');
		const allowed = async () => (await bea.get('/v1/admin/users')).status;
		// Each request is made twice: the second one uses the server's
		// cached rights of the token.
		assert.deepEqual([await allowed(), await allowed()], [403, 403]);
		await user(server.data, ['promote', 'bea']);
		assert.deepEqual([await allowed(), await allowed()], [200, 200]);
		await user(server.data, ['demote', 'bea']);
		assert.deepEqual([await allowed(), await allowed()], [403, 403]);
		assert.equal((await bea.get('/v1/inbox')).status, 200);
		await user(server.data, ['promote', 'bea']);
		assert.equal(await allowed(), 200);
		await user(server.data, ['disable', 'bea']);
		assert.deepEqual([await allowed(), await allowed()], [401, 401]);
		await user(server.data, ['enable', 'bea']);
		assert.equal(await allowed(), 401);
		const anew = await login(server, 'bea');
		assert.equal((await anew.get('/v1/admin/users')).status, 200);
		const { body } = await anew.get('/v1/admin/audit');
		assert.deepEqual(body.entries.map((e) => `${e.actor} ${e.action} ${e.object} ${e.detail}`).reverse(), [
			...['alice', 'bob', 'carol'].map((name) => `operator user_add ${name} null`),
			'operator user_add ann administrator', 'operator user_add bea null',
			'operator user_promote bea null', 'operator user_demote bea null', 'operator user_promote bea null',
			'operator user_disable bea administrator', 'operator user_enable bea administrator']);
	});

	it('without a terminal there is nobody to ask', async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await refused(['user', 'add', 'ann', ...dataArgs(data)], { wrapper: ['setsid', '-w'] }),
			[65, 'there is no terminal to ask for the password: use --password-stdin']);
	});

	describe('on the terminal', () => {
		const data = path.join(tempDir(), 'd');

		/**
		 * Types the password of ${name} twice.  Returns [code, the last
		 * line].
		 */
		const ask = async (t, name, first, second) => {
			const terminal = new Terminal(TWINBOXD, ['user', 'add', name, ...dataArgs(data)]);
			t.after(() => terminal.kill());
			await terminal.shows('password:');
			terminal.type(first);
			if (second !== undefined) {
				await terminal.shows('again:');
				terminal.type(second);
			}
			const code = await terminal.ended();
			return [code, terminal.screen.lines().at(-1)];
		};

		it('keys that take back take back whole characters', async (t) => {
			const want = [0, 'user zoe added'];

			// One key press deletes ä or €, and on an empty line it
			// does nothing.
			assert.deepEqual(await ask(t, 'zoe', '\x7f\bgood pässwordä\x7f€\b\r',
				'nonsense\x15good pässword\n'), want);
			const terminal = new Terminal(TWINBOXD, ['user', 'add', 'yan', ...dataArgs(data)]);
			t.after(() => terminal.kill());
			await terminal.shows('password:');
			terminal.type('good password\x04\r');
			await terminal.shows('again:');
			terminal.type('good password\x04\r');
			assert.equal(await terminal.ended(), 0);
			assert.deepEqual(terminal.screen.lines(), ['password:', 'again:', 'user yan added']);
		});

		it('two that differ are refused', async (t) => {
			assert.deepEqual(await ask(t, 'ann', 'good password\r', 'good passwore\r'),
				[65, 'twinboxd: the two passwords are not the same']);
			assert.deepEqual(await ask(t, 'ann', 'short\r', 'short\r'),
				[65, 'twinboxd: a password has 8 to 1024 bytes, this one has 5']);
		});

		it('the keys that give up give up, at either question', async (t) => {
			const none = [65, 'twinboxd: no password was given'];

			assert.deepEqual(await ask(t, 'ann', '\x04'), none);
			assert.deepEqual(await ask(t, 'ann', 'half\x15\x04'), none);
			assert.deepEqual(await ask(t, 'ann', 'good password\r', '\x03'), none);
		});

		it('what is too long is refused as it is typed', async (t) => {
			assert.deepEqual(await ask(t, 'ann', 'x'.repeat(1026)),
				[65, 'twinboxd: no password was given']);
			assert.deepEqual(await ask(t, 'ann', `${'x'.repeat(1025)}\r`, `${'x'.repeat(1024)}\r`),
				[65, 'twinboxd: the two passwords are not the same']);
			assert.deepEqual(await ask(t, 'ann', `${'x'.repeat(1024)}\r`, `${'x'.repeat(1024)}\r`),
				[0, 'user ann added']);
		});
	});
});
