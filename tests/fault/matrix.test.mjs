// SPDX-License-Identifier: MIT
//
// Rows of the crash matrix that are about one moment on the way to another
// server: this server or the other one dies there, and a restart follows.
// README.md has the whole matrix with the test of each row.  The last tests
// here read it and check that those tests exist.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { operator } from '../e2e/operator.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { eventually, expectStatus, users, uuid7 } from '../e2e/harness.mjs';
import { faultServer, Peer, skip } from './remote.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));

/**
 * Returns a server, a sender, and a destination that behaves as ${wishes} say.
 */
async function world(t, name, wishes)
{
	const server = await faultServer(t);
	const [root, [ann]] = await Promise.all([operator(server), users(server, 'ann')]);
	const peer = new Peer(server, name);

	peer.does(wishes);
	return { server, root, ann, peer, to: `bob@${name}.fault.test`, id: uuid7() };
}

/** Returns the outcomes of the attempts of ${id}, in order. */
async function outcomes(root, id)
{
	const [row] = (await root.ask(`outbox/${id}`)).rows;

	return row.attempts.map((one) => one.outcome);
}

/**
 * Asserts that the message has arrived once, and that it was not charged for
 * failures of the servers.
 */
async function arrived({ server, ann, peer, id })
{
	const entry = await ann.entryWhen(id, (e) => e.state === 'sent', 'it is sent');

	assert.equal(entry.retry_count, 0);
	assert.deepEqual(peer.has().map((got) => got.id), [id]);
	await assertSound(server);
}

/**
 * Starts ${server} so that it dies when it first passes ${point}, runs ${act},
 * which leads there, and starts it again without the fault.
 */
async function dieAt(server, point, act)
{
	await server.stop();
	await server.start({ env: { TWINBOX_FAULT: `${point}:1:kill` } });
	await act();
	await eventually(() => !server.running, `the death at ${point}`);
	assert.equal(server.last.signal, 'SIGKILL');
	await server.start();
}

/** Sends a message; the server may die during the request. */
const trySend = (ann, to, id) => ann.send(to, 'hello', { id }).catch(() => null);

describe('the crash matrix', { skip }, () => {
	it('after the claim, before the request: released at the start, sent once', async (t) => {
		// The carrier has taken the parcel, but has not sent the
		// request yet.
		const w = await world(t, 'slow', { latency: 600_000 });

		await w.ann.send(w.to, 'hello', { id: w.id });
		await w.ann.entryWhen(w.id, (e) => e.state === 'sending', 'it is claimed');
		await w.server.kill();
		assert.deepEqual(w.peer.has(), []);
		w.peer.does({});
		await w.server.start();
		await arrived(w);
		assert.deepEqual(await outcomes(w.root, w.id), ['restart', 'accepted']);
	});

	it('the request was taken and its answer lost: sent again, a duplicate there', async (t) => {
		const w = await world(t, 'lossy', { lost: 100 });

		await w.ann.send(w.to, 'hello', { id: w.id });
		await w.peer.gets(1);
		await eventually(async () => (await outcomes(w.root, w.id)).length > 1, 'it is tried again');
		w.peer.does({});
		await arrived(w);
		const all = await outcomes(w.root, w.id);
		assert.equal(all.pop(), 'duplicate');
		assert.deepEqual([...new Set(all)], ['unavailable']);
	});

	it('the receiver dies before its commit: its outage, then sent', async (t) => {
		const w = await world(t, 'gone', { down: 1 });

		await w.ann.send(w.to, 'hello', { id: w.id });
		const waits = await w.ann.entryWhen(w.id, (e) => e.attempts > 1 && e.state === 'pending',
			'it is tried twice');
		assert.equal(waits.retry_count, 0);
		const seen = await w.root.destination('gone.fault.test');
		assert.ok(seen.failures > 0, JSON.stringify(seen));
		assert.deepEqual(w.peer.has(), []);
		w.peer.does({});
		await arrived(w);
		assert.equal((await outcomes(w.root, w.id)).at(-1), 'accepted');
	});

	it('the receiver dies after its commit, before its answer: sent again, a duplicate', async (t) => {
		const w = await world(t, 'brittle', { lost: 100 });

		await w.ann.send(w.to, 'hello', { id: w.id });
		await w.peer.gets(1);
		w.peer.does({ down: 1 });
		await eventually(async () => (await w.root.destination('brittle.fault.test')).failures > 1,
			'it is away');
		w.peer.does({});
		await arrived(w);
		assert.equal((await outcomes(w.root, w.id)).at(-1), 'duplicate');
	});

	for (const point of ['settle.row.after', 'settle.rows.after']) {
		it(`the answer is read and its commit does not come (${point}): a duplicate`, async (t) => {
			const w = await world(t, 'quick', {});

			await dieAt(w.server, point, () => trySend(w.ann, w.to, w.id));
			await arrived(w);
			assert.deepEqual(await outcomes(w.root, w.id), ['restart', 'duplicate']);
		});
	}

	for (const point of ['dead.row.after', 'dead.letter.after']) {
		it(`a death while it becomes a dead letter (${point}): all of it or nothing`, async (t) => {
			const w = await world(t, 'no', { reject: 100 });

			await dieAt(w.server, point, () => trySend(w.ann, w.to, w.id));
			await w.ann.entryWhen(w.id, (e) => e.state === 'failed', 'it has failed');
			const letters = await w.root.all('dead-letters?', 'dead_letters');
			assert.deepEqual(letters.map((letter) => letter.id), [w.id]);
			const { events } = await w.ann.inbox();
			assert.deepEqual(events.filter((e) => e.kind === 'bounce').map((e) => e.of), [w.id]);
			// The writes before the death are lost, so there was
			// another attempt.
			assert.deepEqual(await outcomes(w.root, w.id), ['restart', 'rejected']);
			assert.deepEqual(w.peer.has(), []);
			await assertSound(w.server);
		});
	}
});

// ---- the list ----------------------------------------------------------------

/**
 * Returns the rows of the table under "## The crash matrix": [point, file,
 * name].
 */
function listed(text)
{
	const part = text.split('\n## The crash matrix\n')[1]?.split('\n## ')[0] ?? '';

	return part.split('\n').filter((line) => /^\| [^|-]/.test(line)).slice(1).flatMap((line) => {
		const cells = line.split('|').map((cell) => cell.trim());
		const tests = [...cells[5].matchAll(/`([^`]+)`: ([^<]+?)(?:<br>|$)/g)];

		return tests.length ? tests.map(([, file, name]) => [cells[1], file, name]) : [[cells[1]]];
	});
}

/** Returns the names of the tests that ${source}, the text of ${file}, runs. */
function namesIn(file, source)
{
	if (file.endsWith('.c'))
		return [...source.matchAll(/\bcmocka_unit_test\w*\(\s*(\w+)/g)].map((found) => found[1]);
	return [...source.replace(/^\s*\/\/.*$/gm, '').replace(/' \+\s*[`']/g, '')
		.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)/g)]
		.map((found) => found[1] ?? found[2]);
}

/**
 * Returns the errors of the list in ${text}.  ${read} returns the text of a
 * file, or null.
 */
function wrong(text, read)
{
	const rows = listed(text);
	const points = new Set(rows.map(([point]) => point));

	return [...points.size === 12 ? [] : [`${points.size} rows`],
		...rows.flatMap(([point, file, name]) => {
			if (!file)
				return [`${point}: no test`];
			const source = read(file);
			if (source === null)
				return [`${point}: no file ${file}`];
			return namesIn(file, source).some((one) => one.includes(name)) ? [] :
				[`${point}: no test "${name}" in ${file}`];
		})];
}

describe('the list of the crash matrix', () => {
	const text = fs.readFileSync(path.join(HERE, 'README.md'), 'utf8');
	const read = (file) => {
		const place = path.join(HERE, file);
		return fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : null;
	};

	it('names a test for each row, and each is there', (t) => {
		assert.deepEqual(wrong(text, read), []);
		t.diagnostic(`${listed(text).length} tests of 12 rows`);
	});

	it('would be found wrong', () => {
		const forged = (from, to) => wrong(text.replace(from, to), read).join();

		assert.match(forged('`test_leases.c`: test_a_day_back', '`test_leases.c`: test_no_day'), /no test "test_no_day"/);
		assert.match(forged('`points.test.mjs`: ', '`point.test.mjs`: '), /no file point/);
		assert.match(forged(/^\| before .*\n/m, ''), /11 rows/);
		assert.match(forged(/`test_leases.c`: test_lease_runs_out/, ''), /no test/);
		assert.match(forged('## The crash matrix', '## Another'), /0 rows/);
		// A test that is commented out does not count.
		const silenced = (file) => read(file)?.replace(/^\t*it\(/gm, '// $&') ?? null;
		assert.ok(wrong(text, silenced).length >= 8);
	});
});
