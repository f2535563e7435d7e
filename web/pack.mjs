// SPDX-License-Identifier: MIT
//
// pack.mjs FOLDER: compresses each file of the built pages in advance and
// writes page.list, of which web/embed.sh makes the server's table.  A line is
// name|type|encoding|etag|file, the best encoding of a file first.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const folder = process.argv[2];
const types = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
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

const files = ['index.html', 'admin.html', ...fs.readdirSync(path.join(folder, 'assets')).sort()
	.map((name) => `assets/${name}`)];
const rows = [];
for (const file of files) {
	const type = types[path.extname(file)];
	const data = fs.readFileSync(path.join(folder, file));
	const hash = createHash('sha256').update(data).digest('hex').slice(0, 20);

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
