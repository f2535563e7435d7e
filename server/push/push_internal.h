/* SPDX-License-Identifier: MIT */
/*
 * The push object: the thread's loop, its mailboxes, the connections that are
 * not sessions yet.  Sessions are in session.h.  Everything here belongs to the
 * push thread, except where it says "any".
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

/* Read from one session before the others have their turn. */
#define RX_LEN 8192
/* Connections whose handshake has not come whole; one more cuts the oldest. */
#define ARRIVALS_MAX 512

/* A connection whose handshake has not come whole, or that is refused and read
 * empty before it is closed. */
struct arrival {
	TAILQ_ENTRY(arrival) entry;
	int fd;
	bool refused;
	size_t read; /* after it was refused */
	int64_t until_ms;
	struct adopt_task *task; /* its own; NULL when passed on */
};

/* Arrivals, the oldest first. */
TAILQ_HEAD(arrival_list, arrival);

/* Sessions, in the order in which they came. */
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

/* A connection on its way from the front.  It is the library's opaque pointer
 * until the session begins, or the connection ends without one. */
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
	bool loop_ready;
	struct lws_context *context;
	struct lws_vhost *vhost;
	struct hub *hub;
	struct uuid_gen ids;   /* of requests that are refused */
	struct htab *sessions; /* no -> session */
	struct session_list all, closing;
	struct session_list newcomers; /* their user is not known yet */
	size_t nnewcomers;
	struct htab *crowds; /* address -> its newcomers */
	struct waiting_list waiters;
	int64_t last_no;
	atomic_size_t nsessions;
	size_t adopting; /* the library has them, and they are no session yet */
	atomic_bool draining, stopping;
	bool drain_begun;    /* clients have been told to reconnect */
	atomic_bool drained; /* and no session has anything under way */
	struct buf tx;       /* LWS_PRE bytes, then the frame being written */
	char *allow_origin;

	/* What is read from clients: one set of descriptors, watched by one
	 * handle of the loop. */
	int rx_fd;
	uv_poll_t rx_poll;
	struct arrival_list arrivals;
	size_t narrivals;
	char rx[RX_LEN];

	/* Mailboxes, any thread puts: effects, and everything else. */
	struct mbox *effects;
	struct mbox *tasks;
	atomic_size_t effects_bytes; /* in the mailbox, or being told */
	atomic_bool overflowed;      /* effects have been dropped */
};

/* ---- push.c ---- */

/* Puts ${task} and wakes the thread.  Thread: any. */
void push_post(struct push *p, struct push_task *task);

/* The session ${no}; NULL when it is gone. */
struct session *push_session(struct push *p, int64_t no);

/* Checks every deadline against the clock in the options.  The loop's timer
 * calls this; tests with a clock of their own stop that timer. */
void push_tick(struct push *p);

/* ---- waiters.c: long-polls ---- */

/* Releases all of them: ${woken}, to look again; otherwise for good. */
void waiters_release(struct push *p, bool woken);

/* Those of a device that lost its token look again, and see that. */
void waiters_revoked(struct push *p, int64_t device_id);

/* Those who wait for a change of their entries look again: there is no number
 * by which the store could be asked whether they have missed one. */
void waiters_recheck(struct push *p);

/* ---- push_drain.c: the stop ---- */

/* Tells every session to reconnect, and closes those that are not open yet. */
void push_drain_begin(struct push *p);

/* Closes the sessions that have nothing under way any more, or whose time is
 * up; sets p->drained when no session is left. */
void push_drain_tick(struct push *p, int64_t now);

/* ---- push_rx.c: what comes from clients ---- */

/* Begins to watch.  After uv_loop_init(). */
enum rc push_rx_open(struct push *p, struct err *err) MUST_USE;

/* Closes arrivals and stops watching; rx_poll must be closed by the caller. */
void push_rx_close(struct push *p);

/* A fresh connection; takes ${task} and its socket. */
void push_rx_arrive(struct push *p, struct adopt_task *task);

/* Reads ${s} from now on, on socket ${fd}. */
enum rc push_rx_begin(struct session *s, int fd) MUST_USE;

/* Reads ${s} no more. */
void push_rx_end(struct session *s);

/* Our close frame has gone out: who broke the rules cannot answer it in a way
 * that we would read, and is left to hang up. */
void push_rx_closing(struct session *s);

/* Leaves unread what ${s} sends. */
void push_rx_pause(struct session *s);

/* Reads on if nothing speaks against it any more. */
void push_rx_resume(struct session *s);

/* Time passes: deadlines of arrivals. */
void push_rx_tick(struct push *p, int64_t now_ms);

/* Time passes: silence, and what may be read again. */
void push_rx_session_tick(struct session *s, int64_t now_ms);

/* Closes the arrivals whose handshake is not whole. */
void push_rx_drain(struct push *p);

/* ---- push_lws.c ---- */

/* Hands a connection with a whole, checked handshake to the library; takes
 * ${task} and its socket. */
void push_lws_adopt(struct push *p, struct adopt_task *task);

/* Ends the connection of ${s}, and with it ${s}.  Not from one of the
 * library's callbacks. */
void push_lws_kill(struct session *s);

/* Makes the library's context and vhost on p->loop. */
enum rc push_lws_open(struct push *p, struct err *err) MUST_USE;

#endif
