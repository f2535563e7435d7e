// SPDX-License-Identifier: MIT
//
// Upkeep when something fails: a kill between archive and deletion, no room for
// the archive, no room for the copy before a change of the schema.  Every
// purged row is in the archive, whatever happens, and nothing else stops.
//
// The fault points need a build with --enable-faults, named by TWINBOXD_FAULTS,
// as in points.test.mjs.  The small disk needs a mount namespace
// (shortage.mjs).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import { assertSound } from '../e2e/fsck.mjs';
import {
	TWINBOXD, Server, eventually, expectStatus, killAll, run, sleep, tempDir, users,
} from '../e2e/harness.mjs';
import { archived, metric, purged, readMark, refusedStart, said } from '../e2e/upkeep.mjs';
import { KIB, MIB, SmallDisk, noDisk } from './shortage.mjs';

const program = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
const skip = program || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';
const OLD_SCHEMA = path.join(path.dirname(program ?? TWINBOXD), 'tests/contract/old_schema');

/** The most rows that one unit deletes (upkeep/purge_rows.h). */
const PURGE_ROWS = 250;
const QUICK = ['--retention', '1s', '--purge-rate', '20000'];

after(killAll);

/**
 * Makes a server that is down, with ${n} messages from ann to bob, all of them
 * acked.
 */
async function ackedServer(n, options)
{
	const server = await new Server({ unlimited: `one user sends ${n} messages`, ...options }).start();
	const [ann, bob] = await users(server, 'ann', 'bob');
	const ids = [];

	while (ids.length < n) {
		const sends = Array.from({ length: Math.min(20, n - ids.length) },
			() => ann.send(bob.name, `number ${ids.length}`));
		ids.push(...(await Promise.all(sends)).map((entry) => entry.id));
	}
	await bob.received(ids.at(-1));
	await eventually(async () => (await bob.get('/v1/inbox?after=0&limit=1')).body.head === n,
		'all in the inbox');
	await bob.ack(n);
	await server.stop();
	return { server, ann, bob, ids };
}

/**
 * Returns how many times each of ${ids} is in the archive.  Each must be there.
 */
function timesArchived(archive, ids)
{
	const times = new Map(ids.map((id) => [id, 0]));

	for (const line of archived(archive)) {
		if (line.type === 'outbox' && line.kind === 1)
			times.set(line.id, times.get(line.id) + 1);
	}
	assert.deepEqual(ids.filter((id) => times.get(id) === 0), [], 'purged, and not in the archive');
	return [...times.values()];
}

/**
 * Waits until the rows of the messages are purged.  The sender must see the
 * messages as acked.
 */
async function allPurged({ server, ann, ids }, already = 0)
{
	await eventually(async () => await purged(server) + already >= ids.length, 'all rows purged');
	for (const id of [ids[0], ids.at(-1)])
		assert.equal((await ann.entry(id)).state, 'acked');
}

for (const point of ['purger.archived', 'purge.deleted']) {
	it(`a kill at ${point}: a line twice at most, none is lost`, { skip },
		async () => {
			const archive = path.join(tempDir(), 'archive');
			const made = await ackedServer(400, { program });
			const { server, ids } = made;
			let dead = 0;

			server.args = [...QUICK, '--archive', archive];
			for (let n = 1; n <= 3; n++) {
				const child = server.spawn({ env: { TWINBOX_FAULT: `${point}:1:kill` } });
				assert.equal((await child.exited).signal, 'SIGKILL', `round ${n}`);
				dead++;
			}
			await server.start();
			await allPurged(made);
			await server.stop();
			await assertSound(server);
			const times = timesArchived(archive, ids);
			assert.ok(Math.max(...times) <= 1 + dead, 'once more for each kill, at most');
			assert.ok(times.reduce((sum, n) => sum + n - 1, 0) <= dead * PURGE_ROWS,
				'only of the unit under way');
		});
}

it('kills at any moment of purging: nothing is lost', async (t) => {
	const archive = path.join(tempDir(), 'archive');
	const made = await ackedServer(1200);
	const { server, ids } = made;
	const complete = () => fs.existsSync(archive) &&
		new Set(archived(archive).map((line) => line.id)).size >= ids.length;
	let kills = 0;

	server.args = ['--retention', '1s', '--purge-rate', '500', '--archive', archive];
	for (; kills < 8 && !complete(); kills++) {
		await server.start();
		await eventually(async () => complete() || await purged(server) > 0, 'some rows purged');
		await server.kill();
	}
	await server.start();
	await eventually(complete, 'all in the archive');
	await server.stop();
	await assertSound(server);
	const times = timesArchived(archive, ids);
	t.diagnostic(`${kills} kills: ${times.filter((n) => n > 1).length} of ${ids.length} lines twice`);
});

it('a unit that fails is not archived again', { skip }, async () => {
	const archive = path.join(tempDir(), 'archive');
	const made = await ackedServer(100, { program });
	const { server, ids } = made;

	server.args = [...QUICK, '--archive', archive];
	await server.start({ env: { TWINBOX_FAULT: 'purge.deleted:1:fail,purge.deleted:2:fail' } });
	await allPurged(made);
	assert.ok(await metric(server, 'purge_failures_total') >= 1);
	await said(server, /warn upkeep\.fail table=outbox/);
	await said(server, /info upkeep\.goes table=outbox/);
	await server.stop();
	assert.equal(Math.max(...timesArchived(archive, ids)), 1);
});

it('the mark is taken from what is synced, not from what is committed', { skip },
	async () => {
		const { server, ann, bob } = await ackedServer(1, { program });
		let answered = false;
		let looks = 0;

		await server.start({ env: { TWINBOX_FAULT: 'writer.sync.before:1:delay=4000' } });
		// By then the purger is idle, so only the mark waits for the
		// disk.
		await sleep(1500);
		const { number } = readMark(server);
		const sent = ann.send(bob.name, 'not on disk yet').then(() => { answered = true; });
		for (; ; looks++) {
			const mark = readMark(server);
			if (answered)
				break;
			assert.equal(mark.number, number, 'ahead of the disk');
			await sleep(20);
		}
		await sent;
		assert.ok(looks > 50, 'the sync took its time');
		await eventually(() => readMark(server).number > number, 'the mark follows');
		await server.stop();
	});

it('no room for the archive: purging waits, nothing else does',
	{ skip: noDisk }, async (t) => {
		const disk = await new SmallDisk(1 * MIB).make();
		const archive = path.join(disk.dir, 'archive');
		const made = await ackedServer(300, { wrapper: disk.wrapper });
		const { server, ann, bob, ids } = made;

		fs.mkdirSync(path.join(disk.outside, 'archive'), { mode: 0o700 });
		disk.leave(20 * KIB);
		server.args = [...QUICK, '--archive', archive];
		await server.start();
		await eventually(async () => await metric(server, 'purge_failures_total') >= 1,
			'purging is put off');
		/*
		 * On a slow machine the first rows may fall due, and find room,
		 * before the others.
		 */
		const fitted = await purged(server);
		assert.ok(fitted < 300, `${fitted} rows fitted`);
		const { id } = await ann.send(bob.name, 'and on it goes');
		await bob.received(id);
		assert.equal(await purged(server), fitted);
		await said(server, /warn upkeep\.fail table=outbox error=.*No space left/);

		disk.room();
		await allPurged(made);
		/*
		 * The purged rows may include the row of a receipt instead of
		 * that of the last message.
		 */
		const lines = path.join(disk.outside, 'archive');
		await eventually(() => timesArchived(lines, ids), 'all are in the archive');
		await said(server, /info upkeep\.goes/);
		assert.equal(server.output().match(/upkeep\.fail/g).length, 1, 'reported once');
		assert.equal(server.starts, 2);
		await server.stop();
		await assertSound(server);
		const times = timesArchived(lines, ids);
		assert.equal(Math.max(...times), 1);
		t.diagnostic(`${times.length} lines, each once`);
		await disk.end();
	});

it('no room for the copy before a change of the schema: refused, and nothing has changed',
	{ skip: noDisk || (fs.existsSync(OLD_SCHEMA) ? false : `no ${OLD_SCHEMA}`) },
	async () => {
		const made = await ackedServer(100);
		const file = path.join(made.server.data, 'twinbox.db');
		const old = `${file}.old`;
		const child = run(OLD_SCHEMA, [file, old, '1']);
		assert.equal((await child.exited).code, 0, child.err);
		fs.renameSync(old, file);

		const disk = await new SmallDisk(4 * MIB).make();
		const server = disk.server();
		disk.load(made.server.data);
		const before = fs.readFileSync(disk.file('twinbox.db'));
		disk.leave(64 * KIB);
		for (let i = 0; i < 2; i++) {
			const { code, text } = await refusedStart(server);
			assert.equal(code, 75);
			assert.match(text, /copied before its schema changes, and .* has no room for that: make \d+ MiB free/);
			assert.deepEqual(fs.readdirSync(disk.file()).filter((one) => /before|part/.test(one)), []);
			assert.deepEqual(fs.readFileSync(disk.file('twinbox.db')).subarray(100),
				before.subarray(100));
		}
		disk.room();
		await server.start();
		await said(server, /info store\.copy/);
		made.ann.server = server;
		assert.equal((await made.ann.entry(made.ids[0])).state, 'acked');
		expectStatus(await server.rest().get('/readyz'), 200);
		await server.stop();
		await disk.end();
	});
