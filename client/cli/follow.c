/* SPDX-License-Identifier: MIT */
/*
 * The common part of tail and chat.  A shown event is stored before it is
 * acked, in one transaction with the command's cursor (if it has one), the
 * stored position in the inbox, which then points to this event.  A command
 * that acks events also acks some that it has not shown: those before the start
 * of the stream (--after) and those that the server no longer keeps.
 */
#include "cli/follow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Shown events are stored, and acked if the command acks, as a batch: at the
 * latest after BATCH events, or BATCH_MS milliseconds after the first event of
 * the batch. */
#define BATCH 64
#define BATCH_MS 20

/* The loop's timer: stores the shown events. */
static void
timer_fired(void *arg)
{

	follow_flush(arg);
}

enum rc
follow_init(struct follow *f, struct cli *cli, loop_fn on_signal, void *arg,
    struct fail *fail)
{
	sigset_t set;

	f->cli = cli;
	f->signals = -1;
	f->shown = json_array();
	if (f->shown == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	if (cli_local(cli, fail) != RC_OK ||
	    loop_new(rest_server(cli->rest), &f->loop, fail) != RC_OK)
		return (fail->rc);
	f->timer = loop_timer_new(f->loop, timer_fired, f);
	if (f->timer == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGWINCH);
	if (f->stops) {
		(void)sigaddset(&set, SIGTSTP);
		(void)sigaddset(&set, SIGCONT);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (f->signals < 0)
		return (fail_set(
		    fail, FAIL_INTERNAL, "signalfd: %s", strerror(errno)));
	return (loop_watch(f->loop, f->signals, on_signal, arg, fail));
}

enum rc
follow_start(struct follow *f, const struct stream_ops *ops, const char *epoch,
    int64_t seq, void *arg, struct fail *fail)
{
	struct stream_options options = {.loop = f->loop,
	    .server = rest_server(f->cli->rest),
	    .token = f->cli->profile.token,
	    .epoch = epoch,
	    .seq = seq,
	    .acks = f->acks,
	    .rnd = rnd_system(),
	    .ops = ops,
	    .arg = arg};

	return (stream_new(&options, &f->stream, fail));
}

enum rc
follow_run(struct follow *f, struct fail *fail)
{

	if (!f->ended && loop_run(f->loop, fail) != RC_OK)
		return (fail->rc);
	if (f->fail.rc != RC_OK)
		*fail = f->fail;
	return (f->fail.rc);
}

void
follow_fini(struct follow *f)
{

	stream_free(f->stream);
	loop_timer_free(f->timer);
	loop_free(f->loop);
	if (f->signals >= 0)
		(void)close(f->signals);
	json_decref(f->shown);
}

int
follow_signal(struct follow *f)
{
	struct signalfd_siginfo info;

	if (read(f->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return (0);
	return ((int)info.ssi_signo);
}

bool
follow_known(struct follow *f, const json_t *event)
{

	return (f->replaying && local_has_shown(f->cli->local, event));
}

void
follow_shown(struct follow *f, const json_t *event)
{
	json_t *copy = json_deep_copy(event);

	if (copy != NULL)
		(void)json_object_del(copy, "type");
	/* An ack counts for all events before it.  Without memory to store this
	 * event, no later event may be acked either, so end the command. */
	if (json_array_append_new(f->shown, copy) != 0) {
		follow_end_no_memory(f);
		return;
	}
	f->seq = json_integer_value(json_object_get(event, "seq"));
	if (json_array_size(f->shown) >= BATCH)
		follow_flush(f);
	else if (!loop_timer_pending(f->timer))
		loop_timer_set(f->timer, BATCH_MS);
}

void
follow_flush(struct follow *f)
{
	struct fail fail = FAIL_INIT;

	loop_timer_cancel(f->timer);
	if (f->seq == 0 || stream_epoch(f->stream)[0] == '\0')
		return;
	if (local_shown(f->cli->local, f->shown, f->cursor,
		stream_epoch(f->stream), f->seq, &fail) != RC_OK) {
		f->seq = 0;
		follow_end(f, &fail);
		/* Reported also if the command was ending without a failure. */
		if (f->fail.rc == RC_OK)
			f->fail = fail;
		return;
	}
	(void)json_array_clear(f->shown);
	if (f->acks)
		stream_ack(f->stream, f->seq);
	f->seq = 0;
}

void
follow_replay(struct follow *f)
{

	f->replaying = true;
	f->seq = 0;
	(void)json_array_clear(f->shown);
}

void
follow_welcome(struct follow *f, const json_t *frame)
{
	const char *epoch = json_string_value(json_object_get(frame, "epoch"));
	struct fail fail = FAIL_INIT;
	bool changed = false;

	if (epoch != NULL &&
	    local_epoch_seen(f->cli->local, epoch, &changed, &fail) != RC_OK) {
		follow_end(f, &fail);
		return;
	}
	if (changed)
		f->replaying = true;
	/* Store the shown events of the previous connection here.  The callback
	 * lost() has done that only if the stream has waited before it
	 * connected again; else the stream does not call lost(). */
	follow_flush(f);
	if (f->ended)
		return;
	/* Events that an earlier run showed without acking are acked now. */
	if (f->acks && stream_seq(f->stream) > 0)
		stream_ack(f->stream, stream_seq(f->stream));
}

void
follow_end_no_memory(struct follow *f)
{
	struct fail fail = FAIL_INIT;

	(void)fail_set(&fail, FAIL_MEMORY, "out of memory");
	follow_end(f, &fail);
}

void
follow_end(struct follow *f, const struct fail *fail)
{

	if (f->ended)
		return;
	f->ended = true;
	if (fail != NULL)
		f->fail = *fail;
	if (f->loop == NULL)
		return; /* the loop has not begun */
	follow_flush(f);
	if (f->stream != NULL && stream_state(f->stream) != STREAM_ENDED)
		stream_finish(f->stream);
	else
		loop_stop(f->loop);
}
