/* SPDX-License-Identifier: MIT */
/*
 * Purging: the unit that deletes the rows that the purger has listed as old
 * enough (upkeep/purge_rows.h).  It waits in the queue of upkeep, whose units
 * take at most a tenth of a batch, so that the rest remains for clients and
 * deliveries.
 *
 * When the outbox row of a message is purged, the message itself stays; its
 * state is then computed from the watermarks of the members of its conversation
 * (chat/entry.c).  The same unit raises the purge mark, which shows fsck up to
 * which message outbox rows may be missing.
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
