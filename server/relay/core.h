/* SPDX-License-Identifier: MIT */
/*
 * The relay without its thread: decides what to do next, from wake-ups,
 * finished jobs, the database and the time. relay.c calls core_turn() in a
 * thread of its own; the simulator calls it in its only thread.
 *
 * A lane is the queue of the messages, or of the receipts, of one conversation
 * to one recipient; a local lane leads to a user of this server.  Messages of
 * local lanes take one step: a unit (one change that the writer commits) puts
 * them into the inboxes and stores the outcome.  Messages to another server
 * take three steps:
 *
 *	claim   a unit of the writer leases lanes and fills a parcel
 *	carry   the carrier sends the parcel and returns it with answers
 *	settle  a unit of the writer stores the answers
 *
 * Work that is under way is a job, which is with the writer or with a carrier.
 * When it is finished, core_options.back returns it to the core, and the next
 * core_turn() calls core_job.back.  Jobs are parts of the core and of its
 * destinations, so a job needs no memory of its own when it starts.
 */
#ifndef RELAY_CORE_H
#define RELAY_CORE_H

#include "base/clk.h"
#include "base/rnd.h"
#include "base/timing.h"
#include "engine/writer.h"
#include "model/breaker.h"
#include "relay/carrier.h"
#include "txn/effects.h"

struct core;

/* A job that was under way, in the list that is given to core_turn(). */
struct core_job {
	struct core_job *next;
	/* The core's; core_turn() calls it. */
	void (*back)(struct core *core, struct core_job *job);
};

struct core_options {
	struct carrier_local local;
	struct carrier_remote remote;

	/* Hands ${unit} to the writer.  Results: see writer_submit(). */
	enum rc (*submit)(void *arg, struct unit *unit);
	/* Called when ${job} is finished, perhaps inside core_turn().  The
	 * function must append the job to the list for the next core_turn(),
	 * and let that turn follow soon.  Thread: any. */
	void (*back)(void *arg, struct core_job *job);
	void *arg;

	struct db *db; /* read-only, used by the core only */
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct rnd *rnd;
	const char *owner;  /* name of this process in leases */
	int64_t poll_ms;    /* interval of the safety poll */
	int64_t lease_ms;   /* length of a lease; 0: 60 s */
	int64_t timeout_ms; /* of a request to another server; 0: 20 s */
	/* Limit of destinations in memory; 0: 4,096. */
	size_t destinations_most;
};

/* Creates a core.  The options are copied; what they point to is borrowed until
 * core_free().  The only error is RC_NO_MEMORY; then *ret is not set. */
enum rc core_new(const struct core_options *options, struct core **ret,
    struct err *err) MUST_USE;

/* Frees the core.  Call it only when core_idle() is true.  NULL is allowed. */
void core_free(struct core *c);

/* Loads the destinations that have messages to send or whose breaker is not
 * closed, until destinations_most are in memory; fails if the database cannot
 * be read or memory runs out.  On a database with one writer the first turns
 * also end all leases, since no other process can hold one; nothing is sent to
 * other servers before that.  Call it once, before the first core_turn(). */
enum rc core_start(struct core *c, struct err *err) MUST_USE;

/* Runs one turn: processes the wake-ups (a list of struct wake, which it frees)
 * and the finished jobs, and starts the work that is due.  ${going} false
 * (the server stops): starts no new work except storing breakers, but continues
 * the work that was under way: parcels that were claimed are still sent and
 * settled, and the answers are dropped if settling fails.  Returns the
 * monotonic time in ms at which to call it again if nothing arrives before.
 * Thread: THR_RELAY. */
int64_t core_turn(
    struct core *c, struct mbox_node *wakes, struct core_job *jobs, bool going);

/* Returns true if no unit and no parcel is under way. */
bool core_idle(const struct core *c);

/* The state of a destination, for statistics. */
struct core_destination {
	int64_t destination_id;
	enum breaker_state breaker;
	int window;
	int in_flight;
};

/* Calls ${each} for each destination in memory, with a struct that is valid
 * during that call.  Destinations that are not in memory are left out: most of
 * those without messages and, while destinations_most are in memory, also some
 * with messages. */
void core_destinations(const struct core *c,
    void (*each)(void *arg, const struct core_destination *d), void *arg);

/* Returns the number of local lanes and parcels under way. */
size_t core_in_flight(const struct core *c);

#endif
