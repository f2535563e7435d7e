/* SPDX-License-Identifier: MIT */
/*
 * Numbers in JSON lines: which values become numbers, and which stay text.
 */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log/log.h"

#define WALL INT64_C(1795256430123) /* 2026-11-21T10:20:30.123Z */

static struct clk_fake fake;
static char got[16384];
static int pipe_fd[2];

static void
begin(void)
{
	struct log_options options = {
	    .level = LVL_INFO, .format = LOG_FMT_JSON, .clk = &fake.clk};
	struct err err = ERR_INIT;

	clk_fake_init(&fake, WALL);
	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	options.fd = pipe_fd[1];
	assert_int_equal(log_start(&options, &err), RC_OK);
}

/* Stops the log and returns its text. */
static const char *
finish(void)
{
	size_t len = 0;
	ssize_t n;

	log_stop();
	(void)close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], got + len, sizeof(got) - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(pipe_fd[0]);
	got[len] = '\0';
	return (got);
}

/* The format of a value decides whether it is a number, never the value: a name
 * of digits stays a string.  A number that JSON cannot express, or that a
 * double would round, stays text. */
static void
test_json_numbers(void **state)
{
	static const char begin_of[] =
	    "{\"time\":\"2026-11-21T10:20:30.123Z\",\"level\":\"info\","
	    "\"event\":\"auth.login\",\"thread\":\"other\",";
	const int64_t exact = INT64_C(999999999999999);
	char want[2000];
	size_t n;

	(void)state;
	begin();
	log_event(LOG_EV_AUTH_LOGIN, "i=%d j=%lld z=%zu u=%u", -5,
	    (long long)exact, (size_t)0, 7U);
	log_event(LOG_EV_AUTH_LOGIN, "f=%.1f g=%g h=%+d w=%03d v=%3d", 1.5,
	    1e300, 5, 7, 7);
	log_event(LOG_EV_AUTH_LOGIN, "big=%lld nan=%f inf=%f",
	    (long long)exact + 1, (double)NAN, (double)INFINITY);
	log_event(LOG_EV_AUTH_LOGIN, "name=%s x=%x ms=%dms of=%d of %d",
	    "12345", 16U, 3, 1, 2);
	log_event(LOG_EV_AUTH_LOGIN, "name=%s n=%d", "1 n=2", 3);
	n = (size_t)snprintf(want, sizeof(want),
	    "%s\"i\":-5,\"j\":999999999999999,\"z\":0,\"u\":7}\n", begin_of);
	n += (size_t)snprintf(want + n, sizeof(want) - n,
	    "%s\"f\":1.5,\"g\":1e+300,\"h\":\"+5\",\"w\":\"007\","
	    "\"v\":\"  7\"}\n",
	    begin_of);
	n += (size_t)snprintf(want + n, sizeof(want) - n,
	    "%s\"big\":\"1000000000000000\",\"nan\":\"nan\","
	    "\"inf\":\"inf\"}\n",
	    begin_of);
	n += (size_t)snprintf(want + n, sizeof(want) - n,
	    "%s\"name\":\"12345\",\"x\":\"10\",\"ms\":\"3ms\","
	    "\"of\":\"1 of 2\"}\n",
	    begin_of);
	n += (size_t)snprintf(want + n, sizeof(want) - n,
	    "%s\"name\":\"1 n=2\",\"n\":3}\n", begin_of);
	assert_true(n < sizeof(want));
	assert_string_equal(finish(), want);
}

/* A part of a number would be another number, so a line that is cut has it as
 * text. */
static void
test_json_number_cut(void **state)
{
	char value[4200];
	const char *line;
	size_t i, cut = 0;

	(void)state;
	memset(value, 'w', sizeof(value));
	for (i = 4000; i < 4150; i++) {
		value[i] = '\0';
		begin();
		log_event(
		    LOG_EV_AUTH_LOGIN, "a=%s n=%d m=%d", value, 11111, 22222);
		line = finish();
		value[i] = 'w';
		if (strstr(line, "\"n\":1") != NULL)
			assert_non_null(strstr(line, "\"n\":11111"));
		if (strstr(line, "\"m\":2") != NULL)
			assert_non_null(strstr(line, "\"m\":22222}"));
		cut += strstr(line, "\"n\":\"11\"}") != NULL;
		cut += strstr(line, "\"m\":\"22\"}") != NULL;
	}
	assert_int_equal(cut, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_numbers),
	    cmocka_unit_test(test_json_number_cut),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
