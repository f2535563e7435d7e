/* SPDX-License-Identifier: MIT */
/*
 * Push: WebSocket sessions, long-polls, and the hub, which knows which sessions
 * and long-polls each user has.
 *
 * Push owns one thread, which runs the libwebsockets context.  While it runs,
 * only this thread touches sessions, their sockets and the members of the hub.
 * Other threads put effects and tasks into its mailboxes, and use atomic
 * counters and flags, some of which are in the hub (hub_expect(), hub_wants()).
 *
 * A session is a cursor (the number of the last event written to it), not a
 * queue.  Event cursor + 1 is written as soon as the hub gives it to the
 * session, if the session has caught up and its window and its socket have
 * room.  Otherwise the session is behind, and reads pages of its inbox from the
 * store as its window and its socket allow.
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
	 * may have; 0: not known.  The front (http/front.c), which accepts
	 * connections, refuses one with a higher number.  Push uses this limit
	 * only to make libuv's table large enough (push_rx.c). */
	size_t descriptors;
	/* From a message's first byte to its last. */
	int64_t message_deadline_ms;
	/* Bytes of effects that may wait for the push thread. */
	size_t effects_limit;
	/* Requests per second and user; 0: no limit.  A session is read at
	 * PACE_FACTOR times this pace at most, and the text of a refusal names
	 * the number.  `admits`, not this number, decides whether a frame
	 * `send` is refused. */
	double rate_limit;
	int max_retries; /* of a message */
	/* The push thread calls this for a frame `send`, unless too many sends
	 * of the session are under way (SENDS_MAX): takes one request from the
	 * rate limit of the user.  Returns false if none is left, with the
	 * seconds until there is one in *ret_wait_s; the frame is then refused.
	 * NULL: no frame is refused by rate. */
	bool (*admits)(void *arg, int64_t user_id, int *ret_wait_s);
	void *admits_arg;
};

/* Makes push and its libwebsockets context, without a thread.  Errors:
 * RC_NO_MEMORY, RC_IO, RC_INTERNAL. */
enum rc push_new(const struct push_options *options, struct push **ret,
    struct err *err) MUST_USE;

/* Starts the thread.  Called once. */
enum rc push_start(struct push *p, struct err *err) MUST_USE;

/* Makes the push thread ask every client to reconnect; does not wait for it.
 * An open session is closed with code 1012 when its requests are answered and
 * its client is quiet (push_drain.c), after push_drain_most at the latest.
 * Sessions that are not open yet (1012, too) and connections without a whole
 * handshake are closed at once, and later connections are refused.  Long-polls
 * that wait are released (`woken` is false), and push_wait() registers no
 * more.  Thread: any. */
void push_drain(struct push *p);

/* Returns whether push_drain() is done: no session is served any more, and no
 * connection can still become one.  The close frames may not be written yet.
 * Also true when the push thread does not run.  Thread: any. */
bool push_drained(const struct push *p);

/* Returns how many connections push may have at most with ${sessions} as
 * session_limit: the sessions of users, the newcomers, and the connections
 * whose handshake is not complete or was refused.  Thread: any. */
size_t push_most_connections(size_t sessions);

/* Returns the number of WebSocket sessions.  Thread: any. */
size_t push_sessions(const struct push *p);

/* Stops the push thread and waits until it has ended.  ${p} and its sessions
 * remain until push_stop().  The readers may still return jobs of the sessions:
 * these wait in a mailbox, for push_stop().  NULL is allowed. */
void push_end(struct push *p);

/* Calls push_end(), releases the waiters that are left, runs the tasks that are
 * still in the mailbox, closes all connections and frees ${p}.  No other
 * thread may use ${p} any more, so the caller stops the readers between
 * push_end() and push_stop().  NULL is allowed. */
void push_stop(struct push *p);

/* Returns the subscriber by which push receives the effects of commits. */
struct subscriber push_subscriber(struct push *p);

/* Hands the effects of a committed transaction (new events, changed outbox
 * entries, acks, revoked tokens) to the push thread; takes ${effects}.  Frees
 * them at once if they revoke no token and hub_wants() finds no session or
 * long-poll of their users.  If more than effects_limit bytes would wait for
 * the push thread, drops all of ${effects} but the revoked tokens; effects that
 * wait already stay.  Then all open sessions read their inbox, and all
 * long-polls read again, from the store; sessions are not shown the dropped
 * changes of outbox entries.  Thread: any.  Never blocks. */
void push_effects(struct push *p, struct effects *effects);

/* The address of the client of a connection, and the scheme and host of the URL
 * that the client used; each as a trusted proxy names it.  If no trusted proxy
 * does, the address is that of the other end of the socket, the scheme "", the
 * host "". */
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

/* A request for the lists of the open sessions and the long-polls for inboxes
 * (push_ask_present()).  When done is called, entry i < n is the user users[i]
 * on the device devices[i]; the same pair may occur several times.  The caller
 * frees the lists by push_present_free(). */
struct push_present {
	struct push_task task; /* only push uses it */

	/* Called when the lists are complete.  If memory was short, n is 0, and
	 * users, devices or both are NULL.  Thread: push. */
	void (*done)(struct push_present *ask);
	void *arg;
	int64_t *users, *devices;
	size_t n;
};

/* Makes the push thread fill the lists of ${ask} and then call ask->done; does
 * not wait for it.  The caller has set done and arg.  Long-polls for outbox
 * entries are woken instead of being listed: they read the store again at once.
 * ${ask} must live until done is called.  Thread: any. */
void push_ask_present(struct push *p, struct push_present *ask);

/* Frees the lists. */
void push_present_free(struct push_present *ask);

/* ---- waiters ---- */

/*
 * A waiter is embedded in the request that waits.  Register it first, then read
 * the store: a commit that the read does not see yet wakes the waiter.  For
 * each push_wait() that returned RC_OK, `done` is called exactly once: by the
 * push thread (perhaps before push_wait() returns) or, when that thread has
 * ended, by push_stop().  Once `done` is called, push does not touch the waiter
 * any more, and `done` may register it again.
 */
struct push_waiter {
	/* Set by the caller. */
	int64_t user_id;
	int64_t device_id; /* wake also when its token is revoked */
	int64_t after;     /* inbox: wake on an event beyond this seq */
	bool outbox;       /* instead: wake on any change of an entry */

	/* ${woken}: read the store again, which may have nothing new.
	 * Otherwise the wait was canceled, or the server is stopping. */
	void (*done)(struct push_waiter *w, bool woken);
	void *arg;

	/* Only push uses these. */
	struct push_task task, cancel_task;
	_Atomic int state;
	void *entry;
};

/* Registers ${w}, whose members up to `arg` the caller has set; does not wait.
 * RC_OK: done is called once, perhaps before this function returns.  RC_CLOSED:
 * the server is stopping, and done is not called.  Thread: any. */
enum rc push_wait(struct push *p, struct push_waiter *w) MUST_USE;

/* Cancels the wait: the push thread soon calls done with `woken` false, unless
 * it has called done already or is about to.  May be called at most once for
 * each push_wait().  Thread: any, while ${w} is known to be alive. */
void push_wait_cancel(struct push *p, struct push_waiter *w);

#endif
