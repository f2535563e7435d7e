/* SPDX-License-Identifier: MIT */
/*
 * See peer_changes.h.  The audit log is read from its newest entry backwards:
 * what an operator did after a change is known when the change is met.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "inspect/inspect_internal.h"
#include "inspect/peer_changes.h"
#include "schema/sql.h"
#include "store/destination.h"

/* What the entries that were read so far say of one server, or of one lane. */
struct subject {
	uint64_t key; /* the hash of the server's name; or the lane's id */
	bool keys_done, epoch_done;
	int64_t rewound_by; /* the newest entry about its rewind */
};

/* A server that was restored. */
struct restored {
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t audit_id, at;
};

struct reading {
	struct peer_changes *ret;
	int64_t keys_since;
	struct htab *peers, *lanes; /* of subjects */
	size_t nrestored;
	struct restored restored[PEER_CHANGES_RESTORED];
};

/* ---- the audit log ---- */

/* The subject ${key} of ${t}; NULL: no memory. */
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

static void
take_epoch(struct reading *r, struct subject *peer, const struct db_row *row,
    const char *domain)
{
	struct restored *one = &r->restored[r->nrestored];

	if (peer->epoch_done || r->nrestored == PEER_CHANGES_RESTORED)
		return;
	peer->epoch_done = true;
	r->nrestored++;
	copy(one->domain, sizeof(one->domain), domain);
	one->audit_id = db_row_i64(row, COL_INSPECT_PEER_CHANGES_AUDIT_ID);
	one->at = db_row_i64(row, COL_INSPECT_PEER_CHANGES_AT);
}

/* An operator has dealt with ${peer}. */
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
		s = subject(r->peers, htab_hash(object, strlen(object)));
	if (s == NULL)
		return (err_set(err, RC_NO_MEMORY, "changes of peers"));
	if (rewind && s->rewound_by == 0)
		s->rewound_by =
		    db_row_i64(row, COL_INSPECT_PEER_CHANGES_AUDIT_ID);
	else if (strcmp(action, "peer-keys") == 0)
		take_keys(r, s, row, object);
	else if (strcmp(action, "peer-epoch") == 0)
		take_epoch(r, s, row, object);
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

/* ---- the lanes of a server that was restored ---- */

struct lanes {
	const struct reading *reading;
	int64_t audit_id; /* of the change */
	size_t n;
	struct peer_changes_lane first[PEER_CHANGES_NAMED];
};

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct lanes *l = arg;
	const struct peer_changes_lane lane = {
	    db_row_i64(row, COL_GAUGES_LANES_KEPT_LANE_ID),
	    db_row_i64(row, COL_GAUGES_LANES_KEPT_FIRST_SEQ)};
	const uint64_t key = (uint64_t)lane.lane_id;
	const struct subject *s = htab_find(l->reading->lanes, &key);

	(void)err;
	if (s != NULL && s->rewound_by > l->audit_id)
		return (RC_OK);
	if (l->n < PEER_CHANGES_NAMED)
		l->first[l->n] = lane;
	l->n++;
	return (RC_OK);
}

static enum rc
read_lanes(struct db *db, const struct reading *r, const struct restored *one,
    struct err *err)
{
	struct peer_changes *ret = r->ret;
	struct lanes l = {.reading = r, .audit_id = one->audit_id};
	struct sql_gauges_lanes_kept v = {
	    .upto = db_v_i64(one->at), .limit = db_v_i64(PEER_CHANGES_LANES)};
	struct store_destination_row d;
	enum rc rc;

	rc = store_destination_by_name(db, one->domain, &d, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	v.destination_id = db_v_i64(d.destination_id);
	rc = db_run(
	    db, SQL_GAUGES_LANES_KEPT, DB_PARAMS(v), take_lane, &l, NULL, err);
	if (rc != RC_OK || l.n == 0)
		return (rc);
	if (ret->restored++ > 0)
		return (RC_OK);
	memcpy(ret->restored_domain, one->domain, sizeof(one->domain));
	memcpy(ret->lanes, l.first, sizeof(l.first));
	ret->nlanes = l.n;
	return (RC_OK);
}

/* ---- all of it ---- */

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
peer_changes_read(
    struct db *db, int64_t now_ms, struct peer_changes *ret, struct err *err)
{
	struct reading r = {.ret = ret};
	enum rc rc = RC_OK;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	r.peers = htab_new(sizeof(uint64_t));
	r.lanes = htab_new(sizeof(uint64_t));
	if (r.peers == NULL || r.lanes == NULL)
		rc = err_set(err, RC_NO_MEMORY, "changes of peers");
	else
		rc = read_entries(db, now_ms, &r, err);
	for (i = 0; i < r.nrestored && rc == RC_OK; i++)
		rc = read_lanes(db, &r, &r.restored[i], err);
	free_subjects(r.peers);
	free_subjects(r.lanes);
	return (rc);
}
