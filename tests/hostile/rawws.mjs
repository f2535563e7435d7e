// SPDX-License-Identifier: MIT
//
// A WebSocket client that can do everything wrong.  It sends the given bytes
// over TCP and returns what came back: the answer to the handshake, frames, the
// close, the end of the connection.  It never answers pings or closes by
// itself.

import { createHash, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import net from 'node:net';

import { checkFrame } from '../e2e/contract.mjs';
import { WAIT_MS, within } from '../e2e/harness.mjs';

/** The npm package ws, which is installed with the end-to-end tests. */
export const WebSocket = createRequire(new URL('../e2e/harness.mjs', import.meta.url))('ws');

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/**
 * Returns a handshake as text.  ${change} replaces headers by name: by a text,
 * by a list (the header is repeated), or by null (the header is left out).
 * "line" replaces the request line.
 */
export function handshake(server, change = {})
{
	const headers = {
		Host: new URL(server.url).host,
		Upgrade: 'websocket',
		Connection: 'Upgrade',
		'Sec-WebSocket-Key': KEY,
		'Sec-WebSocket-Version': '13',
		'Sec-WebSocket-Protocol': 'twinbox.v1',
	};
	const { line = 'GET /v1/ws HTTP/1.1', ...others } = change;
	const lines = [line];

	for (const [name, value] of Object.entries({ ...headers, ...others })) {
		if (value !== null)
			lines.push(...[value].flat().map((one) => `${name}: ${one}`));
	}
	return `${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * Returns a frame of a client.  ${options}: fin; rsv (0 to 7); mask (false:
 * none, or 4 bytes); form (7, 16 or 64: the number of bits for the length,
 * whatever the length is); length (the length in the head, a BigInt or number,
 * whatever the payload is).
 */
export function frame(opcode, payload = '', options = {})
{
	const { fin = true, rsv = 0, mask = randomBytes(4), length } = options;
	const data = Buffer.from(payload);
	const n = BigInt(length ?? data.length);
	const form = options.form ?? (n < 126n ? 7 : n < 65536n ? 16 : 64);
	const bit = mask ? 0x80 : 0;
	const head = [(fin ? 0x80 : 0) | rsv << 4 | opcode];

	if (form === 7)
		head.push(bit | Number(n));
	else
		head.push(bit | (form === 16 ? 126 : 127));
	for (let shift = form - 8; form > 7 && shift >= 0; shift -= 8)
		head.push(Number(n >> BigInt(shift) & 255n));
	if (!mask)
		return Buffer.concat([Buffer.from(head), data]);
	return Buffer.concat([Buffer.from(head), mask, data.map((byte, i) => byte ^ mask[i & 3])]);
}

export const text = (value, options) => frame(1,
	typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value), options);
export const more = (value, options) => frame(0, value, options);
export const ping = (value = '', options = {}) => frame(9, value, options);
export const pong = (value = '', options = {}) => frame(10, value, options);

/** Returns a close frame.  Without ${code} it has no payload. */
export function close(code, reason = '')
{
	if (code === undefined)
		return frame(8);
	return frame(8, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));
}

/** Returns bytes in a readable form, for the names of tests. */
export function readable(bytes)
{
	const hex = bytes.subarray(0, 14).toString('hex').replace(/(..)/g, '$1 ').trim();
	return bytes.length > 14 ? `${hex} … (${bytes.length})` : hex;
}

/**
 * A connection to ${server}.  With ${byByte} it reads one byte at a time, and
 * once `slow` is set, one byte for each call of socket.resume().
 */
export class RawWs {
	constructor(server, { byByte = false } = {})
	{
		const { hostname, port } = new URL(server.url);
		const onread = byByte ? { buffer: Buffer.alloc(1), callback: (n, buffer) => {
			this.take(Buffer.from(buffer.subarray(0, n)));
			return !this.slow;
		} } : undefined;

		this.server = server;
		this.bytes = Buffer.alloc(0);
		this.frames = []; // {opcode, fin, payload}
		this.waiting = new Set();
		this.socket = net.connect({ host: hostname, port: Number(port), onread });
		this.socket.setNoDelay(true);
		this.socket.on('data', (data) => this.take(data));
		this.socket.on('end', () => this.over('end'));
		this.socket.on('error', (error) => this.over(error.code));
		this.socket.on('close', () => this.over('end'));
		this.connected = new Promise((resolve) => this.socket.on('connect', resolve));
	}

	take(data)
	{
		this.bytes = Buffer.concat([this.bytes, data]);
		if (this.upgraded)
			this.parse();
		this.wake();
	}

	over(how)
	{
		this.ended ??= how;
		this.wake();
	}

	wake()
	{
		for (const look of [...this.waiting])
			look();
	}

	/** Waits until ${probe} returns a true value. */
	async until(probe, what, ms = WAIT_MS)
	{
		let look;

		try {
			return await within(new Promise((resolve, reject) => {
				look = () => {
					const value = probe();
					if (value)
						resolve(value);
					else if (this.ended)
						reject(new Error(`${what}: ${this.ended} after ${this}`));
				};
				this.waiting.add(look);
				look();
			}), ms, () => `${what}; so far ${this}`);
		} finally {
			this.waiting.delete(look);
		}
	}

	toString()
	{
		return JSON.stringify([this.bytes.toString('latin1').slice(0, 300),
			...this.frames.slice(-5).map((one) => `${one.opcode}:${one.payload}`.slice(0, 200))]);
	}

	write(bytes)
	{
		if (!this.socket.destroyed && this.socket.writable)
			this.socket.write(bytes);
	}

	destroy()
	{
		this.socket.destroy();
	}

	/**
	 * Waits for the answer to a handshake.  Returns {status, headers,
	 * body}.
	 */
	async answer(ms)
	{
		const end = await this.until(() => this.bytes.indexOf('\r\n\r\n') + 1,
			'an answer', ms);
		const [line, ...lines] = this.bytes.subarray(0, end - 1).toString('latin1').split('\r\n');
		const headers = new Map();

		for (const one of lines) {
			const [name, value] = [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1)];
			headers.set(name.toLowerCase(), value.trim());
		}
		const answer = { status: Number(line.split(' ')[1]), headers };
		this.bytes = this.bytes.subarray(end + 3);
		if (answer.status === 101) {
			this.upgraded = true;
			answer.accepted = headers.get('sec-websocket-accept') ===
				createHash('sha1').update(KEY + GUID).digest('base64');
			this.parse();
			return answer;
		}
		const length = Number(headers.get('content-length') ?? 0);
		await this.until(() => this.bytes.length >= length, 'the body of the answer');
		answer.text = this.bytes.subarray(0, length).toString();
		this.bytes = this.bytes.subarray(length);
		if (/json/.test(headers.get('content-type') ?? ''))
			answer.body = JSON.parse(answer.text);
		return answer;
	}

	/**
	 * Waits for the end of the connection.  Returns 'end' or the code of
	 * the error.
	 */
	async end(ms = WAIT_MS)
	{
		await this.until(() => this.ended, 'the end of the connection', ms);
		return this.ended;
	}

	parse()
	{
		for (;;) {
			const b = this.bytes;
			let at = 2;

			if (b.length < 2)
				return;
			let n = b[1];
			if (n > 127)
				throw new Error(`the server masked a frame: ${readable(b)}`);
			if (n === 126) {
				if (b.length < 4)
					return;
				n = b.readUInt16BE(2);
				at = 4;
			} else if (n === 127) {
				if (b.length < 10)
					return;
				n = Number(b.readBigUInt64BE(2));
				at = 10;
			}
			if (b.length < at + n)
				return;
			const one = { opcode: b[0] & 15, fin: b[0] >> 7, payload: b.subarray(at, at + n) };
			if (one.opcode === 1) {
				one.json = JSON.parse(one.payload.toString());
				checkFrame(one.json);
			}
			this.frames.push(one);
			this.bytes = b.subarray(at + n);
		}
	}

	/** Upgrades the connection, and waits for nothing else. */
	async upgrade(change)
	{
		this.write(handshake(this.server, change));
		const answer = await this.answer();
		if (answer.status !== 101)
			throw new Error(`no upgrade: ${answer.status} ${answer.text}`);
		return this;
	}

	/** Upgrades the connection and opens a session of ${user}. */
	async hello(user, hello = {})
	{
		await this.upgrade();
		this.write(text({ type: 'hello', token: user.token, ...hello }));
		this.welcome = await this.type('welcome');
		return this;
	}

	/**
	 * Waits for the first text frame for which ${wanted} returns true.
	 * Returns it, parsed.
	 */
	async json(wanted, what = 'a frame', ms)
	{
		const found = await this.until(() => this.frames.find((one) =>
			one.opcode === 1 && wanted(one.json)), what, ms);
		return found.json;
	}

	type(type, ms)
	{
		return this.json((one) => one.type === type, `a ${type} frame`, ms);
	}

	events()
	{
		return this.frames.filter((one) => one.json?.type === 'event').map((one) => one.json);
	}

	/**
	 * Waits for the close frame.  Returns {code, reason}; code 1005 means
	 * that it had no payload.
	 */
	async closing(ms)
	{
		const { payload } = await this.until(() => this.frames.find((one) => one.opcode === 8),
			'a close frame', ms);
		return payload.length === 0 ? { code: 1005, reason: '' } :
			{ code: payload.readUInt16BE(0), reason: payload.subarray(2).toString() };
	}
}

/** Opens a fresh connection. */
export async function connect(server, options)
{
	const ws = new RawWs(server, options);
	await within(ws.connected, WAIT_MS, 'a connection');
	return ws;
}
