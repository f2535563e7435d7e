// SPDX-License-Identifier: MIT
// tags: surface
//
// Shows that the contract check can fail: each answer and frame here breaks one
// rule.  No server runs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

import { checkAnswer, checkFrame, seen, template } from './contract.mjs';

const EVENT = {
	seq: 1, event_id: '01900000-0000-7000-8000-000000000001', kind: 'message', own: false,
	conversation_seq: 1, id: '01900000-0000-7000-8000-000000000002',
	conversation: '01900000-0000-7000-8000-000000000003', from: 'ann', to: 'bob', body: 'x',
	content_type: 'text/plain', metadata: {}, correlation_id: null, reply_to: null,
	event_time: '2020-01-01T00:00:00.000Z', delivered_at: '2020-01-01T00:00:00.000Z',
	read_at: null, attempt: 1,
};

const page = (change = {}) => ({
	method: 'GET', target: '/v1/inbox?after=0', status: 200,
	headers: new Headers({ 'x-request-id': 'r', 'cache-control': 'no-store',
		'content-type': 'application/json', ...change.headers }),
	body: { epoch: 'e', events: [EVENT], next: 1, head: 1, oldest: 1, acked: 0, unread: 1,
		has_more: false, ...change.body },
	...change.answer,
});

const refusal = (change = {}) => ({
	method: 'GET', target: '/v1/inbox', status: 401,
	headers: new Headers({ 'x-request-id': 'r', 'content-type': 'application/problem+json',
		'www-authenticate': 'Bearer', ...change.headers }),
	body: { type: '/problems/unauthenticated', title: 'No valid token', status: 401,
		detail: 'none', instance: '/v1/inbox', code: 'unauthenticated', request_id: 'r',
		...change.body },
	...change.answer,
});

function without(answer, header)
{
	answer.headers.delete(header);
	return answer;
}

const URL_HERE = 'http://127.0.0.1:1';

describe('answers', () => {
	it('good ones pass, and are counted', () => {
		const was = seen();
		checkAnswer(page(), URL_HERE);
		checkAnswer(refusal(), URL_HERE);
		assert.equal(seen().answers, was.answers + 2);
		assert.equal(seen().bodies, was.bodies + 2);
	});

	it('a path falls under its template', () => {
		assert.equal(template('/v1/inbox/17'), '/v1/inbox/{seq}');
		assert.equal(template('/v1/inbox/unread?x=1'), '/v1/inbox/unread');
		assert.equal(template('/v1/nonsense'), undefined);
	});

	for (const [what, answer] of [
		['no X-Request-Id', without(page(), 'x-request-id')],
		['no Cache-Control', without(page(), 'cache-control')],
		['a missing member', page({ body: { epoch: undefined } })],
		['a member too many', page({ body: { colour: 'red' } })],
		['a wrong type', page({ body: { head: '1' } })],
		['an event with a wrong time', page({ body: { events: [{ ...EVENT, event_time: 'now' }] } })],
		['an event without its body', page({ body: { events: [{ ...EVENT, body: undefined }] } })],
		['a hole', page({ body: { events: [EVENT, { ...EVENT, seq: 3 }] } })],
		['a status that is not listed', page({ answer: { status: 202 } })],
		['a type that is not listed', page({ headers: { 'content-type': 'text/html' } })],
		['an operation that is not listed', page({ answer: { target: '/v1/nonsense' } })],
		['a refusal that is not a problem document', refusal({ headers: { 'content-type': 'text/plain' } })],
		['another status inside', refusal({ body: { status: 403 } })],
		['a code that does not fit its type', refusal({ body: { code: 'forbidden' } })],
		['a type elsewhere', refusal({ body: { type: 'https://example.org/problems/unauthenticated' } })],
		['another request id', refusal({ body: { request_id: 'q' } })],
		['no WWW-Authenticate', without(refusal(), 'www-authenticate')],
		['an unknown member', refusal({ body: { colour: 'red' } })],
		['429 without Retry-After', refusal({ answer: { status: 429 },
			body: { status: 429, code: 'queue_full', type: '/problems/queue-full' } })],
		['405 without Allow', refusal({ answer: { status: 405 }, body: { status: 405,
			code: 'method_not_allowed', type: '/problems/method-not-allowed' } })],
		['JSON without a newline', page({ answer: { text: '{}' } })],
	]) {
		it(`fails: ${what}`, () =>
			assert.throws(() => checkAnswer(answer, URL_HERE), /^Error: contract: /));
	}

	// Each is a complete problem document that the schema of `default`
	// would accept.
	for (const [method, target, status, code] of [
		['GET', '/v1/inbox', 500, 'internal'],
		['GET', '/v1/inbox', 418, 'bad_request'],
		['GET', '/v1/inbox', 507, 'inbox_full'],
		['POST', '/v1/messages', 500, 'internal'],
		['POST', '/v1/messages', 405, 'method_not_allowed'],
		['GET', '/healthz', 401, 'unauthenticated'],
		['GET', '/metrics', 418, 'bad_request'],
		['HEAD', '/metrics', 500, 'internal'],
		['GET', '/v1/nonsense', 500, 'internal'],
		['BREW', '/v1/inbox', 418, 'bad_request'],
	]) {
		it(`fails: ${method} ${target} is ${status}, which is not listed`, () => {
			const answer = refusal({ headers: { allow: 'GET' }, answer: { method, target, status },
				body: { status, code, type: `/problems/${code.replaceAll('_', '-')}` } });
			assert.throws(() => checkAnswer(answer, URL_HERE),
				/openapi\.yaml (does not list this status|has no such operation)/);
		});
	}

	it('what answers nobody knows what is listed somewhere', () => {
		const unknown = (status, code) => refusal({ answer: { target: undefined, status },
			body: { status, code, type: `/problems/${code.replaceAll('_', '-')}` } });
		checkAnswer(unknown(413, 'body_too_large'), URL_HERE);
		checkAnswer(page({ answer: { target: undefined } }), URL_HERE);
		assert.throws(() => checkAnswer(unknown(500, 'internal'), URL_HERE), /no such operation/);
		assert.throws(() => checkAnswer(page({ answer: { target: undefined, status: 203 } }), URL_HERE),
			/no such operation/);
	});

	it('fails: a body that is no problem, where there is no operation', () => {
		const answer = refusal({ answer: { target: '/v1/nonsense', status: 404 },
			body: { status: 404, code: 'not_found', type: '/problems/not-found' } });
		checkAnswer(answer, URL_HERE);
		answer.body.colour = 'red';
		assert.throws(() => checkAnswer(answer, URL_HERE), /must NOT have/);
	});
});

describe('frames', () => {
	it('good ones pass, and are counted', () => {
		const was = seen();
		checkFrame({ type: 'event', ...EVENT });
		checkFrame({ type: 'caught_up', seq: 0 });
		checkFrame({ type: 'typing', conversation: EVENT.conversation, from: 'ann' });
		assert.equal(seen().frames, was.frames + 3);
	});

	for (const [what, frame] of [
		['no type', { seq: 1 }],
		['type not first', { seq: 1, type: 'caught_up' }],
		['an unknown type', { type: 'dance' }],
		['a member too many', { type: 'caught_up', seq: 1, colour: 'red' }],
		['a missing member', { type: 'caught_up' }],
		['a wrong type', { type: 'caught_up', seq: '1' }],
		['an event without its body', { type: 'event', ...EVENT, body: undefined }],
		['an error without a problem', { type: 'error', re: 1 }],
		['an error whose problem has no code', { type: 'error', problem: { type: '/problems/busy',
			title: 'x', status: 503, detail: 'x' } }],
	])
		it(`fails: ${what}`, () => assert.throws(() => checkFrame(frame), /contract: /));
});

describe('the count at the end of a test file', () => {
	const ended = (...lines) => {
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'twinbox-contract-'));
		const file = path.join(dir, 'one.test.mjs');
		const { NODE_TEST_CONTEXT: _context, ...env } = process.env;

		try {
			fs.writeFileSync(file, [`import { checkFrame, expectAnswers } from '${
				new URL('contract.mjs', import.meta.url)}';`, ...lines].join('\n'));
			const { status, stdout } = spawnSync(process.execPath,
				['--test', '--test-reporter=tap', file], { env, encoding: 'utf8' });
			return { status, stdout };
		} finally {
			fs.rmSync(dir, { recursive: true });
		}
	};

	it('is reported', () => {
		const { status, stdout } = ended('expectAnswers();', "checkFrame({ type: 'caught_up', seq: 0 });");
		assert.equal(status, 0, stdout);
		assert.match(stdout, /^# contract: one\.test\.mjs: 0 answers, 0 bodies, 1 frames$/m);
	});

	it('fails: a server was asked, and nothing was checked', () => {
		const { status, stdout } = ended('expectAnswers();');
		assert.notEqual(status, 0, stdout);
		assert.match(stdout, /^# contract: a server was asked, and nothing that it said was checked$/m);
	});

	it('is nothing to a file that asks no server', () => {
		const { status, stdout } = ended('');
		assert.equal(status, 0, stdout);
		assert.doesNotMatch(stdout, /# contract: /);
	});
});
