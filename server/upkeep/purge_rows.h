/* SPDX-License-Identifier: MIT */
/*
 * Rows that are older than their retention: reading a bounded number of them
 * behind a cursor, and deleting them.  The deletion checks each row again, so
 * that a row that has changed meanwhile stays.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef UPKEEP_PURGE_ROWS_H
#define UPKEEP_PURGE_ROWS_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"
#include "store/message.h"
#include "store/outbox.h"

/* Rows that one look examines at most. */
#define PURGE_EXAMINE 500
/* Rows that one list holds at most: what one unit deletes. */
#define PURGE_ROWS 250
/* Nonces go so long after their time: until then requests remove them. */
#define PURGE_NONCES_MS 3600000
/* The same of destinations, whose names are locked. */
#define PURGE_NAMES 50

/* X(id, table) */
#define STORE_PURGE_TABLE(X)                                                   \
	X(PURGE_OUTBOX, "outbox")                                              \
	X(PURGE_ATTEMPTS, "outbox_attempts")                                   \
	X(PURGE_PROCESSED, "processed_messages")                               \
	X(PURGE_DEAD, "dead_letter_queue")                                     \
	X(PURGE_AUDIT, "audit_log")                                            \
	X(PURGE_NONCES, "federation_nonces")                                   \
	X(PURGE_DESTINATIONS, "destinations")

enum purge_table {
#define X(id, table) id,
	STORE_PURGE_TABLE(X)
#undef X
	    PURGE_TABLES
};

/*
 * PURGE_DESTINATIONS are other servers that have been in contact and of which
 * nobody is known here; with them go their keys and all that is known of them
 * as peers.  Strangers can make any number of names, each with a document.
 * What an operator has pinned, blocked, paused or given a rate stays, and so do
 * the servers of all people who ever wrote or were written to.
 *
 * Of PURGE_NONCES nothing is listed but how many there are: those whose time is
 * over longest go.
 */

/* A row's key.  Of processed_messages the id is the origin. */
struct purge_key {
	int64_t id;
	struct uuid event_id;
};

struct purge_list {
	/* Asked. */
	enum purge_table table;
	struct purge_key after; /* all zero: from the beginning */
	int64_t before_ms;      /* what is older may go */
	int64_t now_ms;

	/* Answered. */
	struct purge_key rows[PURGE_ROWS];
	size_t n;
	/* PURGE_DESTINATIONS: of each. */
	char names[PURGE_NAMES][LIMIT_DOMAIN_LEN + 1];
	int64_t mid;           /* of the newest message in it; 0: none */
	struct purge_key last; /* where to go on */
	int64_t examined;
	bool end; /* what comes after is too young, or there is nothing */
};

/* The name of ${table}.  Static storage. */
const char *purge_rows_name(enum purge_table table);

/* Looks at rows behind ${list}->after and lists those that may go. */
enum rc purge_rows_look(
    struct db *db, struct purge_list *list, struct err *err) MUST_USE;

/* Deletes what is listed, as far as it still may go, and what belongs to it.
 * ${ret}: rows deleted of the table. */
enum rc purge_rows_delete(struct db *db, const struct purge_list *list,
    int64_t *ret, struct err *err) MUST_USE;

/* Up to and with this mid a message may be without its outbox row; 0: none
 * may.  Setting it never moves it back. */
enum rc purge_rows_mark_get(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;
enum rc purge_rows_mark_set(
    struct db *db, int64_t mid, struct err *err) MUST_USE;

/* Calls ${each} with a JSON object for each listed row (borrowed), for the
 * archive: the row with all that goes with it.  Rows that are remembered for
 * their key alone have none. */
typedef enum rc (*store_archive_fn)(
    void *arg, const char *json, size_t n, struct err *err);
enum rc purge_rows_archive(struct db *db, const struct purge_list *list,
    store_archive_fn each, void *arg, struct err *err) MUST_USE;

#endif
