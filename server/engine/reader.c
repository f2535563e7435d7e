/* SPDX-License-Identifier: MIT */
/*
 * Reader threads: all take jobs from one shared queue, and each has a
 * connection of its own.  Each job runs in a read snapshot of its own, which
 * ends with the job, because a long snapshot keeps SQLite's log from being
 * checkpointed.
 */
#include "engine/reader.h"

#include <stdatomic.h>

#include "base/container.h"
#include "base/fairq.h"
#include "base/mem.h"
#include "base/thr.h"
#include "base/timing.h"
#include "engine/commits.h"
#include "log/log.h"

struct reader {
	struct readers *readers;
	struct db *db;
	struct thr *thread;
	atomic_bool failed; /* the last snapshot could not be opened */
};

struct readers {
	struct fairq *queue;
	struct commits *commits;
	int64_t retry_ms;
	struct reader *list;
	int n;
};

static enum rc
begin(struct reader *r, struct err *err)
{
	const enum rc rc = db_begin(r->db, err);

	atomic_store(&r->failed, rc != RC_OK);
	return (rc);
}

static void
run_job(struct reader *r, struct read_job *job)
{
	struct err err = ERR_INIT;

	if (begin(r, &err) != RC_OK) {
		job->run(job, NULL, &err);
		return;
	}
	/* The snapshot may contain early commits, which a loss of power could
	 * undo. */
	if (r->readers->commits != NULL && !commits_wait(r->readers->commits)) {
		(void)err_set(&err, RC_IO, "the store cannot be synced");
		job->run(job, NULL, &err);
		db_rollback(r->db);
		return;
	}
	job->run(job, r->db, &err);
	/* The job may have freed itself by now, so only ${r} is used. */
	db_rollback(r->db);
}

/* Opens a snapshot without a job and closes it, to set or clear ${failed}.
 * Called each second in which no job comes, while ${failed} is true.  A server
 * that reports that it is not ready gets no requests, so without this it would
 * never notice that the database is back. */
static void
try_begin(struct reader *r)
{
	struct err ignored = ERR_INIT;

	if (begin(r, &ignored) == RC_OK)
		db_rollback(r->db);
}

static void
loop(void *arg)
{
	struct reader *r = arg;
	struct mbox_node *node;

	while (fairq_take(r->readers->queue,
	    atomic_load(&r->failed) ? r->readers->retry_ms : -1, &node)) {
		if (node == NULL)
			try_begin(r);
		else
			run_job(r, CONTAINER_OF(node, struct read_job, node));
	}
}

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	return (fairq_put(readers->queue, &job->node, job->owner));
}

bool
readers_can_begin(const struct readers *rs)
{
	int i;

	for (i = 0; i < rs->n; i++)
		if (atomic_load(&rs->list[i].failed))
			return (false);
	return (true);
}

enum rc
readers_start(const struct db_options *options, int n, size_t limit,
    struct commits *commits, struct readers **ret, struct err *err)
{
	struct db_options o;
	struct readers *rs;
	enum rc rc;
	int i;

	rs = mem_zalloc(1, sizeof(*rs));
	if (rs == NULL)
		return (err_set(err, RC_NO_MEMORY, "readers"));
	rs->n = n;
	rs->commits = commits;
	rs->list = mem_zalloc((size_t)n, sizeof(*rs->list));
	rs->queue = fairq_new(limit, (limit + 3) / 4);
	rs->retry_ms = timing_or_real(options->timing)->reader_retry_ms;
	if (rs->list == NULL || rs->queue == NULL) {
		rc = err_set(err, RC_NO_MEMORY, "readers");
		goto undo;
	}
	o = *options;
	o.mode = DB_READER;
	for (i = 0; i < n; i++) {
		rs->list[i].readers = rs;
		rc = db_open(&o, &rs->list[i].db, err);
		if (rc == RC_OK)
			rc = thr_start(THR_READER, i, loop, &rs->list[i],
			    &rs->list[i].thread, err);
		if (rc != RC_OK)
			goto undo;
	}
	*ret = rs;
	return (RC_OK);

undo:
	readers_stop(rs);
	return (rc);
}

void
readers_stop(struct readers *rs)
{
	int i;

	if (rs == NULL)
		return;
	if (rs->queue != NULL)
		fairq_close(rs->queue);
	for (i = 0; rs->list != NULL && i < rs->n; i++) {
		thr_join(&rs->list[i].thread);
		db_close(rs->list[i].db);
	}
	fairq_free(rs->queue);
	mem_free(rs->list);
	mem_free(rs);
}
