// SPDX-License-Identifier: MIT
// tags: surface
//
// What a server sends to another server, and how it treats the answers. node
// plays the other server (peer.mjs) and verifies each request.  The answers are
// acks of every kind, promises (202), and refusals of the whole request.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { entryForm, time } from './expect.mjs';
import { scene, sceneForAll, uncharged } from './federation-scene.mjs';
import { expectStatus, uuid7 } from './harness.mjs';
import { sendMany, until } from './operator.mjs';
import { accepts, acks, problem, resets, says } from './peer-answers.mjs';

describe('what is sent', () => {
	const s = sceneForAll();

	it('R246-R254 R260-R268 an envelope says all of a message', async () => {
		const { ann, b } = s;
		const before_it = await s.known();
		const message = {
			id: uuid7(), to: 'bob@b.example', body: 'Grüße, "quoted" \\ and a 🦊\n\u0001', reply_to: before_it,
			priority: 'high', content_type: 'text/markdown', correlation_id: 'order 17',
			metadata: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', empty: '' },
			expires_in: '2h',
		};
		expectStatus(await ann.post('/v1/messages', message), 201);
		await b.gets(message.id);
		const envelope = b.taken.find(({ payload }) => payload.id === message.id);
		const entry = await until(ann, message.id, 'sent');
		const event = await ann.received(message.id);
		entryForm(entry);
		assert.equal(envelope.message_id, event.event_id);
		assert.equal(envelope.correlation_id, 'order 17');
		assert.equal(envelope.sequence, 2);
		assert.equal(envelope.attempt, 1);
		assert.equal(envelope.message_type, 'message.send');
		assert.equal(envelope.recipient, 'bob@b.example');
		assert.equal(envelope.timestamp, entry.event_time);
		assert.deepEqual(envelope.metadata, message.metadata);
		const { payload } = envelope;
		assert.deepEqual([payload.id, payload.from, payload.body, payload.content_type, payload.reply_to,
			payload.priority, payload.created_at, payload.expires_at],
		[message.id, `${ann.name}@a.example`, message.body, 'text/markdown', before_it, 'high',
			entry.created_at, entry.expires_at]);
		b.check();
	});

	it('what a message does not have is absent, null, or the default', async () => {
		const { ann, b } = s;
		const { id } = await ann.send('bob@b.example', 'plain');
		await b.gets(id);
		const { payload, metadata, correlation_id } = b.taken.find((one) => one.payload.id === id);
		assert.deepEqual(metadata ?? {}, {});
		assert.equal(correlation_id ?? null, null);
		assert.equal(payload.reply_to ?? null, null);
		assert.equal(payload.content_type ?? 'text/plain', 'text/plain');
		assert.equal(payload.priority ?? 'normal', 'normal');
	});

	it('R104 many are few requests, each signed for itself', async () => {
		const { b, root } = s;
		await s.known();
		const before_it = [b.requests.length, b.messages().length];
		const ids = await s.waiting(180);
		await root.resume('b.example');
		assert.deepEqual((await b.has(before_it[1] + 180)).slice(before_it[1]), ids);
		const made = b.requests.slice(before_it[0]);
		assert.ok(made.length >= 4 && made.length <= 40, `${made.length} requests`);
		assert.ok(made.some(({ envelopes }) => envelopes.length === 50), 'a full one');
		assert.equal(new Set(made.map(({ nonce }) => nonce)).size, made.length);
		assert.equal(b.documents, 1, 'the document is kept');
		await s.check();
	});

	it('the longest texts: requests have 256 KiB at most', async () => {
		const { b, root } = s;
		await s.known();
		const before_it = [b.requests.length, b.messages().length];
		const ids = await s.waiting(20, { metadata: { k: 'x'.repeat(4000) } });
		ids.push(...await sendMany(s.ann, 'bob@b.example', 9, { body: '\u0001'.repeat(16_384) }));
		await root.resume('b.example');
		assert.deepEqual((await b.has(before_it[1] + 29)).slice(before_it[1]), ids);
		assert.ok(Math.max(...b.requests.slice(before_it[0]).map(({ body }) => body.length)) > 100_000);
		await s.check();
	});
});

describe('the limits of a document', () => {
	for (const [name, limits, holds] of [
		['items', { items: 3, bytes: 262_144, requests: 32 }, ({ requests }) => requests.every((r) => r.envelopes.length <= 3)],
		['bytes', { items: 50, bytes: 5000, requests: 32 }, ({ requests }) => requests.every((r) => r.body.length <= 5000)],
		['requests', { items: 50, bytes: 262_144, requests: 1 }, ({ most_open }) => most_open === 1],
		['more than there may be', { items: 1000, bytes: 1e9, requests: 1000 }, ({ requests }) =>
			requests.every((r) => r.envelopes.length <= 50 && r.body.length <= 262_144)],
	]) {
		it(`${name} are kept to`, async (t) => {
			const s = await scene(t, { limits });
			const { ann, b, root } = s;
			const people = ['bob', 'bill', 'bess', 'bart'];
			await s.known();
			await root.pause('b.example');
			for (const person of people)
				await sendMany(ann, `${person}@b.example`, 60);
			await root.resume('b.example');
			await b.has(1 + people.length * 60);
			assert.ok(holds(b), JSON.stringify(b.requests.map((r) => [r.envelopes.length, r.body.length])));
			await s.check();
		});
	}
});

// ---- 200 -------------------------------------------------------------------------

describe('what is said of one message', () => {
	const s = sceneForAll();
	const again = (reason) => ({ status: 'retryable', ...(reason && { reason }), retry_after_ms: 50 });

	for (const [name, ack, outcome, error] of [
		['retryable', again('inbox-full'), 'retryable', /^inbox-full$/],
		['retryable without a reason', again(), 'retryable', /./],
		['retryable, for a reason that nobody knows', again('too-sunny'), 'retryable', /^too-sunny$/],
		['nothing', undefined, 'no_answer', /no answer/],
		['an unknown status', { status: 'perhaps', reason: 'who knows' }, /retryable|no_answer/, /./],
		['a status that is not text', { status: 1 }, /retryable|no_answer/, /./],
		['an ack for another id', { status: 'accepted', message_id: uuid7() }, 'no_answer', /no answer/],
		['an ack for no id at all', { status: 'accepted', message_id: 17 }, 'no_answer', /no answer/],
	]) {
		it(`R273-R275 ${name}: it is charged, and offered again`, async () => {
			const { ann, b } = s;
			// The ack of an unknown message must not count as one
			// of this message.
			b.next((request, response) => b.answer(response, { acks: request.envelopes.flatMap((one) =>
				(ack === undefined ? [] : [{ message_id: one.message_id, ...ack }])) }));
			const { id } = await ann.send('bob@b.example', name);
			await b.gets(id);
			const sent = await until(ann, id, 'sent');
			assert.deepEqual([sent.retry_count, sent.attempts, sent.last_error], [1, 2, null]);
			const [[said, status, why], ...rest] = await s.attempts(id);
			assert.match(said, outcome instanceof RegExp ? outcome : new RegExp(`^${outcome}$`));
			assert.equal(status, 200);
			assert.match(why, error);
			assert.deepEqual(rest.map(([one]) => one), ['accepted']);
			assert.deepEqual(b.requests.slice(-2).map(({ envelopes: [one] }) => [one.payload.id, one.attempt]),
				[[id, 1], [id, 2]]);
			assert.equal(new Set(b.requests.slice(-2).map(({ envelopes: [one] }) => one.message_id)).size, 1,
				'the same event in each try');
			await s.check();
		});
	}

	for (const [name, ack, error] of [
		['rejected', { status: 'rejected', reason: 'unknown-recipient' }, /^unknown-recipient$/],
		['rejected without a reason', { status: 'rejected' }, null],
		['rejected, at length', { status: 'rejected', reason: `no\u0007 – ${'x'.repeat(300)}` }, /^[ -~]{1,64}$/],
		['rejected, with a time', { status: 'rejected', reason: 'unsupported', retry_after_ms: 1 }, /^unsupported$/],
	]) {
		it(`${name}: it has failed, its sender is notified, and the next one goes`, async () => {
			const { ann, b, root } = s;
			b.next(acks(() => ack));
			const { id } = await ann.send('bob@b.example', name);
			const failed = await until(ann, id, 'failed');
			assert.equal(failed.retry_count, 0);
			if (error === null)
				assert.ok(failed.last_error === null || /^[ -~]{1,64}$/.test(failed.last_error), failed.last_error);
			else
				assert.match(failed.last_error, error);
			const bounce = await ann.event((e) => e.kind === 'bounce' && e.of === id, 'the bounce');
			assert.deepEqual([bounce.state, bounce.to], ['failed', 'bob@b.example']);
			const [letter] = await root.all('dead-letters', 'dead_letters');
			assert.deepEqual([letter.id, letter.reason, letter.destination], [id, 'rejected', 'b.example']);
			const next = await ann.send('bob@b.example', 'the next');
			await b.gets(next.id);
			assert.ok(!b.messages().includes(id));
			await s.check();
		});
	}

	for (const [name, list] of [
		['accepted', [{ status: 'accepted' }]],
		['a duplicate', [{ status: 'accepted', duplicate: true }]],
		['accepted, with more', [{ status: 'accepted', reason: 'why not', retry_after_ms: 7, colour: { red: [1] } }]],
		['two things: the first counts', [{ status: 'accepted' }, { status: 'rejected', reason: 'malformed' }]],
		['three things: the first counts', [{ status: 'accepted' }, { status: 'retryable' }, { status: 'perhaps' }]],
	]) {
		it(`${name}: it is sent`, async () => {
			const { ann, b } = s;
			b.next(acks(() => list));
			const { id } = await ann.send('bob@b.example', name);
			const sent = await until(ann, id, 'sent');
			assert.deepEqual([...uncharged(sent), sent.attempts], [0, null, 1]);
			await s.check();
		});
	}

	it('rejected, and then accepted in the same breath: the first counts', async () => {
		const { ann, b } = s;
		b.next(acks(() => [{ status: 'rejected', reason: 'malformed' }, { status: 'accepted' }]));
		const { id } = await ann.send('bob@b.example', 'make up your mind');
		assert.equal((await until(ann, id, 'failed')).last_error, 'malformed');
	});

	it('a time to wait is kept to, up to one hour', async () => {
		const { ann, b } = s;
		b.next(acks(() => ({ status: 'retryable', reason: 'rate-limited', retry_after_ms: 1200 })),
			acks(() => ({ status: 'retryable', reason: 'inbox-full', retry_after_ms: 1e12 })));
		const n = b.requests.length;
		const { id } = await ann.send('bob@b.example', 'later');
		await b.asked(n + 2);
		const [one, two] = b.requests.slice(n);
		assert.ok(two.at - one.at >= 1150, `after ${two.at - one.at} ms`);
		const waits = await ann.entryWhen(id, (e) => e.retry_count === 2 && e.state === 'pending', 'waits');
		const ms = time(waits.next_retry_at) - time(waits.last_status_at);
		assert.ok(ms > 3_000_000 && ms <= 3_601_000, `${ms} ms`);
		// The sender need not wait that long: a retry by the sender
		// goes out at once.
		expectStatus(await ann.post(`/v1/outbox/${id}/retry`), 200);
		await b.gets(id);
		await until(ann, id, 'sent');
		await s.check();
	});
});

describe('what is said of several', () => {
	/** Sends ${n} messages in one request, which ${answer} answers. */
	async function several(t, n, answer, options)
	{
		const s = await scene(t, options);
		const begun = await s.known();
		const ids = await s.waiting(n);
		s.b.next(answer);
		await s.root.resume('b.example');
		const request = await s.b.asked(2);
		assert.equal(request.envelopes.length, n, 'all of them travel together');
		return { ...s, s, ids, all: [begun, ...ids] };
	}

	const full = { status: 'retryable', reason: 'inbox-full', retry_after_ms: 300 };
	const taken = { status: 'accepted' };
	const behind = { status: 'retryable', reason: 'predecessor' };

	for (const [name, list] of [
		['refused for now, those behind it named', [taken, full, behind, behind]],
		['refused for now, nothing said of those behind it', [taken, full, undefined, undefined]],
		['nothing said of it, nor of those behind it', [taken, undefined, undefined, undefined]],
	]) {
		it(`${name}: it is charged alone, and order holds`, async (t) => {
			const { s, ann, b, ids, all } = await several(t, 4, acks((_one, i) => list[i]));
			assert.deepEqual(await b.has(5), all);
			const entries = [];
			for (const id of ids)
				entries.push(await until(ann, id, 'sent'));
			assert.deepEqual(entries.map((e) => e.retry_count), [0, 1, 0, 0]);
			await s.meanwhile();
			await s.check();
		});
	}

	it('who takes one at a time is not sent what is behind one that is refused', async (t) => {
		const s = await scene(t, { limits: { items: 1, bytes: 262_144, requests: 32 } });
		const begun = await s.known();
		const ids = await s.waiting(3);
		s.b.next(acks(() => full));
		await s.root.resume('b.example');
		assert.deepEqual(await s.b.has(4), [begun, ...ids]);
		await s.check();
	});

	it('one is rejected: those behind it are not', async (t) => {
		const { s, ann, b, ids, all } = await several(t, 3, acks((_one, i) =>
			(i === 1 ? { status: 'rejected', reason: 'too-large' } : taken)));
		await until(ann, ids[1], 'failed');
		for (const id of [ids[0], ids[2]])
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		assert.deepEqual(b.messages(), all.filter((id) => id !== ids[1]));
		await s.check();
	});

	it('acks in another order, doubled, and of strangers', async (t) => {
		const { s, ann, b, ids, all } = await several(t, 4, (request, response, peer) => {
			const list = request.envelopes.map((one) => peer.accept(one));
			peer.answer(response, { acks: [{ message_id: uuid7(), status: 'rejected', reason: 'malformed' },
				...list.reverse(), ...list.map((one) => ({ ...one, status: 'rejected' })),
				null, 17, 'accepted', [], {}, { status: 'accepted' }] });
		});
		for (const id of ids)
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		assert.deepEqual(b.messages(), all);
		await s.check();
	});

	it('more acks than there are envelopes', async (t) => {
		const { s, ann, ids } = await several(t, 2, (request, response, peer) =>
			peer.answer(response, { acks: [...Array.from({ length: 5000 }, () =>
				({ message_id: uuid7(), status: 'rejected', reason: 'malformed' })),
			...request.envelopes.map((one) => peer.accept(one))] }));
		for (const id of ids)
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		assert.equal((await ann.inbox()).events.filter((e) => e.kind === 'bounce').length, 0);
		await s.check();
	});

	it('another lane does not wait for one that is refused', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.otherwise = acks((one) => (one.recipient === 'bob@b.example' ?
			{ status: 'retryable', reason: 'inbox-full', retry_after_ms: 100 } : taken));
		const { id } = await ann.send('bob@b.example', 'full');
		const others = [];
		for (let i = 0; i < 10; i++)
			others.push((await ann.send('bess@b.example', `${i}`)).id);
		assert.deepEqual(await b.has(10), others);
		assert.equal((await ann.entry(id)).sent_at, null);
		b.otherwise = accepts();
		await b.gets(id);
		await s.check();
	});
});

describe('202', () => {
	const later = () => (request, response) => {
		response.writeHead(202, { 'content-type': 'application/json' });
		response.end(JSON.stringify({ acks: [], later: request.envelopes.map((one) => one.message_id) }));
	};

	it('R9 R11 what was promised and never comes is offered again', async (t) => {
		const s = await scene(t, { args: ['--ack-timeout', '2s'] });
		const { ann, b } = s;
		b.next(later());
		const { id } = await ann.send('bob@b.example', 'later, they said');
		const waits = await until(ann, id, 'sent');
		assert.deepEqual([waits.attempts, waits.retry_count], [1, 0]);
		await s.meanwhile();
		await b.gets(id);
		const sent = await ann.entryWhen(id, (e) => e.state === 'sent' && e.attempts === 2, 'is sent');
		assert.equal(sent.retry_count, 1);
		assert.deepEqual((await s.attempts(id)).map(([outcome, status]) => [outcome, status]),
			[['later', 202], ['accepted', 200]]);
		await s.check();
	});

	it('R256 a later request of the peer settles it, and nothing else', async (t) => {
		const s = await scene(t, { args: ['--ack-timeout', '1h'] });
		const { ann, b, server } = s;
		b.next(later());
		const one = await ann.send('bob@b.example', 'later, they said');
		await until(ann, one.id, 'sent');
		const two = await ann.send('bob@b.example', 'behind it');
		const other = await ann.send('carol@c.example', 'to somebody else');
		await s.c.gets(other.id);
		const [{ envelopes: [promised] }] = b.requests;
		b.accept(promised);
		// An ack from another server has no effect on this message.
		const foreign = await s.c.delivers(server, { envelopes: [], control: { acks: [
			{ message_id: promised.message_id, status: 'rejected', reason: 'malformed' }] } });
		assert.equal(foreign.status, 200, foreign.text);
		assert.equal((await ann.entry(one.id)).state, 'sent');
		const answer = await b.delivers(server, { envelopes: [], control: { acks: [
			{ message_id: uuid7(), status: 'accepted' },
			{ message_id: promised.message_id, status: 'accepted' }] } });
		assert.equal(answer.status, 200, answer.text);
		await b.gets(two.id);
		const sent = await until(ann, one.id, 'sent');
		assert.deepEqual([sent.attempts, sent.retry_count], [1, 0]);
		await s.check();
	});
	it('an ack that overtakes the promise is refused until that is here', async (t) => {
		const s = await scene(t, { args: ['--ack-timeout', '1h'] });
		const { ann, b, server } = s;
		await b.delivers(server, { envelopes: [] });
		const answered = new Promise((resolve) => {
			b.next(async (request, response) => {
				const acks = request.envelopes.map((one) => {
					b.accept(one);
					return { message_id: one.message_id, status: 'accepted' };
				});
				const early = await b.deliver(server, { envelopes: [], control: { acks } });
				later()(request, response);
				resolve({ early, acks });
			});
		});
		const { id } = await ann.send('bob@b.example', 'soon, they said');
		const { early, acks } = await answered;
		assert.deepEqual([early.status, early.body.code, early.body.pointer, early.headers.get('retry-after')],
			[503, 'busy', '/control/acks', '1'], early.text);
		assert.match(early.body.detail, /whose answer is still on its way here/);
		await until(ann, id, 'sent');
		const behind = await ann.send('bob@b.example', 'behind it');
		assert.equal((await b.deliver(server, { envelopes: [], control: { acks } })).status, 200);
		await b.gets(behind.id);
		const sent = await ann.entry(id);
		assert.deepEqual([sent.state, sent.attempts, sent.retry_count], ['sent', 1, 0]);
		await s.check();
	});
});

describe('R269 control.reconnect', () => {
	it('parks the destination and charges nobody', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.next((_request, response) => b.answer(response, { acks: undefined, control: { reconnect: { after_ms: 1500 } } }));
		const { id } = await ann.send('bob@b.example', 'you are draining');
		await b.asked(1);
		await s.meanwhile();
		await b.gets(id);
		const [one, two] = b.requests;
		assert.ok(two.at - one.at >= 1450, `after ${two.at - one.at} ms`);
		assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		await s.check();
	});

	it('one hour at most', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.next((_request, response) => b.answer(response, { control: { reconnect: { after_ms: 1e15 } } }));
		const { id } = await ann.send('bob@b.example', 'for ever?');
		await b.asked(1);
		assert.equal(await s.parkedFor(), 3_600_000);
		const waits = await ann.entryWhen(id, (e) => e.state === 'pending', 'waits');
		assert.equal(waits.retry_count, 0);
		await s.meanwhile();
	});

	it('R255 R257 R258 R270 R271 a request without an envelope is answered, too', async (t) => {
		// A request without envelopes is a heartbeat.
		const s = await scene(t);
		const { b, server } = s;
		await s.known();
		const answer = await b.delivers(server, { envelopes: [], control: {
			heartbeat: { at: new Date().toISOString() }, ping: 'abc' } });
		assert.equal(answer.status, 200, answer.text);
		assert.equal(answer.body.control.pong, 'abc');
		assert.equal(answer.body.control.heartbeat.draining, false);
		await s.meanwhile();
		assert.deepEqual(b.empty, [], 'a heartbeat alone causes none');
		await s.check();
	});
});

describe('401', () => {
	it('nonce-repeated: the same is signed anew, at once, and nobody is charged', async (t) => {
		const s = await scene(t);
		const { ann, b, root } = s;
		b.next(problem(401, 'nonce-repeated'));
		const { id } = await ann.send('bob@b.example', 'said twice');
		await b.gets(id);
		const sent = await until(ann, id, 'sent');
		assert.deepEqual([...uncharged(sent), sent.attempts], [0, null, 1]);
		const [one, two] = b.requests;
		assert.equal(b.requests.length, 2);
		assert.notEqual(one.nonce, two.nonce);
		assert.deepEqual(one.body, two.body);
		assert.equal((await root.destination('b.example')).failures, 0);
		assert.deepEqual((await s.attempts(id)).map(([outcome]) => outcome), ['accepted']);
		await s.check();
	});

	it('R239 nonce-repeated again and again: as if the server were away', async (t) => {
		const s = await scene(t);
		const { ann, b } = s;
		b.otherwise = problem(401, 'nonce-repeated');
		const { id } = await ann.send('bob@b.example', 'said again');
		const waits = await ann.entryWhen(id, (e) => e.state === 'pending' && e.attempts >= 1 && /401/.test(e.last_error), 'waits');
		assert.equal(waits.retry_count, 0);
		// Each attempt makes at most two requests.
		const { attempts } = await ann.entryWhen(id, (e) => e.state === 'pending' && e.attempts >= 2, 'is tried again');
		assert.ok(b.requests.length <= 2 * (attempts + 1), `${b.requests.length} requests in ${attempts} attempts`);
		await s.meanwhile();
		b.otherwise = accepts();
		await b.gets(id);
		await s.check();
	});
});

describe('a request that is refused as a whole', () => {
	for (const [name, answer, error, reason] of [
		['400 bad-request', problem(400, 'bad-request'), 'malformed', 'rejected'],
		['413 body-too-large', problem(413, 'body-too-large'), 'too-large', /^(rejected|too_large)$/],
		['422 bad-request', problem(422, 'bad-request'), 'malformed', 'rejected'],
		['422 too-large', problem(422, 'too-large'), 'too-large', /^(rejected|too_large)$/],
	]) {
		it(`${name}: it is halved, until the one at fault is found`, async (t) => {
			const s = await scene(t);
			const { ann, b, root } = s;
			const begun = await s.known();
			const ids = await s.waiting(16);
			const bad = ids[5];
			const has = ({ envelopes }) => envelopes.some((one) => one.payload.id === bad);
			b.otherwise = (request, ...rest) => (has(request) ? answer : accepts())(request, ...rest);
			await root.resume('b.example');
			const failed = await until(ann, bad, 'failed');
			assert.deepEqual([failed.last_error, failed.retry_count], [error, 0]);
			const good = ids.filter((id) => id !== bad);
			for (const id of good)
				assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
			assert.deepEqual(b.messages(), [begun, ...good]);
			const sizes = b.requests.filter(has).map(({ envelopes }) => envelopes.length);
			assert.equal(sizes[0], 16);
			assert.equal(sizes.at(-1), 1);
			assert.ok(sizes.includes(8), sizes.join(' '));
			assert.ok(sizes.length <= 16, sizes.join(' '));
			const bounce = await ann.event((e) => e.kind === 'bounce', 'the bounce');
			assert.equal(bounce.of, bad);
			const [letter] = await root.all('dead-letters', 'dead_letters');
			assert.match(letter.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`));
			await s.meanwhile();
			await s.check();
		});
	}

	it('by a server that is not twinbox: nothing is given up', async (t) => {
		const s = await scene(t);
		const { ann, b, root } = s;
		const begun = await s.known();
		const ids = await s.waiting(8);
		b.otherwise = says(400, '<h1>Bad Request</h1>');
		await root.resume('b.example');
		await b.when(() => b.requests.some(({ envelopes }, i) => i > 0 && envelopes.length === 1), 'a single one is tried');
		const waits = await ann.entryWhen(ids[0], (e) => e.state === 'pending' && /400/.test(e.last_error), 'waits');
		assert.equal(waits.retry_count, 0);
		await s.meanwhile();
		b.otherwise = accepts();
		assert.deepEqual(await b.has(9), [begun, ...ids]);
		for (const id of ids)
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		assert.deepEqual((await ann.inbox()).events.filter((e) => e.kind === 'bounce'), []);
		await s.check();
	});

	it('and the rest of it is away before both halves are sent: order holds', async (t) => {
		const s = await scene(t);
		const { ann, b, root } = s;
		const begun = await s.known();
		const ids = await s.waiting(12);
		b.next(problem(413, 'body-too-large'), accepts(), resets());
		await root.resume('b.example');
		assert.deepEqual(await b.has(13), [begun, ...ids]);
		for (const id of ids)
			assert.deepEqual(uncharged(await until(ann, id, 'sent')), [0, null]);
		await s.check();
	});
});
