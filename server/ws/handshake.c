/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of handshakes.  libwebsockets accepts any method, version,
 * key and subprotocol, repeated headers, and bytes behind the head.  All these
 * are checked here: in a head that is accepted, each header of enum header
 * occurs at most once, and no byte follows the head.  So libwebsockets reads
 * the values that were checked here.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "ws/handshake.h"

/* libwebsockets copies the list of subprotocols into a buffer of 128 bytes. */
#define PROTOCOLS_LEN 120
#define KEY_LEN 24

/* The headers that matter.  Each may occur once. */
enum header {
	HEADER_HOST,
	HEADER_UPGRADE,
	HEADER_CONNECTION,
	HEADER_VERSION,
	HEADER_KEY,
	HEADER_PROTOCOL,
	HEADER_ORIGIN,
	HEADER_AUTHORIZATION,
	HEADER_LENGTH,
	HEADER_ENCODING,
	HEADER_COUNT
};

static const char *const names[HEADER_COUNT] = {"Host", "Upgrade", "Connection",
    "Sec-WebSocket-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol",
    "Origin", "Authorization", "Content-Length", "Transfer-Encoding"};

struct piece {
	const char *p; /* NULL: absent */
	size_t n;
};

static bool
is(const struct piece *v, const char *text)
{

	return (v->p != NULL && v->n == strlen(text) &&
		strncasecmp(v->p, text, v->n) == 0);
}

static enum ws_handshake_state
refuse(struct refusal *r, enum problem problem, const char *why)
{

	refusal_set(r, problem, "", "%s", why);
	return (WS_HANDSHAKE_REFUSED);
}

static enum ws_handshake_state
bad(struct refusal *r, const char *why)
{

	return (refuse(r, PROBLEM_BAD_REQUEST, why));
}

/* ---- lines ---- */

static bool
is_token(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] >= 0x7f ||
		    strchr("()<>@,;:\\\"/[]?={}", p[i]) != NULL)
			return (false);
	return (n > 0);
}

static bool
is_text(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (((uint8_t)p[i] < ' ' && p[i] != '\t') || p[i] == 0x7f)
			return (false);
	return (true);
}

/* Reads one header line into ${v}.  Returns what is wrong with it, or NULL. */
static const char *
take_header(const char *p, size_t n, struct piece v[HEADER_COUNT])
{
	const char *colon = memchr(p, ':', n);
	struct piece name = {p, colon != NULL ? (size_t)(colon - p) : 0};
	struct piece value;
	int i;

	if (!is_token(name.p, name.n))
		return ("a header line without a proper name");
	value.p = colon + 1;
	value.n = n - name.n - 1;
	/* Skip what libwebsockets skips, so that both read the same value. */
	while (value.n > 0 && *value.p == ' ') {
		value.p++;
		value.n--;
	}
	if (!is_text(value.p, value.n))
		return ("a control character in a header");
	for (i = 0; i < HEADER_COUNT; i++) {
		if (!is(&name, names[i]))
			continue;
		if (v[i].p != NULL)
			return ("a header that must be there once is there "
				"twice");
		v[i] = value;
	}
	return (NULL);
}

/* ---- values ---- */

/* Returns true if the comma-separated ${list} contains ${word}, ignoring case.
 */
static bool
has_word(const struct piece *list, const char *word)
{
	const char *p = list->p, *end = p + list->n, *stop;
	struct piece one;

	while (p != NULL && p < end) {
		stop = memchr(p, ',', (size_t)(end - p));
		one.p = p + strspn(p, " \t");
		if (stop == NULL)
			stop = end;
		one.n = one.p < stop ? (size_t)(stop - one.p) : 0;
		while (one.n > 0 &&
		       (one.p[one.n - 1] == ' ' || one.p[one.n - 1] == '\t'))
			one.n--;
		if (is(&one, word))
			return (true);
		p = stop + 1;
	}
	return (false);
}

/* Returns true if ${v} is 16 bytes in canonical base64: 22 digits and "==".
 * The 22nd digit carries two bits of the last byte and four zeros, so it is one
 * of A, Q, g and w. */
static bool
is_key(const struct piece *v)
{
	size_t i;
	char c;

	if (v->n != KEY_LEN || memcmp(v->p + 22, "==", 2) != 0)
		return (false);
	for (i = 0; i < 22; i++) {
		c = v->p[i];
		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    !(c >= '0' && c <= '9') && c != '+' && c != '/')
			return (false);
	}
	return (strchr("AQgw", v->p[21]) != NULL);
}

/* Returns true if ${scheme}, of ${n} characters, equals ${ours}, the scheme of
 * our own pages, ignoring case, or if ${ours} is not known (NULL or ""). */
static bool
is_our_scheme(const char *scheme, size_t n, const char *ours)
{

	return (ours == NULL || *ours == '\0' ||
		(strlen(ours) == n && strncasecmp(scheme, ours, n) == 0));
}

/* Returns true if a client with the header Origin ${origin} may open a
 * WebSocket.  Browsers send the Origin of the page; other programs send none
 * (p is NULL) and are always allowed.  Our own Origin is http:// or https://,
 * followed by rules->host or, if that is not known, by ${asked}, the value of
 * the header Host.  If rules->scheme does not say which of the two schemes is
 * ours, both are accepted.  Other Origins must be in rules->allow_origin.  All
 * comparisons ignore case. */
static bool
origin_allowed(const struct piece *origin, const struct piece *asked,
    const struct ws_handshake_rules *rules)
{
	struct piece rest = *origin, ours = *asked;
	const char *list = rules->allow_origin;
	const struct piece *const host = &ours;
	size_t len;

	if (origin->p == NULL)
		return (true);
	if (rules->host != NULL && *rules->host != '\0') {
		ours.p = rules->host;
		ours.n = strlen(rules->host);
	}
	if (origin->n > 7 && strncasecmp(origin->p, "http://", 7) == 0)
		len = 7;
	else if (origin->n > 8 && strncasecmp(origin->p, "https://", 8) == 0)
		len = 8;
	else
		len = origin->n;
	rest.p += len;
	rest.n -= len;
	if (rest.n > 0 && rest.n == host->n &&
	    is_our_scheme(origin->p, len - 3, rules->scheme) &&
	    strncasecmp(rest.p, host->p, rest.n) == 0)
		return (true);
	while (list != NULL && *list != '\0') {
		len = strcspn(list, " ,");
		if (len == origin->n && len > 0 &&
		    strncasecmp(list, origin->p, len) == 0)
			return (true);
		list += len;
		list += strspn(list, " ,");
	}
	return (false);
}

/* ---- the head ---- */

/* Checks "GET path HTTP/1.1".  Returns what is wrong with it, or NULL. */
static const char *
check_request_line(const char *p, size_t n, const char *path)
{
	size_t len = strlen(path);

	if (n < 4 + len || memcmp(p, "GET ", 4) != 0 ||
	    memcmp(p + 4, path, len) != 0)
		return ("a WebSocket upgrade is a GET");
	p += 4 + len;
	n -= 4 + len;
	if (n > 0 && *p == '?')
		return ("no query here: the token goes into the hello frame or "
			"the Authorization header");
	if (n != 9 || memcmp(p, " HTTP/1.1", 9) != 0)
		return ("a WebSocket upgrade is HTTP/1.1");
	return (NULL);
}

static enum ws_handshake_state
check(const struct piece v[HEADER_COUNT],
    const struct ws_handshake_rules *rules, struct refusal *r)
{

	if (v[HEADER_HOST].p == NULL || v[HEADER_HOST].n == 0)
		return (bad(r, "no Host"));
	if (v[HEADER_ENCODING].p != NULL ||
	    (v[HEADER_LENGTH].p != NULL && !is(&v[HEADER_LENGTH], "0")))
		return (bad(r, "an upgrade has no body"));
	if (!is(&v[HEADER_UPGRADE], "websocket") ||
	    !has_word(&v[HEADER_CONNECTION], "upgrade"))
		return (bad(r, "only a WebSocket upgrade is answered here"));
	if (!is(&v[HEADER_VERSION], "13"))
		return (bad(r, "Sec-WebSocket-Version must be 13"));
	if (v[HEADER_KEY].p == NULL || !is_key(&v[HEADER_KEY]))
		return (bad(r, "Sec-WebSocket-Key must be 16 bytes in base64"));
	if (v[HEADER_PROTOCOL].p == NULL ||
	    v[HEADER_PROTOCOL].n > PROTOCOLS_LEN ||
	    !has_word(&v[HEADER_PROTOCOL], rules->protocol))
		return (bad(r, "the subprotocol twinbox.v1 must be offered, in "
			       "a list of at most 120 bytes"));
	if (!origin_allowed(&v[HEADER_ORIGIN], &v[HEADER_HOST], rules))
		return (refuse(r, PROBLEM_FORBIDDEN,
		    "pages of this Origin may not open a WebSocket here"));
	return (WS_HANDSHAKE_WHOLE);
}

enum ws_handshake_state
ws_handshake_read(const char *p, size_t n,
    const struct ws_handshake_rules *rules, struct refusal *refusal)
{
	struct piece v[HEADER_COUNT] = {{NULL, 0}};
	const char *end = p + n, *line = p, *stop, *wrong;
	size_t len;

	for (;; line = stop + 2) {
		stop = memmem(line, (size_t)(end - line), "\r\n", 2);
		if (stop == NULL)
			break;
		len = (size_t)(stop - line);
		if (len == 0) {
			if (stop + 2 != end)
				return (bad(refusal,
				    "bytes before the upgrade was answered"));
			return (check(v, rules, refusal));
		}
		wrong = line == p ? check_request_line(line, len, rules->path)
				  : take_header(line, len, v);
		if (wrong != NULL)
			return (bad(refusal, wrong));
	}
	if (n >= WS_HANDSHAKE_LEN)
		return (bad(refusal, "the head is longer than 4096 bytes"));
	/* Refuse a bare line feed as soon as it arrives.  The server would
	 * otherwise wait for a CR LF, which a client that ends its lines with a
	 * bare line feed never sends. */
	if (memchr(line, '\n', (size_t)(end - line)) != NULL)
		return (bad(refusal, "lines end with CR LF"));
	return (WS_HANDSHAKE_MORE);
}
