// SPDX-License-Identifier: MIT
// Shared by all views of the admin page: the client, and the line that shows outcomes.

import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

import { AdminClient, type Watch } from './client.ts';

export interface Admin {
	client: AdminClient;
	/** Shows ${words} as the outcome of a change.  A screen reader reads them. */
	say(words: string, bad?: boolean): void;
}

export const AdminContext = createContext<Admin | null>(null);

export function useAdmin(): Admin
{
	return useContext(AdminContext)!;
}

export interface Watched<T> {
	data: T | null;
	error: string;
}

/** Returns the polled answer at ${path}.  With '', polls nothing. */
export function useWatch<T>(path: string): Watched<T>
{
	const { client } = useAdmin();
	const [watch, setWatch] = useState<Watch | null>(null);

	useEffect(() => {
		if (path === '')
			return undefined;
		const one = client.watch(path);
		setWatch(one);
		return () => client.unwatch(one);
	}, [client, path]);
	return watch?.path === path ? { data: watch.data as T | null, error: watch.error } :
		{ data: null, error: '' };
}
