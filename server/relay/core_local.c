/* SPDX-License-Identifier: MIT */
/*
 * Local lanes: a unit of the writer delivers messages of up to DELIVER_LANES
 * lanes to their inboxes in one transaction.  This file submits these units,
 * and runs the local part of the safety poll and the release of scheduled
 * messages.
 */
#include "base/container.h"
#include "log/log.h"
#include "relay/core_internal.h"
#include "store/outbox.h"

/* Returns true if ${rc}, the result of a delivery that failed, may have its
 * cause in one of the messages, and not in the disk, the memory, the database
 * or a stop.  Such a message may be poison. */
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
		schedule_done(c->local.schedule, d->unit.lanes[i],
		    outcome_of(&d->unit, i));
		held = held || d->unit.contended[i];
	}
	/* The safety poll finds the contended lanes again: make it run soon. */
	if (held && c->poll.next_ms > c->mono_ms + c->o.timing->relay_held_ms)
		c->poll.next_ms = c->mono_ms + c->o.timing->relay_held_ms;
	d->next_idle = c->local.idle;
	c->local.idle = d;
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

/* The carrier refused ${d}: makes its lanes ready again. */
static void
put_back(struct core *c, struct delivery *d, enum rc rc)
{
	size_t i;

	for (i = 0; i < d->unit.nlanes; i++)
		schedule_done(c->local.schedule, d->unit.lanes[i], LANE_LATER);
	d->next_idle = c->local.idle;
	c->local.idle = d;
	c->closed = c->closed || rc == RC_CLOSED;
	c->pause_until_ms = c->mono_ms + c->o.timing->relay_pause_ms;
}

void
core_deliver(struct core *c)
{
	struct schedule_take take;
	struct delivery *d;
	enum rc rc;

	while (!c->closed && !c->local.paused && !c->all_paused &&
	       c->mono_ms >= c->pause_until_ms && c->local.idle != NULL &&
	       schedule_ready(c->local.schedule) > 0) {
		d = c->local.idle;
		c->local.idle = d->next_idle;
		deliver_unit_init(&d->unit);
		d->core = c;
		d->job.back = delivery_back;
		d->unit.unit.finish = delivery_finished;
		take = (struct schedule_take){
		    .lanes = d->unit.lanes, .max = DELIVER_LANES};
		d->unit.nlanes = schedule_take(c->local.schedule, &take);
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

	/* Without memory the lane is not noted; the next poll finds it. */
	(void)(schedule_wake(c->local.schedule, lane_id, 0) == RC_OK);
}

static void
release_back(struct core *c, struct core_job *job)
{

	(void)job;
	c->release.under_way = false;
	if (c->release.unit.unit.rc != RC_OK)
		return;
	/* The unit was full, so more may be due: poll at once. */
	if (c->release.unit.released == RELEASE_ROWS)
		c->poll.next_ms = 0;
	else if (c->release.unit.passed_over &&
		 c->poll.next_ms >
		     c->mono_ms + c->o.timing->relay_release_again_ms)
		c->poll.next_ms =
		    c->mono_ms + c->o.timing->relay_release_again_ms;
}

/* Thread: sync or writer. */
static void
release_finished(struct unit *base)
{
	struct release_unit *u = CONTAINER_OF(base, struct release_unit, unit);
	struct core *c = u->arg;

	c->o.back(c->o.arg, &c->release.job);
}

static void
release(struct core *c)
{

	if (c->release.under_way || c->closed)
		return;
	release_unit_init(&c->release.unit);
	c->release.unit.unit.finish = release_finished;
	c->release.unit.arg = c;
	c->release.job.back = release_back;
	c->release.under_way =
	    c->o.submit(c->o.arg, &c->release.unit.unit) == RC_OK;
}

int64_t
core_poll_local(struct core *c)
{
	struct err err = ERR_INIT;
	int64_t due, from = c->poll.after_lane;
	enum rc rc;

	rc = store_lanes_pending(c->o.db, c->wall_ms, c->poll.after_lane,
	    CORE_POLL_LANES, found_lane, c, &c->poll.after_lane, &err);
	if (rc == RC_OK)
		rc = store_outbox_next_due(c->o.db, c->wall_ms, &due, &err);
	if (rc != RC_OK) {
		core_failed(c, &err);
		return (0);
	}
	core_well(c);
	/* While local delivery is paused, no delivery notices expired messages
	 * in the lanes that this poll has examined: let the reclaim unit look
	 * for them. */
	c->reclaim.expire_after = from;
	c->reclaim.expire_upto = !c->local.paused && !c->all_paused ? 0
				 : c->poll.after_lane != 0 ? c->poll.after_lane
							   : INT64_MAX;
	if (due != 0 && due <= c->wall_ms)
		release(c);
	return (due <= c->wall_ms ? 0 : c->mono_ms + due - c->wall_ms);
}
