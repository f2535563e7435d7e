/* SPDX-License-Identifier: MIT */
/*
 * A whole database into an empty one, which may be of the other kind: all
 * columns of all tables, a batch of rows at a time, so that memory holds a few
 * hundred of them.  Each side is in one transaction of its caller's.
 * Thread: owner of both connections.
 */
#ifndef UPKEEP_COPY_H
#define UPKEEP_COPY_H

#include "db/db.h"

/* X(id, name, a letter for each column: i(nteger), t(ext), b(lob)), in the
 * order in which they are copied: what is referred to comes first.  The
 * statements are SQL_COPY_<id>_GET and _PUT. */
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

/* The name of ${table}. */
const char *copy_name(enum copy_table table);

/* How many rows each table of ${db} has; of the totals, which are one row here
 * and several there, 1 when anything was ever accepted. */
enum rc copy_counts(
    struct db *db, int64_t ret[STORE_COPY_TABLES], struct err *err) MUST_USE;

/* What an empty database has: rows that its migration made. */
int64_t copy_born_with(enum copy_table table);

/* Locks what a server writes first in ${to}, until the end of the transaction.
 */
enum rc copy_alone(struct db *to, struct err *err) MUST_USE;

/* Copies all rows, and the last number that each table has given, and makes the
 * statistics that plans need.  ${to} has no more than what it was born with.
 * RC_INVALID: ${to} cannot hold a row. */
enum rc copy_rows(struct db *from, struct db *to, struct err *err) MUST_USE;

/* Reclaims the leased rows of ${db}, as after a restart, and charges no message
 * for it: the process that leased them is not there. */
enum rc copy_rescue(struct db *db, int64_t now_ms, struct err *err) MUST_USE;

#endif
