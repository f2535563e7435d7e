/* SPDX-License-Identifier: MIT */
/*
 * Lanes.  A lane is the queue of the outbox rows of one conversation to one
 * recipient and of one class (messages or receipts), which are delivered in
 * order; the row of the lane holds how far they are delivered.  A lane to an
 * inbox here has the state `local` for ever, whether or not it has pending
 * outbox rows.  A lane to another server is idle (nothing to send), ready (a
 * relay may lease it when it is due), or leased to the relay that holds its
 * lease_token.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_LANE_H
#define STORE_LANE_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

/* Destinations that always exist. */
#define DESTINATION_ALL INT64_C(0)   /* "*": pauses everything */
#define DESTINATION_LOCAL INT64_C(1) /* "local": the inboxes here */

/* Messages and receipts have lanes of their own, so that neither waits behind
 * the other. */
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

/* The result of a search for lanes, at most STORE_LANES at a time. */
#define STORE_LANES 50
struct store_lanes {
	int64_t ids[STORE_LANES];
	int64_t due[STORE_LANES]; /* set by store_lanes_ready() only */
	size_t n;
};

/* How far a pass over the ready lanes of one destination and priority has come.
 * A pass visits the lanes that are due at upto_ms, ordered by due time, then by
 * id.  upto_ms is the time at which the pass began; if the clock is set back
 * during the pass, the caller lowers upto_ms to the new time.  All zero: no
 * pass is under way. */
struct store_pass {
	int64_t upto_ms;         /* only lanes due at this time, wall clock */
	int64_t due_at, lane_id; /* the last lane that was processed */
};

struct store_lane {
	int64_t lane_id;
	int64_t conversation_id;
	int64_t dest_user; /* the recipient, here or on another server */
	int64_t destination_id;
	enum lane_class class;
	enum lane_state state;
	int priority;     /* the highest of its pending rows (not local) */
	int64_t tail_seq; /* the last lane_seq given, or next_seq-1 */
	int64_t next_seq; /* the first lane_seq that is not settled */
	int64_t last_published_seq; /* the last one delivered */
	int64_t due_at;             /* no delivery before this time */
	int64_t lease_token;        /* grows with each lease */
	int64_t lease_until;        /* 0: not leased */
	int64_t replay_seq;         /* rows are sent again from here; 0: none */
	int64_t acked_seq;          /* acked on the other server up to here */
	char lease_owner[LANE_OWNER_SIZE]; /* "": not leased */
};

/* The name of a state in the database: "local", "idle" and so on. */
const char *lane_state_name(enum lane_state state);

/* Finds the lane with the conversation, recipient (dest_user) and class of
 * ${key}.  Of ${key}->destination_id it matters only whether it is
 * DESTINATION_LOCAL.  RC_NOT_FOUND: there is no such lane yet. */
enum rc store_lane_find(struct db *db, const struct store_lane *key,
    struct store_lane *ret, struct err *err) MUST_USE;

/* Reads a lane by id; RC_NOT_FOUND: there is none. */
enum rc store_lane_get(struct db *db, int64_t lane_id, struct store_lane *ret,
    struct err *err) MUST_USE;

/* Inserts the row of a new lane with the conversation, recipient (dest_user),
 * destination and class of ${lane}.  In *lane it sets lane_id, state
 * (LANE_LOCAL or LANE_IDLE) and next_seq (1), and leaves the other members,
 * which the caller has zeroed. */
enum rc store_lane_insert(struct db *db, struct store_lane *lane,
    int64_t now_ms, struct err *err) MUST_USE;

/* Examines at most ${limit} local lanes that have pending rows and ids above
 * ${after}, in ascending order, and calls ${each} for those that are due at
 * ${now_ms}.  *ret_last: the id after which the next call continues; 0: there
 * are no more. */
enum rc store_lanes_pending(struct db *db, int64_t now_ms, int64_t after,
    int64_t limit, void (*each)(void *arg, int64_t lane_id), void *arg,
    int64_t *ret_last, struct err *err) MUST_USE;

/* Finds at most STORE_LANES ready lanes to ${destination_id} of ${priority}
 * that are due at ${pass}->upto_ms, ordered by due time, then by id, after the
 * last lane that ${pass} has processed.  The caller advances ${pass}.  On
 * PostgreSQL a writer's connection locks the conversations of these lanes, and
 * leaves out lanes whose conversation another transaction has locked.  If fewer
 * than STORE_LANES are found, no other lanes remain for the pass, except those
 * that were left out. */
enum rc store_lanes_ready(struct db *db, int64_t destination_id, int priority,
    const struct store_pass *pass, struct store_lanes *ret,
    struct err *err) MUST_USE;

/* *ret: the earliest due time of the ready lanes to ${destination_id}, which
 * may have passed, and is at least 1; 0: no lane is ready. */
enum rc store_lanes_ready_next(struct db *db, int64_t destination_id,
    int64_t *ret, struct err *err) MUST_USE;

/* *ret: the highest priority of the pending rows of a lane to another server,
 * without scheduled rows; PRIORITY_LOW if the lane has no such row. */
enum rc store_lane_top_priority(
    struct db *db, int64_t lane_id, int *ret, struct err *err) MUST_USE;

/* The fence: called before the results of a delivery are written, so that only
 * the holder of the lease can write them.  Ends the lease of a lane, which
 * becomes ready, if ${token} is still the token of the lane, even if
 * lease_until has passed.  RC_CONFLICT (without an error text): the lane has no
 * lease with this token. */
enum rc store_lane_fence(struct db *db, int64_t lane_id, int64_t token,
    int64_t now_ms, struct err *err) MUST_USE;

/* A lease that is to last until until_ms. */
struct store_renewal {
	int64_t lane_id, token, until_ms;
};

/* Renews a lease if its token is still that of the lane, even if lease_until
 * has passed.  RC_CONFLICT (without an error text): the lane is not leased any
 * more, or is leased with another token. */
enum rc store_lane_renew(struct db *db, const struct store_renewal *r,
    int64_t now_ms, struct err *err) MUST_USE;

/* Finds at most STORE_LANES leased lanes whose lease_until is at most
 * ${now_ms}, or is after ${beyond_ms}, which happens when the clock was set
 * back.  On PostgreSQL a writer's connection locks the conversations of these
 * lanes, and leaves out lanes whose conversation another transaction has
 * locked. */
enum rc store_lanes_stale(struct db *db, int64_t now_ms, int64_t beyond_ms,
    struct store_lanes *ret, struct err *err) MUST_USE;

/* *ret: when the next lease runs out; 0: no lane is leased. */
enum rc store_lanes_lease_next(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

struct sql_lane_set;
struct sql_lane_remote_set;

/* Sets ${ret} to the parameters of SQL_LANE_SET, which writes next_seq,
 * last_published_seq and due_at of ${lane}, a lane to an inbox here.  The
 * caller runs the statement; until then ${lane} must live, because *ret may
 * point into it. */
void store_lane_local_row(
    const struct store_lane *lane, int64_t now_ms, struct sql_lane_set *ret);

/* As store_lane_local_row(), but for a lane to another server and for
 * SQL_LANE_REMOTE_SET, which writes all columns that can ever change. */
void store_lane_remote_row(const struct store_lane *lane, int64_t now_ms,
    struct sql_lane_remote_set *ret);

/* Makes the ready lanes that are due after ${beyond_ms} due at ${now_ms}: no
 * lane is ever postponed that long, so the clock was set back.  One call
 * examines at most 1000 lanes that are due after ${beyond_ms}.  On PostgreSQL
 * lanes whose conversation another transaction has locked are left out.  *ret:
 * the number of lanes that were changed.  If it is not 0, the caller must
 * remove all lanes from its cache (txn/cache.h), because this call does not say
 * which of them it has changed. */
enum rc store_lanes_cap_due(struct db *db, int64_t now_ms, int64_t beyond_ms,
    int64_t *ret, struct err *err) MUST_USE;

/* *ret: whether any lane is due after ${beyond_ms}. */
enum rc store_lanes_due_beyond(
    struct db *db, int64_t beyond_ms, bool *ret, struct err *err) MUST_USE;

#endif
