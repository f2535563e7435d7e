/* SPDX-License-Identifier: MIT */
/*
 * Applies the receipts of a request: the covered rows that are sent become
 * acked, the watermarks of the receipt's sender in the conversation advance,
 * and if the acked or the read watermark advances, the receipt's recipient, a
 * user of this server, gets an event.
 *
 * On PostgreSQL each statement that waits for its result is a round trip.  Most
 * receipts need none of their own: the rows that they cover were read together
 * (receive_cover.c), and the rows that they ack are written together.  The
 * exceptions are receipts that name a message that was given up, requeued or
 * accepted at another place (settle_named()), and receipts whose event names
 * another message than the receipt (told_id()).
 */
#include <assert.h>

#include "base/fault.h"
#include "delivery/receive_internal.h"
#include "txn/verb.h"

/* Handles one row that receipt ${arg} covers.  Keeps in the item the covered
 * message with the highest conversation_seq, because the event for the local
 * user names it.  If the row is unacked (sent, not acked, and without a
 * promised later answer of the other server that is still missing), adds it to
 * env->acked, the list of rows of all receipts of the request that
 * receive_receipts_write() or settle_named() writes as acked.  A row in another
 * state stays. */
static enum rc
settle_covered(void *arg, const struct store_covered_row *row, struct err *err)
{
	struct receiving *r = arg;
	struct txn_env *env = txn_env_of(r->tx);
	struct sql_outbox_settle_acked *v;
	enum rc rc;

	if (r->item->upto < row->conversation_seq) {
		r->item->upto = row->conversation_seq;
		r->item->mid = row->mid;
	}
	if (!row->unacked)
		return (RC_OK);
	rc = store_next_outbox_settle_acked(r->tx->db, &env->acked, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->id = db_v_i64(row->outbox_id);
	v->now = db_v_i64(r->tx->now_ms);
	return (txn_notify_change(
	    r->tx, r->recipient->user_id, row->mid, CHANGE_ACKED, err));
}

/* Handles the covered rows of the lane, up to the place of the receipt. */
static enum rc
settle_lane(struct receiving *r, struct err *err)
{
	struct cache *cache = txn_env_of(r->tx)->cache;
	const int64_t lane_id = r->item->lane_id, place = r->item->place;
	const struct store_covered_row *row;
	struct cached_lane *lane;
	enum rc rc;

	rc = cache_lane_by_id(cache, r->tx, lane_id, &lane, err);
	if (rc != RC_OK || lane->lane.acked_seq >= place)
		return (rc);
	while (rc == RC_OK &&
	       (row = receive_cover_next(r->u, lane_id, place)) != NULL)
		rc = settle_covered(r, row, err);
	lane->lane.acked_seq = place;
	cache_lane_touch(cache, lane);
	return (rc);
}

static enum rc
settle_one(void *arg, const struct store_covered_row *row, struct err *err)
{
	struct receiving *r = arg;

	receive_cover_acked(r->u, row->outbox_id);
	return (settle_covered(r, row, err));
}

/* Handles the outbox row of the named message ${mid} itself, also if its
 * lane_seq is above the place of the receipt.  If the row is sent and waits for
 * no later answer that the other server has promised, it becomes acked.
 * Otherwise, if the message was given up or requeued and is not acked, the row
 * keeps its state, and store_receipt_note() sets its acked_at.  The rows in
 * env->acked are written first, so that store_covered_one() sees whether one of
 * them is this row. */
static enum rc
settle_named(struct receiving *r, int64_t mid, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	enum rc rc;

	rc = store_rows_write(r->tx->db, &env->acked, false, err);
	if (rc == RC_OK)
		rc = store_covered_one(
		    r->tx->db, mid, r->sender->user_id, settle_one, r, err);
	if (rc == RC_OK)
		rc = store_rows_write(r->tx->db, &env->acked, false, err);
	return (rc == RC_OK && r->item->moved
		    ? store_receipt_note(r->tx->db, mid, r->sender->user_id,
			  r->tx->now_ms, err)
		    : rc);
}

static enum rc
settle_rows(struct receiving *r, struct err *err)
{
	const int64_t named = r->item->mid;
	enum rc rc = RC_OK;

	if (r->item->lane_id != 0)
		rc = settle_lane(r, err);
	return (
	    rc == RC_OK && r->item->alone ? settle_named(r, named, err) : rc);
}

/* Advances the delivered and acked watermarks of ${m}, the sender of the
 * receipt, to receive_item.upto, and the read watermark if the receipt is a
 * `read` receipt that is applied as a whole, not only up to the limit of the
 * request.  *ret_news: whether the acked or the read watermark has advanced. */
static void
advance(struct receiving *r, struct cached_member *m, bool *ret_news)
{
	const int64_t at = receive_event_time(r);
	const int64_t upto = r->item->upto;

	*ret_news = m->acked_upto < upto;
	/* The answer to the delivery may arrive after the receipt. */
	if (m->delivered_upto < upto)
		m->delivered_upto = upto;
	if (m->acked_upto < upto) {
		m->acked_upto = upto;
		m->acked_at = at;
	}
	if (r->e->kind == EVENT_READ && r->item->reason == ENVELOPE_NO_REASON &&
	    m->shown_upto < upto) {
		m->read_upto = m->shown_upto = upto;
		m->read_at = m->shown_at = at;
		*ret_news = true;
	}
	if (*ret_news)
		cache_member_touch(
		    txn_env_of(r->tx)->cache, r->conversation, m);
}

/* Finds the sender and the conversation of the receipt; both exist. */
static enum rc
find_receipt(struct receiving *r, struct err *err)
{
	struct cache *cache = txn_env_of(r->tx)->cache;
	enum rc rc;

	rc =
	    cache_user_by_id(cache, r->tx, r->item->sender_id, &r->sender, err);
	if (rc == RC_OK)
		rc = cache_conversation_by_id(cache, r->tx,
		    r->item->conversation_id, &r->conversation, err);
	return (rc == RC_NOT_FOUND
		    ? err_set(err, RC_INTERNAL, "a receipt about nothing")
		    : rc);
}

/* Sets *ret to the public id of the message that the event for the local user
 * names.  Mostly this is the message that the receipt names, whose id is in the
 * envelope; the id of another message is queried. */
static enum rc
told_id(const struct receiving *r, struct uuid *ret, struct err *err)
{

	if (r->item->mid != r->item->known.target.mid)
		return (store_message_uuid(r->tx->db, r->item->mid, ret, err));
	*ret = r->e->upto;
	return (RC_OK);
}

/* Adds the event to the local user's inbox. */
static enum rc
tell(struct receiving *r, bool whole, struct err *err)
{
	/* The inbox event of a receipt that is applied only in part gets a new
	 * id, because the receipt will be repeated for the rest with its own
	 * event id.  As acked_upto of the receipt's sender has advanced
	 * (advance()), the repeated receipt adds no second event for the
	 * messages that are acked now. */
	struct uuid of, id = whole ? r->e->event_id
				   : uuid_gen_next(&txn_env_of(r->tx)->ids);
	struct inbox_new event = {.kind = whole ? r->e->kind : EVENT_DELIVERED,
	    .event_id = &id,
	    .mid = r->item->mid,
	    .conversation_seq = r->item->upto,
	    .message_id = &of};
	enum rc rc;

	rc = told_id(r, &of, err);
	if (rc == RC_OK)
		rc = receive_add_inbox(r, &event, err);
	/* The row points to variables of this function. */
	if (rc == RC_OK)
		rc = txn_write_inbox(r->tx, err);
	return (rc == RC_OK ? txn_notify_change(r->tx, r->recipient->user_id,
				  r->item->mid, CHANGE_OTHER, err)
			    : rc);
}

enum rc
receive_receipt(struct receiving *r, struct err *err)
{
	const bool whole = r->item->reason == ENVELOPE_NO_REASON;
	struct cached_member *m;
	bool news;
	enum rc rc;

	rc = find_receipt(r, err);
	if (rc != RC_OK)
		return (rc);
	m = cache_member_find(r->conversation, r->sender->user_id);
	assert(m != NULL);
	rc = settle_rows(r, err);
	FAULT("receive.receipt.after");
	advance(r, m, &news);
	if (rc == RC_OK && news)
		rc = tell(r, whole, err);
	/* A receipt that is applied in part is not recorded as accepted,
	 * because the rest will arrive as the same event. */
	if (rc == RC_OK && whole)
		receive_note_event(r);
	return (rc);
}

enum rc
receive_receipts_write(
    struct tx *tx, const struct receive_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	if (u->covered.next != u->covered.n)
		return (err_set(
		    err, RC_INTERNAL, "a covered row that no receipt took"));
	rc = store_rows_write(tx->db, &env->acked, false, err);
	txn_count_acked(env, env->acked.changed);
	env->acked.changed = 0;
	return (rc);
}
