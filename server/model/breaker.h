/* SPDX-License-Identifier: MIT */
/*
 * The circuit breaker of a destination: whether it may be sent to, and how much
 * at a time.  Pure: time and randomness come from outside.
 *
 *	closed --BREAKER_FAILURES, each success takes one back--> open
 *	open --a probe leaves, or an earlier batch is answered--> half_open
 *	open --an earlier batch fails--> open
 *	half_open --BREAKER_SUCCESSES--> closed
 *	half_open --a failure--> open
 *
 *	closed     batches leave, at most `window` at a time.  A failure
 *	           makes the next one wait a little, so that one failure
 *	           alone does not declare the destination down
 *	open       waits for next_probe_at, twice as long each time (up to
 *	           10 min)
 *	half_open  sends batches of one message, one at a time, and waits
 *	           for their answers
 *
 * A test compares the drawing with the table of moves.
 *
 * It touches no row of the outbox: what waits stays as it is and is charged
 * nothing.  Failures of what left before the last failure was known count once;
 * a success takes back one failure, so that one that comes and goes is
 * remembered (outbox-anchors 3.1 to 3.4).
 *
 * The window grows by one a success, so it doubles in each round trip, up to
 * `BREAKER_WINDOW_MAX`; for BREAKER_CALM_MS after a failure by 1/window, so by
 * one in each round trip.  A failure closes it to one batch at once: who is in
 * trouble is not sent what others could use.
 */
#ifndef MODEL_BREAKER_H
#define MODEL_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timing.h"

#define BREAKER_FAILURES 5
#define BREAKER_SUCCESSES 2
#define BREAKER_WINDOW_MAX 64
#define BREAKER_CALM_MS INT64_C(600000)
/* Longer than any wait that we set: a clock that was put back shows by it. */
#define BREAKER_SANE_MS INT64_C(4500000)

/* X(id, name) */
#define BREAKER_STATE_TABLE(X)                                                 \
	X(BREAKER_CLOSED, "closed")                                            \
	X(BREAKER_OPEN, "open")                                                \
	X(BREAKER_HALF_OPEN, "half_open")

enum breaker_state {
#define X(id, name) id,
	BREAKER_STATE_TABLE(X)
#undef X
	    BREAKER_STATES
};

/* Whether a breaker may go from ${from} to ${to}. */
bool breaker_move_allowed(enum breaker_state from, enum breaker_state to);

struct breaker {
	enum breaker_state state;
	int failures;
	int successes;
	int64_t interval_ms;     /* of the last wait, 0: none */
	int64_t next_probe_at;   /* not before; 0: now.  Wall time */
	int64_t failing_since;   /* 0: it is not */
	int64_t last_success_at; /* 0: never */
	int64_t last_failure_at; /* 0: never */
	int window_milli;        /* batches at a time, in thousandths */
};

/* "closed" …; the enum's value, -1 if ${name} is none. */
const char *breaker_state_name(enum breaker_state state);
int breaker_state_parse(const char *name);

/* A destination that nothing is known of. */
void breaker_init(struct breaker *b);

/* How many batches may be under way at a time now. */
int breaker_window(const struct breaker *b);

/* Whether one more may leave while ${in_flight} are under way. */
bool breaker_admits(const struct breaker *b, int in_flight, int64_t now_ms);

/* When breaker_admits() may change its mind by itself; 0: it will not. */
int64_t breaker_next(const struct breaker *b, int64_t now_ms);

/* A batch leaves.  True: the state has changed, store it. */
bool breaker_leave(struct breaker *b, int64_t now_ms);

/* How many messages a batch may have, of ${most}. */
int breaker_batch(const struct breaker *b, int most);

/* A batch was answered, whatever was said of its messages.  True: store it. */
bool breaker_success(struct breaker *b, int64_t now_ms);

/* A batch that left at ${left_ms} was not answered.  ${hint_ms}: what the
 * destination asked us to wait, 0: nothing.  ${timing}: the members breaker_*
 * are read.  True: store it. */
bool breaker_failure(struct breaker *b, int64_t left_ms, int64_t now_ms,
    int64_t hint_ms, uint32_t random, const struct timing *timing);

/* It was heard of (it wrote to us, or an operator said so): a probe at once.
 * True: store it. */
bool breaker_contact(struct breaker *b, int64_t now_ms);

#endif
