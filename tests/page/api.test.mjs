// SPDX-License-Identifier: MIT
// tags: unit
//
// The REST client of the page (web/src/api.ts) in node: the content of a
// request, how each answer is treated, and how long the page waits for one.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { Browser, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

const PATIENCE = 20_000; // the time-out in api.ts, in milliseconds
const PATH = '/v1/things';

let page;

before(async () => {
	page = await modules('api.ts');
});

const PROBLEM = { type: 'about:blank', title: 'No', status: 410, detail: 'gone', code: 'cursor_expired', oldest: 7 };

/** Makes a browser with a client in it.  ${answer} answers its requests. */
function client(t, answer)
{
	const browser = new Browser(t);
	const logouts = [];
	const api = new page.Api('secret', () => logouts.push('logged out'));
	const answers = (next) => {
		for (const method of ['GET', 'POST', 'DELETE'])
			browser.answers[`${method} ${PATH}`] = next;
	};

	answers(answer);
	return { api, browser, logouts, answers };
}

describe('a request', () => {
	const sent = { query: '', authorization: 'Bearer secret', accept: 'application/json', cache: 'no-store',
		credentials: 'omit', type: undefined, json: undefined };

	it('has the token, and no body when it only asks', async (t) => {
		const { api, browser } = client(t, () => [200, { of: 1 }]);
		assert.deepEqual(await api.get(`${PATH}?limit=5&after=a%26b`), { of: 1 });
		assert.deepEqual(browser.requests, [{ ...sent, what: `GET ${PATH}`, query: '?limit=5&after=a%26b' }]);
	});

	it('says of its body that it is JSON', async (t) => {
		const { api, browser } = client(t, () => [201, { of: 2 }]);
		assert.deepEqual(await api.post(PATH, { name: 'ann' }), { of: 2 });
		assert.deepEqual(browser.requests, [{ ...sent, what: `POST ${PATH}`, type: 'application/json', json: { name: 'ann' } }]);
	});

	it('to delete is done when it is answered', async (t) => {
		let answer;
		const { api, browser } = client(t, () => new Promise((resolve) => { answer = resolve; }));
		let done = false;
		const deleted = api.delete(PATH).then((value) => {
			done = true;
			return value;
		});
		await turn();
		assert.equal(done, false);
		assert.deepEqual(browser.requests, [{ ...sent, what: `DELETE ${PATH}` }]);
		answer([204, '']);
		assert.equal(await deleted, undefined);
	});

	it('of somebody who is not logged in has no token', async (t) => {
		const { browser } = client(t, () => [200, null]);
		await new page.Api().get(PATH);
		assert.equal(browser.requests[0].authorization, undefined);
	});
});

describe('an answer', () => {
	/**
	 * Returns a function that returns the problem which the client makes of
	 * the given refusal.
	 */
	function refusals(t)
	{
		const { api, logouts, answers } = client(t);

		return async (...answer) => {
			answers(() => answer);
			const error = await api.get(PATH).then(() => assert.fail('it is refused'), (why) => why);
			assert.ok(error instanceof page.Refused, String(error));
			return { ...error.problem, message: error.message, logouts: logouts.splice(0).length };
		};
	}

	it('a problem document is thrown as it is', async (t) => {
		const refused = refusals(t);
		assert.deepEqual(await refused(410, PROBLEM), { ...PROBLEM, message: 'gone', logouts: 0 });
		assert.equal((await refused(410, { ...PROBLEM, detail: '' })).message, 'No');
	});

	for (const [status, code] of [[400, 'bad_request'], [404, 'bad_request'], [499, 'bad_request'],
		[500, 'busy'], [502, 'busy'], [504, 'busy']])
		it(`${status} of a proxy becomes a problem document`, async (t) => {
			const refused = refusals(t);
			assert.deepEqual(await refused(status, '<html>nginx</html>'), { title: 'Error', status, code,
				detail: `The server answered ${status}.`, message: `The server answered ${status}.`, logouts: 0 });
			assert.equal((await refused(status, '')).code, code);
		});

	it('401 says that the token is none any more; nothing else does', async (t) => {
		const refused = refusals(t);
		assert.equal((await refused(401, { ...PROBLEM, status: 401 })).logouts, 1);
		assert.equal((await refused(403, { ...PROBLEM, status: 403 })).logouts, 0);
		assert.equal((await refused(404, '')).logouts, 0);
	});

	it('401 to who has no token is a refusal like any other', async (t) => {
		const { browser } = client(t, () => [401, { ...PROBLEM, status: 401 }]);
		const logouts = [];
		await assert.rejects(new page.Api('', () => logouts.push('')).post(PATH, {}), page.Refused);
		await assert.rejects(new page.Api('secret').post(PATH, {}), page.Refused, 'nobody wants to know');
		assert.deepEqual([logouts, browser.requests.length], [[], 2]);
	});

	it('that is well but no JSON comes from somebody between', async (t) => {
		const { api } = client(t, () => [200, '<html>Please log in to this network</html>']);
		await assert.rejects(api.get(PATH), page.Unreachable);
	});

	it('that does not come is waited for 20 s', async (t) => {
		const { api, browser } = client(t, () => null);
		let end;
		api.get(PATH).catch((error) => { end = error; });
		await browser.clock.pass(PATIENCE - 1);
		assert.equal(end, undefined);
		await browser.clock.pass(1);
		assert.ok(end instanceof page.Unreachable);
		assert.equal(end.message, 'The server cannot be reached.');
	});

	it('whatever it is, ends the waiting', async (t) => {
		const { api, browser, answers } = client(t);
		for (const answer of [() => [200, {}], () => [500, ''], () => { throw new TypeError('Failed to fetch'); }]) {
			answers(answer);
			await api.get(PATH).catch(() => undefined);
			assert.equal(browser.clock.timers.size, 0);
		}
	});
});

it('what may do better later: too many, busy, broken, full', () => {
	assert.deepEqual([400, 401, 404, 409, 413, 422, 429, 500, 501, 502, 503, 504, 507]
		.filter((status) => page.isPassing({ ...PROBLEM, status })), [429, 500, 503, 507]);
	// A quota of the day delays all messages.  A quota that is about the
	// recipient delays only messages to that recipient.
	const quota = { ...PROBLEM, status: 429, code: 'quota_used' };
	for (const other of [quota, { ...quota, pointer: '' }, { ...quota, pointer: '/body' },
		{ ...quota, code: 'rate_limited', pointer: '/to' }])
		assert.deepEqual([page.isOfRecipient(other), page.isPassing(other)], [false, true]);
	// The pointer has this form over REST and in a frame.
	for (const pointer of ['/to', '/message/to'])
		assert.ok(page.isOfRecipient({ ...quota, pointer }));
	// A full inbox concerns the recipient, a full disk the server.
	const full = { ...PROBLEM, status: 507, code: 'inbox_full' };
	assert.ok(page.isOfRecipient(full));
	assert.ok(!page.isOfRecipient({ ...full, code: 'storage_full' }));
});
