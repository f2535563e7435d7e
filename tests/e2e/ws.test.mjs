// SPDX-License-Identifier: MIT
// tags: store
//
// The WebSocket twinbox.v1 as a good client uses it: hello, events, caught_up,
// window, ack, read, send, outbox frames, instances, typing, resuming.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { onPostgres } from './backend.mjs';
import { accepted, bare, contiguous, entryForm, messageEvent, problemBody } from './expect.mjs';
import {
	Ws, eventsBy, eventually, expectStatus, filled as filledAt, serverForFile, startServer, users,
	uuid7,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

const filled = (n) => filledAt(server, n);

describe('hello', () => {
	it('beyond the head in this epoch ends with 1013 where another node may be ahead', async () => {
		const { bob } = await filled(2);
		const { epoch } = (await bob.get('/v1/inbox')).body;
		const ws = new Ws(server);
		await ws.opened();
		ws.send({ type: 'hello', id: 1, token: bob.token, after: `${epoch}:3` });
		assert.equal((await ws.closing()).code, onPostgres ? 1013 : 4410);
	});

	it('is answered by a welcome with the state of the inbox', async () => {
		const { bob } = await filled(3);
		await bob.ack(1);
		const ws = await bob.ws();
		const { welcome } = ws;
		const { epoch } = (await bob.get('/v1/inbox')).body;
		assert.equal(welcome.user, bob.name);
		assert.equal(welcome.epoch, epoch);
		assert.equal(welcome.head, 3);
		assert.equal(welcome.oldest, 1);
		assert.equal(welcome.acked, 1);
		assert.equal(welcome.unread, 3);
		assert.equal(welcome.recovered, true);
		assert.equal(welcome.ping_ms, 25_000);
		assert.equal(welcome.window, 256);
		assert.ok(welcome.session);
		assert.equal(ws.socket.protocol, 'twinbox.v1');
		await ws.close();
	});

	it('the token may be on the upgrade instead', async () => {
		const { bob } = await filled(1);
		const ws = new Ws(server, { headers: { authorization: `Bearer ${bob.token}` } });
		await ws.opened();
		const welcome = await ws.hello();
		assert.equal(welcome.user, bob.name);
		await ws.type('caught_up');
		await ws.close();
	});

	it('the id of a request comes back as re', async () => {
		const { bob } = await filled(0);
		const ws = new Ws(server, { token: bob.token });
		await ws.opened();
		ws.send({ type: 'hello', id: 4711, token: bob.token });
		assert.equal((await ws.type('welcome')).re, 4711);
		await ws.close();
	});
});

describe('R137 R207 R222 R423 events', () => {
	it('what is there comes first, then caught_up, then what arrives', async () => {
		const { ann, bob } = await filled(3);
		const ws = await bob.ws({ after: '0' });
		const caught = await ws.type('caught_up');
		assert.equal(caught.seq, 3);
		assert.deepEqual(ws.events().map((e) => e.seq), [1, 2, 3]);
		const entry = await ann.send(bob.name, 'live');
		const event = await ws.received(entry.id);
		messageEvent(event, { id: entry.id, from: ann.name, to: bob.name, body: 'live' });
		assert.equal(event.seq, 4);
		await ws.close();
	});

	it('caught_up comes after the last one, however large they are', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		let last;

		// The events are larger than a page in bytes (64 KiB), but
		// fewer than a page in number (64).
		for (let i = 0; i < 60; i++)
			last = await ann.send(bob.name, `${i}`.padEnd(3000, 'x'));
		await bob.received(last.id);
		const ws = await bob.ws({ after: '0' });
		assert.equal((await ws.type('caught_up')).seq, 60);
		contiguous(ws.events());
		assert.equal(ws.events().length, 60);
		await ws.close();
	});

	it('are the same as those of REST, member by member', async () => {
		const { ann, bob, conversation } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		const watching = await ann.ws({ after: '0' });
		await ann.send(bob.name, 'live', { metadata: { a: 'b' }, correlation_id: 'c',
			content_type: 'text/markdown' });
		await ws.upTo(3);
		await bob.ack(3);
		await watching.event((e) => e.kind === 'receipt', 'a receipt');
		await bob.read({ conversation, upto_conversation_seq: 3 });
		await watching.event((e) => e.kind === 'receipt' && e.state === 'read', 'a read receipt');
		await ws.event((e) => e.kind === 'read', 'a read event');
		const timeless = ({ read_at: _ignored, ...event }) => event;
		for (const [user, socket] of [[bob, ws], [ann, watching]]) {
			const { events } = await user.inbox();
			assert.deepEqual(socket.events().map(bare).map(timeless), events.map(timeless));
			contiguous(socket.events());
		}
		await ws.close();
		await watching.close();
	});

	it('after says where to begin, with or without the epoch', async () => {
		const { bob } = await filled(4);
		for (const after_it of ['2', `${(await bob.inbox()).epoch}:2`]) {
			const ws = await bob.ws({ after: after_it });
			await ws.type('caught_up');
			assert.deepEqual(ws.events().map((e) => e.seq), [3, 4]);
			await ws.close();
		}
	});

	it('without after it begins at what this device has acked', async () => {
		const { bob } = await filled(4);
		await bob.ack(3);
		const ws = await bob.ws();
		await ws.type('caught_up');
		assert.deepEqual(ws.events().map((e) => e.seq), [4]);
		await ws.close();
	});

	it('an empty inbox is caught up at once', async () => {
		const { bob } = await filled(0);
		const ws = await bob.ws();
		assert.equal((await ws.type('caught_up')).seq, 0);
		await ws.close();
	});

	it('nothing falls between hello and the first event', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const sockets = [];
		const ids = [];
		for (let i = 0; i < 40; i++) {
			const [{ id }, ws] = await Promise.all([
				ann.send(bob.name, `m ${i}`),
				bob.ws({ after: '0', instance: `i${i % 8}` }),
			]);
			ids.push(id);
			sockets.push(ws);
		}
		for (const [i, ws] of sockets.entries()) {
			if (i < 32) // a later connection of the same instance has replaced it
				continue;
			await ws.received(ids[39]);
			contiguous(ws.events());
		}
		await Promise.all(sockets.slice(32).map((ws) => ws.close()));
	});

	it('R216 R117 all sessions of all devices get them', async () => {
		const { ann, bob } = await filled(0);
		const phone = await bob.device('phone');
		const sockets = [await bob.ws({ instance: 'a' }), await bob.ws({ instance: 'b' }),
			await phone.ws()];
		const entry = await ann.send(bob.name, 'to all');
		for (const ws of sockets) {
			await ws.received(entry.id);
			await ws.close();
		}
	});
});

describe('R216 two devices of one user', () => {
	it('what one sends, acks and reads, the other sees', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const phone = await ann.device('phone');
		const [desktop, pocket] = [await ann.ws(), await phone.ws()];
		const mine = await ann.send(bob.name, 'from the desktop');
		for (const ws of [desktop, pocket])
			assert.equal((await ws.received(mine.id)).own, true);
		const theirs = await bob.send(ann.name, 'to both');
		for (const ws of [desktop, pocket])
			assert.equal((await ws.received(theirs.id)).own, false);
		await desktop.request({ type: 'ack', upto: 2 });
		assert.equal((await phone.get('/v1/inbox')).body.acked, 0, 'the other device acked as well');
		await desktop.request({ type: 'read', upto: 2 });
		const event = await pocket.event((e) => e.kind === 'read', 'the read event');
		assert.equal(event.conversation, mine.conversation);
		assert.equal(event.upto, 2);
		assert.equal((await phone.unread()).total, 0);
		assert.equal((await phone.get('/v1/inbox')).body.acked, 0);
		await Promise.all([desktop.close(), pocket.close()]);
	});

	it('an inbox replayed from its first event gives a new device the whole truth', async () => {
		const { ann, bob, conversation } = await filled(3);
		await bob.send(ann.name, 'an answer');
		await bob.read({ conversation, upto_conversation_seq: 2 });
		await ann.event((e) => e.kind === 'receipt' && e.state === 'read', 'the receipt');
		const tablet = await ann.device('tablet');
		const ws = await tablet.ws();
		await ws.type('caught_up');
		contiguous(ws.events());
		assert.deepEqual(ws.events().map(bare), (await ann.inbox()).events);
		await ws.close();
	});
});

describe('the window', () => {
	/**
	 * Makes bob with ${n} messages, runs ${does} for bob, and opens two
	 * sessions: one with a window of ${window} that begins before the
	 * messages, and a witness without such a limit.
	 */
	async function narrow(n, window, does = async () => {})
	{
		const { ann, bob } = await filled(n);

		await does(bob);
		return { ann, bob, ws: await bob.ws({ after: '0', window, instance: 'narrow' }),
			witness: await bob.ws({ instance: 'witness' }) };
	}

	it('never more than window un-acked events; an ack lets more through', async () => {
		const { ann, bob, ws, witness } = await narrow(10, 4);
		assert.equal(ws.welcome.window, 4);
		await ws.upTo(4);
		assert.equal((await eventsBy(ws, witness, ann, bob)).length, 4);
		ws.ack(2);
		await ws.upTo(6);
		assert.equal((await eventsBy(ws, witness, ann, bob)).length, 6);
		assert.ok(!ws.frames.some((frame) => frame.type === 'caught_up'));
		ws.ack(6);
		await ws.upTo(10);
		ws.ack(10);
		assert.equal((await ws.type('caught_up')).seq, 12);
		contiguous(ws.events());
		await Promise.all([ws.close(), witness.close()]);
	});

	it('opens by an ack that came by REST, too', async () => {
		const { ann, bob, ws, witness } = await narrow(3, 2);
		await ws.upTo(2);
		assert.equal((await eventsBy(ws, witness, ann, bob)).length, 2);
		await bob.post('/v1/inbox/ack', { upto: 2 });
		await ws.upTo(4);
		await ws.type('caught_up');
		contiguous(ws.events());
		await Promise.all([ws.close(), witness.close()]);
	});

	it('of one works', async () => {
		const { ann, bob, ws, witness } = await narrow(2, 1);
		for (let seq = 1; seq <= 2; seq++) {
			await ws.upTo(seq);
			assert.equal((await eventsBy(ws, witness, ann, bob)).length, seq);
			ws.ack(seq);
		}
		await ws.upTo(3);
		ws.ack(3);
		await ws.upTo(4);
		await ws.type('caught_up');
		await Promise.all([ws.close(), witness.close()]);
	});

	it('counts what this connection sent, not what was acked before', async () => {
		const { ann, bob, ws, witness } = await narrow(6, 3, async (user) => user.ack(6));
		await ws.upTo(6);
		await ws.type('caught_up');
		for (let i = 0; i < 5; i++)
			await ann.send(bob.name, `more ${i}`);
		await ws.upTo(9);
		assert.equal((await eventsBy(ws, witness, ann, bob)).length, 9);
		ws.ack(9);
		await ws.upTo(12);
		await Promise.all([ws.close(), witness.close()]);
	});

	it('a slow reader loses nothing: 2,000 events at a window of 16', async (t) => {
		const other = await startServer({ unlimited: 'one user sends 2,000 messages at once' });
		t.after(() => other.stop());
		const [ann, bob] = await users(other, 'ann', 'bob');
		const ws = await bob.ws({ after: '0', window: 16 });
		ws.onframe = (frame) => {
			if (frame.type === 'event' && frame.seq % 8 === 0)
				ws.ack(frame.seq);
		};
		for (let i = 0; i < 20; i++) {
			expectStatus(await ann.post('/v1/messages', Array.from({ length: 100 }, (_, j) =>
				({ id: uuid7(), to: bob.name, body: `m ${i * 100 + j}` }))), 200);
		}
		await ws.event((e) => e.seq === 2000, 'event 2000', { ms: 30_000 });
		contiguous(ws.events());
		assert.deepEqual(ws.events().map((e) => e.body),
			Array.from({ length: 2000 }, (_, i) => `m ${i}`));
		await ws.close();
	});
});

describe('R51 R140 ack and read', () => {
	it('ack moves the device and makes the receipt', async () => {
		const { ann, bob, entries } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		await ws.upTo(2);
		ws.ack(2);
		await ann.entryWhen(entries[1].id, (e) => e.state === 'acked', 'is acked');
		assert.equal((await bob.get('/v1/inbox')).body.acked, 2);
		await ws.close();
	});

	it('an ack with an id is answered', async () => {
		const { bob } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		const reply = await ws.request({ type: 'ack', upto: 1 });
		assert.equal(reply.type, 'ok');
		assert.equal(reply.acked, 1);
		assert.equal(reply.head, 2);
		await ws.close();
	});

	it('acked in one session, acked on the device', async () => {
		const { bob } = await filled(3);
		const ws = await bob.ws({ after: '0' });
		await ws.request({ type: 'ack', upto: 3 });
		await ws.close();
		const again = await bob.ws();
		assert.equal(again.welcome.acked, 3);
		await again.type('caught_up');
		assert.equal(again.events().length, 0);
		await again.close();
	});

	it('beyond the head is an error with re, and the session goes on', async () => {
		const { bob } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		const reply = await ws.request({ type: 'ack', upto: 99 });
		assert.equal(reply.type, 'error');
		problemBody(reply.problem, 'ack_beyond_head', '/upto');
		assert.equal(reply.problem.head, 2);
		assert.equal((await ws.request({ type: 'ack', upto: 2 })).acked, 2);
		await ws.close();
	});

	it('read by conversation', async () => {
		const { ann, bob, entries, conversation } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		const reply = await ws.request({ type: 'read', conversation, upto_conversation_seq: 1 });
		assert.equal(reply.unread, 1);
		await ann.entryWhen(entries[0].id, (e) => e.labels.includes('read'), 'is read');
		const event = await ws.event((e) => e.kind === 'read', 'the read event');
		assert.equal(event.upto, 1);
		await ws.close();
	});

	it('read by inbox number', async () => {
		const { ann, bob, entries } = await filled(2);
		const ws = await bob.ws({ after: '0' });
		await ws.upTo(2);
		ws.send({ type: 'read', upto: 2 });
		await ann.entryWhen(entries[1].id, (e) => e.labels.includes('read'), 'is read');
		assert.equal((await bob.get('/v1/inbox')).body.acked, 2);
		await ws.close();
	});
});

describe('send', () => {
	it('is answered by sent with the entry, after the commit', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws();
		const message = { id: uuid7(), to: bob.name, body: 'by socket', priority: 'high' };
		const reply = await ws.request({ type: 'send', message });
		assert.equal(reply.type, 'sent');
		assert.equal(reply.replayed, false);
		accepted(reply.entry);
		assert.equal(reply.entry.id, message.id);
		messageEvent(await bob.received(message.id), { id: message.id, from: ann.name,
			to: bob.name, body: 'by socket' });
		messageEvent(await ws.received(message.id), { id: message.id, from: ann.name,
			to: bob.name, body: 'by socket', own: true });
		await ws.close();
	});

	it('sixty-four in flight are all accepted, in the order of their frames', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws();
		const replies = await Promise.all(Array.from({ length: 64 }, (_, i) =>
			ws.request({ type: 'send', id: 1000 + i,
				message: { id: uuid7(), to: bob.name, body: `m ${i}` } })));
		assert.deepEqual(new Set(replies.map((reply) => reply.type)), new Set(['sent']));
		await eventually(async () => (await bob.get('/v1/inbox')).body.head === 64, '64 events');
		assert.deepEqual((await bob.inbox()).events.map((e) => e.body),
			Array.from({ length: 64 }, (_, i) => `m ${i}`));
		await ws.close();
	});

	it('of too many in flight each is accepted or answered with busy, and may be repeated', async (t) => {
		const other = await startServer({ unlimited: 'one user sends 300 messages at once' });
		t.after(() => other.stop());
		const [ann, bob] = await users(other, 'ann', 'bob');
		const ws = await ann.ws();
		let open = Array.from({ length: 300 }, (_, i) => ({ id: uuid7(), to: bob.name, body: `${i}` }));
		const ids = new Set(open.map((message) => message.id));
		for (let round = 0; open.length > 0; round++) {
			assert.ok(round < 50, 'it does not get through');
			const replies = await Promise.all(open.map((message) =>
				ws.request({ type: 'send', message })));
			replies.filter((reply) => reply.type === 'error').forEach(({ problem }) => {
				problemBody(problem, 'busy');
				assert.ok(problem.retry_after > 0);
			});
			open = open.filter((_message, i) => replies[i].type !== 'sent');
		}
		await eventually(async () => (await bob.get('/v1/inbox')).body.head === 300, '300 events');
		const { events } = await bob.inbox();
		assert.deepEqual(new Set(events.map((e) => e.id)), ids);
		await ws.close();
	});

	it('what is refused is an error with re; the session goes on', async () => {
		const [ann, bob, eve] = await users(server, 'ann', 'bob', 'eve');
		const ws = await ann.ws();
		const taken = await eve.send(bob.name, 'x', { id: uuid7() });
		const mine = await ann.send(bob.name, 'x', { id: uuid7() });
		for (const [message, code, pointer] of [
			[{ id: uuid7(), to: 'nobody-there', body: 'x' }, 'unknown_recipient', '/message/to'],
			[{ id: uuid7(), to: bob.name, body: '' }, 'bad_request', '/message/body'],
			[{ id: uuid7(), to: bob.name, body: 'x', colour: 'red' }, 'bad_request',
				'/message/colour'],
			[{ id: uuid7(), to: bob.name, body: 'x'.repeat(16385) }, 'body_too_large',
				'/message/body'],
			[{ id: taken.id, to: bob.name, body: 'x' }, 'conflict', '/message/id'],
			[{ id: mine.id, to: bob.name, body: 'y' }, 'key_reused', undefined],
		]) {
			const reply = await ws.request({ type: 'send', message });
			assert.equal(reply.type, 'error', JSON.stringify(reply));
			problemBody(reply.problem, code, pointer);
		}
		const reply = await ws.request({ type: 'send',
			message: { id: uuid7(), to: bob.name, body: 'good' } });
		assert.equal(reply.type, 'sent');
		await ws.close();
	});

	it('as with POST /v1/messages, the id may be left to the server', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws();
		const reply = await ws.request({ type: 'send', message: { to: bob.name, body: 'x' } });
		assert.equal(reply.type, 'sent', JSON.stringify(reply));
		await bob.received(reply.entry.id);
		await ws.close();
	});
});

describe('outbox frames', () => {
	it('R63 R65 come when asked for: sent, acked, read', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws({ outbox: true });
		const { id } = await ann.send(bob.name, 'x');
		const of = (wanted) => ws.wait((frame) => frame.type === 'outbox' &&
			frame.entry.id === id && wanted(frame.entry), 'an outbox frame');
		entryForm((await of((e) => e.state === 'sent')).entry);
		await bob.ack((await bob.received(id)).seq);
		await of((e) => e.state === 'acked');
		await bob.read({ upto: 1 });
		await of((e) => e.labels.includes('read'));
		await ws.close();
	});

	it('do not come unasked', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ws = await ann.ws();
		const { id } = await ann.send(bob.name, 'x');
		await bob.ack((await bob.received(id)).seq);
		await ws.event((e) => e.kind === 'receipt', 'the receipt');
		assert.ok(!ws.frames.some((frame) => frame.type === 'outbox'));
		await ws.close();
	});
});

describe('instances', () => {
	it('the same instance replaces its older connection: 4409', async () => {
		const { ann, bob } = await filled(0);
		const older = await bob.ws({ instance: 'tab-1' });
		const other = await bob.ws({ instance: 'tab-2' });
		const newer = await bob.ws({ instance: 'tab-1' });
		assert.equal((await older.closing()).code, 4409);
		const { id } = await ann.send(bob.name, 'x');
		await newer.received(id);
		await other.received(id);
		await newer.close();
		await other.close();
	});

	it('the same name on another device replaces nothing', async () => {
		const { bob } = await filled(0);
		const phone = await bob.device('phone');
		const one = await bob.ws({ instance: 'x' });
		const two = await phone.ws({ instance: 'x' });
		for (const ws of [two, one])
			await ws.request({ type: 'ack', upto: 0 });
		assert.equal(one.ended, undefined);
		await one.close();
		await two.close();
	});

	it('at most eight a device', async () => {
		const { bob } = await filled(0);
		const sockets = [];
		for (let i = 0; i < 8; i++)
			sockets.push(await bob.ws({ instance: `tab-${i}` }));
		const ninth = new Ws(server, { token: bob.token });
		await ninth.opened();
		ninth.send({ type: 'hello', id: 1, token: bob.token, instance: 'tab-8' });
		const { code } = await ninth.closing();
		assert.equal(code, 4429);
		await sockets[0].close();
		const again = await eventually(() => bob.ws({ instance: 'tab-8' }).catch(() => null),
			'a free place');
		await again.close();
		await Promise.all(sockets.slice(1).map((ws) => ws.close()));
	});
});

describe('ping', () => {
	it('R257 R270 is answered by pong; RFC 6455 pings as well', async () => {
		const { bob } = await filled(0);
		const ws = await bob.ws();
		assert.deepEqual(await ws.request({ type: 'ping', id: 12 }), { type: 'pong', re: 12 });
		ws.socket.ping();
		await eventually(() => ws.pongs === 1, 'a pong');
		await ws.close();
	});
});

describe('typing', () => {
	it('goes to the other, is not stored and has no number', async () => {
		const { ann, bob, conversation } = await filled(1);
		const watching = await bob.ws();
		const ws = await ann.ws();
		ws.send({ type: 'typing', conversation });
		const frame = await watching.type('typing');
		assert.deepEqual(frame, { type: 'typing', conversation, from: ann.name });
		assert.equal((await bob.inbox()).head, 1);
		await ws.request({ type: 'ack', upto: 0 });
		assert.ok(!ws.frames.some((one) => one.type === 'typing'), 'it came back to its sender');
		await ws.close();
		await watching.close();
	});

	it("in another's conversation is not passed on", async () => {
		const { ann, bob, conversation } = await filled(1);
		const [eve] = await users(server, 'eve');
		const watching = await bob.ws();
		const [ws, allowed] = [await eve.ws(), await ann.ws()];
		// Eve must not learn that the conversation exists.
		assert.equal((await ws.request({ type: 'typing', conversation })).type, 'ok');
		// The typing frame of the member comes last, so a wrong frame
		// would have come before it.
		await allowed.request({ type: 'typing', conversation });
		await watching.type('typing');
		assert.deepEqual(watching.frames.filter((frame) => frame.type === 'typing')
			.map((frame) => frame.from), [ann.name]);
		await Promise.all([watching, ws, allowed].map((one) => one.close()));
	});
});

describe('I7 resuming', () => {
	it('a session that ended goes on by its cursor, without loss or repetition', async (t) => {
		const other = await startServer({ unlimited: 'one user sends as fast as can be' });
		t.after(() => other.stop());
		const [ann, bob] = await users(other, 'ann', 'bob');
		const got = [];
		let sending = true;
		const sender = (async () => {
			let sent;
			for (let i = 0; sending; i++)
				sent = await ann.send(bob.name, `m ${i}`);
			return sent;
		})();
		let cursor = '0';
		for (let round = 0; round < 10; round++) {
			const ws = await bob.ws({ after: cursor });
			await eventually(() => ws.events().length > round, 'some events');
			ws.socket.terminate();
			await ws.closed;
			got.push(...ws.events());
			if (got.length)
				cursor = String(got.at(-1).seq);
		}
		sending = false;
		await bob.received((await sender).id);
		const { events } = await bob.inbox();
		const last = await bob.ws({ after: cursor });
		await last.type('caught_up');
		got.push(...last.events());
		contiguous(got);
		assert.deepEqual(got.map(bare), events);
		await last.close();
	});
});
