/* SPDX-License-Identifier: MIT */
/*
 * The schedule of retries and the breaker, to the millisecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/breaker.h"
#include "model/retry.h"

/* The numbers that jitter is made from: 0 is 0.8, 200 is 1, 400 is 1.2. */
#define LEAST 0
#define EXACT 200
#define MOST 400

/* ---- retries ---- */

/* (R44, R45, R46, R43, R75, R348-R352, R354) */
static void
test_schedules(void **state)
{
	static const int64_t chat[] = {1000, 2000, 4000, 8000, 16000, 32000,
	    60000, 60000, 60000, 60000, 60000};
	static const int64_t relay[] = {30000, 60000, 120000, 300000, 300000};
	int64_t sum = 0;
	int i;

	(void)state;
	assert_int_equal(retry_most(RETRY_CHAT), 10);
	assert_int_equal(retry_most(RETRY_RELAY), 5);
	for (i = 0; i < 11; i++)
		assert_int_equal(
		    retry_delay_ms(RETRY_CHAT, i, 0, EXACT), chat[i]);
	for (i = 0; i < 10; i++)
		sum += chat[i];
	/* The sum that the guide gives: ten retries take 303 s. */
	assert_int_equal(sum, 303000);
	for (i = 0; i < 5; i++)
		assert_int_equal(
		    retry_delay_ms(RETRY_RELAY, i, 0, EXACT), relay[i]);
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 1000000, 0, EXACT), 60000);
	assert_int_equal(retry_delay_ms(RETRY_CHAT, -1, 0, EXACT), 1000);
}

static void
test_jitter(void **state)
{
	int64_t delay;
	uint32_t i;

	(void)state;
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 3, 0, LEAST), 6400);
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 3, 0, MOST), 9600);
	for (i = 0; i < 100000; i++) {
		delay = retry_delay_ms(RETRY_CHAT, 3, 0, i * 2654435761u);
		assert_in_range(delay, 6400, 9600);
	}
	assert_in_range(
	    retry_delay_ms(RETRY_CHAT, 3, 0, UINT32_MAX), 6400, 9600);
}

/* The delay that the destination asks for has precedence, up to an hour. */
static void
test_hint(void **state)
{

	(void)state;
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 0, 5000, MOST), 5000);
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 0, 1, MOST), 1);
	assert_int_equal(
	    retry_delay_ms(RETRY_CHAT, 0, INT64_MAX, LEAST), 3600000);
	assert_int_equal(retry_delay_ms(RETRY_CHAT, 0, -5, EXACT), 1000);
}

/* ---- the breaker ---- */

#define NOW INT64_C(1700000000000)
/* The breaker's jitter is 0.8 to 1.4; this number gives 1. */
#define ONCE 200

/* Fails ${n} times, each time as soon as an attempt is admitted.  Returns the
 * time after the last failure. */
static int64_t
failing(struct breaker *b, int64_t now, int n)
{

	for (; n > 0; n--) {
		if (b->next_probe_at > now)
			now = b->next_probe_at;
		assert_true(breaker_admits(b, 0, now));
		(void)breaker_leave(b, now);
		assert_true(
		    breaker_failure(b, now, now + 1, 0, ONCE, timing_real()));
		now++;
	}
	return (now);
}

/* (R100) */
static void
test_opens(void **state)
{
	static const int64_t pauses[] = {250, 500, 1000, 2000};
	struct breaker b;
	int64_t now = NOW;
	int i;

	(void)state;
	breaker_init(&b);
	assert_true(breaker_admits(&b, 0, now));
	for (i = 0; i < 4; i++) {
		now = failing(&b, now, 1);
		assert_int_equal(b.state, BREAKER_CLOSED);
		assert_int_equal(b.next_probe_at, now + pauses[i]);
		assert_false(breaker_admits(&b, 0, now + pauses[i] - 1));
		assert_true(breaker_admits(&b, 0, now + pauses[i]));
	}
	now = failing(&b, now, 1);
	assert_int_equal(b.state, BREAKER_OPEN);
	assert_int_equal(b.next_probe_at, now + 2000);
	assert_int_equal(b.failing_since, NOW + 1);
	assert_int_equal(breaker_next(&b, now), now + 2000);
	assert_false(breaker_admits(&b, 0, now + 1999));
}

/* 2, 4, 8 … seconds, at most ten minutes. */
static void
test_backs_off(void **state)
{
	struct breaker b;
	int64_t now, wait, last = 0;
	int i;

	(void)state;
	breaker_init(&b);
	now = failing(&b, NOW, 5);
	for (i = 0; i < 12; i++) {
		wait = b.next_probe_at - now;
		assert_int_equal(wait, i < 9 ? 2000 << i : 600000);
		assert_true(wait >= last);
		last = wait;
		now = b.next_probe_at;
		assert_true(breaker_leave(&b, now));
		assert_int_equal(b.state, BREAKER_HALF_OPEN);
		/* One request at a time, with one message. */
		assert_false(breaker_admits(&b, 1, now));
		assert_int_equal(breaker_batch(&b, 50), 1);
		assert_true(
		    breaker_failure(&b, now, now, 0, ONCE, timing_real()));
	}
}

static void
test_closes(void **state)
{
	struct breaker b;
	int64_t now;

	(void)state;
	breaker_init(&b);
	now = failing(&b, NOW, 7);
	now = b.next_probe_at;
	assert_true(breaker_leave(&b, now));
	assert_true(breaker_success(&b, now));
	assert_int_equal(b.state, BREAKER_HALF_OPEN);
	assert_true(breaker_admits(&b, 0, now));
	assert_true(breaker_success(&b, now));
	assert_int_equal(b.state, BREAKER_CLOSED);
	assert_int_equal(b.failures, 0);
	assert_int_equal(b.failing_since, 0);
	assert_int_equal(breaker_window(&b), 1);
	assert_int_equal(breaker_batch(&b, 50), 50);
	/* The earlier failures of the outage do not count any more. */
	now = failing(&b, now, 1);
	assert_int_equal(b.state, BREAKER_CLOSED);
}

/* One outage that four requests under way notice counts as one failure. */
static void
test_counts_once(void **state)
{
	struct breaker b;

	(void)state;
	breaker_init(&b);
	assert_true(breaker_failure(&b, NOW, NOW + 10, 0, ONCE, timing_real()));
	assert_false(
	    breaker_failure(&b, NOW + 1, NOW + 11, 0, ONCE, timing_real()));
	assert_false(
	    breaker_failure(&b, NOW + 2, NOW + 12, 0, ONCE, timing_real()));
	assert_false(
	    breaker_failure(&b, NOW + 10, NOW + 13, 0, ONCE, timing_real()));
	assert_int_equal(b.failures, 1);
	assert_true(
	    breaker_failure(&b, NOW + 11, NOW + 14, 0, ONCE, timing_real()));
	assert_int_equal(b.failures, 2);
	/* A success between failures does not reset the count. */
	(void)breaker_success(&b, NOW + 20);
	assert_int_equal(b.failures, 1);
}

static void
test_window(void **state)
{
	struct breaker b;
	int i, last = 1;

	(void)state;
	breaker_init(&b);
	assert_int_equal(breaker_window(&b), 1);
	/* The window grows by one in a round trip: after 1 + 2 + …
	 * successes. */
	for (i = 0; i < BREAKER_WINDOW_MAX * BREAKER_WINDOW_MAX; i++) {
		(void)breaker_success(&b, NOW);
		assert_in_range(breaker_window(&b), last, BREAKER_WINDOW_MAX);
		last = breaker_window(&b);
	}
	assert_int_equal(last, BREAKER_WINDOW_MAX);
	assert_true(breaker_admits(&b, BREAKER_WINDOW_MAX - 1, NOW));
	assert_false(breaker_admits(&b, BREAKER_WINDOW_MAX, NOW));
	(void)breaker_failure(&b, NOW, NOW, 0, ONCE, timing_real());
	assert_int_equal(breaker_window(&b), 1);
}

/* A Retry-After for the whole destination. */
static void
test_destination_hint(void **state)
{
	struct breaker b;
	int64_t now;

	(void)state;
	breaker_init(&b);
	(void)breaker_failure(&b, NOW, NOW, 30000, ONCE, timing_real());
	assert_int_equal(b.next_probe_at, NOW + 30000);
	now = failing(&b, NOW + 30000, 4);
	now = b.next_probe_at;
	(void)breaker_leave(&b, now);
	(void)breaker_failure(&b, now, now, INT64_MAX, ONCE, timing_real());
	assert_int_equal(b.next_probe_at, now + 3600000);
}

/* A request from the destination causes a probe at once, but only a success of
 * ours closes the breaker. */
static void
test_contact(void **state)
{
	struct breaker b;
	int64_t now;

	(void)state;
	breaker_init(&b);
	assert_false(breaker_contact(&b, NOW));
	now = failing(&b, NOW, 9);
	assert_false(breaker_admits(&b, 0, now));
	assert_true(breaker_contact(&b, now));
	assert_true(breaker_admits(&b, 0, now));
	assert_int_equal(b.state, BREAKER_OPEN);
}

/* If the clock was set back by a day, a destination must not stay closed for a
 * day.  If it was set forward, there is one probe, and no more. */
static void
test_clock(void **state)
{
	struct breaker b;
	int64_t now;

	(void)state;
	breaker_init(&b);
	now = failing(&b, NOW, 9);
	assert_false(breaker_admits(&b, 0, now));
	assert_true(breaker_admits(&b, 0, now - 86400000));
	assert_int_equal(breaker_next(&b, now - 86400000), 0);
	assert_true(breaker_admits(&b, 0, now + 86400000));
	assert_int_equal(breaker_window(&b), 1);
}

static void
test_names(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < BREAKER_STATES; i++)
		assert_int_equal(breaker_state_parse(
				     breaker_state_name((enum breaker_state)i)),
		    i);
	assert_int_equal(breaker_state_parse("ajar"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_schedules),
	    cmocka_unit_test(test_jitter),
	    cmocka_unit_test(test_hint),
	    cmocka_unit_test(test_opens),
	    cmocka_unit_test(test_backs_off),
	    cmocka_unit_test(test_closes),
	    cmocka_unit_test(test_counts_once),
	    cmocka_unit_test(test_window),
	    cmocka_unit_test(test_destination_hint),
	    cmocka_unit_test(test_contact),
	    cmocka_unit_test(test_clock),
	    cmocka_unit_test(test_names),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
