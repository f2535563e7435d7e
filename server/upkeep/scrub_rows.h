/* SPDX-License-Identifier: MIT */
/*
 * Reading every row of every table, a bounded piece at a time behind a
 * position: what the scrubber (upkeep/scrub.h) goes through.
 * Thread: the owner of ${db}.
 */
#ifndef UPKEEP_SCRUB_ROWS_H
#define UPKEEP_SCRUB_ROWS_H

#include "upkeep/check.h"

/* X(id, table) in the order in which they are read.  The first two are read in
 * the order in which each row follows from the one before. */
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
	X(SCRUB_META, "meta")

enum scrub_table {
#define X(id, table) id,
	STORE_SCRUB_TABLE(X)
#undef X
	    SCRUB_TABLES
};

/* Behind which row the next piece begins. */
struct scrub_at {
	enum scrub_table table;
	int64_t key[2];
	struct uuid event_id; /* of processed_messages */
	char text[72];        /* of meta */
};

/* ${at} is the beginning of ${table}. */
void scrub_rows_begin(struct scrub_at *at, enum scrub_table table);

/* The name of ${table}.  Static storage. */
const char *scrub_rows_name(enum scrub_table table);

struct scrub_each {
	void *arg;
	check_link_fn link; /* the rows of SCRUB_CHAIN */
	/* The rows of SCRUB_INBOX. */
	void (*event)(void *arg, int64_t user_id, int64_t seq, int64_t trimmed);
};

/* Reads at most ${limit} rows behind ${at}, which is moved on to the last of
 * them.  ${ret}: how many; fewer than asked for: the table's end.  RC_CORRUPT
 * and RC_IO: the row after ${at}, or one near it, cannot be read. */
enum rc scrub_rows_read(struct db *db, struct scrub_at *at, int64_t limit,
    const struct scrub_each *each, int64_t *ret, struct err *err) MUST_USE;

#endif
