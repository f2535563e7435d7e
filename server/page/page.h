/* SPDX-License-Identifier: MIT */
/*
 * The pages for people with a browser: the chat page, the admin page and the
 * API reference, and the files that they load.  The build makes them from web/
 * and puts them into the program, each in three encodings (br, gzip, plain).
 * Names are looked up in a table, never in a file system.  The table is
 * constant, so all functions may be called from any thread.  If the program was
 * built without the pages, page_index() returns false, and the other functions
 * that answer a request answer 404.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>

#include "http/http.h"

/* Returns true if the program was built with the pages.  Thread: any. */
bool page_is_built(void);

/* Answers ${req} with the chat page.  Returns false, without an answer, if the
 * program was built without it.  Thread: any. */
bool page_index(struct http_request *req);

/* Handler of GET /admin: answers with the admin page, which needs no token.
 * Its data comes from /v1/admin, which needs one. */
void page_admin(struct http_request *req, void *arg);

/* Handler of GET /docs: answers with the API reference, which the build renders
 * from docs/openapi.yaml. */
void page_reference(struct http_request *req, void *arg);

/* Handler of GET /manifest.webmanifest: answers with the manifest that a
 * browser needs to install the chat. */
void page_manifest(struct http_request *req, void *arg);

/* Answers ${req} with the service worker of the chat.  If ${enabled} is false
 * (the operator has set page-worker to false), answers with another worker
 * instead: in the browser it replaces the installed worker, deletes the files
 * which that worker has cached, and unregisters itself.  Thread: any. */
void page_worker(struct http_request *req, bool enabled);

/* Handler of GET /assets/{name}: answers with a file that the pages load, or
 * with 404 if there is no such file.  The names contain a hash of the content,
 * so browsers may keep the files for a year without asking again. */
void page_asset(struct http_request *req, void *arg);

#endif
