/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes outbox rows: those to inboxes here, scheduled rows, and the
 * destinations of a message as its sender sees them.  store/remote.h has the
 * rows on their way to other servers.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"
#include "store/lane.h"

struct store_entry; /* store/message.h */

/* An outbox row as a relay claims it for an inbox here. */
struct store_claimed {
	int64_t id;
	struct uuid event_id;
	int kind; /* enum event_kind */
	int64_t mid;
	int64_t conversation_seq;
	int64_t sender_id;
	int64_t lane_seq;
	int64_t dest_user;
	int64_t event_time;
	int64_t created_at;
	int attempts;
	int64_t expires_at; /* 0: never */
	int64_t deliver_at; /* 0: it was not scheduled */
	int64_t lane_id;
};

/* A row as its sender sees it, with the watermarks of its recipient. */
struct store_destination {
	int64_t id;
	char name[LIMIT_ADDRESS_LEN + 1];
	int state; /* enum outbox_state */
	int attempts;
	int retry_count;
	int64_t last_attempt_at;
	int64_t last_status_at;
	int64_t next_retry_at;
	int64_t sent_at;
	int64_t acked_at;
	char last_error[513];
	int64_t deliver_at;
	int64_t expires_at;
	int64_t read_upto; /* as far as the recipient lets others know */
	int64_t read_at;
	bool released; /* it has a place in its lane: not scheduled any more */
	int64_t dest_user;
	char reason[33]; /* "": none */
};

/* A scheduled row that is due, with what is needed to release it. */
struct store_due {
	int64_t id;
	struct uuid event_id;
	int64_t mid;
	int64_t conversation_id;
	int64_t sender_id;
	int64_t lane_id;
	int64_t event_time;
	struct uuid message_id;
	const void *salt; /* 16 bytes, borrowed */
	const char *body; /* borrowed */
	size_t body_len;
	int priority;
};

/* *ret: the earlier of two times: the first due_at of any lane (local or not)
 * that is after ${now_ms}, and the earliest time at which a scheduled row is
 * due, which may be before ${now_ms}.  A lane that is due at ${now_ms} already
 * does not count.  0: there is neither. */
enum rc store_outbox_next_due(
    struct db *db, int64_t now_ms, int64_t *ret, struct err *err) MUST_USE;

/* A part of a lane: at most ${most} of its pending rows, from lane_seq from_seq
 * on. */
struct store_claim {
	int64_t lane_id;
	int64_t from_seq;
	int64_t most;
};

/* Reads the pending rows of the parts ${claims} of ${n} local lanes (at most
 * STORE_CLAIMS) into ${ret}, in the order of ${claims}, and within each part by
 * lane_seq; changes no row.  *ret_n: the number of rows.  ${ret} must have room
 * for the sum of all `most`. */
#define STORE_CLAIMS 64
enum rc store_outbox_claim(struct db *db, const struct store_claim *claims,
    size_t n, struct store_claimed *ret, size_t *ret_n,
    struct err *err) MUST_USE;

/* *ret: the highest id given so far; 0: none. */
enum rc store_outbox_last_id(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;
enum rc store_message_last_id(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

/* Reserve the next ${n} ids, in ascending order, on a multi-writer database. */
enum rc store_outbox_ids(
    struct db *db, int64_t *list, size_t n, struct err *err) MUST_USE;
enum rc store_message_ids(
    struct db *db, int64_t *list, size_t n, struct err *err) MUST_USE;

/* Finds the last pending receipt of ${kind} by ${sender_id} in a local lane,
 * which store_receipt_move() may then change to a later message; *ret_id is 0
 * if there is none.  A read receipt is not found if a pending delivered receipt
 * by ${sender_id} follows in the lane: the changed read receipt would cover
 * messages whose delivered receipt comes after the read receipt. */
enum rc store_receipt_pending(struct db *db, int64_t lane_id, int kind,
    int64_t sender_id, int64_t *ret_id, struct err *err) MUST_USE;

/* Changes the pending receipt in outbox row ${id} to a later message, ${mid},
 * so that it covers everything up to that message; the place of the row in its
 * lane stays.  RC_CONFLICT: the row is not pending. */
enum rc store_receipt_move(struct db *db, int64_t id, int64_t mid,
    int64_t conversation_seq, int64_t event_time, struct err *err) MUST_USE;

/* Settles what user_id, a user of this server, has read in a conversation.  The
 * outbox rows to this user of messages of others, with a conversation_seq above
 * after and at most upto, go from sent to acked.  *ret_changed: the number of
 * rows that became acked. */
struct store_read {
	int64_t conversation_id;
	int64_t user_id;
	int64_t after;
	int64_t upto;
};
enum rc store_outbox_settle_read(struct db *db, const struct store_read *read,
    int64_t now_ms, int64_t *ret_changed, struct err *err) MUST_USE;

/* Calls ${each} for the destinations (outbox rows) of an event. */
enum rc store_destinations(struct db *db, const struct uuid *event_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} for the recipients of message ${e} of ${sender_id}.  May be
 * called only if store_destinations() finds no row of the message, because the
 * rows were purged.  The argument of ${each} is computed from the recipients'
 * watermarks and inboxes; its state is sent or acked.  sent_at is exact if the
 * inbox is here and still has the message; else it is acked_at.  acked_at is 0
 * if the recipient's ack watermark is below the message; else it is the time at
 * which this watermark last advanced, by an ack of this message or of a later
 * one.  For a message to oneself acked_at is sent_at.  read_upto is the read
 * watermark, even if it is below the message, and read_at the time at which it
 * last advanced.  Values that only the purged row had are 0. */
enum rc store_purged_destinations(struct db *db, const struct store_entry *e,
    int64_t sender_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} for at most ${limit} scheduled rows that are due at ${now_ms}.
 */
enum rc store_outbox_due(struct db *db, int64_t now_ms, int64_t limit,
    enum rc (*each)(void *arg, const struct store_due *due, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* The places that a scheduled row and its message get when they are released.
 */
struct store_release {
	int64_t id;
	int64_t lane_seq;
	int64_t mid;
	int64_t conversation_seq;
	const uint8_t *digest; /* 32 bytes */
};

/* Releases a scheduled row: stores its place in its lane, and the place and the
 * digest of its message in the conversation.  RC_CONFLICT: the row or its
 * message has a place already, or the row is not pending; the message may have
 * been written, so the caller must roll back. */
enum rc store_outbox_release(struct db *db, const struct store_release *r,
    int64_t now_ms, struct err *err) MUST_USE;

/* Cancels a pending row; RC_CONFLICT: it is not pending. */
enum rc store_outbox_cancel(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* *ret: the number of messages that ${sender_id} has scheduled. */
enum rc store_outbox_scheduled_count(
    struct db *db, int64_t sender_id, int64_t *ret, struct err *err) MUST_USE;

/* *ret: the number of pending rows to inboxes here, without scheduled ones.
 * Counts all of them, which is slow; in the server only relay_start() calls
 * this. */
enum rc store_outbox_pending_count(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

#endif
