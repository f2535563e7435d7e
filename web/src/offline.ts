// SPDX-License-Identifier: MIT
// Registers the service worker (worker.ts), with which the page opens without the server.  The
// server decides by the content of /worker.js: it may be a worker that removes itself.

const WORKER = '/worker.js';

interface TrustedTypes {
	createPolicy(name: string, rules: { createScriptURL(url: string): string }):
		{ createScriptURL(url: string): string };
}

/** The only Trusted Types policy of the page.  It allows one script URL. */
function trusted(): string
{
	const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;

	return types?.createPolicy('twinbox-worker', { createScriptURL: (url) => {
		if (url !== WORKER)
			throw new TypeError(`${url} is not a script of this page`);
		return url;
	} }).createScriptURL(WORKER) ?? WORKER;
}

/** Registers the worker after the page is loaded, so that loading does not become slower. */
export function startWorker(): void
{
	// Browsers have service workers only with https or on loopback.
	if (!('serviceWorker' in navigator))
		return;
	const url = trusted();
	// The user has clicked a notification that the worker shows.
	navigator.serviceWorker.addEventListener('message', (event) => {
		const { open } = event.data as { open?: unknown };
		if (typeof open === 'string')
			location.hash = open;
	});
	addEventListener('load', () => {
		navigator.serviceWorker.register(url).catch(() => undefined); // then the page works online only
	});
}
