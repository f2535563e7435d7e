// SPDX-License-Identifier: MIT
//
// The page with 100 conversations and a long history, in Chromium.  The tests
// print their measurements: the number of requests for the list, the cost of
// the layout for each key with 20, 2,000 and 5,000 rows, and the cost of
// loading, scrolling and new messages.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { sendMany, until } from '../e2e/operator.mjs';
import { eventually, expectStatus, serverForFile, users, uuid7 } from '../e2e/harness.mjs';
import { Person, browserForFile } from './browser.mjs';

const PEOPLE = 101;
const FEW = 20;
const MANY = 2_000;
const SIZES = [FEW, MANY, 5_000];
const NEWS = 10;
const LAID_OUT = 500; // more than three screens in each direction, rounded up to whole blocks
const KEYS = 30;
const FRAME_MS = 1000 / 60;

const holder = browserForFile({ before, after });
// This browser builds the accessibility tree, as it does for a screen reader.
const reader = browserForFile({ before, after }, () => ['--force-renderer-accessibility']);
const server = serverForFile({ before, after, afterEach }, undefined, { unlimited: 'histories of thousands of messages' });

/** Returns ${name} with a browser in which they are logged in. */
async function guest(t, name)
{
	const person = await Person.make(holder, server, name);
	t.after(() => person.close());
	return person.logIn();
}

const rows = (person) => person.page.locator('.msg').count();

/** The number of rows that the browser lays out. */
const laidOut = (person) => person.page.locator('.msg').evaluateAll((all) =>
	all.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length);

const place = (person) => person.page.locator('.messages').evaluate((box) =>
	({ top: box.scrollTop, below: box.scrollHeight - box.scrollTop - box.clientHeight }));

const atNewest = (person) => eventually(async () => (await place(person)).below < 2, 'the newest message');

/** Turns the mouse wheel up once in each frame until ${done} returns true. */
async function wheelUp(person, done)
{
	const box = await person.page.locator('.messages').boundingBox();
	await person.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
	await eventually(async () => {
		await person.page.mouse.wheel(0, -3000);
		return done();
	}, 'the wheel to get there', 120_000);
}

describe('a hundred conversations', () => {
	it('are one request, and each shows its last line', async (t) => {
		const [ann, ...others] = await users(server, 'ann', ...Array.from({ length: PEOPLE }, () => 'p'));
		for (const [n, other] of others.entries())
			await other.send(ann.name, `line ${n}`);
		const asked = [];
		const person = await Person.make(holder, server, ann.name);
		t.after(() => person.close());
		person.page.on('request', (request) => asked.push(new URL(request.url())));
		await person.logIn();
		const lines = person.page.locator('nav .line');
		await eventually(async () => (await lines.allTextContents()).filter((one) =>
			/^line \d+$/.test(one)).length === PEOPLE, 'all last lines');
		assert.deepEqual(await lines.allTextContents(), others.map((_, n) => `line ${n}`).reverse());
		const of = (path) => asked.filter((url) => url.pathname.startsWith(path)).length;
		assert.equal(of('/v1/conversations'), 1);
		t.diagnostic(`${PEOPLE} conversations: ${of('/v1/conversations')} request for the list, ` +
			`${of('/v1/')} of the API in all`);
		// After a reload the page shows them from the disk, without an
		// answer of the server.
		await person.page.route('**/v1/conversations*', () => undefined);
		await person.page.reload();
		await eventually(async () => await lines.count() === PEOPLE, 'the kept list');
		assert.deepEqual(await lines.allTextContents(), others.map((_, n) => `line ${n}`).reverse());

		// All times end at the same edge, also in a row with the widest
		// count.
		const edges = await person.page.locator('nav .when').evaluateAll((all) => {
			all[3].closest('a').querySelector('.badge').firstChild.textContent = '999+';
			return all.map((one) => {
				const text = document.createRange();
				text.selectNodeContents(one);
				return Math.round(text.getBoundingClientRect().right);
			});
		});
		assert.equal(new Set(edges).size, 1);

		// The filter works by name and by keyboard, and stays while a
		// conversation is open.
		const filter = person.page.getByRole('searchbox', { name: 'Filter conversations' });
		const wanted = others[7].name;
		await filter.fill(wanted.toUpperCase());
		await eventually(async () => await lines.count() === 1, 'one row');
		await person.page.locator('.filter [role=status]', { hasText: 'One conversation' })
			.waitFor({ state: 'attached' });
		await person.page.keyboard.press('ArrowDown');
		await person.page.keyboard.press('Enter');
		await person.page.getByRole('heading', { name: wanted, exact: true }).waitFor();
		await filter.fill('nobody of this name');
		await person.page.getByText('Nothing matches.').waitFor();
		await filter.press('Escape');
		await eventually(async () => await lines.count() === PEOPLE, 'all rows');
		assert.equal(await person.page.evaluate(() => location.hash), `#to/${wanted}`,
			'Escape cleared the field alone');
		await person.unharmed();
	});

	it('a short list has no filter', async (t) => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		await bob.send(ann.name, 'hello');
		const person = await guest(t, ann.name);
		await person.item(bob.name).waitFor();
		assert.equal(await person.page.getByRole('searchbox').count(), 0);
	});
});

const lineOf = (n) => `line ${n}. ${'And more of it. '.repeat(n % 30)}`;

/**
 * Returns a person whose history has ${count} own messages to bob, with the
 * texts of lineOf().
 */
async function writer(t, browser, count)
{
	const [ann, bob] = await users(server, 'ann', 'bob');
	const ids = Array.from({ length: count }, () => uuid7());

	for (let n = 0; n < count; n += 50)
		expectStatus(await ann.post('/v1/messages', ids.slice(n, n + 50).map((id, i) =>
			({ id, to: bob.name, body: lineOf(n + i) }))), 200);
	await bob.received(ids.at(-1));
	const person = await Person.make(browser, server, ann.name);
	t.after(() => person.close());
	return { person: await person.logIn(), bob };
}

/**
 * Measures the processor time of the page's thread, in milliseconds: for
 * layout, and in all.
 */
async function meter(person)
{
	const cdp = await person.context.newCDPSession(person.page);
	const read = async () => {
		await person.page.evaluate(() => new Promise((resolve) =>
			requestAnimationFrame(() => requestAnimationFrame(resolve))));
		const { metrics } = await cdp.send('Performance.getMetrics');
		const of = (name) => metrics.find((one) => one.name === name).value;
		return { layout: of('LayoutDuration') * 1000, all: of('TaskDuration') * 1000 };
	};

	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
	return {
		read,
		/** Returns what ${act} costs. */
		async cost(act)
		{
			const was = await read();
			await act();
			const is = await read();
			return { layout: is.layout - was.layout, all: is.all - was.all };
		},
		end: () => cdp.detach(),
	};
}

const middle = (costs) => costs.sort((a, b) => a - b)[Math.floor(costs.length / 2)];

/**
 * Returns what one key costs in layout, in milliseconds: the median of KEYS
 * keys.
 */
async function layoutPerKey(person)
{
	const { cost, end } = await meter(person);
	const costs = [];

	await person.field.focus();
	for (let n = 0; n < KEYS; n++)
		costs.push((await cost(() => person.page.keyboard.press(n % 9 === 8 ? 'Space' : 'a'))).layout);
	await end();
	return middle(costs);
}

/**
 * Returns the number of frames while ${act} runs, their cost, and the number of
 * frames that the browser dropped.
 */
async function frames(person, act)
{
	const { cost, end } = await meter(person);

	await person.page.evaluate(() => {
		const times = globalThis.frames_ms = [];
		const frame = (was) => requestAnimationFrame((now) => {
			if (times !== globalThis.frames_ms)
				return;
			times.push(now - was);
			frame(now);
		});
		requestAnimationFrame(frame);
	});
	const { layout, all } = await cost(act);
	const times = await person.page.evaluate(() => {
		const { frames_ms: kept } = globalThis;
		globalThis.frames_ms = null;
		return kept.slice(1);
	});
	await end();
	const dropped = times.reduce((sum, ms) => sum + Math.max(0, Math.round(ms / FRAME_MS) - 1), 0);
	return `${times.length} frames, ${dropped} dropped, layout ${layout.toFixed(0)} of ${all.toFixed(0)} ms`;
}

describe('a long history', () => {
	it('is read by fast scrolling, page after page, and does not slow down typing', async (t) => {
		const [ann, ...others] = await users(server, 'ann', ...SIZES.map((size) => `p${size}`));
		const all = [];
		for (const [n, size] of SIZES.entries())
			all.push(await sendMany(others[n], ann.name, size));
		await ann.received(all.at(-1).at(-1));
		const person = await guest(t, ann.name);
		const perKey = {};

		for (const [n, size] of SIZES.entries()) {
			const [other, ids] = [others[n], all[n]];
			await person.talkTo(other.name);
			await person.sees(`text ${size - 1}`);
			t.diagnostic(`${size} rows, loaded and scrolled: ${await frames(person, () =>
				wheelUp(person, async () => await rows(person) >= size))}`);
			await person.sees('text 0');
			assert.deepEqual(await person.texts(), ids.map((_, i) => `text ${i}`));
			await eventually(async () => await laidOut(person) < LAID_OUT, 'rows far from the eye are skipped');
			perKey[size] = await layoutPerKey(person);
			const newest = person.page.locator('.newest button');
			if (await newest.count() > 0)
				await newest.click();
			await atNewest(person);
			t.diagnostic(`${size} rows, scrolled: ${await frames(person, () =>
				wheelUp(person, async () => (await place(person)).top === 0))}`);
			t.diagnostic(`${size} rows, ${NEWS} messages arrive: ${await frames(person, async () => {
				await sendMany(other, ann.name, NEWS);
				await eventually(async () => await rows(person) === size + NEWS, 'the new messages');
			})}`);
			t.diagnostic(`${size} rows: layout per key ${perKey[size].toFixed(2)} ms`);
		}
		assert.ok(perKey[MANY] <= 1.5 * perKey[FEW], JSON.stringify(perKey));
		await person.unharmed();
	});

	it('is there in full: for the keyboard, for finding, at its true height', async (t) => {
		const count = 400;
		const { person, bob } = await writer(t, holder, count);
		const { page } = person;
		await person.talkTo(bob.name);
		await wheelUp(person, async () => await rows(person) === count);
		await eventually(async () => await laidOut(person) < count / 2, 'rows far from the eye are skipped');

		// The history is as high as if all of it were laid out, so that
		// the scroll position does not jump.
		const height = () => page.locator('.messages').evaluate((box) => box.scrollHeight);
		const skipping = await height();
		await page.locator('.messages .block').evaluateAll((blocks) => blocks.forEach((one) =>
			one.style.setProperty('content-visibility', 'visible')));
		const whole = await height();
		assert.ok(Math.abs(skipping - whole) <= 2, `${skipping} px high, ${whole} px laid out`);
		await page.locator('.messages .block').evaluateAll((blocks) => blocks.forEach((one) =>
			one.style.setProperty('content-visibility', 'auto')));

		// The browser's search finds text in a row that is not laid
		// out, and the focus scrolls such a row into view.
		const inSight = (row) => eventually(async () => {
			const [is, box] = [await row.boundingBox(), await page.locator('.messages').boundingBox()];
			return is.y >= box.y - 1 && is.y + is.height <= box.y + box.height + 1;
		}, 'the row is in sight');
		await wheelUp(person, async () => (await place(person)).top === 0);
		assert.ok(await laidOut(person) < count / 2);
		assert.equal(await page.evaluate(() => globalThis.find('line 350.', false, false, true)), true);
		assert.equal(await page.evaluate(() =>
			getSelection().anchorNode.parentElement.closest('.msg').querySelector('.text').textContent), lineOf(350));
		const far = page.locator('.msg', { hasText: 'line 380.' });
		await far.locator('button.tick').evaluate((tick) => tick.focus());
		await inSight(far);
		await person.unharmed();
	});

	it('is there in full for screen readers', async (t) => {
		const { person, bob } = await writer(t, reader, 400);
		const { page } = person;
		await person.talkTo(bob.name);
		await wheelUp(person, async () => await rows(person) === 400);
		const cdp = await person.context.newCDPSession(page);
		const { nodes } = await cdp.send('Accessibility.getFullAXTree');
		const byId = new Map(nodes.map((one) => [one.nodeId, one]));
		const roleOf = (one) => !one || one.ignored ? '' : one.role.value;
		// Returns the nearest ancestor that is not ignored.
		const parentOf = (one) => {
			let at = byId.get(one.parentId);
			while (at?.ignored)
				at = byId.get(at.parentId);
			return at;
		};
		const items = nodes.filter((one) => roleOf(one) === 'listitem' && roleOf(parentOf(parentOf(one))) === 'region');
		assert.equal(items.length, await page.locator('.msg, .day').count());
		assert.deepEqual([...new Set(items.map((one) => roleOf(parentOf(one))))], ['list']);
		assert.equal(new Set(items.map((one) => parentOf(one).nodeId)).size, 1, 'one list');
	});

	it('keeps the row that one reads when the window becomes narrow, and the focus when older ones come', async (t) => {
		const { person, bob } = await writer(t, holder, 300);
		const { page } = person;
		await person.talkTo(bob.name);
		await person.sees(lineOf(299));
		const focused = await page.evaluate(() => {
			const row = document.querySelector('.msg');
			row.querySelector('.tick').focus();
			globalThis.row = row;
			return row.textContent;
		});
		// A frame that is drawn before the page gets the scroll event
		// moves back to the newest message, so the scroll is repeated.
		await eventually(async () => {
			await page.evaluate(() => globalThis.row.scrollIntoView());
			return await page.locator('.msg').first().textContent() !== focused;
		}, 'older messages');
		assert.equal(await page.evaluate(() => document.activeElement.closest('.msg')?.textContent), focused);

		await wheelUp(person, async () => await rows(person) === 300);
		const row = page.locator('.msg', { hasText: 'line 150.' });
		await row.evaluate((one) => one.scrollIntoView({ block: 'start' }));
		await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
		const was = await row.boundingBox();
		await page.setViewportSize({ width: 760, height: 760 });
		await eventually(async () => (await row.boundingBox()).width < was.width, 'a narrow row');
		await eventually(async () => Math.abs((await row.boundingBox()).y - was.y) < 3, 'the row is where it was');
		await person.unharmed();
	});

	it('has another name for a day when the next one has begun', async (t) => {
		const [ann, bob, carol] = await users(server, 'ann', 'bob', 'carol');
		await bob.send(ann.name, 'late in the evening');
		const person = await guest(t, ann.name);
		await person.talkTo(bob.name);
		await person.sees('late in the evening');
		assert.equal(await person.page.locator('.day').textContent(), 'Today');
		await person.page.evaluate(() => {
			const now = Date.now;
			Date.now = () => now() + 86_400_000;
		});
		// This causes a drawing, but none of these rows has changed.
		await carol.send(ann.name, 'early in the morning');
		await person.item(carol.name).waitFor();
		await eventually(async () => await person.page.locator('.day').textContent() === 'Yesterday', 'yesterday');
	});

	it('keeps its place while older messages come', async (t) => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ids = await sendMany(bob, ann.name, 300);
		await ann.received(ids.at(-1));
		const person = await guest(t, ann.name);
		// An ack means that the messages are on the disk.  At first the
		// page shows 200 rows of them.
		await until(bob, ids.at(-1), 'acked');
		let go;
		const held = new Promise((resolve) => { go = resolve; });
		await person.page.route('**/messages?*before=*', async (route) => {
			await held;
			await route.continue();
		});
		await person.talkTo(bob.name);
		await person.sees('text 299');
		const start = await rows(person);
		assert.ok(start < 300, 'not all are here');
		const row = person.message(`text ${310 - start}`);
		await row.scrollIntoViewIfNeeded();
		await person.page.getByRole('button', { name: 'Loading …' }).waitFor();
		const was = await row.boundingBox();
		go();
		await eventually(async () => await rows(person) > start, 'older messages');
		const is = await row.boundingBox();
		assert.ok(Math.abs(is.y - was.y) < 2, `${was.y} before, ${is.y} after`);
	});

	it('jumps to the newest with a count of what is new, and with what one sends', async (t) => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ids = await sendMany(bob, ann.name, 60);
		await ann.received(ids.at(-1));
		const person = await guest(t, ann.name);
		const { page } = person;
		const button = page.locator('.newest button');
		await person.talkTo(bob.name);
		await person.sees('text 59');
		await atNewest(person);
		assert.equal(await button.count(), 0);
		await wheelUp(person, async () => (await place(person)).top === 0);
		await page.getByRole('button', { name: 'Go to the newest message' }).waitFor();
		for (const text of ['new 1', 'new 2', 'new 3'])
			await bob.send(ann.name, text);
		await page.getByRole('button', { name: '3 new messages, go to the newest' }).click();
		await atNewest(person);
		await button.waitFor({ state: 'detached' });
		assert.equal(await page.evaluate(() => document.activeElement.className), 'messages');
		await wheelUp(person, async () => (await place(person)).top === 0);
		await page.getByRole('button', { name: 'Go to the newest message' }).waitFor();
		await person.say('my answer');
		await person.sees('my answer');
		await atNewest(person);
		await button.waitFor({ state: 'detached' });
		await person.unharmed();
	});
});
