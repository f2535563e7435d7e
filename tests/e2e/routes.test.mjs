// SPDX-License-Identifier: MIT
// tags: surface
//
// openapi.yaml lists all routes of the contract.  Routes of later versions
// answer 501, and routes of this version never do.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { document } from './contract.mjs';
import { problem } from './expect.mjs';
import { rawRequest, serverForFile, users } from './harness.mjs';

let ann;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann] = await users(server, 'ann');
});

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const ID = '01900000-0000-7000-8000-000000000000';

const operations = Object.entries(document('openapi.yaml').paths).flatMap(([path, item]) =>
	METHODS.filter((method) => item[method]).map((method) => ({
		method: method.toUpperCase(), path, operation: item[method],
	})));
const later = operations.filter(({ operation }) => operation.responses[501]);

const fill = (path) => path.replace(/\{(\w+)\}/g, (_all, name) =>
	({ seq: '1', name: 'x', slug: 'bad-request', address: 'nobody-there', user: 'nobody-there',
		emoji: '%F0%9F%91%8D', hash: 'a'.repeat(64) })[name] ?? ID);

async function ask({ method, path, operation })
{
	const types = Object.keys(operation.requestBody?.content ?? {});
	const body = types.length ? '{}' : undefined;
	const type = types[0]?.replace('*/*', 'application/octet-stream').replace('text/*', 'text/plain');
	const headers = types.length ? { 'content-type': type, 'content-length': 2 } : {};

	return rawRequest(server, method, fill(path), { token: ann.token, headers, body });
}

describe('openapi.yaml', () => {
	const needed = [
		'GET /v1', 'POST /v1/users', 'POST /v1/tokens', 'GET /v1/tokens', 'DELETE /v1/tokens/{}',
		'PATCH /v1/tokens/{}', 'POST /v1/me/password', 'DELETE /v1/me', 'POST /v1/messages',
		'POST /v1/to/{}', 'GET /v1/inbox', 'GET /v1/inbox/{}', 'POST /v1/inbox/ack',
		'POST /v1/inbox/read', 'GET /v1/inbox/unread', 'GET /v1/outbox', 'GET /v1/outbox/{}',
		'DELETE /v1/outbox/{}', 'POST /v1/outbox/{}/retry', 'GET /v1/messages/{}',
		'PATCH /v1/messages/{}', 'DELETE /v1/messages/{}', 'PUT /v1/messages/{}/reactions/{}',
		'DELETE /v1/messages/{}/reactions/{}', 'POST /v1/conversations', 'GET /v1/conversations',
		'GET /v1/conversations/{}', 'PATCH /v1/conversations/{}',
		'PUT /v1/conversations/{}/members/{}', 'DELETE /v1/conversations/{}/members/{}',
		'PUT /v1/conversations/{}/mute', 'GET /v1/conversations/{}/messages', 'GET /v1/search',
		'PUT /v1/me/blocks/{}', 'DELETE /v1/me/blocks/{}', 'POST /v1/blobs', 'GET /v1/blobs/{}',
		'GET /v1/export', 'POST /v1/import', 'PUT /v1/push-subscriptions/{}',
		'DELETE /v1/push-subscriptions/{}', 'GET /v1/ws', 'GET /healthz', 'GET /readyz',
		'GET /metrics', 'GET /openapi.yaml', 'GET /asyncapi.yaml', 'GET /problems/{}',
		'GET /.well-known/twinbox', 'POST /v1/federation/deliver',
	];
	const has = new Set(operations.map(({ method, path }) =>
		`${method} ${path.replace(/\{\w+\}/g, '{}')}`));

	for (const one of needed)
		it(`lists ${one}`, () => assert.ok(has.has(one)));
});

describe('routes of later versions', () => {
	it('there are some, and not those of this one', () => {
		assert.ok(later.length >= 15, `${later.length} routes answer 501`);
		for (const path of ['/v1/messages', '/v1/to/{address}', '/v1/inbox', '/v1/inbox/ack',
			'/v1/inbox/read', '/v1/outbox', '/v1/outbox/{id}', '/v1/conversations/{id}/messages',
			'/v1/tokens', '/v1/users', '/v1/ws'])
			assert.ok(!later.some((one) => one.path === path && one.method !== 'PATCH'), path);
	});

	for (const one of later) {
		it(`${one.method} ${one.path} is 501`, async () => {
			const answer = await ask(one);
			// A user who is not an administrator learns nothing
			// about the admin routes.
			if (one.operation.tags.includes('admin') && answer.status === 403)
				problem(answer, 403, 'forbidden');
			else
				problem(answer, 501, 'not_implemented');
		});
	}
});

describe('routes of this version', () => {
	for (const one of operations.filter((one) => !later.includes(one))) {
		if (one.path === '/v1/ws')
			continue;
		it(`${one.method} ${one.path} is not 501 and no 5xx`, async () => {
			const answer = await ask(one);
			assert.ok(answer.status < 500, answer.text);
		});
	}
});
