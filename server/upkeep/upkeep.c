/* SPDX-License-Identifier: MIT */
/*
 * See upkeep.h.  The thread calls upkeep_turn(), sleeps until the time that it
 * returned, or until the writer has finished the purger's unit, and repeats
 * this until upkeep_stop().
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "engine/commits.h"
#include "engine/writer.h"
#include "log/log.h"
#include "store/outbox.h"
#include "upkeep/archive.h"
#include "upkeep/position.h"
#include "upkeep/purger.h"
#include "upkeep/scrub.h"
#include "upkeep/upkeep.h"

#define POSITION_MS 1000
/* If nothing was committed for IDLE_MS, and the write-ahead log has
 * IDLE_LOG_BYTES or more, the writer is asked to truncate the log.  While still
 * nothing is committed, the size is checked again every IDLE_MS. */
#define IDLE_MS 10000
#define IDLE_LOG_BYTES (256 * 1024)
/* The pause between two rounds of the scrubber. */
#define SCRUB_REST_MS (6 * 3600 * INT64_C(1000))

struct upkeep {
	struct upkeep_options options;
	struct db *db; /* for all except the scrubber */
	/* Separate, so that the scrubber's reads evict nobody's pages. */
	struct db *scrub_db;
	struct archive *archive;
	struct purger *purger;
	struct scrub *scrub;

	struct position position; /* as last written */
	bool position_failing;
	int64_t position_due_ms;
	uint64_t batches; /* the writer's, at the last check */
	int64_t idle_since_ms;
	int64_t hook_due_ms[UPKEEP_HOOKS];
	bool elsewhere; /* another process purges */

	struct thr *thread;
	struct lock lock;
	pthread_cond_t cond;
	bool woken, stopping; /* lock */
};

/* ---- DATA/mark: the position ---- */

/* Reads the number of the newest outbox row that is certainly on disk. */
static enum rc
durable_number(struct upkeep *u, int64_t *ret, struct err *err)
{
	enum rc rc;

	if ((rc = db_begin(u->db, err)) != RC_OK)
		return (rc);
	if (commits_wait(writer_commits(u->options.writer)))
		rc = store_outbox_last_id(u->db, ret, err);
	else
		rc = err_set(err, RC_IO, "the store cannot be synced");
	db_rollback(u->db);
	return (rc);
}

static enum rc
write_position(struct upkeep *u, struct err *err)
{
	struct position position = u->position;
	enum rc rc;

	rc = durable_number(u, &position.number, err);
	if (rc != RC_OK || position.number == u->position.number)
		return (rc);
	rc = position_write(u->options.dir_fd, &position, err);
	if (rc == RC_OK)
		u->position = position;
	return (rc);
}

/* Writes DATA/mark if the newest durable outbox row has changed; not on a
 * multi-writer database.  A failure is counted, and logged if the turn before
 * did not fail; the next try follows after POSITION_MS.  A failure does no
 * harm: the row that the file names, whether old or new, is on disk. */
static void
position_turn(struct upkeep *u, int64_t now)
{
	struct err err = ERR_INIT;
	enum rc rc;

	u->position_due_ms = now + POSITION_MS;
	/* A database of several nodes has no mark (lineage.h protects it). */
	if (db_multi_writer(u->db))
		return;
	rc = write_position(u, &err);
	if (rc != RC_OK) {
		metrics_add(u->options.metrics, METRIC_MARK_FAILURES, 1);
		if (!u->position_failing)
			log_error_bare(LOG_EV_MARK_FAIL, &err);
	}
	u->position_failing = rc != RC_OK;
}

/* ---- the log ---- */

static void
idle_turn(struct upkeep *u, int64_t now)
{
	struct writer_stats stats = writer_stats_get(u->options.writer);

	if (stats.batches != u->batches) {
		u->batches = stats.batches;
		u->idle_since_ms = now;
	} else if (now - u->idle_since_ms >= IDLE_MS) {
		u->idle_since_ms = now;
		if (stats.log_bytes >= IDLE_LOG_BYTES)
			writer_truncate_log(u->options.writer);
	}
}

/* ---- turns ---- */

static int64_t
sooner(int64_t a, int64_t b)
{

	return (a < b ? a : b);
}

static int64_t
hooks_turn(struct upkeep *u, int64_t now)
{
	const struct upkeep_hook *hook;
	int64_t next = INT64_MAX;
	int i;

	for (i = 0; i < u->options.nhooks; i++) {
		hook = &u->options.hooks[i];
		if (now >= u->hook_due_ms[i]) {
			hook->run(hook->arg, u->db);
			u->hook_due_ms[i] = now + hook->every_ms;
		}
		next = sooner(next, u->hook_due_ms[i]);
	}
	return (next);
}

/* Returns whether this process, not another node, shall purge and scrub now
 * (upkeep_options.ours).  When the result differs from that of the previous
 * call (for the first call, from true), sets METRIC_PURGE_LAST: to the wall
 * time in seconds if this process now begins to purge, to 0 if it stops. */
static bool
is_ours(struct upkeep *u)
{
	bool ours = u->options.ours == NULL || u->options.ours(u->options.arg);

	if (ours != u->elsewhere)
		return (ours);
	u->elsewhere = !ours;
	metrics_set(u->options.metrics, METRIC_PURGE_LAST,
	    ours ? clk_wall_ms(u->options.clk) / 1000 : 0);
	return (ours);
}

int64_t
upkeep_turn(struct upkeep *u)
{
	int64_t now = clk_mono_ms(u->options.clk), next;

	if (now >= u->position_due_ms) {
		position_turn(u, now);
		idle_turn(u, now);
	}
	next = sooner(u->position_due_ms, hooks_turn(u, now));
	/* is_ours() is called again when the next position is due. */
	if (!is_ours(u))
		return (next);
	next = sooner(next, purger_turn(u->purger));
	if (u->scrub != NULL)
		next = sooner(next, scrub_turn(u->scrub));
	return (next);
}

/* ---- the thread ---- */

static void
wake(void *arg)
{
	struct upkeep *u = arg;

	lock_take(&u->lock);
	u->woken = true;
	(void)pthread_cond_signal(&u->cond);
	lock_drop(&u->lock);
}

static enum rc
submit(void *arg, struct unit *unit)
{
	struct upkeep *u = arg;

	return (writer_submit(u->options.writer, unit));
}

/* Sleeps until ${until_ms} (monotonic) or until woken.  Returns false when the
 * thread shall end. */
static bool
rest(struct upkeep *u, int64_t until_ms)
{
	const struct timespec ts = {.tv_sec = (time_t)(until_ms / 1000),
	    .tv_nsec = (long)(until_ms % 1000) * 1000000};
	bool going;

	lock_take(&u->lock);
	while (!u->woken && !u->stopping)
		if (!lock_wait_until(&u->lock, &u->cond, &ts))
			break;
	u->woken = false;
	going = !u->stopping;
	lock_drop(&u->lock);
	return (going);
}

static void
loop(void *arg)
{
	struct upkeep *u = arg;

	while (rest(u, upkeep_turn(u)))
		continue;
}

/* ---- life ---- */

static enum rc
open_connections(struct upkeep *u, struct err *err)
{
	struct db_options o = *u->options.db;
	enum rc rc;

	o.mode = DB_READER;
	rc = db_open(&o, &u->db, err);
	if (rc == RC_OK && u->options.scrub_rate > 0)
		rc = db_open(&o, &u->scrub_db, err);
	return (rc);
}

static enum rc
make_parts(struct upkeep *u, struct err *err)
{
	struct purger_options purger = {.clk = u->options.clk,
	    .db = u->db,
	    .commits = writer_commits(u->options.writer),
	    .metrics = u->options.metrics,
	    .rate = u->options.purge_rate,
	    .submit = submit,
	    .wake = wake,
	    .arg = u};
	struct scrub_options scrub = {.clk = u->options.clk,
	    .db = u->scrub_db,
	    .metrics = u->options.metrics,
	    .rate = u->options.scrub_rate,
	    .rest_ms = SCRUB_REST_MS};
	enum rc rc = RC_OK;

	if (u->options.archive[0] != '\0')
		rc = archive_open(u->options.archive, &u->archive, err);
	purger.archive = u->archive;
	memcpy(purger.retention_ms, u->options.retention_ms,
	    sizeof(purger.retention_ms));
	if (rc == RC_OK)
		rc = purger_new(&purger, &u->purger, err);
	if (rc == RC_OK && u->scrub_db != NULL)
		rc = scrub_new(&scrub, &u->scrub, err);
	return (rc);
}

enum rc
upkeep_new(
    const struct upkeep_options *options, struct upkeep **ret, struct err *err)
{
	struct upkeep *u;
	enum rc rc;

	if ((u = mem_zalloc(1, sizeof(*u))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "upkeep"));
	u->options = *options;
	u->position.number = -1; /* no position is written yet */
	(void)snprintf(
	    u->position.epoch, sizeof(u->position.epoch), "%s", options->epoch);
	u->idle_since_ms = clk_mono_ms(options->clk);
	lock_init(&u->lock, LOCK_UPKEEP);
	lock_cond_init(&u->cond);
	if ((rc = open_connections(u, err)) != RC_OK ||
	    (rc = make_parts(u, err)) != RC_OK) {
		upkeep_free(u);
		return (rc);
	}
	*ret = u;
	return (RC_OK);
}

void
upkeep_free(struct upkeep *u)
{

	if (u == NULL)
		return;
	purger_free(u->purger);
	scrub_free(u->scrub);
	archive_close(u->archive);
	db_close(u->db);
	db_close(u->scrub_db);
	(void)pthread_cond_destroy(&u->cond);
	lock_fini(&u->lock);
	mem_free(u);
}

enum rc
upkeep_start(struct upkeep *u, struct err *err)
{

	return (thr_start(THR_UPKEEP, 0, loop, u, &u->thread, err));
}

void
upkeep_stop(struct upkeep *u)
{

	if (u == NULL)
		return;
	lock_take(&u->lock);
	u->stopping = true;
	(void)pthread_cond_signal(&u->cond);
	lock_drop(&u->lock);
	if (u->thread == NULL)
		return;
	thr_join(&u->thread);
	position_turn(u, clk_mono_ms(u->options.clk));
}
