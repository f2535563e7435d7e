/* SPDX-License-Identifier: MIT */
/*
 * Everything that the API shows the local users of a rig, as one text: inbox,
 * cursors and counts, devices, conversations with their history, outbox.  The
 * functions that read and render are those of the API.
 */
#ifndef CONTRACT_SHOWN_H
#define CONTRACT_SHOWN_H

#include "base/buf.h"
#include "db/db.h"

/* Appends to ${out} what the API shows each of ${n} users of ${db}.  A value
 * that cannot be read appears as its error. */
void shown_write(
    struct db *db, const int64_t *users, size_t n, struct buf *out);

#endif
