/* SPDX-License-Identifier: MIT */
/*
 * The figures of the operator's live view: the values from which on they are
 * coloured, rates at the edges of their minute, bars, the order of
 * destinations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/top_fixture.h"

static const struct look plain = {.now_ms = NOW_MS, .columns = 80};
static const struct look coloured = {
    .now_ms = NOW_MS, .columns = 80, .colour = true};

/* Returns the code of the colour in which the overview shows ${value} as figure
 * ${name}: 1 is bold, 31 red, 33 yellow. */
static int
colour_of(const char *title, const char *group, const char *name, int64_t value)
{
	json_t *stats = json_object(), *in = stats;
	struct buf b = BUF_INIT;
	struct top_view view;
	const char *p;
	int ret;

	if (group != NULL) {
		in = json_object();
		(void)json_object_set_new(stats, group, in);
	}
	(void)json_object_set_new(in, name, json_integer(value));
	top_begin(&view);
	top_view_stats(&view, stats, NOW_MS);
	view.destinations = json_object();
	top_view_print(&view, &b, &coloured);
	buf_addc(&b, '\0');
	p = strstr(b.data, title);
	assert_non_null(p);
	p = strchr(p, '\033'); /* the title's end */
	assert_non_null(p);
	p = strchr(p + 1, '\033');
	assert_non_null(p);
	ret = p[2] - '0';
	if (p[3] != 'm')
		ret = 10 * ret + p[3] - '0';
	buf_fini(&b);
	top_view_fini(&view);
	return (ret);
}

static void
test_thresholds(void **state)
{
	static const struct {
		const char *title, *group, *name;
		int64_t value;
		int colour;
	} table[] = {
	    {"pending", "states", "pending", 0, 1},
	    {"pending", "states", "pending", 1000000, 1},
	    {"scheduled", "states", "scheduled", 1000000, 1},
	    {"sending", "states", "sending", 1000000, 1},
	    {"stuck", NULL, "stuck_sending", 0, 1},
	    {"stuck", NULL, "stuck_sending", 1, 33},
	    {"stuck", NULL, "stuck_sending", 1000000, 33},
	    {"near failure", NULL, "near_failure", 0, 1},
	    {"near failure", NULL, "near_failure", 1, 33},
	    {"dead letters", NULL, "dead_letters_open", 0, 1},
	    {"dead letters", NULL, "dead_letters_open", 1, 31},
	    {"oldest", NULL, "oldest_pending_age_ms", 5 * MINUTE - 1, 1},
	    {"oldest", NULL, "oldest_pending_age_ms", 5 * MINUTE, 33},
	    {"oldest", NULL, "oldest_pending_age_ms", HOUR - 1, 33},
	    {"oldest", NULL, "oldest_pending_age_ms", HOUR, 31},
	    {"latency", NULL, "average_latency_ms", 5 * SECOND - 1, 1},
	    {"latency", NULL, "average_latency_ms", 5 * SECOND, 33},
	    {"latency", NULL, "average_latency_ms", MINUTE - 1, 33},
	    {"latency", NULL, "average_latency_ms", MINUTE, 31},
	    {"retry rate", NULL, "retry_rate", 1, 1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(colour_of(table[i].title, table[i].group,
				     table[i].name, table[i].value),
		    table[i].colour);
}

/* For ${stats}, the line of the overview that begins with ${name} must be
 * ${line}. */
static void
assert_line(const char *stats, const char *name, const char *line)
{
	struct buf b = BUF_INIT;
	struct top_view view;
	char *p, *end;

	top_begin(&view);
	top_view_stats(&view, top_parse(stats), NOW_MS);
	view.destinations = json_object();
	top_view_print(&view, &b, &plain);
	buf_addc(&b, '\0');
	p = strstr(b.data, name);
	assert_non_null(p);
	end = strchr(p, '\n');
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(p, line);
	buf_fini(&b);
	top_view_fini(&view);
}

static void
test_figures(void **state)
{

	(void)state;
	assert_line("{}", "retry rate",
	    "retry rate      -      rescues         -       -       -");
	assert_line("{'retry_rate':0}", "retry rate",
	    "retry rate    0.0%      rescues         -       -       -");
	assert_line("{'retry_rate':0.25}", "retry rate",
	    "retry rate    25%      rescues         -       -       -");
	assert_line("{'average_latency_ms':4200}", "latency",
	    "latency       4.2s      requeued        -       -       -");
	assert_line("{'near_failure':'x'}", "near failure",
	    "near failure    -      failed          -       -       -");
	assert_line("{'relay':{'last_turn_age_ms':0,'in_flight':0}}", "relay",
	    "relay turned 0s ago, 0 in flight; writer: - wait");
	assert_line("{'queues':{'writer_waiting':1234}}", "relay",
	    "relay turned - ago, - in flight; writer: 1,234 wait");
	assert_line("{'limits':{'max_pending_total':1},"
		    "'states':{'pending':1}}",
	    "write-ahead log",
	    "write-ahead log 0 B; pending is 100% of max-pending-total");
	assert_line("{'limits':{'max_pending_total':0},"
		    "'states':{'pending':1},'wal_bytes':2048}",
	    "write-ahead log", "write-ahead log 2.0 KiB");
}

/* A relay without a turn for ten seconds is red. */
static void
test_relay_stalled(void **state)
{
	static const struct {
		int64_t age;
		const char *line;
	} table[] = {
	    {9999, "\033[2mrelay turned 9.9s ago, "},
	    {10000, "\033[31mrelay turned 10s ago, "},
	};
	struct top_view view;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct buf b = BUF_INIT;

		top_begin(&view);
		top_view_stats(&view,
		    json_pack("{s{sI}}", "relay", "last_turn_age_ms",
			(json_int_t)table[i].age),
		    NOW_MS);
		view.destinations = json_object();
		top_view_print(&view, &b, &coloured);
		buf_addc(&b, '\0');
		assert_non_null(strstr(b.data, table[i].line));
		buf_fini(&b);
		top_view_fini(&view);
	}
}

/* Returns the overview's first line that contains ${title}; "" if there is
 * none. */
static const char *
line_of(struct top_view *view, int columns, const char *title)
{
	static char line[512];
	const struct look look = {.now_ms = NOW_MS, .columns = columns};
	struct buf b = BUF_INIT;
	const char *p;

	if (view->destinations == NULL)
		view->destinations = json_object();
	top_view_print(view, &b, &look);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	p = strstr(b.data, title);
	while (p != NULL && p[-1] != '\n')
		p--;
	(void)snprintf(line, sizeof(line), "%.*s",
	    p == NULL ? 0 : (int)strcspn(p, "\n"), p == NULL ? "" : p);
	buf_fini(&b);
	return (line);
}

/* The rate now, the rate of the last minute, and the total. */
static void
test_rates(void **state)
{
	struct top_view view;

	(void)state;
	top_begin(&view);
	top_sample(&view, NOW_MS, 40, 1);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         1      accepted        -       -      40");
	/* No time has passed. */
	top_sample(&view, NOW_MS, 40, 0);
	assert_int_equal(view.nsamples, 2);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         0      accepted        -       -      40");
	/* Equal totals, and fewer messages that wait, do not start a new
	 * series. */
	top_sample(&view, NOW_MS + SECOND, 100, 0);
	assert_int_equal(view.nsamples, 3);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         0      accepted       60      60     100");
	/* A sample that is a minute old counts. */
	top_sample(&view, NOW_MS + MINUTE, 760, 0);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         0      accepted       11      12     760");
	/* An older sample does not. */
	top_sample(&view, NOW_MS + MINUTE + 1, 760, 0);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         0      accepted        0      11     760");
	top_sample(&view, NOW_MS + 3 * MINUTE, 760 + 3600, 0);
	assert_string_equal(line_of(&view, 80, "accepted"),
	    "pending         0      accepted       30       -   4,360");
	/* A total that goes down, as after a restart, drops the earlier
	 * samples. */
	top_sample(&view, NOW_MS + 4 * MINUTE, 4359, 0);
	assert_int_equal(view.nsamples, 1);
	/* A clock that goes back does so, too. */
	top_sample(&view, NOW_MS + 4 * MINUTE - 1, 4359, 0);
	assert_int_equal(view.nsamples, 1);
	top_view_fini(&view);
}

/* Statistics without a time get the time of the view's clock. */
static void
test_sample_without_time(void **state)
{
	struct top_view view;

	(void)state;
	top_begin(&view);
	top_view_stats(&view, json_object(), NOW_MS);
	assert_int_equal(view.samples[0].at_ms, NOW_MS);
	top_sample(&view, NOW_MS + 5, 1, 2);
	assert_int_equal(view.samples[1].at_ms, NOW_MS + 5);
	assert_int_equal(view.samples[1].totals[0], 1);
	assert_int_equal(view.samples[1].pending, 2);
	top_view_fini(&view);
}

/* When the table is full, the oldest sample is dropped. */
static void
test_samples_slide(void **state)
{
	struct top_view view;
	int i;

	(void)state;
	top_begin(&view);
	for (i = 0; i <= TOP_SAMPLES; i++) {
		top_sample(&view, NOW_MS + i * SECOND, i, i);
		assert_int_equal(
		    view.nsamples, i < TOP_SAMPLES ? i + 1 : TOP_SAMPLES);
	}
	for (i = 0; i < TOP_SAMPLES; i++)
		assert_int_equal(view.samples[i].pending, i + 1);
	top_view_fini(&view);
}

/* There is a bar for each sample, or for the newest ones if there is less
 * room. */
static void
test_depth(void **state)
{
	struct top_view view;
	int i;

	(void)state;
	top_begin(&view);
	top_sample(&view, NOW_MS, 0, 4);
	assert_string_equal(line_of(&view, 80, "  most"), "");
	top_sample(&view, NOW_MS + SECOND, 0, 0);
	assert_string_equal(
	    line_of(&view, 80, "  most"), "pending       █▁  most 4 in 1s");
	top_view_fini(&view);
	top_begin(&view);
	for (i = 0; i < 42; i++)
		top_sample(&view, NOW_MS + i * SECOND, 0, i == 1 ? 700 : i);
	assert_string_equal(line_of(&view, 80, "  most"),
	    "pending       ▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇███  most 41 "
	    "in 39s");
	assert_string_equal(line_of(&view, 0, "  most"),
	    "pending       ▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇███  most 41 "
	    "in 39s");
	assert_string_equal(line_of(&view, 81, "  most"),
	    "pending       █▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  most 70"
	    "0 in 40s");
	assert_string_equal(line_of(&view, 200, "  most"),
	    "pending       ▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  most 7"
	    "00 in 41s");
	assert_string_equal(
	    line_of(&view, 42, "  most"), "pending       ██  most 41 in 1s");
	assert_string_equal(line_of(&view, 41, "  most"), "");
	assert_string_equal(line_of(&view, 40, "  most"), "");
	assert_string_equal(line_of(&view, 39, "  most"), "");
	top_view_fini(&view);
}

/* Samples before a new series have no bars, and do not affect the scale. */
static void
test_depth_begins_anew(void **state)
{
	struct top_view view;
	int i;

	(void)state;
	top_begin(&view);
	for (i = 0; i < 5; i++)
		top_sample(&view, NOW_MS + i * SECOND, 9, 1000);
	top_sample(&view, NOW_MS + 5 * SECOND, 0, 7);
	top_sample(&view, NOW_MS + 6 * SECOND, 0, 0);
	assert_string_equal(
	    line_of(&view, 80, "  most"), "pending       █▁  most 7 in 1s");
	top_view_fini(&view);
}

/* Destinations with a problem come first, then those with many messages that
 * wait. */
static void
test_order(void **state)
{
	static const char *const names[] = {
	    "open-2", "open-1", "half", "paused", "busy", "a", "b", "none"};
	struct buf b = BUF_INIT;
	struct top_view view;
	const char *p, *before;
	size_t i;

	(void)state;
	top_begin(&view);
	top_view_stats(&view, json_object(), NOW_MS);
	view.destinations =
	    top_parse("{'destinations':["
		      "{'name':'b','breaker':'closed','pending':5},"
		      "{'name':'none'},"
		      "{'name':'busy','breaker':'closed','pending':900},"
		      "{'name':'open-1','breaker':'open','pending':1},"
		      "{'name':'paused','breaker':'closed','pending':3,"
		      "'paused_at':'2026-11-21T11:00:00.000Z'},"
		      "{'name':'a','breaker':'closed','pending':5},"
		      "{'name':'half','breaker':'half_open','pending':2},"
		      "{'name':'open-2','breaker':'open','pending':2},"
		      "{'breaker':'closed','pending':-1}]}");
	top_view_print(&view, &b, &plain);
	buf_addc(&b, '\0');
	before = strstr(b.data, "DESTINATION");
	assert_non_null(before);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[20];

		(void)snprintf(line, sizeof(line), "\n%s ", names[i]);
		p = strstr(b.data, line);
		assert_non_null(p);
		assert_true(p > before);
		before = p;
	}
	/* The destination without a name is the last. */
	p = strstr(b.data, "\n? ");
	assert_non_null(p);
	assert_true(p > before);
	buf_fini(&b);
	top_view_fini(&view);
}

/* More destinations than one page of the server has. */
static void
test_many_destinations(void **state)
{
	struct buf b = BUF_INIT;
	struct top_view view;
	json_t *list = json_array();
	char name[16];
	int i;

	(void)state;
	top_begin(&view);
	top_view_stats(&view, json_object(), NOW_MS);
	for (i = 0; i < 230; i++) {
		(void)snprintf(name, sizeof(name), "d%03d", i);
		(void)json_array_append_new(list,
		    json_pack("{ss si}", "name", name, "pending", 500 - i));
	}
	view.destinations = json_pack("{so}", "destinations", list);
	top_view_print(&view, &b, &plain);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	assert_non_null(strstr(b.data, "\nd000 "));
	assert_non_null(strstr(b.data, "\nd199 "));
	assert_null(strstr(b.data, "\nd200 "));
	buf_fini(&b);
	top_view_fini(&view);
}

static void
test_page_names(void **state)
{

	(void)state;
	assert_string_equal(top_view_page_name(TOP_OVERVIEW), "overview");
	assert_string_equal(
	    top_view_page_name(TOP_DESTINATIONS), "destinations");
	assert_string_equal(top_view_page_name(TOP_DEAD), "dead");
	assert_string_equal(top_view_page_name(TOP_LANES), "lanes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_thresholds),
	    cmocka_unit_test(test_figures),
	    cmocka_unit_test(test_relay_stalled),
	    cmocka_unit_test(test_rates),
	    cmocka_unit_test(test_sample_without_time),
	    cmocka_unit_test(test_samples_slide),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_depth_begins_anew),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_many_destinations),
	    cmocka_unit_test(test_page_names),
	};

	return (cmocka_run_group_tests(tests, top_set_up, NULL));
}
