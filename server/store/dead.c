/* SPDX-License-Identifier: MIT */
/*
 * See dead.h.
 */
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "store/dead.h"

enum rc
store_totals_add(
    struct db *db, const struct store_totals *delta, struct err *err)
{
	struct db_val v[STORE_TOTALS];
	const struct db_set set = {v, STORE_TOTALS, 1};
	int i;

	for (i = 0; i < STORE_TOTALS; i++)
		v[i] = db_v_i64(delta->n[i]);
	return (db_write(db, SQL_TOTALS_ADD, &set, err));
}

static enum rc
take_totals(void *arg, const struct db_row *row, struct err *err)
{
	struct store_totals *t = arg;
	int i;

	(void)err;
	for (i = 0; i < STORE_TOTALS; i++)
		t->n[i] = db_row_i64(row, i);
	return (RC_OK);
}

enum rc
store_totals_get(struct db *db, struct store_totals *ret, struct err *err)
{

	memset(ret, 0, sizeof(*ret));
	return (
	    db_run(db, SQL_TOTALS_GET, NULL, 0, take_totals, ret, NULL, err));
}

static struct db_val
v_text(const char *s, size_t most)
{
	size_t n;

	if (s == NULL || s[0] == '\0')
		return (DB_V_NULL);
	n = strlen(s);
	return (db_v_text(s, n < most ? n : most));
}

enum rc
store_dead_insert(struct db *db, const struct store_row *row,
    int64_t destination_id, const char *error, int64_t now_ms, struct err *err)
{
	struct db_val v[13];

	v[0] = db_v_i64(row->id);
	v[1] = db_v_i64(row->mid);
	v[2] = db_v_i64(row->sender_id);
	v[3] = db_v_i64(row->dest_user);
	v[4] = db_v_i64(destination_id);
	v[5] = db_v_str(outbox_state_name(row->state));
	v[6] = db_v_str(outbox_reason_word((enum outbox_reason)row->reason));
	v[7] = v_text(error, 512);
	v[8] = db_v_i64(row->attempts);
	v[9] = db_v_i64(row->retry_count);
	v[10] = db_v_i64(row->event_time);
	v[11] = db_v_i64(row->created_at);
	v[12] = db_v_i64(now_ms);
	return (db_run(db, SQL_DEAD_INSERT, v, 13, NULL, NULL, NULL, err));
}

enum rc
store_dead_resolve(struct db *db, int64_t outbox_id, const char *resolution,
    const char *by, int64_t now_ms, struct err *err)
{
	struct db_val v[4];
	int64_t changed;
	enum rc rc;

	v[0] = db_v_i64(outbox_id);
	v[1] = db_v_str(resolution);
	v[2] = db_v_i64(now_ms);
	v[3] = v_text(by, 286);
	rc = db_run(db, SQL_DEAD_RESOLVE, v, 4, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_audit_insert(
    struct db *db, const struct store_audit *a, int64_t now_ms, struct err *err)
{
	struct db_val v[5];

	v[0] = db_v_i64(now_ms);
	v[1] = v_text(a->actor, 286);
	v[2] = v_text(a->action, 64);
	v[3] = v_text(a->object, 286);
	v[4] = v_text(a->detail, 1024);
	return (db_run(db, SQL_AUDIT_INSERT, v, 5, NULL, NULL, NULL, err));
}
