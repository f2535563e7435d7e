/* SPDX-License-Identifier: MIT */
/*
 * The epoch of the database: a name that is replaced when the database has
 * returned, or may have returned, to an earlier state, because it was restored
 * from a backup or a failover may have lost commits.  Clients then discard
 * their cursors, and other servers send again what may be missing.
 *
 * Thread: the owner of the connection.
 */
#ifndef STORE_EPOCH_H
#define STORE_EPOCH_H

#include "db/db.h"

/* Replaces the epoch by ${name}.  Called when the database has returned, or may
 * have returned, to an earlier state.  Also stores ${now_ms} as the time of the
 * change.  Runs in the caller's transaction, which the caller commits. */
enum rc store_epoch_renew(
    struct db *db, const char *name, int64_t now_ms, struct err *err) MUST_USE;

/* *ret: when the epoch was last renewed (ms, wall clock); 0: never. */
enum rc store_epoch_renewed_at(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

#endif
