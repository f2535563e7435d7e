/* SPDX-License-Identifier: MIT */
/*
 * See peer_clocks.h.
 *
 * peer_clocks_hear() may be called for each request and answer of other
 * servers, so its usual case is cheap: while the list of clocks that are off is
 * empty, a report of a right clock reads one atomic number and takes no lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "federation/peer_clocks.h"

struct off {
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t ahead_ms;
	int64_t at_ms; /* monotonic: when it was reported last */
};

struct peer_clocks {
	const struct clk *clk;
	atomic_size_t n;
	struct lock lock; /* protects ${list}, and changes of ${n} */
	struct off list[PEER_CLOCKS_MAX];
};

struct peer_clocks *
peer_clocks_new(const struct clk *clk)
{
	struct peer_clocks *p;

	if ((p = mem_zalloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->clk = clk;
	lock_init(&p->lock, LOCK_PEER_CLOCKS);
	return (p);
}

void
peer_clocks_free(struct peer_clocks *p)
{

	if (p == NULL)
		return;
	lock_fini(&p->lock);
	mem_free(p);
}

int64_t
peer_clocks_ahead_ms(int64_t date_ms, int64_t sent_ms, int64_t got_ms)
{

	if (date_ms > got_ms)
		return (date_ms - got_ms);
	if (date_ms + 999 < sent_ms)
		return (date_ms + 999 - sent_ms);
	return (0);
}

/* ---- under the lock ---- */

static int64_t
apart(int64_t ahead_ms)
{

	return (ahead_ms < 0 ? -ahead_ms : ahead_ms);
}

static void
forget(struct peer_clocks *p, size_t i)
{
	const size_t last = atomic_load(&p->n) - 1;

	p->list[i] = p->list[last];
	atomic_store(&p->n, last);
}

static void
forget_old(struct peer_clocks *p)
{
	const int64_t before = clk_mono_ms(p->clk) - PEER_CLOCKS_FORGET_MS;
	size_t i;

	for (i = atomic_load(&p->n); i > 0; i--)
		if (p->list[i - 1].at_ms <= before)
			forget(p, i - 1);
}

/* Returns the index of ${domain}, or the length of the list. */
static size_t
find(const struct peer_clocks *p, const char *domain)
{
	const size_t n = atomic_load(&p->n);
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(p->list[i].domain, domain) == 0)
			break;
	return (i);
}

/* Returns the index for a new entry, which the caller must fill.  This is the
 * end of the list, which becomes one longer, or, if the list is full, the index
 * of the entry that was reported least recently and is overwritten. */
static size_t
place(struct peer_clocks *p)
{
	size_t i, oldest = 0;

	if (atomic_load(&p->n) < PEER_CLOCKS_MAX)
		return (atomic_fetch_add(&p->n, 1));
	for (i = 1; i < PEER_CLOCKS_MAX; i++)
		if (p->list[i].at_ms < p->list[oldest].at_ms)
			oldest = i;
	return (oldest);
}

/* ---- hearing and telling ---- */

void
peer_clocks_hear(struct peer_clocks *p, const char *domain, int64_t ahead_ms)
{
	const bool off = apart(ahead_ms) > PEER_CLOCKS_OFF_MS;
	struct off *one;
	size_t i;

	if (p == NULL || (!off && atomic_load(&p->n) == 0))
		return;
	lock_take(&p->lock);
	forget_old(p);
	i = find(p, domain);
	if (!off && i < atomic_load(&p->n)) {
		forget(p, i);
	} else if (off) {
		if (i == atomic_load(&p->n))
			i = place(p);
		one = &p->list[i];
		(void)snprintf(one->domain, sizeof(one->domain), "%s", domain);
		one->ahead_ms = ahead_ms;
		one->at_ms = clk_mono_ms(p->clk);
	}
	lock_drop(&p->lock);
}

size_t
peer_clocks_off(struct peer_clocks *p, char *ret_domain, int64_t *ret_ahead_ms)
{
	const struct off *most = NULL;
	size_t i, n;

	lock_take(&p->lock);
	forget_old(p);
	n = atomic_load(&p->n);
	for (i = 0; i < n; i++)
		if (most == NULL ||
		    apart(p->list[i].ahead_ms) > apart(most->ahead_ms))
			most = &p->list[i];
	if (most != NULL) {
		memcpy(ret_domain, most->domain, sizeof(most->domain));
		*ret_ahead_ms = most->ahead_ms;
	}
	lock_drop(&p->lock);
	return (n);
}
