/* SPDX-License-Identifier: MIT */
/*
 * Heartbeats: probes of destinations that were not reached and for which
 * nothing waits.  Without them a breaker that is open would stay so until
 * somebody writes to that server.
 *
 * A heartbeat is a parcel without items that is neither claimed nor settled.
 * It leaves when the breaker lets a probe leave, and its answer counts as that
 * of any parcel.  At most CORE_HEARTBEATS are under way, so that many servers
 * that are gone for ever take no place of messages; the one that has been due
 * for longest is next.
 *
 * A destination that waits for its heartbeat is idle (destination_state.h): one
 * time stands for all of them, and they are looked through when it has come.
 *
 * No heartbeat leaves for a destination that the carrier does not reach
 * (policy, an operator's block, federation off): it would fail on this server,
 * and the breaker, the log and the alerts would count that as silence of the
 * peer.  Its turn is put off as if it had asked for a pause, so that heartbeats
 * begin again by themselves after an unblock.
 */
#include <stdio.h>

#include "relay/core_internal.h"

/* Whether only a heartbeat can tell that ${d} is there again. */
static bool
wants(const struct destination *d)
{

	return (d->row.breaker.state != BREAKER_CLOSED &&
		d->state == DESTINATION_IDLE && !d->may_work &&
		d->next_due == 0 && !d->claiming && d->in_flight == 0);
}

/* Since when it may leave, or when, in monotonic time. */
static int64_t
due(const struct core *c, const struct destination *d)
{
	int64_t at = d->row.breaker.next_probe_at;

	/* A time that is not ours counts as now. */
	if (at > c->wall_ms && breaker_next(&d->row.breaker, c->wall_ms) == 0)
		at = c->wall_ms;
	at += c->mono_ms - c->wall_ms;
	if (at < d->beat_after_ms)
		at = d->beat_after_ms;
	return (at < d->parked_until_ms ? d->parked_until_ms : at);
}

/* Whether this server is set not to send ${d} anything. */
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

/* A heartbeat to ${d} was parked for ${park_ms}, or its way is closed (0):
 * nobody is to blame and the breaker is not told, so the next ones wait as
 * those do that fail.  Messages do not. */
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
	/* Others may have waited for its place. */
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

/* The one that has been due for longest, so that all have their turn however
 * many there are; NULL: none is due, and it is known when the next one is.
 * Those that are due and whose way is closed are put off. */
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
	/* Each that comes back makes the next one look again. */
	while (c->heartbeats.under_way < CORE_HEARTBEATS &&
	       (d = longest_due(c)) != NULL) {
		if ((p = core_parcel_idle(c)) == NULL) {
			next_by(c, c->mono_ms + c->o.timing->relay_pause_ms);
			return;
		}
		probe(c, d, p);
	}
}
