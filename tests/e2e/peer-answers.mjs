// SPDX-License-Identifier: MIT
//
// The answers of a peer that node plays.  Each function returns a handler that
// is called with (request, response, peer) and answers in one way (peer.mjs).

import { sleep } from './harness.mjs';

/** Accepts all envelopes. */
export const accepts = () => (request, response, peer) =>
	peer.answer(response, { acks: request.envelopes.map((one) => peer.accept(one)) });

/**
 * Answers 200 with the acks that ${say} returns for each envelope: one without
 * the id, several, or none.  An envelope with an ack `accepted` is recorded as
 * taken.
 */
export const acks = (say) => (request, response, peer) =>
	peer.answer(response, { acks: request.envelopes.flatMap((one, i) => {
		const said = say(one, i);
		const list = said === undefined ? [] : [said].flat();
		if (list[0]?.status === 'accepted')
			peer.accept(one);
		return list.map((ack) => ({ message_id: one.message_id, ...ack }));
	}) });

/** Answers ${status} with ${body}. */
export const says = (status, body = '', headers = { 'content-type': 'text/html' }) =>
	(_request, response) => {
		response.writeHead(status, headers);
		response.end(body);
	};

/** Answers 200 with ${body} as JSON. */
export const json = (body) => says(200, typeof body === 'string' || Buffer.isBuffer(body) ?
	body : JSON.stringify(body), { 'content-type': 'application/json' });

/** Answers with a problem document. */
export const problem = (status, code, headers = {}) => says(status, JSON.stringify({
	type: `https://b.example/problems/${code}`, title: code, status, detail: `it is ${code}`,
	code: code.replaceAll('-', '_'),
}), { 'content-type': 'application/problem+json', ...headers });

/**
 * Writes ${bytes} unchanged, and then ends or, with {reset}, resets the
 * connection.
 */
export const writes = (bytes, { reset = false } = {}) => (_request, response) => {
	const { socket } = response;

	socket.write(bytes, () => {
		if (reset)
			socket.resetAndDestroy();
		else
			socket.end();
	});
};

/** Resets the connection without an answer. */
export const resets = () => (_request, response) => response.socket.resetAndDestroy();

/**
 * Accepts all envelopes, and then breaks the connection after ${n} bytes of the
 * answer.
 */
export const acceptsAndBreaks = (n) => (request, response, peer) => {
	const body = JSON.stringify({ acks: request.envelopes.map((one) => peer.accept(one)) });
	const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n' +
		`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;

	return writes((head + body).slice(0, n), { reset: true })(request, response);
};

/** Sends no answer; waits until the other side closes the connection. */
export const silent = () => (request) => request.closed;

/**
 * Answers 200, and then writes ${piece} every ${ms} milliseconds without an
 * end.
 */
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
