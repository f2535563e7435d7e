/* SPDX-License-Identifier: MIT */
/*
 * See copy.h.  Each table has two statements of its own, one that reads and one
 * that writes, instead of statements that are made at run time from the list of
 * columns in the database's catalogue.  So SQL can express where SQLite and
 * PostgreSQL differ (a counter that one stores and the other computes), and
 * types are checked when a statement is prepared.  A test compares the
 * statements with the catalogues, so that no table or column is forgotten
 * (tests/postgres/copy.test.mjs).
 */
#include "upkeep/copy.h"

#include <string.h>

#include "base/fault.h"
#include "base/mem.h"
#include "schema/sql.h"

#define BATCH_ROWS 500
/* The largest row is a message, with its text and metadata. */
#define BATCH_BYTES (1024 * 1024)

static const struct table {
	const char *name;
	const char *columns;
	int get, put;
} tables[] = {
#define X(id, name, columns)                                                   \
	{#name, columns, SQL_COPY_##id##_GET, SQL_COPY_##id##_PUT},
    STORE_COPY_TABLE(X)
#undef X
};

/* Checks at compile time that each table has a letter for each column that is
 * read and for each parameter that is written. */
#define X(id, name, columns)                                                   \
	_Static_assert(sizeof(columns) - 1 == COLS_COPY_##id##_GET &&          \
			   sizeof(struct sql_copy_##name##_put) ==             \
			       (sizeof(columns) - 1) * sizeof(struct db_val),  \
	    #name);
STORE_COPY_TABLE(X)
#undef X

/* The rows that are being copied. */
struct batch {
	struct db *to;
	const struct table *table;
	size_t width;
	size_t n;
	int64_t before; /* rows of the table that were written before */
	struct db_val *v;
	char *bytes; /* what values point to */
	size_t used;
};

const char *
copy_name(enum copy_table table)
{

	return (tables[table].name);
}

int64_t
copy_born_with(enum copy_table table)
{

	/* The row that stands for all destinations, and the local one. */
	return (table == STORE_COPY_DESTINATIONS ? 2 : 0);
}

static enum rc
on_row_count(void *arg, const struct db_row *row, struct err *err)
{
	int64_t *counts = arg, table = db_row_i64(row, COL_COPY_COUNTS_NUMBER);

	if (table < 0 || table >= STORE_COPY_TABLES)
		return (err_set(err, RC_INTERNAL, "a count of no table"));
	counts[table] = db_row_i64(row, COL_COPY_COUNTS_COUNT);
	return (RC_OK);
}

enum rc
copy_counts(struct db *db, int64_t ret[STORE_COPY_TABLES], struct err *err)
{
	enum rc rc;
	size_t i;

	for (i = 0; i < STORE_COPY_TABLES; i++)
		ret[i] = -1;
	rc = db_run(db, SQL_COPY_COUNTS, NULL, 0, on_row_count, ret, NULL, err);
	for (i = 0; i < STORE_COPY_TABLES && rc == RC_OK; i++)
		if (ret[i] < 0)
			rc = err_set(err, RC_INTERNAL, "%s was not counted",
			    tables[i].name);
	return (rc);
}

enum rc
copy_alone(struct db *to, struct err *err)
{

	return (db_run(to, SQL_COPY_ALONE, NULL, 0, NULL, NULL, NULL, err));
}

/* ---- rows ---- */

static enum rc
write_batch(struct batch *b, struct err *err)
{
	enum rc rc;

	FAULT("copy.batch.before");
	rc =
	    db_exec_many(b->to, b->table->put, b->v, b->width, b->n, NULL, err);
	if (rc != RC_OK)
		return (err_wrap(err, "%s, rows from the %lldth",
		    b->table->name, (long long)b->before + 1));
	b->before += (int64_t)b->n;
	b->n = b->used = 0;
	return (RC_OK);
}

/* Sets *ret to the value of column ${col} of ${row}.  The bytes of a text or
 * blob are copied into the batch, because those of the row are valid only
 * during the callback.  RC_LIMIT: the batch has no room for them.  RC_INVALID:
 * the text has a NUL, and the target is PostgreSQL, which cannot hold it. */
static enum rc
keep(struct batch *b, const struct db_row *row, size_t col, struct db_val *ret,
    struct err *err)
{
	bool text = b->table->columns[col] == 't';
	const void *p;
	size_t n;

	if (db_row_null(row, (int)col)) {
		*ret = DB_V_NULL;
		return (RC_OK);
	}
	if (b->table->columns[col] == 'i') {
		*ret = db_v_i64(db_row_i64(row, (int)col));
		return (RC_OK);
	}
	p = text ? db_row_text(row, (int)col, &n)
		 : db_row_blob(row, (int)col, &n);
	if (n > BATCH_BYTES - b->used)
		return (RC_LIMIT);
	if (text && n > 0 && db_multi_writer(b->to) &&
	    memchr(p, '\0', n) != NULL)
		return (err_set(err, RC_INVALID,
		    "%s, row %lld, column %zu: a text with a NUL, which "
		    "PostgreSQL cannot hold",
		    b->table->name, (long long)b->before + (long long)b->n + 1,
		    col + 1));
	if (n > 0)
		memcpy(b->bytes + b->used, p, n);
	*ret = text ? db_v_text(b->bytes + b->used, n)
		    : db_v_blob(b->bytes + b->used, n);
	b->used += n;
	return (RC_OK);
}

/* Copies ${row} into the batch.  RC_LIMIT: the batch has no room. */
static enum rc
keep_row(struct batch *b, const struct db_row *row, struct err *err)
{
	enum rc rc = RC_OK;
	size_t col;

	if (b->n == BATCH_ROWS)
		return (RC_LIMIT);
	for (col = 0; col < b->width && rc == RC_OK; col++)
		rc = keep(b, row, col, &b->v[b->n * b->width + col], err);
	b->n += rc == RC_OK ? 1 : 0;
	return (rc);
}

static enum rc
on_row(void *arg, const struct db_row *row, struct err *err)
{
	struct batch *b = arg;
	enum rc rc;

	rc = keep_row(b, row, err);
	if (rc != RC_LIMIT)
		return (rc);
	if (b->n > 0 && (rc = write_batch(b, err)) != RC_OK)
		return (rc);
	rc = keep_row(b, row, err);
	return (rc == RC_LIMIT ? err_set(err, RC_INVALID,
				     "%s, row %lld: larger than any row may be",
				     b->table->name, (long long)b->before + 1)
			       : rc);
}

static enum rc
copy_table(struct db *from, struct batch *b, struct err *err)
{
	enum rc rc;

	b->width = strlen(b->table->columns);
	b->n = b->used = 0;
	b->before = 0;
	rc = db_run(from, b->table->get, NULL, 0, on_row, b, NULL, err);
	return (rc == RC_OK && b->n > 0 ? write_batch(b, err) : rc);
}

/* ---- the last numbers ---- */

static enum rc
on_row_number(void *arg, const struct db_row *row, struct err *err)
{
	struct db *to = arg;
	struct sql_copy_numbers_put v;
	const char *name;
	int64_t changed;
	enum rc rc;
	size_t n;

	name = db_row_text(row, COL_COPY_NUMBERS_GET_NAME, &n);
	v.name = db_v_text(name, n);
	v.last = db_v_i64(db_row_i64(row, COL_COPY_NUMBERS_GET_LAST));
	rc = db_run(
	    to, SQL_COPY_NUMBERS_PUT, DB_PARAMS(v), NULL, NULL, &changed, err);
	/* SQLite continues after its highest numbers by itself. */
	if (rc == RC_OK && db_multi_writer(to) && changed != 1)
		rc = err_set(err, RC_INTERNAL, "there is no sequence %.*s",
		    (int)n, name);
	return (rc);
}

static size_t
widest(void)
{
	size_t i, n, most = 0;

	for (i = 0; i < STORE_COPY_TABLES; i++) {
		n = strlen(tables[i].columns);
		most = n > most ? n : most;
	}
	return (most);
}

enum rc
copy_rows(struct db *from, struct db *to, struct err *err)
{
	struct batch b = {.to = to};
	enum rc rc;
	size_t i;

	b.v = mem_zalloc(BATCH_ROWS * widest(), sizeof(*b.v));
	b.bytes = mem_alloc(BATCH_BYTES);
	rc = b.v == NULL || b.bytes == NULL
		 ? err_set(err, RC_NO_MEMORY, "copy")
		 : db_run(to, SQL_COPY_CLEAR, NULL, 0, NULL, NULL, NULL, err);
	for (i = 0; i < STORE_COPY_TABLES && rc == RC_OK; i++) {
		b.table = &tables[i];
		rc = copy_table(from, &b, err);
	}
	if (rc == RC_OK)
		rc = db_run(from, SQL_COPY_NUMBERS_GET, NULL, 0, on_row_number,
		    to, NULL, err);
	if (rc == RC_OK)
		rc = db_run(
		    to, SQL_COPY_ANALYZE, NULL, 0, NULL, NULL, NULL, err);
	mem_free(b.bytes);
	mem_free(b.v);
	return (rc);
}

enum rc
copy_rescue(struct db *db, int64_t now_ms, struct err *err)
{
	const struct db_val now = db_v_i64(now_ms);
	const struct {
		int stmt;
		size_t n; /* parameters: ${now}, or none */
	} steps[] = {{SQL_COPY_RESCUE_ATTEMPTS, 1}, {SQL_COPY_RESCUE_TOTALS, 0},
	    {SQL_COPY_RESCUE_ROWS, 1}, {SQL_COPY_RESCUE_LANES, 1}};
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == RC_OK; i++)
		rc = db_run(
		    db, steps[i].stmt, &now, steps[i].n, NULL, NULL, NULL, err);
	return (rc);
}
