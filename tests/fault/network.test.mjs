// SPDX-License-Identifier: MIT
//
// Two servers behind nginx on two machines (tests/proxy/network.mjs).  The
// cable between them is slow and loses packets, breaks in the middle of a
// request or of an answer, or carries packets in one direction only; a machine
// disappears; the clock of a machine is wrong by a day.  In each case
// everything arrives exactly once and in order, no message is charged, and fsck
// finds nothing in either database or between the two.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { users } from '../e2e/harness.mjs';
import { operator, until } from '../e2e/operator.mjs';
import { address, allAre, arriveOnce, gathers, hasty, isFrom } from '../e2e/pair.mjs';
import {
	A, Authority, B, enterNetwork, lossy, mute, nameService, noClock, noLoss, sendThrough, startRelays, startSites,
	systemTrusts, unmute, wrongClock,
} from '../proxy/network.mjs';

const skip = await enterNetwork();

const DAY_S = 86_400;
const LARGEST = 'x'.repeat(16_384);

/** Makes two servers whose requests time out soon, and users. */
async function scene(options = {})
{
	const authority = new Authority('hospital');

	systemTrusts(authority);
	const s = await startSites({ authority, args: ['--delivery-timeout', '2s', '--lease', '6s'], env: hasty(), ...options });
	await meet(s);
	return s;
}

/**
 * Makes new users.  Each has received a message of the other one, so
 * connections are open.
 */
async function meet(s)
{
	[[s.alice], [s.bob], s.root] = await Promise.all([users(s.a, 'alice'), users(s.b, 'bob'), operator(s.a)]);
	s.there = [(await s.alice.send(address(s.bob), 'hello')).id];
	await s.bob.received(s.there[0]);
	s.back = [(await s.bob.send(address(s.alice), 'hello')).id];
	await s.alice.received(s.back[0]);
	await until(s.alice, s.there[0], 'sent');
	await until(s.bob, s.back[0], 'sent');
}

/** Alice sends one more message.  Returns its id. */
async function says(s, body)
{
	s.there.push((await s.alice.send(address(s.bob), body)).id);
	return s.there.at(-1);
}

/** Waits until an attempt to deliver ${id} has failed with ${error}. */
async function waits(s, id, error)
{
	const entry = await s.alice.entryWhen(id, (e) => e.attempts >= 1 && error.test(e.last_error ?? ''), 'waits', 30_000);

	assert.equal(entry.retry_count, 0, 'it is charged to the destination');
}

/**
 * Returns how the other server took ${id} in the last attempt.  All attempts
 * before must have failed.  There may be none: libcurl repeats a request by
 * itself if a reused connection breaks, and a request whose nonce was used up
 * is signed again.
 */
async function taken({ root }, id)
{
	const outcomes = (await root.ask(`outbox/${id}`)).rows[0].attempts.map((one) => one.outcome);
	const last = outcomes.pop();

	for (const outcome of outcomes)
		assert.equal(outcome, 'unavailable');
	return last;
}

/** b.example disappears, and its connections stay open at the other end. */
async function vanishes(s)
{
	mute(A);
	mute(B);
	await s.b.kill();
	await s.gates.b.die();
}

/** Starts b.example again and restores the cable. */
async function returns(s)
{
	await s.b.start();
	unmute(A);
	unmute(B);
	await s.gates.b.start();
}

/**
 * Asserts that all messages have arrived, that none was charged or lost, and
 * that fsck finds nothing.
 */
async function settles(s)
{
	const ms = 90_000;

	await arriveOnce(s.alice, s.bob, s.there, { ms });
	await arriveOnce(s.bob, s.alice, s.back, { ms });
	for (const [user, ids] of [[s.alice, s.there], [s.bob, s.back]]) {
		await allAre(user, ids, 'sent');
		for (const id of [ids[0], ids.at(-1)])
			assert.equal((await user.entry(id)).retry_count, 0);
		assert.deepEqual((await user.inbox()).events.filter((e) => e.kind === 'bounce'), []);
	}
	await s.sound();
}

describe('a bad cable', { skip }, () => {
	let s, relays;

	before(async () => {
		relays = await startRelays();
		s = await scene({ a: { unlimited: 'one user sends as fast as can be' }, b: { unlimited: 'the same' } });
	});
	after(async () => {
		await s?.stop();
		nameService();
	});

	it('that is slow and loses packets', { skip: noLoss }, async () => {
		await meet(s);
		relays.a.delay_ms = relays.b.delay_ms = 50;
		const heal = lossy(5);
		const sending = [sendThrough(s.alice, address(s.bob), 100, LARGEST), sendThrough(s.bob, address(s.alice), 100, LARGEST)];
		s.there.push(...await sending[0]);
		s.back.push(...await sending[1]);
		await gathers(s.bob, isFrom(s.alice), s.there.length);
		await gathers(s.alice, isFrom(s.bob), s.back.length);
		for (const lost of heal())
			assert.ok(lost > 0, 'packets of both machines were lost');
		relays.a.delay_ms = relays.b.delay_ms = 0;
		await settles(s);
	});

	it('that breaks in the middle of a request: it is sent again', async () => {
		await meet(s);
		const done = relays.b.done;
		relays.b.cut(8000);
		relays.b.cut(12_000);
		const id = await says(s, LARGEST);
		await says(s, 'behind it');
		await until(s.alice, id, 'sent');
		assert.equal(relays.b.done, done + 2);
		assert.equal(await taken(s, id), 'accepted');
		await settles(s);
	});

	it('that breaks in the middle of an answer: what was taken is not taken twice', async () => {
		await meet(s);
		const done = relays.b.done;
		relays.b.cut(10_000, 150);
		const id = await says(s, LARGEST);
		await says(s, 'behind it');
		await until(s.alice, id, 'sent');
		assert.equal(relays.b.done, done + 1);
		assert.equal(await taken(s, id), 'duplicate');
		await settles(s);
	});
});

describe('a partition', { skip }, () => {
	let s;

	before(async () => {
		s = await scene();
	});
	after(() => s?.stop());

	it('in one direction: requests arrive, answers do not', async () => {
		await meet(s);
		mute(B);
		const id = await says(s, 'do you hear me?');
		await s.bob.received(id);
		await waits(s, id, /no answer in time/);
		await says(s, 'behind it');
		s.back.push((await s.bob.send(address(s.alice), 'I do')).id);
		unmute(B);
		await until(s.alice, id, 'sent');
		assert.equal(await taken(s, id), 'duplicate');
		await settles(s);
	});

	it('in both, in which the other server dies: its connections are open at one end', async () => {
		await meet(s);
		await vanishes(s);
		const id = await says(s, 'are you there?');
		await waits(s, id, /no answer in time/);
		await says(s, 'behind it');
		await returns(s);
		await until(s.alice, id, 'sent');
		assert.equal(await taken(s, id), 'accepted');
		await settles(s);
	});

	it('that nobody notices: the first message after it meets a connection that is not there', async () => {
		await meet(s);
		await vanishes(s);
		await returns(s);
		await until(s.alice, await says(s, 'still there?'), 'sent');
		await settles(s);
	});
});

describe('a clock that is off by a day', { skip: skip || noClock }, () => {
	for (const [name, seconds, code, apart, from] of [
		['ahead', DAY_S, 'signature-expired', /86[34]\d\d s ahead of this one's/, /86[34]\d\d s behind this one's/],
		['behind', -DAY_S, 'signature-early', /86[34]\d\d s behind this one's/, /86[34]\d\d s ahead of this one's/],
	]) {
		it(`${name}: both are reported, all waits, and arrives when the clock is right`, async (t) => {
			const s = await scene();
			t.after(() => s.stop());
			const { server, proxy } = wrongClock(seconds);
			await s.b.stop();
			await s.b.start({ env: server });
			await s.gates.b.become(s.gates.b.certificate, { env: proxy });
			const id = await says(s, 'what time is it?');
			await waits(s, id, /401/);
			const back = (await s.bob.send(address(s.alice), 'I know')).id;
			s.back.push(back);
			await s.bob.entryWhen(back, (e) => /401/.test(e.last_error ?? ''), 'waits', 30_000);
			const here = await s.a.check('b.example');
			assert.equal(here.code, 69, here.text);
			assert.match(here.text, new RegExp(`fails clock: the other server's clock is ${apart.source} Cure: .*timedatectl`));
			assert.match(here.text, new RegExp(`fails signed request: HTTP 401 ${code}, by its clock .*clocks is wrong by more`));
			const there = await s.b.check('a.example', { env: server });
			assert.match(there.text, new RegExp(`fails clock: the other server's clock is ${from.source}`));
			await s.b.stop();
			await s.b.start();
			await s.gates.b.become(s.gates.b.certificate);
			await settles(s);
			assert.equal((await s.a.check('b.example')).code, 0);
		});
	}
});
