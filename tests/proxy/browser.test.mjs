// SPDX-License-Identifier: MIT
//
// The page through nginx and Caddy over TLS, with the samples of contrib/
// unchanged: two people talk, each in a browser.  Chromium gets the key of the
// certificate made for this run, and refuses any other certificate.

import assert from 'node:assert/strict';
import { X509Certificate, createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { after, afterEach, before, describe, it } from 'node:test';

import { users } from '../e2e/harness.mjs';
import { Person, browserForFile } from '../page/browser.mjs';
import { PROXIES, certificates, stage } from './proxy.mjs';

const hooks = { before, after, afterEach };
const holder = browserForFile(hooks, () => {
	const { publicKey } = new X509Certificate(fs.readFileSync(certificates().cert));
	const key = createHash('sha256').update(publicKey.export({ type: 'spki', format: 'der' }));
	return [`--ignore-certificate-errors-spki-list=${key.digest('base64')}`];
});

/** Records the WebSockets that the page of ${person} opens: {url, origin}. */
async function noted(person)
{
	const sockets = [];
	const wire = await person.context.newCDPSession(person.page);
	const urls = new Map();

	wire.on('Network.webSocketCreated', ({ requestId, url }) => urls.set(requestId, url));
	wire.on('Network.webSocketWillSendHandshakeRequest', ({ requestId, request }) => sockets.push(
		{ url: urls.get(requestId), origin: request.headers.Origin }));
	await wire.send('Network.enable');
	return sockets;
}

/** Returns what happens to a WebSocket that ${page} opens to ${url}. */
const opening = (page, url) => page.evaluate((to) => new Promise((resolve) => {
	const ws = new WebSocket(to, 'twinbox.v1');
	ws.onopen = () => resolve('opened');
	ws.onerror = () => resolve('refused');
}), url);

/**
 * Runs a server with one empty page until the end of ${t}.  Returns its port.
 */
async function elsewhere(t, make, options = {})
{
	const server = make(options, (_request, answer) => {
		answer.setHeader('content-type', 'text/html');
		answer.end('<!doctype html><title>elsewhere</title>');
	});

	await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	return server.address().port;
}

for (const kind of PROXIES) {
	describe(`${kind}: the page`, () => {
		const on = stage(hooks, kind);

		async function person(t, name)
		{
			const one = await Person.make(holder, on.site, name);
			t.after(() => one.close());
			return one;
		}

		it('two people talk by it, with ticks up to read', async (t) => {
			const [one, other] = await users(on.site, 'ann', 'bob');
			const [ann, bob] = [await person(t, one.name), await person(t, other.name)];
			const sockets = await noted(ann);
			await ann.logIn();
			await bob.logIn();
			await ann.writeTo(bob.name);
			await ann.say('Through the tunnel');
			await ann.tick('Through the tunnel', 'delivered');
			await bob.talkTo(ann.name);
			await bob.sees('Through the tunnel');
			await ann.tick('Through the tunnel', 'read');
			await bob.field.pressSequentially('I hear you');
			await ann.page.getByText('typing …').first().waitFor();
			await bob.page.keyboard.press('Enter');
			await ann.sees('I hear you');
			await bob.tick('I hear you', 'read');
			assert.deepEqual(await ann.texts(), ['Through the tunnel', 'I hear you']);

			// The page came over TLS, and its own WebSocket has the
			// page's origin.
			const wss = `${on.proxy.url.replace('https:', 'wss:')}/v1/ws`;
			assert.deepEqual(sockets, [{ url: wss, origin: on.proxy.url }]);
			assert.deepEqual(await ann.page.evaluate(() => [isSecureContext,
				performance.getEntriesByType('navigation')[0].nextHopProtocol]), [true, 'h2']);
			await ann.page.reload();
			await ann.link('live');
			await ann.sees('I hear you');
			await ann.unharmed();
			await bob.unharmed();
		});

		it('has the policy of the server, and it holds', async (t) => {
			const ann = await person(t, 'nobody');
			const direct = (await fetch(on.server.url, { headers: { accept: 'text/html' } }))
				.headers.get('content-security-policy');
			assert.match(direct, /default-src 'none'/);
			const answer = await ann.page.reload();
			assert.equal(answer.headers()['content-security-policy'], direct);
			await ann.page.getByLabel('Password').waitFor();
			await ann.unharmed();
			await ann.page.evaluate(() => document.body.append(Object.assign(
				document.createElement('img'), { src: 'https://evil.example/x.png' })));
			await ann.page.waitForFunction(() => globalThis.violations.length > 0);
			assert.match((await ann.violations()).join('\n'), /img-src https:\/\/evil\.example/);
		});

		it('of somebody else gets no WebSocket', async (t) => {
			const ann = await person(t, 'nobody');
			const wss = `${on.proxy.url.replace('https:', 'wss:')}/v1/ws`;
			assert.equal(await opening(ann.page, wss), 'opened');
			const sockets = await noted(ann);
			const foreign = `http://localhost:${await elsewhere(t, http.createServer)}`;
			await ann.page.goto(foreign);
			assert.equal(await opening(ann.page, wss), 'refused');
			assert.deepEqual(sockets, [{ url: wss, origin: foreign }]);
		});
	});
}

describe('the browser', () => {
	it('believes no other certificate', async (t) => {
		const { cert, key } = certificates().other;
		const port = await elsewhere(t, https.createServer,
			{ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
		const page = await holder.browser.newPage();
		t.after(() => page.close());
		await assert.rejects(page.goto(`https://localhost:${port}/`), /ERR_CERT_/);
	});
});
