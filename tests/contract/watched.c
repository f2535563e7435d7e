/* SPDX-License-Identifier: MIT */
/*
 * Counts statements.  See watched.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "contract/watched.h"

static const char *wanted;
static int *count;

static int
on_statement(unsigned kind, void *arg, void *stmt, void *text)
{

	(void)kind;
	(void)arg;
	(void)text;
	*count += strstr(sqlite3_sql(stmt), wanted) != NULL;
	return (0);
}

static int
watch(sqlite3 *db, char **error, const void *api)
{

	(void)error;
	(void)api;
	return (sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, NULL));
}

void
watched_start(const char *text, int *n)
{

	wanted = text;
	count = n;
	assert_int_equal(
	    sqlite3_auto_extension((void (*)(void))watch), SQLITE_OK);
}

void
watched_stop(void)
{

	(void)sqlite3_cancel_auto_extension((void (*)(void))watch);
}
