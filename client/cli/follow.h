/* SPDX-License-Identifier: MIT */
/*
 * What tail and chat have in common: a loop that ends well on SIGINT and
 * SIGTERM, a stream, and the bookkeeping of what was shown: stored first,
 * acked then, in batches.
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
	struct loop_timer *timer; /* stores what was shown */
	json_t *shown;            /* events not stored yet */
	int64_t seq;              /* of the last of them, 0: there are none */
	const char *cursor;       /* its name, NULL: none is kept */
	bool acks;
	bool replaying; /* a new epoch: what was shown before is left out */
	bool away;      /* the connection is lost, and that was said */
	bool stops;     /* SIGTSTP and SIGCONT are told, too */
	int signals;    /* a signalfd */
	bool ended;
	struct fail fail; /* why it ended; RC_OK: as it was asked to */
};

/* Makes ${f} ready, all zero before but ${f}->stops: blocks the signals
 * (SIGWINCH too), makes the loop.  ${on_signal} is called with ${arg} when one
 * has come. */
enum rc follow_init(struct follow *f, struct cli *cli, loop_fn on_signal,
    void *arg, struct fail *fail) MUST_USE;

/* Begins the stream after event ${seq} of ${epoch} (-1: as acked). */
enum rc follow_start(struct follow *f, const struct stream_ops *ops,
    const char *epoch, int64_t seq, void *arg, struct fail *fail) MUST_USE;

/* Runs until it has ended; says why. */
enum rc follow_run(struct follow *f, struct fail *fail) MUST_USE;

/* Frees what ${f} holds. */
void follow_fini(struct follow *f);

/* The signal that has come, 0 if none. */
int follow_signal(struct follow *f);

/* Whether ${event} was shown before and is to be left out. */
bool follow_known(struct follow *f, const json_t *event);

/* ${event} was shown. */
void follow_shown(struct follow *f, const json_t *event);

/* Stores and acks what was shown. */
void follow_flush(struct follow *f);

/* The stream starts over: what was shown before is left out from now on. */
void follow_replay(struct follow *f);

/* A welcome came: tells the epoch to the client's database. */
void follow_welcome(struct follow *f, const json_t *frame);

/* Ends with ${fail} (NULL: well), after what was shown is stored. */
void follow_end(struct follow *f, const struct fail *fail);

#endif
