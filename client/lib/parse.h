/* SPDX-License-Identifier: MIT */
/*
 * The only way by which JSON enters the client, from a server or from the
 * client's own files.  It uses the server's parser (wire/parse.c), which limits
 * the depth and the number of values.  So no text of a broken or hostile server
 * or a damaged file can exhaust the stack, and a text can exhaust the memory
 * only if it is itself long.
 */
#ifndef LIB_PARSE_H
#define LIB_PARSE_H

#include <stddef.h>

#include <jansson.h>

#include "base/rc.h"
#include "lib/fail.h"

/* The largest number of values in one text.  A page of the server, whose JSON
 * is limited to 1 MiB (LIMIT_PAGE_BYTES), has fewer. */
#define PARSE_VALUES_MOST 1000000

/* Parses the ${n} bytes at ${text}, a JSON object or array, into *ret, which
 * the caller decrefs.  Refuses other values, invalid JSON, repeated members,
 * NUL characters, numbers beyond 64 bits, more than LIMIT_JSON_DEPTH levels,
 * and more than PARSE_VALUES_MOST values.  Returns RC_OK, RC_PEER (refused) or
 * RC_NO_MEMORY.  On failure *ret is NULL and ${fail} is filled.  After RC_PEER,
 * the text in ${fail} is ${what} (a text of the caller that names the source,
 * such as the path of a file), a colon, and the reason, with the line and
 * column in the JSON if known.  Thread: any. */
enum rc parse_json(const char *what, const char *text, size_t n, json_t **ret,
    struct fail *fail) MUST_USE;

#endif
