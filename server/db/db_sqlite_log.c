/* SPDX-License-Identifier: MIT */
/*
 * SQLite's write-ahead log: its syncs, checkpoints, index and size.
 *
 * Promises: only the writer's connection makes checkpoints, because SQLite
 * before 3.51.3 loses commits when one connection makes a checkpoint while
 * another commits.
 */
#include <errno.h>

#include "db/db_sqlite_internal.h"
#include "wal_buffer/wal_buffer.h"

/* The size of a frame of the log: a page and its header. */
#define FRAME_BYTES (4096 + 24)

/* The number of frames that one block of the log's index can describe, and the
 * size of a block in bytes. */
#define INDEX_FRAMES 4096
#define INDEX_BYTES 32768

enum rc
db_sqlite_grow_index(struct db_sqlite *s, struct err *err)
{
	void volatile *p;
	sqlite3_file *file;
	int code, block;

	block = (int)(s->log_frames / INDEX_FRAMES) + 1;
	code = sqlite3_file_control(
	    s->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (code == SQLITE_OK)
		code = file->pMethods->xShmMap(file, block, INDEX_BYTES, 1, &p);
	if (code == SQLITE_OK)
		return (RC_OK);
	/* SQLITE_IOERR_NOMEM: memory for SQLite's list of the index's blocks is
	 * short; the disk is not full. */
	if (code == SQLITE_IOERR_NOMEM)
		return (err_set(err, RC_NO_MEMORY,
		    "the index of the log: out of memory (SQLite %d)", code));
	return (err_set(err, code == SQLITE_IOERR_SHMSIZE ? RC_FULL : RC_IO,
	    "no room for the index of the log (SQLite %d): " DB_SQLITE_CURE,
	    code));
}

/* db_sqlite_sync() does not use the error state of the connection
 * (sqlite3_errmsg()), because the connection's owner may be using the
 * connection in another thread at the same time. */
enum rc
db_sqlite_sync(struct db *db, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	int code;

	code = s->log != NULL ? wal_buffer_sync(s->log) : SQLITE_OK;
	if (code == SQLITE_OK)
		return (RC_OK);
	return (err_set(err, RC_IO, "sync of the log: %s (SQLite %d)",
	    sqlite3_errstr(code), code));
}

/* Moves the frames of the log into the database file: with ${truncate} all of
 * them, for which it waits for readers up to the busy time-out (then
 * SQLITE_BUSY), and truncates the log; else as many as it can without a wait.
 * *ret_log, *ret_done: the number of frames in the log, and of those of them
 * that are in the database file.  Returns SQLite's code.  When a signal
 * interrupts a sync, the whole checkpoint is run again, at most
 * WAL_BUFFER_INTERRUPTS times in all: the log still has the frames. */
static int
checkpoint(struct db_sqlite *s, bool truncate, int *ret_log, int *ret_done)
{
	int code, tries = 0;

	do {
		code = sqlite3_wal_checkpoint_v2(s->handle, NULL,
		    truncate ? SQLITE_CHECKPOINT_TRUNCATE
			     : SQLITE_CHECKPOINT_PASSIVE,
		    ret_log, ret_done);
	} while (code == SQLITE_IOERR_FSYNC &&
		 sqlite3_system_errno(s->handle) == EINTR &&
		 ++tries < WAL_BUFFER_INTERRUPTS);
	return (code);
}

enum rc
db_sqlite_checkpoint(
    struct db *db, bool truncate, struct db_checkpoint *ret, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	int code, log, done;

	if (db->mode != DB_WRITER)
		return (err_set(err, RC_INTERNAL,
		    "checkpoint: only the writer's connection may"));
	code = checkpoint(s, truncate, &log, &done);
	if (code != SQLITE_OK)
		return (db_sqlite_fail(s, code, "checkpoint", err));
	/* When SQLite fails to open the log, the call returns SQLITE_OK and -1
	 * frames. */
	if (log < 0)
		return (err_set(
		    err, RC_IO, "checkpoint: the log cannot be opened"));
	s->log_frames = log;
	if (ret != NULL) {
		ret->log_frames = log;
		ret->done_frames = done;
	}
	return (RC_OK);
}

enum rc
db_sqlite_log_cut(struct db *db, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	enum rc rc;

	(void)sqlite3_busy_timeout(s->handle, 0);
	rc = db_sqlite_checkpoint(db, true, NULL, err);
	(void)sqlite3_busy_timeout(s->handle, DB_SQLITE_BUSY_MS);
	return (rc);
}

int
db_sqlite_on_commit(void *arg, sqlite3 *handle, const char *schema, int frames)
{
	struct db_sqlite *s = arg;

	(void)handle;
	(void)schema;
	s->log_frames = frames;
	return (SQLITE_OK);
}

int64_t
db_sqlite_log_bytes(struct db *db)
{

	return (db_sqlite_of(db)->log_frames * FRAME_BYTES);
}
