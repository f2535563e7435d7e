// SPDX-License-Identifier: MIT
// The REST client of the page.  A refusal by the server is thrown as Refused with its problem
// document.  If the server cannot be reached, Unreachable is thrown.

import { sentence } from './time.ts';
import type { Problem } from './types.ts';

const PATIENCE_MS = 20_000;

export class Refused extends Error {
	readonly problem: Problem;

	constructor(problem: Problem)
	{
		super(problem.detail || problem.title);
		this.problem = problem;
	}
}

export class Unreachable extends Error {
	constructor()
	{
		super('The server cannot be reached.');
	}
}

export class Api {
	readonly token: string | undefined;
	private readonly onUnauthenticated: (() => void) | undefined;

	/** Calls ${onUnauthenticated} when the server no longer accepts the token. */
	constructor(token?: string, onUnauthenticated?: () => void)
	{
		this.token = token;
		this.onUnauthenticated = onUnauthenticated;
	}

	get<T>(path: string): Promise<T>
	{
		return this.request<T>('GET', path);
	}

	post<T>(path: string, json: unknown): Promise<T>
	{
		return this.request<T>('POST', path, json);
	}

	patch<T>(path: string, json: unknown): Promise<T>
	{
		return this.request<T>('PATCH', path, json);
	}

	async delete(path: string): Promise<void>
	{
		await this.request<unknown>('DELETE', path);
	}

	private async request<T>(method: string, path: string, json?: unknown): Promise<T>
	{
		const headers: Record<string, string> = { Accept: 'application/json' };
		const init: RequestInit = { method, headers, cache: 'no-store', credentials: 'omit' };
		const patience = new AbortController();
		const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
		let response: Response;
		let text: string;

		if (this.token)
			headers['Authorization'] = `Bearer ${this.token}`;
		if (json !== undefined) {
			headers['Content-Type'] = 'application/json';
			init.body = JSON.stringify(json);
		}
		try {
			response = await fetch(path, { ...init, signal: patience.signal });
			text = await response.text();
		} catch {
			throw new Unreachable();
		} finally {
			clearTimeout(timer);
		}
		const body = parse(text);
		// A network that requires a log-in (captive portal) answers every request with its
		// own page.
		if (response.ok && body === undefined)
			throw new Unreachable();
		if (response.ok)
			return body as T;
		if (response.status === 401 && this.token)
			this.onUnauthenticated?.();
		throw new Refused(problemOf(body, response.status));
	}
}

/** Parses ${text}.  Returns null if it is empty, undefined if it is not JSON. */
function parse(text: string): unknown
{
	try {
		return text === '' ? null : JSON.parse(text);
	} catch {
		return undefined;
	}
}

/**
 * Returns the problem document in ${body}.  An error page of a proxy is not one, so a problem is
 * made for it.  Members that only some problems have are kept: a 410 says where the inbox begins.
 */
function problemOf(body: unknown, status: number): Problem
{
	const problem = body as Partial<Problem> | null;

	return {
		...problem,
		title: problem?.title ?? 'Error',
		status,
		detail: problem?.detail ?? `The server answered ${status}.`,
		code: problem?.code ?? (status >= 500 ? 'busy' : 'bad_request'),
	};
}

/** Returns true if a message is refused for now because of its recipient: the recipient's inbox is
 * full, or the sender has used the daily quota of first messages to new servers.  Messages to other
 * recipients are not affected. */
export function isOfRecipient(problem: Problem): boolean
{
	return problem.code === 'inbox_full' ||
		(problem.code === 'quota_used' && problem.pointer?.endsWith('/to') === true);
}

/** Returns true if the same request may succeed later without a change. */
export function isPassing(problem: Problem): boolean
{
	return [429, 500, 503, 507].includes(problem.status);
}

/** Returns the failure of a user's action as a sentence. */
export function words(error: unknown): string
{
	if (!(error instanceof Refused))
		return 'The server cannot be reached. Is the network there?';
	const { status, code, detail, retry_after } = error.problem;
	if (code === 'rate_limited' || status === 503)
		return `Too much at once. Try again in ${retry_after ?? 1} s.`;
	return sentence(detail);
}
