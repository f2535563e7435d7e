/* SPDX-License-Identifier: MIT */
/*
 * Changes of destinations and lanes by operators and by the relay.
 * Thread: writer.
 */
#ifndef DELIVERY_DESTINATION_H
#define DELIVERY_DESTINATION_H

#include "model/refusal.h"
#include "store/destination.h"
#include "txn/env.h"

/* The highest rate limit of a destination, in messages per second. */
#define DESTINATION_RATE_MAX 1000000

/* The value of ${seq} for destination_rewind_lane() if an operator rewinds to a
 * point in time and no row of the lane was sent since then: no row is offered
 * again. */
#define DESTINATION_NO_PLACE 0

/* Pause, and resume, the destination ${name} ("*": all destinations, "local":
 * the inboxes of this server).  The pause of "*" is separate: ending it does
 * not resume a destination that is also paused by its own name.  Waiting
 * messages expire during a pause as usual.  ${reason} may be NULL.  If there is
 * no destination ${name}, the functions set ${ret} to PROBLEM_NOT_FOUND and
 * return RC_OK. */
enum rc destination_pause(struct tx *tx, const char *name, const char *by,
    const char *reason, struct refusal *ret, struct err *err) MUST_USE;
enum rc destination_resume(struct tx *tx, const char *name, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Limits the rate at which each node sends messages and receipts to the
 * destination ${name} to ${per_second} per second; 0: no limit.  Changes
 * nothing, sets the refusal ${ret} and returns RC_OK if ${per_second} is not
 * from 0 to DESTINATION_RATE_MAX, if there is no destination ${name}, or if
 * ${per_second} is not 0 and ${name} is "local" or "*". */
enum rc destination_rate(struct tx *tx, const char *name, int64_t per_second,
    const char *by, struct refusal *ret, struct err *err) MUST_USE;

/* Rewinds a lane: the rows from lane_seq ${seq} on that its destination has
 * accepted are sent to that destination again, as far as they still exist.  The
 * states of the rows do not change, and the destination detects the rows that
 * it has already.  If a rewind of the lane to an earlier place is not finished,
 * that one goes on and includes the rows from ${seq} on.  Each rewind adds a
 * row to the audit log; DESTINATION_NO_PLACE does only that.
 * Changes nothing, sets the refusal ${ret} and returns RC_OK if there is no
 * such lane, if the lane leads to an inbox of this server (which cannot have
 * missed a row), or if ${seq} is neither DESTINATION_NO_PLACE nor from 1 to the
 * last place that was settled. */
enum rc destination_rewind_lane(struct tx *tx, int64_t lane_id, int64_t seq,
    const char *by, struct refusal *ret, struct err *err) MUST_USE;

/* Stores what the relay knows about a destination. */
struct breaker_unit {
	struct unit unit; /* first */

	/* Input: destination id, breaker, last error. */
	struct store_destination_row row;
	void *arg;
};

/* Makes ${u} a unit of work. */
void breaker_unit_init(struct breaker_unit *u);

#endif
