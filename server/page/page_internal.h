/* SPDX-License-Identifier: MIT */
/*
 * The table that the build makes of web/, and what is tested by itself.
 */
#ifndef PAGE_PAGE_INTERNAL_H
#define PAGE_PAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* One file in one encoding.  The encodings of a file stand together, the best
 * first, the plain one last. */
struct page_file {
	const char *name; /* "index.html", or the last segment of its path */
	const char *type;
	const char *encoding; /* "br", "gzip", or "" for the plain one */
	const char *etag;
	const unsigned char *data;
	size_t len;
};

extern const struct page_file page_files[];
extern const size_t page_file_count; /* 0: built without the page */

/* Whether an Accept-Encoding header ${list} (may be NULL) lets ${coding} be
 * sent. */
bool page_accepts(const char *list, const char *coding);

/* The form of file ${name} for ${list}; NULL: there is no such file. */
const struct page_file *page_find(const char *name, const char *list);

#endif
