// SPDX-License-Identifier: MIT
// The route of the admin page: the part of the address after #, a view with its
// filters, so that it can be kept and sent to a colleague.

export type Params = Record<string, string>;

export interface Route {
	view: string;
	id: string;     // of a message
	params: Params;
}

/** "dead?reason=rejected", "message/<id>"; whatever is unknown is the overview. */
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

/** A query of what is not empty, with its "?". */
export function queryOf(params: Params): string
{
	const kept = Object.entries(params).filter(([, value]) => value !== '');
	return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
}

export const hashOf = (view: string, params: Params = {}): string => `#${view}${queryOf(params)}`;
export const messageHash = (id: string): string => `#message/${encodeURIComponent(id)}`;
