// SPDX-License-Identifier: MIT
//
// Each view of the admin page, light on a desktop and dark on a phone; in a full
// run also the other two pairs.  Each view is saved as a picture in the build's
// screenshots/ and checked with axe, which must find nothing serious.  The file
// also has the use of the admin page without a mouse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile } from '../e2e/harness.mjs';
import { badDay, busy, empty } from './admin-scenes.mjs';
import { Operator, StandIn, uuid } from './admin-standin.mjs';
import { PHONE, SHOTS, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });
const WIDE = { width: 1280, height: 860 };

async function at(t, standin, options)
{
	const operator = await Operator.at(holder, server, standin, { bypassCSP: true, ...options });
	t.after(() => operator.close());
	return operator;
}

async function look(operator, name, report)
{
	await eventually(async () => await operator.page.getByText('Asking the server').count() === 0, name);
	await operator.shot(name);
	for (const line of await operator.axe())
		report.push(`${name}: ${line}`);
}

/**
 * Returns by how much the page is wider than the window, and the elements that
 * are too small to be hit.
 */
const sizes = (page) => page.evaluate(() => ({
	wide: document.documentElement.scrollWidth - innerWidth,
	small: [...document.querySelectorAll('button, select, input, nav a')].filter((one) => {
		const box = one.getBoundingClientRect();
		return box.width > 0 && (box.width < 24 || box.height < 24);
	}).map((one) => one.outerHTML.slice(0, 80)),
}));

const DESK = ['', WIDE, {}];
const HAND = ['phone-', PHONE, { touch: true }];
/*
 * The scheme changes colors only, and the form changes only the layout.  Only a
 * full run therefore has every pair: axe needs a minute for each.
 */
const LOOKS = [['light', DESK], ['dark', HAND],
	...process.env.TWINBOX_TIER === 'full' ? [['light', HAND], ['dark', DESK]] : []];

for (const [scheme, [form, view, more]] of LOOKS) {
	it(`every view, ${scheme}${form && ', on a phone'}`, async (t) => {
		const options = { scheme, viewport: view, ...more };
		const report = [];
		const shot = (operator, name) => look(operator, `${scheme}-${form}admin-${name}`, report);
		const operator = await at(t, badDay(), options);
		const { page, dialog } = operator;
		const fits = async (name) => assert.deepEqual(await sizes(page), { wide: 0, small: [] }, name);

		await page.getByText('Look at these first').waitFor();
		await eventually(() => operator.standin.count('/v1/admin/stats') >= 3, 'something to draw');
		await shot(operator, 'overview');
		await fits('overview');
		await operator.view('Destinations');
		await shot(operator, 'destinations');
		await fits('destinations');
		await operator.button('Pause dead.example').click();
		await shot(operator, 'pause');
		await page.keyboard.press('Escape');
		await operator.view('Dead letters');
		const line = page.getByRole('table', { name: 'Dead letters' }).locator('tbody tr');
		await line.nth(3).getByRole('button', { name: /attempts: show them/ }).click();
		await page.getByRole('table', { name: 'Attempts' }).waitFor();
		await shot(operator, 'dead');
		await fits('dead');
		for (let n = 1; n < 40; n++)
			operator.standin.refuse.add(n);
		await page.getByLabel('Sender').fill('carol');
		await page.keyboard.press('Enter');
		await operator.button('Requeue all that match').click();
		await dialog.getByRole('button', { name: 'Requeue', exact: true }).click();
		await dialog.getByRole('button', { name: 'Close' }).waitFor();
		await shot(operator, 'batch');
		await dialog.getByRole('button', { name: 'Close' }).click();
		await operator.view('Outbox');
		await shot(operator, 'outbox');
		await fits('outbox');
		for (const [name, n] of [['failed', 1], ['read', 2], ['waiting', 3]]) {
			await page.evaluate((id) => { location.hash = `message/${id}`; }, uuid(n));
			await page.getByText(uuid(n)).waitFor();
			await page.locator('.picture').waitFor();
			await page.getByText('The same in words').click();
			await shot(operator, `message-${name}`);
			await fits(`message-${name}`);
		}
		await operator.view('Lanes');
		await shot(operator, 'lanes');
		await fits('lanes');
		await operator.view('Users');
		await shot(operator, 'users');
		await fits('users');
		await operator.button('Disable bob').click();
		await shot(operator, 'disable');
		await page.keyboard.press('Escape');
		await operator.view('Audit');
		await shot(operator, 'audit');
		await fits('audit');
		operator.standin.broken = () => 'abort';
		await operator.link('waiting');
		await shot(operator, 'away');
		await fits('away');
		await operator.close();

		const calm = await at(t, busy(), options);
		await calm.page.getByText('Nothing needs you.').waitFor();
		await eventually(() => calm.standin.count('/v1/admin/stats') >= 4, 'something to draw');
		await shot(calm, 'calm');
		await calm.close();
		const none = await at(t, empty(), { ...options, start: 'admin#dead' });
		await none.page.getByText('No dead letters.').waitFor();
		await shot(none, 'empty');
		const denied = await at(t, new StandIn({ admin: false }), options);
		await denied.page.getByText('This page is for administrators.').waitFor();
		await shot(denied, 'denied');
		const nobody = await Operator.make(holder, server, 'root', { bypassCSP: true, ...options, start: 'admin' });
		t.after(() => nobody.close());
		await nobody.page.getByLabel('Password').waitFor();
		await shot(nobody, 'login');
		assert.deepEqual(report, []);
		assert.deepEqual(operator.troubles, []);
	});
}

describe('without a mouse', () => {
	it('to a dead letter, its attempts, and a decision; the focus is seen and kept', async (t) => {
		const operator = await at(t, badDay(8), { bypassCSP: false });
		const { page, standin } = operator;
		const focus = () => page.evaluate(() => {
			const one = document.activeElement;
			return one.ariaLabel || one.textContent || one.name;
		});
		/** Presses Tab until the focus is on ${wanted}. */
		const tab = async (wanted, key = 'Tab') => {
			for (let i = 0; i < 60; i++) {
				await page.keyboard.press(key);
				if (wanted.test(await focus()))
					return;
			}
			assert.fail(`no way to ${wanted}; the focus is on ${await focus()}`);
		};

		await page.getByText('Look at these first').waitFor();
		await tab(/^Dead letters/);
		assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'solid');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
		await eventually(async () => /^Dead letters$/.test(await focus()), 'the heading has the focus');
		await tab(/^10 attempts: show them/);
		await page.keyboard.press('Enter');
		await page.getByRole('table', { name: 'Attempts' }).waitFor();
		await tab(/^Discard the message from alice/);
		await page.keyboard.press('Enter');
		await page.getByRole('dialog').waitFor();
		await tab(/^Discard$/);
		await page.keyboard.press('Enter');
		await page.getByText('1 done, 0 refused, of 1.').waitFor();
		await tab(/^Close$/);
		await page.keyboard.press('Enter');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		assert.equal(standin.dead.filter((one) => one.resolution === 'discarded').length, 1);
		await tab(/^Overview/, 'Shift+Tab');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
		await operator.unharmed();
	});

	it('a screen reader hears how it is connected and what was done, not each figure', async (t) => {
		const operator = await at(t, badDay(), { bypassCSP: false, start: 'admin#destinations' });
		const { page } = operator;
		const spoken = () => page.locator('[role=status]').allTextContents();
		await page.getByRole('table', { name: 'Destinations' }).waitFor();
		assert.deepEqual((await spoken()).filter((one) => one !== ''), ['Live']);
		await operator.button('Pause other.example').click();
		await page.keyboard.press('Enter');
		await operator.button('Resume other.example').waitFor();
		assert.ok((await spoken()).includes('Paused: other.example.'));
		operator.standin.broken = () => 'abort';
		await operator.link('waiting');
		assert.ok((await spoken()).includes('No answer'));
		const heads = await page.getByRole('table', { name: 'Destinations' }).getByRole('columnheader')
			.allTextContents();
		assert.ok(heads.includes('Next probe') && heads.includes('In flight'), heads.join());
	});
});

describe('pictures', () => {
	it('of each view of the admin page are kept', (t) => {
		const found = fs.readdirSync(SHOTS).filter((name) => name.includes('admin-'));
		for (const [scheme, [form]] of LOOKS)
			for (const view of ['overview', 'calm', 'destinations', 'pause', 'dead', 'batch', 'outbox', 'message-read',
				'message-failed', 'message-waiting', 'lanes', 'audit', 'away', 'empty', 'denied', 'login'])
				assert.ok(fs.statSync(path.join(SHOTS, `${scheme}-${form}admin-${view}.png`)).size > 5_000);
		t.diagnostic(`${found.length} screenshots of the admin page in ${SHOTS}`);
	});
});
