/* SPDX-License-Identifier: MIT */
/*
 * The archive: purged rows, as lines of JSON in one file per day (UTC).  Lines
 * are on disk when archive_write() has returned RC_OK, so their rows may be
 * deleted after it.  A crash in between leaves a line twice, and never loses
 * one.  Thread: one at a time.
 */
#ifndef UPKEEP_ARCHIVE_H
#define UPKEEP_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive;

/* Opens the folder ${dir} and creates it (0700), but not its parents, if it
 * does not exist.  RC_DENIED: it may not be written to; else RC_NO_MEMORY or as
 * rc_of_opening(). */
enum rc archive_open(
    const char *dir, struct archive **ret, struct err *err) MUST_USE;

/* Closes it.  NULL is allowed. */
void archive_close(struct archive *a);

/* Adds a line (copied) to those that archive_write() will write. */
enum rc archive_add(
    struct archive *a, const char *json, size_t n, struct err *err) MUST_USE;

/* Appends the added lines to the file of ${now_ms}'s day and waits until they
 * are on disk.  RC_FULL: the disk is full; RC_IO: any other failure.  After an
 * error the file is cut back to its length before, if possible, and the lines
 * stay for another try.  Blocks: disk. */
enum rc archive_write(
    struct archive *a, int64_t now_ms, struct err *err) MUST_USE;

/* Drops the added lines. */
void archive_forget(struct archive *a);

#endif
