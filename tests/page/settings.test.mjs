// SPDX-License-Identifier: MIT
//
// The settings of the page: the password, the devices, and the log-out of all
// devices.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem } from '../e2e/expect.mjs';
import { PASSWORD, eventually, expectStatus, login, serverForFile, users } from '../e2e/harness.mjs';
import { operator } from '../e2e/operator.mjs';
import { Person, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

/**
 * Returns ann with the settings open.  ${others} are the names of the other
 * devices of ann.
 */
async function inSettings(t, { others = [], ...options } = {})
{
	const [rest] = await users(server, 'ann');
	const ann = await Person.make(holder, server, rest.name, options);

	t.after(() => ann.close());
	ann.others = {};
	for (const name of others)
		ann.others[name] = await login(server, rest.name, name);
	ann.rest = rest;
	await ann.logIn('this browser');
	await ann.settings();
	return ann;
}

const names = async ({ rest }) => (await rest.get('/v1/tokens')).body.devices.map((one) => one.name);

/** The row of the device ${name}. */
const row = ({ page }, name) => page.locator('.devices li').filter({ hasText: name });

/** Presses the last button of the open question. */
const yes = ({ page }) => page.getByRole('dialog').getByRole('button').last().click();

describe('the password', () => {
	async function fill({ page }, old, fresh, again = fresh)
	{
		await page.getByLabel('Current password').fill(old);
		await page.getByLabel('New password', { exact: true }).fill(fresh);
		await page.getByLabel('New password, once more').fill(again);
		await page.keyboard.press('Enter');
	}

	/**
	 * Waits until the focus is on field ${id} and the field is described by
	 * the text ${what}.
	 */
	const told = ({ page }, id, what) => eventually(() => page.evaluate(([at, words]) =>
		document.activeElement.id === at && document.activeElement.getAttribute('aria-describedby')
			.split(' ').some((one) => document.getElementById(one).textContent === words), [id, what]),
	`"${what}" at ${id}`);

	it('is changed, and all other devices are logged out', async (t) => {
		const ann = await inSettings(t, { others: ['phone'] });
		await row(ann, 'phone').waitFor();
		await fill(ann, PASSWORD, 'quite another one');
		await ann.page.getByText('Your password is changed. All other devices were logged out.').waitFor();
		problem(await ann.others.phone.get('/v1/inbox'), 401, 'unauthenticated');
		await row(ann, 'phone').waitFor({ state: 'detached' });
		for (const label of ['Current password', 'New password, once more'])
			assert.equal(await ann.page.getByLabel(label).inputValue(), '');
		problem(await server.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'x' }), 401, 'wrong_password');
		assert.equal((await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'quite another one', device: 'x' })).status, 201);
		// This browser stays logged in.
		await ann.page.reload();
		await ann.link('live');
		await ann.unharmed();
	});

	it('that is wrong is refused at its field', async (t) => {
		const ann = await inSettings(t);
		await fill(ann, 'not my password', 'quite another one');
		await told(ann, 'password-old', 'This is not your current password.');
		await fill(ann, PASSWORD, 'quite another one', 'quite another on');
		await told(ann, 'password-again', 'This is not the same as the new password.');
		await fill(ann, PASSWORD, ann.name.toUpperCase());
		await told(ann, 'password-fresh', 'Your name cannot be your password.');
		await fill(ann, PASSWORD, 'short');
		assert.equal(await ann.page.getByLabel('New password', { exact: true })
			.evaluate((field) => field.validity.tooShort), true);
		await login(server, ann.name, 'with the old one');
	});

	it('is asked for at once after a log-in with a one-time password, which is kept in memory only', async (t) => {
		const root = await operator(server);
		const [rest] = await users(server, 'ann');
		const { password } = await root.do('POST', `users/${rest.name}/password`);
		const ann = await Person.make(holder, server, rest.name, { bypassCSP: true });
		const { page } = ann;

		t.after(() => ann.close());
		await page.getByLabel('Name').fill(ann.name);
		await page.getByLabel('Password').fill(password);
		await page.keyboard.press('Enter');
		await page.getByText(/You have logged in with a one-time password, which works only once/).waitFor();
		await page.getByRole('heading', { name: 'Settings' }).waitFor();
		assert.equal(await page.getByLabel('Current password').count(), 0);
		await eventually(() => page.evaluate(() => document.activeElement.id === 'password-fresh'), 'the focus');
		const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href +
			JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state]));
		assert.ok(!kept.includes(password), 'it is kept');
		assert.deepEqual(await ann.axe(), []);
		// The dialog is still there if the user looks at other settings
		// first.
		await page.keyboard.press('Escape');
		await ann.settings();
		await page.getByLabel('New password', { exact: true }).fill('quite another one');
		await page.getByLabel('New password, once more').fill('quite another one');
		await page.keyboard.press('Enter');
		await page.getByText('Your password is changed. All other devices were logged out.').waitFor();
		await page.getByLabel('Current password').waitFor();
		assert.equal(await page.getByText(/one-time password/).count(), 0);
		assert.equal((await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'quite another one', device: 'x' })).status, 201);
		await ann.unharmed();
	});

	it('of one log-in is refused for another, and the page says whom to ask', async (t) => {
		const root = await operator(server);
		const [rest] = await users(server, 'ann');
		const { password } = await root.do('POST', `users/${rest.name}/password`);
		expectStatus(await server.rest().post('/v1/tokens', { name: rest.name, password, device: 'x' }), 201);
		const ann = await Person.make(holder, server, rest.name);

		t.after(() => ann.close());
		await ann.page.getByLabel('Name').fill(ann.name);
		await ann.page.getByLabel('Password').fill(password);
		await ann.page.keyboard.press('Enter');
		await ann.page.getByRole('alert').getByText(
			'This one-time password was used for a log-in: ask an administrator for a new one.').waitFor();
	});

	it('cannot be changed without the server; what was typed stays', async (t) => {
		const ann = await inSettings(t);
		await ann.context.setOffline(true);
		await fill(ann, PASSWORD, 'quite another one');
		await ann.page.locator('form').getByText('The server cannot be reached.').waitFor();
		assert.equal(await ann.page.getByLabel('Current password').inputValue(), PASSWORD);
	});
});

describe('devices', () => {
	it('are listed with when they were active, and logged out one by one', async (t) => {
		const ann = await inSettings(t, { others: ['phone', 'laptop'] });
		await row(ann, 'this browser').getByText('This device').waitFor();
		assert.match(await row(ann, 'phone').textContent(), /Last active \d+:\d\d.*logged in \d+:\d\d/);
		assert.equal(await row(ann, 'this browser').getByRole('button').count(), 1, 'only Rename');

		await ann.page.getByRole('button', { name: 'Log out phone' }).click();
		await ann.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
		await ann.page.getByRole('button', { name: 'Log out phone' }).click();
		assert.deepEqual(await names(ann), ['first', 'phone', 'laptop', 'this browser'], 'it was a question');
		await yes(ann);
		await ann.page.getByText('phone is logged out.').waitFor();
		await row(ann, 'phone').filter({ hasText: 'Last active' }).waitFor({ state: 'detached' });
		assert.deepEqual(await names(ann), ['first', 'laptop', 'this browser']);
		problem(await ann.others.phone.get('/v1/inbox'), 401, 'unauthenticated');
		await ann.unharmed();
	});

	it('are renamed, this one too', async (t) => {
		const ann = await inSettings(t, { others: ['phone'] });
		const rename = async (from, to) => {
			await ann.page.getByRole('button', { name: `Rename ${from}` }).click();
			await ann.page.getByLabel(`New name of ${from}`).fill(to);
			await ann.page.keyboard.press('Enter');
			await ann.page.getByRole('button', { name: `Rename ${to}` }).waitFor();
		};
		await ann.page.getByRole('button', { name: 'Rename phone' }).click();
		await ann.page.getByLabel('New name of phone').fill('tablet');
		await ann.page.keyboard.press('Escape');
		await row(ann, 'phone').waitFor();
		assert.equal(await ann.page.evaluate(() => document.activeElement.textContent), 'Rename');
		assert.match(ann.page.url(), /#settings$/, 'Escape ended the renaming only');

		await rename('phone', 'old phone');
		await rename('this browser', '<b>desk</b>');
		assert.deepEqual(await names(ann), ['first', 'old phone', '<b>desk</b>']);
		await ann.page.getByRole('button', { name: 'Log out', exact: true }).click();
		await ann.page.getByRole('dialog').getByText('This device, <b>desk</b>,').waitFor();
		await ann.unharmed();
	});

	it('have names of which hidden characters are shown, not obeyed', async (t) => {
		const [name, seen] = ['gif\u202ephone', 'gif⟨U+202E⟩phone'];
		const ann = await inSettings(t, { others: [name] });
		const { page } = ann;
		await row(ann, seen).locator('.code').waitFor();
		await page.getByRole('button', { name: `Rename ${seen}`, exact: true }).click();
		await page.getByLabel(`New name of ${seen}`, { exact: true }).fill('gnp\u2066desk');
		await page.keyboard.press('Enter');
		await page.getByText('It is called gnp⟨U+2066⟩desk now.').waitFor();
		await page.getByRole('button', { name: 'Log out gnp⟨U+2066⟩desk', exact: true }).click();
		await page.getByRole('heading', { name: 'Log out gnp⟨U+2066⟩desk?', exact: true }).waitFor();
		await yes(ann);
		await page.getByText('gnp⟨U+2066⟩desk is logged out.').waitFor();

		await page.getByRole('button', { name: 'Rename this browser' }).click();
		await page.getByLabel('New name of this browser').fill(name);
		await page.keyboard.press('Enter');
		await page.getByText(`It is called ${seen} now.`).waitFor();
		await page.getByRole('button', { name: 'Log out', exact: true }).click();
		await page.getByRole('dialog').getByText(`This device, ${seen}, is taken`).waitFor();
		// Only the input fields contain what was typed, so that the
		// user can correct it.
		assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /[\u202a-\u202e\u2066-\u2069]/);
		await ann.unharmed();
	});

	it('all others are logged out at once', async (t) => {
		const ann = await inSettings(t, { others: ['phone', 'laptop'] });
		await ann.page.getByRole('button', { name: 'Log out all other devices' }).click();
		await ann.page.getByRole('dialog').getByText('3 other devices can read and send nothing').waitFor();
		// The page says so only after it has read the list again.
		let answer;
		const asked = new Promise((resolve) => {
			void ann.page.route('**/v1/tokens', async (route) => {
				if (route.request().method() === 'GET')
					await new Promise((go) => { answer = go; resolve(); });
				await route.continue();
			});
		});
		await yes(ann);
		await asked;
		assert.equal(await ann.page.getByText('All other devices are logged out.').count(), 0);
		answer();
		await ann.page.getByText('All other devices are logged out.').waitFor();
		assert.equal(await ann.page.locator('.devices li').count(), 1);
		assert.equal(await ann.page.getByRole('button', { name: 'Log out all other devices' }).count(), 0);
		for (const one of [ann.rest, ann.others.phone, ann.others.laptop])
			problem(await one.get('/v1/inbox'), 401, 'unauthenticated');
		await ann.page.reload();
		await ann.link('live');
		await ann.unharmed();
	});

	it('that cannot be listed are reported, and listed when the server is back', async (t) => {
		const [rest] = await users(server, 'ann');
		const ann = await Person.make(holder, server, rest.name);
		t.after(() => ann.close());
		await ann.logIn('this browser');
		await ann.context.setOffline(true);
		await ann.link('offline');
		await ann.settings();
		await ann.page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
		await ann.context.setOffline(false);
		await row(ann, 'this browser').waitFor();
		await ann.page.getByText('The server cannot be reached.').waitFor({ state: 'detached' });
	});
});

describe('this browser', () => {
	/**
	 * Returns the background colour of the page, and the colour that a
	 * phone shows around it.
	 */
	const paper = (page) => page.evaluate(() => [getComputedStyle(document.body).backgroundColor,
		getComputedStyle(document.documentElement).colorScheme,
		...[...document.querySelectorAll('meta[name="theme-color"]')].map((one) => one.content)]);
	const LIGHT = ['rgb(244, 242, 238)', 'light', '#f4f2ee', '#f4f2ee'];
	const DARK = ['rgb(19, 21, 23)', 'dark', '#131517', '#131517'];

	it('has the appearance of the system, or the one that was chosen, in all tabs', async (t) => {
		const ann = await inSettings(t);
		const first = ann.page;
		const admin = await ann.context.newPage();
		await admin.goto(`${server.url}/admin`);
		await admin.getByLabel('Name').or(admin.getByRole('heading')).first().waitFor();
		const all = async (wanted) => {
			for (const page of [first, admin])
				await eventually(async () => JSON.stringify(await paper(page)) === JSON.stringify(wanted),
					wanted[1]).catch(async () => assert.deepEqual(await paper(page), wanted));
		};
		const system = (colorScheme) => Promise.all([first, admin].map((page) =>
			page.emulateMedia({ colorScheme })));

		await all(LIGHT);
		await system('dark');
		await all(DARK);
		await first.getByLabel('Light', { exact: true }).check();
		await all(LIGHT);
		await first.getByLabel('Dark', { exact: true }).check();
		await all(DARK);
		await system('light');
		await all(DARK);
		// The form for the log-in has the same colours, before anyone
		// is logged in.
		await first.reload();
		assert.deepEqual(await paper(first), DARK);
		await first.getByLabel('As the system').check();
		await all(LIGHT);
		await ann.unharmed();
	});

	it('writes times in the language that was chosen', async (t) => {
		const ann = await inSettings(t);
		const { page } = ann;
		const hint = page.locator('#settings-locale-hint');
		const bob = (await users(server, 'bob'))[0];
		await bob.send(ann.name, 'At what time?');
		await ann.item(bob.name).locator('.when').filter({ hasText: /^\d+:\d\d$/ }).waitFor();

		assert.match(await hint.textContent(), /^Now: \d+ \w+ \d{4}, \d+:\d\d:\d\d$/);
		await page.getByLabel('Language of times').selectOption({ label: 'American English' });
		await ann.item(bob.name).locator('.when').filter({ hasText: /^\d+:\d\d\s[AP]M$/ }).waitFor();
		assert.match(await hint.textContent(), /^Now: \w{3} \d+, \d{4}, \d+:\d\d:\d\d\s[AP]M$/);
		await page.getByLabel('Language of times').selectOption({ label: 'Deutsch' });
		await ann.item(bob.name).locator('.when').filter({ hasText: /^\d+:\d\d$/ }).waitFor();
		await page.reload();
		await page.getByLabel('Language of times').waitFor();
		assert.equal(await page.getByLabel('Language of times').inputValue(), 'de');
		await ann.item(bob.name).click();
		await page.locator('.day').getByText('Heute', { exact: true }).waitFor();
		await ann.unharmed();
	});

	it('does without settings that make no sense', async (t) => {
		const [rest] = await users(server, 'ann');
		const ann = await Person.make(holder, server, rest.name);
		t.after(() => ann.close());
		for (const kept of ['{"locale":"no such language","appearance":"loud"}', '{"locale":7}', '[]', 'x']) {
			await ann.page.evaluate((text) => localStorage.setItem('twinbox.settings', text), kept);
			await ann.page.reload();
			await ann.page.getByLabel('Name').waitFor();
			assert.deepEqual(await paper(ann.page), LIGHT);
		}
		await ann.logIn();
		await ann.unharmed();
	});
});

describe('logging out everywhere', () => {
	it('revokes all devices and keeps nothing here', async (t) => {
		const ann = await inSettings(t, { others: ['phone'] });
		const { page } = ann;
		await page.getByRole('button', { name: 'Log out everywhere' }).click();
		await page.getByRole('dialog').getByText('All your devices are logged out, this one too').waitFor();
		await yes(ann);
		await page.getByText('You are logged out on all devices.').waitFor();
		for (const one of [ann.rest, ann.others.phone])
			problem(await one.get('/v1/inbox'), 401, 'unauthenticated');
		const left = await page.evaluate(async () => [Object.keys(localStorage),
			(await indexedDB.databases()).map((db) => db.name)]);
		assert.deepEqual(left, [[], []], 'nothing is kept');
		await ann.unharmed();
	});
});
