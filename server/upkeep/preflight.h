/* SPDX-License-Identifier: MIT */
/*
 * Preflight: reads from a database the schema number, the epoch (the name of
 * the database's history), the highest outbox id and whether there are users,
 * before anything is migrated or served, so that the caller can refuse the
 * database.  The database may be empty, or have this program's schema or an
 * older one; a newer schema is an error.  Thread: the owner of ${db}.
 */
#ifndef UPKEEP_PREFLIGHT_H
#define UPKEEP_PREFLIGHT_H

#include <stdbool.h>

#include "db/db.h"

struct preflight {
	int schema;      /* version of the schema; 0: the database is empty */
	int newest;      /* the version that this program knows */
	bool content;    /* the database has users */
	char epoch[64];  /* "": no epoch yet */
	int64_t last_id; /* the highest id of an outbox row */
};

/* Reads the state of ${db}.  RC_INVALID: the schema is of a newer program. */
enum rc preflight_get(
    struct db *db, struct preflight *ret, struct err *err) MUST_USE;

#endif
