/* SPDX-License-Identifier: MIT */
/*
 * Heartbeats: probes of destinations whose breaker is not closed and for which
 * no message waits.  Without heartbeats such a breaker would stay open until a
 * user writes to that server.
 *
 * A heartbeat is a parcel without items that is neither claimed nor settled.
 * It leaves when the breaker admits a probe, and its answer counts like that of
 * any parcel.  At most CORE_HEARTBEATS heartbeats are under way, because each
 * takes one of the CORE_PARCELS parcels, and dead servers must leave parcels
 * for messages.  The destination that has been due for longest goes first.
 *
 * A destination that waits for a heartbeat is idle (destination_state.h).  The
 * core keeps only the earliest due time of all of them, and scans the
 * destinations when that time has come.
 *
 * No heartbeat leaves for a destination that the carrier does not reach
 * (policy, an operator's block, federation off).  It would fail on this server,
 * and the breaker, the log and the alerts would blame the peer.  The heartbeat
 * is postponed as if the peer had asked for a pause, so that heartbeats resume
 * by themselves after an unblock.  Nor does a heartbeat leave while an operator
 * has paused the destination.
 */
#include <stdio.h>

#include "relay/core_internal.h"

/* Returns true if only a heartbeat can find out that ${d} is reachable
 * again. */
static bool
wants(const struct destination *d)
{

	return (d->row.breaker.state != BREAKER_CLOSED &&
		d->state == DESTINATION_IDLE && !d->may_work &&
		d->next_due == 0 && !d->claiming && d->in_flight == 0);
}

/* Returns the monotonic time in ms at which the heartbeat to ${d} is or was
 * due. */
static int64_t
due(const struct core *c, const struct destination *d)
{
	int64_t at = d->row.breaker.next_probe_at;

	/* A probe time more than BREAKER_SANE_MS ahead of the wall clock shows
	 * that the clock was set back; treat it as now. */
	if (at > c->wall_ms && breaker_next(&d->row.breaker, c->wall_ms) == 0)
		at = c->wall_ms;
	at += c->mono_ms - c->wall_ms;
	if (at < d->beat_after_ms)
		at = d->beat_after_ms;
	return (at < d->parked_until_ms ? d->parked_until_ms : at);
}

/* Returns true if the carrier does not reach ${d}. */
static bool
closed_way(const struct core *c, const struct destination *d)
{
	const struct carrier_remote *remote = &c->o.remote;

	return (remote->reaches == NULL ||
		!remote->reaches(remote->arg, d->row.name));
}

static void
next_by(struct core *c, int64_t at)
{

	if (at < c->mono_ms)
		at = c->mono_ms;
	if (c->heartbeats.next_ms == 0 || at < c->heartbeats.next_ms)
		c->heartbeats.next_ms = at;
}

void
core_heartbeat_review(struct core *c, const struct destination *d)
{

	if (wants(d) && !core_destination_paused(c, d))
		next_by(c, due(c, d));
}

/* Postpones the next heartbeat to ${d}, because one came back with a pause of
 * ${park_ms} (the peer asked for it, or this server itself failed), or because
 * the carrier does not reach ${d} (${park_ms} is 0).  This is not a failure of
 * the peer, so the breaker does not count it.  The wait is at first the
 * breaker's interval, then doubles each time, but is at least breaker_first_ms
 * and at most breaker_most_ms.  If ${park_ms} is longer, the heartbeat waits
 * for ${park_ms} instead.  Messages to ${d} wait for ${park_ms} only. */
static void
put_off(struct core *c, struct destination *d, int64_t park_ms)
{
	const struct timing *t = c->o.timing;

	d->beat_wait_ms = d->beat_wait_ms == 0 ? d->row.breaker.interval_ms
					       : d->beat_wait_ms * 2;
	if (d->beat_wait_ms < t->breaker_first_ms)
		d->beat_wait_ms = t->breaker_first_ms;
	if (d->beat_wait_ms > t->breaker_most_ms)
		d->beat_wait_ms = t->breaker_most_ms;
	d->beat_after_ms =
	    c->mono_ms +
	    (park_ms > d->beat_wait_ms ? park_ms : d->beat_wait_ms);
}

static void
back(struct core *c, struct core_job *job)
{
	struct parcel_job *p = CONTAINER_OF(job, struct parcel_job, job);
	struct destination *d = p->to;

	c->heartbeats.under_way--;
	/* A slot is free: check at once whether another heartbeat is due. */
	next_by(c, c->mono_ms);
	core_parcel_heard(c, p);
	if (p->parcel.park_ms > 0)
		put_off(c, d, p->parcel.park_ms);
	core_parcel_done(c, p, d->next_due);
}

static void
probe(struct core *c, struct destination *d, struct parcel_job *p)
{

	core_parcel_begin(c, d, p);
	c->heartbeats.under_way++;
	p->parcel.n = 0;
	p->parcel.left_ms = c->wall_ms;
	core_parcel_send(c, p, back);
}

/* Returns the destination whose heartbeat has been due for longest, so that
 * each gets its turn however many there are; NULL if none is due.  Postpones
 * due heartbeats to destinations that the carrier does not reach.  Also makes
 * sure that the next scan (heartbeats.next_ms) comes at the latest when the
 * earliest heartbeat that is not due yet becomes due. */
static struct destination *
longest_due(struct core *c)
{
	struct destination *d, *ret = NULL;
	size_t pos = 0;
	int64_t at;

	while ((d = htab_next(c->destinations.by_id, &pos)) != NULL) {
		if (!wants(d) || core_destination_paused(c, d))
			continue;
		at = due(c, d);
		if (at <= c->mono_ms && closed_way(c, d)) {
			put_off(c, d, 0);
			at = due(c, d);
		}
		if (at > c->mono_ms)
			next_by(c, at);
		else if (ret == NULL || at < due(c, ret))
			ret = d;
	}
	return (ret);
}

void
core_heartbeat(struct core *c)
{
	struct parcel_job *p;
	struct destination *d;

	if (c->heartbeats.next_ms == 0 || c->mono_ms < c->heartbeats.next_ms)
		return;
	c->heartbeats.next_ms = 0;
	if (c->closed || c->reclaim.all) {
		c->heartbeats.next_ms =
		    c->mono_ms + c->o.timing->relay_pause_ms;
		return;
	}
	/* If all slots are taken, the next heartbeat that comes back continues
	 * this. */
	while (c->heartbeats.under_way < CORE_HEARTBEATS &&
	       (d = longest_due(c)) != NULL) {
		if ((p = core_parcel_idle(c)) == NULL) {
			next_by(c, c->mono_ms + c->o.timing->relay_pause_ms);
			return;
		}
		probe(c, d, p);
	}
}
