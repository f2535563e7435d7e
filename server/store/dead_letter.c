/* SPDX-License-Identifier: MIT */
/*
 * See dead_letter.h.
 */
#include "store/dead_letter.h"
#include "model/outbox.h"
#include "schema/sql.h"

enum rc
store_dead_letter_insert(struct db *db, const struct store_row *row,
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
	v[7] = db_v_text_most(error, 512);
	v[8] = db_v_i64(row->attempts);
	v[9] = db_v_i64(row->retry_count);
	v[10] = db_v_i64(row->event_time);
	v[11] = db_v_i64(row->created_at);
	v[12] = db_v_i64(now_ms);
	return (
	    db_run(db, SQL_DEAD_LETTER_INSERT, v, 13, NULL, NULL, NULL, err));
}

enum rc
store_dead_letter_resolve(struct db *db, int64_t outbox_id,
    const char *resolution, const char *by, int64_t now_ms, struct err *err)
{
	struct db_val v[4];
	int64_t changed;
	enum rc rc;

	v[0] = db_v_i64(outbox_id);
	v[1] = db_v_str(resolution);
	v[2] = db_v_i64(now_ms);
	v[3] = db_v_text_most(by, 286);
	rc = db_run(
	    db, SQL_DEAD_LETTER_RESOLVE, v, 4, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

static enum rc
take_object(void *arg, const struct db_row *row, struct err *err)
{
	struct store_dead_letter *o = arg;

	(void)err;
	o->outbox_id = db_row_i64(row, 0);
	o->open = db_row_null(row, 1);
	o->message_id = db_row_uuid(row, 2);
	db_row_copy_text(row, 3, o->to, sizeof(o->to));
	return (RC_OK);
}

enum rc
store_dead_letter_get(struct db *db, int64_t dead_id,
    struct store_dead_letter *ret, struct err *err)
{
	struct db_val v = db_v_i64(dead_id);
	enum rc rc;

	ret->outbox_id = 0;
	rc =
	    db_run(db, SQL_DEAD_LETTER_GET, &v, 1, take_object, ret, NULL, err);
	return (rc == RC_OK && ret->outbox_id == 0 ? RC_NOT_FOUND : rc);
}
