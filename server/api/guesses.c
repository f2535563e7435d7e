/* SPDX-License-Identifier: MIT */
/*
 * How often a wrong password may be tried.  Three buckets, and an attempt needs
 * a token of each: of the name from that network, of the network, of the name.
 *
 * Nobody is locked out by a stranger: what one network can use up of a name's
 * own bucket is less than flows in, so only a crowd of networks empties it, and
 * then networks from which the name has logged in before need none of it.
 * Tokens that exist do not pass here at all.  A name that nobody has is counted
 * like any other.
 */
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"

/* Of one name from one network. */
#define PAIR_RATE (1.0 / 6)
#define PAIR_BURST 20
/* Of one network in all. */
#define NETWORK_RATE 1.0
#define NETWORK_BURST 100
/* Of one name from strange networks. */
#define NAME_RATE (1.0 / 2)
#define NAME_BURST 200

/* Pairs of name and network that have logged in, each in the one place that
 * its hash gives it: the later of two takes the other's. */
#define KNOWN_MAX 16384

struct guesses {
	struct limiter *pairs;
	struct limiter *networks;
	struct limiter *names;
	struct lock lock; /* of what follows */
	uint64_t known[KNOWN_MAX];
};

struct guesses *
guesses_new(void)
{
	struct guesses *g;

	if ((g = mem_zalloc(1, sizeof(*g))) == NULL)
		return (NULL);
	lock_init(&g->lock, LOCK_GUESSES);
	g->pairs = limiter_new(PAIR_RATE, PAIR_BURST);
	g->networks = limiter_new(NETWORK_RATE, NETWORK_BURST);
	g->names = limiter_new(NAME_RATE, NAME_BURST);
	if (g->pairs != NULL && g->networks != NULL && g->names != NULL)
		return (g);
	guesses_free(g);
	return (NULL);
}

void
guesses_free(struct guesses *guesses)
{

	if (guesses == NULL)
		return;
	limiter_free(guesses->pairs);
	limiter_free(guesses->networks);
	limiter_free(guesses->names);
	lock_fini(&guesses->lock);
	mem_free(guesses);
}

/* The key of the pair; a name has no space. */
static size_t
pair_key(const struct guess *g, char ret[LIMIT_NAME_LEN + 1 + NETWORK_SIZE])
{

	return ((size_t)snprintf(ret, LIMIT_NAME_LEN + 1 + NETWORK_SIZE,
	    "%s %s", g->name, g->network));
}

static bool
known_find(struct guesses *guesses, uint64_t pair)
{
	bool found;

	lock_take(&guesses->lock);
	found = guesses->known[pair % KNOWN_MAX] == pair;
	lock_drop(&guesses->lock);
	return (found);
}

bool
guess_begin(struct guesses *guesses, const struct span *name, const char *peer,
    int64_t now_ms, struct guess *ret, int *ret_wait_s)
{
	char pair[LIMIT_NAME_LEN + 1 + NETWORK_SIZE];
	size_t n;

	(void)snprintf(ret->name, sizeof(ret->name), "%.*s",
	    (int)(name->n > LIMIT_NAME_LEN ? LIMIT_NAME_LEN : name->n),
	    name->p);
	network_of(peer, ret->network);
	n = pair_key(ret, pair);
	ret->known = known_find(guesses, htab_hash(pair, n));
	if (!limiter_take(guesses->pairs, pair, n, now_ms, ret_wait_s))
		return (false);
	if (!limiter_take(guesses->networks, ret->network, strlen(ret->network),
		now_ms, ret_wait_s))
		goto return_pair;
	if (!ret->known && !limiter_take(guesses->names, ret->name,
			       strlen(ret->name), now_ms, ret_wait_s))
		goto return_network;
	return (true);

return_network:
	limiter_return(
	    guesses->networks, ret->network, strlen(ret->network), now_ms);
return_pair:
	limiter_return(guesses->pairs, pair, n, now_ms);
	return (false);
}

void
guess_end(
    struct guesses *guesses, const struct guess *g, bool right, int64_t now_ms)
{
	char pair[LIMIT_NAME_LEN + 1 + NETWORK_SIZE];
	size_t n = pair_key(g, pair);
	uint64_t hash = htab_hash(pair, n);

	limiter_return(guesses->pairs, pair, n, now_ms);
	limiter_return(
	    guesses->networks, g->network, strlen(g->network), now_ms);
	if (!g->known)
		limiter_return(
		    guesses->names, g->name, strlen(g->name), now_ms);
	if (!right)
		return;
	lock_take(&guesses->lock);
	guesses->known[hash % KNOWN_MAX] = hash;
	lock_drop(&guesses->lock);
}
