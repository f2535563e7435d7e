/* SPDX-License-Identifier: MIT */
/*
 * A VFS for SQLite that coalesces the writes to the write-ahead log until xSync
 * and can defer the syncs of commits.  For the one connection that writes.
 *
 * A connection belongs to one thread.
 */
#ifndef WAL_BUFFER_WAL_BUFFER_H
#define WAL_BUFFER_WAL_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

/* How often a sync that a signal interrupts (EINTR) is repeated. */
#define WAL_BUFFER_INTERRUPTS 100

/* The name of the VFS, for sqlite3_open_v2(); NULL: SQLite has no VFS of its
 * own to put it on.  Thread: any. */
const char *wal_buffer_vfs(void);

/* The buffered log of the connection ${handle}; NULL: it was opened with
 * another VFS, or has no log.  SQLite owns it. */
sqlite3_file *wal_buffer_find(sqlite3 *handle);

/* From ${defer} on, an xSync of ${log} that ends a commit is deferred.  Returns
 * how many were deferred since the log was opened. */
uint64_t wal_buffer_defer_syncs(sqlite3_file *log, bool defer);

/* Makes the syncs of ${log} that were deferred.  Returns an SQLite result;
 * after a failure always the same one.  Thread: any, also while the owner of
 * the connection works. */
int wal_buffer_sync(sqlite3_file *log);

#endif
