/* SPDX-License-Identifier: MIT */
/*
 * The client's database, for the files that implement lib/local.h: local.c has
 * the connection, transactions and statements, local_outbox.c the drafts, and
 * local_events.c the events, cursors and the epoch.
 */
#ifndef LIB_LOCAL_INTERNAL_H
#define LIB_LOCAL_INTERNAL_H

#include <stddef.h>

#include <sqlite3.h>

#include "lib/local.h"
#include "lib/local_sql.h"

struct local {
	sqlite3 *db;
	sqlite3_stmt *stmt[LOCAL_SQL_COUNT]; /* prepared at the first use */
	int lock_fd;
	char path[256]; /* for failure texts; may be cut */
};

/* Fills ${fail} from the last error of SQLite.  Returns the rc. */
enum rc local_failed(const struct local *local, struct fail *fail);

/* Returns statement ${which}, prepared and ready to be bound; NULL on
 * failure. */
sqlite3_stmt *local_statement(struct local *local, enum local_sql which);

/* Returns statement ${which} with the texts ${a}, ${b} and ${c} bound to
 * parameters 1 to 3 (NULL binds SQL NULL; texts beyond the last parameter of
 * the statement are ignored), or NULL on failure.  The texts must live until
 * the statement is reset. */
sqlite3_stmt *local_bound(struct local *local, enum local_sql which,
    const char *a, const char *b, const char *c);

/* Runs ${s} to its end and ignores the rows that a PRAGMA may return.  A NULL
 * ${s} is a failure. */
enum rc local_run(struct local *local, sqlite3_stmt *s, struct fail *fail);

/* Takes the lock that all processes share, then begins a transaction. */
enum rc local_begin(struct local *local, struct fail *fail) MUST_USE;

/* Ends the transaction: commits if ${rc} is RC_OK; if it is not, or if the
 * commit fails, rolls back.  Releases the lock in every case.  Returns ${rc},
 * or the failure of the commit. */
enum rc local_finish(
    struct local *local, enum rc rc, struct fail *fail) MUST_USE;

/* Copies text column ${i} of ${s} into ${ret}; SQL NULL becomes "". */
void local_column_copy(sqlite3_stmt *s, int i, char *ret, size_t size);

/* Parses the JSON in column ${i} of ${s} into *ret, which the caller decrefs,
 * with the limits that hold for a server's answers, because the file may be
 * damaged.  Returns RC_PEER, with *ret NULL, if the column is SQL NULL, is not
 * a JSON object or array, or exceeds these limits. */
enum rc local_column_json(
    sqlite3_stmt *s, int i, json_t **ret, struct fail *fail) MUST_USE;

#endif
