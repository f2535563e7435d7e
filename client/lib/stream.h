/* SPDX-License-Identifier: MIT */
/*
 * The stream of a user's events.  It connects by WebSocket, sends a hello with
 * its cursor, and hands events on in order.  Within an epoch it repeats no
 * event, and it reports each gap.  It reconnects by itself with full-jitter
 * back-off, unless a person must act.  The server sees each of its connections
 * as a session.  Thread: the one that runs its loop.
 *
 *   WAITING --timer--> CONNECTING --established--> GREETING
 *      ^                   |                          | welcome
 *      |<---- lost --------+<------ lost ------- CATCHING_UP
 *      |                                              | caught_up
 *      |<---- lost --------------------------------- LIVE
 *   any --a person must act, or stream_finish()-----> ENDED
 *
 * CONNECTING and GREETING together wait at most ten seconds for the server.  In
 * CATCHING_UP and LIVE the stream sends a ping after 30 s without traffic, and
 * drops the connection after 40 s.  WAITING waits for the back-off.
 */
#ifndef LIB_STREAM_H
#define LIB_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/rnd.h"
#include "lib/fail.h"
#include "lib/local.h"

struct loop;
struct stream;

/* X(state) */
#define STREAM_STATE_TABLE(X)                                                  \
	X(WAITING)                                                             \
	X(CONNECTING)                                                          \
	X(GREETING)                                                            \
	X(CATCHING_UP)                                                         \
	X(LIVE)                                                                \
	X(ENDED)

enum stream_state {
#define X(state) STREAM_##state,
	STREAM_STATE_TABLE(X)
#undef X
};

/* How to react to a close code (docs/asyncapi.yaml, close codes). */
enum stream_verdict {
	STREAM_AGAIN,     /* reconnect after the back-off */
	STREAM_NEW_EPOCH, /* reset the cursor, then reconnect */
	STREAM_PERSON     /* end: a person must act */
};

/* The callbacks of a stream.  Each may be NULL.  JSON and failures are borrowed
 * for the duration of the call. */
struct stream_ops {
	/* The server has accepted the hello; ${frame} is its welcome. */
	void (*welcome)(void *arg, const json_t *frame);
	/* The next event of the inbox. */
	void (*event)(void *arg, const json_t *event);
	/* All events up to the head of the inbox were handed on. */
	void (*caught_up)(void *arg);
	/* The answer to the stream_send() that returned ${re}.  sent() gets the
	 * frame with the outbox entry, refused() the reason of a refusal. */
	void (*sent)(void *arg, int64_t re, const json_t *frame);
	void (*refused)(void *arg, int64_t re, const struct fail *why);
	/* The server has another epoch, or does not know the cursor.  The
	 * stream starts again at the oldest event. */
	void (*epoch_changed)(void *arg);
	/* The events from ${expected} to ${oldest} - 1 are no longer kept.  The
	 * stream continues at ${oldest}. */
	void (*gap)(void *arg, int64_t expected, int64_t oldest);
	/* The connection is lost, and the next attempt follows in ${wait_ms}.
	 * The stream does not call lost() if it connects again at once. */
	void (*lost)(void *arg, const struct fail *why, int64_t wait_ms);
	/* The stream has ended.  ${why} is NULL after stream_finish(). */
	void (*ended)(void *arg, const struct fail *why);
};

struct stream_options {
	struct loop *loop;
	const char *server;
	const char *token;
	const char *epoch; /* of the cursor; "" if unknown */
	int64_t seq;       /* last known event; -1: the acked one */
	bool acks;         /* the owner calls stream_ack() */
	struct rnd *rnd;
	const struct stream_ops *ops;
	void *arg;
};

/* Makes a stream, which connects when its loop runs; no callback runs before
 * that.  Copies server, token and epoch; what the other members point to must
 * live until stream_free(). */
enum rc stream_new(const struct stream_options *options, struct stream **ret,
    struct fail *fail) MUST_USE;

/* Frees ${stream}, which may be NULL.  Call it after the last loop_run() and
 * before loop_free(). */
void stream_free(struct stream *stream);

/* Acks all events up to ${upto}.  The stream repeats the ack after a reconnect,
 * if the server does not have it.  Ignores an ack that does not go beyond the
 * last one. */
void stream_ack(struct stream *stream, int64_t upto);

/* Marks ${conversation} as read up to conversation_seq ${upto}.  The mark is
 * lost if there is no session, or if the connection is lost before the mark is
 * written. */
void stream_read(struct stream *stream, const char *conversation, int64_t upto);

/* Submits ${message}.  Returns the number that the answer will carry, or 0 if
 * there is no session, the stream is finishing, or memory runs out.  The stream
 * does not send ${message} again after a lost connection, so the owner keeps
 * ${message} until the answer comes. */
int64_t stream_send(struct stream *stream, const json_t *message);

/* Ends the stream: writes the queued frames for up to 1 s, closes the
 * connection, then calls the owner's ended() without a failure.  Without an
 * open connection, calls ended() before it returns. */
void stream_finish(struct stream *stream);

/* stream_state() returns the state.  stream_epoch() returns the epoch of the
 * cursor, "" if it is not known, as after a change of epoch.  stream_seq()
 * returns the seq of the cursor: that of the last event handed on or skipped,
 * -1 before the first welcome if the stream started without a cursor. */
enum stream_state stream_state(const struct stream *stream);
const char *stream_epoch(const struct stream *stream);
int64_t stream_seq(const struct stream *stream);

/* Returns the reaction to close code ${code}. */
enum stream_verdict stream_verdict(int code);

#endif
