/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool: how many jobs may wait, and the order in which they run.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "rest/pool.h"

struct count_job {
	struct pool_job job;
	struct counts *counts;
};

struct counts {
	pthread_mutex_t gate; /* while the test holds it, no job ends */
	atomic_int begun, done;
};

static void
run_count(struct pool_job *job)
{
	struct count_job *c = (struct count_job *)(void *)job;

	atomic_fetch_add(&c->counts->begun, 1);
	(void)pthread_mutex_lock(&c->counts->gate);
	(void)pthread_mutex_unlock(&c->counts->gate);
	atomic_fetch_add(&c->counts->done, 1);
}

static void
test_pool(void **state)
{
	static struct count_job jobs[100];
	struct counts counts = {.gate = PTHREAD_MUTEX_INITIALIZER};
	struct err err = ERR_INIT;
	struct pool *pool;
	enum rc rc = RC_OK;
	int i, taken = 0;

	(void)state;
	assert_int_equal(RC_OK, pool_new(2, &pool, &err));
	(void)pthread_mutex_lock(&counts.gate);
	for (i = 0; i < 100; i++) {
		jobs[i].job.run = run_count;
		jobs[i].job.class = POOL_REGISTRATION;
		jobs[i].job.owner = (uint64_t)i % 8;
		jobs[i].counts = &counts;
		rc = pool_submit(pool, &jobs[i].job);
		taken += rc == RC_OK;
		/* Wait until both threads are busy: a thread that starts late
		 * would make room for one job more. */
		while (i < 2 && atomic_load(&counts.begun) <= i)
			(void)sched_yield();
	}
	/* The pool is bounded: 2 jobs run, and 64 wait. */
	assert_int_equal(RC_BUSY, rc);
	assert_int_equal(66, taken);
	/* Registrations take no places from log-ins. */
	jobs[97].job.class = POOL_STRANGER;
	jobs[97].job.owner = 10;
	assert_int_equal(RC_OK, pool_submit(pool, &jobs[97].job));
	jobs[98].job.class = POOL_KNOWN;
	jobs[98].job.owner = 11;
	assert_int_equal(RC_OK, pool_submit(pool, &jobs[98].job));
	taken += 2;
	(void)pthread_mutex_unlock(&counts.gate);
	pool_stop(pool);
	assert_int_equal(taken, atomic_load(&counts.done));
	assert_int_equal(RC_CLOSED, pool_submit(pool, &jobs[99].job));
	pool_free(pool);
}

/* One owner gets half of the places at most, so that another owner's job is
 * accepted. */
static void
test_pool_share(void **state)
{
	static struct count_job jobs[100];
	struct counts counts = {.gate = PTHREAD_MUTEX_INITIALIZER};
	struct err err = ERR_INIT;
	struct pool *pool;
	int i, taken = 0;

	(void)state;
	assert_int_equal(RC_OK, pool_new(1, &pool, &err));
	(void)pthread_mutex_lock(&counts.gate);
	for (i = 0; i < 99; i++) {
		jobs[i].job.run = run_count;
		jobs[i].job.owner = 1;
		jobs[i].counts = &counts;
		taken += pool_submit(pool, &jobs[i].job) == RC_OK;
	}
	assert_int_equal(32, taken);
	jobs[99].job.run = run_count;
	jobs[99].job.owner = 2;
	jobs[99].counts = &counts;
	assert_int_equal(RC_OK, pool_submit(pool, &jobs[99].job));
	(void)pthread_mutex_unlock(&counts.gate);
	while (atomic_load(&counts.done) < taken + 1)
		(void)sched_yield();
	/* Jobs that have ended give their places back. */
	for (i = 0; i < 32; i++)
		while (pool_submit(pool, &jobs[i].job) != RC_OK)
			(void)sched_yield();
	pool_stop(pool);
	assert_int_equal(taken + 1 + 32, atomic_load(&counts.done));
	pool_free(pool);
}

/* A job that appends its letter to a text. */
struct letter_job {
	struct pool_job job;
	struct letters *letters;
	char letter;
};

struct letters {
	pthread_mutex_t gate;
	atomic_int n;
	char text[64];
};

static void
run_letter(struct pool_job *job)
{
	struct letter_job *l = (struct letter_job *)(void *)job;
	struct letters *letters = l->letters;

	if (l->letter == '-') {
		/* This job keeps the only thread busy until all others wait. */
		atomic_fetch_add(&letters->n, 1);
		(void)pthread_mutex_lock(&letters->gate);
		(void)pthread_mutex_unlock(&letters->gate);
		return;
	}
	letters->text[atomic_fetch_add(&letters->n, 1) - 1] = l->letter;
}

/* Returns the order in which one thread runs waiting jobs.  ${jobs} has the
 * class ('k', 's', 'n') and the owner of each job; the result has a letter for
 * each, 'A' for the first of ${jobs}. */
static const char *
order_of(const char *jobs)
{
	static struct letter_job all[32];
	static struct letters letters;
	static const char classes[] = "ksn";
	struct err err = ERR_INIT;
	struct pool *pool;
	int i, n = (int)strlen(jobs) / 2;

	memset(&letters, 0, sizeof(letters));
	(void)pthread_mutex_init(&letters.gate, NULL);
	assert_int_equal(RC_OK, pool_new(1, &pool, &err));
	(void)pthread_mutex_lock(&letters.gate);
	all[n] = (struct letter_job){.letters = &letters, .letter = '-'};
	all[n].job.run = run_letter;
	assert_int_equal(RC_OK, pool_submit(pool, &all[n].job));
	while (atomic_load(&letters.n) == 0)
		(void)sched_yield();
	for (i = 0; i < n; i++) {
		all[i] = (struct letter_job){
		    .letters = &letters, .letter = (char)('A' + i)};
		all[i].job.run = run_letter;
		all[i].job.class =
		    (enum pool_class)(strchr(classes, jobs[2 * i]) - classes);
		all[i].job.owner = (uint64_t)jobs[2 * i + 1];
		assert_int_equal(RC_OK, pool_submit(pool, &all[i].job));
	}
	(void)pthread_mutex_unlock(&letters.gate);
	pool_stop(pool);
	pool_free(pool);
	(void)pthread_mutex_destroy(&letters.gate);
	return (letters.text);
}

static void
test_pool_order(void **state)
{

	(void)state;
	assert_string_equal("ABC", order_of("n1n2n3"));
	/* The order of the classes: log-ins from known networks, other log-ins,
	 * registrations. */
	assert_string_equal("CBA", order_of("n1s2k3"));
	assert_string_equal("EBDAC", order_of("n1s2n3s4k5"));
	/* Networks take turns within a class. */
	assert_string_equal("ADEBFC", order_of("n1n1n1n2n3n2"));
	assert_string_equal("ACBD", order_of("k1k1k2k2"));
	/* Turns of a network in one class do not count in another. */
	assert_string_equal("CADB", order_of("n1n1k1n2"));
}

/* Jobs of one user who logs in again and again pass the other jobs at most four
 * times. */
static void
test_pool_overdue(void **state)
{

	(void)state;
	assert_string_equal(
	    "ABCDKEFGHLIJ", order_of("k1k1k1k1k1k1k1k1k1k1n2n2"));
	assert_string_equal(
	    "ABCDLKEFGHIJ", order_of("k1k1k1k1k1k1k1k1k1k1s2n3"));
	/* The same holds for log-ins from anywhere and registrations. */
	assert_string_equal("ABCDGEF", order_of("s1s2s3s4s5s6n7"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pool),
	    cmocka_unit_test(test_pool_share),
	    cmocka_unit_test(test_pool_order),
	    cmocka_unit_test(test_pool_overdue),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
