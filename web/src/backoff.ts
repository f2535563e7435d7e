// SPDX-License-Identifier: MIT
// When to reconnect after a WebSocket has ended, and whether to reconnect at all: section "Close
// codes" of /asyncapi.yaml.

export type Verdict =
	| 'retry' // reconnect after the back-off
	| 'epoch' // another history of the database: reset the cursor, then reconnect
	| 'login' // the token is not valid: the user must log in
	| 'stop'; // only the user may reconnect

const FIRST_MS = 500;
const CAP_MS = 20_000;

/** Returns the wait in ms with full jitter: between 0 and min(20 s, 0.5 s × 2ⁿ). */
export function delay(attempt: number, random: () => number = Math.random): number
{
	return random() * Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
}

/** Returns the reaction to close code ${code}.  An unknown code is retried. */
export function verdict(code: number): Verdict
{
	switch (code) {
	case 4401:
		return 'login';
	case 4410:
		return 'epoch';
	case 1002:
	case 1007:
	case 1009:
	case 4400:
	case 4403:
	case 4409:
		return 'stop';
	default:
		return 'retry';
	}
}

/** Returns why the user must act, as a sentence. */
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
