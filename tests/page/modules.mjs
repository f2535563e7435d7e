// SPDX-License-Identifier: MIT
//
// The page's modules, compiled for node with the build's own compiler.

import { webcrypto } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { tempDir } from '../e2e/harness.mjs';
import { BUILD, SOURCE } from './browser.mjs';

/** Compiles ${files} of ${folder} into one module.  Returns its URL. */
export function bundle(folder, ...files)
{
	const outfile = path.join(tempDir(), 'page.mjs');
	const { buildSync } = createRequire(path.join(BUILD, 'web/work/package.json'))('esbuild');

	buildSync({
		stdin: { contents: files.map((file) => `export * from './${file}';`).join('\n'),
			resolveDir: path.join(SOURCE, folder), loader: 'ts' },
		bundle: true, format: 'esm', outfile, jsx: 'automatic', jsxImportSource: 'preact',
		nodePaths: [path.join(BUILD, 'web/work/node_modules')],
	});
	return pathToFileURL(outfile);
}

/** Returns the exports of ${files} of web/src. */
export function modules(...files)
{
	// Browsers have this global; node 18 does not.
	globalThis.crypto ??= webcrypto;
	return import(bundle('web/src', ...files));
}
