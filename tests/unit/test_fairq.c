/* SPDX-License-Identifier: MIT */
/*
 * Owners of a queue take turns, however much each of them puts; shares, limits
 * and the end of the queue; several threads at both ends.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fairq.h"

struct item {
	struct mbox_node node; /* first */
	int name;
};

static struct item items[4096];

/* Puts one object for each letter of ${names}; the letter is its owner. */
static void
put_all(struct fairq *q, const char *names)
{
	size_t i;

	for (i = 0; names[i] != '\0'; i++) {
		items[i].name = names[i];
		assert_int_equal(
		    fairq_put(q, &items[i].node, (uint64_t)names[i]), RC_OK);
	}
}

/* Takes all objects and returns their letters in order. */
static const char *
take_all(struct fairq *q)
{
	static char names[64];
	struct mbox_node *node;
	size_t n = 0;

	while (fairq_take(q, 0, &node) && node != NULL)
		names[n++] = (char)((struct item *)(void *)node)->name;
	names[n] = '\0';
	return (names);
}

static void
test_turns(void **state)
{
	static const char *const rows[][2] = {
	    {"", ""},
	    {"a", "a"},
	    {"aaaaab", "abaaaa"},
	    {"aaabbbccc", "abcabcabc"},
	    {"aaaabbc", "abcabaa"},
	    {"abcabc", "abcabc"},
	};
	struct fairq *q = fairq_new(100, 100);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_all(q, rows[i][0]);
		assert_int_equal(fairq_count(q), strlen(rows[i][0]));
		assert_string_equal(take_all(q), rows[i][1]);
		assert_int_equal(fairq_count(q), 0);
	}
	fairq_free(q);
}

/* The first object of a new owner waits for at most one object of each other
 * owner, also in the middle of their turns. */
static void
test_newcomer(void **state)
{
	struct fairq *q = fairq_new(100, 100);
	struct item late = {.name = 'z'};
	struct mbox_node *node;

	(void)state;
	put_all(q, "aaabbb");
	assert_true(fairq_take(q, 0, &node));
	assert_ptr_equal(node, &items[0].node);
	assert_int_equal(fairq_put(q, &late.node, 'z'), RC_OK);
	assert_string_equal(take_all(q), "bazbab");
	fairq_free(q);
}

/* Owners whose hashes differ by the number of lines share a line. */
static void
test_same_line(void **state)
{
	struct fairq *q = fairq_new(100, 100);
	struct item other = {.name = 'A'};

	(void)state;
	put_all(q, "aab");
	assert_int_equal(fairq_put(q, &other.node, 'a' + FAIRQ_LINES), RC_OK);
	assert_string_equal(take_all(q), "abaA");
	fairq_free(q);
}

static void
test_limits(void **state)
{
	struct fairq *q = fairq_new(4, 3);
	struct item more = {.name = 'x'};
	struct mbox_node *node;

	(void)state;
	put_all(q, "aaa");
	assert_int_equal(fairq_put(q, &more.node, 'a'), RC_BUSY);
	assert_int_equal(fairq_put(q, &more.node, 'b'), RC_OK);
	assert_int_equal(fairq_put(q, &items[10].node, 'c'), RC_BUSY);
	assert_string_equal(take_all(q), "axaa");
	/* There is room again. */
	put_all(q, "aaab");
	fairq_close(q);
	assert_int_equal(fairq_put(q, &items[10].node, 'c'), RC_CLOSED);
	assert_string_equal(take_all(q), "abaa");
	assert_false(fairq_take(q, -1, &node));
	assert_null(node);
	fairq_free(q);
	fairq_free(NULL);
}

static void
test_timeout(void **state)
{
	struct fairq *q = fairq_new(4, 3);
	struct mbox_node *node = &items[0].node;

	(void)state;
	assert_true(fairq_take(q, 1, &node));
	assert_null(node);
	fairq_free(q);
}

/* ---- threads ---- */

#define PUTTERS 4
#define TAKERS 3
#define EACH 1000

static struct fairq *shared;
static atomic_int taken[PUTTERS];

static void *
putter(void *arg)
{
	struct item *mine = arg;
	const uint64_t owner = (uint64_t)mine->name;
	int i;

	for (i = 0; i < EACH; i++)
		if (fairq_put(shared, &mine[i].node, owner) != RC_OK)
			return (arg);
	return (NULL);
}

static void *
taker(void *arg)
{
	struct mbox_node *node;

	(void)arg;
	while (fairq_take(shared, -1, &node))
		atomic_fetch_add(
		    &taken[((struct item *)(void *)node)->name], 1);
	return (NULL);
}

/* Each object is taken once, by one of the threads. */
static void
test_threads(void **state)
{
	pthread_t putters[PUTTERS], takers[TAKERS];
	void *failed;
	int i;

	(void)state;
	shared = fairq_new(PUTTERS * EACH, EACH);
	for (i = 0; i < PUTTERS * EACH; i++)
		items[i].name = i / EACH;
	for (i = 0; i < TAKERS; i++)
		assert_int_equal(
		    pthread_create(&takers[i], NULL, taker, NULL), 0);
	for (i = 0; i < PUTTERS; i++)
		assert_int_equal(
		    pthread_create(&putters[i], NULL, putter, &items[i * EACH]),
		    0);
	for (i = 0; i < PUTTERS; i++) {
		assert_int_equal(pthread_join(putters[i], &failed), 0);
		assert_null(failed);
	}
	fairq_close(shared);
	for (i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_join(takers[i], NULL), 0);
	for (i = 0; i < PUTTERS; i++)
		assert_int_equal(atomic_load(&taken[i]), EACH);
	fairq_free(shared);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_turns),
	    cmocka_unit_test(test_newcomer),
	    cmocka_unit_test(test_same_line),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_timeout),
	    cmocka_unit_test(test_threads),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
