/* SPDX-License-Identifier: MIT */
/*
 * Parcels to other servers: claim, carry, settle.
 *
 * Messages are claimed for one destination after the other, in round-robin
 * order, as far as the breakers, windows, rates and pauses of the destinations
 * allow (core_destination.c).  Doubtful destinations, which have never answered
 * or not since their last failure, have a queue of their own.  That queue goes
 * first while fewer than CORE_PARCELS_DOUBTFUL of its parcels are under way.
 */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "log/log.h"
#include "relay/core_internal.h"

#define TIMEOUT_MS 20000

/* ---- settle ---- */

static struct parcel_job *
job_of(struct core_job *job)
{

	return (CONTAINER_OF(job, struct parcel_job, job));
}

void
core_parcel_done(struct core *c, struct parcel_job *p, int64_t next_due)
{
	struct destination *d = p->to;

	p->lease.wanted = false;
	d->in_flight--;
	c->parcels.under_way--;
	c->parcels.doubtful_under_way -= p->doubtful ? 1 : 0;
	if (next_due != 0 && next_due <= c->wall_ms)
		d->may_work = true;
	d->next_due = next_due;
	buf_fini(&p->parcel.text);
	p->next = c->parcels.idle;
	c->parcels.idle = p;
	core_destination_review(c, d);
}

static void settle(struct core *c, struct parcel_job *p);

static void
settle_back(struct core *c, struct core_job *job)
{
	struct parcel_job *p = job_of(job);
	enum rc rc = p->settle.unit.rc;

	if (rc == RC_OK) {
		if (p->parcel.reached)
			log_event(LOG_EV_RELAY_TURN, "destination=%s rows=%zu",
			    p->parcel.name, p->parcel.n);
		core_parcel_done(c, p, p->settle.next_due);
		return;
	}
	if (rc == RC_CLOSED || !c->going) {
		/* The server is stopping and could not store the answers: drop
		 * them.  The leases stay until the next start ends them, or
		 * until they run out; then the messages are sent again. */
		c->closed = c->closed || rc == RC_CLOSED;
		core_parcel_done(c, p, 0);
		return;
	}
	/* Keep the answers and repeat the settling until it succeeds or the
	 * server stops, even if the disk is full: without the answers the
	 * messages would be sent again.  For a lane whose lease was lost
	 * meanwhile, the settling ignores the answers. */
	core_pause(c, rc, "settling put off");
	p->lease.wanted = true;
	p->next = c->parcels.unsettled;
	c->parcels.unsettled = p;
}

/* Thread: sync or writer. */
static void
settle_finished(struct unit *base)
{
	struct settle_unit *u = CONTAINER_OF(base, struct settle_unit, unit);
	struct parcel_job *p = u->arg;

	p->core->o.back(p->core->o.arg, &p->job);
}

static void
settle(struct core *c, struct parcel_job *p)
{
	uint32_t random;
	enum rc rc;

	/* The settling ends the lease, so it is not renewed any more. */
	p->lease.wanted = false;
	settle_unit_init(&p->settle);
	p->settle.parcel = &p->parcel;
	rnd_fill(c->o.rnd, &random, sizeof(random));
	p->settle.random = random;
	p->settle.unit.finish = settle_finished;
	p->settle.arg = p;
	p->job.back = settle_back;
	rc = c->o.submit(c->o.arg, &p->settle.unit);
	if (rc == RC_OK)
		return;
	p->settle.unit.rc = rc;
	settle_back(c, &p->job);
}

void
core_settle_again(struct core *c)
{
	struct parcel_job *list = c->parcels.unsettled, *p;

	if (c->going && c->mono_ms < c->pause_until_ms)
		return;
	c->parcels.unsettled = NULL;
	while ((p = list) != NULL) {
		list = p->next;
		settle(c, p);
	}
}

/* ---- carry ---- */

/* If the carrier gave no text, describes the failure by the status. */
static void
explain(struct parcel *p)
{

	if (p->reached || p->error[0] != '\0')
		return;
	if (p->status != 0)
		(void)snprintf(
		    p->error, sizeof(p->error), "HTTP %d", p->status);
	else
		(void)snprintf(p->error, sizeof(p->error), "no answer");
}

/* The destination asked for a pause.  It answers, so the breaker counts no
 * failure. */
static void
park(struct core *c, struct destination *d, const struct parcel *parcel)
{

	d->parked_until_ms = c->mono_ms + parcel->park_ms;
	/* No message waits behind a heartbeat: log nothing. */
	if (parcel->n == 0)
		return;
	log_event(LOG_EV_RELAY_PARK, "destination=%s ms=%lld why=%s",
	    d->row.name, (long long)parcel->park_ms, parcel->error);
}

static void
hear(struct core *c, struct destination *d, const struct parcel *parcel)
{
	enum breaker_state before = d->row.breaker.state;
	uint32_t random;
	bool changed;

	d->beat_wait_ms = d->beat_after_ms = 0;
	rnd_fill(c->o.rnd, &random, sizeof(random));
	if (parcel->reached && !parcel->broke) {
		changed =
		    breaker_success(&d->row.breaker, c->wall_ms) || d->mend;
		d->mend = false;
	} else {
		(void)snprintf(d->row.last_error, sizeof(d->row.last_error),
		    "%s", parcel->error);
		changed = breaker_failure(&d->row.breaker, parcel->left_ms,
		    c->wall_ms, parcel->retry_after_ms, random, c->o.timing);
	}
	if (changed)
		core_breaker_save(c, d);
	if (before != d->row.breaker.state)
		log_event(LOG_EV_RELAY_BREAKER,
		    "destination=%s state=%s why=%s", d->row.name,
		    breaker_state_name(d->row.breaker.state),
		    parcel->error[0] == '\0' ? "answered" : parcel->error);
}

void
core_parcel_heard(struct core *c, struct parcel_job *p)
{

	explain(&p->parcel);
	if (p->parcel.requests_most > 0)
		p->to->requests_most = p->parcel.requests_most;
	if (p->parcel.park_ms > 0)
		park(c, p->to, &p->parcel);
	else
		hear(c, p->to, &p->parcel);
}

static void
carried_back(struct core *c, struct core_job *job)
{
	struct parcel_job *p = job_of(job);

	core_parcel_heard(c, p);
	settle(c, p);
}

/* Thread: the carrier's. */
static void
carried(struct parcel *parcel)
{
	struct parcel_job *p = (struct parcel_job *)(void *)parcel;

	p->core->o.back(p->core->o.arg, &p->job);
}

void
core_parcel_send(struct core *c, struct parcel_job *p,
    void (*back)(struct core *c, struct core_job *job))
{

	if (breaker_leave(&p->to->row.breaker, c->wall_ms))
		core_breaker_save(c, p->to);
	p->job.back = back;
	p->parcel.finish = carried;
	p->parcel.reached = p->parcel.broke = false;
	p->parcel.status = 0;
	p->parcel.retry_after_ms = 0;
	p->parcel.park_ms = 0;
	p->parcel.requests_most = 0;
	p->parcel.error[0] = '\0';
	core_destination_review(c, p->to);
	c->o.remote.send(c->o.remote.arg, &p->parcel);
}

/* ---- claim ---- */

static void
claim_back(struct core *c, struct core_job *job)
{
	struct parcel_job *p = job_of(job);
	struct destination *d = p->to;
	enum rc rc = p->claim.unit.rc;

	d->claiming = false;
	if (rc != RC_OK) {
		c->closed = c->closed || rc == RC_CLOSED;
		if (rc != RC_CLOSED)
			core_pause(c, rc, "claim put off");
		core_parcel_done(c, p, d->next_due);
		d->may_work = true;
		core_destination_review(c, d);
		return;
	}
	d->passes = p->claim.upto;
	/* A wake-up may have arrived after the claim read the lanes. */
	d->may_work = d->woken || (p->claim.next_due != 0 &&
				      p->claim.next_due <= c->wall_ms);
	d->next_due = p->claim.next_due;
	if (p->parcel.n == 0) {
		core_parcel_done(c, p, p->claim.next_due);
		return;
	}
	core_lease_begin(c, p);
	d->tokens -= (double)p->parcel.n;
	core_parcel_send(c, p, carried_back);
}

/* Thread: sync or writer. */
static void
claim_finished(struct unit *base)
{
	struct claim_unit *u = CONTAINER_OF(base, struct claim_unit, unit);
	struct parcel_job *p = u->arg;

	p->core->o.back(p->core->o.arg, &p->job);
}

static size_t
most_of(const struct destination *d)
{
	int most = breaker_batch(&d->row.breaker, PARCEL_ITEMS);

	if (d->row.per_second > 0 && d->tokens < most)
		most = (int)d->tokens;
	return ((size_t)most);
}

struct parcel_job *
core_parcel_idle(struct core *c)
{

	if (c->parcels.idle != NULL || c->parcels.used == CORE_PARCELS)
		return (c->parcels.idle);
	return (&c->parcels.all[c->parcels.used]);
}

/* Addresses ${p} to ${d}. */
static void
address(struct core *c, struct destination *d, struct parcel_job *p)
{

	p->to = d;
	p->core = c;
	p->parcel.destination_id = d->row.destination_id;
	(void)snprintf(
	    p->parcel.name, sizeof(p->parcel.name), "%s", d->row.name);
	p->parcel.timeout_ms =
	    c->o.timeout_ms != 0 ? c->o.timeout_ms : TIMEOUT_MS;
}

/* Takes ${p} from the idle parcels.  ${doubtful}: it counts for
 * CORE_PARCELS_DOUBTFUL. */
static void
take(struct core *c, struct parcel_job *p, bool doubtful)
{

	if (p == c->parcels.idle)
		c->parcels.idle = p->next;
	else
		c->parcels.used++;
	c->parcels.under_way++;
	p->doubtful = doubtful;
	c->parcels.doubtful_under_way += p->doubtful ? 1 : 0;
	p->to->in_flight++;
}

void
core_parcel_begin(struct core *c, struct destination *d, struct parcel_job *p)
{

	address(c, d, p);
	/* Heartbeats have a limit of their own (CORE_HEARTBEATS). */
	take(c, p, false);
}

/* Submits a claim of ${p}, which core_parcel_idle() has returned, for ${d}. */
static enum rc
claim(struct core *c, struct destination *d, struct parcel_job *p)
{
	enum rc rc;

	address(c, d, p);
	claim_unit_init(&p->claim);
	p->claim.parcel = &p->parcel;
	p->claim.most = most_of(d);
	p->claim.priority = schedule_class(d->turn++);
	p->claim.lease_ms = core_lease_ms(c);
	p->claim.owner = c->o.owner;
	p->claim.from = d->passes;
	p->claim.unit.finish = claim_finished;
	p->claim.arg = p;
	p->job.back = claim_back;
	rc = c->o.submit(c->o.arg, &p->claim.unit);
	if (rc != RC_OK)
		return (rc);
	take(c, p, d->doubtful);
	core_destination_used(c, d);
	d->claiming = true;
	d->woken = false;
	core_destination_review(c, d);
	return (RC_OK);
}

/* Returns the next destination to claim for, or NULL if none is runnable or
 * only doubtful ones are and they must wait.  Doubtful ones go first while
 * fewer than CORE_PARCELS_DOUBTFUL parcels to doubtful destinations are under
 * way (heartbeats not counted); otherwise they wait. */
static struct destination *
first(struct core *c)
{
	struct destination *d = NULL;

	if (c->parcels.doubtful_under_way < CORE_PARCELS_DOUBTFUL)
		d = TAILQ_FIRST(&c->destinations.doubtful);
	return (d != NULL ? d : TAILQ_FIRST(&c->destinations.runnable));
}

void
core_send(struct core *c)
{
	struct parcel_job *p;
	struct destination *d;
	enum rc rc;

	/* Wait until the leases of the last run are ended. */
	if (c->reclaim.all)
		return;
	core_destinations_unpark(c);
	while (!c->closed && c->mono_ms >= c->pause_until_ms &&
	       (p = core_parcel_idle(c)) != NULL && (d = first(c)) != NULL) {
		/* It may have changed since it became runnable. */
		core_destination_review(c, d);
		if (d->state != DESTINATION_RUNNABLE || d != first(c))
			continue;
		/* The claim takes the destination out of the front of its
		 * queue; the destination is appended when it can run again.
		 * That makes the order round robin. */
		rc = claim(c, d, p);
		if (rc == RC_OK)
			continue;
		c->closed = rc == RC_CLOSED;
		c->pause_until_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	}
}
