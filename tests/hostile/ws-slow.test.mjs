// SPDX-License-Identifier: MIT
//
// Clients that do not read, read a byte a second, or say nothing, while much
// comes for them (F23, F24): each costs a bounded piece of memory and nobody
// else, is dropped by its rule, and has everything, once, when it comes back.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import { Ws, eventually, serverForFile, sleep, users, uuid7 } from '../e2e/harness.mjs';
import { connect, ping, text } from './rawws.mjs';

// The end of a session is a line of level debug.
const server = serverForFile({ before, after, afterEach }, undefined,
	{ args: ['--log-level', 'debug'] });
const SANITIZED = process.env.TWINBOX_SANITIZED !== undefined;
const TIMEOUT = { timeout: 600_000 };

/** Resident memory of the server in KiB, without what is shared. */
function resident()
{
	const status = fs.readFileSync(`/proc/${server.pid}/status`, 'utf8');
	return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)[1]);
}

async function metric(name)
{
	const page = await (await fetch(new URL('/metrics', server.url))).text();
	return Number(new RegExp(`^twinbox_${name} (\\d+)$`, 'm').exec(page)[1]);
}

/** Waits for the end of ${session} with ${code}, as the server's log has it. */
async function ended(session, code, ms)
{
	const line = new RegExp(`push\\.close session=${session} code=(\\d+)`);
	const [, found] = await eventually(() => line.exec(server.output()),
		`the end of session ${session}`, ms);

	assert.equal(Number(found), code);
}

/** ${n} messages of ${size} bytes; their ids, once the last has been delivered. */
async function fill(from, to, n, size)
{
	const ids = [];

	while (ids.length < n) {
		const batch = Array.from({ length: Math.min(50, n - ids.length) }, () =>
			({ id: uuid7(), to: to.name, body: 'f'.repeat(size) }));
		const { status, text: answer } = await from.post('/v1/messages', batch);
		assert.equal(status, 200, answer);
		ids.push(...batch.map((one) => one.id));
	}
	await eventually(async () => (await from.entry(ids.at(-1))).state === 'sent', 'the delivery');
	return ids;
}

/** A session that gets all from the beginning, acking; its message ids. */
async function comeBack(user, upto)
{
	const ws = new Ws(server, { token: user.token });
	ws.onframe = (frame) => {
		if (frame.type === 'event' && frame.seq % 16 === 0)
			ws.ack(frame.seq);
	};
	await ws.opened();
	await ws.hello({ after: '0', instance: 'back' });
	await ws.event((e) => e.seq === upto, `event ${upto}`, { ms: 60_000 });
	await ws.close();
	contiguous(ws.events());
	return ws.events().map((e) => e.id);
}

describe('slow and silent clients', { concurrency: true }, () => {
	it('24 that read nothing: memory is bounded, the others are served, all is there later',
		TIMEOUT, async (t) => {
			const [ann, bob, dan] = await users(server, 'ann', 'bob', 'dan');
			const devices = [bob, await bob.device('b'), await bob.device('c')];
			const ids = await fill(ann, bob, 200, 16_000);
			const watching = await dan.ws();
			const deaf = [];
			const open = async (n) => {
				while (deaf.length < n) {
					const ws = await connect(server);
					await ws.upgrade();
					ws.socket.pause();
					ws.write(text({ type: 'hello', token: devices[deaf.length % 3].token,
						instance: `d${deaf.length}`, after: '0' }));
					deaf.push(ws);
				}
				const behind = await metric('ws_events_total');
				await eventually(async () => await metric('ws_events_total') > behind ||
					await sleep(300), 'their frames');
				return resident();
			};
			// What pages and caches take once is there after the first eight.
			const before = await open(8);
			const each = (await open(24) - before) / 16;
			t.diagnostic(`memory for each client that reads nothing: ${each.toFixed(0)} KiB`);
			ids.push(...await fill(ann, bob, 50, 16_000));
			const live = [];
			for (let i = 0; i < 50; i++)
				live.push((await ann.send(dan.name, `live ${i}`)).id);
			for (const id of live)
				await watching.received(id);
			// A frame in the library, and what malloc keeps of a page.
			if (!SANITIZED)
				assert.ok(each < 128, `${each} KiB each`);
			// They say nothing either: 35 s.
			await eventually(() => (server.output().match(/push\.close session=\S+ code=4408/g) ?? [])
				.length >= deaf.length, 'they are gone', 120_000);
			assert.deepEqual(await comeBack(bob, 250), ids);
			deaf.forEach((ws) => ws.destroy());
			assert.equal((await watching.request({ type: 'ping' })).type, 'pong');
			await watching.close();
		});

	it('one that reads a byte a second and sends pings is dropped when a frame is stuck for 60 s',
		TIMEOUT, async () => {
			const [ann, bob] = await users(server, 'ann', 'bob');
			const ws = await connect(server, { byByte: true });
			await ws.hello(bob, { instance: 'crawl' });
			ws.slow = true;
			const ids = await fill(ann, bob, 120, 16_000);
			const start = performance.now();
			const reading = setInterval(() => ws.socket.resume(), 1000);
			const pinging = setInterval(() => ws.write(ping('x')), 5000);
			try {
				await ended(ws.welcome.session, 1013, 180_000);
				assert.ok(performance.now() - start > 55_000, 'too early');
			} finally {
				clearInterval(reading);
				clearInterval(pinging);
				ws.destroy();
			}
			assert.deepEqual(await comeBack(bob, 120), ids);
		});

	it('one that never answers a ping gets one after 25 s, and 4408 after 35 s', TIMEOUT, async () => {
		const [bob] = await users(server, 'bob');
		const ws = await (await connect(server)).hello(bob);
		const start = performance.now();
		await ws.until(() => ws.frames.some((one) => one.opcode === 9), 'a ping', 60_000);
		assert.ok(performance.now() - start > 23_000, 'a ping too early');
		const end = await ws.closing(60_000);
		assert.equal(end.code, 4408);
		assert.ok(performance.now() - start > 33_000, 'closed too early');
		ws.destroy();
	});

	it('one that answers pings stays, though it says nothing else', TIMEOUT, async () => {
		const [bob] = await users(server, 'bob');
		const ws = await bob.ws();
		await eventually(() => ws.pings >= 2, 'two pings', 120_000);
		assert.equal(ws.ended, undefined);
		assert.equal((await ws.request({ type: 'ping' })).type, 'pong');
		await ws.close();
	});

	it('one that reads no answers is not read either, and dropped after 60 s', TIMEOUT, async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const big = await ann.send(bob.name, 'x'.repeat(16_000));
		await bob.received(big.id);
		const ws = await (await connect(server)).hello(bob);
		ws.socket.pause();
		// Answers beyond what the kernel holds are not even made.
		const one = text({ type: 'ping', id: 1 });
		const many = Buffer.concat(Array.from({ length: 2000 }, () => one));
		let held = 0;
		const timer = setInterval(() => {
			held = Math.max(held, ws.socket.writableLength);
			if (ws.socket.writableLength < 1_000_000)
				ws.write(many);
		}, 20);
		try {
			await ended(ws.welcome.session, 1013, 180_000);
			assert.ok(held >= 1_000_000, 'all of it was read');
		} finally {
			clearInterval(timer);
			ws.destroy();
		}
		const again = await bob.ws({ after: '0' });
		await again.received(big.id);
		await again.close();
	});
});
