/* SPDX-License-Identifier: MIT */
/*
 * The alert thread.  It sleeps for alert_interval_ms, makes a reader's thread
 * evaluate the alerts, waits until the evaluation has ended, and begins again.
 * If the readers have no room, it sleeps for another interval.  So there is one
 * evaluation at a time, and none when the struct alert_thread is freed.
 */
#include <stdbool.h>
#include <time.h>

#include "admin/admin_internal.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "log/log.h"

struct alert_thread {
	struct read_job job; /* first */
	struct admin *admin;
	struct thr *thread;
	struct stats_snapshot snapshot; /* of the current evaluation */
	struct peer_changes changes;    /* of the current evaluation */

	struct lock lock;
	pthread_cond_t cond;
	bool stopping;
	bool evaluating; /* a reader has the job */
};

/* Thread: reader. */
static void
run_evaluation(struct read_job *job, struct db *db, struct err *err)
{
	struct alert_thread *t = CONTAINER_OF(job, struct alert_thread, job);
	struct admin *admin = t->admin;
	struct metrics *m = admin->o.metrics;
	struct alerts_input input = {.clocks = {0, "", 0}};

	if (db == NULL ||
	    stats_snapshot_take(admin, db, &t->snapshot, err) != RC_OK ||
	    peer_changes_read(
		db, clk_wall_ms(admin->o.clk), &t->changes, err) != RC_OK) {
		log_error(LOG_EV_STORE_FAIL, err, "look=%s", "alerts");
	} else {
		input.gauges = &t->snapshot.gauges;
		input.changes = &t->changes;
		if (admin->o.clocks_off != NULL)
			input.clocks.n =
			    admin->o.clocks_off(admin->o.clocks_arg,
				input.clocks.domain, &input.clocks.ahead_ms);
		input.relay_age_ms = t->snapshot.relay_age_ms;
		input.log_bytes = t->snapshot.log_bytes;
		input.delivered = metrics_get(m, METRIC_DELIVERY_SECONDS);
		input.delivered_us = metrics_sum(m, METRIC_DELIVERY_SECONDS);
		alerts_evaluate(admin->alerts, &input);
	}
	lock_take(&t->lock);
	t->evaluating = false;
	(void)pthread_cond_signal(&t->cond);
	lock_drop(&t->lock);
}

/* Sleeps until ${until_ms} (monotonic) or until the thread must stop.  Under
 * the lock. */
static void
sleep_until(struct alert_thread *t, int64_t until_ms)
{
	struct timespec ts = {.tv_sec = (time_t)(until_ms / 1000),
	    .tv_nsec = (long)(until_ms % 1000) * 1000000};

	while (!t->stopping)
		if (!lock_wait_until(&t->lock, &t->cond, &ts))
			break;
}

static void
run_alert_thread(void *arg)
{
	struct alert_thread *t = arg;

	lock_take(&t->lock);
	while (!t->stopping) {
		/* The condition variable waits on the system's monotonic clock.
		 * So the deadline comes from clk_system(), not from the clock
		 * of the options, which a test may replace. */
		sleep_until(t,
		    clk_mono_ms(clk_system()) + t->admin->o.alert_interval_ms);
		if (t->stopping)
			break;
		t->evaluating = true;
		lock_drop(&t->lock);
		/* If the readers have no room, wait for the next interval. */
		if (readers_submit(t->admin->o.readers, &t->job) != RC_OK) {
			lock_take(&t->lock);
			t->evaluating = false;
			continue;
		}
		lock_take(&t->lock);
		while (t->evaluating)
			lock_wait(&t->lock, &t->cond);
	}
	lock_drop(&t->lock);
}

static void
alert_thread_free(struct alert_thread *t)
{

	(void)pthread_cond_destroy(&t->cond);
	lock_fini(&t->lock);
	mem_free(t);
}

enum rc
alert_thread_start(
    struct admin *admin, struct alert_thread **ret, struct err *err)
{
	struct alert_thread *t;
	enum rc rc;

	if ((t = mem_zalloc(1, sizeof(*t))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "alert thread"));
	t->job.run = run_evaluation;
	t->admin = admin;
	lock_init(&t->lock, LOCK_ALERT_THREAD);
	lock_cond_init(&t->cond);
	rc = thr_start(THR_ALERTS, 0, run_alert_thread, t, &t->thread, err);
	if (rc != RC_OK) {
		alert_thread_free(t);
		return (rc);
	}
	*ret = t;
	return (RC_OK);
}

void
alert_thread_stop(struct alert_thread **thread)
{
	struct alert_thread *t = *thread;

	if (t == NULL)
		return;
	lock_take(&t->lock);
	t->stopping = true;
	(void)pthread_cond_signal(&t->cond);
	lock_drop(&t->lock);
	thr_join(&t->thread);
	alert_thread_free(t);
	*thread = NULL;
}
