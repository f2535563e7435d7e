/* SPDX-License-Identifier: MIT */
/*
 * Lanes; see cache.h.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "model/message.h"
#include "store/destination.h"
#include "txn/cache_internal.h"

enum rc
cache_keep_lane(struct cache *cache, struct tx *tx,
    const struct store_lane *row, struct cached_lane **ret, struct err *err)
{
	struct cached_lane *lane;
	struct lane_key key;
	enum rc rc;

	lane = mem_zalloc(1, sizeof(*lane));
	if (lane == NULL)
		return (err_set(err, RC_NO_MEMORY, "cache: lane"));
	lane->lane = *row;
	rc = cache_conversation_by_id(
	    cache, tx, row->conversation_id, &lane->conversation, err);
	if (rc == RC_OK)
		rc = cache_user_by_id(
		    cache, tx, row->dest_user, &lane->dest, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(
		    err, RC_CORRUPT, "a lane without a conversation or a user");
	if (rc != RC_OK)
		goto undo;
	key =
	    (struct lane_key){row->conversation_id, row->dest_user, row->class};
	rc = htab_set(cache->lanes_by_key, &key, lane);
	if (rc == RC_OK) {
		rc = htab_set(cache->lanes_by_id, &lane->lane.lane_id, lane);
		if (rc != RC_OK)
			(void)htab_remove(cache->lanes_by_key, &key);
	}
	if (rc != RC_OK) {
		rc = err_set(err, rc, "cache: lane");
		goto undo;
	}
	*ret = lane;
	return (RC_OK);

undo:
	mem_free(lane);
	return (rc);
}

enum rc
cache_lane_to(struct cache *cache, struct tx *tx, struct cached_conversation *c,
    struct cached_user *dest, enum lane_class class, struct cached_lane **ret,
    struct err *err)
{
	struct store_lane row, want;
	struct lane_key key;
	enum rc rc;

	key = (struct lane_key){c->id, dest->user_id, class};
	*ret = htab_find(cache->lanes_by_key, &key);
	if (*ret != NULL)
		return (RC_OK);
	memset(&want, 0, sizeof(want));
	want.conversation_id = c->id;
	want.dest_user = dest->user_id;
	want.class = class;
	want.destination_id = dest->destination_id != 0 ? dest->destination_id
							: DESTINATION_LOCAL;
	rc = store_lane_find(tx->db, &want, &row, err);
	if (rc == RC_NOT_FOUND) {
		row = want;
		rc = store_lane_insert(tx->db, &row, tx->now_ms, err);
	}
	if (rc == RC_OK)
		rc = cache_keep_lane(cache, tx, &row, ret, err);
	return (rc);
}

/* Reads the current row of a lane from the store.  On a multi-writer database
 * only the lock on its conversation keeps a lane from changing.  If this
 * transaction has not locked the conversation yet, the first read only finds
 * out which conversation it is (the key of a lane never changes); then the
 * conversation is locked and the row is read again. */
static enum rc
read_lane(struct cache *cache, struct tx *tx, int64_t lane_id,
    struct store_lane *ret, struct err *err)
{
	struct cached_conversation *c;
	enum rc rc;

	rc = store_lane_get(tx->db, lane_id, ret, err);
	if (rc != RC_OK || !db_multi_writer(tx->db) ||
	    htab_find(cache->conversations_by_id, &ret->conversation_id) !=
		NULL)
		return (rc);
	rc = cache_conversation_by_id(cache, tx, ret->conversation_id, &c, err);
	if (rc == RC_NOT_FOUND)
		return (
		    err_set(err, RC_CORRUPT, "a lane without a conversation"));
	return (rc == RC_OK ? store_lane_get(tx->db, lane_id, ret, err) : rc);
}

enum rc
cache_lane_by_id(struct cache *cache, struct tx *tx, int64_t lane_id,
    struct cached_lane **ret, struct err *err)
{
	struct store_lane row;
	enum rc rc;

	*ret = htab_find(cache->lanes_by_id, &lane_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = read_lane(cache, tx, lane_id, &row, err);
	if (rc == RC_OK)
		rc = cache_keep_lane(cache, tx, &row, ret, err);
	return (rc);
}

void
cache_lane_touch(struct cache *cache, struct cached_lane *lane)
{

	if (lane->dirty)
		return;
	lane->dirty = true;
	lane->next_dirty = cache->dirty_lanes;
	cache->dirty_lanes = lane;
}

void
cache_lane_recheck_priority(
    struct cache *cache, struct cached_lane *lane, int priority)
{

	if (!cache_lane_remote(lane) || priority < lane->lane.priority ||
	    lane->lane.priority == PRIORITY_LOW)
		return;
	lane->recheck_priority = true;
	cache_lane_touch(cache, lane);
}

void
cache_forget_lanes(struct cache *cache)
{
	size_t pos;
	void *p;

	assert(cache->dirty_lanes == NULL);
	for (pos = 0; (p = htab_next(cache->lanes_by_id, &pos)) != NULL;)
		mem_free(p);
	htab_clear(cache->lanes_by_key);
	htab_clear(cache->lanes_by_id);
}
