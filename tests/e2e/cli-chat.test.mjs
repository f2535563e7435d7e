// SPDX-License-Identifier: MIT
// tags: surface
//
// twinbox in a terminal: the chat, the password prompt, colours.  The tests
// compare what a person would see on the screen.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { EX, Person, Proxy, TWINBOX, people } from './cli-client.mjs';
import { Terminal } from './cli-terminal.mjs';
import { PASSWORD, eventually, freshName, run, startServer } from './harness.mjs';

let server;
let proxy;

before(async () => {
	server = await startServer();
	proxy = await new Proxy(server).listen();
});

after(async () => {
	await proxy.close();
	await server.stop();
});

/**
 * Starts a chat of ${person} with ${other}, and waits until it accepts input.
 */
async function chat(t, person, other, options = {})
{
	const terminal = new Terminal(TWINBOX, ['chat', other.name, ...options.args ?? []],
		{ env: person.env, ...options });
	t.after(() => terminal.kill());
	await terminal.shows(/^>/m, 'the prompt');
	return terminal;
}

/** The lines of the screen without the time at their start. */
const plain = (terminal) => terminal.screen.lines().map((line) =>
	line.replace(/^\d\d:\d\d {2}/, '').replace(/ {2,}/g, '  '));

async function readAll(person)
{
	const { head } = await person.page('inbox');
	await person.run('read', '--upto', head);
}

describe('chat', () => {
	it('shows what was said, sends, and follows the message until it is read', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		await bob.run('send', ann.name, 'said before');
		const screen = await chat(t, ann, bob);
		await screen.shows('said before');
		screen.type('hello bob\r');
		await screen.shows(/you +hello bob {2}✓$/m);
		await eventually(async () => (await bob.events()).some((e) => e.body === 'hello bob'), 'it came');
		await bob.run('tail', '--once');
		await screen.shows(/you +hello bob {2}✓✓$/m);
		await readAll(bob);
		await screen.shows(/you +hello bob {2}✓✓ read$/m);
		assert.deepEqual(plain(screen), [`${bob.name}  said before`, 'you  hello bob  ✓✓ read', '>']);
		assert.deepEqual(screen.screen.unknown, []);
	});

	it('what comes in appears above the line being typed, which stays', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		screen.type('half a sen');
		await screen.shows('> half a sen');
		await bob.run('send', ann.name, 'interrupting');
		await screen.shows('interrupting');
		await screen.shows(/^> half a sen$/m);
		screen.type('tence\r');
		await screen.shows(/you +half a sentence {2}✓/);
		assert.deepEqual(plain(screen), [`${bob.name}  interrupting`, 'you  half a sentence  ✓', '>']);
	});

	it('… also when that line is longer than the screen is wide', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob, { columns: 40 });
		const long = 'abcdefghij'.repeat(9);
		screen.type(long);
		await screen.shows((text) => text.replaceAll('\n', '').includes(`> ${long}`), 'the long line');
		await bob.run('send', ann.name, 'interrupting');
		await screen.shows((text) => {
			const at = text.indexOf('interrupting');
			return at >= 0 && text.slice(at).replaceAll('\n', '').includes(`> ${long}`);
		}, 'the long line below');
		assert.equal(screen.screen.text().replaceAll('\n', '').split(long).length, 2,
			`it is there once:\n${screen.screen.text()}`);
		screen.type('\x03');
		await screen.shows(/^>$/m, 'an empty line after Ctrl-C');
		screen.type('short\r');
		await screen.shows(/you +short {2}✓/);
	});

	it('a wrapped message gets its final tick where it stands', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		await ann.run('send', bob.name, 'before the chat');
		const screen = await chat(t, ann, bob);
		await screen.shows(/you +before the chat {2}✓$/m);
		const long = 'abcdefghij'.repeat(20);
		const joined = () => screen.screen.text().replaceAll('\n', '');
		screen.type(`${long}\r`);
		await screen.shows(() => joined().includes(`${long}  ✓`), 'the long message');
		await bob.run('send', ann.name, 'one between');
		await screen.shows('one between');
		screen.type('short\r');
		await screen.shows(/you +short {2}✓$/m);
		screen.type('half');
		await bob.run('tail', '--once');
		await screen.shows(/you +short {2}✓✓$/m);
		await readAll(bob);
		await screen.shows(/you +short {2}✓✓ read$/m);
		assert.ok(joined().includes(`${long}  ✓✓ read`), screen.screen.text());
		assert.equal(joined().split(long).length, 2, 'it is there once');
		assert.match(screen.screen.text(), /you +before the chat {2}✓✓ read$/m);
		assert.match(screen.screen.text(), /^> half$/m);
		assert.doesNotMatch(screen.screen.text(), /^·/m);
		assert.deepEqual(screen.screen.unknown, []);
	});

	it('line editing: cursor keys, backspace, history', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		screen.type('helo wörldx\x7f');
		await screen.shows('> helo wörld');
		screen.type('\x1b[D'.repeat(7));
		screen.type('l');
		await screen.shows('> hello wörld');
		screen.type('\r');
		await screen.shows(/you +hello wörld {2}✓/);
		screen.type('\x1b[A');
		await screen.shows('> hello wörld');
		screen.type(' again\r');
		await screen.shows(/you +hello wörld again {2}✓/);
		await eventually(async () => (await bob.events()).length >= 2, 'both came');
		assert.deepEqual((await bob.events()).filter((e) => e.kind === 'message').map((e) => e.body),
			['hello wörld', 'hello wörld again']);
	});

	it('marks read what it shows, and only the conversation', async (t) => {
		const [ann, bob, eve] = await people(proxy.url, 'ann', 'bob', 'eve');
		await eve.run('send', ann.name, 'from eve');
		const first = await bob.json('send', ann.name, 'before');
		await eventually(async () => (await ann.page('inbox')).head === 2, 'both came');
		const screen = await chat(t, ann, bob);
		await screen.shows('before');
		await screen.shows(`1 message from ${eve.name}`);
		const second = await bob.json('send', ann.name, 'live', '--wait', 'read');
		assert.ok(second.labels.includes('read'));
		assert.ok((await bob.json('outbox', first.id)).labels.includes('read'));
		await eve.run('send', ann.name, 'and another');
		await screen.shows(`${eve.name} writes: and another`);
		assert.equal((await eve.page('outbox')).entries.filter((e) => e.labels.includes('read')).length, 0);
	});

	it('what is typed while the server is away goes out when it is back', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		screen.type('online\r');
		await screen.shows(/online {2}✓/);
		proxy.down();
		await screen.shows('what you type is kept');
		screen.type('offline one\r');
		screen.type('offline two\r');
		await screen.shows(/offline two {2}…/);
		proxy.up();
		await screen.shows('connected again');
		await screen.shows(/offline one {2}✓$[^]*offline two {2}✓$/m);
		await eventually(async () => (await bob.events()).filter((e) => e.kind === 'message').length >= 3,
			'all came');
		assert.deepEqual((await bob.events()).filter((e) => e.kind === 'message').map((e) => e.body),
			['online', 'offline one', 'offline two']);
		await server.restart();
		screen.type('after the restart\r');
		await screen.shows('after the restart');
		await eventually(async () => (await bob.events()).some((e) => e.body === 'after the restart'),
			'it came');
	});

	it('opens without the server, with its history and what waits', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		await bob.run('send', ann.name, 'seen before');
		await ann.run('send', bob.name, 'an answer');
		await ann.run('tail', '--once');
		proxy.down();
		t.after(() => proxy.up());
		await ann.try(['send', bob.name, 'kept', '--try-for', '0s']);
		const screen = await chat(t, ann, bob);
		await screen.shows(/^· (cannot reach|no answer from) http/m);
		assert.deepEqual(plain(screen).slice(0, 3), [`${bob.name}  seen before`, 'you  an answer  ✓', 'you  kept  …']);
		screen.type('typed\r');
		await screen.shows(/you +typed {2}…/);
		// This message is acked before the chat has shown it, so the
		// stream does not deliver it any more.
		const direct = { env: { TWINBOX_SERVER: server.url } };
		assert.equal((await bob.try(['send', ann.name, 'meanwhile'], direct)).code, 0);
		const { body } = await server.rest(ann.profile().token).get('/v1/inbox');
		await server.rest(ann.profile().token).post('/v1/inbox/ack', { upto: body.head });
		proxy.up();
		await screen.shows('connected');
		await screen.shows(`${bob.name}`.padEnd(12) + '  meanwhile');
		await screen.shows(/you +kept {2}✓$[^]*you +typed {2}✓$/m);
		const texts = async () => (await bob.events()).filter((event) => event.kind === 'message' &&
			event.body !== 'meanwhile').map((event) => event.body);
		await eventually(async () => (await texts()).length === 4, 'all came');
		assert.deepEqual(await texts(), ['seen before', 'an answer', 'kept', 'typed']);
		screen.type('/quit\r');
		assert.equal(await screen.ended(), 0);
	});

	it('a window that shrinks shows the line being typed once', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		screen.type('a message of some words\r');
		await screen.shows(/you +a message of some words {2}✓$/m);
		const line = 'half a sentence that takes two rows in fifty columns';
		screen.type(line);
		await screen.shows(`> ${line}`);
		screen.resize(50, 24);
		const joined = () => screen.screen.text().replaceAll('\n', '');
		await screen.shows((text) => !text.includes(`> ${line}`) && joined().endsWith(`> ${line}`), 'two rows');
		assert.equal(joined().split('half a sen').length, 2, screen.screen.text());
		await bob.run('tail', '--once');
		await screen.shows(/a message of some words {2}✓✓$/m);
		screen.resize(80, 24);
		await screen.shows(/^> half a sentence .* columns$/m);
		assert.equal(joined().split('half a sen').length, 2, screen.screen.text());
	});

	it('errors are broken between words', async (t) => {
		const [ann] = await people(proxy.url, 'ann');
		const screen = new Terminal(TWINBOX, ['inbox'],
			{ env: { ...ann.env, TWINBOX_SERVER: 'http://127.0.0.1:1' }, columns: 60 });
		t.after(() => screen.kill());
		assert.equal(await screen.ended(), EX.UNAVAILABLE);
		const lines = screen.screen.lines();
		assert.ok(lines.length >= 2 && lines.every((one) => one.length <= 60), lines.join('\n'));
		const { err } = await ann.try(['inbox'], { env: { TWINBOX_SERVER: 'http://127.0.0.1:1' } });
		assert.deepEqual(lines.flatMap((one) => one.split(' ')), err.trim().split(' '));
	});

	it('Ctrl-Z and fg keep the line that is being typed', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = new Terminal('bash', ['--norc', '-i'], { env: { ...ann.env, PS1: 'shell: ' } });
		t.after(() => screen.kill());
		await screen.shows(/^shell:$/m);
		screen.type(`${TWINBOX} chat ${bob.name}\r`);
		await screen.shows(/^>$/m, 'the prompt');
		screen.type('first\r');
		await screen.shows(/you +first {2}✓$/m);
		screen.type('half a sen');
		await screen.shows('> half a sen');
		screen.type('\x1a');
		await screen.shows(/Stopped[^]*\nshell:$/, 'the shell');
		screen.type('stty -a | grep -c " echo "\r');
		await screen.shows(/^1\nshell:$/m, 'a terminal that echoes');
		screen.type('fg\r');
		await screen.shows(/fg\n[^]*\n> half a sen$/, 'the prompt again, with the line');
		screen.type('tence\r');
		await screen.shows(/you +half a sentence {2}✓$/m);
		screen.type('\x1b[A');
		await screen.shows('> half a sentence');
		screen.type('\x03/quit\r');
		await screen.shows(/^shell:$/m);
	});

	it('commands, and the end', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		screen.type('/help\r');
		await screen.shows('/quit');
		screen.type('/nonsense\r');
		await screen.shows('no such command');
		screen.type('//slash\r');
		await screen.shows(/you +\/slash {2}✓/);
		screen.type('/history 1\r');
		await screen.shows((text) => text.split('/slash  ✓').length === 3, 'the message again');
		screen.type('/quit\r');
		assert.equal(await screen.ended(), 0);
		const other = await chat(t, ann, bob);
		other.type('\x04');
		assert.equal(await other.ended(), 0, 'Ctrl-D');
		const third = await chat(t, ann, bob);
		third.type('\x03');
		assert.equal(await third.ended(), 0, 'Ctrl-C on an empty line');
	});

	it('a terminal that is gone ends it, and keeps what was shown', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		await bob.run('send', ann.name, 'seen');
		const screen = await chat(t, ann, bob);
		await screen.shows('seen');
		await eventually(async () => (await ann.page('inbox')).acked >= 1, 'it is acked');
		screen.kill();
		await eventually(async () => {
			const ps = run('pgrep', ['-f', `chat ${bob.name}`]);
			return (await ps.exited).code === 1;
		}, 'the end of the program');
	});

	it('--bell rings and notifies when a message of another comes', async (t) => {
		const [ann, bob, eve] = await people(proxy.url, 'ann', 'bob', 'eve');
		await bob.run('send', ann.name, 'before');
		const screen = await chat(t, ann, bob, { args: ['--bell'] });
		await screen.shows('before');
		screen.type('mine\r');
		await screen.shows(/you +mine {2}✓$/m);
		assert.ok(!screen.raw.includes('\x07'), 'neither for what was there, nor for an own one');
		await bob.try(['send', ann.name, '-'], { input: 'now\x07\x1b\\\nhere' });
		await screen.shows('now');
		const rung = () => [...screen.raw.matchAll(/\x07\x1b\]9;([^\x07\x1b]*)\x1b\\/g)].map((found) => found[1]);
		await eventually(() => rung().length === 1, 'it has rung');
		assert.deepEqual(rung(), [`${bob.name}: now\\x07\\x1b\\\\nhere`]);
		assert.equal(screen.raw.split('\x07').length, 2);
		assert.deepEqual(screen.screen.unknown, []);
		assert.match(screen.screen.text(), /^>$/m);
		// The bell can also be switched on by the environment, and in
		// tail.
		const tail = new Terminal(TWINBOX, ['tail', '--after', '0'], { env: { ...ann.env, TWINBOX_BELL: '1' } });
		t.after(() => tail.kill());
		await tail.shows('now');
		await eventually(async () => {
			await eve.run('send', ann.name, 'from eve');
			return tail.raw.includes(`\x07\x1b]9;${eve.name}: from eve\x1b\\`);
		}, 'tail rings');
	});

	it('text from others is safe on the screen', async (t) => {
		const [ann, bob] = await people(proxy.url, 'ann', 'bob');
		const screen = await chat(t, ann, bob);
		await bob.try(['send', ann.name, '-'], { input: '\x1b[2J\x1b[5;5Hgotcha\u202e\x9b1m\n> you  forged' });
		await screen.shows('gotcha');
		assert.match(screen.screen.text(), /\\x1b\[2J\\x1b\[5;5Hgotcha\\u202e\\x9b1m/);
		assert.doesNotMatch(screen.screen.text(), /^> you {2}forged/m);
	});

	it('an unknown peer is refused, a terminal is needed', async (t) => {
		const [ann] = await people(proxy.url, 'ann');
		const screen = await chat(t, ann, { name: freshName('nobody') });
		screen.type('anybody there?\r');
		await screen.shows(/refused: .*spelling/s);
		await screen.shows(/anybody there\? {2}✗/);
		const done = await ann.try(['chat', 'bob'], { input: 'hello\n' });
		assert.equal(done.code, EX.USAGE);
		assert.match(done.err, /chat needs a terminal/);
	});
});

describe('the password prompt', () => {
	it('shows nothing, asks twice, and refuses what differs', async (t) => {
		const ann = new Person(server.url);
		const first = new Terminal(TWINBOX, ['register', ann.name], { env: ann.env });
		t.after(() => first.kill());
		await first.shows(`new password for ${ann.name}:`);
		first.type('secret-one-1\r');
		await first.shows('the same again:');
		first.type('secret-two-2\r');
		assert.equal(await first.ended(), EX.USAGE);
		await first.shows('not the same');
		assert.doesNotMatch(first.raw, /secret/);

		const second = new Terminal(TWINBOX, ['register', ann.name], { env: ann.env });
		t.after(() => second.kill());
		await second.shows(`new password for ${ann.name}:`);
		second.type(`wrong\x15${PASSWORD}x\x7f\r`);
		await second.shows('the same again:');
		second.type(`${PASSWORD}\r`);
		assert.equal(await second.ended(), 0, second.screen.text());
		assert.ok(!second.raw.includes(PASSWORD));
		await ann.run('logout');
		assert.equal((await ann.withPassword(['login', ann.name])).code, 0);
	});

	it('passwd asks for the current password, and for the new one twice', async (t) => {
		const [ann] = await people(server.url, 'ann');
		const screen = new Terminal(TWINBOX, ['passwd'], { env: ann.env });
		t.after(() => screen.kill());
		await screen.shows(`current password of ${ann.name}:`);
		screen.type(`${PASSWORD}\r`);
		await screen.shows(`new password for ${ann.name}:`);
		screen.type('battery staple\r');
		await screen.shows('the same again:');
		screen.type('battery staple\r');
		assert.equal(await screen.ended(), 0, screen.screen.text());
		assert.ok(!screen.raw.includes(PASSWORD) && !screen.raw.includes('battery'));
		assert.equal((await ann.withPassword(['login', ann.name], 'battery staple')).code, 0);
	});

	it('Ctrl-C ends it and leaves the terminal as it was', async (t) => {
		const ann = new Person(server.url);
		const terminal = new Terminal('sh', ['-c',
			`${TWINBOX} login ann; echo "code $?"; stty -a | grep -o -- '-\\?echo\\b'`], { env: ann.env });
		t.after(() => terminal.kill());
		await terminal.shows('password of ann:');
		terminal.type('half\x03');
		await terminal.shows('code 64');
		await terminal.shows(/^echo$/m, 'the echo is on');
	});

	it('without a terminal it says what to do', async () => {
		const ann = new Person(server.url);
		const child = run('setsid', ['-w', TWINBOX, 'login', 'ann'], { env: ann.env });
		assert.equal((await child.exited).code, EX.USAGE);
		assert.match(child.err, /--password-stdin/);
	});
});

describe('colours', () => {
	it('are there on a terminal, not with NO_COLOR, TERM=dumb or --json', async (t) => {
		const [ann] = await people(server.url, 'ann');
		await ann.run('send', ann.name, 'note');
		const raw = async (args, env) => {
			const terminal = new Terminal(TWINBOX, args, { env: { ...ann.env, ...env } });
			t.after(() => terminal.kill());
			await terminal.ended();
			return terminal.raw;
		};
		const escape = /\x1b\[/;
		assert.match(await raw(['inbox', '--all'], {}), escape);
		assert.doesNotMatch(await raw(['inbox', '--all'], { NO_COLOR: '1' }), escape);
		assert.doesNotMatch(await raw(['inbox', '--all'], { TERM: 'dumb' }), escape);
		assert.doesNotMatch(await raw(['inbox', '--all', '--json'], {}), escape);
	});
});
