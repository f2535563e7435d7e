// SPDX-License-Identifier: MIT
// tags: surface
//
// twinboxd backup and restore.  A backup that is made under load has every
// message that was accepted before it began, and keeps every promise.  A
// restored database has a new epoch, so that clients send again what it lacks.
// Nothing is replaced unless --replace is given.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { sqliteOnly } from './backend.mjs';
import { problem } from './expect.mjs';
import { assertSound, fsck } from './fsck.mjs';
import { TWINBOXD, Server, User, run, startServer, tempDir, users, uuid7 } from './harness.mjs';

/** Runs a command of twinboxd.  Returns {code, text}. */
async function command(...args)
{
	const child = run(TWINBOXD, args);
	const { code } = await child.exited;

	return { code, text: child.out + child.err };
}

async function must(...args)
{
	const { code, text } = await command(...args);

	assert.equal(code, 0, text);
	return text;
}

/**
 * Returns the users ${people} as users of ${other}, whose database contains
 * their tokens.
 */
function elsewhere(other, ...people)
{
	return people.map((user) => new User(other, user.name, user.token, user.device_name));
}

async function bodies(user)
{
	return (await user.inbox()).events.filter((e) => e.kind === 'message').map((e) => e.body);
}

describe('backup', { skip: sqliteOnly }, () => {
	it('beside a server at work has all that was accepted before', async (t) => {
		// ann sends without a pause, each message as soon as the last
		// one is accepted.
		const server = await startServer({ args: ['--rate-limit', 'off'] });
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const accepted = [];
		let going = true;
		const load = (async () => {
			while (going)
				accepted.push((await ann.send(bob.name, `message ${accepted.length}`)).id);
		})();
		const folder = tempDir();
		const counts = [];
		try {
			for (let i = 0; i < 3; i++) {
				counts.push(accepted.length);
				const text = await must('backup', path.join(folder, `${i}.db`), '--data', server.data);
				assert.match(text, /^backed up to .*fsck found nothing wrong$/m);
			}
		} finally {
			going = false;
			await load;
		}
		assert.deepEqual(fs.readdirSync(folder).sort(), ['0.db', '1.db', '2.db']);
		for (let i = 0; i < 3; i++) {
			const data = path.join(folder, `data${i}`);
			await must('restore', path.join(folder, `${i}.db`), '--data', data);
			const copy = await startServer({ data });
			t.after(() => copy.running && copy.kill());
			const [ann2] = elsewhere(copy, ann);
			// The bodies are in order and without a gap, so the
			// number of messages is enough to show that all
			// accepted ones are there.
			const seen = await bodies(ann2);
			assert.ok(seen.length >= counts[i], `${seen.length} of ${counts[i]}`);
			assert.deepEqual(seen, seen.map((_, n) => `message ${n}`));
			await copy.stop();
			await assertSound(copy);
		}
	});

	it('replaces nothing, and leaves nothing half done', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const folder = tempDir();
		const file = path.join(folder, 'mine');

		fs.writeFileSync(file, 'precious');
		const { code, text } = await command('backup', file, '--data', server.data);
		assert.equal(code, 73);
		assert.match(text, /mine is there already/);
		assert.equal(fs.readFileSync(file, 'utf8'), 'precious');
		assert.equal((await command('backup', path.join(folder, 'no', 'such'),
			'--data', server.data)).code, 66);
		assert.equal((await command('backup', path.join(folder, 'x'),
			'--data', path.join(folder, 'none'))).code, 66);
		assert.equal((await command('backup', '--data', server.data)).code, 64);
		assert.deepEqual(fs.readdirSync(folder), ['mine']);
	});

	it('touches no file of another name', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const folder = tempDir();
		const file = path.join(folder, 'copy.db');

		fs.writeFileSync(`${file}.part`, 'precious');
		fs.symlinkSync(path.join(folder, 'nowhere'), path.join(folder, 'link'));
		await must('backup', file, '--data', server.data);
		assert.equal(fs.readFileSync(`${file}.part`, 'utf8'), 'precious');
		assert.equal(fs.statSync(file).mode & 0o777, 0o600);
		const { code, text } = await command('backup', path.join(folder, 'link'), '--data', server.data);
		assert.equal(code, 73);
		assert.match(text, /link is there already/);
		assert.deepEqual(fs.readdirSync(folder).sort(), ['copy.db', 'copy.db.part', 'link']);
	});
});

describe('restore', { skip: sqliteOnly }, () => {
	it('is another epoch: cursors end, and what it lacks comes back', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const file = path.join(tempDir(), 'copy.db');
		await ann.send(bob.name, 'before');
		await bob.event((e) => e.body === 'before');
		await must('backup', file, '--data', server.data);
		const id = uuid7();
		await ann.send(bob.name, 'after', { id });
		await bob.received(id);
		const old = await bob.inbox();

		const busy = await command('restore', file, '--replace', '--data', server.data);
		assert.equal(busy.code, 75, busy.text);
		assert.match(busy.text, /in use/);
		// After kill -9 some commits are only in the write-ahead log.
		// They must be kept, too.
		await server.kill();
		const there = await command('restore', file, '--data', server.data);
		assert.equal(there.code, 73);
		assert.match(there.text, /--replace keeps it as .*\.replaced/);
		await must('restore', file, '--replace', '--data', server.data);
		await server.start();
		const now = await bob.inbox();
		assert.notEqual(now.epoch, old.epoch);
		assert.deepEqual(await bodies(bob), ['before']);
		problem(await bob.get(`/v1/inbox?after=${old.epoch}:${old.head}`), 410, 'cursor_expired');
		await ann.send(bob.name, 'after', { id });
		await bob.received(id);
		assert.deepEqual(await bodies(bob), ['before', 'after']);
		await server.stop();
		await assertSound(server);

		const kept = new Server({ data: path.join(tempDir(), 'kept') });
		fs.mkdirSync(kept.data, { mode: 0o700 });
		fs.copyFileSync(path.join(server.data, 'twinbox.db.replaced'),
			path.join(kept.data, 'twinbox.db'));
		await kept.start();
		t.after(() => kept.running && kept.kill());
		assert.deepEqual(await bodies(elsewhere(kept, bob)[0]), ['before', 'after']);
		await kept.stop();
		await assertSound(kept);
	});

	it('never applies the log of another database to what it restores', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const file = path.join(tempDir(), 'copy.db');
		const database = path.join(server.data, 'twinbox.db');
		const moved = tempDir();
		const { id } = await ann.send(bob.name, 'before');
		await bob.received(id);
		await must('backup', file, '--data', server.data);
		await bob.received((await ann.send(bob.name, 'after')).id);
		await server.kill();

		/* The operator moves the database, and forgets the log. */
		assert.ok(fs.statSync(`${database}-wal`).size > 0);
		fs.renameSync(database, path.join(moved, 'twinbox.db'));
		for (const more of [[], ['--replace']]) {
			const { code, text } = await command('restore', file, ...more, '--data', server.data);
			assert.equal(code, 73, text);
			assert.match(text, /twinbox\.db-wal is there without its database.* move it/);
		}
		fs.renameSync(`${database}-wal`, path.join(moved, 'twinbox.db-wal'));
		/* An empty log, which readers leave, does no harm. */
		fs.writeFileSync(`${database}-wal`, '');
		await must('restore', file, '--data', server.data);
		await server.start();
		assert.deepEqual(await bodies(bob), ['before']);
		await server.stop();
		await assertSound(server);

		/* The log of an earlier replaced database goes with it. */
		fs.writeFileSync(`${database}.replaced-wal`, 'older');
		await must('restore', file, '--replace', '--data', server.data);
		assert.ok(!fs.existsSync(`${database}.replaced-wal`));
	});

	it('refuses a file that is not a sound back-up, and then nothing has changed', async (t) => {
		const server = await startServer();
		t.after(() => server.running && server.kill());
		const [ann, bob] = await users(server, 'ann', 'bob');
		const folder = tempDir();
		const file = path.join(folder, 'copy.db');
		const { id } = await ann.send(bob.name, 'the price is 100');
		await bob.received(id);
		await must('backup', file, '--data', server.data);
		await server.stop();
		const bytes = fs.readFileSync(file);
		bytes.write('the price is 900', bytes.indexOf('the price is 100'));
		fs.writeFileSync(file, bytes);
		fs.writeFileSync(path.join(folder, 'text'), 'no database '.repeat(1000));
		fs.writeFileSync(path.join(folder, 'empty'), '');
		spawnSync('mkfifo', [path.join(folder, 'fifo')]);
		// Damage that only the check of the schema finds: the name of
		// an index has changed.
		await must('backup', path.join(folder, 'other'), '--data', server.data);
		const other = fs.readFileSync(path.join(folder, 'other'), 'latin1');
		fs.writeFileSync(path.join(folder, 'other'), other.replaceAll('messages_sender', 'messages_sendex'), 'latin1');
		const before = fs.readdirSync(server.data).sort();
		for (const [name, reason] of [
			['other', /^the schema is not that of this program: index messages_sender of messages is missing\n.*index messages_sendex of messages is not one of its own\n.*other is not as `twinboxd backup` has made it: its schema was changed in 2 places/m],
			['copy.db', /has 1 violation/], ['text', /text is not a back-up: .*not a database/],
			['none', /cannot open .*none: No such file/],
			['empty', /empty is not a back-up: it holds no tables of twinbox; name a file that `twinboxd backup` has made/],
			['fifo', /fifo is a FIFO: name a regular file/], ['.', /is a directory: name a regular file/],
			['/dev/zero', /zero is a device: name a regular file/]]) {
			const { code, text } = await command('restore', path.resolve(folder, name),
				'--replace', '--data', server.data);
			assert.notEqual(code, 0);
			assert.match(text, reason);
			assert.deepEqual(fs.readdirSync(server.data).sort(), before);
		}
		assert.equal((await fsck(server)).code, 0);
		await server.start();
		assert.deepEqual(await bodies(bob), ['the price is 100']);
	});
});
