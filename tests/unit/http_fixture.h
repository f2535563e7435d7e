/* SPDX-License-Identifier: MIT */
/*
 * A real HTTP server on a free port with a small table of routes, and a client
 * of raw sockets, for the tests of server/http.
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/http.h"

#define REQUEST_DEADLINE_MS 400
#define IDLE_DEADLINE_MS 1500

struct fixture {
	struct http *http;
	struct metrics *metrics;
	int port;
	atomic_int handled;  /* calls of handlers */
	atomic_int upgrades; /* sockets given to the upgrade function */
	atomic_int early;    /* wake-ups before their time */
	atomic_int pieces;   /* pieces that were asked for */
	atomic_int freed;    /* calls of http_on_free()'s function */
	struct http_request *_Atomic held; /* GET /hold, to be answered */
};

/* Starts a server; ${limit}: connections.  Also the worker thread. */
void fixture_start(struct fixture *f, size_t limit);
void fixture_stop(struct fixture *f);

/* Answers the request that GET /hold keeps. */
void fixture_release(struct fixture *f);

int64_t now_ms(void);

/* A connected socket with a receive time-out of 3 s. */
int client_open(const struct fixture *f);
/* Errors are counted in client_send_errors, as the server may close. */
extern int client_send_errors;
void client_send(int fd, const char *text);
void client_send_n(int fd, const char *text, size_t n);

struct reply {
	int status; /* 0: closed without an answer, -1: nothing came in time */
	char head[4096];
	char *body;
	size_t body_len;
	char memory[2 * 1024 * 1024];
};

/* Reads one answer (${head_only}: to HEAD). */
void client_read(int fd, struct reply *ret, int head_only);

/* Whether the server has closed, waiting for it at most ${ms}. */
int client_closed(int fd, int64_t ms);

/* Opens, sends, reads, and says in *ret_closed (may be NULL) whether the
 * server closed afterwards, at once; returns the status. */
int ask(const struct fixture *f, const char *text, struct reply *reply,
    int *ret_closed);

/* The value of a header of the answer (static storage), NULL without it. */
const char *reply_header(const struct reply *reply, const char *name);

#endif
