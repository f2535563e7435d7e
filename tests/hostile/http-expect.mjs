// SPDX-License-Identifier: MIT
//
// What the hostile HTTP tests expect of a refusal.

import assert from 'node:assert/strict';

import { UUID } from '../e2e/contract.mjs';

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
