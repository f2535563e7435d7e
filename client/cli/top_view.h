/* SPDX-License-Identifier: MIT */
/*
 * The pictures of the live view: what it has been told, and how that looks.
 * Rates are made of successive totals.  Pure but for its memory: JSON and times
 * in, lines out.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "cli/render.h"
#include "lib/fail.h"

enum top_page {
	TOP_OVERVIEW,
	TOP_DESTINATIONS,
	TOP_DEAD,
	TOP_LANES,
	TOP_PAGES
};

/* The totals that have rates. */
#define TOP_TOTALS 9
/* How many samples are remembered: two minutes at one a second. */
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
	int scroll; /* lines left out at the top of the page */
	int below;  /* lines that did not fit, when it was last drawn */

	json_t *stats; /* as the server gave them; NULL: not yet */
	json_t *destinations;
	json_t *dead;
	json_t *lanes;

	struct top_sample samples[TOP_SAMPLES]; /* the newest last */
	int nsamples;

	bool away;          /* the last request failed */
	struct fail why;    /* of that */
	int64_t silence_ms; /* since the last good answer */
};

/* "overview", ...: the name of ${page} on the command line. */
const char *top_view_page_name(enum top_page page);

/* Frees what ${view} holds. */
void top_view_fini(struct top_view *view);

/* Takes ${stats} (owned by the view from then on), which are of ${now_ms}. */
void top_view_stats(struct top_view *view, json_t *stats, int64_t now_ms);

/* Appends the whole picture, ${rows} lines of it, for a terminal. */
void top_view_draw(
    struct top_view *view, struct buf *b, const struct look *look, int rows);

/* Appends the page as text, without what only a terminal needs. */
void top_view_print(
    struct top_view *view, struct buf *b, const struct look *look);

#endif
