/* SPDX-License-Identifier: MIT */
/*
 * Rows about what other servers have sent: events that were accepted, nonces of
 * requests, the last number that was accepted of each sequence, and the outbox
 * rows that a receipt covers.  An origin is the id of the sending server's
 * destination.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_INCOMING_H
#define STORE_INCOMING_H

#include <stdbool.h>

#include "base/uuid.h"
#include "db/db.h"
#include "store/message.h"

/* An event, identified by its id and the server that sent it. */
struct store_event_key {
	struct uuid event_id;
	int64_t origin;
};

/* An event that was accepted.  sequence: the place that the event had in the
 * sender's lane; 0: not known.  behind: the highest place in this lane that was
 * accepted lately, if it is >= sequence and was accepted at most 11 minutes
 * before this event was (RECEIVE_LATE_COPY_MS); else 0.  If it is not 0, the
 * event came late, or the sender was restored from a backup and assigns the
 * same places again. */
struct store_processed {
	struct store_event_key key;
	int64_t sequence;
	int64_t behind;
};

/* An event, and the user of this server to whom it is addressed. */
struct store_incoming_key {
	struct store_event_key event;
	int64_t user_id;
};

/* A sequence: the messages, or the receipts, that one user of another server
 * sends to one user of this server. */
struct store_sequence {
	int64_t sender_id;
	int64_t recipient_id;
	int class;    /* enum lane_class */
	int64_t last; /* the number that was accepted last */
	/* The highest number that was accepted lately, and when; 0: none. */
	int64_t highest, highest_at;
};

/* The place of the outbox row of a message to another server. */
struct store_place {
	int64_t lane_id; /* 0: the row was purged, or never existed */
	int64_t lane_seq;
	bool requeued; /* it had another place before */
	bool given_up; /* it has failed, has expired or was canceled */
	int64_t created_at;
};

/* A message that a receipt names, and its place in the lane to the receipt's
 * sender. */
struct store_target_key {
	struct uuid message_id;
	int64_t dest_id;
};
struct store_target {
	struct store_target_key key;
	int64_t mid;
	int64_t sender_id;
	int64_t conversation_id;
	int64_t conversation_seq; /* 0: scheduled, not released yet */
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
	bool unacked; /* it is sent, but not acked */
};
typedef enum rc (*store_covered_fn)(
    void *arg, const struct store_covered_row *row, struct err *err);

/* Receives the rows of the queries below, at the latest while
 * store_incoming_answers() runs.  The struct must not change until that call
 * has returned, and its functions must not use the database. */
struct store_incoming_handler {
	/* The event was accepted before. */
	void (*processed)(void *arg, const struct store_processed *p);
	/* The event has put a message with this fingerprint (borrowed) into the
	 * inbox of ${user_id}. */
	void (*incoming)(void *arg, const struct uuid *event_id,
	    int64_t user_id, const uint8_t fingerprint[STORE_FINGERPRINT_LEN]);
	/* A message with this id exists. */
	void (*taken)(void *arg, const struct uuid *message_id,
	    int64_t sender_id,
	    const uint8_t fingerprint[STORE_FINGERPRINT_LEN]);
	/* How far a sequence has come. */
	void (*sequence)(void *arg, const struct store_sequence *s);
	/* A message that a receipt names exists. */
	void (*target)(void *arg, const struct store_target *t);
	/* A receipt covers the row. */
	store_covered_fn covered;
	void *arg;
};

/* Each of these functions queues one query for ${n} keys.  The rows that exist
 * are passed to the handler, in any order: those of the first function to its
 * member processed, then in the same way incoming, taken, sequence and target.
 */
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

/* Queues a query for the rows in ${n} parts of lanes, without rows that have
 * failed, expired or been canceled.  The member covered of the handler receives
 * the rows in the order of the parts, and within each part by lane_seq. */
enum rc store_covered_find(struct db *db, const struct store_covering *parts,
    size_t n, const struct store_incoming_handler *h, struct err *err) MUST_USE;

/* Sends the queued queries and waits for their rows. */
enum rc store_incoming_answers(struct db *db, struct err *err) MUST_USE;

/* Stores that ${n} distinct events are accepted in this transaction. */
enum rc store_processed_add(struct db *db, const struct store_processed *events,
    size_t n, int64_t now_ms, struct err *err) MUST_USE;

/* Stores how far ${n} distinct sequences have come. */
enum rc store_sequences_set(struct db *db, const struct store_sequence *s,
    size_t n, struct err *err) MUST_USE;

/* A key that has verified a request, and what the database says about it now.
 * The node's copy in memory may be older, and may not know that an operator has
 * blocked the peer or that the peer was forgotten or purged. */
struct store_origin {
	int64_t origin;
	const char *key_id;
	const uint8_t *public; /* STORE_PEER_PUBLIC_SIZE bytes */

	bool blocked;  /* the peer is blocked */
	bool verifies; /* the key verifies (store/peer.h) */
	bool used;     /* a user of the peer is known here */
};

/* Queues the query for ${o}.  Its last three members are set when
 * store_incoming_answers(), or another call that sends the queue (db/db.h), has
 * returned; ${o} must live until then.  All three are false if the peer has no
 * row. */
enum rc store_origin_ask(
    struct db *db, struct store_origin *o, struct err *err) MUST_USE;

/* A request, identified by its nonce. */
struct store_nonce {
	int64_t origin;
	const char *key_id;
	const char *nonce;
	int64_t keep_until; /* ms: signatures with it are invalid later */
};

/* Queues a query whether the request was accepted before.  *ret is set when
 * store_incoming_answers() has returned, and must live until then. */
enum rc store_nonce_find(struct db *db, const struct store_nonce *nonce,
    bool *ret, struct err *err) MUST_USE;

/* Stores that the request is accepted.  RC_CONFLICT: another transaction has
 * just accepted it. */
enum rc store_nonce_add(
    struct db *db, const struct store_nonce *nonce, struct err *err) MUST_USE;

/* Queues the removal of at most ${limit} nonces whose signatures are invalid by
 * now. */
enum rc store_nonces_expire(
    struct db *db, int64_t now_ms, int64_t limit, struct err *err) MUST_USE;

/* Calls ${each} for the outbox row of message ${mid} to ${dest_id}, a user of
 * another server, if the row is sent, is not acked, and waits for no later
 * answer that the other server has promised. */
enum rc store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* Stores in the outbox row of message ${mid} to ${dest_id} that a receipt has
 * named the message.  Does nothing if the row is acked, or if it is sent and
 * waits for no later answer that the other server has promised. */
enum rc store_receipt_note(struct db *db, int64_t mid, int64_t dest_id,
    int64_t now_ms, struct err *err) MUST_USE;

#endif
