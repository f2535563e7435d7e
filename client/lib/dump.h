/* SPDX-License-Identifier: MIT */
/*
 * The only way by which the client writes JSON as text: for requests, frames,
 * its own files and its output.  Why not json_dumps(): jansson 2.14 ignores the
 * failure to write the name of a member, so that without memory json_dumps()
 * may return a text from which a name, or a quote, is missing.  dump_json()
 * returns NULL then.
 */
#ifndef LIB_DUMP_H
#define LIB_DUMP_H

#include <stddef.h>

#include <jansson.h>

/* Returns ${json} as NUL-terminated text, which the caller frees with
 * mem_free(), and stores its length in bytes, without the NUL, in *ret_n
 * (${ret_n} may be NULL).  ${flags} are those of json_dumps().  Returns NULL,
 * and does not set *ret_n, if ${json} is NULL, if it is neither an object nor
 * an array and ${flags} lacks JSON_ENCODE_ANY, or if memory runs out. */
char *dump_json(const json_t *json, size_t flags, size_t *ret_n);

#endif
