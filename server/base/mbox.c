/* SPDX-License-Identifier: MIT */
/*
 * Mailboxes.  A box owns a list under a lock that is never held while a thread
 * waits.  Promises order of arrival, no allocation in put, and one write to the
 * eventfd, if there is one, each time the box changes from empty to not empty.
 * A put writes to the eventfd and signals the condition variable while it holds
 * the lock, and mbox_free() takes the lock first, so that the thread that takes
 * the last object may free the box at once.
 *
 * Invariants, under the lock:
 *  1. head is NULL exactly when count is 0; *tail is always NULL;
 *  2. signalled is true exactly when the eventfd is readable; the eventfd of a
 *     box that is not empty is readable; that of an empty box is readable only
 *     after mbox_close().
 */
#include "base/mbox.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

struct mbox {
	struct lock lock;
	pthread_cond_t arrived;
	struct mbox_node *head;
	struct mbox_node **tail;
	size_t count;
	size_t limit;
	unsigned waiting; /* threads in mbox_take_wait() */
	int fd;           /* -1: none */
	bool signalled;
	bool closed;
};

struct mbox *
mbox_new(size_t limit, bool with_eventfd)
{
	struct mbox *box;

	box = mem_zalloc(1, sizeof(*box));
	if (box == NULL)
		return (NULL);
	box->tail = &box->head;
	box->limit = limit;
	box->fd = -1;
	if (with_eventfd) {
		box->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (box->fd < 0) {
			mem_free(box);
			return (NULL);
		}
	}
	lock_init(&box->lock, LOCK_MBOX);
	lock_cond_init(&box->arrived);
	return (box);
}

void
mbox_free(struct mbox *box)
{

	if (box == NULL)
		return;
	/* Wait for the last putter, which may still hold the lock. */
	lock_take(&box->lock);
	assert(box->head == NULL && box->waiting == 0);
	lock_drop(&box->lock);
	lock_fini(&box->lock);
	(void)pthread_cond_destroy(&box->arrived);
	if (box->fd >= 0)
		(void)close(box->fd);
	mem_free(box);
}

/* Makes the eventfd readable, if it is not.  The caller holds the lock. */
static void
raise_fd(struct mbox *box)
{
	uint64_t one = 1;
	ssize_t n;

	if (box->fd < 0 || box->signalled)
		return;
	n = write(box->fd, &one, sizeof(one));
	assert(n == (ssize_t)sizeof(one));
	box->signalled = true;
}

/* Makes the eventfd unreadable.  The caller holds the lock. */
static void
lower_fd(struct mbox *box)
{
	uint64_t count;
	ssize_t n;

	if (!box->signalled)
		return;
	n = read(box->fd, &count, sizeof(count));
	assert(n == (ssize_t)sizeof(count));
	box->signalled = false;
}

static enum rc
put(struct mbox *box, struct mbox_node *node, bool urgent)
{
	enum rc rc = RC_OK;

	lock_take(&box->lock);
	if (box->closed) {
		rc = RC_CLOSED;
	} else if (!urgent && box->limit != 0 && box->count >= box->limit) {
		rc = RC_BUSY;
	} else {
		node->next = NULL;
		*box->tail = node;
		box->tail = &node->next;
		box->count++;
		raise_fd(box);
		if (box->waiting > 0)
			(void)pthread_cond_signal(&box->arrived);
	}
	lock_drop(&box->lock);
	return (rc);
}

enum rc
mbox_put(struct mbox *box, struct mbox_node *node)
{

	return (put(box, node, false));
}

enum rc
mbox_put_urgent(struct mbox *box, struct mbox_node *node)
{

	return (put(box, node, true));
}

struct mbox_node *
mbox_take_all(struct mbox *box)
{
	struct mbox_node *list;

	lock_take(&box->lock);
	list = box->head;
	box->head = NULL;
	box->tail = &box->head;
	box->count = 0;
	lower_fd(box);
	lock_drop(&box->lock);
	return (list);
}

/* Removes and returns the first object, or returns NULL if there is none.
 * Makes the eventfd unreadable if this was the last object.  The caller holds
 * the lock. */
static struct mbox_node *
take_first(struct mbox *box)
{
	struct mbox_node *node = box->head;

	if (node == NULL)
		return (NULL);
	box->head = node->next;
	box->count--;
	if (box->head == NULL) {
		box->tail = &box->head;
		lower_fd(box);
	}
	node->next = NULL;
	return (node);
}

struct mbox_node *
mbox_take_wait(struct mbox *box, int64_t timeout_ms)
{
	struct timespec deadline = {0, 0};
	struct mbox_node *node;
	bool over = false;

	if (timeout_ms > 0)
		deadline = lock_deadline(timeout_ms);
	lock_take(&box->lock);
	while (box->head == NULL && !box->closed && timeout_ms != 0 && !over) {
		box->waiting++;
		if (timeout_ms < 0)
			lock_wait(&box->lock, &box->arrived);
		else
			over = !lock_wait_until(
			    &box->lock, &box->arrived, &deadline);
		box->waiting--;
	}
	node = take_first(box);
	lock_drop(&box->lock);
	return (node);
}

void
mbox_close(struct mbox *box)
{

	lock_take(&box->lock);
	box->closed = true;
	raise_fd(box);
	(void)pthread_cond_broadcast(&box->arrived);
	lock_drop(&box->lock);
}

size_t
mbox_count(struct mbox *box)
{
	size_t count;

	lock_take(&box->lock);
	count = box->count;
	lock_drop(&box->lock);
	return (count);
}

int
mbox_fd(const struct mbox *box)
{

	return (box->fd);
}
