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
	const struct sql_dead_letter_insert v = {.outbox_id = db_v_i64(row->id),
	    .mid = db_v_i64(row->mid),
	    .sender_id = db_v_i64(row->sender_id),
	    .dest_id = db_v_i64(row->dest_user),
	    .destination_id = db_v_i64(destination_id),
	    .state = db_v_str(outbox_state_name(row->state)),
	    .reason =
		db_v_str(outbox_reason_word((enum outbox_reason)row->reason)),
	    .last_error = db_v_text_most(error, 512),
	    .attempts = db_v_i64(row->attempts),
	    .retry_count = db_v_i64(row->retry_count),
	    .event_time = db_v_i64(row->event_time),
	    .created_at = db_v_i64(row->created_at),
	    .now = db_v_i64(now_ms)};

	return (db_run(
	    db, SQL_DEAD_LETTER_INSERT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_dead_letter_resolve(struct db *db, int64_t outbox_id,
    const char *resolution, const char *by, int64_t now_ms, struct err *err)
{
	const struct sql_dead_letter_resolve v = {
	    .outbox_id = db_v_i64(outbox_id),
	    .resolution = db_v_str(resolution),
	    .now = db_v_i64(now_ms),
	    .resolved_by = db_v_text_most(by, 286)};
	int64_t changed;
	enum rc rc;

	rc = db_run(db, SQL_DEAD_LETTER_RESOLVE, DB_PARAMS(v), NULL, NULL,
	    &changed, err);
	if (rc == RC_OK && changed == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

static enum rc
take_object(void *arg, const struct db_row *row, struct err *err)
{
	struct store_dead_letter *o = arg;

	(void)err;
	o->outbox_id = db_row_i64(row, COL_DEAD_LETTER_GET_OUTBOX_ID);
	o->open = db_row_null(row, COL_DEAD_LETTER_GET_RESOLUTION);
	o->message_id = db_row_uuid(row, COL_DEAD_LETTER_GET_MESSAGE_ID);
	db_row_copy_text(
	    row, COL_DEAD_LETTER_GET_RECIPIENT, o->to, sizeof(o->to));
	return (RC_OK);
}

enum rc
store_dead_letter_get(struct db *db, int64_t dead_id,
    struct store_dead_letter *ret, struct err *err)
{
	const struct sql_dead_letter_get v = {.dead_id = db_v_i64(dead_id)};
	enum rc rc;

	ret->outbox_id = 0;
	rc = db_run(
	    db, SQL_DEAD_LETTER_GET, DB_PARAMS(v), take_object, ret, NULL, err);
	return (rc == RC_OK && ret->outbox_id == 0 ? RC_NOT_FOUND : rc);
}
