/* SPDX-License-Identifier: MIT */
/*
 * A real HTTP server on a free port with a small table of routes, and a client
 * of raw sockets, for the tests of server/http.
 * The server's deadlines are hours, and its clock leaps (http_leap.h).
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/http.h"

#define HOST "Host: localhost\r\n"
#define GET(target) "GET " target " HTTP/1.1\r\n" HOST "\r\n"
#define POST "POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"

#define MINUTE_MS 60000
#define HOUR_MS (60 * MINUTE_MS)
#define REQUEST_DEADLINE_MS HOUR_MS
#define IDLE_DEADLINE_MS (3 * HOUR_MS)

/* Waits until ${condition} holds; fails where it does not within 10 s. */
#define AWAIT(condition)                                                       \
	do {                                                                   \
		int await_ms_;                                                 \
                                                                               \
		for (await_ms_ = 0; await_ms_ < 10000 && !(condition);         \
		     await_ms_++)                                              \
			(void)usleep(1000);                                    \
		if (!(condition))                                              \
			fail_msg("it does not happen: %s", #condition);        \
	} while (0)

/* The budgets of the servers that are started from now on. */
extern size_t fixture_body_bytes, fixture_answer_bytes;

struct fixture {
	struct http *http;
	struct metrics *metrics;
	struct timing timing; /* the server's; as real, but for http_linger */
	int port;
	atomic_int handled;  /* calls of handlers */
	atomic_int upgrades; /* sockets given to the upgrade function */
	atomic_int early;    /* wake-ups before their time */
	atomic_int pieces;   /* pieces that were asked for */
	atomic_int freed;    /* calls of http_on_free()'s function */
	struct http_request *_Atomic held; /* GET /hold, to be answered; a
					    * look-up, to be ended */
	enum rc lookup_rc; /* what a look-up of a sender gives at once */
	atomic_int lookups;
};

/* Its routes, for servers that a test makes by itself. */
extern const struct http_route fixture_routes[];

/* Starts a server of ${loops} loops (and that of the long-polls) for at most
 * ${limit} connections, and the worker thread. */
void fixture_start(struct fixture *f, int loops, size_t limit);
void fixture_stop(struct fixture *f);

/* Runs ${tests} (an array) on one server in ${f}; closes after each what it has
 * left open. */
#define FIXTURE_RUN(f, loops, limit, tests)                                    \
	fixture_run(f, loops, limit, tests, sizeof(tests) / sizeof((tests)[0]))
int fixture_run(struct fixture *f, int loops, size_t limit,
    const struct CMUnitTest *tests, size_t n);

/* Answers the request that GET /hold keeps. */
void fixture_release(struct fixture *f);

/* Moves the server's clock on by ${ms}, then fixture_turn(). */
void fixture_leap(struct fixture *f, int64_t ms);

/* Returns when the front has handled what the kernel had for it at the call,
 * and its deadlines; in a server with one loop the loops have, too. */
void fixture_turn(struct fixture *f);

/* A connected socket with time-outs of 20 s. */
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

/* Waits until what was sent is at the server's socket: on a machine that is
 * busy another socket may overtake it. */
void client_arrived(int fd);

/* Waits until the server has closed; false: it does not, or sends more. */
bool client_closed(int fd);

/* Closes a socket; closes those of client_open() that are still open. */
void client_close(int fd);
void client_close_left(void);

/* Whether the server has closed by now. */
bool client_is_closed(int fd);

/* Whether the server answers another request; else it has closed. */
bool client_is_kept(int fd);

/* Opens, sends, reads, and says in *ret_closed (may be NULL) whether the server
 * closed afterwards or serves another request; returns the status. */
int ask(const struct fixture *f, const char *text, struct reply *reply,
    int *ret_closed);

/* The value of a header of the answer (static storage), NULL without it. */
const char *reply_header(const struct reply *reply, const char *name);

#endif
