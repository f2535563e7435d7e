/* SPDX-License-Identifier: MIT */
/*
 * Copies a whole database into an empty one, which may be of the other kind:
 * all columns of all tables.  Rows are copied in batches, so that memory holds
 * at most 500 of them, and at most 1 MiB of their texts.  The caller has begun
 * a transaction on each side.  Thread: owner of both connections.
 */
#ifndef UPKEEP_COPY_H
#define UPKEEP_COPY_H

#include "db/db.h"

/* X(id, name, a letter for each column: i(nteger), t(ext), b(lob)), in the
 * order in which the tables are copied: a referenced table comes before its
 * references.  The statements are SQL_COPY_<id>_GET and _PUT. */
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

/* Counts the rows of each table of ${db}.  The totals are one row in SQLite and
 * several in PostgreSQL, so they count as 1 if any message was ever accepted,
 * else as 0. */
enum rc copy_counts(
    struct db *db, int64_t ret[STORE_COPY_TABLES], struct err *err) MUST_USE;

/* Returns how many rows of ${table} an empty database has: those that its
 * migration made. */
int64_t copy_born_with(enum copy_table table);

/* Until the end of the transaction, locks the table of ${to} to which a server
 * writes first (SQLite: the whole database), so that no server can start on
 * it. */
enum rc copy_alone(struct db *to, struct err *err) MUST_USE;

/* Copies all rows and the last number that each table has given out, and
 * computes the statistics that PostgreSQL's query planner needs.  ${to} must be
 * empty but for the rows that its migration made (copy_born_with()), which are
 * replaced.  RC_INVALID: ${to} cannot hold a row, or a row is larger than 1
 * MiB. */
enum rc copy_rows(struct db *from, struct db *to, struct err *err) MUST_USE;

/* Reclaims the leased rows of ${db}, as after a restart, but charges no message
 * a rescue for it: the process that leased them does not serve ${db}. */
enum rc copy_rescue(struct db *db, int64_t now_ms, struct err *err) MUST_USE;

#endif
