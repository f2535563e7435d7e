// SPDX-License-Identifier: MIT
// tags: surface
//
// The admin commands against a real server: they show what waits, they requeue,
// export and discard dead letters, and the audit log names who did what.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { EX, Proxy, TWINBOX, people } from './cli-client.mjs';
import { failed, operator } from './cli-admin-standin.mjs';
import { Terminal } from './cli-terminal.mjs';
import { eventually, startServer } from './harness.mjs';

let server;
let proxy;
let root;

before(async () => {
	server = await startServer();
	proxy = await new Proxy(server).listen();
	root = await operator(server, proxy.url);
});

after(async () => {
	await proxy.close();
	await server.stop();
});

const dlq = async (...filters) => (await root.page('admin', 'dlq', ...filters)).dead_letters;

/** Waits until message ${id} of ${person} is in state ${state}. */
const until = (person, id, state) => eventually(
	async () => (await person.json('outbox', id)).state === state, `it is ${state}`);

/** Waits for the dead letter of message ${id}, and returns it. */
const letterOf = (id) => eventually(async () => (await dlq()).find((one) => one.id === id), 'its dead letter');

describe('the admin commands at work', () => {
	it('are for administrators', async () => {
		const [ann] = await people(proxy.url, 'ann');

		for (const args of [['stats'], ['outbox'], ['dlq'], ['destinations'], ['lanes'], ['peers'], ['users'], ['audit'],
			['pause', 'local'], ['requeue', '1'], ['top', '--once'], ['dlq', '--export', '-']])
			failed(await ann.try(['admin', ...args]), EX.NOPERM, /log in as an administrator/);
	});

	it('every list is shown, for people and for programs', async () => {
		for (const name of ['stats', 'outbox', 'dlq', 'destinations', 'lanes', 'peers', 'users', 'audit']) {
			const { out, err } = await root.run('admin', name);
			assert.equal(err, '');
			for (const line of out.split('\n'))
				assert.ok(Array.from(line).length <= 80, line);
			for (const row of await root.rows('admin', name))
				assert.ok(Object.keys(row).length > 1, name);
		}
		assert.match((await root.run('admin', 'users')).out, new RegExp(`^${root.name} .* admin `, 'm'));
		for (const view of ['overview', 'destinations', 'dead', 'lanes'])
			assert.match((await root.run('admin', 'top', '--once', '--view', view)).out, /^twinbox top /);
	});

	it('a user is promoted, demoted, disabled and enabled', async () => {
		const [ann] = await people(proxy.url, 'ann');
		const change = async (word) => (await root.run('admin', 'users', word, ann.name)).out;
		const row = async () => new RegExp(`^${ann.name} .*$`, 'm').exec((await root.run('admin', 'users')).out)[0];

		assert.equal(await change('promote'), `${ann.name} is an administrator\n`);
		assert.match(await row(), / admin +1 /);
		assert.match((await ann.run('admin', 'stats')).out, /^pending /);
		assert.equal(await change('demote'), `${ann.name} is no longer an administrator\n`);
		failed(await ann.try(['admin', 'stats']), EX.NOPERM, /log in as an administrator/);
		failed(await root.try(['admin', 'users', 'demote', ann.name]), EX.DATAERR,
			/is not an administrator; see twinbox admin users$/m);
		assert.equal(await change('disable'), `${ann.name} is disabled\n`);
		assert.match(await row(), / disabled +0 /);
		assert.equal(await change('enable'), `${ann.name} is enabled\n`);
		failed(await root.try(['admin', 'users', 'enable', 'nobody-here']), EX.DATAERR,
			/there is no user called "nobody-here" on this server; twinbox admin users lists them/);
	});

	it('a user gets a one-time password, and a new one at the log-in with it', async (t) => {
		const [ann] = await people(proxy.url, 'ann');
		const { out } = await root.run('admin', 'users', 'password', ann.name);
		const [, password, until] = new RegExp(`^one-time password of ${ann.name}: (\\S{24})\n` +
			'It is good for one log-in until (\\d+ \\w+ \\d\\d:\\d\\d:\\d\\d), and is shown only here\\. ' +
			`All devices of ${ann.name} are\\s+logged out\\.\n$`).exec(out) ?? assert.fail(out);

		assert.ok(until);
		failed(await ann.try(['inbox']), EX.NOPERM, /this device was logged out/);
		const screen = new Terminal(TWINBOX, ['login', ann.name], { env: ann.env });
		t.after(() => screen.kill());
		await screen.shows(`password of ${ann.name}:`);
		screen.type(`${password}\r`);
		await screen.shows(/This was a one-time password, which works only once/);
		await screen.shows(`new password for ${ann.name}:`);
		screen.type('battery staple\r');
		await screen.shows('the same again:');
		screen.type('battery staple\r');
		assert.equal(await screen.ended(), 0, screen.screen.text());
		assert.match(screen.screen.text(), new RegExp(`the password of ${ann.name} is changed`));
		assert.ok(!screen.raw.includes(password) && !screen.raw.includes('battery'));
		assert.equal((await ann.withPassword(['login', ann.name], 'battery staple')).code, 0);
		failed(await ann.withPassword(['login', ann.name], password), EX.NOPERM, /wrong name or password/);
	});

	it('without a terminal the log-in with a one-time password says what to do next', async () => {
		const [ann] = await people(proxy.url, 'ann');
		const { password, expires_at } = await root.json('admin', 'users', 'password', ann.name);

		assert.ok(Date.parse(expires_at) > Date.now());
		const done = await ann.withPassword(['login', ann.name], password);
		assert.equal(done.code, 0, done.err);
		assert.match(done.out, new RegExp(`^logged in as ${ann.name} `));
		assert.equal(done.err.replaceAll(/\s+/g, ' '),
			'this was a one-time password, which works only once: set a password with twinbox passwd ');
		failed(await ann.withPassword(['login', ann.name], password), EX.NOPERM,
			new RegExp(`was used for a log-in: ask an administrator for a new one; log in with that one: twinbox login ${ann.name}$`, 'm'));
		const set = await ann.try(['passwd', '--password-stdin'], { input: `${password}\nbattery staple\n` });
		assert.equal(set.code, 0, set.err);
		await root.run('admin', 'users', 'disable', ann.name);
		failed(await root.try(['admin', 'users', 'password', ann.name]), EX.DATAERR,
			/is disabled: enable this user first; see twinbox admin users$/m);
	});

	it('a pause is seen; what waits is found; it goes out again (R82 R373)', async () => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');

		assert.equal((await root.run('admin', 'pause', 'local', '--reason', 'moving the disk')).out, 'local is paused\n');
		const { id } = await ann.json('send', bob.name, 'while it is paused');
		const { out } = await root.run('admin', 'destinations');
		assert.match(out, /^local +paused +0\S* +1 /m);
		assert.match(out, new RegExp(`^ {4}paused .* ago by ${root.name}: moving the disk$`, 'm'));
		const list = await root.run('admin', 'outbox', '--sender', ann.name);
		assert.match(list.out, new RegExp(`^${id} +pending +0 `, 'm'));
		assert.match(list.out, new RegExp(`^ {4}${ann.name} → ${bob.name}$`, 'm'));
		assert.deepEqual((await root.page('admin', 'outbox', '--state', 'pending', '--destination', 'local'))
			.entries.map((one) => one.id), [id]);
		const shown = await root.run('admin', 'show', id);
		assert.match(shown.out, new RegExp(`^→ ${bob.name} {2}pending$`, 'm'));
		assert.match(shown.out, /^\d\d:\d\d:\d\d +accepted/m);
		assert.doesNotMatch(JSON.stringify(await root.json('admin', 'show', id)), /while it is paused/);
		assert.equal((await root.run('admin', 'resume', 'local')).out, 'local goes on\n');
		await until(ann, id, 'sent');
		assert.deepEqual((await bob.events()).map((one) => one.body), ['while it is paused']);
	});

	it('a dead letter is found, exported, requeued (R83 R84)', async () => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');

		await root.run('admin', 'pause', 'local');
		const { id } = await ann.json('send', bob.name, 'late', '--expires-in', '1s');
		const letter = await letterOf(id);
		const { out } = await root.run('admin', 'dlq');
		assert.match(out, new RegExp(`^ *${letter.dead_id} +expired +\\d+ .* ${ann.name} → ${bob.name}$`, 'm'));
		assert.match(out, new RegExp(`^ {4}${id}`, 'm'));
		const file = path.join(root.home, 'dead.ndjson');
		await root.run('admin', 'dlq', '--export', file, '--reason', 'expired');
		const exported = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
		assert.deepEqual(exported, await dlq());
		assert.equal((await root.run('admin', 'requeue', letter.dead_id)).out, 'requeued 1\n');
		failed(await root.try(['admin', 'requeue', letter.dead_id]), EX.DATAERR, /1 refused/);
		assert.deepEqual(await dlq(), []);
		assert.match((await root.run('admin', 'dlq', '--resolved', 'true')).out,
			new RegExp(`requeued .* ago by ${root.name}`));
		await root.run('admin', 'resume', 'local');
		await until(ann, id, 'sent');
		assert.ok((await bob.events()).some((one) => one.body === 'late'));
		assert.match((await root.run('admin', 'show', id)).out, /^\d\d:.* requeued +by /m);
	});

	it('all of one sender are requeued; others stay', async () => {
		const [ann, bob, cid] = await people(proxy.url, 'ann', 'bob', 'cid');

		await root.run('admin', 'pause', 'local');
		for (const person of [ann, ann, ann, cid])
			await person.run('send', bob.name, 'late', '--expires-in', '1s');
		await eventually(async () => (await dlq()).length === 4, 'four dead letters');
		assert.equal((await root.run('admin', 'requeue', '--all', '--sender', ann.name)).out, 'requeued 3\n');
		const left = await dlq();
		assert.deepEqual(left.map((one) => one.from), [cid.name]);
		failed(await root.try(['admin', 'discard', '--all']), EX.USAGE, /this would discard 1 dead letter;/);
		assert.equal((await root.run('admin', 'discard', left[0].dead_id)).out, 'discarded 1\n');
		await root.run('admin', 'resume', 'local');
		await eventually(async () => (await bob.events()).length === 3, 'three came');
	});

	it('a message that waits is discarded, and its sender is notified', async () => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');

		await root.run('admin', 'pause', 'local');
		const { id } = await ann.json('send', bob.name, 'never');
		assert.equal((await root.run('admin', 'discard', id)).out, `${id} is discarded\n`);
		await root.run('admin', 'resume', 'local');
		await until(ann, id, 'failed');
		await eventually(async () => (await ann.events()).some((one) => one.kind === 'bounce' && one.of === id),
			'the bounce');
		failed(await root.try(['admin', 'discard', id]), EX.DATAERR, /see twinbox admin show ID/);
		failed(await root.try(['admin', 'retry', '01987a1c-0000-7000-8000-000000000000']), EX.DATAERR,
			/admin outbox and dlq list the ids/);
		assert.equal((await root.run('admin', 'retry', id)).out, `${id} is tried again\n`);
		await until(ann, id, 'sent');
	});

	it('its sender tries it again himself (R83)', async () => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');

		await root.run('admin', 'pause', 'local');
		const { id } = await ann.json('send', bob.name, 'late', '--expires-in', '1s');
		await until(ann, id, 'expired');
		failed(await bob.try(['outbox', 'retry', id]), EX.DATAERR, /check the id/);
		assert.equal((await ann.run('outbox', 'retry', id)).out, `trying ${id} again\n`);
		await root.run('admin', 'resume', 'local');
		await until(ann, id, 'sent');
		failed(await ann.try(['outbox', 'retry', id]), EX.DATAERR, /see how it is: twinbox outbox/);
	});

	it('rate, lanes, rewind', async () => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');

		failed(await root.try(['admin', 'rate', 'local', 500]), EX.DATAERR, /only another server has a rate/);
		assert.equal((await root.run('admin', 'rate', 'local', 0)).out, 'local has no limit\n');
		failed(await root.try(['admin', 'rate', 'nowhere.example', 5]), EX.DATAERR, /destinations lists them/);
		const { id } = await ann.json('send', bob.name, 'once');
		await until(ann, id, 'sent');
		const lanes = (await root.page('admin', 'lanes', '--limit', 1000)).lanes;
		const lane = lanes.find((one) => one.to === bob.name && one.class === 'messages');
		assert.ok(lane);
		assert.match((await root.run('admin', 'lanes', '--limit', 1000)).out,
			new RegExp(`^ *${lane.lane_id} +${bob.name} `, 'm'));
		failed(await root.try(['admin', 'rewind', 999999999, 1]), EX.DATAERR, /admin lanes/);
		/*
		 * A rewind works only for another server: messages in an inbox
		 * here are never offered again.
		 */
		failed(await root.try(['admin', 'rewind', String(lane.lane_id), '1']), EX.DATAERR,
			/inbox here.*; twinbox admin lanes/);
		failed(await root.try(['admin', 'rewind', String(lane.lane_id), '--since', '2026-01-01T00:00:00Z']), EX.DATAERR,
			/inbox here.*; twinbox admin lanes/);
		failed(await root.try(['admin', 'rewind', 'far.example', '--since', '2026-01-01T00:00:00Z']), EX.DATAERR,
			/nothing here is called "far.example"/);
	});

	it('other servers: pinned, blocked, forgotten', async () => {
		const key = Buffer.alloc(32, 5).toString('base64');

		assert.equal((await root.run('admin', 'peers', 'pin', 'far.example', 'k1', key)).out,
			'far.example has a pinned key\n');
		assert.equal((await root.run('admin', 'peers', 'block', 'far.example', '--reason', 'spam')).out,
			'far.example is blocked\n');
		const { out } = await root.run('admin', 'peers');
		assert.match(out, /^far\.example +blocked +1 +1 +- +-$/m);
		assert.match(out, new RegExp(`^ {4}blocked .* ago by ${root.name}$`, 'm'));
		const shown = await root.run('admin', 'peers', 'show', 'far.example');
		assert.match(shown.out, new RegExp(`^k1 +verifies .* ${root.name}$`, 'm'));
		assert.ok(shown.out.includes(`    ${key}\n`));
		assert.equal((await root.json('admin', 'peers', 'show', 'far.example')).keys[0].public, key);
		assert.equal((await root.run('admin', 'peers', 'unpin', 'far.example', 'k1')).out,
			'far.example has a pinned key less\n');
		failed(await root.try(['admin', 'peers', 'unpin', 'far.example', 'k1']), EX.DATAERR,
			/is not pinned; see twinbox admin peers show DOMAIN/);
		assert.equal((await root.run('admin', 'peers', 'unblock', 'far.example')).out, 'far.example is not blocked\n');
		assert.equal((await root.run('admin', 'peers', 'forget', 'far.example')).out, 'far.example is forgotten\n');
		failed(await root.try(['admin', 'peers', 'show', 'far.example']), EX.DATAERR, /admin peers lists them/);
		failed(await root.try(['admin', 'peers', 'pin', 'far.example', 'k1', 'x']), EX.DATAERR, /public/);
		failed(await root.try(['admin', 'peers', 'pin', 'far.example']), EX.USAGE, /admin peers --help/);
	});

	it('all that was done is in the audit log', async () => {
		const { out } = await root.run('admin', 'audit', '--limit', 200);

		for (const action of ['pause', 'resume', 'rate', 'requeue', 'discard', 'retry', 'peer-pin',
			'peer-unpin', 'peer-block', 'peer-unblock', 'peer-forget'])
			assert.match(out, new RegExp(`^\\d\\d:.* ${root.name} +${action} `, 'm'));
	});

	it('top lives through a restart of the server', async (t) => {
		const screen = new Terminal(TWINBOX, ['admin', 'top', '--interval', '1s'], { env: root.env });

		t.after(() => screen.kill());
		await screen.shows(/^pending +\d+ +accepted +\S+ /m);
		await screen.shows(/^local +closed /m);
		await server.kill();
		await screen.shows(/^last answer .* ago, trying again: /m);
		await server.start();
		await screen.shows(/^q quit/m);
		screen.type('3');
		await screen.shows('[3 dead letters]');
		screen.type('4');
		await screen.shows('no lane has anything to send');
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		await root.run('admin', 'pause', 'local');
		await ann.run('send', bob.name, 'waits');
		await screen.shows(new RegExp(`^ +\\d+ +${bob.name} +messages +local +1 `, 'm'));
		screen.type('1');
		await screen.shows(/^local +paused .* 1 /m);
		await root.run('admin', 'resume', 'local');
		await screen.shows(/^local +closed .* 0 /m);
		assert.deepEqual(screen.screen.unknown, []);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
	});
});
