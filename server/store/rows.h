/* SPDX-License-Identifier: MIT */
/*
 * Buffers of rows that are written together.  A transaction does not run an
 * INSERT or UPDATE for each row at once: it collects the rows of a statement in
 * a buffer, and writes them when it needs them in the store or the buffer is
 * full.  Then PostgreSQL runs the statement once for up to 512 rows, and SQLite
 * once for each row.
 * Thread: the owner of the connection.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <assert.h>
#include <stdbool.h>

#include "schema/sql.h"

/* X(id, name of the statement) */
#define STORE_ROWS_TABLE(X)                                                    \
	X(MESSAGE_INSERT, message_insert)                                      \
	X(OUTBOX_INSERT, outbox_insert)                                        \
	X(OUTBOX_SETTLE_SENT, outbox_settle_sent)                              \
	X(OUTBOX_SETTLE_ACKED, outbox_settle_acked)                            \
	X(INBOX_INSERT, inbox_insert)                                          \
	X(DEVICE_ACKED_SET, device_acked_set)                                  \
	X(COUNTER_SET, counter_set)                                            \
	X(PARTICIPANT_SET, participant_set)                                    \
	X(LANE_SET, lane_set)                                                  \
	X(LANE_REMOTE_SET, lane_remote_set)

enum store_rows_kind {
#define X(id, name) STORE_##id,
	STORE_ROWS_TABLE(X)
#undef X
	    STORE_ROWS_KINDS
};

struct store_rows {
	int stmt;
	size_t width;
	size_t n;        /* rows collected */
	size_t cap;      /* rows for which it has room */
	int64_t changed; /* rows changed by writes that were not exact */
	struct db_val *v;
};

/* Initializes ${rows}, which must own no memory: allocates room for ${cap} rows
 * of ${kind}, of which none is collected yet.  Returns false if there is no
 * memory; store_rows_fini() is allowed then, too. */
bool store_rows_init(
    struct store_rows *rows, enum store_rows_kind kind, size_t cap);

/* Frees the memory of ${rows}.  Zeroed rows are allowed. */
void store_rows_fini(struct store_rows *rows);

/* Adds a row of ${kind} to ${rows} and points *ret at its values.  The caller
 * sets all of them, because they may still be those of an earlier row.  If
 * ${rows} is full, the collected rows are written first, by store_rows_write()
 * with ${exact} false; a caller that does not want this calls store_rows_grow()
 * before.  The memory to which the values point must stay valid until the row
 * is written.  An error means that this write failed: the caller must abandon
 * the transaction. */
enum rc store_rows_next(struct db *db, struct store_rows *rows,
    enum store_rows_kind kind, void **ret, struct err *err) MUST_USE;

/* Defines two functions for each NAME of STORE_ROWS_TABLE, such as
 * message_insert; ${rows} must be of that kind.  store_next_NAME() calls
 * store_rows_next() and points *ret at the new row, as a struct sql_NAME.
 * store_all_NAME() returns the array of the collected rows, which has rows->n
 * elements. */
#define X(id, name)                                                            \
	static inline MUST_USE enum rc store_next_##name(struct db *db,        \
	    struct store_rows *rows, struct sql_##name **ret, struct err *err) \
	{                                                                      \
		void *row = NULL;                                              \
		enum rc rc = store_rows_next(db, rows, STORE_##id, &row, err); \
                                                                               \
		*ret = row;                                                    \
		return (rc);                                                   \
	}                                                                      \
                                                                               \
	static inline struct sql_##name *store_all_##name(                     \
	    const struct store_rows *rows)                                     \
	{                                                                      \
                                                                               \
		assert(rows->stmt == SQL_##id);                                \
		return ((struct sql_##name *)rows->v);                         \
	}
STORE_ROWS_TABLE(X)
#undef X

/* Doubles the room of ${rows}. */
enum rc store_rows_grow(struct store_rows *rows, struct err *err) MUST_USE;

/* Writes the collected rows, and makes ${rows} empty, also after an error.
 * ${exact} true: it is an error if the number of rows changed in the table is
 * not the number of collected rows.  On PostgreSQL a call with ${exact} true
 * only queues the statement, so that errors may come from the later call that
 * sends the queue (db_pipeline_write()).  ${exact} false: any number of rows
 * may change in the table, the collected rows are written before this call
 * returns, and the number of rows changed in the table is added to
 * rows->changed. */
enum rc store_rows_write(struct db *db, struct store_rows *rows, bool exact,
    struct err *err) MUST_USE;

/* Runs ${stmt}, whose only parameter is an id, for each of ${n} ids, and calls
 * ${each} for each result row.  On PostgreSQL all ids take one round trip, and
 * the result rows come in any order.  Does nothing if ${n} is 0. */
enum rc store_run_ids(struct db *db, int stmt, const int64_t *ids, size_t n,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

#endif
