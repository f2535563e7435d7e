// SPDX-License-Identifier: MIT
//
// A raw socket for hostile tests.  It sends exactly the given bytes and parses
// the answers as strictly as a proxy would, so that a second answer, a
// duplicate head or a missing byte cannot stay unnoticed.  Texts are latin1:
// one character is one byte.
//
//	const socket = await RawSocket.open(server);
//	socket.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
//	const [answer] = await socket.answers(1);
//	await socket.ended();
//
// Each answer is checked against the contract (contract.mjs) when it is first
// returned.  The receive window of a socket that is not read (`paused`) fills
// up, like that of a hostile client. closeAll() destroys all sockets of a test
// file.

import fs from 'node:fs';
import net from 'node:net';

import { checkAnswer, expectAnswers } from '../e2e/contract.mjs';
import { WAIT_MS, within } from '../e2e/harness.mjs';

const sockets = new Set();

export const bytes = (data) => (Buffer.isBuffer(data) ? data : Buffer.from(data, 'latin1'));

/** Destroys every socket that is still open. */
export function closeAll()
{
	for (const socket of sockets)
		socket.destroy();
}

/** Returns text that shows the bytes as they would be typed: "GET /\r\n\0". */
export function readable(data, most = 120)
{
	const text = bytes(data).toString('latin1');
	const shown = text.length > most ? `${text.slice(0, most)}… (${text.length} bytes)` : text;

	return JSON.stringify(shown).replaceAll('\\u0000', '\\0');
}

// ---- strict parsing of answers ----------------------------------------------

class Malformed extends Error {}

/**
 * Parses the head at the beginning of ${text}.  Returns {status, headers,
 * size}, or null if the head is not complete.
 */
function readHead(text)
{
	const end = text.indexOf('\r\n\r\n');

	if (end < 0)
		return null;
	const [line, ...fields] = text.slice(0, end).split('\r\n');
	const found = /^HTTP\/1\.[01] ([1-5][0-9][0-9]) [ -~]*$/.exec(line);
	if (!found)
		throw new Malformed(`no status line: ${readable(line)}`);
	const headers = new Headers();
	const once = new Set();
	for (const field of fields) {
		const parts = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*$/.exec(field);
		if (!parts)
			throw new Malformed(`no header: ${readable(field)}`);
		const name = parts[1].toLowerCase();
		if (once.has(name))
			throw new Malformed(`twice: ${readable(field)}`);
		once.add(name);
		headers.append(name, parts[2]);
	}
	return { status: Number(found[1]), headers, size: end + 4 };
}

/**
 * Returns the answers in ${buffer}: {list, rest}.  ${methods} are those of the
 * requests, in order (default GET), because an answer to HEAD has no body.
 * Answers with 1xx are in the list and do not use up a method.  Throws if the
 * bytes are not a valid answer.
 */
export function readAnswers(buffer, methods = [])
{
	const text = buffer.toString('latin1');
	const list = [];
	let at = 0;
	let place = 0;

	for (;;) {
		const head = readHead(text.slice(at));
		if (!head)
			break;
		const { status, headers } = head;
		const interim = status < 200;
		const method = methods[place] ?? 'GET';
		const length = headers.get('content-length');
		let size = 0;

		if (headers.has('transfer-encoding'))
			throw new Malformed('the server answers in chunks');
		if (!interim && status !== 204 && status !== 304) {
			if (!/^(0|[1-9][0-9]*)$/.test(length ?? ''))
				throw new Malformed(`Content-Length: ${length}`);
			if (method !== 'HEAD')
				size = Number(length);
		}
		if (text.length < at + head.size + size)
			break;
		const body = buffer.subarray(at + head.size, at + head.size + size);
		const answer = { method, status, headers, text: body.toString() };
		if (answer.text !== '' &&
		    /^application\/(problem\+)?json/.test(headers.get('content-type') ?? ''))
			answer.body = JSON.parse(answer.text);
		list.push(answer);
		at += head.size + size;
		if (!interim)
			place++;
	}
	return { list, rest: buffer.subarray(at) };
}

const FIRST_LEN = 4096;

/**
 * Returns {method, target} of the first request in ${text}, if they are
 * certain.
 */
function firstAsked(text)
{
	const [, method, target] = /^([A-Z]+) (\/[\w/.?=&-]*) HTTP\/1\.1\r\n/.exec(text) ?? [];

	return target === undefined || /\/[./]/.test(target) ? { target: undefined } : { method, target };
}

/**
 * Returns true for an answer that libmicrohttpd makes by itself, without the
 * server's headers.
 */
function isOfLibrary({ status, headers })
{
	return [400, 413, 414, 431, 505].includes(status) && !headers.has('x-request-id') &&
		headers.get('connection') === 'close';
}

// ---- the socket ------------------------------------------------------------

/**
 * Returns whether the server has cut ${socket}.  The client cannot know it while
 * it reads nothing, so the kernel is asked for the state of the server's end.
 */
export function isCut(socket)
{
	const ESTABLISHED = '01';
	const port = (text) => parseInt(text.split(':')[1], 16);
	const rows = fs.readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
		.map((row) => row.trim().split(/\s+/));

	return !rows.some(([, from, to, state]) => state === ESTABLISHED &&
		port(from) === socket.socket.remotePort && port(to) === socket.socket.localPort);
}

export class RawSocket {
	/**
	 * Connects.  Options: paused (reads nothing), methods (of the
	 * requests).
	 */
	static async open(server, options = {})
	{
		const socket = new RawSocket(server, options);

		await within(socket.connected, WAIT_MS, 'the connection');
		return socket;
	}

	constructor(server, { paused = false, methods = [], localAddress } = {})
	{
		const url = new URL(server.url);

		expectAnswers();
		this.url = server.url;
		this.first = '';
		this.held = 0;
		this.methods = methods;
		this.pieces = [];
		this.size = 0;
		this.waiting = new Set();
		this.closed = false; // the server has closed or reset the connection, at closedAt
		this.reset = false;
		this.socket = net.connect({ port: Number(url.port), host: url.hostname.replace(/^\[|\]$/g, ''),
			localAddress, allowHalfOpen: true, noDelay: true });
		sockets.add(this);
		this.connected = new Promise((resolve, reject) => {
			this.socket.on('connect', resolve);
			this.socket.on('error', reject);
		});
		this.connected.catch(() => {});
		this.socket.on('error', (error) => {
			this.error = error;
			this.reset = error.code === 'ECONNRESET' || error.code === 'EPIPE';
			this.end();
		});
		this.socket.on('end', () => this.end());
		this.socket.on('close', () => this.end());
		if (paused) {
			this.socket.pause();
		} else {
			this.socket.on('data', (piece) => {
				this.pieces.push(piece);
				this.size += piece.length;
				this.wake();
			});
		}
	}

	end()
	{
		this.closed = true;
		this.closedAt ??= performance.now();
		this.wake();
	}

	wake()
	{
		for (const look of [...this.waiting])
			look();
	}

	destroy()
	{
		sockets.delete(this);
		this.socket.destroy();
	}

	/** Starts reading what was left unread. */
	resume()
	{
		this.socket.on('data', (piece) => {
			this.pieces.push(piece);
			this.size += piece.length;
			this.wake();
		});
		this.socket.resume();
	}

	send(data)
	{
		if (this.first.length < FIRST_LEN)
			this.first += bytes(data).toString('latin1', 0, FIRST_LEN);
		this.socket.write(bytes(data));
		return this;
	}

	/**
	 * Forgets all bytes so far.  They must be the answers to everything
	 * that was sent.
	 */
	forget()
	{
		this.pieces = [];
		this.held = 0;
		this.first = '';
	}

	/**
	 * Checks the answers that were not yet checked against the contract.
	 */
	hold(list)
	{
		for (; this.held < list.length; this.held++) {
			const answer = list[this.held];
			const asked = this.held === 0 ? firstAsked(this.first) : { target: undefined };
			if (answer.status >= 200 && !isOfLibrary(answer))
				checkAnswer({ ...answer, ...asked }, this.url);
		}
		return list;
	}

	/**
	 * Closes the client's side of the connection.  The server may still
	 * send.
	 */
	halfClose()
	{
		this.socket.end();
		return this;
	}

	get received()
	{
		if (this.pieces.length > 1)
			this.pieces = [Buffer.concat(this.pieces)];
		return this.pieces[0] ?? Buffer.alloc(0);
	}

	/** Waits until ${probe}() returns a true value. */
	async until(probe, what, ms = WAIT_MS)
	{
		let look;

		try {
			return await within(new Promise((resolve, reject) => {
				look = () => {
					try {
						const value = probe();
						if (value)
							resolve(value);
					} catch (error) {
						reject(error);
					}
				};
				this.waiting.add(look);
				look();
			}), ms, () => `${what}; received: ${readable(this.received, 400)}` +
				`${this.closed ? ' and the end' : ''}`);
		} finally {
			this.waiting.delete(look);
		}
	}

	/** Waits for the first ${n} answers, including 1xx. */
	async answers(n, ms)
	{
		return this.until(() => {
			const { list } = readAnswers(this.received, this.methods);
			if (list.length < n && this.closed) {
				throw new Error(`${list.length} answers, not ${n}, and the end: ` +
					readable(this.received, 400));
			}
			return list.length >= n && this.hold(list.slice(0, n));
		}, `${n} answers`, ms);
	}

	/**
	 * Waits until the server closes the connection.  Returns all answers;
	 * throws if any bytes are left over.
	 */
	async ended(ms)
	{
		await this.until(() => this.closed, 'the end of the connection', ms);
		const { list, rest } = readAnswers(this.received, this.methods);
		if (rest.length > 0)
			throw new Malformed(`half an answer at the end: ${readable(rest)}`);
		return this.hold(list);
	}
}

/**
 * Sends ${data} on a fresh connection.  Returns all answers until the server
 * closes it.
 */
export async function untilClosed(server, data, options)
{
	const socket = await RawSocket.open(server, options);

	try {
		return await socket.send(data).ended();
	} finally {
		socket.destroy();
	}
}

// ---- the server's counters -------------------------------------------------

/**
 * The server's metrics, read over a separate connection.  Its own requests are
 * known, so they can be subtracted.
 */
export class Counters {
	constructor(server)
	{
		this.server = server;
		this.asked = 0;
	}

	async open()
	{
		this.socket = await RawSocket.open(this.server);
		return this;
	}

	/**
	 * Returns the page.  If this connection was idle too long and was
	 * closed, tries again on a fresh one.
	 */
	async page()
	{
		for (;;) {
			this.socket.forget();
			this.socket.send('GET /metrics HTTP/1.1\r\nHost: metrics\r\n\r\n');
			try {
				return (await this.socket.answers(1))[0].text;
			} catch (error) {
				if (!this.socket.closed || this.socket.received.length > 0)
					throw error;
				this.close();
				await this.open();
			}
		}
	}

	/**
	 * Returns {name: value} of all counters and gauges, without the prefix
	 * "twinbox_".
	 */
	async read()
	{
		const text = await this.page();
		const values = {};
		for (const [, name, value] of text.matchAll(/^twinbox_(\w+) (-?\d+)$/gm))
			values[name] = Number(value);
		values.asked = this.asked++; // the requests for metrics before this one
		return values;
	}

	/**
	 * Returns the number of answers since the start, as the server has
	 * counted them.
	 */
	async answered()
	{
		const now = await this.read();

		return now.http_requests_total - now.asked + now.http_refused_library_total +
			now.http_turned_away_total;
	}

	close()
	{
		this.socket.destroy();
	}
}
