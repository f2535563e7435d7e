// SPDX-License-Identifier: MIT
// When to come back after a WebSocket has ended, and whether at all: section
// "Close codes" of /asyncapi.yaml.

export type Verdict =
	| 'retry' // come back by yourself, after a while
	| 'epoch' // the database is another: reset the cursor, then come back
	| 'login' // the token is no good: a person must log in
	| 'stop'; // only a person may try again

const FIRST_MS = 500;
const CAP_MS = 20_000;

/** Full jitter: anywhere between nothing and 0.5 s × 2ⁿ, at most 20 s. */
export function delay(attempt: number, random: () => number = Math.random): number
{
	return random() * Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
}

/** What close code ${code} asks for.  Unknown ones are worth another try. */
export function verdict(code: number): Verdict
{
	switch (code) {
	case 4401:
		return 'login';
	case 4410:
		return 'epoch';
	case 1009:
	case 4400:
	case 4403:
	case 4409:
		return 'stop';
	default:
		return 'retry';
	}
}

/** Why a person is asked, in words. */
export function reason(code: number): string
{
	switch (code) {
	case 4409:
		return 'This page was opened again elsewhere, which took over.';
	case 4403:
		return 'The server does not allow this.';
	default:
		return 'The server and this page misunderstood each other. Reload the page.';
	}
}
