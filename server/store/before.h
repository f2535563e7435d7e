/* SPDX-License-Identifier: MIT */
/*
 * A database as it is found, of this program's schema or of an older one.
 * Thread: the owner of ${db}.
 */
#ifndef STORE_BEFORE_H
#define STORE_BEFORE_H

#include <stdbool.h>

#include "db/db.h"

struct store_before {
	int schema;      /* 0: nothing has been made in it yet */
	int newest;      /* that this program knows */
	bool content;    /* it has users */
	char epoch[64];  /* "": none yet */
	int64_t last_id; /* of its outbox rows */
};

/* What there is.  RC_INVALID: it is of a newer program. */
enum rc store_before_get(
    struct db *db, struct store_before *ret, struct err *err) MUST_USE;

#endif
