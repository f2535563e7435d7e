/* SPDX-License-Identifier: MIT */
/*
 * Lanes as the store keeps them: one cursor for each conversation, recipient
 * and class.  A lane to an inbox here is `local` for ever: what it owes is
 * found by outbox_pending.  One to another server is idle, ready, or leased to
 * a relay that holds its token.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_LANE_H
#define STORE_LANE_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

/* Destinations that are always there. */
#define DESTINATION_ALL INT64_C(0)   /* "*": to pause everything */
#define DESTINATION_LOCAL INT64_C(1) /* "local": the inboxes here */

/* Messages and receipts do not queue behind each other. */
enum lane_class { LANE_MESSAGES = 0, LANE_RECEIPTS = 1 };

/* X(id, name in the database) */
#define LANE_STATE_TABLE(X)                                                    \
	X(LANE_LOCAL, "local")                                                 \
	X(LANE_IDLE, "idle")                                                   \
	X(LANE_READY, "ready")                                                 \
	X(LANE_LEASED, "leased")

enum lane_state {
#define X(id, name) id,
	LANE_STATE_TABLE(X)
#undef X
	    LANE_STATES
};

#define LANE_OWNER_SIZE 48

/* Lanes found, at most so many at a time. */
#define STORE_LANES 50
struct store_lanes {
	int64_t ids[STORE_LANES];
	int64_t due[STORE_LANES]; /* only of store_lanes_ready() */
	size_t n;
};

/* How far a pass over the ready lanes of one destination and priority has
 * come.  All zero: the next pass is to begin. */
struct store_pass {
	int64_t upto_ms;         /* only lanes that were due then, wall time */
	int64_t due_at, lane_id; /* the last lane that it has dealt with */
};

struct store_lane {
	int64_t lane_id;
	int64_t conversation_id;
	int64_t dest_user; /* a person, here or elsewhere */
	int64_t destination_id;
	enum lane_class class;
	enum lane_state state;
	int priority;     /* the highest of what waits (not local) */
	int64_t tail_seq; /* the last lane_seq given, at least next_seq-1 */
	int64_t next_seq; /* the first that is not settled */
	int64_t last_published_seq; /* the last that was delivered */
	int64_t due_at;             /* not before this time */
	int64_t lease_token;        /* grows with each lease */
	int64_t lease_until;        /* 0: not leased */
	int64_t replay_seq;         /* offered again from here on; 0: none */
	int64_t acked_seq;          /* acked on another server up to here */
	char lease_owner[LANE_OWNER_SIZE]; /* "": not leased */
};

/* "local" … */
const char *lane_state_name(enum lane_state state);

/* The lane that ${key} tells (conversation, recipient, destination, class);
 * RC_NOT_FOUND if there is none yet. */
enum rc store_lane_find(struct db *db, const struct store_lane *key,
    struct store_lane *ret, struct err *err) MUST_USE;

/* A lane by id; RC_NOT_FOUND. */
enum rc store_lane_get(struct db *db, int64_t lane_id, struct store_lane *ret,
    struct err *err) MUST_USE;

/* Adds ${lane} (conversation, recipient, destination, class), which starts at
 * 1; sets its id. */
enum rc store_lane_insert(struct db *db, struct store_lane *lane,
    int64_t now_ms, struct err *err) MUST_USE;

/* Looks at no more than ${limit} local lanes that owe something, those after
 * ${after} (ascending by id), and calls ${each} for those that are due at
 * ${now_ms}.  ${ret_last}: the last one looked at, 0 when the end was
 * reached: where to go on. */
enum rc store_lanes_pending(struct db *db, int64_t now_ms, int64_t after,
    int64_t limit, void (*each)(void *arg, int64_t lane_id), void *arg,
    int64_t *ret_last, struct err *err) MUST_USE;

/* Lanes to ${destination_id} of ${priority} that are ready and that ${pass} has
 * still to deal with: by the time at which they were due, then by id.  Fewer
 * than STORE_LANES: there are no others. */
enum rc store_lanes_ready(struct db *db, int64_t destination_id, int priority,
    const struct store_pass *pass, struct store_lanes *ret,
    struct err *err) MUST_USE;

/* When the next lane to ${destination_id} is due, now or later; 0: none is
 * ready. */
enum rc store_lanes_ready_next(struct db *db, int64_t destination_id,
    int64_t *ret, struct err *err) MUST_USE;

/* The highest priority of what waits in a lane to another server, PRIORITY_LOW
 * when nothing does. */
enum rc store_lane_top_priority(
    struct db *db, int64_t lane_id, int *ret, struct err *err) MUST_USE;

/* The fence: ends the lease of a lane if ${token} is still its token.
 * RC_CONFLICT (without a text): somebody else has it. */
enum rc store_lane_fence(struct db *db, int64_t lane_id, int64_t token,
    int64_t now_ms, struct err *err) MUST_USE;

/* A lease that is to run until ${until_ms}. */
struct store_renewal {
	int64_t lane_id, token, until_ms;
};

/* Renews a lease if its token is still that of the lane.  RC_CONFLICT (without
 * a text): it was ended, or somebody else has it. */
enum rc store_lane_renew(struct db *db, const struct store_renewal *r,
    int64_t now_ms, struct err *err) MUST_USE;

/* Lanes whose leases have run out at ${now_ms}, or run beyond ${beyond_ms}. */
enum rc store_lanes_stale(struct db *db, int64_t now_ms, int64_t beyond_ms,
    struct store_lanes *ret, struct err *err) MUST_USE;

/* When the next lease runs out; 0: there is none. */
enum rc store_lanes_lease_next(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

struct sql_lane_set;
struct sql_lane_remote_set;

/* Fills the row that writes ${lane}, to an inbox here, as it is now.  *ret
 * borrows from ${lane}. */
void store_lane_local_row(
    const struct store_lane *lane, int64_t now_ms, struct sql_lane_set *ret);

/* The same of a lane to another server. */
void store_lane_remote_row(const struct store_lane *lane, int64_t now_ms,
    struct sql_lane_remote_set *ret);

/* What is due after ${beyond_ms} is due at ${now_ms}: the clock was put back.
 * *ret: how many lanes. */
enum rc store_lanes_cap_due(struct db *db, int64_t now_ms, int64_t beyond_ms,
    int64_t *ret, struct err *err) MUST_USE;

/* Whether any lane is due after ${beyond_ms}. */
enum rc store_lanes_due_beyond(
    struct db *db, int64_t beyond_ms, bool *ret, struct err *err) MUST_USE;

#endif
