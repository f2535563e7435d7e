/* SPDX-License-Identifier: MIT */
/*
 * The table of files that the build makes from web/, and the functions of
 * page.c that are declared for the unit tests, too.
 */
#ifndef PAGE_PAGE_INTERNAL_H
#define PAGE_PAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* One file in one encoding.  The encodings of a file are neighbours in the
 * table, in the order br, gzip, plain. */
struct page_file {
	const char *name; /* "index.html", or the last segment of its path */
	const char *type;
	const char *encoding; /* "br", "gzip", or "" for plain */
	const char *etag;
	const unsigned char *data;
	size_t len;
};

extern const struct page_file page_files[];
extern const size_t page_file_count; /* 0: built without the page */

/* Returns true if the Accept-Encoding header ${list}, which may be NULL, allows
 * ${coding}. */
bool page_accepts(const char *list, const char *coding);

/* Returns the entry of file ${name} with the first encoding in the table that
 * page_accepts() allows for ${list}, the Accept-Encoding header or NULL.  Plain
 * is always allowed.  Returns NULL if there is no such file. */
const struct page_file *page_find(const char *name, const char *list);

#endif
