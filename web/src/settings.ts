// SPDX-License-Identifier: MIT
// The user's choices for this browser: the language of times, the appearance, and notifications.
// They belong to the browser, not to the account, so they outlive a log-out and also apply to the
// admin page.

import { setLocale } from './time.ts';

const KEY = 'twinbox.settings';
const DARK = '(prefers-color-scheme: dark)';

export type Appearance = 'system' | 'light' | 'dark';

export interface Settings {
	locale: string; // a BCP 47 tag; "": the browser's language
	appearance: Appearance;
	notify: boolean;
	notifyText: boolean; // show the text in notifications
}

const DEFAULTS: Settings = { locale: '', appearance: 'system', notify: false, notifyText: false };
const APPEARANCES: readonly unknown[] = ['system', 'light', 'dark'];

/** Returns true if the browser can write times in the language ${tag}. */
function known(tag: unknown): tag is string
{
	try {
		return typeof tag === 'string' &&
			(tag === '' || Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0);
	} catch {
		return false;
	}
}

export function loadSettings(): Settings
{
	let kept: Partial<Record<keyof Settings, unknown>> | null = null;

	try {
		kept = JSON.parse(localStorage.getItem(KEY) ?? 'null');
	} catch {
		// The browser forbids localStorage: use the defaults.
	}
	return {
		locale: known(kept?.locale) ? kept.locale : DEFAULTS.locale,
		appearance: APPEARANCES.includes(kept?.appearance) ? kept!.appearance as Appearance :
			DEFAULTS.appearance,
		notify: kept?.notify === true,
		notifyText: kept?.notifyText === true,
	};
}

let current = DEFAULTS;
const listeners = new Set<() => void>();

export const settings = (): Settings => current;

/** Calls ${changed} after each change, until the returned function is called. */
export function onSettings(changed: () => void): () => void
{
	listeners.add(changed);
	return () => listeners.delete(changed);
}

/** Sets data-scheme, the only thing that the style sheets depend on: so the dark of the user's
 * choice and the dark of the system share one set of colours. */
function colour(): void
{
	const dark = current.appearance === 'system' ? matchMedia(DARK).matches :
		current.appearance === 'dark';

	document.documentElement.dataset['scheme'] = dark ? 'dark' : 'light';
	const paper = getComputedStyle(document.documentElement).getPropertyValue('--paper').trim();
	for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]'))
		meta.content = paper;
}

function apply(next: Settings): void
{
	current = next;
	setLocale(next.locale);
	colour();
	for (const changed of listeners)
		changed();
}

/** Changes the settings of this browser, also in its other tabs. */
export function change(what: Partial<Settings>): void
{
	const next = { ...current, ...what };

	try {
		localStorage.setItem(KEY, JSON.stringify(next));
	} catch {
		// They then apply until the page is closed.
	}
	apply(next);
}

/** Applies the settings before anything is drawn. */
export function startSettings(): void
{
	apply(loadSettings());
	matchMedia(DARK).addEventListener('change', colour);
	addEventListener('storage', (event) => {
		if (event.key === KEY || event.key === null)
			apply(loadSettings());
	});
}
