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
	struct db_val v[STORE_TOTALS];
	const struct db_set set = {v, STORE_TOTALS, 1};
	int i;

	for (i = 0; i < STORE_TOTALS; i++)
		v[i] = db_v_i64(delta->n[i]);
	return (db_pipeline_write(db, SQL_TOTALS_ADD, &set, err));
}

static enum rc
take_totals(void *arg, const struct db_row *row, struct err *err)
{
	struct store_totals *t = arg;
	int i;

	(void)err;
	for (i = 0; i < STORE_TOTALS; i++)
		t->n[i] = db_row_i64(row, i);
	return (RC_OK);
}

enum rc
store_totals_get(struct db *db, struct store_totals *ret, struct err *err)
{

	memset(ret, 0, sizeof(*ret));
	return (
	    db_run(db, SQL_TOTALS_GET, NULL, 0, take_totals, ret, NULL, err));
}
