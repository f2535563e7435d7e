// SPDX-License-Identifier: MIT
//
// A page in Chromium opens a WebSocket.  From the server's own origin it is
// accepted.  From any other origin it is refused before the upgrade, whatever
// the page tries (cross-site WebSocket hijacking).

import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';

import { checkFrame } from '../e2e/contract.mjs';
import { serverForFile, users } from '../e2e/harness.mjs';

const { chromium } = createRequire(new URL('../e2e/harness.mjs', import.meta.url))('playwright-core');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';
const SLOW = Number(process.env.TWINBOX_SLOW ?? 1);

let ann, browser, elsewhere;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
	browser = await chromium.launch({ executablePath: CHROMIUM,
		args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
	elsewhere = http.createServer((_request, response) => {
		response.setHeader('content-type', 'text/html');
		response.end('<!doctype html><title>elsewhere</title>');
	});
	await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
});
after(async () => {
	await browser?.close();
	elsewhere?.close();
});
let rows = 0;

/**
 * Returns what happened to a WebSocket that a page at ${url} opened.  Its
 * frames are checked against the contract.
 */
async function opens(url, options)
{
	const found = await openIn(url, options);

	found.frames.forEach(checkFrame);
	return found;
}

async function openIn(url, { protocols = ['twinbox.v1'], frame, sandbox = false } = {})
{
	const context = await browser.newContext();

	try {
		const page = await context.newPage();
		page.setDefaultTimeout(30_000 * SLOW);
		// This page of the server has no Content-Security-Policy about
		// scripts.
		await page.goto(url);
		const target = new URL('/v1/ws', server.url).href.replace(/^http/, 'ws');
		const inside = `(target, protocols, frame) => new Promise((resolve) => {
			const ws = new WebSocket(target, protocols);
			const seen = { opened: false, frames: [] };
			ws.onopen = () => {
				seen.opened = true;
				seen.protocol = ws.protocol;
				seen.extensions = ws.extensions;
				ws.send(frame);
			};
			ws.onmessage = ({ data }) => {
				seen.frames.push(JSON.parse(data));
				if (JSON.parse(data).type === 'caught_up')
					ws.close(1000);
			};
			ws.onclose = ({ code, wasClean }) => resolve({ ...seen, code, wasClean });
		})`;
		const args = [target, protocols, frame].map((one) => JSON.stringify(one)).join(',');
		if (!sandbox)
			return await page.evaluate(`(${inside})(${args})`);
		// A sandboxed frame has the origin "null".
		return await page.evaluate(`new Promise((resolve) => {
			const iframe = document.createElement('iframe');
			iframe.sandbox = 'allow-scripts';
			iframe.srcdoc = ${JSON.stringify(`<script>(${inside})(${args}).then((seen) => ` +
				"parent.postMessage(seen, '*'))</script>")};
			addEventListener('message', ({ data }) => resolve(data));
			document.body.append(iframe);
		})`);
	} finally {
		await context.close();
	}
}

describe('S10 a page in Chromium', () => {
	const hello = () => JSON.stringify({ type: 'hello', token: ann.token, instance: 'page' });
	const other = () => `http://127.0.0.1:${elsewhere.address().port}/`;

	it('of our own origin is welcome, without compression', async () => {
		rows++;
		const seen = await opens(new URL('/healthz', server.url).href, { frame: hello() });
		assert.equal(seen.opened, true, JSON.stringify(seen));
		assert.equal(seen.protocol, 'twinbox.v1');
		assert.equal(seen.extensions, '');
		assert.equal(seen.frames[0]?.type, 'welcome');
		assert.equal(seen.code, 1000);
		assert.equal(seen.wasClean, true);
	});

	it('of another port is refused, though it has a token', async () => {
		rows++;
		const seen = await opens(other(), { frame: hello() });
		assert.equal(seen.opened, false, JSON.stringify(seen));
		assert.equal(seen.code, 1006);
		assert.deepEqual(seen.frames, []);
	});

	it('of another name for the same address is refused', async () => {
		rows++;
		const seen = await opens(other().replace('127.0.0.1', 'localhost'), { frame: hello() });
		assert.equal(seen.opened, false, JSON.stringify(seen));
	});

	it('without an origin (a sandboxed frame: null) is refused', async () => {
		rows++;
		const seen = await opens(other(), { frame: hello(), sandbox: true });
		assert.equal(seen.opened, false, JSON.stringify(seen));
	});

	it('with another subprotocol, or none, is refused', async () => {
		for (const protocols of [[], ['chat']]) {
			rows++;
			const seen = await opens(new URL('/healthz', server.url).href,
				{ frame: hello(), protocols });
			assert.equal(seen.opened, false, JSON.stringify(seen));
		}
	});

	it('that sends nonsense is closed with 4400', async () => {
		rows++;
		const seen = await opens(new URL('/healthz', server.url).href, { frame: 'nonsense' });
		assert.equal(seen.opened, true);
		assert.equal(seen.code, 4400);
		assert.equal(seen.wasClean, true);
	});

	it('the table of pages', (t) => {
		assert.equal(rows, 7);
		t.diagnostic(`WebSockets in Chromium: ${rows} rows`);
	});
});
