/* SPDX-License-Identifier: MIT */
/*
 * Push: WebSocket sessions, long-polls, and which inbox each of them waits for.
 *
 * Push owns one thread, with the libwebsockets context and the hub.  Only that
 * thread touches sessions, sockets and the hub; other threads put effects and
 * tasks into its mailboxes, and use the atomic counters.
 *
 * A session is a cursor, not a queue.  An event that follows the cursor and can
 * be written at once is written.  In any other case the session is behind, and
 * reads pages of its inbox from the store when its socket takes more.
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
	/* Space-separated origins that are allowed besides this server's own;
	 * copied. */
	const char *allow_origin;
	/* Sessions of users.  Newcomers have a limit of their own
	 * (newcomers.c). */
	size_t session_limit;
	/* One more than the highest number that the descriptor of a connection
	 * may have; 0: not known. */
	size_t descriptors;
	/* From a message's first byte to its last. */
	int64_t message_deadline_ms;
	/* Bytes of effects that may wait for the push thread. */
	size_t effects_limit;
	/* Requests per second and user; 0: no limit.  Sets the pace at which
	 * sessions are read, and appears in the text of a refusal.  `admits`,
	 * not this number, decides whether a request is refused. */
	double rate_limit;
	int max_retries; /* of a message */
	/* Takes one request from the rate limit of a user.  Returns false if
	 * none is left; there will be one in *ret_wait_s seconds.  NULL: there
	 * is no limit. */
	bool (*admits)(void *arg, int64_t user_id, int *ret_wait_s);
	void *admits_arg;
};

/* Makes push and its libwebsockets context, without a thread.  Errors:
 * RC_NO_MEMORY, RC_IO, RC_INTERNAL. */
enum rc push_new(const struct push_options *options, struct push **ret,
    struct err *err) MUST_USE;

/* Starts the thread.  Called once. */
enum rc push_start(struct push *p, struct err *err) MUST_USE;

/* Asks every client to reconnect.  A session is closed with code 1012 when its
 * requests are answered and its client is quiet (push_drain.c), after
 * push_drain_most at the latest.  Sessions that are not open yet and
 * connections without a whole handshake are closed at once, later connections
 * are refused, and waiting long-polls are released.  Thread: any. */
void push_drain(struct push *p);

/* Returns whether push_drain() is done: every session that was asked to
 * reconnect is closed, or its close frame is on its way.  Thread: any. */
bool push_drained(const struct push *p);

/* Returns how many connections push may have at most with ${sessions} as
 * session_limit: sessions, newcomers, and connections whose handshake is not
 * complete.  Thread: any. */
size_t push_most_connections(size_t sessions);

/* Returns the number of WebSocket sessions.  Thread: any. */
size_t push_sessions(const struct push *p);

/* Ends the thread.  Jobs of its sessions may still come back from the readers.
 * NULL is allowed. */
void push_end(struct push *p);

/* Ends the thread and frees ${p}.  No other thread may send effects, waiters or
 * tasks any more, so the caller stops the readers between push_end() and
 * push_stop().  NULL is allowed. */
void push_stop(struct push *p);

/* Returns the subscriber by which push receives the effects of commits. */
struct subscriber push_subscriber(struct push *p);

/* Hands over the effects of a committed transaction; takes ${effects}.  Effects
 * that concern no user who is connected or waits are dropped.  Beyond
 * effects_limit they are dropped, except for revoked tokens, and all sessions
 * and long-polls read the store instead.  Thread: any.  Never blocks. */
void push_effects(struct push *p, struct effects *effects);

/* The client of a connection, and the scheme and host of its request.  Behind a
 * trusted proxy they are those that the proxy names. */
struct push_peer {
	char address[46];
	char scheme[6]; /* "http", "https"; "": not known */
	char host[256]; /* "": use the header Host */
};

/* Hands over a fresh connection whose first request is for the WebSocket; takes
 * ${fd}, copies ${peer}.  Without memory the connection is closed.  Thread:
 * any. */
void push_adopt(struct push *p, int fd, const struct push_peer *peer);

/* ---- long-polls ---- */

/* Work for the push thread: it calls ${run} once.  Only push uses the
 * members. */
struct push_task {
	struct mbox_node node;
	void (*run)(struct push *p, struct push_task *task);
};

/* ---- connected users ---- */

/* Lists the open sessions and the long-polls for inboxes.  Entry i is the user
 * users[i] on the device devices[i]; the same pair may occur several times. */
struct push_present {
	struct push_task task; /* only push uses it */

	/* The lists are complete, or empty because memory was short.  Thread:
	 * push. */
	void (*done)(struct push_present *ask);
	void *arg;
	int64_t *users, *devices;
	size_t n;
};

/* Makes the lists and calls ask->done; done and arg are set.  Long-polls for
 * outbox entries are released instead of being listed: they read the store
 * again at once.  ${ask} must live until done is called.  Thread: any. */
void push_ask_present(struct push *p, struct push_present *ask);

/* Frees the lists. */
void push_present_free(struct push_present *ask);

/* ---- waiters ---- */

/*
 * A waiter is embedded in the request that waits.  Register it first, then read
 * the store: what commits after the read wakes the waiter.  For each
 * push_wait() that returned RC_OK, `done` is called exactly once, in the push
 * thread or, after its end, in push_stop().  After that call push does not
 * touch the waiter any more.
 */
struct push_waiter {
	/* Set by the caller. */
	int64_t user_id;
	int64_t device_id; /* wake also when its token is revoked */
	int64_t after;     /* inbox: wake on an event beyond this seq */
	bool outbox;       /* instead: wake on any change of an entry */

	/* ${woken}: read the store again.  Otherwise the wait was canceled, or
	 * the server is stopping. */
	void (*done)(struct push_waiter *w, bool woken);
	void *arg;

	/* Only push uses these. */
	struct push_task task, cancel_task;
	_Atomic int state;
	void *entry;
};

/* Registers ${w}, whose members up to `arg` the caller has set.  RC_CLOSED: the
 * server is stopping, and done is not called.  Thread: any. */
enum rc push_wait(struct push *p, struct push_waiter *w) MUST_USE;

/* Cancels the wait: the push thread calls done soon, unless it has done so or
 * is about to.  May be called at most once for each push_wait().  Thread: any,
 * while ${w} is known to be alive. */
void push_wait_cancel(struct push *p, struct push_waiter *w);

#endif
