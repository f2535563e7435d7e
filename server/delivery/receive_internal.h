/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of the verb `receive` share: receive.c (the verb;
 * writes messages), receive_receipt.c (applies receipts), receive_judge.c
 * (decisions), receive_look.c (queries), receive_cover.c (rows that receipts
 * cover) and receive_make.c (new users and conversations).
 */
#ifndef DELIVERY_RECEIVE_INTERNAL_H
#define DELIVERY_RECEIVE_INTERNAL_H

#include "delivery/receive.h"
#include "store/incoming.h"
#include "txn/add.h"

/* The state of writing one envelope. */
struct receiving {
	struct tx *tx;
	struct receive_unit *u;
	const struct envelope *e;
	struct receive_item *item;
	struct text *message; /* rendered, or NULL; borrowed */
	struct cached_user *sender, *recipient;
	struct cached_conversation *conversation;
};

/* Returns the time of the event: the time that the sender states, or the
 * present time if the stated time is in the future. */
static inline int64_t
receive_event_time(const struct receiving *r)
{

	return (r->e->timestamp_ms < r->tx->now_ms ? r->e->timestamp_ms
						   : r->tx->now_ms);
}

/* Notes in ${r->u} that the event of ${r} is accepted.  receive.c writes the
 * event's row of processed_messages later, together with the rows of all noted
 * events of the request. */
static inline void
receive_note_event(struct receiving *r)
{

	r->u->noted[r->u->nnoted++] = (size_t)(r->item - r->u->items);
}

/* Sets recipient, origin, conversation, actor, time and attempt of ${i} from
 * ${r}, and adds ${i} to the inbox of the recipient with txn_add_inbox(), which
 * keeps the row in memory until txn_write_inbox().  The caller has set the
 * other members of ${i}.  Thread: writer. */
enum rc receive_add_inbox(
    struct receiving *r, struct inbox_new *i, struct err *err) MUST_USE;

/* Applies the planned receipt ${r}.  The outbox rows that it acks are written
 * at the latest by receive_receipts_write(), which the caller must call once
 * after the last receipt of the request.
 * Thread: writer. */
enum rc receive_receipt(struct receiving *r, struct err *err) MUST_USE;

/* Writes and counts the rows that the receipts of ${u} have acked.
 * Thread: writer. */
enum rc receive_receipts_write(
    struct tx *tx, const struct receive_unit *u, struct err *err) MUST_USE;

/* The maximum time, in milliseconds, from the first sending of a request to the
 * arrival of a late copy of it: a signature is valid for 300 s, and the two
 * clocks may differ by 300 s as well; the remaining 60 s are a margin. */
#define RECEIVE_LATE_COPY_MS (11 * 60 * 1000)

/* Decides for each envelope of ${u} whether it is accepted, and writes nothing
 * to the database: sets reason, duplicate, sequence and plan of each, and
 * queues the query for the rows that the receipts cover (receive_cover_ask()).
 * If the whole request is refused, makes receive_refused() true instead, and
 * the items must not be used.  Thread: writer. */
enum rc receive_judge(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Sets `known` of the items of ${u} that are not refused yet to the facts in
 * the store, and repeated, unknown, blocked and used of ${u}.  If
 * receive_refused() is true then, `known` is incomplete.  The caller has looked
 * up the users of the envelopes (recipient_id, sender_id).  On a multi-writer
 * database the name of the signing peer is locked already if the request may
 * add a user of this peer or a conversation (receive_locks_names()), so that a
 * purge of the peer either waits for this transaction or is visible here.
 * Thread: writer. */
enum rc receive_look(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Returns true if the whole request is refused. */
static inline bool
receive_refused(const struct receive_unit *u)
{

	return (u->repeated || u->unknown || u->blocked);
}

/* Adds the senders and the direct conversations that the planned messages of
 * ${u} need and that do not exist here yet.  Recipients exist already.
 * Thread: writer. */
enum rc receive_make(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Queues the query for the rows that the planned receipts of ${u} cover.
 * receive_cover_add() is called for each row, at the latest while the next
 * statement that waits for its result runs.  receive.c frees the rows with
 * receive_cover_free(), also after a failure. */
enum rc receive_cover_ask(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Adds ${row} to the covered rows of ${arg}, a receive_unit
 * (store_incoming_handler.covered). */
enum rc receive_cover_add(
    void *arg, const struct store_covered_row *row, struct err *err) MUST_USE;

/* Takes and returns the next of the rows that receive_cover_ask() has queried,
 * if that row is of lane ${lane_id} and its lane_seq is at most ${upto};
 * otherwise takes nothing and returns NULL.  Receipts must take their rows in
 * the order of ${u->order}.  The row is valid until receive_cover_free(). */
const struct store_covered_row *receive_cover_next(
    struct receive_unit *u, int64_t lane_id, int64_t upto);

/* Notes that row ${outbox_id} was acked after the rows were read. */
void receive_cover_acked(struct receive_unit *u, int64_t outbox_id);

/* Frees the rows. */
void receive_cover_free(struct receive_unit *u);

/* Returns the class (enum lane_class) of the sequence to which an event of
 * ${kind} belongs: LANE_MESSAGES for a message, else LANE_RECEIPTS. */
int receive_class(int kind);

/* Returns true if the domain of ${address} is ${domain}. */
bool receive_is_of(const struct span *address, const char *domain);

/* Returns the length of the name in ${address}, "name@domain". */
size_t receive_name_len(const struct span *address);

/* Sets ${ret} to the name in ${address}, "name@domain", or to "" if this name
 * is too long for a user of this server.  Does not check the domain. */
void receive_local_name(
    const struct span *address, char ret[LIMIT_NAME_LEN + 1]);

#endif
