/* SPDX-License-Identifier: MIT */
/*
 * Compares the schema of a database with that of a fresh one (PostgreSQL: with
 * the list in schema/postgres/catalogue.sql).  Reason: a trigger that an
 * operator has added runs with our statements, and if the unique index of the
 * table inbox is missing, an inbox may hold an event twice.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "schema/sql.h"
#include "upkeep/check.h"

#define WHAT "the schema is not that of this program"
/* Several times the number of objects in this program's schema. */
#define OBJECTS_MAX 2048

/* The objects of a schema in the order of their names ("table outbox"), each
 * with its definition.  Element i of names and definitions is the offset in
 * text of the name and the definition of object i. */
struct listing {
	struct buf text; /* names and definitions, each with its NUL */
	size_t n;
	size_t names[OBJECTS_MAX], definitions[OBJECTS_MAX];
};

/* Returns the position just after the SQL comment or quoted text (or name) that
 * begins at ${p}, or ${end} if its closing mark is missing; NULL if none begins
 * at ${p}.  Sets *ret_comment to true for a comment, to false otherwise. */
static const char *
piece_end(const char *p, const char *end, bool *ret_comment)
{
	const char *close = NULL;
	size_t n;

	*ret_comment = false;
	if (end - p >= 2 && memcmp(p, "--", 2) == 0) {
		*ret_comment = true;
		close = "\n";
	} else if (end - p >= 2 && memcmp(p, "/*", 2) == 0) {
		*ret_comment = true;
		close = "*/";
	} else if (*p == '\'' || *p == '"' || *p == '`') {
		p = memchr(p + 1, *p, (size_t)(end - p - 1));
		return (p != NULL ? p + 1 : end);
	} else if (*p == '[') {
		p = memchr(p, ']', (size_t)(end - p));
		return (p != NULL ? p + 1 : end);
	} else {
		return (NULL);
	}
	n = strlen(close);
	for (p += 2; end - p >= (ptrdiff_t)n; p++)
		if (memcmp(p, close, n) == 0)
			return (p + n);
	return (end);
}

/* Appends ${sql} with one blank for each run of comments and white space,
 * because another release may have other comments in the same schema. */
static void
add_plain(struct buf *out, const char *sql, size_t n)
{
	const char *end = sql + n, *next;
	bool comment, blank = false;

	while (sql < end) {
		next = piece_end(sql, end, &comment);
		if (next == NULL)
			next = sql + 1;
		if (comment || strchr(" \t\n\r\f", *sql) != NULL) {
			blank = true;
		} else {
			if (blank)
				buf_addc(out, ' ');
			blank = false;
			buf_add(out, sql, (size_t)(next - sql));
		}
		sql = next;
	}
}

static enum rc
on_row_object(void *arg, const struct db_row *row, struct err *err)
{
	struct listing *l = arg;
	const char *p;
	size_t n;

	if (l->n == OBJECTS_MAX)
		return (err_set(err, RC_INVALID,
		    "the schema has more than %d objects", OBJECTS_MAX));
	l->names[l->n] = l->text.len;
	p = db_row_text(row, COL_SCHEMA_OBJECT_OBJECT, &n);
	buf_add(&l->text, p != NULL ? p : "", n);
	buf_addc(&l->text, '\0');
	l->definitions[l->n++] = l->text.len;
	p = db_row_text(row, COL_SCHEMA_OBJECT_DEFINITION, &n);
	if (p != NULL)
		add_plain(&l->text, p, n);
	buf_addc(&l->text, '\0');
	return (RC_OK);
}

static enum rc
read_listing(struct db *db, int stmt, struct listing *l, struct err *err)
{
	enum rc rc;

	rc = db_run(db, stmt, NULL, 0, on_row_object, l, NULL, err);
	if (rc == RC_OK && !buf_ok(&l->text))
		rc = err_set(err, RC_NO_MEMORY, "the schema");
	return (rc);
}

static void
tell(check_found_fn found, void *arg, const char *name, const char *how)
{
	char place[256];

	(void)snprintf(place, sizeof(place), "%.200s%s", name, how);
	found(arg, WHAT, place);
}

static void
compare(const struct listing *has, const struct listing *fresh, int64_t limit,
    check_found_fn found, void *arg)
{
	const char *a, *b, *how;
	size_t i = 0, k = 0;
	int order;

	while ((i < has->n || k < fresh->n) && limit > 0) {
		a = i < has->n ? has->text.data + has->names[i] : NULL;
		b = k < fresh->n ? fresh->text.data + fresh->names[k] : NULL;
		order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a, b);
		how = order < 0   ? " is not one of its own"
		      : order > 0 ? " is missing"
		      : strcmp(has->text.data + has->definitions[i],
			    fresh->text.data + fresh->definitions[k]) != 0
			  ? " is another"
			  : NULL;
		if (how != NULL) {
			tell(found, arg, order <= 0 ? a : b, how);
			limit--;
		}
		i += order <= 0 ? 1 : 0;
		k += order >= 0 ? 1 : 0;
	}
}

enum rc
check_schema_run(struct db *db, int64_t limit, check_found_fn found, void *arg,
    struct err *err)
{
	static const struct listing empty = {.text = BUF_INIT};
	struct listing has = empty, fresh = empty;
	struct db *other = NULL;
	int number, newest;
	enum rc rc;

	rc = db_schema_number(db, &number, &newest, err);
	if (rc == RC_OK)
		rc = db_fresh(db, number, &other, err);
	if (rc == RC_OK)
		rc = read_listing(db, SQL_CHECK_SCHEMA, &has, err);
	if (rc == RC_OK)
		rc = read_listing(other != NULL ? other : db,
		    SQL_CHECK_SCHEMA_FRESH, &fresh, err);
	if (rc == RC_OK)
		compare(&has, &fresh, limit, found, arg);
	db_close(other);
	buf_fini(&has.text);
	buf_fini(&fresh.text);
	return (rc);
}
