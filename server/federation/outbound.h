/* SPDX-License-Identifier: MIT */
/*
 * Requests to other servers: the relay's parcels become signed requests, the
 * answers become answers to their items (a carrier, relay/carrier.h), and
 * documents of peers are fetched.
 *
 * All of it is done by one thread with libcurl's multi interface.  It is not
 * the relay's: signing, TLS and libcurl's own work must not delay deliveries
 * into the inboxes here.  libcurl asks DNS in threads of its own.
 */
#ifndef FEDERATION_OUTBOUND_H
#define FEDERATION_OUTBOUND_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "base/timing.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "federation/directory.h"
#include "federation/keyring.h"
#include "federation/peer_clocks.h"
#include "metrics/metrics.h"
#include "net/forwarded.h"
#include "relay/carrier.h"

struct outbound;

struct outbound_options {
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct keyring *keyring;
	struct peer_clocks *clocks;            /* kept; may be NULL */
	const struct directory_policy *policy; /* kept */
	struct net_networks networks;  /* private ones that may be contacted */
	const struct buf *authorities; /* of certificates; kept.  NULL: the
					* system's */
};

/* Makes it, with its directory; no thread yet. */
enum rc outbound_new(const struct outbound_options *options,
    struct outbound **ret, struct err *err) MUST_USE;

/* Starts its thread. */
enum rc outbound_start(struct outbound *o, struct err *err) MUST_USE;

/* Frees it after outbound_carrier()'s stop, and after readers and writer have
 * stopped.  NULL is allowed. */
void outbound_free(struct outbound *o);

/* What is known of peers; as long as ${o}. */
struct directory *outbound_directory(struct outbound *o);

/* What the relay is given. */
struct carrier_remote outbound_carrier(struct outbound *o);

#endif
