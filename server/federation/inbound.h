/* SPDX-License-Identifier: MIT */
/*
 * The HTTP routes for other servers: POST /v1/federation/deliver takes their
 * messages and receipts, and GET /.well-known/twinbox returns the document that
 * describes this server (docs/federation.md).
 *
 * Strangers can cause little work here: the signature of a request is verified
 * with the head alone, before a byte of the body is read, and with a key that
 * is in memory.  If the key is not in memory, the request is refused
 * ("key-unknown"), and a limited number of look-ups fetch such keys
 * (directory.h).
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
	/* Called after a request of the server ${destination_id} was accepted:
	 * its signature and nonce are good, and its changes are on disk, even
	 * if single envelopes were refused.  This shows that the server
	 * ${destination_id} is up.  ${alone} is true if the request had neither
	 * envelopes nor acks.  Thread: any.  Must not block.  May be NULL. */
	void (*contact)(void *arg, int64_t destination_id, bool alone);
	void *contact_arg;
};

/* Creates the receiving side of federation.  Copies ${options} and borrows what
 * its pointers lead to.  Returns RC_OK; RC_NO_MEMORY; or RC_INVALID if
 * ${options->url} with the path of the route deliver is longer than a document
 * may state.  *ret is set only after RC_OK. */
enum rc inbound_new(const struct inbound_options *options, struct inbound **ret,
    struct err *err) MUST_USE;

/* Frees ${in}, after HTTP and the writer have stopped.  NULL is allowed. */
void inbound_free(struct inbound *in);

/* Returns the two routes, whose handlers use ${in}.  If federation is off
 * (${directory} of the options was NULL), they answer 404 (the document) and
 * 403 peer-refused (deliver), each with a text that names the setting. */
struct http_routes inbound_routes(struct inbound *in);

/* Returns the static list of the two routes.  It belongs to no struct inbound,
 * so the handlers in it must not be called.  Used to list all routes, and to
 * refuse requests for them while the server still waits for its database
 * (main/room.c).  The list ends with method NULL. */
const struct http_route *inbound_route_list(void);

/* The server begins to stop.  From now on, each request whose head and digest
 * pass the checks is answered with control.reconnect, which asks the peer to
 * come back later, and none of its envelopes and acks is processed.  Requests
 * that the writer already has are processed as usual.  Thread: any. */
void inbound_drain(struct inbound *in);

#endif
