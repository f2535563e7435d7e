// SPDX-License-Identifier: MIT
//
// REST requests, whose answers are all checked against the contract.

import http from 'node:http';

import { checkAnswer, expectAnswers } from '../contract.mjs';
import { WAIT_MS, within } from './process.mjs';

/**
 * A REST client.  An answer is {status, headers, text, body}; `body` is the
 * parsed JSON, or undefined if the text is not JSON.  No status throws.
 */
export class Rest {
	constructor(server, token)
	{
		this.server = server;
		this.token = token;
	}

	/**
	 * Options: json (a value to send), body (bytes or text to send
	 * unchanged), type (content type), headers, token (null: none), signal.
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
		/*
		 * An answer that a proxy in front makes by itself is not part
		 * of the contract.
		 */
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

/** Sets ${answer}.body to the parsed text, if that is JSON. */
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
 * Makes a request that fetch would refuse or change: any method and any target,
 * byte for byte.  It can come from a given address of the loopback network
 * (localAddress), and must be answered within ${ms} milliseconds.  The answer
 * is like that of Rest.request().
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

/** Throws unless ${answer} has one of ${statuses}.  Returns ${answer}. */
export function expectStatus(answer, ...statuses)
{
	if (!statuses.includes(answer.status)) {
		throw new Error(`${answer.method} ${answer.target}: ${answer.status}, ` +
			`not ${statuses.join(' or ')}: ${answer.text}`);
	}
	return answer;
}
