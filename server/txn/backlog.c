/* SPDX-License-Identifier: MIT */
/*
 * See tally.h.
 */
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "model/event.h"
#include "model/outbox.h"
#include "store/remote.h"
#include "txn/backlog.h"

#define SENDERS_MAX 100000
/* Where others write, too, what waits is counted anew so often, in
 * milliseconds; less often the more it is, as a million takes most of a second.
 */
#define RECOUNT_MS 30000
#define RECOUNT_PER_MS 20
/* Changes of one transaction that can be taken back. */
#define NOTES_MAX 4096

struct count {
	int64_t id;
	int64_t n;
};

struct note {
	struct tally_key key;
	int64_t n;
};

struct tally {
	struct store_totals delta;
	bool dirty;
	bool known;         /* what waits has been counted … */
	int64_t recount_at; /* … and is to be again, where others write */
	struct htab *senders, *destinations;
	size_t senders_most; /* then those who have nothing are forgotten */
	int64_t waiting;

	/* What this transaction has changed of what waits.  A count of all is
	 * a second for a million that wait, which is too much to pay for each
	 * transaction that is abandoned. */
	struct note *notes; /* NOTES_MAX */
	size_t nnotes;
	bool lost; /* it cannot be taken back */
};

/* ---- life ---- */

struct tally *
tally_new(void)
{
	struct tally *t;

	if ((t = mem_zalloc(1, sizeof(*t))) == NULL)
		return (NULL);
	t->senders = htab_new(sizeof(int64_t));
	t->destinations = htab_new(sizeof(int64_t));
	t->notes = mem_zalloc(NOTES_MAX, sizeof(*t->notes));
	if (t->senders == NULL || t->destinations == NULL || t->notes == NULL) {
		tally_free(t);
		return (NULL);
	}
	return (t);
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
tally_free(struct tally *t)
{

	if (t == NULL)
		return;
	if (t->senders != NULL && t->destinations != NULL) {
		forget(t->senders);
		forget(t->destinations);
	}
	htab_free(t->senders);
	htab_free(t->destinations);
	mem_free(t->notes);
	mem_free(t);
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
			return (err_set(err, RC_NO_MEMORY, "tally"));
		c->id = id;
		if (htab_set(table, &c->id, c) != RC_OK) {
			mem_free(c);
			return (err_set(err, RC_NO_MEMORY, "tally"));
		}
	}
	c->n += n;
	return (RC_OK);
}

static enum rc
count(struct tally *t, const struct tally_key *key, int64_t n, struct err *err)
{
	enum rc rc;

	t->waiting += n;
	rc = count_add(t->senders, key->sender_id, n, err);
	if (rc == RC_OK)
		rc = count_add(t->destinations, key->destination_id, n, err);
	return (rc);
}

static void
note(struct tally *t, const struct tally_key *key, int64_t n)
{
	struct note *last = &t->notes[t->nnotes > 0 ? t->nnotes - 1 : 0];

	if (t->nnotes > 0 && last->key.sender_id == key->sender_id &&
	    last->key.destination_id == key->destination_id)
		last->n += n;
	else if (t->nnotes < NOTES_MAX)
		t->notes[t->nnotes++] = (struct note){*key, n};
	else
		t->lost = true;
}

enum rc
tally_wait(
    struct tally *t, const struct tally_key *key, int64_t n, struct err *err)
{
	enum rc rc;

	if (n == 0)
		return (RC_OK);
	note(t, key, n);
	rc = count(t, key, n, err);
	if (rc != RC_OK)
		t->lost = true;
	return (rc);
}

static int64_t
count_of(const struct htab *table, int64_t id)
{
	const struct count *c = htab_find(table, &id);

	return (c != NULL ? c->n : 0);
}

int64_t
tally_of_sender(const struct tally *t, int64_t sender_id)
{

	return (count_of(t->senders, sender_id));
}

int64_t
tally_of_destination(const struct tally *t, int64_t destination_id)
{

	return (count_of(t->destinations, destination_id));
}

int64_t
tally_waiting(const struct tally *t)
{

	return (t->waiting);
}

static enum rc
take_waiting(void *arg, int64_t sender_id, int64_t destination_id, int64_t n,
    struct err *err)
{
	struct tally_key key = {sender_id, destination_id};

	return (count(arg, &key, n, err));
}

/* ---- totals ---- */

void
tally_add(struct tally *t, enum store_total total, int64_t n)
{

	t->delta.n[total] += n;
	t->dirty = true;
}

/* The gauge of a state; acked ones are only counted for ever. */
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

/* What has happened for ever when a state is reached. */
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
tally_move(struct tally *t, int kind, int from, int to)
{

	if (kind != EVENT_MESSAGE)
		return;
	if (gauge_of(from) >= 0)
		tally_add(t, (enum store_total)gauge_of(from), -1);
	if (gauge_of(to) >= 0)
		tally_add(t, (enum store_total)gauge_of(to), 1);
	if (ever_of(to) >= 0)
		tally_add(t, (enum store_total)ever_of(to), 1);
}

/* ---- transactions ---- */

enum rc
tally_begin(struct tally *t, struct tx *tx, struct err *err)
{
	enum rc rc;

	t->nnotes = 0;
	t->lost = false;
	/* Those for whom nothing waits any more are kept until they are many.
	 */
	if (db_shared(tx->db) && tx->now_ms >= t->recount_at)
		t->known = false;
	if (t->known && htab_count(t->senders) < t->senders_most)
		return (RC_OK);
	forget(t->senders);
	forget(t->destinations);
	t->waiting = 0;
	rc = store_waiting(tx->db, take_waiting, t, err);
	t->known = rc == RC_OK;
	t->recount_at = tx->now_ms + RECOUNT_MS + t->waiting / RECOUNT_PER_MS;
	t->senders_most = SENDERS_MAX + 2 * htab_count(t->senders);
	return (rc);
}

enum rc
tally_flush(struct tally *t, struct tx *tx, struct err *err)
{
	enum rc rc;

	/* If the commit fails nobody knows what is true. */
	t->lost = true;
	if (!t->dirty)
		return (RC_OK);
	rc = store_totals_add(tx->db, &t->delta, err);
	memset(&t->delta, 0, sizeof(t->delta));
	t->dirty = false;
	return (rc);
}

void
tally_abort(struct tally *t)
{
	struct err err = ERR_INIT;

	memset(&t->delta, 0, sizeof(t->delta));
	t->dirty = false;
	while (!t->lost && t->nnotes > 0) {
		struct note *n = &t->notes[--t->nnotes];

		t->lost = count(t, &n->key, -n->n, &err) != RC_OK;
	}
	t->known = t->known && !t->lost;
	t->nnotes = 0;
	t->lost = false;
}
