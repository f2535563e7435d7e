/* SPDX-License-Identifier: MIT */
/*
 * A VFS for SQLite that coalesces the writes to the write-ahead log until xSync
 * and can defer the syncs of commits.  Only the connection that writes uses it,
 * and only with synchronous=FULL.  A connection belongs to one thread, which
 * alone may call the functions here, except wal_buffer_vfs() and
 * wal_buffer_sync(), which any thread may call.
 */
#ifndef WAL_BUFFER_WAL_BUFFER_H
#define WAL_BUFFER_WAL_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

/* The most tries of a sync that signals interrupt (EINTR). */
#define WAL_BUFFER_INTERRUPTS 100

/* Returns the name of the VFS, for sqlite3_open_v2(), and registers it at the
 * first call.  Returns NULL if SQLite has no default VFS to build on.  Thread:
 * any. */
const char *wal_buffer_vfs(void);

/* Returns the file of the write-ahead log of the connection ${handle}.  SQLite
 * owns the file, and closes it at the latest with the connection.  Returns NULL
 * if the connection was opened with another VFS or has no log open. */
sqlite3_file *wal_buffer_find(sqlite3 *handle);

/* Sets whether, from now on, the xSync at the end of a commit only writes the
 * buffer of ${log} to the kernel and leaves the sync to wal_buffer_sync().  The
 * xSync after the header of a new log was written always syncs.  The caller
 * must set ${defer} for commits only, not for checkpoints.  Returns the number
 * of syncs that were deferred since the log was opened. */
uint64_t wal_buffer_defer_syncs(sqlite3_file *log, bool defer);

/* Syncs ${log} for the commits whose syncs were deferred.  Returns an SQLite
 * result code; after a failure it makes no sync and returns the same code
 * again, for as long as the log is open.  Blocks: on the disk.  Thread: any,
 * also while the thread of the connection works. */
int wal_buffer_sync(sqlite3_file *log);

#endif
