/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session: its moves from state to state (session_state.h), the
 * events that the hub gives it, and the frames that its client sends.
 *
 * A session joins the hub before it reads the store, so that the hub gives it
 * what commits after the read.  While the session is not live, it only
 * remembers the highest number of these events (`missed`) and reads the events
 * from the store.
 */
#include <assert.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/thr.h"
#include "model/outbox.h"
#include "push/push_internal.h"
#include "wire/json.h"

/* ---- life ---- */

static void session_event(struct hub_member *m, const struct effect_event *e);
static void session_change(struct hub_member *m, const struct effect_change *c);
static void session_device_acked(
    struct hub_member *m, const struct effect_acked *a);
static void session_whisper(struct hub_member *m, const char *frame, size_t n);

static const struct hub_ops session_ops = {.event = session_event,
    .change = session_change,
    .acked = session_device_acked,
    .whisper = session_whisper};

static struct session *
of_member(struct hub_member *m)
{

	return (CONTAINER_OF(m, struct session, member));
}

void
session_init(struct session *s, struct push *p, struct lws *wsi)
{

	memset(s, 0, sizeof(*s));
	s->push = p;
	s->wsi = wsi;
	s->no = ++p->last_no;
	s->member.ops = &session_ops;
	s->opened_ms = clk_mono_ms(p->options.clk);
	STAILQ_INIT(&s->tx.frames);
	buf_init(&s->tx.batch, 0);
}

void
session_move(struct session *s, enum session_state to)
{

	assert(session_state_allows(s->state, to));
	if (s->state == SESSION_CLOSING)
		TAILQ_REMOVE(&s->push->closing, s, closing);
	s->state = to;
	if (to == SESSION_CLOSING)
		TAILQ_INSERT_TAIL(&s->push->closing, s, closing);
	if (session_state_over(to))
		hub_leave(s->push->hub, &s->member);
}

enum rc
session_read(struct session *s, struct read_job *job,
    void (*run)(struct read_job *job, struct db *db, struct err *err))
{

	job->run = run;
	job->owner = s->owner;
	return (readers_submit(s->push->options.readers, job));
}

bool
session_has_place(const struct push *p)
{

	return (atomic_load(&p->nsessions) - p->nnewcomers <
		p->options.session_limit);
}

void
session_fini(struct session *s)
{
	struct out_frame *f;

	newcomers_remove(s);
	hub_leave(s->push->hub, &s->member);
	session_forget_batch(s);
	while ((f = STAILQ_FIRST(&s->tx.frames)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->tx.frames, entry);
		mem_free(f);
	}
}

void
session_refuse(
    struct session *s, bool has_re, int64_t re, const struct refusal *refusal)
{

	wire_frame_error(push_frame_begin(s->push), has_re, re, refusal);
	session_reply(s);
}

/* ---- events ---- */

int64_t
session_room(const struct session *s)
{

	return (s->inbox.base + s->inbox.window - s->inbox.cursor);
}

static void
write_event(struct session *s, const struct effect_event *e)
{
	struct event_view v;

	memset(&v, 0, sizeof(v));
	v.seq = e->seq;
	v.event_id = e->event_id;
	v.kind = e->kind;
	v.own = e->own;
	v.conversation = e->conversation;
	v.conversation_seq = e->conversation_seq;
	v.from = e->from->data;
	v.to = e->to != NULL ? e->to->data : NULL;
	v.of = e->of;
	v.event_time = e->event_time;
	v.delivered_at = e->delivered_at;
	v.attempt = e->attempt;
	if (e->kind == EVENT_BOUNCE)
		outbox_bounce_view(&v, e->reason);
	wire_event(push_frame_begin(s->push), &v,
	    e->message != NULL ? e->message->data : NULL,
	    e->message != NULL ? e->message->len : 0, "event");
	s->inbox.cursor = e->seq;
	metrics_add(s->push->options.metrics, METRIC_WS_EVENTS, 1);
	session_write(s);
}

static void
fall_behind(struct session *s)
{

	if (s->state == SESSION_LIVE) {
		metrics_add(s->push->options.metrics, METRIC_WS_BEHIND, 1);
		session_move(s, SESSION_BEHIND);
	}
	session_resume(s);
}

static void
session_event(struct hub_member *m, const struct effect_event *e)
{
	struct session *s = of_member(m);

	thr_assert(THR_PUSH);
	if (e->seq > s->inbox.missed)
		s->inbox.missed = e->seq;
	if (!session_is_open(s) || e->seq <= s->inbox.cursor)
		return;
	if (s->state != SESSION_LIVE || e->seq != s->inbox.cursor + 1 ||
	    session_room(s) <= 0 || !session_writable(s) ||
	    (e->kind == EVENT_MESSAGE && e->message == NULL)) {
		fall_behind(s);
		return;
	}
	write_event(s, e);
}

/* After effects (notices of commits) were dropped, an open session reads pages
 * until one reaches the head of the inbox.  A page that is already being read
 * is not enough, because its snapshot may be older than the dropped effects:
 * `unsure` makes page_read() request one more page. */
void
session_overflow(struct session *s)
{

	if (!session_is_open(s))
		return;
	s->inbox.unsure = true;
	fall_behind(s);
}

static void
session_change(struct hub_member *m, const struct effect_change *c)
{
	struct session *s = of_member(m);

	if (session_is_open(s) && s->hello.wants_outbox)
		session_changed(s, c);
}

/* Called with the ack watermark of a device of the session's user, when any
 * request on any node may have moved it.  If the device is the session's, moves
 * the session's window.  This includes the acks by this session: answer_ack()
 * answers them, and does not move the window. */
static void
session_device_acked(struct hub_member *m, const struct effect_acked *a)
{
	struct session *s = of_member(m);

	if (session_is_open(s) && s->device_id == a->device_id)
		session_acked(s, a->seq);
}

static void
session_whisper(struct hub_member *m, const char *frame, size_t n)
{
	struct session *s = of_member(m);

	if (!session_is_open(s) || !session_writable(s))
		return;
	buf_add(push_frame_begin(s->push), frame, n);
	session_write(s);
}

/* Closes a session if output waits for its socket, and the library's buffer of
 * output has not become empty once in push_stuck.  Events that the client has
 * not got are in the store. */
static void
tick_stuck(struct session *s, int64_t now_ms)
{

	if (session_writable(s))
		s->tx.stuck_ms = 0;
	else if (s->tx.stuck_ms == 0)
		s->tx.stuck_ms = now_ms;
	else if (now_ms - s->tx.stuck_ms >=
		 s->push->options.timing->push_stuck_ms)
		session_close(s, 1013, "you read too slowly");
}

void
session_tick(struct session *s, int64_t now_ms)
{
	const struct timing *t = s->push->options.timing;

	thr_assert(THR_PUSH);
	tick_stuck(s, now_ms);
	if (s->state == SESSION_HELLO &&
	    now_ms - s->opened_ms >= t->push_hello_ms) {
		session_close(s, 4408, "no hello");
		return;
	}
	if (!session_is_open(s))
		return;
	session_resume(s);
	session_show_changes(s);
	if (s->inbox.full_since_ms != 0 && !s->inbox.told_stalled &&
	    now_ms - s->inbox.full_since_ms >= t->push_stalled_ms) {
		s->inbox.told_stalled = true;
		buf_adds(push_frame_begin(s->push), "{\"type\":\"stalled\"}");
		session_reply(s);
	}
}

/* ---- frames ---- */

static void
dispatch(struct session *s, struct wire_doc *doc, const struct frame *f)
{

	switch (f->type) {
	case FRAME_ACK:
		session_ack(s, f);
		break;
	case FRAME_READ:
		session_mark_read(s, f);
		break;
	case FRAME_SEND:
		session_send(s, doc, f);
		return; /* session_send() has taken doc */
	case FRAME_TYPING:
		session_typing(s, f);
		break;
	case FRAME_PING:
		buf_adds(push_frame_begin(s->push), "{\"type\":\"pong\"");
		if (f->has_re)
			jw_int(&s->push->tx, "re", f->re);
		buf_addc(&s->push->tx, '}');
		session_reply(s);
		break;
	case FRAME_HELLO:
	default:
		session_close(s, 4400, "hello twice");
		break;
	}
	wire_doc_fini(doc);
}

/* Closes the session.  The caller could not parse a message, or has refused a
 * frame that has no id or came before the session was open.  Code 4400 says
 * that the client is wrong and must not reconnect.  When memory is short
 * (RC_NO_MEMORY), the frame may be right, so the code is 1013, after which the
 * client may reconnect. */
static void
close_unread(struct session *s, enum rc rc)
{

	if (rc == RC_NO_MEMORY)
		session_close(s, rc_ws_close(rc), "out of memory");
	else
		session_close(s, 4400, "bad frame");
}

void
session_received(struct session *s, const char *text, size_t n)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct frame f;
	enum rc rc;

	thr_assert(THR_PUSH);
	if (session_state_over(s->state))
		return;
	memset(&f, 0, sizeof(f));
	rc = wire_parse(text, n, &doc, &r);
	if (rc != RC_OK) {
		session_refuse(s, false, 0, &r);
		close_unread(s, rc);
		return;
	}
	rc = wire_frame_read(&doc, &f, &r);
	if (rc != RC_OK) {
		/* The frame cannot be read, so the client gets an error frame.
		 * An open session goes on if the frame has an id.  Without an
		 * id the client cannot know which frame was refused, so the
		 * session ends.  A session that is not open yet ends in both
		 * cases.  This is not the rule for a frame that was read: a
		 * send refused because of a rate limit never ends the
		 * session. */
		session_refuse(s, f.has_re, f.re, &r);
		if (!f.has_re || !session_is_open(s))
			close_unread(s, rc);
		wire_doc_fini(&doc);
		return;
	}
	if (session_is_open(s)) {
		dispatch(s, &doc, &f);
		return;
	}
	if (s->state == SESSION_HELLO && f.type == FRAME_HELLO) {
		session_hello(s, &f);
	} else {
		refusal_set(&r, PROBLEM_BAD_REQUEST, "/type",
		    "the first frame is hello; wait for welcome");
		session_refuse(s, f.has_re, f.re, &r);
		session_close(s, 4400, "hello comes first");
	}
	wire_doc_fini(&doc);
}
