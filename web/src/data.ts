// SPDX-License-Identifier: MIT
// Small data that outlives the page: who is logged in, drafts, and messages that are not on the
// disk yet.
//
// The token is in localStorage: a log-in then outlives the browser and is one device for all tabs,
// which a token per tab would not be.  Why not a cookie: the browser would send it by itself, even
// for a request of another site's page.  Only a foreign script in this page could steal the token,
// and none can run: the policy allows only the server's own file, no inline script and no HTML made
// from strings, and texts of people are only ever inserted as text.

import type { Login, Unsent } from './types.ts';

const LOGIN = 'twinbox.login';
const DRAFT = 'twinbox.draft.';

/** Returns ${what}(), or ${otherwise} if the browser forbids localStorage; then nothing is kept. */
function guarded<T>(what: () => T, otherwise: T): T
{
	try {
		return what();
	} catch {
		return otherwise;
	}
}

export function loadLogin(): Login | null
{
	return guarded(() => JSON.parse(localStorage.getItem(LOGIN) ?? 'null') as Login | null, null);
}

export function saveLogin(login: Login | null): void
{
	guarded(() => login ? localStorage.setItem(LOGIN, JSON.stringify(login)) :
		localStorage.removeItem(LOGIN), undefined);
}

/** Calls ${changed} when another tab logs in or out. */
export function onLogin(changed: (login: Login | null) => void): void
{
	addEventListener('storage', (event) => {
		if (event.key === LOGIN || event.key === null)
			changed(loadLogin());
	});
}

const draftKey = (user: string, hash: string) => `${DRAFT}${user}.${hash}`;

export function loadDraft(user: string, hash: string): string
{
	return guarded(() => localStorage.getItem(draftKey(user, hash)) ?? '', '');
}

export function saveDraft(user: string, hash: string, text: string): void
{
	guarded(() => text === '' ? localStorage.removeItem(draftKey(user, hash)) :
		localStorage.setItem(draftKey(user, hash), text), undefined);
}

// ---- messages on their way to the disk ----
//
// IndexedDB writes asynchronously, localStorage at once.  A text that was sent just before the page
// closes is therefore in localStorage and found at the next start.  It is erased with the drafts.

const heldKey = (user: string, id = '') => draftKey(user, `>${id}`);

export function hold(user: string, unsent: Unsent): void
{
	guarded(() => localStorage.setItem(heldKey(user, unsent.id), JSON.stringify(unsent)), undefined);
}

export function release(user: string, id: string): void
{
	guarded(() => localStorage.removeItem(heldKey(user, id)), undefined);
}

export function held(user: string): Unsent[]
{
	return guarded(() => Object.keys(localStorage).filter((key) => key.startsWith(heldKey(user)))
		.map((key) => JSON.parse(localStorage.getItem(key)!) as Unsent), []);
}

export function eraseDrafts(user: string): void
{
	guarded(() => {
		for (const key of Object.keys(localStorage))
			if (key.startsWith(`${DRAFT}${user}.`))
				localStorage.removeItem(key);
	}, undefined);
}

/** Returns a first proposal for the device's name: "Firefox on Linux". */
export function deviceName(agent = navigator.userAgent): string
{
	const find = (names: [RegExp, string][]) =>
		names.find(([match]) => match.test(agent))?.[1];
	const browser = find([[/Firefox\//, 'Firefox'], [/Edg\//, 'Edge'], [/OPR\//, 'Opera'],
		[/Chrom(e|ium)\//, 'Chrome'], [/Safari\//, 'Safari']]) ?? 'Browser';
	const system = find([[/Android/, 'Android'], [/iPhone|iPad/, 'iOS'], [/Windows/, 'Windows'],
		[/Mac OS/, 'macOS'], [/Linux|X11/, 'Linux']]);
	return system ? `${browser} on ${system}` : browser;
}
