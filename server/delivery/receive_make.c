/* SPDX-License-Identifier: MIT */
/*
 * Adds the senders and the direct conversations that the messages of a request
 * need and that do not exist here yet: first all senders together, then all
 * conversations together, so that PostgreSQL needs few round trips.
 */
#include <string.h>

#include "delivery/receive_internal.h"
#include "txn/verb.h"

/* Returns true if an earlier envelope of the request adds the same sender. */
static bool
is_repeated(
    const struct receive_unit *u, const char *const *names, size_t n, size_t i)
{
	size_t k = 0;

	while (k < n && strcmp(names[k], u->envelopes[i].from.p) != 0)
		k++;
	return (k < n);
}

static enum rc
make_senders(struct tx *tx, struct receive_unit *u, struct err *err)
{
	const char *names[ENVELOPE_ITEMS];
	size_t i, n = 0;

	for (i = 0; i < u->n; i++)
		if (u->items[i].plan == RECEIVE_MESSAGE &&
		    u->items[i].sender_id == 0 && !is_repeated(u, names, n, i))
			names[n++] = u->envelopes[i].from.p;
	return (n == 0 ? RC_OK
		       : cache_users_remote_make(txn_env_of(tx)->cache, tx,
			     u->origin_id, names, n, err));
}

/* Finds the sender and the recipient of a planned message. */
static enum rc
find_pair(struct tx *tx, const struct receive_unit *u, size_t i,
    struct cached_pair *ret, struct err *err)
{
	struct cache *cache = txn_env_of(tx)->cache;
	enum rc rc;

	rc = cache_user_remote_find(
	    cache, tx, u->envelopes[i].from.p, &ret->a, err);
	if (rc == RC_OK)
		rc = cache_user_by_id(
		    cache, tx, u->items[i].recipient_id, &ret->b, err);
	return (rc == RC_NOT_FOUND
		    ? err_set(err, RC_INTERNAL, "a message of nobody")
		    : rc);
}

enum rc
receive_make(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct cached_pair pairs[ENVELOPE_ITEMS];
	size_t i, n = 0;
	enum rc rc;

	rc = make_senders(tx, u, err);
	for (i = 0; i < u->n && rc == RC_OK; i++)
		if (u->items[i].plan == RECEIVE_MESSAGE && u->items[i].makes)
			rc = find_pair(tx, u, i, &pairs[n++], err);
	return (rc == RC_OK && n > 0 ? cache_directs_make(txn_env_of(tx)->cache,
					   tx, pairs, n, err)
				     : rc);
}
