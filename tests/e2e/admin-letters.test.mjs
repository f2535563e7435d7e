// SPDX-License-Identifier: MIT
// tags: store
//
// Dead letters and how messages come back: a message that expired or was
// discarded is listed and exported.  The operator requeues one or many at once,
// or the sender retries it.  Its sender and its recipient see the result.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator, sendMany, until, untilDead } from './operator.mjs';
import { problem, time } from './expect.mjs';
import { assertSound } from './fsck.mjs';
import { eventually, expectStatus, serverForFile, users } from './harness.mjs';

let root, ann, bob, cid;
const server = serverForFile({ before, after, afterEach }, async () => {
	[root, [ann, bob, cid]] = await Promise.all([operator(server), users(server, 'ann', 'bob', 'cid')]);
}, { unlimited: 'one administrator lists and discards hundreds, one at a time' });

const letters = (query = '') => root.all(`dead-letters?${query}`, 'dead_letters');

/**
 * Sends ${n} messages from ${from} to ${to} and discards them.  Returns their
 * ids, oldest first.
 */
async function discarded(from, to, n)
{
	const ids = await sendMany(from, to, n);
	for (const id of ids)
		await root.do('POST', `outbox/${id}/discard`);
	return ids;
}

describe('R83 R84 R322 R325 R326 a message that expired', () => {
	let id, letter;

	before(async () => {
		await root.pause();
		({ id } = await ann.send(bob.name, 'too late', { expires_in: 1 }));
		await until(ann, id, 'expired');
		[letter] = await letters();
	});

	after(() => root.resume());

	it('is a dead letter with its reason', async () => {
		assert.equal(letter.id, id);
		assert.equal(letter.from, ann.name);
		assert.equal(letter.to, bob.name);
		assert.equal(letter.destination, 'local');
		assert.equal(letter.state, 'expired');
		assert.equal(letter.reason, 'expired');
		assert.equal(letter.resolution, null);
		assert.ok(time(letter.dead_at) > time(letter.created_at));
		assert.equal((await root.ask('stats')).dead_letters_open, 1);
		const { entries: [entry] } = await root.ask('outbox?state=expired');
		assert.equal(entry.id, id);
		assert.equal(entry.outbox_id, letter.outbox_id);
		assert.equal(entry.reason, 'expired');
	});

	it('its sender is notified', async () => {
		const bounce = await ann.event((e) => e.kind === 'bounce' && e.of === id, 'the bounce');
		assert.equal(bounce.state, 'expired');
	});

	it('requeued it is pending again, and delivered once its way is free', async () => {
		const answer = await root.do('POST', 'dead-letters/requeue', { dead_ids: [letter.dead_id] });
		assert.deepEqual(answer, { requeued: 1, refused: [], remaining: 0, more: false });
		assert.equal((await ann.entry(id)).state, 'pending');
		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.deepEqual(row.timeline.map((step) => step.event), ['accepted', 'expired', 'requeued']);
		assert.equal(row.timeline[2].detail, `by ${root.name}`);
		assert.deepEqual(await letters(), []);
		const [resolved] = await letters('resolved=true');
		assert.equal(resolved.dead_id, letter.dead_id);
		assert.equal(resolved.resolution, 'requeued');
		assert.equal(resolved.resolved_by, root.name);
		assert.deepEqual(await letters('resolved=any'), [resolved]);
		await root.resume();
		const event = await bob.received(id);
		assert.equal(event.body, 'too late');
		await until(ann, id, 'sent');
	});

	it('a second time there is nothing to requeue', async () => {
		const { requeued, refused } = await root.do('POST', 'dead-letters/requeue',
			{ dead_ids: [letter.dead_id, 999_999] });
		assert.equal(requeued, 0);
		assert.deepEqual(refused.map((one) => one.dead_id), [letter.dead_id, 999_999]);
		refused.forEach((one) => assert.ok(one.detail.length > 5));
		problem(await root.post(`/v1/admin/outbox/${id}/retry`), 409, 'conflict');
		problem(await root.post(`/v1/admin/outbox/${id}/discard`), 409, 'conflict');
		problem(await ann.post(`/v1/outbox/${id}/retry`), 409, 'conflict');
	});
});

describe('the sender tries again himself', () => {
	let id;

	before(async () => {
		await root.pause();
		[id] = await sendMany(ann, bob.name, 1, { expires_in: 1 });
		await until(ann, id, 'expired');
	});

	after(() => root.resume());

	it('only their own', async () => {
		problem(await bob.post(`/v1/outbox/${id}/retry`), 404, 'not_found');
		problem(await cid.post(`/v1/outbox/${id}/retry`), 404, 'not_found');
		problem(await root.post(`/v1/outbox/${id}/retry`), 404, 'not_found');
		assert.equal((await ann.entry(id)).state, 'expired');
	});

	it('bad input is refused', async () => {
		problem(await ann.post(`/v1/outbox/${id}/retry`, { now: true }), 400, 'bad_request', '/now');
		problem(await ann.post(`/v1/outbox/${id}/retry?now=1`), 400, 'bad_request');
		problem(await ann.post('/v1/outbox/x/retry'), 404, 'not_found');
	});

	it('R83 and the entry is pending, without an operator', async () => {
		const { entries: [was] } = await root.ask('audit?limit=1');
		const entry = expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200).body;
		assert.equal(entry.id, id);
		assert.equal(entry.state, 'pending');
		assert.equal(entry.retry_count, 0);
		const { entries: [is] } = await root.ask('audit?limit=1');
		assert.equal(is.audit_id, was.audit_id);
		const [resolved] = await letters('resolved=true');
		assert.equal(resolved.id, id);
		assert.equal(resolved.resolved_by, ann.name);
		await root.resume();
		await bob.received(id);
	});
});

describe('a message that an operator gives up', () => {
	before(() => root.pause());
	after(() => root.resume());

	it('fails as discarded, its sender is notified, the others go on', async () => {
		const [first, second, third] = await sendMany(ann, bob.name, 3);
		const message = await root.do('POST', `outbox/${second}/discard`);
		assert.equal(message.rows[0].state, 'failed');
		assert.equal(message.rows[0].reason, 'discarded');
		assert.deepEqual(await letters(), []);
		const [letter] = await letters('resolved=any&reason=discarded');
		assert.equal(letter.id, second);
		assert.equal(letter.resolution, 'discarded');
		const bounce = await ann.event((e) => e.kind === 'bounce' && e.of === second, 'the bounce');
		assert.equal(bounce.state, 'failed');
		await root.resume();
		await bob.received(third);
		const got = (await bob.inbox()).events.filter((e) => e.kind === 'message').map((e) => e.id);
		assert.ok(got.includes(first) && !got.includes(second));
		await root.pause();
	});

	it('its sender may still cancel it', async () => {
		const [id] = await discarded(ann, cid.name, 1);
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
		await root.resume();
		await cid.received(id);
		await root.pause();
	});
});

describe('many dead letters', () => {
	const N = 450;
	let open;

	before(async () => {
		await root.pause();
		await Promise.all([sendMany(ann, bob.name, N - 50, { expires_in: 2 }),
			sendMany(cid, bob.name, 50, { expires_in: 2 })]);
		await untilDead(root, N);
		open = await letters();
	});

	after(() => root.resume());

	it('in pages of any size, newest first, without holes or doubles', async () => {
		const ids = open.map((one) => one.dead_id);
		assert.equal(new Set(ids).size, N);
		assert.deepEqual(ids, [...ids].sort((a, b) => b - a));
		for (const limit of [1, 7, 150, 200]) {
			const paged = await root.all('dead-letters', 'dead_letters', limit);
			assert.deepEqual(paged.map((one) => one.dead_id), ids, `pages of ${limit}`);
		}
	});

	it('by reason, sender and destination', async () => {
		assert.equal((await letters(`sender=${cid.name}`)).length, 50);
		assert.equal((await letters('reason=expired')).length, N);
		assert.equal((await letters('reason=poison')).length, 0);
		assert.equal((await letters('destination=local')).length, N);
		assert.equal((await letters(`sender=${cid.name}&reason=expired&destination=local`)).length, 50);
	});

	it('exported, one a line, all of them', async () => {
		const answer = expectStatus(await root.get('/v1/admin/dead-letters/export'), 200);
		assert.match(answer.headers.get('content-type'), /^application\/x-ndjson/);
		assert.match(answer.headers.get('cache-control'), /no-store/);
		const lines = answer.text.trimEnd().split('\n').map((line) => JSON.parse(line));
		assert.deepEqual(lines, open);
		const some = expectStatus(await root.get(`/v1/admin/dead-letters/export?sender=${cid.name}`), 200);
		assert.equal(some.text.trimEnd().split('\n').length, 50);
		const none = expectStatus(await root.get('/v1/admin/dead-letters/export?reason=poison'), 200);
		assert.equal(none.text, '');
	});

	it('HEAD of the export has no body', async () => {
		const answer = expectStatus(await root.request('HEAD', '/v1/admin/dead-letters/export'), 200);
		assert.equal(answer.text, '');
	});

	it('an export that nobody reads holds up nobody', async () => {
		const response = await fetch(new URL('/v1/admin/dead-letters/export', server.url),
			{ headers: { authorization: `Bearer ${root.token}` } });
		const reader = response.body.getReader();
		await reader.read();
		assert.equal((await root.ask('stats')).dead_letters_open, N);
		await reader.cancel();
		assert.equal((await letters()).length, N);
	});

	it('requeued by filter, oldest first, no more than was asked for', async () => {
		const oldest = open.filter((one) => one.from === cid.name).reverse();
		const answer = await root.do('POST', 'dead-letters/requeue', { filter: { sender: cid.name }, limit: 20 });
		assert.deepEqual(answer, { requeued: 20, refused: [], remaining: 30, more: true });
		const left = (await letters(`sender=${cid.name}`)).map((one) => one.dead_id).reverse();
		assert.deepEqual(left, oldest.slice(20).map((one) => one.dead_id));
		const more = await root.do('POST', 'dead-letters/requeue', { filter: { sender: cid.name } });
		assert.deepEqual(more, { requeued: 30, refused: [], remaining: 0, more: false });
		const waiting = await root.all(`outbox?sender=${cid.name}&state=pending`, 'entries');
		assert.equal(waiting.length, 50);
	});

	it('discarded by name and by filter, in more than one transaction', async () => {
		const named = open.filter((one) => one.from === ann.name).slice(0, 150).map((one) => one.dead_id);
		const answer = await root.do('POST', 'dead-letters/discard', { dead_ids: [...named, named[0]] });
		assert.equal(answer.discarded, 150);
		assert.deepEqual(answer.refused.map((one) => one.dead_id), [named[0]]);
		const rest = await root.do('POST', 'dead-letters/discard',
			{ filter: { reason: 'expired', destination: 'local' }, limit: 1000 });
		assert.deepEqual(rest, { discarded: N - 200, refused: [], remaining: 0, more: false });
		assert.deepEqual(await letters(), []);
		assert.equal((await letters('resolved=true&reason=expired')).length >= N, true);
	});

	it('each has left a row in the audit log', async () => {
		const audit = await root.all('audit', 'entries');
		const mine = open.map((one) => audit.filter((row) => row.object === one.id &&
			row.detail === `dead letter ${one.dead_id} to ${bob.name}` && row.actor === root.name));
		assert.ok(mine.every((rows) => rows.length === 1));
		assert.equal(mine.filter(([row]) => row.action === 'requeue').length, 50);
		assert.equal(mine.filter(([row]) => row.action === 'discard').length, 400);
	});

	it('what was requeued is delivered, each once', async () => {
		const before_ = (await bob.inbox()).events.filter((e) => e.from === cid.name).length;
		await root.resume();
		await eventually(async () => (await root.ask('stats')).states.pending === 0, 'all is sent');
		const got = (await bob.inbox()).events.filter((e) => e.kind === 'message' && e.from === cid.name);
		assert.equal(got.length - before_, 50);
		assert.equal(new Set(got.map((e) => e.id)).size, got.length);
		await assertSound(server);
	});
});
