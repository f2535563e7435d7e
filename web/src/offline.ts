// SPDX-License-Identifier: MIT
// Registers the service worker (worker.ts), by which the page opens without the
// server.  Whether there is one is decided by what the server serves at
// /worker.js: it may be one that removes itself.

const WORKER = '/worker.js';

interface TrustedTypes {
	createPolicy(name: string, rules: { createScriptURL(url: string): string }):
		{ createScriptURL(url: string): string };
}

/** The only policy of the page, and the only URL that it lets be script. */
function trusted(): string
{
	const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;

	return types?.createPolicy('twinbox-worker', { createScriptURL: (url) => {
		if (url !== WORKER)
			throw new TypeError(`${url} is no script of this page`);
		return url;
	} }).createScriptURL(WORKER) ?? WORKER;
}

/** Registers it when the page is loaded, which it must not slow down. */
export function startWorker(): void
{
	// There is none without https, but on loopback.
	if (!('serviceWorker' in navigator))
		return;
	const url = trusted();
	// A notification was clicked that the worker shows.
	navigator.serviceWorker.addEventListener('message', (event) => {
		const { open } = event.data as { open?: unknown };
		if (typeof open === 'string')
			location.hash = open;
	});
	addEventListener('load', () => {
		navigator.serviceWorker.register(url).catch(() => undefined); // online only, then
	});
}
