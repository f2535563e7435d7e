// SPDX-License-Identifier: MIT
//
// The API reference at /docs: it has all of docs/openapi.yaml, its links lead
// somewhere, its examples fit the contract and can be pasted into a shell, and
// it can be read without a script, on a desktop, on a phone and on paper.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import { document } from '../e2e/contract.mjs';
import { once, serverForFile } from '../e2e/harness.mjs';
import { operator } from '../e2e/operator.mjs';
import { DESKTOP, PHONE, Person, browserForFile } from './browser.mjs';
import { modules } from './modules.mjs';

const Ajv2020 = createRequire(new URL('../e2e/package.json', import.meta.url))('ajv/dist/2020.js');
const run = promisify(execFile);
const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });
const doc = document('openapi.yaml');
const WIDE = { width: 1500, height: 950 };

const page = once(async () => (await fetch(`${server.url}/docs`)).text());
const reference = once(async () => {
	const { Contract, answersOf, answerOf, jsonOf, requestOf, sampleOf } =
		await modules('reference/contract.ts', 'reference/sample.ts');
	return { contract: new Contract(doc), answersOf, answerOf, jsonOf, requestOf, sampleOf };
});

/** Returns a reader in front of the page. */
async function reader(t, options)
{
	const person = await Person.make(holder, server, 'reader', { start: 'docs', ...options });
	t.after(() => person.close());
	return person;
}

/** Returns what the page has in the section of each operation. */
const sections = (person) => person.page.evaluate(() => Object.fromEntries(
	[...document.querySelectorAll('.operation')].map((one) => {
		const texts = (selector) => [...one.querySelectorAll(selector)].map((found) => found.textContent);
		return [one.querySelector('h3').id, { title: texts('h3')[0], call: texts('.call .method, .call .path').join(' '),
			names: texts('tbody th code'), statuses: texts('dt .status'), problems: texts('.problems b'),
			codes: texts('.problems a').join(' '), types: texts('.content > li > code:first-child'),
			examples: texts('.example pre'), later: texts('p.later').length }];
	})));

describe('the reference', () => {
	it('has each operation with its parameters, bodies, answers and problems, and an example', async (t) => {
		const found = await sections(await reader(t));
		const { contract } = await reference();

		assert.equal(contract.calls.length, Object.keys(found).length);
		assert.ok(contract.calls.length > 80, `${contract.calls.length} operations`);
		for (const { key, method, path, operation, parameters } of contract.calls) {
			const shown = found[key];
			const later = operation['x-status'] === 'later';
			assert.equal(shown.title, operation.summary);
			assert.equal(shown.call, `${method} ${path}`);
			assert.equal(shown.later, Number(later), key);
			for (const { name } of parameters)
				assert.ok(shown.names.includes(name), `${key}: ${name}`);
			const statuses = Object.keys(operation.responses);
			const bad = (status) => status === 'default' || Number(status) >= 400;
			assert.deepEqual(shown.statuses.sort(), later ? [] : statuses.filter((one) => !bad(one)), key);
			assert.deepEqual(shown.problems.map((one) => one === 'other' ? 'default' : one), statuses.filter(bad), key);
			const types = [operation.requestBody, ...later ? [] : Object.entries(operation.responses)
				.filter(([status]) => !bad(status)).map(([, one]) => one)].flatMap((one) => Object.keys(one?.content ?? {}));
			assert.deepEqual([...new Set(shown.types)].sort(), [...new Set(types)].sort(), key);
			assert.match(shown.examples[0], method === 'GET' ? /^(curl -sS "\$URL\/|GET \/)/ : /^(curl -sS|POST \/)/, key);
		}
		assert.match(found.send.codes, /409 conflict, already-sent.*422 unknown-recipient, key-reused, ack-beyond-head/);
		assert.match(found.search.examples[1], /"code": "not_implemented"/);
	});

	it('describes each schema once, with all of its members', async (t) => {
		const { page: tab } = await reader(t);
		const shown = await tab.evaluate(() => Object.fromEntries([...document.querySelectorAll('.schema')].map((one) =>
			[one.querySelector('h3, h5').id, [...one.querySelectorAll('tbody th code')].map((name) => name.textContent)])));
		const values = await tab.evaluate(() => [...document.querySelectorAll('tr[id]')].map((one) => one.id));
		const { schemas, headers } = doc.components;
		const count = await tab.evaluate(() => document.querySelectorAll('.schema').length);

		assert.equal(count, Object.keys(shown).length, 'none twice');
		assert.deepEqual(Object.keys(schemas).filter((name) => !(name in shown) && !values.includes(name)), []);
		assert.deepEqual(Object.keys(headers).filter((name) => !values.includes(`header-${name}`)), []);
		for (const [name, members] of Object.entries(shown))
			for (const member of Object.keys(schemas[name].properties ?? {}))
				assert.ok(members.includes(member), `${name}.${member}`);
		assert.ok(shown.AdminStats.includes('states.pending') && shown.UnreadList.includes('conversations[].unread'));
	});

	it('leads to its own places, to documents of this server, and nowhere else', async (t) => {
		const { page: tab } = await reader(t);
		const { ids, links } = await tab.evaluate(() => ({
			ids: [...document.querySelectorAll('[id]')].map((one) => one.id),
			links: [...new Set([...document.querySelectorAll('a')].map((one) => one.getAttribute('href')))],
		}));
		const here = new Set(ids);

		assert.equal(here.size, ids.length, 'no id twice');
		assert.deepEqual(links.filter((link) => link[0] === '#' && !here.has(link.slice(1))), []);
		const others = links.filter((link) => link[0] !== '#');
		assert.ok(others.includes('/openapi.yaml') && others.includes('/'));
		for (const code of doc.components.schemas.Problem.properties.code.enum)
			if (!['method_not_allowed', 'internal'].includes(code))
				assert.ok(others.includes(`/problems/${code.replaceAll('_', '-')}`), code);
		for (const link of others) {
			assert.match(link, /^\//);
			assert.equal((await fetch(server.url + link)).status, 200, link);
		}
		assert.doesNotMatch(await page(), /<script|<iframe|(?:src|href|action)="(?:https?:)?\/\//);
	});
});

describe('its examples', () => {
	it('are bodies that fit their schemas', async () => {
		const { contract, answersOf, sampleOf } = await reference();
		const ajv = new Ajv2020({ strict: false, validateFormats: false });
		let seen = 0;

		ajv.addSchema({ ...doc, $schema: undefined, $id: 'file:/contract' });
		const fits = (schema, value, where) => {
			const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"file:/contract#/'));
			assert.ok(ajv.validate(absolute, value), `${where}: ${ajv.errorsText()} ${JSON.stringify(value)}`);
			seen++;
		};
		for (const call of contract.calls)
			for (const [status, response] of answersOf(call))
				for (const [type, media] of Object.entries(contract.find(response).content ?? {}))
					if (type.endsWith('json') && media.schema)
						fits(media.schema, sampleOf(contract, media.schema, call.key), `${call.key} ${status} ${type}`);
		assert.ok(seen > 40, `${seen} examples`);
	});

	it('a string without an example stops the build, with the place', async () => {
		const { contract, sampleOf } = await reference();
		assert.throws(() => sampleOf(contract, { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
			'Thing'), /no example of Thing\.a/);
	});

	it('JSON is broken where it is too long for a line, and nowhere else', async () => {
		const { jsonOf } = await reference();
		assert.equal(jsonOf({ a: [1, { b: null }], c: {} }), '{"a": [1, {"b": null}], "c": {}}');
		const long = { list: ['x'.repeat(40), 'y'.repeat(40)], empty: [], text: 'z'.repeat(80) };
		assert.deepEqual(JSON.parse(jsonOf(long)), long);
		assert.equal(jsonOf(long).split('\n').length, 8);
	});

	it('are commands that the server understands', async () => {
		const { contract, requestOf } = await reference();
		const { token } = await operator(server);
		const env = { ...process.env, URL: server.url, TOKEN: token };
		const odd = [];
		let seen = 0;

		for (const call of contract.calls) {
			// The one destination that this server has.
			const command = requestOf(contract, call).replaceAll('"destination": "far.example"', '"destination": "local"');
			if (!command.startsWith('curl'))
				continue;
			const { stdout } = await run('sh', ['-c', `${command} -o /dev/null -w '%{http_code}'`], { env });
			seen++;
			const listed = Object.keys(call.operation.responses).includes(stdout);
			if (!listed || ['400', '405', '415'].includes(stdout))
				odd.push(`${call.key}: ${stdout}`);
		}
		assert.deepEqual(odd, []);
		assert.ok(seen > 75, `${seen} commands`);
	});
});

describe('a reader', () => {
	it('comes from the page at /, and finds a way back', async (t) => {
		const person = await Person.make(holder, server, 'reader');
		t.after(() => person.close());
		await person.page.getByRole('link', { name: 'API reference' }).click();
		await person.page.getByRole('heading', { name: 'API reference', exact: true }).waitFor();
		await person.page.getByRole('link', { name: 'Chat', exact: true }).click();
		await person.page.getByLabel('Password').waitFor();
		await person.unharmed();
	});

	it('comes from the text at / with another program', async () => {
		assert.match(await (await fetch(server.url)).text(), /^\/docs {2}the API reference/m);
	});

	// One of each: axe needs long for a page of this size.
	for (const [scheme, form, viewport, touch] of [['light', '', WIDE, false], ['dark', 'phone-', PHONE, true]])
		it(`sees it in ${scheme}${form && ', on a phone'}: axe finds nothing serious`, async (t) => {
			const person = await reader(t, { scheme, viewport, touch, bypassCSP: true });
			await person.shot(`${scheme}-${form}docs`);
			assert.deepEqual(await person.axe(), []);
			for (const key of ['send', 'adminStats', 'Entry', 'chapter-problems']) {
				await person.page.goto(`${server.url}/docs#${key}`);
				await person.shot(`${scheme}-${form}docs-${key}`);
				const { top, wide } = await person.page.evaluate((id) => ({
					top: document.getElementById(id).getBoundingClientRect().top -
						document.querySelector('header').getBoundingClientRect().bottom,
					wide: document.documentElement.scrollWidth - innerWidth,
				}), key);
				assert.ok(top >= 0 && top < 100, `${key} is below the bar: ${top}`);
				assert.equal(wide, 0, 'nothing is wider than the window');
			}
			const [paper, ink] = await person.page.evaluate(() => [getComputedStyle(document.body).backgroundColor,
				getComputedStyle(document.body).color].map((colour) => Number(/\d+/.exec(colour)[0])));
			assert.equal(paper < ink, scheme === 'dark');
		});

	it('reads it at any width without a script', async (t) => {
		const context = await holder.browser.newContext({ javaScriptEnabled: false, viewport: DESKTOP });
		t.after(() => context.close());
		const tab = await context.newPage();
		await tab.goto(`${server.url}/docs`);
		await tab.getByRole('link', { name: 'POST /v1/messages', exact: true }).first().click();
		assert.equal(new URL(tab.url()).hash, '#send');
		assert.ok(await tab.getByRole('heading', { name: 'Send a message, or up to 100' }).isVisible());
	});

	it('prints the text without the bar and the contents', async (t) => {
		const { page: tab } = await reader(t, { scheme: 'dark' });
		await tab.emulateMedia({ media: 'print', colorScheme: 'light' });
		assert.equal(await tab.locator('nav').isVisible(), false);
		assert.equal(await tab.getByRole('heading', { name: 'API reference', exact: true }).isVisible(), true);
		const pdf = await tab.pdf({ format: 'A4' });
		assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
		assert.ok(pdf.length > 200_000, `${pdf.length} bytes`);
	});
});
