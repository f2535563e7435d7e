// SPDX-License-Identifier: MIT
// What views need to live at the desk.

import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

import { Desk, type Watch } from './desk.ts';

export interface DeskUser {
	desk: Desk;
	/** Shows ${words} as the outcome of what was done, and reads them out. */
	say(words: string, bad?: boolean): void;
}

export const DeskContext = createContext<DeskUser | null>(null);

export function useDesk(): DeskUser
{
	return useContext(DeskContext)!;
}

export interface Watched<T> {
	data: T | null;
	error: string;
}

/** What the server says at ${path}, asked again and again; '' asks nothing. */
export function useWatch<T>(path: string): Watched<T>
{
	const { desk } = useDesk();
	const [watch, setWatch] = useState<Watch | null>(null);

	useEffect(() => {
		if (path === '')
			return undefined;
		const one = desk.watch(path);
		setWatch(one);
		return () => desk.unwatch(one);
	}, [desk, path]);
	return watch?.path === path ? { data: watch.data as T | null, error: watch.error } :
		{ data: null, error: '' };
}
