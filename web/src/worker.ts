// SPDX-License-Identifier: MIT
// The service worker: opens the page without the server.  It stores the files of one version of the
// chat page and nothing else; answers of the API are neither changed nor stored.  It also opens the
// page from a notification that it shows. pack.mjs puts VERSION and ASSETS in front of it.
//
// The document comes from the server whenever the server answers, so that the page has the server's
// version.  The name of each file has a hash of its content, so any copy of it is good.

declare const VERSION: string;
declare const ASSETS: string[];

interface Life extends Event {
	waitUntil(done: Promise<unknown>): void;
}

interface Fetch extends Event {
	request: Request;
	respondWith(answer: Promise<Response>): void;
}

interface Click extends Life {
	notification: Notification;
}

interface Tab {
	url: string;
	focus(): Promise<unknown>;
	postMessage(what: { open: string }): void;
}

declare const self: {
	location: Location;
	clients: {
		matchAll(which: { type: 'window'; includeUncontrolled: boolean }): Promise<Tab[]>;
		openWindow(url: string): Promise<unknown>;
	};
	skipWaiting(): Promise<void>;
	addEventListener(type: 'install' | 'activate', act: (event: Life) => void): void;
	addEventListener(type: 'fetch', act: (event: Fetch) => void): void;
	addEventListener(type: 'notificationclick', act: (event: Click) => void): void;
};

const PREFIX = 'twinbox-';
const NAME = PREFIX + VERSION;

/** Stores all files or none: the document of another version needs other files. */
async function install(): Promise<void>
{
	// The server sends the document only if HTML is accepted.
	const page = await fetch('/', { headers: { Accept: 'text/html' }, cache: 'no-cache' });
	const html = await page.clone().text();

	if (!page.ok || !ASSETS.every((one) => html.includes(`"${one}"`)))
		throw new Error('the server has another version by now');
	const cache = await caches.open(NAME);
	await cache.addAll(ASSETS);
	await cache.put('/', page);
	await self.skipWaiting();
}

async function activate(): Promise<void>
{
	for (const name of await caches.keys())
		if (name.startsWith(PREFIX) && name !== NAME)
			await caches.delete(name);
}

const kept = async (path: string): Promise<Response | undefined> =>
	(await caches.open(NAME)).match(path, { ignoreVary: true });

/** Returns the server's document; the stored one if the server cannot be reached, or if only a
 * proxy answers and reports that. */
async function documentOf(request: Request): Promise<Response>
{
	try {
		const answer = await fetch(request);
		return answer.status < 502 || answer.status > 504 ? answer : await kept('/') ?? answer;
	} catch (error) {
		const page = await kept('/');
		if (!page)
			throw error;
		return page;
	}
}

const assetOf = async (request: Request, path: string): Promise<Response> =>
	await kept(path) ?? fetch(request);

/** Opens conversation ${hash} in a tab of the chat, or in a new one. */
async function lead(hash: string): Promise<void>
{
	const tabs = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
	const tab = tabs.find((one) => new URL(one.url).pathname === '/');

	tab?.postMessage({ open: hash });
	await (tab ? tab.focus() : self.clients.openWindow(`/#${hash}`));
}

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));
self.addEventListener('notificationclick', (event) => {
	event.notification.close();
	event.waitUntil(lead(String(event.notification.data)));
});
self.addEventListener('fetch', (event) => {
	const { request } = event;
	const { origin, pathname } = new URL(request.url);

	if (request.method !== 'GET' || origin !== self.location.origin)
		return;
	if (request.mode === 'navigate' && pathname === '/')
		event.respondWith(documentOf(request));
	else if (ASSETS.includes(pathname))
		event.respondWith(assetOf(request, pathname));
});

export {};
