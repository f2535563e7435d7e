// SPDX-License-Identifier: MIT
//
// Each view of the page, in light and dark, on a desktop and on a phone.  Each
// is saved as a picture in the build's screenshots/ and checked with axe, which
// must find nothing serious.  And the use of the page without a mouse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, once, register, serverForFile, users } from '../e2e/harness.mjs';
import { PHONE, Person, SHOTS, browserForFile } from './browser.mjs';

/** All severities that axe has. */
const ALL = ['minor', 'moderate', 'serious', 'critical'];

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

const scene = once(async () => {
	const [bob, carol, dave] = await users(server, 'ben', 'cleo', 'dilip');
	return { bob, carol, dave };
});

/** Returns a person with a browser, who has received messages. */
async function guest(t, options)
{
	const { bob, carol, dave } = await scene();
	const rest = await register(server, `ann-${Math.random().toString(36).slice(2, 8)}`);
	await carol.send(rest.name, 'The minutes of Tuesday are in the folder. Could you look at point 4 before we meet?');
	await dave.send(rest.name, 'مرحبا، كيف حالك؟');
	await bob.send(rest.name, 'Good morning!');
	await bob.send(rest.name, 'Did the parcel arrive?\nThe page https://example.org/track/123 says yes.');
	const person = await Person.make(holder, server, rest.name, options);
	person.rest = rest;
	t.after(() => person.close());
	return person;
}

/** Makes ${bob} receive and read all but the last message of ${person}. */
async function halfway(person)
{
	const { bob } = await scene();
	const marks = async () => (await bob.inbox()).events
		.filter((e) => e.kind === 'message' && e.from === person.name);
	const mine = await eventually(async () => {
		const found = await marks();
		return found.length >= 2 && found;
	}, 'two messages');
	await bob.ack(mine[1].seq);
	await bob.read({ conversation: mine[0].conversation,
		upto_conversation_seq: mine[0].conversation_seq });
}

async function look(person, name, report, impacts)
{
	await person.shot(name);
	for (const line of await person.axe(impacts))
		report.push(`${name}: ${line}`);
}

for (const scheme of ['light', 'dark']) {
	describe(`every view, ${scheme}`, () => {
		it('on a desktop: axe finds nothing serious', async (t) => {
			const { bob } = await scene();
			const person = await guest(t, { scheme, bypassCSP: true });
			const { page } = person;
			const report = [];
			await page.getByRole('button', { name: 'Register' }).waitFor();
			await look(person, `${scheme}-login`, report);
			await page.getByRole('button', { name: 'Register' }).click();
			await look(person, `${scheme}-register`, report);
			await page.getByRole('button', { name: 'Log in' }).first().click();
			await page.getByLabel('Name').fill(person.name);
			await page.getByLabel('Password').fill('wrong, quite wrong');
			await page.keyboard.press('Enter');
			await page.getByText('Name or password is wrong.').waitFor();
			await look(person, `${scheme}-login-wrong`, report);
			await person.logIn();
			await person.item(bob.name).locator('.badge').waitFor();
			await look(person, `${scheme}-list`, report);
			await page.getByRole('button', { name: 'New conversation' }).click();
			await page.getByLabel('Write to').waitFor();
			await look(person, `${scheme}-new`, report);
			await page.keyboard.press('Escape');
			await person.talkTo(bob.name);
			await person.say('Yes, it did – thank you! It stood in the hall this morning.');
			await person.say('One corner is bent, but the inside is fine.');
			await halfway(person);
			await person.tick('One corner is bent, but the inside is fine.', 'delivered');
			await bob.send(person.name, 'Glad to hear that. I will tell the shop about the corner; they ' +
				'should pack better. See you at the market on Saturday?');
			await person.say('Saturday it is.');
			await person.tick('Saturday it is.', 'accepted');
			await look(person, `${scheme}-chat`, report);
			await page.locator('button.tick.read').click();
			await page.getByRole('dialog').getByText('it was seen').waitFor();
			await look(person, `${scheme}-timeline`, report);
			await page.keyboard.press('Escape');
			await person.writeTo('nobody-there');
			await look(person, `${scheme}-first`, report);
			await person.say('Is anybody of this name here?');
			await person.tick('Is anybody of this name here?', 'refused');
			await look(person, `${scheme}-refused`, report);
			await person.settings();
			await page.getByRole('button', { name: 'Rename first' }).waitFor();
			await look(person, `${scheme}-settings`, report);
			await page.locator('.sections').evaluate((box) => box.scrollTo(0, box.scrollHeight));
			await look(person, `${scheme}-settings-end`, report);
			await person.askToLogOut();
			await look(person, `${scheme}-logout`, report);
			await page.keyboard.press('Escape');
			await person.context.setOffline(true);
			await person.link('offline');
			await look(person, `${scheme}-offline`, report);
			assert.deepEqual(report, []);
		});

		it('on a phone: one pane at a time', async (t) => {
			const { bob } = await scene();
			const person = await guest(t, { scheme, viewport: PHONE, touch: true, bypassCSP: true });
			const { page } = person;
			const report = [];
			await page.getByLabel('Name').waitFor();
			await look(person, `${scheme}-phone-login`, report);
			await person.logIn();
			await person.item(bob.name).locator('.badge').waitFor();
			await look(person, `${scheme}-phone-list`, report, ALL);
			assert.equal(await page.locator('.chat').count(), 0);
			await person.item(bob.name).tap();
			await person.sees('Good morning!');
			assert.equal(await page.locator('nav').count(), 0, 'the list makes room');
			await person.field.fill('From the tram');
			await page.getByRole('button', { name: 'Send' }).tap();
			await person.tick('From the tram', 'accepted');
			await look(person, `${scheme}-phone-chat`, report, ALL);
			const sizes = await page.evaluate(() => ({
				wide: document.documentElement.scrollWidth, room: innerWidth,
				high: document.documentElement.scrollHeight, height: innerHeight,
				small: [...document.querySelectorAll('button, a.round')].map((one) =>
					one.getBoundingClientRect()).filter((box) => box.width < 24 || box.height < 24).length,
			}));
			assert.ok(sizes.wide <= sizes.room && sizes.high <= sizes.height, JSON.stringify(sizes));
			assert.equal(sizes.small, 0, 'all can be hit with a finger');
			// Ticks are large enough as well, and do not overlap
			// that of another row.
			await person.say('And again');
			await person.say('And again, in two lines:\nthis is the second');
			await person.tick('And again', 'accepted');
			const ticks = await eventually(async () => {
				const found = await page.evaluate(() => [...document.querySelectorAll('button.tick')].map((one) =>
					one.getBoundingClientRect()).map(({ top, bottom, width, height }) => ({ top, bottom, width, height })));
				return found.length === 3 && found;
			}, 'three ticks');
			for (const [n, one] of ticks.entries()) {
				assert.ok(one.width >= 44 && one.height >= 44, JSON.stringify(one));
				assert.ok(n === 0 || ticks[n - 1].bottom <= one.top + 0.5, JSON.stringify(ticks));
			}
			await person.shot(`${scheme}-phone-ticks`);
			// Long words are broken, and nothing scrolls sideways.
			await person.say(`${'w'.repeat(300)} https://example.org/${'x'.repeat(300)}`);
			await page.locator('.msg').nth(5).waitFor();
			assert.ok(await page.evaluate(() => document.querySelector('.messages').scrollWidth <=
				document.querySelector('.messages').clientWidth));
			await page.locator('button.tick').first().tap();
			await page.getByRole('dialog').getByText('Accepted').waitFor();
			await look(person, `${scheme}-phone-timeline`, report);
			await page.getByRole('button', { name: 'Close' }).tap();
			await page.getByRole('link', { name: 'Back to the conversations' }).tap();
			await person.item(bob.name).waitFor();
			assert.equal(await page.locator('.chat').count(), 0);
			await page.getByRole('link', { name: 'Settings' }).tap();
			await page.getByRole('button', { name: 'Rename first' }).waitFor();
			await look(person, `${scheme}-phone-settings`, report);
			await page.locator('.sections').evaluate((box) => box.scrollTo(0, box.scrollHeight));
			await look(person, `${scheme}-phone-settings-end`, report);
			assert.ok(await page.evaluate(() => document.querySelector('.sections').scrollWidth <=
				document.querySelector('.sections').clientWidth), 'nothing is cut off');
			await page.getByRole('link', { name: 'Back to the conversations' }).tap();
			await person.item(bob.name).waitFor();
			// The browser's back button does the same.
			await person.item(bob.name).tap();
			await person.sees('From the tram');
			await page.evaluate(() => { window.leftBehind = document.querySelector('.messages'); });
			await page.goBack();
			await person.item(bob.name).waitFor();
			assert.equal(await page.locator('.chat').count(), 0);
			// The event about scrolling may arrive after the view
			// was closed.
			await page.evaluate(() => window.leftBehind.dispatchEvent(new Event('scroll')));
			assert.deepEqual(report, []);
			assert.deepEqual(person.troubles, []);
		});
	});
}

describe('axe', () => {
	it('sees what is bad', async (t) => {
		const person = await guest(t, { bypassCSP: true });
		await person.page.getByLabel('Name').waitFor();
		await person.page.evaluate(() => {
			document.querySelector('label').remove();
			document.querySelector('h1').style.color = '#eee';
		});
		const found = (await person.axe()).join('\n');
		assert.match(found, /label:/);
		assert.match(found, /color-contrast:/);
	});
});

describe('without a mouse', () => {
	it('log in, choose, write, look at the way of a message, go back, log out', async (t) => {
		const { bob, carol } = await scene();
		const person = await guest(t);
		const { page } = person;
		const press = (...keys) => keys.reduce((done, key) =>
			done.then(() => page.keyboard.press(key)), Promise.resolve());
		const focus = () => page.evaluate(() => {
			const at = document.activeElement;
			return at.getAttribute('href') ?? at.id ?? at.textContent;
		});
		const focused = (wanted, what) => eventually(async () => await focus() === wanted,
			`the focus on ${what}`).catch(async (error) => {
			throw new Error(`${error.message}; it is on ${await focus()}`);
		});

		await focused('login-username', 'the name');
		await page.keyboard.type(person.name);
		await press('Tab');
		await page.keyboard.type('correct horse battery');
		await press('Tab', 'Tab', 'Enter');
		await person.link('live');
		await person.item(carol.name).waitFor();

		// The order of the focus in the list: the + button and Settings
		// first, then the conversations by arrow keys.
		for (let i = 0; i < 10 && !(await focus()).startsWith('#to/'); i++)
			await press('Tab');
		await focused(`#to/${bob.name}`, 'the newest conversation');
		const rings = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
		assert.equal(rings, 'solid', 'the focus is visible');
		await press('End');
		await focused(`#to/${carol.name}`, 'the last');
		await press('ArrowUp', 'Home', 'ArrowUp');
		await focused(`#to/${bob.name}`, 'the first');
		await press('Enter');
		await person.sees('Good morning!');
		await focused('text', 'the field');

		await page.keyboard.type('one');
		await press('Shift+Enter');
		await page.keyboard.type('two');
		await press('Enter');
		await person.sees('one\ntwo');
		await person.tick('one\ntwo', 'accepted');
		await press('Enter');
		assert.equal(await page.locator('.msg.own').count(), 1, 'nothing empty is sent');

		await press('Shift+Tab');
		assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
			/^Accepted\. Show the way/);
		await press('Enter');
		await page.getByRole('dialog').getByText('Accepted').waitFor();
		await press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		assert.match(await page.evaluate(() => document.activeElement.className), /tick/,
			'the focus is where it was');

		await press('Escape');
		await eventually(async () => await page.evaluate(() => location.hash) === '', 'back at the list');
		await focused(`#to/${bob.name}`, 'the conversation that was left');

		// A new conversation with oneself.
		await press('Shift+Tab', 'Shift+Tab', 'Enter');
		await focused('new-name', 'the name to write to');
		await page.keyboard.type(person.name);
		await press('Enter');
		await focused('text', 'the field');
		await page.keyboard.type('Buy milk');
		await press('Enter');
		await person.tick('Buy milk', 'read');

		await page.getByRole('link', { name: 'Settings' }).focus();
		await press('Enter');
		await focused('settings-title', 'the heading of the settings');
		// Tab goes on inside the settings, not into the list.  Only
		// Escape leads back to the list.
		await press('Tab');
		assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Log out');
		await press('Enter');
		await page.getByRole('dialog').waitFor();
		for (let i = 0; i < 4; i++) {
			if (await page.evaluate(() => document.activeElement.textContent) === 'Log out')
				break;
			await press('Tab');
		}
		await press('Enter');
		await page.getByText('You are logged out.').waitFor();
		await person.unharmed();
	});

	it('a screen reader announces what comes and the state of the connection', async (t) => {
		const { bob } = await scene();
		const person = await guest(t);
		await person.logIn();
		await person.talkTo(bob.name);
		for (const text of ['Read me out', 'And me'])
			await bob.send(person.name, text);
		for (const text of ['Read me out', 'And me'])
			await person.page.locator('[role=log] p').getByText(`${bob.name}: ${text}`, { exact: true })
				.waitFor({ state: 'attached' });
		assert.equal(await person.page.locator('[role=status]').textContent(), 'Live');
		await person.context.setOffline(true);
		// The page tries to connect all the same, so the text changes
		// back and forth.
		await person.page.locator('[role=status][data-link=offline]', { hasText: /^No network/ })
			.waitFor({ state: 'attached' });
		await person.say('In a moment');
		const row = await person.message('In a moment').textContent();
		assert.match(row, /^You: In a moment/);
		assert.equal(await person.message('In a moment').getByRole('img').getAttribute('aria-label'),
			'Not sent yet');
	});
});

describe('the list', () => {
	it('shows a draft and what waits in the accent colour, and in red only what was refused', async (t) => {
		const { bob, carol } = await scene();
		const person = await guest(t);
		const { page } = person;
		await person.logIn();
		const colour = async (words) => {
			const mark = page.locator('.list .draft', { hasText: words });
			await mark.waitFor();
			return mark.evaluate((one) => getComputedStyle(one).color);
		};
		const of = (name) => page.evaluate((variable) => {
			const probe = document.createElement('p');
			probe.style.color = `var(${variable})`;
			document.body.append(probe);
			const found = getComputedStyle(probe).color;
			probe.remove();
			return found;
		}, name);
		const [accent, bad] = [await of('--accent'), await of('--bad')];
		assert.notEqual(accent, bad);
		await person.talkTo(bob.name);
		await person.field.fill('half a sentence');
		await page.keyboard.press('Escape');
		assert.equal(await colour('Draft:'), accent);
		await person.writeTo('nobody-there');
		await person.say('Is anybody here?');
		await person.tick('Is anybody here?', 'refused');
		assert.equal(await colour('Not sent:'), bad);
		await person.context.setOffline(true);
		await person.link('offline');
		await person.talkTo(carol.name);
		await person.say('later');
		assert.equal(await colour('Waiting:'), accent);
	});

	it('that is empty leads to the first conversation by a button', async (t) => {
		const { bob } = await scene();
		const rest = await register(server, `eve-${Math.random().toString(36).slice(2, 8)}`);
		const person = await Person.make(holder, server, rest.name);
		t.after(() => person.close());
		await person.logIn();
		await person.page.getByRole('button', { name: 'Write to somebody' }).click();
		await person.page.getByLabel('Write to', { exact: true }).fill(bob.name);
		await person.page.keyboard.press('Enter');
		await person.page.getByRole('heading', { name: bob.name, exact: true }).waitFor();
	});
});

describe('a message', () => {
	it('that is too long says by how much, in bytes and in characters', async (t) => {
		const { bob } = await scene();
		const person = await guest(t);
		await person.logIn();
		await person.talkTo(bob.name);
		const alert = person.page.getByRole('alert');
		for (const [text, words] of [['x'.repeat(16_385), '1 byte over (about 1 character)'],
			['x'.repeat(17_000), '616 bytes over (about 616 characters)'],
			['\u05d0'.repeat(8_500), '616 bytes over (about 308 characters)']]) {
			await person.field.fill(text);
			await alert.getByText(`Too long: ${words}.`).waitFor();
		}
	});

	for (const secure of [true, false])
		it(`is copied from its time line${secure ? '' : ', also without TLS'}`, async (t) => {
			const { bob } = await scene();
			const person = await guest(t, { prepare: async (context) => {
				await context.grantPermissions(['clipboard-read', 'clipboard-write']);
				await context.addInitScript((usable) => {
					if (!usable)
						navigator.clipboard.writeText = () => Promise.reject(new Error('not here'));
				}, secure);
			} });
			const { page } = person;
			const text = `Copy me:\n<b>both</b> lines, ${secure}`;
			await person.logIn();
			await person.talkTo(bob.name);
			await person.field.fill(text);
			await page.keyboard.press('Enter');
			await person.tick(text, 'accepted');
			await person.message(text).locator('button.tick').click();
			await page.getByRole('button', { name: 'Copy text' }).click();
			await page.getByRole('status').getByText('Copied.').waitFor();
			assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
			await person.unharmed();
		});
});

describe('pictures', () => {
	it('of each view are kept', (t) => {
		const found = fs.readdirSync(SHOTS).filter((name) => name.endsWith('.png'));
		for (const scheme of ['light', 'dark'])
			for (const view of ['login', 'register', 'list', 'new', 'chat', 'timeline', 'refused', 'settings',
				'logout', 'offline', 'phone-list', 'phone-chat', 'phone-timeline', 'phone-settings'])
				assert.ok(fs.statSync(path.join(SHOTS, `${scheme}-${view}.png`)).size > 5_000);
		t.diagnostic(`${found.length} screenshots in ${SHOTS}`);
	});
});
