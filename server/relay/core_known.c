/* SPDX-License-Identifier: MIT */
/*
 * Which destinations the relay has in memory.
 *
 * Other servers decide how many destinations the database has: each server that
 * has written here is one, since a receipt may go to it.  So memory is bounded.
 * Below the limit a destination is in memory while it has messages to send or
 * needs heartbeats, and for some time afterwards (core_forget_idle()).  At the
 * limit a new one replaces another, in the order of dispensable(), or stays
 * out.  A wake-up or the safety poll reads an evicted one from its row again.
 * The row does not keep the window of the breaker, nor the pause and the limit
 * of requests that the destination has asked for: the relay learns these anew.
 * A destination with a job under way is never evicted, because parcels and
 * units point to it; nor is one whose breaker could not be stored yet.
 */
#include "base/mem.h"
#include "relay/core_internal.h"

/* Rows of one query at the start. */
#define PAGE 500

/* ---- forgetting ---- */

/* Returns true if no job points to ${d}. */
static bool
at_rest(const struct destination *d)
{

	return (d->in_flight == 0 && !d->claiming && !d->saving);
}

/* Returns true if ${d} need not be in memory: no message is known to wait, no
 * heartbeat is wanted, its breaker is stored, and the pause that it asked for
 * is over.  If its closed breaker still counts a failure, it must also have
 * been unused for BREAKER_CALM_MS.  The caller checks relay_forget_ms, and that
 * no job points to ${d}. */
static bool
idle(const struct core *c, const struct destination *d)
{

	return (!d->may_work && d->next_due == 0 && !d->changed &&
		d->row.breaker.state == BREAKER_CLOSED &&
		(d->row.breaker.failures == 0 ||
		    c->mono_ms - d->used_ms >= BREAKER_CALM_MS) &&
		d->parked_until_ms <= c->mono_ms);
}

static void
forget(struct core *c, struct destination *d)
{

	core_destination_rest(c, d);
	TAILQ_REMOVE(&c->destinations.used, d, use);
	(void)htab_remove(c->destinations.by_id, &d->row.destination_id);
	mem_free(d);
}

void
core_forget_idle(struct core *c)
{
	struct destination *d, *next;

	for (d = TAILQ_FIRST(&c->destinations.used); d != NULL; d = next) {
		next = TAILQ_NEXT(d, use);
		if (c->mono_ms - d->used_ms < c->o.timing->relay_forget_ms)
			return;
		if (at_rest(d) && idle(c, d))
			forget(c, d);
	}
}

/* Returns true if ${d} is not doubtful (it has answered, and no request has
 * failed since) and was used within the last relay_forget_ms.  Such a
 * destination is evicted last, however many new ones arrive, so that it is in
 * memory for its next message. */
static bool
is_proven(const struct core *c, const struct destination *d)
{

	return (!core_destination_doubtful(&d->row) &&
		c->mono_ms - d->used_ms < c->o.timing->relay_forget_ms);
}

/* Returns the last evictable destination in the doubtful queue, or NULL. */
static struct destination *
last_doubtful(struct core *c)
{
	struct destination *d;

	d = TAILQ_LAST(&c->destinations.doubtful, destination_queue);
	while (d != NULL && (!at_rest(d) || d->changed))
		d = TAILQ_PREV(d, destination_queue, entry);
	return (d);
}

/* Returns the destination to evict so that ${row} can be added, or NULL if none
 * may be evicted.  One with a job under way, or whose breaker is not stored, is
 * never returned.  The order of preference:
 *
 *	1. the least recently used one that is not runnable, not proven
 *	   (is_proven()) and does not wait for the end of a pause that it
 *	   asked for
 *	2. the least recently used one that is not runnable and not
 *	   proven, and waits for the end of such a pause
 *	3. if ${row} is not doubtful: the last of the doubtful queue, which
 *	   holds runnable ones
 *	4. the least recently used proven one that is not runnable; but
 *	   if ${row} is doubtful, only when the doubtful queue is empty
 *
 * Rule 3: doubtful destinations (never answered, or not since their last
 * failure) stay long in their queue, since each request may take a time-out.
 * If they could not be evicted, servers that do not answer would fill memory
 * and push out the servers that answer.  Rule 4 replaces a proven one by a
 * doubtful one only if no other doubtful one waits, so that some doubtful ones
 * are always tried. */
static struct destination *
dispensable(struct core *c, const struct store_destination_row *row)
{
	const bool doubtful = core_destination_doubtful(row);
	struct destination *d, *parked = NULL, *proven = NULL;

	TAILQ_FOREACH (d, &c->destinations.used, use) {
		if (!at_rest(d) || d->changed ||
		    d->state == DESTINATION_RUNNABLE)
			continue;
		if (is_proven(c, d)) {
			if (proven == NULL)
				proven = d;
		} else if (d->parked_until_ms <= c->mono_ms) {
			return (d);
		} else if (parked == NULL) {
			parked = d;
		}
	}
	if (parked != NULL)
		return (parked);
	if (doubtful && !TAILQ_EMPTY(&c->destinations.doubtful))
		return (NULL);
	d = doubtful ? NULL : last_doubtful(c);
	return (d != NULL ? d : proven);
}

static bool
is_full(const struct core *c)
{

	return (htab_count(c->destinations.by_id) >= c->o.destinations_most);
}

void
core_destination_used(struct core *c, struct destination *d)
{

	TAILQ_REMOVE(&c->destinations.used, d, use);
	d->used_ms = c->mono_ms;
	TAILQ_INSERT_TAIL(&c->destinations.used, d, use);
}

/* ---- taking rows ---- */

static struct destination *
find(struct core *c, int64_t id)
{

	return (htab_find(c->destinations.by_id, &id));
}

static enum rc
add(struct core *c, const struct store_destination_row *row, struct err *err)
{
	struct destination *d;

	if (is_full(c)) {
		if ((d = dispensable(c, row)) == NULL)
			return (RC_OK);
		forget(c, d);
	}
	if ((d = mem_zalloc(1, sizeof(*d))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "relay: destination"));
	d->row = *row;
	d->core = c;
	d->may_work = true; /* until a claim finds no messages */
	d->tokens_at = d->read_ms = d->used_ms = c->mono_ms;
	if (htab_set(c->destinations.by_id, &d->row.destination_id, d) !=
	    RC_OK) {
		mem_free(d);
		return (err_set(err, RC_NO_MEMORY, "relay: destination"));
	}
	TAILQ_INSERT_TAIL(&c->destinations.used, d, use);
	return (RC_OK);
}

/* Copies the pause and the rate, which operators set, from ${row} to the
 * destination in memory.  Returns false, and copies nothing, if the destination
 * is not in memory.  The rows DESTINATION_ALL and DESTINATION_LOCAL only set
 * the flags all_paused and local.paused, and the function returns true for
 * them. */
static bool
refresh(struct core *c, const struct store_destination_row *row)
{
	struct destination *d = find(c, row->destination_id);

	if (row->destination_id == DESTINATION_ALL)
		c->all_paused = row->paused_at != 0;
	if (row->destination_id == DESTINATION_LOCAL)
		c->local.paused = row->paused_at != 0;
	if (row->destination_id <= DESTINATION_LOCAL)
		return (true);
	if (d == NULL)
		return (false);
	/* Keep the breaker in memory, which is newer than that of the row.  But
	 * another node may have opened the breaker in the row and died: if ours
	 * is closed and stored, the next success stores ours again (mend). */
	d->mend = !d->saving && !d->changed &&
		  d->row.breaker.state == BREAKER_CLOSED &&
		  row->breaker.state != BREAKER_CLOSED;
	d->row.paused_at = row->paused_at;
	d->row.per_second = row->per_second;
	d->read_ms = c->mono_ms;
	return (true);
}

/* Sets *ret_could to true if a lane to the destination of ${row}, which is not
 * in memory, could be sent now: it is due, no pause forbids it, and the breaker
 * does not wait.  Otherwise, and on an error, *ret_could is false. */
static enum rc
could_send(struct core *c, const struct store_destination_row *row,
    bool *ret_could, struct err *err)
{
	int64_t due;
	enum rc rc;

	*ret_could = false;
	if (c->all_paused || row->paused_at != 0 ||
	    breaker_next(&row->breaker, c->wall_ms) != 0)
		return (RC_OK);
	rc = store_lanes_ready_next(c->o.db, row->destination_id, &due, err);
	*ret_could = rc == RC_OK && due != 0 && due <= c->wall_ms;
	return (rc);
}

enum rc
core_take_ready(
    struct core *c, const struct store_destination_row *row, struct err *err)
{
	bool could = true;
	enum rc rc = RC_OK;

	if (refresh(c, row))
		return (RC_OK);
	if (is_full(c))
		rc = could_send(c, row, &could, err);
	return (rc == RC_OK && could ? add(c, row, err) : rc);
}

/* ---- reading ---- */

enum rc
core_read_destination(struct core *c, int64_t id, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = store_destination_by_id(c->o.db, id, &row, err);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	return (rc == RC_OK && !refresh(c, &row) ? add(c, &row, err) : rc);
}

static enum rc
take_pause(void *arg, const struct store_destination_row *row, struct err *err)
{

	(void)err;
	(void)refresh(arg, row);
	return (RC_OK);
}

enum rc
core_read_pauses(struct core *c, struct err *err)
{

	/* The two rows for pauses have the lowest ids. */
	_Static_assert(
	    DESTINATION_ALL == 0 && DESTINATION_LOCAL == 1, "the first two");
	return (store_destinations_after(c->o.db, -1, 2, take_pause, c, err));
}

enum rc
core_read_destinations(struct core *c, struct err *err)
{
	struct destination *d, *next;
	enum rc rc;

	rc = core_read_pauses(c, err);
	for (d = TAILQ_FIRST(&c->destinations.used); d != NULL && rc == RC_OK;
	     d = next) {
		next = TAILQ_NEXT(d, use);
		rc = core_read_destination(c, d->row.destination_id, err);
	}
	TAILQ_FOREACH (d, &c->destinations.used, use)
		core_destination_review(c, d);
	return (rc);
}

struct page {
	struct core *core;
	int64_t last;
	int n;
};

static enum rc
take_page(void *arg, const struct store_destination_row *row, struct err *err)
{
	struct page *page = arg;

	struct destination *d;
	enum rc rc;

	page->last = row->destination_id;
	page->n++;
	rc = core_take_ready(page->core, row, err);
	if ((d = find(page->core, row->destination_id)) != NULL)
		core_destination_review(page->core, d);
	return (rc);
}

static enum rc
read_ready(struct core *c, struct err *err)
{
	struct page page = {c, -1, PAGE};
	enum rc rc = RC_OK;

	while (rc == RC_OK && page.n == PAGE && !is_full(c)) {
		page.n = 0;
		rc = store_destinations_ready(
		    c->o.db, page.last, PAGE, take_page, &page, err);
	}
	return (rc);
}

static enum rc
take_failing(
    void *arg, const struct store_destination_row *row, struct err *err)
{
	struct page *page = arg;

	if (row->breaker.state != BREAKER_CLOSED && !is_full(page->core))
		return (take_page(arg, row, err));
	page->last = row->destination_id;
	page->n++;
	return (RC_OK);
}

/* Reads the destinations whose breaker is not closed into memory, until
 * destinations_most are in memory.  Where no message waits, only heartbeats can
 * close the breaker again, and only destinations in memory get heartbeats. */
static enum rc
read_failing(struct core *c, struct err *err)
{
	struct page page = {c, DESTINATION_LOCAL, PAGE};
	enum rc rc = RC_OK;

	while (rc == RC_OK && page.n == PAGE && !is_full(c)) {
		page.n = 0;
		rc = store_destinations_after(
		    c->o.db, page.last, PAGE, take_failing, &page, err);
	}
	return (rc);
}

enum rc
core_read_start(struct core *c, struct err *err)
{
	enum rc rc;

	rc = core_read_pauses(c, err);
	if (rc == RC_OK)
		rc = read_ready(c, err);
	return (rc == RC_OK ? read_failing(c, err) : rc);
}
