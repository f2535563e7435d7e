/* SPDX-License-Identifier: MIT */
/*
 * Outbox rows on their way to other servers, whole, and the guarded moves
 * between their states.  Every move names the state that it expects; if the
 * row is in another, the result is RC_CONFLICT and the transaction is to be
 * abandoned, because memory and disk disagree.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include <stdbool.h>

#include "base/uuid.h"
#include "db/db.h"
#include "model/event.h"

/* An outbox row, whole.  Times are 0 where there is none. */
struct store_row {
	int64_t id;
	struct uuid event_id;
	int kind; /* enum event_kind */
	int64_t mid;
	int64_t conversation_id;
	int64_t conversation_seq; /* 0: not released */
	int64_t sender_id;
	int64_t lane_id;  /* 0: none, it was born acked */
	int64_t lane_seq; /* 0: scheduled */
	int64_t dest_user;
	int state; /* enum outbox_state */
	int attempts;
	int retry_count;
	int rescue_count;
	int64_t next_retry_at;
	int64_t deliver_at;
	int64_t expires_at;
	int64_t event_time;
	int64_t created_at;
	int64_t ack_deadline;
	int reason; /* enum outbox_reason, -1: none */
	int priority;
	bool requeued; /* it has stood elsewhere before */
};

typedef enum rc (*store_row_fn)(
    void *arg, const struct store_row *row, struct err *err);

/* Row ${id}; RC_NOT_FOUND. */
enum rc store_row_get(
    struct db *db, int64_t id, struct store_row *ret, struct err *err) MUST_USE;

/* What a lane owes from ${from_seq} on, in order: pending rows, and rows that
 * were taken for later and have not been answered. */
enum rc store_remote_claim(struct db *db, int64_t lane_id, int64_t from_seq,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* Settled rows of a lane with from <= lane_seq < upto, to be offered again. */
struct store_replay {
	int64_t lane_id;
	int64_t from_seq;
	int64_t upto_seq;
};
enum rc store_remote_replay(struct db *db, const struct store_replay *replay,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* At most ${limit} rows of a lane that are in state sending. */
enum rc store_remote_in_flight(struct db *db, int64_t lane_id,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* pending -> sending, the attempt counted. */
enum rc store_remote_sending(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* sent -> pending: what was promised for later has not come; charged. */
enum rc store_remote_late(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* What was promised for later has come; the state stays sent. */
enum rc store_remote_confirm(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* The outbox row of event ${event_id} that server ${origin} (a destination) has
 * answered "later" for; RC_NOT_FOUND: none waits for such an answer. */
enum rc store_promised_find(struct db *db, const struct uuid *event_id,
    int64_t origin, int64_t *ret, struct err *err) MUST_USE;

/* A promised answer is late from ${ack_deadline} on. */
enum rc store_remote_hasten(
    struct db *db, int64_t id, int64_t ack_deadline, struct err *err) MUST_USE;

/* sent -> acked; *ret: it is now. */
enum rc store_remote_acked_early(struct db *db, int64_t id, int64_t now_ms,
    bool *ret, struct err *err) MUST_USE;

/* The same, if a receipt has named the row before (store_receipt_note()). */
enum rc store_remote_acked_noted(struct db *db, int64_t id, int64_t now_ms,
    bool *ret, struct err *err) MUST_USE;

/* sending -> sent.  A receipt that named the row before is forgotten, unless
 * the destination had the message then (${duplicate}), or the receipt came in
 * this attempt. */
enum rc store_remote_sent(struct db *db, int64_t id, int64_t now_ms,
    int64_t ack_deadline, bool duplicate, struct err *err) MUST_USE;

/* How a row goes back. */
struct store_back {
	int64_t id;
	int retry_count;
	int64_t next_retry_at; /* 0: at once */
	const char *error;     /* NULL: as it was */
};

/* sending -> pending. */
enum rc store_remote_back(struct db *db, const struct store_back *back,
    int64_t now_ms, struct err *err) MUST_USE;

/* sending -> pending after a lost lease; ${charge}: 1 when it ran out, 0 after
 * a restart. */
enum rc store_remote_rescue(struct db *db, int64_t id, int64_t now_ms,
    int charge, struct err *err) MUST_USE;

/* pending or sending -> failed or expired. */
enum rc store_row_dead(struct db *db, const struct store_row *row, int state,
    const char *error, int64_t now_ms, struct err *err) MUST_USE;

/* Notes why; for the row of a bounce. */
enum rc store_row_reason_set(
    struct db *db, int64_t id, int reason, struct err *err) MUST_USE;

/* failed or expired -> pending at a new place. */
enum rc store_row_requeue(struct db *db, int64_t id, int64_t lane_seq,
    int64_t expires_at, int64_t now_ms, struct err *err) MUST_USE;

/* A pending row waits for nothing any more. */
enum rc store_row_due_now(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* At most ${limit} rows to other servers that have expired at ${now_ms}. */
enum rc store_rows_expired(struct db *db, int64_t now_ms, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err) MUST_USE;

/* When the next one expires; 0: nothing waits. */
enum rc store_rows_expiry_next(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

/* The same of the local lanes after < lane_id <= upto. */
struct store_expired_local {
	int64_t after;
	int64_t upto;
	int64_t now_ms;
};
enum rc store_rows_expired_local(struct db *db,
    const struct store_expired_local *ask, struct store_row *ret, size_t limit,
    size_t *ret_n, struct err *err) MUST_USE;

/* What a carrier is told about a message; borrowed until the callback
 * returns. */
struct store_letter {
	struct message_view message;
	struct uuid conversation;
	const char *from;
	const char *to;
	/* Of one that came from there: the place up to which the sender's lane
	 * had come with it.  0: not known. */
	int64_t sequence;
};
typedef enum rc (*store_letter_fn)(
    void *arg, const struct store_letter *letter, struct err *err);

/* The message of ${row}; RC_NOT_FOUND. */
enum rc store_letter_get(struct db *db, const struct store_row *row,
    store_letter_fn each, void *arg, struct err *err) MUST_USE;

/* An attempt begins; ${attempt} counts from 1. */
struct store_attempt {
	int64_t outbox_id;
	int attempt;
	int64_t destination_id;
	const char *owner;
	const char *outcome; /* a word */
	int status;          /* of HTTP; 0: none */
	const char *error;   /* NULL: none */
};
enum rc store_attempt_start(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err) MUST_USE;

/* It has ended: outcome, status, error.  Nothing when it had ended before. */
enum rc store_attempt_end(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err) MUST_USE;

/* Calls ${each} with how many messages of a sender wait for a destination. */
typedef enum rc (*store_waiting_fn)(void *arg, int64_t sender_id,
    int64_t destination_id, int64_t n, struct err *err);
enum rc store_waiting(
    struct db *db, store_waiting_fn each, void *arg, struct err *err) MUST_USE;

#endif
