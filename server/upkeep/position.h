/* SPDX-License-Identifier: MIT */
/*
 * The position of an SQLite database: its epoch (the name of its history, which
 * changes when commits may have been lost), and the number (id) of the newest
 * outbox row that is certainly on disk.  Outbox rows are numbered in the order
 * of their commits, and no number is used twice.  The position is stored in the
 * file DATA/mark, so that the next start of a server detects that the database
 * was replaced by an older copy or by another database.
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

/* Reads the file `mark` in the folder ${dir_fd} into *ret, which is set only if
 * RC_OK.  RC_NOT_FOUND: the file does not exist, and ${err} is not set.
 * RC_INVALID: its content is not a position; ${err} says why.  RC_IO: it cannot
 * be read.  If it exists but cannot be opened: as rc_of_opening().  Blocks:
 * disk. */
enum rc position_read(
    int dir_fd, struct position *ret, struct err *err) MUST_USE;

/* Writes ${mark} as a new file and renames it to `mark` in the folder
 * ${dir_fd}: at any moment there is the whole old file (or none, if none
 * existed) or the whole new one.  The new file is on disk when the function
 * returns RC_OK; after an error, `mark` may be the old file or the new one.
 * RC_FULL: the disk is full; else RC_IO, or as rc_of_opening() if the new file
 * cannot be created.  Blocks: disk. */
enum rc position_write(
    int dir_fd, const struct position *mark, struct err *err) MUST_USE;

/* Removes the file `mark` in the folder ${dir_fd}, for a caller that replaces
 * the database.  RC_OK: the file does not exist any more, or did not exist, and
 * this is on disk.  Blocks: disk. */
enum rc position_remove(int dir_fd, struct err *err) MUST_USE;

#endif
