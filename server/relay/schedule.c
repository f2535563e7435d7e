/* SPDX-License-Identifier: MIT */
/*
 * See schedule.h.  A lane is in the table while it is ready or under way, and
 * in the queue while it is ready.
 */
#include <assert.h>
#include <sys/queue.h>

#include "base/htab.h"
#include "base/mem.h"
#include "relay/schedule.h"

enum lane_state { READY, BUSY, BUSY_WOKEN };

struct lane {
	int64_t id;
	enum lane_state state;
	TAILQ_ENTRY(lane) entry; /* while READY */
};

TAILQ_HEAD(lane_queue, lane);

struct schedule {
	struct htab *table;
	struct lane_queue ready;
	size_t nready, nbusy;
};

struct schedule *
schedule_new(void)
{
	struct schedule *s;

	s = mem_zalloc(1, sizeof(*s));
	if (s == NULL)
		return (NULL);
	TAILQ_INIT(&s->ready);
	s->table = htab_new(sizeof(int64_t));
	if (s->table == NULL) {
		mem_free(s);
		return (NULL);
	}
	return (s);
}

void
schedule_free(struct schedule *s)
{
	size_t pos;
	void *p;

	if (s == NULL)
		return;
	for (pos = 0; (p = htab_next(s->table, &pos)) != NULL;)
		mem_free(p);
	htab_free(s->table);
	mem_free(s);
}

static void
make_ready(struct schedule *s, struct lane *l)
{

	l->state = READY;
	TAILQ_INSERT_TAIL(&s->ready, l, entry);
	s->nready++;
}

enum rc
schedule_wake(struct schedule *s, int64_t lane_id)
{
	struct lane *l;

	l = htab_find(s->table, &lane_id);
	if (l != NULL) {
		if (l->state == BUSY)
			l->state = BUSY_WOKEN;
		return (RC_OK);
	}
	l = mem_alloc(sizeof(*l));
	if (l == NULL)
		return (RC_NO_MEMORY);
	l->id = lane_id;
	if (htab_set(s->table, &l->id, l) != RC_OK) {
		mem_free(l);
		return (RC_NO_MEMORY);
	}
	make_ready(s, l);
	return (RC_OK);
}

size_t
schedule_take(struct schedule *s, int64_t *ret_lanes, size_t max)
{
	struct lane *l;
	size_t n;

	for (n = 0; n < max && (l = TAILQ_FIRST(&s->ready)) != NULL; n++) {
		TAILQ_REMOVE(&s->ready, l, entry);
		s->nready--;
		s->nbusy++;
		l->state = BUSY;
		ret_lanes[n] = l->id;
	}
	return (n);
}

void
schedule_done(struct schedule *s, int64_t lane_id, bool more)
{
	struct lane *l;

	l = htab_find(s->table, &lane_id);
	assert(l != NULL && l->state != READY);
	s->nbusy--;
	if (more || l->state == BUSY_WOKEN) {
		make_ready(s, l);
		return;
	}
	(void)htab_remove(s->table, &lane_id);
	mem_free(l);
}

size_t
schedule_ready(const struct schedule *s)
{

	return (s->nready);
}

size_t
schedule_busy(const struct schedule *s)
{

	return (s->nbusy);
}
