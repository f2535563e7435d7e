/* SPDX-License-Identifier: MIT */
/*
 * Functions that receive.c (the verb, and writing messages), receive_receipt.c
 * (writing receipts), receive_judge.c (decisions), receive_look.c (what they
 * stand on), receive_cover.c (rows that receipts cover) and receive_make.c (new
 * people) share.
 */
#ifndef DELIVERY_RECEIVE_INTERNAL_H
#define DELIVERY_RECEIVE_INTERNAL_H

#include "delivery/receive.h"
#include "store/incoming.h"
#include "txn/add.h"

/* One envelope while it is written. */
struct receiving {
	struct tx *tx;
	struct receive_unit *u;
	const struct envelope *e;
	struct receive_item *item;
	struct text *message; /* rendered, or NULL; borrowed */
	struct cached_user *sender, *recipient;
	struct cached_conversation *conversation;
};

/* When the event happened: the sender's clock is believed as far as it does not
 * lie in the future. */
static inline int64_t
receive_event_time(const struct receiving *r)
{

	return (r->e->timestamp_ms < r->tx->now_ms ? r->e->timestamp_ms
						   : r->tx->now_ms);
}

/* The event is known from now on: its row is written with those of the whole
 * request. */
static inline void
receive_note_event(struct receiving *r)
{

	r->u->noted[r->u->nnoted++] = (size_t)(r->item - r->u->items);
}

/* Adds event ${i} of ${r} to its recipient's inbox; who, where and when are
 * filled in.  Thread: writer. */
enum rc receive_add_inbox(
    struct receiving *r, struct inbox_new *i, struct err *err) MUST_USE;

/* Receipt ${r}, which is planned.  The rows that it acks are written by
 * receive_receipts_write(), which follows the last receipt.  Thread: writer. */
enum rc receive_receipt(struct receiving *r, struct err *err) MUST_USE;

/* Writes and counts what the receipts of ${u} have acked.  Thread: writer. */
enum rc receive_receipts_write(
    struct tx *tx, const struct receive_unit *u, struct err *err) MUST_USE;

/* How long after its first sending a copy of a request may come: a signature
 * lives for 300 s, and clocks may differ by as much. */
#define RECEIVE_LATE_COPY_MS (11 * 60 * 1000)

/* Decides all envelopes of ${u} by reading: reason, duplicate and plan of each;
 * or that the request is refused.  The rows that its receipts cover are asked
 * for, and come with the next statement that is waited for.  Thread: writer. */
enum rc receive_judge(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Reads what the store knows of the envelopes of ${u} without a reason: `known`
 * of each; and whether the request is refused.  The people of each are known.
 * With a new person of the signing peer its name is locked by now
 * (receive_locks_names), so that purging the peer waits, or is seen here.
 * Thread: writer. */
enum rc receive_look(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Whether the request as a whole is refused. */
static inline bool
receive_refused(const struct receive_unit *u)
{

	return (u->repeated || u->unknown || u->blocked);
}

/* Makes the people and the conversations that the planned messages of ${u} need
 * and that are not here.  Thread: writer. */
enum rc receive_make(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Asks for the rows that the planned receipts of ${u} cover, which come by the
 * end of store_incoming_answers() or with a statement that is waited for. */
enum rc receive_cover_ask(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* Keeps ${row} for ${arg}, a receive_unit (store_incoming_handler.covered). */
enum rc receive_cover_add(
    void *arg, const struct store_covered_row *row, struct err *err) MUST_USE;

/* The next row of lane ${lane_id} up to lane_seq ${upto}, which no receipt of
 * ${u} has taken yet; NULL: there is none.  Receipts take their rows in
 * ${u->order}.  Valid until receive_cover_free(). */
const struct store_covered_row *receive_cover_next(
    struct receive_unit *u, int64_t lane_id, int64_t upto);

/* Row ${outbox_id} is acked since the rows were read. */
void receive_cover_acked(struct receive_unit *u, int64_t outbox_id);

/* Forgets all rows. */
void receive_cover_free(struct receive_unit *u);

/* The class of the sequence that an event of ${kind} belongs to: enum
 * lane_class. */
int receive_class(int kind);

/* Whether ${address} is of ${domain}. */
bool receive_is_of(const struct span *address, const char *domain);

/* The length of the name in ${address}, "name@domain". */
size_t receive_name_len(const struct span *address);

/* The name in ${address}; "": nobody here can have it. */
void receive_local_name(
    const struct span *address, char ret[LIMIT_NAME_LEN + 1]);

#endif
