// SPDX-License-Identifier: MIT
// REST, as far as the page needs it.  What the server refuses is thrown as
// Refused with its problem document; what does not reach it as Unreachable.

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

	/** ${onUnauthenticated} is called when the server no longer knows the token. */
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
		// A network that wants a log-in answers everything with a page of its own.
		if (response.ok && body === undefined)
			throw new Unreachable();
		if (response.ok)
			return body as T;
		if (response.status === 401 && this.token)
			this.onUnauthenticated?.();
		throw new Refused(problemOf(body, response.status));
	}
}

/** What ${text} says; null: nothing, undefined: it is no JSON. */
function parse(text: string): unknown
{
	try {
		return text === '' ? null : JSON.parse(text);
	} catch {
		return undefined;
	}
}

/**
 * A proxy's error page is no problem document; it becomes one here.  Members
 * that only some problems have are kept: a 410 says where the inbox begins.
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

/** Whether a message waits because of whom it is for: their inbox has no room, or they are
 *  of one new server more than its writer may write to in a day.  That holds up nothing
 *  that is for others. */
export function isOfRecipient(problem: Problem): boolean
{
	return problem.code === 'inbox_full' ||
		(problem.code === 'quota_used' && problem.pointer?.endsWith('/to') === true);
}

/** Whether the same request may do better later, by itself. */
export function isPassing(problem: Problem): boolean
{
	return [429, 500, 503, 507].includes(problem.status);
}

/** What went wrong with something that a person waits for, in a sentence. */
export function words(error: unknown): string
{
	if (!(error instanceof Refused))
		return 'The server cannot be reached. Is the network there?';
	const { status, code, detail, retry_after } = error.problem;
	if (code === 'rate_limited' || status === 503)
		return `Too much at once. Try again in ${retry_after ?? 1} s.`;
	return sentence(detail);
}
