/* SPDX-License-Identifier: MIT */
/*
 * Who a token belongs to, remembered so that a request costs no read.  A
 * revocation is forgotten here after its commit and before its answer; what a
 * reader found out before that is not put in afterwards (the generation).
 * Thread: any.
 */
#ifndef CHAT_AUTH_H
#define CHAT_AUTH_H

#include <stdbool.h>

#include "store/account.h"
#include "txn/publisher.h"

struct principal {
	int64_t user_id;
	int64_t device_id;
	struct uuid device;
	char name[LIMIT_ADDRESS_LEN + 1];
	bool admin;
};

struct auth;

/* The hash by which the token of ${n} bytes at ${text} is known.  False if it
 * does not even look like one. */
bool auth_token_hash(const char *text, size_t n, uint8_t ret[STORE_HASH_LEN]);

/* An empty memory; NULL: no memory. */
struct auth *auth_new(void);
void auth_free(struct auth *auth);

/* Whether the token with ${hash} is remembered, and whose it is. */
bool auth_find(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret);

/* The generation, to be read before asking the store. */
uint64_t auth_generation(struct auth *auth);

/* Remembers, unless something was forgotten since ${generation}. */
void auth_put(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    const struct principal *principal, uint64_t generation);

/* Forgets one token; all of them. */
void auth_forget(struct auth *auth, const uint8_t hash[STORE_HASH_LEN]);
void auth_forget_all(struct auth *auth);

/* Forgets tokens when their revocation, or a change of their user's rights, is
 * on disk. */
struct subscriber auth_subscriber(struct auth *auth);

/* Asks the store.  RC_NOT_FOUND: no valid token.  Thread: owner of ${db}. */
enum rc auth_load(struct db *db, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret, struct err *err) MUST_USE;

#endif
