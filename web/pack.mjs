// SPDX-License-Identifier: MIT
//
// pack.mjs FOLDER: adds the service workers, the manifest and the icons to the
// built pages, compresses each file in advance and writes page.list, of which
// web/embed.sh makes the server's table.  A line is
// name|type|encoding|etag|file, the best encoding of a file first.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';

// The compiler of vite.
import { transformSync } from 'esbuild';

import { pngOf } from './png.mjs';

const folder = process.argv[2];
const types = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
	'.svg': 'image/svg+xml',
	'.png': 'image/png',
	'.webmanifest': 'application/manifest+json',
};
const encodings = {
	br: (data) => zlib.brotliCompressSync(data, {
		params: {
			[zlib.constants.BROTLI_PARAM_QUALITY]: 11,
			[zlib.constants.BROTLI_PARAM_SIZE_HINT]: data.length,
		},
	}),
	gzip: (data) => zlib.gzipSync(data, { level: 9 }),
	'': (data) => data,
};

const here = path.dirname(fileURLToPath(import.meta.url));
const hashOf = (data) => createHash('sha256').update(data).digest('hex').slice(0, 20);

/** Writes ${name}, compiled from src/${source} behind ${before}. */
function compile(name, source, before = '')
{
	const { code } = transformSync(fs.readFileSync(path.join(here, 'src', source)),
		{ loader: 'ts', format: 'esm', target: 'es2020', minify: true, legalComments: 'none' });
	// A worker is no module everywhere yet.
	fs.writeFileSync(path.join(folder, name), before + code.replace(/export\{\};?\s*$/, ''));
}

/** Writes ${data} as an asset, with its hash in the name; returns its address. */
function asset(stem, extension, data)
{
	const name = `assets/${stem}-${hashOf(data).slice(0, 8)}.${extension}`;

	fs.writeFileSync(path.join(folder, name), data);
	return `/${name}`;
}

const icon = fs.readFileSync(path.join(here, 'icon.svg'), 'utf8');
fs.writeFileSync(path.join(folder, 'manifest.webmanifest'),
	fs.readFileSync(path.join(here, 'manifest.json'), 'utf8').replaceAll('ICON', asset('icon', 'svg', icon)));

// iOS takes no SVG for the home screen.
const index = fs.readFileSync(path.join(folder, 'index.html'), 'utf8')
	.replace('/touch-icon.png', asset('touch-icon', 'png', pngOf(icon, 180)));
fs.writeFileSync(path.join(folder, 'index.html'), index);
// The page itself loads no icon.
const assets = [...index.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, name]) => name);
// The document is a part of the version, and names its files by their content.
compile('worker.js', 'worker.ts', `const VERSION=${JSON.stringify(hashOf(index))},` +
	`ASSETS=${JSON.stringify(assets)};`);
compile('worker-off.js', 'worker-off.ts');

const files = ['index.html', 'admin.html', 'docs.html', 'manifest.webmanifest', 'worker.js', 'worker-off.js',
	...fs.readdirSync(path.join(folder, 'assets')).sort().map((name) => `assets/${name}`)];
const rows = [];
for (const file of files) {
	const type = types[path.extname(file)];
	const data = fs.readFileSync(path.join(folder, file));
	const hash = hashOf(data);

	if (!type)
		throw new Error(`pack.mjs: ${file}: what type is it?`);
	for (const [encoding, pack] of Object.entries(encodings)) {
		// A strong tag names these very bytes, so one for each encoding.
		const etag = encoding === '' ? hash : `${hash}-${encoding}`;
		const packed = encoding === '' ? file : `${file}.${encoding}`;
		if (encoding !== '')
			fs.writeFileSync(path.join(folder, packed), pack(data));
		rows.push([path.basename(file), type, encoding, etag, packed].join('|'));
	}
}
fs.writeFileSync(path.join(folder, 'page.list'), rows.join('\n') + '\n');
