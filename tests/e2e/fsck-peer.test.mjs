// SPDX-License-Identifier: MIT
// tags: store
//
// twinboxd fsck --with-peer compares the databases of two servers that deliver
// to each other.  It finds no difference, also while they run.  It names
// changed or lost messages with their sender and recipient, and it refuses
// databases that it cannot compare.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { ask, dataArgs, databaseUrl, onPostgres, sqliteOnly } from './backend.mjs';
import { TWINBOXD, run, tempDir, users } from './harness.mjs';
import { operator } from './operator.mjs';
import { address, allAre, gathers, isFrom, startPair } from './pair.mjs';

/** Runs fsck on data directory ${data}.  Returns [exit code, output]. */
async function fsck(data, ...args)
{
	const child = run(TWINBOXD, ['fsck', ...dataArgs(data, args), ...args]);
	const { code } = await child.exited;

	return [code, child.out + child.err];
}

/** Returns the argument of --with-peer that names the database of ${side}. */
const database = (side) => databaseUrl(side.data) ?? path.join(side.data, 'twinbox.db');

/** Compares the database of ${one} with that of ${other}. */
function compare(one, other)
{
	return fsck(one.data, '--domain', one.domain, '--with-peer', database(other),
		'--peer-domain', other.domain);
}

async function agree(one, other, messages)
{
	const [code, text] = await compare(one, other);

	assert.equal(code, 0, text);
	assert.match(text, new RegExp(`^${messages} messages and \\d+ events between ${one.domain} and ` +
		`${other.domain}: 8 checks, no violations$`, 'm'));
}

/**
 * Replaces the text ${from} in the database of ${side}, whose server has ended.
 */
function change(side, from, to)
{
	if (onPostgres) {
		assert.equal(ask(side.data, `UPDATE messages SET body = '${to}' WHERE body = '${from}' ` +
			'RETURNING 1'), '1');
		return;
	}
	const bytes = fs.readFileSync(database(side));
	const at = bytes.indexOf(from);

	assert.ok(at > 0, `"${from}" is in the file`);
	assert.equal(from.length, to.length);
	bytes.write(to, at);
	fs.writeFileSync(database(side), bytes);
}

async function people(pair)
{
	return (await Promise.all([users(pair.a, 'alice'), users(pair.b, 'bob')])).flat();
}

describe('fsck --with-peer', () => {
	it('finds nothing on two servers that have delivered to each other', async (t) => {
		const pair = await startPair(t);
		const [alice, bob] = await people(pair);
		const ids = [];

		for (let i = 0; i < 5; i++)
			ids.push((await alice.send(address(bob), `there ${i}`)).id);
		const { id } = await bob.send(address(alice), 'back');
		const [, , third] = await gathers(bob, isFrom(alice), 5);
		await bob.ack(third.seq);
		await alice.read({ upto: (await alice.received(id)).seq });
		await allAre(alice, ids.slice(0, 3), 'acked');
		await bob.entryWhen(id, (e) => e.labels.includes('read'), 'is read');
		// The comparison works while both servers run.
		await agree(pair.a, pair.b, 6);
		await pair.stop();
		await agree(pair.a, pair.b, 6);
		await agree(pair.b, pair.a, 6);
	});

	it('names what was changed on one of them', async (t) => {
		const pair = await startPair(t);
		const [alice, bob] = await people(pair);
		const { id } = await alice.send(address(bob), 'the price is 100');

		await bob.received(id);
		await allAre(alice, [id], 'sent');
		await pair.stop();
		change(pair.b, 'the price is 100', 'the price is 900');
		const [code, text] = await compare(pair.a, pair.b);
		assert.equal(code, 65, text);
		assert.match(text, new RegExp('^pair-changed: its sender or body is another on the other server: ' +
			`message ${id} from ${address(alice)} to ${address(bob)}$`, 'm'));
		assert.match(text, /no violations$/m); // fsck's own checks of a
		assert.match(text, /^1 messages and \d+ events .*: 1 violation /m);
		// Errors in b's own database are reported, too.
		const [, both] = await compare(pair.b, pair.a);
		assert.match(both, /^not what was accepted: /m);
		assert.match(both, /^pair-changed: /m);
	});

	it('a receiver that was restored, and after its lane was offered again', { skip: sqliteOnly }, async (t) => {
		const pair = await startPair(t);
		const [alice, bob] = await people(pair);
		const root = await operator(pair.a);
		const copy = path.join(tempDir(), 'b.db');
		const ids = [];
		const send = async (text) => {
			ids.push((await alice.send(address(bob), text)).id);
			await allAre(alice, ids, 'sent');
		};

		await send('before');
		assert.equal((await pair.b.commandOf('backup', copy)).code, 0);
		await send('after it');
		await send('and after that');
		await pair.b.stop();
		const restored = await pair.b.commandOf('restore', copy, '--replace');
		assert.equal(restored.code, 0, restored.text);
		await pair.b.start();
		const [code, text] = await compare(pair.a, pair.b);
		assert.equal(code, 65, text);
		assert.deepEqual([...text.matchAll(/^pair-(\S+): .*: message (\S+) from/gm)].map((m) => m.slice(1)),
			ids.slice(1).map((id) => ['missing', id]));

		const [lane] = await root.all('lanes?destination=b.example', 'lanes');
		await root.do('POST', `lanes/${lane.lane_id}/rewind`, { seq: 1 });
		const events = await gathers(bob, isFrom(alice), 3);
		assert.deepEqual(events.map((e) => e.id), ids);
		await agree(pair.a, pair.b, 3);
		await pair.stop();
		await agree(pair.b, pair.a, 3);
	});

	it('refuses what it cannot compare', async () => {
		const [data, other] = [tempDir(), tempDir()];
		const look = (...args) => fsck(data, ...args);
		const domains = ['--domain', 'a.example', '--peer-domain', 'b.example'];
		const refused = async (expected, pattern, ...args) => {
			const [code, text] = await look(...args);
			assert.equal(code, expected, text);
			assert.match(text, pattern);
		};

		for (const dir of [data, other])
			assert.equal((await run(TWINBOXD, ['migrate', ...dataArgs(dir)]).exited).code, 0);
		const file = databaseUrl(other) ?? path.join(other, 'twinbox.db');

		await refused(64, /usage: twinboxd fsck /, '--with-peer', file);
		await refused(64, /usage: twinboxd fsck /, '--peer-domain', 'b.example');
		await refused(64, /usage: twinboxd fsck /, ...domains, '--with-peer');
		await refused(64, /"B" is not the domain of a server/, '--with-peer', file, '--peer-domain', 'B');
		await refused(64, /b\.example is this server's own domain/, '--domain', 'b.example',
			'--with-peer', file, '--peer-domain', 'b.example');
		await refused(64, /a password in the url/, ...domains, '--with-peer', 'postgresql://me:secret@db.example/x');
		await refused(78, /domain: no server is called "localhost"/, '--with-peer', file, '--peer-domain', 'b.example');
		await refused(65, /a\.example and b\.example have never been in contact/, ...domains, '--with-peer', file);
		await refused(66, /cannot read the database .*nowhere: No such file/, ...domains,
			'--with-peer', path.join(other, 'nowhere'));
		await refused(65, /is a directory: name a regular file/, ...domains, '--with-peer', other);
		fs.writeFileSync(path.join(other, 'text'), 'this is not a database, however long it is'.repeat(200));
		await refused(65, /not a database/, ...domains, `--with-peer=${path.join(other, 'text')}`);
		await refused(66, /cannot read the database .*nothing/, '--db', `sqlite:${path.join(other, 'nothing')}`,
			...domains, '--with-peer', file);
	});
});
