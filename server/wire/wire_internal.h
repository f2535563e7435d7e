/* SPDX-License-Identifier: MIT */
/*
 * Functions that the files of this module share.
 */
#ifndef WIRE_WIRE_INTERNAL_H
#define WIRE_WIRE_INTERNAL_H

#include "wire/wire.h"

/* Allocates ${n} bytes that wire_doc_fini() frees with ${doc}.  NULL: no
 * memory. */
char *wire_doc_alloc(struct wire_doc *doc, size_t n);

/* Sets ${r} to a lack of memory.  Returns RC_NO_MEMORY. */
enum rc wire_no_memory(struct refusal *r);

/* Sets ${ret} to the JSON pointer ${parent}/${name}, with ~ and / in ${name}
 * escaped.  If that does not fit into ${ret}, sets ${ret} to ${parent}, which
 * is less exact but correct, or to "" if ${parent} does not fit either. */
void wire_pointer(
    char ret[REFUSAL_POINTER_SIZE], const char *parent, const char *name);

/* Makes ${r} a refusal with PROBLEM_BAD_REQUEST, the text that ${fmt} formats,
 * and the JSON pointer of the member at fault.  wire_pointer() makes this
 * pointer from ${parent}, the JSON pointer of the object, and ${name}, the name
 * of the member.  Returns RC_INVALID. */
enum rc wire_refuse(struct refusal *r, const char *parent, const char *name,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Sets ${ret} to the JSON text of ${object}, which the caller has checked to be
 * a flat object of at most LIMIT_METADATA_KEYS strings.  The members are in
 * byte order, so that the text does not depend on their order in ${object}.
 * The text ends with NUL and is freed with ${doc}.  If ${object} is {}, ${ret}
 * is not changed.  Returns RC_OK or RC_NO_MEMORY. */
enum rc wire_metadata_text(
    struct wire_doc *doc, json_t *object, struct span *ret) MUST_USE;

/* Writes the members of a problem document, without its braces. */
void wire_problem_members(struct buf *b, const struct refusal *r,
    const char *instance, const char *request_id);

#endif
