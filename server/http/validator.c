/* SPDX-License-Identifier: MIT */
/*
 * The request validator: refuses heads that another program could read
 * differently, before the server acts on them.  libmicrohttpd is lenient: it
 * accepts a length together with chunks, two lengths, two hosts, folded lines,
 * and spaces in names.
 *
 * libmicrohttpd also hides bytes after a NUL, bare line feeds, and folded
 * lines, which it joins to the *name*.  The layout of its memory shows all
 * three: versions 0.9.7x parse in place, so in a correct head each part begins
 * exactly where the one before it ends, and the last part ends where the head
 * ends.  With other versions the layout is not checked.
 *
 *        method ' ' target ' ' version CR LF
 *        name ':' blanks value CR LF  ...  CR LF
 *                                   ^ expected: the next name, or the end
 *
 * The layout does not show these: NUL LF or NUL CR in place of CR LF; in place
 * of the empty line a line of colon LF or colon CR or, if the line before it
 * ends with a bare LF, of colon CR LF; lines before the request line that begin
 * with NUL, which the library takes for empty lines; bare line ends between
 * chunks.  A proxy in front writes heads and chunks of its own, so that none of
 * these passes it.
 */
#include <string.h>
#include <strings.h>

#include "http/head_internal.h"
#include "http/http_internal.h"
#include "net/forwarded.h"

struct scan {
	struct http_request *req;
	const char *expected; /* start of the next name; NULL: unknown */
	int headers;
	int hosts, lengths, encodings;
	const char *bad; /* the reason for a refusal */
};

/* Returns true for the characters of a token (RFC 9110, 5.6.2). */
bool
validator_token_char(unsigned char c)
{

	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9'))
		return (true);
	return (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
token_ok(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!validator_token_char((unsigned char)s[i]))
			return (false);
	return (n > 0);
}

static bool
value_ok(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') ||
		    s[i] == 0x7f)
			return (false);
	return (true);
}

bool
validator_list_has(const char *list, const char *token)
{
	size_t n, len = strlen(token);

	if (list == NULL)
		return (false);
	for (;;) {
		list += strspn(list, " \t,");
		if (*list == '\0')
			return (false);
		n = strcspn(list, " \t,;");
		if (n == len && strncasecmp(list, token, n) == 0)
			return (true);
		list += strcspn(list, ",");
	}
}

/* Returns true if the name begins where the line before it ended
 * (scan->expected), and only a colon and, after it, blanks stand between the
 * name and its value.  Then moves scan->expected to the end of this line.
 * Always true where the layout is unknown (scan->expected is NULL). */
static bool
layout_ok(struct scan *scan, const char *name, size_t name_len,
    const char *value, size_t value_len)
{
	uintptr_t from = (uintptr_t)name + name_len + 1;
	uintptr_t to = (uintptr_t)value;
	const char *p;

	if (scan->expected == NULL)
		return (true);
	if (name != scan->expected || to < from || to - from > TARGET_LEN_MAX)
		return (false);
	for (p = name + name_len + 1; p < value; p++)
		if (*p != ' ' && *p != '\t')
			return (false);
	scan->expected = value + value_len + 2; /* behind CR LF */
	return (true);
}

static void
note_header(struct scan *scan, const char *name, size_t n, const char *value)
{
	struct known_headers *head = &scan->req->head.known;

#define IS(text)                                                               \
	(n == sizeof(text) - 1 &&                                              \
	    strncasecmp(name, text, sizeof(text) - 1) == 0)
	if (IS("Host")) {
		scan->hosts++;
		head->host = value;
	} else if (IS("Content-Length")) {
		scan->lengths++;
		head->content_length = value;
	} else if (IS("Transfer-Encoding")) {
		scan->encodings++;
		head->transfer_encoding = value;
	} else if (IS("Content-Type")) {
		if (head->content_type != NULL)
			scan->bad = "there is more than one Content-Type";
		head->content_type = value;
	} else if (IS("Authorization")) {
		if (head->authorization != NULL)
			scan->bad = "there is more than one Authorization";
		head->authorization = value;
	} else if (IS("Expect")) {
		if (head->expect != NULL)
			scan->bad = "there is more than one Expect";
		head->expect = value;
	} else if (IS("Upgrade")) {
		head->upgrade = value;
	} else if (IS("X-Request-Id")) {
		head->request_id = value;
	}
#undef IS
}

static enum MHD_Result
scan_header(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct scan *scan = arg;

	(void)kind;
	if (value == NULL) {
		value = "";
		value_len = 0;
	}
	if (++scan->headers > HEADERS_MAX)
		scan->bad = "there are too many headers";
	else if (!token_ok(name, name_len))
		scan->bad = "a header's name is empty or has a character that "
			    "names do not have";
	else if (!value_ok(value, value_len))
		scan->bad = "a header's value has a control character";
	else if (!layout_ok(scan, name, name_len, value, value_len))
		scan->bad = "a header is folded, has a NUL, or its line does "
			    "not end with CR LF";
	if (scan->bad != NULL)
		return (MHD_NO);
	note_header(scan, name, name_len, value);
	return (scan->bad == NULL ? MHD_YES : MHD_NO);
}

/* Begins the check of the layout, with the request line. */
static void
layout_begin(struct scan *scan, const char *method, const char *version)
{
	struct http_request *req = scan->req;
	const char *end;

	if (!req->http->layout_known)
		return;
	end = method + strlen(method) + 1 + req->head.target_len + 1;
	if (end != version)
		scan->bad = "the request line has superfluous spaces or a NUL";
	scan->expected = version + strlen(version) + 2;
}

/* Ends the check of the layout.  Sets scan->bad unless exactly two bytes of the
 * head are left and both are NULs: libmicrohttpd replaces the CR LF of the
 * empty line by two NULs.  Any other character is part of a line such as ":t",
 * which the library takes for the empty line. */
static void
layout_end(struct scan *scan, const char *method)
{
	const union MHD_ConnectionInfo *info;
	struct http_request *req = scan->req;

	if (scan->expected == NULL || scan->bad != NULL)
		return;
	info = MHD_get_connection_info(
	    req->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (info != NULL &&
	    (scan->expected + 2 != method + info->header_size ||
		scan->expected[0] != '\0' || scan->expected[1] != '\0'))
		scan->bad = "a header has a NUL, or its line does not end with "
			    "CR LF";
}

/* Returns true if ${host} has at most 300 characters, all of which may be part
 * of a host (of an IPv6 address also brackets and colons) or its port.  Does
 * not check their order; an empty ${host} passes. */
static bool
host_ok(const char *host)
{

	return (host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789.-_:[]%~")] == '\0' &&
		strlen(host) <= 300);
}

static const char *
framing_check(struct scan *scan, const char *version)
{
	struct known_headers *head = &scan->req->head.known;
	bool old = strcmp(version, "HTTP/1.0") == 0;

	if (!old && strcmp(version, "HTTP/1.1") != 0)
		return ("the version must be HTTP/1.1 or HTTP/1.0");
	if (scan->hosts > 1 || (!old && scan->hosts == 0))
		return ("there must be exactly one Host");
	if (head->host != NULL && !host_ok(head->host))
		return ("Host is malformed");
	if (scan->lengths > 1)
		return ("there is more than one Content-Length");
	if (scan->encodings > 0 && scan->lengths > 0)
		return ("Content-Length and Transfer-Encoding exclude each "
			"other");
	if (scan->encodings > 1 || (scan->encodings == 1 && old) ||
	    (scan->encodings == 1 &&
		strcasecmp(head->transfer_encoding, "chunked") != 0))
		return ("Transfer-Encoding can only be \"chunked\", once, in "
			"HTTP/1.1");
	if (head->content_length != NULL &&
	    (head->content_length[0] == '\0' ||
		head->content_length[strspn(
		    head->content_length, "0123456789")] != '\0'))
		return ("Content-Length is not a number");
	/* Another program may read a Content-Length of more than 18 digits
	 * differently, even if it begins with zeros.  One that begins with
	 * another digit is refused by check_length(), as too large. */
	if (head->content_length != NULL && head->content_length[0] == '0' &&
	    strlen(head->content_length) > 18)
		return ("Content-Length has too many leading zeros");
	return (NULL);
}

static enum MHD_Result
add_forwarded(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{

	(void)kind;
	if (value != NULL)
		forwarded_add(arg, name, name_len, value, value_len);
	return (MHD_YES);
}

/* Sets head.client to the client's address that the headers of a believed proxy
 * (setting behind-proxy) name, or to the proxy's own address if they name none.
 * Called for each request of a believed proxy, even if the request is refused,
 * so that the log has the right address. */
static void
client_set(struct http_request *req)
{
	struct forwarded_lines lines = {.n = {0}};
	struct net_from from;

	(void)MHD_get_connection_values_n(
	    req->mhd, MHD_HEADER_KIND, add_forwarded, &lines);
	memcpy(from.client, req->conn->peer, sizeof(from.client));
	forwarded_read(&lines, &req->http->options.believed, &from);
	memcpy(req->head.client, from.client, sizeof(req->head.client));
}

/* Returns what is wrong with the header Expect, or NULL if it is correct or
 * missing.  "100-continue" for a request without a body is wrong, because
 * libmicrohttpd would take the next request for the body. */
static const char *
expect_check(const struct http_request *req)
{

	if (req->head.known.expect == NULL)
		return (NULL);
	if (strcasecmp(req->head.known.expect, "100-continue") != 0)
		return ("Expect can only be \"100-continue\"");
	return (req->body.present ? NULL : "there is no body to wait for");
}

void
validator_check(
    struct http_request *req, const char *method, const char *version)
{
	struct scan scan = {.req = req};
	enum problem problem;
	const char *bad;

	layout_begin(&scan, method, version);
	(void)MHD_get_connection_values_n(
	    req->mhd, MHD_HEADER_KIND, scan_header, &scan);
	layout_end(&scan, method);
	if (req->conn->believed)
		client_set(req);
	problem = (scan.headers > HEADERS_MAX) ? PROBLEM_HEAD_TOO_LARGE
					       : PROBLEM_BAD_REQUEST;
	bad = (scan.bad != NULL) ? scan.bad : framing_check(&scan, version);
	req->head.method = router_method_find(method);
	req->head.method_name = router_method_text(req->head.method);
	if (bad == NULL && req->head.method == METHOD_COUNT)
		bad = "the method is unknown";
	req->body.present =
	    scan.encodings > 0 ||
	    (req->head.known.content_length != NULL &&
		req->head.known.content_length[strspn(
		    req->head.known.content_length, "0")] != '\0');
	if (bad == NULL && req->body.present &&
	    (req->head.method == METHOD_GET ||
		req->head.method == METHOD_HEAD ||
		req->head.method == METHOD_OPTIONS))
		bad = "this method takes no body";
	if (bad == NULL && (bad = expect_check(req)) != NULL)
		problem = PROBLEM_EXPECTATION_FAILED;
	if (bad != NULL) {
		request_refuse(req, problem, "%s", bad);
		req->answer.close = true;
	}
}

bool
validator_media_ok(const char *content_type, bool text)
{
	const char *params;
	size_t n;

	if (content_type == NULL)
		return (text);
	n = strcspn(content_type, "; \t");
	params = content_type + n;
	params += strspn(params, "; \t");
	if (*params != '\0' && strcasecmp(params, "charset=utf-8") != 0 &&
	    strcasecmp(params, "charset=\"utf-8\"") != 0 &&
	    (!text || strcasecmp(params, "charset=us-ascii") != 0))
		return (false);
#define IS(type)                                                               \
	(n == sizeof(type) - 1 && strncasecmp(content_type, type, n) == 0)
	if (IS("application/json"))
		return (true);
	return (
	    text && (IS("application/x-www-form-urlencoded") ||
			(n > 5 && strncasecmp(content_type, "text/", 5) == 0)));
#undef IS
}
