/* SPDX-License-Identifier: MIT */
/*
 * A VFS around SQLite's own that gathers the writes to the write-ahead log.
 *
 * SQLite writes a log frame as two small writes; a commit of a batch is dozens
 * to hundreds of them.  They are gathered here and written in 64 KiB pieces,
 * at the latest by the xSync that makes them durable.  Until then they were
 * volatile anyway, so that nothing is promised later than before; an error of
 * a gathered write comes out of xSync, where a commit treats it the same.
 *
 * The xSync of a commit can be put off (db_commit_early): the writes go to the
 * system, the sync is made later, by another thread.  What was committed after
 * it is lost with it or not at all, as every frame's checksum goes on from the
 * one before.  Never put off are the sync of a new log's header, without which
 * frames of an older log could be taken for new ones, and those of checkpoints.
 *
 * Relies on: synchronous=FULL (each commit ends with an xSync, before the log's
 * index shows its frames to other connections).  Only the log of the writer's
 * connection is wrapped; all other files are the parent's.
 */
#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/lock.h"
#include "base/mem.h"
#include "db/db_sqlite_internal.h"

#define NAME "twinbox-gather"
#define GATHER_BYTES 65536
#define LOG_HEADER_BYTES 32

struct gather {
	sqlite3_file file; /* first: what SQLite sees */
	sqlite3_file *log; /* the parent's, behind this struct */
	char *data;
	sqlite3_int64 start; /* where data belongs in the file */
	int n;

	/* The owner's. */
	bool header; /* written and not synced */
	bool defer;
	uint64_t deferred;

	/* Syncs are made one at a time, and none after one that failed: the
	 * system reports a lost write once, to whoever asks first. */
	struct lock sync_lock;
	int failed;
};

static sqlite3_vfs *parent;
static sqlite3_vfs gather_vfs;

static struct gather *
of(sqlite3_file *file)
{

	return ((struct gather *)(void *)file);
}

/* What the system said to the last call of the log that failed. */
static int
log_errno(struct gather *g)
{
	int sys = 0;

	(void)g->log->pMethods->xFileControl(
	    g->log, SQLITE_FCNTL_LAST_ERRNO, &sys);
	return (sys);
}

/* SQLite's own VFS says SQLITE_FULL for ENOSPC only.  A quota that is used up
 * (EDQUOT) is the same to a caller: there is no room, and the disk is sound. */
static int
log_write(struct gather *g, const void *p, int n, sqlite3_int64 at)
{
	int code;

	code = g->log->pMethods->xWrite(g->log, p, n, at);
	if (code == SQLITE_IOERR_WRITE && log_errno(g) == EDQUOT)
		return (SQLITE_FULL);
	return (code);
}

/* Writes what is gathered.  It is forgotten also when that fails: then the
 * transaction is, too. */
static int
flush(struct gather *g)
{
	int n;

	n = g->n;
	g->n = 0;
	if (n == 0)
		return (SQLITE_OK);
	return (log_write(g, g->data, n, g->start));
}

static int
gather_close(sqlite3_file *file)
{
	struct gather *g = of(file);
	int code, closed;

	code = flush(g);
	mem_free(g->data);
	g->data = NULL;
	lock_fini(&g->sync_lock);
	closed = g->log->pMethods->xClose(g->log);
	return (code != SQLITE_OK ? code : closed);
}

static int
gather_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
	struct gather *g = of(file);
	int code;

	code = flush(g);
	if (code != SQLITE_OK)
		return (code);
	return (g->log->pMethods->xRead(g->log, p, n, at));
}

static int
gather_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
	struct gather *g = of(file);
	int code;

	if (at < LOG_HEADER_BYTES)
		g->header = true;
	if (g->n > 0 && (at != g->start + g->n || g->n + n > GATHER_BYTES)) {
		code = flush(g);
		if (code != SQLITE_OK)
			return (code);
	}
	if (n > GATHER_BYTES)
		return (log_write(g, p, n, at));
	if (g->n == 0)
		g->start = at;
	memcpy(g->data + g->n, p, (size_t)n);
	g->n += n;
	return (SQLITE_OK);
}

static int
gather_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct gather *g = of(file);
	int code;

	code = flush(g);
	if (code != SQLITE_OK)
		return (code);
	return (g->log->pMethods->xTruncate(g->log, size));
}

int
db_sqlite_gather_sync(sqlite3_file *file)
{
	struct gather *g = of(file);
	int code, tries = 0;

	lock_take(&g->sync_lock);
	code = g->failed;
	/* A sync that a signal interrupted has lost nothing: it is repeated. */
	if (code == SQLITE_OK)
		do {
			code =
			    g->log->pMethods->xSync(g->log, SQLITE_SYNC_NORMAL);
		} while (code != SQLITE_OK && log_errno(g) == EINTR &&
			 ++tries < DB_SQLITE_INTERRUPTS);
	g->failed = code;
	lock_drop(&g->sync_lock);
	return (code);
}

static int
gather_sync(sqlite3_file *file, int flags)
{
	struct gather *g = of(file);
	int code;

	(void)flags; /* more than a normal sync is for macOS */
	code = flush(g);
	if (code != SQLITE_OK)
		return (code);
	if (g->defer && !g->header) {
		g->deferred++;
		return (SQLITE_OK);
	}
	code = db_sqlite_gather_sync(file);
	if (code == SQLITE_OK)
		g->header = false;
	return (code);
}

static int
gather_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct gather *g = of(file);
	int code;

	code = flush(g);
	if (code != SQLITE_OK)
		return (code);
	return (g->log->pMethods->xFileSize(g->log, ret));
}

static int
gather_lock(sqlite3_file *file, int level)
{

	return (of(file)->log->pMethods->xLock(of(file)->log, level));
}

static int
gather_unlock(sqlite3_file *file, int level)
{

	return (of(file)->log->pMethods->xUnlock(of(file)->log, level));
}

static int
gather_reserved(sqlite3_file *file, int *ret)
{

	return (
	    of(file)->log->pMethods->xCheckReservedLock(of(file)->log, ret));
}

static int
gather_control(sqlite3_file *file, int op, void *arg)
{

	return (of(file)->log->pMethods->xFileControl(of(file)->log, op, arg));
}

static int
gather_sector(sqlite3_file *file)
{

	return (of(file)->log->pMethods->xSectorSize(of(file)->log));
}

static int
gather_device(sqlite3_file *file)
{

	return (of(file)->log->pMethods->xDeviceCharacteristics(of(file)->log));
}

/* Version 1: a log has no shared memory and is not mapped. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = gather_close,
    .xRead = gather_read,
    .xWrite = gather_write,
    .xTruncate = gather_truncate,
    .xSync = gather_sync,
    .xFileSize = gather_size,
    .xLock = gather_lock,
    .xUnlock = gather_unlock,
    .xCheckReservedLock = gather_reserved,
    .xFileControl = gather_control,
    .xSectorSize = gather_sector,
    .xDeviceCharacteristics = gather_device,
};

static int
gather_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
    int *ret_flags)
{
	struct gather *g = of(file);
	int code;

	(void)vfs;
	if ((flags & SQLITE_OPEN_WAL) == 0)
		return (parent->xOpen(parent, name, file, flags, ret_flags));
	memset(g, 0, sizeof(*g));
	g->log = (sqlite3_file *)(void *)(g + 1);
	g->data = mem_alloc(GATHER_BYTES);
	if (g->data == NULL)
		return (SQLITE_NOMEM);
	code = parent->xOpen(parent, name, g->log, flags, ret_flags);
	if (code != SQLITE_OK) {
		mem_free(g->data);
		/* A file that is not open must have no methods. */
		g->file.pMethods = NULL;
		return (code);
	}
	lock_init(&g->sync_lock, LOCK_SYNC);
	g->file.pMethods = &methods;
	return (SQLITE_OK);
}

static void
make(void)
{

	parent = sqlite3_vfs_find(NULL);
	if (parent == NULL)
		return;
	gather_vfs = *parent;
	gather_vfs.pNext = NULL;
	gather_vfs.zName = NAME;
	gather_vfs.szOsFile = (int)sizeof(struct gather) + parent->szOsFile;
	gather_vfs.xOpen = gather_open;
	(void)sqlite3_vfs_register(&gather_vfs, 0);
}

const char *
db_sqlite_gather(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, make);
	return (parent != NULL ? NAME : NULL);
}

sqlite3_file *
db_sqlite_gather_log(sqlite3 *handle)
{
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER,
		&file) != SQLITE_OK ||
	    file == NULL || file->pMethods != &methods)
		return (NULL);
	return (file);
}

uint64_t
db_sqlite_gather_defer(sqlite3_file *log, bool defer)
{

	of(log)->defer = defer;
	return (of(log)->deferred);
}
