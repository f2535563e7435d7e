// SPDX-License-Identifier: MIT
//
// links.mjs FOLDER: follows the links of FOLDER/README.md and of each document
// that they reach, and prints those whose target is missing, one in each line.
// The last line is "N documents, N links, N missing".  Links to the sources
// (tests, server, client, web) are ignored, because a package contains only
// documents and samples.

import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(process.argv[2]);
const SOURCES = /^(tests|server|client|web|schema|scripts|build-aux)(\/|$)/;
const seen = new Set(['README.md']);
let links = 0;
let missing = 0;

for (const file of seen) { // grows during the loop
	const text = fs.readFileSync(path.join(root, file), 'utf8').replaceAll(/^```.*?^```$/gms, '');
	for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
		const target = link.replace(/#.*/, '');
		if (target === '' || /^[a-z]+:/.test(target))
			continue;
		const found = path.normalize(path.join(path.dirname(file), target)).replace(/\/$/, '');
		if (SOURCES.test(found))
			continue;
		links++;
		if (found.startsWith('..') || !fs.existsSync(path.join(root, found))) {
			console.log(`${file}: ${link}`);
			missing++;
		} else if (found.endsWith('.md')) {
			seen.add(found);
		}
	}
}
console.log(`${seen.size} documents, ${links} links, ${missing} missing`);
process.exitCode = missing === 0 && seen.size >= 10 && links >= 30 ? 0 : 1;
