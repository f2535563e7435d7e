/* SPDX-License-Identifier: MIT */
/*
 * The audit log: what operators have done, and changes of the signing keys and
 * epochs (names of the history of a database) of other servers.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "db/db.h"

/* An action of an operator.  Longer texts are truncated to what the columns
 * hold. */
struct store_audit {
	const char *actor;
	const char *action;
	const char *object;
	const char *detail; /* NULL: none */
};
enum rc store_audit_insert(struct db *db, const struct store_audit *a,
    int64_t now_ms, struct err *err) MUST_USE;

#endif
