/* SPDX-License-Identifier: MIT */
/*
 * What operators and the relay do to destinations and lanes.
 * Thread: writer.
 */
#ifndef DELIVERY_DESTINATION_H
#define DELIVERY_DESTINATION_H

#include "model/refusal.h"
#include "store/destination.h"
#include "txn/env.h"

/* The most that a destination may be allowed a second. */
#define DESTINATION_RATE_MAX 1000000

/* Instead of a place in a lane: nothing was sent in it since the time that was
 * asked for. */
#define DESTINATION_NO_PLACE 0

/* Nothing is sent to ${name} any more until it is resumed ("*": to no
 * destination, "local": into no inbox).  What waits expires meanwhile as it
 * would.  ${ret} refuses a name that is not known. */
enum rc destination_pause(struct tx *tx, const char *name, const char *by,
    const char *reason, struct refusal *ret, struct err *err) MUST_USE;
enum rc destination_resume(struct tx *tx, const char *name, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* At most ${per_second} messages a second are sent to ${name}; 0: any. */
enum rc destination_rate(struct tx *tx, const char *name, int64_t per_second,
    const char *by, struct refusal *ret, struct err *err) MUST_USE;

/* The rows of a lane from lane_seq ${seq} on that its destination has are
 * offered again, as far as they are still kept; states do not change, and
 * receivers know what they have.  DESTINATION_NO_PLACE changes nothing, and the
 * audit log says that the lane was dealt with.  ${ret} refuses a lane to a
 * local inbox, which has what it was given. */
enum rc destination_rewind_lane(struct tx *tx, int64_t lane_id, int64_t seq,
    const char *by, struct refusal *ret, struct err *err) MUST_USE;

/* The relay stores what it has learnt of a destination. */
struct breaker_unit {
	struct unit unit; /* first */

	/* Asked: id, breaker, last error. */
	struct store_destination_row row;
	void *arg;
};

/* Makes ${u} a unit of work. */
void breaker_unit_init(struct breaker_unit *u);

#endif
