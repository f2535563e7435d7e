/* SPDX-License-Identifier: MIT */
/*
 * Queries and writes for the requests of other servers: accepted events, nonces
 * of accepted requests, how far each sequence (struct store_sequence) has come,
 * the keys that sign requests, messages by their public ids, and the outbox
 * rows that a receipt covers.  An origin is the server that has sent an event
 * or a request: the destination_id of that server in this database.
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

/* An event that was accepted.  sequence: the number that the event had in the
 * sender's lane (struct store_sequence); 0: not known.  behind: the highest
 * number of this lane (store_sequence.highest) that was stored before the
 * request with the event came, if that number is >= sequence and was accepted
 * at most 11 minutes (RECEIVE_LATE_COPY_MS) before; else 0.  If behind is
 * not 0, the event came late, or the sender was restored from a backup and
 * assigns the same numbers again.  In results key.origin is 0. */
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

/* store_target_key: the id of a message that a receipt names, and dest_id, the
 * user of another server from whom the receipt comes.  store_target: that
 * message, and the place of its outbox row in the lane to dest_id. */
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
 * store_incoming_answers(), or another call that sends the queue (db/db.h),
 * runs.  The struct must live and not change until that call has returned, and
 * its functions must not use the database. */
struct store_incoming_handler {
	/* The event was accepted before. */
	void (*processed)(void *arg, const struct store_processed *p);
	/* The inbox of ${user_id} has a row of this event, and the message of
	 * that row has this fingerprint (borrowed).  The message of a receipt's
	 * row is the one that the receipt names. */
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

/* Each of these five functions queues one query for ${n} keys (0: does
 * nothing).  The query calls one member of the handler for each row that
 * exists, in any order: store_processed_find() calls processed,
 * store_incoming_find() calls incoming, store_taken_find() calls taken,
 * store_sequences_get() calls sequence, and store_targets_find() calls target.
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

/* Queues a query for the pending, sending, sent and acked outbox rows in ${n}
 * parts of lanes to other servers (0: does nothing).  The member covered of the
 * handler receives the rows in the order of the parts, and within each part by
 * lane_seq. */
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

/* The key with which this node has verified a request of peer ${origin}, and
 * what the database says now about the key and the peer.  The node's copy in
 * memory may be older, and may not know that an operator has blocked the peer
 * or that the peer was forgotten or purged. */
struct store_origin {
	int64_t origin;
	const char *key_id;
	const uint8_t *public; /* STORE_PEER_PUBLIC_SIZE bytes */

	bool blocked;  /* the peer is blocked */
	bool verifies; /* the key verifies (store/peer.h) */
	bool used;     /* a user of the peer is known here */
};

/* Queues the query for ${o}.  o->blocked, o->verifies and o->used are valid
 * when store_incoming_answers(), or another call that sends the queue
 * (db/db.h), has returned; ${o} must live until then.  All three are false if
 * the peer has no row. */
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

/* Calls ${each}, before this function returns, for the outbox row of message
 * ${mid} to ${dest_id}, a user of another server, if the row is sent, is not
 * acked, and waits for no later answer that the other server has promised.
 * Otherwise, and if there is no such row, returns RC_OK without a call. */
enum rc store_covered_one(struct db *db, int64_t mid, int64_t dest_id,
    store_covered_fn each, void *arg, struct err *err) MUST_USE;

/* Sets acked_at of the outbox row of message ${mid} to ${dest_id}, a user of
 * another server, to ${now_ms}, because a receipt has named the message; the
 * state of the row stays.  Does nothing (RC_OK) if there is no such row, if the
 * row is acked, or if it is sent and waits for no later answer that the other
 * server has promised. */
enum rc store_receipt_note(struct db *db, int64_t mid, int64_t dest_id,
    int64_t now_ms, struct err *err) MUST_USE;

#endif
