/* SPDX-License-Identifier: MIT */
/*
 * Mailboxes: order, bounds, closing, waiting, and the descriptor, which is
 * readable exactly while the mailbox is not empty.  Then many senders at once:
 * each object must arrive once, in the order of its sender.
 */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clk.h"
#include "base/mbox.h"
#include "base/mem.h"
#include "base/thr.h"

#define SENDERS 3
#define SENT 8000

struct item {
	struct mbox_node node; /* first */
	int sender;
	int number;
};

static bool
readable(const struct mbox *box)
{
	struct pollfd pfd = {.fd = mbox_fd(box), .events = POLLIN};

	return (poll(&pfd, 1, 0) == 1);
}

static void
test_order_and_limit(void **state)
{
	struct mbox_node n[4], *list;
	struct mbox *box;

	(void)state;
	box = mbox_new(2, false);
	assert_int_equal(mbox_fd(box), -1);
	assert_null(mbox_take_all(box));
	assert_int_equal(mbox_put(box, &n[0]), RC_OK);
	assert_int_equal(mbox_put(box, &n[1]), RC_OK);
	assert_int_equal(mbox_put(box, &n[2]), RC_BUSY);
	assert_int_equal(mbox_put_urgent(box, &n[3]), RC_OK);
	assert_int_equal(mbox_count(box), 3);
	list = mbox_take_all(box);
	assert_ptr_equal(list, &n[0]);
	assert_ptr_equal(list->next, &n[1]);
	assert_ptr_equal(list->next->next, &n[3]);
	assert_null(list->next->next->next);
	assert_int_equal(mbox_count(box), 0);
	assert_int_equal(mbox_put(box, &n[2]), RC_OK);
	assert_ptr_equal(mbox_take_wait(box, 0), &n[2]);
	assert_null(mbox_take_wait(box, 0));
	mbox_free(box);
	mbox_free(NULL);
}

static void
test_no_limit(void **state)
{
	static struct mbox_node n[5000];
	struct mbox *box;
	size_t i;

	(void)state;
	box = mbox_new(0, false);
	for (i = 0; i < 5000; i++)
		assert_int_equal(mbox_put(box, &n[i]), RC_OK);
	for (i = 0; i < 5000; i++)
		assert_ptr_equal(mbox_take_wait(box, -1), &n[i]);
	mbox_free(box);
}

static void
test_close(void **state)
{
	struct mbox_node n[3];
	struct mbox *box;

	(void)state;
	box = mbox_new(2, true);
	assert_int_equal(mbox_put(box, &n[0]), RC_OK);
	mbox_close(box);
	assert_int_equal(mbox_put(box, &n[1]), RC_CLOSED);
	assert_int_equal(mbox_put_urgent(box, &n[1]), RC_CLOSED);
	assert_ptr_equal(mbox_take_wait(box, -1), &n[0]);
	assert_null(mbox_take_wait(box, -1));
	mbox_free(box);
	box = mbox_new(2, true);
	mbox_close(box);
	assert_true(readable(box));
	assert_null(mbox_take_all(box));
	mbox_free(box);
}

static void
test_descriptor(void **state)
{
	struct mbox_node n[3];
	struct mbox *box;
	uint64_t count;

	(void)state;
	box = mbox_new(0, true);
	assert_true(mbox_fd(box) >= 0);
	assert_false(readable(box));
	assert_int_equal(mbox_put(box, &n[0]), RC_OK);
	assert_true(readable(box));
	assert_int_equal(mbox_put(box, &n[1]), RC_OK);
	/* One write to the descriptor for both objects. */
	assert_int_equal(read(mbox_fd(box), &count, sizeof(count)), 8);
	assert_int_equal(count, 1);
	assert_int_equal(write(mbox_fd(box), &count, sizeof(count)), 8);
	assert_non_null(mbox_take_all(box));
	assert_false(readable(box));
	assert_null(mbox_take_all(box));
	assert_int_equal(mbox_put(box, &n[0]), RC_OK);
	assert_int_equal(mbox_put(box, &n[1]), RC_OK);
	assert_ptr_equal(mbox_take_wait(box, 0), &n[0]);
	assert_true(readable(box));
	assert_ptr_equal(mbox_take_wait(box, 0), &n[1]);
	assert_false(readable(box));
	assert_int_equal(mbox_put(box, &n[2]), RC_OK);
	assert_true(readable(box));
	assert_ptr_equal(mbox_take_all(box), &n[2]);
	mbox_free(box);
}

static void
test_time_out(void **state)
{
	const struct clk *clk = clk_system();
	struct mbox *box;
	int64_t start;

	(void)state;
	box = mbox_new(1, false);
	start = clk_mono_ms(clk);
	assert_null(mbox_take_wait(box, 30));
	assert_true(clk_mono_ms(clk) - start >= 29);
	mbox_free(box);
}

static void
test_no_memory(void **state)
{

	(void)state;
	mem_fail_at(1);
	assert_null(mbox_new(1, true));
	assert_false(mem_fail_pending());
}

struct run {
	struct mbox *box;
	int sender;
	struct item *items;
};

static void
send_all(void *arg)
{
	struct run *run = arg;
	enum rc rc;
	int i;

	for (i = 0; i < SENT; i++) {
		run->items[i].sender = run->sender;
		run->items[i].number = i;
		while (
		    (rc = mbox_put(run->box, &run->items[i].node)) == RC_BUSY)
			(void)sched_yield();
		assert(rc == RC_OK);
	}
}

static void
start_senders(struct mbox *box, struct run *runs, struct thr **thr)
{
	int i;

	for (i = 0; i < SENDERS; i++) {
		runs[i].box = box;
		runs[i].sender = i;
		runs[i].items = mem_zalloc(SENT, sizeof(struct item));
		assert_int_equal(
		    thr_start(THR_OTHER, i, send_all, &runs[i], &thr[i], NULL),
		    RC_OK);
	}
}

static void
end_senders(struct run *runs, struct thr **thr)
{
	int i;

	for (i = 0; i < SENDERS; i++) {
		thr_join(&thr[i]);
		mem_free(runs[i].items);
	}
}

/* One owner polls the descriptor; a lost wake-up shows as a poll that times
 * out. */
static void
test_many_senders_polled(void **state)
{
	int next[SENDERS] = {0}, got = 0;
	struct mbox_node *list, *node;
	struct run runs[SENDERS];
	struct thr *thr[SENDERS];
	struct pollfd pfd;
	struct item *item;
	struct mbox *box;

	(void)state;
	box = mbox_new(100, true);
	start_senders(box, runs, thr);
	pfd.fd = mbox_fd(box);
	pfd.events = POLLIN;
	while (got < SENDERS * SENT) {
		assert_int_equal(poll(&pfd, 1, 20000), 1);
		for (list = mbox_take_all(box); list != NULL;) {
			node = list;
			list = node->next;
			item = (struct item *)(void *)node;
			assert_int_equal(item->number, next[item->sender]);
			next[item->sender]++;
			got++;
		}
	}
	end_senders(runs, thr);
	assert_null(mbox_take_all(box));
	mbox_free(box);
}

struct worker {
	struct mbox *box;
	atomic_int *got;
	int last[SENDERS];
};

static void
work(void *arg)
{
	struct worker *w = arg;
	struct item *item;

	while ((item = (void *)mbox_take_wait(w->box, -1)) != NULL) {
		/* Each worker gets the objects of a sender in order. */
		assert(item->number > w->last[item->sender]);
		w->last[item->sender] = item->number;
		atomic_fetch_add(w->got, 1);
	}
}

static void
test_many_senders_many_workers(void **state)
{
	struct thr *thr[SENDERS], *worker_thr[2];
	struct worker workers[2];
	struct run runs[SENDERS];
	atomic_int got = 0;
	struct mbox *box;
	int i, j;

	(void)state;
	box = mbox_new(50, false);
	for (i = 0; i < 2; i++) {
		workers[i].box = box;
		workers[i].got = &got;
		for (j = 0; j < SENDERS; j++)
			workers[i].last[j] = -1;
		assert_int_equal(thr_start(THR_ARGON2, i, work, &workers[i],
				     &worker_thr[i], NULL),
		    RC_OK);
	}
	start_senders(box, runs, thr);
	for (i = 0; i < SENDERS; i++)
		thr_join(&thr[i]);
	mbox_close(box);
	for (i = 0; i < 2; i++)
		thr_join(&worker_thr[i]);
	assert_int_equal(atomic_load(&got), SENDERS * SENT);
	end_senders(runs, thr);
	mbox_free(box);
}

struct question {
	struct mbox_node node;
	struct mbox *answers;
};

static void
answer_one(void *arg)
{
	struct question *q = arg;

	assert(mbox_put(q->answers, &q->node) == RC_OK);
}

/* A mailbox may be freed as soon as its last object was taken. */
static void
test_free_after_take(void **state)
{
	struct question q;
	struct thr *thr;
	int i;

	(void)state;
	for (i = 0; i < 200; i++) {
		q.answers = mbox_new(1, true);
		assert_int_equal(
		    thr_start(THR_OTHER, 0, answer_one, &q, &thr, NULL), RC_OK);
		assert_ptr_equal(mbox_take_wait(q.answers, -1), &q.node);
		mbox_free(q.answers);
		thr_join(&thr);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order_and_limit),
	    cmocka_unit_test(test_no_limit),
	    cmocka_unit_test(test_close),
	    cmocka_unit_test(test_descriptor),
	    cmocka_unit_test(test_time_out),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_many_senders_polled),
	    cmocka_unit_test(test_many_senders_many_workers),
	    cmocka_unit_test(test_free_after_take),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
