/* SPDX-License-Identifier: MIT */
/*
 * Lists the users and devices that have an open session or a long-poll for an
 * inbox on this node.  At intervals, and when notifications may have been lost,
 * a cluster node asks for these lists and reads from the store what these users
 * and devices may have missed: commits of other nodes, and own commits for
 * which the database's answer was lost.
 */
#include "base/mem.h"
#include "push/push_internal.h"

/* Fills the lists of ${task} (a push_present) and calls its done, in the push
 * thread.  If memory is short, the lists are empty.  Long-polls for outbox
 * entries are woken instead of being listed.  A session that opens later, or a
 * long-poll that is registered later, need not be listed, because it reads the
 * store itself. */
static void
list_present(struct push *p, struct push_task *task)
{
	struct push_present *ask = (struct push_present *)(void *)task;
	struct waiting *w;
	struct session *s;
	size_t most = 0;

	waiters_recheck(p);
	TAILQ_FOREACH (s, &p->all, all)
		most++;
	TAILQ_FOREACH (w, &p->waiters, all)
		most++;
	ask->n = 0;
	ask->users = mem_alloc((most + 1) * sizeof(*ask->users));
	ask->devices = mem_alloc((most + 1) * sizeof(*ask->devices));
	if (ask->users == NULL || ask->devices == NULL)
		goto done;
	TAILQ_FOREACH (s, &p->all, all) {
		if (!session_is_open(s))
			continue;
		ask->users[ask->n] = s->member.user_id;
		ask->devices[ask->n++] = s->device_id;
	}
	TAILQ_FOREACH (w, &p->waiters, all) {
		ask->users[ask->n] = w->member.user_id;
		ask->devices[ask->n++] = w->waiter->device_id;
	}
done:
	ask->done(ask);
}

void
push_ask_present(struct push *p, struct push_present *ask)
{

	ask->task.run = list_present;
	push_post(p, &ask->task);
}

void
push_present_free(struct push_present *ask)
{

	mem_free(ask->users);
	mem_free(ask->devices);
	ask->users = ask->devices = NULL;
	ask->n = 0;
}
