/* SPDX-License-Identifier: MIT */
/*
 * The relay without its thread: what is to be done next, given what woke it,
 * what came back, and the time.  relay.c turns it in a thread of its own, the
 * simulator in its only one.
 *
 * Local lanes go whole to the writer.  For another server it goes in turns:
 *
 *	claim   a unit of the writer leases lanes and fills a parcel
 *	carry   the carrier takes the parcel away and brings it back answered
 *	settle  a unit of the writer writes down what was said
 *
 * What is under way are jobs: fixed in number, each in one of these places, and
 * handed back by `back`.
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

/* Something that was under way. */
struct core_job {
	struct core_job *next;
	void (*back)(struct core *core, struct core_job *job); /* the core's */
};

struct core_options {
	struct carrier_local local;
	struct carrier_remote remote;

	/* Hands ${unit} to the writer: RC_BUSY and RC_CLOSED as
	 * writer_submit(). */
	enum rc (*submit)(void *arg, struct unit *unit);
	/* ${job} has come back: it belongs into the list of a core_turn()
	 * soon.  Thread: any. */
	void (*back)(void *arg, struct core_job *job);
	void *arg;

	struct db *db; /* read-only, the core's alone */
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct rnd *rnd;
	const char *owner;  /* of leases: who we are */
	int64_t poll_ms;    /* safety poll */
	int64_t lease_ms;   /* 0: 60 s */
	int64_t timeout_ms; /* of a request to another server; 0: 20 s */
	/* Destinations that are kept in memory at most; 0: 4,096. */
	size_t destinations_most;
};

/* Makes it; the options are copied. */
enum rc core_new(const struct core_options *options, struct core **ret,
    struct err *err) MUST_USE;

/* Frees it; nothing may be under way. */
void core_free(struct core *c);

/* Reads destinations with something to send, and lets nobody else's lease
 * stand: at the start, when nobody else can hold one. */
enum rc core_start(struct core *c, struct err *err) MUST_USE;

/* Takes wake-ups (a list, taken over) and jobs that came back, and does all
 * that is due.  ${going} false: begins nothing new.  Returns the monotonic time
 * at which it is to be turned again even if nothing comes. */
int64_t core_turn(
    struct core *c, struct mbox_node *wakes, struct core_job *jobs, bool going);

/* Whether nothing is under way. */
bool core_idle(const struct core *c);

/* What it is about now, for people. */
struct core_destination {
	int64_t destination_id;
	enum breaker_state breaker;
	int window;
	int in_flight;
};

/* Calls ${each} for each destination in memory: one that has nothing to send
 * may not be there. */
void core_destinations(const struct core *c,
    void (*each)(void *arg, const struct core_destination *d), void *arg);

/* Jobs under way, local and remote. */
size_t core_in_flight(const struct core *c);

#endif
