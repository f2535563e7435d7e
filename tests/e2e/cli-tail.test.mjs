// SPDX-License-Identifier: MIT
// tags: surface
//
// twinbox tail and the client's own outbox, against a server that is down,
// comes back or loses answers.  Nothing is lost, and nothing is shown or sent
// twice.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { EX, Person, Proxy, people } from './cli-client.mjs';
import { eventually, freshName, startServer } from './harness.mjs';

let server;
let proxy;

before(async () => {
	server = await startServer({ unlimited: 'one user sends 600 messages at once' });
	proxy = await new Proxy(server).listen();
});

after(async () => {
	await proxy.close();
	await server.stop();
});

const running = new Set();

afterEach(() => {
	for (const child of running)
		child.kill('SIGKILL');
	running.clear();
	proxy.up();
});

/** Registers two people who reach the server through the proxy. */
async function pair()
{
	return people(proxy.url, 'ann', 'bob');
}

/** Starts a tail. events() returns the events that it has printed. */
function tail(person, ...args)
{
	const child = person.start('tail', '--json', ...args);

	running.add(child);
	return {
		child,
		events: () => child.out.split('\n').slice(0, -1).map((line) => JSON.parse(line)),
		bodies()
		{
			return this.events().filter((event) => event.kind === 'message')
				.map((event) => event.body);
		},
		async has(n)
		{
			await eventually(() => this.bodies().length >= n,
				() => `${n} messages: ${child.out}${child.err}`);
		},
		async stop(signal = 'SIGTERM')
		{
			child.kill(signal);
			return child.exited;
		},
	};
}

describe('tail', () => {
	it('shows what is there and what comes, and acks it', async () => {
		const [ann, bob] = await pair();
		await ann.run('send', bob.name, 'before');
		const follow = tail(bob);
		await follow.has(1);
		await ann.run('send', bob.name, 'after', '--wait', 'delivered');
		await follow.has(2);
		assert.deepEqual(follow.bodies(), ['before', 'after']);
		for (const event of follow.events())
			assert.equal(event.type, undefined, 'an event is as REST returns it');
		assert.equal((await follow.stop('SIGINT')).code, 0);
		assert.equal((await bob.page('inbox')).events.length, 0);
	});

	it('for people: a line each', async () => {
		const [ann, bob] = await pair();
		await ann.run('send', bob.name, 'hello');
		const { lines } = await bob.run('tail', '--once');
		assert.match(lines[0], new RegExp(`^#1 +\\d\\d:\\d\\d +${ann.name} +hello$`));
		assert.equal((await bob.run('tail', '--once')).lines.length, 0);
		assert.equal((await bob.run('tail', '--once', '--after', 0)).lines.length, 1);
	});

	it('goes on after the server was restarted, without loss or repetition', async () => {
		const [ann, bob] = await pair();
		const follow = tail(bob);
		for (let life = 0; life < 3; life++) {
			await ann.run('send', bob.name, `m ${2 * life}`);
			await follow.has(2 * life + 1);
			await (life === 1 ? server.kill() : server.stop());
			await server.start();
			await ann.run('send', bob.name, `m ${2 * life + 1}`);
			await follow.has(2 * life + 2);
		}
		assert.deepEqual(follow.bodies(), ['m 0', 'm 1', 'm 2', 'm 3', 'm 4', 'm 5']);
		assert.match(follow.child.err, /trying again\n.*connected again/s);
		assert.equal((await follow.stop()).code, 0);
	});

	it('connections that break again and again', async () => {
		const [ann, bob] = await pair();
		const follow = tail(bob);
		const wanted = [];
		for (let i = 0; i < 12; i++) {
			wanted.push(`m ${i}`);
			await ann.run('send', bob.name, `m ${i}`);
			if (i % 3 === 1)
				proxy.cut();
		}
		await follow.has(12);
		assert.deepEqual(follow.bodies(), wanted);
		await follow.stop();
	});

	it('killed at any moment it loses nothing; ended well it repeats nothing', async () => {
		const [ann, bob] = await pair();
		const seen = [];
		let n = 0;
		for (let round = 0; round < 6; round++) {
			const follow = tail(bob);
			for (let i = 0; i < 4; i++)
				await ann.run('send', bob.name, `m ${n++}`);
			await follow.has(1);
			const killed = round % 2 === 0;
			await follow.stop(killed ? 'SIGKILL' : 'SIGTERM');
			seen.push(...follow.events());
			if (!killed) {
				const left = await bob.try(['tail', '--once', '--json']);
				const again = left.out.split('\n').filter(Boolean).map(JSON.parse);
				seen.push(...again);
				for (const event of again)
					assert.ok(!follow.events().some((one) => one.seq === event.seq), 'shown twice');
			}
		}
		const rest = await bob.run('tail', '--once', '--json');
		seen.push(...rest.lines.map(JSON.parse));
		const seqs = [...new Set(seen.map((event) => event.seq))].sort((a, b) => a - b);
		assert.deepEqual(seqs, seqs.map((_seq, i) => i + 1), 'something was never shown');
		const bodies = new Set(seen.filter((event) => event.kind === 'message').map((event) => event.body));
		assert.equal(bodies.size, n);
	});

	it('--no-ack sends the server nothing, and passes the window', async () => {
		const [ann, bob] = await pair();
		await Promise.all(Array.from({ length: 600 }, (_, i) => fetch(`${server.url}/v1/to/${bob.name}`, {
			method: 'POST', body: `m ${i}`,
			headers: { authorization: `Bearer ${ann.profile().token}`, 'content-type': 'text/plain' },
		}).then((answer) => assert.equal(answer.status, 201))));
		await eventually(async () => (await bob.page('inbox')).head >= 600, 'all delivered');
		const shown = await bob.run('tail', '--once', '--json', '--no-ack');
		assert.deepEqual(shown.lines.map((line) => JSON.parse(line).seq),
			Array.from({ length: 600 }, (_, i) => i + 1));
		assert.equal((await bob.page('inbox')).acked, 0);
		assert.equal((await bob.run('tail', '--once')).lines.length, 0);
		await eventually(async () => (await bob.page('inbox')).acked === 600, 'acked afterwards');
	});

	it('receipts use the numbers that inbox shows', async () => {
		const [ann, bob] = await pair();
		await bob.run('send', ann.name, 'one of bob');
		await ann.run('tail', '--once');
		await ann.run('send', bob.name, 'one of ann');
		await bob.run('read', ann.name);
		await bob.run('ack');
		await eventually(async () => (await ann.events()).some((event) => event.state === 'read'), 'it is read');
		const { lines } = await ann.run('tail', '--once');
		const mine = lines.find((line) => line.includes('one of ann'));
		const read = lines.find((line) => line.includes('✓✓ read by'));
		assert.ok(read.endsWith(`✓✓ read by ${bob.name} up to ${mine.split(' ')[0]}`), `${mine}\n${read}`);
		const [seen] = (await ann.run('inbox', '--after', Number(/#(\d+)/.exec(read)[1]) - 1)).lines;
		assert.equal(seen, read, 'also when the message was shown before');
	});

	it('a revoked device learns it, with its exit code', async () => {
		const [ann] = await pair();
		const laptop = new Person(proxy.url, { name: ann.name });
		await laptop.withPassword(['login', ann.name, '--device', 'laptop']);
		const follow = tail(laptop);
		await ann.run('send', ann.name, 'note');
		await follow.has(1);
		const line = (await ann.run('devices')).lines.find((one) => one.includes('laptop'));
		await ann.run('devices', 'revoke', line.split(' ')[0]);
		assert.equal((await follow.child.exited).code, EX.NOPERM);
		assert.equal(follow.child.err, 'twinbox: tail: this device was logged out; ' +
			`log in again: twinbox login ${ann.name}\n`);
	});

	it('a cursor that is not there is refused; no server: it waits, --once does not', async () => {
		const [ann] = await pair();
		const bad = await ann.try(['tail', '--after', 99]);
		assert.equal(bad.code, EX.DATAERR, bad.err);
		proxy.down();
		const once = await ann.try(['tail', '--once']);
		assert.equal(once.code, EX.UNAVAILABLE, once.err);
		const follow = tail(ann);
		await eventually(() => follow.child.err.includes('trying again'), 'it says so');
		proxy.up();
		await ann.run('send', ann.name, 'note');
		await follow.has(1);
		await follow.stop();
	});
});

describe('the client’s own outbox', () => {
	it('what cannot be sent is kept, and goes out once, in order', async () => {
		const [ann, bob] = await pair();
		proxy.down();
		for (const text of ['one', 'two', 'three']) {
			const done = await ann.try(['send', bob.name, text, '--try-for', '0s']);
			assert.equal(done.code, EX.TEMPFAIL, done.err);
			assert.match(done.err, /kept as [0-9a-f-]{36} and goes out/);
		}
		const listed = await ann.try(['outbox']);
		assert.equal(listed.code, EX.UNAVAILABLE);
		assert.equal((listed.out.match(/^waiting /gm) ?? []).length, 3, listed.out);
		proxy.up();
		assert.match((await ann.run('inbox')).err, /an earlier message to .* has gone out/);
		await ann.run('send', bob.name, 'four');
		await eventually(async () => (await bob.events()).length >= 4, 'all four');
		assert.deepEqual((await bob.events()).map((event) => event.body),
			['one', 'two', 'three', 'four']);
		assert.deepEqual((await ann.page('outbox')).waiting_here, []);
	});

	it('a lost answer makes no second message', async () => {
		const [ann, bob] = await pair();
		for (let i = 0; i < 5; i++) {
			proxy.swallow = 1;
			const done = await ann.run('send', bob.name, `m ${i}`, '--try-for', '20s');
			assert.match(done.out, /✓ accepted before/, 'the first answer was not lost');
		}
		await eventually(async () => (await bob.events()).length >= 5, 'all five');
		assert.deepEqual((await bob.events()).map((event) => event.body),
			['m 0', 'm 1', 'm 2', 'm 3', 'm 4']);
	});

	it('it tries until the server is back', async () => {
		const [ann, bob] = await pair();
		proxy.down();
		const sending = ann.start('send', bob.name, 'patience', '--try-for', '30s');
		await eventually(() => proxy.refused >= 3, 'it has tried again');
		assert.equal(sending.exitCode, null);
		proxy.up();
		assert.equal((await sending.exited).code, 0, sending.err);
		await eventually(async () => (await bob.events()).length === 1, 'it came');
	});

	it('killed while it tries, the message goes out later', async () => {
		const [ann, bob] = await pair();
		proxy.down();
		const sending = ann.start('send', bob.name, 'survivor', '--try-for', '60s');
		await eventually(async () => {
			const done = await ann.try(['outbox']);
			return done.out.includes('waiting');
		}, 'it is stored');
		sending.kill('SIGKILL');
		await sending.exited;
		proxy.up();
		await ann.run('conversations');
		await eventually(async () => (await bob.events()).length === 1, 'it came');
		assert.equal((await bob.events())[0].body, 'survivor');
	});

	it('killed before the answer, the message is listed once', async () => {
		const [ann, bob] = await pair();
		proxy.hold = true;
		const sending = ann.start('send', bob.name, 'was it sent?', '--try-for', '60s');
		await eventually(async () => (await server.rest(bob.profile().token).get('/v1/inbox')).body.head === 1,
			'the server has it');
		sending.kill('SIGKILL');
		await sending.exited;
		proxy.cut();
		proxy.hold = false;
		const { lines } = await ann.run('outbox');
		assert.equal(lines.length, 2, lines.join('\n'));
		assert.match(lines[1], new RegExp(`^sent +${bob.name} .* was it sent\\?  [0-9a-f-]{36}$`));
		assert.equal((await ann.run('inbox')).err, '', 'it does not wait here any more');
	});

	it('a kept message can be taken back, or tried now', async () => {
		const [ann, bob] = await pair();
		proxy.down();
		const kept = async (text) => {
			const done = await ann.try(['send', bob.name, text, '--try-for', '0s']);
			return /kept as ([0-9a-f-]{36})/.exec(done.err)[1];
		};
		const first = await kept('regretted');
		const second = await kept('wanted');
		proxy.up();
		assert.match((await ann.run('outbox', 'cancel', first)).out, /^canceled/);
		await ann.run('outbox', 'retry', second);
		// Messages from one person keep their order: when the last one
		// is there, all are.
		await ann.run('send', bob.name, 'last');
		const bodies = async () => (await bob.events()).map((event) => event.body);
		await eventually(async () => (await bodies()).includes('last'), 'the last one came');
		assert.deepEqual(await bodies(), ['wanted', 'last']);
	});

	it('commands of one account at the same time', async () => {
		const [ann, bob] = await pair();
		const follow = tail(ann);
		await Promise.all(Array.from({ length: 8 }, (_, i) => ann.run('send', bob.name, `p ${i}`)));
		await follow.has(8);
		await eventually(async () => (await bob.events()).length >= 8, 'all eight');
		assert.equal(new Set((await bob.events()).map((event) => event.body)).size, 8);
		await follow.stop();
	});

	it('a refused one does not hold up the next', async () => {
		const [ann, bob] = await pair();
		proxy.down();
		await ann.try(['send', freshName('nobody'), 'lost', '--try-for', '0s']);
		await ann.try(['send', bob.name, 'found', '--try-for', '0s']);
		proxy.up();
		assert.match((await ann.run('inbox')).err, /was refused: /);
		await eventually(async () => (await bob.events()).length === 1, 'it came');
		assert.deepEqual((await ann.page('outbox')).waiting_here, []);
	});
});
