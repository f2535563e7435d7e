/* SPDX-License-Identifier: MIT */
/*
 * The relay's thread: gathers wake-ups and answers, hands ready lanes to the
 * carrier in units, sleeps until something happens or the safety poll is due.
 *
 * Signalling: wake-ups and finished units are put into two lists under one
 * lock; the thread looks at both lists each time before it sleeps, under the
 * same lock, so that nothing is missed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "domain/release.h"
#include "relay/relay.h"
#include "relay/schedule.h"
#include "store/outbox.h"

/* Units that may be with the carrier at a time. */
#define UNITS 16
/* Lanes looked at by one safety poll; the next one goes on from there. */
#define POLL_LANES 1000
/* After a failed unit, how long until its lanes are tried again. */
#define PAUSE_MS 200
/* When the disk is full that is not worth a try, and two log lines, so soon. */
#define PAUSE_FULL_MS 2000

struct relay_unit {
	struct deliver_unit deliver; /* first */
	struct relay *relay;
	struct relay_unit *next;
};

struct relay {
	struct relay_options options;
	struct db *db;
	struct schedule *schedule;
	struct thr *thread;

	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct mbox_node *wakes;     /* struct wake, newest first */
	struct relay_unit *finished; /* newest first */
	bool stopping, stop_seen;
	bool release_finished;

	struct relay_unit units[UNITS];
	struct relay_unit *idle;
	struct release_unit release;
	bool release_busy;
	int64_t next_poll_ms; /* monotonic */
	int64_t poll_after;   /* the lane that the last poll ended with */
	int64_t pause_until_ms;
	bool closed; /* the carrier takes no more */
};

/* ---- what others call ---- */

void
relay_wake(struct relay *r, struct wake *wake)
{

	(void)pthread_mutex_lock(&r->lock);
	wake->node.next = r->wakes;
	r->wakes = &wake->node;
	(void)pthread_cond_signal(&r->cond);
	(void)pthread_mutex_unlock(&r->lock);
}

static void
unit_finished(struct deliver_unit *deliver)
{
	struct relay_unit *u = (struct relay_unit *)(void *)deliver;
	struct relay *r = u->relay;

	(void)pthread_mutex_lock(&r->lock);
	u->next = r->finished;
	r->finished = u;
	(void)pthread_cond_signal(&r->cond);
	(void)pthread_mutex_unlock(&r->lock);
}

static void
release_finished(struct release_unit *u)
{
	struct relay *r = u->arg;

	(void)pthread_mutex_lock(&r->lock);
	r->release_finished = true;
	(void)pthread_cond_signal(&r->cond);
	(void)pthread_mutex_unlock(&r->lock);
}

/* ---- the thread ---- */

static void
wake_lane(void *arg, int64_t lane_id)
{
	struct relay *r = arg;

	/* Without memory the next safety poll finds it. */
	(void)(schedule_wake(r->schedule, lane_id) == RC_OK);
}

static void
take_wakes(struct relay *r, struct mbox_node *list)
{
	struct wake *w;
	size_t i;

	while (list != NULL) {
		w = (struct wake *)(void *)((char *)list -
					    offsetof(struct wake, node));
		list = list->next;
		for (i = 0; i < w->nlanes; i++)
			wake_lane(r, w->lanes[i]);
		wake_free(w);
	}
}

static void
take_finished(struct relay *r, struct relay_unit *list)
{
	struct err err = ERR_INIT;
	struct relay_unit *u;
	bool failed;
	size_t i;

	while (list != NULL) {
		u = list;
		list = list->next;
		failed = u->deliver.unit.rc != RC_OK;
		if (failed && u->deliver.unit.rc == RC_CLOSED)
			r->closed = true;
		else if (failed) {
			(void)err_set(&err, u->deliver.unit.rc,
			    "delivery put off: %s",
			    rc_text(u->deliver.unit.rc));
			log_error(LOG_EV_RELAY_FAIL, &err, "lanes=%zu",
			    u->deliver.nlanes);
			r->pause_until_ms =
			    clk_mono_ms(r->options.clk) +
			    (u->deliver.unit.rc == RC_FULL ? PAUSE_FULL_MS
							   : PAUSE_MS);
		}
		for (i = 0; i < u->deliver.nlanes; i++)
			schedule_done(r->schedule, u->deliver.lanes[i],
			    failed || u->deliver.more[i]);
		u->next = r->idle;
		r->idle = u;
	}
}

/* Hands ready lanes to the carrier while there are idle units. */
static void
submit_ready(struct relay *r)
{
	struct relay_unit *u;
	size_t i;
	enum rc rc;

	while (
	    !r->closed && r->idle != NULL && schedule_ready(r->schedule) > 0) {
		u = r->idle;
		deliver_unit_init(&u->deliver);
		u->deliver.finish = unit_finished;
		u->deliver.nlanes =
		    schedule_take(r->schedule, u->deliver.lanes, DELIVER_LANES);
		r->idle = u->next;
		rc = r->options.carrier.submit(
		    r->options.carrier.arg, &u->deliver);
		if (rc == RC_OK)
			continue;
		for (i = 0; i < u->deliver.nlanes; i++)
			schedule_done(r->schedule, u->deliver.lanes[i], true);
		u->next = r->idle;
		r->idle = u;
		r->closed = rc == RC_CLOSED;
		r->pause_until_ms = clk_mono_ms(r->options.clk) + PAUSE_MS;
		return;
	}
}

/* Asks the store for lanes with work, and releases what is scheduled. */
static void
poll_store(struct relay *r)
{
	struct err err = ERR_INIT;
	int64_t now, due;
	enum rc rc;

	now = clk_wall_ms(r->options.clk);
	rc = store_lanes_owing(r->db, now, r->poll_after, POLL_LANES, wake_lane,
	    r, &r->poll_after, &err);
	if (rc == RC_OK)
		rc = store_outbox_next_due(r->db, now, &due, &err);
	if (rc != RC_OK) {
		log_error(LOG_EV_RELAY_FAIL, &err, "poll=1");
		return;
	}
	if (due != 0 && due <= now && !r->release_busy && !r->closed) {
		release_unit_init(&r->release);
		r->release.finish = release_finished;
		r->release.arg = r;
		r->release_busy =
		    writer_submit(r->options.writer, &r->release.unit) == RC_OK;
	}
}

/* Sleeps until ${until_ms} (monotonic) or a signal, and takes what came. */
static bool
gather(struct relay *r, int64_t until_ms)
{
	struct relay_unit *finished;
	struct mbox_node *wakes;
	struct timespec ts;
	bool stopping;

	ts.tv_sec = (time_t)(until_ms / 1000);
	ts.tv_nsec = (long)(until_ms % 1000) * 1000000;
	(void)pthread_mutex_lock(&r->lock);
	while (r->wakes == NULL && r->finished == NULL &&
	       !r->release_finished && (!r->stopping || r->stop_seen))
		if (pthread_cond_timedwait(&r->cond, &r->lock, &ts) != 0)
			break;
	wakes = r->wakes;
	finished = r->finished;
	stopping = r->stopping;
	r->stop_seen = stopping;
	if (r->release_finished) {
		r->release_busy = false;
		/* There may be more that is due: looked for at once. */
		if (r->release.unit.rc == RC_OK &&
		    r->release.released == RELEASE_ROWS)
			r->next_poll_ms = 0;
	}
	r->release_finished = false;
	r->wakes = NULL;
	r->finished = NULL;
	(void)pthread_mutex_unlock(&r->lock);
	take_wakes(r, wakes);
	take_finished(r, finished);
	return (!stopping);
}

static void
loop(void *arg)
{
	struct relay *r = arg;
	int64_t now, until;
	bool going;

	until = 0;
	for (;;) {
		going = gather(r, until);
		if (!going && schedule_busy(r->schedule) == 0 &&
		    !r->release_busy)
			return;
		now = clk_mono_ms(r->options.clk);
		until = now + PAUSE_MS;
		if (!going)
			continue;
		if (now >= r->next_poll_ms) {
			poll_store(r);
			/* More lanes than one look: after a restart they are
			 * many, and no wake will name them. */
			r->next_poll_ms =
			    now + (r->poll_after != 0 ? PAUSE_MS
						      : r->options.poll_ms);
		}
		until = r->next_poll_ms;
		if (now >= r->pause_until_ms)
			submit_ready(r);
		/* Also when that has just been refused. */
		if (now < r->pause_until_ms && r->pause_until_ms < until)
			until = r->pause_until_ms;
	}
}

/* ---- life ---- */

enum rc
relay_new(
    const struct relay_options *options, struct relay **ret, struct err *err)
{
	struct db_options o;
	pthread_condattr_t attr;
	struct relay *r;
	enum rc rc;
	size_t i;

	r = mem_zalloc(1, sizeof(*r));
	if (r == NULL)
		return (err_set(err, RC_NO_MEMORY, "relay"));
	r->options = *options;
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&r->cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	for (i = 0; i < UNITS; i++) {
		r->units[i].relay = r;
		r->units[i].next = r->idle;
		r->idle = &r->units[i];
	}
	r->schedule = schedule_new();
	o = *options->db;
	o.mode = DB_READER;
	rc = r->schedule == NULL ? err_set(err, RC_NO_MEMORY, "relay")
				 : db_open(&o, &r->db, err);
	if (rc != RC_OK) {
		relay_free(r);
		return (rc);
	}
	*ret = r;
	return (RC_OK);
}

void
relay_free(struct relay *r)
{

	if (r == NULL)
		return;
	take_wakes(r, r->wakes);
	schedule_free(r->schedule);
	db_close(r->db);
	(void)pthread_cond_destroy(&r->cond);
	(void)pthread_mutex_destroy(&r->lock);
	mem_free(r);
}

enum rc
relay_start(struct relay *r, struct err *err)
{
	int64_t pending;
	enum rc rc;

	rc = store_outbox_pending_count(r->db, &pending, err);
	if (rc != RC_OK)
		return (rc);
	if (pending > 0)
		log_event(
		    LOG_EV_RELAY_RECOVER, "pending=%lld", (long long)pending);
	return (thr_start(THR_RELAY, 0, loop, r, &r->thread, err));
}

void
relay_stop(struct relay *r)
{

	(void)pthread_mutex_lock(&r->lock);
	r->stopping = true;
	(void)pthread_cond_signal(&r->cond);
	(void)pthread_mutex_unlock(&r->lock);
	thr_join(&r->thread);
}
