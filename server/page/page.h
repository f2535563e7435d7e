/* SPDX-License-Identifier: MIT */
/*
 * The pages for people with a browser, the chat page and the admin page: files
 * of web/ that the build has made part of the program, each in up to three
 * encodings.  Names are looked up in a table; there is no file system behind
 * them.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>

#include "http/http.h"

/* Answers ${req} with the chat; false, without an answer, when the
 * program was built without it.  Thread: any. */
bool page_index(struct http_request *req);

/* Handler of GET /admin: the admin page, which needs no token; its data is
 * behind /v1/admin, which does. */
void page_admin(struct http_request *req, void *arg);

/* Handler of GET /manifest.webmanifest: what a browser needs to install the
 * chat. */
void page_manifest(struct http_request *req, void *arg);

/* Answers ${req} with the chat's service worker; if it is not ${enabled}, with
 * one that removes itself and what another has kept.  Thread: any. */
void page_worker(struct http_request *req, bool enabled);

/* Handler of GET /assets/{name}: what the pages load.  The names hold a hash
 * of the content, so that browsers may keep it for ever. */
void page_asset(struct http_request *req, void *arg);

#endif
