/* SPDX-License-Identifier: MIT */
/*
 * The preflight check: a database as it is found, with this program's schema or
 * an older one, before anything is migrated or served.
 * Thread: the owner of ${db}.
 */
#ifndef UPKEEP_PREFLIGHT_H
#define UPKEEP_PREFLIGHT_H

#include <stdbool.h>

#include "db/db.h"

struct preflight {
	int schema;      /* its version; 0: the database is empty */
	int newest;      /* the version that this program knows */
	bool content;    /* it has users */
	char epoch[64];  /* "": none yet */
	int64_t last_id; /* of its outbox rows */
};

/* Reads ${ret}.  RC_INVALID: the schema is of a newer program. */
enum rc preflight_get(
    struct db *db, struct preflight *ret, struct err *err) MUST_USE;

#endif
