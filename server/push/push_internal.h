/* SPDX-License-Identifier: MIT */
/*
 * The push object: the loop of the push thread, its mailboxes, and the
 * connections that are not sessions yet.  Sessions are in session.h.  Only the
 * push thread may use what is here, unless a comment says "any".
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

/* A connection on its way from the front to its session.  It is the library's
 * opaque pointer of the connection until the session begins, or the connection
 * ends without one. */
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
	struct htab *crowds; /* address -> its newcomers */
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

	/* Input from clients: one epoll set of sockets, which one handle of the
	 * loop watches. */
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

/* Checks every deadline against the clock in the options.  The loop's timer
 * calls this; tests that have a clock of their own stop the timer and call it
 * themselves. */
void push_tick(struct push *p);

/* ---- waiters.c: long-polls ---- */

/* Releases all long-polls: if ${woken}, to read the store again; otherwise
 * because the server stops. */
void waiters_release(struct push *p, bool woken);

/* Releases the long-polls of a device whose token is revoked.  They
 * authenticate again, and are refused. */
void waiters_revoked(struct push *p, int64_t device_id);

/* Releases the long-polls for outbox entries, which then read the store again.
 * Changes of entries have no number, so nothing else can show that one was
 * missed. */
void waiters_recheck(struct push *p);

/* ---- push_drain.c: the stop ---- */

/* Asks every client to reconnect, and closes the sessions that are not open
 * yet. */
void push_drain_begin(struct push *p);

/* Does the same for ${s}, whose connection was handed to the library before the
 * drain and became a session after it. */
void push_drain_session(struct session *s);

/* Closes each draining session that has no request under way and whose client
 * has sent nothing for push_drain_quiet, or that has drained for
 * push_drain_most.  Sets p->drained to true when every draining session is
 * closed or closing, and no connection is about to become a session. */
void push_drain_tick(struct push *p, int64_t now);

/* ---- push_rx.c: input from clients ---- */

/* Makes the epoll set and watches it.  After uv_loop_init(). */
enum rc push_rx_open(struct push *p, struct err *err) MUST_USE;

/* Closes all arrivals and the epoll set.  The caller must close rx_poll
 * first. */
void push_rx_close(struct push *p);

/* Begins to read the handshake of a fresh connection; takes ${task} and its
 * socket.  If there are ARRIVALS_MAX arrivals, cuts the oldest. */
void push_rx_arrive(struct push *p, struct adopt_task *task);

/* From now on reads the frames of ${s} from socket ${fd}. */
enum rc push_rx_begin(struct session *s, int fd) MUST_USE;

/* Ends the reading of ${s}. */
void push_rx_end(struct session *s);

/* Called when our close frame is written.  Reads ${s} again if it was paused,
 * to get the client's close frame.  If the client broke the protocol, the frame
 * reader of ${s} ignores all further input and would not see that frame:
 * half-closes the connection instead, if the library has written everything,
 * and the client should then close it. */
void push_rx_closing(struct session *s);

/* Stops reading ${s}: what the client sends stays in the kernel, and TCP makes
 * the client wait. */
void push_rx_pause(struct session *s);

/* Reads ${s} again if it was paused, unless its client still exceeds its pace
 * or a frame still waits for the socket. */
void push_rx_resume(struct session *s);

/* Closes the arrivals whose deadline has passed. */
void push_rx_tick(struct push *p, int64_t now_ms);

/* Checks the deadlines of ${s} (close, message, silence), pings it, and reads
 * it again when its pace allows. */
void push_rx_session_tick(struct session *s, int64_t now_ms);

/* Closes the arrivals whose handshake is not complete. */
void push_rx_drain(struct push *p);

/* ---- push_lws.c ---- */

/* Hands a connection whose handshake is complete and checked to the library;
 * takes ${task} and its socket. */
void push_lws_adopt(struct push *p, struct adopt_task *task);

/* Ends the connection of ${s}, and with it ${s}, which may be freed when this
 * returns.  Must not be called from one of the library's callbacks
 * (session_close.c says why). */
void push_lws_kill(struct session *s);

/* Makes the library's context and vhost on p->loop. */
enum rc push_lws_open(struct push *p, struct err *err) MUST_USE;

#endif
