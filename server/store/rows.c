/* SPDX-License-Identifier: MIT */
/*
 * See rows.h.
 */
#include "store/rows.h"
#include "base/mem.h"

static const struct {
	int stmt;
	size_t width;
} kinds[] = {
#define X(id, name)                                                            \
	{SQL_##id, sizeof(struct sql_##name) / sizeof(struct db_val)},
    STORE_ROWS_TABLE(X)
#undef X
};

bool
store_rows_init(struct store_rows *rows, enum store_rows_kind kind, size_t cap)
{

	rows->stmt = kinds[kind].stmt;
	rows->width = kinds[kind].width;
	rows->n = 0;
	rows->cap = cap;
	rows->changed = 0;
	rows->v = mem_zalloc(cap * rows->width, sizeof(*rows->v));
	return (rows->v != NULL);
}

void
store_rows_fini(struct store_rows *rows)
{

	mem_free(rows->v);
	rows->v = NULL;
}

enum rc
store_rows_grow(struct store_rows *rows, struct err *err)
{
	struct db_val *v = mem_realloc(
	    rows->v, 2 * rows->cap * rows->width * sizeof(*rows->v));

	if (v == NULL)
		return (err_set(err, RC_NO_MEMORY, "rows"));
	rows->v = v;
	rows->cap *= 2;
	return (RC_OK);
}

enum rc
store_rows_write(
    struct db *db, struct store_rows *rows, bool exact, struct err *err)
{
	const struct db_set set = {rows->v, rows->width, rows->n};
	int64_t changed = 0;
	enum rc rc;

	rows->n = 0;
	if (exact)
		return (db_pipeline_write(db, rows->stmt, &set, err));
	rc = db_exec_many(
	    db, rows->stmt, set.v, set.width, set.n, &changed, err);
	rows->changed += changed;
	return (rc);
}

enum rc
store_rows_next(struct db *db, struct store_rows *rows,
    enum store_rows_kind kind, void **ret, struct err *err)
{
	enum rc rc;

	assert(rows->stmt == kinds[kind].stmt);
	rc = RC_OK;
	if (rows->n == rows->cap)
		rc = store_rows_write(db, rows, false, err);
	*ret = rows->v + rows->n++ * rows->width;
	return (rc);
}

enum rc
store_run_ids(struct db *db, int stmt, const int64_t *ids, size_t n,
    db_row_fn each, void *arg, struct err *err)
{
	struct db_val *v;
	enum rc rc;
	size_t i;

	if (n == 0)
		return (RC_OK);
	if ((v = mem_zalloc(n, sizeof(*v))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "ids"));
	for (i = 0; i < n; i++)
		v[i] = db_v_i64(ids[i]);
	rc = db_run_many(db, stmt, &DB_SET(v, n), each, arg, err);
	mem_free(v);
	return (rc);
}
