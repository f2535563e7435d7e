/* SPDX-License-Identifier: MIT */
/*
 * Rows that are collected for one statement: everything that a batch writes
 * into a table is sent together (PostgreSQL gets one statement for up to 512
 * rows).
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

/* Makes ${rows} empty, with room for ${cap} rows of ${kind}.  Returns false if
 * memory is short. */
bool store_rows_init(
    struct store_rows *rows, enum store_rows_kind kind, size_t cap);

/* Frees the memory of ${rows}.  Zeroed rows are allowed. */
void store_rows_fini(struct store_rows *rows);

/* Adds a row of ${kind}; *ret points to its values.  The caller sets all of
 * them, because they may still be those of an earlier row.  If ${rows} is full,
 * the collected rows are written first (${exact} is false); a caller that does
 * not want this calls store_rows_grow() before.  The memory to which the values
 * point must stay valid until the row is written.  store_next_NAME() below
 * returns *ret as the struct of the statement. */
enum rc store_rows_next(struct db *db, struct store_rows *rows,
    enum store_rows_kind kind, void **ret, struct err *err) MUST_USE;

/* For each statement NAME of the table, such as message_insert:
 * store_next_NAME() adds a row, and store_all_NAME() returns all collected
 * rows, as structs of the statement. */
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
 * ${exact}: as db_pipeline_write(), which only queues them and checks that each
 * changes exactly one row of the table.  Else they are written now, and the
 * number of changed rows is added to rows->changed. */
enum rc store_rows_write(struct db *db, struct store_rows *rows, bool exact,
    struct err *err) MUST_USE;

/* Runs ${stmt}, which has one parameter, for each of ${n} ids, as
 * db_run_many(): on PostgreSQL in one round trip, with the rows in any order.
 */
enum rc store_run_ids(struct db *db, int stmt, const int64_t *ids, size_t n,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

#endif
