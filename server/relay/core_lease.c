/* SPDX-License-Identifier: MIT */
/*
 * Leases of parcels that are under way, or whose answers the store would not
 * take yet, are renewed, all that are due in one unit, and one unit at a time.
 *
 * A parcel may come back, be settled and be claimed anew while its renewal is
 * with the writer: what comes back is compared by the number of its claim, and
 * in the store by the lane's token.
 */
#include "base/log.h"
#include "relay/core_internal.h"

int64_t
core_lease_ms(const struct core *c)
{

	return (c->o.lease_ms != 0 ? c->o.lease_ms : CORE_LEASE_MS);
}

void
core_hold(struct core *c, struct parcel_job *p)
{
	const struct parcel_item *item;
	size_t i;

	p->nheld = 0;
	for (i = 0; i < p->parcel.n; i++) {
		item = &p->parcel.items[i];
		/* The items of a lane stand together. */
		if (i > 0 && item[-1].row.lane_id == item->row.lane_id)
			continue;
		p->held[p->nheld++] =
		    (struct contended){item->row.lane_id, item->lane_token};
	}
	p->number = ++c->claims;
	p->lost = false;
	p->holding = true;
	p->claimed_ms = c->mono_ms;
	p->renew_ms = c->mono_ms + core_lease_ms(c) / CORE_RENEW_PARTS;
}

/* Whether leases of ${p} are to be renewed, now or later. */
static bool
worth_it(const struct core *c, const struct parcel_job *p)
{

	return (
	    p->holding && p->nheld > 0 &&
	    p->renew_ms < p->claimed_ms + CORE_RENEW_LEASES * core_lease_ms(c));
}

/* ---- what comes back ---- */

/* Keeps those of ${p} that are not lost. */
static void
drop_lost(struct parcel_job *p, const struct renew_lease *leases, size_t n)
{
	size_t i, lost;

	for (i = p->nheld = lost = 0; i < n; i++)
		if (leases[i].lost)
			lost++;
		else
			p->held[p->nheld++] = (struct contended){
			    leases[i].lane_id, leases[i].token};
	if (lost == 0)
		return;
	p->lost = true;
	log_event(LOG_EV_RELAY_LOST, "destination=%s lanes=%zu of=%zu",
	    p->parcel.name, lost, n);
}

/* Not taken, or not done: again soon.  Its pause is its own: who waits to write
 * an answer down must not keep us from holding its lease. */
static void
put_off(struct core *c, enum rc rc)
{
	struct err err = ERR_INIT;

	c->closed = c->closed || rc == RC_CLOSED;
	c->renew_after_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	if (c->closed)
		return;
	(void)err_set(&err, rc, "renewing put off: %s", rc_text(rc));
	core_failed(c, &err);
}

static void
renew_back(struct core *c, struct core_job *job)
{
	const struct renew_lease *leases = c->renewals;
	const struct renewed *r;
	enum rc rc = c->renew.unit.rc;
	size_t i;

	(void)job;
	c->renewing = false;
	if (rc != RC_OK)
		put_off(c, rc);
	for (i = 0; rc == RC_OK && i < c->nrenewed; i++) {
		r = &c->renewed[i];
		/* Settled meanwhile: there is nothing to hold. */
		if (r->parcel->number == r->number && r->parcel->holding) {
			drop_lost(r->parcel, leases, r->n);
			r->parcel->renew_ms =
			    c->renew_asked_ms +
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

	c->o.back(c->o.arg, &c->renew_job);
}

/* ---- asking ---- */

static void
add(struct core *c, struct parcel_job *p)
{
	size_t i;

	for (i = 0; i < p->nheld; i++)
		c->renewals[c->renew.n++] = (struct renew_lease){
		    p->held[i].lane_id, p->held[i].token, false};
	c->renewed[c->nrenewed++] = (struct renewed){p, p->number, p->nheld};
}

static void
submit(struct core *c)
{
	enum rc rc;

	c->renew.lease_ms = core_lease_ms(c);
	c->renew.unit.finish = renew_finished;
	c->renew.arg = c;
	c->renew_job.back = renew_back;
	c->renew_asked_ms = c->mono_ms;
	rc = c->o.submit(c->o.arg, &c->renew.unit);
	c->renewing = rc == RC_OK;
	if (rc != RC_OK)
		put_off(c, rc);
}

int64_t
core_renew(struct core *c)
{
	struct parcel_job *p;
	int64_t next = 0;
	size_t i;

	if (c->renewing || c->closed)
		return (0);
	if (c->mono_ms < c->renew_after_ms)
		return (c->renew_after_ms);
	renew_unit_init(&c->renew);
	c->renew.leases = c->renewals;
	c->renew.n = c->nrenewed = 0;
	for (i = 0; i < CORE_PARCELS; i++) {
		p = &c->parcels[i];
		if (!worth_it(c, p))
			continue;
		if (p->renew_ms <= c->mono_ms)
			add(c, p);
		else if (next == 0 || p->renew_ms < next)
			next = p->renew_ms;
	}
	if (c->nrenewed > 0)
		submit(c);
	if (c->nrenewed > 0)
		return (c->renewing ? 0 : c->renew_after_ms);
	return (next);
}
