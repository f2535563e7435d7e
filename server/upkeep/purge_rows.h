/* SPDX-License-Identifier: MIT */
/*
 * Rows that are older than their retention: functions that list a bounded
 * number of them after a cursor, that pass them to the archive, and that delete
 * them.  The deletion checks each row again: a row that has changed since it
 * was listed, so that it may no longer be deleted, stays.  Thread: the owner of
 * ${db}, for all functions.
 */
#ifndef UPKEEP_PURGE_ROWS_H
#define UPKEEP_PURGE_ROWS_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"
#include "store/message.h"
#include "store/outbox.h"

/* Rows that one call of purge_rows_look() examines at most. */
#define PURGE_EXAMINE 500
/* Rows that one list holds, and one unit deletes, at most. */
#define PURGE_ROWS 250
/* Nonces are purged this long after they have expired.  Until then requests
 * remove them. */
#define PURGE_NONCES_MS 3600000
/* As PURGE_ROWS, for destinations: fewer, because their names are locked. */
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
 * A list of PURGE_DESTINATIONS holds other servers of which no user is known
 * here and no nonce is stored.  Two times are longer ago than the retention:
 * when the server's row in destinations was made, and when the document in
 * which the server publishes its keys was last read (if it ever was).  The
 * server's rows in peer_keys and peers are deleted with its destination.
 * Reason: strangers can invent any number of server names, each with a
 * document.  A server stays if an operator has pinned one of its keys, or has
 * blocked, paused or rate-limited it, or if one of its users ever wrote to a
 * user here or was written to from here.
 *
 * Of a list of PURGE_NONCES only the length n counts: purge_rows_delete()
 * deletes not the listed nonces but at most n expired ones, from the one that
 * expired first.
 */

/* A row's key.  For processed_messages the id is the origin. */
struct purge_key {
	int64_t id;
	struct uuid event_id;
};

struct purge_list {
	/* Set by the caller. */
	enum purge_table table;
	struct purge_key after; /* all zero: from the beginning */
	int64_t before_ms;      /* older rows may be deleted */
	int64_t now_ms;

	/* The result. */
	struct purge_key rows[PURGE_ROWS];
	size_t n;
	/* For PURGE_DESTINATIONS: the name of each row. */
	char names[PURGE_NAMES][LIMIT_DOMAIN_LEN + 1];
	int64_t mid;           /* of the newest message in the list; 0: none */
	struct purge_key last; /* the cursor for the next call */
	int64_t examined;
	bool end; /* no more rows, or the next ones are too young */
};

/* Returns the name of ${table}.  Static storage. */
const char *purge_rows_name(enum purge_table table);

/* Examines at most PURGE_EXAMINE rows after list->after and lists in list->rows
 * those that may be deleted, at most PURGE_ROWS (destinations: PURGE_NAMES).
 * The result is valid if RC_OK.  For dead letters and nonces list->after is not
 * used: the list begins with the one that was resolved or expired first. */
enum rc purge_rows_look(
    struct db *db, struct purge_list *list, struct err *err) MUST_USE;

/* Deletes the listed rows that may still be deleted, and the rows that belong
 * to them: the attempts of outbox rows, and the peers and peer keys of
 * destinations.  Sets *ret to the number of deleted rows of the table itself.
 * After an error the caller must abandon its transaction. */
enum rc purge_rows_delete(struct db *db, const struct purge_list *list,
    int64_t *ret, struct err *err) MUST_USE;

/* The purge mark, a mid (the number of a row of messages): a message with this
 * mid or a lower one may lack its outbox row, because that row was purged; 0:
 * no message may.  purge_rows_mark_set() raises the mark to ${mid}, unless the
 * mark is higher already. */
enum rc purge_rows_mark_get(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;
enum rc purge_rows_mark_set(
    struct db *db, int64_t mid, struct err *err) MUST_USE;

/* Calls ${each} with a JSON object (valid only during the call) for each listed
 * row, for the archive: the row, and for an outbox row also its attempts, which
 * are deleted with it.  For processed messages, nonces and destinations, which
 * are not archived, it does nothing (RC_OK).  An error of ${each} ends the
 * calls and is returned. */
typedef enum rc (*store_archive_fn)(
    void *arg, const char *json, size_t n, struct err *err);
enum rc purge_rows_archive(struct db *db, const struct purge_list *list,
    store_archive_fn each, void *arg, struct err *err) MUST_USE;

#endif
