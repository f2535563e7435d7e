// SPDX-License-Identifier: MIT
//
// Messages to other servers, which the fault carrier plays: the way of a
// message, what is charged to it and what to its destination, and how it ends.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { operator } from '../e2e/operator.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { eventually, expectStatus, users } from '../e2e/harness.mjs';
import { entryWhen, faultServer, Peer, skip } from './remote.mjs';

describe('other servers', { skip }, () => {
	it('a message goes out, once, and its sender sees it sent (R5, R7, R32, R249, R254)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'ok');
		const entry = await ann.send('bob@ok.fault.test', 'hello there');

		assert.equal(entry.state, 'pending');
		assert.equal(entry.to, 'bob@ok.fault.test');
		const [got] = await peer.gets(1);
		assert.equal(got.id, entry.id);
		assert.equal(got.to, 'bob@ok.fault.test');
		assert.equal(got.from, ann.name);
		assert.equal(got.place, 1);
		assert.equal(got.attempt, 1);
		const sent = await entryWhen(ann, entry.id, (e) => e.state === 'sent', 'it is sent');
		assert.equal(sent.attempts, 1);
		assert.equal(sent.retry_count, 0);
		assert.ok(sent.sent_at);
		// The sender's inbox has their own copy, and no bounce.
		assert.deepEqual((await ann.inbox()).events.map((e) => [e.kind, e.own]), [['message', true]]);
	});

	it('order is kept, whatever is lost, doubled and refused (R41, R42, R53, R55)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'bad');
		const ids = [];

		peer.does({ lost: 30, double: 20, latency: 3 });
		for (let i = 0; i < 60; i++)
			ids.push((await ann.send('bob@bad.fault.test', `number ${i}`)).id);
		const got = await peer.gets(60);
		assert.deepEqual(got.map((g) => g.id), ids);
		await entryWhen(ann, ids.at(-1), (e) => e.state === 'sent', 'the last is sent');
		peer.does({});
		for (const id of ids)
			await entryWhen(ann, id, (e) => e.state === 'sent' && e.retry_count === 0,
				'each is sent, and charged nothing for answers that were lost');
	});

	it('what is refused for now is charged and offered again at its time (R8, R44, R66)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'full');

		peer.does({ retry: 100 });
		const { id } = await ann.send('bob@full.fault.test', 'first');
		const second = await ann.send('bob@full.fault.test', 'second');
		const waits = await entryWhen(ann, id, (e) => e.retry_count >= 1, 'it waits for a retry');
		assert.equal(waits.state, 'pending');
		assert.equal(waits.last_error, 'inbox_full');
		const delay = Date.parse(waits.next_retry_at) - Date.parse(waits.last_attempt_at);
		assert.ok(delay >= 700 && delay <= 2500, `first retry after ${delay} ms`);
		assert.ok(waits.labels.includes('retrying'));
		// The message behind it is not charged.
		const behind = await ann.entry(second.id);
		assert.equal(behind.retry_count, 0);
		peer.does({});
		assert.deepEqual((await peer.gets(2)).map((g) => g.id), [id, second.id]);
	});

	it('what is rejected fails with a reason and a bounce; the lane goes on (R309, R318, R320)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const ws = await ann.ws({ outbox: true });
		const peer = new Peer(server, 'no');

		peer.does({ reject: 100 });
		const { id } = await ann.send('bob@no.fault.test', 'unwanted');
		const failed = await entryWhen(ann, id, (e) => e.state === 'failed', 'it has failed');
		assert.equal(failed.last_error, 'unknown_recipient');
		const bounce = await ann.event((e) => e.kind === 'bounce', 'the bounce');
		assert.equal(bounce.of, id);
		assert.equal(bounce.state, 'failed');
		assert.equal(bounce.to, 'bob@no.fault.test');
		assert.match(bounce.reason, /rejected/);
		const pushed = await ws.wait((f) => f.type === 'event' && f.kind === 'bounce', 'the bounce');
		assert.deepEqual({ ...pushed, type: undefined }, { ...bounce, type: undefined });
		peer.does({});
		const next = await ann.send('bob@no.fault.test', 'wanted');
		assert.deepEqual((await peer.gets(1)).map((g) => g.id), [next.id]);
		await ws.close();
	});

	it('an outage is the destination\'s: nothing is charged, all of it arrives (R3, R91, R92, R100)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'away');
		const other = new Peer(server, 'here');
		const ids = [];

		peer.does({ down: 1 });
		for (let i = 0; i < 30; i++)
			ids.push((await ann.send('bob@away.fault.test', `${i}`)).id);
		const first = await entryWhen(ann, ids[0], (e) => e.attempts >= 6 && e.state === 'pending',
			'the breaker has opened');
		assert.equal(first.retry_count, 0);
		assert.equal(first.state, 'pending');
		// The other destinations do not wait for this one.
		const { id } = await ann.send('bob@here.fault.test', 'meanwhile');
		assert.equal((await other.gets(1))[0].id, id);
		peer.does({});
		assert.deepEqual((await peer.gets(30)).map((g) => g.id), ids);
		assert.match(server.output(), /destination=away\.fault\.test state=open/);
		// The peer has the last message before this process sees the
		// log, which may arrive later.
		await eventually(() => /destination=away\.fault\.test state=closed/.test(server.output()),
			'the breaker closes');
	});

	it('what it answers to the whole is its error, and the message\'s (R35, R36)', async (t) => {
		const server = await faultServer(t);
		const [root, [ann]] = await Promise.all([operator(server), users(server, 'ann')]);
		const peer = new Peer(server, 'ill');

		peer.does({ status: 503 });
		const { id } = await ann.send('bob@ill.fault.test', 'are you well?');
		const waits = await entryWhen(ann, id, (e) => e.attempts >= 1 && e.state === 'pending', 'it is put off');
		assert.equal(waits.last_error, 'HTTP 503');
		assert.equal(waits.retry_count, 0);
		assert.equal((await root.destination('ill.fault.test')).last_error, 'HTTP 503');
		peer.does({ status: 418 });
		await entryWhen(ann, id, (e) => e.last_error === 'HTTP 418', 'it says something else');
		peer.does({});
		await entryWhen(ann, id, (e) => e.state === 'sent', 'it is sent');
		const [row] = (await root.ask(`outbox/${id}`)).rows;
		assert.deepEqual([row.attempts[0].outcome, row.attempts[0].error], ['unavailable', 'HTTP 503']);
	});

	it('many that say nothing do not hold up one that answers (R3, R100)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const other = new Peer(server, 'here');

		await ann.send('bob@here.fault.test', 'it answers');
		await other.gets(1);
		// Each destination holds a parcel for 20 s.  There are 16
		// parcels at most.
		const mute = [];
		for (let i = 0; i < 20; i++) {
			new Peer(server, `mute${i}`).does({ silent: 1 });
			mute.push((await ann.send(`bob@mute${i}.fault.test`, 'is anybody there?')).id);
		}
		for (let i = 0; i < 3; i++)
			await ann.send('bob@here.fault.test', `${i}`);
		assert.equal((await other.gets(4)).length, 4);
		// None of these requests has been aborted to make room.
		const entries = await Promise.all(mute.map((id) => ann.entry(id)));
		assert.ok(entries.some((e) => e.state === 'sending'));
		assert.ok(entries.every((e) => e.last_error === null || e.last_error === undefined));
	});

	it('a kill at any time loses nothing and doubles nothing (R4, R89, R90)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');
		const peer = new Peer(server, 'far');
		const ids = [];

		peer.does({ latency: 40, lost: 20 });
		for (let round = 0; round < 6; round++) {
			for (let i = 0; i < 8; i++)
				ids.push((await ann.send('bob@far.fault.test', `${round} ${i}`)).id);
			await server.kill();
			await server.start();
		}
		peer.does({});
		assert.deepEqual((await peer.gets(ids.length)).map((g) => g.id), ids);
		for (const id of ids) {
			const entry = await entryWhen(ann, id, (e) => e.state === 'sent', 'sent');
			assert.equal(entry.retry_count, 0);
		}
		await server.stop();
		await assertSound(server);
		assert.equal(peer.has().length, ids.length);
	});

	it('the sender of a message that expires is notified (R13)', async (t) => {
		const server = await faultServer(t);
		const [ann] = await users(server, 'ann');

		new Peer(server, 'late').does({ down: 1 });
		const { id } = await ann.send('bob@late.fault.test', 'soon over', { expires_in: '1s' });
		await entryWhen(ann, id, (e) => e.state === 'expired', 'it has expired');
		const bounce = await ann.event((e) => e.kind === 'bounce', 'the bounce');
		assert.equal(bounce.state, 'expired');
		assert.equal(bounce.of, id);
	});

	it('a sender may have a limited number waiting, and learns when to come back (R39, R74, R77, R78)', async (t) => {
		const server = await faultServer(t, { args: ['--max-pending', '5'] });
		const [ann, eve] = await users(server, 'ann', 'eve');

		new Peer(server, 'slow').does({ down: 1 });
		for (let i = 0; i < 5; i++)
			await ann.send('bob@slow.fault.test', `${i}`);
		const full = expectStatus(
			await ann.post('/v1/messages', { to: 'bob@slow.fault.test', body: 'too much' }), 429);
		assert.equal(full.body.code, 'queue_full');
		assert.ok(Number(full.headers.get('retry-after')) >= 1);
		expectStatus(await ann.post('/v1/messages', { to: eve.name, body: 'also not' }), 429);
		expectStatus(await ann.post('/v1/messages', { to: eve.name, body: 'nor later',
			deliver_at: new Date(Date.now() + 3_600_000).toISOString() }), 429);
		// Other users are not affected, and received messages still
		// cause receipts.
		const { id } = await eve.send(ann.name, 'hello');
		const event = await ann.received(id);
		await ann.ack(event.seq);
		await eve.event((e) => e.kind === 'receipt', 'the receipt');
	});

	it('what has expired waits again where its sender has room for it', async (t) => {
		const server = await faultServer(t, { args: ['--max-pending', '3'] });
		const [ann] = await users(server, 'ann');

		new Peer(server, 'slow').does({ down: 1 });
		const { id } = await ann.send('bob@slow.fault.test', 'over', { expires_in: '1s' });
		await entryWhen(ann, id, (e) => e.state === 'expired', 'it has expired');
		const others = [];
		for (let i = 0; i < 3; i++)
			others.push((await ann.send('bob@slow.fault.test', `${i}`)).id);
		const full = expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 429);
		assert.equal(full.body.code, 'queue_full');
		expectStatus(await ann.post(`/v1/outbox/${others[0]}/retry`), 200);
		expectStatus(await ann.delete(`/v1/outbox/${others[2]}`), 200);
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
	});
});
