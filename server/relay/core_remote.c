/* SPDX-License-Identifier: MIT */
/*
 * Other servers: claim, carry, settle, for each destination as far as its
 * breaker, its window, its rate and its pauses let.
 *
 * A destination is runnable while it may have work and may be sent to now,
 * parked while it waits for a time, idle otherwise.  review() says which, after
 * all that may change it; so thousands of dead ones cost nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "relay/core_internal.h"

#define TIMEOUT_MS 20000

/* ---- places ---- */

static bool
paused(const struct core *c, const struct destination *d)
{

	return (c->all_paused || d->row.paused_at != 0);
}

/* What the rate allows now, at least one message when it is ever one. */
static void
refill(struct core *c, struct destination *d)
{
	const double rate = (double)d->row.per_second;
	double more;

	if (rate <= 0)
		return;
	more = (double)(c->mono_ms - d->tokens_at) * rate / 1000.0;
	d->tokens += more > 0 ? more : 0;
	/* A second's worth at most, so that a pause saves nothing up. */
	if (d->tokens > rate)
		d->tokens = rate;
	d->tokens_at = c->mono_ms;
}

/* When ${d} may be sent something: 0 now, -1 when something comes back or is
 * said, else monotonic time. */
static int64_t
may_send_at(struct core *c, struct destination *d)
{
	int64_t at;

	if (paused(c, d) || d->claiming ||
	    d->in_flight >= breaker_window(&d->row.breaker))
		return (-1);
	if (!d->may_work) {
		if (d->next_due == 0)
			return (-1);
		if (d->next_due > c->wall_ms &&
		    d->next_due <= c->wall_ms + BREAKER_SANE_MS)
			return (c->mono_ms + d->next_due - c->wall_ms);
	}
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

/* Whether ${d} may well leave the next parcel without an answer. */
static bool
doubtful(const struct destination *d)
{
	const struct breaker *b = &d->row.breaker;

	return (b->state != BREAKER_CLOSED || b->failures > 0 ||
		b->last_success_at == 0);
}

static struct destination_queue *
queue_of(struct core *c, const struct destination *d)
{

	return (d->doubtful ? &c->doubtful : &c->runnable);
}

/* Puts ${d} where it belongs now. */
static void
review(struct core *c, struct destination *d)
{
	int64_t at = may_send_at(c, d);
	bool stays =
	    d->place == PLACE_RUNNABLE && at == 0 && d->doubtful == doubtful(d);

	if (d->place == PLACE_RUNNABLE && !stays)
		TAILQ_REMOVE(queue_of(c, d), d, entry);
	if (at == 0 && !stays) {
		d->doubtful = doubtful(d);
		TAILQ_INSERT_TAIL(queue_of(c, d), d, entry);
	}
	d->place = at == 0  ? PLACE_RUNNABLE
		   : at < 0 ? PLACE_IDLE
			    : PLACE_PARKED;
	d->until_ms = at;
	if (d->place == PLACE_PARKED &&
	    (c->next_parked_ms == 0 || at < c->next_parked_ms))
		c->next_parked_ms = at;
}

/* Those whose time has come; the first of the others. */
static void
unpark(struct core *c)
{
	struct destination *d;
	size_t pos = 0;

	if (c->next_parked_ms == 0 || c->mono_ms < c->next_parked_ms)
		return;
	c->next_parked_ms = 0;
	while ((d = htab_next(c->destinations, &pos)) != NULL)
		if (d->place == PLACE_PARKED)
			review(c, d);
}

/* ---- what is known of them ---- */

static struct destination *
find(struct core *c, int64_t id)
{

	return (htab_find(c->destinations, &id));
}

static enum rc
take_row(void *arg, const struct store_destination_row *row, struct err *err)
{
	struct core *c = arg;
	struct destination *d = find(c, row->destination_id);

	if (row->destination_id == DESTINATION_ALL)
		c->all_paused = row->paused_at != 0;
	if (row->destination_id == DESTINATION_LOCAL)
		c->local_paused = row->paused_at != 0;
	if (row->destination_id <= DESTINATION_LOCAL)
		return (RC_OK);
	if (d != NULL) {
		/* The breaker is ours: memory is newer than the row. */
		d->row.paused_at = row->paused_at;
		d->row.per_second = row->per_second;
		return (RC_OK);
	}
	if ((d = mem_zalloc(1, sizeof(*d))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "relay: destination"));
	d->row = *row;
	d->core = c;
	d->may_work = true; /* until a claim finds nothing */
	d->tokens_at = c->mono_ms;
	if (htab_set(c->destinations, &d->row.destination_id, d) != RC_OK) {
		mem_free(d);
		return (err_set(err, RC_NO_MEMORY, "relay: destination"));
	}
	return (RC_OK);
}

static void
review_all(struct core *c)
{
	struct destination *d;
	size_t pos = 0;

	while ((d = htab_next(c->destinations, &pos)) != NULL)
		review(c, d);
}

enum rc
core_read_destination(struct core *c, int64_t id, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = store_destination_by_id(c->o.db, id, &row, err);
	return (rc == RC_OK ? take_row(c, &row, err) : rc);
}

struct page {
	struct core *core;
	int64_t last;
	int n;
};

static enum rc
take_page(void *arg, const struct store_destination_row *row, struct err *err)
{
	struct page *page = arg;

	page->last = row->destination_id;
	page->n++;
	return (take_row(page->core, row, err));
}

enum rc
core_read_destinations(struct core *c, struct err *err)
{
	struct page page = {c, -1, 0};
	enum rc rc;

	do {
		page.n = 0;
		rc = store_destinations_after(
		    c->o.db, page.last, 500, take_page, &page, err);
	} while (rc == RC_OK && page.n == 500);
	review_all(c);
	return (rc);
}

void
core_wake_destination(struct core *c, int64_t id)
{
	struct destination *d = find(c, id);
	struct err err = ERR_INIT;

	if (d == NULL) {
		/* If that fails the next safety poll finds it. */
		(void)(core_read_destination(c, id, &err) == RC_OK);
		d = find(c, id);
	}
	if (d == NULL)
		return;
	d->may_work = true;
	d->woken = true;
	review(c, d);
}

/* ---- the breaker's row ---- */

static void save(struct core *c, struct destination *d);

static void
save_back(struct core *c, struct core_job *job)
{
	struct destination *d =
	    (struct destination *)(void *)((char *)job -
					   offsetof(
					       struct destination, save_job));

	c->saves--;
	d->saving = false;
	if (d->changed)
		save(c, d);
}

/* Thread: sync or writer. */
static void
save_finished(struct unit *base)
{
	struct breaker_unit *u = CONTAINER_OF(base, struct breaker_unit, unit);
	struct destination *d = u->arg;

	d->core->o.back(d->core->o.arg, &d->save_job);
}

/* Stores the breaker.  What cannot be stored now is stored with its next
 * change: after a restart it would be learnt anew. */
static void
save(struct core *c, struct destination *d)
{

	d->changed = true;
	if (d->saving || c->closed)
		return;
	breaker_unit_init(&d->save);
	d->save.row = d->row;
	d->save.unit.finish = save_finished;
	d->save.arg = d;
	d->save_job.back = save_back;
	if (c->o.submit(c->o.arg, &d->save.unit) != RC_OK)
		return;
	d->saving = true;
	d->changed = false;
	c->saves++;
}

/* ---- settle ---- */

static struct parcel_job *
job_of(struct core_job *job)
{

	return (
	    (struct parcel_job *)(void *)((char *)job -
					  offsetof(struct parcel_job, job)));
}

/* ${p} is at its end; its destination may be sent the next. */
static void
parcel_done(struct core *c, struct parcel_job *p, int64_t next_due)
{
	struct destination *d = p->to;

	p->holding = false;
	d->in_flight--;
	c->under_way--;
	c->doubtful_under_way -= p->doubtful ? 1 : 0;
	if (next_due != 0 && next_due <= c->wall_ms)
		d->may_work = true;
	d->next_due = next_due;
	buf_fini(&p->parcel.text);
	p->next = c->idle_parcels;
	c->idle_parcels = p;
	review(c, d);
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
		parcel_done(c, p, p->settle.next_due);
		return;
	}
	if (rc == RC_CLOSED || !c->going) {
		/* The lease stands until the next start. */
		c->closed = c->closed || rc == RC_CLOSED;
		parcel_done(c, p, 0);
		return;
	}
	/* What was said must not be forgotten for want of room: the answers
	 * are kept until they are written, or the lease is lost. */
	core_pause(c, rc, "settling put off");
	p->holding = true;
	p->next = c->unsettled;
	c->unsettled = p;
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

	/* From here on it is the settling's. */
	p->holding = false;
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
	struct parcel_job *list = c->unsettled, *p;

	if (c->going && c->mono_ms < c->pause_until_ms)
		return;
	c->unsettled = NULL;
	while ((p = list) != NULL) {
		list = p->next;
		settle(c, p);
	}
}

/* ---- carry ---- */

/* What a carrier did not say in words it has said by the status. */
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

static void
carried_back(struct core *c, struct core_job *job)
{
	struct parcel_job *p = job_of(job);
	struct destination *d = p->to;
	const struct parcel *parcel = &p->parcel;
	enum breaker_state before = d->row.breaker.state;
	uint32_t random;
	bool changed;

	explain(&p->parcel);
	rnd_fill(c->o.rnd, &random, sizeof(random));
	if (parcel->reached) {
		changed = breaker_success(&d->row.breaker, c->wall_ms);
	} else {
		(void)snprintf(d->row.last_error, sizeof(d->row.last_error),
		    "%s", parcel->error);
		changed = breaker_failure(&d->row.breaker, parcel->left_ms,
		    c->wall_ms, parcel->retry_after_ms, random, c->o.timing);
	}
	if (changed)
		save(c, d);
	if (before != d->row.breaker.state)
		log_event(LOG_EV_RELAY_BREAKER,
		    "destination=%s state=%s why=%s", d->row.name,
		    breaker_state_name(d->row.breaker.state),
		    parcel->reached ? "answered" : parcel->error);
	settle(c, p);
}

/* Thread: the carrier's. */
static void
carried(struct parcel *parcel)
{
	struct parcel_job *p = (struct parcel_job *)(void *)parcel;

	p->core->o.back(p->core->o.arg, &p->job);
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
		parcel_done(c, p, d->next_due);
		d->may_work = true;
		review(c, d);
		return;
	}
	d->passes = p->claim.upto;
	/* The claim may not have seen what a wake-up has told of meanwhile. */
	d->may_work = d->woken || (p->claim.next_due != 0 &&
				      p->claim.next_due <= c->wall_ms);
	d->next_due = p->claim.next_due;
	if (p->parcel.n == 0) {
		parcel_done(c, p, p->claim.next_due);
		return;
	}
	core_hold(c, p);
	d->tokens -= (double)p->parcel.n;
	if (breaker_leave(&d->row.breaker, c->wall_ms))
		save(c, d);
	p->job.back = carried_back;
	p->parcel.finish = carried;
	p->parcel.reached = false;
	p->parcel.status = 0;
	p->parcel.retry_after_ms = 0;
	p->parcel.error[0] = '\0';
	review(c, d);
	c->o.remote.send(c->o.remote.arg, &p->parcel);
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

static enum rc
claim(struct core *c, struct destination *d)
{
	struct parcel_job *p = c->idle_parcels;
	enum rc rc;

	p->to = d;
	p->core = c;
	p->parcel.destination_id = d->row.destination_id;
	(void)snprintf(
	    p->parcel.name, sizeof(p->parcel.name), "%s", d->row.name);
	p->parcel.timeout_ms =
	    c->o.timeout_ms != 0 ? c->o.timeout_ms : TIMEOUT_MS;
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
	c->idle_parcels = p->next;
	c->under_way++;
	p->doubtful = d->doubtful;
	c->doubtful_under_way += p->doubtful ? 1 : 0;
	d->in_flight++;
	d->claiming = true;
	d->woken = false;
	review(c, d);
	return (RC_OK);
}

/* The one whose turn it is, or NULL. */
static struct destination *
first(struct core *c)
{
	struct destination *d = NULL;

	if (c->doubtful_under_way < CORE_PARCELS_DOUBTFUL)
		d = TAILQ_FIRST(&c->doubtful);
	return (d != NULL ? d : TAILQ_FIRST(&c->runnable));
}

void
core_send(struct core *c)
{
	struct destination *d;
	enum rc rc;

	/* Not before the leases of the last run have ended. */
	if (c->rescue_all)
		return;
	unpark(c);
	while (!c->closed && c->mono_ms >= c->pause_until_ms &&
	       c->idle_parcels != NULL && (d = first(c)) != NULL) {
		/* What was true when it got its place may not be so now. */
		review(c, d);
		if (d->place != PLACE_RUNNABLE || d != first(c))
			continue;
		/* Taken from the front, and put at the end when it may run
		 * again: round robin. */
		rc = claim(c, d);
		if (rc == RC_OK)
			continue;
		c->closed = rc == RC_CLOSED;
		c->pause_until_ms = c->mono_ms + c->o.timing->relay_pause_ms;
	}
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
	rc = take_row(c, row, err);
	d = find(c, row->destination_id);
	if (rc != RC_OK || d == NULL)
		return (rc);
	if (!d->may_work && !d->claiming)
		rc = store_lanes_ready_next(
		    c->o.db, d->row.destination_id, &d->next_due, err);
	if (d->next_due != 0 && d->next_due <= c->wall_ms)
		d->may_work = true;
	/* Also one that is new to us. */
	review(c, d);
	return (rc);
}

void
core_poll_remote(struct core *c)
{
	struct look look = {c, c->poll_destination, 0};
	struct err err = ERR_INIT;
	enum rc rc;

	rc = store_destinations_after(c->o.db, c->poll_destination,
	    CORE_POLL_DESTINATIONS, look_at, &look, &err);
	if (rc != RC_OK)
		core_failed(c, &err);
	c->poll_destination = look.n == CORE_POLL_DESTINATIONS ? look.last : -1;
	/* The wall clock may have been put back or forth. */
	c->next_parked_ms = c->next_parked_ms != 0 ? c->mono_ms : 0;
}
