// SPDX-License-Identifier: MIT
// tags: surface
//
// The command line client: every command, its output for people and for
// programs, and its error messages and exit codes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { EX, Person, TWINBOX, people } from './cli-client.mjs';
import { PASSWORD, freshName, run, serverForFile, sleep, startServer, uuid7 } from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

/**
 * Asserts that the command ${done} failed with exit code ${code}, and that its
 * one error line matches ${what}.
 */
function failed(done, code, what)
{
	assert.equal(done.code, code, `${done.code}: ${done.out}${done.err}`);
	assert.match(done.err, /^twinbox: [^\n]+\n$/, done.err);
	assert.match(done.err, what);
}

/** The number of long-polls that wait at the server. */
const polls = async () => Number(/^twinbox_long_polls (\d+)$/m.exec(
	(await server.rest().get('/metrics')).text)[1]);

const COMMANDS = ['register', 'login', 'passwd', 'logout', 'whoami', 'send', 'inbox', 'tail', 'chat',
	'read', 'ack', 'outbox', 'history', 'conversations', 'devices'];

describe('help', () => {
	it('lists the commands, and explains each', async () => {
		const nobody = new Person(server.url);
		const { out } = await nobody.run('--help');
		for (const command of COMMANDS) {
			assert.match(out, new RegExp(`^  ${command} `, 'm'));
			const help = (await nobody.run(command, '--help')).out;
			assert.match(help, new RegExp(`^usage: twinbox ${command}`));
			assert.match(help, /--json/);
		}
	});

	it('mistakes are named', async () => {
		const nobody = new Person(server.url);
		failed(await nobody.try([]), EX.USAGE, /no command.*--help/);
		failed(await nobody.try(['sned', 'bob']), EX.USAGE, /no command "sned"/);
		failed(await nobody.try(['inbox', '--nonsense']), EX.USAGE, /no option --nonsense/);
		failed(await nobody.try(['login', 'bob', 'my password']), EX.USAGE, /too many words/);
		failed(await nobody.try(['whoami', '--server', 'nonsense']), EX.NOPERM, /nobody is logged in/);
	});
});

describe('what a command begins with', () => {
	it('the version, and those of libraries', async () => {
		const { out } = await new Person(server.url).run('--version');
		assert.match(out, /^twinbox \d+\.\S+\nlibcurl \d+\.\S+\nlibwebsockets \d+\.\S+\nSQLite 3\.\S+\njansson \d+\.\S+\n$/);
	});

	it('a mistake is one line, with --json an object too', async () => {
		const nobody = new Person(server.url);
		const none = await nobody.try(['--json']);
		assert.equal(none.err, 'twinbox: no command was given; see twinbox --help\n');
		assert.deepEqual(JSON.parse(none.out), { error: { code: 'usage', detail: 'no command was given',
			cure: 'see twinbox --help', exit: EX.USAGE, status: 0, retry_after: 0 } });
		const early = await nobody.try(['whoami']);
		assert.equal(early.out, '');
		assert.equal(early.err,
			'twinbox: whoami: nobody is logged in with profile default; twinbox login NAME\n');
		assert.equal((await nobody.try(['whoami', '-p', 'work'])).err,
			'twinbox: whoami: nobody is logged in with profile work; twinbox login NAME --profile work\n');
		const bad = await nobody.withPassword(['login', 'ann', '--server', 'ftp://x']);
		assert.equal(bad.err, 'twinbox: login: "ftp://x" is not a valid server; write it as http://HOST:PORT\n');
		assert.equal(bad.code, EX.USAGE);
	});

	it('the server is that of the option, of the environment, of the profile', async () => {
		const [ann] = await people(server.url, 'ann');
		const local = server.url.replace('127.0.0.1', 'localhost');
		const at = async (args, env) => JSON.parse((await ann.try(['whoami', '--json', ...args], { env })).out);
		const gone = 'http://127.0.0.1:1';
		assert.equal((await at(['--server', local], { TWINBOX_SERVER: gone })).server, local);
		assert.equal((await at([], { TWINBOX_SERVER: local })).server, local);
		assert.equal((await at([], { TWINBOX_SERVER: '' })).server, server.url);
		assert.equal((await at([], { TWINBOX_SERVER: undefined })).server, server.url);
		assert.match((await at([], { TWINBOX_SERVER: gone })).error.detail, /^cannot reach http:\/\/127\.0\.0\.1:1: /);
		assert.equal((await at([], { TWINBOX_PROFILE: '' })).profile, 'default');
		const far = await ann.try(['whoami', '--server', 'http://chat.example.invalid']);
		assert.equal(far.err, `twinbox: whoami: profile default is logged in at ${server.url}, not at ` +
			'http://chat.example.invalid; log in there with another --profile, or leave --server out\n');
	});
});

describe('accounts', () => {
	it('register logs in; whoami, logout', async () => {
		const [ann] = await people(server.url, 'ann');
		assert.match((await ann.run('whoami')).out, new RegExp(`^${ann.name} at ${server.url}`));
		const who = await ann.json('whoami');
		assert.equal(who.user, ann.name);
		assert.equal(who.server, server.url);
		assert.equal(who.profile, 'default');
		await ann.run('logout');
		assert.ok(!fs.existsSync(ann.profilePath()));
		failed(await ann.try(['whoami']), EX.NOPERM, /nobody is logged in.*twinbox login/);
		const back = await ann.withPassword(['login', ann.name, '--device', 'desk']);
		assert.equal(back.code, 0, back.err);
		const devices = (await ann.run('devices')).out;
		assert.match(devices, /desk .*this one/);
	});

	it('the token is for the owner alone, and nowhere else', async () => {
		const [ann] = await people(server.url, 'ann');
		const { token } = ann.profile();
		assert.ok(token.length > 20);
		assert.equal(fs.statSync(ann.profilePath()).mode & 0o777, 0o600);
		assert.equal(fs.statSync(path.dirname(ann.profilePath())).mode & 0o777, 0o700);
		for (const args of [['whoami', '--json'], ['devices', '--json'], ['login', ann.name, '--json']]) {
			const done = await ann.withPassword(args[0] === 'login' ? args : ['login', ann.name]);
			assert.ok(!(done.out + done.err).includes(ann.profile().token));
		}
		fs.chmodSync(ann.profilePath(), 0o644);
		failed(await ann.try(['whoami']), EX.CONFIG, /others may read it; chmod 600/);
	});

	it('wrong password, taken name, bad name, short password', async () => {
		const [ann] = await people(server.url, 'ann');
		const other = new Person(server.url);
		failed(await other.withPassword(['login', ann.name], 'not the password'), EX.NOPERM,
			/wrong name or password/);
		failed(await other.withPassword(['login', freshName('nobody')]), EX.NOPERM,
			/wrong name or password/);
		failed(await other.withPassword(['register', ann.name]), EX.CANTCREAT, /choose another name/);
		failed(await other.withPassword(['register', 'Ann!']), EX.USAGE, /not a valid user name/);
		failed(await other.withPassword(['register', '-x', '--no-login']), EX.USAGE, /-x/);
		failed(await other.withPassword(['register', 'root']), EX.NOPERM, /"root" is reserved for the operator/);
		failed(await other.withPassword(['register', freshName('x')], 'short'), EX.DATAERR, /password/i);
		failed(await other.withPassword(['register', freshName('x')], ''), EX.DATAERR, /empty/);
		assert.ok(!fs.existsSync(other.profilePath()));
	});

	it('passwd changes the password and logs the other devices out', async () => {
		const [ann] = await people(server.url, 'ann');
		const laptop = new Person(server.url, { name: ann.name });
		await laptop.withPassword(['login', ann.name]);
		const wrong = await ann.try(['passwd', '--password-stdin'], { input: 'not it at all\nnew secret 1\n' });
		failed(wrong, EX.NOPERM, /not the current password/);
		failed(await ann.try(['passwd', '--password-stdin'], { input: `${PASSWORD}\nx\n` }), EX.DATAERR, /password/);
		const done = await ann.try(['passwd', '--password-stdin'], { input: `${PASSWORD}\nnew secret 1\n` });
		assert.equal(done.code, 0, done.err);
		assert.equal(done.out, `the password of ${ann.name} is changed; all other devices were logged out\n`);
		await ann.run('whoami');
		failed(await laptop.try(['inbox']), EX.NOPERM, /this device was logged out/);
		failed(await laptop.withPassword(['login', ann.name]), EX.NOPERM, /wrong name or password/);
		assert.equal((await laptop.withPassword(['login', ann.name], 'new secret 1')).code, 0);
	});

	it('a closed server says so', async (t) => {
		const closed = await startServer({ args: ['--registration', 'closed'] });
		t.after(() => closed.stop());
		failed(await new Person(closed.url).withPassword(['register', 'ann']), EX.NOPERM,
			/closed: ask its operator/);
	});

	it('--json is a line for each, --page the page of the server', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		for (const text of ['one', 'two'])
			await ann.run('send', bob.name, text);
		await until(async () => (await bob.events()).length === 2);
		for (const [command, array, count] of [[['inbox'], 'events', 2], [['inbox', '--all'], 'events', 2],
			[['history', ann.name], 'messages', 2], [['history', ann.name, '--offline'], 'messages', 2],
			[['conversations'], 'conversations', 1], [['devices'], 'devices', 1]]) {
			const rows = await bob.rows(...command);
			assert.equal(rows.length, count, command.join(' '));
			assert.deepEqual((await bob.page(...command))[array], rows, command.join(' '));
		}
		assert.equal((await bob.run('outbox', '--json')).out, '');
		await ann.try(['send', bob.name, 'three', '--try-for', '0s'], { env: { TWINBOX_SERVER: 'http://127.0.0.1:1' } });
		const rows = await ann.rows('outbox');
		assert.deepEqual(rows.map((row) => row.state), ['waiting', 'sent', 'sent']);
		const page = await ann.page('outbox');
		assert.deepEqual([...page.waiting_here, ...page.entries], rows);
		failed(await bob.try(['inbox', '--page']), EX.USAGE, /--page goes with --json/);
	});

	it('several profiles; one is not overwritten by another account', async () => {
		const [ann] = await people(server.url, 'ann');
		const second = freshName('bob');
		failed(await ann.withPassword(['register', second]), EX.CONFIG, /is .* already.*--profile/);
		const done = await ann.withPassword(['register', second, '--profile', 'work']);
		assert.equal(done.code, 0, done.err);
		assert.equal((await ann.json('whoami', '-p', 'work')).user, second);
		assert.equal((await ann.json('whoami')).user, ann.name);
		const by_environment = await ann.try(['whoami'], { env: { TWINBOX_PROFILE: 'work' } });
		assert.match(by_environment.out, new RegExp(`^${second} `));
		failed(await ann.try(['whoami', '-p', '../x']), EX.USAGE, /not a valid name for a profile/);
	});

	it('XDG folders are respected', async () => {
		const ann = new Person(server.url);
		ann.env.XDG_CONFIG_HOME = path.join(ann.home, 'c');
		ann.env.XDG_STATE_HOME = path.join(ann.home, 's');
		await ann.register();
		await ann.run('send', ann.name, 'note');
		assert.ok(fs.existsSync(path.join(ann.home, 'c/twinbox/default.json')));
		const [db] = fs.readdirSync(path.join(ann.home, 's/twinbox/default'));
		assert.match(db, /\.db/);
		assert.equal(fs.statSync(path.join(ann.home, 's/twinbox/default', db)).mode & 0o077, 0);
		assert.ok(!fs.existsSync(path.join(ann.home, '.config')));
	});

	it('a token goes to no other server', async () => {
		const [ann] = await people(server.url, 'ann');
		failed(await ann.try(['whoami', '--server', 'http://chat.example.invalid']), EX.CONFIG,
			/is logged in at .*, not at/);
	});

	it('devices are listed and revoked', async () => {
		const [ann] = await people(server.url, 'ann');
		const laptop = new Person(server.url, { name: ann.name });
		await laptop.withPassword(['login', ann.name, '--device', 'laptop']);
		const line = (await ann.run('devices')).lines.find((one) => one.includes('laptop'));
		const [id] = line.split(/\s+/);
		await ann.run('devices', 'revoke', id);
		for (const command of [['inbox'], ['outbox'], ['whoami'], ['history', 'bob']])
			assert.equal((await laptop.try(command)).err, `twinbox: ${command[0]}: this device was ` +
				`logged out; log in again: twinbox login ${ann.name}\n`);
		failed(await laptop.try(['send', ann.name, 'kept']), EX.NOPERM,
			/this device was logged out; the message is kept here; log in again: twinbox login/);
		const { error } = JSON.parse((await laptop.try(['inbox', '--json'])).out);
		assert.equal(error.code, 'unauthenticated');
		assert.equal(error.cure, `log in again: twinbox login ${ann.name}`);
		failed(await ann.try(['devices', 'revoke', id]), EX.DATAERR, /twinbox devices lists them/);
		failed(await ann.try(['devices', 'remove', id]), EX.USAGE, /devices revoke ID/);
		assert.equal((await ann.run('devices')).lines.length, 2);
	});

	it('devices revoke --others and logout --everywhere', async () => {
		const [ann] = await people(server.url, 'ann');
		const more = async (device) => {
			const one = new Person(server.url, { name: ann.name });
			await one.withPassword(['login', ann.name, '--device', device]);
			return one;
		};
		const gone = async (one) => failed(await one.try(['outbox']), EX.NOPERM, /this device was logged out/);

		const phone = await more('phone');
		const laptop = await more('laptop');
		failed(await ann.try(['devices', '--others']), EX.USAGE, /devices revoke --others/);
		assert.equal((await ann.run('devices')).lines.length, 4);
		assert.equal((await ann.run('devices', 'revoke', '--others')).out, 'revoked all other devices\n');
		await gone(phone);
		await gone(laptop);
		assert.equal((await ann.run('devices')).lines.length, 2);

		const tablet = await more('tablet');
		assert.equal((await tablet.run('logout', '--everywhere')).out,
			`logged out ${ann.name} on all devices\n`);
		await gone(ann);
		failed(await ann.try(['logout', '--everywhere']), EX.NOPERM, /log in again/);
		failed(await tablet.try(['whoami']), EX.NOPERM, /nobody is logged in/);
	});
});

describe('send', () => {
	it('the words, standard input, and what comes out at the other end', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const texts = ['hello there', 'line one\nline two', '--not-an-option', 'grüße 🦊'];
		assert.match((await ann.run('send', bob.name, 'hello', 'there')).out, 
			new RegExp(`^✓ accepted {2}to ${bob.name}: hello there {2}[0-9a-f-]{36}\\n$`));
		const done = await ann.try(['send', bob.name, '-', '--json'], { input: 'line one\nline two\n' });
		assert.equal(done.code, 0, done.err);
		const entry = JSON.parse(done.out);
		assert.equal(entry.to, bob.name);
		await ann.run('send', bob.name, '--', '--not-an-option');
		await ann.run('send', bob.name, 'grüße 🦊');
		await ann.run('send', bob.name, 'last', '--wait', 'delivered', '--timeout', '0s').catch(() => {});
		const events = await bob.events();
		assert.deepEqual(events.slice(0, 4).map((event) => event.body), texts);
		assert.equal(events[1].id, entry.id);
	});

	it('options reach the message', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const id = uuid7();
		const first = await ann.json('send', bob.name, 'x', '--id', id, '--priority', 'high',
			'--content-type', 'text/markdown', '--correlation-id', 'c 1',
			'--metadata', 'a=b=c', '--metadata', 'd=', '--expires-in', '2h');
		assert.equal(first.id, id);
		assert.equal(first.priority, 'high');
		assert.deepEqual(first.metadata, { a: 'b=c', d: '' });
		assert.equal(first.correlation_id, 'c 1');
		const lasts = Date.parse(first.expires_at) - Date.parse(first.created_at);
		assert.ok(Math.abs(lasts - 7200_000) < 5000, first.expires_at);
		const reply = await bob.json('send', '--conversation', first.conversation, 'y', 'z',
			'--reply-to', id);
		assert.equal(reply.conversation, first.conversation);
		const later = await ann.json('send', bob.name, 'later', '--in', '1h');
		assert.ok(later.labels.includes('scheduled'));
		const at = await ann.json('send', bob.name, 'later', '--at', '2040-01-01T00:00:00Z');
		assert.equal(at.deliver_at, '2040-01-01T00:00:00.000Z');
		const events = await ann.events();
		const [event] = events.filter((one) => one.body === 'y z');
		assert.equal(event.reply_to, id);
	});

	it('the same id or key sends once', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const id = uuid7();
		await ann.run('send', bob.name, 'once', '--id', id);
		assert.match((await ann.run('send', bob.name, 'once', '--id', id)).out, /^✓ accepted before/);
		const one = await ann.json('send', bob.name, 'keyed', '--key', 'order 17');
		const two = await ann.json('send', bob.name, 'keyed', '--key', 'order 17');
		assert.equal(one.id, two.id);
		failed(await ann.try(['send', bob.name, 'other', '--id', id]), EX.DATAERR, /another/);
		failed(await ann.try(['send', bob.name, 'other', '--key', 'order 17']), EX.DATAERR, /another/);
		// A second computer knows nothing of the first use of the id.
		const laptop = new Person(server.url, { name: ann.name });
		await laptop.withPassword(['login', ann.name]);
		failed(await laptop.try(['send', bob.name, 'other', '--id', id]), EX.DATAERR, /another/);
		assert.deepEqual((await bob.events()).map((event) => event.body), ['once', 'keyed']);
	});

	it('--wait delivered and read', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const [one, other] = [uuid7(), uuid7()];
		const state = async (id) => (await ann.json('outbox', id)).state;
		const deliver = (...more) => ann.start('send', bob.name, 'are you there', '--id', one, '--wait', 'delivered', ...more);
		const waiting = deliver();
		await until(async () => (await bob.events()).length === 1);
		await until(async () => await state(one) === 'sent');
		// State sent is not yet delivered, so a command that starts now
		// waits, too.
		const late = deliver('--json');
		await until(async () => await polls() === 2);
		await bob.run('ack', 1);
		assert.equal((await waiting.exited).code, 0);
		assert.match(waiting.out, /accepted.*\n✓✓ delivered\n$/);
		assert.equal((await late.exited).code, 0);
		assert.equal(JSON.parse(late.out).state, 'acked');

		const read = () => ann.start('send', bob.name, 'read this', '--id', other, '--wait', 'read', '--json');
		const readers = [read()];
		await until(async () => (await bob.events()).length === 2);
		await bob.run('ack', 2);
		await until(async () => await state(other) === 'acked');
		// State acked is not yet read, so a command that starts now
		// waits, too.
		readers.push(read());
		await until(async () => await polls() === 2);
		await bob.run('read', '--upto', 2);
		for (const reading of readers) {
			assert.equal((await reading.exited).code, 0);
			assert.ok(JSON.parse(reading.out).labels.includes('read'));
		}

		const start = performance.now();
		failed(await ann.try(['send', bob.name, 'x', '--wait', 'read', '--timeout', '1s']),
			EX.TEMPFAIL, /not read in time \(now: sent\)/);
		assert.ok(performance.now() - start < 5000);
	});

	it('what cannot be sent', async () => {
		const [ann] = await people(server.url, 'ann');
		const nobody = freshName('nobody');
		failed(await ann.try(['send', nobody, 'x']), EX.NOUSER, /spelling/);
		failed(await ann.try(['send', 'not a name', 'x']), EX.DATAERR, /twinbox: send: /);
		failed(await ann.try(['send', nobody]), EX.USAGE, /no text/);
		failed(await ann.try(['send', nobody, '-'], { input: '' }), EX.DATAERR, /empty/);
		failed(await ann.try(['send', nobody, '-'], { input: Buffer.from([0xff, 0xfe]) }), EX.DATAERR, /UTF-8/);
		failed(await ann.try(['send', nobody, '-'], { input: 'a\0b' }), EX.DATAERR, /UTF-8/);
		failed(await ann.try(['send', nobody, '-'], { input: 'x'.repeat(16385) }), EX.DATAERR, /longer than 16384/);
		failed(await ann.try(['send', nobody, 'x', '--id', '7']), EX.USAGE, /not a valid UUID/);
		failed(await ann.try(['send', nobody, 'x', '--wait', 'seen']), EX.USAGE, /delivered.*read/);
		failed(await ann.try(['send', nobody, 'x', '--in', 'soon']), EX.USAGE, /--in takes a time/);
		failed(await ann.try(['send', nobody, 'x', '--id', uuid7(), '--key', 'k']), EX.USAGE, /exclude/);
		failed(await ann.try(['send', nobody, 'x', '--priority', 'urgent']), EX.DATAERR, /priority/);
		const json = await ann.try(['send', nobody, 'x', '--json']);
		const { error } = JSON.parse(json.out);
		assert.equal(error.code, 'unknown_recipient');
		assert.equal(error.exit, EX.NOUSER);
		assert.equal(error.status, 422);
		// The client keeps none of them for a later attempt.
		assert.deepEqual((await ann.page('outbox')).waiting_here, []);
	});

	it('16,384 bytes are sent', async () => {
		const [ann] = await people(server.url, 'ann');
		const done = await ann.try(['send', ann.name, '-'], { input: 'x'.repeat(16384) });
		assert.equal(done.code, 0, done.err);
	});
});

async function until(probe)
{
	for (let i = 0; i < 200; i++) {
		if (await probe())
			return;
		await sleep(50);
	}
	throw new Error('it did not come to pass');
}

describe('inbox, ack, read', () => {
	it('shows what is new, marks nothing, ack and read do', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		for (const text of ['one', 'two', 'three'])
			await ann.run('send', bob.name, text);
		await until(async () => (await bob.events()).length === 3);
		for (let i = 0; i < 2; i++) {
			const { lines } = await bob.run('inbox');
			assert.deepEqual(lines.map((line) => line.replace(/ +\d\d:\d\d +/, ' ')),
				['one', 'two', 'three'].map((text, n) => `#${n + 1} ${ann.name}  ${text}`
					.replace(ann.name, ann.name.padEnd(12))));
		}
		assert.match((await bob.run('ack', 2)).out, /^acked up to 2 of 3/);
		assert.deepEqual((await bob.run('inbox')).lines.length, 1);
		assert.deepEqual(await bob.json('ack', 1), { acked: 2, head: 3 });
		failed(await bob.try(['ack', 4]), EX.DATAERR, /twinbox inbox/);
		failed(await bob.try(['ack', 'all']), EX.USAGE, /whole number/);
		assert.deepEqual(await bob.json('read', '--upto', 1), { unread: 2 });
		const [{ conversation }] = await bob.events();
		assert.match((await bob.run('read', '--conversation', conversation,
			'--upto-conversation-seq', 3)).out, /^read; 0 unread/);
		failed(await bob.try(['read']), EX.USAGE, /needed/);
		failed(await bob.try(['read', '--upto', 1, '--conversation', conversation]), EX.USAGE, /needed/);
	});

	it('read NAME, read --all and ack need no numbers', async () => {
		const [ann, bob, eve] = await people(server.url, 'ann', 'bob', 'eve');
		assert.equal((await bob.run('read', '--all')).out, 'nothing to read\n');
		assert.equal((await bob.run('ack')).out, 'acked up to 0 of 0\n');
		for (const text of ['one', 'two', 'three'])
			await ann.run('send', bob.name, text);
		await eve.run('send', bob.name, 'hi');
		await until(async () => (await bob.events()).length === 4);
		failed(await bob.try(['read', freshName('nobody')]), EX.DATAERR, /no conversation with/);
		assert.equal((await bob.run('ack')).out, 'acked up to 4 of 4\n');
		assert.equal((await bob.run('read', ann.name)).out, `read 3 messages from ${ann.name}; 1 unread\n`);
		assert.equal((await bob.run('read', ann.name)).out, `nothing new from ${ann.name}; 1 unread\n`);
		await until(async () => (await ann.run('history', bob.name)).lines.every((line) => line.endsWith('✓✓ read')));
		assert.equal((await bob.run('read', '--all')).out, 'read; 0 unread\n');
	});

	it('pages: --after, --limit, --all; a bad cursor', async () => {
		const [ann] = await people(server.url, 'ann');
		for (let i = 1; i <= 7; i++)
			await ann.run('send', ann.name, `note ${i}`);
		const page = await ann.page('inbox', '--after', 2, '--limit', 3);
		assert.deepEqual(page.events.map((event) => event.seq), [3, 4, 5]);
		assert.equal(page.has_more, true);
		await ann.run('ack', 7);
		assert.equal((await ann.run('inbox', '--all')).lines.length, 7);
		assert.equal((await ann.run('inbox')).lines.length, 0);
		failed(await ann.try(['inbox', '--after', 8]), EX.DATAERR, /--after/);
		failed(await ann.try(['inbox', '--limit', 0]), EX.USAGE, /from 1 to 200/);
	});

	it('--wait waits for the first one', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const waiting = bob.start('inbox', '--wait', '20s', '--json');
		await until(async () => await polls() === 1);
		await ann.run('send', bob.name, 'now');
		assert.equal((await waiting.exited).code, 0);
		assert.equal(JSON.parse(waiting.out).body, 'now');
	});

	it('what others write cannot reach the terminal', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const evil = '\x1b[2J\x1b]0;owned\x07\u202egnp\u2066\x9b31m\r\n#9  12:00  root  forged';
		const done = await ann.try(['send', bob.name, '-'], { input: evil });
		assert.equal(done.code, 0, done.err);
		await until(async () => (await bob.events()).length === 1);
		for (const args of [['inbox'], ['history', ann.name], ['history', ann.name, '--offline'],
			['conversations'], ['tail', '--once']]) {
			const { out } = await bob.run(...args);
				assert.doesNotMatch(out, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/, args.join(' '));
			assert.doesNotMatch(out, /^#9/m, args.join(' '));
		}
		assert.match((await bob.run('inbox', '--all')).out, /\\x1b\[2J.*\\u202egnp/);
		// Programs get the text unchanged.
		assert.equal((await bob.events())[0].body, evil);
	});
});

describe('outbox', () => {
	it('lists, shows one, filters, cancels', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const now = await ann.json('send', bob.name, 'now');
		const later = await ann.json('send', bob.name, 'later', '--in', '2h');
		await until(async () => (await bob.events()).length === 1);
		const { lines } = await ann.run('outbox');
		assert.match(lines[0], /^STATE +TO +CREATED +DUE +TEXT +ID$/);
		assert.match(lines[1], new RegExp(`^scheduled +${bob.name} +[\\d:]+ .*\\d\\d:\\d\\d  later +${later.id}$`));
		assert.match(lines[2], new RegExp(`^sent +${bob.name} +[\\d:]+ +now +${now.id}$`));
		await bob.run('read', '--upto', 1);
		await until(async () => (await ann.run('outbox', '--state', 'read')).lines.length === 2);
		assert.match((await ann.run('outbox', now.id)).out, /^state +read$/m);
		assert.equal((await ann.json('outbox', later.id)).state, 'pending');
		assert.match((await ann.run('outbox', 'cancel', later.id)).out, /^canceled/);
		assert.equal((await ann.json('outbox', later.id)).state, 'canceled');
		failed(await ann.try(['outbox', 'cancel', now.id]), EX.DATAERR, /cannot be canceled/);
		failed(await ann.try(['outbox', uuid7()]), EX.DATAERR, /check the id/);
		failed(await ann.try(['outbox', 'x']), EX.USAGE, /not a valid UUID/);
		failed(await ann.try(['outbox', 'delete', now.id]), EX.USAGE, /cancel ID/);
		failed(await ann.try(['outbox', '--state', 'lost']), EX.DATAERR, /state/);
	});
});

describe('history and conversations', () => {
	it('shows both sides and what became of my messages', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		await ann.run('send', bob.name, 'first');
		await until(async () => (await bob.events()).length === 1);
		await bob.run('read', '--upto', 1);
		await bob.run('send', ann.name, 'second');
		await ann.run('send', bob.name, 'third');
		await until(async () => (await ann.run('history', bob.name)).out.includes('read'));
		const strip = (lines) => lines.map((line) => line.replace(/^\d\d:\d\d +/, '').replace(/ {2,}/g, '  '));
		assert.deepEqual(strip((await ann.run('history', bob.name)).lines),
			['you  first  ✓✓ read', `${bob.name}  second`, 'you  third  ✓']);
		assert.deepEqual(strip((await bob.run('history', ann.name, '--limit', 2)).lines),
			['you  second  ✓', `${ann.name}  third`]);
		const { messages } = await bob.page('history', ann.name);
		assert.deepEqual(messages.map((message) => message.body), ['first', 'second', 'third']);
		const { lines } = await bob.run('conversations');
		assert.match(lines[1], new RegExp(`^${ann.name} +1 `));
		const id = lines[1].split(/\s+/).at(-1);
		assert.equal((await bob.run('history', '--conversation', id)).lines.length, 3);
		failed(await ann.try(['history', freshName('nobody')]), EX.DATAERR, /no conversation with/);
		failed(await ann.try(['history']), EX.USAGE, /NAME or --conversation/);
	});

	it('--json gives no terminal what strangers wrote to it', async () => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const body = '\x1b[31m\x7f\x9b31m\x9d0;title\x9c \u061c\u200e\u2028\u202e\u2066\ufeff\ufff9\u{e0041} grüß 👩‍👩‍👧';
		const escaped = String.raw`\u001B[31m\u007F\u009B31m\u009D0;title\u009C \u061C\u200E\u2028\u202E\u2066\uFEFF\uFFF9\uDB40\uDC41 grüß 👩‍👩‍👧`;
		await ann.try(['send', bob.name, '-'], { input: body });
		await until(async () => (await bob.events()).length === 1);
		for (const command of [['history', ann.name], ['inbox', '--all'], ['tail', '--once']]) {
			const { out } = await bob.run(...command, '--json');
			assert.ok(out.includes(escaped), out);
			assert.equal(JSON.parse(`"${/"body":"((?:[^"\\]|\\.)*)"/.exec(out)[1]}"`), body);
		}
	});

	it('R232 what was shown can be read without the server', async (t) => {
		const other = await startServer();
		t.after(() => other.stop());
		const [ann, bob] = await people(other.url, 'ann', 'bob');
		await ann.run('send', bob.name, 'keep this');
		await bob.run('send', ann.name, 'and this');
		await until(async () => (await bob.events()).length >= 2);
		await bob.run('tail', '--once');
		await other.stop();
		assert.deepEqual((await bob.run('history', ann.name, '--offline')).lines
			.map((line) => line.split(/ {2,}/).at(-1)), ['keep this', 'and this']);
		failed(await bob.try(['history', ann.name]), EX.UNAVAILABLE, /cannot reach .*start the server/);
	});
});

describe('colours', () => {
	it('are never in a pipe', async () => {
		const [ann] = await people(server.url, 'ann');
		await ann.run('send', ann.name, 'x');
		const done = await ann.try(['inbox', '--all'], { env: { TERM: 'xterm' } });
		assert.doesNotMatch(done.out, /\x1b/);
	});
});

describe('an outage', () => {
	it('is one error line, which counts what waits here', async () => {
		const [ann] = await people(server.url, 'ann');
		const gone = { env: { TWINBOX_SERVER: 'http://127.0.0.1:1' } };
		failed(await ann.try(['send', ann.name, 'kept', '--try-for', '0s'], gone), EX.TEMPFAIL, /not sent yet/);
		for (const command of [['inbox'], ['inbox', '--all'], ['history', ann.name], ['read', '--upto', 1],
			['ack', 1], ['conversations']])
			failed(await ann.try(command, gone), EX.UNAVAILABLE,
				/: cannot reach http:\/\/127\.0\.0\.1:1: [^;]+; 1 message waits here; start the server/);
		for (const command of [['whoami'], ['devices'], ['outbox']])
			failed(await ann.try(command, gone), EX.UNAVAILABLE, /cannot reach/);
		failed(await ann.try(['send', ann.name, 'too', '--try-for', '0s'], gone), EX.TEMPFAIL, /not sent yet/);
		failed(await ann.try(['inbox'], gone), EX.UNAVAILABLE, /; 2 messages wait here; /);
		const done = await ann.try(['inbox']);
		assert.equal(done.err, 'twinbox: inbox: an earlier message to NAME has gone out\n'.repeat(2)
			.replaceAll('NAME', ann.name));
	});
});

describe('output that cannot be written', () => {
	it('is an error', async () => {
		const [ann] = await people(server.url, 'ann');
		const full = fs.openSync('/dev/full', 'w');
		const child = run(TWINBOX, ['whoami'], { env: ann.env, stdio: ['ignore', full, 'pipe'] });
		assert.equal((await child.exited).code, EX.IOERR);
		assert.match(child.err, /cannot write the output: No space left/);
		fs.closeSync(full);
	});

	it('a closed standard output is an error', async () => {
		const [ann] = await people(server.url, 'ann');
		const child = run('sh', ['-c', 'exec "$0" whoami >&-', TWINBOX],
			{ env: ann.env, stdio: ['ignore', 'ignore', 'pipe'] });
		assert.equal((await child.exited).code, EX.IOERR);
		assert.match(child.err, /cannot write the output: Bad file descriptor/);
	});

	it('a state folder that cannot be made', async () => {
		const [ann] = await people(server.url, 'ann');
		const done = await ann.try(['send', ann.name, 'x'], { env: { XDG_STATE_HOME: '/dev/null/x' } });
		failed(done, EX.CANTCREAT, /cannot make the folder/);
	});
});
