// SPDX-License-Identifier: MIT
//
// The hostile table of HTTP against the real server, one row a test: exactly
// the expected answers on the wire, read strictly, and as many as the server
// has counted, so that no row is two requests to anybody.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { checkProblem } from './http-expect.mjs';
import { chunks, framing, get, heads, sizes, targets } from './http-rows.mjs';
import { Counters, RawSocket, closeAll, readable } from './raw.mjs';
import { eventually, serverForFile, users } from '../e2e/harness.mjs';

let ann, counters;
let answers = 0;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
	counters = await new Counters(server).open();
}, { args: ['--log-level', 'debug'] });
after(closeAll);

/** Answers until the server closes; for rows that may stay open, until ${n}. */
async function look(text, expected, methods)
{
	const socket = await RawSocket.open(server, { methods });

	try {
		socket.send(text);
		if (expected.kind !== 'served')
			return { list: await socket.ended(), kept: false };
		const n = expected.statuses.length;
		await socket.answers(n);
		// Whatever would be left of the row is in front of this.
		socket.send(get('X-Request-Id: sentinel\r\n'));
		const list = await socket.answers(n + 1);
		assert.equal(list[n].headers.get('x-request-id'), 'sentinel', 'the connection is out of step');
		assert.equal(list[n].status, 200);
		return { list: list.slice(0, n), kept: true, more: 1 };
	} finally {
		socket.destroy();
	}
}

function judge({ list }, expected)
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

async function row(text, expected)
{
	const data = text.replaceAll('TOKEN', ann.token);
	const method = text.startsWith('HEAD') ? ['HEAD'] : [];
	const before = await counters.answered();
	const seen = await look(data, expected, method);

	judge(seen, expected);
	const wire = seen.list.length + (seen.more ?? 0);
	answers += wire;
	await eventually(async () => await counters.answered() - before === wire,
		`${wire} answers in the server's account`);
}

const tables = { framing, chunks, heads, targets, sizes };
let rows = 0;

for (const [name, table] of Object.entries(tables)) {
	describe(name, () => {
		for (const [what, text, expected] of table) {
			rows++;
			const { kind, status, statuses } = expected;
			const short = [kind, status ?? statuses ?? []].flat(2).join(' ');
			it(`${what}: ${short}: ${readable(text)}`, () => row(text, expected));
		}
	});
}

describe('after the table', () => {
	it('handled requests and the library\'s refusals are the answers', async (t) => {
		const { http_refused_library_total: library } = await counters.read();
		t.diagnostic(`${rows} rows, ${answers} answers, ${library} of them the library's`);
		assert.ok(rows > 200);
	});
});
