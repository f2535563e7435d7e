/* SPDX-License-Identifier: MIT */
/*
 * Writes the dirty (changed) objects of the cache to the store before the
 * commit: members of conversations, lanes (queues of outbox rows), devices and
 * the read watermarks of users.  Each kind has a list of dirty objects, and one
 * statement that writes up to FLUSH_ROWS rows together; lanes have two
 * statements, for lanes to inboxes of this server and to other servers.
 */
#include "base/thr.h"
#include "txn/cache_internal.h"

static enum rc
flush_users(
    struct cache *cache, struct tx *tx, struct store_rows *r, struct err *err)
{
	struct cached_user *u;
	struct sql_counter_set *v;
	enum rc rc;

	for (u = cache->dirty_users; u != NULL; u = u->next_dirty) {
		rc = store_next_counter_set(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v->user_id = db_v_i64(u->user_id);
		v->read_seq = db_v_i64(u->counter.read);
		u->dirty = false;
	}
	cache->dirty_users = NULL;
	return (store_rows_write(tx->db, r, true, err));
}

static enum rc
flush_members(struct cached_conversation *c, struct tx *tx,
    struct store_rows *r, struct err *err)
{
	struct cached_member *m;
	struct sql_participant_set *v;
	enum rc rc;
	size_t i;

	for (i = 0; i < c->nmembers; i++) {
		m = &c->members[i];
		if (!m->dirty)
			continue;
		rc = store_next_participant_set(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v->conversation_id = db_v_i64(c->id);
		v->user_id = db_v_i64(m->user->user_id);
		v->delivered_upto = db_v_i64(m->delivered_upto);
		v->acked_upto = db_v_i64(m->acked_upto);
		v->read_upto = db_v_i64(m->read_upto);
		v->acked_at = db_v_i64_or_null(m->acked_at, 0);
		v->read_at = db_v_i64_or_null(m->read_at, 0);
		v->shown_upto = db_v_i64(m->shown_upto);
		v->shown_at = db_v_i64_or_null(m->shown_at, 0);
		m->dirty = false;
	}
	return (RC_OK);
}

static enum rc
flush_participants(
    struct cache *cache, struct tx *tx, struct store_rows *r, struct err *err)
{
	struct cached_conversation *c;
	enum rc rc;

	for (c = cache->dirty_conversations; c != NULL; c = c->next_dirty) {
		c->listed = false;
		rc = flush_members(c, tx, r, err);
		if (rc != RC_OK)
			return (rc);
	}
	cache->dirty_conversations = NULL;
	return (store_rows_write(tx->db, r, true, err));
}

/* If recheck_priority is set, clears it and, if the lane is ready, sets the
 * priority of the lane to the highest priority of its pending rows in the
 * store (PRIORITY_LOW if it has none).  The flag exists because this query
 * costs an index lookup, which most lanes do not need. */
static enum rc
recompute_priority(struct cached_lane *lane, struct tx *tx, struct err *err)
{

	if (!lane->recheck_priority)
		return (RC_OK);
	lane->recheck_priority = false;
	if (lane->lane.state != LANE_READY)
		return (RC_OK);
	return (store_lane_top_priority(
	    tx->db, lane->lane.lane_id, &lane->lane.priority, err));
}

static enum rc
flush_lane(struct cache *cache, struct cached_lane *lane, struct tx *tx,
    struct err *err)
{
	struct sql_lane_remote_set *remote;
	struct sql_lane_set *local;
	enum rc rc;

	rc = recompute_priority(lane, tx, err);
	if (rc == RC_OK && cache_lane_remote(lane)) {
		rc = store_next_lane_remote_set(
		    tx->db, &cache->remote_rows, &remote, err);
		if (rc == RC_OK)
			store_lane_remote_row(&lane->lane, tx->now_ms, remote);
	} else if (rc == RC_OK) {
		rc =
		    store_next_lane_set(tx->db, &cache->lane_rows, &local, err);
		if (rc == RC_OK)
			store_lane_local_row(&lane->lane, tx->now_ms, local);
	}
	if (rc == RC_OK)
		lane->dirty = false;
	return (rc);
}

enum rc
cache_flush_lanes(struct cache *cache, struct tx *tx, struct err *err)
{
	struct cached_lane *lane;
	enum rc rc;

	for (lane = cache->dirty_lanes; lane != NULL; lane = lane->next_dirty) {
		rc = flush_lane(cache, lane, tx, err);
		if (rc != RC_OK)
			return (rc);
	}
	cache->dirty_lanes = NULL;
	rc = store_rows_write(tx->db, &cache->lane_rows, true, err);
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &cache->remote_rows, true, err);
	return (rc);
}

static enum rc
flush_devices(
    struct cache *cache, struct tx *tx, struct store_rows *r, struct err *err)
{
	struct cached_device *device;
	struct sql_device_acked_set *v;
	enum rc rc;

	for (device = cache->dirty_devices; device != NULL;
	     device = device->next_dirty) {
		rc = store_next_device_acked_set(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v->device_id = db_v_i64(device->device_id);
		v->acked_seq = db_v_i64(device->acked);
		v->now = db_v_i64(tx->now_ms);
		device->dirty = false;
	}
	cache->dirty_devices = NULL;
	return (store_rows_write(tx->db, r, true, err));
}

enum rc
cache_flush(struct cache *cache, struct tx *tx, struct err *err)
{
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = flush_participants(cache, tx, &cache->participant_rows, err);
	if (rc == RC_OK)
		rc = cache_flush_lanes(cache, tx, err);
	/* Both statements change watermarks of inboxes. */
	if (rc == RC_OK &&
	    (cache->dirty_devices != NULL || cache->dirty_users != NULL))
		rc = cache_lock_inboxes(cache, tx, err);
	if (rc == RC_OK)
		rc = flush_devices(cache, tx, &cache->device_rows, err);
	if (rc == RC_OK)
		rc = flush_users(cache, tx, &cache->counter_rows, err);
	return (rc);
}
