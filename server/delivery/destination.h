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

/* The place for destination_rewind_lane() if no row of the lane was sent since
 * the time from which the operator rewinds. */
#define DESTINATION_NO_PLACE 0

/* Pause, and resume, the destination ${name} ("*": all destinations, "local":
 * the inboxes of this server).  Waiting messages expire during a pause as
 * usual.  If there is no destination ${name}, the functions set ${ret} to
 * PROBLEM_NOT_FOUND and return RC_OK. */
enum rc destination_pause(struct tx *tx, const char *name, const char *by,
    const char *reason, struct refusal *ret, struct err *err) MUST_USE;
enum rc destination_resume(struct tx *tx, const char *name, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Limits the rate of ${name} to ${per_second} messages per second; 0: no limit.
 * Sets ${ret} if the value is out of range, if ${name} is not known, or if a
 * limit is set for a destination that is not another server. */
enum rc destination_rate(struct tx *tx, const char *name, int64_t per_second,
    const char *by, struct refusal *ret, struct err *err) MUST_USE;

/* Rewinds a lane: the rows from lane_seq ${seq} on that its destination has
 * accepted are offered again, as far as they still exist.  Their states do not
 * change, and the receiver detects what it has already.  DESTINATION_NO_PLACE
 * changes nothing, but the audit log records that the lane was handled.  Sets
 * ${ret} if there is no such lane, if ${seq} is not from 1 to the last place
 * that was settled, and for a lane to a local inbox, which has received
 * everything by construction. */
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
