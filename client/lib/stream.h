/* SPDX-License-Identifier: MIT */
/*
 * The stream of a user's events.  It connects by WebSocket, says hello with
 * its cursor, hands on events in order, without gap and without repetition,
 * and connects again by itself with full-jitter back-off, except where a
 * person must act.  Each of its connections is a session of the server.
 * Thread: the one that runs its loop.
 *
 *	 WAITING --timer--> CONNECTING --established--> GREETING
 *	    ^                   |                          | welcome
 *	    |<---- lost --------+<------ lost ------- CATCHING_UP
 *	    |                                              | caught_up
 *	    |<---- lost --------------------------------- LIVE
 *	 any --close code for a person, stream_finish()--> ENDED
 *
 * CONNECTING and GREETING wait at most ten seconds for the server; LIVE waits
 * for events, with pings when nothing comes; WAITING waits out the back-off.
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

/* What to do about a close code (section 3 of the contract). */
enum stream_verdict {
	STREAM_AGAIN,     /* reconnect after the back-off */
	STREAM_NEW_EPOCH, /* reset cursors, then reconnect */
	STREAM_PERSON     /* not without a person */
};

/* The callbacks of a stream.  Each may be NULL.  JSON is borrowed for the
 * call. */
struct stream_ops {
	/* Connected and known; the frame is the server's welcome. */
	void (*welcome)(void *arg, const json_t *frame);
	/* The next event. */
	void (*event)(void *arg, const json_t *event);
	/* Everything up to the head has been handed on. */
	void (*caught_up)(void *arg);
	/* The answer to stream_send(): "sent" with its entry, or why not. */
	void (*sent)(void *arg, int64_t re, const json_t *frame);
	void (*refused)(void *arg, int64_t re, const struct fail *why);
	/* The server has another epoch; the stream starts at its oldest. */
	void (*epoch_changed)(void *arg);
	/* Events before ${oldest} are no longer kept; the stream goes on
	 * there. */
	void (*gap)(void *arg, int64_t expected, int64_t oldest);
	/* The connection is lost; next try in ${wait_ms}. */
	void (*lost)(void *arg, const struct fail *why, int64_t wait_ms);
	/* It is over: ${why} is NULL after stream_finish(). */
	void (*ended)(void *arg, const struct fail *why);
};

struct stream_options {
	struct loop *loop;
	const char *server;
	const char *token;
	const char *epoch; /* of the cursor; "" if it is not known */
	int64_t seq;       /* the last event that is known; -1: as acked */
	bool acks;         /* the owner will call stream_ack() */
	struct rnd *rnd;
	const struct stream_ops *ops;
	void *arg;
};

/* Makes a stream and starts to connect.  Copies the texts, keeps the rest
 * until stream_free(). */
enum rc stream_new(const struct stream_options *options, struct stream **ret,
    struct fail *fail) MUST_USE;

/* Frees it, after its loop's last run and before the loop.  NULL is
 * allowed. */
void stream_free(struct stream *stream);

/* This device has everything up to ${upto}.  Repeated after a reconnect. */
void stream_ack(struct stream *stream, int64_t upto);

/* The person has read ${conversation} up to ${upto}.  Lost with the
 * connection. */
void stream_read(struct stream *stream, const char *conversation, int64_t upto);

/* Submits ${message}; returns the number that its answer will carry, 0 if the
 * stream is not connected.  Lost with the connection: the owner keeps it. */
int64_t stream_send(struct stream *stream, const json_t *message);

/* Writes what is to be written, closes, then tells ended(NULL). */
void stream_finish(struct stream *stream);

/* State, epoch ("" before the first welcome) and last event handed on. */
enum stream_state stream_state(const struct stream *stream);
const char *stream_epoch(const struct stream *stream);
int64_t stream_seq(const struct stream *stream);

/* What close code ${code} asks for. */
enum stream_verdict stream_verdict(int code);

#endif
