/* SPDX-License-Identifier: MIT */
/*
 * Push: who waits for which inbox, WebSocket sessions, long-polls.
 *
 * Owns one thread with the libwebsockets context and the hub; everything
 * inside is touched by that thread only, and others put tasks into its mailbox.
 * A session is a cursor, not a queue: an event that follows its cursor and can
 * be written at once is written; in any other case the session is behind and
 * reads pages from the store when it can be written.
 */
#ifndef PUSH_PUSH_H
#define PUSH_PUSH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clk.h"
#include "base/err.h"
#include "base/timing.h"
#include "chat/auth.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "metrics/metrics.h"
#include "model/refusal.h"
#include "txn/publisher.h"

struct push;
struct send_gate;

struct push_options {
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct auth *auth;
	const char *epoch; /* of this database; kept */
	struct send_gate *gate;
	const char *allow_origin; /* space-separated origins beside our own;
				   * copied */
	size_t session_limit;     /* of users; newcomers have their own */
	size_t descriptors; /* as many as the process may have; 0: not known */
	int64_t
	    message_deadline_ms; /* from a message's first byte to its last */
	size_t
	    effects_limit; /* bytes of effects that may wait for the thread */
	double rate_limit; /* requests/s a user; 0: off */
	int max_retries;   /* of a message */
	/* Whether a user may make one more request now; NULL: yes. */
	bool (*admits)(void *arg, int64_t user_id, int *ret_wait_s);
	void *admits_arg;
};

/* Makes the context; no thread yet. */
enum rc push_new(const struct push_options *options, struct push **ret,
    struct err *err) MUST_USE;

/* Starts the thread. */
enum rc push_start(struct push *p, struct err *err) MUST_USE;

/* Tells every session to reconnect and closes it with 1012 when what it has
 * asked is answered, within a second; new connections are closed; waiting
 * long-polls come back.  Thread: any. */
void push_drain(struct push *p);

/* Whether all of them are closed, after push_drain().  Thread: any. */
bool push_drained(const struct push *p);

/* Open WebSocket sessions.  Thread: any. */
size_t push_sessions(const struct push *p);

/* Ends the thread; what it asked of the readers may still come back.  NULL is
 * allowed. */
void push_end(struct push *p);

/* Ends the thread and frees.  No effects or waiters may come any more, nor what
 * the readers have: they are stopped between push_end() and this.  NULL is
 * allowed. */
void push_stop(struct push *p);

/* Takes the effects of commits. */
struct subscriber push_subscriber(struct push *p);

/* What a transaction has to tell; takes ${effects}.  Beyond effects_limit it is
 * dropped, and whoever is here reads the store instead.  Thread: any.  Blocks:
 * never. */
void push_effects(struct push *p, struct effects *effects);

/* Who is on a connection and how he called us; behind a proxy the one whom it
 * names. */
struct push_peer {
	char address[46];
	char scheme[6]; /* "http", "https"; "": not known */
	char host[256]; /* "": what the header Host says */
};

/* A fresh connection whose first request is for the WebSocket; takes ${fd},
 * borrows ${peer}.  Thread: any. */
void push_adopt(struct push *p, int fd, const struct push_peer *peer);

/* ---- long-polls ---- */

/* Something that the push thread shall do; push's own. */
struct push_task {
	struct mbox_node node;
	void (*run)(struct push *p, struct push_task *task);
};

/* ---- who is here ---- */

/* Sessions and long-polls, a user and a device each (some more than once). */
struct push_present {
	struct push_task task; /* push's own */

	/* The lists are there (empty: no memory).  Thread: push. */
	void (*done)(struct push_present *ask);
	void *arg;
	int64_t *users, *devices;
	size_t n;
};

/* Asks for the lists (done and arg set).  Long-polls for outbox entries are not
 * on them: they look again at once.  Thread: any. */
void push_ask_present(struct push *p, struct push_present *ask);

/* Frees the lists. */
void push_present_free(struct push_present *ask);

/* ---- waiters ---- */

/*
 * A waiter is embedded in the request that waits.  Register first, then read
 * the store: what commits after the read is told.  For each push_wait() that
 * returned RC_OK `done` is called exactly once, in the push thread, after which
 * push does not touch the waiter any more.
 */
struct push_waiter {
	/* Asked. */
	int64_t user_id;
	int64_t device_id; /* wake also when it is revoked */
	int64_t after;     /* inbox: wake on an event with a seq beyond this */
	bool outbox;       /* wake on any change of the user's outbox instead */

	/* ${woken}: something happened; else canceled, or draining. */
	void (*done)(struct push_waiter *w, bool woken);
	void *arg;

	/* Push's own. */
	struct push_task task, cancel_task;
	_Atomic int state;
	void *entry;
};

/* Registers ${w} (user_id, after, outbox, done, arg set).  Thread: any. */
enum rc push_wait(struct push *p, struct push_waiter *w) MUST_USE;

/* Asks for ${w} to come back; harmless when it is on its way.  At most once
 * for each push_wait().  Thread: any, while ${w} is known to be alive. */
void push_wait_cancel(struct push *p, struct push_waiter *w);

#endif
