/* SPDX-License-Identifier: MIT */
/*
 * Sends a path or a query of any bytes in an otherwise well-formed request to
 * the real server.  The handler reads its parameters with the functions that
 * the routes of the REST API use.  A slow decoder in this file reads them, too:
 * the server answers 200, with the same values, exactly when this decoder
 * accepts the query.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/http_rig.h"
#include "http/head_internal.h"
#include "rest/rest_internal.h"

static struct rest rest;
static const char *const allowed[] = {"after", "limit", "cursor", NULL};

static void
handle(struct http_request *req, void *arg)
{
	int64_t after = -1, limit = -1;
	struct buf b = BUF_INIT;
	bool has_cursor;
	struct uuid id;
	struct call *call;
	char text[UUID_TEXT_LEN + 1] = "-";

	(void)arg;
	MUST(rest_enter(&rest, req));
	call = call_new(&rest, req, sizeof(*call));
	MUST(call != NULL);
	if (!call_query_check(call, allowed) ||
	    !call_query_i64(call, "after", 0, INT64_MAX, &after) ||
	    !call_query_limit(call, &limit) ||
	    !call_query_uuid(call, "cursor", &has_cursor, &id))
		return;
	if (has_cursor)
		uuid_format(&id, text);
	buf_addf(&b, "%lld %lld %s", (long long)after, (long long)limit, text);
	call_page(call, 200, "text/plain", &b);
	buf_fini(&b);
}

static void
handle_path(struct http_request *req, void *arg)
{
	struct call *call;
	struct uuid id;

	(void)arg;
	MUST(rest_enter(&rest, req));
	call = call_new(&rest, req, sizeof(*call));
	MUST(call != NULL);
	if (call_path_uuid(call, "there is no such thing", &id))
		call_empty(call, 204);
}

static const struct http_route routes[] = {{"GET", "/q", handle, HTTP_PUBLIC},
    {"GET", "/p/{id}", handle_path, HTTP_PUBLIC}, {NULL, NULL, NULL, 0}};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	rig_start(routes, &rest);
	return (0);
}

/* ---- the slow reader ---- */

static int
digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *d;

	if (c >= 'A' && c <= 'F')
		c = (char)(c + 32);
	d = (c == '\0') ? NULL : strchr(digits, c);
	return (d == NULL ? -1 : (int)(d - digits));
}

/* Decodes ${n} bytes.  Returns false for a broken escape, a NUL, or invalid
 * UTF-8. */
static bool
decode(const char *s, size_t n, bool plus, char *ret)
{
	size_t i, len = 0;

	for (i = 0; i < n; i++) {
		ret[len] = s[i];
		if (s[i] == '+' && plus)
			ret[len] = ' ';
		if (s[i] == '%') {
			if (i + 2 >= n || digit(s[i + 1]) < 0 ||
			    digit(s[i + 2]) < 0)
				return (false);
			ret[len] =
			    (char)(digit(s[i + 1]) * 16 + digit(s[i + 2]));
			i += 2;
		}
		if (ret[len++] == '\0')
			return (false);
	}
	ret[len] = '\0';
	return (fuzz_utf8_prefix((const uint8_t *)ret, len) == len);
}

/* Reads a whole number from ${least} to ${most}. */
static bool
number(const char *s, __int128 least, __int128 most, int64_t *ret)
{
	size_t n = strlen(s), i;
	__int128 v = 0;

	for (i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || v > most)
			return (false);
		v = v * 10 + (s[i] - '0');
	}
	*ret = (int64_t)v;
	return (n > 0 && v >= least && v <= most);
}

struct wanted {
	int64_t after, limit;
	char cursor[64];
	unsigned seen;
};

static bool
read_one(struct wanted *w, const char *name, const char *value)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i, k;

	for (k = 0; allowed[k] != NULL; k++)
		if (strcmp(allowed[k], name) == 0)
			break;
	if (allowed[k] == NULL || (w->seen & 1u << k) != 0)
		return (false);
	w->seen |= 1u << k;
	if (k == 0)
		return (number(value, 0, INT64_MAX, &w->after));
	if (k == 1)
		return (number(value, 1, LIMIT_PAGE_MAX, &w->limit));
	if (strlen(value) != UUID_TEXT_LEN)
		return (false);
	for (i = 0; i < UUID_TEXT_LEN; i++) {
		if (form[i] == '-' ? value[i] != '-' : digit(value[i]) < 0)
			return (false);
		w->cursor[i] =
		    (char)(value[i] >= 'A' && value[i] <= 'F' ? value[i] + 32
							      : value[i]);
	}
	w->cursor[i] = '\0';
	return (true);
}

static bool
read_query(const char *s, struct wanted *w)
{
	char *name = malloc(strlen(s) + 1), *value = malloc(strlen(s) + 1);
	size_t n, eq;
	bool ok = true;
	int count = 0;

	while (ok && *s != '\0') {
		n = strcspn(s, "&");
		eq = strcspn(s, "=");
		eq = (eq > n) ? n : eq;
		if (n > 0)
			ok = ++count <= QUERY_MAX &&
			     decode(s, eq, true, name) &&
			     decode(s + eq + (eq < n), n - eq - (eq < n), true,
				 value) &&
			     read_one(w, name, value);
		s += n + (s[n] == '&');
	}
	free(name);
	free(value);
	return (ok);
}

static void
check_query(const char *query, const struct buf *out)
{
	struct wanted w = {-1, LIMIT_PAGE_DEFAULT, "-", 0};
	bool ok = read_query(query, &w);
	struct buf want = BUF_INIT;

	if (strchr(query, '#') != NULL || strlen(query) > TARGET_LEN_MAX - 3)
		ok = false;
	MUST(memcmp(out->data + 9, ok ? "200" : "400", 3) == 0);
	if (ok) {
		buf_addf(&want, "\r\n\r\n%lld %lld %s", (long long)w.after,
		    (long long)w.limit, w.cursor);
		MUST(out->len > want.len);
		MUST(memcmp(out->data + out->len - want.len, want.data,
			 want.len) == 0);
	}
	buf_fini(&want);
}

/* A path cannot leave its route (by an escaped "/" or "..", for example): only
 * /p/ and an id is answered with 204. */
static void
check_path(const char *path, const struct buf *out)
{
	char *plain = malloc(strlen(path) + 1);
	struct wanted w = {.seen = 0};
	size_t n = strcspn(path, "?");
	bool ok =
	    decode(path, n, false, plain) && read_one(&w, "cursor", plain);

	if (memcmp(out->data + 9, "204", 3) == 0)
		MUST(ok);
	free(plain);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in = BUF_INIT, out = BUF_INIT;
	bool path = size > 0 && data[0] == '/';
	char *text;
	size_t i;

	for (i = 0; i < size; i++)
		if (data[i] <= ' ' || data[i] == 0x7f)
			return (0);
	text = fuzz_copy(data + path, size - path);
	buf_addf(&in,
	    "GET %s%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
	    path ? "/p/" : "/q?", text);
	(void)rig_exchange((const uint8_t *)in.data, in.len, 1, &out);
	MUST(out.len > 16 && atomic_load(&rest.busy) == 0);
	if (path)
		check_path(text, &out);
	else
		check_query(text, &out);
	buf_fini(&in);
	buf_fini(&out);
	free(text);
	return (0);
}
