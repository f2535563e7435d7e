/* SPDX-License-Identifier: MIT */
/*
 * Token buckets under one lock; see inbound_limits_internal.h.
 */
#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "federation/inbound_limits_internal.h"

#define MINUTE_MS 60000

static const int64_t of_each[INBOUND_LIMITS] = {
#define X(id, each, all) [id] = each,
    INBOUND_LIMIT_TABLE(X)
#undef X
};

static const int64_t of_all[INBOUND_LIMITS] = {
#define X(id, each, all) [id] = all,
    INBOUND_LIMIT_TABLE(X)
#undef X
};

/* The buckets of one peer, or of all unpinned peers together. */
struct account {
	int64_t destination_id;
	int64_t at_ms;
	int64_t under_way;
	double left[INBOUND_LIMITS];
};

struct inbound_limits {
	struct lock lock;
	struct htab *peers;
	struct account total; /* of all unpinned peers together */
	bool begun;
};

struct inbound_limits *
inbound_limits_new(void)
{
	struct inbound_limits *l;

	if ((l = mem_zalloc(1, sizeof(*l))) == NULL)
		return (NULL);
	if ((l->peers = htab_new(sizeof(int64_t))) == NULL) {
		mem_free(l);
		return (NULL);
	}
	lock_init(&l->lock, LOCK_LIMITER);
	return (l);
}

void
inbound_limits_free(struct inbound_limits *l)
{
	size_t pos = 0;
	void *p;

	if (l == NULL)
		return;
	while ((p = htab_next(l->peers, &pos)) != NULL)
		mem_free(p);
	htab_free(l->peers);
	lock_fini(&l->lock);
	mem_free(l);
}

/* ---- one account ---- */

static void
begin(struct account *a, const int64_t most[INBOUND_LIMITS], int64_t now_ms)
{
	int i;

	a->at_ms = now_ms;
	for (i = 0; i < (int)INBOUND_LIMITS; i++)
		a->left[i] = (double)most[i];
}

static void
refill(struct account *a, const int64_t most[INBOUND_LIMITS], int64_t now_ms)
{
	double part;
	int i;

	if (now_ms <= a->at_ms)
		return;
	part = (double)(now_ms - a->at_ms) / MINUTE_MS;
	for (i = 0; i < (int)INBOUND_LIMITS; i++) {
		a->left[i] += part * (double)most[i];
		if (a->left[i] > (double)most[i])
			a->left[i] = (double)most[i];
	}
	a->at_ms = now_ms;
}

static bool
is_full(const struct account *a)
{
	int i;

	for (i = 0; i < (int)INBOUND_LIMITS; i++)
		if (a->left[i] < (double)of_each[i])
			return (false);
	return (a->under_way == 0);
}

/* Returns the seconds, rounded up, until the buckets of requests, envelopes and
 * bytes of ${a} each hold at least 1.  0: they do now, so these buckets admit a
 * request.  ${most} is the limit of each bucket, by which it refills in a
 * minute.  The other two buckets limit single envelopes, not requests. */
static int
wait_s(const struct account *a, const int64_t most[INBOUND_LIMITS])
{
	double wait = 0, one;
	int i;

	for (i = 0; i <= (int)INBOUND_BYTES; i++) {
		if (a->left[i] >= 1)
			continue;
		one = (1 - a->left[i]) * (MINUTE_MS / 1000) / (double)most[i];
		if (one > wait)
			wait = one;
	}
	return ((int)wait + (wait > (double)(int)wait ? 1 : 0));
}

/* ---- all of them ---- */

/* Removes the accounts of peers whose buckets are full and that have no request
 * under way.  If half of INBOUND_PEERS or more are left, also removes all other
 * accounts without a request under way, although their buckets are not full.
 * Such a peer gets full buckets with its next request.  But the account
 * ${total} of all unpinned peers stays, so an attacker with many domains gains
 * nothing. */
static void
make_room(struct inbound_limits *l, int64_t now_ms)
{
	struct account *a;
	size_t pos = 0;
	bool all = false;

	for (;;) {
		while ((a = htab_next(l->peers, &pos)) != NULL) {
			refill(a, of_each, now_ms);
			if (all ? a->under_way > 0 : !is_full(a))
				continue;
			(void)htab_remove(l->peers, &a->destination_id);
			mem_free(a);
		}
		if (all || htab_count(l->peers) < INBOUND_PEERS / 2)
			return;
		all = true;
		pos = 0;
	}
}

/* Returns the account of ${peer}.  If it is missing, adds it with full buckets;
 * if there are INBOUND_PEERS accounts by then, make_room() runs first.  Refills
 * the buckets of the account for the time up to ${now_ms}, and those of
 * l->total, even if it returns NULL.  NULL: no memory. */
static struct account *
account_get(
    struct inbound_limits *l, const struct inbound_peer *peer, int64_t now_ms)
{
	struct account *a;

	if (l->begun)
		refill(&l->total, of_all, now_ms);
	else
		begin(&l->total, of_all, now_ms);
	l->begun = true;
	if ((a = htab_find(l->peers, &peer->destination_id)) != NULL) {
		refill(a, of_each, now_ms);
		return (a);
	}
	if (htab_count(l->peers) >= INBOUND_PEERS)
		make_room(l, now_ms);
	if ((a = mem_zalloc(1, sizeof(*a))) == NULL)
		return (NULL);
	a->destination_id = peer->destination_id;
	begin(a, of_each, now_ms);
	if (htab_set(l->peers, &a->destination_id, a) != RC_OK) {
		mem_free(a);
		return (NULL);
	}
	return (a);
}

bool
inbound_limits_enter(struct inbound_limits *l, const struct inbound_peer *peer,
    int64_t now_ms, int *ret_wait_s)
{
	struct account *a;
	int wait = 0, total;

	lock_take(&l->lock);
	a = account_get(l, peer, now_ms);
	if (a != NULL)
		wait =
		    a->under_way < INBOUND_UNDER_WAY ? wait_s(a, of_each) : 1;
	if (!peer->pinned) {
		total = wait_s(&l->total, of_all);
		wait = total > wait ? total : wait;
	}
	if (wait == 0 && a != NULL) {
		a->under_way++;
		a->left[INBOUND_REQUESTS] -= 1;
	}
	if (wait == 0 && !peer->pinned)
		l->total.left[INBOUND_REQUESTS] -= 1;
	lock_drop(&l->lock);
	*ret_wait_s = wait;
	return (wait == 0);
}

void
inbound_limits_leave(struct inbound_limits *l, const struct inbound_peer *peer)
{
	struct account *a;

	lock_take(&l->lock);
	a = htab_find(l->peers, &peer->destination_id);
	if (a != NULL && a->under_way > 0)
		a->under_way--;
	lock_drop(&l->lock);
}

void
inbound_limits_charge(struct inbound_limits *l, const struct inbound_peer *peer,
    int64_t now_ms, enum inbound_limit what, int64_t n)
{
	struct account *a;

	lock_take(&l->lock);
	if ((a = account_get(l, peer, now_ms)) != NULL)
		a->left[what] -= (double)n;
	if (!peer->pinned)
		l->total.left[what] -= (double)n;
	lock_drop(&l->lock);
}

int64_t
inbound_limits_left(struct inbound_limits *l, const struct inbound_peer *peer,
    int64_t now_ms, enum inbound_limit what)
{
	struct account *a;
	double left;

	lock_take(&l->lock);
	a = account_get(l, peer, now_ms);
	left = a != NULL ? a->left[what] : (double)of_each[what];
	if (!peer->pinned && l->total.left[what] < left)
		left = l->total.left[what];
	lock_drop(&l->lock);
	return ((int64_t)left);
}
