/* SPDX-License-Identifier: MIT */
/*
 * What the sends of a batch will make that has a name of its own: direct
 * conversations, people of other servers, and these (gather.c).
 */
#ifndef DOMAIN_GATHER_NAMES_H
#define DOMAIN_GATHER_NAMES_H

#include "store/conversation.h"
#include "store/writer.h"

struct ledger;

/* Begins zeroed. */
struct gather_names {
	char (*names)[STORE_DIRECT_KEY_SIZE];
	const char **list; /* of them */
	size_t n;
};

/* Lists in ${ret} what is missing in ${l}, which holds all else of ${units};
 * gather_names_free() even after an error.  Thread: writer. */
enum rc gather_names(const struct ledger *l, struct unit **units, size_t n,
    struct gather_names *ret, struct err *err) MUST_USE;

void gather_names_free(struct gather_names *names);

#endif
