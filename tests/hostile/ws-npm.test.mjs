// SPDX-License-Identifier: MIT
//
// The npm package ws, a well-behaved client, with settings that other clients
// do not have: compression, small limits, fragments, slow closes.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { checkFrame } from '../e2e/contract.mjs';
import { serverForFile, users, uuid7, within } from '../e2e/harness.mjs';
import { WebSocket } from './rawws.mjs';

let ann, bob;
const server = serverForFile({ before, after, afterEach }, async () => {
	[ann, bob] = await users(server, 'ann', 'bob');
});
let rows = 0;
let serial = 0;

/**
 * Opens a WebSocket and records its frames.  ${options} are those of the
 * package.
 */
async function open(options = {}, hello = {}, protocols = ['twinbox.v1'])
{
	const url = new URL('/v1/ws', server.url).href.replace(/^http/, 'ws');
	const ws = new WebSocket(url, protocols, options);
	const waiting = new Set();

	ws.frames = [];
	ws.ended = new Promise((resolve) =>
		ws.on('close', (code, reason) => resolve({ code, reason: `${reason}` })));
	ws.on('error', (error) => {
		ws.failed = error;
	});
	ws.on('message', (data) => {
		const frame = JSON.parse(`${data}`);
		checkFrame(frame);
		ws.frames.push(frame);
		for (const look of waiting)
			look();
	});
	ws.frame = (wanted) => within(new Promise((resolve) => {
		const look = () => {
			const found = ws.frames.find(wanted);
			if (found) {
				waiting.delete(look);
				resolve(found);
			}
		};
		waiting.add(look);
		look();
	}), 10_000, 'a frame');
	await within(new Promise((resolve, reject) => {
		ws.on('open', resolve);
		ws.on('error', reject);
	}), 10_000, 'the upgrade');
	ws.send(JSON.stringify({ type: 'hello', token: ann.token, instance: `npm${serial++ % 8}`,
		...hello }));
	await ws.frame((one) => one.type === 'welcome');
	return ws;
}

const sendFrame = (body) => ({ type: 'send', id: 1, message: { id: uuid7(), to: bob.name, body } });

describe('S16 the npm package ws', () => {
	for (const perMessageDeflate of [true, { threshold: 0 }, { serverNoContextTakeover: true,
		clientMaxWindowBits: 10 }, false]) {
		rows++;
		it(`with perMessageDeflate ${JSON.stringify(perMessageDeflate)} speaks without`, async () => {
			const ws = await open({ perMessageDeflate });
			assert.equal(ws.extensions, '');
			const frame = sendFrame('compress me '.repeat(1000));
			ws.send(JSON.stringify(frame), { compress: true });
			assert.equal((await ws.frame((one) => one.re === 1)).type, 'sent');
			assert.equal((await bob.received(frame.message.id)).body, frame.message.body);
			ws.close(1000);
			assert.equal((await ws.ended).code, 1000);
		});
	}

	it('with fragments of its own making', async () => {
		const ws = await open();
		for (const [parts, binary] of [[1, false], [2, false], [3, false], [50, false], [200, false]]) {
			rows++;
			const frame = { ...sendFrame('in pieces 😀 '.repeat(50)), id: 1000 + parts };
			const whole = Buffer.from(JSON.stringify(frame));
			const size = Math.ceil(whole.length / parts);
			for (let at = 0; at < whole.length; at += size) {
				ws.send(whole.subarray(at, at + size),
					{ binary, fin: at + size >= whole.length });
			}
			assert.equal((await ws.frame((one) => one.re === 1000 + parts)).type, 'sent');
			assert.equal((await bob.received(frame.message.id)).body, frame.message.body);
		}
		ws.close();
		assert.equal((await ws.ended).code, 1005);
	});

	it('with pings between its fragments', async () => {
		rows++;
		const ws = await open();
		const answered = new Promise((resolve) =>
			ws.on('pong', (payload) => `${payload}` === 'two' && resolve()));
		const frame = sendFrame('with pings');
		const text = JSON.stringify(frame);
		ws.send(text.slice(0, 10), { fin: false });
		ws.ping('one');
		ws.send(text.slice(10, 20), { fin: false });
		ws.ping('two');
		ws.send(text.slice(20), { fin: true });
		assert.equal((await ws.frame((one) => one.re === 1)).type, 'sent');
		// If several pings arrive, only the last one must be answered
		// (RFC 6455, section 5.5.3).
		await within(answered, 10_000, 'the pong');
		ws.terminate();
	});

	it('with a maxPayload that our frames exceed leaves with 1009 and comes back', async () => {
		rows++;
		await bob.received((await ann.send(bob.name, 'x'.repeat(8000))).id);
		const ws = await open({ maxPayload: 4096 }, { token: bob.token, after: '0' });
		const { code } = await within(ws.ended, 10_000, 'the end');
		assert.ok([1006, 1009].includes(code), `${code}`);
		const again = await open({}, { token: bob.token, after: '0' });
		await again.frame((one) => one.type === 'caught_up');
		again.terminate();
	});

	it('with skipUTF8Validation sends what is none: 1007', async () => {
		rows++;
		const ws = await open({ skipUTF8Validation: true });
		ws.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
		assert.equal((await within(ws.ended, 10_000, 'the end')).code, 1007);
	});

	it('with a mask of its own', async () => {
		rows++;
		const ws = await open({ generateMask: (mask) => mask.fill(0x55) });
		ws.send(JSON.stringify(sendFrame('masked')));
		assert.equal((await ws.frame((one) => one.re === 1)).type, 'sent');
		ws.terminate();
	});

	it('without masks: 1002', async () => {
		rows++;
		const ws = await open();
		ws.send('{"type":"ping"}', { mask: false });
		assert.equal((await within(ws.ended, 10_000, 'the end')).code, 1002);
	});

	it('with binary frames: 4400', async () => {
		rows++;
		const ws = await open();
		ws.send(Buffer.from('{"type":"ping"}'));
		assert.equal((await within(ws.ended, 10_000, 'the end')).code, 4400);
	});

	it('with other versions, or without the subprotocol: 400', async () => {
		for (const options of [[{ protocolVersion: 8 }, ['twinbox.v1']], [{}, []], [{}, ['chat']]]) {
			rows++;
			await assert.rejects(open(options[0], {}, options[1]), /400/);
		}
	});

	it('with an origin of its own: 403', async () => {
		rows++;
		await assert.rejects(open({ origin: 'https://evil.example' }), /403/);
	});

	it('pausing and resuming gets all, once, in order', async () => {
		rows++;
		const ws = await open({}, { token: bob.token });
		ws.pause();
		const ids = [];
		for (let i = 0; i < 30; i++)
			ids.push((await ann.send(bob.name, 'p'.repeat(10_000) + i)).id);
		ws.resume();
		await ws.frame((one) => one.id === ids.at(-1));
		const seqs = ws.frames.filter((one) => one.type === 'event').map((one) => one.seq);
		assert.deepEqual(seqs, seqs.map((_, i) => seqs[0] + i));
		assert.deepEqual(ws.frames.filter((one) => ids.includes(one.id)).map((one) => one.id), ids);
		ws.terminate();
	});

	it('every close code that a client may send is answered with itself', async () => {
		for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4000, 4999]) {
			rows++;
			const ws = await open();
			ws.close(code, 'bye');
			assert.equal((await within(ws.ended, 10_000, 'the end')).code, code);
		}
	});

	it('the table of ws', (t) => {
		assert.ok(rows >= 30);
		t.diagnostic(`the npm package ws: ${rows} rows`);
	});
});
