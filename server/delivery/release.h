/* SPDX-License-Identifier: MIT */
/*
 * Releasing scheduled messages that are due: only now do they get their place
 * in the conversation and in their lane, and their sender's own copy.
 */
#ifndef DELIVERY_RELEASE_H
#define DELIVERY_RELEASE_H

#include "txn/env.h"

/* The most that one unit releases. */
#define RELEASE_ROWS 100

struct release_unit {
	struct unit unit; /* first */

	/* Answered, when unit.rc is RC_OK: how many were released. */
	size_t released;
	bool passed_over; /* another writer was at work on some */
	void *arg;
};

/* Makes ${u} a unit of work. */
void release_unit_init(struct release_unit *u);

#endif
