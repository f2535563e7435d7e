/* SPDX-License-Identifier: MIT */
/*
 * The hub is a table from a user to the list of the user's members (sessions
 * and long-polls).  The head of a list stays in the table while the list is
 * walked, even when its last member leaves; the head is freed after the walk.
 *
 * Beside the table stand counters of members, present or expected, by user; any
 * thread may use the counters.  By them hub_wants() decides whether any effect
 * of a commit concerns a user who has members; if none does and no token is
 * revoked, push_effects() drops all effects of the commit.
 *
 * No waiter (session or long-poll) misses a commit: a waiter is counted before
 * it reads the store, and hub_wants() reads the counters after the commit is
 * visible in the store.  A waiter that is counted too late for hub_wants()
 * opens its snapshot of the store later still, and so reads the commit there.
 */
#include <stdatomic.h>

#include "base/htab.h"
#include "base/mem.h"
#include "base/thr.h"
#include "push/hub.h"

TAILQ_HEAD(member_list, hub_member);

struct hub_user {
	int64_t user_id;
	struct member_list members;
};

/* Several users share one counter.  A collision only costs a needless wake-up
 * of the push thread. */
#define COUNTERS 4096

struct hub {
	struct htab *users;
	atomic_uint_fast32_t waiting[COUNTERS];
	struct hub_user *walking;
};

struct hub *
hub_new(void)
{
	struct hub *h;

	h = mem_zalloc(1, sizeof(*h));
	if (h == NULL)
		return (NULL);
	h->users = htab_new(sizeof(int64_t));
	if (h->users == NULL) {
		mem_free(h);
		return (NULL);
	}
	return (h);
}

void
hub_free(struct hub *h)
{

	if (h == NULL)
		return;
	htab_free(h->users);
	mem_free(h);
}

static size_t
counter_of(int64_t user_id)
{

	return ((size_t)((uint64_t)user_id % COUNTERS));
}

void
hub_expect(struct hub *h, int64_t user_id)
{

	atomic_fetch_add(&h->waiting[counter_of(user_id)], 1);
}

void
hub_unexpect(struct hub *h, int64_t user_id)
{

	atomic_fetch_sub(&h->waiting[counter_of(user_id)], 1);
}

static bool
waits(const struct hub *h, int64_t user_id)
{

	return (atomic_load(&h->waiting[counter_of(user_id)]) > 0);
}

bool
hub_wants(const struct hub *h, const struct effects *effects)
{
	size_t i;

	/* The counters do not know devices, so a revoked token is always
	 * published. */
	for (i = 0; i < effects->nrevoked; i++)
		if (!effects->revoked[i].kept)
			return (true);
	for (i = 0; i < effects->nevents; i++)
		if (waits(h, effects->events[i].user_id))
			return (true);
	for (i = 0; i < effects->nchanges; i++)
		if (waits(h, effects->changes[i].user_id))
			return (true);
	for (i = 0; i < effects->nacked; i++)
		if (waits(h, effects->acked[i].user_id))
			return (true);
	return (false);
}

enum rc
hub_join(struct hub *h, struct hub_member *m)
{
	struct hub_user *u;

	thr_assert(THR_PUSH);
	u = htab_find(h->users, &m->user_id);
	if (u == NULL) {
		u = mem_alloc(sizeof(*u));
		if (u == NULL)
			return (RC_NO_MEMORY);
		u->user_id = m->user_id;
		TAILQ_INIT(&u->members);
		if (htab_set(h->users, &u->user_id, u) != RC_OK) {
			mem_free(u);
			return (RC_NO_MEMORY);
		}
	}
	TAILQ_INSERT_TAIL(&u->members, m, entry);
	m->joined = true;
	hub_expect(h, m->user_id);
	return (RC_OK);
}

static void
drop_if_empty(struct hub *h, struct hub_user *u)
{

	if (!TAILQ_EMPTY(&u->members) || h->walking == u)
		return;
	(void)htab_remove(h->users, &u->user_id);
	mem_free(u);
}

void
hub_leave(struct hub *h, struct hub_member *m)
{
	struct hub_user *u;

	thr_assert(THR_PUSH);
	if (!m->joined)
		return;
	m->joined = false;
	hub_unexpect(h, m->user_id);
	u = htab_find(h->users, &m->user_id);
	TAILQ_REMOVE(&u->members, m, entry);
	drop_if_empty(h, u);
}

/* Walks all members of ${u}.  The current member may leave meanwhile. */
#define EACH(m, next, u)                                                       \
	for ((m) = TAILQ_FIRST(&(u)->members);                                 \
	     (m) != NULL && ((next) = TAILQ_NEXT(m, entry), true);             \
	     (m) = (next))

void
hub_event(struct hub *h, const struct effect_event *e)
{
	struct hub_member *m, *next;
	struct hub_user *u;

	thr_assert(THR_PUSH);
	u = htab_find(h->users, &e->user_id);
	if (u == NULL)
		return;
	h->walking = u;
	EACH(m, next, u)
	if (m->ops->event != NULL)
		m->ops->event(m, e);
	h->walking = NULL;
	drop_if_empty(h, u);
}

void
hub_change(struct hub *h, const struct effect_change *c)
{
	struct hub_member *m, *next;
	struct hub_user *u;

	thr_assert(THR_PUSH);
	u = htab_find(h->users, &c->user_id);
	if (u == NULL)
		return;
	h->walking = u;
	EACH(m, next, u)
	if (m->ops->change != NULL)
		m->ops->change(m, c);
	h->walking = NULL;
	drop_if_empty(h, u);
}

void
hub_acked(struct hub *h, const struct effect_acked *a)
{
	struct hub_member *m, *next;
	struct hub_user *u;

	thr_assert(THR_PUSH);
	u = htab_find(h->users, &a->user_id);
	if (u == NULL)
		return;
	h->walking = u;
	EACH(m, next, u)
	if (m->ops->acked != NULL)
		m->ops->acked(m, a);
	h->walking = NULL;
	drop_if_empty(h, u);
}

void
hub_whisper(struct hub *h, int64_t user_id, const char *frame, size_t n)
{
	struct hub_member *m, *next;
	struct hub_user *u;

	thr_assert(THR_PUSH);
	u = htab_find(h->users, &user_id);
	if (u == NULL)
		return;
	h->walking = u;
	EACH(m, next, u)
	if (m->ops->whisper != NULL)
		m->ops->whisper(m, frame, n);
	h->walking = NULL;
	drop_if_empty(h, u);
}

bool
hub_present(const struct hub *h, int64_t user_id)
{

	return (htab_find(h->users, &user_id) != NULL);
}
