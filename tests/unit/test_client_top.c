/* SPDX-License-Identifier: MIT */
/*
 * The pictures of the operator's live view as whole texts: each page, its
 * colours, and the window that shows a part of a page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/top_fixture.h"

static const struct look plain = {.now_ms = NOW_MS, .columns = 80};
static const struct look coloured = {
    .now_ms = NOW_MS, .columns = 80, .colour = true};

static void
assert_text(struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	buf_addc(b, '\0');
	assert_string_equal(b->data, text);
	buf_fini(b);
}

/* As assert_text(), with {31} in place of the start of colour 31 and {0} in
 * place of its end. */
static void
assert_coloured(struct buf *b, const char *text)
{
	struct buf shown = BUF_INIT;
	size_t i;

	assert_true(buf_ok(b));
	for (i = 0; i < b->len; i++) {
		if (b->data[i] != '\033') {
			buf_addc(&shown, b->data[i]);
			continue;
		}
		assert_int_equal(b->data[++i], '[');
		for (buf_addc(&shown, '{'); b->data[++i] != 'm';)
			buf_addc(&shown, b->data[i]);
		buf_addc(&shown, '}');
	}
	buf_fini(b);
	assert_text(&shown, text);
}

/* The picture of ${view} in a terminal of ${columns} columns and ${rows} rows
 * must be ${text}. */
static void
assert_drawn(struct top_view *view, int columns, int rows, const char *text)
{
	const struct look look = {.now_ms = NOW_MS, .columns = columns};
	struct buf b = BUF_INIT;

	top_view_draw(view, &b, &look, rows);
	assert_text(&b, text);
}

/* Statistics with a value in each place. */
static const char full_stats[] =
    "{'at':'2026-11-21T12:00:00.000Z',"
    "'states':{'pending':12345,'scheduled':40,'sending':8},"
    "'totals':{'accepted':2600,'sent':1300,'acked':1290,'retries':26,"
    "'failed':3,'expired':2,'canceled':1,'requeued':0,'rescues':4},"
    "'stuck_sending':2,'near_failure':3,'dead_letters_open':17,"
    "'oldest_pending_age_ms':200000,'average_latency_ms':85,"
    "'retry_rate':0.042,'relay':{'last_turn_age_ms':210,'in_flight':8},"
    "'wal_bytes':3250585,'queues':{'writer_waiting':5},"
    "'limits':{'max_pending_total':100000},"
    "'alerts':[{'name':'dead_letters','severity':'critical',"
    "'since':'2026-11-21T11:59:00.000Z','text':'17 dead letters'}]}";

static const char destinations[] =
    "{'destinations':["
    "{'name':'calm','breaker':'closed','pending':9,'in_flight':1,'window':4,"
    "'ages':[9,0]},"
    "{'name':'open','breaker':'open','pending':1,'ages':[0,1]}],"
    "'age_limits_ms':[60000]}";

static void
full_view(struct top_view *view)
{

	top_begin(view);
	top_sample(view, NOW_MS - 10 * SECOND, 500, 10000);
	top_view_stats(view, top_parse(full_stats), 0);
	view->destinations = top_parse(destinations);
	view->dead = top_parse("{'dead_letters':[{'dead_id':1,'id':'m1',"
			       "'reason':'max_retries','attempts':11,"
			       "'from':'ann','to':'bob'}]}");
	view->lanes =
	    top_parse("{'lanes':[{'lane_id':7,'to':'bob',"
		      "'class':'messages','state':'ready','pending':28,"
		      "'next_seq':13,'last_published_seq':12,"
		      "'tail_seq':40}]}");
}

static void
test_overview(void **state)
{
	struct top_view view;

	(void)state;
	full_view(&view);
	assert_drawn(&view, 80, 24,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    "[1 overview]  2 destinations   3 dead letters   4 lanes  \n"
	    "\n"
	    "                 NOW      PER SECOND    NOW  MINUTE  IN ALL\n"
	    "pending       12,345      accepted      210     210   2,600\n"
	    "scheduled         40      sent          130     130   1,300\n"
	    "sending            8      acked         129     129   1,290\n"
	    "stuck              2      retries       2.6     2.6      26\n"
	    "near failure       3      failed        0.3     0.3       3\n"
	    "dead letters      17      expired       0.2     0.2       2\n"
	    "oldest        3m 20s      canceled      0.1     0.1       1\n"
	    "latency         85ms      requeued        0       0       0\n"
	    "retry rate      4.2%      rescues       0.4     0.4       4\n"
	    "pending       ▇█  most 12,345 in 10s\n"
	    "relay turned 210ms ago, 8 in flight; writer: 5 wait\n"
	    "write-ahead log 3.1 MiB; pending is 12% of max-pending-total\n"
	    "dead_letters  1m  17 dead letters\n"
	    "\n"
	    "DESTINATION  BREAKER  SENDING  PENDING  OLDEST  LIMIT  READY\n"
	    "open         open           -        1       -      -      -\n"
	    "calm         closed       1/4        9       -      -      -\n"
	    "\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	top_view_fini(&view);
}

/* Printed without a terminal, the view has no list of pages and no keys. */
static void
test_printed(void **state)
{
	struct buf b = BUF_INIT;
	struct top_view view;

	(void)state;
	full_view(&view);
	view.interval_ms = 0;
	view.page = TOP_LANES;
	top_view_print(&view, &b, &plain);
	assert_text(&b,
	    "twinbox top  http://home                                        "
	    "        12:00:00\n"
	    "\n"
	    "LANE  TO   CLASS     STATE  PENDING  NEXT  SENT  TAIL  DUE\n"
	    "   7  bob  messages  ready       28    13    12    40  -\n");
	top_view_fini(&view);
}

static void
test_colours(void **state)
{
	struct buf b = BUF_INIT;
	struct top_view view;

	(void)state;
	full_view(&view);
	top_view_draw(&view, &b, &coloured, 24);
	assert_coloured(&b,
	    "twinbox top  http://home                                    {2}  "
	    "12:00:00  every 2s{0}\n"
	    "{1}[1 overview]{0} {2} 2 destinations {0} {2} 3 dead letters {0} "
	    "{2} 4 lanes {0} \n"
	    "\n"
	    "                 {2}NOW{0}  {2}  {0}  {2}PER SECOND{0}  {2}  "
	    "NOW{0}  {2}MINUTE{0}  {2}IN ALL{0}\n"
	    "{2}pending{0}       {1}12,345{0}      {2}accepted{0}      "
	    "{1}210{0}     210   2,600\n"
	    "{2}scheduled{0}         {1}40{0}      {2}sent{0}          "
	    "{1}130{0}     130   1,300\n"
	    "{2}sending{0}            {1}8{0}      {2}acked{0}         "
	    "{1}129{0}     129   1,290\n"
	    "{2}stuck{0}              {33}2{0}      {2}retries{0}       "
	    "{1}2.6{0}     2.6      26\n"
	    "{2}near failure{0}       {33}3{0}      {2}failed{0}        "
	    "{1}0.3{0}     0.3       3\n"
	    "{2}dead letters{0}      {31}17{0}      {2}expired{0}       "
	    "{1}0.2{0}     0.2       2\n"
	    "{2}oldest{0}        {1}3m 20s{0}      {2}canceled{0}      "
	    "{1}0.1{0}     0.1       1\n"
	    "{2}latency{0}         {1}85ms{0}      {2}requeued{0}        "
	    "{1}0{0}       0       0\n"
	    "{2}retry rate{0}      {1}4.2%{0}      {2}rescues{0}       "
	    "{1}0.4{0}     0.4       4\n"
	    "{2}pending       {0}▇█  most 12,345 in 10s\n"
	    "{2}relay turned 210ms ago, 8 in flight; writer: 5 wait{0}\n"
	    "{2}write-ahead log 3.1 MiB; pending is 12% of max-pending-total{0}\n"
	    "{31}dead_letters{0}  {2}1m{0}  {31}17 dead letters{0}\n"
	    "\n"
	    "{2}DESTINATION{0}  {2}BREAKER{0}  {2}SENDING{0}  {2}PENDING{0}  "
	    "{2}OLDEST{0}  {2}LIMIT{0}  {2}READY{0}\n"
	    "open         {31}open{0}           -        1       -      -      "
	    "-\n"
	    "calm         {32}closed{0}       1/4        9       -      -      "
	    "-\n"
	    "\n"
	    "\n"
	    "{2}q quit   ← → 1-4 views{0}");
	top_view_fini(&view);
}

static void
test_other_pages(void **state)
{
	struct top_view view;

	(void)state;
	full_view(&view);
	view.page = TOP_DESTINATIONS;
	assert_drawn(&view, 80, 13,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    " 1 overview  [2 destinations]  3 dead letters   4 lanes  \n"
	    "\n"
	    "DESTINATION  BREAKER  SENDING  PENDING  OLDEST  LIMIT  READY\n"
	    "calm         closed       1/4        9       -      -      -\n"
	    "open         open           -        1       -      -      -\n"
	    "\n"
	    "PENDING BY AGE  ALL  <1m  >1m\n"
	    "calm              9    9    0\n"
	    "open              1    0    1\n"
	    "\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	view.page = TOP_DEAD;
	assert_drawn(&view, 80, 8,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    " 1 overview   2 destinations  [3 dead letters]  4 lanes  \n"
	    "\n"
	    "DEAD  REASON       TRIES  DIED  AGE  FROM → TO\n"
	    "   1  max_retries     11     -    -  ann → bob\n"
	    "    m1\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	view.page = TOP_LANES;
	assert_drawn(&view, 80, 7,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    " 1 overview   2 destinations   3 dead letters  [4 lanes] \n"
	    "\n"
	    "LANE  TO   CLASS     STATE  PENDING  NEXT  SENT  TAIL  DUE\n"
	    "   7  bob  messages  ready       28    13    12    40  -\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	top_view_fini(&view);
}

/* A page before the first answer, and a page whose list is empty. */
static void
test_empty_pages(void **state)
{
	static const char *const asking =
	    "twinbox top  http://home                                        "
	    "        12:00:00\n"
	    "\n"
	    "asking the server …\n";
	struct top_view view;
	int page;

	(void)state;
	for (page = 0; page < TOP_PAGES; page++) {
		struct buf b = BUF_INIT;

		top_begin(&view);
		view.interval_ms = 0;
		view.page = (enum top_page)page;
		top_view_print(&view, &b, &plain);
		assert_text(&b, asking);
		top_view_fini(&view);
	}
	top_begin(&view);
	view.dead = top_parse("{'dead_letters':[]}");
	view.lanes = top_parse("{'lanes':[]}");
	view.page = TOP_DEAD;
	assert_drawn(&view, 80, 6,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    " 1 overview   2 destinations  [3 dead letters]  4 lanes  \n"
	    "\n"
	    "no dead letters\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	view.page = TOP_LANES;
	assert_drawn(&view, 80, 6,
	    "twinbox top  http://home                                      12"
	    ":00:00  every 2s\n"
	    " 1 overview   2 destinations   3 dead letters  [4 lanes] \n"
	    "\n"
	    "no lane has anything to send\n"
	    "\n"
	    "q quit   ← → 1-4 views");
	top_view_fini(&view);
}

/* The title ends at the last column.  If it is longer than the terminal is
 * wide, it is not cut here. */
static void
test_title(void **state)
{
	struct top_view view;

	(void)state;
	top_begin(&view);
	view.interval_ms = 90 * SECOND + 999;
	assert_drawn(&view, 0, 4,
	    "twinbox top  http://home                                     12:"
	    "00:00  every 90s\n"
	    "[1 overview]  2 destinations   3 dead letters   4 lanes  \n"
	    "\n"
	    "q quit   ← → 1-4 views");
	assert_drawn(&view, 49, 4,
	    "twinbox top  http://home      12:00:00  every 90s\n"
	    "[1 overview]  2 destinations   3 dead letters   4 lanes  \n"
	    "\n"
	    "q quit   ← → 1-4 views");
	assert_drawn(&view, 20, 4,
	    "twinbox top  http://home  12:00:00  every 90s\n"
	    "[1 overview]  2 destinations   3 dead letters   4 lanes  \n"
	    "\n"
	    "q quit   ← → 1-4 views");
	view.server = "http://d\033esk";
	view.interval_ms = 0;
	assert_drawn(&view, 60, 1,
	    "twinbox top  http://d\\x1besk                        12:00:00\n"
	    "[1 overview]  2 destinations   3 dead letters   4 lanes  \n"
	    "\n"
	    "q quit   ← → 1-4 views");
	top_view_fini(&view);
}

/* A problem replaces the list of keys in the last line. */
static void
test_foot(void **state)
{
	struct buf b = BUF_INIT;
	struct top_view view;

	(void)state;
	top_begin(&view);
	view.away = true;
	view.silence_ms = 61999;
	(void)fail_set(&view.why, FAIL_UNREACHABLE, "cannot reach it");
	top_view_draw(&view, &b, &coloured, 4);
	assert_coloured(&b,
	    "twinbox top  http://home                                    {2}  "
	    "12:00:00  every 2s{0}\n"
	    "{1}[1 overview]{0} {2} 2 destinations {0} {2} 3 dead letters {0} "
	    "{2} 4 lanes {0} \n"
	    "\n"
	    "{31}last answer 1m 1s ago, trying again: cannot reach it{0}");
	top_view_fini(&view);
}

/* Draws a page of six lines, of which one stays at the top, in ${rows} rows. */
static void
assert_window(int scroll, int rows, const char *shown, int after, int below)
{
	struct buf b = BUF_INIT;
	struct top_view view;
	const char *p;

	top_begin(&view);
	view.page = TOP_DEAD;
	view.dead = top_parse("{'dead_letters':["
			      "{'dead_id':1},{'dead_id':2},{'dead_id':3},"
			      "{'dead_id':4},{'dead_id':5}]}");
	view.scroll = scroll;
	top_view_draw(&view, &b, &plain, rows);
	buf_addc(&b, '\0');
	/* The title, the list of pages, an empty line. */
	p = strstr(b.data, "\n\n");
	assert_non_null(p);
	assert_string_equal(p + 2, shown);
	assert_int_equal(view.scroll, after);
	assert_int_equal(view.below, below);
	buf_fini(&b);
	top_view_fini(&view);
}

static void
test_window(void **state)
{

	(void)state;
	assert_window(0, 10,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   1  -           -     -    -  ? → group\n"
	    "   2  -           -     -    -  ? → group\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "   5  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views",
	    0, 0);
	assert_window(0, 11,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   1  -           -     -    -  ? → group\n"
	    "   2  -           -     -    -  ? → group\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "   5  -           -     -    -  ? → group\n"
	    "\n"
	    "q quit   ← → 1-4 views",
	    0, 0);
	assert_window(0, 9,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   1  -           -     -    -  ? → group\n"
	    "   2  -           -     -    -  ? → group\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (0 above, 1 below)",
	    0, 1);
	assert_window(1, 9,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   2  -           -     -    -  ? → group\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "   5  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (1 above, 0 below)",
	    1, 0);
	assert_window(2, 8,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "   5  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (2 above, 0 below)",
	    2, 0);
	assert_window(1, 8,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   2  -           -     -    -  ? → group\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (1 above, 1 below)",
	    1, 1);
	/* A page cannot be scrolled beyond its end. */
	assert_window(7, 8,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "   3  -           -     -    -  ? → group\n"
	    "   4  -           -     -    -  ? → group\n"
	    "   5  -           -     -    -  ? → group\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (2 above, 0 below)",
	    2, 0);
	assert_window(4, 5,
	    "DEAD  REASON  TRIES  DIED  AGE  FROM → TO\n"
	    "q quit   ← → 1-4 views   ↑ ↓ scroll (4 above, 1 below)",
	    4, 1);
	/* There is no room for a line of the page, so the foot does not count
	 * lines. */
	assert_window(0, 4, "q quit   ← → 1-4 views", 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_overview),
	    cmocka_unit_test(test_printed),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_other_pages),
	    cmocka_unit_test(test_empty_pages),
	    cmocka_unit_test(test_title),
	    cmocka_unit_test(test_foot),
	    cmocka_unit_test(test_window),
	};

	return (cmocka_run_group_tests(tests, top_set_up, NULL));
}
