// SPDX-License-Identifier: MIT
//
// The hostile table of HTTP against the real server; each row is a test.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Rows, expectation } from './http-expect.mjs';
import { chunks, framing, heads, sizes, targets } from './http-rows.mjs';
import { closeAll, readable } from './raw.mjs';
import { eventually, serverForFile, users } from '../e2e/harness.mjs';

let ann;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
	await table.begin();
}, { args: ['--log-level', 'debug'] });
const table = new Rows(server);
after(closeAll);

for (const [name, rows] of Object.entries({ framing, chunks, heads, targets, sizes })) {
	describe(name, () => {
		for (const [what, text, expected] of rows) {
			it(`${what}: ${expectation(expected)}: ${readable(text)}`, () =>
				table.row(text.replaceAll('TOKEN', ann.token), expected));
		}
	});
}

describe('after the table', () => {
	it('the log has one line for each request that was handled', async () => {
		const now = await table.counters.read();
		// One more than this page can include: its own request.
		await eventually(() => now.http_requests_total + 1 ===
			(server.output().match(/ debug http\.(request|refused) /g) ?? []).length,
		`${now.http_requests_total + 1} lines`);
		assert.equal(now.log_dropped_total, 0);
	});

	it('what was sent made no line of its own in the log, nor part of one', () => {
		const lines = server.output().split('\n');
		const first = lines.findIndex((line) => / server\.ready /.test(line));
		for (const line of lines.slice(first).filter((text) => text !== '')) {
			assert.match(line, /^20\d\d-\d\d-\d\dT[\d:.]+Z (debug|info|warn|error) [a-z]+\.[a-z]+ /);
			assert.doesNotMatch(line, /[\x00-\x1f\x7f]/);
		}
	});

	it('nothing was handled that was smuggled in', async (t) => {
		t.diagnostic(await table.account());
		assert.ok(table.rows > 200);
		const handled = server.output().match(/ path=\/smuggled /g) ?? [];
		const meant = [framing, chunks, heads, targets, sizes].flat().filter(([, text, expected]) =>
			text.includes('/smuggled') && expected.kind === 'served' && expected.statuses.at(-1) === 404);
		assert.equal(handled.length, meant.length);
	});
});
