/* SPDX-License-Identifier: MIT */
/*
 * What the files of push share: the push object, sessions, notes.  Everything
 * here belongs to the push thread, except where it says "any".
 */
#ifndef PUSH_PUSH_INTERNAL_H
#define PUSH_PUSH_INTERNAL_H

#include <libwebsockets.h>
#include <uv.h>

#include "base/buf.h"
#include "base/htab.h"
#include "base/owner.h"
#include "base/thr.h"
#include "chat/entry.h"
#include "model/refusal.h"
#include "push/hub.h"
#include "push/push.h"
#include "wire/wire.h"
#include "ws/reader.h"

/* Frames (replies, whispers) that may wait for a slow reader.  While any waits
 * the session is not read: more than what one RX_LEN asks for, and the requests
 * under way, cannot come together. */
#define OUT_FRAMES 1024
#define OUT_BYTES (256 * 1024)
/* Requests of one session under way at a time. */
#define SENDS_MAX 64
#define READS_MAX 16
/* Events read at a time by a session that is behind. */
#define PAGE_EVENTS 64
/* … or so many bytes of them, and the event that goes beyond: what a session
 * that does not read may cost for a moment. */
#define PAGE_BYTES (64 * 1024)
/* Outbox entries a session may still have to be shown. */
#define CHANGES_MAX 32
/* Pings and pongs that a session may send at once, and each second: a client
 * that means well sends one in 25 s. */
#define CONTROL_BURST 64
#define CONTROL_RATE 8
/* A session's frames and KiB a second, in requests that its user may make. */
#define PACE_FACTOR 20
/* Read from one session before the others have their turn. */
#define RX_LEN 8192
/* Connections whose handshake has not come whole; one more cuts the oldest. */
#define ARRIVALS_MAX 512

enum session_state {
	SESSION_HELLO,   /* waits for hello */
	SESSION_OPENING, /* waits for the store */
	SESSION_OPEN,
	SESSION_CLOSING /* will be closed when it can be written */
};

struct out_frame {
	STAILQ_ENTRY(out_frame) entry;
	size_t len;
	char data[]; /* LWS_PRE bytes, then len */
};

/* Frames that wait for the socket. */
STAILQ_HEAD(out_list, out_frame);

/* What a session is still to be shown of its entries. */
struct entry_change {
	int64_t mid;
	enum outbox_event event;
};

struct session {
	struct push *push;
	struct lws *wsi;
	int64_t no; /* names it in notes that outlive it */
	enum session_state state;
	struct hub_member member; /* member.user_id: whose it is */
	TAILQ_ENTRY(session) all;
	struct crowd *crowd; /* NULL: it is no newcomer (newcomers.c) */
	TAILQ_ENTRY(session) newcomer;
	TAILQ_ENTRY(session) closing; /* while CLOSING and not told_close */
	int64_t opened_ms;            /* monotonic */

	uint64_t owner; /* until hello its network, then its user */

	/* From hello. */
	int64_t device_id;
	struct uuid device;
	char user[LIMIT_NAME_LEN + 1];
	char instance[LIMIT_INSTANCE_LEN + 1];
	uint8_t token_hash[STORE_HASH_LEN];
	bool has_token;
	bool has_re;
	int64_t re;
	bool has_after;
	char after_epoch[40];
	int64_t after;
	bool wants_outbox;

	/*
	 * 1. Everything up to cursor has been written to the socket.
	 * 2. base = max(acked, where it began); cursor - base <= window.
	 * 3. not behind: the next event for this user is cursor + 1.
	 * 4. missed: the highest seq that was told while behind.
	 */
	int64_t cursor, base, window, missed;
	bool behind, reading, told_caught_up, told_stalled;
	bool unsure; /* effects were dropped and no page was asked for since */
	int64_t full_since_ms; /* 0: the window is not full */

	int64_t ack_next; /* to be acked next, 0: nothing */
	bool acking;
	int sends, reads;
	struct entry_change changes[CHANGES_MAX]; /* to show */
	int nchanges;
	bool showing;

	/* What comes: read by us, never by the library. */
	int fd;
	struct ws_reader reader;
	bool paused;       /* sends more than its pace */
	bool peer_closed;  /* its close frame has come */
	bool midway;       /* a message or a frame has come in part */
	int64_t midway_ms; /* monotonic: since when it is read */
	bool pinged;       /* and nothing has come since */
	int64_t heard_ms;  /* monotonic */
	int64_t credit_ms; /* when control and pace were reckoned */
	double control;    /* pings and pongs it may still send */
	double pace;       /* frames and KiB it may still send; below 0: wait */
	int pong_len;      /* a pong that waits for the socket; -1: none */
	char pong[WS_CONTROL_LEN];

	struct out_list out;
	size_t out_frames, out_bytes;
	int64_t leaving_ms;  /* told to reconnect then; 0: not */
	int close_code;      /* while SESSION_CLOSING */
	int64_t close_by_ms; /* monotonic: whoever does not read is cut */
	bool told_close;     /* the close frame has gone to the library */
	bool killed;         /* the library has been told to end it */
	int64_t stuck_ms;    /* the socket takes nothing since; 0: it does */
	char close_reason[80];
};

/* A connection whose handshake has not come whole, or that is refused and read
 * empty before it is closed. */
struct arrival {
	TAILQ_ENTRY(arrival) entry;
	int fd;
	bool refused;
	size_t read; /* after it was refused */
	int64_t until_ms;
	struct adopt_note *note; /* its own; NULL when passed on */
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
struct adopt_note {
	struct push_note note;
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
	bool drained;
	atomic_bool left; /* drained, and nobody has anything under way */
	struct buf tx;    /* LWS_PRE bytes, then the frame being written */
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
	struct mbox *notes;
	atomic_size_t effects_bytes; /* in the mailbox, or being told */
	atomic_bool overflowed;      /* effects have been dropped */
};

/* ---- push.c ---- */

/* Puts ${note} and wakes the thread.  Thread: any. */
void push_post(struct push *p, struct push_note *note);

/* The session ${no}; NULL when it is gone. */
struct session *push_session(struct push *p, int64_t no);

/* Checks every deadline against the clock in the options.  The loop's timer
 * calls this; tests with a clock of their own stop that timer. */
void push_tick(struct push *p);

/* Sends ${code} and closes when the socket takes it. */
void session_close(struct session *s, int code, const char *reason);

/* Begins a frame: an empty buffer to write JSON into. */
struct buf *tx_begin(struct push *p);

/* Whether an event can be written right now. */
bool session_writable(const struct session *s);

/* Writes the frame in p->tx now.  Only when session_writable(). */
void session_write(struct session *s);

/* Writes the frame in p->tx now or soon; closes a session that lets too many
 * wait. */
void session_reply(struct session *s);

/* Writes a pong or, with ${n} < 0, a ping, unless something is in the way: then
 * the pong is kept (a later one takes its place) and the ping is left out. */
void session_write_control(struct session *s, const char *payload, int n);

/* Writes the frame that waits longest.  There must be one. */
void session_flush_one(struct session *s);

/* ---- newcomers.c: sessions whose user is not known yet ---- */

/* How many of them there may be. */
size_t newcomers_limit(const struct push *p);

/* Makes ${s}, whose owner is its address, a newcomer; and no newcomer, if it is
 * one. */
enum rc newcomers_add(struct session *s) MUST_USE;
void newcomers_remove(struct session *s);

/* Cuts newcomers until there is room for one more.  False: there is none to
 * cut. Not from one of the library's callbacks. */
bool newcomers_make_room(struct push *p);

/* ---- waiters.c: long-polls ---- */

/* Releases all of them: ${woken}, to look again; otherwise for good. */
void waiters_release(struct push *p, bool woken);

/* Those of a device that lost its token look again, and see that. */
void waiters_revoked(struct push *p, int64_t device_id);

/* Those who wait for a change of their entries look again: there is no number
 * by which the store could be asked whether they have missed one. */
void waiters_recheck(struct push *p);

/* ---- push_leave.c: the stop ---- */

/* Tells every session to reconnect, and closes those that have not begun. */
void leave_all(struct push *p);

/* Closes those that have nothing under way any more, or whose time is up; notes
 * when nobody is left. */
void leave_tick(struct push *p, int64_t now);

/* ---- session*.c: hello, cursor, window ---- */

/* Makes ${s} the session of ${wsi}, waiting for hello. */
void session_init(struct session *s, struct push *p, struct lws *wsi);

/* Whether there is a place for one more session of a user. */
bool session_has_place(const struct push *p);

/* Hands ${job} to a reader, which calls ${run}; it takes the turn of the owner
 * of ${s}.  As readers_submit(). */
enum rc session_read(struct session *s, struct read_job *job,
    void (*run)(struct read_job *job, struct db *db, struct err *err)) MUST_USE;

/* Leaves the hub and frees what ${s} holds, not ${s}. */
void session_fini(struct session *s);

/* The first frame: says who, and from where on. */
void session_hello(struct session *s, const struct frame *f);

/* How many events its window still takes. */
int64_t session_room(const struct session *s);

/* A whole message has arrived. */
void session_received(struct session *s, const char *text, size_t n);

/* The token came with the upgrade request. */
void session_set_token(struct session *s, const char *text, size_t n);

/* The socket takes more. */
void session_unblocked(struct session *s);

/* Reads on if it is behind and may. */
void session_kick(struct session *s);

/* News have been dropped: what the session knows of its inbox and of its
 * device's mark may be old. */
void session_overflow(struct session *s);

/* What the device has acked has moved on to ${seq}. */
void session_acked(struct session *s, int64_t seq);

/* Time passes: deadlines for hello and stalled windows. */
void session_tick(struct session *s, int64_t now_ms);

/* ---- session_requests.c: ack, read, send ---- */

/* What every request begins with. */
struct session_request {
	struct push_note note;
	struct push *push;
	int64_t no;
};

/* A request of ${size} bytes, all zero, that begins with the struct above;
 * ${back} is run in the push thread when it comes back.  NULL: no memory, and
 * ${s} is closed. */
void *session_request_new(struct session *s, size_t size,
    void (*back)(struct push *p, struct push_note *note));

/* Sends ${r} back to the push thread.  Thread: any. */
void session_request_back(struct session_request *r);

/* {"type":"ok","re":…: begins the answer to a request that asked for one. */
struct buf *session_ok_begin(struct session *s, int64_t re);

/* Refuses ${f}: ${limit} requests of the session are under way. */
void session_refuse_busy(struct session *s, const struct frame *f, int limit);

/* The device has everything up to f->upto. */
void session_ack(struct session *s, const struct frame *f);

/* The person has seen it. */
void session_mark_read(struct session *s, const struct frame *f);

/* Takes ${doc}. */
void session_send(
    struct session *s, struct wire_doc *doc, const struct frame *f);

/* An error frame for the request with id ${re}. */
void session_refuse(
    struct session *s, bool has_re, int64_t re, const struct refusal *refusal);

/* ---- session_outbox.c ---- */

/* Shows changed outbox entries to a session that asked for them. */
void session_changed(struct session *s, const struct effect_change *change);

/* The same for what waits because no reader was free. */
void session_show_changes(struct session *s);

/* ---- session_typing.c ---- */

/* The person types: told to the others, or lost. */
void session_typing(struct session *s, const struct frame *f);

/* ---- push_rx.c: what comes from clients ---- */

/* Begins to watch.  After uv_loop_init(). */
enum rc rx_open(struct push *p, struct err *err) MUST_USE;

/* Closes arrivals and stops watching; rx_poll must be closed by the caller. */
void rx_close(struct push *p);

/* A fresh connection; takes ${note} and its socket. */
void rx_arrive(struct push *p, struct adopt_note *note);

/* Reads ${s} from now on, on socket ${fd}. */
enum rc rx_begin(struct session *s, int fd) MUST_USE;

/* Reads ${s} no more. */
void rx_end(struct session *s);

/* Our close frame has gone out: who broke the rules cannot answer it in a way
 * that we would read, and is left to hang up. */
void rx_closing(struct session *s);

/* Leaves unread what ${s} sends. */
void rx_pause(struct session *s);

/* Reads on if nothing speaks against it any more. */
void rx_resume(struct session *s);

/* Time passes: deadlines of arrivals. */
void rx_tick(struct push *p, int64_t now_ms);

/* Time passes: silence, and what may be read again. */
void rx_session_tick(struct session *s, int64_t now_ms);

/* Closes the arrivals whose handshake is not whole. */
void rx_drain(struct push *p);

/* ---- push_lws.c ---- */

/* Hands a connection with a whole, checked handshake to the library; takes
 * ${note} and its socket. */
void lws_glue_adopt(struct push *p, struct adopt_note *note);

/* Ends the connection of ${s}, and with it ${s}.  Not from one of the
 * library's callbacks. */
void lws_glue_kill(struct session *s);

/* Makes the library's context and vhost on p->loop. */
enum rc lws_glue_open(struct push *p, struct err *err) MUST_USE;

#endif
