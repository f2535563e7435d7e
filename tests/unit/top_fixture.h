/* SPDX-License-Identifier: MIT */
/*
 * A live view whose data comes from the test.
 */
#ifndef TESTS_TOP_FIXTURE_H
#define TESTS_TOP_FIXTURE_H

#include <stdint.h>

#include "term/top_view.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS INT64_C(1795262400000)

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* For cmocka: times in UTC, texts in UTF-8. */
int top_set_up(void **state);

/* Parses ${text}, with ' for each ", as JSON.  The caller owns the result. */
json_t *top_parse(const char *text);

/* Makes a view of http://home, updated every 2 seconds, without data. */
void top_begin(struct top_view *view);

/* Gives the view statistics of ${at_ms}: ${n} accepted, ${pending} pending. */
void top_sample(struct top_view *view, int64_t at_ms, int n, int pending);

#endif
