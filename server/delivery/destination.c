/* SPDX-License-Identifier: MIT */
/*
 * See destination.h.
 */
#include <stdio.h>
#include <string.h>

#include "delivery/destination.h"
#include "store/audit.h"
#include "txn/lane.h"
#include "txn/local.h"
#include "txn/verb.h"

/* Finds the destination called ${name}, or sets ${ret}. */
static enum rc
find(struct tx *tx, const char *name, struct store_destination_row *row,
    struct refusal *ret, struct err *err)
{
	enum rc rc;

	rc = store_destination_by_name(tx->db, name, row, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	refusal_set(ret, PROBLEM_NOT_FOUND, "",
	    "no message was ever sent to a destination called \"%s\"", name);
	return (RC_OK);
}

/* Adds a row about the action to the audit log, and makes the copies of
 * destinations in memory outdated: the relay of each node reads the
 * destinations again after the commit, and the writer of this node when it next
 * needs to know whether local delivery is paused. */
static enum rc
done_by(struct tx *tx, const char *by, const char *action, const char *name,
    const char *detail, struct err *err)
{
	const struct store_audit audit = {by, action, name, detail};
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	rc = txn_need_effects(env, err);
	if (rc != RC_OK)
		return (rc);
	env->wake->destinations_changed = true;
	txn_local_pauses_changed(tx);
	return (store_audit_insert(tx->db, &audit, tx->now_ms, err));
}

enum rc
destination_pause(struct tx *tx, const char *name, const char *by,
    const char *reason, struct refusal *ret, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = find(tx, name, &row, ret, err);
	if (rc != RC_OK || ret->problem != PROBLEM_NONE)
		return (rc);
	if (row.paused_at == 0)
		row.paused_at = tx->now_ms;
	(void)snprintf(row.paused_by, sizeof(row.paused_by), "%s", by);
	(void)snprintf(row.pause_reason, sizeof(row.pause_reason), "%s",
	    reason != NULL ? reason : "");
	rc = store_destination_pause_set(tx->db, &row, tx->now_ms, err);
	return (rc == RC_OK ? done_by(tx, by, "pause", name, reason, err) : rc);
}

enum rc
destination_resume(struct tx *tx, const char *name, const char *by,
    struct refusal *ret, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = find(tx, name, &row, ret, err);
	if (rc != RC_OK || ret->problem != PROBLEM_NONE)
		return (rc);
	row.paused_at = 0;
	row.paused_by[0] = row.pause_reason[0] = '\0';
	rc = store_destination_pause_set(tx->db, &row, tx->now_ms, err);
	return (rc == RC_OK ? done_by(tx, by, "resume", name, NULL, err) : rc);
}

enum rc
destination_rate(struct tx *tx, const char *name, int64_t per_second,
    const char *by, struct refusal *ret, struct err *err)
{
	struct store_destination_row row;
	char detail[32];
	enum rc rc;

	if (per_second < 0 || per_second > DESTINATION_RATE_MAX) {
		refusal_set(ret, PROBLEM_BAD_REQUEST, "/per_second",
		    "per_second is a number from 0 (no limit) to %d",
		    DESTINATION_RATE_MAX);
		return (RC_OK);
	}
	rc = find(tx, name, &row, ret, err);
	if (rc == RC_OK && ret->problem == PROBLEM_NONE && per_second != 0 &&
	    row.destination_id <= DESTINATION_LOCAL)
		refusal_set(ret, PROBLEM_BAD_REQUEST, "/per_second",
		    "only another server has a rate: what is for the inboxes "
		    "here is delivered as it comes; pause \"%s\" to hold it "
		    "back",
		    name);
	if (rc != RC_OK || ret->problem != PROBLEM_NONE)
		return (rc);
	(void)snprintf(detail, sizeof(detail), "%lld/s", (long long)per_second);
	rc = store_destination_rate_set(
	    tx->db, row.destination_id, per_second, tx->now_ms, err);
	return (rc == RC_OK ? done_by(tx, by, "rate", name, detail, err) : rc);
}

enum rc
destination_rewind_lane(struct tx *tx, int64_t lane_id, int64_t seq,
    const char *by, struct refusal *ret, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	char object[32], detail[64];
	enum rc rc;

	rc = cache_lane_by_id(env->cache, tx, lane_id, &lane, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(ret, PROBLEM_NOT_FOUND, "", "no such lane");
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	if (!cache_lane_remote(lane)) {
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "this lane leads into an inbox here, which has all that "
		    "it was given");
		return (RC_OK);
	}
	(void)snprintf(object, sizeof(object), "%lld", (long long)lane_id);
	if (seq == DESTINATION_NO_PLACE) {
		(void)snprintf(detail, sizeof(detail), "nothing, of %lld",
		    (long long)lane->lane.next_seq - 1);
		return (done_by(tx, by, "rewind", object, detail, err));
	}
	if (seq < 1 || seq >= lane->lane.next_seq) {
		refusal_set(ret, PROBLEM_BAD_REQUEST, "/seq",
		    "seq is a place that was settled: from 1 to %lld",
		    (long long)lane->lane.next_seq - 1);
		return (RC_OK);
	}
	/* A replay that is under way from an earlier place goes on: if it began
	 * again at a later one, the rows between would not be offered. */
	if (lane->lane.replay_seq == 0 || seq < lane->lane.replay_seq)
		lane->lane.replay_seq = seq;
	if (lane->lane.state == LANE_IDLE) {
		lane->lane.state = LANE_READY;
		lane->lane.due_at = 0;
		lane->lane.priority = PRIORITY_LOW; /* nothing waits */
	}
	cache_lane_touch(env->cache, lane);
	(void)snprintf(detail, sizeof(detail), "from %lld, of %lld",
	    (long long)lane->lane.replay_seq,
	    (long long)lane->lane.next_seq - 1);
	rc = txn_wake_lane(tx, lane, lane->lane.priority, err);
	return (
	    rc == RC_OK ? done_by(tx, by, "rewind", object, detail, err) : rc);
}

/* ---- the relay's own ---- */

static int64_t
destination_of(const struct unit *unit)
{

	return (((const struct breaker_unit *)(const void *)unit)
		    ->row.destination_id);
}

/* Sorts the ${n} units by destination id; units for the same destination keep
 * their order.  Several nodes update the rows of destinations, and they cannot
 * deadlock if all of them lock the rows in the order of the ids. */
static void
sort_breakers(struct unit **units, size_t n)
{
	struct unit *unit;
	size_t i, k;

	for (i = 1; i < n; i++) {
		unit = units[i];
		for (k = i; k > 0 &&
			    destination_of(units[k - 1]) > destination_of(unit);
		     k--)
			units[k] = units[k - 1];
		units[k] = unit;
	}
}

static enum rc
breaker_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct breaker_unit *u;
	enum rc rc;
	size_t i;

	sort_breakers(units, n);
	for (i = 0; i < n; i++) {
		u = CONTAINER_OF(units[i], struct breaker_unit, unit);
		rc = store_destination_breaker_set(
		    tx->db, &u->row, tx->now_ms, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

UNIT_KIND(breaker, unit_locks_nothing, .queue = UNIT_DELIVERY,
    .order = ORDER_BREAKER, .apply = breaker_apply);

void
breaker_unit_init(struct breaker_unit *u)
{

	u->unit.kind = &breaker_kind;
	u->unit.bytes = 256;
}
