/* SPDX-License-Identifier: MIT */
/*
 * Requests of other servers: POST /v1/federation/deliver, and the document that
 * they read, GET /.well-known/twinbox (docs/federation.md).
 *
 * A request costs a stranger nothing here: its signature is verified from the
 * head, before a byte of the body is read, and keys are looked up in memory.
 */
#ifndef FEDERATION_INBOUND_H
#define FEDERATION_INBOUND_H

#include <stdatomic.h>

#include "base/clk.h"
#include "base/err.h"
#include "base/timing.h"
#include "engine/writer.h"
#include "federation/directory.h"
#include "federation/keyring.h"
#include "federation/peer_clocks.h"
#include "http/http.h"
#include "metrics/metrics.h"

struct inbound;

struct inbound_options {
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct metrics *metrics;
	/* It is stopped before HTTP is: then no request is with it any more. */
	struct writer *writer;
	struct directory *directory; /* NULL: federation is off */
	struct keyring *keyring;     /* NULL: federation is off */
	struct peer_clocks *clocks;  /* kept; may be NULL */
	const char *domain;          /* of this server; kept */
	struct domain_url url;       /* --federation-url */
	const char *epoch;           /* of the database; kept */
	size_t body_bytes;           /* http_options.body_bytes; 0: no limit */
	/* There is no room for messages; the disk says so.  Kept. */
	const atomic_bool *disk_low;
	/* What ${contact} is told: a fresh request of this destination has been
	 * verified, so it is there.  ${alone}: it brought neither envelopes nor
	 * acks.  Thread: any.  Never blocks.  May be NULL. */
	void (*contact)(void *arg, int64_t destination_id, bool alone);
	void *contact_arg;
};

/* Makes the receiving side; ${options} is copied, what it points to is kept.
 * RC_NO_MEMORY; RC_INVALID: the URL is too long. */
enum rc inbound_new(const struct inbound_options *options, struct inbound **ret,
    struct err *err) MUST_USE;

/* Frees it after HTTP and the writer have stopped.  NULL is allowed. */
void inbound_free(struct inbound *in);

/* The two routes.  With federation off the document is 404 and the other is 403
 * peer-refused, both with a text that names the setting. */
struct http_routes inbound_routes(struct inbound *in);

/* The same without handlers that can be called: for the list of all routes, and
 * for the waiting room.  Ends with method NULL. */
const struct http_route *inbound_route_list(void);

/* From now on requests are answered with control.reconnect; nothing is taken
 * any more.  Thread: any. */
void inbound_drain(struct inbound *in);

#endif
