/* SPDX-License-Identifier: MIT */
/*
 * The page for people with a browser: files of web/ that the build has made
 * part of the program, each in up to three encodings.  Names are looked up in
 * a table; there is no file system behind them.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>

#include "http/http.h"

/* Answers ${req} with the page itself; false, without an answer, when the
 * program was built without it.  Thread: any. */
bool page_index(struct http_request *req);

/* Handler of GET /assets/{name}: what the page loads.  The names hold a hash
 * of the content, so that browsers may keep it for ever. */
void page_asset(struct http_request *req, void *arg);

#endif
