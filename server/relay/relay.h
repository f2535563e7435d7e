/* SPDX-License-Identifier: MIT */
/*
 * The relay: the background worker that takes what outboxes owe to where it
 * belongs.  Commits wake it with the lanes and destinations they wrote for; a
 * safety poll of the store each second is the correctness behind that (a lost
 * wake-up costs a second, never a message).  What it does is decided by core.h;
 * this is its thread.
 */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "engine/writer.h"
#include "relay/carrier.h"
#include "relay/core.h"
#include "txn/publisher.h"

struct relay;

struct relay_options {
	const struct db_options *db; /* for a read-only connection of its own */
	struct carrier_local carrier; /* into the inboxes here */
	struct carrier_remote remote; /* to other servers; its stop is called */
	struct writer *writer;
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct rnd *rnd;
	int64_t poll_ms;    /* safety poll */
	int64_t lease_ms;   /* 0: 60 s */
	int64_t timeout_ms; /* of a request to another server; 0: 20 s */
};

/* Opens its connection; no thread yet. */
enum rc relay_new(const struct relay_options *options, struct relay **ret,
    struct err *err) MUST_USE;

/* Frees a stopped relay.  NULL is allowed. */
void relay_free(struct relay *r);

/* Who holds this relay's leases; as long as ${r}. */
const char *relay_owner(const struct relay *r);

/* Takes up what is pending and starts the thread. */
enum rc relay_start(struct relay *r, struct err *err) MUST_USE;

/* Ends the thread after what is under way has come back.  The writer must
 * still run. */
void relay_stop(struct relay *r);

/* Takes the wake-ups of commits. */
struct subscriber relay_subscriber(struct relay *r);

/* Lanes have work; takes ${wake}.  Thread: any.  Blocks: never. */
void relay_wake(struct relay *r, struct wake *wake);

/* A server that is destination ${destination_id} has written to this one, so it
 * is there: if its breaker is open, it is probed at once, once in a while.
 * ${alone}: it sent nothing but a heartbeat; then it is probed only if
 * something waits for it, so that two servers do not answer heartbeats with
 * heartbeats. Thread: any.  Blocks: never. */
void relay_contact(struct relay *r, int64_t destination_id, bool alone);

/* How it stands. */
#define RELAY_STATS_DESTINATIONS 1000
struct relay_stats {
	int64_t last_turn_ms; /* monotonic: when it was turned last */
	size_t in_flight;     /* local lanes and parcels under way */
	size_t n;             /* destinations; no more than there is room for */
	struct core_destination destinations[RELAY_STATS_DESTINATIONS];
};

/* A snapshot.  During a turn that takes long it tells when the last one ended,
 * and no more.  Thread: any.  Blocks: for 100 ms at most. */
void relay_stats(struct relay *r, struct relay_stats *ret);

#endif
