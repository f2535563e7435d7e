/* SPDX-License-Identifier: MIT */
/*
 * Figures for operators: numbers in words, tables that fit a width, cutting of
 * lines with colours, rates of successive totals, paths of requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <time.h>

#include "base/mem.h"
#include "lib/admin.h"
#include "lib/safe.h"
#include "term/grid.h"
#include "term/human.h"
#include "term/top_view.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS INT64_C(1795262400000)

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static int
setup(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

/* ${b} contains ${text}; empties it. */
static void
assert_text(struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	buf_addc(b, '\0');
	assert_string_equal(b->data, text);
	buf_reset(b);
}

static void
test_integers(void **state)
{
	static const struct {
		void (*add)(struct buf *b, int64_t n);
		int64_t n;
		const char *text;
	} table[] = {
	    {human_count, 0, "0"},
	    {human_count, 999, "999"},
	    {human_count, 1000, "1,000"},
	    {human_count, -1234567, "-1,234,567"},
	    {human_count, -100, "-100"},
	    {human_count, INT64_MAX, "9,223,372,036,854,775,807"},
	    {human_count, INT64_MIN, "-9,223,372,036,854,775,808"},
	    {human_short, 99999, "99999"},
	    {human_short, 100000, "100k"},
	    {human_short, 1234567, "1.2M"},
	    {human_short, INT64_MAX, "9.2E"},
	    {human_short, -9999, "-9999"},
	    {human_short, INT64_MIN, "-9.2E"},
	    {human_span, INT64_MIN, "0s"},
	    {human_span, 0, "0s"},
	    {human_span, 1, "1ms"},
	    {human_span, 999, "999ms"},
	    {human_span, 1000, "1s"},
	    {human_span, 1099, "1s"},
	    {human_span, 4200, "4.2s"},
	    {human_span, 10 * SECOND - 1, "9.9s"},
	    {human_span, 10 * SECOND, "10s"},
	    {human_span, MINUTE, "1m"},
	    {human_span, 3 * MINUTE + 20 * SECOND, "3m 20s"},
	    {human_span, HOUR - 1, "59m 59s"},
	    {human_span, 2 * HOUR + 5 * MINUTE, "2h 5m"},
	    {human_span, DAY, "1d"},
	    {human_span, 3 * DAY + 4 * HOUR, "3d 4h"},
	    {human_span, 100 * DAY + HOUR, "100d"},
	    {human_span, INT64_MAX, "106751991167d"},
	    {human_limit, MINUTE, "1m"},
	    {human_limit, 160 * MINUTE, "160m"},
	    {human_limit, 2 * DAY, "2d"},
	    {human_limit, 90 * SECOND, "90s"},
	    {human_limit, 1500, "1500ms"},
	    {human_bytes, 0, "0 B"},
	    {human_bytes, 1023, "1023 B"},
	    {human_bytes, 1024, "1.0 KiB"},
	    {human_bytes, 3250585, "3.1 MiB"},
	    {human_bytes, INT64_MAX, "8.0 EiB"},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		table[i].add(&b, table[i].n);
		assert_text(&b, table[i].text);
	}
	buf_fini(&b);
}

static void
test_rates(void **state)
{
	static const struct {
		void (*add)(struct buf *b, double n);
		double n;
		const char *text;
	} table[] = {
	    {human_rate, 0, "0"},
	    {human_rate, -3, "0"},
	    {human_rate, 0.01, "<0.1"},
	    {human_rate, 0.44, "0.4"},
	    {human_rate, 9.96, "10"},
	    {human_rate, 214.3, "214"},
	    {human_rate, 12345, "12k"},
	    {human_rate, 1e30, "1000000000000E"},
	    {human_percent, 0, "0.0%"},
	    {human_percent, 0.0001, "<0.1%"},
	    {human_percent, 0.042, "4.2%"},
	    {human_percent, 0.5, "50%"},
	    {human_percent, 1e300, ">999%"},
	};
	const double values[] = {0, 50, -1, 100, 1}, none[] = {0, 0};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		table[i].add(&b, table[i].n);
		assert_text(&b, table[i].text);
	}
	human_bars(&b, values, 5);
	assert_text(&b, "▁▅ █▁");
	human_bars(&b, none, 2);
	assert_text(&b, "▁▁");
	buf_fini(&b);
}

static void
test_times(void **state)
{
	const struct look look = {.now_ms = NOW_MS};
	struct buf b = BUF_INIT;

	(void)state;
	human_time(&b, &look, 0);
	assert_text(&b, "-");
	human_time(&b, &look, NOW_MS - 5);
	assert_text(&b, "11:59:59");
	human_time(&b, &look, NOW_MS - DAY);
	assert_text(&b, "20 Nov 12:00:00");
	human_time(&b, &look, NOW_MS - 365 * DAY);
	assert_text(&b, "21 Nov 2025 12:00:00");
	buf_fini(&b);
}

static const struct grid_column columns[] = {
    {"NAME", false, 6}, {"N", true, 0}, {"REST", false, 4}};

/* Appends a table with one row and a note, for a terminal of ${wide}
 * columns. */
static void
add_table(struct buf *b, int wide, bool colour)
{
	const struct look look = {.columns = wide, .colour = colour};
	struct grid grid;

	grid_init(&grid, columns, 3);
	grid_row(&grid);
	buf_adds(grid_cell(&grid, STYLE_RED), "日本語日本語");
	buf_adds(grid_cell(&grid, STYLE_PLAIN), "12");
	buf_adds(grid_cell(&grid, STYLE_PLAIN), "behind");
	buf_adds(grid_cell(&grid, STYLE_PLAIN), "one too many");
	buf_adds(grid_note(&grid, STYLE_DIM), "a longer line below it");
	grid_row(&grid);
	buf_adds(grid_cell(&grid, STYLE_PLAIN), "x");
	(void)grid_note(&grid, STYLE_DIM);
	grid_finish(&grid, b, &look);
}

static void
test_grid(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	add_table(&b, 0, false);
	assert_non_null(memchr(b.data, 'b', b.len));
	buf_reset(&b);
	add_table(&b, 20, false);
	assert_text(&b, "NAME       N  REST\n"
			"日本語…   12  behind\n"
			"    a longer line b…\n"
			"x\n");
	add_table(&b, 1, false);
	assert_text(&b, "NAME     N  REST\n"
			"日本…   12  beh…\n"
			"\n"
			"x\n");
	add_table(&b, 80, true);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\033[31m日本語日本語\033[0m  12"));
	buf_fini(&b);
}

/* A table that runs out of memory appends no text, and marks the buffer as
 * failed. */
static void
test_grid_without_memory(void **state)
{
	struct buf b = BUF_INIT;
	bool ok = false;
	int k;

	(void)state;
	for (k = 1; !ok; k++) {
		buf_fini(&b);
		mem_fail_at(k);
		add_table(&b, 80, false);
		/* The loop ends when no allocation is left to fail. */
		ok = mem_fail_pending();
		mem_fail_at(0);
		assert_int_equal(buf_ok(&b), ok);
		assert_true(k < 100);
	}
	assert_true(k > 10);
	buf_fini(&b);
}

static void
test_clip(void **state)
{
	static const struct {
		const char *line;
		int columns;
		const char *text;
	} table[] = {
	    {"plain", 5, "plain"},
	    {"plain", 4, "pla…"},
	    {"plain", 1, "…"},
	    {"plain", 0, ""},
	    {"\033[31mred\033[0m and", 5, "\033[31mred\033[0m …\033[0m"},
	    {"日本語", 5, "日本…"},
	    {"日本語", 4, "日…"},
	    {"\033[31", 4, "\033[31\033[0m"},
	    {"", 4, ""},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		grid_clip(
		    &b, table[i].line, strlen(table[i].line), table[i].columns);
		assert_text(&b, table[i].text);
	}
	buf_fini(&b);
}

/* The view keeps TOP_SAMPLES samples; the rates are those of the samples that
 * are kept. */
static void
test_samples(void **state)
{
	const struct look look = {.now_ms = NOW_MS};
	struct top_view view;
	struct buf b = BUF_INIT;
	int i;

	(void)state;
	memset(&view, 0, sizeof(view));
	view.server = "http://home";
	for (i = 0; i < 3 * TOP_SAMPLES; i++)
		top_view_stats(&view,
		    json_pack("{s{sI} s{si}}", "totals", "accepted",
			(json_int_t)i * (json_int_t)i, "states", "pending", i),
		    NOW_MS + i * SECOND);
	assert_int_equal(view.nsamples, TOP_SAMPLES);
	view.destinations = json_object();
	top_view_print(&view, &b, &look);
	buf_addc(&b, '\0');
	/* 359^2 - 358^2; (359^2 - 299^2) / 60 */
	assert_non_null(strstr(b.data, "  717     658  128,881\n"));
	/* A total that goes down, as after a restart, drops the earlier
	 * samples. */
	top_view_stats(&view, json_pack("{s{si}}", "totals", "accepted", 5),
	    NOW_MS + HOUR);
	assert_int_equal(view.nsamples, 1);
	/* A clock that goes back does so, too. */
	top_view_stats(
	    &view, json_pack("{s{si}}", "totals", "accepted", 6), NOW_MS);
	assert_int_equal(view.nsamples, 1);
	buf_fini(&b);
	top_view_fini(&view);
}

static void
test_paths(void **state)
{
	struct admin_filter filter = ADMIN_FILTER_INIT;
	json_t *body, *ids = json_pack("[ii]", 3, 4);
	char *path, *text;

	(void)state;
	path = admin_path("stats", NULL);
	assert_string_equal(path, "/v1/admin/stats");
	mem_free(path);
	path = admin_path("outbox", &filter);
	assert_string_equal(path, "/v1/admin/outbox");
	mem_free(path);
	filter.sender = "a&b";
	filter.stuck_ms = 30 * MINUTE;
	filter.near_failure = 0;
	filter.limit = 5;
	path = admin_path("outbox", &filter);
	assert_string_equal(path,
	    "/v1/admin/outbox?sender=a%26b&stuck=1800s&near_failure=0&limit=5");
	mem_free(path);
	path = admin_path_of("destinations", "*/../x", "/pause");
	assert_string_equal(path, "/v1/admin/destinations/%2A%2F..%2Fx/pause");
	mem_free(path);
	body = admin_batch(NULL, &filter, 7);
	text = json_dumps(body, JSON_COMPACT);
	assert_string_equal(
	    text, "{\"filter\":{\"sender\":\"a&b\"},\"limit\":7}");
	free(text);
	json_decref(body);
	/* Without its sender the filter would match all. */
	filter.sender = "\xff";
	assert_null(admin_batch(NULL, &filter, 7));
	body = admin_batch(ids, NULL, 0);
	text = json_dumps(body, JSON_COMPACT);
	assert_string_equal(text, "{\"dead_ids\":[3,4]}");
	free(text);
	json_decref(body);
	json_decref(ids);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_integers),
	    cmocka_unit_test(test_rates),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_grid),
	    cmocka_unit_test(test_grid_without_memory),
	    cmocka_unit_test(test_clip),
	    cmocka_unit_test(test_samples),
	    cmocka_unit_test(test_paths),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
