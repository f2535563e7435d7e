/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server: the state that its threads share (http.c).  The front's
 * thread accepts the connections; each loop is a thread that drives one
 * libmicrohttpd daemon.
 *
 * Invariants
 *  1. A connection belongs to the front's thread until it is put into a loop's
 *     mailbox, and to that loop from then on.
 *  2. While a loop runs, only its own thread calls the functions of
 *     libmicrohttpd that change the daemon, a connection or a response.  The
 *     thread to which a request belongs (3) may read the request's headers.
 *  3. A request belongs to the loop's thread, but may belong to another thread
 *       - while the sender of the request is looked up (sender.c),
 *       - from the call of authorize() or of the route's handler until the
 *         answer is delivered to the loop (answer_deliver()),
 *       - between two pieces of an answer (http_answer_pieces()).
 *     In these times libmicrohttpd does not touch the request: the loop has
 *     suspended the connection before it takes the result of the look-up, the
 *     answer or the next piece from the loop's mailbox.
 *  4. A request is freed only inside MHD_run() or MHD_stop_daemon(), in the
 *     callback that says that the request or its connection has ended.
 */
#ifndef HTTP_HTTP_INTERNAL_H
#define HTTP_HTTP_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "http/conn_limit_internal.h"
#include "http/front_internal.h"
#include "http/http.h"

struct loop;
struct router;

struct http {
	struct http_options options;
	struct http_gate gate; /* made of the options */
	struct router *router;
	int port;
	struct front front;
	struct conn_limit conn_limit;
	struct budget *bodies, *answers; /* NULL: no limit */
	struct loop *loops; /* options.loops, and one for long-polls */
	int loop_count;
	bool layout_known;    /* libmicrohttpd parses in place (validator.c) */
	atomic_bool draining; /* no new connections */
	atomic_bool refusing; /* new requests are refused, too */
	atomic_bool front_stop;
	atomic_bool loops_stop;
	atomic_size_t pending;
	atomic_uint_fast64_t begun; /* requests that ever began */
	atomic_size_t connections;
};

#endif
