// SPDX-License-Identifier: MIT
// tags: surface quick
//
// The rate limiter, with many connections at the same time.  A user has a burst
// of two seconds' worth of requests and then the rate, whatever devices and
// connections the requests use.  A refused request gets Retry-After, and other
// users are not affected.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem, problemBody } from './expect.mjs';
import { expectStatus, rawRequest, serverForFile, sleep, users, uuid7 } from './harness.mjs';

const RATE = 20;
const BURST = 2 * RATE;
const ASKED = 4 * BURST;

const server = serverForFile({ before, after, afterEach }, undefined,
	{ args: ['--rate-limit', `${RATE}/s`] });

/**
 * Makes ${n} requests with ${ask} at once.  Returns the answers, and the
 * largest number that the limiter may admit: the burst, and the rate for as
 * long as the requests took.
 */
async function flood(n, ask)
{
	const start = performance.now();
	const answers = await Promise.all(Array.from({ length: n }, (_, i) => ask(i)));
	const seconds = (performance.now() - start) / 1000;

	return { answers, most: BURST + Math.ceil(seconds * RATE) };
}

/**
 * Asserts that ${admitted} requests are at least the burst, and not more than
 * the limiter may admit.
 */
function isBurst(admitted, { most })
{
	assert.ok(admitted >= BURST, `${admitted} were admitted, the burst is ${BURST}`);
	assert.ok(admitted <= most, `${admitted} were admitted, ${most} at most may be`);
}

/**
 * Asserts that every answer other than 200 is a refusal with Retry-After, and
 * that the limiter admitted as many requests as it may.
 */
function lookAt(flooded)
{
	const refused = flooded.answers.filter(({ status }) => status !== 200);

	for (const answer of refused) {
		problem(answer, 429, 'rate_limited');
		assert.equal(answer.headers.get('retry-after'), '1');
		assert.equal(answer.body.retry_after, 1);
	}
	isBurst(flooded.answers.length - refused.length, flooded);
}

describe('the limiter', () => {
	it('admits a burst, by as many connections as there are requests', async () => {
		const [ann] = await users(server, 'ann');
		lookAt(await flood(ASKED, () =>
			rawRequest(server, 'GET', '/v1/inbox', { token: ann.token })));
	});

	it('counts a user, not the devices', async () => {
		const [ann] = await users(server, 'ann');
		const devices = [ann, await ann.device('phone'), await ann.device('tablet')];
		lookAt(await flood(ASKED, (i) => devices[i % devices.length].get('/v1/inbox')));
	});

	it('counts what is sent by REST and by WebSocket together', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const sockets = [await ann.ws({ instance: 'a' }), await ann.ws({ instance: 'b' })];
		const message = () => ({ id: uuid7(), to: bob.name, body: 'x' });
		const flooded = await flood(ASKED, (i) => (i % 3 === 2 ?
			ann.post('/v1/messages', message()) :
			sockets[i % 3].request({ type: 'send', id: 1000 + i, message: message() })));
		let admitted = 0;

		for (const answer of flooded.answers) {
			if (answer.status === 201 || answer.type === 'sent') {
				admitted++;
			} else if (answer.type === 'error') {
				problemBody(answer.problem, 'rate_limited');
				assert.equal(answer.problem.retry_after, 1);
			} else {
				problem(answer, 429, 'rate_limited');
			}
		}
		isBurst(admitted, flooded);
		await bob.event((e) => e.seq === admitted, 'all that was admitted');
		await Promise.all(sockets.map((ws) => ws.close()));
	});

	it('a client that comes back at the given time is admitted', async () => {
		const [ann] = await users(server, 'ann');
		const { answers } = await flood(ASKED, () => ann.get('/v1/inbox'));
		const { headers } = answers.find(({ status }) => status === 429);
		await sleep(Number(headers.get('retry-after')) * 1000);
		expectStatus(await ann.get('/v1/inbox'), 200);
	});

	it('others are admitted while one asks too much', async () => {
		const [ann, ...others] = await users(server, 'ann', 'bob', 'cat', 'dan');
		const [{ answers }, ...theirs] = await Promise.all([
			flood(2 * ASKED, () => ann.get('/v1/inbox')),
			...others.map((user) => flood(BURST, () => user.get('/v1/inbox'))),
		]);
		assert.ok(answers.some(({ status }) => status === 429), 'it was not too much');
		for (const { answers: all } of theirs)
			all.forEach((answer) => expectStatus(answer, 200));
	});
});
