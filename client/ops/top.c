/* SPDX-License-Identifier: MIT */
/*
 * admin top: polls /v1/admin and draws the answers.  Keys and signals are
 * handled while a request is under way, so that a server that does not answer
 * does not lock the user in.  The first poll runs before the screen opens, and
 * any failure of it ends the command.  Later only a 401, 403 or 404 ends the
 * view.  After any other failure the screen shows the last answers with their
 * growing ages, and the next poll begins after the Retry-After of the answer
 * or, without one, after the usual interval.  With --once, any failure of a
 * poll ends the command.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clk.h"
#include "model/message.h"
#include "ops/admin_command.h"
#include "term/admin_view.h"
#include "term/fullscreen.h"
#include "term/top_view.h"

#define INTERVAL_MS 2000
#define REQUEST_TIMEOUT_MS 10000
/* How often the clock in the corner is redrawn, in ms. */
#define TICK_MS 1000

#define KEY_CTRL_C 3
#define KEY_CTRL_D 4
#define KEY_CTRL_L 12
#define KEY_TAB 9

struct top {
	struct cli *cli;
	struct top_view view;
	struct fullscreen screen;
	struct rest_idle idle; /* nfds 0: without a screen */
	int64_t server_ms;     /* the server's wall clock at asked_ms */
	int64_t asked_ms;
	int64_t next_ms; /* next poll; monotonic */
	bool hurry;      /* poll now, before next_ms */
	bool ended;
};

static int64_t
mono_now(void)
{

	return (clk_mono_ms(clk_system()));
}

/* Sets the current time by the server's clock. */
static void
set_now(struct top *top)
{

	if (top->server_ms != 0)
		top->cli->look.now_ms =
		    top->server_ms + mono_now() - top->asked_ms;
	top->view.silence_ms = mono_now() - top->asked_ms;
}

static void
draw(struct top *top)
{
	struct buf frame = BUF_INIT;

	set_now(top);
	top->cli->look.columns = top->screen.columns;
	top_view_draw(&top->view, &frame, &top->cli->look, top->screen.rows);
	fullscreen_draw(&top->screen, &frame);
	buf_fini(&frame);
}

/* Shows ${page} and polls its data at once. */
static void
turn_to(struct top *top, enum top_page page)
{

	if (top->view.page == page)
		return;
	top->view.page = page;
	top->view.scroll = 0;
	top->hurry = true;
}

/* Scrolls by ${lines}. */
static void
scroll(struct top *top, int lines)
{
	struct top_view *view = &top->view;

	if (lines > view->below)
		lines = view->below;
	view->scroll += lines;
	if (view->scroll < 0)
		view->scroll = 0;
}

/* Handles one key or event. */
static void
take_event(struct top *top, int event)
{
	int page = (int)top->view.page, height = top->screen.rows - 5;

	if (event >= '1' && event < '1' + TOP_PAGES)
		turn_to(top, (enum top_page)(event - '1'));
	else if (event == FULLSCREEN_RIGHT || event == KEY_TAB)
		turn_to(top, (enum top_page)((page + 1) % TOP_PAGES));
	else if (event == FULLSCREEN_LEFT)
		turn_to(
		    top, (enum top_page)((page + TOP_PAGES - 1) % TOP_PAGES));
	else if (event == FULLSCREEN_DOWN || event == 'j')
		scroll(top, 1);
	else if (event == FULLSCREEN_UP || event == 'k')
		scroll(top, -1);
	else if (event == FULLSCREEN_PAGE_DOWN || event == ' ')
		scroll(top, height > 1 ? height : 1);
	else if (event == FULLSCREEN_PAGE_UP)
		scroll(top, height > 1 ? -height : -1);
	else if (event == FULLSCREEN_HOME)
		top->view.scroll = 0;
	else if (event == 'r')
		top->hurry = true;
	else if (event == KEY_CTRL_L)
		top->screen.clear = true;
	else if (event == 'q' || event == 'Q' || event == KEY_CTRL_C ||
		 event == KEY_CTRL_D || event == FULLSCREEN_END)
		top->ended = true;
}

/* Handles all keys and signals that have come, and draws.  Returns false,
 * without drawing, if one of them has ended the view.  The REST client also
 * calls this function while a request is under way. */
static bool
serve(void *arg)
{
	struct top *top = arg;
	int event;

	while (!top->ended &&
	       (event = fullscreen_next(&top->screen)) != FULLSCREEN_NONE)
		take_event(top, event);
	if (!top->ended)
		draw(top);
	return (!top->ended);
}

/* GETs ${path} (taken) and stores the answer in *slot, which owns it. */
static enum rc
fetch(struct top *top, char *path, json_t **slot, struct fail *fail)
{
	struct rest_request request = {.timeout_ms = REQUEST_TIMEOUT_MS,
	    .idle = top->idle.nfds > 0 ? &top->idle : NULL};
	struct rest_reply reply;

	if (admin_call(top->cli->rest, &request, path, &reply, fail) != RC_OK)
		return (fail->rc);
	top->asked_ms = mono_now();
	if (reply.date_ms != 0)
		top->server_ms = reply.date_ms;
	json_decref(*slot);
	*slot = reply.json;
	return (RC_OK);
}

/* Fetches lanes (queues of messages to deliver) into top->view.lanes: the
 * leased ones, the ready ones, and those of the lanes into local inboxes that
 * have pending rows.  Reads one page of at most 200 lanes for each of the three
 * states, before lanes without pending rows are left out; further pages are not
 * read.  On failure top->view.lanes stays as it was. */
static enum rc
fetch_lanes(struct top *top, struct fail *fail)
{
	static const char *const states[] = {"leased", "ready", "local"};
	struct admin_filter filter = ADMIN_FILTER_INIT;
	json_t *all = json_array(), *page = NULL, *row;
	const json_t *list;
	size_t s, i;
	enum rc rc = RC_OK;

	filter.limit = LIMIT_PAGE_MAX;
	for (s = 0; rc == RC_OK && s < 3; s++) {
		filter.state = states[s];
		rc = fetch(top, admin_path("lanes", &filter), &page, fail);
		list = json_object_get(page, "lanes");
		for (i = 0; rc == RC_OK && i < json_array_size(list); i++) {
			row = json_array_get(list, i);
			if (s < 2 || admin_view_integer(row, "pending", 0) > 0)
				(void)json_array_append(all, row);
		}
	}
	json_decref(page);
	if (rc != RC_OK) {
		json_decref(all);
		return (rc);
	}
	json_decref(top->view.lanes);
	top->view.lanes = json_pack("{so}", "lanes", all);
	return (RC_OK);
}

/* Fetches the data of the current page. */
static enum rc
fetch_view(struct top *top, struct fail *fail)
{
	struct admin_filter filter = ADMIN_FILTER_INIT;
	struct top_view *view = &top->view;
	json_t *stats = NULL;
	int64_t at;

	if (fetch(top, admin_path("stats", NULL), &stats, fail) != RC_OK)
		return (fail->rc);
	at = render_time_of(stats, "at");
	if (at != 0)
		top->server_ms = at; /* more exact than the Date header */
	set_now(top);
	top_view_stats(view, stats, top->cli->look.now_ms);
	filter.limit = LIMIT_PAGE_MAX;
	switch (view->page) {
	case TOP_OVERVIEW:
	case TOP_DESTINATIONS:
		return (fetch(top, admin_path("destinations", &filter),
		    &view->destinations, fail));
	case TOP_DEAD:
		return (fetch(top, admin_path("dead-letters", &filter),
		    &view->dead, fail));
	case TOP_LANES:
	case TOP_PAGES:
		break;
	}
	return (fetch_lanes(top, fail));
}

/* Polls the server once and sets the time of the next poll.  After a 401, 403
 * or 404, fails, because a retry is useless.  Stores any other failure in
 * top->view, which shows it, and returns RC_OK.  Also returns RC_OK if the user
 * has ended the view during the poll. */
static enum rc
refresh(struct top *top, struct fail *fail)
{
	struct fail why = FAIL_INIT;
	enum rc rc;

	/* A key may set it again while the request is under way. */
	top->hurry = false;
	top->next_ms = mono_now() + top->view.interval_ms;
	rc = fetch_view(top, &why);
	if (top->ended)
		return (RC_OK);
	if (rc != RC_OK &&
	    (why.status == 401 || why.status == 403 || why.status == 404)) {
		*fail = why;
		return (fail->rc);
	}
	top->view.away = rc != RC_OK;
	top->view.why = why;
	if (rc != RC_OK && why.retry_after_s > 0)
		top->next_ms = mono_now() + (int64_t)why.retry_after_s * 1000;
	return (RC_OK);
}

/* Runs until the user ends the view.  The first answer must be there. */
static enum rc
run(struct top *top, struct fail *fail)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = top->screen.signals, .events = POLLIN}};
	int64_t wait;

	while (serve(top)) {
		wait = top->hurry ? 0 : top->next_ms - mono_now();
		if (wait <= 0) {
			if (refresh(top, fail) != RC_OK)
				return (fail->rc);
			continue;
		}
		(void)poll(fds, 2, (int)(wait < TICK_MS ? wait : TICK_MS));
	}
	return (RC_OK);
}

/* Runs the live view in the terminal. */
static enum rc
live(struct top *top, struct fail *fail)
{
	enum rc rc;

	if (fetch_view(top, fail) != RC_OK)
		return (fail->rc);
	top->next_ms = mono_now() + top->view.interval_ms;
	if (fullscreen_open(&top->screen, fail) != RC_OK)
		return (fail->rc);
	top->idle.fds[0] = STDIN_FILENO;
	top->idle.fds[1] = top->screen.signals;
	top->idle.nfds = 2;
	top->idle.fn = serve;
	top->idle.arg = top;
	rc = run(top, fail);
	fullscreen_close(&top->screen);
	return (rc);
}

/* Prints one picture as text, or its data as JSON. */
static enum rc
once(struct top *top, struct fail *fail)
{
	struct top_view *view = &top->view;
	struct buf b = BUF_INIT;
	json_t *all;
	enum rc rc;

	if (fetch_view(top, fail) != RC_OK)
		return (fail->rc);
	if (args_has(&top->cli->args, "interval")) {
		rest_sleep(view->interval_ms);
		if (fetch_view(top, fail) != RC_OK)
			return (fail->rc);
	}
	set_now(top);
	if (!top->cli->json) {
		view->interval_ms = 0;
		top_view_print(view, &b, &top->cli->look);
		return (cli_print(&b, fail));
	}
	all = json_object();
	(void)json_object_set(all, "stats", view->stats);
	if (view->destinations != NULL)
		(void)json_object_update(all, view->destinations);
	if (view->dead != NULL)
		(void)json_object_update(all, view->dead);
	if (view->lanes != NULL)
		(void)json_object_update(all, view->lanes);
	rc = cli_print_json(all, fail);
	json_decref(all);
	return (rc);
}

/* Reads the options. */
static enum rc
read_arguments(struct top *top, struct fail *fail)
{
	const struct args *args = &top->cli->args;
	const char *name = args_value(args, "view");
	int page = 0;

	top->view.interval_ms = INTERVAL_MS;
	if (args_duration(args, "interval", &top->view.interval_ms, fail) !=
	    RC_OK)
		return (fail->rc);
	if (top->view.interval_ms < 1000 || top->view.interval_ms > 86400000) {
		(void)fail_set(fail, FAIL_USAGE, "--interval is from 1s to 1d");
		return (fail_cure(fail, "see twinbox admin top --help"));
	}
	if (name == NULL)
		return (RC_OK);
	while (page < TOP_PAGES &&
	       strcmp(name, top_view_page_name((enum top_page)page)) != 0)
		page++;
	if (page == TOP_PAGES) {
		(void)fail_set(fail, FAIL_USAGE,
		    "--view takes overview, destinations, dead or lanes");
		return (fail_cure(fail, "see twinbox admin top --help"));
	}
	top->view.page = (enum top_page)page;
	return (RC_OK);
}

enum rc
cmd_admin_top(struct cli *cli, struct fail *fail)
{
	bool plain = args_has(&cli->args, "once");
	struct top top;
	enum rc rc;

	memset(&top, 0, sizeof(top));
	top.cli = cli;
	top.screen.signals = -1;
	top.view.server = rest_server(cli->rest);
	rc = read_arguments(&top, fail);
	if (rc == RC_OK && cli->json && !plain) {
		(void)fail_set(
		    fail, FAIL_USAGE, "top --json goes with --once only");
		rc = fail_cure(fail, "add --once");
	}
	if (rc == RC_OK && !plain)
		rc = fullscreen_check("top",
		    "twinbox admin top --once prints one picture as text",
		    fail);
	if (rc == RC_OK)
		rc = plain ? once(&top, fail) : live(&top, fail);
	top_view_fini(&top.view);
	return (rc);
}
