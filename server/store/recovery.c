/* SPDX-License-Identifier: MIT */
/*
 * See recovery.h.
 */
#include <stdio.h>
#include <string.h>

#include "store/account.h"
#include "store/recovery.h"

#define ROW "booted_at"

static enum rc
migrate(struct db *db, const struct store_recovery *how, struct err *err)
{
	int from, to;

	if (how->migrate != NULL)
		return (how->migrate(how->arg, db, err));
	return (db_migrate(db, clk_wall_ms(how->clk), &from, &to, err));
}

/* Writes the boot row: the time, or one millisecond more if the row has that
 * time already. */
static enum rc
set_row(struct db *db, int64_t now_ms, struct err *err)
{
	char had[24] = "", now[24];
	enum rc rc;

	rc = store_meta_get(db, ROW, had, sizeof(had), err);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	(void)snprintf(now, sizeof(now), "%lld", (long long)now_ms);
	if (strcmp(now, had) == 0)
		(void)snprintf(now, sizeof(now), "%lld", (long long)now_ms + 1);
	return (store_meta_set(db, ROW, now, err));
}

static enum rc
write_row(struct db *db, const struct store_recovery *how, bool *ret_wait,
    struct err *err)
{
	enum rc rc;

	*ret_wait = false;
	if ((rc = db_begin(db, err)) != RC_OK)
		return (rc);
	if (how->enter != NULL)
		rc = how->enter(how->arg, db, ret_wait, err);
	if (rc == RC_OK && !*ret_wait)
		rc = set_row(db, clk_wall_ms(how->clk), err);
	if (rc == RC_OK && !*ret_wait)
		rc = db_commit(db, err);
	if (rc != RC_OK || *ret_wait)
		db_rollback(db);
	return (rc);
}

enum rc
store_recover(struct db *db, const struct store_recovery *how, struct err *err)
{
	bool wait;
	enum rc rc;

	if ((rc = db_checkpoint(db, true, NULL, err)) != RC_OK ||
	    (rc = migrate(db, how, err)) != RC_OK)
		return (rc);
	while ((rc = write_row(db, how, &wait, err)) == RC_OK && wait)
		how->rest(how->arg);
	return (rc);
}
