// SPDX-License-Identifier: MIT
// tags: surface
//
// `twinboxd user`: the whole text and the exit code of each command and of each
// refusal, and what an operator is asked on the terminal.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { dataArgs } from './backend.mjs';
import { Terminal } from './cli-terminal.mjs';
import { TWINBOXD, tempDir } from './harness.mjs';
import { SETTINGS, command, refused, user } from './operator-command.mjs';

const USER_USAGE = `usage: twinboxd user add NAME [--admin] [--password-stdin] ${SETTINGS}
       twinboxd user passwd NAME [--password-stdin] ${SETTINGS}
       twinboxd user disable NAME ${SETTINGS}
`;

describe('user', () => {
	it('without a command and a name shows how it is called', async () => {
		const data = path.join(tempDir(), 'd');

		for (const args of [[], ['add'], ['add', 'ann', 'bob'], ['shave', 'ann'], ['ann', 'add']])
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
		const none = [65, '', 'twinboxd: standard input holds no password, or too long a one\n'];
		const size = (n) => [65, '', `twinboxd: a password has 8 to 1024 bytes, this one has ${n}\n`];

		assert.deepEqual(await add('ann', ''), none);
		assert.deepEqual(await add('ann', '\n'), size(0));
		assert.deepEqual(await add('ann', 'seven77\n'), size(7));
		assert.deepEqual(await add('ann', 'ä'.repeat(512) + 'x\n'), size(1025));
		assert.deepEqual(await add('ann', 'x'.repeat(1026)), none);
		assert.deepEqual(await add('alexandra', 'alexandra\n'),
			[65, '', 'twinboxd: the password is the name, which is the first that is tried\n']);
		assert.ok(!fs.existsSync(data));
		assert.deepEqual(await add('ann', 'eight888\n'), [0, 'user ann added\n', '']);
		// The end of the file ends the line, too.
		assert.deepEqual(await add('bob', 'x'.repeat(1024)), [0, 'user bob added\n', '']);
		assert.deepEqual(await add('x'.repeat(32), 'eight888\nsecond line\n'),
			[0, `user ${'x'.repeat(32)} added\n`, '']);
	});

	it('says what it has done, and what there is not', async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await user(data, ['add', 'ann', '--admin', '--password-stdin']),
			[0, 'user ann added as administrator\n', '']);
		assert.deepEqual(await user(data, ['add', 'bob', '--password-stdin']), [0, 'user bob added\n', '']);
		assert.deepEqual(await user(data, ['passwd', 'bob', '--admin', '--password-stdin']),
			[0, 'user bob has a new password\n', '']);
		assert.deepEqual(await user(data, ['disable', 'bob']), [0, 'user bob disabled\n', '']);
		const [code, out, err] = await user(data, ['add', 'ann', '--password-stdin']);
		assert.deepEqual([code, out], [73, '']);
		assert.match(err, /^twinboxd: .*ann.*\n$/);
		for (const what of ['passwd', 'disable']) {
			assert.deepEqual(await user(data, [what, 'cid', '--password-stdin']),
				[68, '', 'twinboxd: there is no user "cid"\n']);
		}
	});

	it('without a terminal there is nobody to ask', async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await refused(['user', 'add', 'ann', ...dataArgs(data)], { wrapper: ['setsid', '-w'] }),
			[65, 'there is no terminal to ask for the password: use --password-stdin']);
	});

	describe('on the terminal', () => {
		const data = path.join(tempDir(), 'd');

		/** Asks for the password of ${name}: [code, the last line]. */
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

			// ä and € are taken back by one key each, and there is nothing to take back.
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
