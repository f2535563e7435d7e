// SPDX-License-Identifier: MIT
//
// A WebSocket client, whose frames and refusals are all checked against the
// contract.

import WebSocket from 'ws';

import { checkAnswer, checkFrame, expectAnswers } from '../contract.mjs';
import { WAIT_MS, within } from './process.mjs';
import { parseBody } from './rest.mjs';

function parseFrame(text)
{
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new Error(`contract: a frame: ${error.message}: ${text}`);
	}
}

/**
 * A WebSocket client.  `frames` holds every received frame, in order; wait()
 * also finds frames that have arrived already.  `closed` resolves to {code,
 * reason}.
 */
export class Ws {
	/** Options: token, headers, target, protocols. */
	constructor(server, { token, headers = {}, target = '/v1/ws', protocols = ['twinbox.v1'] } = {})
	{
		const url = new URL(target, server.url);

		expectAnswers();
		url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
		this.token = token;
		this.frames = [];
		this.pongs = 0;
		this.pings = 0;
		this.waiting = new Set();
		this.sent = 0;
		this.socket = new WebSocket(url, protocols,
			{ headers, perMessageDeflate: false, handshakeTimeout: WAIT_MS,
				...server.tls });
		this.closed = new Promise((resolve) => {
			this.socket.on('close', (code, reason) => {
				this.ended = { code, reason: reason.toString() };
				resolve(this.ended);
				this.wake();
			});
		});
		this.socket.on('error', (error) => {
			this.error = error;
		});
		this.socket.on('unexpected-response', (_request, response) => {
			this.refused = response.statusCode;
			this.refusal = response.headers;
			this.refusedWith(response, server, target);
		});
		this.socket.on('ping', () => {
			this.pings++;
			this.wake();
		});
		this.socket.on('pong', () => {
			this.pongs++;
			this.wake();
		});
		this.socket.on('message', (data, binary) => {
			const frame = binary ? { type: '(binary)' } : parseFrame(data.toString());
			checkFrame(frame);
			this.frames.push(frame);
			this.onframe?.(frame);
			this.wake();
		});
	}

	/**
	 * Reads the refusal of the upgrade and checks it against the contract.
	 */
	refusedWith(response, server, target)
	{
		const pieces = [];

		response.on('data', (piece) => pieces.push(piece));
		response.on('error', () => this.socket.terminate());
		response.on('end', () => {
			const text = Buffer.concat(pieces).toString();
			this.socket.terminate();
			/*
			 * An answer that a proxy in front makes by itself is
			 * not part of the contract.
			 */
			if (server.fetch && !response.headers['x-request-id'])
				return;
			const answer = { method: 'GET', target, status: response.statusCode,
				headers: new Headers(response.headers), text };
			parseBody(answer);
			checkAnswer(answer, server.url);
		});
	}

	wake()
	{
		for (const look of [...this.waiting])
			look();
	}

	/** Waits for the upgrade.  Throws if it is refused. */
	async opened()
	{
		await within(new Promise((resolve, reject) => {
			if (this.socket.readyState === WebSocket.OPEN)
				resolve();
			this.socket.on('open', resolve);
			this.closed.then(() => reject(this.error ?? new Error('closed')));
		}), WAIT_MS, 'the upgrade to WebSocket');
		return this;
	}

	/** Sends an object as JSON; sends text or bytes unchanged. */
	send(frame)
	{
		this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ?
			frame : JSON.stringify(frame));
	}

	/**
	 * Waits for the first frame, from index ${from} on, for which ${wanted}
	 * returns true.
	 */
	async wait(wanted, what = 'a frame', { from = 0, ms = WAIT_MS } = {})
	{
		let place = from;
		let found;

		await within(new Promise((resolve, reject) => {
			const look = () => {
				for (; place < this.frames.length; place++) {
					if (wanted(this.frames[place])) {
						found = this.frames[place];
						this.waiting.delete(look);
						resolve();
						return;
					}
				}
				if (this.ended) {
					this.waiting.delete(look);
					reject(new Error(`${what}: the socket was closed: ` +
						`${JSON.stringify(this.ended)}; frames: ` +
						JSON.stringify(this.frames.slice(-5))));
				}
			};
			this.waiting.add(look);
			look();
		}), ms, () => `${what}; last frames: ${JSON.stringify(this.frames.slice(-5))}`);
		return found;
	}

	/** Waits for the next frame of type ${type}, from index ${from} on. */
	type(type, options)
	{
		return this.wait((frame) => frame.type === type, `a ${type} frame`, options);
	}

	/** Sends a request and waits for its reply. */
	async request(frame, options)
	{
		const id = frame.id ?? ++this.sent;
		const from = this.frames.length;

		this.send({ ...frame, id });
		return this.wait((reply) => reply.re === id, `the reply to ${frame.type}`,
			{ from, ...options });
	}

	/** Sends a hello.  Returns the welcome. */
	async hello(more = {})
	{
		const frame = { type: 'hello', ...more };

		if (this.token && frame.token === undefined)
			frame.token = this.token;
		const reply = await this.request(frame);
		if (reply.type !== 'welcome')
			throw new Error(`no welcome: ${JSON.stringify(reply)}`);
		return reply;
	}

	/** Returns the events so far, in order of arrival. */
	events()
	{
		return this.frames.filter((frame) => frame.type === 'event');
	}

	/** Waits for the event for which ${wanted} returns true. */
	event(wanted, what = 'an event', options)
	{
		return this.wait((frame) => frame.type === 'event' && wanted(frame), what, options);
	}

	/** Waits for the event of message ${id}. */
	received(id)
	{
		return this.event((e) => e.kind === 'message' && e.id === id, `message ${id}`);
	}

	/** Waits until the session has received all events up to ${seq}. */
	upTo(seq)
	{
		return this.event((e) => e.seq >= seq, `event ${seq}`);
	}

	ack(upto)
	{
		this.send({ type: 'ack', upto });
	}

	/** Closes the WebSocket and waits for the end. */
	async close(code = 1000)
	{
		this.socket.close(code);
		return within(this.closed, WAIT_MS, 'the end of the WebSocket');
	}

	/** Waits until the server closes the WebSocket. */
	async closing(ms = WAIT_MS)
	{
		return within(this.closed, ms, 'a close by the server');
	}
}
