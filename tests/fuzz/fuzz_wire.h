/* SPDX-License-Identifier: MIT */
/*
 * What holds for everything that server/wire says, for the targets that make
 * it speak.
 */
#ifndef TESTS_FUZZ_FUZZ_WIRE_H
#define TESTS_FUZZ_FUZZ_WIRE_H

#include "fuzz/fuzz.h"
#include "model/message.h"

/* ${r} is a refusal that a client can read: known problem, pointer, a detail
 * of valid UTF-8, and a problem document that is JSON and says the same. */
void fuzz_refusal(const struct refusal *r);

/* ${b} is one JSON text (an object) that jansson reads; the caller decrefs. */
json_t *fuzz_json(const struct buf *b);

/* ${d} keeps the promises of model/message.h and its JSON form means the same:
 * rendered and read again it is equal. */
void fuzz_draft(const struct message_draft *d);

#endif
