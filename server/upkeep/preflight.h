/* SPDX-License-Identifier: MIT */
/*
 * The preflight check: reads the state of a database, with this program's
 * schema or an older one, before anything is migrated or served.  Thread: the
 * owner of ${db}.
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
