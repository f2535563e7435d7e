// SPDX-License-Identifier: MIT
// Three pages, each built by a run of its own: the chat (index.html) and, with
// --mode admin or --mode docs, the admin page (admin.html) and the API reference
// (docs.html).  So each is at most one script and one style sheet, with a hash
// of their content in the name, and none grows with another.  Nothing is
// inlined: the server's policy forbids inline script and style.

import { defineConfig } from 'vite';

import { reference } from './reference.mjs';

const INPUTS = { production: 'index.html', admin: 'admin.html', docs: 'docs.html' };

export default defineConfig(({ mode }) => ({
	publicDir: false,
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
	plugins: mode === 'docs' ? [reference('../docs/openapi.yaml')] : [],
	build: {
		target: 'es2020',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		rollupOptions: { input: INPUTS[mode] },
		emptyOutDir: mode === 'production',
		reportCompressedSize: false,
	},
}));
