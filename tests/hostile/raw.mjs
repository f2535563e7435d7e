// SPDX-License-Identifier: MIT
//
// A raw socket for hostile tests: sends exactly the bytes it is given, and
// reads what comes back as strictly as a proxy would, so that a second answer,
// a doubled head or a missing byte cannot hide.  Texts are latin1: one
// character, one byte.
//
//	const socket = await RawSocket.open(server);
//	socket.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
//	const [answer] = await socket.answers(1);
//	await socket.ended();
//
// Each answer is held to the contract (contract.mjs) when it is first looked at.
// A socket that is not read (`paused`) has a full window after a while, as a
// hostile reader's has.  All sockets of a test file are destroyed by closeAll().

import net from 'node:net';

import { checkAnswer, expectAnswers } from '../e2e/contract.mjs';
import { WAIT_MS, within } from '../e2e/harness.mjs';

const sockets = new Set();

export const bytes = (data) => (Buffer.isBuffer(data) ? data : Buffer.from(data, 'latin1'));

/** Ends every socket that is still open. */
export function closeAll()
{
	for (const socket of sockets)
		socket.destroy();
}

/** Text that shows bytes: "GET /\r\n\0" as it would be typed. */
export function readable(data, most = 120)
{
	const text = bytes(data).toString('latin1');
	const shown = text.length > most ? `${text.slice(0, most)}… (${text.length} bytes)` : text;

	return JSON.stringify(shown).replaceAll('\\u0000', '\\0');
}

// ---- answers, read strictly ------------------------------------------------

class Malformed extends Error {}

/** One head at the beginning of ${text}: {status, headers, size}; null: not whole. */
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
 * The answers in ${buffer}: {list, rest}.  ${methods} are those of the
 * requests, in order (default GET): an answer to HEAD has no body.  Answers of
 * 1xx are in the list, and take no method.  Throws on what is no answer.
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

/** {method, target} of what ${text} asks for first, if there is no doubt. */
function firstAsked(text)
{
	const [, method, target] = /^([A-Z]+) (\/[\w/.?=&-]*) HTTP\/1\.1\r\n/.exec(text) ?? [];

	return target === undefined || /\/[./]/.test(target) ? { target: undefined } : { method, target };
}

/** What libmicrohttpd answers by itself has nothing of ours. */
function isOfLibrary({ status, headers })
{
	return [400, 413, 414, 431, 505].includes(status) && !headers.has('x-request-id') &&
		headers.get('connection') === 'close';
}

// ---- the socket ------------------------------------------------------------

export class RawSocket {
	/** Connects; options: paused (reads nothing), methods (of its requests). */
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
		this.closed = false; // the server has closed its side, or reset: closedAt
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

	/** Begins to read what was left unread. */
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

	/** Leaves out what came so far, which answers all that was sent so far. */
	forget()
	{
		this.pieces = [];
		this.held = 0;
		this.first = '';
	}

	/** Holds those of the answers to the contract that were not yet. */
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

	/** Ends our side; the server's may go on. */
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

	/** Waits until ${probe}() gives something true. */
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

	/** The first ${n} answers, 1xx included, once they are there. */
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

	/** All answers, once the server has closed; throws if anything is left over. */
	async ended(ms)
	{
		await this.until(() => this.closed, 'the end of the connection', ms);
		const { list, rest } = readAnswers(this.received, this.methods);
		if (rest.length > 0)
			throw new Malformed(`half an answer at the end: ${readable(rest)}`);
		return this.hold(list);
	}
}

/** Sends ${data} on a fresh connection; all answers until the server closes. */
export async function untilClosed(server, data, options)
{
	const socket = await RawSocket.open(server, options);

	try {
		return await socket.send(data).ended();
	} finally {
		socket.destroy();
	}
}

// ---- what the server has counted -------------------------------------------

/** The server's metrics over a connection of its own, whose requests it knows. */
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

	/** The page; once more on a fresh connection if this one was idle too long. */
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

	/** {name: value} of all counters and gauges, without "twinbox_". */
	async read()
	{
		const text = await this.page();
		const values = {};
		for (const [, name, value] of text.matchAll(/^twinbox_(\w+) (-?\d+)$/gm))
			values[name] = Number(value);
		values.asked = this.asked++; // answered before this one
		return values;
	}

	/** Answers that went out since the start, by the server's own account. */
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
