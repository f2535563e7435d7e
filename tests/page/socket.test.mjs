// SPDX-License-Identifier: MIT
// tags: unit
//
// The page's WebSocket (web/src/socket.ts) in node: when it connects, when it
// reconnects, how it detects a dead connection, and which reply belongs to
// which request.  Clock and server are fakes.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { Browser, turn } from './fakes.mjs';
import { modules } from './modules.mjs';

// The times in socket.ts and backoff.ts, in milliseconds.
const HELLO = 15_000;
const PING_EVERY = 25_000;
const PONG = 10_000;
const LOOKED_AT = 5_000;
const LOST = 1_500;
const STEADY = 10_000;
const CAP = 20_000;
const DAY = 86_400_000;

// Section "Close codes" of docs/asyncapi.yaml.
const RETRY = [1001, 1006, 1011, 1012, 1013, 4408, 4429];
const STOP = [1002, 1007, 1009, 4400, 4403, 4409];

let Socket, SocketClosed;

before(async () => {
	({ Socket, SocketClosed } = await modules('socket.ts'));
});

const WELCOME = { type: 'welcome', re: 1, epoch: 'e1', head: 7, oldest: 1, recovered: true };

/** A user of a socket who records the calls from it. */
class User {
	constructor(browser)
	{
		this.browser = browser;
		this.cursor = { epoch: 'e1', seq: 7 };
		this.links = [];
		this.told = [];
		this.epoch = async () => undefined;
	}

	async hello()
	{
		return this.cursor && { token: 'secret', after: this.cursor };
	}

	welcome(frame) { this.told.push(frame); }
	event(frame) { this.told.push(frame); }
	frame(frame) { this.told.push(frame); }
	linked(link) { this.links.push(link); }
	loggedOut() { this.told.push('logged out'); }

	epochGone()
	{
		this.told.push('epoch gone');
		return this.epoch();
	}

	get link()
	{
		return this.links[this.links.length - 1];
	}

	/** Returns the calls since the last call of news(). */
	news()
	{
		return this.told.splice(0);
	}
}

/** Returns a socket that is about to connect. */
function begun(t)
{
	const browser = new Browser(t);
	const user = new User(browser);
	const socket = new Socket(user);

	browser.atEnd(() => socket.end());
	return { browser, user, socket, clock: browser.clock };
}

/** Opens the newest connection and sends its welcome. */
async function welcomed({ browser, user })
{
	await turn();
	browser.socket.opened();
	browser.socket.say({ ...WELCOME, re: browser.socket.frames[0].id });
	user.news();
	browser.socket.fresh();
}

/** Returns a socket that is live. */
async function live(t)
{
	const scene = begun(t);

	scene.socket.connect();
	await welcomed(scene);
	return scene;
}

/**
 * Asserts that ${reply} has failed because the connection ended before the
 * reply.
 */
async function inDoubt(reply)
{
	const end = await Promise.race([reply.catch((error) => error), turn()]);
	assert.ok(end instanceof SocketClosed, String(end));
}

/**
 * Asserts that the next connection is made after ${ms} milliseconds, and not
 * earlier.
 */
async function comesBackAfter({ browser, clock }, ms, what)
{
	const count = browser.sockets.length;

	if (ms > 0) {
		await clock.pass(ms - 1);
		assert.equal(browser.sockets.length, count, `${what}: before ${ms} ms`);
	}
	await clock.pass(ms > 0 ? 1 : 0);
	assert.equal(browser.sockets.length, count + 1, `${what}: after ${ms} ms`);
}

describe('the first frames', () => {
	it('hello carries the token, the cursor and an instance of its own', async (t) => {
		const { browser, socket, user } = begun(t);
		socket.connect();
		await turn();
		assert.deepEqual([browser.socket.url, browser.socket.protocol],
			['ws://twinbox.example:8080/v1/ws', 'twinbox.v1']);
		assert.deepEqual(browser.socket.frames, [], 'nothing before the handshake is done');
		browser.socket.opened();
		const [{ instance, ...hello }] = browser.socket.fresh();
		assert.deepEqual(hello, { type: 'hello', id: 1, token: 'secret', outbox: true, after: 'e1:7' });
		const other = new Socket(user);
		browser.atEnd(() => other.end());
		other.connect();
		await turn();
		browser.socket.opened();
		assert.notEqual(browser.socket.frames[0].instance, instance);
		assert.ok(instance.length > 0 && instance.length <= 64);
	});

	it('a page that came by https connects by wss', async (t) => {
		const { browser, socket } = begun(t);
		location.href = 'https://chat.example/';
		socket.connect();
		await turn();
		assert.equal(browser.socket.url, 'wss://chat.example/v1/ws');
	});

	it('the page is live, and sends, only after the welcome', async (t) => {
		const { browser, socket, user } = begun(t);
		assert.equal(socket.send({ type: 'typing' }), false);
		await inDoubt(socket.request('send', {}));
		socket.connect();
		await turn();
		browser.socket.opened();
		assert.equal(socket.live, false);
		assert.equal(socket.send({ type: 'typing' }), false);
		assert.deepEqual(browser.socket.fresh().map((one) => one.type), ['hello']);
		browser.socket.say(WELCOME);
		assert.equal(socket.live, true);
		assert.deepEqual(user.links.map((one) => one.state), ['connecting', 'live']);
		assert.deepEqual(user.news(), [WELCOME]);
		assert.equal(socket.send({ type: 'typing' }), true);
		assert.deepEqual(browser.socket.fresh(), [{ type: 'typing' }]);
	});

	it('a request before the welcome is not sent: the server would close with 4400', async (t) => {
		const { browser, socket } = begun(t);
		socket.connect();
		await turn();
		browser.socket.opened();
		await inDoubt(socket.request('send', {}));
		assert.deepEqual(browser.socket.sent('send'), []);
	});

	for (const opened of [false, true]) it(`no ${opened ? 'welcome' : 'handshake'} within 15 s: the next connection is tried`, async (t) => {
		const { browser, socket, user, clock } = begun(t);
		browser.random = 1;
		socket.connect();
		await turn();
		if (opened)
			browser.socket.opened();
		const { socket: first } = browser;
		await clock.pass(HELLO - 1);
		assert.equal(user.link.state, 'connecting');
		await clock.pass(1);
		assert.equal(user.link.state, 'waiting');
		assert.equal(first.closed, 1000);
		await comesBackAfter({ browser, clock }, 500, 'the next');
	});

	it('one connection at a time, however often it is asked for', async (t) => {
		const { browser, socket } = begun(t);
		socket.connect();
		socket.connect();
		await turn();
		socket.connect();
		browser.socket.opened();
		socket.connect();
		await turn();
		assert.equal(browser.sockets.length, 1);
	});

	it('where to begin is not known yet: it is asked again after a while', async (t) => {
		const { browser, socket, user, clock } = begun(t);
		browser.random = 1;
		user.hello = async () => { throw new Error('unreachable'); };
		socket.connect();
		await turn();
		assert.equal(user.link.state, 'waiting');
		user.hello = async () => null;
		await clock.pass(500);
		assert.equal(browser.sockets.length, 0);
		delete user.hello;
		await comesBackAfter({ browser, clock }, 1000, 'with a cursor');
	});
});

describe('replies', () => {
	it('each goes to its request; what has no request is a push', async (t) => {
		const { browser, socket, user } = await live(t);
		const replies = [socket.request('send', { message: 1 }), socket.request('read', { upto: 2 })];
		const [send, read] = browser.socket.fresh();
		assert.deepEqual([send.type, send.message, read.type, read.upto], ['send', 1, 'read', 2]);
		assert.notEqual(send.id, read.id);
		browser.socket.say({ type: 'ok', re: read.id });
		browser.socket.say({ type: 'sent', re: send.id });
		browser.socket.say({ type: 'sent', re: 4711 });
		assert.deepEqual((await Promise.all(replies)).map((one) => one.type), ['sent', 'ok']);
		assert.deepEqual(user.news(), [], 'a reply is not delivered twice');
		browser.socket.say({ type: 'event', seq: 8 });
		browser.socket.say({ type: 'caught_up' });
		assert.deepEqual(user.news(), [{ type: 'event', seq: 8 }, { type: 'caught_up' }]);
	});

	it('a request whose connection ends is in doubt', async (t) => {
		const { browser, socket } = await live(t);
		const reply = socket.request('send', {});
		browser.socket.ends(1006);
		await inDoubt(reply);
		await inDoubt(socket.request('send', {}));
	});

	it('a request on a connection that is closing is in doubt, and what wants no reply is not sent', async (t) => {
		const { browser, socket } = await live(t);
		browser.socket.readyState = WebSocket.CLOSED;
		await inDoubt(socket.request('send', {}));
		assert.equal(socket.send({ type: 'typing' }), false);
		assert.equal(socket.waiting.size, 0);
		browser.socket.readyState = WebSocket.OPEN;
		const lost = socket.request('send', {});
		assert.equal(socket.waiting.size, 1);
		browser.socket.ends(1006);
		await inDoubt(lost);
		assert.equal(socket.waiting.size, 0);
	});

	it('the reply of a connection before does not answer a request of this one', async (t) => {
		const scene = await live(t);
		const { browser, socket, clock, user } = scene;
		const first = browser.socket;
		const ids = new Set();
		const lost = socket.request('send', {});
		ids.add(first.fresh()[0].id);
		first.ends(1006);
		await inDoubt(lost);
		await clock.pass(CAP);
		await welcomed(scene);
		const reply = socket.request('send', {});
		const [{ id }] = browser.socket.fresh();
		assert.ok(!ids.has(id));
		first.say({ type: 'sent', re: id });
		first.say({ type: 'event', seq: 9 });
		first.ends(4401);
		assert.deepEqual(user.news(), []);
		assert.equal(socket.live, true);
		browser.socket.say({ type: 'ok', re: id });
		assert.equal((await reply).type, 'ok');
	});
});

describe('the back-off', () => {
	it('doubles up to 20 s', async (t) => {
		const scene = await live(t);
		const { browser, user, clock } = scene;
		browser.random = 1;
		for (const ms of [500, 1000, 2000, 4000, 8000, 16_000, CAP, CAP, CAP]) {
			browser.socket.ends(1006);
			assert.deepEqual(user.link, { state: 'waiting', until: clock.now + ms });
			await comesBackAfter(scene, ms, 'the next');
			assert.equal(user.link.state, 'connecting');
		}
	});

	it('is drawn by lot between nothing and that', async (t) => {
		const scene = await live(t);
		scene.browser.random = 0.25;
		scene.browser.socket.ends(1006);
		await comesBackAfter(scene, 125, 'a quarter');
		scene.browser.random = 0;
		scene.browser.socket.ends(1006);
		await comesBackAfter(scene, 0, 'nothing');
	});

	it('begins anew only after a session of 10 s', async (t) => {
		const scene = await live(t);
		const { browser, clock } = scene;
		browser.random = 1;
		for (const ms of [500, 1000, 2000]) {
			await clock.pass(STEADY - 1);
			browser.socket.ends(1006);
			await comesBackAfter(scene, ms, 'short sessions');
			await welcomed(scene);
		}
		await clock.pass(STEADY);
		browser.socket.ends(1006);
		await comesBackAfter(scene, 500, 'after a long one');
		// The time before a welcome does not count as a session.
		await clock.pass(STEADY + 1);
		browser.socket.ends(1006);
		await comesBackAfter(scene, 1000, 'never welcomed');
	});

	it('a session that was short does not forgive the next one', async (t) => {
		const scene = await live(t);
		const { browser, clock } = scene;
		browser.random = 1;
		await clock.pass(STEADY - 100);
		browser.socket.ends(1006);
		await comesBackAfter(scene, 500, 'the first');
		await clock.pass(200);
		browser.socket.ends(1006);
		await comesBackAfter(scene, 1000, 'the second');
	});

	for (const [random, ms] of [[1, 6000 + 500], [0, 2000], [0.5, 4000 + 250]]) it(`is longer by what the server asked for, once; by lot ${random}`, async (t) => {
		const scene = await live(t);
		scene.browser.random = random;
		scene.browser.socket.say({ type: 'reconnect', after_ms: 4000 });
		assert.deepEqual(scene.user.news(), [], 'a matter of the socket alone');
		scene.browser.socket.ends(1012);
		await comesBackAfter(scene, ms, 'as asked');
		scene.browser.socket.ends(1012);
		await comesBackAfter(scene, random * 1000, 'the next time');
	});
});

describe('close codes', () => {
	for (const code of [...RETRY, 1000, 1005, 4499]) it(`${code}: comes back by itself`, async (t) => {
		const scene = await live(t);
		scene.browser.random = 1;
		scene.browser.socket.ends(code);
		assert.equal(scene.user.link.state, 'waiting');
		await comesBackAfter(scene, 500, String(code));
		assert.deepEqual(scene.user.news(), []);
	});

	for (const code of STOP) it(`${code}: only a person tries again`, async (t) => {
		const { browser, socket, user, clock } = await live(t);
		browser.socket.ends(code);
		assert.equal(user.link.state, 'stopped');
		assert.match(user.link.why, /^[A-Z].+\.$/);
		browser.happens('online');
		browser.seen('visible');
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 1);
		assert.deepEqual(user.news(), []);
		socket.connect();
		await turn();
		assert.equal(browser.sockets.length, 2);
	});

	it('4401: logged out, and nothing is tried', async (t) => {
		const { browser, user, clock } = await live(t);
		browser.socket.ends(4401);
		assert.equal(user.link.state, 'stopped');
		assert.deepEqual(user.news(), ['logged out']);
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 1);
	});

	it('4410: the cursor is reset first; then it comes back at once, a second time later', async (t) => {
		const scene = await live(t);
		const { browser, user, clock } = scene;
		browser.random = 1;
		let reset;
		user.epoch = () => new Promise((resolve) => { reset = resolve; });
		browser.socket.ends(4410);
		await clock.pass(DAY);
		assert.deepEqual(user.news(), ['epoch gone']);
		assert.equal(browser.sockets.length, 1, 'not with the old cursor');
		user.cursor = { epoch: 'e2', seq: 0 };
		reset();
		await turn();
		await comesBackAfter(scene, 0, 'the first time');
		browser.socket.opened();
		assert.equal(browser.socket.frames[0].after, 'e2:0');
		user.epoch = async () => undefined;
		browser.socket.ends(4410);
		await turn();
		await comesBackAfter(scene, 1000, 'a server that says so again and again');
	});
});

describe('a dead connection', () => {
	it('is asked for a sign of life 25 s after its last, and left 10 s later', async (t) => {
		const { browser, user, clock } = await live(t);
		await clock.pass(PING_EVERY - 1);
		browser.socket.say({ type: 'caught_up' });
		await clock.pass(PING_EVERY - 1);
		assert.deepEqual(browser.socket.fresh(), []);
		await clock.pass(1);
		assert.deepEqual(browser.socket.fresh(), [{ type: 'ping' }]);
		await clock.pass(PONG - 1);
		assert.equal(user.link.state, 'live');
		await clock.pass(1);
		assert.equal(user.link.state, 'waiting');
		assert.equal(browser.socket.closed, 1000);
	});

	it('whatever comes is a sign of life', async (t) => {
		const { browser, user, clock } = await live(t);
		for (const sign of [{ type: 'pong' }, { type: 'event', seq: 8 }, { type: 'ok', re: 4711 }]) {
			await clock.pass(PING_EVERY);
			assert.deepEqual(browser.socket.fresh(), [{ type: 'ping' }]);
			await clock.pass(PONG - 1);
			browser.socket.say(sign);
			await clock.pass(PONG);
			assert.equal(user.link.state, 'live');
			await clock.pass(PING_EVERY - PONG - 1);
			assert.deepEqual(browser.socket.fresh(), []);
			browser.socket.say({ type: 'pong' });
		}
	});

	for (const [what, patience, happen] of [
		['the page is looked at again', LOOKED_AT, (browser) => browser.seen('visible')],
		['the page is shown again', LOOKED_AT, (browser) => browser.happens('pageshow')],
		['the network is back', LOOKED_AT, (browser) => browser.happens('online')],
		['the network is gone', LOST, (browser) => browser.happens('offline')],
	]) it(`is left soon when ${what}`, async (t) => {
		const { browser, user, clock } = await live(t);
		happen(browser);
		assert.deepEqual(browser.socket.fresh(), [{ type: 'ping' }]);
		await clock.pass(patience - 1);
		assert.equal(user.link.state, 'live');
		await clock.pass(1);
		assert.equal(user.link.state, 'waiting');
	});

	it('a living one stays then', async (t) => {
		const { browser, user, clock } = await live(t);
		for (const happen of [() => browser.seen('visible'), () => browser.happens('offline')]) {
			happen();
			browser.socket.say({ type: 'pong' });
			await clock.pass(PING_EVERY - 1);
			assert.equal(user.link.state, 'live');
		}
		assert.equal(browser.sockets.length, 1);
	});
});

describe('a reason to hurry', () => {
	for (const [what, happen] of [
		['the page is looked at', (browser) => browser.seen('visible')],
		['the page is shown', (browser) => browser.happens('pageshow')],
		['the network is back', (browser) => browser.happens('online')],
		['a person says so', (_browser, socket) => socket.connect()],
	]) it(`${what}: the next connection is made at once, and only that one`, async (t) => {
		const scene = await live(t);
		const { browser, socket, clock } = scene;
		browser.random = 1;
		browser.socket.ends(1006);
		happen(browser, socket);
		await turn();
		assert.equal(browser.sockets.length, 2);
		await welcomed(scene);
		await clock.pass(CAP);
		assert.equal(browser.sockets.length, 2, 'what was being waited for is not made as well');
	});

	it('and a connection that is refused for good then is the last', async (t) => {
		const { browser, socket, user, clock } = await live(t);
		browser.random = 1;
		browser.socket.ends(1006);
		socket.connect();
		await turn();
		browser.socket.ends(4409);
		await clock.pass(DAY);
		assert.deepEqual([browser.sockets.length, user.link.state], [2, 'stopped']);
	});

	it('a page that is hidden does not hurry', async (t) => {
		const scene = await live(t);
		const { browser } = scene;
		browser.random = 1;
		browser.socket.ends(1006);
		browser.seen('hidden');
		browser.happens('online');
		await comesBackAfter(scene, 500, 'as always');
	});

	it('without network it says so, and tries all the same', async (t) => {
		const scene = await live(t);
		const { browser, user } = scene;
		browser.random = 1;
		browser.navigator.onLine = false;
		browser.socket.ends(1006);
		assert.deepEqual(user.link, { state: 'offline' });
		await comesBackAfter(scene, 500, 'the server may be on this machine');
		browser.socket.ends(1006);
		browser.happens('online');
		await turn();
		assert.equal(browser.sockets.length, 3);
	});
});

describe('the end', () => {
	it('closes the connection; requests are in doubt, nothing is tried any more', async (t) => {
		const { browser, socket, user, clock } = await live(t);
		const reply = socket.request('send', {});
		const links = user.links.length;
		assert.ok(browser.listeners > 0);
		socket.end();
		await inDoubt(reply);
		assert.deepEqual([browser.socket.closed, browser.listeners], [1000, 0]);
		browser.happens('online');
		browser.seen('visible');
		browser.happens('offline');
		socket.connect();
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 1);
		assert.equal(user.links.length, links);
		assert.equal(clock.timers.size, 0);
	});

	it('while it waits, it makes no connection', async (t) => {
		const { browser, socket, clock } = await live(t);
		browser.socket.ends(1006);
		socket.end();
		assert.equal(clock.timers.size, 0);
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 1);
	});

	it('while it finds out where to begin, it makes no connection', async (t) => {
		const { browser, socket, clock } = begun(t);
		socket.connect();
		socket.end();
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 0);
	});

	it('while the cursor is reset, it makes no connection', async (t) => {
		const { browser, socket, user, clock } = await live(t);
		let reset;
		user.epoch = () => new Promise((resolve) => { reset = resolve; });
		browser.socket.ends(4410);
		socket.end();
		reset();
		await clock.pass(DAY);
		assert.equal(browser.sockets.length, 1);
	});
});
