/* SPDX-License-Identifier: MIT */
/*
 * The archive: purged rows, as lines of JSON in one file per day (UTC).  The
 * lines are on disk when archive_write() has returned RC_OK; only then does the
 * caller delete their rows.  If the process crashes before the deletion is
 * committed, the rows are archived again after the restart: a line may be in
 * the archive more than once, but none is lost.  Thread: any, but only one at a
 * time, because an archive has no lock.
 */
#ifndef UPKEEP_ARCHIVE_H
#define UPKEEP_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive;

/* Opens the folder ${dir} as an archive and creates it (0700), but not its
 * parents, if it does not exist.  After RC_OK the caller closes *ret with
 * archive_close(); after an error *ret is not set.  RC_DENIED: the process may
 * not create or open the folder, or may not write to it, or its file system is
 * read-only.  RC_NO_MEMORY: no memory.  Any other error: the result of
 * rc_of_opening(), such as RC_NOT_FOUND if the parent does not exist. */
enum rc archive_open(
    const char *dir, struct archive **ret, struct err *err) MUST_USE;

/* Closes it.  NULL is allowed. */
void archive_close(struct archive *a);

/* Adds a line (copied) to those that archive_write() will write. */
enum rc archive_add(
    struct archive *a, const char *json, size_t n, struct err *err) MUST_USE;

/* Appends the added lines to the file of the day (UTC) of ${now_ms}, waits
 * until they are on disk, and then drops them from memory.  Does nothing if
 * none was added.  RC_FULL: the disk is full; RC_IO: any other failure.  After
 * an error the file is cut back to its previous length, if possible, and the
 * lines stay in memory: the next archive_write() tries again, unless
 * archive_forget() is called before.  Blocks: disk. */
enum rc archive_write(
    struct archive *a, int64_t now_ms, struct err *err) MUST_USE;

/* Drops the added lines. */
void archive_forget(struct archive *a);

#endif
