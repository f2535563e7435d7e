// SPDX-License-Identifier: MIT
//
// The page without its server: the service worker opens it with what the
// browser has stored, and texts written meanwhile are sent later.  The worker
// stores files of the page and nothing else, follows the server's version, and
// removes itself when the operator has switched it off.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';

import { eventually, users } from '../e2e/harness.mjs';
import { Person, SteadyServer, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });

async function steady(t)
{
	const server = await new SteadyServer().start();
	t.after(() => server.stop());
	return server;
}

/** Returns ann, logged in, whose browser has the worker and all its files. */
async function withWorker(t, server, options = {})
{
	const [rest, bob] = await users(options.behind ?? server, 'ann', 'bob');
	const ann = await Person.make(holder, server, rest.name, { worker: true });

	t.after(() => ann.close());
	await ann.logIn();
	await ready(ann.page);
	return { ann, bob, page: ann.page };
}

const ready = (page) => page.evaluate(async () => {
	await navigator.serviceWorker.ready;
	const { active } = await navigator.serviceWorker.getRegistration();
	if (active.state !== 'activated')
		await new Promise((done) => active.addEventListener('statechange', done));
});

/** Returns the content of the browser's caches: {name: paths}. */
const kept = (page) => page.evaluate(async () => Object.fromEntries(await Promise.all(
	(await caches.keys()).map(async (name) => [name, (await (await caches.open(name)).keys())
		.map((one) => new URL(one.url).pathname).sort()]))));

describe('without the server', () => {
	it('a reload shows the conversations, and what is written goes out later', async (t) => {
		const server = await steady(t);
		const { ann, bob, page } = await withWorker(t, server);
		await bob.send(ann.name, 'Before the outage');
		await ann.talkTo(bob.name);
		await ann.sees('Before the outage');
		await server.kill();
		await page.reload();
		await ann.sees('Before the outage');
		await ann.link('waiting', 'offline', 'connecting');
		await ann.say('Written during the outage');
		await ann.tick('Written during the outage', 'unsent');
		// The same in another tab, and after another reload.
		await page.reload();
		await ann.tick('Written during the outage', 'unsent');
		await ann.open();
		await ann.item(bob.name).waitFor();

		await server.start();
		await bob.event((e) => e.body === 'Written during the outage');
		await ann.unharmed();
	});

	it('a proxy that says so in its place makes no difference', async (t) => {
		const server = await steady(t);
		let down = 0;
		const proxy = http.createServer((request, answer) => {
			if (down) {
				answer.writeHead(down, { 'content-type': 'text/html' }).end('<h1>No gateway</h1>');
				return;
			}
			request.pipe(http.request(server.url + request.url, { method: request.method,
				headers: { ...request.headers, host: new URL(server.url).host } }, (got) => {
				answer.writeHead(got.statusCode, got.headers);
				got.pipe(answer);
			}).on('error', () => answer.destroy()));
		});
		await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
		t.after(() => proxy.close());
		const ann = await Person.make(holder, { url: `http://127.0.0.1:${proxy.address().port}` }, 'ann',
			{ worker: true });
		t.after(() => ann.close());
		await ann.page.getByLabel('Name').waitFor();
		await ready(ann.page);
		for (down of [502, 503, 504]) {
			await ann.page.reload();
			await ann.page.getByLabel('Name').waitFor();
		}
		down = 500;
		await ann.page.reload();
		await ann.page.getByText('No gateway').waitFor();
	});
});

describe('the worker', () => {
	it('keeps the files of the page, and no answer of the API', async (t) => {
		const server = await steady(t);
		const { ann, bob, page } = await withWorker(t, server);
		// From now on the worker controls the page.
		await page.reload();
		await ann.link('live');
		assert.ok(await page.evaluate(() => navigator.serviceWorker.controller !== null));
		await bob.send(ann.name, 'Not for a cache');
		await ann.talkTo(bob.name);
		await ann.sees('Not for a cache');
		await ann.settings();
		await page.getByRole('button', { name: 'Rename first' }).waitFor();
		for (const other of ['/v1', '/admin', '/docs', '/metrics', '/openapi.yaml', '/problems'])
			assert.equal(await page.evaluate(async (path) => (await fetch(path)).ok, other), true);
		const files = await page.evaluate(() => [...document.querySelectorAll('script[src], link[rel=stylesheet]')]
			.map((one) => new URL(one.src ?? one.href).pathname).sort());
		const found = Object.values(await kept(page));
		assert.deepEqual(found, [['/', ...files]]);
		await ann.unharmed();
	});

	it('another address is not answered by it', async (t) => {
		const server = await steady(t);
		const { page } = await withWorker(t, server);
		await page.reload();
		await server.kill();
		for (const path of ['/v1', '/admin', '/assets/other.js'])
			assert.equal(await page.evaluate((at) => fetch(at).then(() => 'answered', () => 'none'), path), 'none');
		await assert.rejects(page.goto(`${server.url}/admin`));
	});

	it('of a new version takes the place of the old one, with its files', async (t) => {
		const server = await steady(t);
		const { page } = await withWorker(t, server);
		const [name] = Object.keys(await kept(page));
		// Makes the cache that an older build would have left.
		await page.evaluate(async (now) => {
			const old = await caches.open('twinbox-old');
			await old.put('/', new Response('old'));
			await caches.open('of another program');
			await caches.delete(now);
			await (await navigator.serviceWorker.getRegistration()).unregister();
		}, name);
		await page.reload();
		await ready(page);
		await eventually(async () => JSON.stringify(Object.keys(await kept(page)).sort()) ===
			JSON.stringify(['of another program', name].sort()), 'only the new files');
		assert.equal((await kept(page))[name].length, 3);
	});

	it('goes, with all that it kept, when the server does not want it', async (t) => {
		const server = await steady(t);
		const { ann, page } = await withWorker(t, server);
		assert.equal(Object.keys(await kept(page)).length, 1);
		await server.stop();
		server.args.push('--no-page-worker');
		await server.start();
		await page.reload();
		await eventually(() => page.evaluate(async () => (await caches.keys()).length === 0 &&
			(await navigator.serviceWorker.getRegistrations()).length === 0), 'it is gone');
		await ann.link('live');
		await ann.unharmed();
	});

	it('is the only script that may be made of a string', async (t) => {
		const server = await steady(t);
		const { page } = await withWorker(t, server);
		const refused = await page.evaluate(async () => {
			const attempts = {
				policy: () => trustedTypes.createPolicy('other', { createScriptURL: (url) => url }),
				again: () => trustedTypes.createPolicy('twinbox-worker', { createScriptURL: (url) => url }),
				string: () => navigator.serviceWorker.register('/worker.js?x'),
			};
			const found = {};
			for (const [what, attempt] of Object.entries(attempts))
				found[what] = await Promise.resolve().then(attempt).then(() => 'done', (error) => error.name);
			return found;
		});
		assert.deepEqual(refused, { policy: 'TypeError', again: 'TypeError', string: 'TypeError' });
	});
});
