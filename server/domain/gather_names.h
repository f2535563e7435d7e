/* SPDX-License-Identifier: MIT */
/*
 * The names that a batch holds before its first row (gather.c): of people whose
 * accounts it changes, and of what its sends will make that is found by a name:
 * direct conversations, people of other servers, and these.
 */
#ifndef DOMAIN_GATHER_NAMES_H
#define DOMAIN_GATHER_NAMES_H

#include "engine/writer.h"
#include "store/conversation.h"

struct ledger;

/* Begins zeroed; gather_names_free() even after an error. */
struct gather_names {
	char (*names)[STORE_DIRECT_KEY_SIZE];
	const char **list; /* of them */
	size_t *units;     /* who needs each */
	size_t n;
};

/* Adds those of the accounts among ${units}; none of who is laid aside. */
enum rc gather_names_accounts(struct unit **units, size_t n,
    struct gather_names *names, struct err *err) MUST_USE;

/* Adds what is missing in ${l}, which holds all else of ${units}. */
enum rc gather_names_missing(const struct ledger *l, struct unit **units,
    size_t n, struct gather_names *names, struct err *err) MUST_USE;

/* What was listed is gone. */
void gather_names_free(struct gather_names *names);

#endif
