// SPDX-License-Identifier: MIT
//
// The hostile table of HTTP against the real server, one row a test.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Rows, expectation } from './http-expect.mjs';
import { chunks, framing, heads, sizes, targets } from './http-rows.mjs';
import { closeAll, readable } from './raw.mjs';
import { serverForFile, users } from '../e2e/harness.mjs';

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
	it('nothing was handled that was smuggled in', async (t) => {
		t.diagnostic(await table.account());
		assert.ok(table.rows > 200);
		const handled = server.output().match(/ path=\/smuggled /g) ?? [];
		const meant = [framing, chunks, heads, targets, sizes].flat().filter(([, text, expected]) =>
			text.includes('/smuggled') && expected.kind === 'served' && expected.statuses.at(-1) === 404);
		assert.equal(handled.length, meant.length);
	});
});
