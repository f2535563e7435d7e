// SPDX-License-Identifier: MIT
// Locks shared by all tabs of the page (Web Locks).  The browser releases the locks of a tab that
// is closed or crashes.

/** Requests the lock ${name} and calls ${got} when it is held.  The returned function releases
 * it. */
export function holdLock(name: string, mode: LockMode, got: () => void): () => void
{
	const waiting = new AbortController();
	let release = (): void => undefined;

	// In a browser without Web Locks each tab acts as if it held the lock.
	if (!navigator.locks)
		got();
	else
		navigator.locks.request(name, { mode, signal: waiting.signal }, () => {
			got();
			return new Promise<void>((done) => { release = done; });
		}).catch(() => undefined); // aborted before the lock was granted
	return () => {
		waiting.abort();
		release();
	};
}
