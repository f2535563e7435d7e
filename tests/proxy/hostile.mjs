// SPDX-License-Identifier: MIT
//
// Hostile requests, byte for byte.  Each row has the allowed results through
// nginx and through Caddy:
//
//	a number  the server answers once, with this status
//	no        refused by the proxy or the server (4xx, 5xx) or closed; at
//	          most one answer
//	any       either of these
//	two       Caddy reads it as two requests, which RFC 9112 allows, and
//	          passes both on in correct form: two answers, both to this client
//
// In any case the server must not have seen more requests than answers came
// back, and none with the id SMUGGLED: these texts are where no request begins.

export const SMUGGLED = 'smuggled';
const INNER = `GET /v1 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${SMUGGLED}\r\n\r\n`;
const H = 'Host: localhost\r\n';
const get = (more = '', target = '/healthz') => `GET ${target} HTTP/1.1\r\n${H}${more}\r\n`;
const post = (more, body = '') =>
	`POST /v1/users HTTP/1.1\r\n${H}Content-Type: application/json\r\n${more}\r\n${body}`;
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** [name, bytes, through nginx, through Caddy] */
export const ROWS = [
	['a good one', get(), 200, 200],
	['a good one with a body', post('Content-Length: 2\r\n', '{}'), 400, 400],

	// framing
	['CL and TE', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'two'],
	['TE and CL', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${INNER}`), 'no', 'two'],
	['CL.TE, the inner one in the length', post(
		`Content-Length: ${5 + INNER.length}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${INNER}`), 'no', 'two'],
	['two equal lengths', post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'), 'no', 'any'],
	['two lengths', post(`Content-Length: 2\r\nContent-Length: ${2 + INNER.length}\r\n`, `{}${INNER}`), 'no', 'no'],
	['two lengths, the other way', post(`Content-Length: ${2 + INNER.length}\r\nContent-Length: 2\r\n`, `{}${INNER}`), 'no', 'no'],
	['a list of lengths', post('Content-Length: 2, 2\r\n', '{}'), 'no', 'any'],
	['length +2', post('Content-Length: +2\r\n', '{}'), 'no', 'no'],
	['length -2', post('Content-Length: -2\r\n', '{}'), 'no', 'no'],
	['length 0x2', post('Content-Length: 0x2\r\n', '{}'), 'no', 'no'],
	['no length in the length', post('Content-Length: \r\n', INNER), 'no', 'two'],
	['a length beyond 64 bits', post('Content-Length: 18446744073709551618\r\n', '{}'), 'no', 'no'],
	['a large length', post('Content-Length: 1048577\r\n', '{}'), 'no', 'no'],
	['Expect with a large length', post('Content-Length: 99999999\r\nExpect: 100-continue\r\n'), 'no', 'no'],
	['an unknown Expect', post('Content-Length: 2\r\nExpect: 200-maybe\r\n', '{}'), 'any', 'any'],
	['TE identity', post('Transfer-Encoding: identity\r\n', INNER), 'no', 'no'],
	['TE xchunked', post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'no'],
	['TE gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'no'],
	['TE chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${INNER}`), 'no', 'no'],
	['TE twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 'no', 'no'],
	['TE twice, one identity', post('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'no'],
	['TE with a blank before the colon', post('Transfer-Encoding : chunked\r\nContent-Length: 2\r\n', '{}'), 'any', 'no'],
	['TE with a vertical tab', post('Transfer-Encoding: \vchunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'no'],
	['TE folded', post('Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${INNER}`), 'no', 'two'],
	['TE in HTTP/1.0', `POST /v1/users HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${INNER}`, 'no', 'any'],
	['chunks', post('Transfer-Encoding: chunked\r\n', `${chunk('{}')}0\r\n\r\n`), 400, 400],
	['a chunk extension', post('Transfer-Encoding: chunked\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n'), 'any', 'any'],
	['trailers', post('Transfer-Encoding: chunked\r\n', `${chunk('{}')}0\r\nX-Request-Id: ${SMUGGLED}\r\n\r\n`), 'any', 'any'],
	['a chunk size of none', post('Transfer-Encoding: chunked\r\n', `\r\n{}\r\n0\r\n\r\n${INNER}`), 'no', 'no'],
	['a chunk size 0x2', post('Transfer-Encoding: chunked\r\n', `0x2\r\n{}\r\n0\r\n\r\n${INNER}`), 'no', 'no'],
	['a chunk size -2', post('Transfer-Encoding: chunked\r\n', `-2\r\n{}\r\n0\r\n\r\n${INNER}`), 'no', 'no'],
	['a chunk size beyond 64 bits', post('Transfer-Encoding: chunked\r\n', `10000000000000002\r\n{}\r\n0\r\n\r\n${INNER}`), 'no', 'no'],
	['a chunk longer than it says', post('Transfer-Encoding: chunked\r\n', `1\r\n{}\r\n0\r\n\r\n${INNER}`), 'no', 'no'],
	['GET with a body', get(`Content-Length: ${INNER.length}\r\n`) + INNER, 'no', 'no'],

	// heads
	['a blank in a name', get('X Y: z\r\n'), 'any', 'no'],
	['a blank before the colon', get('X-Y : z\r\n'), 'any', 'no'],
	['a name of nothing', get(': z\r\n'), 'any', 'any'],
	['a line without a colon', get('X-Y\r\n'), 'any', 'no'],
	['a folded line', get(`X-Y: z\r\n X-Request-Id: ${SMUGGLED}\r\n`), 'no', 'any'],
	['a folded first line', `GET /healthz HTTP/1.1\r\n X: y\r\n${H}\r\n`, 'no', 'no'],
	['a bare CR in a value', get(`X-Y: a\rX-Request-Id: ${SMUGGLED}\r\n`), 'no', 'no'],
	['bare LF lines', get(`X-Y: a\r\n`).replaceAll('\r\n', '\n'), 'any', 'any'],
	['a NUL in a value', get('X-Y: a\0b\r\n'), 'no', 'no'],
	['a NUL in the target', get('', '/healthz\0'), 'no', 'no'],
	['a control character in the target', get('', '/health\x01z'), 'no', 'no'],
	['a blank in the target', get('', '/health z'), 'no', 'no'],
	['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 'no', 'no'],
	['an empty Host', 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n', 'any', 'any'],
	['two Hosts', get('Host: evil.example\r\n'), 'no', 'no'],
	['a malformed Host', 'GET /healthz HTTP/1.1\r\nHost: a/b@c\r\n\r\n', 'no', 'any'],
	['HTTP/1.9', 'GET /healthz HTTP/1.9\r\nHost: localhost\r\n\r\n', 'any', 'any'],
	['HTTP/3.0', 'GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n', 'no', 'no'],
	['no version', 'GET /healthz\r\n\r\n', 'any', 'no'],
	['nonsense', '\x16\x03\x01\x00\x00\r\n\r\n', 'no', 'no'],
	['an empty line first', `\r\n${get()}`, 'any', 'any'],
	['absolute form', get('', 'http://evil.example/healthz'), 'any', 'any'],
	['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${H}\r\n`, 'any', 'any'],
	['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n', 'no', 'any'],
	['TRACE', `TRACE /healthz HTTP/1.1\r\n${H}\r\n`, 'no', 'no'],
	['an unknown method', `FOO /healthz HTTP/1.1\r\n${H}\r\n`, 'no', 'no'],
	['no method at all', `F<> /healthz HTTP/1.1\r\n${H}\r\n`, 'no', 'no'],
	['a way up', get('', '/../../etc/passwd'), 'no', 'no'],
	['an encoded way up', get('', '/%2e%2e%2f%2e%2e%2fetc/passwd'), 'no', 'no'],
	['an encoded NUL', get('', '/healthz%00'), 'no', 'no'],
	['overlong UTF-8', get('', '/%c0%ae%c0%ae/healthz'), 'no', 'no'],
	['a broken escape', get('', '/healthz%zz'), 'no', 'no'],
	['an encoded slash', get('', '/v1%2Finbox'), 'no', 'no'],
	['the WebSocket, encoded', get('', '/v1/%77s'), 'no', 'no'],
	['the WebSocket, with dots', get('', '/v1/x/../ws'), 'no', 'no'],
	['two slashes', get('', '//healthz'), 'no', 'any'],
	['metrics, encoded', get('', '/%6detrics'), 'no', 'no'],
	['metrics, with dots', get('', '/x/../metrics'), 'no', 'no'],
	['metrics, two slashes', get('', '//metrics'), 'no', 'no'],
	['a header of 40 kB', get(`X-Y: ${'z'.repeat(40_000)}\r\n`), 'no', 'no'],
	['2,000 headers', get('X-Y: z\r\n'.repeat(2000)), 'no', 'no'],
	['150 headers', get('X-Y: z\r\n'.repeat(150)), 'no', 'no'],
	['a target of 40 kB', get('', `/healthz?${'z'.repeat(40_000)}`), 'no', 'no'],
	['Connection: Host', get('Connection: Host, Authorization, X-Forwarded-For\r\n'), 200, 200],
	['Connection: Content-Length', post('Connection: Content-Length\r\nContent-Length: 2\r\n', '{}'), 400, 400],
	['two Authorizations', get('Authorization: Bearer a\r\nAuthorization: Bearer b\r\n', '/v1/inbox'), 'no', 'no'],
];

const P = [[':method', 'GET'], [':scheme', 'https'], [':authority', 'localhost'], [':path', '/healthz']];
const U = [[':method', 'POST'], [':scheme', 'https'], [':authority', 'localhost'], [':path', '/v1/users'],
	['content-type', 'application/json']];
const but = (name, value, base = P) =>
	base.map(([n, v]) => [n, n === name ? value : v]);

/**
 * [name, headers, body or undefined, the most requests that the server may see]
 */
export const ROWS2 = [
	['a good one', P, undefined, 1],
	['a good one with a body', [...U, ['content-length', '2']], '{}', 1],
	['less body than it says', [...U, ['content-length', String(INNER.length)]], '{}', 0],
	['more body than it says', [...U, ['content-length', '2']], `{}${INNER}`, 1],
	['two lengths', [...U, ['content-length', '2'], ['content-length', '3']], '{}', 1],
	['a length of +2', [...U, ['content-length', '+2']], '{}', 1],
	['transfer-encoding', [...U, ['transfer-encoding', 'chunked']], `0\r\n\r\n${INNER}`, 1],
	['transfer-encoding and a length', [...U, ['content-length', String(5 + INNER.length)],
		['transfer-encoding', 'chunked']], `0\r\n\r\n${INNER}`, 1],
	['connection', [...P, ['connection', 'keep-alive']], undefined, 1],
	['upgrade', [...P, ['connection', 'upgrade'], ['upgrade', 'websocket']], undefined, 1],
	['te: gzip', [...P, ['te', 'gzip']], undefined, 1],
	['CR LF in a value', [...P, ['x-y', `a\r\nX-Request-Id: ${SMUGGLED}`]], undefined, 0],
	['a whole request in a value', [...P, ['x-y', `a\r\n\r\n${INNER}`]], undefined, 0],
	['LF in a value', [...P, ['x-y', `a\nX-Request-Id: ${SMUGGLED}`]], undefined, 0],
	['NUL in a value', [...P, ['x-y', 'a\0b']], undefined, 0],
	['CR LF in a name', [...P, [`x: y\r\nx-request-id: ${SMUGGLED}\r\nz`, 'a']], undefined, 1],
	['a colon in a name', [...P, ['x-request-id: x', SMUGGLED]], undefined, 1],
	['capitals in a name', [...P, ['X-Request-Id', SMUGGLED]], undefined, 1],
	['a request in the path', but(':path', `/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n${INNER}`), undefined, 0],
	['a blank in the path', but(':path', '/healthz HTTP/1.1'), undefined, 1],
	['no slash in the path', but(':path', 'healthz'), undefined, 1],
	['an empty path', but(':path', ''), undefined, 0],
	['a request in the method', but(':method', `GET /v1 HTTP/1.1\r\nX-Request-Id: ${SMUGGLED}\r\nX: `), undefined, 0],
	['a request in the authority', but(':authority', `localhost\r\nX-Request-Id: ${SMUGGLED}`), undefined, 0],
	['authority and another host', [...P, ['host', 'evil.example']], undefined, 1],
	['no authority, a host', [...P.filter(([n]) => n !== ':authority'), ['host', 'localhost']], undefined, 1],
	['neither', P.filter(([n]) => n !== ':authority'), undefined, 1],
	['two paths', [...P, [':path', '/v1']], undefined, 0],
	['two methods', [...P, [':method', 'POST']], undefined, 0],
	['a pseudo-header after others', [P[0], P[1], P[2], ['x-y', 'z'], P[3]], undefined, 1],
	['an unknown pseudo-header', [...P, [':x', 'y']], undefined, 0],
	['a status', [...P, [':status', '200']], undefined, 0],
	['scheme with a request', but(':scheme', `https://x/\r\n${INNER}`), undefined, 1],
	['CONNECT', [[':method', 'CONNECT'], [':authority', 'localhost:1']], undefined, 1],
	['extended CONNECT', [[':method', 'CONNECT'], [':protocol', 'websocket'], ...P.slice(1, 3),
		[':path', '/v1/ws'], ['sec-websocket-version', '13']], undefined, 1],
];
