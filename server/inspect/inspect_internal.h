/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of inspect: a page of ids chosen from a walk or a set.
 */
#ifndef INSPECT_INSPECT_INTERNAL_H
#define INSPECT_INSPECT_INTERNAL_H

#include "inspect/inspect.h"

/* The best ids met so far, in order: at most ${max}. */
struct inspect_page {
	bool ascending;
	int64_t cursor; /* only ids beyond it */
	int64_t ids[INSPECT_PAGE];
	size_t n, max;
	int64_t looked; /* rows looked at */
	int64_t last;   /* the last of them */
};

/* An empty page of ${limit} and one more, to know whether there is more. */
void inspect_page_init(
    struct inspect_page *p, bool ascending, int64_t cursor, int64_t limit);

/* Puts ${id} into its place if it belongs to the page. */
void inspect_page_add(struct inspect_page *p, int64_t id);

/* Whether nothing that a walk in order may still meet belongs to it. */
bool inspect_page_full(const struct inspect_page *p);

/* Takes off the one too many; where to go on, 0: that was all.  ${walked}: it
 * came from a walk in order, which ${ended}. */
int64_t inspect_page_next(struct inspect_page *p, bool walked, bool ended);

/* A text column, NULL for NULL. */
const char *inspect_text(const struct db_row *row, int col);

#endif
