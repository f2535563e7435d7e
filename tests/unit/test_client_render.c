/* SPDX-License-Identifier: MIT */
/*
 * What people see: events, signs, states and tables, with and without colours.
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

#include "cli/render.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS 1795262400000ll

static const struct look plain = {.now_ms = NOW_MS, .me = "alice"};
static const struct look coloured = {
    .now_ms = NOW_MS, .me = "alice", .colour = true};

static int
setup(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

static void
assert_event(const char *json, const char *line)
{
	json_t *event = json_loads(json, 0, NULL);
	struct buf b = BUF_INIT;

	assert_non_null(event);
	render_event(&b, &plain, event);
	buf_addc(&b, '\0');
	assert_string_equal(b.data, line);
	buf_fini(&b);
	json_decref(event);
}

static void
test_events(void **state)
{

	(void)state;
	assert_event("{\"seq\":7,\"kind\":\"message\",\"own\":false,"
		     "\"from\":\"bob\",\"to\":\"alice\",\"body\":\"a\\nb\","
		     "\"event_time\":\"2026-11-21T09:05:00.000Z\"}",
	    "#7     09:05  bob           a\n"
	    "                            b\n");
	assert_event("{\"seq\":8,\"kind\":\"message\",\"own\":true,"
		     "\"from\":\"alice\",\"to\":\"bob\",\"body\":\"x\","
		     "\"event_time\":\"2026-11-20T09:05:00.000Z\"}",
	    "#8     20 Nov 09:05  \xe2\x86\x92 bob         x\n");
	assert_event("{\"seq\":9,\"kind\":\"message\",\"own\":false,"
		     "\"from\":\"e\\u001b[2Jve\",\"to\":null,"
		     "\"body\":null,"
		     "\"event_time\":\"2025-01-02T03:04:05.000Z\"}",
	    "#9     02 Jan 2025 03:04  e\\x1b[2Jve (group)  (deleted)\n");
	assert_event("{\"seq\":10,\"kind\":\"receipt\",\"upto\":3,"
		     "\"by\":\"bob\",\"state\":\"read\","
		     "\"at\":\"2026-11-21T09:05:00.000Z\"}",
	    "#10    09:05                \xe2\x9c\x93\xe2\x9c\x93 read by bob "
	    "up to message 3\n");
	assert_event("{\"seq\":11,\"kind\":\"bounce\",\"to\":\"bob\","
		     "\"state\":\"expired\",\"reason\":null,"
		     "\"at\":\"2026-11-21T09:05:00.000Z\"}",
	    "#11    09:05                \xe2\x9c\x97 expired: not delivered "
	    "to bob: no reason given\n");
	/* A kind that a newer server has. */
	assert_event("{\"seq\":12,\"kind\":\"wave\",\"of\":\"x\"}",
	    "#12    -                    wave of x\n");
}

static void
test_colours(void **state)
{
	json_t *message =
	    json_loads("{\"from\":\"bob\",\"body\":\"x\","
		       "\"event_time\":\"2026-11-21T09:05:00.000Z\"}",
		0, NULL);
	struct buf b = BUF_INIT;

	(void)state;
	render_message(&b, &plain, message, RENDER_READ);
	assert_null(memchr(b.data, '\033', b.len));
	buf_reset(&b);
	render_message(&b, &coloured, message, RENDER_READ);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\033[36mbob\033[0m"));
	buf_fini(&b);
	json_decref(message);
}

static void
test_states(void **state)
{
	static const struct {
		const char *entry;
		const char *shown;
	} table[] = {
	    {"{\"state\":\"pending\",\"labels\":[]}", "pending"},
	    {"{\"state\":\"pending\",\"labels\":[\"scheduled\"]}", "scheduled"},
	    {"{\"state\":\"pending\",\"labels\":[\"retrying\"]}", "retrying"},
	    {"{\"state\":\"sent\"}", "sent"},
	    {"{\"state\":\"acked\",\"labels\":[]}", "delivered"},
	    {"{\"state\":\"acked\",\"labels\":[\"read\"]}", "read"},
	    {"{\"state\":\"failed\"}", "failed"},
	    {"{}", "?"},
	};
	json_t *entry;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		entry = json_loads(table[i].entry, 0, NULL);
		assert_string_equal(render_entry_state(entry), table[i].shown);
		json_decref(entry);
	}
}

static void
test_table(void **state)
{
	json_t *rows = json_loads(
	    "[[\"ID\",\"WHO\",\"\"],"
	    "[\"1\",\"gr\\u00fcn\",\"x\"],[\"22\",\"\\u65e5\\u672c\\n\",\"y\"],"
	    "[\"3\",\"0123456789012345678901234567890123456789"
	    "0123456789012345678901234567890123456789\",\"z\"]]",
	    0, NULL);
	struct buf b = BUF_INIT;
	char *line, *save;
	int column, i;

	(void)state;
	render_table(&b, &plain, rows);
	buf_addc(&b, '\0');
	line = strtok_r(b.data, "\n", &save);
	for (i = 0; line != NULL; i++, line = strtok_r(NULL, "\n", &save)) {
		/* Each third cell begins in the same column: 4 + 60 + 2. */
		if (i == 1)
			assert_int_equal(line[67], 'x');
		column = i == 2 ? (int)(strchr(line, 'y') - line) : 0;
		if (i == 2) /* six bytes in four columns, and "\n" */
			assert_int_equal(column, 66 + 2);
	}
	assert_int_equal(i, 4);
	buf_fini(&b);
	json_decref(rows);
}

static void
test_conversation_names(void **state)
{
	json_t *direct =
	    json_loads("{\"kind\":\"direct\",\"members\":["
		       "{\"address\":\"alice\"},{\"address\":\"bob\"}]}",
		0, NULL);
	json_t *note = json_loads("{\"kind\":\"direct\",\"members\":["
				  "{\"address\":\"alice\"}]}",
	    0, NULL);

	(void)state;
	assert_string_equal(render_conversation_name(direct, "alice"), "bob");
	assert_string_equal(render_conversation_name(direct, "bob"), "alice");
	assert_string_equal(render_conversation_name(note, "alice"), "alice");
	json_decref(direct);
	json_decref(note);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_states),
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_conversation_names),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
