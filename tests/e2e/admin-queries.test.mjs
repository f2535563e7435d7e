// SPDX-License-Identifier: MIT
// tags: store
//
// The queries of the admin routes: statistics, messages by every filter, one
// message with its history, destinations, lanes, users, the audit log.  Pages
// have no gaps and no duplicates, an answer to bad input names the wrong
// parameter, and no answer contains the text of a message.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator, sendMany, until, userCommand } from './operator.mjs';
import { problem, time } from './expect.mjs';
import { eventually, expectStatus, freshName, serverForFile, users, uuid7 } from './harness.mjs';

const CANARY = 'a-text-that-is-nobody-s-business';
const LATER = '2099-01-01T00:00:00Z';

let root, ann, bob, cid;
const server = serverForFile({ before, after, afterEach }, async () => {
	[root, [ann, bob, cid]] = await Promise.all([operator(server), users(server, 'ann', 'bob', 'cid')]);
}, { unlimited: 'one administrator makes every call' });

const secret = { body: CANARY, metadata: { [CANARY]: CANARY } };

describe('R67 R371 R372 R373 the figures', () => {
	it('R370 count messages by state, and give the age of the oldest that waits', async () => {
		const was = await root.ask('stats');
		const { id } = await ann.send(bob.name, CANARY);
		await until(ann, id, 'sent');
		await root.pause();
		await sendMany(ann, bob.name, 3, secret);
		await ann.send(bob.name, CANARY, { deliver_at: LATER });
		const { id: canceled } = await ann.send(bob.name, CANARY, { deliver_at: LATER });
		expectStatus(await ann.delete(`/v1/outbox/${canceled}`), 200);
		const is = await root.ask('stats');
		time(is.at);
		assert.equal(is.states.pending, was.states.pending + 3);
		assert.equal(is.states.scheduled, was.states.scheduled + 1);
		assert.equal(is.states.canceled, was.states.canceled + 1);
		assert.equal(is.states.sent, was.states.sent + 1);
		assert.equal(is.totals.accepted, was.totals.accepted + 6);
		assert.equal(is.totals.sent, was.totals.sent + 1);
		assert.equal(is.totals.canceled, was.totals.canceled + 1);
		assert.ok(is.oldest_pending_age_ms >= 0 && is.oldest_pending_age_ms < 60_000);
		assert.ok(is.average_latency_ms >= 0 && is.average_latency_ms < 60_000);
		assert.equal(is.stuck_sending, 0);
		assert.equal(is.near_failure, 0);
		assert.equal(is.retry_rate, 0);
		assert.equal(is.limits.max_pending, 1000);
		assert.deepEqual(is.alerts, []);
		assert.ok(Number.isInteger(is.wal_bytes) && is.wal_bytes >= 0);
		assert.ok(Number.isInteger(is.relay.last_turn_age_ms) && is.relay.last_turn_age_ms >= 0);
		const later = await eventually(async () => {
			const now = await root.ask('stats');
			return now.oldest_pending_age_ms > is.oldest_pending_age_ms && now;
		}, 'what waits grows older');
		assert.equal(later.states.pending, is.states.pending);
		await root.resume();
		await eventually(async () => (await root.ask('stats')).states.pending === 0, 'all is sent');
		assert.equal((await root.ask('stats')).oldest_pending_age_ms, null);
	});
});

describe('a destination', () => {
	it('says what waits for it, who paused it and why', async () => {
		const paused = await root.pause('local', 'the disk is being changed');
		assert.equal(paused.name, 'local');
		assert.equal(paused.paused_by, root.name);
		assert.equal(paused.pause_reason, 'the disk is being changed');
		time(paused.paused_at);
		await sendMany(ann, bob.name, 2, secret);
		await sendMany(bob, ann.name, 1, secret);
		const here = await root.destination('local');
		assert.equal(here.pending, 3);
		assert.deepEqual(here.ages, [3, 0, 0, 0, 0, 0, 0, 0]);
		assert.equal(here.truncated, false);
		assert.equal(here.breaker, 'closed');
		assert.ok(Number.isInteger(here.oldest_pending_age_ms) && here.oldest_pending_age_ms >= 0);
		const resumed = await root.resume();
		assert.equal(resumed.paused_at, null);
		assert.equal(resumed.paused_by, null);
		assert.equal(resumed.pause_reason, null);
		await eventually(async () => (await root.destination('local')).pending === 0, 'all is sent');
	});

	it('all of them can be paused at once', async () => {
		await root.pause('*');
		const { id } = await ann.send(bob.name, CANARY);
		assert.equal((await root.destination('local')).pending, 1);
		assert.equal((await ann.entry(id)).state, 'pending');
		await root.resume('*');
		await until(ann, id, 'sent');
	});

	it('the inboxes here, and all destinations together, have no rate: it would hold nothing back', async () => {
		for (const name of ['local', '*']) {
			problem(await root.request('PATCH', `/v1/admin/destinations/${name}`, { json: { per_second: 5000 } }),
				400, 'bad_request', '/per_second');
			assert.equal((await root.do('PATCH', `destinations/${name}`, { per_second: null })).per_second, null);
		}
	});

	it('one that nobody has written to is 404', async () => {
		for (const [method, tail, json] of [['POST', '/pause'], ['POST', '/resume'],
			['PATCH', '', { per_second: 1 }]]) {
			problem(await root.request(method, `/v1/admin/destinations/nowhere.example${tail}`,
				{ json }), 404, 'not_found');
		}
	});

	it('the list has a page and age limits', async () => {
		const { destinations, age_limits_ms, next } = await root.ask('destinations?limit=1');
		assert.deepEqual(destinations.map((one) => one.name), ['*']);
		assert.equal(next, '*');
		assert.deepEqual(age_limits_ms, [60_000, 300_000, 600_000, 1_200_000, 2_400_000, 4_800_000, 9_600_000]);
		const names = (await root.all('destinations', 'destinations', 1)).map((one) => one.name);
		assert.deepEqual(names, ['*', 'local']);
	});
});

describe('messages', () => {
	let sent, waiting, scheduled, canceled, acked;
	const ids = async (query, limit) =>
		(await root.all(`outbox?sender=${ann.name}&${query}`, 'entries', limit)).map((one) => one.id);

	before(async () => {
		[ann] = await users(server, 'ann');
		const inbox = (await bob.inbox()).head;
		acked = await sendMany(ann, bob.name, 3, secret);
		await bob.received(acked[2]);
		await bob.ack((await bob.inbox()).head);
		await until(ann, acked[2], 'acked');
		assert.ok((await bob.inbox()).head > inbox);
		sent = await sendMany(ann, bob.name, 4, secret);
		await until(ann, sent[3], 'sent');
		scheduled = await sendMany(ann, bob.name, 2, { ...secret, deliver_at: LATER });
		[canceled] = await sendMany(ann, bob.name, 1, { ...secret, deliver_at: LATER });
		expectStatus(await ann.delete(`/v1/outbox/${canceled}`), 200);
		await root.pause();
		waiting = await sendMany(ann, cid.name, 5, secret);
	});

	after(() => root.resume());

	it('by state, newest first', async () => {
		assert.deepEqual(await ids('state=acked'), [...acked].reverse());
		assert.deepEqual(await ids('state=sent'), [...sent].reverse());
		assert.deepEqual(await ids('state=pending'), [...waiting].reverse());
		assert.deepEqual(await ids('state=scheduled'), [...scheduled].reverse());
		assert.deepEqual(await ids('state=canceled'), [canceled]);
		for (const state of ['sending', 'failed', 'expired'])
			assert.deepEqual(await ids(`state=${state}`), []);
	});

	it('in pages of any size, without holes or doubles', async () => {
		const all = [...acked, ...sent, ...scheduled, canceled, ...waiting].reverse();
		for (const limit of [1, 2, 3, 7, 15, 16, 200]) {
			assert.deepEqual(await ids('', limit), all, `pages of ${limit}`);
			assert.deepEqual(await ids('state=pending', limit), [...waiting].reverse(), `pages of ${limit}`);
			assert.deepEqual(await ids('state=acked', limit), [...acked].reverse(), `pages of ${limit}`);
		}
	});

	it('a page that began before others came goes on where it was', async () => {
		const first = await root.ask(`outbox?sender=${ann.name}&limit=4`);
		const [late] = await sendMany(ann, cid.name, 1, secret);
		waiting.push(late);
		const rest = await root.ask(`outbox?sender=${ann.name}&limit=200&before=${first.next}`);
		assert.deepEqual([...first.entries, ...rest.entries].map((one) => one.id),
			[...acked, ...sent, ...scheduled, canceled, ...waiting.slice(0, -1)].reverse());
	});

	it('by destination and by sender', async () => {
		assert.equal((await ids('destination=local')).length, 16);
		assert.equal((await ids('destination=*')).length, 16);
		const own = await root.all(`outbox?sender=${bob.name}`, 'entries');
		assert.ok(own.length > 0 && own.every((one) => one.from === bob.name));
	});

	it('R371 R373 stuck and near failure: none are', async () => {
		assert.deepEqual(await ids('stuck=30m'), []);
		assert.deepEqual(await ids('near_failure=3'), []);
	});

	it('an entry says how it fares', async () => {
		const { entries: [entry] } = await root.ask(`outbox?sender=${ann.name}&state=pending&limit=1`);
		assert.equal(entry.from, ann.name);
		assert.equal(entry.to, cid.name);
		assert.equal(entry.destination, 'local');
		assert.equal(entry.event_type, 'message.send');
		assert.equal(entry.priority, 'normal');
		assert.equal(entry.reason, null);
		assert.equal(entry.attempts, 0);
		assert.ok(entry.lane_seq > 0 && entry.lane_id > 0);
		assert.ok(time(entry.expires_at) > time(entry.created_at));
		const { entries: [later] } = await root.ask(`outbox?sender=${ann.name}&state=scheduled&limit=1`);
		assert.deepEqual(later.labels, ['scheduled']);
		assert.equal(later.lane_seq, null);
	});

	it('one with its rows and what happened to it, in order', async () => {
		const { id } = await ann.send(bob.name, CANARY, { correlation_id: 'order-17', deliver_at: LATER });
		const message = await root.ask(`outbox/${id}`);
		assert.equal(message.id, id);
		assert.equal(message.from, ann.name);
		assert.equal(message.correlation_id, 'order-17');
		assert.equal(message.conversation_seq, null);
		assert.deepEqual(message.rows.map((row) => [row.id, row.to, row.attempts, row.attempt_count]),
			[[id, bob.name, [], 0]]);
		assert.deepEqual(message.rows[0].timeline.map((step) => step.event), ['accepted', 'scheduled']);
		expectStatus(await ann.delete(`/v1/outbox/${id}`), 200);
		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.equal(row.state, 'canceled');
		assert.deepEqual(row.timeline.map((step) => step.event), ['accepted', 'scheduled', 'canceled']);
	});

	it('one that was read says so', async () => {
		const { seq } = await bob.received(acked[0]);
		await bob.read({ upto: seq });
		await ann.entryWhen(acked[0], (e) => e.labels.includes('read'), 'is read');
		const message = await root.ask(`outbox/${acked[0]}`);
		assert.deepEqual(message.rows[0].labels, ['read']);
		assert.deepEqual(message.rows[0].timeline.map((step) => step.event), ['accepted', 'sent', 'acked', 'read']);
		const times = message.rows[0].timeline.map((step) => time(step.at));
		assert.deepEqual(times, [...times].sort((a, b) => a - b));
	});

	it('one that nobody sent is 404', async () => {
		problem(await root.get(`/v1/admin/outbox/${uuid7()}`), 404, 'not_found');
		problem(await root.get('/v1/admin/outbox/17'), 404, 'not_found');
	});

	it('lanes say what they hold', async () => {
		const lanes = await root.all('lanes?destination=local&state=local', 'lanes', 2);
		const numbers = lanes.map((one) => one.lane_id);
		assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
		const lane = lanes.find((one) => one.to === cid.name && one.pending > 0);
		assert.equal(lane.pending, waiting.length);
		assert.equal(lane.class, 'messages');
		assert.equal(lane.tail_seq, waiting.length);
		assert.equal(lane.next_seq, 1);
		assert.equal(lane.last_published_seq, 0);
		for (const state of ['idle', 'ready', 'leased'])
			assert.deepEqual(await root.all(`lanes?state=${state}`, 'lanes'), []);
		// A message that is in an inbox here is never offered again.
		problem(await root.post(`/v1/admin/lanes/${lane.lane_id}/rewind`, { seq: 1 }), 409, 'conflict');
	});

	it('users with what waits of theirs', async () => {
		const all = await root.all('users', 'users', 2);
		const names = all.map((one) => one.name);
		assert.deepEqual(names, [...new Set(names)].sort());
		const one = all.find((user) => user.name === ann.name);
		assert.deepEqual({ ...one, created_at: null }, { name: ann.name, display_name: null, admin: false,
			disabled_at: null, created_at: null, devices: 1, pending: waiting.length });
		assert.equal(all.find((user) => user.name === root.name).admin, true);
		assert.equal((await root.ask('users?limit=1')).truncated, false);
	});
});

describe('what operators do is written down', () => {
	it('by the admin routes', async () => {
		const { entries: [was] } = await root.ask('audit?limit=1');
		await root.pause('local', 'a reason');
		const { id } = await ann.send(bob.name, CANARY);
		await root.do('POST', `outbox/${id}/retry`);
		await root.do('POST', `outbox/${id}/discard`);
		await root.do('PATCH', 'destinations/local', { per_second: null });
		await root.resume();
		// A refused request leaves no entry in the audit log.
		problem(await root.post('/v1/admin/destinations/nowhere.example/pause'), 404, 'not_found');
		const news = (await root.all('audit', 'entries', 2)).filter((one) => one.audit_id > was.audit_id);
		assert.deepEqual(news.map((one) => [one.action, one.object]), [['resume', 'local'],
			['rate', 'local'], ['discard', id], ['retry', id], ['pause', 'local']]);
		assert.ok(news.every((one) => one.actor === root.name));
		assert.equal(news[4].detail, 'a reason');
		news.forEach((one) => time(one.at));
	});

	it('and on the command line', async () => {
		const name = freshName('dora');
		assert.equal((await userCommand(server, ['add', name, '--password-stdin'])).code, 0);
		assert.equal((await userCommand(server, ['passwd', name, '--password-stdin'])).code, 0);
		assert.equal((await userCommand(server, ['disable', name])).code, 0);
		assert.notEqual((await userCommand(server, ['add', name, '--password-stdin'])).code, 0);
		const mine = (await root.all('audit', 'entries')).filter((one) => one.object === name);
		assert.deepEqual(mine.map((one) => [one.actor, one.action, one.detail]), [
			['operator', 'user_disable', null], ['operator', 'user_passwd', null],
			['operator', 'user_add', null]]);
		const gone = (await root.all('users', 'users')).find((one) => one.name === name);
		time(gone.disabled_at);
	});
});

describe('bad input is refused by name', () => {
	const queries = {
		'stats': ['colour=red'],
		'outbox': ['state=lost', 'state=', 'state=retrying', 'stuck=soon', 'stuck=0s', 'stuck=-1m', 'stuck=',
			'near_failure=10', 'near_failure=-1', 'near_failure=x', 'before=x', 'before=-1',
			'before=99999999999999999999', 'limit=0', 'limit=201', 'limit=x', 'sender=nobody-at-all',
			'destination=nowhere.example', 'colour=red', 'limit=1&limit=2'],
		'dead-letters': ['reason=boredom', 'reason=', 'resolved=perhaps', 'before=x', 'limit=0',
			'sender=nobody-at-all', 'destination=nowhere.example', 'colour=red', 'state=failed'],
		'dead-letters/export': ['reason=boredom', 'resolved=perhaps', 'sender=nobody-at-all',
			'destination=nowhere.example', 'before=1', 'limit=1'],
		'destinations': ['limit=0', 'limit=201', 'before=1', 'colour=red'],
		'lanes': ['state=lost', 'destination=nowhere.example', 'after=x', 'limit=0', 'before=1', 'sender=x'],
		'users': ['limit=0', 'before=1', 'colour=red'],
		'audit': ['before=x', 'limit=0', 'after=1'],
	};

	for (const [path, all] of Object.entries(queries)) {
		for (const query of all) {
			it(`GET ${path}?${query}`, async () => {
				const answer = await root.get(`/v1/admin/${path}?${query}`);
				problem(answer, 400, 'bad_request');
				assert.match(answer.body.detail, new RegExp(`"${query.replace(/=.*/, '')}"`));
			});
		}
	}

	const many = [
		[undefined, ''], [[], ''], [{}, ''], [{ dead_ids: [1], filter: {} }, ''],
		[{ dead_ids: [] }, '/dead_ids'], [{ dead_ids: 'all' }, '/dead_ids'], [{ dead_ids: ['1'] }, '/dead_ids'],
		[{ dead_ids: [1.5] }, '/dead_ids'], [{ dead_ids: Array(1001).fill(1) }, '/dead_ids'],
		[{ dead_ids: [1], limit: 5 }, '/limit'], [{ filter: {}, limit: 0 }, '/limit'],
		[{ filter: {}, limit: 1001 }, '/limit'], [{ filter: {}, limit: 'all' }, '/limit'],
		[{ filter: [] }, '/filter'], [{ filter: { reason: 'boredom' } }, '/filter/reason'],
		[{ filter: { reason: '' } }, '/filter/reason'], [{ filter: { reason: 7 } }, '/filter/reason'],
		[{ filter: { sender: 'nobody-at-all' } }, '/filter/sender'],
		[{ filter: { destination: 'nowhere.example' } }, '/filter/destination'],
		[{ filter: { destination: 'x'.repeat(300) } }, '/filter/destination'],
		[{ filter: { colour: 'red' } }, '/filter/colour'], [{ colour: 'red', filter: {} }, '/colour'],
	];
	const bodies = [
		...['requeue', 'discard'].flatMap((what) => many.map(([json, pointer]) =>
			['POST', `dead-letters/${what}`, json, pointer])),
		['PATCH', 'destinations/local', {}, '/per_second'],
		['PATCH', 'destinations/local', { per_second: 0 }, '/per_second'],
		['PATCH', 'destinations/local', { per_second: 1.5 }, '/per_second'],
		['PATCH', 'destinations/local', { per_second: 1000001 }, '/per_second'],
		['PATCH', 'destinations/local', { per_second: '5' }, '/per_second'],
		['PATCH', 'destinations/local', { per_second: 1, name: 'x' }, '/name'],
		['POST', 'destinations/local/pause', { reason: 7 }, '/reason'],
		['POST', 'destinations/local/pause', { reason: 'x'.repeat(513) }, '/reason'],
		['POST', 'destinations/local/pause', { colour: 'red' }, '/colour'],
		['POST', 'destinations/local/resume', { reason: 'x' }, '/reason'],
		['POST', 'lanes/1/rewind', undefined, ''],
		['POST', 'lanes/1/rewind', {}, '/seq'],
		['POST', 'lanes/1/rewind', { seq: 0 }, '/seq'],
		['POST', 'lanes/1/rewind', { seq: 'first' }, '/seq'],
		['POST', 'lanes/1/rewind', { seq: 1, lane: 2 }, '/lane'],
		['POST', 'lanes/1/rewind', { since: 'yesterday' }, '/since'],
		['POST', 'lanes/1/rewind', { since: 1_700_000_000 }, '/since'],
		['POST', 'lanes/1/rewind', { seq: 1, since: '2030-01-31T09:00:00Z' }, '/since'],
		['POST', `outbox/${uuid7()}/retry`, { force: true }, '/force'],
		['POST', `outbox/${uuid7()}/discard`, { reason: 'x' }, '/reason'],
	];

	for (const [method, path, json, pointer] of bodies) {
		it(`${method} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]+/, '{id}')} ${JSON.stringify(json)?.slice(0, 60)}`, async () => {
			problem(await root.request(method, `/v1/admin/${path}`, { json }), 400, 'bad_request',
				pointer === '' ? undefined : pointer);
		});
	}

	it('nothing of it was done', async () => {
		const here = await root.destination('local');
		assert.equal(here.paused_at, null);
		assert.equal(here.per_second, null);
	});

	it('what is not there is 404', async () => {
		for (const path of [`outbox/${uuid7()}/retry`, `outbox/${uuid7()}/discard`, 'outbox/x/retry'])
			problem(await root.post(`/v1/admin/${path}`), 404, 'not_found');
		for (const lane of ['999999999', 'x', '0'])
			problem(await root.post(`/v1/admin/lanes/${lane}/rewind`, { seq: 1 }), 404, 'not_found');
	});
});

describe('the admin routes are for administrators', () => {
	const routes = [['GET', 'stats'], ['GET', 'outbox'], ['GET', 'dead-letters'],
		['GET', 'dead-letters/export'], ['GET', 'destinations'], ['GET', 'lanes'], ['GET', 'users'],
		['GET', 'audit'], ['POST', 'destinations/local/pause'], ['POST', 'dead-letters/requeue']];

	for (const [method, path] of routes) {
		it(`${method} ${path}`, async () => {
			problem(await ann.request(method, `/v1/admin/${path}`), 403, 'forbidden');
			problem(await server.rest().request(method, `/v1/admin/${path}`), 401, 'unauthenticated');
		});
	}
});

describe('what messages say', () => {
	it('is in no answer of the admin routes', () => {
		assert.ok(root.said.length > 10_000, 'there were few answers');
		assert.ok(root.said.includes(ann.name) && root.said.includes('order-17'));
		assert.ok(!root.said.includes(CANARY), 'an answer contained the text of a message');
	});
});
