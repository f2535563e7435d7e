/* SPDX-License-Identifier: MIT */
/*
 * The operator's live view at work: its requests and their times, the effect of
 * keys and of failures.  The test plays the terminal: for each picture the text
 * has the time, the page and the last line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>

#include "term/fullscreen.h"
#include "unit/cli_fixture.h"

#define STATS "{'at':'2026-11-21T12:00:00.000Z','totals':{'accepted':5}}"
#define LETTERS                                                                \
	"{'dead_letters':[{'dead_id':1},{'dead_id':2},{'dead_id':3},"          \
	"{'dead_id':4},{'dead_id':5},{'dead_id':6},{'dead_id':7},"             \
	"{'dead_id':8},{'dead_id':9},{'dead_id':10}]}"

/* No key: the program draws the next picture. */
#define DRAW FULLSCREEN_NONE

static const int *keys; /* the keys, a 0 at the end: then 'q' */
static int rows;
static bool no_terminal;
static struct pollfd watched[2];

int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);

/* The time passes, and no key or signal comes. */
int
__wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{

	assert_int_equal(n, 2);
	memcpy(watched, fds, sizeof(watched));
	stage_note("> poll %d", ms);
	stage_pass(ms);
	return (0);
}

/* ---- in the place of term/fullscreen.c ---- */

enum rc
fullscreen_check(const char *who, const char *instead, struct fail *fail)
{

	if (!no_terminal)
		return (RC_OK);
	(void)fail_set(fail, FAIL_USAGE, "%s needs a terminal", who);
	return (fail_cure(fail, "%s", instead));
}

enum rc
fullscreen_open(struct fullscreen *f, struct fail *fail)
{

	(void)fail;
	memset(f, 0, sizeof(*f));
	f->signals = 77;
	f->columns = 60;
	f->rows = rows;
	stage_note("| (open)");
	return (RC_OK);
}

void
fullscreen_close(struct fullscreen *f)
{

	assert_int_equal(f->signals, 77);
	stage_note("| (close)");
}

/* Returns the number of bytes of ${p} before the first ${c}, which must
 * exist. */
static int
length(const char *p, const char *end, char c)
{

	return ((int)((const char *)memchr(p, c, (size_t)(end - p)) - p));
}

/* Adds the time, the page and the foot to the text, without the keys. */
void
fullscreen_draw(struct fullscreen *f, const struct buf *frame)
{
	const char *p = frame->data, *end = p + frame->len, *page, *foot;

	for (foot = end; foot[-1] != '\n'; foot--)
		;
	if (end - foot > 8 && memcmp(foot, "q quit", 6) == 0) {
		while (foot < end && *foot != '(')
			foot++;
	}
	p += strlen("twinbox top  http://home");
	while (*p == ' ')
		p++;
	page = (const char *)memchr(p, '[', (size_t)(end - p)) + 1;
	stage_note("|%s %.*s, %.*s: %.*s", f->clear ? "(anew)" : "",
	    length(p, end, '\n'), p, length(page, end, ']'), page,
	    (int)(end - foot), foot);
	f->clear = false;
}

int
fullscreen_next(struct fullscreen *f)
{

	(void)f;
	if (*keys == -1)
		return ('q');
	return (*keys++);
}

/* ---- */

static int
set_up(void **state)
{

	rows = 9;
	no_terminal = false;
	memset(watched, 0, sizeof(watched));
	return (stage_set_up(state));
}

/* Adds the answers for one update of a page that needs a list. */
static void
look(struct stage *s, const char *list)
{

	stage_answer(s, 200, STATS);
	stage_answer(s, 200, list);
}

/* ---- time ---- */

static void
test_interval(void **state)
{
	static const int typed[] = {DRAW, DRAW, DRAW, DRAW, -1};
	struct stage *s = *state;

	look(s, "{}");
	look(s, "{}");
	keys = typed;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
	assert_int_equal(watched[0].fd, 0);
	assert_int_equal(watched[0].events, POLLIN);
	assert_int_equal(watched[1].fd, 77);
	assert_int_equal(watched[1].events, POLLIN);
}

/* The rest of an interval may be less than a tick, and a request's time is a
 * part of the interval. */
static void
test_less_than_a_tick(void **state)
{
	static const int typed[] = {DRAW, DRAW, DRAW, DRAW, DRAW, -1};
	struct stage *s = *state;

	look(s, "{}");
	stage_answer(s, 200, STATS)->took_ms = 400;
	stage_answer(s, 200, "{}")->took_ms = 1;
	stage_answer(s, 200, STATS)->took_ms = 1000;
	stage_answer(s, 200, "{}");
	look(s, "{}");
	keys = typed;
	assert_string_equal(
	    stage_run(s, "admin", "top", "--interval", "1s", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 1s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1s, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 1s, 1 overview: (0 above, 10 below)\n"
	    "> poll 599\n"
	    "| 12:00:00  every 1s, 1 overview: (0 above, 10 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 1s, 1 overview: (0 above, 10 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- keys ---- */

static void
test_pages(void **state)
{
	static const int typed[] = {DRAW, '2', DRAW, DRAW, '3', DRAW, DRAW, '4',
	    DRAW, DRAW, '1', DRAW, DRAW, '1', '0', '5', DRAW, -1};
	struct stage *s = *state;
	int i;

	look(s, "{}");
	look(s, "{}");
	look(s, LETTERS);
	stage_answer(s, 200, STATS);
	for (i = 0; i < 3; i++)
		stage_answer(s, 200, "{}");
	look(s, "{}");
	keys = typed;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 2 destinations: \n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 2 destinations: \n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 3 dead letters: \n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 4 lanes: \n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=leased&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=ready&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=local&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "| 12:00:00  every 2s, 4 lanes: \n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

static void
test_next_page(void **state)
{
	static const int moved[] = {FULLSCREEN_LEFT, DRAW, DRAW,
	    FULLSCREEN_RIGHT, DRAW, DRAW, 9, DRAW, DRAW, FULLSCREEN_LEFT, DRAW,
	    DRAW, FULLSCREEN_OTHER, FULLSCREEN_CHANGED, 12, 'x', DRAW, 3};
	struct stage *s = *state;
	int i;

	look(s, "{}");
	stage_answer(s, 200, STATS);
	for (i = 0; i < 3; i++)
		stage_answer(s, 200, "{}");
	look(s, "{}");
	look(s, "{}");
	look(s, "{}");
	keys = moved;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 4 lanes: \n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=leased&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=ready&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "> GET /v1/admin/lanes?state=local&limit=200 timeout=10000 "
	    "patience=0 beside\n"
	    "| 12:00:00  every 2s, 4 lanes: \n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 2 destinations: \n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 2 destinations: \n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "|(anew) 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

/* A page of eleven lines, of which five are visible. */
static void
test_scrolling(void **state)
{
	static const int typed[] = {DRAW, FULLSCREEN_DOWN, DRAW, 'j', DRAW, 'k',
	    DRAW, FULLSCREEN_UP, DRAW, FULLSCREEN_UP, DRAW,
	    FULLSCREEN_PAGE_DOWN, DRAW, ' ', DRAW, FULLSCREEN_DOWN, DRAW,
	    FULLSCREEN_PAGE_UP, DRAW, FULLSCREEN_DOWN, DRAW, FULLSCREEN_HOME,
	    DRAW, FULLSCREEN_DOWN, '1', DRAW, DRAW, '3', DRAW, DRAW,
	    FULLSCREEN_DOWN, '3', DRAW, 'r', DRAW, DRAW, 'Q'};
	struct stage *s = *state;

	look(s, LETTERS);
	look(s, "{}");
	look(s, LETTERS);
	look(s, LETTERS);
	keys = typed;
	(void)stage_run(
	    s, "admin", "top", "--view", "dead", "--interval", "1d", NULL);
	assert_string_equal(s->text,
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (1 above, 5 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 1d, 3 dead letters: (2 above, 4 below)\n"
	    "> poll 1000\n"
	    "| 12:00:03  every 1d, 3 dead letters: (1 above, 5 below)\n"
	    "> poll 1000\n"
	    "| 12:00:04  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:05  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:06  every 1d, 3 dead letters: (4 above, 2 below)\n"
	    "> poll 1000\n"
	    "| 12:00:07  every 1d, 3 dead letters: (6 above, 0 below)\n"
	    "> poll 1000\n"
	    "| 12:00:08  every 1d, 3 dead letters: (6 above, 0 below)\n"
	    "> poll 1000\n"
	    "| 12:00:09  every 1d, 3 dead letters: (2 above, 4 below)\n"
	    "> poll 1000\n"
	    "| 12:00:10  every 1d, 3 dead letters: (3 above, 3 below)\n"
	    "> poll 1000\n"
	    "| 12:00:11  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:12  every 1d, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 1d, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (1 above, 5 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 1d, 3 dead letters: (1 above, 5 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 1d, 3 dead letters: (1 above, 5 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

/* At the end of a page a key scrolls only the lines that are left. */
static void
test_keys_at_once(void **state)
{
	static const int typed[] = {
	    DRAW, ' ', FULLSCREEN_DOWN, DRAW, ' ', FULLSCREEN_UP, DRAW, -1};
	struct stage *s = *state;

	look(s, LETTERS);
	keys = typed;
	(void)stage_run(
	    s, "admin", "top", "--view", "dead", "--interval", "1d", NULL);
	assert_string_equal(s->text,
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 1d, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (5 above, 1 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 1d, 3 dead letters: (5 above, 1 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

/* A terminal with so few rows that a page is one line, or none. */
static void
test_low_terminal(void **state)
{
	static const int typed[] = {DRAW, FULLSCREEN_PAGE_DOWN, DRAW,
	    FULLSCREEN_PAGE_DOWN, DRAW, FULLSCREEN_PAGE_UP, DRAW, 4};
	struct stage *s = *state;

	look(s, LETTERS);
	rows = 5;
	keys = typed;
	(void)stage_run(
	    s, "admin", "top", "--view", "dead", "--interval", "1d", NULL);
	assert_string_equal(s->text,
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 1d, 3 dead letters: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (1 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 1d, 3 dead letters: (2 above, 8 below)\n"
	    "> poll 1000\n"
	    "| 12:00:03  every 1d, 3 dead letters: (1 above, 9 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
	look(s, LETTERS);
	rows = 7;
	keys = typed;
	(void)stage_run(
	    s, "admin", "top", "--view", "dead", "--interval", "1d", NULL);
	assert_string_equal(s->text,
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 1d, 3 dead letters: (0 above, 8 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 1d, 3 dead letters: (2 above, 6 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 1d, 3 dead letters: (4 above, 4 below)\n"
	    "> poll 1000\n"
	    "| 12:00:03  every 1d, 3 dead letters: (2 above, 6 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- while a request is under way ---- */

static void
test_keys_meanwhile(void **state)
{
	/* Turning to another page during an update requests it at once. */
	static const int turned[] = {
	    DRAW, 'r', DRAW, '3', DRAW, DRAW, DRAW, -1};
	static const int ended[] = {DRAW, 'r', DRAW, FULLSCREEN_END};
	struct stage *s = *state;

	look(s, "{}");
	stage_answer(s, 200, STATS)->slow = true;
	stage_answer(s, 200, LETTERS);
	look(s, LETTERS);
	keys = turned;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "| 12:00:01  every 2s, 3 dead letters: \n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 3 dead letters: (0 above, 6 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 3 dead letters: (0 above, 6 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
	look(s, "{}");
	stage_answer(s, 401, "{'status':401,'code':'unauthenticated'}")->slow =
	    true;
	keys = ended;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- failures ---- */

static void
test_away(void **state)
{
	static const int typed[] = {DRAW, DRAW, DRAW, DRAW, DRAW, DRAW, DRAW,
	    DRAW, DRAW, DRAW, DRAW, DRAW, DRAW, DRAW, DRAW, -1};
	struct stage *s = *state;
	struct stage_answer *answer;

	look(s, "{}");
	stage_answer(s, 0, NULL);
	answer = stage_answer(s, 503, "{'status':503,'code':'busy'}");
	answer->retry_after_s = 3;
	stage_answer(s, 200, STATS);
	stage_answer(s, 500, "{'status':500,'code':'internal'}");
	look(s, "{}");
	keys = typed;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "| (open)\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 2s, 1 overview: (0 above, 9 below)\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "| 12:00:02  every 2s, 1 overview: last answer 2s ago, trying "
	    "again: cannot reach http://home\n"
	    "> poll 1000\n"
	    "| 12:00:03  every 2s, 1 overview: last answer 3s ago, trying "
	    "again: cannot reach http://home\n"
	    "> poll 1000\n"
	    "| 12:00:04  every 2s, 1 overview: last answer 4s ago, trying "
	    "again: cannot reach http://home\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "| 12:00:04  every 2s, 1 overview: last answer 4s ago, trying "
	    "again: The server is busy\n"
	    "> poll 1000\n"
	    "| 12:00:05  every 2s, 1 overview: last answer 5s ago, trying "
	    "again: The server is busy\n"
	    "> poll 1000\n"
	    "| 12:00:06  every 2s, 1 overview: last answer 6s ago, trying "
	    "again: The server is busy\n"
	    "> poll 1000\n"
	    "| 12:00:07  every 2s, 1 overview: last answer 7s ago, trying "
	    "again: The server is busy\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: last answer 0s ago, trying "
	    "again: The server failed\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: last answer 1s ago, trying "
	    "again: The server failed\n"
	    "> poll 1000\n"
	    "| 12:00:02  every 2s, 1 overview: last answer 2s ago, trying "
	    "again: The server failed\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0 beside\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0 "
	    "beside\n"
	    "| 12:00:00  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| 12:00:01  every 2s, 1 overview: (0 above, 10 below)\n"
	    "> poll 1000\n"
	    "| (close)\n"
	    "= 0\n");
}

static void
test_refused(void **state)
{
	static const struct {
		int status;
		const char *problem, *end;
	} table[] = {
	    {401, "{'status':401,'code':'unauthenticated'}",
		"= 77 this device was logged out; log in again: twinbox login NAME"},
	    {403, "{'status':403,'code':'forbidden'}",
		"= 77 Not allowed; log in as an administrator (the operator makes "
		"one: twinboxd user promote NAME)"},
	    {404, "{'status':404,'code':'not_found'}",
		"= 76 this server does not support admin commands; use a newer server"},
	};
	static const int typed[] = {DRAW, 'r', DRAW, DRAW, DRAW, -1};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < 3; i++) {
		look(s, "{}");
		stage_answer(s, table[i].status, table[i].problem);
		keys = typed;
		(void)stage_run(s, "admin", "top", NULL);
		assert_string_equal(s->end, table[i].end);
		/* The same failure at the start, before there is a picture. */
		stage_answer(s, table[i].status, table[i].problem);
		(void)stage_run(s, "admin", "top", NULL);
		assert_string_equal(s->end, table[i].end);
		assert_null(strstr(s->text, "(open)"));
	}
}

/* ---- the server's clock ---- */

static void
test_clock(void **state)
{
	static const int typed[] = {DRAW, -1};
	struct stage *s = *state;

	/* The time of the statistics is finer than the header's, and is
	 * preferred. */
	stage_answer(s, 200, "{'at':'2026-11-21T08:00:00.900Z'}")->date_ms =
	    STAGE_NOW_MS;
	stage_answer(s, 200, "{}");
	keys = typed;
	(void)stage_run(s, "admin", "top", NULL);
	assert_non_null(strstr(s->text, "\n| 08:00:00  every 2s, "));
	stage_answer(s, 200, "{}")->date_ms = STAGE_NOW_MS - 3600000;
	stage_answer(s, 200, "{}");
	keys = typed;
	(void)stage_run(s, "admin", "top", NULL);
	assert_non_null(strstr(s->text, "\n| 11:00:00  every 2s, "));
}

/* ---- no terminal ---- */

static void
test_no_terminal(void **state)
{
	struct stage *s = *state;

	no_terminal = true;
	assert_string_equal(stage_run(s, "admin", "top", NULL),
	    "= 64 top needs a terminal; twinbox admin top --once prints one "
	    "picture as text\n");
	/* One picture needs no terminal. */
	look(s, "{'destinations':[],'next':null}");
	(void)stage_run(s, "admin", "top", "--once", NULL);
	assert_string_equal(s->end, "= 0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_interval, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_less_than_a_tick, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_pages, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_next_page, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_keys_at_once, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_scrolling, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_low_terminal, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_keys_meanwhile, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(test_away, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_refused, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_clock, set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_no_terminal, set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
