/* SPDX-License-Identifier: MIT */
/*
 * What has changed at other servers, and no operator has dealt with yet: other
 * keys, and another epoch (the server was restored from a backup and may have
 * lost what was sent to it).
 *
 * All of it is found in rows that are there anyway: the audit log and the
 * lanes.  So it outlives a restart, and each node finds the same.
 */
#ifndef INSPECT_PEER_CHANGES_H
#define INSPECT_PEER_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "db/db.h"

/* How long a change is told, unless an operator deals with it before. */
#define PEER_CHANGES_KEYS_MS INT64_C(86400000)
#define PEER_CHANGES_EPOCH_MS (7 * INT64_C(86400000))
/* So many of the newest entries of the audit log are looked at. */
#define PEER_CHANGES_ENTRIES 10000
/* Lanes to other servers are looked at so many at a time, so many times. */
#define PEER_CHANGES_LANES 20000
#define PEER_CHANGES_PAGES 16
/* Lanes that are named. */
#define PEER_CHANGES_NAMED 5
/* Bytes of what the audit log says of keys. */
#define PEER_CHANGES_DETAIL 400

/* A lane, and the first place in it that can be offered again. */
struct peer_changes_lane {
	int64_t lane_id, seq;
};

struct peer_changes {
	/* Servers whose believed keys have changed within
	 * PEER_CHANGES_KEYS_MS, and that no operator has pinned, unpinned,
	 * blocked, unblocked or forgotten since; the newest change. */
	size_t keys;
	char keys_domain[LIMIT_DOMAIN_LEN + 1];
	char keys_detail[PEER_CHANGES_DETAIL];

	/* Servers whose epoch has changed within PEER_CHANGES_EPOCH_MS, and
	 * that no operator has blocked or forgotten since, with lanes in which
	 * something was sent before and that were not rewound since; and the
	 * lanes of the one that was restored last.  more: not all lanes were
	 * looked at, and such a server may have others; if none was found, the
	 * server that was restored last is told of without lanes. */
	size_t restored;
	bool more;
	char restored_domain[LIMIT_DOMAIN_LEN + 1];
	size_t nlanes; /* all of them; the first are named */
	struct peer_changes_lane lanes[PEER_CHANGES_NAMED];
};

/* Reads them as they are at ${now_ms} of wall time.
 * Thread: the owner of ${db}. */
enum rc peer_changes_read(struct db *db, int64_t now_ms,
    struct peer_changes *ret, struct err *err) MUST_USE;

/* The same with other limits than PEER_CHANGES_LANES and PEER_CHANGES_PAGES,
 * for tests. */
enum rc peer_changes_read_within(struct db *db, int64_t now_ms, int64_t lanes,
    int64_t pages, struct peer_changes *ret, struct err *err) MUST_USE;

#endif
