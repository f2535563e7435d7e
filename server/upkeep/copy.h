/* SPDX-License-Identifier: MIT */
/*
 * Copies a whole database into an empty one, all columns of all tables; each of
 * the two may be SQLite or PostgreSQL.  Rows are copied in batches, so that
 * memory holds at most 500 of them, and at most 1 MiB of their texts and blobs.
 * The caller has begun a transaction on each side, and ends both; after an
 * error it must not commit that of the target.  Thread: owner of both
 * connections.
 */
#ifndef UPKEEP_COPY_H
#define UPKEEP_COPY_H

#include "db/db.h"

/* X(id, name, a letter for each column: i(nteger), t(ext), b(lob)), in the
 * order in which the tables are copied: a table to which a foreign key refers
 * comes before the table with that key.  The statements SQL_COPY_<id>_GET and
 * SQL_COPY_<id>_PUT read and write the rows of a table. */
#define STORE_COPY_TABLE(X)                                                    \
	X(META, meta, "tt")                                                    \
	X(NODES, nodes, "ittiii")                                              \
	X(USERS, users, "itttiiiii")                                           \
	X(DEVICES, devices, "ibitbiiii")                                       \
	X(INBOXES, inboxes, "iiiii")                                           \
	X(CONVERSATIONS, conversations, "ibttiib")                             \
	X(PARTICIPANTS, participants, "iitiiiiiiiii")                          \
	X(MESSAGES, messages, "ibbiiittttbiiibbbi")                            \
	X(DESTINATIONS, destinations, "ittiiiiiiitittiii")                     \
	X(OUTBOX_LANES, outbox_lanes, "iitiiiiiitiiiitiii")                    \
	X(OUTBOX, outbox, "ibiiiiiiitiitiiiiiiiiiiiititi")                     \
	X(INBOX, inbox, "iiiibiiiiiiiii")                                      \
	X(PROCESSED_MESSAGES, processed_messages, "ibiii")                     \
	X(OUTBOX_ATTEMPTS, outbox_attempts, "iiiitiitit")                      \
	X(DEAD_LETTER_QUEUE, dead_letter_queue, "iiiiiitttiiiiitit")           \
	X(OUTBOX_TOTALS, outbox_totals, "iiiiiiiiiiiiiiiiii")                  \
	X(AUDIT_LOG, audit_log, "iitttt")                                      \
	X(SERVER_KEYS, server_keys, "tbbiiii")                                 \
	X(PEERS, peers, "iiitit")                                              \
	X(PEER_KEYS, peer_keys, "itbtiii")                                     \
	X(FEDERATION_NONCES, federation_nonces, "itti")                        \
	X(FEDERATION_LANES, federation_lanes, "iiiiii")

enum copy_table {
#define X(id, name, columns) STORE_COPY_##id,
	STORE_COPY_TABLE(X)
#undef X
	    STORE_COPY_TABLES
};

/* Returns the name of ${table}.  Static storage. */
const char *copy_name(enum copy_table table);

/* Sets ret[t] to the number of rows of each table t of ${db}.  The table
 * outbox_totals has one row in SQLite and one for each node in PostgreSQL, so
 * it counts as 1 if any message was ever accepted, else as 0. */
enum rc copy_counts(
    struct db *db, int64_t ret[STORE_COPY_TABLES], struct err *err) MUST_USE;

/* Returns how many rows of ${table} copy_counts() finds in a database that is
 * empty except for the rows that the migrations have inserted. */
int64_t copy_born_with(enum copy_table table);

/* Locks against writes the table of ${to} to which a server writes first when
 * it starts (SQLite: the whole database), until the transaction of the caller
 * on ${to} ends.  So no server can start on ${to} before that. */
enum rc copy_alone(struct db *to, struct err *err) MUST_USE;

/* Copies all rows, and for each table the last id that was given to a row, so
 * that ${to} continues after it.  If ${to} is PostgreSQL, then computes the
 * statistics that its query planner needs.  The caller has checked that ${to}
 * is empty except for the rows that its migrations inserted (copy_born_with()),
 * which are replaced.  RC_INVALID: a text has a NUL, which PostgreSQL as ${to}
 * cannot hold, or the texts and blobs of one row have more than 1 MiB. */
enum rc copy_rows(struct db *from, struct db *to, struct err *err) MUST_USE;

/* Reclaims in ${db}, the copy, all outbox rows that are being sent: they become
 * pending, and their open attempts and the leases of all lanes end, as after a
 * restart.  The rescue count of the rows stays as it is, because no server of
 * ${db} has failed: the process that leased them served the source. */
enum rc copy_rescue(struct db *db, int64_t now_ms, struct err *err) MUST_USE;

#endif
