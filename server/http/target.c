/* SPDX-License-Identifier: MIT */
/*
 * The request target: splits "/v1/inbox?after=5" into decoded segments and
 * query parameters.  Refuses what a proxy in front might read differently: the
 * absolute form; unencoded spaces, control characters and "#"; broken escapes,
 * %00 and text that is not UTF-8; in the path also dot segments, backslashes,
 * encoded slashes and encoded control characters.  Also refuses a target of
 * more than TARGET_LEN_MAX bytes or QUERY_MAX parameters.
 */
#include <string.h>

#include "base/utf8.h"
#include "http/head_internal.h"

static int
hex_value(char c)
{

	if (c >= '0' && c <= '9')
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (c - 'A' + 10);
	return (-1);
}

/* Decodes ${n} bytes at ${from} into ${to}, which has room for n + 1, and adds
 * a NUL.  With ${plus}, "+" is a space.  Returns the length without the NUL, or
 * -1 for a broken escape, %00 or bad UTF-8; ${to} is then undefined. */
static long
percent_decode(const char *from, size_t n, bool plus, char *to)
{
	size_t i, len = 0;
	int hi, lo;
	char c;

	for (i = 0; i < n; i++) {
		c = from[i];
		if (c == '%') {
			if (n - i < 3 || (hi = hex_value(from[i + 1])) < 0 ||
			    (lo = hex_value(from[i + 2])) < 0)
				return (-1);
			c = (char)(hi << 4 | lo);
			i += 2;
			if (c == '\0')
				return (-1);
		} else if (plus && c == '+') {
			c = ' ';
		}
		to[len++] = c;
	}
	to[len] = '\0';
	return (utf8_valid(to, len, NULL) ? (long)len : -1);
}

/* Returns false if other programs may read the decoded segment ${s}
 * differently: if it is "." or "..", or has a slash, a backslash or an ASCII
 * control character. */
static bool
segment_ok(const char *s, size_t n)
{
	size_t i;

	if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
		return (false);
	for (i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '/' ||
		    s[i] == '\\')
			return (false);
	return (true);
}

/* Decodes the path after its first slash into head.segment, and the whole path
 * into head.path.  head.segments becomes -1 for a path with more than
 * SEGMENTS_MAX segments, which no route has, and for a path other than "/" that
 * ends with a slash.  Returns false, and the caller refuses the request, if a
 * segment has a broken escape, %00 or bad UTF-8 or is not allowed by
 * segment_ok().  Without memory, sets answer.no_memory and returns true. */
static bool
path_read(struct http_request *req)
{
	const char *at = req->head.path_raw + 1, *slash;
	char *to, *path;
	long n;

	if ((to = request_room(req, req->head.target_len + 2)) == NULL ||
	    (path = request_room(req, req->head.target_len + 2)) == NULL) {
		req->answer.no_memory = true;
		return (true);
	}
	req->head.path = path;
	if (*at == '\0')
		*path++ = '/';
	while (*at != '\0') {
		slash = strchrnul(at, '/');
		n = percent_decode(at, (size_t)(slash - at), false, to);
		if (n < 0 || !segment_ok(to, (size_t)n))
			return (false);
		*path++ = '/';
		memcpy(path, to, (size_t)n);
		path += n;
		if (req->head.segments == SEGMENTS_MAX)
			req->head.segments = -1;
		if (req->head.segments >= 0) {
			req->head.segment[req->head.segments].text = to;
			req->head.segment[req->head.segments++].len = (size_t)n;
		}
		to += n + 1;
		at = slash;
		if (*at == '/' && *++at == '\0') {
			/* "/v1/" is not "/v1". */
			*path++ = '/';
			req->head.slashed = req->head.segments;
			req->head.segments = -1;
		}
	}
	*path = '\0';
	return (true);
}

/* Decodes a query such as "a=1&b=2" into head.query.  Returns false, and the
 * caller refuses the request, if a name or a value has a broken escape, %00 or
 * bad UTF-8, or if there are more than QUERY_MAX parameters.  Without memory,
 * sets answer.no_memory and returns true. */
static bool
query_read(struct http_request *req, const char *at)
{
	const char *end, *eq;
	char *to;
	long n;

	if ((to = request_room(req, 2 * strlen(at) + 2)) == NULL) {
		req->answer.no_memory = true;
		return (true);
	}
	for (; *at != '\0'; at = (*end == '&') ? end + 1 : end) {
		end = strchrnul(at, '&');
		if (end == at)
			continue;
		if (req->head.queries == QUERY_MAX)
			return (false);
		if ((eq = memchr(at, '=', (size_t)(end - at))) == NULL)
			eq = end;
		if ((n = percent_decode(at, (size_t)(eq - at), true, to)) < 0)
			return (false);
		req->head.query[req->head.queries].name = to;
		to += n + 1;
		if (eq < end)
			eq++;
		if ((n = percent_decode(eq, (size_t)(end - eq), true, to)) < 0)
			return (false);
		req->head.query[req->head.queries++].value = to;
		to += n + 1;
	}
	return (true);
}

void
target_read(struct http_request *req, const char *raw)
{
	size_t i, n = strlen(raw), path_len;

	if (n > TARGET_LEN_MAX) {
		request_refuse(req, PROBLEM_BAD_REQUEST,
		    "the request target is longer than %d bytes",
		    TARGET_LEN_MAX);
		n = 0;
	}
	path_len = strcspn(raw, "?");
	if (path_len > n)
		path_len = n;
	if ((req->head.target = request_room(req, n + 1)) == NULL ||
	    (req->head.path_raw = request_room(req, path_len + 1)) == NULL) {
		req->head.target = req->head.path_raw = NULL;
		req->answer.no_memory = true;
		return;
	}
	memcpy(req->head.target, raw, n);
	req->head.target[n] = '\0';
	req->head.target_len = n;
	memcpy(req->head.path_raw, raw, path_len);
	req->head.path_raw[path_len] = '\0';
	if (req->answer.refused)
		return;
	if (raw[0] != '/') {
		request_refuse(req, PROBLEM_BAD_REQUEST,
		    "the request target must be a path");
		return;
	}
	for (i = 0; i < n; i++)
		if ((unsigned char)raw[i] <= 0x20 || raw[i] == 0x7f ||
		    raw[i] == '#') {
			request_refuse(req, PROBLEM_BAD_REQUEST,
			    "the request target has a character that must be "
			    "percent-encoded");
			return;
		}
	if (!path_read(req))
		request_refuse(req, PROBLEM_BAD_REQUEST,
		    "the path has a broken escape, a dot segment, an encoded "
		    "slash or control character, or is not UTF-8");
	else if (raw[path_len] == '?' &&
		 !query_read(req, req->head.target + path_len + 1))
		request_refuse(req, PROBLEM_BAD_REQUEST,
		    "the query has a broken escape, is not UTF-8, or has more "
		    "than %d parameters",
		    QUERY_MAX);
}
