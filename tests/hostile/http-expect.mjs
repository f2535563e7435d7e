// SPDX-License-Identifier: MIT
//
// How a row of a hostile HTTP table is judged: exactly the expected answers on
// the wire, and as many as the server has counted, so that no row is two
// requests to anybody.

import assert from 'node:assert/strict';

import { Counters, RawSocket } from './raw.mjs';
import { UUID } from '../e2e/contract.mjs';
import { eventually } from '../e2e/harness.mjs';

/** ${answer} is a whole problem document with what every answer carries. */
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

/** ${list} is what ${expected} says (see http-rows.mjs). */
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

/** "refused 400", for the name of a test. */
export const expectation = ({ kind, status, statuses }) =>
	[kind, status ?? statuses ?? []].flat(2).join(' ');

/** Rows against one server, one after the other. */
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

	/** Answers until the server closes; where it need not, all that are due. */
	async look(text, expected, methods)
	{
		const socket = await RawSocket.open(this.server, { methods });

		try {
			socket.send(text);
			if (expected.kind !== 'served')
				return await socket.ended();
			const n = expected.statuses.length;
			await socket.answers(n);
			// Whatever would be left of the row is in front of this.
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

	/** Sends ${text}, and expects ${expected}. */
	async row(text, expected, methods = text.startsWith('HEAD') ? ['HEAD'] : [])
	{
		const was = await this.counters.answered() - this.answers;

		judge(await this.look(text, expected, methods), expected);
		this.rows++;
		this.answers += expected.statuses?.length ?? (expected.kind === 'closed' ? 0 : 1);
		await eventually(async () => await this.counters.answered() - this.answers === was,
			`${this.answers} answers in the server's account`);
	}

	/** For a diagnostic. */
	async account()
	{
		const now = await this.counters.read();

		return `${this.rows} rows, ${this.answers} answers, ` +
			`${now.http_refused_library_total} of them the library's`;
	}
}
