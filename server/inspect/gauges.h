/* SPDX-License-Identifier: MIT */
/*
 * The gauges that /metrics and the server's own alerts read from the database,
 * all by gauges_read().  The cost does not grow with the backlog: totals are
 * one row (on PostgreSQL one for each node), and at most a fixed number of rows
 * and lanes (delivery queues) is read.  The cost grows with the number of
 * destinations: all are read, but at most GAUGES_DESTINATIONS are kept and
 * measured.
 */
#ifndef INSPECT_GAUGES_H
#define INSPECT_GAUGES_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

/* The most destinations in the list, and so the most values of the label
 * "destination" in /metrics.  If there are more, these take precedence: "*"
 * (stands for all destinations), "local" (the inboxes here), and destinations
 * with trouble (paused, lanes ready, or a breaker that is not closed). */
#define GAUGES_DESTINATIONS 100
/* Rows that are counted, and lanes that are walked, at most. */
#define GAUGES_ROWS 10000
#define GAUGES_LANES 1000

enum gauges_breaker {
	GAUGES_CLOSED,
	GAUGES_OPEN,
	GAUGES_HALF_OPEN,
	GAUGES_BREAKERS
};

/* Returns the word for ${breaker} in the database and in labels. */
const char *gauges_breaker_word(enum gauges_breaker breaker);

struct gauges_destination {
	int64_t destination_id;
	char name[LIMIT_ADDRESS_LEN + 1];
	enum gauges_breaker breaker;
	bool paused;
	bool ready; /* it has lanes in state ready */
	/* For another server: the sum, over lanes, of the places from the
	 * cursor (the next place to be sent) to the tail (the last place).  The
	 * lanes are its GAUGES_LANES most urgent ready lanes and at most
	 * GAUGES_LANES of its leased lanes.  For "local": all pending rows that
	 * are not scheduled, at most GAUGES_ROWS. */
	int64_t pending_rows;
	int64_t oldest_at; /* since when the oldest row waits; 0: none */
};

/* Messages (not receipts) by state, and counters of all that has happened to
 * messages. */
struct gauges_totals {
	int64_t pending, scheduled, sending, sent, failed, expired, canceled;
	int64_t accepted_total, sent_total, acked_total, retries_total;
	int64_t failed_total, expired_total, canceled_total, requeued_total;
	int64_t rescues_total, fenced_total;
};

/* Open dead letters by reason; at most GAUGES_ROWS are counted. */
struct gauges_dead {
	int64_t all, max_retries, rejected, expired, poison, too_large;
};

struct gauges {
	struct gauges_totals totals;
	struct gauges_dead dead;
	int64_t oldest_sending_at; /* 0: no message is being sent */
	int64_t lanes_ready;       /* at most GAUGES_ROWS */
	int64_t destinations;      /* of all destinations */
	size_t n;                  /* in the list */
	struct gauges_destination list[GAUGES_DESTINATIONS];
};

/* Reads the gauges into ${ret}, which has more than 30 KB: do not put it on the
 * stack.  After an error ${ret} is incomplete.  Thread: the owner of ${db}. */
enum rc gauges_read(
    struct db *db, struct gauges *ret, struct err *err) MUST_USE;

#endif
