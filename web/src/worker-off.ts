// SPDX-License-Identifier: MIT
// What the server serves in the place of the service worker when its operator
// does not want one (page-worker = false): it takes the place of one that is
// there, deletes what that has kept, and goes.

interface Life extends Event {
	waitUntil(done: Promise<unknown>): void;
}

declare const self: {
	registration: ServiceWorkerRegistration;
	skipWaiting(): Promise<void>;
	addEventListener(type: 'install' | 'activate', act: (event: Life) => void): void;
};

async function leave(): Promise<void>
{
	for (const name of await caches.keys())
		if (name.startsWith('twinbox-'))
			await caches.delete(name);
	await self.registration.unregister();
}

self.addEventListener('install', (event) => event.waitUntil(self.skipWaiting()));
self.addEventListener('activate', (event) => event.waitUntil(leave()));

export {};
