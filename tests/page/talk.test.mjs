// SPDX-License-Identifier: MIT
//
// Two people talk, each in their own browser.  Networks fail and come back, the
// server is killed and restarted, tabs are closed and opened.  Nothing is lost
// or doubled, and each person sees how far the other one has read.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, expectStatus, freshName, register, tempDir, users } from '../e2e/harness.mjs';
import { Person, SteadyServer, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = new SteadyServer({ unlimited: 'one user sends a long history at once' });
const people = [];
let failed = false;

before(() => server.start());
afterEach((context) => {
	failed ||= context?.passed === false;
});
after(async () => {
	await server.stop();
	if (failed)
		process.stderr.write(`---- log of the server ----\n${server.output()}\n`);
});

/** Registers people with browsers in which they are logged in. */
async function pair(t, ...stems)
{
	const known = await users(server, ...stems);
	const found = [];
	for (const one of known) {
		const person = await Person.make(holder, server, one.name);
		person.rest = one;
		people.push(person);
		t.after(() => person.close());
		found.push(person);
	}
	return found;
}

const numbered = (stem, count) => Array.from({ length: count }, (_x, i) => `${stem} ${i + 1}`);

/**
 * Asserts that ${person} sees exactly ${texts}, each once and in this order.
 */
async function shows(person, texts)
{
	await person.sees(texts[texts.length - 1]);
	await eventually(async () => {
		const all = await person.texts();
		return JSON.stringify(all.filter((text) => texts.includes(text))) === JSON.stringify(texts);
	}, `${texts.join(' | ')} in order`).catch(async (error) => {
		throw new Error(`${error.message}; there is: ${(await person.texts()).join(' | ')}`);
	});
}

describe('two people', () => {
	it('talk, with ticks from accepted over delivered to read', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Are you there?');
		await ann.tick('Are you there?', 'accepted');

		// Bob's browser has received the message, but bob has not read
		// it.
		await bob.logIn();
		await bob.item(ann.name).locator('.badge').waitFor();
		assert.match(await bob.item(ann.name).locator('.badge').textContent(), /^1/);
		assert.equal(await bob.page.title(), '(1) twinbox');
		await ann.tick('Are you there?', 'delivered');

		await bob.talkTo(ann.name);
		await bob.sees('Are you there?');
		await ann.tick('Are you there?', 'read');
		await bob.item(ann.name).locator('.badge').waitFor({ state: 'detached' });
		assert.equal(await bob.page.title(), 'twinbox');

		// Both look at the conversation: messages are read at once, and
		// typing is shown.
		await bob.field.pressSequentially('Yes');
		await ann.page.getByText('typing …').first().waitFor();
		await bob.page.keyboard.press('Enter');
		await ann.sees('Yes');
		await bob.tick('Yes', 'read');
		assert.deepEqual(await ann.texts(), ['Are you there?', 'Yes']);
		await ann.unharmed();
		await bob.unharmed();
	});

	it('see the way of a message', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Follow me');
		await ann.message('Follow me').locator('button.tick').click();
		const dialog = ann.page.getByRole('dialog');
		await dialog.getByText('Accepted').waitFor();
		await dialog.getByText(`in the inbox of ${bob.name}`).waitFor();
		assert.equal(await dialog.getByText('not yet').count(), 2);
		// The open dialog is updated.
		await bob.logIn();
		await eventually(async () => await dialog.getByText('not yet').count() === 1, 'delivered');
		await bob.talkTo(ann.name);
		await eventually(async () => await dialog.getByText('not yet').count() === 0, 'read');
		assert.equal(await dialog.locator('time').count(), 4);
		await dialog.getByText('1 attempt').waitFor();
		await ann.page.keyboard.press('Escape');
		await dialog.waitFor({ state: 'detached' });
		await ann.unharmed();
	});

	it('a hidden conversation is not read', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await bob.logIn();
		await bob.writeTo(ann.name);
		await bob.say('First');
		await ann.logIn();
		await ann.talkTo(bob.name);
		await bob.tick('First', 'read');
		// Another window is in front.  A page without focus marks
		// nothing as read.
		await ann.page.evaluate(() => {
			document.hasFocus = () => false;
			dispatchEvent(new Event('blur'));
		});
		await bob.say('Second');
		await ann.sees('Second');
		await bob.tick('Second', 'delivered');
		await ann.item(bob.name).locator('.badge').waitFor();
		const order = await ann.page.locator('.msg, .fresh').allTextContents();
		assert.deepEqual(order.map((text) => /First|New|Second/.exec(text)[0]),
			['First', 'New', 'Second']);
		await ann.page.evaluate(() => {
			delete document.hasFocus;
			dispatchEvent(new Event('focus'));
		});
		await bob.tick('Second', 'read');
	});

	it('nobody of that name: it is said, and can be discarded', async (t) => {
		const [ann] = await pair(t, 'ann');
		await ann.logIn();
		await ann.writeTo('nobody-of-that-name');
		await ann.say('Hello?');
		await ann.tick('Hello?', 'refused');
		await ann.message('Hello?').getByRole('button', { name: 'Discard' }).click();
		await ann.message('Hello?').waitFor({ state: 'detached' });
		// Later messages are sent.
		await ann.writeTo(ann.name);
		await ann.say('To myself');
		await ann.tick('To myself', 'read');
		await ann.unharmed();
	});
});

describe('one goes away and comes back', () => {
	it('without network: what is written is kept, what came is there', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await bob.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Before');
		await bob.talkTo(ann.name);
		await ann.tick('Before', 'read');

		await ann.context.setOffline(true);
		await ann.link('offline');
		for (const text of numbered('Offline', 3)) {
			await ann.say(text);
			await ann.tick(text, 'unsent');
		}
		for (const text of numbered('Meanwhile', 3))
			await bob.say(text);
		await bob.tick('Meanwhile 3', 'accepted');
		await ann.shot('offline');
		assert.equal(await ann.message('Meanwhile 1').count(), 0);

		await ann.context.setOffline(false);
		await ann.link('live');
		await shows(ann, numbered('Meanwhile', 3));
		await shows(bob, numbered('Offline', 3));
		await ann.tick('Offline 3', 'read');
		await bob.tick('Meanwhile 3', 'read');
		assert.equal((await ann.texts()).length, 7);
		assert.equal((await bob.texts()).length, 7);
	});

	it('the server is killed and comes back on its data: nothing lost, nothing doubled', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await bob.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Talk 1');
		await bob.talkTo(ann.name);
		await ann.tick('Talk 1', 'read');

		// In the middle of this the server is killed.  It may have
		// accepted some messages without ann knowing.
		for (const text of numbered('Talk', 8).slice(1, 6))
			await ann.say(text);
		await server.kill();
		await ann.link('waiting', 'connecting');
		for (const text of numbered('Talk', 8).slice(6))
			await ann.say(text);
		await bob.say('Answer');
		await bob.tick('Answer', 'unsent');
		await ann.shot('reconnecting');

		await server.start();
		await ann.link('live');
		await bob.link('live');
		await shows(bob, numbered('Talk', 8));
		await ann.tick('Talk 8', 'read');
		await bob.tick('Answer', 'read');
		assert.equal((await ann.texts()).length, 9);
		const inbox = await bob.rest.inbox();
		assert.deepEqual(inbox.events.filter((e) => e.kind === 'message' && !e.own).map((e) => e.body),
			numbered('Talk', 8));
		await ann.unharmed();
		await bob.unharmed();
	});

	it('a tab that is closed with unsent messages sends them when it is opened again', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Kept 1');
		await ann.tick('Kept 1', 'accepted');
		await server.kill();
		for (const text of numbered('Kept', 3).slice(1)) {
			await ann.say(text);
			await ann.tick(text, 'unsent');
		}
		await ann.field.fill('A draft, half wri');
		await ann.page.close();

		await server.start();
		await ann.open(`#to/${bob.name}`);
		await ann.link('live');
		await shows(ann, numbered('Kept', 3));
		await ann.tick('Kept 3', 'accepted');
		assert.equal(await ann.field.inputValue(), 'A draft, half wri');
		const inbox = await bob.rest.inbox();
		assert.deepEqual(inbox.events.filter((e) => e.kind === 'message').map((e) => e.body),
			numbered('Kept', 3));
	});

	for (const closed of ['first', 'second'])
		it(`what the ${closed} of two tabs had not sent when it was closed is sent by the other`, async (t) => {
			const [ann, bob] = await pair(t, 'ann', 'bob');
			await ann.logIn();
			const first = ann.page;
			await ann.writeTo(bob.name);
			await ann.say('Before');
			await ann.tick('Before', 'accepted');
			await ann.open(`#to/${bob.name}`);
			await ann.link('live');
			const pages = { first, second: ann.page };
			const other = closed === 'first' ? pages.second : first;
			ann.page = pages[closed];
			await server.kill();
			for (const text of numbered('Left', 2)) {
				await ann.say(text);
				await ann.tick(text, 'unsent');
			}
			ann.page = other;
			await ann.say('Of the other');
			await pages[closed].close({ runBeforeUnload: true });
			await shows(ann, [...numbered('Left', 2), 'Of the other']);
			await server.start();
			await ann.link('live');
			await ann.tick('Of the other', 'accepted');
			await ann.tick('Left 2', 'accepted');
			assert.deepEqual((await bob.rest.inbox()).events.filter((e) => e.kind === 'message').map((e) => e.body),
				['Before', ...numbered('Left', 2), 'Of the other']);
			await ann.unharmed();
		});

	it('what is sent in the instant before the page goes away is sent when it is back', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Before');
		await ann.tick('Before', 'accepted');
		// From now on IndexedDB accepts every write, but never
		// completes one.
		await ann.page.evaluate(() => {
			const hole = new Proxy(() => hole, { get: () => hole, apply: () => hole, set: () => true });
			const begin = IDBDatabase.prototype.transaction;
			IDBDatabase.prototype.transaction = function (stores, mode) {
				return mode === 'readwrite' ? hole : begin.call(this, stores, mode);
			};
		});
		for (const text of numbered('Gone', 3))
			await ann.say(text);
		await ann.page.reload();
		await shows(ann, ['Before', ...numbered('Gone', 3)]);
		await ann.tick('Gone 3', 'accepted');
		await eventually(async () => (await bob.rest.inbox()).events.length === 4, 'all of them');
		const { events } = await bob.rest.inbox();
		assert.deepEqual(events.map((event) => event.body), ['Before', ...numbered('Gone', 3)]);
		assert.deepEqual(await ann.page.evaluate(() => Object.keys(localStorage)
			.filter((key) => key.includes('>'))), []);
	});

	it('an answer that is lost on the way doubles nothing', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('One');
		await ann.tick('One', 'accepted');
		// The page reads the history of the new conversation now.  Later the history
		// would have the second message as accepted.
		await Promise.all([ann.page.waitForResponse((r) => r.url().includes('/messages?')),
			ann.page.reload()]);
		await ann.tick('One', 'accepted');
		// From now on the page does not receive any answer to a send.
		await ann.page.evaluate(() => {
			const send = WebSocket.prototype.send;
			WebSocket.prototype.send = function (data) {
				send.call(this, data);
				if (JSON.parse(data).type === 'send') {
					this.onmessage = null;
					WebSocket.prototype.send = send;
				}
			};
		});
		await ann.say('Two');
		await eventually(async () => (await bob.rest.inbox()).events.some((e) => e.body === 'Two'),
			'the server has it');
		await ann.tick('Two', 'unsent');
		await server.restart('SIGKILL');
		await ann.tick('Two', 'accepted');
		await ann.page.reload();
		await shows(ann, ['One', 'Two']);
		assert.deepEqual((await bob.rest.inbox()).events.filter((e) => e.kind === 'message')
			.map((e) => e.body), ['One', 'Two']);
	});
});

describe('a browser', () => {
	it('shows a long history page by page, where one reads', async (t) => {
		const [ann] = await pair(t, 'ann');
		const bob = await register(server, freshName('bob'));
		const texts = numbered('Line', 130);
		await bob.send(ann.name, texts[0]);
		for (let i = 1; i < texts.length; i += 43)
			expectStatus(await bob.post('/v1/messages', await Promise.all(texts.slice(i, i + 43).map(async (body, at) => ({
				to: ann.name, body, id: `01900000-0000-7000-8${String(i).padStart(3, '0')}-${
					process.pid.toString(16).padStart(8, '0')}${String(at).padStart(4, '0')}` })))), 200);
		await ann.logIn();
		await ann.talkTo(bob.name);
		await ann.sees('Line 130');
		await ann.page.getByRole('button', { name: 'Older messages' }).or(ann.message('Line 1')).first().waitFor();
		await eventually(async () => {
			await ann.page.locator('.messages').evaluate((box) => { box.scrollTop = 0; });
			return await ann.message('Line 1').count() === 1;
		}, 'the first line');
		assert.deepEqual(await ann.texts(), texts);
		// The page shows them from the disk, without the server.
		await ann.page.reload();
		await shows(ann, texts.slice(-50));
	});

	it('several tabs are one device and do not fight', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await ann.logIn();
		const first = ann.page;
		await ann.writeTo(bob.name);
		await ann.open(`#to/${bob.name}`);
		await ann.link('live');
		await ann.say('From the second tab');
		await ann.tick('From the second tab', 'accepted');
		await first.getByText('From the second tab').first().waitFor();
		await bob.logIn();
		await bob.talkTo(ann.name);
		await bob.say('Seen in both');
		for (const page of [first, ann.page]) {
			await page.getByText('Seen in both').first().waitFor();
			await page.locator('[data-link=live]').waitFor({ state: 'attached' });
		}
		const { devices } = (await ann.rest.get('/v1/tokens')).body;
		assert.equal(devices.length, 2, 'that of the test, and one for both tabs');
		// A log-out in one tab is a log-out in the other.
		await ann.askToLogOut();
		await ann.page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
		await first.getByLabel('Password').waitFor();
		await ann.page.getByLabel('Password').waitFor();
		assert.equal((await ann.rest.get('/v1/tokens')).body.devices.length, 1);
		const left = await ann.page.evaluate(async () => [Object.keys(localStorage),
			(await indexedDB.databases()).map((db) => db.name)]);
		assert.deepEqual(left, [[], []], 'nothing is kept');
	});

	it('a revoked device is logged out', async (t) => {
		const [ann] = await pair(t, 'ann');
		await ann.logIn('the lost one');
		const { devices } = (await ann.rest.get('/v1/tokens')).body;
		const lost = devices.find((one) => one.name === 'the lost one');
		await ann.rest.delete(`/v1/tokens/${lost.id}`);
		await ann.page.getByText('You were logged out').waitFor();
		await ann.page.getByRole('button', { name: 'Forget them' }).click();
		await eventually(() => ann.page.evaluate(async () =>
			(await indexedDB.databases()).length === 0), 'nothing is kept');
	});

	it('what another device read is read here', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		await bob.rest.send(ann.name, 'Once');
		await ann.logIn();
		await ann.item(bob.name).locator('.badge').waitFor();
		const inbox = await ann.rest.inbox();
		await ann.rest.read({ upto: inbox.head });
		await ann.item(bob.name).locator('.badge').waitFor({ state: 'detached' });
	});

	it('a restored database: what it lost comes back from those who sent it', async (t) => {
		const [ann, bob] = await pair(t, 'ann', 'bob');
		const copy = path.join(tempDir(), 'copy');
		await ann.logIn();
		await ann.writeTo(bob.name);
		await ann.say('Long ago');
		await ann.tick('Long ago', 'accepted');
		await server.stop();
		fs.cpSync(server.data, copy, { recursive: true });

		await server.start();
		await ann.link('live');
		for (const text of numbered('Lost', 3)) {
			await ann.say(text);
			await ann.tick(text, 'accepted');
		}
		await server.kill();
		fs.rmSync(server.data, { recursive: true });
		fs.cpSync(copy, server.data, { recursive: true });
		await server.start();
		await ann.link('live');
		await ann.say('Since then');
		await ann.tick('Since then', 'accepted');
		await shows(ann, ['Long ago', ...numbered('Lost', 3), 'Since then']);
		assert.equal(await ann.page.getByText('before the server was restored').count(), 0);
		assert.deepEqual((await bob.rest.inbox()).events.filter((e) => e.kind === 'message')
			.map((e) => e.body), ['Long ago', ...numbered('Lost', 3), 'Since then']);
		await bob.logIn();
		await bob.talkTo(ann.name);
		await shows(bob, ['Long ago', ...numbered('Lost', 3), 'Since then']);
		await ann.tick('Since then', 'read');
	});
});
