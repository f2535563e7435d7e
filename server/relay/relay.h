/* SPDX-License-Identifier: MIT */
/*
 * The relay: the background thread that delivers the messages of outboxes.
 * Commits wake it with the lanes (queues of one conversation to one recipient)
 * and the destinations (other servers) that have new work.  A safety poll each
 * second (poll_ms) reads a page of the lanes and destinations with waiting
 * messages from the database.  So a lost wake-up costs time (about a second,
 * more if there are many pages), never a message.  The functions of core.h
 * decide what to do; this is the thread that runs them.
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
	struct carrier_local carrier; /* to the inboxes here */
	struct carrier_remote remote; /* to other servers; its stop is called */
	struct writer *writer;
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct rnd *rnd;
	int64_t poll_ms;    /* interval of the safety poll */
	int64_t lease_ms;   /* length of a lease; 0: 60 s */
	int64_t timeout_ms; /* of a request to another server; 0: 20 s */
};

/* Creates a relay and opens its own read-only connection to the database.
 * Starts no thread.  ${options} is copied; what it points to is borrowed until
 * relay_free().  On failure *ret is not set. */
enum rc relay_new(const struct relay_options *options, struct relay **ret,
    struct err *err) MUST_USE;

/* Frees a relay that was stopped or never started.  NULL is allowed. */
void relay_free(struct relay *r);

/* Returns the name under which this relay owns leases.  Valid as long as
 * ${r}. */
const char *relay_owner(const struct relay *r);

/* Loads the destinations (core_start()), logs how many messages are pending,
 * and starts the thread. */
enum rc relay_start(struct relay *r, struct err *err) MUST_USE;

/* Ends the relay's thread and waits for it.  The thread starts no new work, and
 * ends when all jobs (core.h) are finished, those of the writer and those of
 * the carriers.  Stops the remote carrier, so that the thread need not wait for
 * other servers: the parcels under way end as not reached, except those that
 * have answers already.  The writer must still run, because it stores the
 * results of all these parcels. */
void relay_stop(struct relay *r);

/* Returns the subscriber that receives the wake-ups of commits. */
struct subscriber relay_subscriber(struct relay *r);

/* Gives ${wake}, the lanes and destinations that have work after a commit, to
 * the relay's thread and takes ownership of it.  Thread: any.  Never blocks. */
void relay_wake(struct relay *r, struct wake *wake);

/* The server that is destination ${destination_id} is probably up: a request
 * of that server has arrived here, or an operator has changed the settings of
 * that peer.  The wait of its open breaker or of its postponed heartbeat ends,
 * so that the next message or heartbeat may probe it at once.  This happens at
 * most once in relay_contact_ms (10 s) and, while no message waits for the
 * server, at most once in the breaker's interval or in the wait of the
 * postponed heartbeat, whichever is longer.  ${alone}: the request had neither
 * messages nor receipts nor acks, as a heartbeat; then the wait ends only if a
 * message waits for the server, so that two servers do not answer heartbeats
 * with heartbeats.  Does nothing if the relay does not have the destination in
 * memory, or if memory runs out.  Thread: any.  Never blocks. */
void relay_contact(struct relay *r, int64_t destination_id, bool alone);

/* Statistics. */
#define RELAY_STATS_DESTINATIONS 1000
struct relay_stats {
	int64_t last_turn_ms; /* monotonic: end of the last turn */
	size_t in_flight;     /* local lanes and parcels under way */
	size_t n; /* destinations[], at most RELAY_STATS_DESTINATIONS */
	struct core_destination destinations[RELAY_STATS_DESTINATIONS];
};

/* Stores the present statistics in *ret.  If the relay's thread is in
 * core_turn() and stays there for 100 ms, only ret->last_turn_ms has its value;
 * ret->n and ret->in_flight are 0.  Thread: any.  Blocks for 100 ms at most. */
void relay_stats(struct relay *r, struct relay_stats *ret);

#endif
