/* SPDX-License-Identifier: MIT */
/*
 * See peer_changes.h.  The audit log is read backwards from its newest entry.
 * So the actions of operators after a change are read before the change itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/htab.h"
#include "base/mem.h"
#include "inspect/inspect_internal.h"
#include "inspect/peer_changes.h"
#include "schema/sql.h"

/* A server that was restored. */
struct restored {
	STAILQ_ENTRY(restored) link;
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t audit_id, at; /* of the change */
	size_t n;             /* all its lanes; the first are in the list */
	struct peer_changes_lane first[PEER_CHANGES_NAMED];
};

/* The facts about one server or one lane, by the audit entries that were read
 * so far (the newest first).  ${rewound_by} belongs to a lane, the other facts
 * to a server.  keys_done: older entries about new keys of the server do not
 * count.  epoch_done: older entries about a new epoch of the server (it was
 * restored from a backup) do not count. */
struct subject {
	uint64_t key; /* the id of the server's destination, or of the lane */
	bool keys_done, epoch_done;
	int64_t rewound_by; /* the newest entry about a rewind; 0: none */
	struct restored *restored;
};

struct reading {
	struct peer_changes *ret;
	int64_t keys_since;
	struct htab *peers, *lanes; /* of subjects */
	STAILQ_HEAD(, restored)
	restored;     /* the one restored last is the first */
	int64_t last; /* the last lane that was read */
	size_t came;  /* lanes in this page */
};

/* ---- the audit log ---- */

/* Returns the subject with the key ${key} in the table ${t}, which owns it.  If
 * ${t} has none, adds an empty one.  NULL: memory is short. */
static struct subject *
subject(struct htab *t, uint64_t key)
{
	struct subject *s = htab_find(t, &key);

	if (s != NULL || (s = mem_zalloc(1, sizeof(*s))) == NULL)
		return (s);
	s->key = key;
	if (htab_set(t, &s->key, s) == RC_OK)
		return (s);
	mem_free(s);
	return (NULL);
}

static void
copy(char *ret, size_t size, const char *text)
{

	(void)snprintf(ret, size, "%s", text == NULL ? "" : text);
}

static void
take_keys(struct reading *r, struct subject *peer, const struct db_row *row,
    const char *domain)
{
	struct peer_changes *ret = r->ret;

	if (peer->keys_done ||
	    db_row_i64(row, COL_INSPECT_PEER_CHANGES_AT) < r->keys_since)
		return;
	peer->keys_done = true;
	if (ret->keys++ > 0)
		return;
	copy(ret->keys_domain, sizeof(ret->keys_domain), domain);
	copy(ret->keys_detail, sizeof(ret->keys_detail),
	    inspect_text(row, COL_INSPECT_PEER_CHANGES_DETAIL));
}

static enum rc
take_epoch(struct reading *r, struct subject *peer, const struct db_row *row,
    const char *domain, struct err *err)
{
	struct restored *one;

	if (peer->epoch_done)
		return (RC_OK);
	peer->epoch_done = true;
	if ((one = mem_zalloc(1, sizeof(*one))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "changes of peers"));
	copy(one->domain, sizeof(one->domain), domain);
	one->audit_id = db_row_i64(row, COL_INSPECT_PEER_CHANGES_AUDIT_ID);
	one->at = db_row_i64(row, COL_INSPECT_PEER_CHANGES_AT);
	peer->restored = one;
	STAILQ_INSERT_TAIL(&r->restored, one, link);
	return (RC_OK);
}

/* Handles an entry that says that an operator has dealt with ${peer}. */
static void
take_deed(struct subject *peer, const char *action)
{

	peer->keys_done = true;
	if (strcmp(action, "peer-block") == 0 ||
	    strcmp(action, "peer-forget") == 0)
		peer->epoch_done = true;
}

static enum rc
take_entry(void *arg, const struct db_row *row, struct err *err)
{
	struct reading *r = arg;
	const char *action = inspect_text(row, COL_INSPECT_PEER_CHANGES_ACTION);
	const char *object = inspect_text(row, COL_INSPECT_PEER_CHANGES_OBJECT);
	const bool rewind = strcmp(action, "rewind") == 0;
	struct subject *s;

	if (rewind)
		s = subject(r->lanes, (uint64_t)strtoull(object, NULL, 10));
	else
		s = subject(
		    r->peers, (uint64_t)db_row_i64(row,
				  COL_INSPECT_PEER_CHANGES_DESTINATION_ID));
	if (s == NULL)
		return (err_set(err, RC_NO_MEMORY, "changes of peers"));
	if (rewind && s->rewound_by == 0)
		s->rewound_by =
		    db_row_i64(row, COL_INSPECT_PEER_CHANGES_AUDIT_ID);
	else if (strcmp(action, "peer-keys") == 0)
		take_keys(r, s, row, object);
	else if (strcmp(action, "peer-epoch") == 0)
		return (take_epoch(r, s, row, object, err));
	else if (!rewind)
		take_deed(s, action);
	return (RC_OK);
}

static enum rc
read_entries(struct db *db, int64_t now_ms, struct reading *r, struct err *err)
{
	const struct sql_inspect_peer_changes v = {
	    .since = db_v_i64(now_ms - PEER_CHANGES_EPOCH_MS),
	    .entries = db_v_i64(PEER_CHANGES_ENTRIES),
	    .limit = db_v_i64(PEER_CHANGES_ENTRIES)};

	r->keys_since = now_ms - PEER_CHANGES_KEYS_MS;
	return (db_run(db, SQL_INSPECT_PEER_CHANGES, DB_PARAMS(v), take_entry,
	    r, NULL, err));
}

/* ---- the lanes of servers that were restored ---- */

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct reading *r = arg;
	const struct peer_changes_lane lane = {
	    db_row_i64(row, COL_GAUGES_LANES_KEPT_LANE_ID),
	    db_row_i64(row, COL_GAUGES_LANES_KEPT_FIRST_SEQ)};
	const uint64_t key = (uint64_t)lane.lane_id;
	const uint64_t peer_key =
	    (uint64_t)db_row_i64(row, COL_GAUGES_LANES_KEPT_DESTINATION_ID);
	const struct subject *peer = htab_find(r->peers, &peer_key);
	const struct subject *s = htab_find(r->lanes, &key);
	struct restored *one;

	(void)err;
	r->last = lane.lane_id;
	r->came++;
	if (peer == NULL || (one = peer->restored) == NULL ||
	    lane.seq >
		db_row_i64(row, COL_GAUGES_LANES_KEPT_LAST_PUBLISHED_SEQ) ||
	    db_row_i64(row, COL_GAUGES_LANES_KEPT_FIRST_AT) > one->at)
		return (RC_OK);
	if (s != NULL && s->rewound_by > one->audit_id)
		return (RC_OK);
	if (one->n < PEER_CHANGES_NAMED)
		one->first[one->n] = lane;
	one->n++;
	return (RC_OK);
}

/* Walks all lanes to other servers that have rows in the outbox, ${lanes} lanes
 * a page and at most ${pages} pages, since no index has the lanes to one
 * server.  take_lane() adds each lane that counts (the server may have lost
 * rows of it) to its restored server.  Sets more if no page was empty: there
 * may be lanes that were not read. */
static enum rc
read_lanes(struct db *db, struct reading *r, int64_t lanes, int64_t pages,
    struct err *err)
{
	struct sql_gauges_lanes_kept v = {.limit = db_v_i64(lanes + 1)};
	enum rc rc = RC_OK;

	for (; pages > 0; pages--) {
		r->came = 0;
		v.after = db_v_i64(r->last);
		rc = db_run(db, SQL_GAUGES_LANES_KEPT, DB_PARAMS(v), take_lane,
		    r, NULL, err);
		if (rc != RC_OK || r->came == 0)
			return (rc);
	}
	r->ret->more = true;
	return (RC_OK);
}

/* Stores in the result how many restored servers have a lane that counts
 * (take_lane()), and the domain and the lanes of that one of these servers
 * which was restored last.  If no server has such a lane, but there may be
 * lanes that were not read (more), stores a count of 1 and the domain of the
 * server that was restored last of all, without lanes. */
static void
tell(const struct reading *r)
{
	const struct restored *one, *named = NULL;
	struct peer_changes *ret = r->ret;

	STAILQ_FOREACH(one, &r->restored, link)
	{
		if (one->n == 0)
			continue;
		named = named == NULL ? one : named;
		ret->restored++;
	}
	if (named == NULL && ret->more) {
		named = STAILQ_FIRST(&r->restored);
		ret->restored = 1;
	}
	if (named == NULL)
		return;
	memcpy(ret->restored_domain, named->domain, sizeof(named->domain));
	memcpy(ret->lanes, named->first, sizeof(named->first));
	ret->nlanes = named->n;
}

/* ---- the whole ---- */

static void
free_subjects(struct htab *t)
{
	size_t pos = 0;
	void *s;

	if (t != NULL)
		while ((s = htab_next(t, &pos)) != NULL)
			mem_free(s);
	htab_free(t);
}

enum rc
peer_changes_read_within(struct db *db, int64_t now_ms, int64_t lanes,
    int64_t pages, struct peer_changes *ret, struct err *err)
{
	struct reading r = {.ret = ret};
	struct restored *one;
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	STAILQ_INIT(&r.restored);
	r.peers = htab_new(sizeof(uint64_t));
	r.lanes = htab_new(sizeof(uint64_t));
	if (r.peers == NULL || r.lanes == NULL)
		rc = err_set(err, RC_NO_MEMORY, "changes of peers");
	else
		rc = read_entries(db, now_ms, &r, err);
	if (rc == RC_OK && !STAILQ_EMPTY(&r.restored))
		rc = read_lanes(db, &r, lanes, pages, err);
	if (rc == RC_OK)
		tell(&r);
	while ((one = STAILQ_FIRST(&r.restored)) != NULL) {
		STAILQ_REMOVE_HEAD(&r.restored, link);
		mem_free(one);
	}
	free_subjects(r.peers);
	free_subjects(r.lanes);
	return (rc);
}

enum rc
peer_changes_read(
    struct db *db, int64_t now_ms, struct peer_changes *ret, struct err *err)
{

	return (peer_changes_read_within(
	    db, now_ms, PEER_CHANGES_LANES, PEER_CHANGES_PAGES, ret, err));
}
