/* SPDX-License-Identifier: MIT */
/*
 * Purging: the unit that deletes the rows that the purger has listed as old
 * enough (upkeep/purge_rows.h).  It waits in the queue of upkeep, so that it
 * takes at most a tenth of a batch from clients.
 *
 * After the purge, the state of a message comes from its members' watermarks
 * instead of its outbox row (chat/entry.h).  The purge mark shows fsck up to
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
