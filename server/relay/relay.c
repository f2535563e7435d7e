/* SPDX-License-Identifier: MIT */
/*
 * The relay's thread: collects wake-ups and finished jobs, runs a turn of the
 * core, and sleeps until a wake-up or a job arrives, the relay is to stop, or
 * the core's next time has come.
 *
 * Wake-ups and jobs are put into two lists under one lock.  The thread checks
 * both lists under the same lock before it sleeps, so no signal is lost.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/container.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "log/log.h"
#include "relay/relay.h"
#include "store/outbox.h"

/* How long relay_stats() waits for the end of a turn. */
#define STATS_PATIENCE_MS 100

struct relay {
	struct relay_options options;
	struct db *db;
	struct core *core;
	struct thr *thread;
	char owner[LANE_OWNER_SIZE];

	struct lock lock;
	pthread_cond_t cond;
	struct mbox_node *wakes; /* struct wake, newest first */
	struct core_job *jobs;   /* oldest first */
	struct core_job **jobs_tail;
	bool stopping, stop_seen;

	struct lock turning; /* held during a turn, for relay_stats() */
	atomic_int_least64_t last_turn_ms;
};

/* ---- what others call ---- */

void
relay_wake(struct relay *r, struct wake *wake)
{

	lock_take(&r->lock);
	wake->node.next = r->wakes;
	r->wakes = &wake->node;
	(void)pthread_cond_signal(&r->cond);
	lock_drop(&r->lock);
}

void
relay_contact(struct relay *r, int64_t destination_id, bool alone)
{
	struct wake *wake = wake_new();

	/* Without memory for the wake-up the contact is ignored: the probe
	 * leaves when its own wait is over, or after a later contact. */
	if (wake == NULL)
		return;
	wake->contact = destination_id;
	wake->contact_alone = alone;
	relay_wake(r, wake);
}

/* Thread: any. */
static void
job_back(void *arg, struct core_job *job)
{
	struct relay *r = arg;

	job->next = NULL;
	lock_take(&r->lock);
	*r->jobs_tail = job;
	r->jobs_tail = &job->next;
	(void)pthread_cond_signal(&r->cond);
	lock_drop(&r->lock);
}

static enum rc
submit(void *arg, struct unit *unit)
{
	struct relay *r = arg;

	return (writer_submit(r->options.writer, unit));
}

static void
add_stats(void *arg, const struct core_destination *d)
{
	struct relay_stats *stats = arg;

	if (stats->n < RELAY_STATS_DESTINATIONS)
		stats->destinations[stats->n++] = *d;
}

void
relay_stats(struct relay *r, struct relay_stats *ret)
{
	const struct timespec until = lock_deadline(STATS_PATIENCE_MS);

	ret->n = 0;
	ret->in_flight = 0;
	ret->last_turn_ms = atomic_load(&r->last_turn_ms);
	/* relay_stats() must return even if a turn hangs, to show just that. */
	if (!lock_take_until(&r->turning, &until))
		return;
	ret->in_flight = core_in_flight(r->core);
	core_destinations(r->core, add_stats, ret);
	lock_drop(&r->turning);
}

/* ---- the thread ---- */

/* Sleeps until a wake-up or a finished job is there, relay_stop() is called, or
 * ${until_ms} (monotonic) has come, and moves all wake-ups and jobs to
 * *ret_wakes and *ret_jobs (NULL: none).  Returns false once relay_stop() was
 * called; later calls sleep as before, since jobs may still be under way. */
static bool
gather(struct relay *r, int64_t until_ms, struct mbox_node **ret_wakes,
    struct core_job **ret_jobs)
{
	struct timespec ts;
	bool stopping;

	ts.tv_sec = (time_t)(until_ms / 1000);
	ts.tv_nsec = (long)(until_ms % 1000) * 1000000;
	lock_take(&r->lock);
	while (r->wakes == NULL && r->jobs == NULL &&
	       (!r->stopping || r->stop_seen))
		if (!lock_wait_until(&r->lock, &r->cond, &ts))
			break;
	*ret_wakes = r->wakes;
	*ret_jobs = r->jobs;
	r->wakes = NULL;
	r->jobs = NULL;
	r->jobs_tail = &r->jobs;
	stopping = r->stopping;
	r->stop_seen = stopping;
	lock_drop(&r->lock);
	return (!stopping);
}

static void
loop(void *arg)
{
	struct mbox_node *wakes;
	struct core_job *jobs;
	struct relay *r = arg;
	int64_t until = 0;
	bool going, idle;

	do {
		going = gather(r, until, &wakes, &jobs);
		lock_take(&r->turning);
		until = core_turn(r->core, wakes, jobs, going);
		idle = core_idle(r->core);
		atomic_store(&r->last_turn_ms, clk_mono_ms(r->options.clk));
		lock_drop(&r->turning);
	} while (going || !idle);
}

/* ---- life ---- */

static void
init_locks(struct relay *r)
{

	lock_init(&r->lock, LOCK_RELAY);
	lock_init(&r->turning, LOCK_RELAY_TURN);
	lock_cond_init(&r->cond);
}

/* Sets the name under which this relay owns leases: host name, process id and
 * time of creation, so that each start of the server has another name. */
static void
name_owner(struct relay *r)
{
	char host[24];

	if (gethostname(host, sizeof(host)) != 0)
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
	(void)snprintf(r->owner, sizeof(r->owner), "%s:%d:%llx", host,
	    (int)getpid(),
	    (unsigned long long)(clk_wall_ms(r->options.clk) & 0xffffffff));
}

enum rc
relay_new(
    const struct relay_options *options, struct relay **ret, struct err *err)
{
	struct core_options core;
	struct db_options o;
	struct relay *r;
	enum rc rc;

	r = mem_zalloc(1, sizeof(*r));
	if (r == NULL)
		return (err_set(err, RC_NO_MEMORY, "relay"));
	r->options = *options;
	r->jobs_tail = &r->jobs;
	init_locks(r);
	name_owner(r);
	o = *options->db;
	o.mode = DB_READER;
	rc = db_open(&o, &r->db, err);
	core = (struct core_options){.local = options->carrier,
	    .remote = options->remote,
	    .submit = submit,
	    .back = job_back,
	    .arg = r,
	    .db = r->db,
	    .clk = options->clk,
	    .timing = options->timing,
	    .rnd = options->rnd,
	    .owner = r->owner,
	    .poll_ms = options->poll_ms,
	    .lease_ms = options->lease_ms,
	    .timeout_ms = options->timeout_ms};
	if (core.remote.send == NULL)
		core.remote = carrier_none();
	if (rc == RC_OK)
		rc = core_new(&core, &r->core, err);
	if (rc != RC_OK) {
		relay_free(r);
		return (rc);
	}
	*ret = r;
	return (RC_OK);
}

const char *
relay_owner(const struct relay *r)
{

	return (r->owner);
}

void
relay_free(struct relay *r)
{
	struct mbox_node *list;

	if (r == NULL)
		return;
	while ((list = r->wakes) != NULL) {
		r->wakes = list->next;
		wake_free(CONTAINER_OF(list, struct wake, node));
	}
	core_free(r->core);
	db_close(r->db);
	(void)pthread_cond_destroy(&r->cond);
	lock_fini(&r->turning);
	lock_fini(&r->lock);
	mem_free(r);
}

enum rc
relay_start(struct relay *r, struct err *err)
{
	int64_t pending;
	enum rc rc;

	rc = store_outbox_pending_count(r->db, &pending, err);
	if (rc == RC_OK)
		rc = core_start(r->core, err);
	if (rc != RC_OK)
		return (rc);
	if (pending > 0)
		log_event(
		    LOG_EV_RELAY_RECOVER, "pending=%lld", (long long)pending);
	atomic_store(&r->last_turn_ms, clk_mono_ms(r->options.clk));
	return (thr_start(THR_RELAY, 0, loop, r, &r->thread, err));
}

void
relay_stop(struct relay *r)
{

	lock_take(&r->lock);
	r->stopping = true;
	(void)pthread_cond_signal(&r->cond);
	lock_drop(&r->lock);
	if (r->options.remote.stop != NULL)
		r->options.remote.stop(r->options.remote.arg);
	thr_join(&r->thread);
}

static void
on_wake(void *arg, struct wake *wake)
{

	relay_wake(arg, wake);
}

struct subscriber
relay_subscriber(struct relay *r)
{

	return ((struct subscriber){.arg = r, .take_wake = on_wake});
}
