/* SPDX-License-Identifier: MIT */
/*
 * Sends any bytes on a connection to the real server: front, libmicrohttpd,
 * validator, routes.  A strict reader of RFC 9112 in this file reads the same
 * bytes.  The server must hand to its handlers the requests that this reader
 * sees, in the same order, and no others: no request can hide in another one
 * (request smuggling).  The answers are complete, and there are no more answers
 * than requests, apart from one refusal at the end.
 *
 * The comparison ends at a body in chunks that only libmicrohttpd accepts,
 * because the strict reader does not know where such a body ends.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz/fuzz.h"
#include "fuzz/http_rig.h"
#include "http/request_internal.h"

#define REQUESTS_MAX 64
/* The length of a body whose chunks only a lenient reader accepts. */
#define LENIENT SIZE_MAX

struct seen {
	char method[16];
	char target[256]; /* as received, at most 255 bytes */
	size_t target_len;
	bool chunked;
	size_t body_len;
	uint64_t body_hash;
};

/* The requests that handlers have received since the input began. */
static struct seen handled[REQUESTS_MAX];
static int nhandled;

static uint64_t
hash(const void *p, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);
	const uint8_t *u = p;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ u[i]) * UINT64_C(1099511628211);
	return (h);
}

static void
note(struct seen *s, const char *method, size_t method_len, const char *target,
    size_t target_len)
{

	memset(s, 0, sizeof(*s));
	MUST(method_len < sizeof(s->method));
	memcpy(s->method, method, method_len);
	memcpy(s->target, target, target_len < 255 ? target_len : 255);
	s->target_len = target_len;
}

static void
note_body(struct seen *s, const void *body, size_t body_len)
{

	s->body_len = body_len;
	s->body_hash = hash(body, body_len);
}

static void
handle(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;
	struct seen *seen;
	const char *body;
	size_t n;

	(void)arg;
	body = http_body(req, &n);
	MUST(body[n] == '\0');
	if (nhandled < REQUESTS_MAX) {
		seen = &handled[nhandled];
		note(seen, http_method(req), strlen(http_method(req)),
		    req->head.target, req->head.target_len);
		note_body(seen, body, n);
		seen->chunked = req->head.known.transfer_encoding != NULL;
	}
	nhandled++;
	buf_adds(&b, "{}");
	http_answer(req, 200, HTTP_JSON, &b);
	buf_fini(&b);
}

static const struct http_route routes[] = {{"GET", "/a", handle, HTTP_PUBLIC},
    {"POST", "/a", handle, 0}, {"POST", "/text", handle, HTTP_TEXT_BODY},
    {"POST", "/any", handle, HTTP_ANY_BODY},
    {"PUT", "/any", handle, HTTP_LARGE_BODY},
    {"DELETE", "/a/{id}", handle, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/a/{id}", handle, HTTP_PUBLIC},
    {"GET", "/a/{id}/b/{part}", handle, HTTP_PUBLIC}, {NULL, NULL, NULL, 0}};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	rig_start(routes, NULL);
	return (0);
}

/* ---- the strict reader ---- */

struct reader {
	const char *p, *end;
	char *body; /* a chunked body, decoded; as large as the input */
};

/* Reads a line that ends with CR LF and has neither CR nor LF inside.  Returns
 * false if there is none.  In a head, NUL LF and NUL CR count as CR LF, because
 * the memory layout that the validator reads shows no difference between them
 * (server/http/validator.c).  No proxy passes a NUL on. */
static bool
take_line(struct reader *r, const char **ret, size_t *ret_len)
{
	const char *at = r->p;
	size_t n;

	while (at < r->end && *at != '\r' && *at != '\n')
		at++;
	n = (size_t)(at - r->p);
	if (at < r->end && n > 0 && at[-1] == '\0' &&
	    (*at == '\n' || at + 1 == r->end || at[1] != '\n')) {
		n--;
		at++;
	} else if (r->end - at >= 2 && memcmp(at, "\r\n", 2) == 0) {
		at += 2;
	} else {
		return (false);
	}
	*ret = r->p;
	*ret_len = n;
	r->p = at;
	return (memchr(*ret, '\0', n) == NULL);
}

/* Reads ':' LF or ':' CR, which end a head as CR LF does.  No proxy passes them
 * on either. */
static bool
take_colon_end(struct reader *r)
{

	if (r->end - r->p < 2 || r->p[0] != ':' ||
	    (r->p[1] != '\n' && r->p[1] != '\r') ||
	    (r->p[1] == '\r' && r->end - r->p > 2 && r->p[2] == '\n'))
		return (false);
	r->p += 2;
	return (true);
}

/* Reads the last header when LF or CR and then NUL CR LF (or ':' CR LF) follow
 * it.  They are as long as CR LF CR LF, and the layout shows only the
 * length. */
static bool
take_odd_end(struct reader *r, const char **ret, size_t *ret_len)
{
	const char *at = r->p;

	while (at < r->end && *at != '\r' && *at != '\n')
		at++;
	if (r->end - at < 4 || (at[1] != '\0' && at[1] != ':') ||
	    memcmp(at + 2, "\r\n", 2) != 0)
		return (false);
	*ret = r->p;
	*ret_len = (size_t)(at - r->p);
	r->p = at + 4;
	return (true);
}

/* Skips empty lines before a request, which belong to no request (RFC 9112,
 * section 2.2).  For libmicrohttpd a line that begins with NUL is empty, too,
 * up to its LF. */
static void
skip_empty(struct reader *r)
{

	while (r->p < r->end &&
	       (*r->p == '\r' || *r->p == '\n' || *r->p == '\0')) {
		if (*r->p == '\0')
			while (r->p < r->end && *r->p != '\n')
				r->p++;
		if (r->p < r->end)
			r->p++;
	}
}

/* Reads the chunk-size of RFC 9112, section 7.1.  Returns false if there is
 * none or if it is absurdly large. */
static bool
take_size(const char *s, size_t n, size_t *ret)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *d;
	size_t v = 0, i, k;

	for (i = 0; i < n && s[i] != '\0' && (d = strchr(digits, s[i])) != NULL;
	     i++) {
		k = (size_t)(d - digits);
		v = v * 16 + (k > 15 ? k - 6 : k);
		if (v > 1 << 24)
			return (false);
	}
	*ret = v;
	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	return (i > 0 && (i == n || s[i] == ';'));
}

static bool
take_chunks(struct reader *r, const char **ret_body, size_t *ret_len)
{
	const char *line;
	size_t n, size, len = 0;

	for (;;) {
		if (!take_line(r, &line, &n) || !take_size(line, n, &size))
			return (false);
		if (size == 0)
			break;
		if ((size_t)(r->end - r->p) < size + 2 ||
		    memcmp(r->p + size, "\r\n", 2) != 0)
			return (false);
		memcpy(r->body + len, r->p, size);
		len += size;
		r->p += size + 2;
	}
	do
		if (!take_line(r, &line, &n))
			return (false);
	while (n > 0);
	*ret_body = r->body;
	*ret_len = len;
	return (true);
}

struct framing {
	bool chunked, has_length;
	size_t length;
};

/* Reads one header.  Returns false for a header that RFC 9112 forbids. */
static bool
take_header(const char *line, size_t n, struct framing *f)
{
	static const char blanks[] = " \t";
	const char *colon = memchr(line, ':', n);
	size_t name, i;

	if (colon == NULL || colon == line)
		return (false);
	name = (size_t)(colon - line);
	for (i = 0; i < name; i++)
		if (line[i] <= ' ' || line[i] == 0x7f)
			return (false);
	line += name + 1;
	n -= name + 1;
	while (n > 0 && memchr(blanks, line[0], 2) != NULL)
		line++, n--;
	while (n > 0 && memchr(blanks, line[n - 1], 2) != NULL)
		n--;
	if (memchr(line, '\0', n) != NULL)
		return (false);
	if (name == 14 && strncasecmp(colon - 14, "Content-Length", 14) == 0) {
		if (f->has_length || f->chunked || n == 0 || n > 18)
			return (false);
		for (i = 0; i < n; i++) {
			if (line[i] < '0' || line[i] > '9')
				return (false);
			f->length = f->length * 10 + (size_t)(line[i] - '0');
		}
		f->has_length = true;
	}
	if (name == 17 &&
	    strncasecmp(colon - 17, "Transfer-Encoding", 17) == 0) {
		if (f->has_length || f->chunked || n != 7 ||
		    strncasecmp(line, "chunked", 7) != 0)
			return (false);
		f->chunked = true;
	}
	return (true);
}

/* Reads the next complete request.  Returns false if there is none that all
 * readers of HTTP would understand in the same way. */
static bool
take_request(struct reader *r, struct seen *ret)
{
	const char *line, *target, *version, *body = r->p;
	struct framing f = {.chunked = false};
	size_t n, line_len, body_len = 0;

	skip_empty(r);
	if (!take_line(r, &line, &line_len))
		return (false);
	target = memchr(line, ' ', line_len);
	if (target == NULL || target == line || target - line > 15)
		return (false);
	n = line_len - (size_t)(++target - line);
	version = memchr(target, ' ', n);
	if (version == NULL || version == target ||
	    line_len - (size_t)(version + 1 - line) != 8 ||
	    (memcmp(version + 1, "HTTP/1.1", 8) != 0 &&
		memcmp(version + 1, "HTTP/1.0", 8) != 0))
		return (false);
	ret->target_len = (size_t)(version - target);
	n = (size_t)(target - 1 - line);
	for (;;) {
		const char *header;
		size_t len;

		if (take_colon_end(r))
			break;
		if (take_odd_end(r, &header, &len)) {
			if (!take_header(header, len, &f))
				return (false);
			break;
		}
		if (!take_line(r, &header, &len))
			return (false);
		if (len == 0)
			break;
		if (!take_header(header, len, &f))
			return (false);
	}
	if (f.chunked) {
		if (!take_chunks(r, &body, &body_len)) {
			/* The strict reader does not know where this body ends,
			 * so the request is the last one that it reads. */
			r->p = r->end;
			body_len = LENIENT;
			body = "";
		}
	} else if (f.has_length) {
		if ((size_t)(r->end - r->p) < f.length)
			return (false);
		body = r->p;
		body_len = f.length;
		r->p += f.length;
	}
	note(ret, line, n, target, (size_t)(version - target));
	note_body(ret, body, body_len == LENIENT ? 0 : body_len);
	ret->chunked = f.chunked;
	if (body_len == LENIENT)
		ret->body_len = LENIENT;
	return (true);
}

/* Returns true if ${got} is the request ${want}. */
static bool
same_request(const struct seen *want, struct seen *got)
{

	if (want->body_len == LENIENT) {
		got->body_len = LENIENT;
		got->body_hash = want->body_hash;
	}
	return (memcmp(want, got, sizeof(*want)) == 0);
}

/* ---- the answers ---- */

/* Walks through the answers, of which a close may have cut the last one.
 * Returns how many have begun, and in *${ret_good} how many of them have the
 * status 200. */
static int
count_answers(const char *p, size_t n, int *ret_good)
{
	const char *end = p + n, *head_end, *length;
	int answers = 0;
	size_t len;

	*ret_good = 0;
	while (p < end) {
		MUST((size_t)(end - p) >= 12 && memcmp(p, "HTTP/1.", 7) == 0);
		head_end = memmem(p, (size_t)(end - p), "\r\n\r\n", 4);
		if (head_end == NULL)
			return (answers + 1);
		if (memcmp(p + 9, "100", 3) == 0) {
			p = head_end + 4;
			continue;
		}
		answers++;
		*ret_good += memcmp(p + 9, "200", 3) == 0;
		length =
		    memmem(p, (size_t)(head_end - p), "Content-Length: ", 16);
		len = 0;
		if (length != NULL)
			len = (size_t)strtoull(length + 16, NULL, 10);
		p = head_end + 4;
		/* An answer to HEAD announces a length but has no body: the
		 * next answer follows its head directly. */
		if (len > 0 && (end - p < 7 || memcmp(p, "HTTP/1.", 7) != 0))
			p += (size_t)(end - p) < len ? (size_t)(end - p) : len;
	}
	return (answers);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT;
	struct reader r;
	struct seen want;
	int i, heads = 0, answers, good;
	bool upgraded, same, lenient = false;
	const char *from;
	char *copy;

	if (size == 0)
		return (0);
	copy = fuzz_copy(data + 1, size - 1);
	r = (struct reader){copy, copy + size - 1, malloc(size)};
	nhandled = 0;
	/* The first byte gives the number of pieces in which the rest is
	 * sent. */
	upgraded = !rig_exchange(data + 1, size - 1,
	    data[0] >= 'a' && data[0] < 'h' ? (size_t)(data[0] - 'a') + 1 : 1,
	    &out);
	MUST(!upgraded || nhandled == 0);
	for (i = 0; i < nhandled && i < REQUESTS_MAX;) {
		from = r.p;
		if (!take_request(&r, &want)) {
			/* With a NUL in the head, the end of the head is
			 * ambiguous. */
			MUST(
			    memchr(from, '\0', (size_t)(r.end - from)) != NULL);
			lenient = true;
			break;
		}
		heads++;
		same = same_request(&want, &handled[i]);
		lenient = want.body_len == LENIENT;
		if (lenient)
			break;
		i += same;
	}
	while (!lenient && take_request(&r, &want)) {
		heads++;
		lenient = want.body_len == LENIENT;
	}
	/* With a NUL in a head, the end of that head is ambiguous. */
	lenient = lenient || memchr(copy, '\0', size - 1) != NULL;
	answers =
	    count_answers(out.data == NULL ? "" : out.data, out.len, &good);
	MUST(good <= nhandled);
	/* Bytes that are not a request are refused at most once, because the
	 * connection ends with the refusal. */
	MUST(lenient || answers <= heads + 1);
	buf_fini(&out);
	free(r.body);
	free(copy);
	return (0);
}
