/* SPDX-License-Identifier: MIT */
/*
 * Requests to other servers.  Sends the parcels of the relay (each has messages
 * and receipts for one server) as signed requests, and stores the answers in
 * the parcels: this is the remote carrier of relay/carrier.h.  Also fetches the
 * documents (keys and URLs) of other servers.
 *
 * One thread does all of this with libcurl's multi interface.  It is not the
 * relay's thread, because signing, TLS and libcurl must not delay deliveries to
 * inboxes of this server.  libcurl resolves names in threads of its own.
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
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct keyring *keyring;
	struct peer_clocks *clocks;            /* borrowed; may be NULL */
	const struct directory_policy *policy; /* borrowed */
	struct net_networks networks; /* private ones that may be contacted */
	/* PEM of certificate authorities; borrowed.  NULL: the system's. */
	const struct buf *authorities;
};

/* Creates ${ret} with its directory.  Starts no thread. */
enum rc outbound_new(const struct outbound_options *options,
    struct outbound **ret, struct err *err) MUST_USE;

/* Starts the thread. */
enum rc outbound_start(struct outbound *o, struct err *err) MUST_USE;

/* Frees ${o}.  Before this call, first stop the carrier of outbound_carrier(),
 * and then the readers and the writer.  Stopping the carrier ends the outbound
 * thread, which still needs the readers and the writer: it waits for the
 * look-ups that one of them has.  NULL is allowed. */
void outbound_free(struct outbound *o);

/* Returns the directory.  Valid as long as ${o}. */
struct directory *outbound_directory(struct outbound *o);

/* Returns the carrier for the relay. */
struct carrier_remote outbound_carrier(struct outbound *o);

#endif
