/* SPDX-License-Identifier: MIT */
/*
 * The login throttle: limits how often a wrong password may be tried.  There is
 * a token bucket for each pair of a name and a network, one for each network,
 * and one for each name.  An attempt takes a token from each of its three
 * buckets, or is refused if one of them is empty; the tokens are given back
 * unless the password was wrong.  From a network that is known for the name,
 * because the right password has come from it before, the attempt needs no
 * token from the bucket of the name.
 *
 * A stranger in one other network cannot lock a user out.  The bucket of a pair
 * is refilled more slowly than the bucket of a name, so only several networks
 * together can keep the bucket of a name empty, and the user can still log in
 * from known networks then.  Requests with an access token do not pass this
 * throttle, except a change of the password, which has to name the old one.  A
 * name that no user has is counted like any other.
 */
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"

/* A name from one network.  Rates are in tokens per second. */
#define PAIR_RATE (1.0 / 6)
#define PAIR_BURST 20
/* A network, for all names. */
#define NETWORK_RATE 1.0
#define NETWORK_BURST 100
/* A name, from all networks from which the user has not logged in. */
#define NAME_RATE (1.0 / 2)
#define NAME_BURST 200

/* The most pairs of a name and a network from which it has logged in.  The hash
 * of a pair determines its place in the table; a later pair with the same place
 * replaces the earlier one. */
#define KNOWN_MAX 16384

struct login_throttle {
	struct limiter *pairs;
	struct limiter *networks;
	struct limiter *names;
	struct lock lock; /* protects known */
	uint64_t known[KNOWN_MAX];
};

struct login_throttle *
login_throttle_new(void)
{
	struct login_throttle *throttle;

	if ((throttle = mem_zalloc(1, sizeof(*throttle))) == NULL)
		return (NULL);
	lock_init(&throttle->lock, LOCK_LOGIN_THROTTLE);
	throttle->pairs = limiter_new(PAIR_RATE, PAIR_BURST);
	throttle->networks = limiter_new(NETWORK_RATE, NETWORK_BURST);
	throttle->names = limiter_new(NAME_RATE, NAME_BURST);
	if (throttle->pairs != NULL && throttle->networks != NULL &&
	    throttle->names != NULL)
		return (throttle);
	login_throttle_free(throttle);
	return (NULL);
}

void
login_throttle_free(struct login_throttle *throttle)
{

	if (throttle == NULL)
		return;
	limiter_free(throttle->pairs);
	limiter_free(throttle->networks);
	limiter_free(throttle->names);
	lock_fini(&throttle->lock);
	mem_free(throttle);
}

/* Writes the key of the pair of ${attempt}, "NAME NETWORK", to ${ret} and
 * returns its length.  Two pairs never have the same key: a name may have
 * spaces but a network has none, so the last space is the one between them. */
static size_t
pair_key(const struct login_attempt *attempt,
    char ret[LIMIT_NAME_LEN + 1 + NETWORK_SIZE])
{

	return ((size_t)snprintf(ret, LIMIT_NAME_LEN + 1 + NETWORK_SIZE,
	    "%s %s", attempt->name, attempt->network));
}

static bool
known_find(struct login_throttle *throttle, uint64_t pair)
{
	bool found;

	lock_take(&throttle->lock);
	found = throttle->known[pair % KNOWN_MAX] == pair;
	lock_drop(&throttle->lock);
	return (found);
}

bool
login_throttle_begin(struct login_throttle *throttle, const struct span *name,
    const char *peer, int64_t now_ms, struct login_attempt *ret,
    int *ret_wait_s)
{
	char pair[LIMIT_NAME_LEN + 1 + NETWORK_SIZE];
	size_t n;

	(void)snprintf(ret->name, sizeof(ret->name), "%.*s",
	    (int)(name->n > LIMIT_NAME_LEN ? LIMIT_NAME_LEN : name->n),
	    name->p);
	network_of(peer, ret->network);
	n = pair_key(ret, pair);
	ret->known = known_find(throttle, htab_hash(pair, n));
	if (!limiter_take(throttle->pairs, pair, n, now_ms, ret_wait_s))
		return (false);
	if (!limiter_take(throttle->networks, ret->network,
		strlen(ret->network), now_ms, ret_wait_s))
		goto return_pair;
	if (!ret->known && !limiter_take(throttle->names, ret->name,
			       strlen(ret->name), now_ms, ret_wait_s))
		goto return_network;
	return (true);

return_network:
	limiter_return(
	    throttle->networks, ret->network, strlen(ret->network), now_ms);
return_pair:
	limiter_return(throttle->pairs, pair, n, now_ms);
	return (false);
}

void
login_throttle_end(struct login_throttle *throttle,
    const struct login_attempt *attempt, bool right, int64_t now_ms)
{
	char pair[LIMIT_NAME_LEN + 1 + NETWORK_SIZE];
	size_t n = pair_key(attempt, pair);
	uint64_t hash = htab_hash(pair, n);

	limiter_return(throttle->pairs, pair, n, now_ms);
	limiter_return(throttle->networks, attempt->network,
	    strlen(attempt->network), now_ms);
	if (!attempt->known)
		limiter_return(throttle->names, attempt->name,
		    strlen(attempt->name), now_ms);
	if (!right)
		return;
	lock_take(&throttle->lock);
	throttle->known[hash % KNOWN_MAX] = hash;
	lock_drop(&throttle->lock);
}
