/* SPDX-License-Identifier: MIT */
/*
 * As much HTTP/1.1 as a load generator needs: requests as texts that are made
 * once and patched, answers with a Content-Length, and blocking calls for
 * setting up.
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

/* Reads an answer from ${n} bytes at ${p}.  The bytes that it takes, 0 while
 * it is not complete.  Gives up on what is no HTTP/1.1 or is chunked. */
size_t httpc_parse(const char *p, size_t n, struct httpc_reply *ret);

/* Writes a request into ${b}; ${token} and ${body} may be NULL. */
void httpc_request(struct buf *b, const char *method, const char *path,
    const char *token, const char *body, size_t body_len);

/* A blocking connection, for setting up and for looking afterwards. */
struct httpc {
	struct sockaddr_in to;
	int fd; /* -1: not connected */
	struct buf out;
	struct buf in;
};

/* Makes ${h} ready for calls to ${to}; connects with the first. */
void httpc_init(struct httpc *h, const struct sockaddr_in *to);

/* Closes it. */
void httpc_fini(struct httpc *h);

/* Makes a call; connects again when the server closed meanwhile.  Gives up
 * when there is no answer.  ${ret} is valid until the next call. */
void httpc_call(struct httpc *h, const char *method, const char *path,
    const char *token, const char *body, struct httpc_reply *ret);

#endif
