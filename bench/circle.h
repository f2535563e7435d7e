/* SPDX-License-Identifier: MIT */
/*
 * Circles: a sender and an online recipient with one message in flight.
 *
 *	send --> sent (or 201)
 *	     `-> event at the recipient --> his ack --> receipt "delivered" at
 *	         the sender: the circle is closed, the next message goes
 *
 * Each message must come exactly once and be the one that was sent.
 */
#ifndef BENCH_CIRCLE_H
#define BENCH_CIRCLE_H

#include "bench.h"
#include "loop.h"
#include "people.h"
#include "wsc.h"

struct circles;

struct circle {
	struct circles *run;
	struct wsc sender;
	struct wsc recipient;
	struct conn http; /* of the sender, where he sends by POST */
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
	int ready; /* connections of those wanted */
	bool going;
	bool measuring;
	int busy;
	int64_t closed; /* in the measured time */
	int64_t limit;  /* circles to make in all, 0: no limit */
	int64_t begun;
	int64_t refused; /* error frames, answers that are not 201 */
	int64_t stalled; /* stalled frames */
	char first_refused[200];
	struct hist answer;
	struct hist event;
	struct hist circle;
};

/* Opens ${n} pairs of the users from ${first_user} on and waits for their
 * welcomes. */
void circles_open(
    struct circles *run, struct bench *b, struct loop *loop, int n);

/* Lets circles run until ${until_ns}, or until the limit is reached. */
void circles_run(struct circles *run, int64_t until_ns);

/* Waits for what is in flight. */
void circles_drain(struct circles *run);

/* Closes all and frees what ${run} holds. */
void circles_close(struct circles *run);

#endif
