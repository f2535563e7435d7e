/* SPDX-License-Identifier: MIT */
/*
 * See backlog.h.
 */
#include <assert.h>
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "model/event.h"
#include "model/outbox.h"
#include "store/remote.h"
#include "txn/backlog.h"

#define SENDERS_MAX 100000
/* On a multi-writer database the waiting messages in the store are counted
 * again by the first transaction that begins 30 s (RECOUNT_MS) or more after
 * the last count.  These 30 s grow by 1 ms for each RECOUNT_PER_MS messages
 * that waited then: counting a million takes up to a second, so large backlogs
 * are counted less often. */
#define RECOUNT_MS 30000
#define RECOUNT_PER_MS 20
/* Changes of one transaction that can be undone without counting the store. */
#define NOTES_MAX 4096

struct count {
	int64_t id;
	int64_t n;
};

struct note {
	struct backlog_key key;
	int64_t n;
};

struct backlog {
	struct store_totals delta;
	bool dirty;
	bool known;         /* the counts of waiting messages are right */
	int64_t recount_at; /* wall time of the next count (multi-writer) */
	struct htab *senders, *destinations;
	/* When ${senders} has this number of entries, the next transaction
	 * counts the store again, which drops the senders that have no waiting
	 * messages. */
	size_t senders_most;
	int64_t waiting;

	/* The changes that this transaction has made to the numbers of waiting
	 * messages, so that backlog_abort() can undo them.  Counting the store
	 * again instead takes up to a second for a million waiting messages,
	 * which is too expensive for each abandoned transaction. */
	struct note *notes; /* NOTES_MAX */
	size_t nnotes;
	bool lost; /* the changes cannot be undone: count again */
};

/* ---- life ---- */

struct backlog *
backlog_new(void)
{
	struct backlog *b;

	if ((b = mem_zalloc(1, sizeof(*b))) == NULL)
		return (NULL);
	b->senders = htab_new(sizeof(int64_t));
	b->destinations = htab_new(sizeof(int64_t));
	b->notes = mem_zalloc(NOTES_MAX, sizeof(*b->notes));
	if (b->senders == NULL || b->destinations == NULL || b->notes == NULL) {
		backlog_free(b);
		return (NULL);
	}
	return (b);
}

static void
forget(struct htab *table)
{
	size_t pos;
	void *p;

	for (pos = 0; (p = htab_next(table, &pos)) != NULL;)
		mem_free(p);
	htab_clear(table);
}

void
backlog_free(struct backlog *b)
{

	if (b == NULL)
		return;
	if (b->senders != NULL && b->destinations != NULL) {
		forget(b->senders);
		forget(b->destinations);
	}
	htab_free(b->senders);
	htab_free(b->destinations);
	mem_free(b->notes);
	mem_free(b);
}

/* ---- what waits ---- */

/* Adds ${n} to the count of ${id}. */
static enum rc
count_add(struct htab *table, int64_t id, int64_t n, struct err *err)
{
	struct count *c;

	c = htab_find(table, &id);
	if (c == NULL) {
		if ((c = mem_zalloc(1, sizeof(*c))) == NULL)
			return (err_set(err, RC_NO_MEMORY, "backlog"));
		c->id = id;
		if (htab_set(table, &c->id, c) != RC_OK) {
			mem_free(c);
			return (err_set(err, RC_NO_MEMORY, "backlog"));
		}
	}
	c->n += n;
	return (RC_OK);
}

static enum rc
count(struct backlog *b, const struct backlog_key *key, int64_t n,
    struct err *err)
{
	enum rc rc;

	b->waiting += n;
	rc = count_add(b->senders, key->sender_id, n, err);
	if (rc == RC_OK)
		rc = count_add(b->destinations, key->destination_id, n, err);
	return (rc);
}

static void
note(struct backlog *b, const struct backlog_key *key, int64_t n)
{
	struct note *last = &b->notes[b->nnotes > 0 ? b->nnotes - 1 : 0];

	if (b->nnotes > 0 && last->key.sender_id == key->sender_id &&
	    last->key.destination_id == key->destination_id)
		last->n += n;
	else if (b->nnotes < NOTES_MAX)
		b->notes[b->nnotes++] = (struct note){*key, n};
	else
		b->lost = true;
}

enum rc
backlog_wait(struct backlog *b, const struct backlog_key *key, int64_t n,
    struct err *err)
{
	enum rc rc;

	if (n == 0)
		return (RC_OK);
	note(b, key, n);
	rc = count(b, key, n, err);
	if (rc != RC_OK)
		b->lost = true;
	return (rc);
}

static int64_t
count_of(const struct htab *table, int64_t id)
{
	const struct count *c = htab_find(table, &id);

	return (c != NULL ? c->n : 0);
}

int64_t
backlog_of_sender(const struct backlog *b, int64_t sender_id)
{

	return (count_of(b->senders, sender_id));
}

int64_t
backlog_of_destination(const struct backlog *b, int64_t destination_id)
{

	return (count_of(b->destinations, destination_id));
}

int64_t
backlog_waiting(const struct backlog *b)
{

	return (b->waiting);
}

static enum rc
on_row_waiting(void *arg, int64_t sender_id, int64_t destination_id, int64_t n,
    struct err *err)
{
	struct backlog_key key = {sender_id, destination_id};

	return (count(arg, &key, n, err));
}

/* ---- totals ---- */

void
backlog_add(struct backlog *b, enum store_total total, int64_t n)
{

	b->delta.n[total] += n;
	b->dirty = true;
}

/* The gauge of ${state}, or -1.  Acked messages have only a counter. */
static int
gauge_of(int state)
{
	static const int gauges[OUTBOX_STATE_COUNT] = {
	    [OUTBOX_PENDING] = TOTAL_PENDING,
	    [OUTBOX_SENDING] = TOTAL_SENDING,
	    [OUTBOX_SENT] = TOTAL_SENT,
	    [OUTBOX_ACKED] = -1,
	    [OUTBOX_FAILED] = TOTAL_FAILED,
	    [OUTBOX_EXPIRED] = TOTAL_EXPIRED,
	    [OUTBOX_CANCELED] = TOTAL_CANCELED,
	};

	return (state < 0 ? -1 : gauges[state]);
}

/* The counter that counts each message that reaches ${state}, or -1. */
static int
ever_of(int state)
{
	static const int evers[OUTBOX_STATE_COUNT] = {
	    [OUTBOX_PENDING] = -1,
	    [OUTBOX_SENDING] = -1,
	    [OUTBOX_SENT] = TOTAL_EVER_SENT,
	    [OUTBOX_ACKED] = TOTAL_EVER_ACKED,
	    [OUTBOX_FAILED] = TOTAL_EVER_FAILED,
	    [OUTBOX_EXPIRED] = TOTAL_EVER_EXPIRED,
	    [OUTBOX_CANCELED] = TOTAL_EVER_CANCELED,
	};

	return (evers[state]);
}

void
backlog_move(struct backlog *b, int kind, int from, int to)
{

	/* The assertion does not check new rows and cancels of scheduled
	 * messages, for which ${from} is -1.  Two kinds of moves are never
	 * checked, because this function is not called for them: most acks,
	 * which txn_count_acked() counts, and deliveries of receipts to inboxes
	 * of this server. */
	assert(from < 0 || outbox_move_allowed(from, to));
	if (kind != EVENT_MESSAGE)
		return;
	if (gauge_of(from) >= 0)
		backlog_add(b, (enum store_total)gauge_of(from), -1);
	if (gauge_of(to) >= 0)
		backlog_add(b, (enum store_total)gauge_of(to), 1);
	if (ever_of(to) >= 0)
		backlog_add(b, (enum store_total)ever_of(to), 1);
}

/* ---- transactions ---- */

enum rc
backlog_begin(struct backlog *b, struct tx *tx, struct err *err)
{
	enum rc rc;

	b->nnotes = 0;
	b->lost = false;
	/* Senders without waiting messages stay in the table until it has
	 * senders_most entries. */
	if (db_multi_writer(tx->db) && tx->now_ms >= b->recount_at)
		b->known = false;
	if (b->known && htab_count(b->senders) < b->senders_most)
		return (RC_OK);
	forget(b->senders);
	forget(b->destinations);
	b->waiting = 0;
	rc = store_waiting(tx->db, on_row_waiting, b, err);
	b->known = rc == RC_OK;
	b->recount_at = tx->now_ms + RECOUNT_MS + b->waiting / RECOUNT_PER_MS;
	b->senders_most = SENDERS_MAX + 2 * htab_count(b->senders);
	return (rc);
}

enum rc
backlog_flush(struct backlog *b, struct tx *tx, struct err *err)
{
	enum rc rc;

	/* If the commit fails, it is unknown whether the changes took
	 * effect. */
	b->lost = true;
	if (!b->dirty)
		return (RC_OK);
	rc = store_totals_add(tx->db, &b->delta, err);
	memset(&b->delta, 0, sizeof(b->delta));
	b->dirty = false;
	return (rc);
}

void
backlog_abort(struct backlog *b)
{
	struct err err = ERR_INIT;

	memset(&b->delta, 0, sizeof(b->delta));
	b->dirty = false;
	while (!b->lost && b->nnotes > 0) {
		struct note *n = &b->notes[--b->nnotes];

		b->lost = count(b, &n->key, -n->n, &err) != RC_OK;
	}
	b->known = b->known && !b->lost;
	b->nnotes = 0;
	b->lost = false;
}
