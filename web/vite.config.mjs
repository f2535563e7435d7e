// SPDX-License-Identifier: MIT
// One script and one style sheet, with a hash of their content in the name.
// Nothing is inlined: the server's policy forbids inline script and style.

import { defineConfig } from 'vite';

export default defineConfig({
	publicDir: false,
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
	build: {
		target: 'es2020',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		emptyOutDir: true,
		reportCompressedSize: false,
	},
});
