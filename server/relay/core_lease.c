/* SPDX-License-Identifier: MIT */
/*
 * Renews the leases of parcels while a parcel is sent, or while its answers
 * cannot be stored, but not without end (CORE_RENEW_LEASES).  One unit renews
 * all leases that are due; only one such unit is with the writer at a time.
 *
 * A parcel may come back, be settled and be claimed anew while a renewal is
 * with the writer.  So each claim has a number: the result of a renewal counts
 * for a parcel only if the parcel still has the claim for which the renewal was
 * submitted.  In the database the lane's token ensures the same.
 */
#include "log/log.h"
#include "relay/core_internal.h"

int64_t
core_lease_ms(const struct core *c)
{

	return (c->o.lease_ms != 0 ? c->o.lease_ms : CORE_LEASE_MS);
}

void
core_lease_begin(struct core *c, struct parcel_job *p)
{
	const struct parcel_item *item;
	size_t i;

	p->lease.n = 0;
	for (i = 0; i < p->parcel.n; i++) {
		item = &p->parcel.items[i];
		/* The items of a lane are adjacent. */
		if (i > 0 && item[-1].row.lane_id == item->row.lane_id)
			continue;
		p->lease.lanes[p->lease.n++] =
		    (struct lane_lease){item->row.lane_id, item->lane_token};
	}
	p->lease.number = ++c->parcels.claims;
	p->lease.lost = false;
	p->lease.wanted = true;
	p->lease.claimed_ms = c->mono_ms;
	p->lease.renew_ms = c->mono_ms + core_lease_ms(c) / CORE_RENEW_PARTS;
}

/* Returns true if the leases of ${p} must be renewed now or later. */
static bool
is_renewable(const struct core *c, const struct parcel_job *p)
{

	return (p->lease.wanted && p->lease.n > 0 &&
		p->lease.renew_ms <
		    p->lease.claimed_ms + CORE_RENEW_LEASES * core_lease_ms(c));
}

/* ---- what comes back ---- */

/* Keeps the leases of ${p} that are not lost, and logs the lost ones. */
static void
drop_lost(struct parcel_job *p, const struct renew_lease *leases, size_t n)
{
	size_t i, lost;

	for (i = p->lease.n = lost = 0; i < n; i++)
		if (leases[i].lost)
			lost++;
		else
			p->lease.lanes[p->lease.n++] = (struct lane_lease){
			    leases[i].lane_id, leases[i].token};
	if (lost == 0)
		return;
	p->lease.lost = true;
	log_event(LOG_EV_RELAY_LOST, "destination=%s lanes=%zu of=%zu",
	    p->parcel.name, lost, n);
}

/* The writer refused the unit, or the unit failed: makes core_renew() submit
 * nothing for relay_pause_ms or, if the writer is closed, never again.  The
 * pause of core_pause() does not hold up renewals, because a parcel whose
 * answers wait for the writer needs its leases meanwhile. */
static void
put_off(struct core *c, enum rc rc)
{
	struct err err = ERR_INIT;

	c->closed = c->closed || rc == RC_CLOSED;
	c->renewal.after_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	if (c->closed)
		return;
	(void)err_set(&err, rc, "renewing put off: %s", rc_text(rc));
	core_failed(c, &err);
}

static void
renew_back(struct core *c, struct core_job *job)
{
	const struct renew_lease *leases = c->renewal.leases;
	const struct renewed *r;
	enum rc rc = c->renewal.unit.unit.rc;
	size_t i;

	(void)job;
	c->renewal.under_way = false;
	if (rc != RC_OK)
		put_off(c, rc);
	for (i = 0; rc == RC_OK && i < c->renewal.nparcels; i++) {
		r = &c->renewal.parcels[i];
		/* A parcel that was settled meanwhile has no lease. */
		if (r->parcel->lease.number == r->number &&
		    r->parcel->lease.wanted) {
			drop_lost(r->parcel, leases, r->n);
			r->parcel->lease.renew_ms =
			    c->renewal.asked_ms +
			    core_lease_ms(c) / CORE_RENEW_PARTS;
		}
		leases += r->n;
	}
}

/* Thread: sync or writer. */
static void
renew_finished(struct unit *base)
{
	struct renew_unit *u = CONTAINER_OF(base, struct renew_unit, unit);
	struct core *c = u->arg;

	c->o.back(c->o.arg, &c->renewal.job);
}

/* ---- asking ---- */

static void
add(struct core *c, struct parcel_job *p)
{
	size_t i;

	for (i = 0; i < p->lease.n; i++)
		c->renewal.leases[c->renewal.unit.n++] = (struct renew_lease){
		    p->lease.lanes[i].lane_id, p->lease.lanes[i].token, false};
	c->renewal.parcels[c->renewal.nparcels++] =
	    (struct renewed){p, p->lease.number, p->lease.n};
}

static void
submit(struct core *c)
{
	enum rc rc;

	c->renewal.unit.lease_ms = core_lease_ms(c);
	c->renewal.unit.unit.finish = renew_finished;
	c->renewal.unit.arg = c;
	c->renewal.job.back = renew_back;
	c->renewal.asked_ms = c->mono_ms;
	rc = c->o.submit(c->o.arg, &c->renewal.unit.unit);
	c->renewal.under_way = rc == RC_OK;
	if (rc != RC_OK)
		put_off(c, rc);
}

int64_t
core_renew(struct core *c)
{
	struct parcel_job *p;
	int64_t next = 0;
	size_t i;

	if (c->renewal.under_way || c->closed)
		return (0);
	if (c->mono_ms < c->renewal.after_ms)
		return (c->renewal.after_ms);
	renew_unit_init(&c->renewal.unit);
	c->renewal.unit.leases = c->renewal.leases;
	c->renewal.unit.n = c->renewal.nparcels = 0;
	for (i = 0; i < c->parcels.used; i++) {
		p = &c->parcels.all[i];
		if (!is_renewable(c, p))
			continue;
		if (p->lease.renew_ms <= c->mono_ms)
			add(c, p);
		else if (next == 0 || p->lease.renew_ms < next)
			next = p->lease.renew_ms;
	}
	if (c->renewal.nparcels > 0)
		submit(c);
	if (c->renewal.nparcels > 0)
		return (c->renewal.under_way ? 0 : c->renewal.after_ms);
	return (next);
}
