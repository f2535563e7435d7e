// SPDX-License-Identifier: MIT
// Two pages, each built by a run of its own: the chat (index.html) and, with
// --mode admin, the admin page (admin.html).  So each is one script and
// one style sheet, with a hash of their content in the name, and neither grows
// with the other.  Nothing is inlined: the server's policy forbids inline
// script and style.

import { defineConfig } from 'vite';

export default defineConfig(({ mode }) => ({
	publicDir: false,
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
	build: {
		target: 'es2020',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		rollupOptions: { input: mode === 'admin' ? 'admin.html' : 'index.html' },
		emptyOutDir: mode !== 'admin',
		reportCompressedSize: false,
	},
}));
