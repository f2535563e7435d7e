/* SPDX-License-Identifier: MIT */
/*
 * Numbers as an operator reads them: counts in groups of three, spans of time
 * in two units, sizes, rates, and a row of numbers as a small picture.  Each
 * appends to a buffer, in plain ASCII but for the picture.
 */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/render.h"

/* "12,345". */
void human_count(struct buf *b, int64_t n);

/* In at most five columns: "12345", "123k", "1.2M". */
void human_short(struct buf *b, int64_t n);

/* "85ms", "4.2s", "42s", "3m 20s", "2h 5m", "3d 4h", "400d". */
void human_span(struct buf *b, int64_t ms);

/* A limit of time in one unit: "60s" is "1m", "9600s" is "160m". */
void human_limit(struct buf *b, int64_t ms);

/* "812 B", "3.1 MiB". */
void human_bytes(struct buf *b, int64_t n);

/* So many a second: "0", "0.4", "214", "12.3k". */
void human_rate(struct buf *b, double per_second);

/* "4.2%" of ${part}, which is from 0 to 1. */
void human_percent(struct buf *b, double part);

/* Wall time ${ms} in local time with seconds: "14:02:33" of today,
 * "20 Nov 14:02:33" of another day; "-" of 0. */
void human_time(struct buf *b, const struct look *look, int64_t ms);

/* ${n} values as bars of eight heights, one column each, the highest of them
 * at the top; those below 0 are gaps. */
void human_bars(struct buf *b, const double *values, size_t n);

#endif
