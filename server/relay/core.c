/* SPDX-License-Identifier: MIT */
/*
 * The relay's core: its life, and a turn.
 */
#include <string.h>

#include "base/container.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "relay/core_internal.h"

void
core_failed(struct core *c, const struct err *err)
{
	struct outage_line line;

	if (outage_failed(
		&c->outage, c->mono_ms, c->o.timing->log_outage_ms, 1, &line))
		log_error(LOG_EV_RELAY_FAIL, err, "tries=%llu ms=%lld",
		    (unsigned long long)line.tries, (long long)line.ms);
}

void
core_well(struct core *c)
{
	struct outage_line line;

	if (outage_over(&c->outage, c->mono_ms, &line))
		log_event(LOG_EV_RELAY_BACK, "tries=%llu ms=%lld",
		    (unsigned long long)line.tries, (long long)line.ms);
}

void
core_pause(struct core *c, enum rc rc, const char *what)
{
	struct err err = ERR_INIT;

	(void)err_set(&err, rc, "%s: %s", what, rc_text(rc));
	core_failed(c, &err);
	c->pause_until_ms =
	    c->mono_ms + (rc == RC_FULL ? c->o.timing->relay_pause_full_ms
					: c->o.timing->relay_pause_ms);
}

/* ---- leases and expiry ---- */

/* When to look again, when nothing was found now. */
static void
rescue_later(struct core *c, int64_t lease, int64_t expiry)
{
	int64_t next = lease;

	if (next == 0 || (expiry != 0 && expiry < next))
		next = expiry;
	c->next_rescue_ms = c->mono_ms + c->o.timing->relay_rescue_ms;
	/* Run out and still there: somebody was at work on its conversation,
	 * and it was passed over. */
	if (next != 0 && next <= c->wall_ms)
		c->next_rescue_ms =
		    c->mono_ms + c->o.timing->relay_rescue_again_ms;
	else if (next > c->wall_ms &&
		 next - c->wall_ms < c->o.timing->relay_rescue_ms)
		c->next_rescue_ms = c->mono_ms + next - c->wall_ms;
}

static void
rescue_back(struct core *c, struct core_job *job)
{
	const struct reclaim_unit *u = &c->rescue;

	(void)job;
	c->rescuing = false;
	c->next_rescue_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	if (u->unit.rc == RC_CLOSED)
		c->closed = true;
	if (u->unit.rc != RC_OK)
		return;
	if (u->reclaimed > 0)
		log_event(LOG_EV_RELAY_RESCUE, "lanes=%zu why=%s", u->reclaimed,
		    u->all ? "restart" : "lease");
	/* The start's is repeated until it finds no lease any more. */
	c->rescue_all = c->rescue_all && u->reclaimed == STORE_LANES;
	if (u->reclaimed == STORE_LANES || u->expired > 0) {
		c->next_rescue_ms = c->mono_ms;
		return;
	}
	rescue_later(c, u->next_lease, u->next_expiry);
}

/* Thread: sync or writer. */
static void
rescue_finished(struct unit *base)
{
	struct reclaim_unit *u = CONTAINER_OF(base, struct reclaim_unit, unit);
	struct core *c = u->arg;

	c->o.back(c->o.arg, &c->rescue_job);
}

/* Whether there is a lease to end or a message to take out: looked up first, so
 * that a server with nothing to do writes nothing. */
static bool
rescue_needed(struct core *c)
{
	struct err err = ERR_INIT;
	int64_t lease, expiry;
	bool far, stale;
	enum rc rc;

	rc = store_lanes_lease_next(c->o.db, &lease, &err);
	if (rc == RC_OK)
		rc = store_rows_expiry_next(c->o.db, &expiry, &err);
	if (rc == RC_OK)
		rc = store_lanes_due_beyond(
		    c->o.db, c->wall_ms + BREAKER_SANE_MS, &far, &err);
	if (rc != RC_OK) {
		core_failed(c, &err);
		c->next_rescue_ms = c->mono_ms + c->o.timing->relay_pause_ms;
		return (false);
	}
	stale = lease != 0 &&
		(lease <= c->wall_ms || lease > c->wall_ms + LEASE_MAX_MS);
	if (stale || far || c->expire_upto != 0 ||
	    (lease != 0 && c->rescue_all) ||
	    (expiry != 0 && expiry <= c->wall_ms))
		return (true);
	c->rescue_all = false;
	rescue_later(c, lease, expiry);
	return (false);
}

static void
rescue(struct core *c)
{

	if (c->rescuing || c->closed || c->mono_ms < c->next_rescue_ms ||
	    c->mono_ms < c->pause_until_ms || !rescue_needed(c))
		return;
	reclaim_unit_init(&c->rescue);
	c->rescue.all = c->rescue_all;
	c->rescue.expire = true;
	c->rescue.local_after = c->expire_after;
	c->rescue.local_upto = c->expire_upto;
	c->rescue.unit.finish = rescue_finished;
	c->rescue.arg = c;
	c->rescue_job.back = rescue_back;
	c->rescuing = c->o.submit(c->o.arg, &c->rescue.unit) == RC_OK;
	if (!c->rescuing)
		c->next_rescue_ms = c->mono_ms + c->o.timing->relay_pause_ms;
}

/* ---- a turn ---- */

static void
take_wakes(struct core *c, struct mbox_node *list)
{
	struct err err = ERR_INIT;
	struct wake *w;
	size_t i;

	while (list != NULL) {
		w = CONTAINER_OF(list, struct wake, node);
		list = list->next;
		/* Without memory the safety poll finds them. */
		for (i = 0; i < w->nlanes; i++)
			(void)(schedule_wake(c->schedule, w->lanes[i].lane_id,
				   w->lanes[i].priority) == RC_OK);
		if (w->destinations_changed &&
		    core_read_destinations(c, &err) != RC_OK)
			core_failed(c, &err);
		for (i = 0; i < w->ndestinations; i++)
			core_wake_destination(c, w->destinations[i]);
		wake_free(w);
	}
}

static int64_t
sooner(int64_t a, int64_t b)
{

	return (b != 0 && b < a ? b : a);
}

static void
poll(struct core *c)
{
	int64_t due;

	if (c->mono_ms < c->next_poll_ms)
		return;
	due = core_poll_local(c);
	core_poll_remote(c);
	/* More than one look: after a restart they are many, and no wake will
	 * name them. */
	c->next_poll_ms =
	    c->mono_ms + (c->poll_after != 0 || c->poll_destination != -1
				 ? c->o.timing->relay_pause_ms
				 : c->o.poll_ms);
	c->next_poll_ms = sooner(c->next_poll_ms, due);
}

int64_t
core_turn(
    struct core *c, struct mbox_node *wakes, struct core_job *jobs, bool going)
{
	struct core_job *job;
	int64_t until, renewal;

	thr_assert(THR_RELAY);
	c->wall_ms = clk_wall_ms(c->o.clk);
	c->mono_ms = clk_mono_ms(c->o.clk);
	c->going = going;
	take_wakes(c, wakes);
	while ((job = jobs) != NULL) {
		jobs = job->next;
		job->back(c, job);
	}
	core_settle_again(c);
	if (!going)
		return (c->mono_ms + c->o.timing->relay_pause_ms);
	poll(c);
	renewal = core_renew(c);
	rescue(c);
	core_deliver(c);
	core_send(c);
	until = sooner(c->next_poll_ms, c->next_parked_ms);
	until = sooner(until, renewal);
	if (!c->rescuing)
		until = sooner(until, c->next_rescue_ms);
	/* Also when something has just been refused. */
	if (c->mono_ms < c->pause_until_ms)
		until = sooner(until, c->pause_until_ms);
	return (until > c->mono_ms ? until : c->mono_ms + 1);
}

/* ---- what is known of it ---- */

bool
core_idle(const struct core *c)
{

	return (core_in_flight(c) == 0 && !c->releasing && !c->rescuing &&
		!c->renewing && c->saves == 0);
}

size_t
core_in_flight(const struct core *c)
{

	return (schedule_busy(c->schedule) + c->under_way);
}

void
core_destinations(const struct core *c,
    void (*each)(void *arg, const struct core_destination *d), void *arg)
{
	const struct destination *d;
	struct core_destination told;
	size_t pos = 0;

	while ((d = htab_next(c->destinations, &pos)) != NULL) {
		told = (struct core_destination){d->row.destination_id,
		    d->row.breaker.state, breaker_window(&d->row.breaker),
		    d->in_flight};
		each(arg, &told);
	}
}

/* ---- life ---- */

enum rc
core_new(const struct core_options *options, struct core **ret, struct err *err)
{
	struct core *c;
	size_t i;

	if ((c = mem_zalloc(1, sizeof(*c))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "relay"));
	c->o = *options;
	c->o.timing = timing_or_real(options->timing);
	TAILQ_INIT(&c->runnable);
	TAILQ_INIT(&c->doubtful);
	c->poll_destination = -1;
	c->schedule = schedule_new();
	c->destinations = htab_new(sizeof(int64_t));
	c->parcels = mem_zalloc(CORE_PARCELS, sizeof(*c->parcels));
	if (c->schedule == NULL || c->destinations == NULL ||
	    c->parcels == NULL) {
		core_free(c);
		return (err_set(err, RC_NO_MEMORY, "relay"));
	}
	for (i = 0; i < CORE_DELIVERIES; i++) {
		c->deliveries[i].next_idle = c->idle_deliveries;
		c->idle_deliveries = &c->deliveries[i];
	}
	for (i = 0; i < CORE_PARCELS; i++) {
		c->parcels[i].next = c->idle_parcels;
		c->idle_parcels = &c->parcels[i];
	}
	*ret = c;
	return (RC_OK);
}

void
core_free(struct core *c)
{
	size_t pos = 0, i;
	void *p;

	if (c == NULL)
		return;
	if (c->destinations != NULL)
		while ((p = htab_next(c->destinations, &pos)) != NULL)
			mem_free(p);
	for (i = 0; c->parcels != NULL && i < CORE_PARCELS; i++)
		buf_fini(&c->parcels[i].parcel.text);
	mem_free(c->parcels);
	htab_free(c->destinations);
	schedule_free(c->schedule);
	mem_free(c);
}

enum rc
core_start(struct core *c, struct err *err)
{

	c->wall_ms = clk_wall_ms(c->o.clk);
	c->mono_ms = clk_mono_ms(c->o.clk);
	/* Where there are other nodes a lease may be one of theirs; those of
	 * the dead are ended by the living. */
	c->rescue_all = !db_multi_writer(c->o.db);
	return (core_read_destinations(c, err));
}
