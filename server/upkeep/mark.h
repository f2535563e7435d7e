/* SPDX-License-Identifier: MIT */
/*
 * DATA/mark: how far the database has come, written beside it, so that one
 * which was put back by hand is told from the one that it replaces.  The
 * number is that of the newest outbox row of which it is certain that it is on
 * disk: rows are numbered in the order of their commits, and no number is used
 * twice.
 */
#ifndef UPKEEP_MARK_H
#define UPKEEP_MARK_H

#include <stdint.h>

#include "base/err.h"

#define MARK_EPOCH_LEN 32

struct mark {
	char epoch[MARK_EPOCH_LEN + 1];
	int64_t number;
};

/* What can be said of a database by its mark. */
enum mark_verdict {
	MARK_FITS,       /* it has come as far, or further */
	MARK_BEHIND,     /* what the mark has seen is not in it */
	MARK_OTHER_EPOCH /* they are of two different times or databases */
};

/* How ${database} stands to ${mark}. */
enum mark_verdict mark_compare(
    const struct mark *mark, const struct mark *database);

/* Reads the mark in folder ${dir_fd}.  RC_NOT_FOUND: there is none; RC_INVALID:
 * it is no mark (with a text).  Blocks: disk. */
enum rc mark_read(int dir_fd, struct mark *ret, struct err *err) MUST_USE;

/* Writes it: there is the old one or the new one at any moment, and the new one
 * is on disk afterwards.  Blocks: disk. */
enum rc mark_write(
    int dir_fd, const struct mark *mark, struct err *err) MUST_USE;

/* Takes it away, for a database that is being replaced; RC_OK where there is
 * none.  Blocks: disk. */
enum rc mark_remove(int dir_fd, struct err *err) MUST_USE;

#endif
