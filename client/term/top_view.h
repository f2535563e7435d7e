/* SPDX-License-Identifier: MIT */
/*
 * The screen of "twinbox admin top", the live view: keeps the server's answers,
 * and writes the page that shows them as lines of text.  Rates per second are
 * computed from the totals of successive answers.  The functions read no clock
 * and do no I/O: callers pass the answers (JSON), the times and struct look.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "lib/fail.h"
#include "term/render.h"

enum top_page {
	TOP_OVERVIEW,
	TOP_DESTINATIONS,
	TOP_DEAD,
	TOP_LANES,
	TOP_PAGES
};

/* The number of totals with rates. */
#define TOP_TOTALS 9
/* The number of samples kept: two minutes at one a second. */
#define TOP_SAMPLES 120

struct top_sample {
	int64_t at_ms;
	int64_t totals[TOP_TOTALS];
	int64_t pending;
};

struct top_view {
	enum top_page page;
	const char *server;
	int64_t interval_ms;
	int scroll; /* lines of the page scrolled away */
	int below;  /* lines below the screen when last drawn */

	json_t *stats; /* the server's answers; NULL: none yet */
	json_t *destinations;
	json_t *dead;
	json_t *lanes;

	struct top_sample samples[TOP_SAMPLES]; /* the newest last */
	int nsamples;

	bool away;          /* the last request failed */
	struct fail why;    /* of the last request */
	int64_t silence_ms; /* since the last good answer */
};

/* Returns the name of ${page} on the command line: "overview", ... */
const char *top_view_page_name(enum top_page page);

/* Frees the members of ${view}. */
void top_view_fini(struct top_view *view);

/* Frees the previous statistics, stores ${stats}, which ${view} then owns, and
 * adds a sample of their totals.  The time of the sample is the member "at" of
 * ${stats}, or ${now_ms} if there is no valid "at".  If the time or a total is
 * lower than in the newest sample, all earlier samples are dropped first.  If
 * TOP_SAMPLES samples are kept already, the oldest one is dropped first. */
void top_view_stats(struct top_view *view, json_t *stats, int64_t now_ms);

/* Appends the whole picture for a terminal, in ${rows} lines. */
void top_view_draw(
    struct top_view *view, struct buf *b, const struct look *look, int rows);

/* Appends the page as text for --once, without tabs and keys. */
void top_view_print(
    struct top_view *view, struct buf *b, const struct look *look);

#endif
