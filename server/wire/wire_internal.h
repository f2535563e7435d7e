/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share and nobody else sees.
 */
#ifndef WIRE_WIRE_INTERNAL_H
#define WIRE_WIRE_INTERNAL_H

#include "wire/wire.h"

/* ${n} bytes that live as long as ${doc}; NULL: no memory. */
char *wire_doc_alloc(struct wire_doc *doc, size_t n);

/* Makes ${r} say that memory is short.  Returns RC_NO_MEMORY. */
enum rc wire_no_memory(struct refusal *r);

/* Makes ${ret} the pointer ${parent}/${name} with ~ and / escaped; when it
 * does not fit, ${parent}, which is less exact but true. */
void wire_pointer(
    char ret[REFUSAL_POINTER_SIZE], const char *parent, const char *name);

/* Refuses a frame or object in which ${name} below ${parent} is at fault. */
enum rc wire_refuse(struct refusal *r, const char *parent, const char *name,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Makes ${ret} the text of ${object}, a flat object of at most
 * LIMIT_METADATA_KEYS texts: its members in byte order, so that the text does
 * not depend on how the writer sorted them.  It ends with NUL and lives as long
 * as ${doc}.  {} leaves ${ret} alone.  RC_OK or RC_NO_MEMORY. */
enum rc wire_metadata_text(
    struct wire_doc *doc, json_t *object, struct span *ret) MUST_USE;

/* The members of a problem document, without its braces. */
void wire_problem_members(struct buf *b, const struct refusal *r,
    const char *instance, const char *request_id);

#endif
