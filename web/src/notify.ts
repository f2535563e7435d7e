// SPDX-License-Identifier: MIT
// Notifications, if the user wants them: one for each conversation that gets a message while no tab
// of the page is visible.
//
// All tabs receive all messages.  Web Locks decide which tab notifies.  Each visible tab holds the
// shared lock SEEN.  One of all tabs holds NOTIFIER, and it notifies unless any tab holds SEEN.
// The browser releases the locks of a closed tab.

import type { ChatClient } from './client.ts';
import { holdLock } from './lock.ts';
import { nameOf } from './merge.ts';
import { hashOf } from './route.ts';
import { change, settings } from './settings.ts';
import type { Conversation, Message } from './types.ts';
import { visible } from './visible.ts';

const SEEN = 'twinbox.seen';
const NOTIFIER = 'twinbox.notifier';
const TEXT_MAX = 200;

/** The permission that this browser gives; "none": it has no notifications on this page. */
export const permission = (): NotificationPermission | 'none' =>
	isSecureContext && 'Notification' in globalThis ? Notification.permission : 'none';

/** Requests the browser's permission.  Allowed only in a click of the user. */
export async function request(): Promise<void>
{
	change({ notify: await Notification.requestPermission() === 'granted' });
}

/** Returns true if the page is visible in some tab. */
async function seen(): Promise<boolean>
{
	if (document.visibilityState === 'visible')
		return true;
	const locks = await navigator.locks?.query();
	return locks?.held?.some((one) => one.name === SEEN) ?? false;
}

let asked: Promise<unknown> = Promise.resolve();

/** Sends a request to the service worker, after all earlier ones: closing a notification late must
 * not close the next one of the same conversation. */
function ask(what: (worker: ServiceWorkerRegistration) => Promise<void>): void
{
	asked = asked.then(() => navigator.serviceWorker?.getRegistration())
		.then((worker) => worker && what(worker)).catch(() => undefined);
}

/** Shows a notification whose click opens ${options.data}.  The returned function closes it. */
function show(title: string, options: NotificationOptions & { tag: string; data: string }): () => void
{
	try {
		const note = new Notification(title, options);

		note.onclick = () => {
			note.close();
			window.focus();
			location.hash = options.data;
		};
		return () => note.close();
	} catch {
		// Browsers on Android show notifications only by the service worker, which also
		// handles the click (worker.ts).
		ask((worker) => worker.showNotification(title, options));
		return () => ask(async (worker) => {
			for (const one of await worker.getNotifications({ tag: options.tag }))
				one.close();
		});
	}
}

export class Notifier {
	private readonly client: ChatClient;
	private readonly shown = new Map<string, () => void>(); // functions that close, by conversation
	private chosen = false; // this tab notifies
	private leave: () => void;
	private unsee: (() => void) | null = null;
	private readonly watch = (): void => this.look();

	constructor(client: ChatClient)
	{
		this.client = client;
		this.leave = holdLock(NOTIFIER, 'exclusive', () => { this.chosen = true; });
		document.addEventListener('visibilitychange', this.watch);
		this.look();
	}

	end(): void
	{
		document.removeEventListener('visibilitychange', this.watch);
		this.leave();
		this.unsee?.();
		this.chosen = false;
		for (const close of this.shown.values())
			close();
		this.shown.clear();
	}

	/** Notifies of a message in conversation ${c}. */
	async arrived(m: Message, c: Conversation): Promise<void>
	{
		if (!settings().notify || permission() !== 'granted' || !this.chosen || await seen())
			return;
		// While the locks were queried, the message may have been read, or the page left.
		const unread = this.client.conversations.get(c.id)?.unread ?? 0;
		if (unread === 0 || !this.chosen)
			return;
		const text = m.body ?? '';
		this.shown.set(c.id, show(nameOf(c, this.client.me), {
			tag: `twinbox.${this.client.me}.${c.id}`,
			body: settings().notifyText ? visible(text.slice(0, TEXT_MAX)) :
				unread === 1 ? 'New message' : `${unread} new messages`,
			data: hashOf(c, this.client.me),
		}));
	}

	/** Closes the notifications of messages that were read, here or on another device. */
	changed(): void
	{
		for (const [id, close] of this.shown) {
			if (this.client.conversations.get(id)?.unread)
				continue;
			close();
			this.shown.delete(id);
		}
	}

	private look(): void
	{
		const visible = document.visibilityState === 'visible';

		if (visible)
			this.unsee ??= holdLock(SEEN, 'shared', () => undefined);
		else {
			this.unsee?.();
			this.unsee = null;
		}
	}
}
