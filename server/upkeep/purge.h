/* SPDX-License-Identifier: MIT */
/*
 * Purging: the unit that deletes what the purger has listed as old enough
 * (upkeep/purge_rows.h).  It waits in the queue of upkeep, so that it never
 * takes more than a tenth of a batch from clients.  What a message's outbox row
 * said is then told from its people's marks (chat/entry.h), and the purge mark
 * tells fsck up to where rows may be missing.
 */
#ifndef UPKEEP_PURGE_H
#define UPKEEP_PURGE_H

#include "engine/writer.h"
#include "upkeep/purge_rows.h"

struct purge_unit {
	struct unit unit; /* first */

	/* Asked. */
	struct purge_list list;

	/* Answered, when unit.rc is RC_OK. */
	int64_t deleted;
	void *arg;
};

/* Makes ${u} a unit of work; its list is to be filled. */
void purge_unit_init(struct purge_unit *u);

#endif
