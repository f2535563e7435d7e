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

/* Whether event ${key} was taken before. */
enum rc store_processed_find(struct db *db, const struct store_event_key *key,
    bool *ret, struct err *err) MUST_USE;

/* Notes that it is taken in this transaction. */
enum rc store_processed_add(struct db *db, const struct store_event_key *key,
    int64_t now_ms, struct err *err) MUST_USE;

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

/* Messages of ${sender_id} with after < conversation_seq <= upto; for
 * store_covered() those that are sent to ${dest_id} on another server, and not
 * acked. */
struct store_covered_query {
	int64_t conversation_id;
	int64_t after, upto;
	int64_t sender_id;
	int64_t dest_id;
};

/* The message of ${query} that ${skip} of them come before, as mid and number
 * of
 * ${ret}; RC_NOT_FOUND: there are not so many. */
enum rc store_covered_step(struct db *db,
    const struct store_covered_query *query, int64_t skip,
    struct store_target *ret, struct err *err) MUST_USE;

/* Calls ${each} for their outbox rows, in order. */
typedef enum rc (*store_covered_fn)(
    void *arg, int64_t outbox_id, int64_t mid, struct err *err);
enum rc store_covered(struct db *db, const struct store_covered_query *query,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* The same for the row of message ${mid} to ${dest_id} alone. */
enum rc store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

#endif
