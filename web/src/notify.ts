// SPDX-License-Identifier: MIT
// Notifications, on request: one for each conversation with a message that came
// while no tab of the page was visible.
//
// All tabs get all messages.  Web Locks decide which one notifies: each visible
// tab holds SEEN, shared with others; of all tabs one holds NOTIFIER, and it
// notifies unless somebody holds SEEN.  The browser releases what a closed tab
// held.

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

/** What this browser allows; "none": it has no notifications, or not here. */
export const permission = (): NotificationPermission | 'none' =>
	isSecureContext && 'Notification' in globalThis ? Notification.permission : 'none';

/** Asks the browser for its permission; only after a click of a person. */
export async function request(): Promise<void>
{
	change({ notify: await Notification.requestPermission() === 'granted' });
}

/** Whether the page is visible in some tab. */
async function seen(): Promise<boolean>
{
	if (document.visibilityState === 'visible')
		return true;
	const locks = await navigator.locks?.query();
	return locks?.held?.some((one) => one.name === SEEN) ?? false;
}

let asked: Promise<unknown> = Promise.resolve();

/** Asks the service worker, after all that it was asked before: what is taken back
 * late must not be the next notification of the same conversation. */
function ask(what: (worker: ServiceWorkerRegistration) => Promise<void>): void
{
	asked = asked.then(() => navigator.serviceWorker?.getRegistration())
		.then((worker) => worker && what(worker)).catch(() => undefined);
}

/** Shows a notification whose click leads to ${options.data}; the returned
 * function takes it back. */
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
		// Browsers of Android leave it to the service worker, which hears of the
		// click (worker.ts).
		ask((worker) => worker.showNotification(title, options));
		return () => ask(async (worker) => {
			for (const one of await worker.getNotifications({ tag: options.tag }))
				one.close();
		});
	}
}

export class Notifier {
	private readonly client: ChatClient;
	private readonly shown = new Map<string, () => void>(); // takes it back, by conversation
	private chosen = false; // this is the tab that notifies
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

	/** A message has come in conversation ${c}. */
	async arrived(m: Message, c: Conversation): Promise<void>
	{
		if (!settings().notify || permission() !== 'granted' || !this.chosen || await seen())
			return;
		// It may have been read, or the page left, while the locks were looked at.
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

	/** Takes back what was read meanwhile, here or on another device. */
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
