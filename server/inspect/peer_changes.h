/* SPDX-License-Identifier: MIT */
/*
 * Changes at other servers of which a user is known here, and that no operator
 * has dealt with yet: new keys, and a new epoch (the server was restored from a
 * backup, and may have lost what was sent to it).
 *
 * They are derived from rows that exist anyway: the audit log and the lanes.
 * So they survive a restart, and each node finds the same changes.
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
	/* keys: the number of servers whose accepted keys have changed within
	 * PEER_CHANGES_KEYS_MS, and that no operator has pinned, unpinned,
	 * blocked, unblocked or forgotten since.  The texts are those of the
	 * newest change. */
	size_t keys;
	char keys_domain[LIMIT_DOMAIN_LEN + 1];
	char keys_detail[PEER_CHANGES_DETAIL];

	/*
	 * restored: the number of servers whose epoch has changed within
	 * PEER_CHANGES_EPOCH_MS, that no operator has blocked or forgotten
	 * since, and to which a lane has sent its first kept row before the
	 * change and was not rewound after it.  Domain and lanes are those of
	 * the server that was restored last.
	 *
	 * more: not all lanes were read, so a restored server may have more
	 * lanes than are counted here.  If ${more} is set and no lane was found
	 * at all, the server that was restored last is reported without lanes.
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
