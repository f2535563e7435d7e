/* SPDX-License-Identifier: MIT */
/*
 * The handlers of server/api and server/admin without a server: http, the
 * readers and the writer are played here, one after the other in one thread.
 * What a handler asks of the store and what it answers becomes one text, in
 * which ' stands for " and objects of a list begin lines, so that a test
 * compares all of it.
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
/* What is said when too much waits. */
#define PLAYED_FULL                                                            \
	"503 busy: too much waits already; repeat with the same id\n"          \
	"retry after 1\n"
/* What is said when another transaction is in the way. */
#define PLAYED_HELD                                                            \
	"503 busy: another transaction keeps what it needs; repeat with the "  \
	"same id\nretry after 1\n"
#define UUID_A "01890a5d-ac96-774b-bcce-b302099a8057"
#define UUID_B "01890a5d-ac96-774b-bcce-b302099a8058"

/* What is asked; all may be NULL. */
struct question {
	const char *method;     /* NULL: GET */
	const char *path;       /* NULL: "/x" */
	const char *params[2];  /* of the path: name and value */
	const char *query;      /* "a=1&b=2", taken as it is */
	const char *headers[6]; /* names and values */
	const char *body;
	bool stranger; /* nobody has logged in */
};

struct played {
	struct rest rest;
	struct api api;
	struct admin *admin;
	void *module;         /* of the routes: the api or the admin */
	struct principal who; /* admin, user 7, device 70 */
	struct buf text;      /* of what was asked of others, and answered */
	int answers;

	/* What goes wrong: 0 nothing, k the k-th call. */
	int alloc_fails, on_free_fails, store_fails;
	enum rc readers_rc, writer_rc, unit_rc;
	bool no_snapshot; /* a reader has no store */
	bool revoked;     /* the token, when it is looked at again */
	bool demoted;     /* its user, when the token is looked at again */

	/* Does what the writer does with ${unit}; may be NULL. */
	void (*apply)(struct unit *unit);
};

extern struct played played;

/* Makes all anew; ends it. */
int played_setup(void **state);
int played_teardown(void **state);

/* Asks ${handler} and plays until all is done.  The text, valid until the next
 * call: lines of what was asked of the store and the writer, then the answer:
 * "200 application/json", its headers, its body. */
const char *played_ask(http_handler_fn handler, const struct question *q);

/* Asks and compares. */
void played_expect(
    http_handler_fn handler, const struct question *q, const char *text);

/* Asks all questions of file tests/unit/${name} and compares the answers.  Its
 * lines:
 *
 *	# a remark
 *	set SWITCH NUMBER	calls ${set}; false: there is no such switch
 *	ask METHOD PATH?QUERY	of ${routes}; "{id}" is "{id=VALUE}" here
 *	header NAME: VALUE	of the next question
 *	body TEXT		the same
 *	> TEXT			its answer, line by line
 *
 * With TWINBOX_WRITE_TRANSCRIPTS=DIR in the environment the file with the
 * answers of now is written there as ${name}.new: read the difference before
 * you take it.
 */
void played_transcript(const char *name, const struct http_route *routes,
    bool (*set)(const char *name, int64_t value));

/* Adds a line to the record of calls.  Functions that stand in for the store's
 * call it. */
void played_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For the same: RC_OK, or the failure that is wanted now. */
enum rc played_store(struct err *err);

/* The route of ${routes} for this method and path; fails without. */
http_handler_fn played_route(
    const struct http_route *routes, const char *method, const char *path);

/* Asks each route of ${routes} that ${question} knows (false: not this one)
 * with everything going wrong, one thing at a time: an unknown parameter, want
 * of memory, a store that fails at each of its calls, readers and a writer that
 * are full.  Each is answered once, as it should be; ${full_readers} may say
 * how where it is not the usual answer. */
void played_failures(const struct http_route *routes,
    bool (*question)(const struct http_route *route, struct question *ret),
    const char *(*full_readers)(const struct http_route *route));

#endif
