/* SPDX-License-Identifier: MIT */
/*
 * See epoch.h.  The epoch and the time are rows of the table meta.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/account.h"
#include "store/epoch.h"

#define RENEWED_AT "epoch_renewed_at"

enum rc
store_epoch_renew(
    struct db *db, const char *name, int64_t now_ms, struct err *err)
{
	char text[24];
	enum rc rc;

	(void)snprintf(text, sizeof(text), "%lld", (long long)now_ms);
	rc = store_meta_set(db, "epoch", name, err);
	return (rc == RC_OK ? store_meta_set(db, RENEWED_AT, text, err) : rc);
}

enum rc
store_epoch_renewed_at(struct db *db, int64_t *ret, struct err *err)
{
	char text[24];
	enum rc rc;

	*ret = 0;
	rc = store_meta_get(db, RENEWED_AT, text, sizeof(text), err);
	if (rc == RC_OK)
		*ret = strtoll(text, NULL, 10);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}
