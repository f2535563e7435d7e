/* SPDX-License-Identifier: MIT */
/*
 * A live view that a test tells what the server says.
 */
#ifndef TESTS_TOP_FIXTURE_H
#define TESTS_TOP_FIXTURE_H

#include <stdint.h>

#include "cli/top_view.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS INT64_C(1795262400000)

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* For cmocka: times in UTC, texts in UTF-8. */
int top_set_up(void **state);

/* ${text} with ' for each ", as JSON; the caller's. */
json_t *top_parse(const char *text);

/* A view of http://home, asked every 2 seconds, that was told nothing yet. */
void top_begin(struct top_view *view);

/* Tells statistics of ${at_ms}: ${n} accepted, ${pending} pending. */
void top_sample(struct top_view *view, int64_t at_ms, int n, int pending);

#endif
