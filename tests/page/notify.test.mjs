// SPDX-License-Identifier: MIT
//
// Notifications: none before the user has agreed, none while the page is
// visible in some tab, one for all tabs, and removed when the message is read.
// The browser's own notifications are replaced by a stand-in, because a browser
// without a screen shows none.  The test sets whether a tab is visible.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile, users } from '../e2e/harness.mjs';
import { Person, WHOLE, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after }, undefined, WHOLE);
const server = serverForFile({ before, after, afterEach });

const BOX = 'Notify of messages while the page is not visible';

/** Runs in each tab of the browser, before the page's own script. */
function standIn(answer)
{
	let hidden = false;

	Object.defineProperty(document, 'visibilityState', { get: () => hidden ? 'hidden' : 'visible' });
	Object.defineProperty(document, 'hidden', { get: () => hidden });
	globalThis.hide = (now) => {
		hidden = now;
		document.dispatchEvent(new Event('visibilitychange'));
	};
	globalThis.notes = [];
	globalThis.asked = 0;
	globalThis.Notification = class {
		// All tabs share one permission.
		static get permission()
		{
			return localStorage.getItem('stand-in') ?? 'default';
		}

		static requestPermission()
		{
			globalThis.asked++;
			localStorage.setItem('stand-in', answer);
			return Promise.resolve(answer);
		}

		constructor(title, { body, tag })
		{
			Object.assign(this, { title, body, tag, closed: false });
			globalThis.notes.push(this);
		}

		close()
		{
			this.closed = true;
		}
	};
}

/**
 * Returns ann and bob.  Ann is logged in in a browser that answers ${answer} to
 * the question about notifications.
 */
async function scene(t, { answer = 'granted', on = true } = {})
{
	const [rest, bob] = await users(server, 'ann', 'bob');
	const ann = await Person.make(holder, server, rest.name,
		{ prepare: (context) => context.addInitScript(standIn, answer) });

	t.after(() => ann.close());
	ann.rest = rest;
	await ann.logIn();
	if (on) {
		await ann.settings();
		await ann.page.getByLabel(BOX).click();
		await ann.page.getByLabel('Show the text of the message').waitFor();
		await ann.page.evaluate(() => { location.hash = ''; });
	}
	return { ann, bob, page: ann.page };
}

const hide = (page, now = true) => page.evaluate((on) => globalThis.hide(on), now);

/**
 * Waits until ${page} has ${count} unread messages and has decided about a
 * notification for each.
 */
async function arrived(page, count)
{
	await eventually(async () => await page.title() === `(${count}) twinbox`, `${count} unread`);
	await page.evaluate(() => navigator.locks.query());
}

const notes = (page) => page.evaluate(() => globalThis.notes.map(({ title, body, closed }) =>
	({ title, body, closed })));
const asked = (page) => page.evaluate(() => globalThis.asked);

/**
 * Waits until all of ${pages} together show ${count} notifications.  Returns
 * them.
 */
const noted = (count, ...pages) => eventually(async () => {
	const all = (await Promise.all(pages.map(notes))).flat();
	return all.length === count && all;
}, `${count} notifications`);

/**
 * Returns ann and bob.  Ann's browser shows notifications by its service
 * worker, as on Android. shown(n) waits until the worker has shown ${n} in all,
 * and returns those that are still there.  It lists none before that, because
 * Chromium loses a notification that it is showing while it lists them.
 */
async function telephone(t)
{
	const [rest, bob] = await users(server, 'ann', 'bob');
	const ann = await Person.make(holder, server, rest.name, { worker: true, prepare: async (context) => {
		await context.grantPermissions(['notifications']);
		await context.addInitScript(standIn, 'granted');
		await context.addInitScript(() => {
			const { prototype } = ServiceWorkerRegistration;
			const { showNotification } = prototype;
			globalThis.done = 0;
			prototype.showNotification = async function (...args) {
				await showNotification.apply(this, args);
				globalThis.done++;
			};
			globalThis.Notification = class extends globalThis.Notification {
				constructor()
				{
					throw new TypeError('Illegal constructor');
				}
			};
		});
	} });
	t.after(() => ann.close());
	ann.rest = rest;
	const { page } = ann;
	await ann.logIn();
	await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
	await ann.settings();
	await page.getByLabel(BOX).click();
	await page.getByLabel('Show the text of the message').waitFor();
	const shown = async (count) => {
		await page.waitForFunction((n) => globalThis.done >= n, count);
		return page.evaluate(async () => (await (await navigator.serviceWorker.getRegistration())
			.getNotifications()).map(({ title, body }) => [title, body]));
	};
	return { ann, bob, page, shown };
}

describe('notifications', () => {
	it('are neither shown nor asked for unless a person wants them', async (t) => {
		const { ann, bob, page } = await scene(t, { on: false });
		await hide(page);
		await bob.send(ann.name, 'Nobody asked for me');
		await arrived(page, 1);
		assert.deepEqual([await notes(page), await asked(page)], [[], 0]);
		await ann.unharmed();
	});

	it('announce messages in a hidden tab, and not in a visible one', async (t) => {
		const { ann, bob, page } = await scene(t);
		assert.equal(await asked(page), 1);
		await bob.send(ann.name, 'Seen as it comes');
		await arrived(page, 1);
		assert.deepEqual(await notes(page), []);

		await hide(page);
		await bob.send(ann.name, 'Not seen');
		await noted(1, page);
		assert.deepEqual(await notes(page), [{ title: bob.name, body: '2 new messages', closed: false }]);
		const tag = await page.evaluate(() => globalThis.notes[0].tag);
		await bob.send(ann.name, 'Nor this');
		await noted(2, page);
		assert.equal(await page.evaluate(() => globalThis.notes[1].tag), tag, 'one takes the place of the other');
		await ann.unharmed();
	});

	it('show the text if that is wanted', async (t) => {
		const { ann, bob, page } = await scene(t);
		await ann.settings();
		await page.getByLabel('Show the text of the message').check();
		await hide(page);
		await bob.send(ann.name, `<b>Here</b> ${'x'.repeat(300)}`);
		const [note] = await noted(1, page);
		assert.match(note.body, /^<b>Here<\/b> x{188}$/);
		await bob.send(ann.name, 'see \u202egnp.exe');
		assert.equal((await noted(2, page))[1].body, 'see ⟨U+202E⟩gnp.exe');
		await ann.unharmed();
	});

	it('lead to the conversation, and go when it is read', async (t) => {
		const { ann, bob, page } = await scene(t);
		await hide(page);
		await bob.send(ann.name, 'Read me here');
		await noted(1, page);
		await hide(page, false);
		await page.evaluate(() => globalThis.notes[0].onclick());
		await ann.sees('Read me here');
		assert.ok((await notes(page))[0].closed);

		await hide(page);
		await bob.send(ann.name, 'Read me on another device');
		await noted(2, page);
		assert.equal((await notes(page))[1].closed, false);
		await ann.rest.read({ upto: (await ann.rest.inbox()).head });
		await eventually(async () => (await notes(page))[1].closed, 'it is taken back');
		await ann.unharmed();
	});

	it('are shown by one tab of several, by the other when that is closed, and by none that is seen', async (t) => {
		const { ann, bob, page: first } = await scene(t);
		await ann.open();
		await ann.link('live');
		const second = ann.page;

		// The first tab is hidden, the second one is visible.
		await hide(first);
		await bob.send(ann.name, 'Seen in the second');
		await arrived(first, 1);
		await arrived(second, 1);
		assert.deepEqual([await notes(first), await notes(second)], [[], []]);

		await hide(second);
		await bob.send(ann.name, 'Seen in none');
		await arrived(first, 2);
		await arrived(second, 2);
		await noted(1, first, second);
		assert.equal((await notes(first)).length, 1, 'the first tab got the lock');

		await first.close();
		// waitForFunction() does not wait for a promise that its
		// function returns.
		await eventually(() => second.evaluate(() => navigator.locks.request('who am I', async () => {
			const { held } = await navigator.locks.query();
			const holds = (name, client) => held.find((one) => one.name === name &&
				(!client || one.clientId === client))?.clientId;
			return holds('twinbox.notifier', holds('who am I')) !== undefined;
		})), 'the second tab has the lock');
		await bob.send(ann.name, 'Seen in none again');
		await noted(1, second);
		await ann.unharmed();
	});

	it('are the service worker\'s where the page may have none itself, and lead to the page', async (t) => {
		const { ann, bob, page, shown } = await telephone(t);
		await hide(page);
		await bob.send(ann.name, 'To a telephone');
		assert.deepEqual(await shown(1), [[bob.name, 'New message']]);

		await hide(page, false);
		const [worker] = ann.context.serviceWorkers();
		await worker.evaluate(async () => {
			const [notification] = await globalThis.registration.getNotifications();
			globalThis.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
		});
		await ann.sees('To a telephone');
		await eventually(async () => (await shown(1)).length === 0, 'it is gone');
		await hide(page);
		await bob.send(ann.name, 'Read elsewhere');
		assert.equal((await shown(2)).length, 1);
		await ann.rest.read({ upto: (await ann.rest.inbox()).head });
		await eventually(async () => (await shown(2)).length === 0, 'it is taken back');
	});

	it('of the service worker are not taken back for an older one', async (t) => {
		const { ann, bob, page, shown } = await telephone(t);
		await hide(page);
		await bob.send(ann.name, 'Old');
		assert.equal((await shown(1)).length, 1);
		// Delays the browser's answer about which notification is to be
		// closed.
		await page.evaluate(() => {
			const { prototype } = ServiceWorkerRegistration;
			const { getNotifications } = prototype;
			prototype.getNotifications = async function (filter) {
				if (filter?.tag) {
					prototype.getNotifications = getNotifications;
					await new Promise((go) => { globalThis.letGo = go; });
				}
				const all = await getNotifications.call(this, filter);
				if (filter?.tag) // the page closes them before its next task
					setTimeout(() => { globalThis.given = true; }, 0);
				return all;
			};
		});
		await ann.rest.read({ upto: (await ann.rest.inbox()).head });
		await page.waitForFunction(() => globalThis.letGo !== undefined);
		await bob.send(ann.name, 'New');
		await arrived(page, 1);
		await page.evaluate(() => globalThis.letGo());
		await page.waitForFunction(() => globalThis.given);
		await shown(2);
		assert.equal((await shown(2)).length, 1, 'the notification of the new one');
		await ann.unharmed();
	});

	it('that the browser does not allow are reported', async (t) => {
		const { ann, bob, page } = await scene(t, { answer: 'denied', on: false });
		await ann.settings();
		await page.getByLabel(BOX).click();
		await page.getByText('The browser does not allow notifications of this page.').waitFor();
		assert.equal(await page.getByLabel(BOX).isChecked(), false);
		await hide(page);
		await bob.send(ann.name, 'Quietly');
		await arrived(page, 1);
		assert.deepEqual(await notes(page), []);
		await ann.unharmed();
	});

	it('are switched off again, and are none where the browser has none', async (t) => {
		const { ann, bob, page } = await scene(t);
		await ann.settings();
		await page.getByLabel(BOX).uncheck();
		await page.getByLabel('Show the text of the message').waitFor({ state: 'detached' });
		await hide(page);
		await bob.send(ann.name, 'Quietly');
		await arrived(page, 1);
		assert.deepEqual(await notes(page), []);
		await page.evaluate(() => {
			delete globalThis.Notification;
			location.hash = '';
		});
		await page.getByRole('link', { name: 'Settings' }).click();
		await page.getByText('This browser shows no notifications here.').waitFor();
		await ann.unharmed();
	});
});
