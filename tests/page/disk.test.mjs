// SPDX-License-Identifier: MIT
// tags: unit
//
// What the page stores in the browser (web/src/disk.ts), in node with an
// IndexedDB in memory.  A batch is written completely or not at all, and the
// next page finds it.  If the disk fails, the page goes on in memory.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { before, beforeEach, describe, it } from 'node:test';

import { Browser, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

const packages = createRequire(new URL('../e2e/package.json', import.meta.url));
const { IDBDatabase, IDBFactory, IDBIndex, IDBKeyRange, IDBTransaction } = packages('fake-indexeddb');

const CHAT = '01900000-0000-7000-8000-00000000000c';
const OTHER = '01900000-0000-7000-8000-00000000000d';

let page;

before(async () => {
	globalThis.IDBKeyRange = IDBKeyRange;
	page = await modules('disk.ts', 'client.ts');
});

beforeEach(() => {
	globalThis.indexedDB = new IDBFactory();
});

const message = (id, at, more = {}) => ({ id, conversation: CHAT, seq: at, from: 'bob', own: false, body: id, at, ...more });
const chat = (id, more = {}) => ({ id, kind: 'direct', at: 0, last: 0, unread: 0, members: [], ...more });
const unsent = (id) => ({ id, target: { to: 'bob' }, body: id, at: 1 });
const ids = (list) => list.map((one) => one.id);

/** Opens the disk of ${user}, which is closed when the test ends. */
async function opened(t, user = 'ann')
{
	const disk = await page.Disk.open(user);

	t.after(() => disk.close());
	return disk;
}

/**
 * Replaces how read-write transactions are made: ${transaction} is called with
 * a function that makes a normal one.
 */
function transactions(t, transaction)
{
	const { prototype } = IDBDatabase;
	const { transaction: was } = prototype;

	prototype.transaction = function make(stores, mode, ...rest) {
		const normal = () => was.call(this, stores, mode, ...rest);
		return mode === 'readwrite' ? transaction(normal) : normal();
	};
	t.after(() => { prototype.transaction = was; });
}

/** Makes read-write transactions end as they do on a full disk. */
function full(t)
{
	transactions(t, (normal) => {
		const tx = normal();
		queueMicrotask(() => tx.abort());
		return tx;
	});
}

/**
 * Waits until ${what} returns true.  The condition may depend on the disk only.
 */
async function until(what)
{
	for (let i = 0; i < 10_000; i++) {
		if (what())
			return;
		await turn();
	}
	assert.fail(`never: ${what}`);
}

describe('what is written', () => {
	it('is there for the next page, of this person only', async (t) => {
		const disk = await opened(t);
		assert.equal(disk.lasting, true);
		assert.deepEqual(await disk.load(), { conversations: [], unsent: [], cursor: null });
		await disk.write({ messages: [message('m1', 1)], conversations: [chat(CHAT, { last: 1 })],
			unsent: [unsent('u1'), unsent('u2')], cursor: { epoch: 'e1', seq: 41 } });
		disk.close();
		const next = await opened(t);
		assert.deepEqual(await next.load(), { conversations: [chat(CHAT, { last: 1 })],
			unsent: [unsent('u1'), unsent('u2')], cursor: { epoch: 'e1', seq: 41 } });
		assert.deepEqual(await next.everything(), [message('m1', 1)]);
		const bob = await opened(t, 'bob');
		assert.deepEqual(await bob.load(), { conversations: [], unsent: [], cursor: null });
		assert.deepEqual(await bob.everything(), []);
	});

	it('replaces what was there; done and a null cursor take away', async (t) => {
		const disk = await opened(t);
		await disk.write({ messages: [message('m1', 1)], conversations: [chat(CHAT)],
			unsent: [unsent('u1'), unsent('u2')], cursor: { epoch: 'e1', seq: 41 } });
		await disk.write({ messages: [message('m1', 1, { end: 'failed' })], conversations: [chat(CHAT, { unread: 3 })],
			done: ['u1', 'unknown'] });
		assert.deepEqual(await disk.everything(), [message('m1', 1, { end: 'failed' })]);
		assert.deepEqual(await disk.load(), { conversations: [chat(CHAT, { unread: 3 })],
			unsent: [unsent('u2')], cursor: { epoch: 'e1', seq: 41 } });
		await disk.write({ cursor: null });
		const { cursor, conversations } = await disk.load();
		assert.deepEqual([cursor, conversations.length], [null, 1]);
	});

	it('is reported when the transaction is complete, not before', async (t) => {
		const disk = await opened(t);
		const steps = [];
		transactions(t, (normal) => {
			const tx = normal();
			assert.ok(tx instanceof IDBTransaction);
			tx.addEventListener('complete', () => steps.push('complete'));
			return tx;
		});
		await disk.write({ messages: [message('m1', 1)] });
		steps.push('written');
		assert.deepEqual(steps, ['complete', 'written']);
	});
});

describe('messages', () => {
	it('of a conversation come newest first by their time, as many as wanted', async (t) => {
		const disk = await opened(t);
		await disk.write({ messages: [message('b', 20), message('a', 30), message('c', 10),
			message('x', 25, { conversation: OTHER }), message('d', 40, { seq: null })] });
		assert.deepEqual(ids(await disk.messages(CHAT, 10)), ['d', 'a', 'b', 'c']);
		assert.deepEqual(ids(await disk.messages(CHAT, 4)), ['d', 'a', 'b', 'c']);
		assert.deepEqual(ids(await disk.messages(CHAT, 2)), ['d', 'a']);
		assert.deepEqual(ids(await disk.messages(OTHER, 10)), ['x']);
		assert.deepEqual(await disk.messages('nowhere', 10), []);
	});

	it('are found by their ids, those that are there', async (t) => {
		const disk = await opened(t);
		await disk.write({ messages: [message('a', 1), message('b', 2)] });
		assert.deepEqual(ids(await disk.find(['b', 'unknown', 'a'])), ['b', 'a']);
		assert.deepEqual(await disk.find([]), []);
	});
});

describe('a disk that fails', () => {
	it('has all of a batch or nothing of it; then the page keeps nothing any more', async (t) => {
		const disk = await opened(t);
		await disk.write({ messages: [message('m1', 1)], unsent: [unsent('u1')], cursor: { epoch: 'e1', seq: 1 } });
		full(t);
		await disk.write({ messages: [message('m2', 2)], conversations: [chat(CHAT)], unsent: [unsent('u2')],
			done: ['u1'], cursor: { epoch: 'e1', seq: 2 } });
		assert.equal(disk.lasting, false);
		await disk.write({ messages: [message('m3', 3)] });
		assert.deepEqual(await disk.everything(), []);
		const next = await opened(t);
		assert.deepEqual(await next.load(), { conversations: [], unsent: [unsent('u1')], cursor: { epoch: 'e1', seq: 1 } });
		assert.deepEqual(ids(await next.everything()), ['m1']);
	});

	for (const [what, indexedDB] of [
		['none', undefined],
		['one that is forbidden', { open: () => { throw new Error('forbidden'); } }],
		['one that cannot be opened', { open: () => {
			const request = { error: new Error('broken') };
			queueMicrotask(() => request.onerror());
			return request;
		} }],
	]) it(`${what}: all goes on in memory`, async (t) => {
		globalThis.indexedDB = indexedDB;
		const disk = await opened(t);
		assert.equal(disk.lasting, false);
		await disk.write({ messages: [message('m1', 1)], cursor: { epoch: 'e1', seq: 1 } });
		assert.deepEqual(await disk.load(), { conversations: [], unsent: [], cursor: null });
		assert.deepEqual([await disk.messages(CHAT, 5), await disk.find(['m1']), await disk.everything()], [[], [], []]);
		await disk.erase();
	});

	it('and cannot be read says so', async (t) => {
		const { prototype } = IDBIndex;
		const { openCursor: was } = prototype;
		const disk = await opened(t);
		prototype.openCursor = () => {
			const request = { error: new Error('broken') };
			queueMicrotask(() => request.onerror());
			return request;
		};
		t.after(() => { prototype.openCursor = was; });
		await assert.rejects(disk.messages(CHAT, 5), { message: 'broken' });
	});

	it('a client goes on with its acks, and the next page asks for what was not written', async (t) => {
		const browser = new Browser(t);
		Object.assign(browser.answers, {
			'GET /v1': () => [200, { limits: { text: 1000 }, user: null }],
			'GET /v1/inbox': () => [200, { epoch: 'e1', head: 0, oldest: 1 }],
			'GET /v1/conversations': () => [200, { conversations: [], next: null, has_more: false }],
		});
		/** Opens a page and waits until it is live. */
		const begin = async () => {
			const count = browser.sockets.length;
			const client = new page.ChatClient({ token: 'secret', user: 'ann', device: { id: 'd', name: 'x' } },
				{ changed: () => undefined, loggedOut: () => undefined, say: () => undefined });
			browser.atEnd(() => client.end());
			void client.start();
			await until(() => browser.sockets.length > count);
			browser.socket.opened();
			browser.socket.say({ type: 'welcome', re: 1, epoch: 'e1', head: 0, oldest: 1, acked: 0, recovered: true });
			await turn();
			return client;
		};
		const come = async (seq) => {
			browser.socket.say({ type: 'event', kind: 'message', seq, id: `m${seq}`, conversation: CHAT, conversation_seq: seq,
				own: false, from: 'bob', to: 'ann', body: 'x', event_time: '2026-05-20T12:00:00.000Z' });
			await browser.clock.pass(0);
			await until(() => browser.socket.sent('ack').some((one) => one.upto === seq));
		};
		const client = await begin();
		await come(1);
		assert.equal(client.lasting, true);
		full(t);
		await come(2);
		assert.equal(client.lasting, false);
		await come(3);
		assert.equal(client.unread, 3);
		client.end();
		await begin();
		assert.equal(browser.socket.sent('hello')[0].after, 'e1:1');
	});
});

describe('erasing', () => {
	it('leaves nothing of this person', async (t) => {
		const [disk, bob] = [await opened(t), await opened(t, 'bob')];
		for (const one of [disk, bob])
			await one.write({ messages: [message('m1', 1)], cursor: { epoch: 'e1', seq: 1 } });
		await disk.erase();
		assert.equal(disk.lasting, false);
		const next = await opened(t);
		assert.deepEqual([await next.load(), await next.everything()], [{ conversations: [], unsent: [], cursor: null }, []]);
		assert.equal((await bob.everything()).length, 1);
	});

	it('that is forbidden ends what is kept all the same', async (t) => {
		const disk = await opened(t);
		indexedDB.deleteDatabase = () => { throw new Error('forbidden'); };
		await disk.erase();
		assert.equal(disk.lasting, false);
	});

	it('another tab lets go of what is erased', async (t) => {
		const [disk, tab] = [await opened(t), await opened(t)];
		await tab.write({ cursor: { epoch: 'e1', seq: 1 } });
		await disk.erase();
		assert.equal(tab.lasting, false);
		await tab.write({ cursor: { epoch: 'e1', seq: 2 } });
		assert.equal((await (await opened(t)).load()).cursor, null);
	});

	it('does not wait for a tab that lets go late', async (t) => {
		const disk = await opened(t);
		const late = await new Promise((resolve) => {
			const request = indexedDB.open('twinbox.ann', 1);
			request.onsuccess = () => resolve(request.result);
		});
		t.after(() => late.close());
		await disk.erase();
	});
});
