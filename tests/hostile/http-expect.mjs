// SPDX-License-Identifier: MIT
//
// Judges a row of a hostile HTTP table: the connection must carry exactly the
// expected answers, and the server must have counted the same number.  So no
// row can be one request to a proxy and two to the server.

import assert from 'node:assert/strict';

import { Counters, RawSocket } from './raw.mjs';
import { UUID } from '../e2e/contract.mjs';
import { eventually } from '../e2e/harness.mjs';

/**
 * Asserts that ${answer} is a complete problem document with the headers of
 * every answer.
 */
export function checkProblem(answer)
{
	const { status, headers, body, text } = answer;

	assert.equal(headers.get('content-type'), 'application/problem+json', text);
	assert.equal(headers.get('x-content-type-options'), 'nosniff');
	assert.equal(headers.get('cache-control'), 'no-store');
	assert.match(headers.get('x-request-id') ?? '', UUID);
	if (answer.method === 'HEAD')
		return;
	assert.equal(body.status, status, text);
	assert.equal(body.request_id, headers.get('x-request-id'), text);
	for (const member of ['type', 'title', 'detail', 'code'])
		assert.equal(typeof body[member], 'string', text);
}

/** Asserts that ${list} is what ${expected} says (see http-rows.mjs). */
function judge(list, expected)
{
	const statuses = list.map((answer) => answer.status);

	if (expected.kind === 'served') {
		assert.deepEqual(statuses, expected.statuses);
		return;
	}
	if (expected.kind === 'closed') {
		assert.deepEqual(statuses, []);
		return;
	}
	assert.equal(list.length, 1, `${statuses.length} answers: ${statuses}`);
	assert.ok([expected.status].flat().includes(list[0].status), `status ${list[0].status}`);
	assert.equal(list[0].headers.get('connection'), 'close');
	if (expected.kind === 'refused')
		checkProblem(list[0]);
	else
		assert.equal(list[0].headers.get('x-request-id'), null, 'the library has no request id');
}

/**
 * Returns the expectation for the name of a test, for example "refused 400".
 */
export const expectation = ({ kind, status, statuses }) =>
	[kind, status ?? statuses ?? []].flat(2).join(' ');

/** Runs rows against one server, one after the other. */
export class Rows {
	constructor(server)
	{
		this.server = server;
		this.rows = 0;
		this.answers = 0;
	}

	async begin()
	{
		this.counters = await new Counters(this.server).open();
	}

	/**
	 * Returns the answers until the server closes the connection or, if it
	 * need not close it, all expected ones.
	 */
	async look(text, expected, methods)
	{
		const socket = await RawSocket.open(this.server, { methods });

		try {
			socket.send(text);
			if (expected.kind !== 'served')
				return await socket.ended();
			const n = expected.statuses.length;
			await socket.answers(n);
			// Any byte that is left over from the row would come
			// before this request.
			socket.send('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: behind\r\n\r\n');
			const list = await socket.answers(n + 1);
			const last = list[n];
			assert.equal(last.headers.get('x-request-id'), 'behind', 'the connection is out of step');
			assert.equal(last.status, 200);
			this.answers++;
			return list.slice(0, n);
		} finally {
			socket.destroy();
		}
	}

	/** Sends ${text} and asserts that the result is ${expected}. */
	async row(text, expected, methods = text.startsWith('HEAD') ? ['HEAD'] : [])
	{
		const was = await this.counters.answered() - this.answers;

		judge(await this.look(text, expected, methods), expected);
		this.rows++;
		this.answers += expected.statuses?.length ?? (expected.kind === 'closed' ? 0 : 1);
		await eventually(async () => await this.counters.answered() - this.answers === was,
			`${this.answers} answers in the server's account`);
	}

	/** Returns the totals, for a diagnostic. */
	async account()
	{
		const now = await this.counters.read();

		return `${this.rows} rows, ${this.answers} answers, ` +
			`${now.http_refused_library_total} of them the library's`;
	}
}
