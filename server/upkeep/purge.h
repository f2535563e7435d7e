/* SPDX-License-Identifier: MIT */
/*
 * Purging: the unit of work with which the writer deletes the rows that the
 * purger has listed as old enough (upkeep/purge_rows.h).  The unit waits in the
 * writer's queue for upkeep.  Units of that queue are at most a tenth of a
 * batch (a transaction of the writer); the rest is for clients and deliveries.
 *
 * When the outbox row of a message is purged, the message itself stays.  Its
 * delivery state is then computed from how far the members of its conversation
 * have acked and read (chat/entry.c).  The same unit raises the purge mark,
 * which shows fsck up to which message outbox rows may be missing.
 */
#ifndef UPKEEP_PURGE_H
#define UPKEEP_PURGE_H

#include "engine/writer.h"
#include "upkeep/purge_rows.h"

struct purge_unit {
	struct unit unit; /* first */

	/* Set by the caller. */
	struct purge_list list;

	/* The result, valid if unit.rc is RC_OK. */
	int64_t deleted;
	void *arg;
};

/* Makes ${u} a unit of work.  The caller fills its list. */
void purge_unit_init(struct purge_unit *u);

#endif
