/* SPDX-License-Identifier: MIT */
/*
 * All that the API shows the local users of a rig, as one text: inbox, cursors
 * and counts, devices, conversations with their history, outbox.  Read and
 * rendered by the functions that the API itself uses.
 */
#ifndef CONTRACT_SHOWN_H
#define CONTRACT_SHOWN_H

#include "base/buf.h"
#include "db/db.h"

/* Appends what each of ${n} users of ${db} is shown to ${out}; what cannot be
 * read any more is shown as its error. */
void shown_write(
    struct db *db, const int64_t *users, size_t n, struct buf *out);

#endif
