/* SPDX-License-Identifier: MIT */
/*
 * Local delivery, into the inboxes of this server.  Reading a pending outbox
 * row, adding the inbox row and setting the outbox row to sent are one
 * transaction.  Therefore no message is added to an inbox twice, and none is
 * marked as sent without being in the inbox.
 */
#ifndef DELIVERY_DELIVER_H
#define DELIVERY_DELIVER_H

#include "txn/env.h"

/* DELIVER_LANES is the maximum number of lanes of one deliver_unit.
 * DELIVER_ROWS is the maximum number of rows of one lane that a deliver_unit
 * delivers; ${more} says which lanes then have more rows. */
#define DELIVER_LANES 50
#define DELIVER_ROWS 100

struct deliver_unit {
	struct unit unit; /* first */

	/* Input. */
	int64_t lanes[DELIVER_LANES];
	size_t nlanes;
	/* There is one lane; its first message becomes a dead letter
	 * (poison). */
	bool poison;

	/* Output, valid when unit.rc is RC_OK: which of the lanes have more
	 * rows. */
	bool more[DELIVER_LANES];
	/* These lanes need rows that another transaction has locked: nothing
	 * was delivered from them. */
	bool contended[DELIVER_LANES];
	size_t delivered;
	void *arg;
};

/* Makes ${u} a unit of work with no lanes yet. */
void deliver_unit_init(struct deliver_unit *u);

/* Clears the flag ${contended} of all lanes. */
void deliver_unit_free(struct deliver_unit *u);

#endif
