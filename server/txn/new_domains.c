/* SPDX-License-Identifier: MIT */
/*
 * See new_domains.h.
 */
#include "txn/new_domains.h"
#include "base/htab.h"
#include "base/mem.h"

#define DAY_MS INT64_C(86400000)
/* Tokens of one transaction that new_domains_abort() can return. */
#define TAKEN_MOST 256

struct bucket {
	int64_t user_id;
	int64_t at_ms; /* monotonic */
	double left;
};

struct new_domains {
	int64_t most;
	struct htab *users;
	int64_t taken[TAKEN_MOST]; /* the users who took them */
	size_t ntaken;
};

struct new_domains *
new_domains_new(int64_t most)
{
	struct new_domains *q;

	if ((q = mem_zalloc(1, sizeof(*q))) == NULL)
		return (NULL);
	q->most = most;
	if ((q->users = htab_new(sizeof(int64_t))) == NULL) {
		mem_free(q);
		return (NULL);
	}
	return (q);
}

static void
refill(const struct new_domains *q, struct bucket *b, int64_t now_ms)
{

	if (now_ms > b->at_ms)
		b->left += (double)(now_ms - b->at_ms) * (double)q->most /
			   (double)DAY_MS;
	if (b->left > (double)q->most)
		b->left = (double)q->most;
	b->at_ms = now_ms;
}

/* Removes full buckets, or with ${all} all of them. */
static void
forget(struct new_domains *q, int64_t now_ms, bool all)
{
	struct bucket *b;
	size_t pos = 0;

	while ((b = htab_next(q->users, &pos)) != NULL) {
		refill(q, b, now_ms);
		if (!all && b->left < (double)q->most)
			continue;
		(void)htab_remove(q->users, &b->user_id);
		mem_free(b);
	}
}

void
new_domains_free(struct new_domains *q)
{

	if (q == NULL)
		return;
	forget(q, 0, true);
	htab_free(q->users);
	mem_free(q);
}

/* Returns the bucket of ${user_id}, or NULL if there is no memory. */
static struct bucket *
bucket_get(struct new_domains *q, int64_t user_id, int64_t now_ms)
{
	struct bucket *b = htab_find(q->users, &user_id);

	if (b != NULL) {
		refill(q, b, now_ms);
		return (b);
	}
	if (htab_count(q->users) >= NEW_DOMAINS_USERS)
		forget(q, now_ms, false);
	if (htab_count(q->users) >= NEW_DOMAINS_USERS)
		forget(q, now_ms, true);
	if ((b = mem_zalloc(1, sizeof(*b))) == NULL)
		return (NULL);
	b->user_id = user_id;
	b->at_ms = now_ms;
	b->left = (double)q->most;
	if (htab_set(q->users, &b->user_id, b) != RC_OK) {
		mem_free(b);
		return (NULL);
	}
	return (b);
}

bool
new_domains_take(
    struct new_domains *q, int64_t user_id, int64_t now_ms, int *ret_wait_s)
{
	struct bucket *b;
	double wait_ms;

	if (q->most == 0 || (b = bucket_get(q, user_id, now_ms)) == NULL)
		return (true);
	if (b->left < 1) {
		wait_ms = (1 - b->left) * (double)DAY_MS / (double)q->most;
		*ret_wait_s = (int)(wait_ms / 1000) + 1;
		return (false);
	}
	b->left -= 1;
	if (q->ntaken < TAKEN_MOST)
		q->taken[q->ntaken++] = user_id;
	return (true);
}

void
new_domains_begin(struct new_domains *q)
{

	q->ntaken = 0;
}

void
new_domains_abort(struct new_domains *q)
{
	struct bucket *b;

	while (q->ntaken > 0)
		if ((b = htab_find(q->users, &q->taken[--q->ntaken])) != NULL)
			b->left += 1;
}

size_t
new_domains_users(const struct new_domains *q)
{

	return (htab_count(q->users));
}
