// SPDX-License-Identifier: MIT
// tags: unit
//
// How the page's client (web/src/client.ts) in one tab treats the unsent texts
// of another tab of the same person, which is closed.  The tab that takes them
// over is the heir: the tab that holds the lock twinbox.sender.NAME.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CHAT, Scene, event } from './client-scene.mjs';
import { FakeDisk, FakeLocks, turn } from './fakes.mjs';

const unsent = (n, more = {}) => ({ id: `0190000${n}-0000-7000-8000-000000000000`, target: { to: 'bob' },
	body: `text ${n}`, at: n, ...more });
const bodies = (s) => s.sends.map((one) => one.message.body);
const waiting = (s) => s.client.unsent.map((one) => one.body);

/**
 * Returns the live page of a tab.  With ${locked}, another tab of the browser
 * holds the lock of the heir; release() releases it.
 */
async function tab(t, { disk = new FakeDisk(), locked = false } = {})
{
	const s = new Scene(t, disk);
	const locks = new FakeLocks();
	let release;

	s.browser.navigator.locks = locks;
	if (locked)
		void locks.request('twinbox.sender.ann', { signal: new AbortController().signal },
			() => new Promise((resolve) => { release = resolve; }));
	s.release = () => release();
	s.other = new BroadcastChannel('twinbox.sender.ann');
	s.heard = [];
	s.other.onmessage = ({ data }) => s.heard.push(data);
	s.browser.atEnd(() => s.other.close());
	s.open();
	await (await s.begin()).welcome();
	await turn();
	return s;
}

describe('texts of a tab that is closed', () => {
	it('are sent by the heir, in their order, and kept until then', async (t) => {
		const s = await tab(t);
		s.other.postMessage({ left: [unsent(2), unsent(1, { delayed: 'no room' })] });
		await turn();
		assert.deepEqual([bodies(s), waiting(s)], [['text 1'], ['text 1', 'text 2']]);
		assert.equal(s.client.unsent[0].delayed, undefined);
		assert.deepEqual([...s.disk.kept.unsent.keys()].sort(), [unsent(1).id, unsent(2).id]);
		await s.accept(s.sends[0]);
		await s.accept(s.sends[1]);
		assert.deepEqual([bodies(s), waiting(s), s.disk.kept.unsent.size], [['text 1', 'text 2'], [], 0]);
	});

	it('are not sent by another tab, until it is the heir: then it reads the disk', async (t) => {
		const s = await tab(t, { locked: true });
		s.other.postMessage({ left: [unsent(1)] });
		await turn();
		assert.deepEqual([bodies(s), waiting(s)], [[], []]);
		await s.disk.write({ unsent: [unsent(1)] });
		s.browser.storage.setItem(`twinbox.draft.ann.>${unsent(2).id}`, JSON.stringify(unsent(2)));
		s.release();
		await turn();
		assert.deepEqual(waiting(s), ['text 1', 'text 2']);
		assert.deepEqual([bodies(s), s.held], [['text 1'], []]);
		assert.deepEqual([...s.disk.kept.unsent.keys()], [unsent(1).id, unsent(2).id]);
	});

	it('are notified by it when it goes, if there are any', async (t) => {
		const s = await tab(t);
		s.browser.happens('pagehide');
		await turn();
		assert.deepEqual(s.heard, []);
		await s.client.send({ to: 'bob' }, 'Late');
		s.browser.happens('pagehide');
		await turn();
		assert.deepEqual(s.heard.map(({ left }) => left.map((one) => one.body)), [['Late']]);
	});

	it('that are here or were accepted are not taken', async (t) => {
		const s = await tab(t);
		await s.client.send({ to: 'bob' }, 'Mine');
		const [mine] = s.client.unsent;
		await s.client.open(CHAT);
		await s.come(event(1, { id: unsent(1).id, own: true, from: 'ann', to: 'bob' }));
		s.other.postMessage({ left: [{ ...mine, body: 'Mine' }, unsent(1)] });
		await turn();
		assert.deepEqual([bodies(s), waiting(s)], [['Mine'], ['Mine']]);
	});

	it('are not taken after a log-out', async (t) => {
		const s = await tab(t);
		s.client.end();
		s.other.postMessage({ left: [unsent(1)] });
		s.browser.happens('pagehide');
		await turn();
		assert.deepEqual([waiting(s), s.heard, s.disk.kept.unsent.size], [[], [], 0]);
	});

	it('are discarded in all tabs', async (t) => {
		const s = await tab(t);
		await s.client.send({ to: 'bob' }, 'Never mind');
		const [one] = s.client.unsent;
		await s.client.discard(one);
		await turn();
		assert.deepEqual(s.heard, [{ discarded: one.id }]);
		await s.client.send({ to: 'bob' }, 'Nor this');
		s.drawn();
		s.other.postMessage({ discarded: s.client.unsent[0].id });
		await turn();
		assert.deepEqual([waiting(s), s.drawn()], [[], true]);
	});
});
