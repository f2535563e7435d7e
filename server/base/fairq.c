/* SPDX-License-Identifier: MIT */
/*
 * See fairq.h.  A line is the queue of the owners whose hash selects it.  The
 * lines that are not empty form a list in the order of their turns: the first
 * line hands out its first object and then moves to the end of the list, or out
 * of the list if it is empty.
 */
#include "base/fairq.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "base/mem.h"

struct line {
	struct mbox_node *head, **tail;
	size_t count;
	struct line *next; /* the next line in the order of turns */
};

struct fairq {
	struct lock lock; /* protects all members below */
	pthread_cond_t arrived;
	size_t limit, share, count;
	bool closed;
	struct line *first, **last; /* the lines that are not empty */
	struct line lines[FAIRQ_LINES];
};

struct fairq *
fairq_new(size_t limit, size_t share)
{
	struct fairq *q;
	int i;

	if ((q = mem_zalloc(1, sizeof(*q))) == NULL)
		return (NULL);
	q->limit = limit;
	q->share = share;
	q->last = &q->first;
	for (i = 0; i < FAIRQ_LINES; i++)
		q->lines[i].tail = &q->lines[i].head;
	lock_init(&q->lock, LOCK_FAIRQ);
	lock_cond_init(&q->arrived);
	return (q);
}

void
fairq_free(struct fairq *q)
{

	if (q == NULL)
		return;
	assert(q->count == 0);
	(void)pthread_cond_destroy(&q->arrived);
	lock_fini(&q->lock);
	mem_free(q);
}

/* Puts ${line} at the end of the list of turns.  The caller holds the lock. */
static void
add_turn(struct fairq *q, struct line *line)
{

	line->next = NULL;
	*q->last = line;
	q->last = &line->next;
}

enum rc
fairq_put(struct fairq *q, struct mbox_node *node, uint64_t owner)
{
	struct line *line = &q->lines[owner % FAIRQ_LINES];
	enum rc rc = RC_OK;

	lock_take(&q->lock);
	if (q->closed) {
		rc = RC_CLOSED;
	} else if (q->count >= q->limit || line->count >= q->share) {
		rc = RC_BUSY;
	} else {
		node->next = NULL;
		*line->tail = node;
		line->tail = &node->next;
		if (line->count++ == 0)
			add_turn(q, line);
		q->count++;
		(void)pthread_cond_signal(&q->arrived);
	}
	lock_drop(&q->lock);
	return (rc);
}

/* Removes and returns the first object of the first line, and moves this line
 * to the end of the list of turns, or out of the list if the line is empty now.
 * The caller holds the lock; the queue is not empty. */
static struct mbox_node *
take_turn(struct fairq *q)
{
	struct line *line = q->first;
	struct mbox_node *node = line->head;

	q->first = line->next;
	if (q->first == NULL)
		q->last = &q->first;
	line->head = node->next;
	line->count--;
	q->count--;
	if (line->head == NULL)
		line->tail = &line->head;
	else
		add_turn(q, line);
	node->next = NULL;
	return (node);
}

bool
fairq_take(struct fairq *q, int64_t timeout_ms, struct mbox_node **ret)
{
	const struct timespec deadline =
	    lock_deadline(timeout_ms < 0 ? 0 : timeout_ms);
	bool more, over = false;

	lock_take(&q->lock);
	while (q->count == 0 && !q->closed && !over) {
		if (timeout_ms < 0)
			lock_wait(&q->lock, &q->arrived);
		else
			over =
			    !lock_wait_until(&q->lock, &q->arrived, &deadline);
	}
	more = q->count > 0 || !q->closed;
	*ret = q->count > 0 ? take_turn(q) : NULL;
	lock_drop(&q->lock);
	return (more);
}

void
fairq_close(struct fairq *q)
{

	lock_take(&q->lock);
	q->closed = true;
	(void)pthread_cond_broadcast(&q->arrived);
	lock_drop(&q->lock);
}

size_t
fairq_count(struct fairq *q)
{
	size_t count;

	lock_take(&q->lock);
	count = q->count;
	lock_drop(&q->lock);
	return (count);
}
