// SPDX-License-Identifier: MIT
// tags: store
//
// Accounts: registration, log-ins, tokens (one for each device) and their
// revocation, passwords.  A stranger learns nothing from the answers, for
// example not whether a name is taken.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';

import { changeRows } from './backend.mjs';
import { operator, userCommand } from './operator.mjs';
import { problem } from './expect.mjs';
import {
	PASSWORD, REAL_PASSWORDS, eventually, expectStatus, freshName, login, register,
	serverForFile, startServer, users,
} from './harness.mjs';

/**
 * Renames user ${name} to ${to} in the database of ${data}.  No server may be
 * running on that database.
 */
function renameUser(data, name, to)
{
	changeRows(data, `UPDATE users SET name = '${to}' WHERE name = '${name}'`);
}

const server = serverForFile({ before, after, afterEach });

/** The number of runs of argon2 that server ${of} has begun. */
async function passwordRuns(of)
{
	const { text } = expectStatus(await of.rest().get('/metrics'), 200);
	return Number(/^twinbox_passwords_total (\d+)$/m.exec(text)[1]);
}

describe('registration', () => {
	it('a user registers and is known', async () => {
		const name = freshName('ann');
		const answer = await server.rest().post('/v1/users',
			{ name, password: PASSWORD, display_name: 'Ann Ünlü 🦊' });
		expectStatus(answer, 201);
		assert.equal(answer.body.name, name);
		assert.equal(answer.body.display_name, 'Ann Ünlü 🦊');
		assert.ok(!answer.text.includes(PASSWORD), 'the password came back');
	});

	it('a name is given once', async () => {
		const [ann] = await users(server, 'ann');
		problem(await server.rest().post('/v1/users',
			{ name: ann.name, password: PASSWORD }), 409, 'conflict', '/name');
	});

	const bad = [
		['no name', { password: PASSWORD }, '/name'],
		['an empty name', { name: '', password: PASSWORD }, '/name'],
		['a capital letter', { name: 'Ann', password: PASSWORD }, '/name'],
		['a space', { name: 'an n', password: PASSWORD }, '/name'],
		['33 letters', { name: 'a'.repeat(33), password: PASSWORD }, '/name'],
		['a number', { name: 7, password: PASSWORD }, '/name'],
		...['.', '..', '-', '_', '--help', '.ann', 'ann.', '-ann', 'ann-', '_ann', 'ann_', 'an..n'].map((name) =>
			[`the name ${name}`, { name, password: PASSWORD }, '/name']),
		['an at sign', { name: 'ann@home', password: PASSWORD }, '/name'],
		['no password', { name: 'ann-x' }, '/password'],
		['a short password', { name: 'ann-x', password: '1234567' }, '/password'],
		['a password of 1,025 bytes', { name: 'ann-x', password: 'x'.repeat(1025) }, '/password'],
		['a long display name', { name: 'ann-x', password: PASSWORD, display_name: 'x'.repeat(129) },
			'/display_name'],
		...['a\nb', '\x1b[2J', '\x7f', '\u009b', 'a\u2028b', 'a\u202eb', '\u2066a'].map((display_name) =>
			[`the display name ${JSON.stringify(display_name)}`,
				{ name: 'ann-x', password: PASSWORD, display_name }, '/display_name']),
		['an unknown member', { name: 'ann-x', password: PASSWORD, admin: true }, '/admin'],
	];
	for (const [what, json, pointer] of bad) {
		it(`refuses ${what}`, async () => {
			problem(await server.rest().post('/v1/users', json), 400, 'bad_request', pointer);
		});
	}

	it('takes names of 1 and of 32 characters, and passwords of 8 and 1,024 bytes', async () => {
		for (const [name, password] of [[freshName('x').padEnd(32, '0'), 'x'.repeat(1024)],
			[freshName('a._-'), '12345678'], ['7', '12345678']])
			expectStatus(await server.rest().post('/v1/users', { name, password }), 201);
	});

	it('takes the longest names and passwords with every byte escaped', async () => {
		const escaped = (text) => text.replace(/./g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
		const known = `{"name":"${escaped(freshName('x').padEnd(32, '0'))}","password":"${escaped('p'.repeat(1024))}"`;
		const rest = server.rest();
		for (const [target, member] of [['/v1/users', `"display_name":"${escaped('d'.repeat(128))}"`],
			['/v1/tokens', `"device":"${escaped('d'.repeat(64))}"`]])
			expectStatus(await rest.request('POST', target,
				{ body: `${known},${member}}`, type: 'application/json' }), 201);
	});

	for (const name of ['admin', 'root', 'support', 'postmaster', 'abuse', 'security', 'twinbox']) {
		it(`${name} is reserved for the operator`, async () => {
			const answer = await server.rest().post('/v1/users', { name, password: PASSWORD });
			problem(answer, 403, 'forbidden', '/name');
			assert.match(answer.body.detail, new RegExp(`^the name "${name}" is reserved`));
			assert.equal((await userCommand(server, ['add', name, '--password-stdin'])).code, 0);
			await login(server, name);
			// The answer is the same before and after the operator
			// has created the user.
			problem(await server.rest().post('/v1/users', { name, password: PASSWORD }), 403, 'forbidden', '/name');
		});
	}

	it('a user whose name is no longer given keeps it', async (t) => {
		const other = await startServer();
		t.after(() => other.stop());
		const [ann, bob] = await users(other, 'ann', 'bob');
		const old = `.${bob.name.slice(1)}..`;
		await other.stop();
		renameUser(other.data, bob.name, old);
		await other.start();
		const dot = await login(other, old);
		const { id } = await ann.send(old, 'Are you there?');
		assert.equal((await dot.received(id)).from, ann.name);
		const reply = await dot.send(ann.name, 'Yes.');
		assert.equal((await ann.received(reply.id)).from, old);
		expectStatus(await ann.request('POST', `/v1/to/${old}`, { body: 'By REST.', type: 'text/plain' }), 201);
		assert.equal((await userCommand(other, ['passwd', old, '--password-stdin'], 'another password')).code, 0);
		expectStatus(await other.rest().post('/v1/tokens',
			{ name: old, password: 'another password', device: 'phone' }), 201);
		problem(await other.rest().post('/v1/users', { name: old, password: PASSWORD }), 400, 'bad_request', '/name');
	});

	it('is refused where it is closed', async (t) => {
		const closed = await startServer({ args: ['--registration', 'closed'] });
		t.after(() => closed.stop());
		problem(await closed.rest().post('/v1/users',
			{ name: 'ann', password: PASSWORD }), 403, 'forbidden');
	});
});

describe('logging in', () => {
	it('gives a token, once', async () => {
		const [ann] = await users(server, 'ann');
		const answer = expectStatus(await server.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'laptop' }), 201);
		assert.equal(answer.body.user, ann.name);
		assert.match(answer.body.token, /^tb_[A-Za-z0-9_-]{43}$/);
		const list = expectStatus(await ann.get('/v1/tokens'), 200);
		assert.equal(list.body.devices.length, 2);
		assert.deepEqual(list.body.devices.map((one) => [one.name, one.current]),
			[['first', true], ['laptop', false]]);
		assert.equal(list.body.devices[1].id, answer.body.device.id);
		assert.equal(answer.body.device.name, 'laptop');
		for (const token of [ann.token, answer.body.token])
			assert.ok(!list.text.includes(token), 'a token is shown again');
	});

	it('a wrong password is not titled "No valid token"', async () => {
		const [ann] = await users(server, 'ann');
		const answer = await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'not the password', device: 'x' });
		problem(answer, 401, 'wrong_password');
		assert.equal(answer.body.title, 'Wrong name or password');
		assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
		assert.equal((await server.rest('nonsense').get('/v1/inbox')).body.title, 'No valid token');
	});

	it('a wrong password and an unknown name get the same answer', async () => {
		const [ann] = await users(server, 'ann');
		const wrong = await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'not the password', device: 'x' });
		const unknown = await server.rest().post('/v1/tokens',
			{ name: freshName('nobody'), password: 'not the password', device: 'x' });
		problem(wrong, 401, 'wrong_password');
		problem(unknown, 401, 'wrong_password');
		delete wrong.body.request_id;
		delete unknown.body.request_id;
		assert.deepEqual(wrong.body, unknown.body);
	});

	it('… after the same work: one run of argon2', async (t) => {
		const dear = await startServer({ env: REAL_PASSWORDS });
		t.after(() => dear.stop());
		const [ann] = await users(dear, 'ann');
		const runs = () => passwordRuns(dear);
		/*
		 * The CPU time that the server has used so far (its user time,
		 * in clock ticks).
		 */
		const work = () => Number(fs.readFileSync(`/proc/${dear.pid}/stat`, 'utf8')
			.split(') ')[1].split(' ')[11]);
		const worked = { known: 0, unknown: 0 };

		for (let i = 0; i < 9; i++) {
			for (const [which, name] of [['known', ann.name], ['unknown', freshName('nobody')]]) {
				const before = [await runs(), work()];
				problem(await dear.rest().post('/v1/tokens',
					{ name, password: 'not the password', device: 'x' }), 401, 'wrong_password');
				worked[which] += work() - before[1];
				assert.equal(await runs(), before[0] + 1, which);
			}
		}
		/*
		 * The metric proves that a run of argon2 began.  The CPU time,
		 * about half a second in all, proves that the run was
		 * completed.
		 */
		assert.ok(worked.known > 9 && worked.unknown > worked.known / 3 &&
			worked.unknown < worked.known * 3, JSON.stringify(worked));
	});

	for (const [what, json, pointer] of [
		['no device', { name: 'ann', password: PASSWORD }, '/device'],
		['an empty device', { name: 'ann', password: PASSWORD, device: '' }, '/device'],
		['a long device', { name: 'ann', password: PASSWORD, device: 'x'.repeat(65) }, '/device'],
		['no password', { name: 'ann', device: 'x' }, '/password'],
		['an unknown member', { name: 'ann', password: PASSWORD, device: 'x', ttl: 5 }, '/ttl'],
	]) {
		it(`refuses ${what}`, async () => {
			problem(await server.rest().post('/v1/tokens', json), 400, 'bad_request', pointer);
		});
	}

	it('is refused beyond 64 devices, until one is revoked', async (t) => {
		const own = await startServer({ unlimited: 'one user logs in 64 times' });
		t.after(() => own.stop());
		const [ann] = await users(own, 'ann');
		const log = () => own.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'one more' });

		for (let n = 1; n < 64; n++)
			expectStatus(await log(), 201);
		problem(await log(), 409, 'conflict', '/device');
		const { devices } = (await ann.get('/v1/tokens')).body;
		expectStatus(await ann.delete(`/v1/tokens/${devices.find((one) => !one.current).id}`), 204);
		expectStatus(await log(), 201);
	});

	it('eight at once are all served', async () => {
		const [ann] = await users(server, 'ann');
		const devices = await Promise.all(Array.from({ length: 8 },
			(_, i) => login(server, ann.name, `device ${i}`)));
		assert.equal(new Set(devices.map((one) => one.token)).size, 8);
	});
});

describe('guessing', () => {
	it('is slowed down, and learns when to come back', async (t) => {
		const other = await startServer();
		t.after(() => other.stop());
		const ann = await register(other, 'ann');
		let answer;
		for (let i = 0; i < 40 && answer?.status !== 429; i++) {
			answer = await other.rest().post('/v1/tokens',
				{ name: 'ann', password: `guess number ${i}`, device: 'x' });
		}
		problem(answer, 429, 'rate_limited');
		expectStatus(await ann.get('/v1/inbox'), 200);
	});
});

describe('tokens', () => {
	it('no token, a wrong one and a malformed header are 401', async () => {
		const [ann] = await users(server, 'ann');
		const flipped = ann.token.slice(0, -1) + (ann.token.endsWith('A') ? 'B' : 'A');
		for (const headers of [
			{},
			{ authorization: `Bearer ${flipped}` },
			{ authorization: 'Bearer' },
			{ authorization: 'Bearer ' },
			{ authorization: `Basic ${ann.token}` },
			{ authorization: ann.token },
			{ authorization: `Bearer ${ann.token} x` },
			{ authorization: `Bearer ${'x'.repeat(5000)}` },
		]) {
			problem(await server.rest().get('/v1/inbox', { headers }),
				401, 'unauthenticated');
		}
	});

	it('a token in the address is not accepted', async () => {
		const [ann] = await users(server, 'ann');
		const answer = await server.rest().get(`/v1/inbox?token=${ann.token}`);
		problem(answer, 401, 'unauthenticated');
	});

	it('revoking a device ends its access, and only its', async () => {
		const [ann] = await users(server, 'ann');
		const phone = await ann.device('phone');
		const ws = await phone.ws();
		const { body } = await ann.get('/v1/tokens');
		const one = body.devices.find((device) => device.name === 'phone');

		expectStatus(await phone.get('/v1/inbox'), 200);
		expectStatus(await ann.delete(`/v1/tokens/${one.id}`), 204);
		problem(await phone.get('/v1/inbox'), 401, 'unauthenticated');
		problem(await phone.post('/v1/messages', { to: ann.name, body: 'x' }),
			401, 'unauthenticated');
		assert.equal((await ws.closing(2000)).code, 4401);
		expectStatus(await ann.get('/v1/inbox'), 200);
		assert.deepEqual((await ann.get('/v1/tokens')).body.devices.map((device) => device.name),
			['first']);
		problem(await ann.delete(`/v1/tokens/${one.id}`), 404, 'not_found');
	});

	it('a device may revoke itself', async () => {
		const [ann] = await users(server, 'ann');
		const phone = await ann.device('phone');
		const { body } = await phone.get('/v1/tokens');
		const one = body.devices.find((device) => device.name === 'phone');
		expectStatus(await phone.delete(`/v1/tokens/${one.id}`), 204);
		problem(await phone.get('/v1/tokens'), 401, 'unauthenticated');
	});

	/*
	 * User ann with two more devices, which are connected, and user bob.
	 */
	const withTwoMore = async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const more = [await ann.device('phone'), await ann.device('laptop')];
		return { ann, bob, more, sockets: await Promise.all(more.map((one) => one.ws())) };
	};

	it('all other devices are revoked at once', async () => {
		const { ann, bob, more, sockets } = await withTwoMore();
		const own = await ann.ws();

		expectStatus(await ann.delete('/v1/tokens'), 204);
		for (const [i, one] of more.entries()) {
			problem(await one.get('/v1/inbox'), 401, 'unauthenticated');
			assert.equal((await sockets[i].closing(2000)).code, 4401);
		}
		assert.deepEqual((await ann.get('/v1/tokens')).body.devices.map((one) => one.name), ['first']);
		assert.equal(own.closedBy, undefined);
		own.send({ type: 'ack', id: 7, upto: 0 });
		assert.equal((await own.wait((frame) => frame.re === 7, 'a reply')).type, 'ok');
		expectStatus(await bob.get('/v1/inbox'), 200);
		// A second call succeeds although no other device is left.
		expectStatus(await ann.delete('/v1/tokens?all=false'), 204);
		expectStatus(await ann.get('/v1/inbox'), 200);
	});

	it('?all=true revokes the asking device, too', async () => {
		const { ann, bob, more, sockets } = await withTwoMore();
		const own = await ann.ws();

		problem(await ann.delete('/v1/tokens?all=yes'), 400, 'bad_request');
		problem(await ann.delete('/v1/tokens?every=true'), 400, 'bad_request');
		expectStatus(await more[0].get('/v1/inbox'), 200);
		expectStatus(await ann.delete('/v1/tokens?all=true'), 204);
		for (const one of [ann, ...more])
			problem(await one.get('/v1/inbox'), 401, 'unauthenticated');
		for (const ws of [own, ...sockets])
			assert.equal((await ws.closing(2000)).code, 4401);
		expectStatus(await bob.get('/v1/inbox'), 200);
		await login(server, ann.name, 'anew');
	});

	it('nobody revokes or sees the device of another', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const id = (await ann.get('/v1/tokens')).body.devices[0].id;
		const foreign = await bob.delete(`/v1/tokens/${id}`);
		const unknown = await bob.delete('/v1/tokens/01900000-0000-7000-8000-000000000000');
		problem(foreign, 404, 'not_found');
		problem(unknown, 404, 'not_found');
		assert.equal(foreign.body.detail.replace(String(id), '#'),
			unknown.body.detail.replace('01900000-0000-7000-8000-000000000000', '#'));
		expectStatus(await ann.get('/v1/inbox'), 200);
		assert.equal((await bob.get('/v1/tokens')).body.devices.length, 1);
	});

	it('they outlive a restart, revoked ones do not come back', async (t) => {
		const other = await startServer();
		t.after(() => other.stop());
		const ann = await register(other, 'ann');
		const phone = await ann.device('phone');
		const { body } = await ann.get('/v1/tokens');
		await ann.delete(`/v1/tokens/${body.devices.find((one) => one.name === 'phone').id}`);
		await other.restart();
		expectStatus(await ann.get('/v1/inbox'), 200);
		problem(await phone.get('/v1/inbox'), 401, 'unauthenticated');
	});
});

describe('renaming and passwords', () => {
	it('a device gets another name', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = (await ann.get('/v1/tokens')).body.devices[0];
		const answer = expectStatus(await ann.request('PATCH', `/v1/tokens/${id}`,
			{ json: { device: 'old laptop' } }), 200);
		assert.equal(answer.body.name, 'old laptop');
		assert.equal((await ann.get('/v1/tokens')).body.devices[0].name, 'old laptop');
		problem(await ann.request('PATCH', `/v1/tokens/${id}`, { json: { device: '' } }),
			400, 'bad_request', '/device');
		problem(await bob.request('PATCH', `/v1/tokens/${id}`, { json: { device: 'mine' } }),
			404, 'not_found');
	});

	it('a new password revokes the other tokens and is the only one', async () => {
		const [ann] = await users(server, 'ann');
		const phone = await ann.device('phone');
		const ws = await phone.ws();
		const change = (password, new_password) =>
			ann.post('/v1/me/password', { password, new_password });
		problem(await change('not the password', 'another password'), 403, 'forbidden');
		problem(await change(PASSWORD, 'short'), 400, 'bad_request', '/new_password');
		expectStatus(await phone.get('/v1/inbox'), 200);
		expectStatus(await change(PASSWORD, 'another password'), 204);
		expectStatus(await ann.get('/v1/inbox'), 200);
		problem(await phone.get('/v1/inbox'), 401, 'unauthenticated');
		assert.equal((await ws.closing(2000)).code, 4401);
		problem(await server.rest().post('/v1/tokens',
			{ name: ann.name, password: PASSWORD, device: 'x' }), 401, 'wrong_password');
		expectStatus(await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'another password', device: 'x' }), 201);
	});

	/*
	 * The server verifies passwords one after the other.  The second
	 * request is sent once the verification of the first has begun, so the
	 * first is completed first.
	 */
	for (const first of ['the log-in', 'the change']) {
		it(`who logs in with the old one meanwhile has nothing of it: ${first} is first`, async () => {
			const [ann] = await users(server, 'ann');
			const requests = {
				'the log-in': () => server.rest().post('/v1/tokens',
					{ name: ann.name, password: PASSWORD, device: 'x' }),
				'the change': () => ann.post('/v1/me/password',
					{ password: PASSWORD, new_password: 'another password' }),
			};
			const second = Object.keys(requests).find((one) => one !== first);
			const before = await passwordRuns(server);
			const answers = { [first]: requests[first]() };
			await eventually(async () => await passwordRuns(server) > before, `${first} is verified`);
			answers[second] = requests[second]();
			const login = await answers['the log-in'];

			expectStatus(await answers['the change'], 204);
			if (first === 'the change')
				return problem(login, 401, 'wrong_password');
			expectStatus(login, 201);
			problem(await server.rest(login.body.token).get('/v1/inbox'), 401, 'unauthenticated');
		});
	}

	it('of two changes from the same one, one is done', async () => {
		const [ann] = await users(server, 'ann');
		const made = await Promise.all(['one password', 'two passwords'].map((new_password) =>
			ann.post('/v1/me/password', { password: PASSWORD, new_password })));

		assert.deepEqual(made.map(({ status }) => status).sort(), [204, 403]);
	});
});

describe('a one-time password', () => {
	const give = async (root, name) => root.do('POST', `users/${name}/password`);
	const logIn = (at, name, password) => at.rest().post('/v1/tokens', { name, password, device: 'x' });

	/**
	 * Asserts that a log-in of ${name} with ${password} is refused because
	 * of ${what}.
	 */
	async function over(at, name, password, what)
	{
		const answer = await logIn(at, name, password);

		problem(answer, 401, 'one_time_password');
		assert.equal(answer.body.detail, `this one-time password ${what}: ask an administrator for a new one`);
		assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
	}

	it('is good for one log-in, after which the user sets another', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');
		const ws = await ann.ws();
		const answer = expectStatus(await root.post(`/v1/admin/users/${ann.name}/password`), 200);
		const { name, password, expires_at } = answer.body;

		assert.equal(name, ann.name);
		assert.match(password, /^([A-HJ-NP-Z2-9]{4}-){4}[A-HJ-NP-Z2-9]{4}$/);
		assert.equal(answer.headers.get('cache-control'), 'no-store');
		const hours = (Date.parse(expires_at) - Date.parse(answer.headers.get('date'))) / 3_600_000;
		assert.ok(hours > 23.9 && hours < 24.1, expires_at);
		// All devices are logged out, and the previous password is no
		// longer valid.
		problem(await ann.get('/v1/inbox'), 401, 'unauthenticated');
		assert.equal((await ws.closing(2000)).code, 4401);
		problem(await logIn(server, name, PASSWORD), 401, 'wrong_password');
		problem(await logIn(server, name, password.toLowerCase()), 401, 'wrong_password');
		const made = expectStatus(await logIn(server, name, password), 201).body;
		assert.equal(made.password_once, true);
		await over(server, name, password, 'was used for a log-in');
		const again = server.rest(made.token);
		expectStatus(await again.get('/v1/inbox'), 200);
		problem(await again.post('/v1/me/password', { password: PASSWORD, new_password: 'my own choice' }), 403, 'forbidden');
		expectStatus(await again.post('/v1/me/password', { password, new_password: 'my own choice' }), 204);
		assert.equal(expectStatus(await logIn(server, name, 'my own choice'), 201).body.password_once, undefined);
		expectStatus(await logIn(server, name, 'my own choice'), 201);
		problem(await logIn(server, name, password), 401, 'wrong_password');
		assert.deepEqual((await root.ask('audit?limit=1')).entries.map((e) => [e.actor, e.action, e.object, e.detail]),
			[[root.name, 'user_password_once', name, null]]);
		assert.ok(!(await root.get('/v1/admin/audit')).text.includes(password));
	});

	it('lets one of several log in that come at the same time', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');
		const { password } = await give(root, ann.name);
		const answers = await Promise.all(Array.from({ length: 6 }, () => logIn(server, ann.name, password)));

		assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401, 401, 401]);
		for (const answer of answers.filter(({ status }) => status === 401))
			problem(answer, 401, 'one_time_password');
	});

	it('is replaced by the next one, and by twinboxd user passwd', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');
		const first = await give(root, ann.name);
		const second = await give(root, ann.name);

		problem(await logIn(server, ann.name, first.password), 401, 'wrong_password');
		assert.equal((await userCommand(server, ['passwd', ann.name, '--password-stdin'], 'from the operator')).code, 0);
		problem(await logIn(server, ann.name, second.password), 401, 'wrong_password');
		for (let i = 0; i < 2; i++)
			assert.equal(expectStatus(await logIn(server, ann.name, 'from the operator'), 201).body.password_once, undefined);
	});

	it('ends after 24 hours, and outlives a restart until then', async (t) => {
		const other = await startServer();
		t.after(() => other.stop());
		const root = await operator(other);
		const [ann, bob] = await users(other, 'ann', 'bob');
		const late = await give(root, ann.name);
		const early = await give(root, bob.name);
		await other.stop();
		changeRows(other.data, `UPDATE users SET password_once_until = ${Date.now()} WHERE name = '${ann.name}'`);
		await other.start();
		await over(other, ann.name, late.password, 'has expired');
		expectStatus(await logIn(other, bob.name, early.password), 201);
		expectStatus(await logIn(other, ann.name, (await give(root, ann.name)).password), 201);
	});

	it('is refused for whom it is of no use', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');

		await root.do('POST', `users/${ann.name}/disable`);
		const refused = await root.post(`/v1/admin/users/${ann.name}/password`);
		problem(refused, 409, 'conflict');
		assert.equal(refused.body.detail, `user "${ann.name}" is disabled: enable this user first`);
		await root.do('POST', `users/${ann.name}/enable`);
		expectStatus(await logIn(server, ann.name, PASSWORD), 201);
		for (const name of ['nobody-of-that-name', 'x@b.example', 'Capital'])
			problem(await root.post(`/v1/admin/users/${name}/password`), 404, 'not_found');
	});
});

describe('GET /v1', () => {
	it('says who I am, the limits and the epoch', async () => {
		const [ann] = await users(server, 'ann');
		const { body } = expectStatus(await ann.get('/v1'), 200);
		const inbox = (await ann.get('/v1/inbox')).body;
		assert.match(body.version, /^\d+\.\d+\.\d+/);
		assert.deepEqual(body.user, { name: ann.name, admin: false });
		assert.equal(body.device.name, 'first');
		assert.equal(body.registration, 'open');
		assert.equal(body.epoch, inbox.epoch);
		assert.equal(body.limits.text, 16384);
		assert.equal(body.limits.request, 131072);
		assert.equal(body.limits.array, 1048576);
		assert.equal(body.limits.array_items, 100);
		assert.equal(body.limits.page, 50);
		assert.equal(body.limits.page_max, 200);
		assert.equal(body.limits.wait, 55);
		assert.equal(body.limits.window, 256);
	});

	it('is for strangers too, who are nobody there', async () => {
		const { body } = expectStatus(await server.rest().get('/v1'), 200);
		assert.equal(body.user, null);
		assert.equal(body.device, null);
		problem(await server.rest('nonsense').get('/v1'), 401, 'unauthenticated');
	});

	it('nothing secret is in the log', async () => {
		const [ann] = await users(server, 'ann');
		await ann.get('/v1/inbox');
		await server.rest().post('/v1/tokens',
			{ name: ann.name, password: 'canary-password-9', device: 'x' });
		await eventually(() => server.output().length > 0, 'a log');
		for (const secret of [ann.token, PASSWORD, 'canary-password-9'])
			assert.ok(!server.output().includes(secret), 'a secret is in the log');
	});
});
