/* SPDX-License-Identifier: MIT */
/*
 * Users of other servers; see cache.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/destination.h"
#include "txn/cache_internal.h"

/* Finds destination ${name}, and adds a missing one. */
static enum rc
find_destination(struct tx *tx, const char *name, int64_t *ret, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = store_destination_by_name(tx->db, name, &row, err);
	if (rc == RC_NOT_FOUND)
		return (store_destination_insert(
		    tx->db, name, true, tx->now_ms, ret, err));
	*ret = row.destination_id;
	return (rc);
}

/* Sets *ret to the cached user of ${row}, and adds the user to the cache first
 * if its id is not there.  A user can be cached and still not be found by
 * address: users_by_address has only one user for each 64-bit hash. */
static enum rc
keep_remote(struct cache *cache, const struct store_user *row,
    struct cached_user **ret, struct err *err)
{

	*ret = htab_find(cache->users_by_id, &row->user_id);
	return (*ret != NULL ? RC_OK : cache_keep_user(cache, row, ret, err));
}

enum rc
cache_user_remote_find(struct cache *cache, struct tx *tx, const char *address,
    struct cached_user **ret, struct err *err)
{
	struct store_user row;
	enum rc rc;

	*ret = cache_user_known(cache, address);
	if (*ret != NULL)
		return (RC_OK);
	if (cache->gathered)
		return (RC_NOT_FOUND);
	rc = store_user_by_name(tx->db, address, strlen(address), &row, err);
	return (rc == RC_OK ? keep_remote(cache, &row, ret, err) : rc);
}

enum rc
cache_users_remote_make(struct cache *cache, struct tx *tx,
    int64_t destination_id, const char *const *addresses, size_t n,
    struct err *err)
{
	struct store_remote_user *users = mem_zalloc(n + 1, sizeof(*users));
	struct store_user row = {.destination_id = destination_id};
	struct cached_user *user;
	enum rc rc;
	size_t i;

	if (users == NULL)
		return (err_set(err, RC_NO_MEMORY, "cache: users"));
	for (i = 0; i < n; i++)
		users[i].address = addresses[i];
	/* The purger keeps a destination that has users. */
	rc = store_destination_use(tx->db, destination_id, tx->now_ms, err);
	if (rc == RC_OK)
		rc = store_users_remote_insert(
		    tx->db, users, n, destination_id, tx->now_ms, err);
	for (i = 0; i < n && rc == RC_OK; i++) {
		(void)snprintf(
		    row.name, sizeof(row.name), "%s", users[i].address);
		row.user_id = users[i].user_id;
		rc = keep_remote(cache, &row, &user, err);
	}
	mem_free(users);
	return (rc);
}

enum rc
cache_user_remote(struct cache *cache, struct tx *tx, const char *address,
    struct cached_user **ret, struct err *err)
{
	const char *at = strchr(address, '@');
	int64_t destination_id;
	enum rc rc;

	assert(at != NULL);
	rc = cache_user_remote_find(cache, tx, address, ret, err);
	if (rc != RC_NOT_FOUND)
		return (rc);
	rc = find_destination(tx, at + 1, &destination_id, err);
	if (rc == RC_OK)
		rc = cache_users_remote_make(
		    cache, tx, destination_id, &address, 1, err);
	if (rc == RC_OK)
		*ret = cache_user_known(cache, address);
	return (rc);
}
