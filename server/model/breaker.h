/* SPDX-License-Identifier: MIT */
/*
 * The circuit breaker of a destination: decides whether the destination may be
 * sent to, and how much at a time.  Pure: time and randomness are arguments.
 *
 *	closed --BREAKER_FAILURES, each success takes one back--> open
 *	open --a probe leaves, or an earlier batch is answered--> half_open
 *	open --a batch fails that left after the last failure--> open
 *	half_open --BREAKER_SUCCESSES--> closed
 *	half_open --a failure--> open
 *
 *	closed     sends batches, at most `window` at a time.  A failure
 *	           delays the next batch a little (or by the wait that the
 *	           destination asks for, up to 1 h), so that one failure
 *	           alone does not declare the destination down
 *	open       begins no batch until next_probe_at; a batch that was
 *	           being prepared when the breaker opened still leaves.
 *	           The wait doubles each time, up to 10 min; a wait that
 *	           the destination asks for, up to 1 h, replaces it
 *	half_open  sends batches of one message, one at a time, and waits
 *	           for their answers
 *
 * A test (unit/test_state_drawing) compares the drawing with the table of
 * moves.
 *
 * The breaker changes no row of the outbox: rows that wait stay as they are,
 * and their retries are not used up.  Batches that left before the last failure
 * was known belong to the same outage, so their failures are not counted again,
 * except in half_open or after the wall clock was set back.  A success ends the
 * wait.  In closed, a success takes back one failure and not all, so that a
 * destination that fails more often than it answers opens its breaker even if
 * the failures do not follow each other.
 *
 * In closed, the window grows by one for each success, so it doubles in each
 * round trip, up to BREAKER_WINDOW_MAX.  In the first BREAKER_CALM_MS after a
 * failure it grows by 1/window, so by one in each round trip.  A failure that
 * is counted sets the window to one batch: a destination in trouble must not
 * take capacity that others could use.
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
/* In milliseconds; longer than any wait that a breaker sets (at most 1 h).  If
 * next_probe_at is further ahead of the wall clock than this, the clock was set
 * back, and the wait counts as over.  relay/ and delivery/ judge other stored
 * times by the same limit. */
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

/* Returns true if a breaker may go from ${from} to ${to}. */
bool breaker_move_allowed(enum breaker_state from, enum breaker_state to);

struct breaker {
	enum breaker_state state;
	int failures;
	int successes;
	int64_t interval_ms;     /* of the last wait; 0: none */
	int64_t next_probe_at;   /* wall time; no batch leaves before */
	int64_t failing_since;   /* 0: not failing */
	int64_t last_success_at; /* 0: never */
	int64_t last_failure_at; /* 0: never */
	int window_milli;        /* batches at a time, in thousandths */
};

/* breaker_state_name() returns the name of ${state} ("closed").
 * breaker_state_parse() returns the state called ${name}, -1 if there is
 * none. */
const char *breaker_state_name(enum breaker_state state);
int breaker_state_parse(const char *name);

/* Initialises ${b} for a destination of which nothing is known. */
void breaker_init(struct breaker *b);

/* Returns how many batches may be under way at a time now. */
int breaker_window(const struct breaker *b);

/* Returns true if one more batch may leave while ${in_flight} are under way. */
bool breaker_admits(const struct breaker *b, int in_flight, int64_t now_ms);

/* Returns the wall time in milliseconds at which the wait of the breaker ends;
 * until then breaker_admits() returns false.  Returns 0 if the breaker does not
 * wait at ${now_ms}. */
int64_t breaker_next(const struct breaker *b, int64_t now_ms);

/* Notes that a batch leaves.  If the breaker is open and its wait is over,
 * makes it half_open and returns true: the caller must store the breaker.
 * Otherwise changes nothing and returns false. */
bool breaker_leave(struct breaker *b, int64_t now_ms);

/* Returns how many messages a batch may have, ${most} at most. */
int breaker_batch(const struct breaker *b, int most);

/* Notes at ${now_ms} that a batch was answered, whatever the answer says of its
 * messages, and ends the wait.  Returns true if the caller must store the
 * breaker; if not, only last_success_at and the window have changed. */
bool breaker_success(struct breaker *b, int64_t now_ms);

/* Notes at ${now_ms} that a batch that left at ${left_ms} has failed: no usable
 * answer came, or an answer for only a part of the batch.  ${hint_ms} is how
 * many milliseconds the destination asked to be left alone (0: it did not ask),
 * cut at RETRY_HINT_MAX_MS; it replaces the wait of the breaker.  ${random},
 * any number, varies the wait of an open breaker; the members breaker_* of
 * ${timing} are used.  Returns true if the caller must store the breaker.
 * Returns false, with nothing changed, if the failure is not counted: the batch
 * left before the last counted failure, the breaker is not half_open, and the
 * wall clock was not set back. */
bool breaker_failure(struct breaker *b, int64_t left_ms, int64_t now_ms,
    int64_t hint_ms, uint32_t random, const struct timing *timing);

/* Notes at ${now_ms} a sign of life (the destination wrote to this server, or
 * an operator changed the settings of the destination): if the breaker waits,
 * ends the wait, so that a batch may leave at once.  The state and the counted
 * failures stay.  Returns true if there was a wait; then the caller must store
 * the breaker. */
bool breaker_contact(struct breaker *b, int64_t now_ms);

#endif
