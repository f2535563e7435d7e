/* SPDX-License-Identifier: MIT */
/*
 * Reader threads: each waits at one shared mailbox and runs jobs inside a
 * read snapshot on its own connection.  Snapshots are short, so that the log
 * can be checkpointed.
 */
#include "store/reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "store/commits.h"

struct reader {
	struct readers *readers;
	struct db *db;
	struct thr *thread;
};

struct readers {
	struct mbox *box;
	struct commits *commits;
	struct reader *list;
	int n;
};

static void
run_job(struct reader *r, struct read_job *job)
{
	struct err err = ERR_INIT;

	if (db_begin(r->db, &err) != RC_OK) {
		job->run(job, NULL, &err);
		return;
	}
	/* The snapshot may show what a loss of power could still take back. */
	if (r->readers->commits != NULL && !commits_wait(r->readers->commits)) {
		(void)err_set(&err, RC_IO, "the store cannot be synced");
		job->run(job, NULL, &err);
		db_rollback(r->db);
		return;
	}
	job->run(job, r->db, &err);
	/* The job may be gone by now; the snapshot is ours. */
	db_rollback(r->db);
}

static void
loop(void *arg)
{
	struct reader *r = arg;
	struct mbox_node *node;

	while ((node = mbox_take_wait(r->readers->box, -1)) != NULL)
		run_job(r, (struct read_job *)(void *)((char *)node -
						       offsetof(struct read_job,
							   node)));
}

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	return (mbox_put(readers->box, &job->node));
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
	rs->box = mbox_new(limit, false);
	if (rs->list == NULL || rs->box == NULL) {
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
	if (rs->box != NULL)
		mbox_close(rs->box);
	for (i = 0; rs->list != NULL && i < rs->n; i++) {
		thr_join(&rs->list[i].thread);
		db_close(rs->list[i].db);
	}
	mbox_free(rs->box);
	mem_free(rs->list);
	mem_free(rs);
}
