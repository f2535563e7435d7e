// SPDX-License-Identifier: MIT
//
// The page with 100 conversations and a long history, in Chromium.  Its figures
// are printed: requests for the list, layout per key at 20 and at 2,000 rows,
// frames while scrolling.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { sendMany, until } from '../e2e/operator.mjs';
import { eventually, serverForFile, users } from '../e2e/harness.mjs';
import { Person, browserForFile } from './browser.mjs';

const PEOPLE = 101;
const FEW = 20;
const MANY = 2_000;
const KEYS = 30;
const FRAME_MS = 1000 / 60;

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach }, undefined, { unlimited: 'a history of 2,000 messages' });

/** ${name} with a browser that has logged in. */
async function guest(t, name)
{
	const person = await Person.make(holder, server, name);
	t.after(() => person.close());
	return person.logIn();
}

const rows = (person) => person.page.locator('.msg').count();

const place = (person) => person.page.locator('.messages').evaluate((box) =>
	({ top: box.scrollTop, below: box.scrollHeight - box.scrollTop - box.clientHeight }));

const atNewest = (person) => eventually(async () => (await place(person)).below < 2, 'the newest message');

/** Turns the wheel up once in each frame until ${done}. */
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
		// A reload shows them from the disk, without the server's answer.
		await person.page.route('**/v1/conversations*', () => undefined);
		await person.page.reload();
		await eventually(async () => await lines.count() === PEOPLE, 'the kept list');
		assert.deepEqual(await lines.allTextContents(), others.map((_, n) => `line ${n}`).reverse());

		// The filter: by name, by keyboard, kept while a conversation is open.
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

/** The layout that one key costs, in ms: the median of KEYS keys. */
async function layoutPerKey(person)
{
	const cdp = await person.context.newCDPSession(person.page);
	const spent = async () => {
		await person.page.evaluate(() => new Promise((resolve) =>
			requestAnimationFrame(() => requestAnimationFrame(resolve))));
		const { metrics } = await cdp.send('Performance.getMetrics');
		return metrics.find((one) => one.name === 'LayoutDuration').value * 1000;
	};
	const costs = [];

	await cdp.send('Performance.enable');
	await person.field.focus();
	for (let n = 0, was = await spent(); n < KEYS; n++) {
		await person.page.keyboard.press(n % 9 === 8 ? 'Space' : 'a');
		const now = await spent();
		costs.push(now - was);
		was = now;
	}
	await cdp.detach();
	return costs.sort((a, b) => a - b)[KEYS / 2];
}

describe('a long history', () => {
	it('is read by fast scrolling, page after page, and does not slow down typing', async (t) => {
		const [ann, bob, carol] = await users(server, 'ann', 'bob', 'carol');
		await sendMany(carol, ann.name, FEW);
		const ids = await sendMany(bob, ann.name, MANY);
		await ann.received(ids.at(-1));
		const person = await guest(t, ann.name);
		await person.talkTo(carol.name);
		await eventually(async () => await rows(person) === FEW, 'the short history');
		const few = await layoutPerKey(person);

		await person.talkTo(bob.name);
		await person.sees(`text ${MANY - 1}`);
		await person.page.evaluate(() => {
			globalThis.frames_ms = [];
			const frame = (was) => requestAnimationFrame((now) => {
				globalThis.frames_ms.push(now - was);
				frame(now);
			});
			requestAnimationFrame(frame);
		});
		await wheelUp(person, async () => await rows(person) >= MANY);
		await person.sees('text 0');
		const frames = await person.page.evaluate(() => globalThis.frames_ms);
		const dropped = frames.reduce((sum, ms) => sum + Math.max(0, Math.round(ms / FRAME_MS) - 1), 0);
		assert.deepEqual(await person.texts(), ids.map((_, n) => `text ${n}`));
		const many = await layoutPerKey(person);
		t.diagnostic(`layout per key: ${few.toFixed(2)} ms at ${FEW} rows, ${many.toFixed(2)} ms at ${MANY}`);
		t.diagnostic(`scrolling through ${MANY} rows while they load: ${frames.length} frames, ${dropped} dropped`);
		assert.ok(many <= 1.5 * few, `${many} ms at ${MANY} rows, ${few} ms at ${FEW}`);
		await person.unharmed();
	});

	it('keeps its place while older messages come', async (t) => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const ids = await sendMany(bob, ann.name, 300);
		await ann.received(ids.at(-1));
		const person = await guest(t, ann.name);
		// Acked means kept on the disk, of which 200 rows are shown at first.
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
