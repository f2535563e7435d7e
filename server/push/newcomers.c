/* SPDX-License-Identifier: MIT */
/*
 * Newcomers: sessions whose user is not known yet.  They do not count against
 * the limit of users' sessions, so that strangers cannot use it up, but have a
 * pool of their own.  When a handshake is complete and the pool is full, the
 * oldest newcomer of the network (base/owner.h) that has the most newcomers is
 * disconnected.  A client that opens many connections therefore loses
 * connections of its own.  Connections whose handshake libwebsockets has yet to
 * answer take room in the pool, too, but are not disconnected.
 *
 * A session is a newcomer from its handshake until its token is verified, or
 * until the session ends.
 */
#include <string.h>

#include "base/mem.h"
#include "push/push_internal.h"

/* The pool has room for 1/POOL_PART of the limit of users' sessions, but for at
 * least POOL_LEAST and at most POOL_MOST newcomers. */
#define POOL_PART 2
#define POOL_LEAST 64
#define POOL_MOST 1024

/* The newcomers of one network. */
struct crowd {
	uint64_t owner;
	size_t n;
};

/* Returns the room of the pool beside ${sessions} sessions of users. */
static size_t
pool_room(size_t sessions)
{
	const size_t n = sessions / POOL_PART;

	return (n < POOL_LEAST ? POOL_LEAST : n > POOL_MOST ? POOL_MOST : n);
}

size_t
newcomers_limit(const struct push *p)
{

	return (pool_room(p->options.session_limit));
}

size_t
push_most_connections(size_t sessions)
{

	return (sessions + pool_room(sessions) + ARRIVALS_MAX);
}

static struct crowd *
crowd_get(struct push *p, uint64_t owner)
{
	struct crowd *c = htab_find(p->crowds, &owner);

	if (c != NULL || (c = mem_zalloc(1, sizeof(*c))) == NULL)
		return (c);
	c->owner = owner;
	if (htab_set(p->crowds, &owner, c) != RC_OK) {
		mem_free(c);
		return (NULL);
	}
	return (c);
}

enum rc
newcomers_add(struct session *s)
{
	struct push *p = s->push;

	if ((s->crowd = crowd_get(p, s->owner)) == NULL)
		return (RC_NO_MEMORY);
	s->crowd->n++;
	TAILQ_INSERT_TAIL(&p->newcomers, s, newcomer);
	p->nnewcomers++;
	return (RC_OK);
}

void
newcomers_remove(struct session *s)
{
	struct crowd *c = s->crowd;
	struct push *p = s->push;

	if (c == NULL)
		return;
	s->crowd = NULL;
	TAILQ_REMOVE(&p->newcomers, s, newcomer);
	p->nnewcomers--;
	if (--c->n > 0)
		return;
	(void)htab_remove(p->crowds, &c->owner);
	mem_free(c);
}

/* The oldest newcomer of the network that has the most newcomers. */
static struct session *
worst(const struct push *p)
{
	struct session *s, *found = NULL;

	TAILQ_FOREACH (s, &p->newcomers, newcomer)
		if (found == NULL || s->crowd->n > found->crowd->n)
			found = s;
	return (found);
}

bool
newcomers_make_room(struct push *p)
{
	struct session *s;

	while (p->nnewcomers + p->adopting >= newcomers_limit(p)) {
		if ((s = worst(p)) == NULL)
			return (false);
		metrics_add(p->options.metrics, METRIC_WS_NEWCOMERS_CUT, 1);
		push_lws_kill(s);
	}
	return (true);
}
