/* SPDX-License-Identifier: MIT */
/*
 * See auth.h.  One table under one lock, which is held only to find, add or
 * remove a token, to empty the table, or to read the generation.
 */
#include <string.h>

#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "chat/auth.h"
#include "crypt/crypt.h"

/* The table is emptied when it holds this number of tokens. */
#define AUTH_MAX 65536

struct auth {
	struct lock lock;
	struct htab *table;
	uint64_t generation;
};

bool
auth_token_hash(const char *text, size_t n, uint8_t ret[STORE_HASH_LEN])
{

	return (crypt_token_hash(text, n, ret));
}

struct auth *
auth_new(void)
{
	struct auth *auth;

	auth = mem_zalloc(1, sizeof(*auth));
	if (auth == NULL)
		return (NULL);
	auth->table = htab_new(STORE_HASH_LEN);
	if (auth->table == NULL) {
		mem_free(auth);
		return (NULL);
	}
	lock_init(&auth->lock, LOCK_AUTH);
	return (auth);
}

static void
clear(struct auth *auth)
{
	size_t pos;
	void *p;

	for (pos = 0; (p = htab_next(auth->table, &pos)) != NULL;)
		mem_free(p);
	htab_clear(auth->table);
}

void
auth_free(struct auth *auth)
{

	if (auth == NULL)
		return;
	clear(auth);
	htab_free(auth->table);
	lock_fini(&auth->lock);
	mem_free(auth);
}

bool
auth_find(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret)
{
	const struct principal *p;

	lock_take(&auth->lock);
	p = htab_find(auth->table, hash);
	if (p != NULL)
		*ret = *p;
	lock_drop(&auth->lock);
	return (p != NULL);
}

uint64_t
auth_generation(struct auth *auth)
{
	uint64_t generation;

	lock_take(&auth->lock);
	generation = auth->generation;
	lock_drop(&auth->lock);
	return (generation);
}

void
auth_put(struct auth *auth, const uint8_t hash[STORE_HASH_LEN],
    const struct principal *principal, uint64_t generation)
{
	struct principal *p;

	p = mem_alloc(sizeof(*p));
	if (p == NULL)
		return;
	*p = *principal;
	lock_take(&auth->lock);
	if (htab_count(auth->table) >= AUTH_MAX)
		clear(auth);
	if (generation == auth->generation &&
	    htab_find(auth->table, hash) == NULL &&
	    htab_set(auth->table, hash, p) == RC_OK)
		p = NULL;
	lock_drop(&auth->lock);
	mem_free(p);
}

void
auth_forget(struct auth *auth, const uint8_t hash[STORE_HASH_LEN])
{

	lock_take(&auth->lock);
	auth->generation++;
	mem_free(htab_remove(auth->table, hash));
	lock_drop(&auth->lock);
}

void
auth_forget_all(struct auth *auth)
{

	lock_take(&auth->lock);
	auth->generation++;
	clear(auth);
	lock_drop(&auth->lock);
}

enum rc
auth_load(struct db *db, const uint8_t hash[STORE_HASH_LEN],
    struct principal *ret, struct err *err)
{
	struct store_device device;
	enum rc rc;

	rc = store_device_by_token(db, hash, &device, err);
	if (rc != RC_OK)
		return (rc);
	ret->user_id = device.user_id;
	ret->device_id = device.device_id;
	ret->device = device.public_id;
	ret->admin = device.admin;
	memcpy(ret->name, device.user_name, sizeof(ret->name));
	return (RC_OK);
}

static void
on_effects(void *arg, const struct effects *effects)
{
	size_t i;

	for (i = 0; i < effects->nrevoked; i++)
		auth_forget(arg, effects->revoked[i].token_hash);
}

struct subscriber
auth_subscriber(struct auth *auth)
{

	return ((struct subscriber){.arg = auth, .on_effects = on_effects});
}
