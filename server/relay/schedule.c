/* SPDX-License-Identifier: MIT */
/*
 * See schedule.h.  The table has the lanes that are ready or under way (being
 * delivered).  A ready lane is also in one queue: in that of its priority, or
 * in ${alone} if a delivery of it broke off and none has succeeded since.
 */
#include <assert.h>
#include <sys/queue.h>

#include "base/htab.h"
#include "base/mem.h"
#include "model/message.h"
#include "relay/lane_state.h"
#include "relay/schedule.h"

#define CLASSES 3 /* high, normal, low */

struct lane {
	int64_t id;
	enum schedule_lane_state state;
	int priority;
	int woken_priority; /* highest priority of wake-ups while under way */
	int broken;         /* deliveries in a row that broke off */
	TAILQ_ENTRY(lane) entry; /* while SCHEDULE_LANE_READY */
};

TAILQ_HEAD(lane_queue, lane);

struct schedule {
	struct htab *table;
	struct lane_queue ready[CLASSES];
	struct lane_queue alone; /* lanes whose last delivery broke off */
	size_t nready, nbusy;
	unsigned turn;
};

int
schedule_class(unsigned turn)
{
	/* 8 high, 4 normal and 1 low, interleaved. */
	static const int wheel[] = {PRIORITY_HIGH, PRIORITY_NORMAL,
	    PRIORITY_HIGH, PRIORITY_HIGH, PRIORITY_NORMAL, PRIORITY_HIGH,
	    PRIORITY_LOW, PRIORITY_HIGH, PRIORITY_NORMAL, PRIORITY_HIGH,
	    PRIORITY_HIGH, PRIORITY_NORMAL, PRIORITY_HIGH};

	return (wheel[turn % (sizeof(wheel) / sizeof(wheel[0]))]);
}

static struct lane_queue *
queue_of(struct schedule *s, int priority)
{

	assert(priority >= PRIORITY_LOW && priority <= PRIORITY_HIGH);
	return (&s->ready[PRIORITY_HIGH - priority]);
}

struct schedule *
schedule_new(void)
{
	struct schedule *s;
	int i;

	s = mem_zalloc(1, sizeof(*s));
	if (s == NULL)
		return (NULL);
	for (i = 0; i < CLASSES; i++)
		TAILQ_INIT(&s->ready[i]);
	TAILQ_INIT(&s->alone);
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

/* Returns the queue in which ${l} waits while it is ready. */
static struct lane_queue *
home(struct schedule *s, const struct lane *l)
{

	return (l->broken > 0 ? &s->alone : queue_of(s, l->priority));
}

static void
move(struct schedule *s, struct lane *l, enum schedule_lane_state to)
{

	assert(schedule_lane_allows(l->state, to));
	if (l->state == SCHEDULE_LANE_READY) {
		TAILQ_REMOVE(home(s, l), l, entry);
		s->nready--;
	}
	l->state = to;
	if (to == SCHEDULE_LANE_READY) {
		TAILQ_INSERT_TAIL(home(s, l), l, entry);
		s->nready++;
	}
}

/* A ready lane gets the highest priority of its wake-ups. */
static void
wake_again(struct schedule *s, struct lane *l, int priority)
{

	if (l->state != SCHEDULE_LANE_READY) {
		if (l->state == SCHEDULE_LANE_BUSY)
			move(s, l, SCHEDULE_LANE_WOKEN);
		if (l->woken_priority < priority)
			l->woken_priority = priority;
	} else if (l->priority < priority) {
		TAILQ_REMOVE(home(s, l), l, entry);
		l->priority = priority;
		TAILQ_INSERT_TAIL(home(s, l), l, entry);
	}
}

enum rc
schedule_wake(struct schedule *s, int64_t lane_id, int priority)
{
	struct lane *l;

	l = htab_find(s->table, &lane_id);
	if (l != NULL) {
		wake_again(s, l, priority);
		return (RC_OK);
	}
	l = mem_zalloc(1, sizeof(*l));
	if (l == NULL)
		return (RC_NO_MEMORY);
	l->id = lane_id;
	l->priority = priority;
	if (htab_set(s->table, &l->id, l) != RC_OK) {
		mem_free(l);
		return (RC_NO_MEMORY);
	}
	move(s, l, SCHEDULE_LANE_READY);
	return (RC_OK);
}

static struct lane *
take_first(struct schedule *s, struct lane_queue *q)
{
	struct lane *l = TAILQ_FIRST(q);

	if (l == NULL)
		return (NULL);
	move(s, l, SCHEDULE_LANE_BUSY);
	s->nbusy++;
	l->woken_priority = PRIORITY_LOW;
	return (l);
}

/* Takes the first lane from the queue of the priority whose turn it is
 * (schedule_class()), and marks it as under way.  If that queue is empty, takes
 * the first lane of the highest priority that has a ready lane; NULL if none
 * has.  Called only when no lane is in the queue ${alone}. */
static struct lane *
take_next(struct schedule *s)
{
	struct lane *l;
	int i;

	l = take_first(s, queue_of(s, schedule_class(s->turn++)));
	for (i = 0; i < CLASSES && l == NULL; i++)
		l = take_first(s, &s->ready[i]);
	return (l);
}

size_t
schedule_take(struct schedule *s, struct schedule_take *take)
{
	struct lane *l;

	take->n = 0;
	take->poison = false;
	if ((l = take_first(s, &s->alone)) != NULL) {
		take->lanes[take->n++] = l->id;
		take->poison = l->broken > SCHEDULE_POISON_AFTER;
		return (take->n);
	}
	while (take->n < take->max && (l = take_next(s)) != NULL)
		take->lanes[take->n++] = l->id;
	return (take->n);
}

void
schedule_done(struct schedule *s, int64_t lane_id, enum lane_outcome outcome)
{
	struct lane *l;

	l = htab_find(s->table, &lane_id);
	assert(l != NULL && l->state != SCHEDULE_LANE_READY);
	s->nbusy--;
	if (outcome == LANE_BROKEN)
		l->broken++;
	else if (outcome != LANE_LATER)
		l->broken = 0;
	/* After LANE_DONE only the messages wait that woke the lane during the
	 * delivery, so the lane gets the highest priority of these.  After
	 * other outcomes older messages wait as well, so the priority of the
	 * lane can only rise. */
	if (l->state == SCHEDULE_LANE_WOKEN &&
	    (outcome == LANE_DONE || l->priority < l->woken_priority))
		l->priority = l->woken_priority;
	if (outcome != LANE_DONE || l->state == SCHEDULE_LANE_WOKEN) {
		move(s, l, SCHEDULE_LANE_READY);
		return;
	}
	move(s, l, SCHEDULE_LANE_GONE);
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
