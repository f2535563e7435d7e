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

/* An event that was taken, with its place in the sender's lane then (sequence;
 * 0: not known).  behind: it came when places up to this had been taken; or 0.
 */
struct store_processed {
	struct store_event_key key;
	int64_t sequence;
	int64_t behind;
};

/* An event, and the person here whom it is for. */
struct store_incoming_key {
	struct store_event_key event;
	int64_t user_id;
};

/* A sequence: what one person of another server sends to one of this one. */
struct store_sequence {
	int64_t sender_id;
	int64_t recipient_id;
	int class;    /* enum lane_class */
	int64_t last; /* the number that was taken last */
	/* The highest that was taken lately, and when; 0: none. */
	int64_t highest, highest_at;
};

/* Where the outbox row of a message to another server stands. */
struct store_place {
	int64_t lane_id; /* 0: the row was purged, or there never was one */
	int64_t lane_seq;
	bool requeued; /* it has stood elsewhere before */
	bool given_up; /* nobody expects that it was taken */
	int64_t created_at;
};

/* A message that a receipt names, and its place to the receipt's sender. */
struct store_target_key {
	struct uuid message_id;
	int64_t dest_id;
};
struct store_target {
	struct store_target_key key;
	int64_t mid;
	int64_t sender_id;
	int64_t conversation_id;
	int64_t conversation_seq; /* 0: not released */
	struct store_place place;
};

/* The rows of lane ${lane_id} with after < lane_seq <= upto. */
struct store_covering {
	int64_t lane_id;
	int64_t after, upto;
};

/* An outbox row that a receipt covers. */
struct store_covered_row {
	int64_t outbox_id;
	int64_t mid;
	int64_t conversation_seq;
	int64_t lane_id, lane_seq;
	bool unacked; /* it is sent, and not acked */
};
typedef enum rc (*store_covered_fn)(
    void *arg, const struct store_covered_row *row, struct err *err);

/* Gets the rows that the functions below ask for, by the end of
 * store_incoming_answers().  It must stay as it is until then. */
struct store_incoming_handler {
	/* The event was taken before. */
	void (*processed)(void *arg, const struct store_processed *p);
	/* It has put a message with this fingerprint into the inbox of
	 * ${user_id}. */
	void (*incoming)(void *arg, const struct uuid *event_id,
	    int64_t user_id, const uint8_t fingerprint[STORE_FINGERPRINT_LEN]);
	/* There is a message with this id. */
	void (*taken)(void *arg, const struct uuid *message_id,
	    int64_t sender_id,
	    const uint8_t fingerprint[STORE_FINGERPRINT_LEN]);
	/* How far a sequence has come. */
	void (*sequence)(void *arg, const struct store_sequence *s);
	/* There is a message that a receipt names. */
	void (*target)(void *arg, const struct store_target *t);
	/* A receipt covers the row. */
	store_covered_fn covered;
	void *arg;
};

/* Each of these asks for ${n} rows in one statement, or for as many of them as
 * there are. */
enum rc store_processed_find(struct db *db, const struct store_event_key *keys,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;
enum rc store_incoming_find(struct db *db,
    const struct store_incoming_key *keys, size_t n,
    const struct store_incoming_handler *h, struct err *err) MUST_USE;
enum rc store_taken_find(struct db *db, const struct uuid *message_ids,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;
enum rc store_sequences_get(struct db *db, const struct store_sequence *s,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;
enum rc store_targets_find(struct db *db, const struct store_target_key *keys,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;

/* Asks for all rows of ${n} parts of lanes that were not given up, in the order
 * of the parts, and within each by lane_seq. */
enum rc store_covered_find(struct db *db, const struct store_covering *parts,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;

/* Waits for all that was asked for. */
enum rc store_incoming_answers(struct db *db, struct err *err) MUST_USE;

/* Notes that ${n} events, all of them different, are taken in this
 * transaction. */
enum rc store_processed_add(struct db *db, const struct store_processed *events,
    size_t n, int64_t now_ms, struct err *err) MUST_USE;

/* Keeps how far ${n} sequences, all of them different, have come. */
enum rc store_sequences_set(struct db *db, const struct store_sequence *s,
    size_t n, struct err *err) MUST_USE;

/* A key that has verified a request, and what the database says of it now: a
 * memory that is older may know neither an operator's block nor that the peer
 * was forgotten or purged. */
struct store_origin {
	int64_t origin;
	const char *key_id;
	const uint8_t *public; /* STORE_PEER_PUBLIC_SIZE bytes */

	bool blocked;  /* the peer is */
	bool verifies; /* the key does, as store/peer.h says */
	bool used;     /* somebody of the peer is known here */
};

/* Queues the question; ${o} is kept, and answered when the next statement is
 * that is not queued. */
enum rc store_origin_ask(
    struct db *db, struct store_origin *o, struct err *err) MUST_USE;

/* A request by what makes it unique. */
struct store_nonce {
	int64_t origin;
	const char *key_id;
	const char *nonce;
	int64_t keep_until; /* ms: no signature with it is good any more */
};

/* Asks whether the request was taken before; *ret is set by the end of
 * store_incoming_answers(). */
enum rc store_nonce_find(struct db *db, const struct store_nonce *nonce,
    bool *ret, struct err *err) MUST_USE;

/* Notes that it is taken.  RC_CONFLICT: another transaction has just taken
 * it. */
enum rc store_nonce_add(
    struct db *db, const struct store_nonce *nonce, struct err *err) MUST_USE;

/* Removes at most ${limit} that no signature can come with any more. */
enum rc store_nonces_expire(
    struct db *db, int64_t now_ms, int64_t limit, struct err *err) MUST_USE;

/* Calls ${each} for the row of message ${mid} to ${dest_id}, if it is sent and
 * not acked. */
enum rc store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* Notes that a receipt has named message ${mid} to ${dest_id}, if its row is
 * not sent. */
enum rc store_receipt_note(struct db *db, int64_t mid, int64_t dest_id,
    int64_t now_ms, struct err *err) MUST_USE;

#endif
