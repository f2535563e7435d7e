// SPDX-License-Identifier: MIT
//
// The page registers an account, without a mouse.  The account is like any
// other.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { PASSWORD, eventually, freshName, login, serverForFile, users } from '../e2e/harness.mjs';
import { Person, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

/** Returns a person without an account, at the registration form. */
async function newcomer(t, name)
{
	const person = await Person.make(holder, server, name);
	t.after(() => person.close());
	const { page } = person;

	await page.getByRole('button', { name: 'Register' }).waitFor();
	// The focus starts at the name; Shift+Tab goes back to the tabs above
	// it.
	await focused(person, 'login-username');
	await page.keyboard.press('Shift+Tab');
	await focused(person, 'Register');
	await page.keyboard.press('Enter');
	await page.getByText('At least 8 characters.').waitFor();
	await page.keyboard.press('Tab');
	await focused(person, 'login-username');
	return person;
}

/** Waits until the focus is on the element with the id or text ${wanted}. */
async function focused({ page }, wanted)
{
	await eventually(() => page.evaluate((one) => [document.activeElement.id,
		document.activeElement.textContent].includes(one), wanted), `the focus on ${wanted}`);
}

/** Fills in the field after the name, and sends the form. */
async function enter(person)
{
	await person.page.keyboard.press('Tab');
	await person.page.keyboard.type(PASSWORD);
	await person.page.keyboard.press('Enter');
}

describe('registering', () => {
	it('says what the name of the device is for', async (t) => {
		const ann = await newcomer(t, freshName('ann'));
		const field = ann.page.getByLabel('This device');
		assert.equal(await field.evaluate((input) => document.getElementById(
			input.getAttribute('aria-describedby')).textContent), 'The name shown in your list of devices.');
	});

	it('makes an account that is live, writes, and is written to', async (t) => {
		const [bob] = await users(server, 'bob');
		const ann = await newcomer(t, freshName('ann'));
		const { page } = ann;
		await page.keyboard.type(ann.name);
		await enter(ann);
		await ann.link('live');

		for (let i = 0; i < 10 && !await page.evaluate(() =>
			document.activeElement.getAttribute('aria-label') === 'New conversation'); i++)
			await page.keyboard.press('Tab');
		await page.keyboard.press('Enter');
		await focused(ann, 'new-name');
		await page.keyboard.type(bob.name);
		await page.keyboard.press('Enter');
		await focused(ann, 'text');
		await page.keyboard.type('I am new here');
		await page.keyboard.press('Enter');
		await ann.tick('I am new here', 'accepted');

		const got = await bob.event((e) => e.kind === 'message', 'the message');
		assert.deepEqual([got.from, got.body], [ann.name, 'I am new here']);
		await bob.ack(got.seq);
		await ann.tick('I am new here', 'delivered');
		await bob.send(ann.name, 'Welcome!');
		await ann.sees('Welcome!');
		// The password works on another device, so it is the one that
		// was typed.
		const phone = await login(server, ann.name, 'phone');
		assert.equal((await phone.get('/v1/tokens')).body.devices.length, 2);
		await ann.unharmed();
	});

	it('under a name that is taken is refused at the field, and another one does', async (t) => {
		const [bob] = await users(server, 'bob');
		const ann = await newcomer(t, freshName('ann'));
		const { page } = ann;
		await page.keyboard.type(bob.name);
		await enter(ann);
		await page.getByRole('alert').getByText('This name is taken.').waitFor();
		const field = page.getByLabel('Name');
		await focused(ann, 'login-username');
		assert.equal(await field.getAttribute('aria-invalid'), 'true');
		// A screen reader reads this text with the field, and the text
		// is shown below the field.
		assert.match(await field.evaluate((input) => input.getAttribute('aria-describedby').split(' ')
			.map((id) => document.getElementById(id).textContent).join(' ')), /^This name is taken\. Letters/);
		const boxes = await Promise.all([field, page.getByText('This name is taken.'),
			page.getByLabel('Password')].map((one) => one.boundingBox()));
		assert.ok(boxes[0].y < boxes[1].y && boxes[1].y < boxes[2].y, JSON.stringify(boxes));
		assert.equal(await page.getByText('This name is taken.').count(), 1);

		await page.keyboard.press('Control+A');
		await page.keyboard.type('admin');
		await page.keyboard.press('Enter');
		await page.getByRole('alert').getByText('This name is reserved.').waitFor();
		assert.equal(await page.getByText('This name is taken.').count(), 0);
		await page.keyboard.press('Control+A');
		await page.keyboard.type(bob.name);
		await page.keyboard.press('Enter');
		await page.getByRole('alert').getByText('This name is taken.').waitFor();
		// The page does not send a name that no account may have.
		await page.keyboard.press('Control+A');
		await page.keyboard.type(`${bob.name}-`);
		assert.equal(await field.evaluate((input) => input.validity.patternMismatch), true);
		await page.keyboard.press('Control+A');
		await page.keyboard.type(bob.name);
		assert.equal(await field.evaluate((input) => input.validity.valid), true);

		// The error disappears when the name changes.
		await page.keyboard.press('Control+A');
		await page.keyboard.type(ann.name);
		await page.getByText('This name is taken.').waitFor({ state: 'detached' });
		assert.equal(await field.getAttribute('aria-invalid'), null);
		await page.keyboard.press('Enter');
		await ann.link('live');
		// The existing user with that name still has the account.
		await login(server, bob.name, 'phone');
		await ann.unharmed();
	});
});
