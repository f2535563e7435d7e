// SPDX-License-Identifier: MIT
//
// The admin page with a stand-in for /v1/admin: what it shows in each state of
// a server, the requests of its buttons, and its polling.  The page polls every
// two seconds while it is visible, less often when there is no answer, and
// never makes two such requests at once.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile, sleep } from '../e2e/harness.mjs';
import { badDay, busy, empty } from './admin-scenes.mjs';
import { Operator, StandIn, dead, problem, stats, uuid } from './admin-standin.mjs';
import { browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

async function at(t, standin, options)
{
	const operator = await Operator.at(holder, server, standin, options);
	t.after(() => operator.close());
	return operator;
}

const rows = (operator, name) => operator.page.getByRole('table', { name }).locator('tbody tr');

describe('an operator sees', () => {
	it('on a good day nothing to do, figures, and plots that grow', async (t) => {
		const operator = await at(t, busy());
		const { page } = operator;
		await page.getByText('Nothing needs you.').waitFor();
		assert.equal(await page.getByRole('list', { name: 'Look at' }).count(), 0);
		for (const [name, value] of [['Scheduled', '6'], ['Sending', '12'], ['Write-ahead log', '3.7 MiB']])
			assert.match(await page.locator('.tile').filter({ hasText: name }).textContent(), new RegExp(value));
		await operator.link('live');
		await eventually(async () => operator.standin.count('/v1/admin/stats') >= 3, 'three answers');
		await page.getByRole('img', { name: /^Messages a second since .*Sent: now 4\d\/s, between/ }).waitFor();
		await page.getByRole('img', { name: /^Depth.*Pending: now \d+, between \d+ and \d+/ }).waitFor();
		// Every canvas has at least one pixel drawn.
		const drawn = await page.evaluate(() => [...document.querySelectorAll('.canvas canvas')].map((canvas) =>
			canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((n) => n > 0)));
		assert.deepEqual(drawn, [true, true, true, true]);
		await page.locator('.canvas').first().hover();
		await page.locator('.plot').first().getByText(/^\d\d:\d\d:\d\d$/).waitFor();
		await operator.unharmed();
	});

	it('with one message that waits each number of an axis once', async (t) => {
		const standin = busy();
		standin.stats = () => stats({ states: { pending: 1 } });
		const operator = await Operator.at(holder, server, standin);
		t.after(() => operator.close());
		const { page } = operator;
		// Records the texts that are drawn on each canvas since it was
		// last cleared.
		await page.addInitScript(() => {
			const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
			CanvasRenderingContext2D.prototype.clearRect = function clear(...box) {
				this.canvas.texts = [];
				clearRect.apply(this, box);
			};
			CanvasRenderingContext2D.prototype.fillText = function fill(text, ...place) {
				(this.canvas.texts ??= []).push(text);
				fillText.call(this, text, ...place);
			};
		});
		await page.reload();
		await page.getByRole('img', { name: /^Depth.*Pending: now 1,/ }).waitFor();
		const texts = await eventually(async () => {
			const drawn = await page.locator('.canvas canvas').first().evaluate((canvas) => canvas.texts ?? []);
			return drawn.length > 0 && drawn;
		}, 'the axes are drawn');
		assert.deepEqual(texts.filter((one) => !one.includes(':')), ['0', '1']);
	});

	it('on a bad day what to look at first, the worst first, with ways there', async (t) => {
		const operator = await at(t, badDay());
		const { page } = operator;
		await page.getByRole('heading', { name: 'Look at these first' }).waitFor();
		await page.getByText('dead.example is not reachable, for 9 h').waitFor();
		const titles = await page.locator('.alerts .title').allTextContents();
		assert.match(titles[0], /^Urgent: dead\.example is not reachable/);
		assert.match(titles[1], /^Urgent: 2 messages or receipts are stuck in sending/);
		assert.match(titles[2], /^Urgent: 412 dead letters to decide about/);
		assert.ok(titles.slice(3).every((one) => one.startsWith('Look soon: ')), titles.join());
		await page.getByText('more to look at soon').click();
		await page.getByText('The write-ahead log has 81 MiB').waitFor();
		await page.getByRole('link', { name: '2 messages or receipts are stuck in sending' }).click();
		await page.getByRole('heading', { level: 1, name: 'Outbox' }).waitFor();
		assert.equal(await page.getByLabel('State', { exact: true }).inputValue(), 'sending');
		await eventually(() => operator.standin.asked.some((ask) => ask.path === '/v1/admin/outbox' &&
			ask.query.get('stuck') === '30m'), 'the filter is asked for');
	});

	it('in an empty house empty lists, in words', async (t) => {
		const operator = await at(t, empty());
		const { page } = operator;
		await page.getByText('Nothing needs you.').waitFor();
		for (const [view, words] of [['Destinations', 'Nothing waits.'], ['Dead letters', 'No dead letters.'],
			['Outbox', 'Nothing was ever sent.'], ['Lanes', 'No lanes yet.'], ['Audit', 'Nothing was done here yet.']]) {
			await operator.view(view);
			await page.getByText(words).waitFor();
		}
		await operator.unharmed();
	});

	it('destinations: a word and a shape for each state, ages in shaded cells', async (t) => {
		const operator = await at(t, badDay(), { start: 'admin#destinations' });
		const { page } = operator;
		const line = (name) => rows(operator, 'Destinations').filter({ hasText: name });
		await line('dead.example').getByText('Not reachable').waitFor();
		const shapes = {};
		for (const [name, words] of [['dead.example', 'Not reachable'], ['shaky.example', 'Trying again'],
			['other.example', 'Reachable'], ['moving.example', 'Paused']])
			shapes[words] = await line(name).locator('.tag', { hasText: words }).locator('svg').innerHTML();
		assert.equal(new Set(Object.values(shapes)).size, 4, 'four shapes');
		assert.match(await line('dead.example').textContent(), /212 failures.*connection refused.*11,904\+.*0 of 1/);
		assert.match(await line('moving.example').textContent(), /by ada, 40 min ago: they move tonight/);
		assert.match(await line('dead.example').textContent(), /in 5 min \d+ s/, 'the next probe');
		const first = await rows(operator, 'Destinations').nth(1).textContent();
		assert.match(first, /^dead\.example/, 'who needs somebody comes first');
		const ages = page.locator('.ages tbody tr').filter({ hasText: 'dead.example' }).locator('td');
		assert.deepEqual(await ages.allTextContents(), ['11,904+', '22', '96', '130', '242', '511', '1,020', '1,983',
			'7,900']);
		const shade = (i) => ages.nth(i).evaluate((cell) => getComputedStyle(cell).backgroundColor);
		assert.notEqual(await shade(1), await shade(8), 'darker where more wait');
		const empty_cell = page.locator('.ages tbody tr').filter({ hasText: 'inboxes here' }).locator('td').nth(3);
		assert.equal(await empty_cell.evaluate((cell) => cell.className.includes('shade-0')), true);
		await operator.unharmed();
	});

	it('lanes and the audit', async (t) => {
		const operator = await at(t, busy(), { start: 'admin#lanes' });
		const line = rows(operator, 'Lanes').filter({ hasText: 'eve@other.example' });
		await line.waitFor();
		assert.match(await line.textContent(), /at work.*relay-1/);
		await operator.view('Audit');
		await rows(operator, 'Audit').first().waitFor();
		assert.match(await rows(operator, 'Audit').nth(1).textContent(), /root.*pause.*other\.example.*another house/);
		await rows(operator, 'Audit').nth(2).getByRole('link').click();
		await operator.page.getByRole('heading', { level: 1, name: 'The way of a message' }).waitFor();
	});

	it('the way of a message as a picture, and the same in words', async (t) => {
		const operator = await at(t, badDay(), { start: `admin#message/${uuid(2)}` });
		const { page } = operator;
		const picture = page.getByRole('img', { name: /The way from alice to bob@slow\.example/ });
		await picture.waitFor();
		const said = await picture.getAttribute('aria-label');
		assert.match(said, /Accepted at .*Attempt 1 at .*refused for now \(503\).*Attempt 3 .*Sent at .*Delivered at .*Read at .*3 min later/);
		const texts = await picture.locator('text').allTextContents();
		for (const words of ['Accepted', 'Attempt 2', 'Sent', 'Delivered', 'Read', '42 s · waits for a device',
			'3 min · waits to be read', '15 ms · waits for its turn'])
			assert.ok(texts.includes(words), `${words} in ${texts.join(' | ')}`);
		assert.ok(await picture.locator('.phase').count() >= 6, 'the strip to scale');
		await page.getByText('The same in words').click();
		assert.equal(await page.locator('.words li').count(), 7);
		assert.equal(await rows(operator, 'Attempts').count(), 3);
		// The points are below each other and do not overlap.
		const tops = await picture.locator('.p-name').evaluateAll((all) =>
			all.map((one) => one.getBoundingClientRect()).map((box) => [box.top, box.bottom]));
		for (let i = 1; i < tops.length; i++)
			assert.ok(tops[i][0] > tops[i - 1][1] + 10, JSON.stringify(tops));
		await operator.unharmed();
	});

	it('a message of sixty attempts, drawn with the middle left out', async (t) => {
		const operator = await at(t, badDay(), { start: `admin#message/${uuid(3)}` });
		const { page } = operator;
		await page.getByText(/… \d+ more, listed below …/).waitFor();
		await page.getByText('60 attempts').click();
		await eventually(async () => await rows(operator, 'Attempts').count() === 60, 'all in the table');
		assert.match(await page.locator('.picture svg').getAttribute('aria-label'), /Sent: not yet/);
	});

	it('a message that is not there', async (t) => {
		const operator = await at(t, busy(), { start: `admin#message/${uuid(404)}` });
		await operator.page.getByText('No message with this id.').waitFor();
	});
});

describe('an operator finds', () => {
	it('a message by its id, typed or pasted', async (t) => {
		const operator = await at(t, badDay(), { start: 'admin#outbox' });
		const { page } = operator;
		await page.getByLabel('Message id').fill('nonsense');
		await page.keyboard.press('Enter');
		assert.equal(await page.getByLabel('Message id').evaluate((field) => field.validity.patternMismatch), true);
		await page.getByLabel('Message id').fill(`  ${uuid(2).toUpperCase()} `);
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { name: 'To bob@slow.example' }).waitFor();
		await page.goBack();
		await page.getByRole('heading', { level: 1, name: 'Outbox' }).waitFor();
	});

	it('messages by state, destination, sender, stuck and near failure; the address keeps it', async (t) => {
		const operator = await at(t, busy(), { start: 'admin#outbox' });
		const { page, standin } = operator;
		await eventually(async () => await rows(operator, 'Messages').count() === 4, 'all');
		await page.getByLabel('State', { exact: true }).selectOption('sent');
		await eventually(async () => await rows(operator, 'Messages').count() === 1, 'one');
		await page.getByLabel('State', { exact: true }).selectOption('');
		await page.getByLabel('Destination').fill('other.example');
		await page.keyboard.press('Enter');
		await rows(operator, 'Messages').filter({ hasText: 'eve@other.example' }).waitFor();
		await eventually(async () => await rows(operator, 'Messages').count() === 1, 'one');
		await page.getByLabel('Sender').fill('nobody');
		await page.getByLabel('Near failure').selectOption('3');
		await page.getByText('None that match.').waitFor();
		assert.equal(new URL(page.url()).hash, '#outbox?destination=other.example&sender=nobody&near_failure=3');
		const asked = standin.asked.filter((ask) => ask.path === '/v1/admin/outbox').pop();
		assert.deepEqual(Object.fromEntries(asked.query), { destination: 'other.example', sender: 'nobody',
			near_failure: '3', limit: '50' });
		await page.reload();
		await page.getByText('None that match.').waitFor();
		assert.equal(await page.getByLabel('Sender').inputValue(), 'nobody');
		await page.goBack();
		await page.goBack();
		await eventually(async () => await page.getByLabel('Sender').inputValue() === '', 'the filter before');
	});

	it('and what is typed is not lost while figures come in', async (t) => {
		const operator = await at(t, busy(), { start: 'admin#outbox' });
		const { page, standin } = operator;
		await page.getByLabel('Sender').pressSequentially('car');
		await page.getByLabel('Message id').pressSequentially('0190');
		await page.getByLabel('Sender').focus();
		const asked = standin.count('/v1/admin/stats');
		await eventually(() => standin.count('/v1/admin/stats') >= asked + 3, 'three more answers');
		await page.keyboard.press('End');
		await page.keyboard.type('ol');
		assert.equal(await page.getByLabel('Sender').inputValue(), 'carol');
		assert.equal(await page.getByLabel('Message id').inputValue(), '0190');
		await page.keyboard.press('Enter');
		await eventually(async () => await rows(operator, 'Messages').count() === 1, 'hers');
		assert.equal(await page.getByLabel('Sender').evaluate((one) => one === document.activeElement), true);
	});

	it('older ones, page by page, and the way back', async (t) => {
		const operator = await at(t, badDay(), { start: 'admin#dead' });
		const { page } = operator;
		await eventually(async () => await rows(operator, 'Dead letters').count() === 50, 'a page');
		await page.getByRole('link', { name: 'Older' }).click();
		await rows(operator, 'Dead letters').first().getByText('0051').waitFor();
		await page.getByRole('link', { name: 'Newest' }).click();
		await rows(operator, 'Dead letters').first().getByText('0001').waitFor();
	});

	it('a page without rows has a way on when there is one', async (t) => {
		const standin = busy();
		const route = standin.route.bind(standin);
		standin.route = (ask) => (ask.path === '/v1/admin/outbox' && !ask.query.get('before') ?
			[200, { entries: [], next: 77 }] : route(ask));
		const operator = await at(t, standin, { start: 'admin#outbox' });
		await operator.page.getByText('None among the newest').waitFor();
		await operator.page.getByRole('link', { name: 'Older' }).click();
		await eventually(() => standin.asked.some((ask) => ask.query.get('before') === '77'), 'it went on');
	});
});

describe('an operator does', () => {
	it('pauses with a reason, resumes, limits; each is confirmed', async (t) => {
		const operator = await at(t, badDay(), { start: 'admin#destinations' });
		const { page, standin, dialog } = operator;
		const done = (path) => standin.asked.filter((ask) => ask.path === path && ask.method !== 'GET');
		await operator.button('Pause other.example').click();
		await dialog.getByRole('heading', { name: 'Pause other.example?' }).waitFor();
		await page.keyboard.press('Escape');
		await dialog.waitFor({ state: 'detached' });
		assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), 'Pause other.example',
			'the focus is where it was');
		assert.deepEqual(done('/v1/admin/destinations/other.example/pause'), []);
		await operator.button('Pause other.example').click();
		await dialog.getByLabel('Reason').fill('they move');
		await page.keyboard.press('Enter');
		await operator.button('Resume other.example').waitFor();
		await page.getByText('Paused: other.example.').waitFor();
		assert.deepEqual(done('/v1/admin/destinations/other.example/pause')[0].json, { reason: 'they move' });
		assert.equal(done('/v1/admin/destinations/other.example/pause')[0].token, 'Bearer a-token');
		await operator.button('Resume other.example').click();
		await dialog.getByText('“they move”').waitFor();
		await dialog.getByRole('button', { name: 'Resume' }).click();
		await operator.button('Pause other.example').waitFor();
		await operator.button('Limit dead.example').click();
		await dialog.getByLabel('Messages a second').fill('25');
		await page.keyboard.press('Enter');
		await rows(operator, 'Destinations').filter({ hasText: 'dead.example' }).getByText('25/s').waitFor();
		await operator.button('Limit dead.example').click();
		await dialog.getByLabel('Messages a second').fill('');
		await dialog.getByRole('button', { name: 'Limit' }).click();
		await page.getByText('No limit any more').waitFor();
		assert.deepEqual(done('/v1/admin/destinations/dead.example').map((ask) => ask.json),
			[{ per_second: 25 }, { per_second: null }]);
		await operator.button('Pause everything').click();
		await dialog.getByText('Nothing is delivered to anybody').waitFor();
		await dialog.getByRole('button', { name: 'Pause' }).click();
		await operator.button('Resume everything').waitFor();
		assert.equal(done('/v1/admin/destinations/*/pause').length, 1);
		await operator.unharmed();
	});

	it('what the server refuses is said in the question, which stays', async (t) => {
		const standin = badDay();
		standin.broken = (ask) => (ask.path.endsWith('/pause') ? [409, problem(409, 'conflict',
			'it is paused already')] : null);
		const operator = await at(t, standin, { start: 'admin#destinations' });
		await operator.button('Pause other.example').click();
		await operator.dialog.getByRole('button', { name: 'Pause' }).click();
		await operator.dialog.getByText('It is paused already.').waitFor();
		await operator.dialog.getByRole('button', { name: 'Cancel' }).click();
	});

	it('opens attempts, requeues one, discards one', async (t) => {
		const standin = badDay(30);
		const operator = await at(t, standin, { start: 'admin#dead' });
		const { page, dialog } = operator;
		const line = (n) => rows(operator, 'Dead letters').filter({ hasText: uuid(n).slice(-4) });
		await line(4).getByRole('button', { name: '10 attempts: show them' }).click();
		await eventually(async () => await rows(operator, 'Attempts').count() === 10, 'ten attempts');
		await line(4).getByRole('button', { name: /^Requeue/ }).click();
		await dialog.getByRole('heading', { name: 'Requeue 1 dead letter?' }).waitFor();
		await dialog.getByRole('button', { name: 'Requeue', exact: true }).click();
		await dialog.getByText('1 done, 0 refused, of 1.').waitFor();
		await dialog.getByRole('button', { name: 'Close' }).click();
		await line(4).waitFor({ state: 'detached' });
		await page.getByText('Requeued 1 dead letter.').waitFor();
		await line(5).getByRole('button', { name: /^Discard/ }).click();
		await dialog.getByText('This cannot be undone').waitFor();
		await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
		await dialog.getByRole('button', { name: 'Close' }).click();
		const sent = standin.asked.filter((ask) => ask.method === 'POST').map((ask) => [ask.path, ask.json]);
		assert.deepEqual(sent, [['/v1/admin/dead-letters/requeue', { dead_ids: [4] }],
			['/v1/admin/dead-letters/discard', { dead_ids: [5] }]]);
		await page.getByLabel('Show', { exact: true }).selectOption('true');
		await page.getByText(/requeued by root/).waitFor();
		await operator.unharmed();
	});

	it('requeues all that match: counted, in steps, refusals shown', async (t) => {
		const standin = badDay(412);
		for (let n = 2; n < 30; n++)
			standin.refuse.add(n);
		const operator = await at(t, standin, { start: 'admin#dead' });
		const { page, dialog } = operator;
		const matching = standin.dead.filter((one) => one.reason === 'max_retries').length;
		const refused = standin.dead.filter((one) => one.reason === 'max_retries' && standin.refuse.has(one.dead_id));
		await page.getByLabel('Reason').selectOption('max_retries');
		await operator.button('Requeue all that match').click();
		await dialog.getByRole('heading', { name: `Requeue ${matching} dead letters?` }).waitFor();
		await dialog.getByText('All with the reason “every retry used up”.').waitFor();
		await dialog.getByRole('button', { name: 'Requeue', exact: true }).click();
		await dialog.getByText(`${matching - refused.length} done, ${refused.length} refused, of ${matching}.`).waitFor();
		await dialog.getByText('the requeue window of 7 days is over').first().waitFor();
		assert.equal(await dialog.getByRole('list', { name: 'Refused' }).getByRole('listitem').count(), 21,
			'twenty, and how many more');
		await dialog.getByRole('button', { name: 'Close' }).click();
		await page.getByText(`; ${refused.length} refused.`).waitFor();
		const calls = standin.asked.filter((ask) => ask.method === 'POST');
		assert.ok(calls.length >= 3 && calls.every((ask) => ask.json.limit <= 100));
		assert.deepEqual(calls[0].json.filter, { reason: 'max_retries' });
		assert.equal(standin.dead.filter((one) => one.resolution === 'requeued' &&
			one.reason !== 'max_retries').length, 0, 'no others');
		await operator.unharmed();
	});

	it('discards the chosen ones; stopped, it stops', async (t) => {
		const standin = badDay(412);
		const operator = await at(t, standin, { start: 'admin#dead' });
		const { page, dialog } = operator;
		await rows(operator, 'Dead letters').first().waitFor();
		await operator.button('Select all 50 shown').click();
		await operator.button('Select none').click();
		for (const n of [0, 1, 2])
			await rows(operator, 'Dead letters').nth(n).getByRole('checkbox').check();
		await operator.button('Discard 3 chosen').click();
		await dialog.getByRole('heading', { name: 'Discard 3 dead letters?' }).waitFor();
		await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
		await dialog.getByRole('button', { name: 'Close' }).click();
		await operator.button('Discard all').waitFor();
		assert.deepEqual(standin.dead.filter((one) => one.resolution).map((one) => one.dead_id), [1, 2, 3]);
		// The second step waits until Stop has been pressed.
		let open, steps = 0;
		standin.broken = (ask) => {
			if (ask.method === 'POST' && ++steps === 2)
				standin.gate = new Promise((resolve) => { open = resolve; });
			return null;
		};
		await operator.button('Discard all').click();
		await dialog.getByRole('heading', { name: 'Discard 409 dead letters?' }).waitFor();
		await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
		await dialog.getByText('100 done').waitFor();
		await eventually(() => open, 'the second step');
		await dialog.getByRole('button', { name: 'Stop' }).click();
		open();
		standin.gate = null;
		await dialog.getByText('200 done, 0 refused, of 409.').waitFor();
		await dialog.getByRole('button', { name: 'Close' }).click();
		assert.equal(standin.dead.filter((one) => one.resolution).length, 203);
		assert.equal(steps, 2);
	});

	it('tries a message again, gives one up, rewinds a lane, exports', async (t) => {
		const operator = await at(t, badDay(20), { start: `admin#message/${uuid(1)}` });
		const { page, standin, dialog } = operator;
		await operator.button('Try now').click();
		await dialog.getByRole('button', { name: 'Try now' }).click();
		await page.getByText('It is tried again.').waitFor();
		await page.locator('.tag', { hasText: 'pending' }).waitFor();
		await operator.button('Discard').click();
		await dialog.getByRole('button', { name: 'Discard' }).click();
		await page.getByText('It is discarded; its sender is notified.').waitFor();
		await operator.view('Lanes');
		await operator.button('Rewind lane 9').click();
		await dialog.getByLabel('From place').fill('4');
		await dialog.getByRole('button', { name: 'Rewind' }).click();
		await dialog.waitFor({ state: 'detached' });
		await operator.button('Rewind lane 9').click();
		await dialog.getByLabel('what was sent since').fill('2026-11-20T10:30');
		assert.ok(await dialog.getByLabel('From place').isDisabled());
		await dialog.getByRole('button', { name: 'Rewind' }).click();
		await dialog.waitFor({ state: 'detached' });
		const posted = standin.asked.filter((ask) => ask.method === 'POST');
		assert.deepEqual(posted.map((ask) => ask.path), [`/v1/admin/outbox/${uuid(1)}/retry`,
			`/v1/admin/outbox/${uuid(1)}/discard`, '/v1/admin/lanes/9/rewind', '/v1/admin/lanes/9/rewind']);
		assert.deepEqual(posted[2].json, { seq: 4 });
		const since = await page.evaluate(() => new Date('2026-11-20T10:30').toISOString());
		assert.deepEqual(posted[3].json, { since });
		await operator.view('Dead letters');
		const [file] = await Promise.all([page.waitForEvent('download'), operator.button('Export').click()]);
		assert.match(file.suggestedFilename(), /^dead-letters-\d{4}-\d\d-\d\d\.ndjson$/);
		const lines = fs.readFileSync(await file.path(), 'utf8').trim().split('\n').map((one) => JSON.parse(one));
		assert.equal(lines.length, 20);
		await operator.unharmed();
	});
});

describe('who may not', () => {
	it('without a log-in: the form; then back to where one wanted to be', async (t) => {
		const operator = await Operator.make(holder, server, 'root', { start: 'admin#dead' });
		t.after(() => operator.close());
		await operator.page.getByRole('heading', { name: 'twinbox admin' }).waitFor();
		await operator.page.getByLabel('Password').waitFor();
		assert.equal(await operator.page.getByRole('button', { name: 'Register' }).count(), 0);
		assert.equal(new URL(operator.page.url()).hash, '#dead');
	});

	it('a token that is none (401): logged out, and it is shown', async (t) => {
		const standin = new StandIn();
		standin.broken = () => [401, problem(401, 'unauthenticated', 'the token is none')];
		const operator = await at(t, standin);
		await operator.page.getByText('You were logged out').waitFor();
		await operator.page.getByLabel('Password').waitFor();
		assert.deepEqual([...new Set(standin.asked.map((ask) => ask.path))], ['/v1'], 'nothing else was asked');
	});

	it('not an administrator: a clear sentence, and nothing is asked for', async (t) => {
		const operator = await at(t, new StandIn({ admin: false }));
		await operator.page.getByText('This page is for administrators. root is not an administrator.').waitFor();
		await operator.page.getByText('An administrator of chat.example can promote you in the view Users of this page; ' +
			'its operator can with twinboxd user promote root.').waitFor();
		assert.deepEqual(operator.standin.asked.map((ask) => ask.path), ['/v1']);
		await operator.page.getByRole('link', { name: 'To the messages' }).click();
		await operator.page.waitForURL(`${server.url}/`);
	});

	it('no longer an administrator (403): the same, at the next answer', async (t) => {
		const operator = await at(t, busy());
		await operator.link('live');
		operator.standin.admin = false;
		await operator.page.getByText('This page is for administrators.').waitFor();
	});
});

describe('the admin page polls', () => {
	/** Opens the admin page with a clock that only the test moves. */
	async function timed(t, standin, options)
	{
		const operator = await at(t, standin, { ...options, start: 'admin' });
		await operator.link('live');
		await operator.page.addInitScript(() => {
			const ask = window.fetch;
			window.unanswered = 0;
			window.fetch = async (...args) => {
				window.unanswered++;
				try {
					const answer = await ask(...args);
					await answer.clone().text();
					return answer;
				} finally {
					window.unanswered--;
				}
			};
		});
		await operator.page.clock.install();
		await operator.page.reload();
		await operator.link('live');
		await operator.page.clock.pauseAt(Date.now() + 60_000);
		return operator;
	}

	const beats = (standin) => standin.count('/v1/admin/stats');

	/**
	 * Moves the page's clock by ${ms} milliseconds in steps.  After each
	 * step all requests get their answers, if the stand-in answers, however
	 * long that takes in real time.
	 */
	async function pass(operator, ms)
	{
		for (let gone = 0; gone < ms; gone += 500) {
			await operator.page.clock.runFor(500);
			while (!operator.standin.gate && await operator.page.evaluate(() => window.unanswered) > 0)
				await sleep(2);
			await operator.page.evaluate(() => new Promise((resolve) => {
				const channel = new MessageChannel();
				channel.port1.onmessage = resolve;
				channel.port2.postMessage(0);
			}));
		}
	}

	const look = (page, state) => page.evaluate((to) => {
		Object.defineProperty(document, 'visibilityState', { value: to, configurable: true });
		document.dispatchEvent(new Event('visibilitychange'));
	}, state);

	it('every two seconds; not while nobody looks; at once when somebody does', async (t) => {
		const standin = busy();
		const operator = await timed(t, standin);
		const before_ = beats(standin);
		await pass(operator, 10_000);
		await eventually(() => beats(standin) - before_ >= 4, 'about five answers');
		assert.ok(beats(standin) - before_ <= 6, String(beats(standin) - before_));
		await look(operator.page, 'hidden');
		await operator.link('hidden');
		await pass(operator, 1000);
		const still = standin.asked.length;
		await pass(operator, 120_000);
		assert.equal(standin.asked.length, still, 'not a single question');
		await look(operator.page, 'visible');
		await operator.link('live');
		assert.ok(standin.asked.length > still);
		// The time while the page was hidden is a gap in the plots, not
		// a line.
		await operator.page.getByRole('img', { name: /^Depth/ }).waitFor();
	});

	it('more and more seldom when nothing answers, says so, and comes back by itself', async (t) => {
		const standin = busy();
		const operator = await timed(t, standin);
		standin.broken = () => 'abort';
		await pass(operator, 3000);
		await operator.link('waiting');
		await operator.page.getByText('The server cannot be reached. The page shows the last known state.').waitFor();
		await operator.page.getByText(/Next try in \d+ s/).waitFor();
		const first = standin.asked.length;
		await pass(operator, 60_000);
		const asked = standin.asked.length - first;
		assert.ok(asked >= 2 && asked <= 8, `${asked} questions in a minute`);
		assert.deepEqual([...new Set(standin.asked.slice(first).map((ask) => ask.path))], ['/v1/admin/stats'],
			'only one knocks');
		assert.ok(await operator.page.locator('.tile').count() > 5, 'what was known is still there');
		standin.broken = null;
		await pass(operator, 31_000);
		await operator.link('live');
		assert.equal(await operator.page.getByText('The page shows the last known state.').count(), 0);
	});

	it('not before the server wants it (503 with Retry-After); or when somebody presses', async (t) => {
		const standin = busy();
		const operator = await timed(t, standin);
		standin.broken = () => [503, problem(503, 'busy', 'too much waits', { retry_after: 45 })];
		await pass(operator, 3000);
		await operator.page.getByText('Too much waits. It asks to wait 45 s.').waitFor();
		const first = beats(standin);
		await pass(operator, 40_000);
		assert.equal(beats(standin), first);
		standin.broken = null;
		await operator.button('Try now').click();
		await operator.link('live');
	});

	it('one question at a time when the server is slow, and says that it is', async (t) => {
		const standin = busy();
		const operator = await timed(t, standin);
		let open;
		standin.gate = new Promise((resolve) => { open = resolve; });
		// The whole test stays below the time-out of a request, 20 s.
		await pass(operator, 2500);
		await pass(operator, 8000);
		await operator.link('slow');
		const waiting = beats(standin);
		await pass(operator, 3000);
		assert.equal(beats(standin), waiting);
		standin.gate = null;
		open();
		await operator.link('live');
	});

	it('what one view cannot get is said there; the rest goes on', async (t) => {
		const standin = busy();
		standin.broken = (ask) => (ask.path === '/v1/admin/lanes' ? [500, problem(500, 'internal', 'it broke')] : null);
		const operator = await at(t, standin, { start: 'admin#lanes' });
		await operator.page.getByText('No lanes. It broke.').waitFor();
		await operator.link('live');
		standin.broken = null;
		await operator.page.getByRole('table', { name: 'Lanes' }).waitFor();
	});

	it('a filter that the server refuses is explained in its words', async (t) => {
		const standin = busy();
		standin.broken = (ask) => (ask.query.get('sender') === 'A b' ? [400, problem(400, 'bad_request',
			'sender: no address')] : null);
		const operator = await at(t, standin, { start: 'admin#dead?sender=A+b' });
		await operator.page.getByText('Sender: no address.').waitFor();
		await operator.link('live');
	});

	it('a proxy that answers HTML is not the server', async (t) => {
		const standin = busy();
		standin.broken = (ask) => (ask.path === '/v1/admin/stats' ? [502, '<html>Bad gateway</html>'] : null);
		const operator = await at(t, standin);
		await operator.link('waiting');
		await operator.page.getByText('The server answered 502.').waitFor();
		standin.broken = null;
		await operator.button('Try now').click();
		await operator.link('live');
	});

	it('nothing about a message but its way: no text is asked for or shown', async (t) => {
		const operator = await at(t, badDay(), { start: `admin#message/${uuid(2)}` });
		await operator.page.getByText('Its text is not shown on this page.').waitFor();
		for (const view of ['Overview', 'Destinations', 'Dead letters', 'Outbox', 'Lanes', 'Audit'])
			await operator.view(view);
		const paths = [...new Set(operator.standin.asked.map((ask) => ask.path))];
		assert.ok(paths.every((path) => path === '/v1' || path.startsWith('/v1/admin/')), paths.join());
	});
});

describe('what others wrote is text', () => {
	const HOSTILE = ['<img src=x onerror=alert(1)>', '"><script>alert(1)</script>', '\u202egnp.exe\u202c',
		'javascript:alert(1)', '{{7*7}}', 'x'.repeat(500), '</text></svg><script>alert(1)</script>',
		'Z\u0351\u036b\u0343\u036a\u0302'.repeat(40), '& &amp; &#60;b&#62;', '\u0000\u0007\u001b[31m'];

	it('in errors, reasons, names, details, on every view', async (t) => {
		const standin = badDay(20);
		standin.dead = HOSTILE.map((text, i) => dead(i + 1, { last_error: text, from: text, to: text, resolved_by: text,
			destination: text, reason: text.slice(0, 32) }));
		standin.destinations.forEach((one, i) => Object.assign(one, { last_error: HOSTILE[i], failures: 3,
			breaker: 'open', paused_at: one.last_success_at, paused_by: HOSTILE[i + 1], pause_reason: HOSTILE[i + 2] }));
		standin.destinations[2].name = HOSTILE[6];
		standin.audit = HOSTILE.map((text, i) => ({ audit_id: i, at: standin.dead[0].dead_at, actor: text, action: text,
			object: text, detail: text }));
		standin.lanes.forEach((one, i) => Object.assign(one, { to: HOSTILE[i], lease_owner: HOSTILE[i] }));
		standin.rows.forEach((one, i) => Object.assign(one, { last_error: HOSTILE[i], from: HOSTILE[i + 1] }));
		const [story] = standin.messages.get(uuid(2));
		story.to = HOSTILE[0];
		story.attempts.forEach((one, i) => Object.assign(one, { error: HOSTILE[6 - i], outcome: HOSTILE[i],
			owner: HOSTILE[1] }));
		story.timeline.push({ at: story.acked_at, event: HOSTILE[6], detail: HOSTILE[1] });
		const operator = await at(t, standin);
		const { page } = operator;
		for (const view of ['Overview', 'Destinations', 'Dead letters', 'Outbox', 'Lanes', 'Audit']) {
			await operator.view(view);
			await eventually(async () => await page.getByText('Asking the server').count() === 0, view);
			assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
		}
		assert.equal(await page.getByText(HOSTILE[0], { exact: true }).count() > 0, true, 'it is shown as it is');
		await page.evaluate((hash) => { location.hash = hash; }, `message/${uuid(2)}`);
		await page.getByRole('img', { name: /The way from alice/ }).waitFor();
		assert.equal(await page.locator('main script, main img, main svg script').count(), 0);
		await page.evaluate(() => { location.hash = '#message/<img src=x onerror=alert(1)>'; });
		await page.getByText('No message with this id').waitFor();
		await page.evaluate(() => { location.hash = '#dead?reason=<svg onload=alert(1)>&before=x'; });
		await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
		await page.evaluate(() => { location.hash = '#__proto__?constructor=1&__proto__=2'; });
		await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
		await operator.unharmed();
	});
});

describe('figures', () => {
	it('that change are shown without the focus or an open row being lost', async (t) => {
		const standin = badDay(10);
		let sent = 0;
		standin.stats = () => stats({ totals: { sent: sent += 7 }, dead_letters_open: 10 });
		const operator = await at(t, standin, { start: 'admin#dead' });
		const { page } = operator;
		const button = rows(operator, 'Dead letters').nth(3).getByRole('button', { name: /attempts: show them/ });
		await button.click();
		await eventually(async () => await rows(operator, 'Attempts').count() === 10, 'opened');
		const asked = standin.count('/v1/admin/dead-letters');
		await eventually(() => standin.count('/v1/admin/dead-letters') >= asked + 2, 'two more answers');
		assert.equal(await rows(operator, 'Attempts').count(), 10);
		assert.equal(await button.evaluate((one) => one === document.activeElement), true);
		assert.equal(await page.title(), 'Dead letters – twinbox admin');
	});
});
