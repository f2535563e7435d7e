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

/* ${text} must contain ${line} as a whole line. */
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
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, 70000000); /* <= 300 */
	metrics_observe_us(m, METRIC_COMMIT_SECONDS, -5); /* counts as 0 */
	metrics_write(m, &b);
	text = buf_take(&b, &n);
	assert_non_null(text);
	assert_line(text, "# HELP twinbox_http_requests_total Requests "
			  "answered");
	assert_line(text, "# TYPE twinbox_http_requests_total counter");
	assert_line(text, "twinbox_http_requests_total 12");
	assert_line(text, "# TYPE twinbox_wal_bytes gauge");
	/* Metrics that differ in their label alone have one head. */
	assert_line(text, "# TYPE twinbox_purged_total counter");
	assert_line(text, "twinbox_purged_total{table=\"audit_log\"} 0");
	assert_null(strstr(text, "# TYPE twinbox_purged_total{"));
	assert_line(text, "# TYPE twinbox_commit_seconds histogram");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"0.0001\"} 2");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"0.00025\"} 3");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"1\"} 3");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"2.5\"} 4");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"60\"} 4");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"300\"} 5");
	assert_line(text, "twinbox_commit_seconds_bucket{le=\"+Inf\"} 5");
	assert_line(text, "twinbox_commit_seconds_sum 71.200201");
	assert_line(text, "twinbox_commit_seconds_count 5");
	assert_int_equal(metrics_get(m, METRIC_COMMIT_SECONDS), 5);
	assert_int_equal(metrics_sum(m, METRIC_COMMIT_SECONDS), 71200201);
	mem_free(text);
	metrics_free(m);
}

/* Returns ${m} as text, which the caller frees. */
static char *
text_of(const struct metrics *m)
{
	struct buf b = BUF_INIT;
	char *text;

	metrics_write(m, &b);
	text = buf_take(&b, NULL);
	assert_non_null(text);
	return (text);
}

/* Both ends of every bucket of seconds, up to the default expiry. */
static void
test_seconds(void **state)
{
	static const struct {
		int64_t us;
		const char *line; /* the first bucket that counts it */
		const char *none; /* the bucket before, which does not */
	} rows[] = {
	    {0, "le=\"0.0001\"} 1", NULL},
	    {10000000, "le=\"10\"} 1", "le=\"5\"} 0"},
	    {10000001, "le=\"30\"} 1", "le=\"10\"} 0"},
	    {300000000, "le=\"300\"} 1", "le=\"60\"} 0"},
	    {300000001, "le=\"900\"} 1", "le=\"300\"} 0"},
	    {432000000000, "le=\"432000\"} 1", "le=\"86400\"} 0"},
	    {432000000001, "le=\"+Inf\"} 1", "le=\"432000\"} 0"},
	    {INT64_MAX, "le=\"+Inf\"} 1", "le=\"432000\"} 0"},
	};
	char line[100];
	struct metrics *m;
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		m = metrics_new();
		metrics_observe_us(m, METRIC_DELIVERY_SECONDS, rows[i].us);
		text = text_of(m);
		(void)snprintf(line, sizeof(line),
		    "twinbox_delivery_seconds_bucket{%s", rows[i].line);
		assert_line(text, line);
		if (rows[i].none != NULL) {
			(void)snprintf(line, sizeof(line),
			    "twinbox_delivery_seconds_bucket{%s", rows[i].none);
			assert_line(text, line);
		}
		mem_free(text);
		metrics_free(m);
	}
}

static void
test_sizes(void **state)
{
	struct metrics *m = metrics_new();
	char *text;

	(void)state;
	metrics_observe_size(m, METRIC_CLAIM_ROWS, 0);
	metrics_observe_size(m, METRIC_CLAIM_ROWS, 1);
	metrics_observe_size(m, METRIC_CLAIM_ROWS, 100);
	metrics_observe_size(m, METRIC_CLAIM_ROWS, 101);
	metrics_observe_size(m, METRIC_CLAIM_ROWS, 1001);
	metrics_observe_size(NULL, METRIC_CLAIM_ROWS, 1);
	assert_int_equal(metrics_sum(m, METRIC_CLAIM_ROWS), 1203);
	assert_int_equal(metrics_sum(NULL, METRIC_CLAIM_ROWS), 0);
	text = text_of(m);
	assert_line(text, "# TYPE twinbox_claim_rows histogram");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"0\"} 1");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"1\"} 2");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"100\"} 3");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"200\"} 4");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"1000\"} 4");
	assert_line(text, "twinbox_claim_rows_bucket{le=\"+Inf\"} 5");
	assert_line(text, "twinbox_claim_rows_sum 1203");
	assert_line(text, "twinbox_claim_rows_count 5");
	mem_free(text);
	metrics_free(m);
}

/* Metrics by a word: the number of lines depends on the list of words, not on
 * what is counted. */
static void
test_by(void **state)
{
	struct metrics *m = metrics_new();
	char *text;
	char word[16];
	int i, n = 0;
	const char *p;

	(void)state;
	metrics_add_by(m, METRIC_BY_OUTBOX_FAILED, "rejected", 2);
	metrics_add_by(m, METRIC_BY_OUTBOX_FAILED, "max_retries", 1);
	metrics_add_by(NULL, METRIC_BY_OUTBOX_FAILED, "rejected", 2);
	for (i = 0; i < 1000; i++) {
		(void)snprintf(word, sizeof(word), "new\"%d", i);
		metrics_add_by(m, METRIC_BY_OUTBOX_FAILED, word, 1);
	}
	metrics_add_by(m, METRIC_BY_PURGED, "outbox", 500);
	metrics_add_by(m, METRIC_BY_FEDERATION_IN, "key-unknown", 3);
	text = text_of(m);
	assert_line(text, "# TYPE twinbox_outbox_failed_total counter");
	assert_line(text, "twinbox_outbox_failed_total{reason=\"rejected\"} 2");
	assert_line(
	    text, "twinbox_outbox_failed_total{reason=\"max_retries\"} 1");
	assert_line(text, "twinbox_outbox_failed_total{reason=\"poison\"} 0");
	assert_line(text, "twinbox_outbox_failed_total{reason=\"other\"} 1000");
	assert_line(text, "twinbox_purged_total{table=\"outbox\"} 500");
	/* The label with a fixed value comes before the label with the word. */
	assert_line(text, "twinbox_federation_requests_total{direction=\"in\","
			  "outcome=\"key-unknown\"} 3");
	for (p = text;
	     (p = strstr(p, "\ntwinbox_outbox_failed_total{")) != NULL; p++)
		n++;
	assert_int_equal(n, 6);
	assert_int_equal(
	    metrics_get_by(m, METRIC_BY_OUTBOX_FAILED, "rejected"), 2);
	assert_int_equal(
	    metrics_get_by(NULL, METRIC_BY_OUTBOX_FAILED, "rejected"), 0);
	mem_free(text);
	metrics_free(m);
}

/* A name from outside cannot end its line, forge another line, or break the
 * format. */
static void
test_hostile_labels(void **state)
{
	static const struct {
		const char *value, *line;
	} rows[] = {
	    {"chat.example", "twinbox_x{destination=\"chat.example\"} 7\n"},
	    {"", "twinbox_x{destination=\"\"} 7\n"},
	    {"a\"} 1\ntwinbox_up 0\n#",
		"twinbox_x{destination=\"a\\\"} 1\\ntwinbox_up 0\\n#\"} 7\n"},
	    {"\\", "twinbox_x{destination=\"\\\\\"} 7\n"},
	    {"\\n", "twinbox_x{destination=\"\\\\n\"} 7\n"},
	    {"a\tb\r{}=,", "twinbox_x{destination=\"a\tb\r{}=,\"} 7\n"},
	    {"m\xc3\xbcller.example",
		"twinbox_x{destination=\"m\xc3\xbcller.example\"} 7\n"},
	    {"a\xff\xfe"
	     "b\xc3",
		"twinbox_x{destination=\"a??b?\"} 7\n"},
	    {"\xed\xa0\x80", "twinbox_x{destination=\"???\"} 7\n"},
	};
	struct metric_label labels[2] = {
	    {"destination", ""}, {"state", "open"}};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		labels[0].value = rows[i].value;
		buf_reset(&b);
		metrics_sample(&b, "x", labels, 1, 7);
		buf_addc(&b, '\0');
		assert_true(buf_ok(&b));
		assert_string_equal(b.data, rows[i].line);
	}
	buf_reset(&b);
	labels[0].value = "a";
	metrics_family(&b, "x", METRIC_GAUGE, "Help");
	metrics_sample(&b, "x", labels, 2, -1);
	metrics_sample(&b, "x", NULL, 0, 3);
	buf_addc(&b, '\0');
	assert_string_equal(b.data,
	    "# HELP twinbox_x Help\n# TYPE twinbox_x gauge\n"
	    "twinbox_x{destination=\"a\",state=\"open\"} -1\n"
	    "twinbox_x 3\n");
	buf_fini(&b);
}

static void *
count_up(void *arg)
{
	int i;

	for (i = 0; i < 100000; i++) {
		metrics_add(arg, METRIC_RECEIPTS, 1);
		metrics_observe_us(arg, METRIC_DELIVERY_SECONDS, i);
		metrics_add_by(arg, METRIC_BY_PURGED, "outbox", 1);
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
	assert_int_equal(metrics_get_by(m, METRIC_BY_PURGED, "outbox"), 400000);
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
	    cmocka_unit_test(test_seconds),
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_by),
	    cmocka_unit_test(test_hostile_labels),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
