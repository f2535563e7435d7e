// SPDX-License-Identifier: MIT
//
// Guessing passwords.  A client that tries many passwords of an account is
// stopped, and the owner of the account is not affected.  A name that does not
// exist costs the same work and gets the same answers as one that exists.  The
// queue for argon2 is bounded, and no single network can fill all of it.  The
// tests count runs of argon2 (twinbox_passwords_total), cheap ones where the cost
// does not matter.  They use the clock only to find out if a run was left out.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';

import { problem } from '../e2e/expect.mjs';
import {
	PASSWORD, REAL_PASSWORDS, User, eventually, expectStatus, freshName, serverForFile, startServer, users, within,
} from '../e2e/harness.mjs';
import { userCommand } from './who-world.mjs';

const GUESSES = 20; // allowed for one name from one network
const server = serverForFile({ before, after, afterEach });

let network = 1;
/** Returns an address that no other test uses. */
const address = () => `127.0.${1 + (network >> 8)}.${network++ & 255}`;

/** Makes a POST of ${json} from ${from}.  Returns {status, headers, body}. */
function post(to, target, json, from, token)
{
	const url = new URL(to.url);
	const text = JSON.stringify(json);

	return within(new Promise((resolve, reject) => {
		const request = http.request({ host: url.hostname, port: url.port, method: 'POST',
			path: target, localAddress: from, agent: false, headers: {
				'content-type': 'application/json', 'content-length': Buffer.byteLength(text),
				...token && { authorization: `Bearer ${token}` } } }, (response) => {
			let body = '';
			response.setEncoding('utf8').on('data', (piece) => (body += piece));
			response.on('end', () => resolve({ method: 'POST', target, text: body,
				status: response.statusCode, headers: new Headers(response.headers),
				body: JSON.parse(body || 'null') }));
		});
		request.on('error', reject);
		request.end(text);
	}), 60_000, `POST ${target}`);
}

const logIn = (name, password, from, to = server) =>
	post(to, '/v1/tokens', { name, password, device: 'x' }, from);

async function metric(name, of = server)
{
	const { text } = await of.rest().get('/metrics');
	return Number(new RegExp(`^twinbox_${name} (\\d+)$`, 'm').exec(text)[1]);
}

/** Returns the result of ${deed} and the number of argon2 runs of ${of} for it. */
async function counted(deed, of = server)
{
	const was = await metric('passwords_total', of);
	const result = await deed();
	return [result, await metric('passwords_total', of) - was];
}

function limited(answer)
{
	problem(answer, 429, 'rate_limited');
	const seconds = Number(answer.headers.get('retry-after'));
	assert.ok(seconds >= 1 && seconds <= 60, `Retry-After: ${seconds}`);
	assert.equal(answer.body.retry_after, seconds);
}

const bare = ({ status, body }) => JSON.stringify({ status, ...body, request_id: 0 });

/**
 * Calls ${ask} at once as many times as the login throttle admits, and some
 * more.  `stopped` resolves with the first answer that was not admitted, `all`
 * with all answers.  Only one new try is added in six seconds, so it does not
 * matter.
 */
function hammer(ask)
{
	let stop;
	const stopped = new Promise((resolve) => (stop = resolve));
	const all = Promise.all(Array.from({ length: GUESSES + 6 }, async (_, i) => {
		const answer = await ask(`guess ${i}`);
		if (answer.status === 429)
			stop(answer);
		return answer;
	}));

	return { stopped: within(stopped, 30_000, 'one too many is refused'), all };
}

/**
 * Asserts that the admitted answers of hammer() have ${status}.  Returns their
 * number.
 */
function letThrough(answers, status, code)
{
	const heard = answers.filter((answer) => answer.status !== 429);

	for (const answer of heard)
		problem(answer, status, code);
	answers.filter((answer) => answer.status === 429).forEach(limited);
	assert.ok(heard.length === GUESSES || heard.length === GUESSES + 1,
		`${heard.length} were let through`);
	return heard.length;
}

describe('who hammers at an account', () => {
	it('is stopped, and its owner is not', async () => {
		const [ann] = await users(server, 'ann');
		const ws = await ann.ws();
		const from = address();
		const [heard, runs] = await counted(async () => {
			const { stopped, all } = hammer((word) => logIn(ann.name, word, from));
			await stopped;
			// From this network even the right password is refused.
			limited(await logIn(ann.name, PASSWORD, from));
			return letThrough(await all, 401, 'wrong_password');
		});
		assert.equal(runs, heard, 'who is stopped costs no argon2');
		// The owner can log in from any other network, and existing
		// sessions go on.
		expectStatus(await logIn(ann.name, PASSWORD, undefined), 201);
		expectStatus(await logIn(ann.name, PASSWORD, address()), 201);
		expectStatus(await ann.get('/v1/inbox'), 200);
		assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
		assert.equal((await post(server, '/v1/me/password',
			{ password: PASSWORD, new_password: 'another password' }, undefined, ann.token)).status, 204);
		await ws.close();
	});

	it('is stopped as well with a token of the victim', async () => {
		const [ann] = await users(server, 'ann');
		const from = address();
		const change = (password) => post(server, '/v1/me/password',
			{ password, new_password: 'another password' }, from, ann.token);
		const { stopped, all } = hammer(change);
		await stopped;
		limited(await change(PASSWORD));
		letThrough(await all, 403, 'forbidden');
		expectStatus(await logIn(ann.name, PASSWORD, address()), 201);
	});

	it('the right password does not count as a guess, however often', async () => {
		const [ann] = await users(server, 'ann');
		const from = address();
		for (let i = 0; i < 3; i++)
			problem(await logIn(ann.name, 'wrong', from), 401, 'wrong_password');
		for (let i = 0; i < GUESSES + 4; i++)
			expectStatus(await logIn(ann.name, PASSWORD, from), 201);
	});

	it('one name is not another, one address not its neighbour', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const from = address();
		const { stopped, all } = hammer((word) => logIn(ann.name, word, from));
		await stopped;
		expectStatus(await logIn(bob.name, PASSWORD, from), 201);
		problem(await logIn(ann.name, 'wrong', address()), 401, 'wrong_password');
		await all;
	});
});

describe('a name that nobody has', () => {
	it('costs what a name does, and answers the same, until the end', async () => {
		const [ann, gone] = await users(server, 'ann', 'gone');
		await userCommand(server, ['disable', gone.name]);
		const names = { known: ann.name, unknown: freshName('nobody'), disabled: gone.name,
			'no name at all': 'Not A Name', 'a space': ' ' };
		const seen = {};
		for (const [what, name] of Object.entries(names)) {
			const from = address();
			const [answers, runs] = await counted(() =>
				hammer((word) => logIn(name, word, from)).all);
			assert.equal(runs, letThrough(answers, 401, 'wrong_password'), `argon2 for ${what}`);
			seen[what] = [...new Set(answers.map((answer) => bare({ ...answer,
				body: { ...answer.body, retry_after: 0 } })))].sort();
			assert.equal(seen[what].length, 2);
			assert.deepEqual(seen[what], seen.known, what);
		}
	});

	it('… by the clock too', async (t) => {
		const dear = await startServer({ env: REAL_PASSWORDS });
		t.after(() => dear.stop());
		const [ann, gone] = await users(dear, 'ann', 'gone');
		await userCommand(dear, ['disable', gone.name]);
		const names = { known: ann.name, unknown: freshName('nobody'), disabled: gone.name,
			'no name at all': 'Not A Name' };
		const took = Object.fromEntries(Object.keys(names).map((what) => [what, []]));
		const ROUNDS = 9;
		// The cases take turns, so that other load on the machine
		// affects all of them alike.
		const [, runs] = await counted(async () => {
			const from = address();
			for (let i = 0; i < ROUNDS; i++) {
				for (const [what, name] of Object.entries(names)) {
					const start = performance.now();
					problem(await logIn(name, 'wrong', from, dear), 401,
						'wrong_password');
					took[what].push(performance.now() - start);
				}
			}
		}, dear);
		assert.equal(runs, Object.keys(names).length * ROUNDS, 'runs of argon2');
		const medians = Object.entries(took).map(([what, list]) =>
			[what, list.sort((one, other) => one - other)[list.length >> 1]]);
		const told = medians.map(([what, ms]) => `${what} ${ms.toFixed(2)} ms`).join(', ');
		t.diagnostic(`medians of ${ROUNDS}: ${told}`);
		// Without argon2 it would take a twentieth of the time.
		const all = medians.map(([, ms]) => ms);
		assert.ok(Math.max(...all) < 3 * Math.min(...all), told);
	});

	it('is not in the log, for it may be a password in the wrong field', async () => {
		const [ann] = await users(server, 'ann');
		const typed = freshName('secret');
		problem(await logIn(typed, PASSWORD, address()), 401, 'wrong_password');
		problem(await logIn(ann.name, 'wrong', address()), 401, 'wrong_password');
		await eventually(() => server.output().includes(`auth.refused user=${ann.name} `),
			'the refusal of a name that is one');
		assert.match(server.output(), /auth.refused user=- /);
		assert.ok(!server.output().includes(typed));
	});
});

describe('what waits for argon2', () => {
	it('is bounded, and one network has at most half of it', async (t) => {
		const dear = await startServer({ env: REAL_PASSWORDS });
		t.after(() => dear.stop());
		const [ann] = await users(dear, 'ann');
		const from = address();
		const counts = {};
		let ready;
		const busy = new Promise((resolve) => (ready = resolve));
		const flood = Promise.all(Array.from({ length: 90 }, async (_, i) => {
			const answer = await logIn(freshName('nobody'), `flood ${i}`, from, dear);
			counts[answer.status] = (counts[answer.status] ?? 0) + 1;
			if (answer.status === 503) {
				problem(answer, 503, 'busy');
				assert.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
				ready();
			}
		}));
		await within(busy, 30_000, 'a flood is refused');
		// Meanwhile another user logs in at once.
		expectStatus(await logIn(ann.name, PASSWORD, address(), dear), 201);
		const done = counts[401] ?? 0;
		await flood;
		t.diagnostic(`of 90 at once ${JSON.stringify(counts)}; logged in after ${done} of them`);
		assert.ok(counts[401] >= 32 && counts[503] >= 1, JSON.stringify(counts));
		assert.equal(counts[401] + counts[503], 90, JSON.stringify(counts));
	});
});

describe('a crowd that registers', () => {
	const NETWORKS = 40;
	const EACH = 3;
	const LOGINS = 10;

	/**
	 * Registers users from all networks until `stop()`.  `counts` has the
	 * number of answers by status.
	 */
	function crowd(target)
	{
		const counts = {};
		let stopped = false;
		const register = async (from) => {
			while (!stopped) {
				const { status } = await post(target, '/v1/users',
					{ name: freshName('new'), password: PASSWORD }, from);
				counts[status] = (counts[status] ?? 0) + 1;
			}
		};
		const all = Promise.all(Array.from({ length: NETWORKS }, () => {
			const from = address();
			return Array.from({ length: EACH }, () => register(from));
		}).flat());

		return { counts, stop: () => { stopped = true; return all; } };
	}

	it('from 40 networks does not keep users from logging in, nor they it', async (t) => {
		const other = await startServer({ args: ['--rate-limit', 'off'], env: REAL_PASSWORDS });
		t.after(() => other.stop());
		const [ann] = await users(other, 'ann');
		const home = address();
		expectStatus(await logIn(ann.name, PASSWORD, home, other), 201);
		const { counts, stop } = crowd(other);
		await eventually(() => counts[503] > 0, 'all places of newcomers are taken', 60_000);

		const took = { known: [], stranger: [] };
		const runs = { known: [], stranger: [] };
		for (let i = 0; i < LOGINS; i++) {
			for (const [what, from] of [['known', home], ['stranger', address()]]) {
				const was = await metric('passwords_total', other);
				const start = performance.now();
				expectStatus(await logIn(ann.name, PASSWORD, from, other), 201);
				took[what].push(performance.now() - start);
				runs[what].push(await metric('passwords_total', other) - was);
			}
		}
		const registered = counts[201];
		await eventually(() => counts[201] > registered, 'registrations go on', 60_000);
		await stop();
		for (const [what, list] of Object.entries(took)) {
			list.sort((one, another) => one - another);
			t.diagnostic(`log-in of a ${what} pair: p50 ${list[list.length >> 1].toFixed(0)} ms, ` +
				`p95 ${list[Math.ceil(list.length * 0.95) - 1].toFixed(0)} ms (aim: 2000 ms)`);
		}
		for (const [what, list] of Object.entries(runs)) {
			list.sort((one, another) => one - another);
			t.diagnostic(`log-in of a ${what} pair: ${list.join(' ')} runs of argon2`);
			// A log-in waits for the job that is running, for at
			// most one job of each class whose turn comes first,
			// and for its own; meanwhile 64 registrations wait.
			// Further jobs run while the metrics are read, the more
			// the longer this process waits for a processor.  So a
			// single log-in proves nothing, but the median does.
			assert.ok(list[LOGINS >> 1] <= 8, `${what}: ${list} runs of argon2`);
		}
		t.diagnostic(`registrations of ${NETWORKS} networks: ${JSON.stringify(counts)}`);
	});

	it('has a rate of all networks together, which log-ins do not need', async (t) => {
		const other = await startServer({
			args: ['--rate-limit', 'default', '--registration-rate', '1'] });
		t.after(() => other.stop());
		const join = (from) => post(other, '/v1/users', { name: freshName('new'), password: PASSWORD }, from);
		const [first] = await Promise.all(Array.from({ length: 5 }, async () => {
			const answer = expectStatus(await join(address()), 201);
			return answer.body.name;
		}));
		const late = await join(address());
		limited(late);
		assert.equal(late.body.detail, 'too many register here at the moment');
		assert.ok(late.body.retry_after > 30, `Retry-After: ${late.body.retry_after}`);
		assert.equal(await metric('registrations_refused_total', other), 1);
		expectStatus(await logIn(first, PASSWORD, address(), other), 201);
		// The network is not charged for what other networks have used
		// up: more requests than its own limit get the same refusal.
		const from = address();
		for (let i = 0; i < 55; i++)
			assert.equal((await join(from)).body.detail, 'too many register here at the moment');
	});
});

describe('new users', () => {
	it('are limited by network where requests are', async (t) => {
		const other = await startServer({
			args: ['--rate-limit', 'default'], env: REAL_PASSWORDS });
		t.after(() => other.stop());
		const from = address();
		const counts = {};
		await Promise.all(Array.from({ length: 70 }, async () => {
			const answer = await post(other, '/v1/users', { name: freshName('new'), password: PASSWORD }, from);
			counts[answer.status] = (counts[answer.status] ?? 0) + 1;
			if (answer.status === 429)
				limited(answer);
		}));
		// Some of the admitted ones were answered 503 because the queue
		// for argon2 was full.
		const heard = counts[201] + (counts[503] ?? 0);
		t.diagnostic(`of 70 at once ${JSON.stringify(counts)}`);
		assert.ok(heard >= 50 && heard <= 52 && counts[201] >= 32, JSON.stringify(counts));
		assert.equal(counts[429], 70 - heard);
		assert.equal((await post(other, '/v1/users', { name: freshName('new'), password: PASSWORD },
			address())).status, 201);
	});

	it('a user\'s requests are limited, and those of another are not', async (t) => {
		const other = await startServer({
			args: ['--rate-limit', '5/s'], env: REAL_PASSWORDS });
		t.after(() => other.stop());
		const [ann, bob] = await users(other, 'ann', 'bob');
		assert.ok(ann instanceof User);
		const answers = await Promise.all(Array.from({ length: 40 }, () => ann.get('/v1/inbox')));
		const refused = answers.filter((answer) => answer.status === 429);
		assert.ok(refused.length >= 10, `${refused.length} of 40`);
		limited(refused[0]);
		expectStatus(await bob.get('/v1/inbox'), 200);
	});
});
