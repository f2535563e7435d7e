/* SPDX-License-Identifier: MIT */
/*
 * The log of a test, as text, with all levels.
 */
#ifndef TESTS_LOGGED_H
#define TESTS_LOGGED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "log/log.h"

static FILE *logged_file;

/* Directs the log to a file from here on.  Its times come from ${clk}, or from
 * the system's clock if ${clk} is NULL. */
static inline void
logged_start(const struct clk *clk)
{
	struct log_options log = {.level = LVL_DEBUG,
	    .format = LOG_FMT_TEXT,
	    .clk = clk != NULL ? clk : clk_system()};
	struct err err = ERR_INIT;

	logged_file = tmpfile();
	assert_non_null(logged_file);
	log.fd = fileno(logged_file);
	assert_int_equal(log_start(&log, &err), RC_OK);
}

/* Stops the log and returns its text; static storage. */
static inline const char *
logged_stop(void)
{
	static char text[65536];
	size_t n;

	log_stop();
	log_set_level(LVL_INFO);
	rewind(logged_file);
	n = fread(text, 1, sizeof(text) - 1, logged_file);
	text[n] = '\0';
	(void)fclose(logged_file);
	return (text);
}

#endif
