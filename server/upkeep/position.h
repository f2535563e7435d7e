/* SPDX-License-Identifier: MIT */
/*
 * The position of a database: its epoch, and the number of the newest outbox
 * row that is certainly on disk.  Rows are numbered in the order of their
 * commits, and no number is used twice.  The position is stored in the file
 * DATA/mark beside the database, so that a start detects that the database was
 * replaced by an older copy.
 */
#ifndef UPKEEP_POSITION_H
#define UPKEEP_POSITION_H

#include <stdint.h>

#include "base/err.h"

#define POSITION_EPOCH_LEN 32

struct position {
	char epoch[POSITION_EPOCH_LEN + 1];
	int64_t number;
};

/* A database, compared with its position file. */
enum position_relation {
	POSITION_FITS,       /* it is at this position or beyond */
	POSITION_BEHIND,     /* it lacks rows up to this position */
	POSITION_OTHER_EPOCH /* it has another history, or is another database
			      */
};

/* Compares ${database} with ${mark}, which was read from the file. */
enum position_relation position_compare(
    const struct position *mark, const struct position *database);

/* Reads the file in the folder ${dir_fd}.  RC_NOT_FOUND: the file does not
 * exist; RC_INVALID: it is not a position file, as ${err} says; else RC_IO, or
 * as rc_of_opening().  Blocks: disk. */
enum rc position_read(
    int dir_fd, struct position *ret, struct err *err) MUST_USE;

/* Replaces the file atomically: at any moment there is either the old or the
 * new one.  The new one is on disk when the function returns RC_OK.  RC_FULL:
 * the disk is full; else RC_IO, or as rc_of_opening().  Blocks: disk. */
enum rc position_write(
    int dir_fd, const struct position *mark, struct err *err) MUST_USE;

/* Removes the file, because the database is being replaced.  RC_OK if it does
 * not exist.  Blocks: disk. */
enum rc position_remove(int dir_fd, struct err *err) MUST_USE;

#endif
