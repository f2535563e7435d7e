// SPDX-License-Identifier: MIT
//
// The plugin of vite that makes docs.html: the body is what src/reference
// renders of docs/openapi.yaml, now, so that the page needs no script.

import fs from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build } from 'esbuild';
import { parse } from 'yaml';

const PLACE = '<!-- reference -->';
const DARK = ':root[data-scheme="dark"]';

/** Returns ${text} with ${to} in place of ${from}, which must be in it once. */
function replaced(text, from, to)
{
	const parts = text.split(from);

	if (parts.length !== 2)
		throw new Error(`reference.mjs: ${from} is there ${parts.length - 1} times`);
	return parts[0] + to + parts[1];
}

/** Returns the body of the reference, rendered of the file ${contract}. */
async function referenceOf(contract)
{
	const page = fileURLToPath(new URL('src/reference/page.tsx', import.meta.url));
	const outfile = fileURLToPath(new URL('node_modules/.reference/page.mjs', import.meta.url));

	await build({ entryPoints: [page], outfile, bundle: true, format: 'esm', platform: 'node',
		target: 'node18', jsx: 'automatic', jsxImportSource: 'preact' });
	const { render } = await import(pathToFileURL(outfile));
	return render(parse(fs.readFileSync(contract, 'utf8')));
}

/** The colours of the scheme "dark" for browsers that prefer it. */
function byPreference(css)
{
	const [rule] = css.slice(css.indexOf(DARK)).split('}', 1);

	return replaced(css, `${rule}}`, `@media (prefers-color-scheme: dark) {${rule.replace(DARK, ':root')}}}`);
}

export const reference = (contract) => ({
	name: 'reference',
	enforce: 'pre',
	transform: (code, id) => id.endsWith('/colours.css') ? byPreference(code) : undefined,
	transformIndexHtml: {
		order: 'pre',
		handler: async (html) => replaced(html, PLACE, await referenceOf(contract)),
	},
});
