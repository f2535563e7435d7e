/* SPDX-License-Identifier: MIT */
/*
 * Changes at other servers that no operator has dealt with yet: new keys, and a
 * new epoch (the server was restored from a backup, and may have lost messages
 * that were sent to it).  Only servers count of which at least one user is
 * known here.
 *
 * The changes are not stored.  They are derived from rows that exist anyway:
 * the newest entries of the audit log and the lanes.  So a restart loses none
 * of them, and each node finds the same ones.
 */
#ifndef INSPECT_PEER_CHANGES_H
#define INSPECT_PEER_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "db/db.h"

/* How long a change is reported, unless an operator deals with it before. */
#define PEER_CHANGES_KEYS_MS INT64_C(86400000)
#define PEER_CHANGES_EPOCH_MS (7 * INT64_C(86400000))
/* How many of the newest entries of the audit log are read. */
#define PEER_CHANGES_ENTRIES 10000
/* Lanes to other servers are read in pages of PEER_CHANGES_LANES, at most
 * PEER_CHANGES_PAGES pages. */
#define PEER_CHANGES_LANES 20000
#define PEER_CHANGES_PAGES 16
/* How many lanes are listed. */
#define PEER_CHANGES_NAMED 5
/* Size of the audit log's text about keys. */
#define PEER_CHANGES_DETAIL 400

/* A lane, and the first place (lane_seq) in it that can be sent again. */
struct peer_changes_lane {
	int64_t lane_id, seq;
};

struct peer_changes {
	/* keys: the number of servers whose accepted keys have changed in the
	 * last PEER_CHANGES_KEYS_MS, and that no operator has pinned, unpinned,
	 * blocked, unblocked or forgotten since.  Only changes in the newest
	 * PEER_CHANGES_ENTRIES entries of the audit log are found.  keys_domain
	 * and keys_detail: the server with the newest of these changes, and the
	 * audit log's text about it; "" if there are none. */
	size_t keys;
	char keys_domain[LIMIT_DOMAIN_LEN + 1];
	char keys_detail[PEER_CHANGES_DETAIL];

	/*
	 * restored: the number of servers whose epoch has changed (they were
	 * restored from a backup) in the last PEER_CHANGES_EPOCH_MS, that no
	 * operator has blocked or forgotten since, and that have a lane that
	 * counts.  Only changes in the newest PEER_CHANGES_ENTRIES entries of
	 * the audit log are found.  A lane (queue) to the server counts if the
	 * first of its rows that are still in the outbox was sent before the
	 * change, and no operator has rewound the lane (to send its rows again)
	 * after the change.  restored_domain, nlanes and lanes are those of the
	 * server, among the counted ones, whose epoch changed last.
	 *
	 * more: the limit of pages ended the reading of lanes, so there may be
	 * lanes that are not counted here.  If ${more} is set and no lane of
	 * any server counts, ${restored} is 1 for the server whose epoch
	 * changed last, and ${nlanes} is 0.
	 */
	size_t restored;
	bool more;
	char restored_domain[LIMIT_DOMAIN_LEN + 1];
	size_t nlanes; /* all such lanes; the first are listed */
	struct peer_changes_lane lanes[PEER_CHANGES_NAMED];
};

/* Reads the changes as of ${now_ms}, wall time.  Thread: the owner of ${db}. */
enum rc peer_changes_read(struct db *db, int64_t now_ms,
    struct peer_changes *ret, struct err *err) MUST_USE;

/* The same with other limits than PEER_CHANGES_LANES and PEER_CHANGES_PAGES,
 * for tests. */
enum rc peer_changes_read_within(struct db *db, int64_t now_ms, int64_t lanes,
    int64_t pages, struct peer_changes *ret, struct err *err) MUST_USE;

#endif
