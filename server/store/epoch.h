/* SPDX-License-Identifier: MIT */
/*
 * The epoch of the database: a name that changes when the database has gone
 * back to an earlier state, because it was restored from a backup or a failover
 * lost commits.  Clients then forget their cursors, and other servers offer
 * again what may be missing.
 *
 * Thread: the owner of the connection.
 */
#ifndef STORE_EPOCH_H
#define STORE_EPOCH_H

#include "db/db.h"

/* Gives the database, which has gone back, the epoch ${name}, and notes the
 * time.  In the caller's transaction. */
enum rc store_epoch_renew(
    struct db *db, const char *name, int64_t now_ms, struct err *err) MUST_USE;

/* *ret: when the database last went back (ms, wall clock); 0: never. */
enum rc store_epoch_renewed_at(
    struct db *db, int64_t *ret, struct err *err) MUST_USE;

#endif
