/* SPDX-License-Identifier: MIT */
/*
 * Other servers as destinations: the state of each (destination_state.h) and
 * the events that change it. core_known.c decides which are in memory.
 *
 * Only core_destination_review() decides the state, except that
 * core_destination_rest() makes a destination idle before it is evicted.  A
 * destination may have changed since it became runnable, so core_send() reviews
 * it again before it claims.
 */
#include <assert.h>
#include <string.h>

#include "base/container.h"
#include "relay/core_internal.h"

/* ---- states ---- */

bool
core_destination_paused(const struct core *c, const struct destination *d)
{

	return (c->all_paused || d->row.paused_at != 0);
}

/* Adds the tokens that the rate has allowed since the last call (token
 * bucket). */
static void
refill(struct core *c, struct destination *d)
{
	const double rate = (double)d->row.per_second;
	double more;

	if (rate <= 0)
		return;
	more = (double)(c->mono_ms - d->tokens_at) * rate / 1000.0;
	d->tokens += more > 0 ? more : 0;
	/* Cap at one second's worth, so that a pause saves up no larger
	 * burst. */
	if (d->tokens > rate)
		d->tokens = rate;
	d->tokens_at = c->mono_ms;
}

/* Returns how many parcels may be under way to ${d} at a time. */
static int
window(const struct destination *d)
{
	const int most = breaker_window(&d->row.breaker);

	return (d->requests_most > 0 && d->requests_most < most
		    ? d->requests_most
		    : most);
}

/* Returns when the next parcel with messages may leave for ${d}: 0 for now; -1
 * if only an event can let it leave (a job that comes back, a wake-up or safety
 * poll that finds messages, or an operator who ends a pause); else a monotonic
 * time in ms. */
static int64_t
may_send_at(struct core *c, struct destination *d)
{
	int64_t at;

	if (core_destination_paused(c, d) || d->claiming ||
	    d->in_flight >= window(d))
		return (-1);
	if (!d->may_work) {
		if (d->next_due == 0)
			return (-1);
		if (d->next_due > c->wall_ms &&
		    d->next_due <= c->wall_ms + BREAKER_SANE_MS)
			return (c->mono_ms + d->next_due - c->wall_ms);
	}
	if (d->parked_until_ms > c->mono_ms)
		return (d->parked_until_ms);
	at = breaker_next(&d->row.breaker, c->wall_ms);
	if (at != 0)
		return (c->mono_ms + at - c->wall_ms);
	if (d->row.per_second > 0) {
		refill(c, d);
		if (d->tokens < 1)
			return (c->mono_ms + 1 +
				(int64_t)((1 - d->tokens) * 1000 /
					  (double)d->row.per_second));
	}
	return (0);
}

bool
core_destination_doubtful(const struct store_destination_row *row)
{
	const struct breaker *b = &row->breaker;

	return (b->state != BREAKER_CLOSED || b->failures > 0 ||
		b->last_success_at == 0);
}

static struct destination_queue *
queue_of(struct core *c, const struct destination *d)
{

	return (d->doubtful ? &c->destinations.doubtful
			    : &c->destinations.runnable);
}

/* Moves ${d} to state ${to}, which must not be its present state.  If ${d} was
 * runnable, removes it from its queue.  If it becomes runnable, appends it to
 * the doubtful queue or to the runnable queue. */
static void
move(struct core *c, struct destination *d, enum destination_state to)
{

	assert(destination_state_allows(d->state, to));
	if (d->state == DESTINATION_RUNNABLE)
		TAILQ_REMOVE(queue_of(c, d), d, entry);
	d->state = to;
	if (to == DESTINATION_RUNNABLE) {
		d->doubtful = core_destination_doubtful(&d->row);
		TAILQ_INSERT_TAIL(queue_of(c, d), d, entry);
	}
}

void
core_destination_review(struct core *c, struct destination *d)
{
	const int64_t at = may_send_at(c, d);
	const enum destination_state to = at == 0  ? DESTINATION_RUNNABLE
					  : at < 0 ? DESTINATION_IDLE
						   : DESTINATION_PARKED;

	if (d->state != to) {
		move(c, d, to);
	} else if (to == DESTINATION_RUNNABLE &&
		   d->doubtful != core_destination_doubtful(&d->row)) {
		/* Move it to the end of the other queue. */
		move(c, d, DESTINATION_IDLE);
		move(c, d, to);
	}
	d->until_ms = at;
	if (to == DESTINATION_PARKED &&
	    (c->destinations.next_parked_ms == 0 ||
		at < c->destinations.next_parked_ms))
		c->destinations.next_parked_ms = at;
	core_heartbeat_review(c, d);
}

void
core_destination_rest(struct core *c, struct destination *d)
{

	if (d->state != DESTINATION_IDLE)
		move(c, d, DESTINATION_IDLE);
}

void
core_destinations_unpark(struct core *c)
{
	struct destination *d;
	size_t pos = 0;

	if (c->destinations.next_parked_ms == 0 ||
	    c->mono_ms < c->destinations.next_parked_ms)
		return;
	c->destinations.next_parked_ms = 0;
	while ((d = htab_next(c->destinations.by_id, &pos)) != NULL)
		if (d->state == DESTINATION_PARKED)
			core_destination_review(c, d);
}

/* ---- what has happened to them ---- */

static struct destination *
find(struct core *c, int64_t id)
{

	return (htab_find(c->destinations.by_id, &id));
}

void
core_wake_destination(struct core *c, int64_t id)
{
	struct destination *d = find(c, id);
	struct err err = ERR_INIT;

	/* Read the row if the destination is not in memory.  Read it again if
	 * the last read is CORE_READ_AGAIN_MS ago: an operator may have paused
	 * the destination on another node.  If the read fails, a destination in
	 * memory is woken with its older row; one that is not in memory is not
	 * woken, and a later safety poll finds its lane. */
	if (d == NULL || c->mono_ms - d->read_ms >= CORE_READ_AGAIN_MS)
		(void)(core_read_destination(c, id, &err) == RC_OK);
	if ((d = find(c, id)) == NULL)
		return;
	core_destination_used(c, d);
	d->may_work = true;
	d->woken = true;
	core_destination_review(c, d);
}

/* Returns true if messages wait for ${d}, be they due now or later.  If the
 * relay knows of no such messages, returns false without a read; otherwise
 * reads from the database whether there are any.  Returns true if the read
 * fails. */
static bool
owes(struct core *c, const struct destination *d)
{
	struct err err = ERR_INIT;
	int64_t due;

	if (!d->may_work && d->next_due == 0)
		return (false);
	return (store_lanes_ready_next(
		    c->o.db, d->row.destination_id, &due, &err) != RC_OK ||
		due != 0);
}

/* Returns true if a contact with ${d} caused a probe within the last ${ms}. */
static bool
heeded(const struct core *c, const struct destination *d, int64_t ms)
{

	return (d->contact_ms != 0 && c->mono_ms - d->contact_ms < ms);
}

void
core_contact(struct core *c, int64_t id, bool alone)
{
	struct destination *d = find(c, id);

	if (d == NULL ||
	    (d->row.breaker.state != BREAKER_OPEN &&
		d->beat_after_ms <= c->mono_ms) ||
	    heeded(c, d, c->o.timing->relay_contact_ms))
		return;
	/* A server that can write to us may still be unreachable from here.  So
	 * while no message waits for it, its heartbeats cause no probe, and
	 * between two probes that its other requests cause lies at least the
	 * breaker's interval or the wait of a postponed heartbeat, whichever is
	 * longer. */
	if ((alone || heeded(c, d, d->row.breaker.interval_ms) ||
		heeded(c, d, d->beat_wait_ms)) &&
	    !owes(c, d))
		return;
	d->contact_ms = c->mono_ms;
	d->beat_after_ms = 0;
	if (breaker_contact(&d->row.breaker, c->wall_ms))
		core_breaker_save(c, d);
	core_destination_review(c, d);
}

/* ---- the breaker's row ---- */

/* Sets when to store the breakers again, after a failure ${rc}. */
static void
save_later(struct core *c, enum rc rc)
{

	c->destinations.save_again_ms =
	    c->mono_ms + (rc == RC_FULL ? c->o.timing->relay_pause_full_ms
					: c->o.timing->relay_pause_ms);
}

static void
save_back(struct core *c, struct core_job *job)
{
	struct destination *d = CONTAINER_OF(job, struct destination, save_job);
	enum rc rc = d->save.unit.rc;

	c->destinations.saves--;
	d->saving = false;
	if (rc != RC_OK) {
		d->changed = true;
		save_later(c, rc);
	} else if (d->changed) {
		core_breaker_save(c, d);
	}
}

/* Thread: sync or writer. */
static void
save_finished(struct unit *base)
{
	struct breaker_unit *u = CONTAINER_OF(base, struct breaker_unit, unit);
	struct destination *d = u->arg;

	d->core->o.back(d->core->o.arg, &d->save_job);
}

void
core_breaker_save(struct core *c, struct destination *d)
{
	enum rc rc;

	d->changed = true;
	if (d->saving || c->closed)
		return;
	breaker_unit_init(&d->save);
	d->save.row = d->row;
	d->save.unit.finish = save_finished;
	d->save.arg = d;
	d->save_job.back = save_back;
	if ((rc = c->o.submit(c->o.arg, &d->save.unit)) != RC_OK) {
		save_later(c, rc);
		return;
	}
	d->saving = true;
	d->changed = false;
	c->destinations.saves++;
}

/* Stores the breakers that an earlier attempt could not store. */
static void
save_again(struct core *c)
{
	struct destination *d;

	if (c->destinations.save_again_ms == 0 ||
	    c->mono_ms < c->destinations.save_again_ms)
		return;
	c->destinations.save_again_ms = 0;
	/* Stop at the first refusal: the writer would refuse the others,
	 * too. */
	TAILQ_FOREACH (d, &c->destinations.used, use)
		if (d->changed && !d->saving &&
		    c->destinations.save_again_ms == 0)
			core_breaker_save(c, d);
}

/* ---- the safety poll ---- */

struct look {
	struct core *core;
	int64_t last;
	int n;
};

static enum rc
look_at(void *arg, const struct store_destination_row *row, struct err *err)
{
	struct look *look = arg;
	struct core *c = look->core;
	struct destination *d;
	enum rc rc;

	look->last = row->destination_id;
	look->n++;
	rc = core_take_ready(c, row, err);
	d = find(c, row->destination_id);
	if (rc != RC_OK || d == NULL)
		return (rc);
	if (!d->may_work && !d->claiming)
		rc = store_lanes_ready_next(
		    c->o.db, d->row.destination_id, &d->next_due, err);
	if (d->next_due != 0 && d->next_due <= c->wall_ms)
		d->may_work = true;
	/* A destination that was just read into memory is still idle. */
	core_destination_review(c, d);
	return (rc);
}

void
core_poll_remote(struct core *c)
{
	struct look look = {c, c->poll.after_destination, 0};
	struct err err = ERR_INIT;
	enum rc rc;

	save_again(c);
	if (c->poll.after_destination < 0)
		core_forget_idle(c);
	rc = core_read_pauses(c, &err);
	if (rc == RC_OK)
		rc =
		    store_destinations_ready(c->o.db, c->poll.after_destination,
			CORE_POLL_DESTINATIONS, look_at, &look, &err);
	if (rc != RC_OK)
		core_failed(c, &err);
	c->poll.after_destination =
	    look.n == CORE_POLL_DESTINATIONS ? look.last : -1;
	/* Review parked destinations at once: the wall clock may have been set,
	 * and their waits follow it. */
	c->destinations.next_parked_ms =
	    c->destinations.next_parked_ms != 0 ? c->mono_ms : 0;
}
