/* SPDX-License-Identifier: MIT */
/*
 * The alert loop: a thread that has a reader look every minute, and waits for
 * it, so that there is one look at a time and none when it is freed.
 */
#include <stdbool.h>
#include <time.h>

#include "admin/admin_internal.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"

struct watch {
	struct read_job job; /* first */
	struct admin *admin;
	struct thr *thread;
	struct stats_snapshot snapshot; /* of the look that is under way */

	struct lock lock;
	pthread_cond_t cond;
	bool stopping;
	bool looking; /* a reader has the job */
};

/* Thread: reader. */
static void
run_look(struct read_job *job, struct db *db, struct err *err)
{
	struct watch *w = (struct watch *)(void *)job;
	struct admin *admin = w->admin;
	struct metrics *m = admin->o.metrics;
	struct alerts_look look;

	if (db == NULL ||
	    stats_snapshot_take(admin, db, &w->snapshot, err) != RC_OK) {
		log_error(LOG_EV_STORE_FAIL, err, "look=%s", "alerts");
	} else {
		look.gauges = &w->snapshot.gauges;
		look.relay_age_ms = w->snapshot.relay_age_ms;
		look.log_bytes = w->snapshot.log_bytes;
		look.delivered = metrics_get(m, METRIC_DELIVERY_SECONDS);
		look.delivered_us = metrics_sum(m, METRIC_DELIVERY_SECONDS);
		alerts_turn(admin->alerts, &look);
	}
	lock_take(&w->lock);
	w->looking = false;
	(void)pthread_cond_signal(&w->cond);
	lock_drop(&w->lock);
}

/* Under the lock: sleeps until ${until_ms} (monotonic) or the stop. */
static void
sleep_until(struct watch *w, int64_t until_ms)
{
	struct timespec ts = {.tv_sec = (time_t)(until_ms / 1000),
	    .tv_nsec = (long)(until_ms % 1000) * 1000000};

	while (!w->stopping)
		if (!lock_wait_until(&w->lock, &w->cond, &ts))
			break;
}

static void
loop(void *arg)
{
	struct watch *w = arg;

	lock_take(&w->lock);
	while (!w->stopping) {
		/* The condition knows the machine's clock alone. */
		sleep_until(
		    w, clk_mono_ms(clk_system()) + w->admin->o.watch_ms);
		if (w->stopping)
			break;
		w->looking = true;
		lock_drop(&w->lock);
		/* When the readers are full the next look is soon enough. */
		if (readers_submit(w->admin->o.readers, &w->job) != RC_OK) {
			lock_take(&w->lock);
			w->looking = false;
			continue;
		}
		lock_take(&w->lock);
		while (w->looking)
			lock_wait(&w->lock, &w->cond);
	}
	lock_drop(&w->lock);
}

static void
watch_free(struct watch *w)
{

	(void)pthread_cond_destroy(&w->cond);
	lock_fini(&w->lock);
	mem_free(w);
}

enum rc
watch_start(struct admin *admin, struct watch **ret, struct err *err)
{
	struct watch *w;
	enum rc rc;

	if ((w = mem_zalloc(1, sizeof(*w))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "watch"));
	w->job.run = run_look;
	w->admin = admin;
	lock_init(&w->lock, LOCK_WATCH);
	lock_cond_init(&w->cond);
	rc = thr_start(THR_WATCH, 0, loop, w, &w->thread, err);
	if (rc != RC_OK) {
		watch_free(w);
		return (rc);
	}
	*ret = w;
	return (RC_OK);
}

void
watch_stop(struct watch **watch)
{
	struct watch *w = *watch;

	if (w == NULL)
		return;
	lock_take(&w->lock);
	w->stopping = true;
	(void)pthread_cond_signal(&w->cond);
	lock_drop(&w->lock);
	thr_join(&w->thread);
	watch_free(w);
	*watch = NULL;
}
