// SPDX-License-Identifier: MIT
//
// What a peer that node plays answers: each of these makes a function that is called
// with (request, response, peer) and answers in one way (peer.mjs).

import { sleep } from './harness.mjs';

/** Takes everything. */
export const accepts = () => (request, response, peer) =>
	peer.answer(response, { acks: request.envelopes.map((one) => peer.accept(one)) });

/** 200 with what ${say} gives of each envelope: an ack without its id, several of
 *  them, or nothing.  What is said to be accepted is taken. */
export const acks = (say) => (request, response, peer) =>
	peer.answer(response, { acks: request.envelopes.flatMap((one, i) => {
		const said = say(one, i);
		const list = said === undefined ? [] : [said].flat();
		if (list[0]?.status === 'accepted')
			peer.accept(one);
		return list.map((ack) => ({ message_id: one.message_id, ...ack }));
	}) });

/** ${status} with ${body}. */
export const says = (status, body = '', headers = { 'content-type': 'text/html' }) =>
	(_request, response) => {
		response.writeHead(status, headers);
		response.end(body);
	};

/** 200 with ${body} as JSON. */
export const json = (body) => says(200, typeof body === 'string' || Buffer.isBuffer(body) ?
	body : JSON.stringify(body), { 'content-type': 'application/json' });

/** A problem document. */
export const problem = (status, code, headers = {}) => says(status, JSON.stringify({
	type: `https://b.example/problems/${code}`, title: code, status, detail: `it is ${code}`,
	code: code.replaceAll('-', '_'),
}), { 'content-type': 'application/problem+json', ...headers });

/** Writes ${bytes} as they are, and then ends or, with {reset}, breaks the connection. */
export const writes = (bytes, { reset = false } = {}) => (_request, response) => {
	const { socket } = response;

	socket.write(bytes, () => {
		if (reset)
			socket.resetAndDestroy();
		else
			socket.end();
	});
};

/** Breaks the connection without a word. */
export const resets = () => (_request, response) => response.socket.resetAndDestroy();

/** Takes everything, and then breaks the connection where the answer has ${n} bytes. */
export const acceptsAndBreaks = (n) => (request, response, peer) => {
	const body = JSON.stringify({ acks: request.envelopes.map((one) => peer.accept(one)) });
	const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n' +
		`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;

	return writes((head + body).slice(0, n), { reset: true })(request, response);
};

/** Says nothing, until the other side has had enough. */
export const silent = () => (request) => request.closed;

/** 200, and then ${piece} every ${ms}, without an end. */
export const endless = (piece, ms) => async (request, response) => {
	let over = false;

	request.closed.then(() => { over = true; });
	response.writeHead(200, { 'content-type': 'application/json' });
	while (!over) {
		if (!response.write(piece))
			await Promise.race([request.closed, new Promise((resolve) => { response.once('drain', resolve); })]);
		if (ms > 0)
			await sleep(ms);
	}
};
