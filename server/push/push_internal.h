/* SPDX-License-Identifier: MIT */
/*
 * The push object: the loop of the push thread, its mailboxes, its lists of
 * sessions and long-polls, and the connections that are not sessions yet.
 * A session itself is in session.h.  While the push thread runs, only that
 * thread may use what is here; other threads may use only the atomic members,
 * functions with the comment "Thread: any", and mbox_put() on the mailboxes.
 */
#ifndef PUSH_PUSH_INTERNAL_H
#define PUSH_PUSH_INTERNAL_H

#include <libwebsockets.h>
#include <uv.h>

#include "base/buf.h"
#include "base/htab.h"
#include "base/owner.h"
#include "base/thr.h"
#include "model/refusal.h"
#include "push/hub.h"
#include "push/push.h"
#include "push/session.h"
#include "wire/wire.h"

/* Bytes that are read from one session before other sockets have their turn. */
#define RX_LEN 8192
/* Connections whose handshake is not complete.  One more cuts the oldest. */
#define ARRIVALS_MAX 512

/* A connection whose handshake is not complete, or was refused.  The input of a
 * refused one is read and dropped before the close, so that the close does not
 * reset the connection (refuse() in push_rx.c). */
struct arrival {
	TAILQ_ENTRY(arrival) entry;
	int fd;
	bool refused;
	size_t read; /* bytes, since it was refused */
	int64_t until_ms;
	struct adopt_task *task; /* owned; NULL when handed on */
};

/* Arrivals, the oldest first. */
TAILQ_HEAD(arrival_list, arrival);

/* Sessions, the oldest first. */
TAILQ_HEAD(session_list, session);

/* A long-poll as the hub sees it. */
struct waiting {
	struct hub_member member; /* first */
	TAILQ_ENTRY(waiting) all;
	struct push_waiter *waiter;
	struct push *push;
};

/* The waiting long-polls. */
TAILQ_HEAD(waiting_list, waiting);

/* A connection on its way from the front (http/front.c), which accepts it, to
 * its session.  The adopt_task is first in the mailbox, then in an arrival.
 * From push_lws_adopt() on, it is the opaque pointer of the connection in
 * libwebsockets.  It is freed when the session begins, or when the connection
 * ends without a session. */
struct adopt_task {
	struct push_task task;
	int fd;
	struct push_peer peer;
};

struct push {
	struct push_options options;
	struct thr *thread;
	uv_loop_t loop;
	uv_async_t async;
	uv_timer_t timer;
	uv_prepare_t prepare;
	bool loop_ready;
	struct lws_context *context;
	struct lws_vhost *vhost;
	struct hub *hub;
	struct uuid_gen ids;   /* for the ids of refused requests */
	struct htab *sessions; /* no -> session */
	struct session_list all, closing;
	struct session_list batched;   /* their batch holds a frame */
	size_t batched_bytes;          /* of the frames in all batches */
	size_t batch_bytes;            /* BATCH_BYTES; tests set it */
	struct session_list newcomers; /* their user is not known yet */
	size_t nnewcomers;
	struct htab *crowds; /* network -> its newcomers */
	struct waiting_list waiters;
	int64_t last_no;
	atomic_size_t nsessions;
	/* Connections that the library has, and that are not sessions yet. */
	size_t adopting;
	atomic_bool draining, stopping;
	bool drain_begun;    /* clients were asked to reconnect */
	atomic_bool drained; /* as push_drained() returns */
	struct buf tx;       /* the payload of the frame being made */
	char *allow_origin;

	/* Input from clients: one epoll set (rx_fd) of the sockets of arrivals
	 * and sessions, which one handle of the loop (rx_poll) watches. */
	int rx_fd;
	uv_poll_t rx_poll;
	struct arrival_list arrivals;
	size_t narrivals;
	char rx[RX_LEN];

	/* Mailboxes for effects, and for everything else.  Any thread may
	 * put. */
	struct mbox *effects;
	struct mbox *tasks;
	atomic_size_t effects_bytes; /* in the mailbox, or being published */
	/* Effects were dropped, and the sessions do not read the store yet. */
	atomic_bool overflowed;
};

/* ---- push.c ---- */

/* Posts ${task} to the mailbox and wakes the push thread.  Thread: any. */
void push_post(struct push *p, struct push_task *task);

/* Returns the session ${no}, or NULL when it no longer exists. */
struct session *push_session(struct push *p, int64_t no);

/* Checks the deadlines of sessions, arrivals and the drain against the clock in
 * the options, pings silent clients, submits the sessions' jobs for inbox pages
 * and outbox entries again that readers_submit() has refused, writes pending
 * close frames, and sets metrics.  The loop's timer calls this; tests that have
 * a clock of their own stop the timer and call push_tick() themselves. */
void push_tick(struct push *p);

/* ---- waiters.c: long-polls ---- */

/* Releases all long-polls but those that are being canceled: takes them out of
 * the hub and calls their done with ${woken}, which is true if they are to read
 * the store again, false if the server stops. */
void waiters_release(struct push *p, bool woken);

/* Wakes (releases with `woken` true) the long-polls of a device whose token is
 * revoked.  Each checks its token again before it reads the store, and its
 * request is refused. */
void waiters_revoked(struct push *p, int64_t device_id);

/* Wakes (releases with `woken` true) the long-polls for outbox entries, which
 * then read the store again.  Changes of entries have no number, so no
 * comparison can show that a change was missed. */
void waiters_recheck(struct push *p);

/* ---- push_drain.c: the stop ---- */

/* Asks every client to reconnect, and closes the sessions that are not open
 * yet. */
void push_drain_begin(struct push *p);

/* Asks the client of ${s} to reconnect, and closes ${s} if it is not open yet
 * or push_end() was called.  Does nothing if ${s} is closing.  Called by
 * push_drain_begin(), and for a session that begins when the drain has begun:
 * its connection was already with libwebsockets. */
void push_drain_session(struct session *s);

/* Closes each session whose client was asked to reconnect push_drain_most ago,
 * or was asked push_drain_quiet ago, has sent nothing for push_drain_quiet and
 * has no request under way.  Sets p->drained: true if every session is closed
 * or closing, and no connection is about to become a session; else false. */
void push_drain_tick(struct push *p, int64_t now);

/* ---- push_rx.c: input from clients ---- */

/* Makes the epoll set and watches it.  After uv_loop_init(). */
enum rc push_rx_open(struct push *p, struct err *err) MUST_USE;

/* Closes all arrivals and the epoll set.  The caller must close rx_poll
 * first. */
void push_rx_close(struct push *p);

/* Begins to read the handshake of a fresh connection; takes ${task} and its
 * socket.  If there are ARRIVALS_MAX arrivals, closes the oldest.  On failure
 * closes the socket and frees ${task}. */
void push_rx_arrive(struct push *p, struct adopt_task *task);

/* From now on reads the frames of ${s} from socket ${fd}. */
enum rc push_rx_begin(struct session *s, int fd) MUST_USE;

/* Ends the reading of ${s}. */
void push_rx_end(struct session *s);

/* Called when our close frame is written and the client's has not come yet.
 * Reads ${s} again if it was paused, to get the client's close frame or the end
 * of the connection; the deadline push_close limits the wait.  A frame reader
 * that has stopped (the client broke the protocol or a limit, or memory was
 * short) ignores the client's close frame.  In that case, unless the library
 * still buffers output, also half-closes the connection, so that the client
 * closes its side. */
void push_rx_closing(struct session *s);

/* Stops reading ${s} until push_rx_resume() or push_rx_closing(): what the
 * client sends stays in the kernel, and TCP makes the client wait. */
void push_rx_pause(struct session *s);

/* Resumes the reading of ${s}, and restarts its deadlines for silence and for a
 * message.  Does nothing if ${s} is not paused or has ended, s->rx.pace is
 * still below 0, or a frame still waits in s->tx.frames for the socket. */
void push_rx_resume(struct session *s);

/* Closes the arrivals whose deadline has passed. */
void push_rx_tick(struct push *p, int64_t now_ms);

/* If our close frame is written and push_close has passed since
 * session_close(), ends ${s}, which may then be freed.  Otherwise, if ${s} is
 * paused, adds what the time allows to s->rx.pace, and calls push_rx_resume().
 * Then, if ${s} is not closing: closes ${s}, unless it is paused, when a
 * message takes message_deadline_ms or no input has come for push_silence;
 * pings ${s} when no input has come for push_ping, as soon as its socket takes
 * a frame, once until input comes or the reading is resumed. */
void push_rx_session_tick(struct session *s, int64_t now_ms);

/* Closes the arrivals whose handshake is not complete. */
void push_rx_drain(struct push *p);

/* ---- push_lws.c ---- */

/* Hands a connection whose handshake is complete and checked to libwebsockets;
 * takes ${task} and its socket.  The session begins later, when the library has
 * answered the handshake.  On failure the connection is closed. */
void push_lws_adopt(struct push *p, struct adopt_task *task);

/* Writes the batch of ${s}, but no close frame, and ends the connection, and
 * with it ${s}.  Does nothing in state ENDED.  The library frees ${s} during
 * this call or later, so the caller must not use ${s} any more.  Must not be
 * called from one of the library's callbacks (session_close.c says why). */
void push_lws_kill(struct session *s);

/* Makes the library's context and vhost on p->loop. */
enum rc push_lws_open(struct push *p, struct err *err) MUST_USE;

#endif
