/* SPDX-License-Identifier: MIT */
/*
 * A cache of tokens and their owners, so that a request with a cached token
 * needs no read of the store.  A token that is revoked, or whose user gains or
 * loses the rights of an administrator, is removed after the commit of that
 * change and before the answer to the request that made it; on other nodes,
 * when a note about the commit arrives, or else at the node's next recheck,
 * which every node makes every few seconds and which empties its whole cache
 * (cluster/recheck.c).  A thread that read the owner from the store before the
 * change must not add the token to the cache after the removal; auth_put()
 * detects this by the generation, a counter of removals.
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

/* Sets ${ret} to the hash of the token of ${n} bytes at ${text}.  Returns false
 * if the text does not have the form of a token. */
bool auth_token_hash(const char *text, size_t n, uint8_t ret[STORE_HASH_LEN]);

/* Returns an empty cache, or NULL if there is no memory. */
struct auth *auth_new(void);
void auth_free(struct auth *auth);

/* Returns true and sets ${ret} to the owner if the token with ${hash} is in the
 * cache. */
bool auth_find(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret);

/* Returns the generation.  Read it before auth_load() and pass it to
 * auth_put(). */
uint64_t auth_generation(struct auth *auth);

/* Adds a token and a copy of ${principal}; a cache that holds 65,536 tokens
 * (AUTH_MAX) is emptied first.  Adds nothing if auth_forget() or
 * auth_forget_all() was called, for any token, since auth_generation() returned
 * ${generation}, or if there is no memory, or the cache has the token already.
 */
void auth_put(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    const struct principal *principal, uint64_t generation);

/* Remove one token, and all tokens. */
void auth_forget(struct auth *auth, const uint8_t hash[STORE_HASH_LEN]);
void auth_forget_all(struct auth *auth);

/* Returns a subscriber for publisher_add() (txn/publisher.h).  It is called
 * when a transaction of this node is on disk, and removes from ${auth} the
 * tokens that the transaction revoked, or whose user gained or lost the rights
 * of an administrator. */
struct subscriber auth_subscriber(struct auth *auth);

/* Reads the owner of a token from the store.  RC_NOT_FOUND: the token is
 * unknown or revoked, or its user is disabled.
 * Thread: owner of ${db}. */
enum rc auth_load(struct db *db, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret, struct err *err) MUST_USE;

#endif
