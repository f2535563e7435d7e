// SPDX-License-Identifier: MIT
//
// The server's own alerts and the figures behind them, with another server that
// does not answer and one that refuses.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { sendMany } from '../e2e/operator.mjs';
import { eventually, expectStatus, users } from '../e2e/harness.mjs';
import { parsePage } from '../watch/names.mjs';
import { entryWhen, faultServer, Peer, skip } from './remote.mjs';

/**
 * Reads /metrics.  Returns value(name, labels), which is 0 for a missing
 * sample.
 */
async function look(server)
{
	const families = parsePage(expectStatus(await server.rest().get('/metrics'), 200).text);
	const samples = [...families.values()].flatMap((f) => f.samples);

	return (name, labels = {}) => samples.filter((s) => s.name === `twinbox_${name}` &&
		Object.entries(labels).every(([label, value]) => s.labels[label] === value))
		.reduce((sum, s) => sum + s.value, 0);
}

/** Waits for the log line of ${event} about ${alert}.  Returns the line. */
async function logged(server, event, alert)
{
	return eventually(() => server.output().split('\n').find(
		(line) => line.includes(` ${event} ${alert} `)), `${event} ${alert} in the log`, 30_000);
}

describe('the server\'s own alerts', { skip }, () => {
	it('R95 R96 more than 100 wait for a server that is down, until it is back', async (t) => {
		const server = await faultServer(t, { args: ['--alert-interval', '1s'] });
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'dead');
		const at = { destination: peer.name };

		peer.does({ down: 1 });
		await sendMany(ann, `bob@${peer.name}`, 100);
		await eventually(async () => (await look(server))('outbox_pending') === 100 &&
			(await look(server))('destination_breaker', { ...at, state: 'closed' }) === 0,
		'100 wait and the breaker has opened', 30_000);
		// Meanwhile the alert thread evaluates the alerts several
		// times.
		const turns = server.output().length;
		await eventually(async () => (await look(server))('outbox_oldest_pending_seconds', at) >= 2,
			'they grow old');
		assert.ok(!server.output().slice(turns).includes('outbox_depth_high'));
		await ann.send(`bob@${peer.name}`, 'one more');
		const line = await logged(server, 'alert.warning', 'outbox_depth_high');
		assert.match(line, / warn .* severity=warning text=101 messages wait for delivery$/);
		const value = await look(server);
		assert.equal(value('alert', { alert: 'outbox_depth_high' }), 1);
		assert.equal(value('alert'), 1);
		assert.equal(value('outbox_pending_rows', at), 101);
		assert.equal(value('outbox_pending_rows', { destination: 'local' }), 0);
		assert.equal(value('destination_breaker', at), 1);
		assert.ok(value('relay_last_turn_seconds') <= 10);
		assert.equal(value('outbox_retries_total'), 0, 'an outage is charged to no message');

		peer.does({});
		await peer.gets(101);
		assert.match(await logged(server, 'alert.cleared', 'outbox_depth_high'), / seconds=\d+$/);
		await eventually(async () => {
			const now = await look(server);
			return now('outbox_pending') === 0 && now('alert') === 0 &&
				now('destination_breaker', { ...at, state: 'closed' }) === 1;
		}, 'all is well', 30_000);
		const after = await look(server);
		assert.equal(after('outbox_sent_total'), 101);
		assert.equal(after('outbox_oldest_pending_seconds'), 0);
		assert.ok(after('claim_rows_count') >= 3 && after('claim_rows_sum') >= 101);
		assert.ok(after('attempt_seconds_count') >= 3);
		assert.equal(after('delivery_seconds_count'), 101);
		assert.equal(after('event_to_delivery_seconds_count'), 101);
	});

	it('R95 R97 R374 dead letters, by why', async (t) => {
		const server = await faultServer(t, { args: ['--alert-interval', '1s'] });
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'no');

		peer.does({ reject: 100 });
		const { id } = await ann.send(`bob@${peer.name}`, 'x');
		await entryWhen(ann, id, (e) => e.state === 'failed', 'it has failed');
		assert.match(await logged(server, 'alert.error', 'outbox_failed'),
			/ error .* severity=critical text=1 dead letters .*: 1 rejected, 0 out of retries/);
		const value = await look(server);
		assert.equal(value('outbox_dead_letters', { reason: 'rejected' }), 1);
		assert.equal(value('outbox_dead_letters'), 1);
		assert.equal(value('outbox_failed_total', { reason: 'rejected' }), 1);
		assert.equal(value('outbox_failed'), 1);
		assert.equal(value('bounces_total'), 1);
		assert.equal(value('alert', { alert: 'outbox_failed_many' }), 0);
		for (let i = 0; i < 10; i++)
			await ann.send(`bob@${peer.name}`, 'x');
		await logged(server, 'alert.error', 'outbox_failed_many');
		assert.equal((await look(server))('outbox_dead_letters'), 11);
	});

	it('what is seen is still there after a restart', async (t) => {
		const server = await faultServer(t, { args: ['--alert-interval', '1s'] });
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'no');

		peer.does({ reject: 100 });
		const { id } = await ann.send(`bob@${peer.name}`, 'x');
		await entryWhen(ann, id, (e) => e.state === 'failed', 'it has failed');
		await server.restart('SIGKILL');
		const line = await eventually(() => server.child.err.split('\n').find(
			(one) => one.includes(' alert.error outbox_failed ')), 'published again', 30_000);
		assert.match(line, /1 rejected/);
		assert.equal((await look(server))('outbox_dead_letters'), 1);
	});
});
