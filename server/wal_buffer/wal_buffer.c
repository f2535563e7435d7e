/* SPDX-License-Identifier: MIT */
/*
 * Coalesces the writes to SQLite's write-ahead log.
 *
 * SQLite writes a log frame as two writes, a small header and a page, and the
 * commit of a batch makes dozens to hundreds of them.  This VFS collects
 * consecutive writes in a buffer and passes them on in pieces of up to 64 KiB,
 * at the latest in the xSync at the end of the commit, and before every read,
 * truncation, query of the size, or close.  SQLite itself does not rely on a
 * write before this xSync, so a commit is as durable as without the buffer.  An
 * error of a buffered write is returned by the call that flushes the buffer, at
 * the latest by xSync; a commit fails in the same way after an error of xWrite
 * and of xSync.
 *
 * The xSync of a commit can be deferred (db_commit_early()): the writes go to
 * the kernel, and another thread makes the sync later.  A power loss in between
 * undoes this commit and all later ones, because the checksum of each frame
 * includes the frame before.  Two syncs are never deferred: the first one after
 * the header of a new log is written, because without it frames of an older log
 * could be taken for new ones, and those of checkpoints, because the caller
 * defers during COMMIT only.
 *
 * Relies on synchronous=FULL: each commit ends with an xSync, before the log's
 * index shows its frames to other connections.  Only the log is buffered; all
 * other files are those of SQLite's own VFS.
 */
#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/lock.h"
#include "base/mem.h"
#include "wal_buffer/wal_buffer.h"

#define NAME "twinbox-wal-buffer"
#define BUFFER_BYTES 65536
#define LOG_HEADER_BYTES 32

struct wal_buffer {
	sqlite3_file file; /* first: SQLite sees this member only */
	sqlite3_file *log; /* the file of the parent VFS, behind this struct */
	char *data;
	sqlite3_int64 start; /* offset of data in the file */
	int n;

	/* Used by the connection's thread only. */
	bool header; /* the header is written and not synced */
	bool defer;
	uint64_t deferred;

	/* The lock is held during a sync.  failed: the code of the first sync
	 * that failed, or SQLITE_OK.  After a failure no sync is made and this
	 * code is returned: the kernel reports a lost write once, to the first
	 * sync after it, so a second sync would wrongly succeed. */
	struct lock sync_lock;
	int failed;
};

static sqlite3_vfs *parent;
static sqlite3_vfs buffer_vfs;

static struct wal_buffer *
of(sqlite3_file *file)
{

	return ((struct wal_buffer *)(void *)file);
}

/* Returns the errno of the last failed system call on the log. */
static int
log_errno(struct wal_buffer *b)
{
	int sys = 0;

	(void)b->log->pMethods->xFileControl(
	    b->log, SQLITE_FCNTL_LAST_ERRNO, &sys);
	return (sys);
}

/* Writes to the log.  SQLite's own VFS returns SQLITE_FULL for ENOSPC only.  A
 * used-up quota (EDQUOT) is returned as SQLITE_FULL, too: there is no room, and
 * the disk is sound. */
static int
log_write(struct wal_buffer *b, const void *p, int n, sqlite3_int64 at)
{
	int code;

	code = b->log->pMethods->xWrite(b->log, p, n, at);
	if (code == SQLITE_IOERR_WRITE && log_errno(b) == EDQUOT)
		return (SQLITE_FULL);
	return (code);
}

/* Writes the buffer and empties it, also if the write fails, because the
 * transaction fails as well. */
static int
flush(struct wal_buffer *b)
{
	int n;

	n = b->n;
	b->n = 0;
	if (n == 0)
		return (SQLITE_OK);
	return (log_write(b, b->data, n, b->start));
}

static int
buffer_close(sqlite3_file *file)
{
	struct wal_buffer *b = of(file);
	int code, closed;

	code = flush(b);
	mem_free(b->data);
	b->data = NULL;
	lock_fini(&b->sync_lock);
	closed = b->log->pMethods->xClose(b->log);
	return (code != SQLITE_OK ? code : closed);
}

static int
buffer_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
	struct wal_buffer *b = of(file);
	int code;

	code = flush(b);
	if (code != SQLITE_OK)
		return (code);
	return (b->log->pMethods->xRead(b->log, p, n, at));
}

static int
buffer_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
	struct wal_buffer *b = of(file);
	int code;

	if (at < LOG_HEADER_BYTES)
		b->header = true;
	if (b->n > 0 && (at != b->start + b->n || b->n + n > BUFFER_BYTES)) {
		code = flush(b);
		if (code != SQLITE_OK)
			return (code);
	}
	if (n > BUFFER_BYTES)
		return (log_write(b, p, n, at));
	if (b->n == 0)
		b->start = at;
	memcpy(b->data + b->n, p, (size_t)n);
	b->n += n;
	return (SQLITE_OK);
}

static int
buffer_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct wal_buffer *b = of(file);
	int code;

	code = flush(b);
	if (code != SQLITE_OK)
		return (code);
	return (b->log->pMethods->xTruncate(b->log, size));
}

int
wal_buffer_sync(sqlite3_file *file)
{
	struct wal_buffer *b = of(file);
	int code, tries = 0;

	lock_take(&b->sync_lock);
	code = b->failed;
	/* Repeat a sync that a signal has interrupted: no write is lost. */
	if (code == SQLITE_OK)
		do {
			code =
			    b->log->pMethods->xSync(b->log, SQLITE_SYNC_NORMAL);
		} while (code != SQLITE_OK && log_errno(b) == EINTR &&
			 ++tries < WAL_BUFFER_INTERRUPTS);
	b->failed = code;
	lock_drop(&b->sync_lock);
	return (code);
}

static int
buffer_sync(sqlite3_file *file, int flags)
{
	struct wal_buffer *b = of(file);
	int code;

	(void)flags; /* SQLITE_SYNC_FULL differs on macOS only */
	code = flush(b);
	if (code != SQLITE_OK)
		return (code);
	if (b->defer && !b->header) {
		b->deferred++;
		return (SQLITE_OK);
	}
	code = wal_buffer_sync(file);
	if (code == SQLITE_OK)
		b->header = false;
	return (code);
}

static int
buffer_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct wal_buffer *b = of(file);
	int code;

	code = flush(b);
	if (code != SQLITE_OK)
		return (code);
	return (b->log->pMethods->xFileSize(b->log, ret));
}

static int
buffer_lock(sqlite3_file *file, int level)
{

	return (of(file)->log->pMethods->xLock(of(file)->log, level));
}

static int
buffer_unlock(sqlite3_file *file, int level)
{

	return (of(file)->log->pMethods->xUnlock(of(file)->log, level));
}

static int
buffer_reserved(sqlite3_file *file, int *ret)
{

	return (
	    of(file)->log->pMethods->xCheckReservedLock(of(file)->log, ret));
}

static int
buffer_control(sqlite3_file *file, int op, void *arg)
{

	return (of(file)->log->pMethods->xFileControl(of(file)->log, op, arg));
}

static int
buffer_sector(sqlite3_file *file)
{

	return (of(file)->log->pMethods->xSectorSize(of(file)->log));
}

static int
buffer_device(sqlite3_file *file)
{

	return (of(file)->log->pMethods->xDeviceCharacteristics(of(file)->log));
}

/* Version 1: a log has no shared memory and is not mapped into memory. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = buffer_close,
    .xRead = buffer_read,
    .xWrite = buffer_write,
    .xTruncate = buffer_truncate,
    .xSync = buffer_sync,
    .xFileSize = buffer_size,
    .xLock = buffer_lock,
    .xUnlock = buffer_unlock,
    .xCheckReservedLock = buffer_reserved,
    .xFileControl = buffer_control,
    .xSectorSize = buffer_sector,
    .xDeviceCharacteristics = buffer_device,
};

static int
buffer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
    int *ret_flags)
{
	struct wal_buffer *b = of(file);
	int code;

	(void)vfs;
	if ((flags & SQLITE_OPEN_WAL) == 0)
		return (parent->xOpen(parent, name, file, flags, ret_flags));
	memset(b, 0, sizeof(*b));
	b->log = (sqlite3_file *)(void *)(b + 1);
	b->data = mem_alloc(BUFFER_BYTES);
	if (b->data == NULL)
		return (SQLITE_NOMEM);
	code = parent->xOpen(parent, name, b->log, flags, ret_flags);
	if (code != SQLITE_OK) {
		mem_free(b->data);
		/* SQLite closes a file that has methods; this one is not
		 * open. */
		b->file.pMethods = NULL;
		return (code);
	}
	lock_init(&b->sync_lock, LOCK_SYNC);
	b->file.pMethods = &methods;
	return (SQLITE_OK);
}

static void
make(void)
{

	parent = sqlite3_vfs_find(NULL);
	if (parent == NULL)
		return;
	buffer_vfs = *parent;
	buffer_vfs.pNext = NULL;
	buffer_vfs.zName = NAME;
	buffer_vfs.szOsFile = (int)sizeof(struct wal_buffer) + parent->szOsFile;
	buffer_vfs.xOpen = buffer_open;
	(void)sqlite3_vfs_register(&buffer_vfs, 0);
}

const char *
wal_buffer_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, make);
	return (parent != NULL ? NAME : NULL);
}

sqlite3_file *
wal_buffer_find(sqlite3 *handle)
{
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER,
		&file) != SQLITE_OK ||
	    file == NULL || file->pMethods != &methods)
		return (NULL);
	return (file);
}

uint64_t
wal_buffer_defer_syncs(sqlite3_file *log, bool defer)
{

	of(log)->defer = defer;
	return (of(log)->deferred);
}
