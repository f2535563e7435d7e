/* SPDX-License-Identifier: MIT */
/*
 * The server: what its threads share (http.c).
 *
 * Invariants
 *  1. A connection belongs to the front thread until it is put into a loop's
 *     mailbox, from then on to that loop.
 *  2. libmicrohttpd's functions are called in the loop's own thread only.
 *  3. A request belongs to the loop's thread, except between the call of its
 *     handler and the arrival of its answer in the loop's mailbox, when it is
 *     the handler's; meanwhile its connection is suspended, so that
 *     libmicrohttpd touches nothing of it.
 *  4. A request is freed only inside MHD_run() (or MHD_stop_daemon()), by the
 *     notification that it is complete.
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
	struct http_gate gate; /* of the options */
	struct router *router;
	int port;
	struct front front;
	struct conn_limit conn_limit;
	struct budget *bodies, *answers; /* NULL: no limit */
	struct loop *loops; /* options.loops and the long-polls' one */
	int loop_count;
	bool layout_known;    /* libmicrohttpd parses in place (validator.c) */
	atomic_bool draining; /* no new connections */
	atomic_bool refusing; /* no new requests either */
	atomic_bool front_stop;
	atomic_bool loops_stop;
	atomic_size_t pending;
	atomic_uint_fast64_t begun; /* requests */
	atomic_size_t connections;
};

#endif
