/* SPDX-License-Identifier: MIT */
/*
 * The common part of tail and chat: a loop that hands SIGINT, SIGTERM, SIGHUP
 * and other signals to the command, which ends the loop with follow_end(); the
 * stream of the inbox's events from the server; and the bookkeeping of shown
 * events, which are stored in batches and, if the command acks, then acked.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/cli.h"
#include "lib/loop.h"
#include "lib/stream.h"

struct follow {
	struct cli *cli;
	struct loop *loop;
	struct stream *stream;
	struct loop_timer *timer; /* stores the shown events */
	json_t *shown;            /* shown events, not stored yet */
	int64_t seq;              /* of the last of them, 0: none */
	const char *cursor;       /* name of the cursor, NULL: none */
	bool acks;
	bool replaying; /* new epoch: skip events shown before */
	bool away;      /* the lost connection was reported */
	bool stops;     /* handle SIGTSTP and SIGCONT, too */
	int signals;    /* a signalfd */
	bool ended;
	struct fail fail; /* why it ended; RC_OK: as wanted */
};

/* Initializes ${f}, a zeroed struct in which the caller has set the options
 * stops, acks and cursor: blocks SIGINT, SIGTERM, SIGHUP and SIGWINCH (with
 * stops, also SIGTSTP and SIGCONT) and makes the loop.  The loop calls
 * ${on_signal}(${arg}) when such signals have come; ${on_signal} calls
 * follow_signal() until it returns 0.  The signals stay blocked, also after
 * follow_fini().  Call follow_fini() also after a failure. */
enum rc follow_init(struct follow *f, struct cli *cli, loop_fn on_signal,
    void *arg, struct fail *fail) MUST_USE;

/* Starts the stream after event ${seq} of ${epoch} (-1: after the acked
 * event). */
enum rc follow_start(struct follow *f, const struct stream_ops *ops,
    const char *epoch, int64_t seq, void *arg, struct fail *fail) MUST_USE;

/* Runs until follow_end(), or until the stream ends.  Returns the reason. */
enum rc follow_run(struct follow *f, struct fail *fail) MUST_USE;

/* Frees the members of ${f}. */
void follow_fini(struct follow *f);

/* Returns the signal that has come, or 0. */
int follow_signal(struct follow *f);

/* Returns true if ${event} must not be shown because the client's database has
 * it as shown before.  Returns false for every event until follow_replay() was
 * called or follow_welcome() has found a new epoch (the server was restored):
 * until then, the stream hands on no event twice. */
bool follow_known(struct follow *f, const json_t *event);

/* Records that ${event} was shown.  It is stored and, if ${f}->acks, acked with
 * its batch: at the latest after 64 events, or 20 ms after the first event of
 * the batch.  If memory runs out, ends the loop as follow_end_no_memory() does;
 * then ${event} is neither stored nor acked. */
void follow_shown(struct follow *f, const json_t *event);

/* Stores the shown events that are not stored yet and, if ${f}->acks, acks
 * them.  Does nothing while stream_epoch() is "" (the stream does not know the
 * server's epoch).  A failure to store ends the loop, and follow_run() returns
 * this failure, unless the loop was ending because of an earlier failure. */
void follow_flush(struct follow *f);

/* The command calls this function when the stream starts again at the oldest
 * event (epoch_changed() of the stream): from now on, follow_known() returns
 * true for events that are stored as shown.  Forgets the shown events that are
 * not stored yet, so they may be shown twice. */
void follow_replay(struct follow *f);

/* Handles ${frame}, the server's welcome on a new connection.  Stores the
 * server's epoch in the client's database; if the epoch has changed,
 * follow_known() returns true from then on for events that were shown before.
 * Then calls follow_flush() for the events that were shown on the previous
 * connection.  If ${f}->acks, then acks all events up to stream_seq(), the
 * stream's position, unless a failure to store has ended the loop. */
void follow_welcome(struct follow *f, const json_t *frame);

/* Stores the shown events and ends, because of ${fail} (NULL: without a
 * failure). */
void follow_end(struct follow *f, const struct fail *fail);

/* As follow_end(), because memory has run out. */
void follow_end_no_memory(struct follow *f);

#endif
