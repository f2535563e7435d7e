/* SPDX-License-Identifier: MIT */
/*
 * The relay's core: its creation and start, one turn of its loop, and the end
 * of leases and messages that have run out.
 */
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/thr.h"
#include "log/log.h"
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

/* Sets the time of the next check for leases and messages that have run out.
 * ${lease} and ${expiry} are the wall times in ms at which the next lease and
 * the next message to another server run out; 0: none.  The next check is at
 * the earlier of the two, but at the latest relay_reclaim_ms from now, or
 * relay_reclaim_again_ms from now if the earlier one has passed already. */
static void
reclaim_later(struct core *c, int64_t lease, int64_t expiry)
{
	int64_t next = lease;

	if (next == 0 || (expiry != 0 && expiry < next))
		next = expiry;
	c->reclaim.next_ms = c->mono_ms + c->o.timing->relay_reclaim_ms;
	/* The lease or message has run out but is still there.  The unit
	 * skipped it, because another transaction had locked its conversation
	 * or because the clock had jumped (txn_expired()); or it has run out
	 * only since the unit's transaction. */
	if (next != 0 && next <= c->wall_ms)
		c->reclaim.next_ms =
		    c->mono_ms + c->o.timing->relay_reclaim_again_ms;
	else if (next > c->wall_ms &&
		 next - c->wall_ms < c->o.timing->relay_reclaim_ms)
		c->reclaim.next_ms = c->mono_ms + next - c->wall_ms;
}

static void
reclaim_back(struct core *c, struct core_job *job)
{
	const struct reclaim_unit *u = &c->reclaim.unit;

	(void)job;
	c->reclaim.under_way = false;
	c->reclaim.next_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	if (u->unit.rc == RC_CLOSED)
		c->closed = true;
	if (u->unit.rc != RC_OK)
		return;
	if (u->reclaimed > 0)
		log_event(LOG_EV_RELAY_RESCUE, "lanes=%zu why=%s", u->reclaimed,
		    u->all ? "restart" : "lease");
	/* The destinations of the reclaimed lanes may not be in memory: let the
	 * safety poll run now, and begin with its first page of
	 * destinations. */
	if (u->reclaimed > 0) {
		c->poll.after_destination = -1;
		c->poll.next_ms = c->mono_ms;
	}
	/* At the start repeat until a unit finds less than it may take. */
	c->reclaim.all = c->reclaim.all && u->reclaimed == STORE_LANES;
	if (u->reclaimed == STORE_LANES || u->expired > 0) {
		c->reclaim.next_ms = c->mono_ms;
		return;
	}
	reclaim_later(c, u->next_lease, u->next_expiry);
}

/* Thread: sync or writer. */
static void
reclaim_finished(struct unit *base)
{
	struct reclaim_unit *u = CONTAINER_OF(base, struct reclaim_unit, unit);
	struct core *c = u->arg;

	c->o.back(c->o.arg, &c->reclaim.job);
}

/* Returns true if the reclaim unit has work: a lease to end, an expired message
 * to another server, local lanes to search for expired messages (while local
 * delivery is paused), or a lane whose due time shows that the clock was set
 * back.  Only reads the database, so that an idle server submits no unit and
 * writes nothing.  If there is no work, or a read fails, returns false and sets
 * the time of the next check.  If there is no work, also sets reclaim.all to
 * false: no lease of the previous run of this server is left. */
static bool
reclaim_needed(struct core *c)
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
		c->reclaim.next_ms = c->mono_ms + c->o.timing->relay_pause_ms;
		return (false);
	}
	stale = lease != 0 &&
		(lease <= c->wall_ms || lease > c->wall_ms + LEASE_MAX_MS);
	if (stale || far || c->reclaim.expire_upto != 0 ||
	    (lease != 0 && c->reclaim.all) ||
	    (expiry != 0 && expiry <= c->wall_ms))
		return (true);
	c->reclaim.all = false;
	reclaim_later(c, lease, expiry);
	return (false);
}

static void
reclaim(struct core *c)
{

	if (c->reclaim.under_way || c->closed ||
	    c->mono_ms < c->reclaim.next_ms || c->mono_ms < c->pause_until_ms ||
	    !reclaim_needed(c))
		return;
	reclaim_unit_init(&c->reclaim.unit);
	c->reclaim.unit.all = c->reclaim.all;
	c->reclaim.unit.expire = true;
	c->reclaim.unit.local_after = c->reclaim.expire_after;
	c->reclaim.unit.local_upto = c->reclaim.expire_upto;
	c->reclaim.unit.unit.finish = reclaim_finished;
	c->reclaim.unit.arg = c;
	c->reclaim.job.back = reclaim_back;
	c->reclaim.under_way =
	    c->o.submit(c->o.arg, &c->reclaim.unit.unit) == RC_OK;
	if (!c->reclaim.under_way)
		c->reclaim.next_ms = c->mono_ms + c->o.timing->relay_pause_ms;
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
		/* Without memory a lane is not noted here; the safety poll
		 * finds it. */
		for (i = 0; i < w->nlanes; i++)
			(void)(schedule_wake(c->local.schedule,
				   w->lanes[i].lane_id,
				   w->lanes[i].priority) == RC_OK);
		if (w->destinations_changed &&
		    core_read_destinations(c, &err) != RC_OK)
			core_failed(c, &err);
		for (i = 0; i < w->ndestinations; i++)
			core_wake_destination(c, w->destinations[i]);
		if (w->contact != 0)
			core_contact(c, w->contact, w->contact_alone);
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

	if (c->mono_ms < c->poll.next_ms)
		return;
	due = core_poll_local(c);
	core_poll_remote(c);
	/* A poll reads a limited page.  If there is more, read the next page
	 * soon: after a restart many lanes wait, and no wake-up names them. */
	c->poll.next_ms =
	    c->mono_ms +
	    (c->poll.after_lane != 0 || c->poll.after_destination != -1
		    ? c->o.timing->relay_pause_ms
		    : c->o.poll_ms);
	c->poll.next_ms = sooner(c->poll.next_ms, due);
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
	reclaim(c);
	core_deliver(c);
	core_send(c);
	core_heartbeat(c);
	until = sooner(c->poll.next_ms, c->destinations.next_parked_ms);
	until = sooner(until, c->heartbeats.next_ms);
	until = sooner(until, renewal);
	if (!c->reclaim.under_way)
		until = sooner(until, c->reclaim.next_ms);
	/* Also while a pause is set: retry what was refused. */
	if (c->mono_ms < c->pause_until_ms)
		until = sooner(until, c->pause_until_ms);
	return (until > c->mono_ms ? until : c->mono_ms + 1);
}

/* ---- what is known of it ---- */

bool
core_idle(const struct core *c)
{

	return (core_in_flight(c) == 0 && !c->release.under_way &&
		!c->reclaim.under_way && !c->renewal.under_way &&
		c->destinations.saves == 0);
}

size_t
core_in_flight(const struct core *c)
{

	return (schedule_busy(c->local.schedule) + c->parcels.under_way);
}

void
core_destinations(const struct core *c,
    void (*each)(void *arg, const struct core_destination *d), void *arg)
{
	const struct destination *d;
	struct core_destination told;
	size_t pos = 0;

	while ((d = htab_next(c->destinations.by_id, &pos)) != NULL) {
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
	TAILQ_INIT(&c->destinations.runnable);
	TAILQ_INIT(&c->destinations.doubtful);
	TAILQ_INIT(&c->destinations.used);
	if (c->o.destinations_most == 0)
		c->o.destinations_most = CORE_DESTINATIONS;
	c->poll.after_destination = -1;
	c->local.schedule = schedule_new();
	c->destinations.by_id = htab_new(sizeof(int64_t));
	c->parcels.all = mem_zalloc(CORE_PARCELS, sizeof(*c->parcels.all));
	if (c->local.schedule == NULL || c->destinations.by_id == NULL ||
	    c->parcels.all == NULL) {
		core_free(c);
		return (err_set(err, RC_NO_MEMORY, "relay"));
	}
	for (i = 0; i < CORE_DELIVERIES; i++) {
		c->local.deliveries[i].next_idle = c->local.idle;
		c->local.idle = &c->local.deliveries[i];
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
	if (c->destinations.by_id != NULL)
		while ((p = htab_next(c->destinations.by_id, &pos)) != NULL)
			mem_free(p);
	for (i = 0; c->parcels.all != NULL && i < c->parcels.used; i++)
		buf_fini(&c->parcels.all[i].parcel.text);
	mem_free(c->parcels.all);
	htab_free(c->destinations.by_id);
	schedule_free(c->local.schedule);
	mem_free(c);
}

enum rc
core_start(struct core *c, struct err *err)
{

	c->wall_ms = clk_wall_ms(c->o.clk);
	c->mono_ms = clk_mono_ms(c->o.clk);
	/* Do not end all leases on a multi-writer database: a lease may belong
	 * to another node that is alive.  The leases of a dead node are ended
	 * by the node that marks the dead node as dead. */
	c->reclaim.all = !db_multi_writer(c->o.db);
	return (core_read_start(c, err));
}
