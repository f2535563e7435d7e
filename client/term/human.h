/* SPDX-License-Identifier: MIT */
/*
 * Numbers as an operator reads them: counts in groups of three digits or in at
 * most six columns, durations in one or two units, time limits in one unit,
 * sizes, rates, percentages, wall times, and a series of numbers as bars.  Each
 * function appends to a buffer, in plain ASCII except for the bars.
 */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/render.h"

/* Appends a count: "12,345". */
void human_count(struct buf *b, int64_t n);

/* Appends a count in at most five columns (a negative one: six).  A count from
 * -9,999 to 99,999 is written in full ("12345"), any other is rounded to "123k"
 * or "1.2M". */
void human_short(struct buf *b, int64_t n);

/* Appends the duration of ${ms} milliseconds: "85ms", "4.2s", "42s", "3m 20s",
 * "2h 5m", "3d 4h", "400d"; "0s" for 0 and less.  Smaller units are cut off,
 * not rounded. */
void human_span(struct buf *b, int64_t ms);

/* Appends a time limit in one unit: "60s" as "1m", "9600s" as "160m". */
void human_limit(struct buf *b, int64_t ms);

/* Appends a size: "812 B", "3.1 MiB". */
void human_bytes(struct buf *b, int64_t n);

/* Appends a rate per second: "0", "0.4", "214", "12.3k". */
void human_rate(struct buf *b, double per_second);

/* Appends ${part} (0 to 1) in percent: "4.2%", "42%"; "<0.1%" and ">999%"
 * beyond. */
void human_percent(struct buf *b, double part);

/* Appends wall time ${ms}, in milliseconds since 1970, in local time with
 * seconds: "14:02:33" for the day of look->now_ms, "20 Nov 14:02:33" for
 * another day of that year, "20 Nov 2030 14:02:33" for another year, "-" for 0
 * and for a time that localtime_r() refuses. */
void human_time(struct buf *b, const struct look *look, int64_t ms);

/* Appends ${n} values as bars of eight heights, one column each.  The highest
 * value, if above 0, has the greatest height, and 0 always has the least.  A
 * negative value becomes a space. */
void human_bars(struct buf *b, const double *values, size_t n);

#endif
