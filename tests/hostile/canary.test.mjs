// SPDX-License-Identifier: MIT
//
// No private data appears where it does not belong: not with other users, not
// in the log at debug level (text or JSON), not in /metrics, the command line
// or the environment.  No password and no token is on the disk, and no one is
// shown the seed of a key that the server signs with.  The check itself is
// tested first: with planted leaks, and then with a real one, when a recipient
// passes a message on.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { dataArgs } from '../e2e/backend.mjs';
import { problem } from '../e2e/expect.mjs';
import { entriesIn, unlessGone } from '../e2e/files.mjs';
import {
	Server, Ws, eventually, expectStatus, freshName, rawRequest, run, tempDir, uuid7, within,
} from '../e2e/harness.mjs';
import { operator } from '../e2e/operator.mjs';
import { archived, purged } from '../e2e/upkeep.mjs';
import { Ledger } from './canary.mjs';
import { federation } from './peer.mjs';
import { World } from './who-world.mjs';

describe('the check', () => {
	const planted = (plant) => {
		const ledger = new Ledger();
		const text = ledger.canary('alice', 'body', ['alice', 'bob']);
		ledger.see('bob', 'inbox', `{"body":"${text}"}`);
		assert.deepEqual(ledger.leaks(), []);
		ledger.see('mallory', 'inbox', plant(text));
		return ledger.leaks();
	};

	for (const [what, plant] of Object.entries({
		'in clear': (text) => `{"body":"${text}"}`,
		'in hexadecimal': (text) => Buffer.from(`x${text}y`).toString('hex'),
		'in base64': (text) => Buffer.from(text).toString('base64'),
		'in base64, one byte on': (text) => Buffer.from(`x${text}yz`).toString('base64'),
		'in base64, two bytes on': (text) => Buffer.from(`xy${text}z`).toString('base64url'),
		'in a log': (text) => `2026-01-01T00:00:00.000Z debug http.request path=/${text} status=404\n`,
	})) {
		it(`finds a leak ${what}`, () => {
			const leaks = planted(plant);
			assert.equal(leaks.length, 1);
			assert.match(leaks[0], /^body of alice .* came to mallory in inbox$/);
		});
	}

	it('finds none where there is none', () =>
		assert.deepEqual(planted((text) => text.slice(0, -1)), []));

	for (const [what, form] of Object.entries({
		'as they are': (bytes) => bytes.toString('latin1'),
		'in hexadecimal': (bytes) => `x'${bytes.toString('hex').toUpperCase()}'`,
		'in base64': (bytes) => bytes.toString('base64'),
	})) {
		it(`finds bytes ${what}`, () => {
			const ledger = new Ledger();
			const bytes = ledger.bytes('the server', 'seed', randomBytes(32), ['the disk']);
			ledger.see('the disk', 'the database', form(bytes));
			assert.deepEqual(ledger.leaks(), []);
			ledger.see('anybody', 'the log', `seed=${form(bytes)} `);
			assert.equal(ledger.leaks().length, 1);
		});
	}

	it('refuses what is too short to be looked for', () => {
		assert.throws(() => new Ledger().secret('alice', 'password', 'short', []), /too short/);
		assert.throws(() => new Ledger().bytes('the server', 'seed', Buffer.alloc(11), []), /too few/);
	});
});

/** A server as in production: without --demo. */
class Earnest extends Server {
	command()
	{
		return super.command().filter((word) => word !== '--demo');
	}
}

/**
 * Sends ${text} over one TCP connection.  Returns everything that came back.
 */
async function raw(server, text)
{
	const url = new URL(server.url);
	const child = run('bash', ['-c', `exec 3<>/dev/tcp/${url.hostname}/${url.port}; cat >&3; cat <&3`],
		{ stdio: ['pipe', 'pipe', 'pipe'] });

	child.stdin.end(text);
	await within(child.exited, 20_000, 'the end of a connection');
	return child.out;
}

/** Does everything that users do, correctly and wrongly. */
async function life(world)
{
	const { server, ledger } = world;
	const { alice, bob, mallory, root } = world.people;
	const secret = (kind) => world.canary('mallory', kind, []);
	const as = (who, method, target, options) =>
		world.call(who.name, method, target, { token: who.user.token, ...options });

	// A chat over REST and WebSocket.
	const live = await world.socket(bob.name, { token: bob.user.token });
	await live.hello({ instance: 'life', outbox: true });
	for (let i = 0; i < 3; i++) {
		const { id } = await world.send('alice', ['alice', 'bob'], { to: bob.name });
		await live.received(id);
		const reply = await live.request({ type: 'send', message: { to: alice.name,
			body: world.canary('bob', 'body', ['alice', 'bob']), id: uuid7(), reply_to: id } });
		await alice.user.received(reply.entry.id);
		await as(alice, 'GET', `/v1/outbox/${id}`);
		await as(alice, 'GET', `/v1/messages/${id}`);
	}
	const head = (await bob.user.get('/v1/inbox')).body.head;
	await live.request({ type: 'ack', upto: head });
	await as(bob, 'POST', '/v1/inbox/read', { json: { upto: head } });
	const poll = as(mallory, 'GET', '/v1/inbox?wait=1');
	await as(alice, 'GET', '/v1/inbox?after=0&limit=200');
	await as(alice, 'GET', `/v1/conversations/${world.conversation}/messages`);
	await poll;

	// Secrets in the wrong place.
	const typed = secret('password typed as name');
	problem(await as(mallory, 'POST', '/v1/tokens', { json: { name: typed.slice(0, 32),
		password: secret('wrong password'), device: 'x' } }), 401, 'wrong_password');
	problem(await as(mallory, 'POST', '/v1/tokens', { json: { name: alice.name,
		password: secret('wrong password'), device: 'x' } }), 401, 'wrong_password');
	for (const text of [`{"name":"x","password" "${secret('password')}"}`, `{"password":"${secret('password')}`,
		`{"password":${secret('password')}}`, `${secret('password')}`, `{"password":"${secret('password')}\\x"}`])
		problem(await as(mallory, 'POST', '/v1/tokens', { body: text }), 400, 'bad_request');
	problem(await as(mallory, 'POST', '/v1/me/password', { json: { password: secret('password'),
		new_password: secret('password') } }), 403, 'forbidden');
	problem(await as(mallory, 'POST', '/v1/me/password', { json: { password: secret('password'),
		new_password: 'short' } }), 400, 'bad_request');
	for (const authorization of [`Bearer ${secret('token')}`, `bearer  ${secret('token')}`, `Basic ${secret('token')}`,
		secret('token'), `Bearer tb_${secret('token')}`])
		problem(await world.call(mallory.name, 'GET', '/v1/inbox', { headers: { authorization } }), 401, 'unauthenticated');
	await as(mallory, 'GET', `/v1/inbox?token=${secret('token')}`);
	await as(mallory, 'GET', `/v1/nonsense?access_token=${secret('token')}`);
	await as(mallory, 'GET', '/v1/inbox', { headers: { cookie: `token=${secret('token')}`,
		referer: `http://x/${secret('token')}`, 'user-agent': secret('token') } });
	problem(await as(mallory, 'POST', '/v1/messages', { body: `{"to":"${bob.name}","body":"${world.canary('mallory', 'refused body')}",` }),
		400, 'bad_request');
	problem(await as(mallory, 'POST', '/v1/inbox/ack', { body: world.canary('mallory', 'refused body').repeat(6000) }),
		413, 'body_too_large');
	problem(await as(mallory, 'POST', '/v1/messages', { body: world.canary('mallory', 'refused body'), type: 'text/html' }),
		415, 'unsupported_media');
	ledger.see(mallory.name, 'a raw answer', await raw(server, `GET /v1/inbox HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret('token')}\r\n` +
		`Authorization: Bearer ${secret('token')}\r\nConnection: close\r\n\r\n`));
	ledger.see(mallory.name, 'a raw answer', await raw(server, `POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n${secret('password')}`));
	ledger.see(mallory.name, 'a raw answer', await raw(server, `\u0001${secret('nonsense')}\r\n\r\n`));

	// A one-time password is made and used.  Later answers must not show
	// it.
	const lost = freshName('lost');
	const rest = server.rest();
	expectStatus(await rest.post('/v1/users', { name: lost, password: secret('password') }), 201);
	const once = expectStatus(await server.rest(root.user.token).post(`/v1/admin/users/${lost}/password`), 200).body.password;
	ledger.secret(lost, 'one-time password', once, []);
	const { token } = expectStatus(await rest.post('/v1/tokens', { name: lost, password: once, device: 'x' }), 201).body;
	problem(await as(mallory, 'POST', '/v1/tokens', { json: { name: lost, password: once, device: 'x' } }), 401, 'one_time_password');
	for (const route of ['users', 'audit'])
		expectStatus(await as(root, 'GET', `/v1/admin/${route}`), 200);
	expectStatus(await server.rest(token).post('/v1/me/password', { password: once, new_password: secret('password') }), 204);

	// The same in frames.
	for (const frame of [{ type: 'hello', id: 1, token: secret('token') }, `{"type":"hello","token" "${secret('token')}"}`,
		`${secret('token')}`, { type: 'hello', id: 1, instance: 'x', token: `tb_${secret('token')}` }]) {
		const ws = await world.socket(mallory.name);
		ws.send(frame);
		await ws.closing();
	}
	for (const frame of [`{"type":"send","message":{"body":"${world.canary('mallory', 'refused body')}"`,
		{ type: world.canary('mallory', 'refused type') }, Buffer.from(world.canary('mallory', 'refused bytes'))]) {
		const ws = await world.socket(mallory.name, { token: mallory.user.token });
		await ws.hello({ instance: 'bad' });
		ws.send(frame);
		await ws.closing();
	}
	const bye = new Ws(server, { token: mallory.user.token });
	await bye.opened();
	await bye.hello({ instance: 'bye' });
	bye.socket.close(4000, world.canary('mallory', 'reason'));
	await within(bye.closed, 10_000, 'the end');
	await live.close();
	return typed;
}

for (const format of ['text', 'json']) {
	describe(`a day with the log as ${format}`, () => {
		const server = new Server({ args: ['--log-level', 'debug', '--log-format', format, ...federation('a.example')],
			unlimited: 'alice sends arrays of a hundred' });
		let world, typed;
		before(async () => {
			await server.start();
			world = await new World(server).make();
			typed = await life(world);
		});
		after(async () => {
			const end = await server.stop();
			assert.equal(end.code, 0);
		});

		it('nobody received what belongs to others', (t) => {
			const counts = world.ledger.counts();
			t.diagnostic(`${counts.pages} answers and frames, ${counts.secrets} canaries, ${counts.seen} seen by whom they are for`);
			assert.ok(counts.pages > 60 && counts.secrets > 60 && counts.seen > 20, JSON.stringify(counts));
			assert.deepEqual(world.ledger.leaks(), []);
		});

		it('… and it is seen when it does happen: bob passes on what alice wrote', async () => {
			const { bob, mallory } = world.people;
			const { id } = await world.send('alice', ['alice', 'bob'], { to: bob.name });
			const { body } = await bob.user.received(id);
			const other = new Ledger();
			other.secret('alice', 'body', body, ['alice', 'bob']);
			const ws = new Ws(server, { token: mallory.user.token });
			ws.socket.on('message', (data) => other.see('mallory', 'frame', data.toString()));
			await ws.opened();
			await ws.hello({ instance: 'leak' });
			const passed = await bob.user.send(mallory.name, `alice says: ${body}`);
			await ws.received(passed.id);
			const page = await mallory.user.get('/v1/inbox?after=0');
			other.see('mallory', 'inbox', page.text);
			assert.equal(other.leaks().length, 2, String(other.leaks()));
			await ws.close();
		});

		it('the log has nothing of it', async () => {
			const mark = `canary-in-a-path-${format}-0123456789`;
			await rawRequest(server, 'GET', `/v1/${mark}`, {});
			// The path of a request is in the log.  This shows that
			// the text is the log, and that the search finds
			// something.
			await eventually(() => server.output().includes(mark), 'the path in the log');
			const log = server.output();
			const lines = log.split('\n').filter((line) => format === 'json' ? line.startsWith('{') : /^\d{4}-/.test(line));
			assert.ok(lines.length > 100 && /http.request/.test(log) && /auth.refused/.test(log), `${lines.length} lines`);
			if (format === 'json')
				lines.forEach((line) => JSON.parse(line));
			const ledger = new Ledger();
			ledger.secrets = world.ledger.secrets.map((secret) => ({ ...secret, readers: new Set() }));
			ledger.secret('mallory', 'what was typed as a name', typed.slice(0, 32), []);
			ledger.see('the log', 'the log', log);
			assert.deepEqual(ledger.leaks(), []);
			ledger.secret('nobody', 'the path', mark, []);
			assert.equal(ledger.leaks().length, 1);
		});

		it('nor have /metrics, the command line and the environment', async () => {
			const ledger = new Ledger();
			ledger.secrets = world.ledger.secrets.map((secret) => ({ ...secret, readers: new Set() }));
			const metrics = (await server.rest().get('/metrics')).text;
			assert.ok(metrics.includes('twinbox_logins_total'));
			ledger.see('anybody', '/metrics', metrics);
			for (const { name } of Object.values(world.people))
				assert.ok(!metrics.includes(name), `${name} is in /metrics`);
			for (const file of ['cmdline', 'environ']) {
				const text = fs.readFileSync(`/proc/${server.pid}/${file}`, 'latin1');
				assert.ok(text.length > 0);
				ledger.see('the system', file, text);
			}
			assert.deepEqual(ledger.leaks(), []);
		});

		it('no password and no token is on the disk, and what is there is the server\'s alone', () => {
			const ledger = new Ledger();
			const kinds = /password|token/;
			ledger.secrets = world.ledger.secrets.filter((secret) => kinds.test(secret.kind))
				.map((secret) => ({ ...secret, readers: new Set() }));
			assert.ok(ledger.secrets.length > 20);
			let size = 0;
			for (const { name, file, stat } of entriesIn(server.data)) {
				assert.equal(stat.mode & 0o077, 0, `${name} is ${(stat.mode & 0o777).toString(8)}`);
				if (!stat.isFile())
					continue;
				const text = unlessGone(() => fs.readFileSync(file, 'latin1')) ?? '';
				size += text.length;
				ledger.see('the disk', name, text);
			}
			assert.ok(size > 100_000, `${size} bytes`);
			assert.deepEqual(ledger.leaks(), []);
			// A body must be there, and is found: this shows that
			// the search works.
			const bodies = world.ledger.secrets.filter((secret) => secret.kind === 'body');
			assert.ok(bodies.some((secret) => ledger.pages.some((page) => page.text.includes(secret.text))));
			assert.equal(fs.statSync(server.data).mode & 0o777, 0o700);
		});
	});
}

// A seed is 32 random bytes.  The test takes it from a backup, which must
// contain it.
describe('the seeds of the server\'s keys', () => {
	const archive = path.join(tempDir(), 'archive');
	const server = new Server({ args: ['--log-level', 'debug', '--archive', archive,
		'--audit-retention', '1s', '--retention', '1s', '--purge-rate', '20000'] });
	const ledger = new Ledger();
	const file = path.join(tempDir(), 'backup.db');
	const later = path.join(tempDir(), 'later.db'); // after a key was retired
	let root;
	let stolen; // the seed of that key

	/**
	 * Runs a command of twinboxd, which must succeed.  Its output counts as
	 * shown to the operator.
	 */
	const command = async (...args) => {
		const child = run(server.program, [...args, ...dataArgs(server.data)]);
		assert.equal((await child.exited).code, 0, child.err);
		ledger.see('the operator', args.join(' '), child.out + child.err);
		return child.out;
	};

	/**
	 * Returns the seeds in the backup ${where} of the keys that match
	 * ${which}.
	 */
	const seeds = (where, which) => execFileSync('sqlite3', ['-batch', '-bail', '-readonly', where,
		`SELECT hex(seed) FROM server_keys WHERE ${which}`], { encoding: 'utf8' })
		.trim().split('\n').map((line) => Buffer.from(line, 'hex'));

	const keep = (bytes) => {
		ledger.bytes('the server', 'seed', bytes, ['the disk']);
		return ledger.secrets.at(-1);
	};

	before(async () => {
		await server.start();
		root = await operator(server);
		for (let i = 0; i < 3; i++)
			await command('keys', 'rotate');
		const [, id] = /^(k\w+) +signs/m.exec(await command('keys', 'list'));
		await command('backup', file);
		await command('keys', 'retire', id, '--now');
		await command('keys', 'list');
		await command('check-config');
		await command('backup', later);
		for (const seed of seeds(file, `key_id <> '${id}'`))
			keep(seed);
		[stolen] = seeds(file, `key_id = '${id}'`).map(keep);
		const [replacement, ...more] = seeds(later, 'retires_at IS NULL AND retired_at IS NULL')
			.filter((seed) => !seeds(file, '1').some((one) => one.equals(seed)));
		assert.equal(more.length, 0);
		keep(replacement);
	});
	after(() => server.kill());

	it('are in the database and in a back-up', () => {
		assert.equal(ledger.secrets.length, 4);
		const text = [file, later].map((one) => fs.readFileSync(one, 'latin1')).join('\n');
		for (const secret of ledger.secrets)
			assert.ok(secret.forms.some((form) => text.includes(form)));
	});

	it('of a retired key are in no later back-up and not in the database', async () => {
		const has = (where) => {
			const text = fs.readFileSync(where, 'latin1');
			return stolen.forms.some((form) => text.includes(form));
		};

		assert.deepEqual(seeds(later, 'retired_at IS NOT NULL').map((seed) => seed.toString('hex')), ['00'.repeat(32)]);
		assert.ok(has(file));
		assert.ok(!has(later));
		// After a restart everything that was in the log is in the
		// database file.
		await server.restart();
		for (const name of fs.readdirSync(server.data).filter((one) => one.startsWith('twinbox.db')))
			assert.ok(!has(path.join(server.data, name)), name);
	});

	it('are in no answer, no export and no archive', async () => {
		for (const target of ['/', '/v1', '/metrics', '/healthz', '/v1/admin/stats', '/v1/admin/users',
			'/v1/admin/process', '/v1/admin/destinations', '/v1/admin/dead-letters/export',
			'/.well-known/twinbox'])
			ledger.see('anybody', target, (await root.request('GET', target)).text);
		assert.ok((await root.all('audit', 'entries')).some((one) => one.action === 'key_rotate') ||
			archived(archive).some((line) => JSON.stringify(line).includes('key_rotate')));
		ledger.see('the administrator', 'all answers', root.said);
		await eventually(() => archived(archive).filter((line) => JSON.stringify(line).includes('key_rotate')).length === 3,
			'three rotations in the archive');
		ledger.see('the archive', 'its lines', JSON.stringify(archived(archive)));
		assert.deepEqual(ledger.leaks(), []);
	});

	it('are not in the log, nor in what the system shows of the process', () => {
		const log = server.output();
		assert.match(log, /control\.call command=keys\.rotate/);
		ledger.see('the log', 'the log', log);
		for (const name of ['cmdline', 'environ'])
			ledger.see('the system', name, fs.readFileSync(`/proc/${server.pid}/${name}`, 'latin1'));
		assert.deepEqual(ledger.leaks(), []);
		// … and the check finds the seeds where they are.
		for (const one of [file, later])
			ledger.see('anybody', 'the back-up', fs.readFileSync(one, 'latin1'));
		assert.equal(ledger.leaks().length, 4 + 2, 'two of them are in both');
	});
});

describe('memory', () => {
	// A sanitizer must read its own process like a debugger, so
	// hide_memory() does nothing in such a build.
	it('leaves no core file and is shown to nobody but root', { skip: process.env.TWINBOX_SANITIZED ? 'the release build shows it' : false }, async (t) => {
		const dir = tempDir();
		const root = process.getuid() === 0;
		if (root)
			fs.chownSync(dir, 65534, 65534);
		const wrapper = root ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
		if (root)
			execFileSync('setpriv', ['--version']);
		const owner = (server) => fs.statSync(`/proc/${server.pid}/environ`).uid;
		for (const [Kind, shown] of [[Earnest, false], [Server, true]]) {
			const server = new Kind({ wrapper, data: path.join(dir, Kind.name) });
			t.after(() => server.stop());
			await server.start();
			assert.match(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'), /^Name:\s+twinboxd$/m);
			// The files in /proc/PID of a process that is not
			// dumpable belong to root.
			assert.equal(owner(server), shown ? (root ? 65534 : process.getuid()) : 0);
			if (!shown) {
				assert.match(fs.readFileSync(`/proc/${server.pid}/limits`, 'utf8'),
					/^Max core file size\s+0\s+0\s/m);
			}
			expectStatus(await server.rest().get('/healthz'), 200);
			expectStatus(await server.rest().get('/metrics'), 200);
		}
	});
});
