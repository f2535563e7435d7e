/* SPDX-License-Identifier: MIT */
/*
 * A table from user to the list of his members.  While a list is walked its
 * head stays, even when its last member leaves.
 */
#include "push/hub.h"
#include "base/htab.h"
#include "base/mem.h"

TAILQ_HEAD(member_list, hub_member);

struct hub_user {
	int64_t user_id;
	struct member_list members;
};

struct hub {
	struct htab *users;
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

enum rc
hub_join(struct hub *h, struct hub_member *m)
{
	struct hub_user *u;

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

	if (!m->joined)
		return;
	m->joined = false;
	u = htab_find(h->users, &m->user_id);
	TAILQ_REMOVE(&u->members, m, entry);
	drop_if_empty(h, u);
}

/* The next member, safe against the present one leaving. */
#define EACH(m, next, u)                                                       \
	for ((m) = TAILQ_FIRST(&(u)->members);                                 \
	     (m) != NULL && ((next) = TAILQ_NEXT(m, entry), true);             \
	     (m) = (next))

void
hub_event(struct hub *h, const struct domain_event *e)
{
	struct hub_member *m, *next;
	struct hub_user *u;

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
hub_change(struct hub *h, const struct domain_change *c)
{
	struct hub_member *m, *next;
	struct hub_user *u;

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
hub_acked(struct hub *h, const struct domain_acked *a)
{
	struct hub_member *m, *next;
	struct hub_user *u;

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
