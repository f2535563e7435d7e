// SPDX-License-Identifier: MIT
//
// Requests, and answers that are all held to the contract.

import http from 'node:http';

import { checkAnswer, expectAnswers } from '../contract.mjs';
import { WAIT_MS, within } from './process.mjs';

/**
 * A REST client.  Answers are {status, headers, text, body} with `body` the
 * parsed JSON (undefined if it is none); nothing throws on a status.
 */
export class Rest {
	constructor(server, token)
	{
		this.server = server;
		this.token = token;
	}

	/**
	 * Options: json (value to send), body (bytes or text to send as they
	 * are), type (content type), headers, token (null: none), signal.
	 */
	async request(method, target, options = {})
	{
		const headers = new Headers(options.headers);
		const token = options.token === undefined ? this.token : options.token;
		let body = options.body;

		expectAnswers();
		if (token)
			headers.set('authorization', `Bearer ${token}`);
		if (options.json !== undefined) {
			body = JSON.stringify(options.json);
			headers.set('content-type', 'application/json');
		}
		if (options.type)
			headers.set('content-type', options.type);
		const response = await (this.server.fetch ?? fetch)(
			new URL(target, this.server.url), {
				method, headers, body, redirect: 'manual', signal: options.signal,
			});
		const answer = {
			method, target,
			status: response.status,
			headers: response.headers,
			text: await response.text(),
		};
		parseBody(answer);
		/* Not what a proxy in front answers by itself. */
		if (!response.foreign)
			checkAnswer(answer, this.server.url);
		return answer;
	}

	get(target, options)
	{
		return this.request('GET', target, options);
	}

	post(target, json, options)
	{
		return this.request('POST', target, { json, ...options });
	}

	delete(target, options)
	{
		return this.request('DELETE', target, options);
	}
}

/** Sets ${answer}.body: what its text says, if that is JSON. */
export function parseBody(answer)
{
	answer.body = undefined;
	if (answer.text !== '' &&
	    /^application\/(problem\+)?json/.test(answer.headers.get('content-type') ?? '')) {
		try {
			answer.body = JSON.parse(answer.text);
		} catch (error) {
			throw new Error(`contract: ${answer.method} ${answer.target} ${answer.status}: ` +
				`${error.message}: ${answer.text}`);
		}
	}
}

/**
 * A request that fetch would not send as it is given: any method and any
 * target, byte for byte; from an address of the loopback network (localAddress);
 * answered within ${ms}.  Same answers as Rest.request().
 */
export function rawRequest(server, method, target,
	{ headers = {}, body, token, localAddress, ms = WAIT_MS } = {})
{
	const url = new URL(server.url);

	expectAnswers();
	return within(new Promise((resolve, reject) => {
		const request = http.request({
			host: url.hostname, port: url.port, method, path: target,
			agent: false, localAddress,
			headers: token ? { ...headers, authorization: `Bearer ${token}` } : headers,
		}, (response) => {
			const pieces = [];
			response.on('data', (piece) => pieces.push(piece));
			response.on('error', reject);
			response.on('end', () => {
				const answer = {
					method, target,
					status: response.statusCode,
					headers: new Headers(Object.entries(response.headers).map(
						([name, value]) => [name, String(value)])),
					text: Buffer.concat(pieces).toString(),
				};
				parseBody(answer);
				checkAnswer(answer, server.url);
				resolve(answer);
			});
		});
		request.on('error', reject);
		request.end(body);
	}), ms, `${method} ${target}`);
}

/** Throws unless ${answer} has ${status}; gives it back. */
export function expectStatus(answer, ...statuses)
{
	if (!statuses.includes(answer.status)) {
		throw new Error(`${answer.method} ${answer.target}: ${answer.status}, ` +
			`not ${statuses.join(' or ')}: ${answer.text}`);
	}
	return answer;
}
