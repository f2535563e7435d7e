/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of inspect: a page of ids, chosen from a walk or a set
 * (page.c).
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

/* Makes an empty page with room for ${limit} ids and one more, which shows
 * whether there is a next page; at most INSPECT_PAGE in all. */
void inspect_page_init(
    struct inspect_page *p, bool ascending, int64_t cursor, int64_t limit);

/* Inserts ${id} in its place if it belongs to the page. */
void inspect_page_add(struct inspect_page *p, int64_t id);

/* Returns whether a walk in the page's order can add nothing more to it. */
bool inspect_page_full(const struct inspect_page *p);

/* If the page is full, removes its last id, which only shows that there is a
 * next page.  Returns the cursor of the next page, or 0 if there is none.
 * ${walked}: the ids came from a walk in order; ${ended}: that walk reached its
 * end. */
int64_t inspect_page_next(struct inspect_page *p, bool walked, bool ended);

/* Returns a text column; NULL for an SQL NULL.  Borrowed from the row. */
const char *inspect_text(const struct db_row *row, int col);

#endif
