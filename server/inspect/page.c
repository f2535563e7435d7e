/* SPDX-License-Identifier: MIT */
/*
 * Pages of ids.  A walk reads an index in the page's order until the page is
 * full or the caller's limit of rows is reached.  A set is an index in another
 * order: the caller reads it completely, and of its ids behind the cursor those
 * that are first in the page's order stay in the page.  Both give the same
 * order, so one page may come from a set and the next from a walk, without a
 * gap.
 */
#include <string.h>

#include "inspect/inspect_internal.h"

void
inspect_page_init(
    struct inspect_page *p, bool ascending, int64_t cursor, int64_t limit)
{

	p->ascending = ascending;
	p->cursor = cursor;
	p->n = 0;
	p->max = (size_t)limit + 1;
	if (p->max > INSPECT_PAGE)
		p->max = INSPECT_PAGE;
	p->looked = 0;
	p->last = cursor;
}

static bool
is_before(const struct inspect_page *p, int64_t a, int64_t b)
{

	return (p->ascending ? a < b : a > b);
}

void
inspect_page_add(struct inspect_page *p, int64_t id)
{
	size_t at;

	if (!is_before(p, p->cursor, id))
		return;
	for (at = p->n; at > 0 && is_before(p, id, p->ids[at - 1]); at--)
		;
	if (at == p->max || (at > 0 && p->ids[at - 1] == id))
		return;
	if (p->n == p->max)
		p->n--;
	memmove(p->ids + at + 1, p->ids + at, (p->n - at) * sizeof(p->ids[0]));
	p->ids[at] = id;
	p->n++;
}

bool
inspect_page_full(const struct inspect_page *p)
{

	return (p->n == p->max);
}

int64_t
inspect_page_next(struct inspect_page *p, bool walked, bool ended)
{

	if (p->n == p->max) {
		p->n--;
		return (p->n > 0 ? p->ids[p->n - 1] : p->cursor);
	}
	return (walked && !ended ? p->last : 0);
}

const char *
inspect_text(const struct db_row *row, int col)
{
	size_t n;

	return (db_row_null(row, col) ? NULL : db_row_text(row, col, &n));
}
