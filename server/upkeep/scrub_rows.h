/* SPDX-License-Identifier: MIT */
/*
 * Reads the rows of all tables for the scrubber (upkeep/scrub.h): each call
 * reads a bounded number of rows of one table, after a position.  Passes the
 * rows of the first two tables to callbacks; rows of the others are only read,
 * so that the database notices damage.  Thread: the owner of the connection.
 */
#ifndef UPKEEP_SCRUB_ROWS_H
#define UPKEEP_SCRUB_ROWS_H

#include "upkeep/check.h"

/* X(id, table), in the order in which the tables are read.  SCRUB_CHAIN is read
 * by conversation and number, SCRUB_INBOX by user and number, so that each row
 * can be checked against the row before it. */
#define STORE_SCRUB_TABLE(X)                                                   \
	X(SCRUB_CHAIN, "messages by conversation")                             \
	X(SCRUB_INBOX, "inbox")                                                \
	X(SCRUB_MESSAGES, "messages")                                          \
	X(SCRUB_OUTBOX, "outbox")                                              \
	X(SCRUB_LANES, "outbox_lanes")                                         \
	X(SCRUB_USERS, "users")                                                \
	X(SCRUB_DEVICES, "devices")                                            \
	X(SCRUB_INBOXES, "inboxes")                                            \
	X(SCRUB_CONVERSATIONS, "conversations")                                \
	X(SCRUB_PARTICIPANTS, "participants")                                  \
	X(SCRUB_DESTINATIONS, "destinations")                                  \
	X(SCRUB_ATTEMPTS, "outbox_attempts")                                   \
	X(SCRUB_DEAD, "dead_letter_queue")                                     \
	X(SCRUB_AUDIT, "audit_log")                                            \
	X(SCRUB_TOTALS, "outbox_totals")                                       \
	X(SCRUB_PROCESSED, "processed_messages")                               \
	X(SCRUB_META, "meta")                                                  \
	X(SCRUB_NODES, "nodes")                                                \
	X(SCRUB_SERVER_KEYS, "server_keys")                                    \
	X(SCRUB_PEERS, "peers")                                                \
	X(SCRUB_PEER_KEYS, "peer_keys")                                        \
	X(SCRUB_NONCES, "federation_nonces")                                   \
	X(SCRUB_FEDERATION_LANES, "federation_lanes")

enum scrub_table {
#define X(id, table) id,
	STORE_SCRUB_TABLE(X)
#undef X
	    SCRUB_TABLES
};

/* The row after which the next piece begins. */
struct scrub_at {
	enum scrub_table table;
	int64_t key[2];
	struct uuid event_id; /* of processed_messages */
	char text[72];        /* the key of meta, or a key_id */
	char nonce[72];       /* of federation_nonces */
};

/* Sets ${at} to the beginning of ${table}. */
void scrub_rows_begin(struct scrub_at *at, enum scrub_table table);

/* Returns the name of ${table}.  Static storage. */
const char *scrub_rows_name(enum scrub_table table);

struct scrub_each {
	void *arg;
	check_link_fn link; /* the rows of SCRUB_CHAIN */
	/* The rows of SCRUB_INBOX. */
	void (*event)(void *arg, int64_t user_id, int64_t seq, int64_t trimmed);
};

/* Reads at most ${limit} rows of the table ${at}->table after the position
 * ${at}, and moves ${at} to the last row that was read.  ${ret}: how many rows
 * were read, set after an error, too; fewer than ${limit}, with RC_OK: the
 * table has ended.  RC_CORRUPT and RC_IO: the row after the new ${at}, or one
 * near it, cannot be read; other errors are those of db_run(). */
enum rc scrub_rows_read(struct db *db, struct scrub_at *at, int64_t limit,
    const struct scrub_each *each, int64_t *ret, struct err *err) MUST_USE;

#endif
