/* SPDX-License-Identifier: MIT */
/*
 * See preflight.h.
 */
#include <string.h>

#include "schema/sql.h"
#include "upkeep/preflight.h"

static enum rc
on_row_content(void *arg, const struct db_row *row, struct err *err)
{
	struct preflight *b = arg;

	(void)row;
	(void)err;
	b->content = true;
	return (RC_OK);
}

static enum rc
on_row_epoch(void *arg, const struct db_row *row, struct err *err)
{
	struct preflight *b = arg;

	(void)err;
	db_row_copy_text(
	    row, COL_PREFLIGHT_EPOCH_VALUE, b->epoch, sizeof(b->epoch));
	return (RC_OK);
}

static enum rc
on_row_last_id(void *arg, const struct db_row *row, struct err *err)
{
	struct preflight *b = arg;

	(void)err;
	b->last_id = db_row_i64(row, COL_PREFLIGHT_LAST_ID_LAST_ID);
	return (RC_OK);
}

enum rc
preflight_get(struct db *db, struct preflight *ret, struct err *err)
{
	static const struct {
		int stmt;
		db_row_fn each;
	} questions[] = {{SQL_PREFLIGHT_CONTENT, on_row_content},
	    {SQL_PREFLIGHT_EPOCH, on_row_epoch},
	    {SQL_PREFLIGHT_LAST_ID, on_row_last_id}};
	struct preflight b;
	enum rc rc;
	int i;

	memset(&b, 0, sizeof(b));
	rc = db_schema_number(db, &b.schema, &b.newest, err);
	for (i = 0; i < 3 && rc == RC_OK && b.schema > 0; i++)
		rc = db_run(db, questions[i].stmt, NULL, 0, questions[i].each,
		    &b, NULL, err);
	if (rc == RC_OK)
		*ret = b;
	return (rc);
}
