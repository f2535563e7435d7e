// SPDX-License-Identifier: MIT
// tags: store
//
// Upkeep as users and operators see it: what a sender sees of purged rows, a
// database that was put back by hand, a change of the schema, and damage that
// the scrubber finds.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { sqliteOnly } from './backend.mjs';
import { operator } from './operator.mjs';
import { problem } from './expect.mjs';
import { assertSound, fsck } from './fsck.mjs';
import {
	TWINBOXD, Server, User, eventually, expectStatus, run, startServer, tempDir, users,
	uuid7,
} from './harness.mjs';
import {
	archived, markFile, metric, purged, putFiles, readMark, refusedStart, said, takeFiles,
} from './upkeep.mjs';

const QUICK = ['--retention', '1s', '--purge-rate', '20000'];
const OLD_SCHEMA = path.join(path.dirname(TWINBOXD), 'tests/contract/old_schema');

/** Starts a server with ${options}, which ends after the test ${t}. */
async function serverFor(t, options)
{
	const server = await startServer(options);

	t.after(() => server.running && server.kill());
	return server;
}

/** Returns the members of an entry that a purge must not change. */
function core({ id, to, state, counts, sent_at, labels, destinations })
{
	return { id, to, state, counts, sent_at, labels, addresses: destinations.map((d) => d.address),
		states: destinations.map((d) => d.state) };
}

describe('R98 R313 R315 R316 R426 purging', () => {
	it('leaves what the sender sees, counts, history and acks', async (t) => {
		const archive = path.join(tempDir(), 'archive');
		const server = await serverFor(t, { args: [...QUICK, '--archive', archive] });
		const [ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
		const ids = [];
		for (let i = 0; i < 6; i++)
			ids.push((await ann.send(bob.name, `message ${i}`)).id);
		const away = (await ann.send(eve.name, 'are you there')).id;
		for (const id of ids)
			await bob.received(id);
		await bob.ack(6);
		const acked = await ann.entryWhen(ids[5], (e) => e.state === 'acked', 'acked');
		await eventually(async () => await purged(server) >= 6, 'six rows purged');

		const now = await ann.entry(ids[5]);
		assert.deepEqual(core(now), core(acked));
		assert.equal(now.acked_at, acked.acked_at);
		assert.deepEqual((await ann.get(`/v1/outbox/${ids[5]}`)).body.timeline.map((s) => s.state),
			['pending', 'sent', 'acked']);
		assert.equal((await ann.entry(away)).state, 'sent');
		const list = async (query) => expectStatus(await ann.get(`/v1/outbox${query}`), 200)
			.body.entries.map((e) => e.id);
		assert.deepEqual(await list(''), [away, ...[...ids].reverse()]);
		assert.deepEqual(await list('?state=acked'), [...ids].reverse());
		assert.deepEqual(await list('?state=sent'), [away]);
		assert.deepEqual(await list('?state=read'), []);
		problem(await ann.delete(`/v1/outbox/${ids[0]}`), 409, 'already_sent');
		const again = await ann.post('/v1/messages', { to: bob.name, body: 'message 0', id: ids[0] });
		expectStatus(again, 200);
		assert.equal(again.headers.get('idempotency-replayed'), 'true');
		assert.equal(again.body.state, 'acked');

		// The unread count has not changed.  A late read still updates
		// the entry, and wakes a long-poll that waits for it.
		assert.equal((await bob.unread()).total, 6);
		const waiting = ann.get(`/v1/outbox/${ids[2]}?wait=20`);
		await bob.read({ upto: (await bob.received(ids[2])).seq });
		assert.deepEqual(expectStatus(await waiting, 200).body.labels, ['read']);
		assert.equal((await bob.unread()).total, 3);
		assert.deepEqual(await list('?state=read'), [ids[2], ids[1], ids[0]]);
		const { conversation } = await ann.entry(ids[0]);
		const history = expectStatus(
			await bob.get(`/v1/conversations/${conversation}/messages`), 200);
		assert.equal(history.body.messages.length, 6);

		await server.stop();
		await assertSound(server);
		const lines = archived(archive).filter((line) => line.type === 'outbox');
		for (const id of ids) {
			const [line] = lines.filter((one) => one.id === id && one.kind === 1);
			assert.equal(line.from, ann.name);
			assert.equal(line.to, bob.name);
			assert.equal(line.state, 'acked');
			assert.match(line.acked_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
			assert.deepEqual(line.tries, []);
		}
		assert.ok(!JSON.stringify(lines).includes('message 0'), 'no bodies');
	});
});

describe('what is purged, when somebody asks for it', () => {
	const standing = async (root) => {
		const { states, total_retries, dead_letters_open } = await root.ask('stats');

		return { states, total_retries, dead_letters_open, audit: await root.all('audit', 'entries') };
	};

	it('shows that nothing of it is left, and cannot be tried again or given up', async (t) => {
		const server = await serverFor(t, { args: QUICK });
		const [root, [ann, bob]] = await Promise.all([operator(server), users(server, 'ann', 'bob')]);
		const sent = await ann.send(bob.name, 'long ago');
		const { seq } = await bob.received(sent.id);

		await bob.ack(seq);
		await eventually(async () => await purged(server) >= 1, 'its row is purged');
		const entry = await ann.entry(sent.id);
		assert.equal(entry.state, 'acked');
		const before = await standing(root);

		const shown = await root.ask(`outbox/${sent.id}`);
		assert.deepEqual([shown.id, shown.from, shown.conversation, shown.rows],
			[sent.id, ann.name, sent.conversation, []]);

		const own = await ann.post(`/v1/outbox/${sent.id}/retry`);
		problem(own, 409, 'conflict');
		assert.match(own.body.detail, /purged: there is nothing to try again/);
		for (const [verb, what] of [['retry', 'try again'], ['discard', 'give up']]) {
			const refused = await root.post(`/v1/admin/outbox/${sent.id}/${verb}`);
			problem(refused, 409, 'conflict');
			assert.match(refused.body.detail, new RegExp(`purged: there is nothing to ${what}`));
		}
		// Other users, and requests for messages that never existed,
		// get 404 as before.
		problem(await bob.post(`/v1/outbox/${sent.id}/retry`), 404, 'not_found');
		for (const target of [`/v1/outbox/${uuid7()}/retry`, `/v1/admin/outbox/${uuid7()}/retry`,
			`/v1/admin/outbox/${uuid7()}/discard`])
			problem(await (target.includes('admin') ? root : ann).post(target), 404, 'not_found');
		problem(await root.get(`/v1/admin/outbox/${uuid7()}`), 404, 'not_found');

		assert.deepEqual(await ann.entry(sent.id), entry);
		assert.deepEqual(await standing(root), before);
		await server.stop();
		await assertSound(server);
	});
});

describe('DATA/mark', { skip: sqliteOnly }, () => {
	it('refuses a database that was put back by hand, until that is accepted', async (t) => {
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		await ann.send(bob.name, 'before');
		await bob.event((e) => e.body === 'before');
		await server.stop();
		const old = tempDir();
		takeFiles(server, old);
		const behind = readMark(server).number;
		await server.start();
		const { id } = await ann.send(bob.name, 'after');
		await bob.received(id);
		const was = await bob.inbox();
		await eventually(() => readMark(server).number > behind, 'the mark has followed');
		const mark = readMark(server);
		assert.equal(mark.epoch, was.epoch);
		await server.kill();

		putFiles(server, old);
		for (let i = 0; i < 2; i++) {
			const { code, text } = await refusedStart(server);
			assert.equal(code, 78);
			assert.match(text, /the database ends with outbox row \d+, but DATA\/mark knows row \d+: it is an older copy; .*--accept-rollback/);
			assert.deepEqual(readMark(server), mark);
		}
		server.args = ['--accept-rollback'];
		await server.start();
		await said(server, /warn mark\.rollback/);
		server.args = [];
		const now = await bob.inbox();
		assert.notEqual(now.epoch, was.epoch);
		assert.deepEqual(now.events.map((e) => e.body), ['before']);
		problem(await bob.get(`/v1/inbox?after=${was.epoch}:${was.head}`), 410, 'cursor_expired');
		await ann.send(bob.name, 'after', { id });
		await bob.received(id);
		await server.restart('SIGKILL');
		assert.equal((await bob.inbox()).epoch, now.epoch);
		await server.stop();
		assert.equal(readMark(server).epoch, now.epoch);
		await assertSound(server);

		// A database from the server's own past, with an older epoch.
		putFiles(server, old);
		const other = await refusedStart(server);
		assert.equal(other.code, 78);
		assert.match(other.text, /is of epoch [0-9a-f]{8}, but DATA\/mark is of [0-9a-f]{8}: it was put in place by hand; .*--accept-rollback/);
		fs.readdirSync(server.data).filter((one) => /^twinbox\.db/.test(one))
			.forEach((one) => fs.rmSync(path.join(server.data, one)));
		const empty = await refusedStart(server);
		assert.equal(empty.code, 78);
		assert.match(empty.text, /the database is empty, but DATA\/mark knows one/);
	});

	it('is never ahead of what a kill leaves', async (t) => {
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		let number = -1;

		for (let round = 0; round < 4; round++) {
			let going = true;
			const load = (async () => {
				while (going)
					await ann.send(bob.name, 'x').catch(() => { going = false; });
			})();
			await eventually(() => readMark(server).number > number, 'a later mark');
			number = readMark(server).number;
			await server.kill();
			going = false;
			await load;
			await server.start();
			assert.ok(readMark(server).number >= number);
		}
		assert.doesNotMatch(server.output(), /mark\.(made|rollback|fail)/);
		await server.stop();
		await assertSound(server);
	});

	it('is made anew where it is missing', async (t) => {
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		await ann.send(bob.name, 'x');
		await server.stop();
		assert.doesNotMatch(server.output(), /mark\./, 'nothing to say of a first start');
		const mark = readMark(server);
		fs.rmSync(markFile(server));
		await server.start();
		await eventually(() => readMark(server).number >= mark.number, 'a mark');
		assert.equal(readMark(server).epoch, mark.epoch);
		await server.stop();
		assert.equal(server.output().match(/info mark\.made/g).length, 1);
	});

	it('gives an older database another epoch where it is damaged', async (t) => {
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		await server.stop();
		const old = tempDir();
		takeFiles(server, old);
		for (const text of ['', 'twinbox mark 1\nepoch nonsense\n']) {
			await server.start();
			await bob.received((await ann.send(bob.name, 'seen')).id);
			const was = await bob.inbox();
			await server.stop();
			putFiles(server, old);
			fs.writeFileSync(markFile(server), text);
			await server.start();
			await said(server, /warn mark\.rollback .*error=mark: /);
			assert.notEqual(readMark(server).epoch, was.epoch);
			problem(await bob.get(`/v1/inbox?after=${was.epoch}:${was.head}`), 410, 'cursor_expired');
			await server.restart('SIGKILL');
			assert.equal((await bob.inbox()).epoch, readMark(server).epoch);
			await server.stop();
			putFiles(server, old);
			await fs.promises.rm(markFile(server));
		}
	});

	it('refuses where it cannot be read, and an empty database where it is damaged', async (t) => {
		const server = await serverFor(t);
		await users(server, 'ann');
		await server.stop();
		const kept = fs.readFileSync(markFile(server));
		fs.rmSync(markFile(server));
		fs.mkdirSync(markFile(server)); // unreadable, also for root
		const { code, text } = await refusedStart(server);
		assert.equal(code, 74);
		assert.match(text, /mark: cannot read it: Is a directory/);
		assert.doesNotMatch(text, /mark\.rollback/);
		fs.rmdirSync(markFile(server));
		fs.writeFileSync(markFile(server), kept.subarray(0, 30));
		fs.readdirSync(server.data).filter((one) => /^twinbox\.db/.test(one))
			.forEach((one) => fs.rmSync(path.join(server.data, one)));
		const empty = await refusedStart(server);
		assert.equal(empty.code, 78);
		assert.match(empty.text, /the database is empty, but there is a damaged DATA\/mark: .*--accept-rollback/);
	});

	it('fits after a restore', async (t) => {
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		const file = path.join(tempDir(), 'copy.db');
		const command = async (...args) => {
			const child = run(TWINBOXD, [...args, '--data', server.data]);
			assert.equal((await child.exited).code, 0, child.err);
		};
		await ann.send(bob.name, 'before');
		await command('backup', file);
		await ann.send(bob.name, 'after');
		await server.stop();
		const mark = readMark(server);
		await command('restore', file, '--replace');
		const restored = readMark(server);
		assert.notEqual(restored.epoch, mark.epoch);
		assert.ok(restored.number < mark.number);
		await server.start();
		assert.equal((await ann.inbox()).epoch, restored.epoch);
		assert.doesNotMatch(server.output(), /mark\./);
	});
});

describe('a change of the schema', {
	skip: sqliteOnly || (fs.existsSync(OLD_SCHEMA) ? false : `no ${OLD_SCHEMA}`),
}, () => {
	/** Makes a server that is down, and whose database has schema 1. */
	async function oldServer(t)
	{
		const server = await serverFor(t);
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'hello');
		await bob.received(id);
		await bob.ack(1);
		await ann.entryWhen(id, (e) => e.state === 'acked', 'acked');
		await server.stop();
		const now = path.join(server.data, 'twinbox.db');
		const old = path.join(server.data, 'old.db');
		const child = run(OLD_SCHEMA, [now, old, '1']);
		assert.equal((await child.exited).code, 0, child.err);
		fs.renameSync(old, now);
		return { server, ann, bob, id };
	}

	it('keeps a copy of what was there before', async (t) => {
		const { server, ann, bob, id } = await oldServer(t);
		const early = await fsck(server);
		assert.equal(early.code, 65);
		assert.match(early.text, /has schema 1, this program looks at \d+: see twinboxd migrate/);
		const later = 'before-schema-9999.db';
		const old = ['before-schema-0001.db', 'before-schema-1.db'];
		const others = ['before-schema-', 'before-schema-0.db', 'before-schema-10000.db',
			'before-schema-1.dbx', 'before-schema-x.db', 'before-schem-1.db'];

		// Files that other schema changes have left.  Of these copies
		// the two newest stay, and so do files that are not copies.
		for (const name of [later, ...old, ...others])
			fs.writeFileSync(path.join(server.data, name), name);
		await server.start();
		const [, copy, newest] = await said(server,
			/info store\.copy file=(.*\/before-schema-(\d+)\.db)$/m);
		await said(server, new RegExp(`info store\\.migrate from=1 to=${newest}`));
		assert.equal(fs.statSync(copy).mode & 0o777, 0o600);
		assert.equal((await ann.entry(id)).state, 'acked');
		assert.deepEqual((await bob.inbox()).events.map((e) => e.body), ['hello']);
		const first = fs.statSync(copy).mtimeMs;
		await server.restart();
		assert.equal(fs.statSync(copy).mtimeMs, first, 'one copy, not one a start');
		await server.stop();
		await assertSound(server);
		assert.deepEqual(fs.readdirSync(server.data).filter((one) => one.startsWith('before')).sort(),
			[later, path.basename(copy), ...others].sort());

		// The copy is a complete database of schema 1.
		assert.equal(fs.readFileSync(copy).readUInt32BE(60), 1);
		const other = new Server({ data: path.join(tempDir(), 'data') });
		const child = run(TWINBOXD, ['restore', copy, '--data', other.data]);
		assert.equal((await child.exited).code, 0, child.err);
		await other.start();
		t.after(() => other.running && other.kill());
		assert.deepEqual((await new User(other, bob.name, bob.token).inbox()).events
			.map((e) => e.body), ['hello']);
	});

	it('makes no copy of what has no content, and none of what is newest', async (t) => {
		const server = new Server({ data: path.join(tempDir(), 'data') });
		const seed = new Server({ data: path.join(tempDir(), 'data') });
		const migrate = run(TWINBOXD, ['migrate', '--data', seed.data]);
		assert.equal((await migrate.exited).code, 0, migrate.err);
		fs.mkdirSync(server.data, { mode: 0o700 });
		const child = run(OLD_SCHEMA, [path.join(seed.data, 'twinbox.db'),
			path.join(server.data, 'twinbox.db'), '1']);
		assert.equal((await child.exited).code, 0, child.err);
		await server.start();
		t.after(() => server.running && server.kill());
		await said(server, /store\.migrate from=1/);
		await server.restart();
		assert.deepEqual(fs.readdirSync(server.data).filter((one) => one.startsWith('before')), []);
	});

	it('of a newer program is refused in one sentence', async (t) => {
		const server = await serverFor(t);
		await server.stop();
		const file = path.join(server.data, 'twinbox.db');
		const bytes = fs.readFileSync(file);
		bytes.writeUInt32BE(99, 60);
		fs.writeFileSync(file, bytes);
		const { code, text } = await refusedStart(server);
		assert.equal(code, 78);
		assert.match(text, /the database has schema 99, this program knows \d+: use the newer program/);
		// The head of the file may differ: SQLite's own change counter
		// is there.
		assert.deepEqual(fs.readFileSync(file).subarray(100), bytes.subarray(100), 'untouched');
	});
});

describe('the scrubber', { skip: sqliteOnly }, () => {
	it('finds a changed body and a damaged page, and the server goes on', async (t) => {
		const server = await serverFor(t, { unlimited: 'one user sends 300 messages' });
		const [ann, bob] = await users(server, 'ann', 'bob');
		for (let i = 0; i < 300; i++)
			await ann.send(bob.name, `this is message ${i} of them`);
		await server.stop();
		const file = path.join(server.data, 'twinbox.db');
		const sound = fs.readFileSync(file);
		const body = Buffer.from(sound);
		body.write('that', body.indexOf('this is message 42 '));
		const page = Buffer.from(sound);
		page.fill(0x5a, Math.floor(page.indexOf('this is message 42 ') / 4096) * 4096 + 3,
			Math.floor(page.indexOf('this is message 42 ') / 4096) * 4096 + 5);

		server.args = ['--scrub-rate', '100000'];
		for (const [bytes, what] of [[sound, null], [body, /not what was accepted/],
			[page, /cannot be read/]]) {
			fs.writeFileSync(file, bytes);
			const before = server.output().length;
			await server.start();
			await eventually(() => /scrub\.round rows=\d/.test(server.output().slice(before)),
				'a whole round');
			const words = server.output().slice(before);
			if (what) {
				assert.match(words, /error scrub\.found place=/);
				assert.match(words, what);
				assert.ok(await metric(server, 'scrub_errors_total') >= 1);
			} else {
				assert.doesNotMatch(words, /scrub\.found/);
				assert.equal(await metric(server, 'scrub_errors_total'), 0);
			}
			assert.ok(await metric(server, 'scrubbed_rows_total') > 300);
			expectStatus(await server.rest().get('/healthz'), 200);
			await server.kill();
		}
	});
});

describe('settings of upkeep', () => {
	it('are refused where they contradict each other or make no sense', async () => {
		for (const [args, words] of [
			[['--dedup-retention', '11d'], /dedup-retention: it is shorter than expiry and requeue-window together/],
			[['--expiry', '8d'], /dedup-retention: it is shorter/],
			[['--retention', '10ms'], /retention/],
			[['--scrub-rate', '-1'], /scrub-rate/],
			[['--purge-rate', '0'], /purge-rate/],
			[['--archive', '/proc/no/such'], /archive: cannot (make|write in) \/proc\/no\/such/],
			[['--archive', '/sys/no'], /archive: cannot make \/sys\/no \(.*name it in ReadWritePaths, by systemctl edit/],
		]) {
			const { code, text } = await refusedStart(new Server(), ...args);
			assert.notEqual(code, 0);
			assert.match(text, words);
		}
	});
});
