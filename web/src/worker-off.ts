// SPDX-License-Identifier: MIT
// The script that the server serves instead of the service worker if its operator does not want one
// (page-worker = false).  It replaces an installed worker, deletes the files that worker has
// stored, and unregisters itself.

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
