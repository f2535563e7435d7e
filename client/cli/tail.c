/* SPDX-License-Identifier: MIT */
/*
 * tail: prints each event of the inbox after the starting point that
 * beginning() finds, as it comes, until the user stops the command or, with
 * --once, until all existing events are printed or the connection fails.  The
 * stream keeps the order and reconnects; follow.c stores the cursor.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "cli/bell.h"
#include "cli/follow.h"

#define CURSOR "tail"

struct tail {
	struct follow follow; /* first */
	struct bell bell;
	bool once;
	bool caught_up; /* on this connection */
};

static void
on_signal(void *arg)
{
	struct tail *tail = arg;
	int number;

	while ((number = follow_signal(&tail->follow)) != 0) {
		if (number != SIGWINCH)
			follow_end(&tail->follow, NULL);
	}
}

static void
on_welcome(void *arg, const json_t *frame)
{
	struct tail *tail = arg;

	if (tail->follow.away)
		cli_note(tail->follow.cli, "connected again");
	tail->follow.away = false;
	tail->caught_up = false;
	follow_welcome(&tail->follow, frame);
	cli_flush(tail->follow.cli);
	cli_note_unsent(tail->follow.cli);
}

/* Prints ${event}.  For programs: the JSON as it came, without its type. */
static enum rc
print_event(struct cli *cli, const json_t *event, struct fail *fail)
{
	struct buf b = BUF_INIT;
	json_t *copy;
	enum rc rc;

	if (!cli->json) {
		cli->look.now_ms = clk_wall_ms(clk_system());
		cli_event_add(cli, &b, event);
		return (cli_print(&b, fail));
	}
	copy = json_deep_copy(event);
	(void)json_object_del(copy, "type");
	rc = cli_print_json(copy, fail);
	json_decref(copy);
	return (rc);
}

static void
on_event(void *arg, const json_t *event)
{
	struct tail *tail = arg;
	struct fail fail = FAIL_INIT;

	if (tail->follow.ended)
		return;
	if (!follow_known(&tail->follow, event)) {
		if (print_event(tail->follow.cli, event, &fail) != RC_OK) {
			/* The event was not shown: do not store or ack it. */
			follow_end(&tail->follow, &fail);
			return;
		}
		if (tail->caught_up)
			bell_ring(&tail->bell, event);
	}
	follow_shown(&tail->follow, event);
}

static void
on_caught_up(void *arg)
{
	struct tail *tail = arg;

	tail->caught_up = true;
	if (tail->once)
		follow_end(&tail->follow, NULL);
}

static void
on_epoch_changed(void *arg)
{
	struct tail *tail = arg;

	follow_replay(&tail->follow);
	cli_note(tail->follow.cli, "the server was restored; reading its "
				   "inbox again from the beginning");
}

static void
on_gap(void *arg, int64_t expected, int64_t oldest)
{
	struct tail *tail = arg;

	cli_note(tail->follow.cli, "events %lld to %lld are no longer kept",
	    (long long)expected, (long long)oldest - 1);
}

static void
on_lost(void *arg, const struct fail *why, int64_t wait_ms)
{
	struct tail *tail = arg;

	(void)wait_ms;
	follow_flush(&tail->follow);
	if (tail->once && why->rc == RC_PEER) {
		follow_end(&tail->follow, why);
		return;
	}
	if (!tail->follow.away)
		cli_note(tail->follow.cli, "%s; trying again", why->what);
	tail->follow.away = true;
}

static void
on_ended(void *arg, const struct fail *why)
{
	struct tail *tail = arg;

	if (!tail->follow.ended && why != NULL) {
		follow_flush(&tail->follow);
		tail->follow.fail = *why;
	}
	tail->follow.ended = true;
	loop_stop(tail->follow.loop);
}

static const struct stream_ops ops = {
    .welcome = on_welcome,
    .event = on_event,
    .caught_up = on_caught_up,
    .epoch_changed = on_epoch_changed,
    .gap = on_gap,
    .lost = on_lost,
    .ended = on_ended,
};

/* Sets *seq to the event after which to begin: --after or, without --after, the
 * cursor (position) that an earlier tail has stored, with its epoch, the name
 * of the history of the server's database, in ${epoch}.  With neither, *seq is
 * -1: the stream begins after the last acked event.  For --after, ${epoch} is
 * "", and the server is asked whether the number is valid: a failure that
 * fail_may_retry() accepts, such as an unreachable server, is ignored, and any
 * other is returned. */
static enum rc
beginning(struct cli *cli, char epoch[LOCAL_EPOCH_SIZE], int64_t *seq,
    struct fail *fail)
{
	char path[80];
	json_t *page = NULL;

	epoch[0] = '\0';
	*seq = -1;
	if (args_integer(&cli->args, "after", 0, INT64_MAX, seq, fail) != RC_OK)
		return (fail->rc);
	if (*seq < 0)
		return (local_cursor_get(cli->local, CURSOR, epoch, seq, fail));
	(void)snprintf(path, sizeof(path), "/v1/inbox?limit=1&after=%lld",
	    (long long)*seq);
	if (rest_get(cli->rest, path, &page, fail) != RC_OK &&
	    !fail_may_retry(fail))
		return (fail->rc);
	json_decref(page);
	return (RC_OK);
}

enum rc
cmd_tail(struct cli *cli, struct fail *fail)
{
	struct tail tail;
	char epoch[LOCAL_EPOCH_SIZE];
	int64_t seq;
	enum rc rc;

	memset(&tail, 0, sizeof(tail));
	tail.once = args_has(&cli->args, "once");
	tail.follow.acks = !args_has(&cli->args, "no-ack");
	tail.follow.cursor = CURSOR;
	bell_init(&tail.bell, cli);
	if (cli_local(cli, fail) != RC_OK ||
	    beginning(cli, epoch, &seq, fail) != RC_OK)
		return (fail->rc);
	rc = follow_init(&tail.follow, cli, on_signal, &tail, fail);
	if (rc == RC_OK)
		rc = follow_start(&tail.follow, &ops, epoch, seq, &tail, fail);
	if (rc == RC_OK)
		rc = follow_run(&tail.follow, fail);
	follow_fini(&tail.follow);
	return (rc);
}
