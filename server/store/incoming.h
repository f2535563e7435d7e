/* SPDX-License-Identifier: MIT */
/*
 * What comes from other servers, as the store keeps it: events that were taken,
 * nonces of requests, how far each sequence has come, and what a receipt
 * covers. An origin is the id of the sending server's destination. Thread: the
 * owner of ${db}, in all of these.
 */
#ifndef STORE_INCOMING_H
#define STORE_INCOMING_H

#include <stdbool.h>

#include "base/uuid.h"
#include "db/db.h"
#include "store/message.h"

/* An event by the server that it came from. */
struct store_event_key {
	struct uuid event_id;
	int64_t origin;
};

/* What is known of an event that was taken before. */
struct store_processed {
	bool found;
	int64_t sequence; /* its place in the sender's lane then; 0: unknown */
	int64_t behind;   /* it came when places up to this were taken; or 0 */
};

/* Whether event ${key} was taken before. */
enum rc store_processed_find(struct db *db, const struct store_event_key *key,
    struct store_processed *ret, struct err *err) MUST_USE;

/* Notes that it is taken in this transaction; of ${as} the places. */
enum rc store_processed_add(struct db *db, const struct store_event_key *key,
    const struct store_processed *as, int64_t now_ms, struct err *err) MUST_USE;

/* The fingerprint of the message that event ${key} has put into the inbox of
 * ${user_id}; RC_NOT_FOUND: it is not there, or no more. */
enum rc store_incoming_fingerprint(struct db *db,
    const struct store_event_key *key, int64_t user_id,
    uint8_t ret[STORE_FINGERPRINT_LEN], struct err *err) MUST_USE;

/* A request by what makes it unique. */
struct store_nonce {
	int64_t origin;
	const char *key_id;
	const char *nonce;
	int64_t keep_until; /* ms: no signature with it is good any more */
};

/* Whether the request was taken before. */
enum rc store_nonce_find(struct db *db, const struct store_nonce *nonce,
    bool *ret, struct err *err) MUST_USE;

/* Notes that it is taken.  RC_CONFLICT: another transaction has just taken
 * it. */
enum rc store_nonce_add(
    struct db *db, const struct store_nonce *nonce, struct err *err) MUST_USE;

/* Removes at most ${limit} that no signature can come with any more. */
enum rc store_nonces_expire(
    struct db *db, int64_t now_ms, int64_t limit, struct err *err) MUST_USE;

/* A sequence: what one person of another server sends to one of this one. */
struct store_sequence {
	int64_t sender_id;
	int64_t recipient_id;
	int class; /* enum lane_class */
};

/* The last number of it that was taken; 0: none. */
enum rc store_sequence_get(struct db *db, const struct store_sequence *s,
    int64_t *ret, struct err *err) MUST_USE;
enum rc store_sequence_set(struct db *db, const struct store_sequence *s,
    int64_t last, struct err *err) MUST_USE;

/* The message that a receipt names. */
struct store_target {
	int64_t mid;
	int64_t sender_id;
	int64_t conversation_id;
	int64_t conversation_seq; /* 0: not released */
};

/* Message ${id}; RC_NOT_FOUND. */
enum rc store_target_get(struct db *db, const struct uuid *id,
    struct store_target *ret, struct err *err) MUST_USE;

/* Where the outbox row of a message to another server stands. */
struct store_place {
	int64_t lane_id;
	int64_t lane_seq;
	bool requeued; /* it has stood elsewhere before */
	bool given_up; /* nobody expects that it was taken */
};

/* The place of message ${mid} to ${dest_id}; RC_NOT_FOUND: the row has been
 * purged, or there never was one. */
enum rc store_place_get(struct db *db, int64_t mid, int64_t dest_id,
    struct store_place *ret, struct err *err) MUST_USE;

/* An outbox row that a receipt covers. */
struct store_covered_row {
	int64_t outbox_id;
	int64_t mid;
	int64_t conversation_seq;
	bool unacked; /* it is sent, and not acked */
};
typedef enum rc (*store_covered_fn)(
    void *arg, const struct store_covered_row *row, struct err *err);

/* Calls ${each} for the rows of lane ${lane_id} with after < lane_seq <= upto
 * that were not given up, in order. */
enum rc store_covered(struct db *db, int64_t lane_id, int64_t after,
    int64_t upto, store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} for the row of message ${mid} to ${dest_id}, if it is sent and
 * not acked. */
enum rc store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* Notes that a receipt has named message ${mid} to ${dest_id}, if its row is
 * not sent. */
enum rc store_receipt_note(struct db *db, int64_t mid, int64_t dest_id,
    int64_t now_ms, struct err *err) MUST_USE;

#endif
