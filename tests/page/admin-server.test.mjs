// SPDX-License-Identifier: MIT
//
// The admin page on a real server, from end to end: the way to the page, a
// pause and the messages that wait because of it, dead letters and how they are
// requeued, the picture of a message that was read, a server that is killed.
// The tests assert that the text of a message never reaches the admin page.
// They also show that the stand-in of the other tests answers as the contract
// says.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { checkAnswer } from '../e2e/contract.mjs';
import { operator, sendMany, until, untilDead } from '../e2e/operator.mjs';
import { PASSWORD, eventually, users } from '../e2e/harness.mjs';
import { badDay, busy, empty } from './admin-scenes.mjs';
import { Operator, uuid } from './admin-standin.mjs';
import { PATIENCE, Person, SteadyServer, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = new SteadyServer();
let root, ann, bob;

before(async () => {
	await server.start();
	[root, [ann, bob]] = await Promise.all([operator(server), users(server, 'ann', 'bob')]);
});
after(() => server.stop());
afterEach((t) => {
	if (t.passed === false)
		t.diagnostic(server.output());
});

/**
 * Opens the admin page in a browser in which ${rest} is logged in.  Records
 * everything that the page receives.
 */
async function atAdminPage(t, rest = root, hash = '', { password = PASSWORD, ...options } = {})
{
	const person = await Operator.make(holder, server, rest.name, { start: `admin${hash}`, ...options });

	t.after(() => person.close());
	person.told = [];
	person.page.on('response', (response) => {
		if (new URL(response.url()).pathname.startsWith('/v1/admin/'))
			person.told.push(response.text().catch(() => ''));
	});
	await person.page.getByLabel('Name').fill(rest.name);
	await person.page.getByLabel('Password').fill(password);
	await person.page.keyboard.press('Enter');
	return person;
}

const rows = (person, name) => person.page.getByRole('table', { name })
	.locator(':scope > tbody > tr:not(.more)');
const tile = (person, name) => person.page.locator('.tile').filter({ has: person.page.locator('dt')
	.getByText(name, { exact: true }) }).locator('dd');

/** Waits until the text of ${locator} matches ${words}. */
const says = (locator, words) => eventually(async () => words.test(await locator.textContent()),
	`${locator}: ${words}`, PATIENCE);

describe('the way to the admin page', () => {
	it('an administrator finds it in the chat; others find no link and a clear sentence', async (t) => {
		const person = await Person.make(holder, server, root.name);
		t.after(() => person.close());
		await person.logIn();
		await person.page.getByRole('link', { name: 'Admin page' }).click();
		await person.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
		await person.link('live');
		await person.page.getByRole('link', { name: root.name }).click();
		await person.page.getByRole('button', { name: 'New conversation' }).waitFor();
		await person.unharmed();

		const other = await Person.make(holder, server, ann.name);
		t.after(() => other.close());
		const [info] = await Promise.all([other.page.waitForResponse((one) => one.url() === `${server.url}/v1` &&
			one.request().headers().authorization !== undefined), other.logIn()]);
		assert.equal((await info.json()).user.admin, false);
		assert.equal(await other.page.getByRole('link', { name: 'Admin page' }).count(), 0);
		await other.page.goto(`${server.url}/admin`);
		await other.page.getByText(`${ann.name} is not an administrator.`).waitFor();
		await other.unharmed();
	});

	it('a log-in on the admin page ends at the route that was asked for', async (t) => {
		const person = await atAdminPage(t, root, '#audit');
		await person.page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
		await person.link('live');
		await person.unharmed();
	});
});

describe('an operator', () => {
	it('pauses, sees what waits and what dies, brings it back, and sees it read', async (t) => {
		const secret = 'The treasure is under the third oak';
		const person = await atAdminPage(t);
		const { page, dialog } = person;
		const line = rows(person, 'Destinations').filter({ hasText: 'inboxes here' });

		await page.getByText('Nothing needs you.').waitFor();
		await person.view('Destinations');
		await person.button('Pause inboxes here').click();
		await dialog.getByLabel('Reason').fill('we count the inboxes');
		await page.keyboard.press('Enter');
		await line.getByText('Paused').waitFor();
		assert.match(await line.textContent(), new RegExp(`by ${root.name}.*we count the inboxes`));

		// Three messages wait, and four expire.
		const waiting = await sendMany(ann, bob.name, 3, { body: secret });
		const dying = await sendMany(bob, ann.name, 4, { body: secret, expires_in: 1 });
		await untilDead(root, 4);
		await person.view('Overview');
		await page.getByText('Delivery to the inboxes here is paused').waitFor();
		await page.getByText('4 dead letters to decide about').waitFor();
		await says(tile(person, 'Pending'), /^3/);
		await page.getByRole('navigation', { name: 'Views' }).getByText('4 to decide').waitFor();
		await person.view('Destinations');
		await says(page.locator('.ages tbody tr').filter({ hasText: 'inboxes here' }).locator('td').first(), /^[3-9]/);

		// One dead letter is discarded, and the others of that sender
		// are requeued.
		await person.view('Dead letters');
		await eventually(async () => await rows(person, 'Dead letters').count() === 4, 'all four');
		const first = rows(person, 'Dead letters').first();
		assert.match(await first.textContent(), new RegExp(`${bob.name} → ${ann.name}.*Expired`));
		await first.getByRole('button', { name: /attempts?: show them/ }).click();
		await page.getByText('No attempt over a network was made.').waitFor();
		await first.getByRole('button', { name: /^Discard/ }).click();
		await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
		await dialog.getByText('1 done, 0 refused, of 1.').waitFor();
		await dialog.getByRole('button', { name: 'Close' }).click();
		await eventually(async () => await rows(person, 'Dead letters').count() === 3, 'three');
		await page.getByLabel('Sender').fill(bob.name);
		await page.keyboard.press('Enter');
		await person.button('Requeue all that match').click();
		await dialog.getByRole('heading', { name: 'Requeue 3 dead letters?' }).waitFor();
		await dialog.getByRole('button', { name: 'Requeue', exact: true }).click();
		await dialog.getByText('3 done, 0 refused, of 3.').waitFor();
		await dialog.getByRole('button', { name: 'Close' }).click();
		await page.getByText('None that match.').waitFor();
		await page.getByLabel('Show', { exact: true }).selectOption('any');
		await eventually(async () => await rows(person, 'Dead letters').count() === 4, 'all, decided');

		await person.view('Destinations');
		await person.button('Resume inboxes here').click();
		await dialog.getByText('“we count the inboxes”').waitFor();
		await dialog.getByRole('button', { name: 'Resume' }).click();
		await line.getByText('Paused').waitFor({ state: 'detached' });
		for (const id of [...waiting, ...dying.slice(0, 3)])
			await until(waiting.includes(id) ? ann : bob, id, 'sent');
		const { seq } = await bob.received(waiting[2]);
		await bob.ack(seq);
		await bob.read({ upto: seq });

		// The history of one message, from the search to "Read".
		await person.view('Outbox');
		await page.getByLabel('Message id').fill(waiting[2]);
		await page.keyboard.press('Enter');
		const picture = page.getByRole('img', { name: new RegExp(`The way from ${ann.name} to ${bob.name}.*Read at`) });
		await picture.waitFor();
		assert.match(await picture.getAttribute('aria-label'), /Accepted at .* Sent at .* Delivered at .* Read at /);
		// The history of a requeued message shows that it was dead.
		await page.evaluate((id) => { location.hash = `message/${id}`; }, dying[0]);
		await page.getByRole('img', { name: new RegExp(`Expired at .*Requeued at .*by ${root.name}.*Sent at`) }).waitFor();

		await person.view('Lanes');
		await rows(person, 'Lanes').filter({ hasText: bob.name }).first().waitFor();
		await person.view('Audit');
		await rows(person, 'Audit').first().waitFor();
		const audit = (await rows(person, 'Audit').allTextContents()).join('\n');
		for (const action of [/pause/, /resume/, /requeue/, /discard/])
			assert.match(audit, action);
		await person.view('Overview');
		await page.getByText('Nothing needs you.').waitFor();
		await says(tile(person, 'Pending'), /^0/);

		const told = (await Promise.all(person.told)).join('\n');
		assert.ok(person.told.length > 20 && told.includes(waiting[2]), 'something was shown');
		assert.ok(!told.includes(secret), 'no text of a message came to the page');
		await person.unharmed();
	});

	it('gives up what waits; its sender is notified', async (t) => {
		await root.pause();
		const [id] = await sendMany(ann, bob.name, 1);
		const person = await atAdminPage(t, root, `#message/${id}`);
		await person.button('Discard').click();
		await person.dialog.getByRole('button', { name: 'Discard' }).click();
		await person.page.getByText('It is discarded; its sender is notified.').waitFor();
		await person.page.getByRole('img', { name: /Failed at .*\(discarded here\)/ }).waitFor();
		assert.equal((await ann.entry(id)).state, 'failed');
		await ann.event((e) => e.kind === 'bounce' && e.of === id, 'the bounce');
		await root.resume();
		await person.unharmed();
	});

	it('filters find what they say', async (t) => {
		const [id] = await sendMany(ann, bob.name, 1, { deliver_at: new Date(Date.now() + 3_600_000).toISOString() });
		const person = await atAdminPage(t, root, `#outbox?state=scheduled&sender=${ann.name}`);
		const { page } = person;
		await eventually(async () => await rows(person, 'Messages').count() === 1, 'the scheduled one');
		await rows(person, 'Messages').getByRole('link').click();
		await page.getByRole('img', { name: /Accepted at .*Due: expected at .*Sent: not yet/ }).waitFor();
		// Only its sender can cancel a scheduled message, so the page
		// has no button for it.
		assert.equal(await person.button('Discard').count() + await person.button('Try now').count(), 0);
		await ann.delete(`/v1/outbox/${id}`);
		await page.getByRole('img', { name: /Accepted at .*Canceled at [^:]*:\d\d:\d\d, / }).waitFor();
		for (const hash of ['outbox?stuck=30m', 'outbox?near_failure=3', 'outbox?destination=local&state=pending',
			'dead?reason=rejected', 'lanes?state=ready']) {
			await page.evaluate((to) => { location.hash = to; }, hash);
			await page.getByText('None that match.').waitFor();
		}
		// A refusal is shown in the server's own words.
		await page.evaluate(() => { location.hash = 'outbox?sender=No+Such+Name'; });
		await page.getByRole('alert').filter({ hasText: /^No messages\..+/ }).waitFor();
		await person.unharmed();
	});

	it('promotes a user, loses the rights by that one, and learns it', async (t) => {
		const [cat] = await users(server, 'cat');
		const other = await operator(server);
		const person = await atAdminPage(t, other, '#users?name=cat');
		const { page } = person;
		const row = rows(person, 'Users').filter({ hasText: cat.name });

		await person.button(`Promote ${cat.name}`).click();
		await person.dialog.getByRole('button', { name: 'Promote', exact: true }).click();
		await page.getByText(`${cat.name} is an administrator.`).waitFor();
		await row.getByText('administrator', { exact: true }).waitFor();
		const answer = await cat.post(`/v1/admin/users/${other.name}/demote`);
		assert.equal(answer.status, 200, answer.text);
		await page.getByText(`${other.name} is not an administrator.`).waitFor();
		const { entries } = (await cat.get('/v1/admin/audit?limit=2')).body;
		assert.deepEqual(entries.map((e) => [e.actor, e.action, e.object]), [
			[cat.name, 'user_demote', other.name], [other.name, 'user_promote', cat.name]]);
		await person.unharmed();
	});

	it('learns after a log-in with a one-time password where to choose another', async (t) => {
		const other = await operator(server);
		const { password } = await root.do('POST', `users/${other.name}/password`);
		const person = await atAdminPage(t, other, '#users', { password });
		const { page } = person;

		await page.getByText(/You have logged in with a one-time password, which works only once/).waitFor();
		await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
		await person.button(`Disable ${other.name}`).waitFor();
		assert.equal(await page.getByRole('button', { name: `One-time password ${other.name}` }).count(), 0);
		await page.getByRole('link', { name: 'Choose a password of your own' }).click();
		await page.getByLabel('Current password').fill(password);
		await page.getByLabel('New password', { exact: true }).fill('quite another one');
		await page.getByLabel('New password, once more').fill('quite another one');
		await page.keyboard.press('Enter');
		await page.getByText('Your password is changed. All other devices were logged out.').waitFor();
		await person.unharmed();
	});

	it('learns when the server dies, and is back when it is', async (t) => {
		const person = await atAdminPage(t, root, '', { prepare: (context) => context.clock.install() });
		const { page } = person;
		const open = new Set();
		page.on('request', (request) => open.add(request));
		for (const end of ['requestfinished', 'requestfailed'])
			page.on(end, (request) => open.delete(request));
		await person.link('live');
		await page.getByText('While this page was open').waitFor();
		await server.kill();
		await person.link('waiting');
		await page.getByText('The page shows the last known state.').waitFor();
		// The page's clock stands still, so only the button can cause
		// the next request.
		await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
		await eventually(() => open.size === 0, 'the end of what was asked');
		await person.link('waiting');
		await server.start();
		const asked = page.waitForRequest((request) =>
			new URL(request.url()).pathname === '/v1/admin/stats');
		await person.button('Try now').click();
		await asked;
		await page.clock.resume();
		await person.link('live');
		await person.unharmed();
	});

	it('whose token is revoked must log in again, and is back in the same place', async (t) => {
		const person = await atAdminPage(t, root, '#lanes');
		await person.page.getByRole('heading', { level: 1, name: 'Lanes' }).waitFor();
		const token = await person.page.evaluate(() => JSON.parse(localStorage.getItem('twinbox.login')));
		await root.delete(`/v1/tokens/${token.device.id}`);
		await person.page.getByText('You were logged out').waitFor();
		await person.page.getByLabel('Name').fill(root.name);
		await person.page.getByLabel('Password').fill(PASSWORD);
		await person.page.keyboard.press('Enter');
		await person.page.getByRole('heading', { level: 1, name: 'Lanes' }).waitFor();
		await person.link('live');
	});
});

describe('the stand-in', () => {
	it('answers as the contract says', () => {
		let seen = 0;
		const check = (standin, method, target, json) => {
			const url = new URL(target, 'http://stand.in');
			const [status, body] = standin.route({ method, path: decodeURIComponent(url.pathname),
				query: url.searchParams, json });
			checkAnswer({ method, target, status, body, text: `${JSON.stringify(body)}\n`, headers: new Headers({
				'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': 'r' }) }, 'http://stand.in');
			seen++;
		};
		for (const make of [empty, busy, badDay]) {
			const standin = make();
			for (const what of ['stats', 'destinations', 'outbox', 'dead-letters', 'lanes', 'audit'])
				check(standin, 'GET', `/v1/admin/${what}`);
			for (const n of standin.messages.size > 0 ? [1, 2, 3] : [])
				check(standin, 'GET', `/v1/admin/outbox/${uuid(n)}`);
			check(standin, 'POST', '/v1/admin/destinations/local/pause', { reason: 'x' });
			check(standin, 'POST', '/v1/admin/destinations/local/resume', {});
			check(standin, 'PATCH', '/v1/admin/destinations/local', { per_second: 3 });
			check(standin, 'POST', '/v1/admin/dead-letters/requeue', { filter: {}, limit: 5 });
			check(standin, 'POST', '/v1/admin/dead-letters/discard', { dead_ids: [1] });
		}
		assert.equal(seen, 36);
	});
});
