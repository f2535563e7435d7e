/* SPDX-License-Identifier: MIT */
/*
 * Metrics: counting, gauges, buckets, the Prometheus text, several threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/mem.h"
#include "metrics/metrics.h"

static void
test_values(void **state)
{
	struct metrics *m = metrics_new();

	(void)state;
	assert_non_null(m);
	metrics_add(m, METRIC_LOGINS, 2);
	metrics_add(m, METRIC_LOGINS, 3);
	metrics_add(m, METRIC_WS_SESSIONS, 4);
	metrics_add(m, METRIC_WS_SESSIONS, -1);
	metrics_set(m, METRIC_WAL_BYTES, 77);
	assert_int_equal(metrics_get(m, METRIC_LOGINS), 5);
	assert_int_equal(metrics_get(m, METRIC_WS_SESSIONS), 3);
	assert_int_equal(metrics_get(m, METRIC_WAL_BYTES), 77);
	assert_int_equal(metrics_get(m, METRIC_RECEIPTS), 0);
	metrics_add(NULL, METRIC_LOGINS, 1);
	metrics_set(NULL, METRIC_WAL_BYTES, 1);
	metrics_observe_us(NULL, METRIC_COMMIT_SECONDS, 1);
	assert_int_equal(metrics_get(NULL, METRIC_LOGINS), 0);
	metrics_free(m);
	metrics_free(NULL);
}

/* Whether ${text} has ${line} as a whole line. */
static void
assert_line(const char *text, const char *line)
{
	const char *p = strstr(text, line);

	if (p == NULL || (p != text && p[-1] != '\n') ||
	    p[strlen(line)] != '\n')
		fail_msg("no line \"%s\" in\n%s", line, text);
}

static void
test_text(void **state)
{
	struct metrics *m = metrics_new();
	struct buf b = BUF_INIT;
	char *text;
	size_t n;

	(void)state;
	metrics_add(m, METRIC_HTTP_REQUESTS, 12);
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, 100);      /* <= 0.0001 */
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, 101);      /* <= 0.00025 */
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, 1200000);  /* <= 2.5 */
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, 70000000); /* +Inf */
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, -5);       /* as 0 */
	metrics_write(m, &b);
	text = buf_take(&b, &n);
	assert_non_null(text);
	assert_line(text, "# HELP twinbox_http_requests_total Requests "
			  "answered");
	assert_line(text, "# TYPE twinbox_http_requests_total counter");
	assert_line(text, "twinbox_http_requests_total 12");
	assert_line(text, "# TYPE twinbox_wal_bytes gauge");
	assert_line(text, "# TYPE twinbox_commit_seconds histogram");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"0.0001\"} 2");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"0.00025\"} 3");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"1\"} 3");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"2.5\"} 4");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"60\"} 4");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"+Inf\"} 5");
	assert_line(text, "twinbox_commit_seconds_sum 71.200201");
	assert_line(text, "twinbox_commit_seconds_count 5");
	assert_int_equal(metrics_get(m, METRIC_COMMIT_SECONDS), 5);
	mem_free(text);
	metrics_free(m);
}

static void *
count_up(void *arg)
{
	int i;

	for (i = 0; i < 100000; i++) {
		metrics_add(arg, METRIC_RECEIPTS, 1);
		metrics_observe_us(arg, METRIC_DELIVERY_SECONDS, i);
	}
	return (NULL);
}

static void
test_threads(void **state)
{
	struct metrics *m = metrics_new();
	pthread_t t[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_up, m), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(metrics_get(m, METRIC_RECEIPTS), 400000);
	assert_int_equal(metrics_get(m, METRIC_DELIVERY_SECONDS), 400000);
	metrics_free(m);
}

static void
test_no_memory(void **state)
{

	(void)state;
	mem_fail_at(1);
	assert_null(metrics_new());
	mem_fail_at(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
