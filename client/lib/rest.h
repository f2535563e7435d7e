/* SPDX-License-Identifier: MIT */
/*
 * REST: one request at a time to one server, JSON in both directions.  It
 * says of each failure whether the request was surely not done (unreachable),
 * may have been done (uncertain), or was answered with a problem.  Follows no
 * redirect, so that a token goes nowhere else.
 */
#ifndef LIB_REST_H
#define LIB_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "lib/fail.h"

struct rest;

/* The time-out of an ordinary request. */
#define REST_TIMEOUT_MS 20000

/* What is to be served while a request is under way: whenever one of ${fds}
 * can be read, and at least each second, ${fn} is called; once it says false
 * the request is given up. */
#define REST_IDLE_FDS 2
struct rest_idle {
	int fds[REST_IDLE_FDS];
	int nfds;
	bool (*fn)(void *arg);
	void *arg;
};

/* Takes the next ${n} bytes of a good answer; false gives the request up. */
typedef bool (*rest_sink_fn)(void *arg, const char *p, size_t n);

struct rest_request {
	const char *method;           /* NULL: GET */
	const char *path;             /* "/v1/…"; NULL: out of memory */
	const json_t *body;           /* borrowed; NULL: none */
	const char *key;              /* Idempotency-Key, NULL: none */
	const char *if_none_match;    /* an ETag, NULL: none */
	int64_t timeout_ms;           /* 0: REST_TIMEOUT_MS */
	int64_t patience_ms;          /* how long to wait out 429 and 503 */
	const struct rest_idle *idle; /* NULL: nothing */
	rest_sink_fn sink; /* NULL: the body is JSON; with one, timeout_ms is
			      how long the other side may say nothing */
	void *sink_arg;
};

struct rest_reply {
	int status;      /* 2xx or 304 */
	json_t *json;    /* NULL: no body */
	bool replayed;   /* Idempotency-Replayed: true */
	char etag[128];  /* "" without */
	int64_t date_ms; /* the server's clock, to the second; 0 without */
};

/* Checks that ${text} is http(s)://HOST[:PORT], and writes it without a slash
 * at its end, with its port only where it has one. */
enum rc rest_server_parse(
    const char *text, char *ret, size_t size, struct fail *fail) MUST_USE;

/* Whether ${server} (as rest_server_parse() writes it) is on this machine. */
bool rest_server_local(const char *server);

/* The file with the certificates of the authorities to believe, which
 * CURL_CA_BUNDLE or SSL_CERT_FILE names as for curl; NULL: the system's.
 * Borrowed from the environment. */
const char *rest_authorities(void);

/* A client of ${server} that presents ${token} ("" for none).  Both are
 * copied. */
enum rc rest_new(const char *server, const char *token, struct rest **ret,
    struct fail *fail) MUST_USE;

/* Frees ${rest}.  NULL is allowed. */
void rest_free(struct rest *rest);

/* Presents ${token} from now on. */
void rest_token_set(struct rest *rest, const char *token);

/* The server's base URL. */
const char *rest_server(const struct rest *rest);

/* Does ${request}.  On RC_OK the caller frees ${ret} by rest_reply_fini();
 * otherwise ${ret} holds nothing.  Blocks: up to the time-out plus patience. */
enum rc rest_call(struct rest *rest, const struct rest_request *request,
    struct rest_reply *ret, struct fail *fail) MUST_USE;

/* Frees what ${reply} holds. */
void rest_reply_fini(struct rest_reply *reply);

/* GET ${path} with patience; the body is an object.  The caller decrefs it. */
enum rc rest_get(struct rest *rest, const char *path, json_t **ret,
    struct fail *fail) MUST_USE;

/* Appends ${text} to the path in ${b}, percent-encoded. */
void rest_path_add(struct buf *b, const char *text);

/* ${prefix}, ${text} percent-encoded, ${suffix}, to be freed by mem_free();
 * NULL without memory, which rest_call() then reports. */
char *rest_path(const char *prefix, const char *text, const char *suffix);

/* Sleeps. */
void rest_sleep(int64_t ms);

#endif
