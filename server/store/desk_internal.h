/* SPDX-License-Identifier: MIT */
/*
 * What the desk's files share: a page of ids chosen from a walk or from a set.
 */
#ifndef STORE_DESK_INTERNAL_H
#define STORE_DESK_INTERNAL_H

#include "store/desk.h"

/* The best ids met so far, in order: at most ${max}. */
struct desk_page {
	bool ascending;
	int64_t cursor; /* only ids beyond it */
	int64_t ids[DESK_PAGE];
	size_t n, max;
	int64_t looked; /* rows looked at */
	int64_t last;   /* the last of them */
};

/* An empty page of ${limit} and one more, to know whether there is more. */
void desk_page_init(
    struct desk_page *p, bool ascending, int64_t cursor, int64_t limit);

/* Puts ${id} into its place if it belongs to the page. */
void desk_page_add(struct desk_page *p, int64_t id);

/* Whether nothing that a walk in order may still meet belongs to it. */
bool desk_page_full(const struct desk_page *p);

/* Takes off the one too many; where to go on, 0: that was all.  ${walked}: it
 * came from a walk in order, which ${ended}. */
int64_t desk_page_next(struct desk_page *p, bool walked, bool ended);

/* A text column, NULL for NULL. */
const char *desk_text(const struct db_row *row, int col);

#endif
