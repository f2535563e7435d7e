// SPDX-License-Identifier: MIT
//
// Whatever people write is shown as text, everywhere.  A page of another origin
// can neither open the WebSocket nor read the API.  And the
// Content-Security-Policy stops what an injected script would do.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile, users } from '../e2e/harness.mjs';
import { Person, WHOLE, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after }, undefined, WHOLE);
const server = serverForFile({ before, after, afterEach });

/**
 * Each of these would call alert() or leave a mark if the page did not treat it
 * as text.
 */
const CORPUS = [
	'<script>alert(1)</script>',
	'"><script>alert(1)</script>',
	'</p></div></li></ol><script>alert(1)</script>',
	'<img src=x onerror=alert(1)>',
	'<img src=x:x onerror=alert(1)//',
	'<svg onload=alert(1)>',
	'<svg><script>alert(1)</script></svg>',
	'<svg><animate onbegin=alert(1) attributeName=x dur=1s>',
	'<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
	'<iframe src=javascript:alert(1)>',
	'<object data=javascript:alert(1)>',
	'<embed src=javascript:alert(1)>',
	'<a href=javascript:alert(1)>click</a>',
	'<a href="jav&#x09;ascript:alert(1)">click</a>',
	'<form action=javascript:alert(1)><button>x</button></form>',
	'<details open ontoggle=alert(1)>',
	'<body onload=alert(1)>',
	'<input autofocus onfocus=alert(1)>',
	'<video><source onerror=alert(1)></video>',
	'<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
	'<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
	'<template><script>alert(1)</script></template>',
	'<base href="https://evil.example/">',
	'<meta http-equiv=refresh content="0;url=https://evil.example">',
	'<link rel=stylesheet href=https://evil.example/x.css>',
	'<style>*{display:none}</style>',
	'<x style="position:fixed;inset:0" onmouseover=alert(1)>',
	'javascript:alert(1)',
	'javascript://example.org/%0aalert(1)',
	'https://example.org/"onmouseover="alert(1)',
	'https://example.org/\'onmouseover=\'alert(1)',
	'https://example.org/<script>alert(1)</script>',
	'https://javascript:alert(1)@example.org/',
	'data:text/html,<script>alert(1)</script>',
	'{{constructor.constructor("alert(1)")()}}',
	'${alert(1)}',
	'{"__html":"<img src=x onerror=alert(1)>"}',
	'&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#60;b&#62;',
	'<!--<img src="--><img src=x onerror=alert(1)//">',
	']]><script>alert(1)</script>',
	'\u202e<script>alert(1)</script>\u202c',
	'a\u0001b\u001bc\u007fd\u0085e\u2028f\u2029g\ufefff',
	'Z\u0351\u036b\u0343\u036a\u0302a\u036b\u033d\u034f\u0334'.repeat(20),
	'👩‍👩‍👧‍👦🏳️‍🌈 مرحبا שלום नमस्ते \u{e0041}\u{1f3f4}',
];

/**
 * Returns ${text} as the page shows it: controls and characters that change the
 * direction of text appear as their code points.
 */
const seen = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]|(?![\n\t])\p{Cc}/gu, (one) =>
	`⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);

/**
 * Waits until ${page} has finished loading and everything it has started: an
 * image requested now has failed, and a frame has been drawn after that.
 */
async function settled(page)
{
	await page.evaluate(() => new Promise((resolve) => {
		const marker = new Image();
		marker.onerror = () => requestAnimationFrame(() => setTimeout(resolve, 0));
		marker.src = `/marker-${performance.now()}`;
	}));
}

async function pair(t)
{
	const [one, other] = await users(server, 'ann', 'eve');
	const ann = await Person.make(holder, server, one.name);
	t.after(() => ann.close());
	return [ann, one, other];
}

describe('what turns a text around', () => {
	it('U+202E is shown, not obeyed: in the message, the list, a draft and what is read out', async (t) => {
		const [ann, , eve] = await pair(t);
		await ann.logIn();
		const text = 'see \u202egnp.exe';
		await eve.send(ann.name, text);
		const line = ann.item(eve.name).locator('.line');
		await line.getByText(seen(text)).waitFor();
		await ann.page.locator('[role=log]', { hasText: seen(text) }).waitFor({ state: 'attached' });
		await ann.talkTo(eve.name);
		await ann.sees(seen(text));
		// The letters behind the character are to its right, in the
		// order in which they were written.
		const places = await ann.page.evaluate(() => {
			const at = document.querySelector('.text span.code');
			const range = document.createRange();
			return [...at.nextSibling.data].map((_, n) => {
				range.setStart(at.nextSibling, n);
				range.setEnd(at.nextSibling, n + 1);
				return range.getBoundingClientRect().left;
			});
		});
		assert.equal(places.length, 7);
		assert.deepEqual(places, [...places].sort((a, b) => a - b));
		await ann.field.fill('a\u2066b');
		await ann.page.keyboard.press('Escape');
		await line.getByText(seen('a\u2066b')).waitFor();
		await ann.unharmed();
	});
});

describe('what people write is text', () => {
	it('as a message, in the list, in the title, read out', async (t) => {
		const [ann, , eve] = await pair(t);
		await ann.logIn();
		for (const text of CORPUS)
			await eve.send(ann.name, text);
		await ann.talkTo(eve.name);
		await eventually(async () => (await ann.texts()).length === CORPUS.length, 'all are there');
		assert.deepEqual(await ann.texts(), CORPUS.map(seen));
		// A message contains only text, and links whose text is the
		// address that they open.
		const inside = await ann.page.evaluate(() => [...document.querySelectorAll('.text *:not(span.code)')]
			.map((one) => `${one.tagName} ${one.getAttribute('href')} ${one.textContent} ${
				one.getAttributeNames().join()}`));
		for (const one of inside) {
			const [tag, href, text, names] = one.split(' ');
			assert.equal(tag, 'A');
			assert.match(href, /^https:\/\/((javascript:alert\(1\)@)?example\.org|evil\.example)(\/|$)/);
			assert.equal(href, text);
			assert.equal(names, 'href,target,rel');
		}
		assert.ok(inside.length >= 4, inside.join('\n'));
		const codes = await ann.page.evaluate(() => [...document.querySelectorAll('.text span.code')]
			.map((one) => `${one.textContent} ${one.children.length} ${one.getAttributeNames().join()}`));
		assert.deepEqual(codes, ['202E', '202C', '0001', '001B', '007F', '0085'].map((one) => `⟨U+${one}⟩ 0 class`));
		assert.deepEqual(await ann.page.evaluate(() =>
			[...document.querySelectorAll('script, iframe, object, embed, base, style, link[rel=stylesheet]')]
				.map((one) => one.getAttribute('src') ?? one.getAttribute('href') ?? one.tagName)
				.filter((name) => !name.startsWith('/assets/'))), []);
		await settled(ann.page); // waits for effects that would come late
		await ann.unharmed();

		// The same texts sent by the user, stored, and shown again
		// after a reload; and as a draft.
		const ten = CORPUS.slice(0, 10);
		for (const text of ten)
			await ann.say(text);
		await ann.field.fill(CORPUS[3]);
		await ann.page.reload();
		await eventually(async () => (await ann.texts()).length === CORPUS.length + 10, 'all again');
		assert.equal(await ann.field.inputValue(), CORPUS[3]);
		await ann.page.goto(`${server.url}/#`);
		await ann.page.locator('.line').getByText(CORPUS[3]).waitFor();
		await ann.unharmed();
	});

	it('as the name of a device, of a person, of a place', async (t) => {
		const [ann] = await pair(t);
		const evil = '<img src=x onerror=alert(1)>';
		const { page } = ann;
		await page.getByRole('button', { name: 'Register' }).click();
		await page.getByLabel('Password').fill('correct horse battery');
		await page.getByLabel('Name').evaluate((input) => input.removeAttribute('pattern'));
		await page.getByLabel('Name').fill(evil);
		await page.keyboard.press('Enter');
		await page.locator('.wrong').filter({ hasText: /./ }).waitFor();
		await page.getByRole('button', { name: 'Log in' }).first().click();
		await ann.logIn(evil);
		await ann.askToLogOut();
		await page.getByRole('dialog').getByText(evil).waitFor();
		await page.keyboard.press('Escape');
		for (const hash of [`#to/${evil}`, `#to/${encodeURIComponent(evil)}`, '#to/%', '#c/../../v1',
			`#c/${'0'.repeat(36)}`, '#<script>alert(1)</script>', '#to/javascript:alert(1)', '#to/__proto__',
			'#to/constructor']) {
			await page.evaluate((to) => { location.hash = to; }, hash);
			await settled(page);
		}
		// The name of a JavaScript property is a name like any other.
		await page.getByRole('heading', { name: 'constructor' }).waitFor();
		await ann.say('x');
		await ann.tick('x', 'refused');
		await ann.unharmed();
	});
});

describe('the policy', () => {
	it('stops script, styles, frames and HTML made of strings, and says so', async (t) => {
		const [ann] = await pair(t);
		const blocked = await ann.page.evaluate(async () => {
			const caught = [];
			// eval is allowed while the debugger evaluates this
			// function, and blocked later.
			await new Promise((resolve) => setTimeout(resolve, 50));
			const add = (tag, members) => document.body.append(Object.assign(
				document.createElement(tag), members));
			for (const [name, what] of Object.entries({
				html: () => { document.body.innerHTML = '<b>x</b>'; },
				write: () => document.write('<b>x</b>'),
				eval: () => (0, eval)('globalThis.evil = 1'),
				source: () => { document.createElement('script').src = 'https://evil.example/x.js'; },
				handler: () => document.body.setAttribute('onclick', 'globalThis.evil = 3'),
				inline: () => { document.createElement('script').textContent = 'globalThis.evil = 2'; },
			})) {
				try {
					what();
				} catch {
					caught.push(name);
				}
			}
			add('style', { textContent: 'body { color: red }' });
			document.body.setAttribute('style', 'color: red');
			add('iframe', { src: '/v1' });
			add('img', { src: 'https://evil.example/x.png' });
			await fetch('https://evil.example/').catch(() => caught.push('fetch'));
			await import('data:text/javascript,globalThis.evil = 4').catch(() => caught.push('import'));
			await new Promise((resolve) => setTimeout(resolve, 300));
			return { caught, evil: globalThis.evil, red: getComputedStyle(document.body).color };
		}).catch((error) => ({ error: String(error) }));
		for (const name of ['html', 'write', 'eval', 'source', 'inline', 'handler', 'fetch', 'import'])
			assert.ok(blocked.caught?.includes(name), `${name}: ${JSON.stringify(blocked)}`);
		assert.equal(blocked.evil, undefined);
		assert.notEqual(blocked.red, 'rgb(255, 0, 0)');
		const said = (await ann.violations()).join('\n');
		for (const directive of ['require-trusted-types-for', 'style-src', 'script-src', 'frame-src', 'img-src',
			'connect-src'])
			assert.match(said, new RegExp(directive));
	});
});

describe('a stranger’s page', () => {
	let foreign;
	before(() => new Promise((resolve) => {
		foreign = http.createServer((_request, answer) => {
			answer.setHeader('content-type', 'text/html');
			answer.end('<!doctype html><title>stranger</title>');
		}).listen(0, '127.0.0.1', resolve);
	}));
	after(() => foreign.close());

	const tries = (page, url, token) => page.evaluate(async ([base, bearer]) => {
		const opened = new Promise((resolve) => {
			const ws = new WebSocket(`${base.replace('http', 'ws')}/v1/ws`, 'twinbox.v1');
			ws.onopen = () => resolve('opened');
			ws.onerror = () => resolve('refused');
		});
		const ask = (path, init) => fetch(base + path, init)
			.then(async (answer) => `${answer.status} ${(await answer.text()).length}`, () => 'refused');
		const frame = document.createElement('iframe');
		const framed = new Promise((resolve) => {
			frame.onload = () => {
				try {
					resolve(frame.contentDocument ? 'read' : 'apart');
				} catch {
					resolve('apart');
				}
			};
		});
		frame.src = base;
		document.body.append(frame);
		/*
		 * Until the address is loaded, the new window shows the empty
		 * page, which belongs to this page.
		 */
		const reached = (popup) => {
			try {
				if (!popup)
					return 'blocked';
				if (popup.closed)
					return 'apart';
				return popup.location.href === 'about:blank' ? 'empty' :
					popup.document ? 'read' : 'apart';
			} catch {
				return 'apart';
			}
		};
		const popup = globalThis.open(base);
		const end = Date.now() + 60_000;
		let reach;
		do {
			await new Promise((resolve) => setTimeout(resolve, 50));
			reach = reached(popup);
		} while (reach === 'empty' && Date.now() < end);
		return {
			socket: await opened,
			plain: await ask('/v1'),
			api: await ask('/v1/inbox?after=0', { headers: { authorization: `Bearer ${bearer}` } }),
			send: await ask('/v1/messages', { method: 'POST', body: '{}',
				headers: { 'content-type': 'application/json' } }),
			page: await ask('/'), frame: await framed, popup: reach,
		};
	}, [url, token]);

	it('opens no WebSocket and reads nothing, also with a token', async (t) => {
		const [ann, rest] = await pair(t);
		await ann.logIn();
		const page = await ann.context.newPage();
		await page.goto(`http://127.0.0.1:${foreign.address().port}/`);
		assert.deepEqual(await tries(page, server.url, rest.token), { socket: 'refused', plain: 'refused',
			api: 'refused', send: 'refused', page: 'refused', frame: 'apart', popup: 'apart' });
		// The same attempts succeed on the server's own pages, so the
		// refusals above mean something.
		const own = await ann.context.newPage();
		await own.goto(`${server.url}/problems`);
		const allowed = await own.evaluate(async (base) => {
			const ws = new WebSocket(`${base.replace('http', 'ws')}/v1/ws`, 'twinbox.v1');
			return new Promise((resolve) => {
				ws.onopen = () => resolve('opened');
				ws.onerror = () => resolve('refused');
			});
		}, server.url).catch((error) => String(error));
		assert.equal(allowed, 'refused', 'a page of problems may connect to nothing');
		const mine = await ann.page.evaluate(async ([base, token]) => {
			const opened = new Promise((resolve) => {
				const ws = new WebSocket(`${base.replace('http', 'ws')}/v1/ws`, 'twinbox.v1');
				ws.onopen = () => resolve('opened');
				ws.onerror = () => resolve('refused');
			});
			const answer = await fetch('/v1/inbox?after=0', { headers: { authorization: `Bearer ${token}` } });
			return [await opened, answer.status];
		}, [server.url, rest.token]);
		assert.deepEqual(mine, ['opened', 200]);
	});
});
