// SPDX-License-Identifier: MIT
//
// The hostile table through nginx and Caddy: each row is refused or answered
// once, and the number of requests that the server has handled equals the
// number of answers that came back.

import assert from 'node:assert/strict';
import tls from 'node:tls';
import { after, afterEach, before, describe, it } from 'node:test';

import { ROWS, ROWS2, SMUGGLED } from './hostile.mjs';
import { PROXIES, answersIn, connect, eventually, sleep, stage } from './proxy.mjs';

const hooks = { before, after, afterEach };
/** After this time without a byte, no more bytes of a row will come. */
const QUIET_MS = 250 * Number(process.env.TWINBOX_SLOW ?? 1);
const ROWS_AT_ONCE = 32;

/**
 * Returns the requests from ${address} in the server's log.  Requests that the
 * proxy aborted have status 0 and are left out.
 */
const handled = (server, address) => server.output().match(new RegExp(
	`http\\.(?:request|refused) request=\\S+ peer=${address.replaceAll('.', '\\.')} .*`, 'g'))
	?.filter((line) => !line.includes(' status=0 ')) ?? [];

/**
 * Each row comes from its own address, by which its requests are recognized.
 */
const addressOf = (version, i) => `127.${version}.0.${i + 1}`;

/**
 * Runs ${job} on all ${rows}, ROWS_AT_ONCE at a time, because each row mostly
 * waits.  Returns the results in order.
 */
async function eachRow(rows, job)
{
	const results = [];
	let next = 0;

	await Promise.all(Array.from({ length: ROWS_AT_ONCE }, async () => {
		while (next < rows.length) {
			const i = next++;
			results[i] = await job(rows[i], i);
		}
	}));
	return results;
}

/** Waits until ${socket} is closed, or was answered and is quiet. */
async function settled(socket)
{
	let length = -1;

	for (let quiet = 0; !socket.gone && quiet < (length > 0 ? 1 : 3); quiet++) {
		await sleep(QUIET_MS);
		if (socket.text.length !== length)
			quiet = -1;
		length = socket.text.length;
	}
}

async function rowOf(on, bytes, address)
{
	const socket = await connect(on.proxy, { address });

	socket.write(Buffer.from(bytes, 'latin1'));
	await settled(socket);
	/*
	 * A request without an HTTP version is answered without a head: the
	 * body is all that comes.
	 */
	const answers = socket.text === '' || socket.text.startsWith('HTTP/') ?
		answersIn(socket.text) : [{ status: 400, ours: socket.text.includes('request_id') }];
	socket.destroy();
	return { answers, text: socket.text };
}

// ---- HTTP/2, frame by frame ------------------------------------------------

function frame(type, flags, stream, payload = Buffer.alloc(0))
{
	const head = Buffer.alloc(9);

	head.writeUIntBE(payload.length, 0, 3);
	head[3] = type;
	head[4] = flags;
	head.writeUInt32BE(stream, 5);
	return Buffer.concat([head, payload]);
}

/** Encodes a string for HPACK, without Huffman. */
function hpack(text)
{
	const bytes = Buffer.from(text, 'latin1');
	const length = [];

	if (bytes.length < 127) {
		length.push(bytes.length);
	} else {
		let rest = bytes.length - 127;
		for (length.push(127); rest >= 128; rest >>= 7)
			length.push((rest & 127) | 128);
		length.push(rest);
	}
	return Buffer.concat([Buffer.from(length), bytes]);
}

/**
 * Sends a request and returns the frames of the answer: HEADERS of stream 1, or
 * the end of the connection.
 */
async function rowOf2(on, headers, body, address)
{
	const socket = tls.connect({ host: '127.0.0.1', port: on.proxy.port, servername: 'localhost',
		ca: on.proxy.ca, localAddress: address, ALPNProtocols: ['h2'] });
	let data = Buffer.alloc(0);

	socket.text = '';
	socket.on('data', (piece) => {
		data = Buffer.concat([data, piece]);
		socket.text += '.';
	});
	socket.on('error', () => {});
	socket.on('close', () => {
		socket.gone = true;
	});
	const block = Buffer.concat(headers.flatMap(([name, value]) =>
		[Buffer.from([0]), hpack(name), hpack(value)]));
	socket.write(Buffer.concat([
		Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0),
		frame(1, body === undefined ? 5 : 4, 1, block),
		...(body === undefined ? [] : [frame(0, 1, 1, Buffer.from(body, 'latin1'))]),
	]));
	await settled(socket);
	const found = { answers: 0, resets: 0, away: 0 };
	for (let at = 0; at + 9 <= data.length;) {
		const type = data[at + 3];
		const stream = data.readUInt32BE(at + 5);
		found.answers += type === 1 && stream === 1 ? 1 : 0;
		found.resets += type === 3 ? 1 : 0;
		found.away += type === 7 ? 1 : 0;
		at += 9 + data.readUIntBE(at, 3);
	}
	socket.destroy();
	return found;
}

for (const [place, kind] of PROXIES.entries()) {
	describe(`S2 ${kind}: the hostile table`, () => {
		const on = stage(hooks, kind);

		it('HTTP/1.1: each row is refused, or answered once', async (t) => {
			const wrong = [];
			let ours = 0;
			let by_proxy = 0;
			let closed = 0;
			const requests = await on.server.metric('http_requests_total');
			const results = await eachRow(ROWS, ([, bytes], i) =>
				rowOf(on, bytes, addressOf(1, i)));
			/*
			 * libmicrohttpd answers a head that is too large by
			 * itself.  That is not a request, and is not in the
			 * log.  All other answers are.
			 */
			const logged = (a) => on.server.output().includes(
				` request=${a.headers.get('x-request-id')} `);
			for (const { answers } of results) {
				for (const a of answers.filter((one) => one.headers && one.ours)) {
					if (a.status === 431 && !logged(a))
						Object.assign(a, { ours: false, library: true });
					else
						await eventually(() => logged(a), 'the lines of the log');
				}
			}
			for (const [i, { answers, text }] of results.entries()) {
				const [name, , ...outcomes] = ROWS[i];
				const outcome = outcomes[place];
				const seen = handled(on.server, addressOf(1, i));
				/*
				 * The sender of a head that is too large is not
				 * known.
				 */
				const mine = answers.filter((a) => a.ours).length;
				const nameless = answers.filter((a) => a.ours && a.status === 431).length;
				const status = answers[0]?.status ?? 0;
				const what = `${name}: ${answers.map((a) =>
					`${a.status}${a.ours ? ' ours' : ''}`).join(', ') || 'nothing'}; ` +
					`server: ${seen.length}, may be ${outcome}`;
				ours += mine;
				by_proxy += answers.length - mine;
				closed += answers.length === 0 ? 1 : 0;
				if (seen.length > mine || seen.length < mine - nameless || answers.length > (outcome === 'two' ? 2 : 1))
					wrong.push(`more than one, or not all came back: ${what}\n` +
						`${seen.join('\n')}\n${text.slice(0, 300)}`);
				else if (typeof outcome === 'number' && (mine !== 1 || status !== outcome))
					wrong.push(`another answer: ${what}`);
				else if (['no', 'two'].includes(outcome) && status !== 0 && status < 400)
					wrong.push(`not refused: ${what}`);
				if (outcome !== 'two' && seen.some((line) => line.includes(SMUGGLED)))
					wrong.push(`smuggled: ${what}`);
				if (process.env.TWINBOX_TABLE)
					t.diagnostic(what);
			}
			assert.deepEqual(wrong, []);
			/*
			 * The server's count is the answers that came back and
			 * one read of the metrics.  Refusals by the library
			 * itself do not count as requests.
			 */
			const total = await on.server.metric('http_requests_total') - requests - 1;
			const library = await on.server.metric('http_refused_library_total');
			assert.equal(total, ours);
			assert.equal(library, results.flatMap((r) => r.answers)
				.filter((a) => a.library).length);
			t.diagnostic(`${kind}: ${ROWS.length} rows: ${ours} answered by the server, ` +
				`${by_proxy} by the proxy (${library} of these by the server's library), ` +
				`${closed} closed; the server counts ${total}`);
			assert.ok(ROWS.length > 80 && by_proxy > 20);
		});

		it('HTTP/2: nothing gets through that is another request in HTTP/1.1', async (t) => {
			const wrong = [];
			let reached = 0;
			const results = await eachRow(ROWS2, ([, headers, body], i) =>
				rowOf2(on, headers, body, addressOf(2, i)));
			for (const [i, { answers, resets, away }] of results.entries()) {
				const [name, , , most] = ROWS2[i];
				const seen = handled(on.server, addressOf(2, i));
				const what = `${name}: ${answers} answers, ${resets} resets, ${away} away; ` +
					`server: ${seen.join()}`;
				reached += seen.length;
				if (seen.length > most || seen.length > answers + resets || answers > 1 ||
				    seen.some((line) => line.includes(SMUGGLED)) ||
				    (name.startsWith('a good one') && seen.length !== 1))
					wrong.push(what);
				if (process.env.TWINBOX_TABLE)
					t.diagnostic(what);
			}
			assert.deepEqual(wrong, []);
			t.diagnostic(`${kind}: ${ROWS2.length} rows, ${reached} reached the server`);
		});

		it('and a good client is served afterwards', async () => {
			assert.equal((await on.site.rest().get('/healthz')).status, 200);
		});
	});
}
