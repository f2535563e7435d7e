/* SPDX-License-Identifier: MIT */
/*
 * The pictures of the live view.  This file owns the computation of rates.  If
 * a total or the time of a new sample is lower than in the sample before, the
 * server was replaced or restored: all earlier samples are dropped, and rates
 * are computed from the new sample on.
 */
#include "term/top_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "lib/safe.h"
#include "term/admin_view.h"
#include "term/human.h"

#define MINUTE_MS 60000
/* The most destinations that are sorted; a page of the server has no more. */
#define SORTED_MAX 200
/* Number of lines above and below the page. */
#define HEAD_ROWS 3
#define FOOT_ROWS 1

static const char *const total_names[TOP_TOTALS] = {"accepted", "sent", "acked",
    "retries", "failed", "expired", "canceled", "requeued", "rescues"};

static const struct {
	const char *name;  /* on the command line */
	const char *title; /* in the picture */
} pages[TOP_PAGES] = {
    [TOP_OVERVIEW] = {"overview", "overview"},
    [TOP_DESTINATIONS] = {"destinations", "destinations"},
    [TOP_DEAD] = {"dead", "dead letters"},
    [TOP_LANES] = {"lanes", "lanes"},
};

const char *
top_view_page_name(enum top_page page)
{

	return (pages[page].name);
}

void
top_view_fini(struct top_view *view)
{

	json_decref(view->stats);
	json_decref(view->destinations);
	json_decref(view->dead);
	json_decref(view->lanes);
}

/* Returns true if ${sample} does not continue the series of ${before}. */
static bool
starts_over(const struct top_sample *before, const struct top_sample *sample)
{
	int i;

	for (i = 0; i < TOP_TOTALS; i++)
		if (sample->totals[i] < before->totals[i])
			return (true);
	return (sample->at_ms < before->at_ms);
}

void
top_view_stats(struct top_view *view, json_t *stats, int64_t now_ms)
{
	const json_t *totals = json_object_get(stats, "totals");
	struct top_sample *samples = view->samples, sample;
	int i;

	json_decref(view->stats);
	view->stats = stats;
	sample.at_ms = render_time_of(stats, "at");
	if (sample.at_ms == 0)
		sample.at_ms = now_ms;
	for (i = 0; i < TOP_TOTALS; i++)
		sample.totals[i] =
		    admin_view_integer(totals, total_names[i], 0);
	sample.pending =
	    admin_view_integer(json_object_get(stats, "states"), "pending", 0);
	if (view->nsamples > 0 &&
	    starts_over(&samples[view->nsamples - 1], &sample))
		view->nsamples = 0;
	if (view->nsamples == TOP_SAMPLES) {
		memmove(
		    samples, samples + 1, (TOP_SAMPLES - 1) * sizeof(*samples));
		view->nsamples--;
	}
	samples[view->nsamples++] = sample;
}

/* Appends the rate per second of the total with index ${i} from the sample with
 * index ${from} to the newest sample.  Appends "-" if ${from} is negative or
 * not below the index of the newest sample, or if both samples have the same
 * time. */
static void
add_rate(struct buf *b, const struct top_view *view, int i, int from)
{
	const struct top_sample *last, *first;

	if (from < 0 || from >= view->nsamples - 1) {
		buf_addc(b, '-');
		return;
	}
	last = &view->samples[view->nsamples - 1];
	first = &view->samples[from];
	if (last->at_ms <= first->at_ms)
		buf_addc(b, '-');
	else
		human_rate(b, (double)(last->totals[i] - first->totals[i]) *
				  1000 / (double)(last->at_ms - first->at_ms));
}

/* Returns the index of the oldest sample of the last minute. */
static int
minute_ago(const struct top_view *view)
{
	int i = view->nsamples - 1;

	while (i > 0 && view->samples[view->nsamples - 1].at_ms -
				view->samples[i - 1].at_ms <=
			    MINUTE_MS)
		i--;
	return (i);
}

/* The forms of the figures in the left half of the overview. */
enum figure_form { FORM_COUNT, FORM_SPAN, FORM_PERCENT };

static const struct figure {
	const char *title;
	const char *group; /* NULL: top level of the statistics */
	const char *name;
	enum figure_form form;
	int64_t worry, alarm; /* yellow, red from this value on; 0: never */
} figures[TOP_TOTALS] = {
    {"pending", "states", "pending", FORM_COUNT, 0, 0},
    {"scheduled", "states", "scheduled", FORM_COUNT, 0, 0},
    {"sending", "states", "sending", FORM_COUNT, 0, 0},
    {"stuck", NULL, "stuck_sending", FORM_COUNT, 1, 0},
    {"near failure", NULL, "near_failure", FORM_COUNT, 1, 0},
    {"dead letters", NULL, "dead_letters_open", FORM_COUNT, 0, 1},
    {"oldest", NULL, "oldest_pending_age_ms", FORM_SPAN, 300000, 3600000},
    {"latency", NULL, "average_latency_ms", FORM_SPAN, 5000, 60000},
    {"retry rate", NULL, "retry_rate", FORM_PERCENT, 0, 0},
};

/* Appends the cell with the value of ${f}. */
static void
add_figure(struct grid *grid, const json_t *stats, const struct figure *f)
{
	const json_t *in =
	    f->group != NULL ? json_object_get(stats, f->group) : stats;
	int64_t n = admin_view_integer(in, f->name, 0);
	enum style style = STYLE_BOLD;
	struct buf *b;

	if (f->alarm > 0 && n >= f->alarm)
		style = STYLE_RED;
	else if (f->worry > 0 && n >= f->worry)
		style = STYLE_YELLOW;
	b = grid_cell(grid, style);
	if (f->form == FORM_COUNT)
		admin_view_count(b, in, f->name);
	else if (f->form == FORM_SPAN)
		admin_view_span(b, in, f->name);
	else if (admin_view_number(in, f->name, -1) >= 0)
		human_percent(b, admin_view_number(in, f->name, 0));
	else
		buf_addc(b, '-');
}

/* Appends the figures of waiting messages, beside the rates. */
static void
add_figures(struct buf *b, const struct look *look, const struct top_view *view)
{
	static const struct grid_column columns[] = {{"", false, 0},
	    {"NOW", true, 0}, {"  ", false, 0}, {"PER SECOND", false, 0},
	    {"  NOW", true, 0}, {"MINUTE", true, 0}, {"IN ALL", true, 0}};
	const json_t *totals = json_object_get(view->stats, "totals");
	struct grid grid;
	int i;

	grid_init(&grid, columns, 7);
	for (i = 0; i < TOP_TOTALS; i++) {
		grid_row(&grid);
		buf_adds(grid_cell(&grid, STYLE_DIM), figures[i].title);
		add_figure(&grid, view->stats, &figures[i]);
		(void)grid_cell(&grid, STYLE_PLAIN);
		buf_adds(grid_cell(&grid, STYLE_DIM), total_names[i]);
		add_rate(
		    grid_cell(&grid, STYLE_BOLD), view, i, view->nsamples - 2);
		add_rate(
		    grid_cell(&grid, STYLE_PLAIN), view, i, minute_ago(view));
		admin_view_count(
		    grid_cell(&grid, STYLE_PLAIN), totals, total_names[i]);
	}
	grid_finish(&grid, b, look);
}

/* Appends a line with the size of the write-ahead log and, if the statistics
 * have the limit max-pending-total, the number of pending messages in percent
 * of the limit. */
static void
add_room(struct buf *b, const struct look *look, const struct top_view *view)
{
	int64_t most = admin_view_integer(
	    json_object_get(view->stats, "limits"), "max_pending_total", 0);
	int64_t pending = admin_view_integer(
	    json_object_get(view->stats, "states"), "pending", 0);
	struct buf line = BUF_INIT;

	buf_adds(&line, "write-ahead log ");
	human_bytes(&line, admin_view_integer(view->stats, "wal_bytes", 0));
	if (most > 0) {
		buf_adds(&line, "; pending is ");
		human_percent(&line, (double)pending / (double)most);
		buf_adds(&line, " of max-pending-total");
	}
	render_buf(b, look, STYLE_DIM, &line);
	buf_addc(b, '\n');
}

/* Appends the health of the server, in two lines. */
static void
add_health(struct buf *b, const struct look *look, const struct top_view *view)
{
	const json_t *relay = json_object_get(view->stats, "relay");
	struct buf line = BUF_INIT;

	buf_adds(&line, "relay turned ");
	admin_view_span(&line, relay, "last_turn_age_ms");
	buf_adds(&line, " ago, ");
	admin_view_count(&line, relay, "in_flight");
	buf_adds(&line, " in flight; writer: ");
	admin_view_count(
	    &line, json_object_get(view->stats, "queues"), "writer_waiting");
	buf_adds(&line, " wait");
	render_buf(b, look,
	    admin_view_integer(relay, "last_turn_age_ms", 0) >= 10000
		? STYLE_RED
		: STYLE_DIM,
	    &line);
	buf_addc(b, '\n');
	add_room(b, look, view);
}

/* Appends the number of pending messages in the last samples, as bars. */
static void
add_depth(struct buf *b, const struct look *look, const struct top_view *view)
{
	double values[TOP_SAMPLES];
	int columns = look->columns > 0 ? look->columns : 80;
	int n = view->nsamples, i;
	int64_t most = 0;

	n = n > columns - 40 ? columns - 40 : n;
	if (n < 2)
		return;
	for (i = 0; i < n; i++) {
		values[i] =
		    (double)view->samples[view->nsamples - n + i].pending;
		if (view->samples[view->nsamples - n + i].pending > most)
			most = view->samples[view->nsamples - n + i].pending;
	}
	render_styled(b, look, STYLE_DIM, "pending       ");
	human_bars(b, values, (size_t)n);
	buf_adds(b, "  most ");
	human_count(b, most);
	buf_adds(b, " in ");
	human_span(b, view->samples[view->nsamples - 1].at_ms -
			  view->samples[view->nsamples - n].at_ms);
	buf_addc(b, '\n');
}

/* Returns the sort rank of a destination: 0, the one in trouble, comes
 * first. */
static int
calm(const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "breaker"));

	if (state != NULL && strcmp(state, "open") == 0)
		return (0);
	if (state != NULL && strcmp(state, "half_open") == 0)
		return (1);
	return (render_time_of(row, "paused_at") != 0 ? 2 : 3);
}

/* Returns the name of destination ${row}. */
static const char *
name_of(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));

	return (name != NULL ? name : "");
}

/* Orders destinations: trouble first, then by the number of waiting
 * messages. */
static int
compare_destinations(const void *a, const void *b)
{
	const json_t *left = *(const json_t *const *)a;
	const json_t *right = *(const json_t *const *)b;
	int64_t l = admin_view_integer(left, "pending", 0);
	int64_t r = admin_view_integer(right, "pending", 0);

	if (calm(left) != calm(right))
		return (calm(left) - calm(right));
	if (l != r)
		return (l > r ? -1 : 1);
	/* Equal rows are ordered by name, so that they do not jump. */
	return (strcmp(name_of(left), name_of(right)));
}

/* Returns the destinations in this order.  The caller decrefs them. */
static json_t *
sorted_destinations(const struct top_view *view)
{
	const json_t *list =
	    json_object_get(view->destinations, "destinations");
	json_t *rows[SORTED_MAX], *ret = json_array();
	size_t n = json_array_size(list), i;

	n = n > SORTED_MAX ? SORTED_MAX : n;
	for (i = 0; i < n; i++)
		rows[i] = json_array_get(list, i);
	qsort(rows, n, sizeof(rows[0]), compare_destinations);
	for (i = 0; i < n; i++)
		(void)json_array_append(ret, rows[i]);
	return (ret);
}

static void
add_overview(
    struct buf *b, const struct look *look, const struct top_view *view)
{
	json_t *sorted = sorted_destinations(view);

	add_figures(b, look, view);
	add_depth(b, look, view);
	add_health(b, look, view);
	admin_view_alerts(b, look, view->stats);
	buf_addc(b, '\n');
	admin_view_destinations(b, look, sorted);
	json_decref(sorted);
}

/* Appends ${rows} by ${show}, or the text ${nothing} if there are none. */
static void
add_list(struct buf *b, const struct look *look, const json_t *rows,
    void (*show)(struct buf *, const struct look *, const json_t *),
    const char *nothing)
{

	if (json_array_size(rows) > 0)
		show(b, look, rows);
	else {
		render_styled(b, look, STYLE_DIM, nothing);
		buf_addc(b, '\n');
	}
}

/* Appends the current page, without title, tabs and foot; "asking the server …"
 * if there is no answer for the page yet.  Returns the number of lines at the
 * page's top that do not scroll. */
static int
add_page(struct buf *b, const struct look *look, const struct top_view *view)
{
	const json_t *const held[TOP_PAGES] = {
	    view->stats, view->destinations, view->dead, view->lanes};

	if (held[view->page] == NULL) {
		render_styled(b, look, STYLE_DIM, "asking the server …");
		buf_addc(b, '\n');
		return (0);
	}
	switch (view->page) {
	case TOP_OVERVIEW:
		add_overview(b, look, view);
		return (0);
	case TOP_DESTINATIONS:
		admin_view_destinations(b, look,
		    json_object_get(view->destinations, "destinations"));
		buf_addc(b, '\n');
		admin_view_ages(b, look, view->destinations);
		return (0);
	case TOP_DEAD:
		add_list(b, look, json_object_get(view->dead, "dead_letters"),
		    admin_view_dead, "no dead letters");
		return (1);
	case TOP_LANES:
	case TOP_PAGES:
		break;
	}
	add_list(b, look, json_object_get(view->lanes, "lanes"),
	    admin_view_lanes, "no lane has anything to send");
	return (1);
}

/* Appends the first line: the server at the left; at the right the time and, if
 * view->interval_ms is not 0, the interval.  A line too wide for the terminal
 * is not cut here. */
static void
add_title(struct buf *b, const struct look *look, const struct top_view *view)
{
	int columns = look->columns > 0 ? look->columns : 80;
	struct buf right = BUF_INIT;
	size_t from = b->len;

	buf_adds(b, "twinbox top  ");
	safe_add(b, view->server, strlen(view->server));
	buf_adds(&right, "  ");
	human_time(&right, look, look->now_ms);
	if (view->interval_ms > 0) {
		buf_adds(&right, "  every ");
		human_limit(&right, view->interval_ms / 1000 * 1000);
	}
	if (buf_ok(b) && buf_ok(&right))
		columns -= safe_width(b->data + from, b->len - from) +
			   safe_width(right.data, right.len);
	for (; columns > 0; columns--)
		buf_addc(b, ' ');
	render_buf(b, look, STYLE_DIM, &right);
	buf_addc(b, '\n');
}

/* Appends the names of the pages, with the current one in brackets. */
static void
add_tabs(struct buf *b, const struct look *look, const struct top_view *view)
{
	struct buf tab = BUF_INIT;
	int i;

	for (i = 0; i < TOP_PAGES; i++) {
		bool here = i == (int)view->page;

		buf_addf(&tab, "%c%d %s%c", here ? '[' : ' ', i + 1,
		    pages[i].title, here ? ']' : ' ');
		render_buf(b, look, here ? STYLE_BOLD : STYLE_DIM, &tab);
		buf_addc(b, ' ');
	}
	buf_adds(b, "\n\n");
}

/* Appends the last line: the failure, or the keys. */
static void
add_foot(struct buf *b, const struct look *look, const struct top_view *view)
{
	struct buf line = BUF_INIT;

	if (view->away) {
		buf_adds(&line, "last answer ");
		human_span(&line, view->silence_ms / 1000 * 1000);
		buf_adds(&line, " ago, trying again: ");
		buf_adds(&line, view->why.what);
	} else {
		buf_adds(&line, "q quit   ← → 1-4 views");
		if (view->scroll > 0 || view->below > 0)
			buf_addf(&line, "   ↑ ↓ scroll (%d above, %d below)",
			    view->scroll, view->below);
	}
	render_buf(b, look, view->away ? STYLE_RED : STYLE_DIM, &line);
}

/* Returns the start of the line after the one at ${p}, at most ${end}. */
static const char *
next_line(const char *p, const char *end)
{
	const char *stop = memchr(p, '\n', (size_t)(end - p));

	return (stop == NULL ? end : stop + 1);
}

/* Appends ${rows} lines: the first ${fixed} lines of ${page}, which do not
 * scroll; then, after skipping view->scroll lines, the lines that follow; then
 * empty lines if ${page} has no more.  Before that, reduces view->scroll, if it
 * is greater, to the number of lines of ${page} beyond ${rows} (0 if there are
 * none), and sets view->below to the number of lines hidden below. */
static void
add_window(struct buf *b, struct top_view *view, const struct buf *page,
    int fixed, int rows)
{
	const char *p = page->data, *end = p + page->len, *from;
	int lines = 0, most, shown;

	for (from = p; from < end; from = next_line(from, end))
		lines++;
	most = lines > rows ? lines - rows : 0;
	if (view->scroll > most)
		view->scroll = most;
	view->below = most - view->scroll;
	for (shown = 0; shown < fixed; shown++) {
		from = p;
		p = next_line(p, end);
		buf_add(b, from, (size_t)(p - from));
	}
	for (lines = 0; lines < view->scroll; lines++)
		p = next_line(p, end);
	for (; shown < rows; shown++) {
		from = p;
		p = next_line(p, end);
		if (p > from)
			buf_add(b, from, (size_t)(p - from));
		else
			buf_addc(b, '\n');
	}
}

void
top_view_draw(
    struct top_view *view, struct buf *b, const struct look *look, int rows)
{
	struct buf page = BUF_INIT;
	int fixed;

	add_title(b, look, view);
	add_tabs(b, look, view);
	fixed = add_page(&page, look, view);
	if (buf_ok(&page) && rows > HEAD_ROWS + FOOT_ROWS)
		add_window(b, view, &page, fixed, rows - HEAD_ROWS - FOOT_ROWS);
	add_foot(b, look, view);
	buf_fini(&page);
}

void
top_view_print(struct top_view *view, struct buf *b, const struct look *look)
{

	add_title(b, look, view);
	buf_addc(b, '\n');
	(void)add_page(b, look, view);
}
