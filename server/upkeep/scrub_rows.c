/* SPDX-License-Identifier: MIT */
/*
 * See scrub_rows.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schema/sql.h"
#include "upkeep/scrub_rows.h"

enum keys { ONE, TWO, EVENT, TEXT, NAME, NONCE };

static const struct {
	int stmt;
	enum keys keys;
} tables[SCRUB_TABLES] = {
    [SCRUB_CHAIN] = {SQL_SCRUB_CHAIN, TWO},
    [SCRUB_INBOX] = {SQL_SCRUB_INBOX, TWO},
    [SCRUB_MESSAGES] = {SQL_SCRUB_MESSAGES, ONE},
    [SCRUB_OUTBOX] = {SQL_SCRUB_OUTBOX, ONE},
    [SCRUB_LANES] = {SQL_SCRUB_LANES, ONE},
    [SCRUB_USERS] = {SQL_SCRUB_USERS, ONE},
    [SCRUB_DEVICES] = {SQL_SCRUB_DEVICES, ONE},
    [SCRUB_INBOXES] = {SQL_SCRUB_INBOXES, ONE},
    [SCRUB_CONVERSATIONS] = {SQL_SCRUB_CONVERSATIONS, ONE},
    [SCRUB_PARTICIPANTS] = {SQL_SCRUB_PARTICIPANTS, TWO},
    [SCRUB_DESTINATIONS] = {SQL_SCRUB_DESTINATIONS, ONE},
    [SCRUB_ATTEMPTS] = {SQL_SCRUB_ATTEMPTS, ONE},
    [SCRUB_DEAD] = {SQL_SCRUB_DEAD, ONE},
    [SCRUB_AUDIT] = {SQL_SCRUB_AUDIT, ONE},
    [SCRUB_TOTALS] = {SQL_SCRUB_TOTALS, ONE},
    [SCRUB_PROCESSED] = {SQL_SCRUB_PROCESSED, EVENT},
    [SCRUB_META] = {SQL_SCRUB_META, TEXT},
    [SCRUB_NODES] = {SQL_SCRUB_NODES, ONE},
    [SCRUB_SERVER_KEYS] = {SQL_SCRUB_SERVER_KEYS, TEXT},
    [SCRUB_PEERS] = {SQL_SCRUB_PEERS, ONE},
    [SCRUB_PEER_KEYS] = {SQL_SCRUB_PEER_KEYS, NAME},
    [SCRUB_NONCES] = {SQL_SCRUB_NONCES, NONCE},
    [SCRUB_FEDERATION_LANES] = {SQL_SCRUB_FEDERATION_LANES, TWO},
};

static const char *const names[SCRUB_TABLES] = {
#define X(id, table) [id] = table,
    STORE_SCRUB_TABLE(X)
#undef X
};

struct reading {
	struct scrub_at *at;
	const struct scrub_each *each;
	int64_t n;
};

void
scrub_rows_begin(struct scrub_at *at, enum scrub_table table)
{

	memset(at, 0, sizeof(*at));
	at->table = table;
	at->key[0] = -1; /* destinations begin at 0 */
}

const char *
scrub_rows_name(enum scrub_table table)
{

	assert(table < SCRUB_TABLES);
	return (names[table]);
}

static enum rc
pass_link(struct reading *r, const struct db_row *row, struct err *err)
{
	enum rc rc;
	size_t n;

	(void)db_row_text(row, COL_SCRUB_CHAIN_METADATA, &n);
	rc = check_link_call(row, r->each->link, r->each->arg, err);
	if (rc != RC_OK)
		return (rc);
	r->at->key[0] = db_row_i64(row, COL_LINK_CONVERSATION_ID);
	r->at->key[1] = db_row_i64(row, COL_LINK_CONVERSATION_SEQ);
	return (RC_OK);
}

static void
pass_event(struct reading *r, const struct db_row *row)
{
	const int64_t user = db_row_i64(row, COL_SCRUB_INBOX_USER_ID),
		      seq = db_row_i64(row, COL_SCRUB_INBOX_SEQ);

	r->each->event(
	    r->each->arg, user, seq, db_row_i64(row, COL_SCRUB_INBOX_TRIMMED));
	r->at->key[0] = user;
	r->at->key[1] = seq;
}

/* Moves ${at} to ${row}, of any table but those of the other pass_ functions.
 * Also reads one of the last columns of ${row}, and ignores its value: to find
 * the column, SQLite reads the pages of the columns before it, and so notices a
 * damaged page. */
static void
pass_other(struct scrub_at *at, const struct db_row *row)
{

	(void)db_row_text(row, COL_SCRUBBED_VALUE, NULL);
	if (tables[at->table].keys == EVENT)
		at->event_id = db_row_uuid(row, COL_SCRUBBED_KEY);
	else if (tables[at->table].keys == TEXT)
		db_row_copy_text(
		    row, COL_SCRUBBED_KEY, at->text, sizeof(at->text));
	else
		at->key[0] = db_row_i64(row, COL_SCRUBBED_KEY);
	at->key[1] = db_row_i64(row, COL_SCRUBBED_SUBKEY);
}

static void
pass_named(struct scrub_at *at, const struct db_row *row)
{

	at->key[0] = db_row_i64(row, COL_SCRUBBED_TEXT_KEY);
	db_row_copy_text(
	    row, COL_SCRUBBED_TEXT_NAME, at->text, sizeof(at->text));
	(void)db_row_text(row, COL_SCRUBBED_TEXT_VALUE, NULL);
	if (tables[at->table].keys == NONCE)
		db_row_copy_text(
		    row, COL_SCRUB_NONCES_NONCE, at->nonce, sizeof(at->nonce));
}

static enum rc
on_row(void *arg, const struct db_row *row, struct err *err)
{
	struct reading *r = arg;
	enum rc rc = RC_OK;

	if (r->at->table == SCRUB_CHAIN)
		rc = pass_link(r, row, err);
	else if (r->at->table == SCRUB_INBOX)
		pass_event(r, row);
	else if (tables[r->at->table].keys == NAME ||
		 tables[r->at->table].keys == NONCE)
		pass_named(r->at, row);
	else
		pass_other(r->at, row);
	if (rc == RC_OK)
		r->n++;
	return (rc);
}

enum rc
scrub_rows_read(struct db *db, struct scrub_at *at, int64_t limit,
    const struct scrub_each *each, int64_t *ret, struct err *err)
{
	struct reading r = {at, each, 0};
	struct scrub_at from = *at;
	/* The generated structs have the name of one statement each, but serve
	 * for others with the same parameters: sql_scrub_messages for all whose
	 * key is one column, sql_scrub_chain for all whose key is two columns
	 * (the second one a number). */
	struct sql_scrub_messages one = {
	    .key = db_v_i64(from.key[0]), .limit = db_v_i64(limit)};
	struct sql_scrub_chain two = {.key = one.key,
	    .subkey = db_v_i64(from.key[1]),
	    .limit = one.limit};
	struct sql_scrub_peer_keys name = {
	    .key = one.key, .name = db_v_str(from.text), .limit = one.limit};
	struct sql_scrub_nonces nonce = {.key = one.key,
	    .name = name.name,
	    .nonce = db_v_str(from.nonce),
	    .limit = one.limit};
	struct db_set v = DB_SET(&one, 1);
	enum rc rc;

	switch (tables[at->table].keys) {
	case EVENT:
		two.key = db_v_uuid(&from.event_id);
		v = DB_SET(&two, 1);
		break;
	case TEXT:
		one.key = db_v_str(from.text);
		break;
	case TWO:
		v = DB_SET(&two, 1);
		break;
	case NAME:
		v = DB_SET(&name, 1);
		break;
	case NONCE:
		v = DB_SET(&nonce, 1);
		break;
	case ONE:
	default:
		break;
	}
	rc = db_run(
	    db, tables[at->table].stmt, v.v, v.width, on_row, &r, NULL, err);
	*ret = r.n;
	return (rc);
}
