// SPDX-License-Identifier: MIT
// tags: surface
//
// The two bots of docs/bots.md, as they stand there: each answers every message
// once, also when the bot or the server is killed while messages come.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Server, eventually, killAll, run, tempDir, users } from './harness.mjs';
import { freePort } from './harness/port.mjs';
import { blocksOf } from './readme-shell.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const blocks = blocksOf(fs.readFileSync(path.join(here, '../../docs/bots.md'), 'utf8'));
const MESSAGES = 40;

after(killAll);

/** Writes the only block in ${language} to a file ${name}, and returns its path. */
function program(language, name)
{
	const found = blocks.filter((block) => block.language === language);
	const dir = tempDir('twinbox-bot-');

	assert.equal(found.length, 1, `blocks in ${language} in docs/bots.md`);
	// The package `ws` of the node bot.
	fs.symlinkSync(path.join(here, 'node_modules'), path.join(dir, 'node_modules'));
	fs.writeFileSync(path.join(dir, name), found[0].text.join('\n'));
	return path.join(dir, name);
}

/** A bot that can be killed and started again. */
class Bot {
	constructor(command, file, server, user)
	{
		Object.assign(this, { command, file, server, user });
	}

	start()
	{
		this.child = run(this.command, [this.file], { env: { ...process.env,
			TWINBOX_SERVER: this.server.url, TWINBOX_TOKEN: this.user.token } });
	}

	async kill()
	{
		this.child.kill('SIGKILL');
		await this.child.exited;
	}
}

/** The texts of the messages that ${user} has received, in order. */
const received = async (user) => (await user.inbox()).events
	.filter((event) => event.kind === 'message' && !event.own).map(({ body }) => body);

for (const [language, command, name] of [['python', '/usr/bin/python3', 'echo.py'], ['js', 'node', 'echo.mjs']]) {
	describe(`the bot in ${language}`, () => {
		it('answers each message once, also when it and the server are killed', async () => {
			const server = await new Server({ args: ['--listen', `127.0.0.1:${await freePort()}`],
				unlimited: 'messages come as fast as it goes' }).start();
			const [ann, echo] = await users(server, 'ann', 'echo');
			const bot = new Bot(command, program(language, name), server, echo);
			const texts = Array.from({ length: MESSAGES }, (_, i) => `text ${i}`);
			const has = (n) => async () => (await received(ann)).length >= n;

			bot.start();
			for (const text of texts.slice(0, MESSAGES / 2))
				await ann.send(echo.name, text);
			await eventually(has(1), 'the first answer');
			await bot.kill();
			for (const text of texts.slice(MESSAGES / 2))
				await ann.send(echo.name, text);
			bot.start();
			await eventually(has(MESSAGES / 2), 'answers after the bot was killed');
			await server.kill();
			await server.start();
			await eventually(has(MESSAGES), 'all answers');
			// The answer to a later message comes after every repeated answer.
			await ann.send(echo.name, 'the last');
			await eventually(async () => (await received(ann)).includes('the last'), 'the last answer');
			assert.deepEqual((await received(ann)).sort(), [...texts, 'the last'].sort());
			await bot.kill();
			await server.stop();
		});

		it('ends with a message when its token is not valid', async () => {
			const server = await new Server().start();
			const bot = new Bot(command, program(language, name), server, { token: 'wrong' });

			bot.start();
			const { code } = await bot.child.exited;
			assert.equal(code, 1, bot.child.err);
			assert.match(bot.child.err, /the server ended the session: .*4401/);
			await server.stop();
		});
	});
}
