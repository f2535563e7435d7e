// SPDX-License-Identifier: MIT
// tags: store
//
// Direct conversations: there is one for each pair of users.  The list of
// conversations shows unread counts, the last message and the watermarks; each
// conversation has a history.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator, sendMany, until } from './operator.mjs';
import { contiguous, problem } from './expect.mjs';
import { expectStatus, once, serverForFile, users } from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

async function talk(n)
{
	const [ann, bob] = await users(server, 'ann', 'bob');
	const entries = [];

	for (let i = 1; i <= n; i++) {
		const [from, to] = i % 2 ? [ann, bob] : [bob, ann];
		entries.push(await from.send(to.name, `message ${i}`));
		await to.received(entries.at(-1).id);
	}
	return { ann, bob, entries, conversation: entries[0]?.conversation };
}

async function list(user)
{
	return expectStatus(await user.get('/v1/conversations'), 200).body.conversations;
}

describe('the list', () => {
	it('is empty at first', async () => {
		const [ann] = await users(server, 'ann');
		assert.deepEqual(await list(ann), []);
	});

	it('two users have one conversation, whoever began', async () => {
		const { ann, bob, conversation } = await talk(4);
		for (const [user, other] of [[ann, bob], [bob, ann]]) {
			const [one, ...more] = await list(user);
			assert.equal(more.length, 0);
			assert.equal(one.id, conversation);
			assert.equal(one.kind, 'direct');
			assert.deepEqual(one.members.map((member) => member.address).sort(),
				[user.name, other.name].sort());
		}
	});

	it('begun from both sides at once it is still one', async () => {
		const pairs = await Promise.all(Array.from({ length: 8 }, () => users(server, 'a', 'b')));
		const both = await Promise.all(pairs.map(([a, b]) =>
			Promise.all([a.send(b.name, 'x'), b.send(a.name, 'y')])));
		for (const [one, two] of both)
			assert.equal(one.conversation, two.conversation);
	});

	it('R219 shows unread, the last message and the marks', async () => {
		const { ann, bob, entries, conversation } = await talk(5);
		const mine = (await list(bob))[0];
		assert.equal(mine.unread, 3);
		assert.equal(mine.last, 5);
		assert.equal(entries.length, 5);
		await bob.read({ conversation, upto_conversation_seq: 3 });
		const after_read = (await list(bob))[0];
		assert.equal(after_read.unread, 1);
		const of_bob = after_read.members.find((member) => member.address === bob.name);
		assert.equal(of_bob.read, 3);
		assert.equal((await list(ann))[0].unread, 2);
	});

	const names = (user, page) => page.map((one) =>
		one.members.find((member) => member.address !== user.name).address);

	/**
	 * Follows the pages from ${target} on, by the Link header and `next`.
	 * Returns the names in all pages, at most two on each page.  ${more}(n)
	 * runs after page n.
	 */
	const pages = async (user, target, more = async () => undefined) => {
		const all = [];
		for (let n = 0; target; n++) {
			assert.ok(n < 5, 'the pages do not end');
			const answer = expectStatus(await user.get(target), 200);
			assert.ok(answer.body.conversations.length <= 2);
			all.push(...names(user, answer.body.conversations));
			assert.equal(answer.body.has_more, Boolean(answer.body.next));
			const link = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '');
			assert.equal(Boolean(link), Boolean(answer.body.next));
			target = link?.[1];
			await more(n);
		}
		return all;
	};

	it('the last activity comes first, and the newest conversation with order=created', async () => {
		const [ann] = await users(server, 'ann');
		const others = await users(server, ...Array.from({ length: 5 }, () => 'o'));
		for (const other of others)
			await ann.send(other.name, 'hi');
		const [a, b, c, d, e] = others.map((one) => one.name);
		const { id } = await others[1].send(ann.name, 'an answer');
		await ann.received(id);
		await ann.send(a, 'and again');
		assert.deepEqual(await pages(ann, '/v1/conversations?limit=2'), [a, b, e, d, c]);
		assert.deepEqual(await pages(ann, '/v1/conversations?order=recent&limit=2'), [a, b, e, d, c]);
		assert.deepEqual(await pages(ann, '/v1/conversations?order=created&limit=2'), [e, d, c, b, a]);
		// A conversation that moves to the top between two pages is
		// missing on later pages.  None appears twice.
		const moving = (n) => n === 0 ? ann.send(d, 'moves up') : undefined;
		assert.deepEqual(await pages(ann, '/v1/conversations?limit=2', moving), [a, b, e, c]);
		assert.deepEqual(await pages(ann, '/v1/conversations?limit=2'), [d, a, b, e, c]);
	});

	it('what was not delivered to me moves nothing', async () => {
		const [root, [ann, bob, carol]] = await Promise.all([operator(server), users(server, 'ann', 'bob', 'carol')]);
		await bob.received((await ann.send(bob.name, 'one')).id);
		await bob.received((await carol.send(bob.name, 'two')).id);
		const before = await list(bob);
		await root.pause();
		await sendMany(ann, bob.name, 1);
		assert.deepEqual([names(bob, await list(bob)), await list(bob)], [[carol.name, ann.name], before]);
		await root.resume();
	});

	for (const query of ['after=x', 'after=01900000-0000-7000-8000-000000000000', 'order=name',
		'order=created&after=1:01900000-0000-7000-8000-000000000000'])
		it(`refuses ?${query}`, async () => {
			const [ann] = await users(server, 'ann');
			problem(await ann.get(`/v1/conversations?${query}`), 400, 'bad_request');
		});

	it('an ETag saves the answer', async () => {
		const { ann, bob } = await talk(2);
		const answer = await ann.get('/v1/conversations');
		const etag = answer.headers.get('etag');
		assert.ok(etag);
		const same = await ann.get('/v1/conversations', { headers: { 'if-none-match': etag } });
		assert.equal(same.status, 304);
		assert.equal(same.text, '');
		const entry = await bob.send(ann.name, 'something new');
		await ann.received(entry.id);
		expectStatus(await ann.get('/v1/conversations',
			{ headers: { 'if-none-match': etag } }), 200);
	});
});

describe('the last message in the list', () => {
	const last = async (user) => (await list(user))[0].last_message;

	it('is my own or one that was delivered to me, with its sender and its time', async () => {
		const { ann, bob, conversation } = await talk(3);
		const [mine] = await list(ann);
		const { messages: [newest] } = expectStatus(await bob.get(
			`/v1/conversations/${conversation}/messages?limit=1`), 200).body;
		assert.deepEqual(mine.last_message, { id: newest.id, conversation_seq: 3, from: ann.name, own: true,
			body: 'message 3', truncated: false, content_type: 'text/plain', event_time: newest.event_time });
		assert.deepEqual(await last(bob), { ...mine.last_message, own: false });
		assert.ok(Date.parse(mine.last_at) >= Date.parse(mine.created_at));
		const { body } = expectStatus(await ann.get(`/v1/conversations/${conversation}`), 200);
		assert.deepEqual(body, mine, 'one conversation shows the same');
	});

	it('is cut between characters, after 256 bytes at most', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		for (const [text, shown] of [['x'.repeat(256), 256], ['x'.repeat(257), 256],
			[`${'x'.repeat(252)}\u{1f98a}`, 256], [`${'x'.repeat(253)}\u{1f98a}`, 253],
			[`${'x'.repeat(255)}\u{1f98a}`, 255], ['\u20ac'.repeat(86), 255]]) {
			await ann.send(bob.name, text);
			const { body, truncated } = await last(ann);
			const bytes = Buffer.from(text);
			assert.equal(body, bytes.subarray(0, shown).toString(), 'whole characters');
			assert.equal(Buffer.byteLength(body), shown);
			assert.equal(truncated, shown < bytes.length);
		}
	});

	it('is not what still waits, was canceled, has failed or expired', async () => {
		const [root, [ann, bob]] = await Promise.all([operator(server), users(server, 'ann', 'bob')]);
		const { id: first } = await ann.send(bob.name, 'first');
		await bob.received(first);
		await root.pause();
		const [failed, canceled] = await sendMany(ann, bob.name, 2);
		const [expired] = await sendMany(ann, bob.name, 1, { expires_in: 1 });
		assert.deepEqual([(await last(ann)).id, (await last(bob)).id], [expired, first], 'they wait');
		await root.do('POST', `outbox/${failed}/discard`);
		expectStatus(await ann.delete(`/v1/outbox/${canceled}`), 200);
		await until(ann, expired, 'expired');
		assert.equal((await last(bob)).id, first, 'none of them was delivered');
		await root.resume();
		const { id: other } = await bob.send(ann.name, 'to move the mark');
		await ann.received(other);
		const { id: late } = await ann.send(bob.name, 'last');
		await bob.received(late);
		assert.deepEqual([(await last(bob)).id, (await list(bob))[0].last], [late, 6]);
		await root.pause();
		const [unseen] = await sendMany(ann, bob.name, 1);
		expectStatus(await ann.delete(`/v1/outbox/${unseen}`), 200);
		await root.resume();
		assert.deepEqual([(await last(bob)).id, (await list(bob))[0].last, (await last(ann)).id],
			[late, 6, unseen]);
	});

	it('is of the caller alone', async () => {
		const { ann } = await talk(1);
		const [eve] = await users(server, 'eve');
		assert.deepEqual(await list(eve), []);
		const [dave] = await users(server, 'dave');
		await eve.send(dave.name, 'from eve to dave');
		assert.ok(!JSON.stringify(await list(ann)).includes('from eve'));
	});
});

describe('one conversation', () => {
	it('GET /v1/conversations/{id}', async () => {
		const { ann, conversation } = await talk(2);
		const { body } = expectStatus(await ann.get(`/v1/conversations/${conversation}`), 200);
		assert.equal(body.id, conversation);
		assert.equal(body.kind, 'direct');
	});

	for (const target of ['', '/messages']) {
		it(`is nobody else's: ${target || '(itself)'}`, async () => {
			const { conversation } = await talk(1);
			const [eve] = await users(server, 'eve');
			const foreign = await eve.get(`/v1/conversations/${conversation}${target}`);
			const unknown = await eve.get('/v1/conversations/' +
				`01900000-0000-7000-8000-000000000000${target}`);
			problem(foreign, 404, 'not_found');
			problem(unknown, 404, 'not_found');
			assert.equal(foreign.body.detail.replace(conversation, '#'),
				unknown.body.detail.replace('01900000-0000-7000-8000-000000000000', '#'));
		});
		it(`an id that is none: ${target || '(itself)'}`, async () => {
			const [eve] = await users(server, 'eve');
			problem(await eve.get(`/v1/conversations/nonsense${target}`), 404, 'not_found');
		});
	}
});

describe('R232 history', () => {
	const shared = once(() => talk(1));

	it('both see the same messages, numbered without a hole', async () => {
		const { ann, bob, entries, conversation } = await talk(7);
		for (const user of [ann, bob]) {
			const { messages } = expectStatus(await user.get(
				`/v1/conversations/${conversation}/messages`), 200).body;
			const oldest_first = [...messages].sort((a, b) =>
				a.conversation_seq - b.conversation_seq);
			assert.deepEqual(oldest_first.map((one) => one.id), entries.map((one) => one.id));
			contiguous(oldest_first.map((one) => ({ seq: one.conversation_seq })));
			assert.deepEqual(oldest_first.map((one) => one.body),
				entries.map((_one, i) => `message ${i + 1}`));
			assert.deepEqual(oldest_first.map((one) => one.from),
				entries.map((_one, i) => (i % 2 ? bob : ann).name));
		}
	});

	it('pages backward by before, forward by after', async () => {
		const { ann, conversation } = await talk(9);
		const page = async (query) => expectStatus(await ann.get(
			`/v1/conversations/${conversation}/messages?${query}`), 200).body.messages
			.map((one) => one.conversation_seq).sort((a, b) => a - b);
		assert.deepEqual(await page('limit=4'), [6, 7, 8, 9]);
		assert.deepEqual(await page('limit=4&before=6'), [2, 3, 4, 5]);
		assert.deepEqual(await page('limit=4&before=2'), [1]);
		assert.deepEqual(await page('before=1'), []);
		assert.deepEqual(await page('limit=4&after=0'), [1, 2, 3, 4]);
		assert.deepEqual(await page('limit=4&after=6'), [7, 8, 9]);
		assert.deepEqual(await page('after=9'), []);
	});

	it('the link to the next page leads through all of it', async () => {
		const { ann, conversation } = await talk(9);
		const seqs = [];
		let target = `/v1/conversations/${conversation}/messages?limit=2`;
		while (target) {
			const answer = expectStatus(await ann.get(target), 200);
			seqs.push(...answer.body.messages.map((one) => one.conversation_seq));
			target = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
			assert.ok(seqs.length <= 9, 'a page comes twice');
		}
		assert.deepEqual([...seqs].sort((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
	});

	it('hides from its recipient what was canceled, failed or expired in its middle', async () => {
		const [root, [ann, bob]] = await Promise.all([operator(server), users(server, 'ann', 'bob')]);
		const { id: first, conversation } = await ann.send(bob.name, 'first');
		const seen = async (user, query) => expectStatus(await user.get(
			`/v1/conversations/${conversation}/messages?${query}`), 200).body.messages
			.sort((a, b) => a.conversation_seq - b.conversation_seq).map((one) => one.id);

		await until(ann, first, 'sent');
		await root.pause();
		const [canceled, failed] = await sendMany(ann, bob.name, 2);
		const [expired] = await sendMany(ann, bob.name, 1, { expires_in: 1 });
		expectStatus(await ann.delete(`/v1/outbox/${canceled}`), 200);
		await root.do('POST', `outbox/${failed}/discard`);
		await until(ann, expired, 'expired');
		const { id: last } = await ann.send(bob.name, 'last');
		await root.resume();
		await bob.received(last);
		for (const query of ['before=100', 'after=0']) {
			assert.deepEqual(await seen(bob, query), [first, last], query);
			assert.deepEqual(await seen(ann, query),
				[first, canceled, failed, expired, last], query);
		}
		for (const id of [canceled, failed, expired])
			problem(await bob.get(`/v1/messages/${id}`), 404, 'not_found');
	});

	for (const query of ['before=x', 'after=-1', 'limit=0', 'limit=201', 'limit=x', 'nonsense=1',
		'before=1&after=1']) {
		it(`refuses ?${query}`, async () => {
			const { ann, conversation } = await shared();
			problem(await ann.get(`/v1/conversations/${conversation}/messages?${query}`),
				400, 'bad_request');
		});
	}
});

describe('GET /v1/messages/{id}', () => {
	it('both see it, a third does not', async () => {
		const { ann, bob, entries } = await talk(1);
		const [eve] = await users(server, 'eve');
		for (const user of [ann, bob]) {
			const { body } = expectStatus(await user.get(`/v1/messages/${entries[0].id}`), 200);
			assert.equal(body.id, entries[0].id);
			assert.equal(body.body, 'message 1');
			assert.equal(body.from, ann.name);
			assert.equal(body.conversation_seq, 1);
		}
		problem(await eve.get(`/v1/messages/${entries[0].id}`), 404, 'not_found');
	});
});
