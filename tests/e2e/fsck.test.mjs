// SPDX-License-Identifier: MIT
// tags: surface
//
// twinboxd fsck: beside a server under load, after the server was killed, on a
// changed database, and on files that are not a database.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { ask, onPostgres, sqliteOnly } from './backend.mjs';
import { assertSound, fsck } from './fsck.mjs';
import { TWINBOXD, startServer, tempDir, users } from './harness.mjs';

/**
 * Replaces the text ${from} by ${to} in the database, behind the server's back.
 */
function change(data, { from, to })
{
	if (onPostgres) {
		assert.equal(ask(data, `UPDATE messages SET body = '${to}' WHERE body = '${from}' ` +
			'RETURNING 1'), '1');
		return;
	}
	const file = path.join(data, 'twinbox.db');
	const bytes = fs.readFileSync(file);
	const at = bytes.indexOf(from);

	assert.ok(at > 0, `"${from}" is in the file`);
	assert.equal(from.length, to.length);
	bytes.write(to, at);
	fs.writeFileSync(file, bytes);
}

describe('fsck', () => {
	it('finds nothing beside a server at work, nor after its death', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		let going = true;
		let sent = 0;
		const load = (async () => {
			for (; going; sent += 2)
				await Promise.all([ann.send(bob.name, 'there'), bob.send(ann.name, 'back')]);
		})();
		try {
			for (let i = 0; i < 3 || sent < 20; i++)
				assert.match(await assertSound(server), /no violations$/);
		} finally {
			going = false;
			await load;
		}
		await bob.ack((await bob.inbox()).head);
		await server.kill();
		const text = await assertSound(server);
		assert.match(text, /^5 users, [1-9]\d+ messages, .*: 29 checks, no violations/);
	});

	it('names what was changed, and where', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		await ann.send(bob.name, 'the price is 100');
		const { id } = await ann.send(bob.name, 'that is all');
		await bob.received(id);
		await server.stop();
		await assertSound(server);
		change(server.data, { from: 'the price is 100', to: 'the price is 900' });
		const { code, text } = await fsck(server);
		assert.equal(code, 65);
		assert.match(text, /^not what was accepted: .*: message 1 of conversation 1$/m);
		assert.match(text, /: 1 violation /);
	});

	it('shows damaged bytes as escapes', { skip: sqliteOnly }, async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'hello');
		await bob.received(id);
		await server.stop();
		const file = path.join(server.data, 'twinbox.db');
		const whole = fs.readFileSync(file, 'latin1');
		const damaged = (from, to) => {
			const bytes = whole.replaceAll(from, to);
			assert.notEqual(bytes, whole);
			fs.writeFileSync(file, bytes, 'latin1');
		};

		// The state of an outbox row is damaged. fsck prints it.
		damaged(/(user.)sent/gs, '$1\x1b[1\xff');
		let { code, text } = await fsck(server);
		assert.equal(code, 65);
		assert.ok(text.includes('outbox row 1 is \\u{001B}[1\\xFF, sent at '), text);
		assert.doesNotMatch(text, /\x1b|\ufffd/);
		// The name of an index is damaged. fsck prints SQLite's own
		// error.
		damaged(/messages_sender/g, 'messages\x1b[31mxx');
		({ code, text } = await fsck(server));
		assert.equal(code, 65);
		assert.ok(text.includes('messages\\u{001B}[31mxx'), text);
		assert.doesNotMatch(text, /\x1b/);
	});

	it('says what it cannot read', () => {
		const dir = tempDir();
		const look = (...args) => {
			const { status, stderr } = spawnSync(TWINBOXD, ['fsck', '--data', dir, ...args],
				{ encoding: 'utf8' });
			return [status, stderr];
		};
		let [code, text] = look();
		assert.equal(code, 66);
		assert.match(text, /cannot read the database .*twinbox\.db: No such file/);
		assert.deepEqual(fs.readdirSync(dir), []);
		fs.writeFileSync(path.join(dir, 'twinbox.db'), 'this is not a database, however long it is'.repeat(200));
		[code, text] = look();
		assert.equal(code, 65);
		assert.match(text, /not a database/);
		[code, text] = look('everything');
		assert.equal(code, 64);
	});
});
