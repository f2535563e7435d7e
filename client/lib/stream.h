/* SPDX-License-Identifier: MIT */
/*
 * The stream of a user's events.  It connects by WebSocket, sends a hello with
 * its cursor (the number of the last event that it has handed on, and the
 * epoch, which is the name of the history of the server's database), and hands
 * the events after the cursor to its owner's callbacks, in order.  It repeats
 * events only after epoch_changed(), and it reports each gap.  It reconnects by
 * itself with full-jitter back-off, unless a person must act, for example
 * because the server refuses the token or breaks the protocol; then it ends.
 * The server sees each connection of the stream as a session.  Thread: the one
 * that runs its loop.
 *
 *   WAITING --timer--> CONNECTING --established--> GREETING
 *      ^                   |                          | welcome
 *      |<---- lost --------+<------ lost ------- CATCHING_UP
 *      |                                              | caught_up
 *      |<---- lost --------------------------------- LIVE
 *   any --a person must act, or stream_finish()-----> ENDED
 *
 * CONNECTING and GREETING together wait at most ten seconds for the server;
 * then the attempt counts as lost.  While connected, the stream sends a ping
 * 30 s after the last pong, whatever else has come, and drops the connection if
 * no pong has come for 40 s.  GREETING also goes to WAITING when the connection
 * is lost.  WAITING lasts for the back-off or for the longer wait that the
 * server has asked for, or 0 ms if the stream itself wants a new connection.
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
	/* The server has answered the stream_send() that returned ${re}.
	 * sent(): it has accepted the message; ${frame} has the outbox entry.
	 * refused(): it has refused the message, for now or finally (see
	 * sender_refused()), because of ${why}.  Neither is called if the
	 * connection is lost before the answer comes. */
	void (*sent)(void *arg, int64_t re, const json_t *frame);
	void (*refused)(void *arg, int64_t re, const struct fail *why);
	/* The server has another epoch (as after a restore from a backup), or
	 * the user's inbox ends before the cursor.  The stream connects again
	 * and starts at the oldest event that the server keeps, so events can
	 * come that were handed on before.  If the cursor was reset six times
	 * without a welcome, the stream ends instead. */
	void (*epoch_changed)(void *arg);
	/* The events from ${expected} to ${oldest} - 1 are no longer kept.  The
	 * stream continues at ${oldest}. */
	void (*gap)(void *arg, int64_t expected, int64_t oldest);
	/* The connection is lost or could not be made, and the next attempt
	 * follows in ${wait_ms} milliseconds.  The stream does not call lost()
	 * if it connects again at once. */
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
 * live until stream_free().  Fails only with kind MEMORY, and then does not set
 * *ret. */
enum rc stream_new(const struct stream_options *options, struct stream **ret,
    struct fail *fail) MUST_USE;

/* Frees ${stream}, which may be NULL.  Call it after the last loop_run() and
 * before loop_free(). */
void stream_free(struct stream *stream);

/* Acks all events up to and including ${upto}.  If the stream has no session
 * (not connected, or no welcome yet), it sends the ack after the next welcome.
 * After a reconnect it repeats the ack if the server does not have it; a reset
 * of the cursor (epoch_changed()) discards the ack.  Ignores ${upto} if it is
 * not higher than in all earlier calls since the last reset. */
void stream_ack(struct stream *stream, int64_t upto);

/* Marks ${conversation} as read up to conversation_seq ${upto}.  Nothing is
 * reported or repeated: the mark is lost if there is no session, if memory runs
 * out, or if the connection is lost before the mark is written to it. */
void stream_read(struct stream *stream, const char *conversation, int64_t upto);

/* Queues a copy of ${message} to be sent.  Returns the number that sent() or
 * refused() will get as ${re}, or 0 if there is no session (before the
 * welcome), the stream is finishing or has ended, or memory runs out.  The
 * stream does not send the message again after a lost connection, so the owner
 * keeps ${message} until the answer comes. */
int64_t stream_send(struct stream *stream, const json_t *message);

/* Ends the stream: the loop writes the queued frames, closes the connection,
 * and calls ended() with ${why} NULL.  If the connection is still open after
 * 1 s, the stream drops it.  If the WebSocket is not established (WAITING,
 * CONNECTING), calls ended() before it returns.  Does nothing if the stream is
 * finishing or has ended. */
void stream_finish(struct stream *stream);

/* stream_state() returns the state.  stream_epoch() returns the epoch of the
 * cursor, "" if it is not known, as after a reset of the cursor; the text
 * belongs to the stream, which overwrites it when the epoch changes.
 * stream_seq() returns the seq of the last event handed on or skipped.
 * At first it is options.seq; if that is -1, the first welcome replaces it by
 * the last seq that this device has acked.  After a reset it is 0. */
enum stream_state stream_state(const struct stream *stream);
const char *stream_epoch(const struct stream *stream);
int64_t stream_seq(const struct stream *stream);

/* Returns the reaction to close code ${code}. */
enum stream_verdict stream_verdict(int code);

#endif
