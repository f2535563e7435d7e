// SPDX-License-Identifier: MIT
//
// The admin page in a browser, on a server whose destinations fail: an outage
// and its end, permanent refusals, attempts, and the picture of a message to
// another server.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { operator } from '../e2e/operator.mjs';
import { eventually, PASSWORD, users } from '../e2e/harness.mjs';
import { Operator } from '../page/admin-standin.mjs';
import { browserForFile } from '../page/browser.mjs';
import { faultServer, Peer, skip } from './remote.mjs';

describe('the admin page, when destinations fail', { skip }, () => {
	const holder = browserForFile({ before, after });

	async function atAdminPage(t)
	{
		const server = await faultServer(t);
		const [root, [ann]] = await Promise.all([operator(server), users(server, 'ann')]);
		const person = await Operator.make(holder, server, root.name, { start: 'admin' });
		t.after(() => person.close());
		await person.page.getByLabel('Name').fill(root.name);
		await person.page.getByLabel('Password').fill(PASSWORD);
		await person.page.keyboard.press('Enter');
		await person.link('live');
		return { server, ann, person };
	}

	const rows = (person, name) => person.page.getByRole('table', { name }).locator('tbody tr');

	it('an outage is said first, and is over when it is over', async (t) => {
		const { server, ann, person } = await atAdminPage(t);
		const { page } = person;
		const peer = new Peer(server, 'away');
		const ids = [];

		peer.does({ down: 1 });
		for (let i = 0; i < 5; i++)
			ids.push((await ann.send(`bob@${peer.name}`, `${i}`)).id);
		await page.getByText(`${peer.name} is not reachable`).waitFor();
		await person.view('Destinations');
		const line = rows(person, 'Destinations').filter({ hasText: peer.name });
		await line.getByText('Not reachable').waitFor();
		assert.match(await line.textContent(), /failures/);
		await page.locator('.ages tbody tr').filter({ hasText: peer.name }).locator('td').first()
			.getByText('5').waitFor();
		await page.evaluate((id) => { location.hash = `message/${id}`; }, ids[0]);
		await page.getByRole('img', { name: /Attempt 1 at .*not reachable.*Sent: not yet/ }).waitFor();
		peer.does({});
		await peer.gets(5);
		await page.getByRole('img', { name: /Attempt \d+ at .*\(accepted.*Sent at .*Delivered: not yet/ }).waitFor();
		await person.view('Destinations');
		await line.getByText('Reachable', { exact: true }).waitFor();
		await person.view('Overview');
		await page.getByText('Nothing needs you.').waitFor();
		await person.unharmed();
	});

	it('what is refused for good is a dead letter with its attempt; requeued, it arrives', async (t) => {
		const { server, ann, person } = await atAdminPage(t);
		const { page, dialog } = person;
		const peer = new Peer(server, 'no');

		peer.does({ reject: 100 });
		const { id } = await ann.send(`bob@${peer.name}`, 'unwanted');
		await page.getByText('1 dead letter to decide about').click();
		const line = rows(person, 'Dead letters').first();
		await line.getByText('Failed: refused for good').waitFor();
		await line.getByRole('button', { name: '1 attempt: show them' }).click();
		await rows(person, 'Attempts').getByText(/^refused for good/).waitFor();
		peer.does({});
		await line.getByRole('button', { name: /^Requeue/ }).click();
		await dialog.getByRole('button', { name: 'Requeue', exact: true }).click();
		await dialog.getByText('1 done, 0 refused, of 1.').waitFor();
		await dialog.getByRole('button', { name: 'Close' }).click();
		assert.equal((await peer.gets(1))[0].id, id);
		await page.evaluate((to) => { location.hash = `message/${to}`; }, id);
		await page.getByRole('img', { name: /refused for good.*Failed at .*Requeued at .*accepted.*Sent at/ }).waitFor();
		await eventually(async () => await rows(person, 'Attempts').count() === 2, 'both attempts');
		await person.unharmed();
	});
});
