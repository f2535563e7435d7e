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
#include "base/thr.h"
#include "model/refusal.h"
#include "push/hub.h"
#include "push/push.h"
#include "wire/wire.h"

/* hello must come within this time. */
#define HELLO_MS 5000
/* A full window for this long is told with a `stalled` frame. */
#define STALLED_MS 60000
/* What is queued for a session that is closed must go out within this. */
#define CLOSE_MS 3000
#define PING_S 25
#define SILENCE_S 35
/* Frames (replies, whispers) that may wait for a slow reader. */
#define OUT_FRAMES 64
#define OUT_BYTES (256 * 1024)
/* Requests of one session under way at a time. */
#define SENDS_MAX 64
#define READS_MAX 16
/* Events read at a time by a session that is behind. */
#define PAGE_EVENTS 64
/* Outbox entries a session may still have to be shown. */
#define CHANGES_MAX 32
/* Fragments of one message. */
#define FRAGMENTS_MAX 256

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

struct session {
	struct push *push;
	struct lws *wsi;
	int64_t no; /* names it in notes that outlive it */
	enum session_state state;
	struct hub_member member; /* member.user_id: whose it is */
	TAILQ_ENTRY(session) all;
	TAILQ_ENTRY(session) closing; /* while CLOSING and not told_close */
	int64_t opened_ms;            /* monotonic */

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
	bool unsure; /* news were dropped and no page was asked for since */
	int64_t full_since_ms; /* 0: the window is not full */

	int64_t ack_next; /* to be acked next, 0: nothing */
	bool acking;
	int sends, reads;
	int64_t changes[CHANGES_MAX]; /* mids to show */
	int nchanges;
	bool showing;

	struct buf rx;
	int fragments;
	struct out_list out;
	size_t out_frames, out_bytes;
	int close_code;      /* while SESSION_CLOSING */
	int64_t close_by_ms; /* monotonic: whoever does not read is cut */
	bool told_close;     /* the library has been told */
	char close_reason[80];
};

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
	char *allow_origin; /* ours; NULL: none */
	struct thr *thread;
	uv_loop_t loop;
	uv_async_t async;
	uv_timer_t timer;
	bool loop_ready;
	struct lws_context *context;
	struct lws_vhost *vhost;
	struct hub *hub;
	struct uuid_gen ids;   /* for messages that come without */
	struct htab *sessions; /* no -> session */
	struct session_list all, closing;
	struct waiting_list waiters;
	int64_t last_no;
	atomic_size_t nsessions;
	atomic_bool draining, stopping;
	bool drained;
	struct buf tx; /* LWS_PRE bytes, then the frame being written */

	/* Mailboxes, any thread puts: news, and everything else. */
	struct mbox *news;
	struct mbox *notes;
	atomic_size_t news_bytes; /* in the mailbox, or being told */
	atomic_bool overflowed;   /* news have been dropped */
};

/* ---- push.c ---- */

/* Puts ${note} and wakes the thread.  Thread: any. */
void push_post(struct push *p, struct push_note *note);

/* The session ${no}; NULL when it is gone. */
struct session *push_session(struct push *p, int64_t no);

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

/* Writes the frame that waits longest.  There must be one. */
void session_flush_one(struct session *s);

/* ---- session*.c: hello, cursor, window ---- */

/* Makes ${s} the session of ${wsi}, waiting for hello. */
void session_init(struct session *s, struct push *p, struct lws *wsi);

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

/* ---- session_requests.c: ack, read, send, typing ---- */

/* The device has everything up to f->upto. */
void session_ack(struct session *s, const struct frame *f);

/* The person has seen it. */
void session_mark_read(struct session *s, const struct frame *f);

/* The person types: told to the others, or lost. */
void session_typing(struct session *s, const struct frame *f);

/* Takes ${doc}. */
void session_send(
    struct session *s, struct wire_doc *doc, const struct frame *f);

/* Shows changed outbox entries to a session that asked for them. */
void session_changed(struct session *s, int64_t mid);

/* An error frame for the request with id ${re}. */
void session_refuse(
    struct session *s, bool has_re, int64_t re, const struct refusal *refusal);

/* ---- push_lws.c ---- */

/* Makes the library's context and vhost on p->loop. */
enum rc lws_glue_open(struct push *p, struct err *err) MUST_USE;

#endif
