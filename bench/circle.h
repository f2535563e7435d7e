/* SPDX-License-Identifier: MIT */
/*
 * Circles: a sender and an online recipient with one message in flight.
 *
 *  send --> sent (or 201)
 *       `-> event at the recipient --> its ack --> receipt "delivered" at
 *           the sender: the circle is closed, the next message goes
 *
 * Each message must arrive exactly once, and be the one that was sent;
 * otherwise the program ends.  A refused message is counted, and the pair goes
 * on with a new one.
 */
#ifndef BENCH_CIRCLE_H
#define BENCH_CIRCLE_H

#include "bench.h"
#include "loop.h"
#include "people.h"
#include "reads.h"
#include "wsc.h"

struct circles;

struct circle {
	struct circles *run;
	struct wsc sender;
	struct wsc recipient;
	struct conn http; /* the sender's, if it sends by POST */
	struct letter letter;
	bool busy;
	bool answered; /* sent frame or 201 */
	bool received; /* by the recipient */
	bool receipt;  /* at the sender */
	int64_t started_ns;
	int unacked; /* events that the sender has not acked */
};

struct circles {
	struct bench *b;
	struct loop *loop;
	struct circle *circles;
	struct person *people; /* senders first, then recipients */
	int n;
	int ready; /* open connections */
	bool going;
	bool measuring;
	int busy;
	int64_t closed; /* during the measured time */
	int64_t limit;  /* total circles to make, 0: no limit */
	int64_t begun;
	int64_t refused; /* error frames, answers other than 201 */
	int64_t stalled; /* stalled frames */
	char first_refused[200];
	struct hist answer;
	struct hist event;
	struct hist circle;
	struct reads reads; /* polls by the recipients, if any */
};

/* Opens ${n} pairs, of the users from ${b}->first_user on, and waits up to 20 s
 * for their welcomes. */
void circles_open(
    struct circles *run, struct bench *b, struct loop *loop, int n);

/* Runs circles until ${until_ns}, or until the limit is reached. */
void circles_run(struct circles *run, int64_t until_ns);

/* Waits for the circles in flight.  Ends the program if one is not closed after
 * 20 s. */
void circles_drain(struct circles *run);

/* Closes all connections and frees the members of ${run}. */
void circles_close(struct circles *run);

#endif
