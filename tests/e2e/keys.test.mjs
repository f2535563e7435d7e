// SPDX-License-Identifier: MIT
// tags: store
//
// twinboxd keys manages the keys with which a server signs.  The tests check
// the whole text and the exit code of each command and refusal, without a
// running server and beside one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { dataArgs, sqliteOnly } from './backend.mjs';
import { assertSound } from './fsck.mjs';
import { Server, TWINBOXD, eventually, once, run, startServer, tempDir } from './harness.mjs';
import { operator } from './operator.mjs';

const SETTINGS = '[SETTING...]';
const USAGE = `usage: twinboxd keys list ${SETTINGS}
       twinboxd keys rotate ${SETTINGS}
       twinboxd keys retire KEY-ID [--now] ${SETTINGS}
`;
const NONE = 'there are no keys: "twinboxd keys rotate" makes one, and so does a server that federates\n';
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
const MADE = new RegExp(`^key (k[0-9a-f]{8}) is published and signs (at once|from (${TIME}))` +
	`(?:; the others leave the document by (${TIME}))?\n$`);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Runs twinboxd keys.  Returns [code, standard output, standard error]. */
async function keys(data, ...args)
{
	const child = run(TWINBOXD, ['keys', ...args, ...dataArgs(data)]);
	const { code } = await child.exited;

	return [code, child.out, child.err];
}

/** Returns the rows of `keys list`: {id, state, public}. */
async function list(data)
{
	const [code, out, err] = await keys(data, 'list');
	const [head, ...lines] = out.trimEnd().split('\n');

	assert.deepEqual([code, err], [0, '']);
	assert.match(head, /^KEY ID +STATE +PUBLIC KEY$/);
	return lines.map((line) => {
		const [, id, state, key] = /^(\S+) {2,}(\S.*?) {2,}(\S+)$/.exec(line) ?? assert.fail(line);
		assert.equal(head.indexOf('PUBLIC KEY'), line.indexOf(key));
		assert.equal(Buffer.from(key, 'base64').length, 32);
		return { id, state, public: key };
	});
}

/** Rotates the keys.  Returns the parts of the output. */
async function rotate(data)
{
	const before_ms = Date.now();
	const [code, out, err] = await keys(data, 'rotate');
	const [, id, signs, from, others] = MADE.exec(out) ?? assert.fail(out + err);
	const near = (time, ms) => assert.ok(Date.parse(time) >= before_ms + ms &&
		Date.parse(time) <= Date.now() + ms, `${time} is not ${ms} ms from now`);

	assert.deepEqual([code, err], [0, '']);
	if (from)
		near(from, HOUR_MS);
	if (others)
		near(others, (from ? HOUR_MS : 0) + DAY_MS);
	return { id, at_once: signs === 'at once', from, others };
}

const refused = async (data, ...args) => {
	const [code, out, err] = await keys(data, ...args);

	assert.equal(out, '');
	assert.match(err, /^twinboxd: .*\n$/);
	return [code, err.slice('twinboxd: '.length, -1)];
};

/**
 * Plays all states of a key.  The output is the same with a running server and
 * without one.
 */
async function life(data)
{
	assert.deepEqual(await keys(data, 'list'), [0, NONE, '']);
	const first = await rotate(data);
	assert.deepEqual([first.at_once, first.others], [true, undefined]);
	assert.deepEqual((await list(data)).map(({ id, state }) => [id, state]), [[first.id, 'signs']]);

	assert.deepEqual(await refused(data, 'retire', first.id),
		[75, 'no other key would be left to sign: run "twinboxd keys rotate" first']);
	const second = await rotate(data);
	assert.equal(second.at_once, false);
	assert.notEqual(second.id, first.id);
	let rows = await list(data);
	assert.deepEqual(rows.map(({ id, state }) => [id, state]), [
		[second.id, `published, signs at ${second.from}`],
		[first.id, `signs, leaves the document at ${second.others}`]]);
	assert.notEqual(rows[0].public, rows[1].public);

	// This command takes the key out of the document earlier than the
	// rotation would.
	const [code, out, err] = await keys(data, 'retire', first.id);
	assert.deepEqual([code, err], [0, '']);
	const [, at] = new RegExp(`^key ${first.id} leaves the document at (${TIME})\n$`).exec(out) ?? assert.fail(out);
	assert.ok(Date.parse(at) < Date.parse(second.others));
	assert.deepEqual(await refused(data, 'retire', first.id),
		[75, `key ${first.id} leaves the document already, at ${at}; retire --now takes it out at once`]);

	// The key is retired as if it had been stolen, while no other key signs
	// yet.
	const [stolen, said] = await keys(data, 'retire', '--now', first.id);
	const [, third] = new RegExp(`^key ${first.id} is retired; key (k[0-9a-f]{8}) takes its place and ` +
		'signs at once\n$').exec(said) ?? assert.fail(said);
	assert.equal(stolen, 0);
	rows = await list(data);
	assert.deepEqual(rows.map(({ id, state }) => [id, state]), [
		[second.id, `published, signs at ${second.from}`], [third, 'signs']]);
	assert.deepEqual(await keys(data, 'retire', second.id, '--now'),
		[0, `key ${second.id} is retired\n`, '']);
	for (const now of [[], ['--now']]) {
		assert.deepEqual(await refused(data, 'retire', first.id, ...now),
			[68, `there is no key "${first.id}", or it is retired already`]);
	}
	return [first.id, second.id, third];
}

describe('how it is called', () => {
	const data = path.join(tempDir(), 'd');

	it('is shown when it is called in another way', async () => {
		for (const args of [[], ['shave'], ['list', 'k1'], ['rotate', 'k1'], ['retire'], ['retire', 'k1', 'k2'],
			['list', '--now'], ['rotate', '--now'], ['retire', '--now'], ['k1', 'retire']])
			assert.deepEqual(await keys(data, ...args), [64, '', USAGE], args.join(' '));
		assert.ok(!fs.existsSync(data));
	});

	it('an id that cannot be one is refused', async () => {
		for (const id of ['', 'k 1', 'k1!', 'ké', 'k'.repeat(65)]) {
			assert.deepEqual(await refused(data, 'retire', id), [65, `"${id}" is not a valid key id: ` +
				'1 to 64 of letters, digits, "-" and "_"; see twinboxd keys list']);
		}
		assert.ok(!fs.existsSync(data));
	});

	it('a setting that does not exist is refused', async () => {
		assert.deepEqual(await refused(data, 'list', '--reders', '3'),
			[64, '--reders: there is no setting "reders"; did you mean "readers"?']);
	});
});

describe('without a server', () => {
	it('there is nothing to list without a database', { skip: sqliteOnly }, async () => {
		const data = path.join(tempDir(), 'd');

		assert.deepEqual(await refused(data, 'list'),
			[66, `cannot read the database ${data}/twinbox.db: No such file or directory`]);
		assert.ok(!fs.existsSync(data));
	});

	it('a key is made, replaced, retired', async () => {
		const data = path.join(tempDir(), 'd');
		const migrated = run(TWINBOXD, ['migrate', ...dataArgs(data)]);

		assert.equal((await migrated.exited).code, 0);
		await life(data);
		await assertSound({ program: TWINBOXD, data });
	});

	it('a document has at most eight', async () => {
		const data = path.join(tempDir(), 'd');
		let next;

		for (let i = 0; i < 8; i++) {
			const { others } = await rotate(data);
			next ??= others;
		}
		assert.equal((await list(data)).length, 8);
		assert.deepEqual(await refused(data, 'rotate'), [75,
			`8 keys are published, and there can be no more: the next one leaves the document at ${next}`]);
		assert.equal((await list(data)).length, 8);
	});

	it('a database that cannot be opened is one line', { skip: sqliteOnly }, async () => {
		const data = path.join(tempDir(), 'd');

		fs.mkdirSync(data, { mode: 0o700 });
		fs.writeFileSync(path.join(data, 'twinbox.db'), 'this is not a database, however long it is'.repeat(200),
			{ mode: 0o600 });
		for (const args of [['list'], ['rotate'], ['retire', 'k1']]) {
			const [code, text] = await refused(data, ...args);
			assert.equal(code, 74, text);
		}
		fs.chmodSync(data, 0o777);
		for (const args of [['list'], ['rotate'], ['retire', 'k1']]) {
			const [code, text] = await refused(data, ...args);
			assert.equal(code, 77, text);
		}
	});

	it('a full disk for what is printed is an error', async () => {
		const data = path.join(tempDir(), 'd');

		await rotate(data);
		for (const args of [['list'], ['rotate']]) {
			const child = run('sh', ['-c', 'exec "$0" "$@" >/dev/full', TWINBOXD, 'keys', ...args, ...dataArgs(data)]);
			assert.equal((await child.exited).code, 74, args.join(' '));
		}
	});
});

describe('beside a server', () => {
	let server, ids;

	before(async () => {
		server = await startServer();
		ids = await life(server.data);
	});
	after(() => server.kill());
	const root = once(() => operator(server));

	it('the server does it and logs which key it was', async () => {
		const calls = () => server.output().split('\n').filter((line) => /control\.call command=keys/.test(line))
			.map((line) => /command=(\S+) about=(\S+) result=(.+)$/.exec(line).slice(1));
		const [first, second] = ids;
		const wanted = [
			['keys.rotate', first, 'ok'], ['keys.retire', first, 'conflict'], ['keys.rotate', second, 'ok'],
			['keys.retire', first, 'ok'], ['keys.retire', first, 'conflict'], ['keys.retire_now', first, 'ok'],
			['keys.retire_now', second, 'ok'], ['keys.retire', first, 'not found'],
			['keys.retire_now', first, 'not found']];

		await eventually(() => calls().length >= wanted.length, 'all calls in the log');
		assert.deepEqual(calls(), wanted);
	});

	it('what operators did is in the audit log', async () => {
		const entries = (await (await root()).all('audit', 'entries'))
			.filter((one) => one.action.startsWith('key_')).reverse();
		const [first, second, third] = ids;

		assert.deepEqual(entries.map((one) => [one.actor, one.action, one.object,
			one.detail.replace(new RegExp(TIME), 'TIME')]), [
			['operator', 'key_rotate', first, 'signs at TIME'],
			['operator', 'key_rotate', second, 'signs at TIME'],
			['operator', 'key_retire', first, 'leaves at TIME'],
			['operator', 'key_retire', first, `now, replaced by ${third}`],
			['operator', 'key_retire', second, 'now']]);
	});

	it('the keys are there after a restart', async () => {
		const rows = await list(server.data);

		await server.restart();
		assert.deepEqual(await list(server.data), rows);
		await server.stop();
		assert.deepEqual(await list(server.data), rows);
		await assertSound(server);
		await server.start();
	});

	it('a server that does not answer is an error', { skip: sqliteOnly }, async () => {
		const mute = new Server();
		await mute.start();
		fs.rmSync(path.join(mute.data, 'control'));
		assert.deepEqual(await refused(mute.data, 'rotate'), [69,
			`a server holds ${mute.data} but does not answer at its control socket: No such file or directory`]);
		assert.deepEqual(await keys(mute.data, 'list'), [0, NONE, '']);
		await mute.kill();
	});
});
