/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session that stays: it connects, says hello with its cursor,
 * hands on events in order, without gap and without repetition, and connects
 * again by itself with full-jitter back-off, except where only a person can
 * help.  Thread: the one that runs its loop.
 *
 *	 WAITING --timer--> CONNECTING --established--> GREETING
 *	    ^                   |                          | welcome
 *	    |<---- lost --------+<------- lost ---- CATCHING_UP --caught_up-->
 *LIVE
 *	    |<---- lost ----------------------------------------------------'
 *	 any --close code for a person, session_finish()--> ENDED
 *
 * CONNECTING and GREETING wait at most ten seconds for the server; LIVE waits
 * for events, with pings when nothing comes; WAITING waits out the back-off.
 */
#ifndef LIB_SESSION_H
#define LIB_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/rnd.h"
#include "lib/fail.h"
#include "lib/local.h"

struct loop;
struct session;

/* X(state) */
#define SESSION_STATE_TABLE(X)                                                 \
	X(WAITING)                                                             \
	X(CONNECTING)                                                          \
	X(GREETING)                                                            \
	X(CATCHING_UP)                                                         \
	X(LIVE)                                                                \
	X(ENDED)

enum session_state {
#define X(state) SESSION_##state,
	SESSION_STATE_TABLE(X)
#undef X
};

/* What to do about a close code (section 3 of the contract). */
enum session_verdict {
	SESSION_AGAIN,     /* reconnect after the back-off */
	SESSION_NEW_EPOCH, /* reset cursors, then reconnect */
	SESSION_PERSON     /* not without a person */
};

/* What a session tells its owner.  Any may be NULL.  JSON is borrowed. */
struct session_ops {
	/* Connected and known; the frame is the server's welcome. */
	void (*welcome)(void *arg, const json_t *frame);
	/* The next event. */
	void (*event)(void *arg, const json_t *event);
	/* Everything up to the head has been handed on. */
	void (*caught_up)(void *arg);
	/* The answer to session_send(): "sent" with its entry, or why not. */
	void (*sent)(void *arg, int64_t re, const json_t *frame);
	void (*refused)(void *arg, int64_t re, const struct fail *why);
	/* The server has another epoch; the session starts at its oldest. */
	void (*epoch_changed)(void *arg);
	/* Events before ${oldest} are no longer kept; the session goes on
	 * there. */
	void (*gap)(void *arg, int64_t expected, int64_t oldest);
	/* The connection is lost; next try in ${wait_ms}. */
	void (*lost)(void *arg, const struct fail *why, int64_t wait_ms);
	/* It is over: ${why} is NULL after session_finish(). */
	void (*ended)(void *arg, const struct fail *why);
};

struct session_options {
	struct loop *loop;
	const char *server;
	const char *token;
	const char *epoch; /* of the cursor; "" if it is not known */
	int64_t seq;       /* the last event that is known; -1: as acked */
	bool acks;         /* the owner will call session_ack() */
	struct rnd *rnd;
	const struct session_ops *ops;
	void *arg;
};

/* Makes a session and starts to connect.  Copies the texts, keeps the rest
 * until session_free(). */
enum rc session_new(const struct session_options *options, struct session **ret,
    struct fail *fail) MUST_USE;

/* Frees it, after its loop's last run and before the loop.  NULL is
 * allowed. */
void session_free(struct session *session);

/* This device has everything up to ${upto}.  Repeated after a reconnect. */
void session_ack(struct session *session, int64_t upto);

/* The person has read ${conversation} up to ${upto}.  Lost with the
 * connection. */
void session_read(
    struct session *session, const char *conversation, int64_t upto);

/* Submits ${message}; returns the number that its answer will carry, 0 if the
 * session is not connected.  Lost with the connection: the owner keeps it. */
int64_t session_send(struct session *session, const json_t *message);

/* Writes what is to be written, closes, then tells ended(NULL). */
void session_finish(struct session *session);

/* State, epoch ("" before the first welcome) and last event handed on. */
enum session_state session_state(const struct session *session);
const char *session_epoch(const struct session *session);
int64_t session_seq(const struct session *session);

/* What close code ${code} asks for. */
enum session_verdict session_verdict(int code);

#endif
