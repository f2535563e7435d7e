// SPDX-License-Identifier: MIT
//
// How the pages are served: the answers at /, /admin and /docs for a browser and
// for a program, the Content-Security-Policy, encodings, ETags, caching, the
// total size.  No path leads to anything but the table of files inside the
// program.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import zlib from 'node:zlib';

import { problem } from '../e2e/expect.mjs';
import { rawRequest, serverForFile, startServer } from '../e2e/harness.mjs';

const server = serverForFile({ before, after, afterEach });
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const LIMITS = { '/': 60_000, '/admin': 80_000, '/docs': 60_000 };
const PAGES = Object.keys(LIMITS);

/**
 * Makes a request whose ${target} is sent unchanged.  Returns the answer; its
 * body is the bytes as they came.
 */
function bytes(target, headers = {}, method = 'GET')
{
	return new Promise((resolve, reject) => {
		http.request(server.url, { path: target, method, headers, agent: false }, (answer) => {
			const pieces = [];
			answer.on('data', (piece) => pieces.push(piece));
			answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers,
				body: Buffer.concat(pieces) }));
		}).on('error', reject).end();
	});
}

/** Returns the addresses that ${pages} refer to. */
async function assets(...pages)
{
	const names = [];

	for (const page of pages.length > 0 ? pages : PAGES)
		names.push(...await namedBy(page));
	return names;
}

async function namedBy(page)
{
	const { body } = await bytes(page, HTML);
	return [...body.toString().matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, name]) => name);
}

const unpack = { br: zlib.brotliDecompressSync, gzip: zlib.gunzipSync };

describe('/', () => {
	it('is the page for browsers and a text for programs', async () => {
		const page = await bytes('/', HTML);
		assert.equal(page.status, 200);
		assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
		assert.match(page.body.toString(), /<div id="app">/);
		for (const accept of [undefined, '*/*', 'text/plain', 'application/json']) {
			const text = await bytes('/', accept ? { accept } : {});
			assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8');
			assert.match(text.body.toString(), /^twinbox.*\/openapi\.yaml/s);
			assert.equal(text.headers['content-security-policy'], undefined);
		}
		assert.match(page.headers.vary, /\bAccept\b.*\bAccept-Encoding\b/);
	});

	for (const page of PAGES) it(`${page} has a policy that allows its own files and nothing inline`, async () => {
		const { headers, body } = await bytes(page, HTML);
		const policy = new Map(headers['content-security-policy'].split(';')
			.map((one) => one.trim().split(' ')).map(([name, ...values]) => [name, values.join(' ')]));
		assert.deepEqual(Object.fromEntries(policy), {
			'default-src': "'none'", 'style-src': "'self'", 'img-src': "'self' data:",
			'base-uri': "'none'", 'form-action': "'none'", 'frame-ancestors': "'none'",
			...page === '/docs' ? {} : { 'script-src': "'self'", 'connect-src': "'self'",
				'require-trusted-types-for': "'script'" },
			...page === '/' ? { 'worker-src': "'self'", 'manifest-src': "'self'",
				'trusted-types': 'twinbox-worker' } : {},
			...page === '/admin' ? { 'trusted-types': "'none'" } : {},
		});
		assert.equal(headers['x-content-type-options'], 'nosniff');
		assert.equal(headers['referrer-policy'], 'no-referrer');
		assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
		assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
		assert.equal(headers['cache-control'], 'no-cache');
		assert.equal(headers['access-control-allow-origin'], undefined);
		const html = body.toString();
		assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|javascript:/i);
		for (const [, attributes, inside] of html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)) {
			assert.match(attributes, /src="\/assets\//);
			assert.equal(inside, '');
		}
	});
});

describe('/admin', () => {
	it('is the admin page for everybody, and shares no file with the chat', async () => {
		for (const accept of [undefined, '*/*', 'text/html', 'application/json']) {
			const page = await bytes('/admin', accept ? { accept } : {});
			assert.equal(page.status, 200);
			assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
			assert.equal(page.headers.vary, 'Accept-Encoding');
			assert.match(page.body.toString(), /<title>twinbox admin<\/title>/);
		}
		const [chat, admin] = [await assets('/'), await assets('/admin')];
		const kinds = (names) => names.map((name) => name.split('.').at(-1)).sort();
		assert.deepEqual([kinds(chat), kinds(admin)], [['css', 'js', 'png'], ['css', 'js']]);
		assert.deepEqual(chat.filter((name) => admin.includes(name)), []);
	});
});

describe('/admin/', () => {
	it('leads to the admin page, with its query', async () => {
		for (const [path, location] of [['/admin/', '../admin'], ['/%61dmin/', '../admin'],
			['/admin/?a=1&b=//evil.example', '../admin?a=1&b=//evil.example']]) {
			for (const method of ['GET', 'HEAD']) {
				const { status, headers, body } = await bytes(path, {}, method);
				assert.equal(status, 308, path);
				assert.equal(headers.location, location);
				assert.equal(body.length, 0);
			}
		}
		const followed = await fetch(`${server.url}/admin/`);
		assert.equal(followed.status, 200);
		assert.equal(followed.url, `${server.url}/admin`);
		assert.match(await followed.text(), /<title>twinbox admin<\/title>/);
	});

	it('no other path has a slash behind it, and none names another server', async () => {
		for (const path of ['//admin/', '/admin//', '//evil.example/', '//evil.example/admin/', '/v1/', '/healthz/',
			'/v1/admin/stats/', '/admin/x/', '/problems/'])
			assert.equal((await bytes(path)).status, 404, path);
		assert.equal((await bytes('/admin/', {}, 'POST')).status, 404);
		assert.equal((await bytes('/admin/..%2f')).status, 400);
	});
});

describe('assets', () => {
	it('are named by their content and may be kept for ever', async () => {
		const names = await assets();
		assert.ok(names.some((name) => name.endsWith('.js')) && names.some((name) => name.endsWith('.css')),
			names.join());
		for (const name of names) {
			assert.match(name, /-[\w-]{8}\.(js|css|png)$/);
			const { status, headers } = await bytes(name);
			assert.equal(status, 200);
			assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
			assert.equal(headers.vary, 'Accept-Encoding');
			assert.equal(headers['x-content-type-options'], 'nosniff');
			assert.equal(headers['content-type'], { js: 'text/javascript; charset=utf-8',
				css: 'text/css; charset=utf-8', png: 'image/png' }[name.split('.').at(-1)]);
		}
	});

	it('another name is 404', async () => {
		const [name] = await assets();
		const file = name.slice('/assets/'.length);
		for (const target of ['/assets/x', '/assets/index.html', '/assets/admin.html', '/assets/docs.html', `/assets/${file}x`,
			'/assets/worker.js', '/assets/worker-off.js', '/assets/manifest.webmanifest', '/worker-off.js',
			`/assets/${file.toUpperCase()}`, `/assets/${file}.br`, '/assets/', '/assets',
			'/assets/page.list', `/assets//${file}`, '/assets/....//etc/passwd', '/assets//etc/passwd',
			'/assets/%252e%252e%252fetc%252fpasswd', `/assets/${file}/`, `/assets/${file}/x`,
			'/index.html', '/admin.html', '/docs.html', '/admin/x', '/docs/'])
			problem(await rawRequest(server, 'GET', target), 404, 'not_found');
	});

	it('a path with dot segments, encoded separators or broken text is 400: it names nothing', async () => {
		const [name] = await assets();
		const file = name.slice('/assets/'.length);
		for (const target of [`/assets/./${file}`, '/assets/../index.html', '/assets/..%2findex.html',
			'/assets/%2e%2e/index.html', '/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
			'/assets/..\\..\\etc\\passwd', '/assets/..%5cindex.html', '/assets/%c0%ae%c0%ae/etc/passwd',
			`/assets/${file}%00.html`, `/assets/${file}%`, '/../etc/passwd'])
			problem(await rawRequest(server, 'GET', target), 400, 'bad_request');
	});

	it('the percent-encoded name is the same name', async () => {
		const [name] = await assets();
		const file = name.slice('/assets/'.length);
		const same = await rawRequest(server, 'GET', `/assets/%${file.charCodeAt(0).toString(16)}${file.slice(1)}`);
		assert.equal(same.status, 200);
	});

	it('are only read', async () => {
		const [name] = await assets();
		for (const target of [...PAGES, name]) {
			for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
				const answer = await rawRequest(server, method, target, { headers: HTML });
				problem(answer, 405, 'method_not_allowed');
				assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
			}
		}
		const body = await rawRequest(server, 'GET', name, { body: 'x', headers: { 'content-length': '1' } });
		problem(body, 400, 'bad_request');
	});
});

describe('the worker and the manifest', () => {
	it('are checked for a new version at each visit, and do nothing else than they must', async () => {
		const worker = await bytes('/worker.js');
		assert.equal(worker.status, 200);
		assert.equal(worker.headers['content-type'], 'text/javascript; charset=utf-8');
		assert.equal(worker.headers['cache-control'], 'no-cache');
		assert.equal(worker.headers['content-security-policy'], "default-src 'none'; connect-src 'self'");
		const tag = worker.headers.etag;
		assert.equal((await bytes('/worker.js', { 'if-none-match': tag })).status, 304);
		// The worker lists exactly the files that the chat page loads.
		const [, list] = /^const VERSION="[0-9a-f]{20}",ASSETS=(\[[^\]]*\]);/.exec(worker.body.toString());
		assert.deepEqual(JSON.parse(list), (await assets('/')).filter((name) => !name.endsWith('.png')));
		assert.ok(worker.body.length < 4_000, `${worker.body.length} bytes`);

		const manifest = await bytes('/manifest.webmanifest');
		assert.equal(manifest.headers['content-type'], 'application/manifest+json');
		assert.equal(manifest.headers['cache-control'], 'no-cache');
		const { start_url, scope, icons } = JSON.parse(manifest.body.toString());
		assert.deepEqual([start_url, scope], ['/', '/']);
		for (const { src, type } of icons) {
			const icon = await bytes(src);
			assert.deepEqual([icon.status, icon.headers['content-type'], type],
				[200, 'image/svg+xml', 'image/svg+xml']);
			assert.equal(icon.headers['cache-control'], 'public, max-age=31536000, immutable');
		}
	});

	it('the home screen of iOS has a PNG of the icon, opaque and in its colours', async () => {
		const { body } = await bytes('/', HTML);
		const [, address] = /<link rel="apple-touch-icon" href="([^"]+)">/.exec(body.toString());
		const icon = await bytes(address);
		assert.deepEqual([icon.status, icon.headers['content-type'], icon.headers['cache-control']],
			[200, 'image/png', 'public, max-age=31536000, immutable']);
		assert.equal(icon.body.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
		const chunks = {};
		for (let at = 8; at < icon.body.length; at += 12 + icon.body.readUInt32BE(at))
			chunks[icon.body.toString('latin1', at + 4, at + 8)] =
				icon.body.subarray(at + 8, at + 8 + icon.body.readUInt32BE(at));
		assert.deepEqual(Object.keys(chunks), ['IHDR', 'IDAT', 'IEND']);
		const size = 180;
		assert.deepEqual([...chunks.IHDR], [0, 0, 0, size, 0, 0, 0, size, 8, 2, 0, 0, 0]);
		const lines = zlib.inflateSync(chunks.IDAT);
		assert.equal(lines.length, size * (1 + 3 * size));
		const pixel = (x, y) => lines.subarray(y * (1 + 3 * size) + 1 + 3 * x).subarray(0, 3).toString('hex');
		assert.deepEqual([pixel(0, 0), pixel(179, 179), pixel(100, 100)], ['0b6a67', '0b6a67', 'ffffff']);
	});

	it('the worker can be switched off', async (t) => {
		const other = await startServer({ args: ['--no-page-worker'] });
		t.after(() => other.stop());
		const text = await (await fetch(`${other.url}/worker.js`)).text();
		assert.match(text, /unregister/);
		assert.doesNotMatch(text, /VERSION|"fetch"/);
	});
});

describe('encodings', () => {
	const cases = [
		['gzip, deflate, br', 'br'], ['br', 'br'], ['gzip', 'gzip'], ['GZIP;q=0.5', 'gzip'],
		['br;q=0, gzip', 'gzip'], ['br;q=0, gzip;q=0', undefined], ['*', 'br'], ['deflate', undefined],
		['identity', undefined], ['', undefined], [undefined, undefined], ['gzippo', undefined],
		['*;q=0', undefined],
	];

	for (const [accepted, encoding] of cases) {
		it(`Accept-Encoding ${JSON.stringify(accepted)}: ${encoding ?? 'as it is'}`, async () => {
			const headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
			for (const target of [...PAGES, ...await assets()]) {
				const plain = await bytes(target, HTML);
				const answer = await bytes(target, { ...HTML, ...headers });
				assert.equal(answer.status, 200);
				assert.equal(answer.headers['content-encoding'], encoding);
				assert.equal(Number(answer.headers['content-length']), answer.body.length);
				const body = encoding ? unpack[encoding](answer.body) : answer.body;
				assert.ok(body.equals(plain.body), 'the same content');
				if (encoding) {
					assert.ok(answer.body.length < plain.body.length);
					assert.notEqual(answer.headers.etag, plain.headers.etag);
				}
			}
		});
	}

	for (const [page, limit] of Object.entries(LIMITS)) it(`all of ${page} is below ${limit / 1000} kB, compressed`, async (t) => {
		const sizes = { gzip: 0, br: 0 };
		for (const target of [page, ...await assets(page)])
			for (const encoding of Object.keys(sizes))
				sizes[encoding] += (await bytes(target, { ...HTML,
					'accept-encoding': encoding })).body.length;
		t.diagnostic(`${page}: ${sizes.gzip} bytes with gzip, ${sizes.br} with brotli, ` +
			`of at most ${limit}`);
		assert.ok(sizes.gzip > 5_000 && sizes.gzip < limit, JSON.stringify(sizes));
		assert.ok(sizes.br < sizes.gzip);
	});
});

describe('tags', () => {
	it('are strong, steady, and spare the second way', async () => {
		for (const target of [...PAGES, ...await assets()]) {
			for (const encoding of ['br', 'gzip', 'identity']) {
				const headers = { ...HTML, 'accept-encoding': encoding };
				const first = await bytes(target, headers);
				const tag = first.headers.etag;
				assert.match(tag, /^"[\w-]+"$/);
				for (const list of [tag, `"other", ${tag}`, `W/${tag}`, '*']) {
					const again = await bytes(target, { ...headers, 'if-none-match': list });
					assert.equal(again.status, 304, list);
					assert.equal(again.body.length, 0);
					assert.equal(again.headers.etag, tag);
					assert.equal(again.headers['cache-control'], first.headers['cache-control']);
					assert.equal(again.headers.vary, first.headers.vary);
				}
				for (const list of ['"other"', tag.slice(1, -1), `"${tag.slice(1, -2)}"`])
					assert.equal((await bytes(target, { ...headers,
						'if-none-match': list })).status, 200, list);
			}
		}
	});

	it('HEAD says what GET would', async () => {
		for (const target of [...PAGES, ...await assets()]) {
			const headers = { ...HTML, 'accept-encoding': 'br' };
			const get = await bytes(target, headers);
			const head = await bytes(target, headers, 'HEAD');
			assert.equal(head.status, 200);
			assert.equal(head.body.length, 0);
			for (const name of ['content-length', 'content-type', 'content-encoding', 'etag', 'vary',
				'cache-control', 'content-security-policy'])
				assert.equal(head.headers[name], get.headers[name], name);
			assert.equal((await bytes(target, { ...headers, 'if-none-match': get.headers.etag },
				'HEAD')).status, 304);
		}
	});
});
