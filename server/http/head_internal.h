/* SPDX-License-Identifier: MIT */
/*
 * Reading and checking the head of a request (target.c, validator.c).
 */
#ifndef HTTP_HEAD_INTERNAL_H
#define HTTP_HEAD_INTERNAL_H

#include <stdbool.h>

#include "http/request_internal.h"

/* A request line longer than this is refused; browsers stop at about 8 KiB. */
#define TARGET_LEN_MAX 8192
#define HEADERS_MAX 100

/* Copies and decodes the raw target; a refusal goes into ${req}. */
void target_read(struct http_request *req, const char *raw);

/* Whether ${c} can be part of a method or of a header's name. */
bool validator_token_char(unsigned char c);

/* Checks method, version and headers, and fills ${req}->head.known.  Refuses
 * what is ambiguous: sets refused and close of ${req}->answer. */
void validator_check(
    struct http_request *req, const char *method, const char *version);

/* Whether ${content_type} suits a route of JSON, or of any ${text}. */
bool validator_media_ok(const char *content_type, bool text);

/* Whether comma-separated ${list} contains ${token}, ignoring case. */
bool validator_list_has(const char *list, const char *token);

#endif
