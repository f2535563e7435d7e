/* SPDX-License-Identifier: MIT */
/*
 * The handlers of server/api and server/admin without a server: the fixture
 * plays HTTP, the readers and the writer, one after the other in one thread.
 * The calls of a handler to the store and its answer become one text, so that a
 * test compares all of it.  In the text ' stands for ", and each object of a
 * list begins a line.
 */
#ifndef TESTS_PLAYED_H
#define TESTS_PLAYED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "admin/admin_internal.h"
#include "api/api_internal.h"
#include "chat/send_gate.h"
#include "engine/writer.h"
#include "rest/rest_internal.h"

/* 2023-11-14T22:13:20Z */
#define NOW INT64_C(1700000000000)
/* The answer when the queues are full. */
#define PLAYED_FULL                                                            \
	"503 busy: too much waits already; repeat with the same id\n"          \
	"retry after 1\n"
/* The answer when another transaction holds the rows. */
#define PLAYED_HELD                                                            \
	"503 busy: another transaction keeps what it needs; repeat with the "  \
	"same id\nretry after 1\n"
#define UUID_A "01890a5d-ac96-774b-bcce-b302099a8057"
#define UUID_B "01890a5d-ac96-774b-bcce-b302099a8058"

/* A request; all pointers may be NULL. */
struct question {
	const char *method;     /* NULL: GET */
	const char *path;       /* NULL: "/x" */
	const char *params[2];  /* of the path: name and value */
	const char *query;      /* "a=1&b=2", not decoded */
	const char *headers[6]; /* names and values */
	const char *body;
	bool stranger; /* the request has no valid token */
};

struct played {
	struct rest rest;
	struct api api;
	struct admin *admin;
	void *module;         /* of the routes: the api or the admin */
	struct principal who; /* admin, user 7, device 70 */
	struct buf text;      /* the record of calls, then the answer */
	int answers;

	/* Faults: with k the k-th call fails, with 0 none does. */
	int alloc_fails, on_free_fails, store_fails;
	enum rc readers_rc, writer_rc, unit_rc;
	bool no_snapshot; /* a reader has no store */
	bool revoked;     /* the token is, when it is checked again */
	bool demoted;     /* afterwards its user is not an administrator */

	/* Plays the writer's work on ${unit}; may be NULL. */
	void (*apply)(struct unit *unit);
};

extern struct played played;

/* Makes all of it new; frees it. */
int played_setup(void **state);
int played_teardown(void **state);

/* Calls ${handler} and plays the threads until nothing is left to do.  Returns
 * a text that is valid until the next call: a line for each call to the store
 * and the writer, then the answer: "200 application/json", its headers, its
 * body. */
const char *played_ask(http_handler_fn handler, const struct question *q);

/* Calls played_ask() and compares the text. */
void played_expect(
    http_handler_fn handler, const struct question *q, const char *text);

/* Runs all requests of the file tests/unit/${name} and compares the answers.
 * The lines of the file:
 *
 *	# a remark
 *	set SWITCH NUMBER	calls ${set}; false: unknown SWITCH
 *	ask METHOD PATH?QUERY	of ${routes}; "{id}" is "{id=VALUE}" here
 *	header NAME: VALUE	a header of the next request
 *	body TEXT		the body of the next request
 *	> TEXT			its answer, line by line
 *
 * With TWINBOX_WRITE_TRANSCRIPTS=DIR in the environment the file is written to
 * DIR as ${name}.new, with the answers of this run.  Read the difference before
 * you accept it. */
void played_transcript(const char *name, const struct http_route *routes,
    bool (*set)(const char *name, int64_t value));

/* Adds a line to the record of calls.  The functions that replace the store
 * call it. */
void played_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For the same functions: returns RC_OK, or the failure that the test wants
 * now. */
enum rc played_store(struct err *err);

/* Returns the handler of ${routes} for this method and path, or fails the
 * test. */
http_handler_fn played_route(
    const struct http_route *routes, const char *method, const char *path);

/* Sends a request to each route of ${routes} for which ${question} returns
 * true, and lets one thing after the other go wrong: an unknown parameter, each
 * allocation, each call to the store, full queues of the readers and the
 * writer.  Each request must get exactly one answer, and the right one.
 * ${full_readers} returns the answer for full readers where it is not the usual
 * one. */
void played_failures(const struct http_route *routes,
    bool (*question)(const struct http_route *route, struct question *ret),
    const char *(*full_readers)(const struct http_route *route));

#endif
