/* SPDX-License-Identifier: MIT */
/*
 * Local lanes: whole lanes go to the writer, which delivers them in one
 * transaction.
 */
#include "base/container.h"
#include "base/log.h"
#include "relay/core_internal.h"
#include "store/outbox.h"

/* Whether ${rc} tells of the message and not of the disk, the memory or the
 * stop: then it may be poison. */
static bool
may_be_poison(enum rc rc)
{

	return (rc == RC_CONFLICT || rc == RC_EXISTS || rc == RC_INVALID ||
		rc == RC_INTERNAL);
}

static enum lane_outcome
outcome_of(const struct deliver_unit *u, size_t i)
{

	if (u->unit.rc == RC_OK)
		return (u->more[i] ? LANE_MORE : LANE_DONE);
	return (may_be_poison(u->unit.rc) ? LANE_BROKEN : LANE_LATER);
}

static void
delivery_back(struct core *c, struct core_job *job)
{
	struct delivery *d = CONTAINER_OF(job, struct delivery, job);
	bool held = false;
	size_t i;

	if (d->unit.unit.rc == RC_CLOSED)
		c->closed = true;
	else if (d->unit.unit.rc != RC_OK)
		core_pause(c, d->unit.unit.rc, "delivery put off");
	else if (d->unit.delivered > 0)
		log_event(LOG_EV_RELAY_TURN, "destination=local rows=%zu",
		    d->unit.delivered);
	for (i = 0; i < d->unit.nlanes; i++) {
		schedule_done(
		    c->schedule, d->unit.lanes[i], outcome_of(&d->unit, i));
		held = held || d->unit.contended[i];
	}
	/* The poll finds them again. */
	if (held && c->next_poll_ms > c->mono_ms + c->o.timing->relay_held_ms)
		c->next_poll_ms = c->mono_ms + c->o.timing->relay_held_ms;
	d->next_idle = c->idle_deliveries;
	c->idle_deliveries = d;
}

/* Thread: sync or writer. */
static void
delivery_finished(struct unit *base)
{
	struct deliver_unit *unit =
	    CONTAINER_OF(base, struct deliver_unit, unit);
	struct delivery *d = (struct delivery *)(void *)unit;

	d->core->o.back(d->core->o.arg, &d->job);
}

/* The carrier would not take ${d}: its lanes are ready again. */
static void
put_back(struct core *c, struct delivery *d, enum rc rc)
{
	size_t i;

	for (i = 0; i < d->unit.nlanes; i++)
		schedule_done(c->schedule, d->unit.lanes[i], LANE_LATER);
	d->next_idle = c->idle_deliveries;
	c->idle_deliveries = d;
	c->closed = c->closed || rc == RC_CLOSED;
	c->pause_until_ms = c->mono_ms + c->o.timing->relay_pause_ms;
}

void
core_deliver(struct core *c)
{
	struct schedule_take take;
	struct delivery *d;
	enum rc rc;

	while (!c->closed && !c->local_paused && !c->all_paused &&
	       c->mono_ms >= c->pause_until_ms && c->idle_deliveries != NULL &&
	       schedule_ready(c->schedule) > 0) {
		d = c->idle_deliveries;
		c->idle_deliveries = d->next_idle;
		deliver_unit_init(&d->unit);
		d->core = c;
		d->job.back = delivery_back;
		d->unit.unit.finish = delivery_finished;
		take = (struct schedule_take){
		    .lanes = d->unit.lanes, .max = DELIVER_LANES};
		d->unit.nlanes = schedule_take(c->schedule, &take);
		d->unit.poison = take.poison;
		rc = c->o.local.submit(c->o.local.arg, &d->unit);
		if (rc != RC_OK)
			put_back(c, d, rc);
	}
}

/* ---- the safety poll ---- */

static void
found_lane(void *arg, int64_t lane_id)
{
	struct core *c = arg;

	/* Without memory the next poll finds it. */
	(void)(schedule_wake(c->schedule, lane_id, 0) == RC_OK);
}

static void
release_back(struct core *c, struct core_job *job)
{

	(void)job;
	c->releasing = false;
	if (c->release.unit.rc != RC_OK)
		return;
	/* There may be more that is due: looked for at once. */
	if (c->release.released == RELEASE_ROWS)
		c->next_poll_ms = 0;
	else if (c->release.passed_over &&
		 c->next_poll_ms >
		     c->mono_ms + c->o.timing->relay_release_again_ms)
		c->next_poll_ms =
		    c->mono_ms + c->o.timing->relay_release_again_ms;
}

/* Thread: sync or writer. */
static void
release_finished(struct unit *base)
{
	struct release_unit *u = CONTAINER_OF(base, struct release_unit, unit);
	struct core *c = u->arg;

	c->o.back(c->o.arg, &c->release_job);
}

static void
release(struct core *c)
{

	if (c->releasing || c->closed)
		return;
	release_unit_init(&c->release);
	c->release.unit.finish = release_finished;
	c->release.arg = c;
	c->release_job.back = release_back;
	c->releasing = c->o.submit(c->o.arg, &c->release.unit) == RC_OK;
}

int64_t
core_poll_local(struct core *c)
{
	struct err err = ERR_INIT;
	int64_t due, from = c->poll_after;
	enum rc rc;

	rc = store_lanes_pending(c->o.db, c->wall_ms, c->poll_after,
	    CORE_POLL_LANES, found_lane, c, &c->poll_after, &err);
	if (rc == RC_OK)
		rc = store_outbox_next_due(c->o.db, c->wall_ms, &due, &err);
	if (rc != RC_OK) {
		core_failed(c, &err);
		return (0);
	}
	core_well(c);
	/* Behind a pause nothing is claimed, so nobody else would see that it
	 * expires. */
	c->expire_after = from;
	c->expire_upto = !c->local_paused && !c->all_paused ? 0
			 : c->poll_after != 0               ? c->poll_after
							    : INT64_MAX;
	if (due != 0 && due <= c->wall_ms)
		release(c);
	return (due <= c->wall_ms ? 0 : c->mono_ms + due - c->wall_ms);
}
