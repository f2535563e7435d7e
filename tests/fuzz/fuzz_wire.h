/* SPDX-License-Identifier: MIT */
/*
 * Claims that hold for everything that server/wire writes, for the targets that
 * use it.
 */
#ifndef TESTS_FUZZ_FUZZ_WIRE_H
#define TESTS_FUZZ_FUZZ_WIRE_H

#include "fuzz/fuzz.h"
#include "model/message.h"

/* Claims that a client can read the refusal ${r}: a known problem, a JSON
 * pointer, a detail in valid UTF-8, and a problem document that is JSON and
 * says the same. */
void fuzz_refusal(const struct refusal *r);

/* Claims that ${b} is one JSON text, an object, which jansson can read.  The
 * caller releases it with json_decref(). */
json_t *fuzz_json(const struct buf *b);

/* Claims that ${d} keeps the promises of model/message.h, and that it is equal
 * after it was rendered as JSON and read again. */
void fuzz_draft(const struct message_draft *d);

#endif
