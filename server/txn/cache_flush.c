/* SPDX-License-Identifier: MIT */
/*
 * Writing back: one list of dirty objects a kind, one statement each.
 */
#include "base/thr.h"
#include "txn/cache_internal.h"

static enum rc
flush_users(
    struct cache *cache, struct tx *tx, struct store_rows *r, struct err *err)
{
	struct cached_user *u;
	struct db_val *v;
	enum rc rc;

	for (u = cache->dirty_users; u != NULL; u = u->next_dirty) {
		rc = store_rows_next(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v[0] = db_v_i64(u->user_id);
		v[1] = db_v_i64(u->counter.read);
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
	struct db_val *v;
	enum rc rc;
	size_t i;

	for (i = 0; i < c->nmembers; i++) {
		m = &c->members[i];
		if (!m->dirty)
			continue;
		rc = store_rows_next(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v[0] = db_v_i64(c->id);
		v[1] = db_v_i64(m->user->user_id);
		v[2] = db_v_i64(m->delivered_upto);
		v[3] = db_v_i64(m->acked_upto);
		v[4] = db_v_i64(m->read_upto);
		v[5] = db_v_i64_or_null(m->acked_at, 0);
		v[6] = db_v_i64_or_null(m->read_at, 0);
		v[7] = db_v_i64(m->shown_upto);
		v[8] = db_v_i64_or_null(m->shown_at, 0);
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

/* One look at an index, and only for a lane that others may see as more urgent
 * than it is. */
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

enum rc
cache_flush_lanes(struct cache *cache, struct tx *tx, struct err *err)
{
	struct cached_lane *lane;
	struct store_rows *r;
	struct db_val *v;
	enum rc rc;

	for (lane = cache->dirty_lanes; lane != NULL; lane = lane->next_dirty) {
		r = cache_lane_remote(lane) ? &cache->remote_rows
					    : &cache->lane_rows;
		rc = recompute_priority(lane, tx, err);
		if (rc == RC_OK)
			rc = store_rows_next(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		store_lane_values(&lane->lane, tx->now_ms, v);
		lane->dirty = false;
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
	struct db_val *v;
	enum rc rc;

	for (device = cache->dirty_devices; device != NULL;
	     device = device->next_dirty) {
		rc = store_rows_next(tx->db, r, &v, err);
		if (rc != RC_OK)
			return (rc);
		v[0] = db_v_i64(device->device_id);
		v[1] = db_v_i64(device->acked);
		v[2] = db_v_i64(tx->now_ms);
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
	/* These move marks of inboxes. */
	if (rc == RC_OK &&
	    (cache->dirty_devices != NULL || cache->dirty_users != NULL))
		rc = cache_lock_inboxes(cache, tx, err);
	if (rc == RC_OK)
		rc = flush_devices(cache, tx, &cache->device_rows, err);
	if (rc == RC_OK)
		rc = flush_users(cache, tx, &cache->counter_rows, err);
	return (rc);
}
