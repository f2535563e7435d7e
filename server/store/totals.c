/* SPDX-License-Identifier: MIT */
/*
 * See totals.h.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/totals.h"

enum rc
store_totals_add(
    struct db *db, const struct store_totals *delta, struct err *err)
{
	const struct sql_totals_add v = {
#define X(id, column, COLUMN) .column = db_v_i64(delta->n[id]),
	    STORE_TOTALS_TABLE(X)
#undef X
	};

	return (db_pipeline_write(db, SQL_TOTALS_ADD, &DB_SET(&v, 1), err));
}

static enum rc
take_totals(void *arg, const struct db_row *row, struct err *err)
{
	struct store_totals *t = arg;

	(void)err;
#define X(id, column, COLUMN)                                                  \
	t->n[id] = db_row_i64(row, COL_TOTALS_GET_##COLUMN);
	STORE_TOTALS_TABLE(X)
#undef X
	return (RC_OK);
}

enum rc
store_totals_get(struct db *db, struct store_totals *ret, struct err *err)
{

	memset(ret, 0, sizeof(*ret));
	return (
	    db_run(db, SQL_TOTALS_GET, NULL, 0, take_totals, ret, NULL, err));
}
