/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session: its state, what it knows of its inbox, its input and its
 * output.  A session belongs to the push thread, as does every function here
 * that does not name another thread.
 */
#ifndef PUSH_SESSION_H
#define PUSH_SESSION_H

#include <libwebsockets.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "chat/entry.h"
#include "model/refusal.h"
#include "push/hub.h"
#include "push/push.h"
#include "push/session_state.h"
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

struct out_frame {
	STAILQ_ENTRY(out_frame) entry;
	size_t len;
	char data[]; /* LWS_PRE bytes, then len */
};

/* Frames that wait for the socket. */
STAILQ_HEAD(out_list, out_frame);

/* A change of an outbox entry that the session is still to be shown. */
struct entry_change {
	int64_t mid;
	enum outbox_event event;
};

/* The hello frame, and the token, which may have come before it. */
struct session_hello {
	uint8_t token_hash[STORE_HASH_LEN];
	bool has_token;
	bool has_re;
	int64_t re;
	bool has_after;
	char after_epoch[40];
	int64_t after;
	bool wants_outbox;
};

/*
 * Where the session is in its inbox.
 *
 * 1. Everything up to cursor has been written to the socket.
 * 2. base = max(acked, where it began); cursor - base <= window.
 * 3. LIVE: the next event of this user is cursor + 1.
 * 4. missed: the highest seq of an event that the hub has passed on.
 */
struct session_inbox {
	int64_t cursor, base, window, missed;
	bool unsure; /* effects were dropped and no page was asked for since */
	bool told_caught_up, told_stalled;
	int64_t full_since_ms; /* monotonic; 0: the window is not full */
};

/* Requests under way. */
struct session_requests {
	int64_t ack_next; /* to be acked next, 0: nothing */
	bool acking;
	int sends, reads;
};

/* Outbox entries to be shown. */
struct session_changes {
	struct entry_change list[CHANGES_MAX];
	int n;
	bool showing; /* a reader reads entries */
};

/* Input: it is read by push_rx.c, never by the library. */
struct session_rx {
	int fd;
	struct ws_reader reader;
	bool paused;       /* it sends more than its pace */
	bool peer_closed;  /* its close frame has come */
	bool midway;       /* a message or a frame has come in part */
	int64_t midway_ms; /* monotonic: since when it is read */
	bool pinged;       /* and nothing has come since */
	int64_t heard_ms;  /* monotonic */
	int64_t credit_ms; /* when control and pace were computed */
	double control;    /* pings and pongs it may still send */
	double pace;       /* frames and KiB it may still send; below 0: wait */
};

/* Output that waits for the socket. */
struct session_tx {
	struct out_list frames;
	size_t nframes, bytes;
	int pong_len; /* a pong that waits; -1: none */
	char pong[WS_CONTROL_LEN];
	int64_t stuck_ms; /* the socket takes nothing since; 0: it does */
};

/* The close frame.  A session that is lost has code 1006, for the log; one that
 * the library ended by itself has 0. */
struct session_closing {
	int code;
	char reason[80];
	int64_t by_ms; /* monotonic: a peer that does not read is cut */
};

struct session {
	struct push *push;
	struct lws *wsi;
	int64_t no; /* names it in tasks that outlive it */
	enum session_state state;
	struct hub_member member; /* member.user_id: whose it is */
	TAILQ_ENTRY(session) all;
	struct crowd *crowd; /* NULL: it is no newcomer (newcomers.c) */
	TAILQ_ENTRY(session) newcomer;
	TAILQ_ENTRY(session) closing; /* while CLOSING */
	int64_t opened_ms;            /* monotonic */
	int64_t draining_since_ms;    /* told to reconnect then; 0: not */

	uint64_t
	    owner; /* until its token is found its network, then its user */

	/* From the token and hello. */
	int64_t device_id;
	struct uuid device;
	char user[LIMIT_NAME_LEN + 1];
	char instance[LIMIT_INSTANCE_LEN + 1];

	struct session_hello hello;
	struct session_inbox inbox;
	struct session_requests requests;
	struct session_changes changes;
	struct session_rx rx;
	struct session_tx tx;
	struct session_closing close;
};

/* ---- session.c: its life, events, frames ---- */

static inline bool
session_is_open(const struct session *s)
{

	return (session_state_open(s->state));
}

/* Makes ${s} the session of ${wsi}, waiting for hello. */
void session_init(struct session *s, struct push *p, struct lws *wsi);

/* Whether there is a place for one more session of a user. */
bool session_has_place(const struct push *p);

/* Hands ${job} to a reader, which calls ${run}; it takes the turn of the owner
 * of ${s}.  As readers_submit(). */
enum rc session_read(struct session *s, struct read_job *job,
    void (*run)(struct read_job *job, struct db *db, struct err *err)) MUST_USE;

/* Moves ${s} to state ${to}, which its state must allow (session_state.h).  A
 * session that is CLOSING is in p->closing; one that is over is in no hub. */
void session_move(struct session *s, enum session_state to);

/* Leaves the hub and frees what ${s} holds, not ${s}. */
void session_fini(struct session *s);

/* How many events its window still takes. */
int64_t session_room(const struct session *s);

/* A whole message has arrived. */
void session_received(struct session *s, const char *text, size_t n);

/* Effects have been dropped: the session may not know of events in its inbox,
 * or of acks of its device. */
void session_overflow(struct session *s);

/* Time passes: deadlines for hello and stalled windows. */
void session_tick(struct session *s, int64_t now_ms);

/* ---- session_open.c: hello ---- */

/* The token came with the upgrade request. */
void session_set_token(struct session *s, const char *text, size_t n);

/* The first frame: says who, and from where on. */
void session_hello(struct session *s, const struct frame *f);

/* ---- session_pages.c: what it reads from its inbox ---- */

/* Reads the next page if the session is BEHIND and has room for it. */
void session_resume(struct session *s);

/* The device has acked everything up to ${seq}. */
void session_acked(struct session *s, int64_t seq);

/* ---- session_write.c: output ---- */

/* Begins a frame: an empty buffer to write JSON into. */
struct buf *push_frame_begin(struct push *p);

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

/* The socket takes more. */
void session_unblocked(struct session *s);

/* ---- session_close.c ---- */

/* Sends ${code} and closes when the socket takes it. */
void session_close(struct session *s, int code, const char *reason);

/* Closes the sessions that are CLOSING, as far as their sockets let. */
void session_close_pending(struct push *p);

/* ---- session_requests.c: ack, read, send ---- */

/* What every request begins with. */
struct session_request {
	struct push_task task;
	struct push *push;
	int64_t no;  /* of the session */
	bool has_re; /* the client asks for an answer */
	int64_t re;
};

/* A request of ${size} bytes, all zero, that begins with the struct above;
 * ${back} is run in the push thread when it comes back.  NULL: no memory, and
 * ${s} is closed. */
void *session_request_new(struct session *s, size_t size,
    void (*back)(struct push *p, struct push_task *task));

/* Sends ${r} back to the push thread.  Thread: any. */
void session_request_back(struct session_request *r);

/* Begins the answer to ${r}: {"type":"ok","re":….  NULL: there is none to
 * write, because the client asked for none, or because ${refusal} was the
 * answer. */
struct buf *session_ok_begin(struct session *s, const struct session_request *r,
    const struct refusal *refusal);

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

#endif
