/* SPDX-License-Identifier: MIT */
/*
 * The routes for other servers: POST /v1/federation/deliver, and the document
 * that other servers read, GET /.well-known/twinbox (docs/federation.md).
 *
 * Strangers can cause little work here: the signature is verified from the
 * head, before a byte of the body is read, with a key from memory.
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
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct metrics *metrics;
	/* It must stop before HTTP does, so that it holds no request by
	 * then. */
	struct writer *writer;
	struct directory *directory; /* NULL: federation is off */
	struct keyring *keyring;     /* NULL: federation is off */
	struct peer_clocks *clocks;  /* borrowed; may be NULL */
	const char *domain;          /* of this server; borrowed */
	struct domain_url url;       /* --federation-url */
	const char *epoch;           /* of the database; borrowed */
	size_t body_bytes;           /* http_options.body_bytes; 0: no limit */
	/* True while the disk has no room for messages.  Borrowed. */
	const atomic_bool *disk_low;
	/* Called after a request of this destination was verified and taken
	 * (its nonce is new and its unit is on disk), which shows that the
	 * destination is up.  ${alone}: the request had neither envelopes nor
	 * acks.  Thread: any.  Must not block.  May be NULL. */
	void (*contact)(void *arg, int64_t destination_id, bool alone);
	void *contact_arg;
};

/* Creates the receiving side.  ${options} is copied; what it points to is
 * borrowed.  RC_NO_MEMORY; RC_INVALID: the URL is too long. */
enum rc inbound_new(const struct inbound_options *options, struct inbound **ret,
    struct err *err) MUST_USE;

/* Frees ${in}, after HTTP and the writer have stopped.  NULL is allowed. */
void inbound_free(struct inbound *in);

/* Returns the two routes.  While federation is off, the document is 404 and the
 * other route is 403 peer-refused, both with a text that names the setting. */
struct http_routes inbound_routes(struct inbound *in);

/* Returns the same routes, whose handlers must not be called: for the list of
 * all routes, and for the waiting room.  Ends with method NULL. */
const struct http_route *inbound_route_list(void);

/* From now on requests with a good signature are answered with
 * control.reconnect, and nothing is taken.  Thread: any. */
void inbound_drain(struct inbound *in);

#endif
