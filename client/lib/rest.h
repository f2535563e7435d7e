/* SPDX-License-Identifier: MIT */
/*
 * REST: one request at a time to one server, with JSON in both directions.  A
 * failure says whether a request that changes something was certainly not done
 * (kinds UNREACHABLE and UNTRUSTED), may have been done (UNCERTAIN, PROTOCOL,
 * MEMORY), or was answered with an HTTP status other than 2xx and 304, which is
 * in fail.status.  Redirects are not followed, so that none sends the token to
 * another server.
 */
#ifndef LIB_REST_H
#define LIB_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "lib/fail.h"

struct rest;

/* The time-out of an ordinary request, in ms. */
#define REST_TIMEOUT_MS 20000

/* A function that is called while a request is under way.  rest_call() calls
 * ${fn} each time that it has waited for the network: as soon as one of ${fds}
 * is readable or the connection can read or write, and at least once a second,
 * but not during the wait for a Retry-After.  So ${fn} must not assume that one
 * of ${fds} is readable.  When ${fn} returns false, the request is abandoned
 * and fails with kind UNCERTAIN, or UNREACHABLE if it is a GET (method
 * NULL). */
#define REST_IDLE_FDS 2
struct rest_idle {
	int fds[REST_IDLE_FDS];
	int nfds;
	bool (*fn)(void *arg);
	void *arg;
};

/* Takes the next ${n} bytes of the body of a 2xx answer; ${p} is valid only
 * during the call.  Returns false to abandon the request, which then fails with
 * kind PROTOCOL. */
typedef bool (*rest_sink_fn)(void *arg, const char *p, size_t n);

struct rest_request {
	const char *method;           /* NULL: GET */
	const char *path;             /* "/v1/…"; NULL: out of memory */
	const json_t *body;           /* borrowed; NULL: none */
	const char *key;              /* Idempotency-Key, NULL: none */
	const char *if_none_match;    /* an ETag, NULL: none */
	int64_t timeout_ms;           /* 0: REST_TIMEOUT_MS */
	int64_t patience_ms;          /* total wait for 429 and 503 */
	const struct rest_idle *idle; /* NULL: none */
	rest_sink_fn sink; /* takes the body of a 2xx answer; NULL: the body is
			      parsed as JSON.  With a sink, timeout_ms, rounded
			      up to seconds, limits the time without data and
			      not the time of the whole request */
	void *sink_arg;
};

struct rest_reply {
	int status;      /* 2xx or 304 */
	json_t *json;    /* NULL: no body */
	bool replayed;   /* Idempotency-Replayed: true */
	char etag[128];  /* "" if none */
	int64_t date_ms; /* the Date header, 0 if none */
};

/* Checks that ${text} has the form http(s)://HOST[:PORT], with or without a
 * slash at the end, and HOST in ASCII.  Writes it to ${ret} without that slash,
 * and with the port only if ${text} has one.  Fails with kind USAGE if ${text}
 * has another form or does not fit into ${size} bytes; ${ret} is not valid
 * after a failure. */
enum rc rest_server_parse(
    const char *text, char *ret, size_t size, struct fail *fail) MUST_USE;

/* Returns true if the host in ${server} (as rest_server_parse() writes it) is
 * localhost, 127.x.x.x or [::1].  Does not recognize other names and addresses
 * of this machine. */
bool rest_server_local(const char *server);

/* Returns the path of the file with the trusted certificate authorities: the
 * value of the environment variable CURL_CA_BUNDLE or, if that is unset or
 * empty, of SSL_CERT_FILE.  The program curl uses these two variables, too.
 * Returns NULL if both are unset or empty; the caller then uses the system's
 * authorities.  The text belongs to the environment. */
const char *rest_authorities(void);

/* Makes in *ret a client of ${server} (as rest_server_parse() writes it) that
 * sends ${token} as its bearer token with each request ("": it sends none).
 * Copies both texts, and connects only when a request runs.  Fails only with
 * kind MEMORY; free the client with rest_free(). */
enum rc rest_new(const char *server, const char *token, struct rest **ret,
    struct fail *fail) MUST_USE;

/* Frees ${rest}.  NULL is allowed. */
void rest_free(struct rest *rest);

/* Copies ${token} for further requests ("": they carry none), and wipes the old
 * token.  When memory runs out, keeps the old token and does not report that;
 * "" needs no memory. */
void rest_token_set(struct rest *rest, const char *token);

/* Returns the server's base URL, which ${rest} owns. */
const char *rest_server(const struct rest *rest);

/* Runs ${request}.  Returns RC_OK if the answer is 2xx or 304 and its body can
 * be read; the caller then frees ${ret} with rest_reply_fini().  On failure
 * ${ret} is not set.  After a 429 or 503, waits for the Retry-After (1 s if
 * there is none) and repeats the request.  If that wait exceeds what earlier
 * waits have left of patience_ms, fails with this 429 or 503 instead.  Blocks
 * for these waits and, in each attempt, up to the time-out; with a sink, as
 * long as data comes. */
enum rc rest_call(struct rest *rest, const struct rest_request *request,
    struct rest_reply *ret, struct fail *fail) MUST_USE;

/* Frees the members of ${reply}. */
void rest_reply_fini(struct rest_reply *reply);

/* GETs ${path} by rest_call() with a patience of 10 s and sets *ret to the JSON
 * object in the body, which the caller decrefs.  Fails with kind PROTOCOL if
 * the body is not an object, and with kind MEMORY if ${path} is NULL; *ret is
 * set only on RC_OK. */
enum rc rest_get(struct rest *rest, const char *path, json_t **ret,
    struct fail *fail) MUST_USE;

/* Appends ${text}, percent-encoded, to the path in ${b}. */
void rest_path_add(struct buf *b, const char *text);

/* Returns ${prefix}, ${text} percent-encoded, and ${suffix} as one path.  The
 * caller frees it with mem_free().  Returns NULL when memory runs out; with a
 * NULL path, rest_call() fails with kind MEMORY. */
char *rest_path(const char *prefix, const char *text, const char *suffix);

/* Sleeps for ${ms} milliseconds (0 or less: not at all), or until a signal
 * handler has run. */
void rest_sleep(int64_t ms);

#endif
