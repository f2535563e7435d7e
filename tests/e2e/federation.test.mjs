// SPDX-License-Identifier: MIT
// tags: store
//
// Two real servers that deliver to each other: what a message carries, order,
// users who are added or disabled, operators.  And what happens to messages
// while one of the servers is down, killed, given new keys, or refused.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { EX, Person } from './cli-client.mjs';
import { contiguous, entryForm, problem, time } from './expect.mjs';
import { eventually, expectStatus, users, uuid7 } from './harness.mjs';
import { operator, sendMany, until, userCommand } from './operator.mjs';
import {
	address, allAre, arriveOnce, gathers, hasty, isFrom, pairForFile, startPair, surely,
} from './pair.mjs';

const pair = pairForFile({ before, after, afterEach },
	{ a: { unlimited: 'one user sends 200 messages at once' } });

const people = async (where = pair) => (await Promise.all(
	[users(where.a, 'alice'), users(where.b, 'bob')])).flat();

const inSeconds = (s) => new Date(Date.now() + s * 1000).toISOString();

const messages = async (user) => (await user.inbox()).events.filter((e) => e.kind === 'message');

describe('what a message carries', () => {
	it('R261 R263 R266 all of it arrives', async () => {
		const [alice, bob] = await people();
		const first = await alice.send(address(bob), 'the first');
		const more = {
			id: uuid7(), reply_to: first.id, priority: 'high', content_type: 'text/markdown',
			correlation_id: 'order 17', metadata: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
				'order': '17', 'empty': '' },
		};
		const body = 'Grüße, "quoted" \\ and a 🦊\n\ttab\u0001';
		const entry = await alice.send(address(bob), body, more);
		entryForm(entry);
		const event = await bob.received(more.id);
		assert.equal(event.body, body);
		for (const member of ['reply_to', 'content_type', 'correlation_id', 'metadata'])
			assert.deepEqual(event[member], more[member], member);
		assert.equal(event.from, address(alice));
		assert.equal(event.own, false);
		assert.equal(time(event.event_time), time(entry.event_time), 'the time of an event comes from its sender');
		assert.ok(time(event.delivered_at) >= time(event.event_time));
		// The conversation shows the message with the same members as
		// the inbox.
		const { body: page } = expectStatus(
			await bob.get(`/v1/conversations/${event.conversation}/messages`), 200);
		const shown = page.messages.find((one) => one.id === more.id);
		assert.deepEqual([shown.body, shown.from, shown.reply_to, shown.content_type],
			[body, address(alice), first.id, 'text/markdown']);
	});

	it('the longest text and the most metadata', async () => {
		const [alice, bob] = await people();
		const body = '\u0001'.repeat(16_384);
		const metadata = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, 'v'.repeat(100)]));
		const { id } = await alice.send(address(bob), body, { metadata });
		const event = await bob.received(id);
		assert.ok(event.body === body, 'another text has come');
		assert.deepEqual(event.metadata, metadata);
	});

	it('one message is one, however often it is sent', async () => {
		const [alice, bob] = await people();
		const message = { id: uuid7(), to: address(bob), body: 'again and again' };
		const answers = [];
		for (let i = 0; i < 5; i++)
			answers.push((await alice.post('/v1/messages', message)).status);
		assert.deepEqual(answers, [201, 200, 200, 200, 200]);
		await arriveOnce(alice, bob, [message.id]);
	});

	it('what is pushed is what is read', async () => {
		const [alice, bob] = await people();
		const phone = await bob.ws();
		const laptop = await alice.ws({ outbox: true });
		const { id } = await alice.send(address(bob), 'pushed');
		const { type, ...pushed } = await phone.received(id);
		assert.equal(type, 'event');
		assert.deepEqual(pushed, await bob.received(id));
		assert.equal(pushed.from, address(alice));
		// The sender's screen shows each change of state.
		await laptop.wait((f) => f.type === 'outbox' && f.entry.id === id && f.entry.state === 'sent', 'it is sent');
		phone.ack(pushed.seq);
		await laptop.wait((f) => f.type === 'outbox' && f.entry.id === id && f.entry.state === 'acked', 'it is acked');
		await laptop.event((e) => e.kind === 'receipt' && e.by === address(bob), 'the receipt');
		await phone.close();
		await laptop.close();
	});
});

describe('order', () => {
	it('R41 R42 of 200 messages that are accepted at once', async () => {
		const [alice, bob] = await people();
		const ids = await sendMany(alice, address(bob), 200);
		const events = await arriveOnce(alice, bob, ids);
		assert.deepEqual(events.map((e) => e.conversation_seq), events.map((_e, i) => i + 1));
		contiguous((await bob.inbox()).events);
		await bob.ack(events.at(-1).seq);
		await allAre(alice, ids, 'acked');
	});

	it('of what eight send to two at the same time', async () => {
		const [senders, receivers] = await Promise.all([
			users(pair.a, ...Array.from({ length: 8 }, () => 's')), users(pair.b, 'r', 'r')]);
		const sent = new Map(senders.map((from) => [from, receivers.map(() => [])]));
		await Promise.all(senders.map(async (from) => {
			for (let i = 0; i < 20; i++)
				sent.get(from)[i % 2].push((await from.send(address(receivers[i % 2]), `${i}`)).id);
		}));
		for (const [n, to] of receivers.entries()) {
			await gathers(to, (e) => e.kind === 'message', 80);
			for (const from of senders)
				assert.deepEqual((await messages(to)).filter(isFrom(from)).map((e) => e.id), sent.get(from)[n]);
		}
	});

	it('of both directions at the same time', async () => {
		const [alice, bob] = await people();
		const ids = new Map([[alice, []], [bob, []]]);
		await Promise.all([[alice, bob], [bob, alice]].map(async ([from, to]) => {
			for (let i = 0; i < 30; i++)
				ids.get(from).push((await from.send(address(to), `${i}`)).id);
		}));
		await arriveOnce(alice, bob, ids.get(alice));
		await arriveOnce(bob, alice, ids.get(bob));
	});
});

describe('time', () => {
	it('what is scheduled leaves when it is due, and holds nothing up', async () => {
		const [alice, bob] = await people();
		const later = await alice.send(address(bob), 'in two seconds', { deliver_at: inSeconds(2) });
		assert.ok(later.labels.includes('scheduled'));
		const now = await alice.send(address(bob), 'now');
		const events = await gathers(bob, isFrom(alice), 2);
		assert.ok(Date.now() >= time(later.deliver_at), 'too early');
		assert.deepEqual(events.map((e) => [e.id, e.body]), [[now.id, 'now'], [later.id, 'in two seconds']]);
		await until(alice, later.id, 'sent');
	});

	it('what is canceled before it is due never arrives', async () => {
		const [alice, bob] = await people();
		const { id } = await alice.send(address(bob), 'not this', { deliver_at: inSeconds(3600) });
		expectStatus(await alice.delete(`/v1/outbox/${id}`), 200, 204);
		await arriveOnce(alice, bob, []);
	});
});

describe('people', () => {
	it('one who is disabled gets nothing, and the sender is notified', async () => {
		const [alice, bob] = await people();
		const { id } = await alice.send(address(bob), 'before');
		await bob.received(id);
		const { code, text } = await userCommand(pair.b, ['disable', bob.name]);
		assert.equal(code, 0, text);
		const late = await alice.send(address(bob), 'too late');
		const failed = await alice.entryWhen(late.id, (e) => e.state === 'failed', 'has failed');
		assert.equal(failed.last_error, 'unknown-recipient');
		const bounce = await alice.event((e) => e.kind === 'bounce', 'the bounce');
		assert.deepEqual([bounce.of, bounce.to], [late.id, address(bob)]);
		assert.equal((await alice.entry(id)).state, 'sent', 'what was taken stays so');
	});

	it('a person of a group is never of another server', async () => {
		const [alice, bob] = await people();
		const answer = await alice.post('/v1/conversations', { kind: 'group', members: [address(bob)] });
		// The answer is 501 as long as groups are not implemented.
		expectStatus(answer, 422, 501);
		await arriveOnce(alice, bob, []);
	});

	it('addresses that are none, of this server, and of servers that are none', async () => {
		const [alice, bob] = await people();
		for (const to of [
			'@b.example', 'bob@', 'bob@b', 'bob@b..example', 'bob@10.0.0.1', 'bob@b.example@b.example', 'bob@b.example:80',
		]) {
			const answer = await alice.post('/v1/messages', { to, body: 'x' });
			assert.ok([400, 422].includes(answer.status), `${to}: ${answer.status} ${answer.text}`);
			assert.equal(answer.body.pointer, '/to', to);
		}
		// The server's own domain is delivered here.
		const [eve] = await users(pair.a, 'eve');
		const { id, to } = await alice.send(address(eve), 'the long way round');
		assert.equal(to, eve.name);
		assert.equal((await eve.received(id)).from, alice.name);
		assert.equal((await messages(bob)).length, 0);
	});

	it('what was read over there counts for the sender, not what is private', async () => {
		const [alice, bob] = await people();
		const ids = await sendMany(alice, address(bob), 3);
		const events = await gathers(bob, isFrom(alice), 3);
		await bob.read({ upto: events[0].seq });
		await alice.entryWhen(ids[0], (e) => e.labels.includes('read'), 'is read');
		await bob.read({ upto: events[1].seq, private: true });
		await bob.ack(events[2].seq);
		// The ack comes after the private read, and its receipt is the
		// marker: a receipt of the read would have arrived before it.
		await alice.entryWhen(ids[2], (e) => e.state === 'acked', 'is acked');
		assert.ok(!(await alice.entry(ids[1])).labels.includes('read'));
		assert.equal((await alice.inbox()).events.filter((e) => e.kind === 'receipt' && e.state === 'read').length, 1);
	});
});

describe('the command line', () => {
	it('sends to another server and shows the whole address', async () => {
		const [[alice], carol] = await Promise.all([users(pair.a, 'alice'), new Person(pair.b.url).register()]);
		const to = `${carol.name}@b.example`;
		const ann = new Person(pair.a.url, { name: alice.name });
		assert.equal((await ann.withPassword(['login', alice.name])).code, EX.OK);
		const sent = await ann.json('send', to, 'hello', 'from', 'here');
		assert.equal(sent.to, to);
		const from = `${alice.name}@a.example`;
		await eventually(async () => (await carol.events()).some((e) => e.id === sent.id), 'it comes');
		assert.match((await carol.run('inbox')).out, new RegExp(`${from}.*hello from here`));
		await carol.run('send', from, 'hello back');
		await eventually(async () => (await ann.events()).some((e) => e.body === 'hello back'), 'the answer comes');
		for (const [person, other, own, theirs] of [[ann, to, 'hello from here', 'hello back'],
			[carol, from, 'hello back', 'hello from here']]) {
			assert.ok((await person.run('conversations')).out.includes(other));
			const { out } = await person.run('history', other);
			assert.match(out, new RegExp(`${other}.*${theirs}`));
			assert.ok(out.includes(own));
		}
		// --wait delivered also works for a recipient on another
		// server.
		const waiting = ann.start('send', to, 'have you got it?', '--wait', 'delivered', '--timeout', '60s');
		await eventually(async () => (await carol.events()).some((e) => e.body === 'have you got it?'), 'it comes');
		await carol.run('tail', '--once');
		assert.equal((await waiting.exited).code, EX.OK, waiting.err);
		const gone = await ann.try(['send', 'nobody@b.example', 'hello?', '--wait', 'delivered', '--timeout', '60s']);
		assert.equal(gone.code, EX.UNAVAILABLE, `${gone.out}${gone.err}`);
	});
});

describe('while the receiver is away', () => {
	it('R3 R91 R92 all waits, and arrives once and in order', async (t) => {
		const two = await startPair(t);
		const [alice, bob] = await people(two);
		const ids = [(await alice.send(address(bob), 'before')).id];
		await bob.received(ids[0]);
		await two.b.stop();
		for (let i = 0; i < 40; i++)
			ids.push((await alice.send(address(bob), `number ${i}`)).id);
		const waits = await alice.entryWhen(ids[1], (e) => e.attempts >= 2 && e.state === 'pending', 'is tried');
		assert.equal(waits.retry_count, 0, 'an outage charges no message');
		assert.ok(waits.last_error, 'the reason for the wait is shown');
		// Messages to users of the same server are not affected.
		const [eve] = await users(two.a, 'eve');
		await eve.received((await alice.send(eve.name, 'meanwhile')).id);
		await two.b.start();
		await arriveOnce(alice, bob, ids);
		for (const id of ids) {
			const entry = await until(alice, id, 'sent');
			assert.deepEqual([entry.retry_count, entry.last_error], [0, null]);
		}
		// The keys of other servers are stored: after a restart no
		// request is refused because of an unknown key.
		const { text } = expectStatus(await two.b.rest().get('/metrics'), 200);
		assert.match(text, /requests_total\{direction="in",outcome="key-unknown"\} 0$/m);
		await two.sound();
	});

	it('the sender may be away as well: neither forgets', async (t) => {
		const two = await startPair(t);
		const [alice, bob] = await people(two);
		const first = await alice.send(address(bob), 'first');
		const event = await bob.received(first.id);
		await until(alice, first.id, 'sent');
		await two.b.stop();
		const second = await alice.send(address(bob), 'second');
		await alice.entryWhen(second.id, (e) => e.attempts >= 1 && e.state === 'pending', 'is tried');
		await two.a.stop();
		await two.b.start();
		// The receipt for alice must wait, because the server of alice
		// is down.
		await bob.ack(event.seq);
		await two.a.start();
		await arriveOnce(alice, bob, [first.id, second.id]);
		await until(alice, first.id, 'acked');
		await two.sound();
	});

	it('the sender of a message that expires meanwhile is notified, and it never arrives', async (t) => {
		const two = await startPair(t);
		const [alice, bob] = await people(two);
		await bob.received((await alice.send(address(bob), 'before')).id);
		const [before_it] = await messages(bob);
		await two.b.stop();
		const { id } = await alice.send(address(bob), 'soon over', { expires_in: '1s' });
		await until(alice, id, 'expired');
		const bounce = await alice.event((e) => e.kind === 'bounce', 'the bounce');
		assert.deepEqual([bounce.of, bounce.state, bounce.to], [id, 'expired', address(bob)]);
		await two.b.start();
		await arriveOnce(alice, bob, [before_it.id]);
	});
});

/**
 * Sends ${n} messages one by one, numbered from ${at} on, even if the server of
 * ${alice} goes down meanwhile.  Returns their ids.
 */
async function sendThrough(alice, to, n, at = 0)
{
	const ids = [];

	for (let i = 0; i < n; i++) {
		const message = { id: uuid7(), to, body: `number ${at + i}` };
		expectStatus(await surely(() => alice.post('/v1/messages', message)), 200, 201);
		ids.push(message.id);
	}
	return ids;
}

/*
 * On PostgreSQL the rows that a killed node was delivering stay leased until
 * the lease runs out, so a short lease makes the tests fast.
 */
const SHORT_LEASE = ['--delivery-timeout', '3s', '--lease', '9s'];
const PATIENCE = { ms: 90_000 };

describe('kill -9', () => {
	it('R4 R89 R90 of the receiver in the middle of 300 messages', async (t) => {
		const two = await startPair(t, { args: SHORT_LEASE, a: { unlimited: 'one user sends as fast as can be' } });
		const [alice, bob] = await people(two);
		const sending = sendThrough(alice, address(bob), 300);
		for (const n of [40, 120, 200]) {
			await gathers(bob, isFrom(alice), n, PATIENCE);
			await two.b.kill();
			await two.b.start();
		}
		await arriveOnce(alice, bob, await sending, PATIENCE);
		await two.sound();
	});

	it('of the sender in the middle of 300 messages', async (t) => {
		const two = await startPair(t, { args: SHORT_LEASE, a: { unlimited: 'one user sends as fast as can be' } });
		const [alice, bob] = await people(two);
		const sending = sendThrough(alice, address(bob), 300);
		for (const n of [40, 120, 200]) {
			await gathers(bob, isFrom(alice), n, PATIENCE);
			await two.a.kill();
			await two.a.start();
		}
		const ids = await sending;
		await arriveOnce(alice, bob, ids, PATIENCE);
		await bob.ack((await bob.inbox()).head);
		await allAre(alice, ids, 'acked');
		await two.sound();
	});

	it('of both at once, while both send', async (t) => {
		const two = await startPair(t, { args: SHORT_LEASE,
			a: { unlimited: 'one user sends as fast as can be' }, b: { unlimited: 'the same' } });
		const [alice, bob] = await people(two);
		const ids = [[], []];
		for (let round = 0; round < 4; round++) {
			const sending = [sendThrough(alice, address(bob), 30, round * 30),
				sendThrough(bob, address(alice), 30, round * 30)];
			await gathers(bob, isFrom(alice), round * 30 + 10, PATIENCE);
			await Promise.all([two.a.kill(), two.b.kill()]);
			await two.a.start();
			await two.b.start();
			for (const [n, more] of (await Promise.all(sending)).entries())
				ids[n].push(...more);
		}
		await arriveOnce(alice, bob, ids[0], PATIENCE);
		await arriveOnce(bob, alice, ids[1], PATIENCE);
		await two.sound();
	});
});

describe('keys', () => {
	const keyIds = async (server) => (await server.document()).keys.map((key) => key.id);

	it('are new after each rotation, while messages flow', async (t) => {
		const two = await startPair(t, { env: hasty('keyring=5', 'directory_again=20'),
			a: { unlimited: 'one user sends as fast as can be' } });
		const [root, [alice, bob]] = await Promise.all([operator(two.b), people(two)]);
		const ids = await sendThrough(alice, address(bob), 20);
		await gathers(bob, isFrom(alice), 20);
		const [first, ...none] = await keyIds(two.a);
		assert.deepEqual(none, []);
		let going = true;
		const flow = (async () => {
			while (going)
				ids.push(...await sendThrough(alice, address(bob), 10, ids.length));
		})();
		try {
			const rotated = await two.a.commandOf('keys', 'rotate');
			assert.equal(rotated.code, 0, rotated.text);
			// A new key is in the document at once, so that other
			// servers know it before it signs.
			const both = await eventually(async () => {
				const now = await keyIds(two.a);
				return now.length === 2 && now;
			}, 'the new key is published', 30_000);
			assert.ok(both.includes(first));
			const listed = await two.a.commandOf('keys', 'list');
			assert.equal(listed.code, 0, listed.text);
			for (const id of both)
				assert.ok(listed.text.includes(id), listed.text);
			// The first key is retired as if it had been stolen.
			// The second one does not sign yet, so a third key
			// takes its place.
			const retired = await two.a.commandOf('keys', 'retire', first, '--now');
			assert.equal(retired.code, 0, retired.text);
			const [, third] = /key (\S+) takes its place/.exec(retired.text) ?? assert.fail(retired.text);
			await eventually(async () => {
				const now = await keyIds(two.a);
				return !now.includes(first) && now.includes(third);
			}, 'the old key is published no more', 30_000);
			// A receiver fetches the document at most once a
			// minute.
			await eventually(async () => {
				const { keys } = await root.ask('peers/a.example');
				const good = keys.filter((key) => key.verifies).map((key) => key.id);
				return good.includes(third) && !good.includes(first);
			}, 'the receiver believes the new keys alone', 150_000);
		} finally {
			going = false;
			await flow;
		}
		ids.push(...await sendThrough(alice, address(bob), 10, ids.length));
		await arriveOnce(alice, bob, ids, { ms: 150_000 });
		for (const id of [ids[0], ids.at(-1)])
			assert.equal((await until(alice, id, 'sent')).retry_count, 0);
		await two.sound();
	});

	it('that an operator has pinned are believed alone', async (t) => {
		const two = await startPair(t);
		const [root, [alice, bob]] = await Promise.all([operator(two.b), people(two)]);
		const [key] = (await two.a.document()).keys;
		// a key of another owner
		const wrong = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex').toString('base64');
		await root.do('POST', 'peers/a.example/pin', { key_id: key.id, public: wrong });
		const { id } = await alice.send(address(bob), 'who am I?');
		const waits = await alice.entryWhen(id, (e) => e.attempts >= 1 && e.state === 'pending', 'is refused');
		assert.equal(waits.retry_count, 0, 'a wrong signature charges no message');
		await alice.entryWhen(id, (e) => /401/.test(e.last_error), 'learns why');
		assert.equal((await messages(bob)).length, 0);
		await root.do('POST', 'peers/a.example/pin', { key_id: key.id, public: key.public });
		await arriveOnce(alice, bob, [id]);
		const actions = (await root.all('audit', 'entries')).map((one) => `${one.action} ${one.object}`);
		assert.equal(actions.filter((one) => one === 'peer-pin a.example').length, 2, actions.join(', '));
		// After the unpin, the peer's document may replace the key
		// again.
		await root.do('POST', 'peers/a.example/unpin', { key_id: key.id });
		await bob.received((await alice.send(address(bob), 'and now?')).id);
	});
});

/**
 * Returns true for the entry of a message between two attempts, after the other
 * server has refused it with 403.
 */
const isRefused = (e) => e.state === 'pending' && e.attempts >= 1 && /403/.test(e.last_error);

describe('operators', () => {
	it('who block a server neither take from it nor send to it, until they unblock it', async (t) => {
		const two = await startPair(t);
		const [root, [alice, bob]] = await Promise.all([operator(two.a), people(two)]);
		const ids = [(await alice.send(address(bob), 'before')).id];
		const back = [(await bob.send(address(alice), 'before')).id];
		await bob.received(ids[0]);
		await alice.received(back[0]);
		await until(alice, ids[0], 'sent');
		// This message already waits when the server is blocked.
		await root.pause('b.example');
		ids.push((await alice.send(address(bob), 'waiting')).id);
		await root.do('POST', 'peers/b.example/block');
		await root.resume('b.example');
		back.push((await bob.send(address(alice), 'refused')).id);
		const refused = await bob.entryWhen(back[1], isRefused, 'is refused');
		assert.equal(refused.retry_count, 0);
		assert.deepEqual((await messages(alice)).filter(isFrom(bob)).map((e) => e.id), [back[0]]);
		const waits = await alice.entryWhen(ids[1], (e) => e.state === 'pending', 'waits');
		assert.equal(waits.retry_count, 0);
		assert.deepEqual((await messages(bob)).map((e) => e.id).filter((id) => ids.includes(id)), [ids[0]]);
		await root.do('POST', 'peers/b.example/unblock');
		await arriveOnce(alice, bob, ids);
		await arriveOnce(bob, alice, back);
		await two.sound();
	});

	it('who pause another server keep its messages, uncharged', async () => {
		const [root, [alice, bob]] = await Promise.all([operator(pair.a), people()]);
		await bob.received((await alice.send(address(bob), 'before')).id);
		await root.pause('b.example', 'maintenance');
		const waiting = await sendMany(alice, address(bob), 5);
		assert.equal((await root.destination('b.example')).pause_reason, 'maintenance');
		assert.deepEqual((await alice.entry(waiting[0])).attempts, 0);
		await root.resume('b.example');
		const events = await gathers(bob, isFrom(alice), 6);
		assert.deepEqual(events.slice(1).map((e) => e.id), waiting);
		assert.equal((await root.destination('b.example')).breaker, 'closed');
	});

	it('see who is in contact, and what was exchanged, but no text', async () => {
		const [root, [alice, bob]] = await Promise.all([operator(pair.b), people()]);
		await bob.received((await alice.send(address(bob), 'the secret text')).id);
		const { peers } = await root.ask('peers');
		const one = peers.find((peer) => peer.domain === 'a.example');
		assert.ok(one, JSON.stringify(peers));
		const shown = await root.ask('peers/a.example');
		const [key] = (await pair.a.document()).keys;
		assert.ok(shown.keys.some((k) => k.id === key.id && k.verifies), JSON.stringify(shown));
		for (const [server, direction, outcome] of [[pair.a, 'out', 'settle'], [pair.b, 'in', 'taken']]) {
			const { text } = expectStatus(await server.rest().get('/metrics'), 200);
			assert.match(text, new RegExp('^twinbox_federation_requests_total' +
				`\\{direction="${direction}",outcome="${outcome}"\\} [1-9]`, 'm'));
			assert.match(text, new RegExp(
				`^twinbox_federation_bytes_total\\{direction="${direction}"\\} [1-9]`, 'm'));
		}
		assert.ok(!root.said.includes('secret text') && !pair.output().includes('secret text'));
	});
});

describe('who may be in contact', () => {
	it('only those on the list', async (t) => {
		const two = await startPair(t, { b: { federation: 'list', args: ['--federation-allow', 'c.example'], peers: {} } });
		const [alice, bob] = await people(two);
		const { id } = await alice.send(address(bob), 'may I?');
		const refused = await alice.entryWhen(id, isRefused, 'is refused');
		assert.equal(refused.retry_count, 0);
		problem(await bob.post('/v1/messages', { to: address(alice), body: 'may I?' }), 422, 'unknown_recipient', '/to');
		assert.equal((await messages(bob)).length, 0);
	});

	it('not those who are denied, pinned or not', async (t) => {
		const two = await startPair(t, { a: { args: ['--federation-deny', '.example'] } });
		const [alice, bob] = await people(two);
		problem(await alice.post('/v1/messages', { to: address(bob), body: 'may I?' }), 422, 'unknown_recipient', '/to');
		const { id } = await bob.send(address(alice), 'may I?');
		const refused = await bob.entryWhen(id, isRefused, 'is refused');
		assert.equal(refused.retry_count, 0);
		assert.equal((await messages(alice)).length, 0);
	});

	it('not one that says that it is somewhere else', async (t) => {
		// The document of b names another URL than the one at which a's
		// operator has pinned b.
		const two = await startPair(t, { b: { url: 'http://127.0.0.1:9' } });
		const [alice, bob] = await people(two);
		const { id } = await alice.send(address(bob), 'to whom?');
		const waits = await alice.entryWhen(id, (e) => e.state === 'pending' && e.attempts >= 1 && e.last_error !== null,
			'is not sent');
		assert.equal(waits.retry_count, 0);
		assert.equal((await messages(bob)).length, 0);
	});
});
