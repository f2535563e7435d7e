// SPDX-License-Identifier: MIT
//
// The Users view of the admin page with a stand-in for /v1/admin: the list, its
// filter, the question before a change, and the changes.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { serverForFile } from '../e2e/harness.mjs';
import { busy } from './admin-scenes.mjs';
import { Operator, StandIn, user } from './admin-standin.mjs';
import { browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

async function at(t, standin, options)
{
	const operator = await Operator.at(holder, server, standin, { start: 'admin#users', ...options });
	t.after(() => operator.close());
	await operator.page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
	return operator;
}

const rows = (operator) => operator.page.getByRole('table', { name: 'Users' }).locator('tbody tr');
const row = (operator, name) => rows(operator).filter({ has: operator.page.getByText(name, { exact: true }) });
const names = async (operator) => rows(operator).locator('strong').allTextContents();

/** Presses ${word} for ${name}, confirms, and waits for ${outcome}. */
async function change(operator, word, name, outcome)
{
	await operator.button(`${word} ${name}`).click();
	await operator.dialog.getByRole('button', { name: word, exact: true }).click();
	await operator.page.getByText(outcome, { exact: true }).waitFor();
	assert.equal(await operator.dialog.count(), 0);
}

const posts = (operator) => operator.standin.asked.filter((ask) => ask.method === 'POST').map((ask) => ask.path);

describe('users at the admin page', () => {
	it('are listed with role, devices and what waits, each with the changes that fit', async (t) => {
		const operator = await at(t, busy());
		const { page } = operator;

		await row(operator, 'root').waitFor();
		assert.deepEqual(await names(operator), ['ada', 'bob', 'carol', 'dora', 'root']);
		assert.match(await row(operator, 'ada').textContent(), /Ada L\.administrator3/);
		assert.match(await row(operator, 'carol').textContent(), /disabled3 h ago/);
		assert.match(await row(operator, 'dora').textContent(), /disabled1\.1 d ago, administrator/);
		const offered = async (name) => row(operator, name).getByRole('button').allTextContents();
		assert.deepEqual(await Promise.all(['ada', 'bob', 'carol', 'dora'].map(offered)),
			[['Disable', 'Demote', 'One-time password'], ['Disable', 'Promote', 'One-time password'], ['Enable'],
				['Enable', 'Demote']]);
		assert.deepEqual(await offered('root'), ['Disable', 'Demote'], 'nobody is logged out by the answer');
		await row(operator, 'bob').getByRole('link').click();
		await page.getByRole('heading', { level: 1, name: 'Outbox' }).waitFor();
		assert.equal(await page.getByLabel('Sender').inputValue(), 'bob');
		await operator.unharmed();
	});

	it('are disabled, enabled, promoted and demoted after a question', async (t) => {
		const operator = await at(t, busy());
		const { page } = operator;

		await operator.button('Disable bob').click();
		await operator.dialog.getByText(/logged out of all devices at once/).waitFor();
		await operator.dialog.getByRole('button', { name: 'Cancel' }).click();
		assert.deepEqual(posts(operator), []);
		await change(operator, 'Disable', 'bob', 'bob is disabled.');
		await row(operator, 'bob').getByText('disabled', { exact: true }).waitFor();
		await change(operator, 'Enable', 'bob', 'bob is enabled.');
		await change(operator, 'Promote', 'bob', 'bob is an administrator.');
		await row(operator, 'bob').getByText('administrator', { exact: true }).waitFor();
		await change(operator, 'Demote', 'bob', 'bob is no longer an administrator.');
		await row(operator, 'bob').getByText('user', { exact: true }).waitFor();
		assert.deepEqual(posts(operator), ['disable', 'enable', 'promote', 'demote']
			.map((word) => `/v1/admin/users/bob/${word}`));
		await operator.view('Audit');
		await page.getByRole('table', { name: 'Audit' }).locator('tbody tr').first()
			.getByText('demote', { exact: true }).waitFor();
		await operator.unharmed();
	});

	it('get a one-time password, which is shown until its dialog is closed, and nowhere else', async (t) => {
		const operator = await at(t, busy(), { bypassCSP: true });
		const { page, dialog } = operator;
		const password = 'K7QM-X2RT-9WBD-E4HZ-PN6S';

		await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		await operator.button('One-time password bob').click();
		await dialog.getByText(/the user is logged out of all devices at once/).waitFor();
		await dialog.getByRole('button', { name: 'Cancel' }).click();
		assert.deepEqual(posts(operator), []);
		await operator.button('One-time password bob').click();
		await dialog.getByRole('button', { name: 'Make it' }).click();
		await page.getByRole('heading', { name: 'One-time password of bob' }).waitFor();
		assert.equal(await dialog.locator('code').textContent(), password);
		await dialog.getByText(/good for one log-in until \d+ \w+ \d{4}, \d\d:\d\d/).waitFor();
		assert.deepEqual(await operator.axe(), []);
		await dialog.getByRole('button', { name: 'Copy' }).click();
		await dialog.getByText('Copied.').waitFor();
		assert.equal(await page.evaluate(() => navigator.clipboard.readText()), password);
		await dialog.getByRole('button', { name: 'Close' }).click();
		await page.getByText('bob has a one-time password.').waitFor();
		// The dialog is found by its element, because it loses its role
		// when it closes, a moment before it is removed.
		await page.locator('dialog').waitFor({ state: 'detached' });
		assert.deepEqual(posts(operator), ['/v1/admin/users/bob/password']);
		const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href +
			JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state]));
		assert.ok(!kept.includes(password), 'it is still there');
		await operator.unharmed();
	});

	it('the last administrator stays: the refusal is shown in the question', async (t) => {
		const operator = await at(t, new StandIn({ users: [user('bob'), user('root', { admin: true })] }));

		await operator.button('Demote root').click();
		await operator.dialog.getByText(/This is you: this page ends for you/).waitFor();
		await operator.dialog.getByRole('button', { name: 'Demote', exact: true }).click();
		await operator.dialog.getByRole('alert').getByText(
			'User "root" is the last administrator: promote another user first.').waitFor();
		assert.equal(await operator.dialog.count(), 1);
	});

	it('are found by the beginning of the name, and shown page by page', async (t) => {
		const many = (stem, n) => Array.from({ length: n }, (_, i) => user(`${stem}${String(i).padStart(3, '0')}`));
		const operator = await at(t, new StandIn({
			users: [user('al'), ...many('am', 60), user('an'), user('root', { admin: true })] }));
		const { page } = operator;
		const asked = () => operator.standin.asked.filter((ask) => ask.path === '/v1/admin/users').at(-1).query.get('after');

		await row(operator, 'al').waitFor();
		assert.equal(await rows(operator).count(), 50);
		await page.getByRole('link', { name: 'More' }).click();
		await row(operator, 'root').waitFor();
		assert.deepEqual((await names(operator)).slice(-2), ['an', 'root']);
		await page.getByRole('link', { name: 'First' }).click();
		await row(operator, 'al').waitFor();
		await page.getByLabel('Name begins with').fill('AM');
		await page.keyboard.press('Enter');
		await row(operator, 'al').waitFor({ state: 'detached' });
		await row(operator, 'am000').waitFor();
		assert.equal((await names(operator))[0], 'am000');
		assert.equal(asked(), 'al~');
		await page.getByRole('link', { name: 'More' }).click();
		await row(operator, 'am059').waitFor();
		assert.deepEqual(await names(operator), Array.from({ length: 10 }, (_, i) => `am05${i}`));
		assert.equal(await page.getByRole('link', { name: 'More' }).count(), 0);
		await page.getByLabel('Name begins with').fill('zoe');
		await page.keyboard.press('Enter');
		await page.getByText('No user whose name begins with zoe.').waitFor();
	});
});
