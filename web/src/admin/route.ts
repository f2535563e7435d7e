// SPDX-License-Identifier: MIT
// The route of the admin page: the part of the address after #. It names a view and its filters, so
// that it can be bookmarked and sent to a colleague.

export type Params = Record<string, string>;

export interface Route {
	view: string;
	id: string;     // of a message
	params: Params;
}

/** Parses "dead?reason=rejected" or "message/<id>".  An unknown view is the overview. */
export function routeOf(hash: string): Route
{
	const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
	const [view = '', id = ''] = path.split('/', 2);
	const params: Params = {};

	for (const [name, value] of new URLSearchParams(query))
		if (value !== '')
			params[name] = value;
	return { view: view || 'overview', id, params };
}

/** Returns a query of all parameters that are not empty, with its "?". */
export function queryOf(params: Params): string
{
	const kept = Object.entries(params).filter(([, value]) => value !== '');
	return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
}

export const hashOf = (view: string, params: Params = {}): string => `#${view}${queryOf(params)}`;
export const messageHash = (id: string): string => `#message/${encodeURIComponent(id)}`;
