/* SPDX-License-Identifier: MIT */
/*
 * A real HTTP server on a free port with a small table of routes, and a client
 * of raw sockets, for the tests of server/http.  The server's deadlines are
 * hours long, and its clock leaps (http_leap.h).
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

/* Waits until ${condition} holds, and fails the test after 10 s. */
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

/* The byte budgets of the servers that are started from now on. */
extern size_t fixture_body_bytes, fixture_answer_bytes;
/* http_options.descriptors of these servers. */
extern size_t fixture_descriptors;

struct fixture {
	struct http *http;
	struct metrics *metrics;
	struct timing timing; /* as in the product, but for http_linger */
	int port;
	atomic_int handled;  /* calls of handlers */
	atomic_int upgrades; /* sockets given to the upgrade function */
	atomic_int early;    /* wake-ups before their time */
	atomic_int pieces;   /* pieces that the server asked for */
	atomic_int freed;    /* calls of http_on_free()'s function */
	struct http_request
	    *_Atomic held; /* by GET /hold, or by the look-up "held" */
	enum rc
	    lookup_rc; /* the result of a sender's look-up that ends at once */
	atomic_int lookups;
};

/* The routes of the fixture, for servers that a test makes itself. */
extern const struct http_route fixture_routes[];

/* Starts the worker thread and a server with ${loops} loops, and one for
 * long-polls, for at most ${limit} connections. */
void fixture_start(struct fixture *f, int loops, size_t limit);
void fixture_stop(struct fixture *f);

/* Runs ${tests} (an array) on one server in ${f}.  After each test it closes
 * the connections that the test has left open. */
#define FIXTURE_RUN(f, loops, limit, tests)                                    \
	fixture_run(f, loops, limit, tests, sizeof(tests) / sizeof((tests)[0]))
int fixture_run(struct fixture *f, int loops, size_t limit,
    const struct CMUnitTest *tests, size_t n);

/* Answers the request to GET /hold that waits. */
void fixture_release(struct fixture *f);

/* Moves the server's clock on by ${ms}, then calls fixture_turn(). */
void fixture_leap(struct fixture *f, int64_t ms);

/* Returns when the front has handled its deadlines and all events that the
 * kernel had for it when the call began.  On a server with one loop the loops
 * have done so, too. */
void fixture_turn(struct fixture *f);

/* Returns a connected socket with time-outs of 20 s. */
int client_open(const struct fixture *f);
/* Failed writes are counted in client_send_errors: the server may have
 * closed. */
extern int client_send_errors;
void client_send(int fd, const char *text);
void client_send_n(int fd, const char *text, size_t n);

struct reply {
	int status; /* 0: closed without an answer, -1: no answer in 20 s */
	char head[4096];
	char *body;
	size_t body_len;
	char memory[2 * 1024 * 1024];
};

/* Reads one answer.  ${head_only}: it is the answer to HEAD and has no body. */
void client_read(int fd, struct reply *ret, int head_only);

/* Waits until the sent bytes are at the server's socket.  Without this wait,
 * the bytes of another socket may arrive first on a busy machine. */
void client_arrived(int fd);

/* Waits until the server closes.  Returns false if it does not close, or sends
 * more. */
bool client_closed(int fd);

/* Closes a socket; closes those of client_open() that are still open. */
void client_close(int fd);
void client_close_left(void);

/* Returns whether the server has closed by now. */
bool client_is_closed(int fd);

/* Returns whether the server answers another request; otherwise it has
 * closed. */
bool client_is_kept(int fd);

/* Opens a connection, sends ${text} and reads the answer.  Returns the status.
 * *ret_closed (may be NULL) is set to whether the server closed after the
 * answer; otherwise it served another request. */
int ask(const struct fixture *f, const char *text, struct reply *reply,
    int *ret_closed);

/* Returns the value of a header of the answer (static storage), or NULL. */
const char *reply_header(const struct reply *reply, const char *name);

#endif
