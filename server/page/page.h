/* SPDX-License-Identifier: MIT */
/*
 * The pages for people with a browser: the chat page, the admin page and the
 * API reference.  They are files of web/ that the build makes part of the
 * program, each in up to three encodings.  Names are looked up in a table,
 * never in a file system. The table is constant, so all functions may be called
 * from any thread.  If the program was built without the pages, the handlers
 * answer 404.
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

/* Answers ${req} with the service worker of the chat.  If the operator does not
 * want a worker (${enabled} is false: the setting page-worker), answers with
 * one that removes itself and the data that an earlier worker has kept.
 * Thread: any. */
void page_worker(struct http_request *req, bool enabled);

/* Handler of GET /assets/{name}: answers with a file that the pages load.  The
 * names contain a hash of the content, so browsers may keep the files for ever.
 */
void page_asset(struct http_request *req, void *arg);

#endif
