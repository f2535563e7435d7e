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
/* A page ends earlier with the event that reaches PAGE_BYTES.  This bounds the
 * memory that a session needs while its client does not read. */
#define PAGE_BYTES (64 * 1024)
/* Changed outbox entries that may wait to be shown to a session, and how many
 * of them are read at a time. */
#define CHANGES_MAX 32
#define CHANGES_READ 8
/* The length in bytes of the longest frame with an outbox entry: metadata, a
 * correlation id whose bytes are all escaped (6 bytes each), the address of the
 * recipient twice, an error text of 512 bytes that are all escaped by a
 * backslash, and 2304 bytes for the JSON names and the short values. */
#define ENTRY_FRAME_BYTES                                                      \
	(LIMIT_METADATA_LEN + 6 * LIMIT_CORRELATION_ID_LEN +                   \
	    2 * LIMIT_ADDRESS_LEN + 2 * 512 + 2304)
/* Maximum number of frames (replies), and of their bytes, that may wait for a
 * client that reads slowly; one more closes the session.  A client cannot reach
 * them: while a frame waits, the session is not read, and no outbox entries are
 * read for it.  So at most these wait: the answers to the sends under way,
 * CHANGES_READ outbox entries, and the answers to RX_LEN bytes of other
 * requests; the shortest request has 14 bytes, and its refusal 300 bytes. */
#define OUT_FRAMES 1024
#define OUT_BYTES ((SENDS_MAX + CHANGES_READ) * ENTRY_FRAME_BYTES + 256 * 1024)
/* Pings and pongs that a client may send at once, and per second.  A
 * well-behaved client sends one in 25 s. */
#define CONTROL_BURST 64
#define CONTROL_RATE 8
/* The pace at which a session is read, as a multiple of its user's rate limit.
 * A frame counts 1, and so does each KiB. */
#define PACE_FACTOR 20
/* Bytes of frames after which a session's batch is written before the turn of
 * the loop ends, and the same for the batches of all sessions together. */
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
 * 1. All events after the first cursor and up to cursor are in the batch
 *    (struct session_tx) or were handed to the library to be written.
 * 2. base = max(acked, the first cursor), and cursor - base <= window.
 * 3. LIVE: the next event of this user is cursor + 1.
 * 4. missed: the highest seq of an event that the hub has published to it.
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

/* Output.  The batch is written at the end of the turn of the loop; `frames`
 * and a pong wait until the socket takes more.  While the batch holds a frame,
 * the socket takes more and only a pong may wait. */
struct session_tx {
	struct buf batch; /* empty; or LWS_PRE bytes, then whole frames */
	struct out_list frames;
	size_t nframes, bytes;
	int pong_len; /* a pong that waits; -1: none */
	char pong[WS_CONTROL_LEN];
	/* Monotonic: since when the socket takes nothing; 0: it does */
	int64_t stuck_ms;
};

/* The close frame.  For the log, a connection that was lost has code 1006, and
 * one that the library ended by itself has 0. */
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

/* Submits ${job} to the readers, which call ${run}.  The job queues with the
 * other jobs of the owner of ${s}.  Errors: as readers_submit(). */
enum rc session_read(struct session *s, struct read_job *job,
    void (*run)(struct read_job *job, struct db *db, struct err *err)) MUST_USE;

/* Moves ${s} to state ${to}, which its state must allow (session_state.h).
 * Keeps two invariants: exactly the sessions in state CLOSING are in
 * p->closing, and a session that is ending is not in the hub. */
void session_move(struct session *s, enum session_state to);

/* Leaves the hub and the newcomers and frees what ${s} holds, but not ${s}. */
void session_fini(struct session *s);

/* Returns how many events may be written before the client acks; 0 or less:
 * none. */
int64_t session_room(const struct session *s);

/* Handles a whole text message of the client: one frame of the protocol. */
void session_received(struct session *s, const char *text, size_t n);

/* Effects have been dropped.  The session may have missed events of its inbox
 * or acks of its device, so it reads the store. */
void session_overflow(struct session *s);

/* Checks the deadlines for hello, for a full window and for a socket that takes
 * nothing.  Also submits the jobs again for which no reader was free. */
void session_tick(struct session *s, int64_t now_ms);

/* ---- session_open.c: hello ---- */

/* Sets the token, from the upgrade request or from hello. */
void session_set_token(struct session *s, const char *text, size_t n);

/* Handles the frame hello: the token, the instance, the cursor and the
 * window. */
void session_hello(struct session *s, const struct frame *f);

/* ---- session_pages.c: reading the inbox ---- */

/* Submits a job that reads the next page of the inbox, if the session is BEHIND
 * and its socket takes more, and if its window has room or effects were
 * dropped.  Closes ${s} when memory is short. */
void session_resume(struct session *s);

/* Called when the session's device has acked everything up to ${seq}.  Moves
 * the window, and resumes the session if the window then has room. */
void session_acked(struct session *s, int64_t seq);

/* ---- session_write.c: output ---- */

/* Begins a frame in p->tx and returns that buffer, to write JSON into. */
struct buf *push_frame_begin(struct push *p);

/* Returns whether the socket takes a frame, and none waits for it. */
bool session_writable(const struct session *s);

/* Adds a frame with ${n} bytes of ${payload} to the batch of ${s}.  Only when
 * session_writable().  Writes this batch at once when it has reached
 * BATCH_BYTES, or when the batches of all sessions together have reached
 * BATCHES_BYTES.  When memory is short, writes the frames before this one and
 * drops this one.  Then, and when the connection is lost, closes ${s} and
 * returns false. */
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

/* Adds the frame in p->tx to the batch, or queues it while the socket takes
 * nothing.  Closes the session when OUT_FRAMES or OUT_BYTES are exceeded or
 * memory is short.  Does nothing when ${s} is closing. */
void session_reply(struct session *s);

/* Writes a pong with ${n} bytes of ${payload} or, with ${n} < 0, a ping.  While
 * output waits, a pong is kept (a later one replaces it) and a ping is left
 * out. */
void session_write_control(struct session *s, const char *payload, int n);

/* Moves queued frames to the batch, the oldest first, as long as the socket
 * takes them. */
void session_unqueue(struct session *s);

/* Called when the socket may take more: writes the frames that wait.  If the
 * socket took all, reads input, events and outbox entries again. */
void session_unblocked(struct session *s);

/* ---- session_close.c ---- */

/* Moves ${s} to CLOSING.  The close frame with ${code} and ${reason} is written
 * when the socket takes it.  Does nothing when ${s} is closing already. */
void session_close(struct session *s, int code, const char *reason);

/* Writes the close frame of each session in state CLOSING whose socket takes
 * it, and cuts those whose socket has not taken it by their deadline. */
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

/* Returns a request of ${size} bytes, all zero, that begins with the struct
 * above.  ${back} runs in the push thread when the request comes back.  Returns
 * NULL when memory is short, and then closes ${s}. */
void *session_request_new(struct session *s, size_t size,
    void (*back)(struct push *p, struct push_task *task));

/* Returns ${r} to the push thread, which calls its ${back}.  Thread: any. */
void session_request_back(struct session_request *r);

/* Begins the answer to ${r}: {"type":"ok","re":….  Returns NULL when no answer
 * is to be written: the client asked for none, or ${refusal} has been sent as
 * the answer. */
struct buf *session_ok_begin(struct session *s, const struct session_request *r,
    const struct refusal *refusal);

/* Refuses ${f} as busy.  The text says that ${limit} requests of the session
 * are under way. */
void session_refuse_busy(struct session *s, const struct frame *f, int limit);

/* Refuses ${f} because the writer or the readers did not take its request, with
 * the text of ${rc}. */
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

/* Queues a change of an outbox entry for ${s}, which must have asked for outbox
 * frames in its hello.  ${change} is copied.  If CHANGES_MAX changes wait, the
 * oldest is dropped. */
void session_changed(struct session *s, const struct effect_change *change);

/* Submits the oldest queued changes to a reader, unless the previous ones are
 * under way or output waits for the socket.  Called again by the tick, in case
 * no reader was free. */
void session_show_changes(struct session *s);

/* ---- session_typing.c ---- */

/* Handles the frame typing: the other members who are connected to this node
 * get it, or it is lost. */
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

/* Cuts newcomers until there is room for one more.  Returns false if none can
 * be cut.  Must not be called from one of the library's callbacks. */
bool newcomers_make_room(struct push *p);

#endif
