/* SPDX-License-Identifier: MIT */
/*
 * Outbox rows on their way to other servers: reads the rows, and moves them
 * from one state to another; a few functions do so for rows to inboxes of this
 * server, too.  A move changes the row only if the row is in the state that the
 * comment of the function expects ("pending -> sending").  Otherwise the result
 * is RC_CONFLICT: memory and disk disagree, and the caller must abandon the
 * transaction.  (Functions with a bool *ret return RC_OK in that case and set
 * *ret to false.)  Also stores attempts to deliver a row.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include <stdbool.h>

#include "base/uuid.h"
#include "db/db.h"
#include "model/event.h"

/* An outbox row with all columns.  Times that are not set are 0. */
struct store_row {
	int64_t id;
	struct uuid event_id;
	int kind; /* enum event_kind */
	int64_t mid;
	int64_t conversation_id;
	int64_t conversation_seq; /* 0: scheduled, not released yet */
	int64_t sender_id;
	int64_t lane_id;  /* 0: none, because it was acked from the start */
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
	bool requeued; /* it had another place before */
};

typedef enum rc (*store_row_fn)(
    void *arg, const struct store_row *row, struct err *err);

/* Reads row ${id}; RC_NOT_FOUND: there is none. */
enum rc store_row_get(
    struct db *db, int64_t id, struct store_row *ret, struct err *err) MUST_USE;

/* Reads into ${ret} at most ${limit} rows of ${lane_id}, a lane to another
 * server, with lane_seq >= ${from_seq} that are still to be delivered, in the
 * order of lane_seq: rows in the state pending, due or not, and rows in the
 * state sent for which that server has promised a later answer that has not
 * come.  Changes no row. */
enum rc store_remote_claim(struct db *db, int64_t lane_id, int64_t from_seq,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* Reads into ${ret} at most ${limit} rows of a lane to another server that are
 * sent or acked and have from_seq <= lane_seq < upto_seq, in the order of
 * lane_seq.  Changes no row: the caller sends the rows again. */
struct store_replay {
	int64_t lane_id;
	int64_t from_seq;
	int64_t upto_seq;
};
enum rc store_remote_replay(struct db *db, const struct store_replay *replay,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* Reads at most ${limit} rows of a lane that are in the state sending. */
enum rc store_remote_in_flight(struct db *db, int64_t lane_id,
    struct store_row *ret, size_t limit, size_t *ret_n,
    struct err *err) MUST_USE;

/* pending -> sending; counts the attempt. */
enum rc store_remote_sending(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* sent -> pending: the promised later answer has not come.  Counts as a retry.
 */
enum rc store_remote_late(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* The promised later answer has come; the state stays sent. */
enum rc store_remote_confirm(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* Sets *ret to the id of the outbox row that brings event ${event_id} to a user
 * of the other server with the destination id ${origin}, if that server has
 * promised a later answer for the row that has not come, or may be about to
 * promise one, because the row is in the state sending.  RC_NOT_FOUND: there is
 * no such row. */
enum rc store_promised_find(struct db *db, const struct uuid *event_id,
    int64_t origin, int64_t *ret, struct err *err) MUST_USE;

/* Moves the time from which a promised answer is late to ${ack_deadline}. */
enum rc store_remote_hasten(
    struct db *db, int64_t id, int64_t ack_deadline, struct err *err) MUST_USE;

/* sent -> acked; *ret: whether the row was sent and is acked now. */
enum rc store_remote_acked_early(struct db *db, int64_t id, int64_t now_ms,
    bool *ret, struct err *err) MUST_USE;

/* The same, only if a receipt has named the row before (store_receipt_note()).
 */
enum rc store_remote_acked_noted(struct db *db, int64_t id, int64_t now_ms,
    bool *ret, struct err *err) MUST_USE;

/* sending -> sent.  If a receipt has named the row's message before this call,
 * store_receipt_note() has set acked_at of the row.  This value stays only if
 * the destination had the message before this attempt (${duplicate}) or the
 * receipt came during this attempt; otherwise this call sets acked_at to NULL,
 * because the destination may have lost the message since the receipt.  The
 * row becomes sent in either case.  ${ack_deadline}: the wall time in
 * milliseconds from which the promised later answer is late; 0: the
 * destination has promised none. */
enum rc store_remote_sent(struct db *db, int64_t id, int64_t now_ms,
    int64_t ack_deadline, bool duplicate, struct err *err) MUST_USE;

/* How a row returns to pending. */
struct store_back {
	int64_t id;
	int retry_count;
	int64_t next_retry_at; /* 0: at once */
	const char *error;     /* NULL: the last one stays */
};

/* sending -> pending. */
enum rc store_remote_back(struct db *db, const struct store_back *back,
    int64_t now_ms, struct err *err) MUST_USE;

/* sending -> pending after a lost lease.  ${charge}: added to rescue_count, 1
 * when the lease ran out, 0 after a restart. */
enum rc store_remote_rescue(struct db *db, int64_t id, int64_t now_ms,
    int charge, struct err *err) MUST_USE;

/* pending -> failed or expired; sending -> failed. */
enum rc store_row_dead(struct db *db, const struct store_row *row, int state,
    const char *error, int64_t now_ms, struct err *err) MUST_USE;

/* Stores the reason of a bounce in the row of that bounce. */
enum rc store_row_reason_set(
    struct db *db, int64_t id, int reason, struct err *err) MUST_USE;

/* failed or expired -> pending, at a new place in the lane. */
enum rc store_row_requeue(struct db *db, int64_t id, int64_t lane_seq,
    int64_t expires_at, int64_t now_ms, struct err *err) MUST_USE;

/* Makes a pending row due now. */
enum rc store_row_due_now(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* Reads at most ${limit} pending rows to other servers that have expired at
 * ${now_ms}. */
enum rc store_rows_expired(struct db *db, int64_t now_ms, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err) MUST_USE;

/* *ret: when the next pending row to another server expires; 0: none does. */
enum rc store_rows_expiry_next(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

/* Reads expired rows of the local lanes with after < lane_id <= upto. */
struct store_expired_local {
	int64_t after;
	int64_t upto;
	int64_t now_ms;
};
enum rc store_rows_expired_local(struct db *db,
    const struct store_expired_local *ask, struct store_row *ret, size_t limit,
    size_t *ret_n, struct err *err) MUST_USE;

/* A message as a carrier needs it; borrowed until the callback returns. */
struct store_letter {
	struct message_view message;
	struct uuid conversation;
	const char *from;
	const char *to;
	/* For a receipt about a message that came from the server of ${to}: the
	 * place (lane_seq) of the message in the lane of that server, or, if
	 * this server had accepted later places of the lane before the message,
	 * the highest of them.  0: not known, or the row is not such a receipt;
	 * always 0 for a message. */
	int64_t sequence;
};
typedef enum rc (*store_letter_fn)(
    void *arg, const struct store_letter *letter, struct err *err);

/* Calls ${each} with the message of ${row}; RC_NOT_FOUND: there is none. */
enum rc store_letter_get(struct db *db, const struct store_row *row,
    store_letter_fn each, void *arg, struct err *err) MUST_USE;

/* An attempt to deliver a row.  store_attempt_start() stores its begin;
 * ${attempt} counts from 1. */
struct store_attempt {
	int64_t outbox_id;
	int attempt;
	int64_t destination_id;
	const char *owner;
	const char *outcome; /* a word; set at the end */
	int status;          /* of HTTP; 0: no response */
	const char *error;   /* NULL: none */
};
enum rc store_attempt_start(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err) MUST_USE;

/* Stores the end of attempt number a->attempt of row a->outbox_id: outcome,
 * status, error (truncated to 512 bytes) and the time ${now_ms}.  Does nothing,
 * with RC_OK, if the attempt has ended already or does not exist. */
enum rc store_attempt_end(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err) MUST_USE;

/* Calls ${each} with a sender, a destination and the number ${n} of messages of
 * this sender that wait for this destination: those that are pending or being
 * sent, without scheduled ones.  If the destination is another server, there is
 * one call for each lane, so the same sender and destination may come several
 * times, and the caller adds the numbers.  Reads all waiting rows, which is
 * slow if there are many. */
typedef enum rc (*store_waiting_fn)(void *arg, int64_t sender_id,
    int64_t destination_id, int64_t n, struct err *err);
enum rc store_waiting(
    struct db *db, store_waiting_fn each, void *arg, struct err *err) MUST_USE;

#endif
