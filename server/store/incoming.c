/* SPDX-License-Identifier: MIT */
/*
 * See incoming.h.
 */
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "store/incoming.h"

static enum rc
take_any(void *arg, const struct db_row *row, struct err *err)
{
	bool *found = arg;

	(void)row;
	(void)err;
	*found = true;
	return (RC_OK);
}

static enum rc
take_processed(void *arg, const struct db_row *row, struct err *err)
{
	struct store_processed *p = arg;

	(void)err;
	p->found = true;
	p->sequence = db_row_i64(row, COL_PROCESSED_FIND_SEQUENCE);
	p->behind = db_row_i64(row, COL_PROCESSED_FIND_BEHIND);
	return (RC_OK);
}

enum rc
store_processed_find(struct db *db, const struct store_event_key *key,
    struct store_processed *ret, struct err *err)
{
	const struct sql_processed_find v = {
	    .event_id = db_v_uuid(&key->event_id),
	    .origin = db_v_i64(key->origin)};

	*ret = (struct store_processed){.found = false};
	return (db_run(db, SQL_PROCESSED_FIND, DB_PARAMS(v), take_processed,
	    ret, NULL, err));
}

enum rc
store_processed_add(struct db *db, const struct store_event_key *key,
    const struct store_processed *as, int64_t now_ms, struct err *err)
{
	const struct sql_processed_insert v = {
	    .event_id = db_v_uuid(&key->event_id),
	    .origin = db_v_i64(key->origin),
	    .now = db_v_i64(now_ms),
	    .sequence = db_v_i64_or_null(as->sequence, 0),
	    .behind = db_v_i64_or_null(as->behind, 0)};

	return (db_run(
	    db, SQL_PROCESSED_INSERT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

struct fingerprint {
	bool found;
	uint8_t value[STORE_FINGERPRINT_LEN];
};

static enum rc
take_fingerprint(void *arg, const struct db_row *row, struct err *err)
{
	struct fingerprint *f = arg;
	const void *p;
	size_t n;

	p = db_row_blob(row, COL_INCOMING_FIND_FINGERPRINT, &n);
	if (p == NULL || n != sizeof(f->value))
		return (err_set(err, RC_CORRUPT, "a message's fingerprint"));
	f->found = true;
	memcpy(f->value, p, n);
	return (RC_OK);
}

enum rc
store_incoming_fingerprint(struct db *db, const struct store_event_key *key,
    int64_t user_id, uint8_t ret[STORE_FINGERPRINT_LEN], struct err *err)
{
	const struct sql_incoming_find v = {
	    .event_id = db_v_uuid(&key->event_id),
	    .user_id = db_v_i64(user_id),
	    .origin = db_v_i64(key->origin)};
	struct fingerprint f = {.found = false};
	enum rc rc;

	rc = db_run(db, SQL_INCOMING_FIND, DB_PARAMS(v), take_fingerprint, &f,
	    NULL, err);
	if (rc == RC_OK && !f.found)
		return (RC_NOT_FOUND);
	memcpy(ret, f.value, sizeof(f.value));
	return (rc);
}

enum rc
store_nonce_find(
    struct db *db, const struct store_nonce *nonce, bool *ret, struct err *err)
{
	const struct sql_nonce_find v = {
	    .destination_id = db_v_i64(nonce->origin),
	    .key_id = db_v_str(nonce->key_id),
	    .nonce = db_v_str(nonce->nonce)};

	*ret = false;
	return (
	    db_run(db, SQL_NONCE_FIND, DB_PARAMS(v), take_any, ret, NULL, err));
}

enum rc
store_nonce_add(struct db *db, const struct store_nonce *nonce, struct err *err)
{
	const struct sql_nonce_insert v = {
	    .destination_id = db_v_i64(nonce->origin),
	    .key_id = db_v_str(nonce->key_id),
	    .nonce = db_v_str(nonce->nonce),
	    .keep_until = db_v_i64(nonce->keep_until)};
	int64_t changed;
	enum rc rc;

	rc = db_run(
	    db, SQL_NONCE_INSERT, DB_PARAMS(v), NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		return (err_set(err, RC_CONFLICT, "a nonce is taken twice"));
	return (rc);
}

enum rc
store_nonces_expire(
    struct db *db, int64_t now_ms, int64_t limit, struct err *err)
{
	const struct sql_nonce_expire v = {
	    .now = db_v_i64(now_ms), .limit = db_v_i64(limit)};

	return (
	    db_run(db, SQL_NONCE_EXPIRE, DB_PARAMS(v), NULL, NULL, NULL, err));
}

static enum rc
take_sequence(void *arg, const struct db_row *row, struct err *err)
{
	int64_t *last = arg;

	(void)err;
	*last = db_row_i64(row, COL_SEQUENCE_GET_LAST_SEQUENCE);
	return (RC_OK);
}

enum rc
store_sequence_get(struct db *db, const struct store_sequence *s, int64_t *ret,
    struct err *err)
{
	const struct sql_sequence_get v = {.sender_id = db_v_i64(s->sender_id),
	    .recipient_id = db_v_i64(s->recipient_id),
	    .class = db_v_i64(s->class)};

	*ret = 0;
	return (db_run(
	    db, SQL_SEQUENCE_GET, DB_PARAMS(v), take_sequence, ret, NULL, err));
}

enum rc
store_sequence_set(struct db *db, const struct store_sequence *s, int64_t last,
    struct err *err)
{
	const struct sql_sequence_set v = {.sender_id = db_v_i64(s->sender_id),
	    .recipient_id = db_v_i64(s->recipient_id),
	    .class = db_v_i64(s->class),
	    .last_sequence = db_v_i64(last)};

	return (
	    db_run(db, SQL_SEQUENCE_SET, DB_PARAMS(v), NULL, NULL, NULL, err));
}

static enum rc
take_target(void *arg, const struct db_row *row, struct err *err)
{
	struct store_target *t = arg;

	(void)err;
	t->mid = db_row_i64(row, COL_RECEIPT_TARGET_MID);
	t->sender_id = db_row_i64(row, COL_RECEIPT_TARGET_SENDER_ID);
	t->conversation_id =
	    db_row_i64(row, COL_RECEIPT_TARGET_CONVERSATION_ID);
	t->conversation_seq =
	    db_row_i64(row, COL_RECEIPT_TARGET_CONVERSATION_SEQ);
	return (RC_OK);
}

enum rc
store_target_get(struct db *db, const struct uuid *id, struct store_target *ret,
    struct err *err)
{
	const struct sql_receipt_target v = {.message_id = db_v_uuid(id)};
	enum rc rc;

	ret->mid = 0;
	rc = db_run(
	    db, SQL_RECEIPT_TARGET, DB_PARAMS(v), take_target, ret, NULL, err);
	return (rc == RC_OK && ret->mid == 0 ? RC_NOT_FOUND : rc);
}

static enum rc
take_place(void *arg, const struct db_row *row, struct err *err)
{
	struct store_place *p = arg;
	char word[33];
	int state;

	(void)err;
	p->lane_id = db_row_i64(row, COL_RECEIPT_PLACE_LANE_ID);
	p->lane_seq = db_row_i64(row, COL_RECEIPT_PLACE_LANE_SEQ);
	p->requeued = db_row_i64(row, COL_RECEIPT_PLACE_REQUEUES) > 0;
	db_row_copy_text(row, COL_RECEIPT_PLACE_STATE, word, sizeof(word));
	state = outbox_state_parse(word);
	p->given_up = state == OUTBOX_FAILED || state == OUTBOX_EXPIRED ||
		      state == OUTBOX_CANCELED;
	return (RC_OK);
}

enum rc
store_place_get(struct db *db, int64_t mid, int64_t dest_id,
    struct store_place *ret, struct err *err)
{
	const struct sql_receipt_place v = {
	    .mid = db_v_i64(mid), .dest_id = db_v_i64(dest_id)};
	enum rc rc;

	ret->lane_id = 0;
	rc = db_run(
	    db, SQL_RECEIPT_PLACE, DB_PARAMS(v), take_place, ret, NULL, err);
	return (rc == RC_OK && ret->lane_id == 0 ? RC_NOT_FOUND : rc);
}

struct covering {
	store_covered_fn each;
	void *arg;
};

static enum rc
take_covered(void *arg, const struct db_row *row, struct err *err)
{
	const struct covering *c = arg;
	const struct store_covered_row covered = {
	    .outbox_id = db_row_i64(row, COL_COVERED_ID),
	    .mid = db_row_i64(row, COL_COVERED_MID),
	    .conversation_seq = db_row_i64(row, COL_COVERED_CONVERSATION_SEQ),
	    .unacked = db_row_i64(row, COL_COVERED_UNACKED) != 0};

	return (c->each(c->arg, &covered, err));
}

enum rc
store_covered(struct db *db, int64_t lane_id, int64_t after, int64_t upto,
    store_covered_fn each, void *arg, struct err *err)
{
	struct covering c = {each, arg};
	const struct sql_receipt_rows v = {.lane_id = db_v_i64(lane_id),
	    .after = db_v_i64(after),
	    .upto = db_v_i64(upto)};

	return (db_run(
	    db, SQL_RECEIPT_ROWS, DB_PARAMS(v), take_covered, &c, NULL, err));
}

enum rc
store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err)
{
	struct covering c = {each, arg};
	const struct sql_receipt_row v = {
	    .mid = db_v_i64(mid), .dest_id = db_v_i64(dest_id)};

	return (db_run(
	    db, SQL_RECEIPT_ROW, DB_PARAMS(v), take_covered, &c, NULL, err));
}

enum rc
store_receipt_note(struct db *db, int64_t mid, int64_t dest_id, int64_t now_ms,
    struct err *err)
{
	const struct sql_receipt_note v = {.mid = db_v_i64(mid),
	    .dest_id = db_v_i64(dest_id),
	    .now = db_v_i64(now_ms)};

	return (
	    db_run(db, SQL_RECEIPT_NOTE, DB_PARAMS(v), NULL, NULL, NULL, err));
}
