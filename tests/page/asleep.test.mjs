// SPDX-License-Identifier: MIT
//
// A connection that is dead although neither side closed it, as after the sleep
// of a machine or behind a router that has dropped the connection: bytes are
// lost in both directions.  A user who looks at the page again is informed
// within seconds, otherwise the next ping finds out.  Nothing is lost, and
// nothing arrives twice.
//
// The page's clock stands still in these tests.  It moves only as far as a test
// says, so the speed of the machine does not matter.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, serverForFile, users } from '../e2e/harness.mjs';
import { TcpProxy } from '../postgres/proxy.mjs';
import { Person, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });

// The times in web/src/socket.ts, in milliseconds.
const LOOKED_AT = 5_000;
const PING_EVERY = 25_000;
const PONG = 10_000;

/**
 * Gives the page a clock that the test moves, and counts the frames that its
 * WebSockets have received.
 */
async function prepare(context)
{
	await context.clock.install();
	await context.addInitScript(() => {
		globalThis.heard = 0;
		globalThis.WebSocket = class extends WebSocket {
			constructor(...args)
			{
				super(...args);
				this.addEventListener('message', () => { globalThis.heard++; });
			}
		};
	});
}

/**
 * Returns ann in a conversation with bob.  The test can cut
 * off the browser's connection to the server, and the browser's clock stands
 * still.
 */
async function dozing(t)
{
	const [one, other] = await users(server, 'ann', 'bob');
	const wire = await new TcpProxy({ port: Number(new URL(server.url).port) }).start();
	const ann = await Person.make(holder, { url: `http://127.0.0.1:${wire.port}` }, one.name,
		{ prepare });
	t.after(async () => {
		await ann.close();
		await wire.stop();
	});
	const bob = other;
	ann.wire = wire;
	ann.rest = one;
	await ann.logIn();
	await ann.writeTo(bob.name);
	await ann.say('Before');
	await bob.event((e) => e.body === 'Before', 'the first');
	await ann.tick('Before', 'accepted');
	await ann.page.clock.pauseAt(await ann.page.evaluate(() => Date.now() + 1_000));
	return [ann, bob];
}

/**
 * Makes the existing connections dead.  New ones wait until the wire forwards
 * again.
 */
function forget(wire)
{
	assert.ok(wire.links.size > 0);
	wire.blackhole();
	for (const link of wire.links)
		link.deaf = true;
}

/**
 * Sends a message in each direction while nothing comes through.  Neither side
 * knows this yet.
 */
async function intoTheHole(ann, bob)
{
	await bob.send(ann.name, 'Meanwhile');
	await ann.say('Into the hole');
	await ann.page.clock.runFor(100);
	await ann.tick('Into the hole', 'unsent');
	await says(ann, 'Live', 'live');
	assert.equal(await ann.message('Meanwhile').count(), 0);
}

/**
 * Asserts that the page shows ${words} about its connection, in one of
 * ${states}.
 */
async function says({ page }, words, ...states)
{
	const line = page.locator('[role=status]');

	assert.match(await line.textContent(), new RegExp(`^${words}`));
	assert.ok(states.includes(await line.getAttribute('data-link')));
}

/**
 * The page has noticed that the connection is dead, and says so.  Then time
 * moves on, and the page is live again.
 */
async function comesBack(ann, bob)
{
	await says(ann, '(Not connected\\. Reconnecting|Connecting)', 'waiting', 'connecting');
	await ann.tick('Into the hole', 'unsent');
	ann.wire.forward();
	await ann.page.clock.resume();
	await ann.link('live');
	await ann.sees('Meanwhile');
	await ann.tick('Into the hole', 'accepted');
	await ann.say('After');
	await ann.tick('After', 'accepted');
	await bob.send(ann.name, 'Good morning');
	await ann.sees('Good morning');
	assert.deepEqual((await ann.texts()).sort(),
		['After', 'Before', 'Good morning', 'Into the hole', 'Meanwhile']);
	assert.deepEqual((await bob.inbox()).events.filter((e) => e.kind === 'message' && !e.own)
		.map((e) => e.body), ['Before', 'Into the hole', 'After']);
	// The disk holds the same messages that the page shows.
	for (const link of ann.wire.links)
		if (link.deaf)
			link.reset();
	await ann.page.reload();
	await ann.sees('Good morning');
	assert.equal((await ann.texts()).length, 5);
	await ann.unharmed();
}

const dispatch = ({ page }, where, name) => page.evaluate(([target, event]) =>
	globalThis[target].dispatchEvent(new Event(event)), [where, name]);

describe('a connection that died without a word', () => {
	for (const [where, name] of [['document', 'visibilitychange'], ['window', 'pageshow']]) {
		it(`is noticed when the page is looked at again: ${name}`, async (t) => {
			const [ann, bob] = await dozing(t);
			forget(ann.wire);
			await intoTheHole(ann, bob);
			await dispatch(ann, where, name);
			await ann.page.clock.runFor(LOOKED_AT - 500);
			await says(ann, 'Live', 'live');
			await ann.page.clock.runFor(600);
			await comesBack(ann, bob);
		});
	}

	it('is noticed by the next ping when nobody looks', async (t) => {
		const [ann, bob] = await dozing(t);
		forget(ann.wire);
		await intoTheHole(ann, bob);
		// The event comes while the page is hidden, so it does not
		// count as looking at the page.
		await ann.page.evaluate(() => {
			Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
			document.dispatchEvent(new Event('visibilitychange'));
		});
		await ann.page.clock.runFor(LOOKED_AT + 500);
		await says(ann, 'Live', 'live');
		await ann.page.clock.runFor(PING_EVERY + PONG - LOOKED_AT);
		await comesBack(ann, bob);
	});

	it('which gives up late what it had swallowed doubles nothing', async (t) => {
		const [ann, bob] = await dozing(t);
		ann.wire.blackhole();
		await intoTheHole(ann, bob);
		await dispatch(ann, 'document', 'visibilitychange');
		await ann.page.clock.runFor(LOOKED_AT + 100);
		await comesBack(ann, bob);
	});

	it('one that lives stays, however often the page is looked at', async (t) => {
		const [ann, bob] = await dozing(t);
		const sockets = [];
		ann.page.on('websocket', (ws) => sockets.push(ws.url()));
		const heard = () => ann.page.evaluate(() => globalThis.heard);
		for (let i = 0; i < 5; i++) {
			const known = await heard();
			await dispatch(ann, 'document', 'visibilitychange');
			await eventually(async () => await heard() > known, 'a pong');
			await ann.page.clock.runFor(LOOKED_AT + 100);
			await says(ann, 'Live', 'live');
		}
		await bob.send(ann.name, 'Still there?');
		await eventually(async () => {
			await ann.page.clock.runFor(50);
			return await ann.message('Still there?').count() === 1;
		}, 'the message');
		assert.deepEqual(sockets, []);
		await ann.unharmed();
	});
});
