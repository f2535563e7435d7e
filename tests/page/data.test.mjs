// SPDX-License-Identifier: MIT
// tags: unit
//
// Small data that outlives the page (web/src/data.ts), in node: the log-in,
// drafts, and texts that are not on the disk yet.  And the meaning of the
// address bar (web/src/route.ts).

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { Browser } from './fakes.mjs';
import { modules } from './modules.mjs';

const CHAT = '01900000-0000-7000-8000-00000000000c';
const GROUP = '01900000-0000-7000-8000-00000000000d';
const LOGIN = { token: 'secret', user: 'ann', device: { id: 'd1', name: 'Firefox' } };

let page;

before(async () => {
	page = await modules('data.ts', 'route.ts');
});

const unsent = (id) => ({ id, target: { to: 'bob' }, body: `text ${id}`, at: 1 });

/** Returns the content of localStorage of ${browser}. */
const kept = ({ storage }) => ({ ...storage });

describe('who is logged in', () => {
	it('is kept for the next page, until somebody logs out', (t) => {
		const browser = new Browser(t);
		assert.equal(page.loadLogin(), null);
		page.saveLogin(LOGIN);
		assert.deepEqual(kept(browser), { 'twinbox.login': JSON.stringify(LOGIN) });
		assert.deepEqual(page.loadLogin(), LOGIN);
		page.saveLogin(null);
		assert.deepEqual(kept(browser), {});
		assert.equal(page.loadLogin(), null);
	});

	it('what is there but no JSON is nobody', (t) => {
		const browser = new Browser(t);
		browser.storage.setItem('twinbox.login', '{');
		assert.equal(page.loadLogin(), null);
	});

	it('another tab that logs in or out, or forgets all, is heard; other news is not', (t) => {
		const browser = new Browser(t);
		const heard = [];
		const happens = (key) => browser.page.dispatchEvent(Object.assign(new Event('storage'), { key }));
		page.onLogin((login) => heard.push(login));
		page.saveLogin(LOGIN);
		happens('twinbox.draft.ann.to/bob');
		assert.deepEqual(heard, []);
		happens('twinbox.login');
		assert.deepEqual(heard, [LOGIN]);
		page.saveLogin(null);
		happens(null);
		assert.deepEqual(heard, [LOGIN, null]);
	});
});

describe('drafts', () => {
	it('are kept by person and place; an empty one is none', (t) => {
		const browser = new Browser(t);
		page.saveDraft('ann', 'to/bob', 'Hel');
		page.saveDraft('ann', 'to/carol', 'Hi');
		assert.deepEqual(kept(browser), { 'twinbox.draft.ann.to/bob': 'Hel', 'twinbox.draft.ann.to/carol': 'Hi' });
		assert.deepEqual([page.loadDraft('ann', 'to/bob'), page.loadDraft('eve', 'to/bob')], ['Hel', '']);
		page.saveDraft('ann', 'to/bob', '');
		assert.deepEqual(kept(browser), { 'twinbox.draft.ann.to/carol': 'Hi' });
	});

	it('of one person are erased with what is on its way to the disk; nobody else’s', (t) => {
		const browser = new Browser(t);
		page.saveLogin(LOGIN);
		for (const name of ['ann', 'annie', 'an'])
			page.saveDraft(name, 'to/bob', name);
		page.hold('ann', unsent('a'));
		page.hold('annie', unsent('b'));
		page.eraseDrafts('ann');
		assert.deepEqual(Object.keys(kept(browser)), ['twinbox.login', 'twinbox.draft.annie.to/bob',
			'twinbox.draft.an.to/bob', 'twinbox.draft.annie.>b']);
	});
});

describe('texts on their way to the disk', () => {
	it('are held until they are let go', (t) => {
		const browser = new Browser(t);
		page.saveDraft('ann', 'to/bob', 'Hel');
		page.hold('ann', unsent('a'));
		page.hold('ann', unsent('b'));
		page.hold('annie', unsent('c'));
		assert.deepEqual(page.held('ann'), [unsent('a'), unsent('b')]);
		page.release('ann', 'a');
		assert.deepEqual(page.held('ann'), [unsent('b')]);
		assert.deepEqual(Object.keys(kept(browser)), ['twinbox.draft.ann.to/bob', 'twinbox.draft.ann.>b',
			'twinbox.draft.annie.>c']);
	});
});

it('where the browser forbids to keep anything, nothing is kept and nothing breaks', (t) => {
	const browser = new Browser(t);
	const forbidden = () => { throw new Error('forbidden'); };

	browser.put(globalThis, { localStorage: { getItem: forbidden, setItem: forbidden, removeItem: forbidden } });
	page.saveLogin(LOGIN);
	page.saveLogin(null);
	page.saveDraft('ann', 'to/bob', 'x');
	page.hold('ann', unsent('a'));
	page.release('ann', 'a');
	page.eraseDrafts('ann');
	assert.deepEqual([page.loadLogin(), page.loadDraft('ann', 'to/bob')], [null, '']);
	browser.put(globalThis, { localStorage: undefined });
	assert.deepEqual(page.held('ann'), []);
});

describe('a device is called after its browser', () => {
	const LINUX = 'Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0';

	for (const [name, agent] of [
		['Firefox on Linux', LINUX],
		['Edge on Windows', 'Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0'],
		['Opera on macOS', 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Chrome/120.0 Safari/537.36 OPR/106.0'],
		['Chrome on Android', 'Mozilla/5.0 (Linux; Android 14) Chrome/120.0 Mobile Safari/537.36'],
		['Chrome on Linux', 'Mozilla/5.0 (X11; Linux x86_64) Chromium/120.0 Safari/537.36'],
		['Safari on iOS', 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1'],
		['Browser on Windows', 'curl (Windows)'],
		['Safari', 'Safari/1'],
		['Browser', 'something else'],
	]) it(name, () => {
		assert.equal(page.deviceName(agent), name);
	});

	it('and by itself it is this one', (t) => {
		new Browser(t).navigator.userAgent = LINUX;
		assert.equal(page.deviceName(), 'Firefox on Linux');
	});
});

describe('the address bar', () => {
	const people = (...names) => names.map((address) => ({ address, delivered: 0, read: 0 }));
	const bob = { id: CHAT, kind: 'direct', members: people('ann', 'bob') };
	const group = { id: GROUP, kind: 'group', members: people('ann', 'bob', 'carol') };
	const client = { conversations: new Map([[CHAT, bob], [GROUP, group]]),
		withPerson: (name) => (name === 'bob' ? bob : undefined) };
	const routeOf = (hash) => page.routeOf(hash, client);

	it('has a person’s name, or a group’s id', () => {
		assert.equal(page.hashOf(bob, 'ann'), 'to/bob');
		assert.equal(page.hashOf(group, 'ann'), `c/${GROUP}`);
		assert.equal(page.hashOf({ ...bob, members: people('ann', 'bob@far.example') }, 'ann'), 'to/bob%40far.example');
		assert.equal(page.hashOf({ ...bob, members: people('ann') }, 'ann'), 'to/ann', 'notes to oneself');
	});

	it('stands for a conversation, or for somebody to write to', () => {
		assert.deepEqual(routeOf('to/bob'), { conversation: bob });
		assert.deepEqual(routeOf(`c/${GROUP}`), { conversation: group });
		assert.deepEqual(routeOf('to/carol'), { to: 'carol' });
		for (const at of ['@', '%40'])
			assert.deepEqual(routeOf(`to/bob${at}far.example`), { to: 'bob@far.example' });
		const [long, longer] = ['x'.repeat(32), 'x'.repeat(33)];
		assert.deepEqual([routeOf(`to/${long}`), routeOf(`to/${longer}`)], [{ to: long }, null]);
	});

	it('else for the list', () => {
		for (const hash of ['', 'x', 'to/', 'to/Bob', 'to/<b>', 'to/a/b', 'to/bob@', `c/${CHAT.replace('c', 'e')}`,
			'c/', `c/${CHAT}x`, `x/c/${CHAT}`, 'c/../../v1'])
			assert.equal(routeOf(hash), null, hash);
	});
});
