/* SPDX-License-Identifier: MIT */
/*
 * Reads and checks the head of a request (target.c, validator.c).
 */
#ifndef HTTP_HEAD_INTERNAL_H
#define HTTP_HEAD_INTERNAL_H

#include <stdbool.h>

#include "http/request_internal.h"

/* The longest request target, in bytes.  RFC 9112, 3, recommends to support
 * request lines of at least 8000. */
#define TARGET_LEN_MAX 8192
#define HEADERS_MAX 100

/* Copies the raw target ${raw} into ${req}->head, and decodes its path and its
 * query there.  If the target is malformed, is longer than TARGET_LEN_MAX, or
 * has too many parameters, marks ${req} as refused (400).  If memory runs out,
 * sets ${req}->answer.no_memory, by which access_head() later answers 503. */
void target_read(struct http_request *req, const char *raw);

/* Returns true if ${c} may be part of a method or of a header's name. */
bool validator_token_char(unsigned char c);

/* Checks the method, the version and the headers.  Sets head.method,
 * head.known, body.present, and head.client if the peer is a believed proxy.
 * If a check fails, also marks ${req} as refused (request_refuse()) and sets
 * answer.close; head.known may then lack headers. */
void validator_check(
    struct http_request *req, const char *method, const char *version);

/* Returns true if ${content_type} is application/json.  With ${text}, also
 * returns true for text with any subtype, application/x-www-form-urlencoded,
 * and NULL (no Content-Type).  The type may have one parameter: charset=utf-8
 * or, with ${text}, charset=us-ascii; any other parameter makes the result
 * false.  Ignores case. */
bool validator_media_ok(const char *content_type, bool text);

/* Returns true if the comma-separated ${list} contains ${token}, ignoring case.
 * ${list} may be NULL. */
bool validator_list_has(const char *list, const char *token);

#endif
