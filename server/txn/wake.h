/* SPDX-License-Identifier: MIT */
/*
 * The wake-up of a committed transaction, for the relay: lanes to inboxes of
 * this server, and other destinations, that have work now.  Like effects it is
 * collected while the transaction runs, and handed over after the commit.
 */
#ifndef TXN_WAKE_H
#define TXN_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mbox.h"

/* A lane to an inbox of this server. */
struct wake_lane {
	int64_t lane_id;
	int priority; /* enum priority, of what was added */
};

struct wake {
	struct mbox_node node;
	struct wake_lane *lanes;
	size_t nlanes, cap;
	int64_t *destinations;
	size_t ndestinations, destinations_cap;
	bool destinations_changed; /* by an operator: read them again */
	int64_t contact;    /* a destination that has written to us; 0: none */
	bool contact_alone; /* it sent nothing but a heartbeat */
};

/* Empty wake-up; NULL: no memory. */
struct wake *wake_new(void);
void wake_free(struct wake *wake);

/* Appends a lane or a destination; repetitions do no harm. */
enum rc wake_add(
    struct wake *wake, int64_t lane_id, int priority, struct err *err) MUST_USE;
enum rc wake_add_destination(
    struct wake *wake, int64_t destination_id, struct err *err) MUST_USE;

/* Whether it names nothing. */
bool wake_empty(const struct wake *wake);

#endif
