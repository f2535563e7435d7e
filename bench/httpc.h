/* SPDX-License-Identifier: MIT */
/*
 * The part of HTTP/1.1 that a load generator needs: requests as texts that are
 * built once and patched, answers with a Content-Length, and blocking calls for
 * the set-up.
 */
#ifndef BENCH_HTTPC_H
#define BENCH_HTTPC_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct httpc_reply {
	int status;
	const char *body; /* borrowed from the input */
	size_t body_len;
	bool close;
};

/* Reads an answer from ${n} bytes at ${p}.  Returns the number of bytes taken,
 * 0 if the answer is not complete yet.  Ends the program if the bytes are not
 * HTTP/1.1 or an answer of 200 and above, except 204, has no Content-Length. */
size_t httpc_parse(const char *p, size_t n, struct httpc_reply *ret);

/* Appends a request to ${b}.  ${token} and ${body} may be NULL. */
void httpc_request(struct buf *b, const char *method, const char *path,
    const char *token, const char *body, size_t body_len);

/* A blocking connection, for the set-up and for checks afterwards. */
struct httpc {
	struct sockaddr_in to;
	int fd; /* -1: not connected */
	struct buf out;
	struct buf in;
};

/* Initializes ${h} for calls to ${to}.  The first call connects. */
void httpc_init(struct httpc *h, const struct sockaddr_in *to);

/* Closes the connection and frees the members of ${h}. */
void httpc_fini(struct httpc *h);

/* Makes a call, and connects again and repeats the request once if the
 * connection ends before the answer.  Ends the program if there is no answer
 * then.  ${ret} is valid until the next call. */
void httpc_call(struct httpc *h, const char *method, const char *path,
    const char *token, const char *body, struct httpc_reply *ret);

#endif
