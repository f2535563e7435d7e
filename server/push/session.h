/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session: its state, its place in the inbox, its input and its
 * output.  A session belongs to the push thread, as does every function here
 * whose comment does not name another thread.
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

/* Requests that one session may have under way at a time. */
#define SENDS_MAX 64
#define READS_MAX 16
/* Events that a session that is behind reads from the store at a time. */
#define PAGE_EVENTS 64
/* A page has fewer than PAGE_EVENTS events if their JSON reaches PAGE_BYTES
 * bytes: the event that reaches this length is the last one of the page.  This
 * bounds the memory of the page that is read for a session. */
#define PAGE_BYTES (64 * 1024)
/* CHANGES_MAX: changes of outbox entries that may wait to be shown to one
 * session; one more drops the oldest.  CHANGES_READ: the most waiting changes
 * whose entries one job of a reader reads from the store. */
#define CHANGES_MAX 32
#define CHANGES_READ 8
/* No frame with the outbox entry of a message to one recipient is longer, in
 * bytes: metadata, a correlation id whose bytes are all escaped (6 bytes each),
 * the address of the recipient twice, an error text of 512 bytes that are all
 * escaped by a backslash, and 2304 bytes for a second copy of the error text,
 * the JSON names and the short values. */
#define ENTRY_FRAME_BYTES                                                      \
	(LIMIT_METADATA_LEN + 6 * LIMIT_CORRELATION_ID_LEN +                   \
	    2 * LIMIT_ADDRESS_LEN + 2 * 512 + 2304)
/* OUT_FRAMES: how many frames may wait for the socket of one session in
 * s->tx.frames (replies, not events); OUT_BYTES: how many bytes they may have
 * together.  A frame beyond either limit closes the session.  A client cannot
 * reach the limits: while a frame waits, no input of the session is read from
 * the socket, and no outbox entries are read for it from the store.  So at most
 * these wait: the answers to the requests under way (SENDS_MAX and READS_MAX),
 * CHANGES_READ outbox entries, the answers to RX_LEN bytes of further requests,
 * and a few notices such as caught_up.  The shortest request with an answer,
 * {"id":1}, has 14 bytes with its WebSocket header, and its error frame has at
 * most 300 bytes. */
#define OUT_FRAMES 1024
#define OUT_BYTES ((SENDS_MAX + CHANGES_READ) * ENTRY_FRAME_BYTES + 256 * 1024)
/* CONTROL_BURST: how many pings and pongs together a client may send at once;
 * CONTROL_RATE: how many more each second allows, up to CONTROL_BURST.  One too
 * many closes the session (code 4429).  A well-behaved client sends one in
 * 25 s. */
#define CONTROL_BURST 64
#define CONTROL_RATE 8
/* The highest pace at which the input of a session is read, as a multiple of
 * the rate limit of a user (push_options.rate_limit, per second; 0: no pace).
 * Each frame costs 1, and each KiB read costs 1 more.  A session above its pace
 * is not read for a while; its input waits in the kernel and is not dropped. */
#define PACE_FACTOR 20
/* The batch of a session (its frames not written yet) is written at the end of
 * a turn of the loop.  session_add() writes that batch earlier when the frames
 * in that batch have BATCH_BYTES bytes, or those in the batches of all sessions
 * BATCHES_BYTES. */
#define BATCH_BYTES ((size_t)16 * 1024)
#define BATCHES_BYTES ((size_t)256 * 1024)

struct out_frame {
	STAILQ_ENTRY(out_frame) entry;
	size_t len;
	char data[];
};

/* Frames that wait for the socket. */
STAILQ_HEAD(out_list, out_frame);

/* A change of an outbox entry that is yet to be shown to the session. */
struct entry_change {
	int64_t mid;
	enum outbox_event event;
};

/* The hello frame.  Its token may have come before, with the upgrade
 * request. */
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
 * The session's place in its inbox.  Invariants:
 *
 * 1. cursor is the seq of the newest event that was written.  All events after
 *    the first cursor (with which the session opened) and up to cursor are in
 *    the batch (struct session_tx) or were handed to the library.
 * 2. base = max(the seq up to which the device has acked, the first cursor),
 *    and cursor - base <= window.
 * 3. missed is the highest seq of all events that the hub has given to the
 *    session, written or not; 0: none.
 * 4. In state LIVE, missed <= cursor.  If the hub then gives the session an
 *    event that cannot be written at once (its seq is above cursor + 1, or the
 *    window or the socket is full), the session becomes BEHIND.
 */
struct session_inbox {
	int64_t cursor, base, window, missed;
	/* Effects were dropped, and no page has been requested since. */
	bool unsure;
	bool told_caught_up, told_stalled;
	int64_t full_since_ms; /* monotonic; 0: the window is not full */
};

/* The session's requests under way. */
struct session_requests {
	int64_t ack_next; /* to be acked next; 0: nothing */
	bool acking;
	int sends, reads;
};

/* Changed outbox entries to be shown. */
struct session_changes {
	struct entry_change list[CHANGES_MAX];
	int n;
	bool showing; /* a reader reads entries */
};

/* Input, which push_rx.c reads, never the library. */
struct session_rx {
	int fd;
	struct ws_reader reader;
	bool paused;       /* not read: pace used up, or a frame waits */
	bool peer_closed;  /* the client's close frame has come */
	bool midway;       /* a message or a frame is incomplete */
	int64_t midway_ms; /* monotonic: since when */
	bool pinged;       /* pinged, and no input since */
	int64_t heard_ms;  /* monotonic */
	int64_t credit_ms; /* monotonic: when control and pace were computed */
	double control;    /* pings and pongs that it may still send */
	/* Frames and KiB that it may still send; below 0: it is not read. */
	double pace;
};

/* A session's output.  The batch is written at the end of the turn of the loop,
 * or earlier (BATCH_BYTES).  `frames` (replies) and a pong wait until the
 * socket takes more.  Invariant: while the batch holds a frame, the socket
 * takes more and `frames` is empty, but a pong may wait. */
struct session_tx {
	struct buf batch; /* empty; or LWS_PRE bytes, then whole frames */
	struct out_list frames;
	size_t nframes, bytes;
	int pong_len; /* a pong that waits; -1: none */
	char pong[WS_CONTROL_LEN];
	/* Monotonic: since when the socket takes nothing; 0: it does */
	int64_t stuck_ms;
};

/* The code and the reason of the close frame.  If no close has begun, no close
 * frame is written, and code is only for the log: 1006 if the connection was
 * lost or cut (push_lws_kill()), 0 if the library ended it by itself. */
struct session_closing {
	int code;
	char reason[80];
	int64_t by_ms; /* monotonic: when the connection is cut */
};

struct session {
	struct push *push;
	struct lws *wsi;
	int64_t no; /* its number in tasks, which may outlive it */
	enum session_state state;
	struct hub_member member; /* member.user_id: its user */
	TAILQ_ENTRY(session) all;
	TAILQ_ENTRY(session) batched; /* while its batch holds a frame */
	struct crowd *crowd;          /* NULL: not a newcomer (newcomers.c) */
	TAILQ_ENTRY(session) newcomer;
	TAILQ_ENTRY(session) closing; /* while CLOSING */
	int64_t opened_ms;            /* monotonic */
	/* Monotonic: when the client was asked to reconnect; 0: not yet. */
	int64_t draining_since_ms;

	/* Its network until its token is verified, then its user
	 * (base/owner.h). */
	uint64_t owner;

	/* From the token and the frame hello. */
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

/* Returns whether users may have one more session. */
bool session_has_place(const struct push *p);

/* Submits ${job} to the readers, one of which calls ${run} in its thread; the
 * ${db} of ${run} is NULL, and ${err} filled, if the reader could not open a
 * snapshot.  All jobs wait in one queue, which is fair between owners
 * (base/owner.h); ${job} counts as a job of s->owner.  On failure ${run} is not
 * called, and the caller still owns ${job}: RC_BUSY (the queue, or the part of
 * s->owner in it, is full) or RC_CLOSED. */
enum rc session_read(struct session *s, struct read_job *job,
    void (*run)(struct read_job *job, struct db *db, struct err *err)) MUST_USE;

/* Moves ${s} to state ${to}.  The caller makes sure that
 * session_state_allows() this move (asserted).  Keeps two invariants: exactly
 * the sessions in state CLOSING are in p->closing, and a session in state
 * CLOSING, CLOSED or ENDED is not in the hub. */
void session_move(struct session *s, enum session_state to);

/* Leaves the hub and the newcomers and frees what ${s} holds, but not ${s}. */
void session_fini(struct session *s);

/* Returns how many events may be written before the client acks; 0 or less:
 * none. */
int64_t session_room(const struct session *s);

/* Handles a whole text message of the client: one frame of the protocol. */
void session_received(struct session *s, const char *text, size_t n);

/* Called when effects (notices of commits) have been dropped.  The session may
 * have missed events of its inbox or acks of its device, so it reads pages from
 * the store, as its socket allows, until one reaches the head of the inbox
 * (LIVE becomes BEHIND).  Missed changes of outbox entries are not made up for;
 * a session that is not open does nothing. */
void session_overflow(struct session *s);

/* Closes ${s} if hello has not come within push_hello, or if output waits and
 * the library's buffer of output has not been empty once in push_stuck.  Sends
 * the frame stalled when the window has been full for push_stalled, once until
 * the window has room again.  Also submits the jobs for a page and for outbox
 * entries again that readers_submit() has refused because its queue was full.
 */
void session_tick(struct session *s, int64_t now_ms);

/* ---- session_open.c: hello ---- */

/* Sets the token, from the upgrade request or from hello. */
void session_set_token(struct session *s, const char *text, size_t n);

/* Handles the frame hello: the token, the instance, the cursor and the
 * window. */
void session_hello(struct session *s, const struct frame *f);

/* ---- session_pages.c: reading the inbox ---- */

/* Submits a job that reads the next page of the inbox and moves ${s} to
 * READING, if ${s} is BEHIND and its socket takes more, and if its window has
 * room or effects (notices of commits) were dropped since the last page was
 * requested.  Otherwise, or if the readers' queue is full, ${s} stays in its
 * state, and a later event or ack, the socket or the tick calls this again.
 * Closes ${s} when memory is short. */
void session_resume(struct session *s);

/* Called when the session's device has acked all events up to ${seq}, by this
 * session or any other request.  If ${seq} is above s->inbox.base, moves base
 * to ${seq}, and then calls session_resume() if the window has room. */
void session_acked(struct session *s, int64_t seq);

/* ---- session_write.c: output ---- */

/* Begins a frame in p->tx and returns that buffer, to write JSON into. */
struct buf *push_frame_begin(struct push *p);

/* Returns whether the socket takes a frame, and none waits for it. */
bool session_writable(const struct session *s);

/* Adds a frame with ${n} bytes of ${payload} to the batch of ${s}.  The caller
 * has checked that the socket takes a frame and that no queued frame must go
 * first (session_writable()).  Writes this batch at once when, with the new
 * frame, it has reached BATCH_BYTES, or the batches of all sessions together
 * have reached BATCHES_BYTES.  If memory is short, drops the new frame, writes
 * the earlier frames of the batch, calls session_close() and returns false.  If
 * the write finds the connection lost, also calls session_close() and returns
 * false. */
bool session_add(
    struct session *s, enum ws_opcode opcode, const char *payload, size_t n);

/* Writes the batch.  Closes ${s} and returns false when the connection is
 * lost. */
bool session_flush(struct session *s);

/* Empties the batch without writing it. */
void session_forget_batch(struct session *s);

/* Writes the batches of all sessions. */
void push_flush(struct push *p);

/* Adds the frame in p->tx to the batch.  Only when session_writable(). */
void session_write(struct session *s);

/* Adds the frame in p->tx to the batch, or queues it in s->tx.frames while the
 * socket takes nothing or earlier frames wait there.  If memory is short, or
 * the queue with this frame would exceed OUT_FRAMES or OUT_BYTES, drops the
 * frame and closes ${s}.  Does nothing in state CLOSING, CLOSED or ENDED. */
void session_reply(struct session *s);

/* Adds to the batch a pong with ${n} bytes of ${payload} (at most
 * WS_CONTROL_LEN) or, with ${n} < 0, a ping without payload.  While output
 * waits for the socket, instead keeps a copy of the pong, which is written when
 * the socket takes more (a later pong replaces it), and drops a ping. */
void session_write_control(struct session *s, const char *payload, int n);

/* Moves queued frames to the batch, the oldest first, as long as the socket
 * takes them. */
void session_unqueue(struct session *s);

/* Called when the socket may take more, and ${s} is not closing: moves the
 * frames that wait to the batch.  If the socket still takes more, adds the pong
 * that waits, and resumes the reading of input (if its pace allows), of events
 * and of outbox entries. */
void session_unblocked(struct session *s);

/* ---- session_close.c ---- */

/* Moves ${s} to CLOSING and wakes the loop, which calls
 * session_close_pending().  That function writes the frames that wait and a
 * close frame with ${code} and ${reason} (copied, cut to 79 bytes) or, if the
 * socket does not take them within push_close, cuts the connection.  Does
 * nothing if ${s} is in state CLOSING, CLOSED or ENDED already. */
void session_close(struct session *s, int code, const char *reason);

/* For each session in state CLOSING: when its socket takes them, writes its
 * queued frames and its close frame and moves it to CLOSED; then ends the
 * connection if the write failed or the client's close frame has come, and
 * otherwise waits for that close frame.  If its socket has not taken all queued
 * frames by s->close.by_ms, ends the connection without a close frame.  Must
 * not be called from one of the library's callbacks. */
void session_close_pending(struct push *p);

/* ---- session_requests.c: ack, read, send ---- */

/* The head of every request object. */
struct session_request {
	struct push_task task;
	struct push *push;
	int64_t no;  /* of the session */
	bool has_re; /* the client asks for an answer */
	int64_t re;
};

/* Returns a new request of ${size} bytes that begins with a struct
 * session_request; all but its push, no and task.run is zero.  After
 * session_request_back() the push thread calls ${back}, which frees the request
 * or submits it once more.  If memory is short, closes ${s} and returns
 * NULL. */
void *session_request_new(struct session *s, size_t size,
    void (*back)(struct push *p, struct push_task *task));

/* Returns ${r} to the push thread, which calls its ${back}.  Thread: any. */
void session_request_back(struct session_request *r);

/* If ${refusal} holds a problem, sends it as an error frame, even if the client
 * asked for no answer, and returns NULL.  Otherwise returns NULL if the client
 * asked for no answer to ${r}.  Otherwise writes {"type":"ok","re":… into p->tx
 * and returns it: the caller adds the other members and the "}", and calls
 * session_reply(). */
struct buf *session_ok_begin(struct session *s, const struct session_request *r,
    const struct refusal *refusal);

/* Sends an error frame for ${f} with the problem "busy".  Its text says that
 * ${limit} requests of the session are under way. */
void session_refuse_busy(struct session *s, const struct frame *f, int limit);

/* Sends an error frame for ${f}, because the writer or the readers did not take
 * its request.  The problem and its text follow from ${rc}, which they
 * returned (refusal_of_rc()). */
void session_refuse_rc(struct session *s, const struct frame *f, enum rc rc);

/* Handles the frame ack: the device has everything up to f->upto. */
void session_ack(struct session *s, const struct frame *f);

/* Handles the frame read: the person has seen the messages up to there. */
void session_mark_read(struct session *s, const struct frame *f);

/* Handles the frame send.  Takes ${doc}, which holds the texts of ${f}. */
void session_send(
    struct session *s, struct wire_doc *doc, const struct frame *f);

/* Sends an error frame; with ${has_re}, for the request with id ${re}. */
void session_refuse(
    struct session *s, bool has_re, int64_t re, const struct refusal *refusal);

/* ---- session_outbox.c ---- */

/* Queues a copy of ${change} for ${s} and calls session_show_changes().  The
 * caller has checked that ${s} is open and asked for outbox frames in its
 * hello.  If the same event of the same entry waits already, it moves to the
 * end of the queue; otherwise, if CHANGES_MAX changes wait, the oldest is
 * dropped. */
void session_changed(struct session *s, const struct effect_change *change);

/* Takes the oldest queued changes, at most CHANGES_READ, from the queue and
 * submits a job that reads their entries, which are then sent.  Does nothing
 * while an earlier such job is under way or output waits for the socket; the
 * end of that wait calls this again.  If the readers' queue is full, the
 * changes stay queued, and the tick calls this again; if memory is short,
 * closes ${s}. */
void session_show_changes(struct session *s);

/* ---- session_typing.c ---- */

/* Handles the frame typing.  If the user is a member of the conversation,
 * passes the frame on to each other member (at most LIMIT_TYPING_MEMBERS are
 * considered) who has an open session on this node whose socket takes the frame
 * when a reader has read the members.  The frame is not stored, so nobody gets
 * it later.  If READS_MAX requests of ${s} are under way or the readers' queue
 * is full, drops the frame; then a frame with an id gets an error frame.
 * Otherwise a frame with an id is answered with ok, even if the user is not a
 * member. */
void session_typing(struct session *s, const struct frame *f);

/* ---- newcomers.c: sessions whose user is not known yet ---- */

/* Returns how many newcomers there may be. */
size_t newcomers_limit(const struct push *p);

/* Adds ${s} to the newcomers of the network ${s->owner} (base/owner.h).
 * RC_NO_MEMORY: nothing has changed. */
enum rc newcomers_add(struct session *s) MUST_USE;

/* Removes ${s} from the newcomers, if it is one of them: its user is known now,
 * or it ends. */
void newcomers_remove(struct session *s);

/* Makes room for one more newcomer: while the pool is full, takes the network
 * that has the most newcomers, and ends the connection of its oldest newcomer
 * without a close frame.  Returns false if the pool is full and holds no
 * newcomer, but only connections whose handshake the library has yet to answer.
 * Must not be called from one of the library's callbacks. */
bool newcomers_make_room(struct push *p);

#endif
