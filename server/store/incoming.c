/* SPDX-License-Identifier: MIT */
/*
 * See incoming.h.
 */
#include <string.h>

#include "base/mem.h"
#include "model/outbox.h"
#include "schema/sql.h"
#include "store/incoming.h"
#include "store/peer.h"

/* The parameters of a query, row by row. */
struct rows {
	void *v; /* structs of values; NULL: out of memory */
	size_t width, n;
};

/* ${n} rows at ${v}. */
#define ROWS(v, n)                                                             \
	((struct rows){(v), sizeof(*(v)) / sizeof(struct db_val), (n)})

/* Queues ${stmt} for ${rows} (db_pipeline_query()), and frees ${rows}, also
 * after an error.  ${each} is called with ${h} for each result row.  For an
 * INSERT ${each} is NULL, because its result needs no check: the INSERT stores
 * all its rows, or fails. */
static enum rc
ask(struct db *db, int stmt, struct rows rows, db_row_fn each,
    const struct store_incoming_handler *h, struct err *err)
{
	const struct db_set set = {rows.v, rows.width, rows.n};
	enum rc rc;

	if (rows.v == NULL)
		return (err_set(err, RC_NO_MEMORY, "a request's rows"));
	rc = db_pipeline_query(db, stmt, &set, each, (void *)(uintptr_t)h, err);
	mem_free(rows.v);
	return (rc);
}

enum rc
store_incoming_answers(struct db *db, struct err *err)
{

	return (db_pipeline_flush(db, err));
}

/* ---- events ---- */

static enum rc
take_processed(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct store_processed p = {
	    .key.event_id = db_row_uuid(row, COL_PROCESSED_FIND_EVENT_ID),
	    .sequence = db_row_i64(row, COL_PROCESSED_FIND_SEQUENCE),
	    .behind = db_row_i64(row, COL_PROCESSED_FIND_BEHIND)};

	(void)err;
	h->processed(h->arg, &p);
	return (RC_OK);
}

enum rc
store_processed_find(struct db *db, const struct store_event_key *keys,
    size_t n, const struct store_incoming_handler *h, struct err *err)
{
	struct sql_processed_find *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].event_id = db_v_uuid(&keys[i].event_id);
		v[i].origin = db_v_i64(keys[i].origin);
	}
	return (
	    ask(db, SQL_PROCESSED_FIND, ROWS(v, n), take_processed, h, err));
}

enum rc
store_processed_add(struct db *db, const struct store_processed *events,
    size_t n, int64_t now_ms, struct err *err)
{
	struct sql_processed_insert *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].event_id = db_v_uuid(&events[i].key.event_id);
		v[i].origin = db_v_i64(events[i].key.origin);
		v[i].now = db_v_i64(now_ms);
		v[i].sequence = db_v_i64_or_null(events[i].sequence, 0);
		v[i].behind = db_v_i64_or_null(events[i].behind, 0);
	}
	return (ask(db, SQL_PROCESSED_INSERT, ROWS(v, n), NULL, NULL, err));
}

/* Returns the fingerprint in column ${col}; NULL: it is damaged. */
static const uint8_t *
fingerprint(const struct db_row *row, int col)
{
	const void *p;
	size_t n;

	p = db_row_blob(row, col, &n);
	return (n == STORE_FINGERPRINT_LEN ? p : NULL);
}

static enum rc
take_incoming(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct uuid id = db_row_uuid(row, COL_INCOMING_FIND_EVENT_ID);
	const uint8_t *p = fingerprint(row, COL_INCOMING_FIND_FINGERPRINT);

	if (p == NULL)
		return (err_set(err, RC_CORRUPT, "a message's fingerprint"));
	h->incoming(h->arg, &id, db_row_i64(row, COL_INCOMING_FIND_USER_ID), p);
	return (RC_OK);
}

enum rc
store_incoming_find(struct db *db, const struct store_incoming_key *keys,
    size_t n, const struct store_incoming_handler *h, struct err *err)
{
	struct sql_incoming_find *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].event_id = db_v_uuid(&keys[i].event.event_id);
		v[i].user_id = db_v_i64(keys[i].user_id);
		v[i].origin = db_v_i64(keys[i].event.origin);
	}
	return (ask(db, SQL_INCOMING_FIND, ROWS(v, n), take_incoming, h, err));
}

static enum rc
take_taken(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct uuid id = db_row_uuid(row, COL_LOCK_KEYS_MESSAGE_ID);
	const uint8_t *p = fingerprint(row, COL_LOCK_KEYS_FINGERPRINT);

	if (p == NULL)
		return (err_set(err, RC_CORRUPT, "a message's fingerprint"));
	h->taken(h->arg, &id, db_row_i64(row, COL_LOCK_KEYS_SENDER_ID), p);
	return (RC_OK);
}

enum rc
store_taken_find(struct db *db, const struct uuid *message_ids, size_t n,
    const struct store_incoming_handler *h, struct err *err)
{
	struct sql_lock_keys *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++)
		v[i].message_id = db_v_uuid(&message_ids[i]);
	return (ask(db, SQL_LOCK_KEYS, ROWS(v, n), take_taken, h, err));
}

/* ---- requests ---- */

static enum rc
take_any(void *arg, const struct db_row *row, struct err *err)
{
	bool *found = arg;

	(void)row;
	(void)err;
	*found = true;
	return (RC_OK);
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
	return (db_pipeline_query(
	    db, SQL_NONCE_FIND, &DB_SET(&v, 1), take_any, ret, err));
}

static enum rc
take_origin(void *arg, const struct db_row *row, struct err *err)
{
	struct store_origin *o = arg;
	const void *public;
	size_t n;

	(void)err;
	public = db_row_blob(row, COL_ORIGIN_FIND_PUBLIC, &n);
	o->blocked = !db_row_null(row, COL_ORIGIN_FIND_BLOCKED_AT);
	o->used = db_row_i64(row, COL_ORIGIN_FIND_UPDATED_AT) != 0;
	o->verifies = public != NULL && n == STORE_PEER_PUBLIC_SIZE &&
		      memcmp(public, o->public, n) == 0 &&
		      (db_row_i64(row, COL_ORIGIN_FIND_PINNED) > 0
			      ? !db_row_null(row, COL_ORIGIN_FIND_PINNED_BY)
			      : db_row_null(row, COL_ORIGIN_FIND_RETIRED_AT));
	return (RC_OK);
}

enum rc
store_origin_ask(struct db *db, struct store_origin *o, struct err *err)
{
	const struct sql_origin_find v = {.destination_id = db_v_i64(o->origin),
	    .key_id = db_v_str(o->key_id)};

	o->blocked = o->verifies = o->used = false;
	return (db_pipeline_query(
	    db, SQL_ORIGIN_FIND, &DB_SET(&v, 1), take_origin, o, err));
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

	return (db_pipeline_query(
	    db, SQL_NONCE_EXPIRE, &DB_SET(&v, 1), NULL, NULL, err));
}

/* ---- sequences ---- */

static enum rc
take_sequence(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct store_sequence s = {
	    .sender_id = db_row_i64(row, COL_SEQUENCE_GET_SENDER_ID),
	    .recipient_id = db_row_i64(row, COL_SEQUENCE_GET_RECIPIENT_ID),
	    .class = (int)db_row_i64(row, COL_SEQUENCE_GET_CLASS),
	    .last = db_row_i64(row, COL_SEQUENCE_GET_LAST_SEQUENCE),
	    .highest = db_row_i64(row, COL_SEQUENCE_GET_HIGHEST),
	    .highest_at = db_row_i64(row, COL_SEQUENCE_GET_HIGHEST_AT)};

	(void)err;
	h->sequence(h->arg, &s);
	return (RC_OK);
}

enum rc
store_sequences_get(struct db *db, const struct store_sequence *s, size_t n,
    const struct store_incoming_handler *h, struct err *err)
{
	struct sql_sequence_get *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].sender_id = db_v_i64(s[i].sender_id);
		v[i].recipient_id = db_v_i64(s[i].recipient_id);
		v[i].class = db_v_i64(s[i].class);
	}
	return (ask(db, SQL_SEQUENCE_GET, ROWS(v, n), take_sequence, h, err));
}

enum rc
store_sequences_set(
    struct db *db, const struct store_sequence *s, size_t n, struct err *err)
{
	struct sql_sequence_set *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].sender_id = db_v_i64(s[i].sender_id);
		v[i].recipient_id = db_v_i64(s[i].recipient_id);
		v[i].class = db_v_i64(s[i].class);
		v[i].last_sequence = db_v_i64(s[i].last);
		v[i].highest = db_v_i64(s[i].highest);
		v[i].highest_at = db_v_i64(s[i].highest_at);
	}
	return (ask(db, SQL_SEQUENCE_SET, ROWS(v, n), NULL, NULL, err));
}

/* ---- receipts ---- */

/* Returns the place of the message's outbox row (its lane, its number there and
 * so on) from a result row of the query receipt_target; all members are 0 if
 * the message has no such row. */
static struct store_place
place_of(const struct db_row *row)
{
	struct store_place p = {.lane_id = 0};
	char word[33];
	int state;

	if (db_row_null(row, COL_RECEIPT_TARGET_LANE_ID))
		return (p);
	p.lane_id = db_row_i64(row, COL_RECEIPT_TARGET_LANE_ID);
	p.lane_seq = db_row_i64(row, COL_RECEIPT_TARGET_LANE_SEQ);
	p.requeued = db_row_i64(row, COL_RECEIPT_TARGET_REQUEUES) > 0;
	db_row_copy_text(row, COL_RECEIPT_TARGET_STATE, word, sizeof(word));
	state = outbox_state_parse(word);
	p.given_up = state == OUTBOX_FAILED || state == OUTBOX_EXPIRED ||
		     state == OUTBOX_CANCELED;
	p.created_at = db_row_i64(row, COL_RECEIPT_TARGET_CREATED_AT);
	return (p);
}

static enum rc
take_target(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct store_target t = {
	    .key = {db_row_uuid(row, COL_RECEIPT_TARGET_MESSAGE_ID),
		db_row_i64(row, COL_RECEIPT_TARGET_DEST_ID)},
	    .mid = db_row_i64(row, COL_RECEIPT_TARGET_MID),
	    .sender_id = db_row_i64(row, COL_RECEIPT_TARGET_SENDER_ID),
	    .conversation_id =
		db_row_i64(row, COL_RECEIPT_TARGET_CONVERSATION_ID),
	    .conversation_seq =
		db_row_i64(row, COL_RECEIPT_TARGET_CONVERSATION_SEQ),
	    .place = place_of(row)};

	(void)err;
	h->target(h->arg, &t);
	return (RC_OK);
}

enum rc
store_targets_find(struct db *db, const struct store_target_key *keys, size_t n,
    const struct store_incoming_handler *h, struct err *err)
{
	struct sql_receipt_target *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].message_id = db_v_uuid(&keys[i].message_id);
		v[i].dest_id = db_v_i64(keys[i].dest_id);
	}
	return (ask(db, SQL_RECEIPT_TARGET, ROWS(v, n), take_target, h, err));
}

static struct store_covered_row
covered_of(const struct db_row *row)
{

	return ((struct store_covered_row){
	    .outbox_id = db_row_i64(row, COL_COVERED_ID),
	    .mid = db_row_i64(row, COL_COVERED_MID),
	    .conversation_seq = db_row_i64(row, COL_COVERED_CONVERSATION_SEQ),
	    .lane_id = db_row_i64(row, COL_COVERED_LANE_ID),
	    .lane_seq = db_row_i64(row, COL_COVERED_LANE_SEQ),
	    .unacked = db_row_i64(row, COL_COVERED_UNACKED) != 0});
}

static enum rc
take_covered(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_incoming_handler *h = arg;
	const struct store_covered_row covered = covered_of(row);

	return (h->covered(h->arg, &covered, err));
}

enum rc
store_covered_find(struct db *db, const struct store_covering *parts, size_t n,
    const struct store_incoming_handler *h, struct err *err)
{
	struct sql_receipt_rows *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].lane_id = db_v_i64(parts[i].lane_id);
		v[i].after = db_v_i64(parts[i].after);
		v[i].upto = db_v_i64(parts[i].upto);
	}
	return (ask(db, SQL_RECEIPT_ROWS, ROWS(v, n), take_covered, h, err));
}

struct covering {
	store_covered_fn each;
	void *arg;
};

static enum rc
take_one(void *arg, const struct db_row *row, struct err *err)
{
	const struct covering *c = arg;
	const struct store_covered_row covered = covered_of(row);

	return (c->each(c->arg, &covered, err));
}

enum rc
store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err)
{
	struct covering c = {each, arg};
	const struct sql_receipt_row v = {
	    .mid = db_v_i64(mid), .dest_id = db_v_i64(dest_id)};

	return (
	    db_run(db, SQL_RECEIPT_ROW, DB_PARAMS(v), take_one, &c, NULL, err));
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
