/* SPDX-License-Identifier: MIT */
/*
 * The totals of the outbox: messages by state, and what has ever happened.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_TOTALS_H
#define STORE_TOTALS_H

#include "db/db.h"

/* X(id, column): messages by state now, then what has ever happened. */
#define STORE_TOTALS_TABLE(X)                                                  \
	X(TOTAL_PENDING, "pending")                                            \
	X(TOTAL_SENDING, "sending")                                            \
	X(TOTAL_SENT, "sent")                                                  \
	X(TOTAL_FAILED, "failed")                                              \
	X(TOTAL_EXPIRED, "expired")                                            \
	X(TOTAL_CANCELED, "canceled")                                          \
	X(TOTAL_SCHEDULED, "scheduled")                                        \
	X(TOTAL_EVER_ACCEPTED, "accepted_total")                               \
	X(TOTAL_EVER_SENT, "sent_total")                                       \
	X(TOTAL_EVER_ACKED, "acked_total")                                     \
	X(TOTAL_EVER_RETRIED, "retries_total")                                 \
	X(TOTAL_EVER_FAILED, "failed_total")                                   \
	X(TOTAL_EVER_EXPIRED, "expired_total")                                 \
	X(TOTAL_EVER_CANCELED, "canceled_total")                               \
	X(TOTAL_EVER_REQUEUED, "requeued_total")                               \
	X(TOTAL_EVER_RESCUED, "rescues_total")                                 \
	X(TOTAL_EVER_FENCED, "fenced_total")

enum store_total {
#define X(id, column) id,
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

/* The totals as they are. */
enum rc store_totals_get(
    struct db *db, struct store_totals *ret, struct err *err) MUST_USE;

#endif
