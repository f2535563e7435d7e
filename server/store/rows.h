/* SPDX-License-Identifier: MIT */
/*
 * Rows gathered for one statement: what a batch writes into a table goes out
 * together (a set-based backend sends it as one).
 * Thread: the owner of the connection.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <stdbool.h>

#include "db/db.h"

/* X(id, columns of a row, in the order of the statement's parameters) */
#define STORE_ROWS_TABLE(X)                                                    \
	X(MESSAGE_INSERT, 16)                                                  \
	X(OUTBOX_INSERT, 18)                                                   \
	X(OUTBOX_SETTLE_SENT, 2)                                               \
	X(OUTBOX_SETTLE_ACKED, 2)                                              \
	X(INBOX_INSERT, 13)                                                    \
	X(DEVICE_ACKED_SET, 3)                                                 \
	X(COUNTER_SET, 2)                                                      \
	X(PARTICIPANT_SET, 9)                                                  \
	X(LANE_SET, 5)                                                         \
	X(LANE_REMOTE_SET, 12)

enum store_rows_kind {
#define X(id, columns) STORE_##id,
	STORE_ROWS_TABLE(X)
#undef X
	    STORE_ROWS_KINDS
};

struct store_rows {
	int stmt;
	size_t width;
	size_t n;        /* rows gathered */
	size_t cap;      /* rows that it holds */
	int64_t changed; /* rows of the table, by writes that were not exact */
	struct db_val *v;
};

/* Makes ${rows} empty, for ${cap} rows of ${kind}.  False: no memory. */
bool store_rows_init(
    struct store_rows *rows, enum store_rows_kind kind, size_t cap);

/* Frees what ${rows} holds.  Zeroed rows are allowed. */
void store_rows_fini(struct store_rows *rows);

/* Room for one more row; a full set is written first.  What a row's values
 * point to must stay valid until it is written. */
enum rc store_rows_next(struct db *db, struct store_rows *rows,
    struct db_val **ret, struct err *err) MUST_USE;

/* Room for twice as many. */
enum rc store_rows_grow(struct store_rows *rows, struct err *err) MUST_USE;

/* Writes what is gathered.  ${exact}: each row must change one row of the
 * table, as db_pipeline_write(). */
enum rc store_rows_write(struct db *db, struct store_rows *rows, bool exact,
    struct err *err) MUST_USE;

/* Runs ${stmt}, which has one parameter, for each of ${n} ids in one round
 * trip. */
enum rc store_run_ids(struct db *db, int stmt, const int64_t *ids, size_t n,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

#endif
