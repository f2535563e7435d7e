/* SPDX-License-Identifier: MIT */
/*
 * Polls of inboxes at a fixed rate, beside another load: GET /v1/inbox, which
 * answers with the events that the user has not acked.  An open loop: a poll is
 * due at its time whatever happened to earlier ones, and is timed from then
 * until its answer.  If no connection is free, the poll waits, and its wait
 * counts.
 */
#ifndef BENCH_READS_H
#define BENCH_READS_H

#include "bench.h"
#include "loop.h"
#include "people.h"

struct reader;

struct reads {
	struct bench *b;
	struct loop *loop;
	struct reader *readers;
	int n;
	int next;  /* the next reader to use */
	int ready; /* open connections */
	int busy;
	int64_t due_ns; /* when the next poll is due */
	bool measuring;
	int64_t answered; /* during the measured time */
	int64_t bytes;    /* of these answers' bodies */
	struct hist latency;
};

/* Opens a connection for each of the ${n} users ${people}, who must live as
 * long as ${r}, and waits up to 20 s until all are connected.  ${b}->reads is
 * the number of polls a second; 0: opens nothing, and no poll is ever due. */
void reads_open(struct reads *r, struct bench *b, struct loop *loop,
    const struct person *people, int n);

/* Sends the polls that are due at ${now}, as long as a connection is free.
 * Returns when the next one is due, or INT64_MAX if none will be before an
 * answer arrives. */
int64_t reads_due(struct reads *r, int64_t now);

/* Waits for the polls in flight.  Ends the program if one is not answered
 * within 20 s. */
void reads_drain(struct reads *r);

/* Appends the figures to the report, whose measured time was ${seconds}. */
void reads_report(const struct reads *r, double seconds);

/* Closes all connections and frees the members of ${r}. */
void reads_close(struct reads *r);

#endif
