// SPDX-License-Identifier: MIT
//
// The hostile table of HTTP as data: the bytes that a stranger may send, and
// what must come back.  Expectations:
//
//    refused(400)        one problem document, then the end
//    library(400)        one answer by libmicrohttpd itself, then the end
//    served(200, …)      these answers, in order, and the connection still in
//                        step: a request behind them gets its own answer
//    closed              the end without an answer
//
// TOKEN stands for a token.  GET /smuggled must never be understood as a
// request of its own, unless a row says so by its statuses.

export const refused = (status) => ({ kind: 'refused', status });
export const library = (status) => ({ kind: 'library', status });
export const served = (...statuses) => ({ kind: 'served', statuses });
export const closed = { kind: 'closed' };

const HOST = 'Host: x\r\n';
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;
export const MESSAGE = '{"to":"bob","body":"x"}';

/** A GET with further header lines. */
export const get = (lines = '', target = '/healthz') =>
	`GET ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;

/** The head of a POST of a message, with further header lines. */
const post = (lines, body = '') => 'POST /v1/messages HTTP/1.1\r\n' +
	`${HOST}Authorization: Bearer TOKEN\r\nContent-Type: application/json\r\n${lines}\r\n${body}`;

const LENGTH = `Content-Length: ${MESSAGE.length}\r\n`;
const SIZE = MESSAGE.length.toString(16);
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = `${SIZE}\r\n${MESSAGE}\r\n0\r\n\r\n`;
const chunked = (body) => post(CHUNKED, body);

/** Requests whose end must be unambiguous. */
export const framing = [
	['a message by length', post(LENGTH, MESSAGE), served(201)],
	['a message in chunks', post(CHUNKED, CHUNKS), served(201)],

	['length, then chunks (CL.TE)', post(`Content-Length: 4\r\n${CHUNKED}`, `0\r\n\r\n${SMUGGLED}`), refused(400)],
	['chunks, then length (TE.CL)', post(`${CHUNKED}Content-Length: 4\r\n`, `0\r\n\r\n${SMUGGLED}`), refused(400)],
	['chunks and a length of 0', post(`Content-Length: 0\r\n${CHUNKED}`, `0\r\n\r\n${SMUGGLED}`), refused(400)],
	['GET with length and chunks', get(`Content-Length: 5\r\n${CHUNKED}`) + `0\r\n\r\n${SMUGGLED}`, refused(400)],

	['two equal lengths', post(LENGTH + LENGTH, MESSAGE), refused(400)],
	['two lengths, the first longer', post(`${LENGTH}Content-Length: 2\r\n`, MESSAGE), refused(400)],
	['two lengths, the first shorter', post(`Content-Length: 0\r\n${LENGTH}`, SMUGGLED), refused(400)],
	['two lengths, far apart', post(`Content-Length: 0\r\nX-A: b\r\nX-C: d\r\n${LENGTH}`, SMUGGLED), refused(400)],
	['two lengths in other letters', post(`content-length: 0\r\nCONTENT-LENGTH: ${MESSAGE.length}\r\n`, SMUGGLED), refused(400)],

	['length +3', post('Content-Length: +3\r\n', 'abc'), refused(400)],
	['length -1', post('Content-Length: -1\r\n', SMUGGLED), refused(400)],
	['length 0x3', post('Content-Length: 0x3\r\n', 'abc'), refused(400)],
	['length "3, 3"', post('Content-Length: 3, 3\r\n', 'abc'), refused(400)],
	['length "3 3"', post('Content-Length: 3 3\r\n', 'abc'), refused(400)],
	['length 3;x', post('Content-Length: 3;x\r\n', 'abc'), refused(400)],
	['length 3.0', post('Content-Length: 3.0\r\n', 'abc'), refused(400)],
	['length 1e1', post('Content-Length: 1e1\r\n', 'abc'), refused(400)],
	['length "3"', post('Content-Length: "3"\r\n', 'abc'), refused(400)],
	['an empty length', post('Content-Length:\r\n', SMUGGLED), refused(400)],
	['a length of blanks', post('Content-Length:  \t \r\n', SMUGGLED), refused(400)],
	['a length in Arabic digits', post('Content-Length: \xd9\xa3\r\n', 'abc'), refused(400)],
	['length 3 and a NUL', post('Content-Length: 3\0\r\n', 'abc'), refused(400)],
	['length 3 and a vertical tab', post('Content-Length: 3\x0b\r\n', 'abc'), refused(400)],
	['length 2^63', post('Content-Length: 9223372036854775808\r\n', 'abc'), refused([400, 413])],
	['length 2^64 - 1', post('Content-Length: 18446744073709551615\r\n', 'abc'), refused([400, 413])],
	['length 2^64 + 3', post('Content-Length: 18446744073709551619\r\n', 'abc'), refused([400, 413])],
	['length of 60 digits', post(`Content-Length: ${'9'.repeat(60)}\r\n`, 'abc'), refused([400, 413])],
	['length with leading noughts', post(`Content-Length: 000${MESSAGE.length}\r\n`, MESSAGE), served(201)],
	['length of 20 noughts and nothing else', post(`Content-Length: ${'0'.repeat(20)}\r\n`, '{}'), refused([400])],
	['length with 60 leading noughts', post(`Content-Length: ${'0'.repeat(60)}3\r\n`, 'abc'), refused([400, 413])],
	['Content-Length with a blank before the colon', post('Content-Length : 3\r\n', 'abc'), refused(400)],
	['Content-Length with a tab before the colon', post('Content-Length\t: 3\r\n', 'abc'), refused(400)],
	['Content-Length on a folded line', post('X-A: b\r\n Content-Length: 3\r\n', 'abc'), refused(400)],
	['Content_Length is a header like any other', post('Content_Length: 3\r\n', SMUGGLED), served(400, 404)],
	['a body shorter than the next request', post(LENGTH, MESSAGE + get()), served(201, 200)],

	['Transfer-Encoding: identity', post('Transfer-Encoding: identity\r\n', SMUGGLED), refused(400)],
	['Transfer-Encoding: xchunked', post('Transfer-Encoding: xchunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: chunkedx', post('Transfer-Encoding: chunkedx\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: chunked, gzip', post('Transfer-Encoding: chunked, gzip\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: chunked, chunked', post('Transfer-Encoding: chunked, chunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: ,chunked', post('Transfer-Encoding: ,chunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: chunked;q=1', post('Transfer-Encoding: chunked;q=1\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding: "chunked"', post('Transfer-Encoding: "chunked"\r\n', CHUNKS), refused(400)],
	['an empty Transfer-Encoding', post('Transfer-Encoding:\r\n', SMUGGLED), refused(400)],
	['an empty Transfer-Encoding and a length', post(`Transfer-Encoding:\r\n${LENGTH}`, MESSAGE), refused(400)],
	['Transfer-Encoding twice', post(CHUNKED + CHUNKED, CHUNKS), refused(400)],
	['Transfer-Encoding: chunked and identity', post(`${CHUNKED}Transfer-Encoding: identity\r\n`, CHUNKS), refused(400)],
	['Transfer-Encoding: identity and chunked', post(`Transfer-Encoding: identity\r\n${CHUNKED}`, CHUNKS), refused(400)],
	['Transfer-Encoding with a blank before the colon', post('Transfer-Encoding : chunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding with a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding with a NUL behind', post('Transfer-Encoding: chunked\0\r\n', CHUNKS), refused(400)],
	['Transfer-Encoding on a folded line', post(`Transfer-Encoding:\r\n chunked\r\n${LENGTH}`, MESSAGE), refused(400)],
	['Transfer-Encoding folded to the line before', post(`X-A: b\r\n\t${CHUNKED}${LENGTH}`, MESSAGE), refused(400)],
	['Transfer-Encoding behind a bare LF', post(`X-A: b\n${CHUNKED}`, CHUNKS), refused(400)],
	['Transfer-Encoding behind a bare CR', post(`X-A: b\r${CHUNKED}${LENGTH}`, MESSAGE), refused(400)],
	['Transfer-Encoding in HTTP/1.0', post(CHUNKED, CHUNKS).replace('HTTP/1.1', 'HTTP/1.0'), refused(400)],
	['Transfer-Encoding in capitals', post('TRANSFER-ENCODING: CHUNKED\r\n', CHUNKS), served(201)],
	['Transfer-Encoding behind a tab', post('Transfer-Encoding:\tchunked\r\n', CHUNKS), served(201)],
	['Transfer-Encoding without a blank', post('Transfer-Encoding:chunked\r\n', CHUNKS), served(201)],
	['Transfer-Encoding with blanks behind', post('Transfer-Encoding: chunked \t\r\n', CHUNKS), refused(400)],
	['Transfer_Encoding is a header like any other', post(`Transfer_Encoding: chunked\r\n${LENGTH}`, MESSAGE), served(201)],
];

/** Bodies in chunks. */
export const chunks = [
	['many chunks of one byte', chunked([...MESSAGE].map((c) => `1\r\n${c}\r\n`).join('') + '0\r\n\r\n'), served(201)],
	['a size with noughts before', chunked(`0000${SIZE}\r\n${MESSAGE}\r\n000\r\n\r\n`), served(201)],
	['an extension', chunked(`${SIZE};a=b\r\n${MESSAGE}\r\n0;c\r\n\r\n`), served(201)],
	['a quoted extension', chunked(`${SIZE};a="b;c"\r\n${MESSAGE}\r\n0\r\n\r\n`), served(201)],
	['an extension of 8 KiB', chunked(`${SIZE};${'a'.repeat(8192)}\r\n${MESSAGE}\r\n0\r\n\r\n`), served(201)],
	['trailers', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n`), served(201)],
	['a length among the trailers', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nContent-Length: 50\r\n\r\n`) + SMUGGLED, served(201, 404)],
	['another encoding among the trailers', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n`) + SMUGGLED, served(201, 404)],
	['a host among the trailers', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nHost: y\r\n\r\n`), served(201)],
	['LF behind the size', chunked(`${SIZE}\n${MESSAGE}\r\n0\r\n\r\n`), served(201)],
	['LF behind the data', chunked(`${SIZE}\r\n${MESSAGE}\n0\r\n\r\n`), served(201)],
	['LF behind the last chunk', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\n\n`), served(201)],
	['nothing at all in chunks', chunked('0\r\n\r\n') + SMUGGLED, served(400, 404)],

	['a size that is not a number', chunked(`g\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a negative size', chunked(`-1\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a size with a plus', chunked(`+${SIZE}\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a size with 0x', chunked(`0x${SIZE}\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a size with a blank before', chunked(` ${SIZE}\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['no size', chunked(`\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a size behind a NUL', chunked(`\0${SIZE}\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a size and a bare CR', chunked(`${SIZE}\r${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['size 2^64', chunked(`10000000000000000\r\n${MESSAGE}`), library(413)],
	['a size of 40 digits', chunked(`${'f'.repeat(40)}\r\n${MESSAGE}`), library(413)],
	['a chunk longer than its size', chunked(`2\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['a chunk shorter than its size', chunked(`${(MESSAGE.length + 2).toString(16)}\r\n${MESSAGE}\r\n0\r\n\r\n`), library(400)],
	['size 2^64 - 1', chunked(`ffffffffffffffff\r\n${'x'.repeat(1_100_000)}`), refused(413)],
	['size 2^63', chunked(`8000000000000000\r\n${'x'.repeat(1_100_000)}`), refused(413)],
	['a trailer without a colon', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nnonsense\r\n\r\n`), library(400)],
	['trailers of 40 kB', chunked(`${SIZE}\r\n${MESSAGE}\r\n0\r\nX-A: ${'b'.repeat(40_000)}\r\n\r\n`), library(431)],
];

/** The lines of the head. */
export const heads = [
	['a good one', get(), served(200)],
	['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', refused(400)],
	['two Hosts', get('Host: y\r\n'), refused(400)],
	['the same Host twice', get(HOST), refused(400)],
	['two Hosts in other letters', get('hOST: y\r\n'), refused(400)],
	['an empty Host', 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n', served(200)],
	['a Host with a blank', 'GET /healthz HTTP/1.1\r\nHost: x y\r\n\r\n', refused(400)],
	['a Host with a user', 'GET /healthz HTTP/1.1\r\nHost: a@x\r\n\r\n', refused(400)],
	['a Host with a path', 'GET /healthz HTTP/1.1\r\nHost: x/y\r\n\r\n', refused(400)],
	['a Host that is a list', 'GET /healthz HTTP/1.1\r\nHost: x, y\r\n\r\n', refused(400)],
	['a Host of 301 letters', `GET /healthz HTTP/1.1\r\nHost: ${'x'.repeat(301)}\r\n\r\n`, refused(400)],
	['a Host of 300 letters', `GET /healthz HTTP/1.1\r\nHost: ${'x'.repeat(300)}\r\n\r\n`, served(200)],
	['a Host that is IPv6 with a port', 'GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n', served(200)],
	['no Host in HTTP/1.0', 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', served(200)],
	['two Hosts in HTTP/1.0', `GET /healthz HTTP/1.0\r\n${HOST}${HOST}\r\n`, refused(400)],

	['a blank in a name', get('X A: b\r\n'), refused(400)],
	['a blank before the colon', get('X-A : b\r\n'), refused(400)],
	['a tab before the colon', get('X-A\t: b\r\n'), refused(400)],
	['a blank before the first name', `GET /healthz HTTP/1.1\r\n ${HOST}\r\n`, refused(400)],
	['an empty name', get(': b\r\n'), refused(400)],
	['an empty name for a Host', 'GET /healthz HTTP/1.1\r\n: x\r\n\r\n', refused(400)],
	['no colon', get('nonsense\r\n'), library(400)],
	['no colon in the first line', 'GET /healthz HTTP/1.1\r\nnonsense\r\n\r\n', library(400)],
	['a NUL in a name', get('X-\0A: b\r\n'), library(400)],
	['a name in UTF-8', get('X-\xc3\xa4: b\r\n'), refused(400)],
	['a name in quotes', get('"X-A": b\r\n'), refused(400)],
	['a name with a slash', get('X/A: b\r\n'), refused(400)],
	['a NUL in a value', get('X-A: b\0c\r\n'), refused(400)],
	['a NUL at the end of a value', get('X-A: b\0\r\n'), refused(400)],
	['a value that is a NUL', get('X-A: \0\r\n'), refused(400)],
	['a NUL in the last value', `GET /healthz HTTP/1.1\r\n${HOST}X-A: b\0\r\n\r\n`, refused(400)],
	['a NUL for a line', get('\0\r\n'), refused(400)],
	['a bare CR in a value', get('X-A: b\rc\r\n'), refused(400)],
	['a bare CR at the end of a value', get('X-A: b\r\r\n'), refused(400)],
	['an escape in a value', get('X-A: b\x1bc\r\n'), refused(400)],
	['a DEL in a value', get('X-A: b\x7fc\r\n'), refused(400)],
	['a value in UTF-8', get('X-A: \xc3\xa4\r\n'), served(200)],
	['an empty value', get('X-A:\r\n'), served(200)],
	['a value with tabs and blanks around', get('X-A: \t b \t \r\n'), served(200)],
	['a folded value', get('X-A: b\r\n c\r\n'), refused(400)],
	['a value folded by a tab', get('X-A: b\r\n\tc\r\n'), refused(400)],
	['a value folded to nothing', get('X-A: b\r\n \r\n'), refused(400)],
	['a value folded twice', get('X-A: b\r\n c\r\n d\r\n'), refused(400)],
	['a folded Host', 'GET /healthz HTTP/1.1\r\nHost:\r\n x\r\n\r\n', refused(400)],
	['a folded last line', `GET /healthz HTTP/1.1\r\n${HOST} y\r\n\r\n`, refused(400)],
	['bare LF everywhere', get().replaceAll('\r\n', '\n'), refused(400)],
	['a bare LF behind the request line', get().replace('\r\n', '\n'), refused(400)],
	['a bare LF behind a header', `GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`, refused(400)],
	['a bare LF behind the last header', `GET /healthz HTTP/1.1\r\nHost: x\n\r\n`, refused(400)],
	['a line of a colon and a letter, between bare LFs, for the empty line', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\n:t\n\r\rX-B: y\r\n\r\n`, refused(400)],
	['a bare LF for the empty line', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\n', refused(400)],
	['two Authorizations', get('Authorization: Bearer a\r\nAuthorization: Bearer TOKEN\r\n', '/v1/me'), refused(400)],
	['two Content-Types', post(`${LENGTH}Content-Type: text/plain\r\n`, MESSAGE), refused(400)],

	['an empty line before', `\r\n${get()}`, served(200)],
	['ten empty lines before', '\r\n'.repeat(10) + get(), served(200)],
	['HTTP/1.2', get().replace('1.1', '1.2'), refused(400)],
	['HTTP/1.9', get().replace('1.1', '1.9'), refused(400)],
	['HTTP/0.9', get().replace('1.1', '0.9'), library(505)],
	['HTTP/2.0', get().replace('1.1', '2.0'), library(505)],
	['HTTP/9.9', get().replace('1.1', '9.9'), library(505)],
	['HTTP/1.10', get().replace('1.1', '1.10'), library(400)],
	['HTTP/01.1', get().replace('1.1', '01.1'), library(400)],
	['HTTP/1', get().replace('1.1', '1'), library(400)],
	['http/1.1', get().replace('HTTP', 'http'), library(400)],
	['HTTP 1.1', get().replace('HTTP/', 'HTTP '), library(400)],
	['no version', get().replace(' HTTP/1.1', ''), library(400)],
	['HTTP/0.9 as it was', 'GET /healthz\r\n', library(400)],
	['a blank behind the version', get().replace('1.1', '1.1 '), library(400)],
	['a blank before the method', ` ${get()}`, refused(400)],
	['a tab before the method', `\t${get()}`, refused(400)],
	['a byte of 255 before the method', `\xff${get()}`, refused(400)],
	['a byte order mark before the method', `\xef\xbb\xbf${get()}`, refused(400)],
	['two blanks before the target', get().replace(' /', '  /'), refused(400)],
	['two blanks behind the target', get().replace('healthz ', 'healthz  '), refused(400)],
	['a tab before the target', get().replace(' /', '\t/'), library(400)],
	['a tab behind the target', get().replace('healthz ', 'healthz\t'), library(400)],
	['only a method', 'GET\r\n\r\n', closed],
	['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', library(505)],
	['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', refused(400)],
	['a line of a NUL before', `\0\r\n${get()}`, refused(400)],
	['a line of a NUL between, as an empty one', `${get()}\0\r\n${get()}`, served(200, 200)],
	['a line that begins with a NUL between', `${get()}\0GET /smuggled HTTP/1.1\r\n${get()}`, served(200, 200)],
	['a line that begins with a NUL before', `\0GET /smuggled HTTP/1.1\r\n${get()}`, refused(400)],
	['a NUL in the method', get().replace('GET', 'G\0T'), refused(400)],
	['a NUL in the version', get().replace('1.1', '1.1\0'), library(400)],
	['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', library(400)],
	['words', 'hello, is anybody there?\r\n\r\n', library(400)],
];

/** Methods, and the forms of the target. */
export const targets = [
	['method get', get().replace('GET', 'get'), refused(400)],
	['method FOO', get().replace('GET', 'FOO'), refused(400)],
	['method FOO<>', get().replace('GET', 'FOO<>'), refused(400)],
	['method TRACE', get().replace('GET', 'TRACE'), refused(400)],
	['method CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n', refused(400)],
	['method PROPFIND', get().replace('GET', 'PROPFIND'), refused(400)],
	['a method of 5,000 letters', get().replace('GET', 'G'.repeat(5000)), refused(400)],
	['HEAD', get().replace('GET', 'HEAD'), served(200)],
	['PUT where there is GET only', get().replace('GET', 'PUT'), served(405)],
	['OPTIONS of a path', get().replace('GET', 'OPTIONS'), served(204)],
	['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', refused(400)],
	['GET *', 'GET * HTTP/1.1\r\nHost: x\r\n\r\n', refused(400)],
	['absolute form', get('', 'http://x/healthz'), refused(400)],
	['absolute form of another', get('', 'http://other.example/healthz'), refused(400)],
	['authority form', get('', 'x:80'), refused(400)],
	['no slash', get('', 'healthz'), refused(400)],
	['only a query', get('', '?a=b'), refused(400)],
	['a fragment', get('', '/healthz#a'), refused(400)],
	['a fragment in the query', get('', '/healthz?a#b'), refused(400)],
	['a blank in the target', get('', '/health z'), refused(400)],
	['a NUL in the target', get('', '/healthz\0'), refused(400)],
	['a NUL in the middle of the target', get('', '/health\0z'), refused(400)],
	['a NUL in the query', get('', '/healthz?a=\0b'), refused(400)],
	['a control character in the target', get('', '/healthz\x01'), refused(400)],
	['a DEL in the target', get('', '/healthz\x7f'), refused(400)],
	['a bare CR in the target', get('', '/healthz\r'), refused(400)],
	['raw UTF-8 in the target', get('', '/h\xc3\xa4lthz'), served(404)],
	['raw bytes that are no UTF-8', get('', '/h\xff'), refused(400)],
	['a broken escape in the query', get('', '/healthz?a=%zz'), refused(400)],
	['half an escape in the query', get('', '/healthz?a=%2'), refused(400)],
	['2,000 parameters behind a NUL', get('', `/healthz\0?${'&'.repeat(2000)}`), refused(431)],
	['2,000 parameters behind a NUL, and a line without a colon', `GET /healthz\0?${'&'.repeat(2000)} HTTP/1.1\r\nX\r\n\r\n`, refused(431)],
	['a NUL escaped in the query', get('', '/healthz?a=%00'), refused(400)],
	['an overlong form in the query', get('', '/healthz?a=%c0%ae'), refused(400)],
	['GET with a body', get('Content-Length: 3\r\n') + 'abc', refused(400)],
	['GET with chunks', get(CHUNKED) + CHUNKS, refused(400)],
	['GET with a request for a body', get(`Content-Length: ${SMUGGLED.length}\r\n`) + SMUGGLED, refused(400)],
	['GET with a length of 0', get('Content-Length: 0\r\n'), served(200)],
	['HEAD with a body', get('Content-Length: 3\r\n').replace('GET', 'HEAD') + 'abc', refused(400)],
	['OPTIONS with a body', get('Content-Length: 3\r\n').replace('GET', 'OPTIONS') + 'abc', refused(400)],
	['DELETE with a body', get(`Authorization: Bearer TOKEN\r\n${LENGTH}Content-Type: application/json\r\n`,
		'/v1/tokens/01900000-0000-7000-8000-000000000000').replace('GET', 'DELETE') + MESSAGE, refused(400)],
	['a body for a path that is not there', post(LENGTH, MESSAGE).replace('/v1/messages', '/nowhere'), refused(404)],
	['a body for a method that is not there', post(LENGTH, MESSAGE).replace('POST', 'PUT'), refused(405)],
];

/** Sizes at the limit, and one byte more. */
export const sizes = [
	['a target of 8,192 bytes', get('', `/${'x'.repeat(8191)}`), served(404)],
	['a target of 8,193 bytes', get('', `/${'x'.repeat(8192)}`), refused(400)],
	['a query that makes 8,192 bytes', get('', `/healthz?a=${'x'.repeat(8181)}`), served(200)],
	['a target of 40 kB', get('', `/${'x'.repeat(40_000)}`), library(414)],
	['a target without an end', `GET /${'x'.repeat(60_000)}`, library(414)],
	['a line without a blank', 'x'.repeat(60_000), library(414)],
	['32 query parameters', get('', `/healthz?${Array.from({ length: 32 }, (_, i) => `p${i}=1`).join('&')}`), served(200)],
	['33 query parameters', get('', `/healthz?${Array.from({ length: 33 }, (_, i) => `p${i}=1`).join('&')}`), refused(400)],
	['2,000 query parameters', get('', `/healthz?${'a=&'.repeat(2000)}`), refused(400)],
	['4,000 query separators', get('', `/healthz?${'&'.repeat(4000)}`), served(200)],
	['100 headers', get(Array.from({ length: 99 }, (_, i) => `X-${i}: a\r\n`).join('')), served(200)],
	['101 headers', get(Array.from({ length: 100 }, (_, i) => `X-${i}: a\r\n`).join('')), refused(431)],
	['2,000 headers', get(Array.from({ length: 2000 }, (_, i) => `X-${i}: a\r\n`).join('')), refused(431)],
	['2,000 empty headers', get('a:\r\n'.repeat(2000)), refused(431)],
	['a header of 16 kB', get(`X-A: ${'b'.repeat(16_000)}\r\n`), served(200)],
	['a header of 40 kB', get(`X-A: ${'b'.repeat(40_000)}\r\n`), library(431)],
	['a name of 40 kB', get(`${'X'.repeat(40_000)}: b\r\n`), library(431)],
	['a header without an end', `GET /healthz HTTP/1.1\r\n${HOST}X-A: ${'b'.repeat(60_000)}`, library(431)],
	['a cookie of 10 kB', get(`Cookie: a=${'b'.repeat(10_000)}\r\n`), served(200)],
	['a cookie of 20 kB', get(`Cookie: a=${'b'.repeat(20_000)}\r\n`), refused(431)],
	['2,000 cookies', get(`Cookie: ${'a=b;'.repeat(2000)}\r\n`), refused(431)],
	['7,000 cookies', get(`Cookie: ${'a=b;'.repeat(7000)}\r\n`), refused(431)],
	['a cookie of 30 kB', get(`Cookie: a=${'b'.repeat(30_000)}\r\n`), refused(431)],
];
