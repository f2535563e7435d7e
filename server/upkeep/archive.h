/* SPDX-License-Identifier: MIT */
/*
 * The archive: what is purged, as lines of JSON in one file a day (of UTC).
 * Lines are on disk before archive_write() returns, so that their rows may be
 * deleted then; a crash in between gives a line twice, never none.
 * Thread: one at a time.
 */
#ifndef UPKEEP_ARCHIVE_H
#define UPKEEP_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive;

/* Opens folder ${dir}, which is made if it is not there (0700). */
enum rc archive_open(
    const char *dir, struct archive **ret, struct err *err) MUST_USE;

/* Closes it.  NULL is allowed. */
void archive_close(struct archive *a);

/* Adds a line to what is to be written. */
enum rc archive_add(
    struct archive *a, const char *json, size_t n, struct err *err) MUST_USE;

/* Writes what was added at the end of the file of ${now_ms}'s day, all of it or
 * nothing, and waits until it is on disk.  RC_FULL: no room.  Blocks: disk. */
enum rc archive_write(
    struct archive *a, int64_t now_ms, struct err *err) MUST_USE;

/* Forgets what was added. */
void archive_forget(struct archive *a);

#endif
