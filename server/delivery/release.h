/* SPDX-License-Identifier: MIT */
/*
 * Releases scheduled messages that are due.  Only now does such a message get
 * its conversation_seq, its place in the lane (the queue of its conversation to
 * its recipient), and a copy in the sender's own inbox.
 */
#ifndef DELIVERY_RELEASE_H
#define DELIVERY_RELEASE_H

#include "txn/env.h"

/* Maximum number of messages that one unit releases. */
#define RELEASE_ROWS 100

struct release_unit {
	struct unit unit; /* first */

	/* Output, valid when unit.rc is RC_OK: the number of due messages that
	 * this unit has handled: released, or canceled because their sender is
	 * disabled, or released and made dead letters because their recipient
	 * is disabled. */
	size_t released;
	bool passed_over; /* another transaction had locked some of them */
	void *arg;
};

/* Makes ${u} a unit of work. */
void release_unit_init(struct release_unit *u);

#endif
