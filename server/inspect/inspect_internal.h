/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of server/inspect: a page of row ids (page.c).  The ids
 * come from a walk, which reads an index in the order of the page, or from a
 * set, which is an index of the rows of one kind, in any order.
 */
#ifndef INSPECT_INSPECT_INTERNAL_H
#define INSPECT_INSPECT_INTERNAL_H

#include "inspect/inspect.h"

/* The first ids so far in the page's order, at most ${max}. */
struct inspect_page {
	bool ascending;
	int64_t cursor; /* only ids after it, in the page's order */
	int64_t ids[INSPECT_PAGE];
	size_t n, max;
	int64_t looked; /* rows examined */
	int64_t last;   /* the id of the last of them */
};

/* Sets ${p} to an empty page with room for ${limit} ids and one more, which
 * shows whether there is a next page, but for at most INSPECT_PAGE ids in all.
 * The page takes only ids above ${cursor} if ${ascending}, else only ids below
 * it. */
void inspect_page_init(
    struct inspect_page *p, bool ascending, int64_t cursor, int64_t limit);

/* Inserts ${id} in its place if it belongs to the page. */
void inspect_page_add(struct inspect_page *p, int64_t id);

/* Returns whether a walk in the page's order can add nothing more to it. */
bool inspect_page_full(const struct inspect_page *p);

/* Returns the cursor of the next page, or 0 if there is none.  If the page is
 * full, removes its last id, which only shows that there is a next page; the
 * cursor is then the id before it.  If the page is not full, but its ids come
 * from a walk (${walked}) that stopped before the end of its index (not
 * ${ended}), the cursor is the last id that the walk examined. */
int64_t inspect_page_next(struct inspect_page *p, bool walked, bool ended);

/* Returns a text column; NULL for an SQL NULL.  Borrowed from the row. */
const char *inspect_text(const struct db_row *row, int col);

#endif
