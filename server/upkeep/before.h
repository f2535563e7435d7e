/* SPDX-License-Identifier: MIT */
/*
 * A database as it is found, of this program's schema or of an older one.
 * Thread: the owner of ${db}.
 */
#ifndef UPKEEP_BEFORE_H
#define UPKEEP_BEFORE_H

#include <stdbool.h>

#include "db/db.h"

struct before {
	int schema;      /* 0: nothing has been made in it yet */
	int newest;      /* that this program knows */
	bool content;    /* it has users */
	char epoch[64];  /* "": none yet */
	int64_t last_id; /* of its outbox rows */
};

/* What there is.  RC_INVALID: it is of a newer program. */
enum rc before_get(struct db *db, struct before *ret, struct err *err) MUST_USE;

#endif
