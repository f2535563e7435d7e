// SPDX-License-Identifier: MIT
//
// The ends of sessions: a token is revoked, a password is changed, a user is
// disabled.  The user's open WebSockets and waiting long-polls end within a
// second, measured by the server's own log, and the tokens are refused at once.
// Other users and devices go on.  The times are printed.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator, sendMany, untilDead } from '../e2e/operator.mjs';
import { problem } from '../e2e/expect.mjs';
import {
	PASSWORD, WAIT_MS, Ws, eventually, expectStatus, login, serverForFile, sleep, startServer, users, within,
} from '../e2e/harness.mjs';
import { SECOND, refusedAt, sessionEndedAt } from './logged.mjs';
import { userCommand } from './who-world.mjs';

const server = serverForFile({ before, after, afterEach }, undefined,
	{ args: ['--log-level', 'debug'] });

/** Opens everything that can wait for ${user}: sessions and long-polls. */
async function waiting(user, other)
{
	const entry = await user.send(other.name, 'what is waited for');
	await other.received(entry.id);
	const head = (await user.get('/v1/inbox')).body.head;
	const sessions = [
		await user.ws({ instance: 'plain' }),
		await user.ws({ instance: 'outbox', outbox: true }),
		// This session has a full window, so the server can send
		// nothing more to it.
		await user.ws({ instance: 'full', after: 0, window: 1 }),
	];
	const polls = {
		inbox: user.get(`/v1/inbox?after=${head}&wait=50`),
		outbox: user.get(`/v1/outbox/${entry.id}?wait=50`),
	};
	await eventually(async () => Number(/^twinbox_long_polls (\d+)$/m.exec(
		(await server.rest().get('/metrics')).text)[1]) === 2, 'the long-polls wait');
	return { entry, sessions, polls, head };
}

/**
 * Waits for the end of the session of ${ws}.  Returns how long the server took.
 */
async function closed(ws, since)
{
	assert.equal((await ws.closing()).code, 4401);
	return await sessionEndedAt(server, ws) - since;
}

/** Waits until ${poll} is refused.  Returns how long the server took. */
async function refused(poll, since)
{
	const answer = await within(poll, WAIT_MS, 'the end of a long-poll');

	problem(answer, 401, 'unauthenticated');
	return await refusedAt(server, answer) - since;
}

/** Asserts that all sessions and long-polls end within a second. */
async function ended({ sessions, polls }, since, t)
{
	const took = { sessions: 0, 'long-polls': 0 };

	for (const ws of sessions)
		took.sessions = Math.max(took.sessions, await closed(ws, since));
	for (const poll of Object.values(polls))
		took['long-polls'] = Math.max(took['long-polls'], await refused(poll, since));
	for (const [what, ms] of Object.entries(took)) {
		t.diagnostic(`${what} ended after ${ms} ms at most`);
		assert.ok(ms < SECOND, `${what} after ${ms} ms`);
	}
}

async function refusedEverywhere(user, other)
{
	problem(await user.get('/v1/inbox'), 401, 'unauthenticated');
	problem(await user.post('/v1/messages', { to: other.name, body: 'x' }), 401, 'unauthenticated');
	const ws = new Ws(server, {});
	await ws.opened();
	ws.send({ type: 'hello', id: 1, token: user.token });
	assert.equal((await ws.closing()).code, 4401);
}

const ENDINGS = [
	['it is revoked from another device', false, (user, first) => first.delete(`/v1/tokens/${user.id}`)],
	['it revokes itself', false, (user) => user.delete(`/v1/tokens/${user.id}`)],
	['the password is changed on another device', false, (user, first) =>
		first.post('/v1/me/password', { password: PASSWORD, new_password: 'another password' })],
	['the operator gives another password', true, (user) =>
		userCommand(server, ['passwd', user.name, '--password-stdin'], 'the operator\'s word')],
	['the operator disables the user', true, (user) => userCommand(server, ['disable', user.name])],
];

describe('a session ends when', () => {
	for (const [what, all, end] of ENDINGS) {
		it(what, async (t) => {
			const [first, bob] = await users(server, 'ann', 'bob');
			const ann = await login(server, first.name, 'second');
			ann.id = (await ann.get('/v1/tokens')).body.devices.find((one) => one.current).id;
			const mine = await waiting(ann, bob);
			const own = await first.ws({ instance: 'own' });
			const control = await bob.ws({ instance: 'control' });
			const control_poll = bob.get(`/v1/inbox?after=${(await bob.get('/v1/inbox')).body.head}&wait=50`);

			const answer = await end(ann, first);
			const since = Date.now();
			if (answer)
				expectStatus(answer, 204);
			// The token is refused at the very next request.
			await refusedEverywhere(ann, bob);
			await ended(mine, since, t);

			// The other user is served, and receives what is sent
			// now.
			assert.equal((await control.request({ type: 'ping' })).type, 'pong');
			const seen = mine.sessions.map((ws) => ws.frames.length);
			if (all) {
				const took = await closed(own, since);
				assert.ok(took < SECOND, `the other device after ${took} ms`);
				await refusedEverywhere(first, bob);
				const { id } = await bob.send(bob.name, 'a note');
				assert.ok((await control_poll).body.events.some((event) => event.id === id));
			} else {
				assert.equal((await own.request({ type: 'ping' })).type, 'pong');
				expectStatus(await first.get('/v1/inbox'), 200);
				const { id } = await first.send(bob.name, 'still here');
				assert.ok((await control_poll).body.events.some((event) => event.id === id));
				await control.received(id);
				await own.event((event) => event.id === id);
			}
			assert.deepEqual(mine.sessions.map((ws) => ws.frames.length), seen);
			await control.close();
		});
	}
});

describe('an answer that is read slowly', () => {
	const LETTERS = 24_000; // much more than the kernel buffers of an answer
	const LAST = '\r\n0\r\n\r\n';

	it('is cut off when whoever asked is disabled', async (t) => {
		const own = await startServer({ args: ['--max-pending', String(LETTERS)],
			unlimited: `one user sends ${LETTERS} messages` });
		t.after(() => own.stop());
		// There is a second administrator, because the last one cannot
		// be disabled.
		const [root, [ann, bob]] = await Promise.all([operator(own), users(own, 'ann', 'bob'), operator(own)]);
		await root.pause();
		await sendMany(ann, bob.name, LETTERS, { expires_in: 1 });
		await untilDead(root, LETTERS);

		const { hostname, port } = new URL(own.url);
		const socket = net.connect({ host: hostname, port: Number(port) });
		let text = '';
		const begun = new Promise((resolve) => socket.on('data', (data) => {
			if (text === '')
				socket.pause();
			text += data.toString('latin1');
			resolve();
		}));
		const ended = new Promise((resolve) => {
			socket.on('close', resolve);
			socket.on('error', resolve);
		});
		socket.write('GET /v1/admin/dead-letters/export HTTP/1.1\r\n' +
			`Host: x\r\nConnection: close\r\nAuthorization: Bearer ${root.token}\r\n\r\n`);
		await within(begun, WAIT_MS, 'the beginning of the export');
		await userCommand(own, ['disable', root.name]);
		socket.resume();
		await within(ended, WAIT_MS, 'the end of the export');
		assert.match(text, /^HTTP\/1\.1 200 /);
		const lines = text.split('"dead_id"').length - 1;
		t.diagnostic(`${lines} of ${LETTERS} letters were read`);
		assert.ok(lines > 0 && lines < LETTERS && !text.endsWith(LAST), `${lines} letters`);
	});
});

describe('afterwards', () => {
	it('the new password is the only one, and it must be a good one', async () => {
		const [ann] = await users(server, 'ann');
		const change = (password, new_password) =>
			ann.post('/v1/me/password', { password, new_password });
		problem(await change(PASSWORD, '1234567'), 400, 'bad_request', '/new_password');
		problem(await change(PASSWORD, 'x'.repeat(1025)), 400, 'bad_request', '/new_password');
		problem(await change(PASSWORD, ann.name), 400, 'bad_request', '/new_password');
		problem(await change(PASSWORD, ann.name.toUpperCase()), 400, 'bad_request', '/new_password');
		problem(await change('', 'another password'), 400, 'bad_request', '/password');
		problem(await change(`${PASSWORD} `, 'another password'), 403, 'forbidden', '/password');
		// Long passwords count to their last byte, and may contain any
		// character.
		const long = `${'пароль🦊'.repeat(60)}.`;
		expectStatus(await change(PASSWORD, long), 204);
		problem(await change(`${long.slice(0, -1)},`, PASSWORD), 403, 'forbidden', '/password');
		problem(await change(long.slice(0, -1), PASSWORD), 403, 'forbidden', '/password');
		expectStatus(await change(long, PASSWORD), 204);
	});

	it('a name is not a password', async () => {
		for (const password of ['marvin-the-first', 'Marvin-The-First']) {
			problem(await server.rest().post('/v1/users', { name: 'marvin-the-first', password }),
				400, 'bad_request', '/password');
		}
		await assert.rejects(userCommand(server, ['add', 'marvin-the-first', '--password-stdin'],
			'marvin-the-first'), /the password is the name/);
	});

	it('a disabled user stays so over a restart, and cannot log in', async () => {
		const [ann] = await users(server, 'ann');
		await userCommand(server, ['disable', ann.name]);
		problem(await ann.get('/v1/inbox'), 401, 'unauthenticated');
		await server.restart();
		problem(await ann.get('/v1/inbox'), 401, 'unauthenticated');
		problem(await server.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'x' }), 401, 'wrong_password');
	});
});

// Whichever comes first, a revoked token leaves nothing open.
describe('at the same moment', () => {
	const ROUNDS = 12;

	it('a hello and its revocation', async (t) => {
		const [ann] = await users(server, 'ann');
		const codes = {};
		let worst = 0;
		for (let i = 0; i < ROUNDS; i++) {
			const phone = await ann.device(`phone ${i}`);
			const { id } = (await phone.get('/v1/tokens')).body.devices.find((one) => one.current);
			const ws = new Ws(server, {});
			await ws.opened();
			const hello = { type: 'hello', id: 1, token: phone.token };
			if (i % 2 === 0)
				ws.send(hello);
			await sleep(i % 4);
			const revoked = ann.delete(`/v1/tokens/${id}`);
			if (i % 2 === 1)
				ws.send(hello);
			expectStatus(await revoked, 204);
			const since = Date.now();
			const { code } = await ws.closing();
			assert.equal(code, 4401);
			ws.welcome = ws.frames.find((frame) => frame.type === 'welcome');
			if (ws.welcome)
				worst = Math.max(worst, await sessionEndedAt(server, ws) - since);
			const what = ws.welcome ? 'welcomed' : 'refused';
			codes[what] = (codes[what] ?? 0) + 1;
		}
		t.diagnostic(`${JSON.stringify(codes)}, the last ended after ${worst} ms`);
		assert.ok(worst < SECOND, `${worst} ms`);
	});

	it('a long-poll and its revocation', async (t) => {
		const [ann] = await users(server, 'ann');
		let worst = 0;
		for (let i = 0; i < ROUNDS; i++) {
			const phone = await ann.device(`phone ${i}`);
			const { id } = (await phone.get('/v1/tokens')).body.devices.find((one) => one.current);
			const poll = phone.get('/v1/inbox?wait=50');
			await sleep(i % 4);
			expectStatus(await ann.delete(`/v1/tokens/${id}`), 204);
			worst = Math.max(worst, await refused(poll, Date.now()));
		}
		t.diagnostic(`${ROUNDS} long-polls, the last ended after ${worst} ms`);
		assert.ok(worst < SECOND, `${worst} ms`);
	});

	it('sends and their revocation: each is accepted or refused, none is half', async (t) => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const phone = await ann.device('phone');
		const { id } = (await phone.get('/v1/tokens')).body.devices.find((one) => one.current);
		const send = (n, body) => Array.from({ length: n }, (_, i) =>
			phone.post('/v1/messages', { to: bob.name, body: `${body} ${i}` }));
		const sends = send(30, 'before');
		await Promise.race(sends);
		const revoked = ann.delete(`/v1/tokens/${id}`);
		sends.push(...send(30, 'meanwhile'));
		expectStatus(await revoked, 204);
		const late = await Promise.all(send(10, 'too late'));
		late.forEach((answer) => problem(answer, 401, 'unauthenticated'));
		const answers = await Promise.all(sends);
		const accepted = answers.filter((answer) => answer.status === 201);
		const statuses = { 201: accepted.length, 401: 0 };
		for (const answer of answers.filter((one) => one.status !== 201)) {
			problem(answer, 401, 'unauthenticated');
			statuses[401]++;
		}
		t.diagnostic(JSON.stringify(statuses));
		assert.ok(accepted.length > 0, 'the first that was answered was accepted');
		for (const { body } of accepted)
			await bob.received(body.id);
		const got = (await bob.inbox()).events.filter((event) => event.from === ann.name);
		assert.equal(got.length, accepted.length);
	});
});
