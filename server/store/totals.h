/* SPDX-License-Identifier: MIT */
/*
 * The totals of the outbox: the number of messages in each state now, and
 * counters of what has happened since the database was made.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_TOTALS_H
#define STORE_TOTALS_H

#include "db/db.h"

/* X(id, column, COLUMN).  TOTAL_PENDING to TOTAL_SCHEDULED are the numbers of
 * messages in each state now.  A scheduled message is pending in the database,
 * but is counted only in TOTAL_SCHEDULED; an acked message is in none of them.
 * The totals after TOTAL_SCHEDULED are counters that only grow. */
#define STORE_TOTALS_TABLE(X)                                                  \
	X(TOTAL_PENDING, pending, PENDING)                                     \
	X(TOTAL_SENDING, sending, SENDING)                                     \
	X(TOTAL_SENT, sent, SENT)                                              \
	X(TOTAL_FAILED, failed, FAILED)                                        \
	X(TOTAL_EXPIRED, expired, EXPIRED)                                     \
	X(TOTAL_CANCELED, canceled, CANCELED)                                  \
	X(TOTAL_SCHEDULED, scheduled, SCHEDULED)                               \
	X(TOTAL_EVER_ACCEPTED, accepted_total, ACCEPTED_TOTAL)                 \
	X(TOTAL_EVER_SENT, sent_total, SENT_TOTAL)                             \
	X(TOTAL_EVER_ACKED, acked_total, ACKED_TOTAL)                          \
	X(TOTAL_EVER_RETRIED, retries_total, RETRIES_TOTAL)                    \
	X(TOTAL_EVER_FAILED, failed_total, FAILED_TOTAL)                       \
	X(TOTAL_EVER_EXPIRED, expired_total, EXPIRED_TOTAL)                    \
	X(TOTAL_EVER_CANCELED, canceled_total, CANCELED_TOTAL)                 \
	X(TOTAL_EVER_REQUEUED, requeued_total, REQUEUED_TOTAL)                 \
	X(TOTAL_EVER_RESCUED, rescues_total, RESCUES_TOTAL)                    \
	X(TOTAL_EVER_FENCED, fenced_total, FENCED_TOTAL)

enum store_total {
#define X(id, column, COLUMN) id,
	STORE_TOTALS_TABLE(X)
#undef X
	    STORE_TOTALS
};

struct store_totals {
	int64_t n[STORE_TOTALS];
};

/* Adds ${delta} to the totals. */
enum rc store_totals_add(
    struct db *db, const struct store_totals *delta, struct err *err) MUST_USE;

/* Reads the current totals. */
enum rc store_totals_get(
    struct db *db, struct store_totals *ret, struct err *err) MUST_USE;

#endif
