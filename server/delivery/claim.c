/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `claim`: fills a parcel (the items of one request to another
 * server) with rows of lanes (a lane is the queue of the outbox rows of one
 * conversation to one recipient).
 *
 * The rows of a lane are taken from its cursor (next_seq) on, as long as they
 * are due and the parcel has room; a row that has been retried is the last one
 * taken.  Rows that have expired, have used up their retries or have lost their
 * lease too often become dead letters.  If a claim takes no row of a lane, the
 * cursor moves behind these dead letters, to the row that has to wait, if there
 * is one; the lane gets the due time of that row.  But if that row only needs a
 * parcel of its own, cursor and due time stay, and the next parcel begins with
 * this lane.
 * From a lane that an operator has rewound, claims first take the rows below
 * the cursor that are to be offered again.
 *
 * Lanes take turns.  A pass goes over the lanes of one priority that are due
 * when it begins, in the order of their due times.  A claim continues where the
 * one before stopped.  If each claim began with the first lane, a lane that
 * always has more rows than a parcel holds would block all others.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "delivery/claim.h"
#include "delivery/dead_letter.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* The state of claiming one lane. */
struct taking {
	struct tx *tx;
	struct claim_unit *u;
	struct cached_lane *lane;
	size_t before; /* items in the parcel before this lane */
	bool full;     /* the parcel is full */
	bool next;     /* the next parcel begins with this lane */
};

/* ---- one message ---- */

static size_t
add_text(struct buf *b, const char *s, size_t n)
{
	size_t at = b->len;

	if (s == NULL)
		return (0);
	buf_add(b, s, n);
	buf_addc(b, '\0');
	return (at);
}

static size_t
add_string(struct buf *b, const char *s)
{

	return (add_text(b, s, s != NULL ? strlen(s) : 0));
}

static void
add_message(
    struct buf *b, const struct message_view *m, struct parcel_item *item)
{

	item->body_len = m->body != NULL ? m->body_len : 0;
	item->body =
	    add_text(b, m->body != NULL ? m->body : "", item->body_len);
	item->content_type = add_string(b, m->content_type);
	item->correlation_id = add_string(b, m->correlation_id);
	item->metadata_len = m->metadata != NULL ? m->metadata_len : 0;
	item->metadata = add_text(b, m->metadata, item->metadata_len);
	item->has_reply_to = m->has_reply_to;
	item->reply_to = m->reply_to;
}

static enum rc
on_row_message(void *arg, const struct store_letter *letter, struct err *err)
{
	struct taking *t = arg;
	struct parcel *p = t->u->parcel;
	struct parcel_item *item = &p->items[p->n];

	item->message_id = letter->message.id;
	item->conversation = letter->conversation;
	item->from = add_string(&p->text, letter->from);
	item->to = add_string(&p->text, letter->to);
	if (item->row.kind == EVENT_MESSAGE)
		add_message(&p->text, &letter->message, item);
	else
		item->upto_sequence = letter->sequence;
	if (!buf_ok(&p->text))
		return (err_set(err, RC_NO_MEMORY, "parcel"));
	return (RC_OK);
}

/* Adds ${row} to the parcel. */
static enum rc
put_item(
    struct taking *t, const struct store_row *row, bool replay, struct err *err)
{
	struct parcel *p = t->u->parcel;
	struct parcel_item *item = &p->items[p->n];
	enum rc rc;

	memset(item, 0, sizeof(*item));
	item->row = *row;
	item->replay = replay;
	rc = store_letter_get(t->tx->db, row, on_row_message, t, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row %lld about nothing",
		    (long long)row->id);
	if (rc != RC_OK)
		return (rc);
	p->n++;
	t->full = p->n == t->u->most || p->text.len >= PARCEL_BYTES;
	return (RC_OK);
}

/* Moves the row from pending to sending and records the attempt before it is
 * made, so that a crash counts as an attempt. */
static enum rc
begin_attempt(struct taking *t, struct store_row *row, struct err *err)
{
	struct txn_env *env = txn_env_of(t->tx);
	struct store_attempt attempt = {.outbox_id = row->id,
	    .attempt = row->attempts + 1,
	    .destination_id = t->lane->lane.destination_id,
	    .owner = t->u->owner};
	enum rc rc;

	rc = store_remote_sending(t->tx->db, row->id, t->tx->now_ms, err);
	FAULT("claim.row.after");
	if (rc == RC_OK)
		rc = store_attempt_start(
		    t->tx->db, &attempt, t->tx->now_ms, err);
	backlog_move(env->backlog, row->kind, OUTBOX_PENDING, OUTBOX_SENDING);
	row->attempts++;
	row->state = OUTBOX_SENDING;
	return (rc);
}

/* Makes a sent row pending again and charges it with a retry (retry_count).
 * The caller has checked that the deadline of the answer that the peer promised
 * ("later") has passed, or is so far away that the clock must have been put
 * back. */
static enum rc
take_back(struct taking *t, struct store_row *row, struct err *err)
{
	struct txn_env *env = txn_env_of(t->tx);
	enum rc rc;

	rc = store_remote_late(t->tx->db, row->id, t->tx->now_ms, err);
	backlog_move(env->backlog, row->kind, OUTBOX_SENT, OUTBOX_PENDING);
	if (row->kind == EVENT_MESSAGE)
		backlog_add(env->backlog, TOTAL_EVER_RETRIED, 1);
	if (rc == RC_OK)
		rc = txn_backlog_add(t->tx, t->lane, row, 1, err);
	if (rc == RC_OK && row->kind == EVENT_MESSAGE)
		rc = txn_notify_change(
		    t->tx, row->sender_id, row->mid, CHANGE_RETRY, err);
	row->state = OUTBOX_PENDING;
	row->retry_count++;
	if (t->lane->lane.priority < row->priority)
		t->lane->lane.priority = row->priority;
	return (rc);
}

/* ---- one lane ---- */

/* The decision about the first remaining row of a lane: add it to the parcel,
 * continue after it because it became a dead letter, or stop. */
enum verdict { TAKE, OUT, STOP };

/* Decides whether ${row} is sent now.  First makes the row pending again if its
 * promised answer is late (take_back()); makes it a dead letter if the verdict
 * is OUT.  If the verdict is STOP, *ret_due is the wall time, in milliseconds,
 * at which the lane is due (0: now), and ${t}->next is set if the next parcel
 * must begin with this lane. */
static enum rc
judge(struct taking *t, struct store_row *row, enum verdict *ret,
    int64_t *ret_due, struct err *err)
{
	const int64_t now = t->tx->now_ms;
	const int most = retry_most(txn_env_of(t->tx)->options.retry);
	enum rc rc = RC_OK;

	*ret = STOP;
	if (row->state == OUTBOX_SENT) {
		*ret_due = row->ack_deadline;
		if (row->ack_deadline > now &&
		    row->ack_deadline <= now + BREAKER_SANE_MS)
			return (RC_OK);
		if ((rc = take_back(t, row, err)) != RC_OK)
			return (rc);
	}
	*ret = OUT;
	if (row->retry_count > most)
		return (dead_letter_make(
		    t->tx, row, REASON_MAX_RETRIES, "no answer came", err));
	if (txn_expired(t->tx, row->expires_at))
		return (
		    dead_letter_make(t->tx, row, REASON_EXPIRED, NULL, err));
	if (row->rescue_count >= CLAIM_POISON_AFTER)
		return (dead_letter_make(t->tx, row, REASON_POISON, NULL, err));
	*ret = STOP;
	*ret_due = row->next_retry_at;
	if (row->next_retry_at > now &&
	    row->next_retry_at <= now + BREAKER_SANE_MS)
		return (RC_OK);
	*ret_due = 0;
	/* A message that may be poison is sent in a parcel of its own, so a
	 * parcel that has items does not get it.  If all these items are of
	 * other lanes, the next parcel begins with this lane; otherwise the
	 * message waits until the items of this lane are settled. */
	if (row->rescue_count >= CLAIM_ALONE_AFTER && t->u->parcel->n > 0) {
		t->next = t->u->parcel->n == t->before;
		return (RC_OK);
	}
	*ret = TAKE;
	return (RC_OK);
}

static void
lease(struct taking *t)
{
	struct store_lane *l = &t->lane->lane;
	struct parcel *p = t->u->parcel;
	size_t i;

	l->state = LANE_LEASED;
	l->lease_token++;
	l->lease_until = t->tx->now_ms + t->u->lease_ms;
	(void)snprintf(
	    l->lease_owner, sizeof(l->lease_owner), "%s", t->u->owner);
	for (i = t->before; i < p->n; i++)
		p->items[i].lane_token = l->lease_token;
}

/* Adds to the parcel the lane's rows in the state sent or acked, from
 * replay_seq up to and without the cursor (next_seq), as far as the parcel has
 * room: these rows are offered again because an operator has rewound the lane.
 * If there are no such rows, ends the replay (sets replay_seq to 0). */
static enum rc
take_replay(struct taking *t, struct err *err)
{
	struct store_row rows[PARCEL_LANE_ROWS];
	struct store_lane *l = &t->lane->lane;
	const struct store_replay ask = {
	    l->lane_id, l->replay_seq, l->next_seq};
	size_t i, n, room = t->u->most - t->u->parcel->n;
	enum rc rc;

	rc = store_remote_replay(t->tx->db, &ask, rows, room, &n, err);
	for (i = 0; i < n && rc == RC_OK && !t->full; i++)
		rc = put_item(t, &rows[i], true, err);
	/* replay_seq becomes the lane_seq of the lane's first row in this
	 * parcel; 0: there is none.  If it has another value when the parcel is
	 * settled, an operator has rewound the lane in the meantime. */
	if (rc == RC_OK)
		l->replay_seq = n > 0 ? rows[0].lane_seq : 0;
	return (rc);
}

static enum rc
take_rows(struct taking *t, struct err *err)
{
	struct store_row rows[PARCEL_LANE_ROWS];
	struct store_lane *l = &t->lane->lane;
	size_t i, n, room = t->u->most - t->u->parcel->n;
	enum verdict verdict = TAKE;
	int64_t due = 0;
	enum rc rc;

	rc = store_remote_claim(
	    t->tx->db, l->lane_id, l->next_seq, rows, room, &n, err);
	for (i = 0; i < n && rc == RC_OK && !t->full; i++) {
		rc = judge(t, &rows[i], &verdict, &due, err);
		if (rc != RC_OK || verdict == STOP)
			break;
		if (verdict == OUT)
			continue;
		rc = begin_attempt(t, &rows[i], err);
		if (rc == RC_OK)
			rc = put_item(t, &rows[i], false, err);
		if (rows[i].rescue_count >= CLAIM_ALONE_AFTER)
			t->full = true;
		/* A row that has been retried may fail again; then the rows
		 * behind it would be sent in vain.  So this parcel gets no
		 * further row of the lane. */
		if (rows[i].retry_count > 0)
			break;
	}
	if (rc != RC_OK || t->u->parcel->n > t->before || t->next)
		return (rc);
	/* The parcel has no row of the lane.  The cursor moves to the row that
	 * has to wait (i < n).  If there is none, all n rows have become dead
	 * letters: the cursor moves behind the end of the lane if no more rows
	 * remain (n < room), else behind the n-th row. */
	if (i < n)
		l->next_seq = rows[i].lane_seq;
	else if (n < room)
		l->next_seq = l->tail_seq + 1;
	else
		l->next_seq = rows[n - 1].lane_seq + 1;
	l->due_at = due;
	if (l->next_seq > l->tail_seq) {
		l->state = LANE_IDLE;
		l->due_at = 0;
	}
	return (RC_OK);
}

/* Claims one lane: adds its rows to the parcel, and leases the lane if it has
 * added any.  *ret_full: the parcel gets no further item.  *ret_next: no row of
 * the lane was taken, because the first one needs a parcel of its own and this
 * parcel has items of other lanes, so the next parcel begins with this lane;
 * *ret_full is then true, too.  Does nothing if another node has claimed the
 * lane meanwhile. */
static enum rc
claim_lane(struct tx *tx, struct claim_unit *u, int64_t lane_id, bool *ret_full,
    bool *ret_next, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct taking t = {tx, u, NULL, u->parcel->n, false, false};
	enum rc rc;

	rc = cache_lane_by_id(env->cache, tx, lane_id, &t.lane, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a lane that is not there");
	if (rc != RC_OK)
		return (rc);
	/* Another node has claimed it after the query and before we locked
	 * it. */
	if (t.lane->lane.state != LANE_READY)
		return (RC_OK);
	if (t.lane->lane.replay_seq != 0)
		rc = take_replay(&t, err);
	if (rc == RC_OK && u->parcel->n == t.before)
		rc = take_rows(&t, err);
	if (rc == RC_OK && u->parcel->n > t.before)
		lease(&t);
	cache_lane_touch(env->cache, t.lane);
	*ret_full = t.full || t.next;
	*ret_next = t.next;
	return (rc);
}

/* ---- the verb ---- */

/* Returns the ${i}-th priority to claim, counted from 0: first ${asked}, then
 * the others, from the highest to the lowest. */
static int
priority_at(int asked, int i)
{
	int p;

	if (i == 0)
		return (asked);
	for (p = PRIORITY_HIGH; p >= PRIORITY_LOW; p--)
		if (p != asked && --i == 0)
			return (p);
	return (PRIORITY_LOW);
}

/* Claims the next lanes of ${pass}, until the parcel is full (*ret_full) or the
 * pass ends, but at most STORE_LANES lanes.  Moves ${pass} behind these lanes,
 * or sets it to all zero if the pass has ended. */
static enum rc
claim_pass(struct tx *tx, struct claim_unit *u, int priority,
    struct store_pass *pass, bool *ret_full, struct err *err)
{
	struct store_lanes lanes;
	bool next = false;
	enum rc rc;
	size_t k;

	/* The clock may have been put back. */
	if (pass->upto_ms > tx->now_ms)
		pass->upto_ms = tx->now_ms;
	rc = store_lanes_ready(
	    tx->db, u->parcel->destination_id, priority, pass, &lanes, err);
	for (k = 0; k < lanes.n && rc == RC_OK && !*ret_full; k++) {
		rc = claim_lane(tx, u, lanes.ids[k], ret_full, &next, err);
		if (next)
			break;
		pass->due_at = lanes.due[k];
		pass->lane_id = lanes.ids[k];
	}
	if (!*ret_full && lanes.n < STORE_LANES)
		memset(pass, 0, sizeof(*pass));
	return (rc);
}

/* Claims lanes of ${priority} until the parcel is full (*ret_full): first at
 * most STORE_LANES lanes of the pass that is under way, if there is one; then,
 * if this pass has ended, at most STORE_LANES lanes of a new one. */
static enum rc
claim_priority(struct tx *tx, struct claim_unit *u, int priority,
    bool *ret_full, struct err *err)
{
	struct store_pass *pass = &u->upto.of[priority - PRIORITY_LOW];
	enum rc rc = RC_OK;

	if (pass->upto_ms != 0)
		rc = claim_pass(tx, u, priority, pass, ret_full, err);
	if (rc != RC_OK || *ret_full || pass->upto_ms != 0)
		return (rc);
	pass->upto_ms = tx->now_ms;
	pass->due_at = -1;
	return (claim_pass(tx, u, priority, pass, ret_full, err));
}

static enum rc
claim_one(struct tx *tx, struct claim_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct parcel *p = u->parcel;
	bool full = false;
	enum rc rc;
	int i;

	p->n = 0;
	buf_reset(&p->text);
	p->left_ms = tx->now_ms;
	u->upto = u->from;
	rc = cache_flush_lanes(env->cache, tx, err);
	for (i = 0; i < PRIORITIES && rc == RC_OK && !full; i++)
		rc = claim_priority(
		    tx, u, priority_at(u->priority, i), &full, err);
	FAULT("claim.rows.after");
	if (p->n > 0)
		metrics_observe_size(
		    env->options.metrics, METRIC_CLAIM_ROWS, (int64_t)p->n);
	return (rc == RC_OK ? parcel_next_due(tx, p, &u->next_due, err) : rc);
}

static enum rc
claim_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (
	    claim_one(tx, CONTAINER_OF(unit, struct claim_unit, unit), err));
}

UNIT_KIND(claim, unit_locks_nothing, .queue = UNIT_DELIVERY,
    .order = ORDER_CLAIM, .apply_one = claim_apply);

void
claim_unit_init(struct claim_unit *u)
{

	u->unit.kind = &claim_kind;
	u->unit.bytes = 4096;
	memset(&u->from, 0, sizeof(u->from));
	u->next_due = 0;
}
