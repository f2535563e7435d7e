/* SPDX-License-Identifier: MIT */
/*
 * Every deadline, interval and pause of base/timing.h, in milliseconds: this
 * finds a value that was changed by mistake, without a wait.  Also the scale of
 * builds with fault points; this program has it whatever the build is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timing.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	int64_t ms;
	size_t offset;
} rows[] = {
    {"push_tick", 1000, offsetof(struct timing, push_tick_ms)},
    {"push_arrival", 5000, offsetof(struct timing, push_arrival_ms)},
    {"push_hello", 5000, offsetof(struct timing, push_hello_ms)},
    {"push_ping", 25000, offsetof(struct timing, push_ping_ms)},
    {"push_silence", 35000, offsetof(struct timing, push_silence_ms)},
    {"push_stalled", 60000, offsetof(struct timing, push_stalled_ms)},
    {"push_stuck", 60000, offsetof(struct timing, push_stuck_ms)},
    {"push_close", 3000, offsetof(struct timing, push_close_ms)},
    {"push_linger", 2000, offsetof(struct timing, push_linger_ms)},
    {"push_drain_quiet", 250, offsetof(struct timing, push_drain_quiet_ms)},
    {"push_drain_most", 1000, offsetof(struct timing, push_drain_most_ms)},
    {"http_linger", 2000, offsetof(struct timing, http_linger_ms)},
    {"http_accept_pause", 100, offsetof(struct timing, http_accept_pause_ms)},
    {"http_log_window", 10000, offsetof(struct timing, http_log_window_ms)},
    {"http_stop", 1000, offsetof(struct timing, http_stop_ms)},
    {"rest_stream_quiet", 25000, offsetof(struct timing, rest_stream_quiet_ms)},
    {"cluster_recheck", 5000, offsetof(struct timing, cluster_recheck_ms)},
    {"cluster_heartbeat", 2000, offsetof(struct timing, cluster_heartbeat_ms)},
    {"cluster_dead", 10000, offsetof(struct timing, cluster_dead_ms)},
    {"cluster_mark_dead", 60000, offsetof(struct timing, cluster_mark_dead_ms)},
    {"cluster_tidy", 60000, offsetof(struct timing, cluster_tidy_ms)},
    {"cluster_away", 250, offsetof(struct timing, cluster_away_ms)},
    {"reader_retry", 1000, offsetof(struct timing, reader_retry_ms)},
    {"relay_poll", 1000, offsetof(struct timing, relay_poll_ms)},
    {"relay_pause", 200, offsetof(struct timing, relay_pause_ms)},
    {"relay_pause_full", 2000, offsetof(struct timing, relay_pause_full_ms)},
    {"relay_held", 250, offsetof(struct timing, relay_held_ms)},
    {"relay_reclaim", 10000, offsetof(struct timing, relay_reclaim_ms)},
    {"relay_reclaim_again", 1000,
	offsetof(struct timing, relay_reclaim_again_ms)},
    {"relay_contact", 10000, offsetof(struct timing, relay_contact_ms)},
    {"relay_forget", 60000, offsetof(struct timing, relay_forget_ms)},
    {"relay_release_again", 100,
	offsetof(struct timing, relay_release_again_ms)},
    {"directory_reload", 2000, offsetof(struct timing, directory_reload_ms)},
    {"directory_again", 60000, offsetof(struct timing, directory_again_ms)},
    {"directory_failed", 600000, offsetof(struct timing, directory_failed_ms)},
    {"document_fetch", 10000, offsetof(struct timing, document_fetch_ms)},
    {"breaker_pause", 250, offsetof(struct timing, breaker_pause_ms)},
    {"breaker_first", 2000, offsetof(struct timing, breaker_first_ms)},
    {"breaker_most", 600000, offsetof(struct timing, breaker_most_ms)},
    {"keyring_refresh", 5000, offsetof(struct timing, keyring_refresh_ms)},
    {"db_answer", 15000, offsetof(struct timing, db_answer_ms)},
    {"db_statement", 10000, offsetof(struct timing, db_statement_ms)},
    {"db_idle", 10000, offsetof(struct timing, db_idle_ms)},
    {"db_lock", 5000, offsetof(struct timing, db_lock_ms)},
    {"db_patience", 50, offsetof(struct timing, db_patience_ms)},
    {"db_look", 100, offsetof(struct timing, db_look_ms)},
    {"db_wait_again", 1000, offsetof(struct timing, db_wait_again_ms)},
    {"db_open_again", 500, offsetof(struct timing, db_open_again_ms)},
    {"db_retry_first", 100, offsetof(struct timing, db_retry_first_ms)},
    {"db_retry_most", 2000, offsetof(struct timing, db_retry_most_ms)},
    {"stop_requests", 5000, offsetof(struct timing, stop_requests_ms)},
    {"stop_answers", 2000, offsetof(struct timing, stop_answers_ms)},
    {"stop_away", 20000, offsetof(struct timing, stop_away_ms)},
    {"stop_quiet", 200, offsetof(struct timing, stop_quiet_ms)},
    {"stop_slow_client", 1000, offsetof(struct timing, stop_slow_client_ms)},
    {"log_stop", 1000, offsetof(struct timing, log_stop_ms)},
    {"log_outage", 60000, offsetof(struct timing, log_outage_ms)},
    {"log_wait", 10000, offsetof(struct timing, log_wait_ms)},
};

static int64_t
value(const struct timing *timing, size_t offset)
{
	int64_t v;

	memcpy(&v, (const char *)timing + offset, sizeof(v));
	return (v);
}

static void
test_values(void **state)
{
	size_t i;

	(void)state;
	assert_int_equal(COUNT(rows) * sizeof(int64_t), sizeof(struct timing));
	for (i = 0; i < COUNT(rows); i++) {
		/* The rows have the order of the table, so that none is there
		 * twice. */
		assert_int_equal(rows[i].offset, i * sizeof(int64_t));
		if (value(timing_real(), rows[i].offset) != rows[i].ms)
			fail_msg("%s", rows[i].name);
	}
}

/* Relations between the values that the code relies on. */
static void
test_relations(void **state)
{
	const struct timing *t = timing_real();

	(void)state;
	/* A silent session is pinged before it is closed, and has ten seconds
	 * to answer. */
	assert_int_equal(t->push_silence_ms - t->push_ping_ms, 10000);
	/* Four heartbeats in a row may be lost. */
	assert_true(t->cluster_dead_ms >= 5 * t->cluster_heartbeat_ms);
	/* The database server reports a time-out before the node gives up. */
	assert_true(t->db_answer_ms > t->db_statement_ms);
	assert_true(t->db_statement_ms > t->db_lock_ms);
	/* A stop waits longer than an answer of the database can take. */
	assert_true(t->stop_away_ms > t->db_answer_ms);
	assert_true(t->breaker_first_ms < t->breaker_most_ms);
}

static void
test_default(void **state)
{
	static const struct timing own = {.push_hello_ms = 7};

	(void)state;
	assert_ptr_equal(timing_or_real(NULL), timing_real());
	assert_ptr_equal(timing_or_real(&own), &own);
}

/* Returns 0 if the values are those of the table divided by ${by}, rounded up;
 * 98 if the scale is refused.  It runs in a child process, because the scale is
 * read once. */
static int
run_scaled(const char *scale, int64_t by)
{
	int status;
	pid_t pid;
	size_t i;

	if ((pid = fork()) == 0) {
		if (scale != NULL)
			(void)setenv("TWINBOX_TIME_SCALE", scale, 1);
		else
			(void)unsetenv("TWINBOX_TIME_SCALE");
		(void)close(STDERR_FILENO);
		for (i = 0; i < COUNT(rows); i++)
			if (value(timing_process(), rows[i].offset) !=
			    (rows[i].ms + by - 1) / by)
				_exit(1);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

static void
test_scale(void **state)
{
	static const char *const bad[] = {"", "0", "-1", "101", "2x", " 2",
	    "1/", "1/0", "1/101", "2/3", "1/2/3", "1e3", "99999999999", ",",
	    "2,", ",2", "=2", "push=", "push=0", "push=101", "nothing=2",
	    "push=2,nothing=2"};
	size_t i;

	(void)state;
	assert_int_equal(run_scaled(NULL, 1), 0);
	assert_int_equal(run_scaled("1", 1), 0);
	assert_int_equal(run_scaled("10", 10), 0);
	assert_int_equal(run_scaled("100", 100), 0);
	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(run_scaled(bad[i], 1), 98);
}

/* A scale for members by the beginning of their names; the last one that
 * matches counts. */
static void
test_names(void **state)
{
	const struct timing *t;
	int status;
	pid_t pid;

	(void)state;
	if ((pid = fork()) == 0) {
		(void)setenv("TWINBOX_TIME_SCALE",
		    "cluster=4,push_stalled=20,cluster_heartbeat=2,relay=1/3",
		    1);
		t = timing_process();
		_exit(t->cluster_dead_ms != 2500 ||
		      t->cluster_heartbeat_ms != 1000 ||
		      t->push_stalled_ms != 3000 || t->push_stuck_ms != 60000 ||
		      t->relay_pause_ms != 600);
	}
	assert_true(pid > 0);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_relations),
	    cmocka_unit_test(test_default),
	    cmocka_unit_test(test_scale),
	    cmocka_unit_test(test_names),
	};

	return (cmocka_run_group_tests_name("timing", tests, NULL, NULL));
}
