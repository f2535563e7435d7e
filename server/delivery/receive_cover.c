/* SPDX-License-Identifier: MIT */
/*
 * The list of the outbox rows that the receipts of a request cover, read for
 * all receipts by one statement.  A receipt names a message.  The receipt
 * covers the rows in the lane of this message (the queue of one conversation to
 * one recipient) up to a lane_seq (receive_item.place): the sender of the
 * receipt has received or read these messages.
 *
 * Invariants:
 * 1. A row is in the list only once: the range of a receipt in a lane begins
 *    after the end of the ranges that earlier requests, and the receipts that
 *    are written before it, cover in this lane.
 * 2. The rows are in the order in which the receipts are written (u->order), so
 *    that each receipt takes the next rows of the list.
 *
 * The list has at most RECEIVE_WALK_ROWS rows, which limits the memory.
 */
#include <string.h>

#include "base/mem.h"
#include "delivery/receive_internal.h"
#include "txn/verb.h"

#define FIRST_CAP 64

static enum rc
make_room(struct receive_covered *c, struct err *err)
{
	const size_t cap = c->cap == 0 ? FIRST_CAP : c->cap * 2;
	struct store_covered_row *rows;

	rows = mem_realloc(c->rows, cap * sizeof(*rows));
	if (rows == NULL)
		return (err_set(err, RC_NO_MEMORY, "a receipt's rows"));
	c->rows = rows;
	c->cap = cap;
	return (RC_OK);
}

enum rc
receive_cover_add(
    void *arg, const struct store_covered_row *row, struct err *err)
{
	struct receive_covered *c = &((struct receive_unit *)arg)->covered;
	enum rc rc = RC_OK;

	if (c->n == c->cap)
		rc = make_room(c, err);
	if (rc == RC_OK)
		c->rows[c->n++] = *row;
	return (rc);
}

/* Returns the highest lane_seq in ${lane}, the lane of ${item}, that is covered
 * by receipts of earlier requests (acked_seq of the lane) or by the receipts
 * before ${item} in this request.  The ${n} elements of ${parts} are the ranges
 * of the latter, in all lanes. */
static int64_t
covered_upto(const struct store_covering *parts, size_t n,
    const struct receive_item *item, const struct cached_lane *lane)
{
	int64_t upto = lane->lane.acked_seq;
	size_t i;

	for (i = 0; i < n; i++)
		if (parts[i].lane_id == item->lane_id && parts[i].upto > upto)
			upto = parts[i].upto;
	return (upto);
}

enum rc
receive_cover_ask(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct store_covering parts[ENVELOPE_ITEMS];
	const struct receive_item *item;
	struct cached_lane *lane;
	size_t i, n = 0;
	int64_t after;
	enum rc rc;

	for (i = 0; i < u->n; i++) {
		item = &u->items[u->order[i]];
		if (item->plan != RECEIVE_RECEIPT || item->lane_id == 0)
			continue;
		rc = cache_lane_by_id(
		    txn_env_of(tx)->cache, tx, item->lane_id, &lane, err);
		if (rc != RC_OK)
			return (rc);
		after = covered_upto(parts, n, item, lane);
		if (item->place > after)
			parts[n++] = (struct store_covering){
			    item->lane_id, after, item->place};
	}
	return (store_covered_find(tx->db, parts, n, &u->handler, err));
}

const struct store_covered_row *
receive_cover_next(struct receive_unit *u, int64_t lane_id, int64_t upto)
{
	struct receive_covered *c = &u->covered;

	if (c->next == c->n || c->rows[c->next].lane_id != lane_id ||
	    c->rows[c->next].lane_seq > upto)
		return (NULL);
	return (&c->rows[c->next++]);
}

void
receive_cover_acked(struct receive_unit *u, int64_t outbox_id)
{
	struct receive_covered *c = &u->covered;
	size_t i;

	for (i = c->next; i < c->n; i++)
		if (c->rows[i].outbox_id == outbox_id)
			c->rows[i].unacked = false;
}

void
receive_cover_free(struct receive_unit *u)
{

	mem_free(u->covered.rows);
	memset(&u->covered, 0, sizeof(u->covered));
}
