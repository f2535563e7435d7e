/* SPDX-License-Identifier: MIT */
/*
 * Outbox rows as the store keeps them.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"
#include "store/lane.h"

struct store_entry; /* store/message.h */

/* An outbox row as a relay claims it. */
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
	int64_t deliver_at; /* 0: it was for at once */
	int64_t lane_id;
};

/* A row as a sender sees it, with its recipient's marks. */
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
	int64_t read_upto; /* as far as its person lets others know */
	int64_t read_at;
	bool released; /* it has its place in its lane */
	int64_t dest_user;
	char reason[33]; /* "": none */
};

/* A scheduled row that is due, with what its release needs. */
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

/* The next time after ${now_ms} at which something is due that is not due
 * yet: a lane that waits or a scheduled row.  0: nothing. */
enum rc store_outbox_next_due(
    struct db *db, int64_t now_ms, int64_t *ret, struct err *err) MUST_USE;

/* What is asked of a lane: at most so many of its pending rows, from a place
 * on. */
struct store_claim {
	int64_t lane_id;
	int64_t from_seq;
	int64_t most;
};

/* The rows of ${n} lanes (at most STORE_CLAIMS) into ${ret}, which has room for
 * all that is asked: lane by lane, each in order. */
#define STORE_CLAIMS 64
enum rc store_outbox_claim(struct db *db, const struct store_claim *claims,
    size_t n, struct store_claimed *ret, size_t *ret_n,
    struct err *err) MUST_USE;

/* The highest ids given so far. */
enum rc store_outbox_last_id(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;
enum rc store_message_last_id(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

/* The next ${n} ids, ascending, where others give some, too. */
enum rc store_outbox_ids(
    struct db *db, int64_t *list, size_t n, struct err *err) MUST_USE;
enum rc store_message_ids(
    struct db *db, int64_t *list, size_t n, struct err *err) MUST_USE;

/* A pending receipt of ${kind} by ${sender_id} in a lane; *ret_id 0: none. */
enum rc store_receipt_pending(struct db *db, int64_t lane_id, int kind,
    int64_t sender_id, int64_t *ret_id, struct err *err) MUST_USE;

/* Moves a pending receipt on to a later message.  RC_CONFLICT when it is not
 * pending. */
enum rc store_receipt_move(struct db *db, int64_t id, int64_t mid,
    int64_t conversation_seq, int64_t event_time, struct err *err) MUST_USE;

/* Others' messages in a conversation with after < conversation_seq <= upto
 * have been read by ${user_id}: those sent are acked.  *ret_changed: how many.
 */
struct store_read {
	int64_t conversation_id;
	int64_t user_id;
	int64_t after;
	int64_t upto;
};
enum rc store_outbox_settle_read(struct db *db, const struct store_read *read,
    int64_t now_ms, int64_t *ret_changed, struct err *err) MUST_USE;

/* Calls ${each} for the destinations of an event. */
enum rc store_destinations(struct db *db, const struct uuid *event_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} for the people to whom ${sender_id}'s message ${e} went, of
 * which no outbox row is left: what their marks and inboxes say.  Its times are
 * exact where the inbox has them (sent_at), else those of the mark, at or
 * after the message's own; what only the row knew is 0. */
enum rc store_purged_destinations(struct db *db, const struct store_entry *e,
    int64_t sender_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} for scheduled rows due at ${now_ms}. */
enum rc store_outbox_due(struct db *db, int64_t now_ms, int64_t limit,
    enum rc (*each)(void *arg, const struct store_due *due, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* The places that a scheduled row and its message get. */
struct store_release {
	int64_t id;
	int64_t lane_seq;
	int64_t mid;
	int64_t conversation_seq;
	const uint8_t *digest; /* 32 bytes */
};

/* Gives them.  RC_CONFLICT when either has one already. */
enum rc store_outbox_release(struct db *db, const struct store_release *r,
    int64_t now_ms, struct err *err) MUST_USE;

/* Cancels a pending row; RC_CONFLICT when it is not pending. */
enum rc store_outbox_cancel(
    struct db *db, int64_t id, int64_t now_ms, struct err *err) MUST_USE;

/* How many messages ${sender_id} has scheduled. */
enum rc store_outbox_scheduled_count(
    struct db *db, int64_t sender_id, int64_t *ret, struct err *err) MUST_USE;

/* How many rows wait for delivery (a full count, for start-up). */
enum rc store_outbox_pending_count(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

#endif
