// SPDX-License-Identifier: MIT
// Locks that all tabs of the page have in common (Web Locks).  The browser
// releases those of a tab that is closed or crashes.

/** Holds the lock ${name} until the returned function is called. */
export function holdLock(name: string, mode: LockMode, got: () => void): () => void
{
	const waiting = new AbortController();
	let release = (): void => undefined;

	// Where there are no locks, each tab decides for itself.
	if (!navigator.locks)
		got();
	else
		navigator.locks.request(name, { mode, signal: waiting.signal }, () => {
			got();
			return new Promise<void>((done) => { release = done; });
		}).catch(() => undefined); // given up while it was waited for
	return () => {
		waiting.abort();
		release();
	};
}
