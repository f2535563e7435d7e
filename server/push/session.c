/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session: hello, and the cursor that runs after the inbox.
 *
 *	HELLO --hello--> OPENING --store says who and where--> OPEN
 *	  any --session_close()--> CLOSING --writable--> gone
 *
 * A session joins the hub before the store is read, so that what commits after
 * the read is told; what is told while it is behind is only remembered as
 * `missed`.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "push/push_internal.h"
#include "store/conversation.h"
#include "store/inbox.h"
#include "wire/json.h"

/* A job in a reader's thread on behalf of a session. */
struct session_job {
	struct read_job job; /* first */
	struct push_note note;
	struct push *push;
	int64_t no;
	enum rc rc;

	/* Opening. */
	uint8_t token_hash[STORE_HASH_LEN];
	bool need_principal;
	uint64_t generation;
	struct principal principal;
	struct store_counter counter;
	int64_t acked, unread;

	/* A page of events: frames one after another, the end of each. */
	int64_t user_id, after, limit;
	struct buf frames;
	size_t ends[PAGE_EVENTS];
	int64_t seqs[PAGE_EVENTS];
	int count;
};

static struct session_job *
job_of_note(struct push_note *note)
{

	return (
	    (struct session_job *)(void *)((char *)note -
					   offsetof(struct session_job, note)));
}

static void
job_free(struct session_job *j)
{

	buf_fini(&j->frames);
	mem_free(j);
}

/* Hands ${j} to a reader; its note then runs ${back}.  False: refused, freed.
 */
static bool
job_submit(struct session *s, struct session_job *j,
    void (*run)(struct read_job *job, struct db *db, struct err *err),
    void (*back)(struct push *p, struct push_note *note))
{

	j->job.run = run;
	j->note.run = back;
	j->push = s->push;
	j->no = s->no;
	if (readers_submit(s->push->options.readers, &j->job) == RC_OK)
		return (true);
	job_free(j);
	return (false);
}

/* ---- life ---- */

static void session_event(struct hub_member *m, const struct domain_event *e);
static void session_change(struct hub_member *m, const struct domain_change *c);
static void session_whisper(struct hub_member *m, const char *frame, size_t n);

static const struct hub_ops session_ops = {
    session_event, session_change, session_whisper};

static struct session *
of_member(struct hub_member *m)
{

	return ((struct session *)(void *)((char *)m -
					   offsetof(struct session, member)));
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
	buf_init(&s->rx, LIMIT_REQUEST_LEN);
	STAILQ_INIT(&s->out);
}

void
session_fini(struct session *s)
{
	struct out_frame *f;

	hub_leave(s->push->hub, &s->member);
	while ((f = STAILQ_FIRST(&s->out)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->out, entry);
		mem_free(f);
	}
	buf_fini(&s->rx);
}

void
session_refuse(
    struct session *s, bool has_re, int64_t re, const struct refusal *refusal)
{

	wire_frame_error(tx_begin(s->push), has_re, re, refusal);
	session_reply(s);
}

/* ---- opening ---- */

static bool
same_place(const struct session *a, const struct session *b)
{

	return (a->device_id == b->device_id &&
		strcmp(a->instance, b->instance) == 0);
}

/* The same instance of the device is replaced; a device has only so many. */
static bool
make_room(struct session *s)
{
	struct session *other;
	int n;

	n = 0;
	TAILQ_FOREACH (other, &s->push->all, all) {
		if (other == s || other->device_id != s->device_id ||
		    other->state == SESSION_CLOSING)
			continue;
		if (same_place(other, s))
			session_close(other, 4409, "replaced");
		else
			n++;
	}
	return (n < LIMIT_INSTANCES_PER_DEVICE);
}

static void
read_opening(struct read_job *job, struct db *db, struct err *err)
{
	struct session_job *j = (struct session_job *)(void *)job;

	j->rc = db == NULL ? err->rc : RC_OK;
	if (j->rc == RC_OK && j->need_principal)
		j->rc = auth_load(db, j->token_hash, &j->principal, err);
	if (j->rc == RC_OK)
		j->rc = store_counter_get(
		    db, j->principal.user_id, &j->counter, err);
	if (j->rc == RC_OK)
		j->rc = store_device_acked_get(
		    db, j->principal.device_id, &j->acked, err);
	if (j->rc == RC_OK)
		j->rc = store_unread_total(
		    db, j->principal.user_id, &j->unread, err);
	push_post(j->push, &j->note);
}

static void
write_welcome(struct session *s, const struct session_job *j, bool recovered)
{
	char name[32];
	struct buf *b;

	b = tx_begin(s->push);
	buf_addc(b, '{');
	jw_str(b, "type", "welcome");
	if (s->has_re)
		jw_int(b, "re", s->re);
	(void)snprintf(name, sizeof(name), "s%lld", (long long)s->no);
	jw_str(b, "session", name);
	jw_str(b, "user", s->user);
	jw_str(b, "epoch", s->push->options.epoch);
	jw_int(b, "head", j->counter.head);
	jw_int(b, "oldest", j->counter.oldest);
	jw_int(b, "acked", j->acked);
	jw_int(b, "unread", j->unread);
	jw_bool(b, "recovered", recovered);
	jw_int(b, "ping_ms", PING_S * 1000);
	jw_int(b, "window", s->window);
	buf_addc(b, '}');
	session_reply(s);
}

/* A cursor that cannot be served is refused, never served partially. */
static bool
check_cursor(struct session *s, const struct session_job *j)
{
	struct refusal r = REFUSAL_INIT;

	if (!s->has_after)
		return (true);
	if ((s->after_epoch[0] == '\0' ||
		strcmp(s->after_epoch, s->push->options.epoch) == 0) &&
	    s->after <= j->counter.head)
		return (true);
	refusal_set(&r, PROBLEM_CURSOR_EXPIRED, "/after",
	    s->after > j->counter.head
		? "the inbox ends before this cursor"
		: "the cursor belongs to another epoch of the database");
	r.head = j->counter.head;
	r.oldest = j->counter.oldest;
	(void)snprintf(r.epoch, sizeof(r.epoch), "%s", s->push->options.epoch);
	session_refuse(s, s->has_re, s->re, &r);
	session_close(s, 4410, "cursor expired");
	return (false);
}

static void
open_session(struct session *s, const struct session_job *j)
{
	bool recovered;

	if (!check_cursor(s, j))
		return;
	s->cursor = s->has_after ? s->after : j->acked;
	recovered = s->cursor >= j->counter.oldest - 1;
	if (!recovered)
		s->cursor = j->counter.oldest - 1;
	s->base = s->cursor > j->acked ? s->cursor : j->acked;
	s->state = SESSION_OPEN;
	write_welcome(s, j, recovered);
	/* Even with nothing to read, the reading says that it is caught up. */
	s->behind = true;
	session_kick(s);
}

static void
opened(struct push *p, struct push_note *note)
{
	struct session_job *j = job_of_note(note);
	struct session *s;
	struct refusal r = REFUSAL_INIT;

	s = push_session(p, j->no);
	if (s == NULL || s->state != SESSION_OPENING) {
		job_free(j);
		return;
	}
	if (j->rc == RC_OK && j->need_principal)
		auth_put(p->options.auth, j->token_hash, &j->principal,
		    j->generation);
	if (j->rc == RC_NOT_FOUND) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "/token",
		    "the token is unknown or revoked");
		session_refuse(s, s->has_re, s->re, &r);
		session_close(s, 4401, "unauthenticated");
	} else if (j->rc != RC_OK) {
		session_close(s, 1011, "the store failed");
	} else {
		open_session(s, j);
	}
	job_free(j);
}

/* The token is known: take the place, join the hub, then read. */
static void
begin_opening(struct session *s, struct session_job *j)
{
	const struct principal *who = &j->principal;

	s->state = SESSION_OPENING;
	s->device_id = who->device_id;
	s->device = who->device;
	(void)snprintf(
	    s->user, sizeof(s->user), "%.*s", LIMIT_NAME_LEN, who->name);
	s->member.user_id = who->user_id;
	if (!make_room(s)) {
		session_close(s, 4429, "too many instances of this device");
		job_free(j);
		return;
	}
	if (hub_join(s->push->hub, &s->member) != RC_OK) {
		session_close(s, 1013, "out of memory");
		job_free(j);
		return;
	}
	if (!job_submit(s, j, read_opening, opened))
		session_close(s, 1013, "busy");
}

/* The principal had to be asked for: now the place can be taken. */
static void
identified(struct push *p, struct push_note *note)
{
	struct session_job *j = job_of_note(note);
	struct session *s;
	struct refusal r = REFUSAL_INIT;

	s = push_session(p, j->no);
	if (s == NULL || s->state != SESSION_OPENING) {
		job_free(j);
		return;
	}
	if (j->rc != RC_OK) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "/token",
		    "the token is unknown or revoked");
		if (j->rc == RC_NOT_FOUND)
			session_refuse(s, s->has_re, s->re, &r);
		session_close(s, j->rc == RC_NOT_FOUND ? 4401 : 1011,
		    j->rc == RC_NOT_FOUND ? "unauthenticated" : "");
		job_free(j);
		return;
	}
	auth_put(p->options.auth, j->token_hash, &j->principal, j->generation);
	/* Until it has its place, no revocation finds this session: who was
	 * asked before that is asked once more. */
	j->need_principal = true;
	begin_opening(s, j);
}

static void
read_principal(struct read_job *job, struct db *db, struct err *err)
{
	struct session_job *j = (struct session_job *)(void *)job;

	j->rc = db == NULL ? err->rc
			   : auth_load(db, j->token_hash, &j->principal, err);
	push_post(j->push, &j->note);
}

void
session_set_token(struct session *s, const char *text, size_t n)
{

	s->has_token = auth_token_hash(text, n, s->token_hash);
}

static void
hello(struct session *s, const struct frame *f)
{
	struct refusal r = REFUSAL_INIT;
	struct session_job *j;

	s->has_re = f->has_re;
	s->re = f->re;
	s->window = f->window;
	s->wants_outbox = f->outbox;
	(void)snprintf(s->instance, sizeof(s->instance), "%.*s",
	    (int)f->instance.n, f->instance.p != NULL ? f->instance.p : "");
	s->has_after =
	    f->after.p != NULL && wire_cursor_parse(f->after.p, f->after.n,
				      s->after_epoch, &s->after);
	if (f->token.p != NULL)
		session_set_token(s, f->token.p, f->token.n);
	if (!s->has_token) {
		refusal_set(&r, PROBLEM_UNAUTHENTICATED, "/token",
		    "hello carries no valid token, nor did the upgrade");
		session_refuse(s, s->has_re, s->re, &r);
		session_close(s, 4401, "unauthenticated");
		return;
	}
	j = mem_zalloc(1, sizeof(*j));
	if (j == NULL) {
		session_close(s, 1013, "out of memory");
		return;
	}
	buf_init(&j->frames, 0);
	memcpy(j->token_hash, s->token_hash, sizeof(j->token_hash));
	s->state = SESSION_OPENING;
	j->generation = auth_generation(s->push->options.auth);
	if (auth_find(s->push->options.auth, j->token_hash, &j->principal))
		begin_opening(s, j);
	else if (!job_submit(s, j, read_principal, identified))
		session_close(s, 1013, "busy");
}

/* ---- events ---- */

static int64_t
room(const struct session *s)
{

	return (s->base + s->window - s->cursor);
}

static void
note_full(struct session *s)
{

	if (s->full_since_ms == 0)
		s->full_since_ms = clk_mono_ms(s->push->options.clk);
}

static void
write_event(struct session *s, const struct domain_event *e)
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
	wire_event(tx_begin(s->push), &v,
	    e->message != NULL ? e->message->data : NULL,
	    e->message != NULL ? e->message->len : 0, "event");
	s->cursor = e->seq;
	metrics_add(s->push->options.metrics, METRIC_WS_EVENTS, 1);
	session_write(s);
}

static void
fall_behind(struct session *s)
{

	if (!s->behind)
		metrics_add(s->push->options.metrics, METRIC_WS_BEHIND, 1);
	s->behind = true;
	session_kick(s);
}

static void
session_event(struct hub_member *m, const struct domain_event *e)
{
	struct session *s = of_member(m);

	if (e->seq > s->missed)
		s->missed = e->seq;
	if (s->state != SESSION_OPEN || e->seq <= s->cursor)
		return;
	if (s->behind || e->seq != s->cursor + 1 || room(s) <= 0 ||
	    !session_writable(s) ||
	    (e->kind == EVENT_MESSAGE && e->message == NULL)) {
		fall_behind(s);
		return;
	}
	write_event(s, e);
}

static void
session_change(struct hub_member *m, const struct domain_change *c)
{
	struct session *s = of_member(m);

	if (s->state == SESSION_OPEN && s->wants_outbox)
		session_changed(s, c->mid);
}

static void
session_whisper(struct hub_member *m, const char *frame, size_t n)
{
	struct session *s = of_member(m);

	if (s->state != SESSION_OPEN || !session_writable(s))
		return;
	buf_add(tx_begin(s->push), frame, n);
	session_write(s);
}

/* ---- reading on ---- */

static enum rc
add_frame(void *arg, const struct event_view *e, struct err *err)
{
	struct session_job *j = arg;

	(void)err;
	/* Each frame has room in front for the library's header. */
	if (buf_reserve(&j->frames, LWS_PRE) != NULL)
		j->frames.len += LWS_PRE;
	wire_event(&j->frames, e, NULL, 0, "event");
	j->seqs[j->count] = e->seq;
	j->ends[j->count] = j->frames.len;
	j->count++;
	return (RC_OK);
}

static void
read_page(struct read_job *job, struct db *db, struct err *err)
{
	struct session_job *j = (struct session_job *)(void *)job;

	j->rc = db == NULL ? err->rc : RC_OK;
	if (j->rc == RC_OK)
		j->rc = store_inbox_page(db, j->user_id, j->after, INT64_MAX,
		    j->limit, add_frame, j, err);
	if (j->rc == RC_OK && !buf_ok(&j->frames))
		j->rc = RC_NO_MEMORY;
	push_post(j->push, &j->note);
}

static void
write_page(struct session *s, struct session_job *j)
{
	size_t start;
	int i;

	start = 0;
	for (i = 0; i < j->count && s->state == SESSION_OPEN; i++) {
		if (j->seqs[i] == s->cursor + 1) {
			if (!session_writable(s) || room(s) <= 0)
				return;
			s->cursor = j->seqs[i];
			metrics_add(
			    s->push->options.metrics, METRIC_WS_EVENTS, 1);
			if (lws_write(s->wsi,
				(unsigned char *)j->frames.data + start +
				    LWS_PRE,
				j->ends[i] - start - LWS_PRE,
				LWS_WRITE_TEXT) < 0) {
				session_close(s, 1011, "");
				return;
			}
		}
		start = j->ends[i];
	}
}

static void
tell_caught_up(struct session *s)
{
	struct buf *b;

	if (s->told_caught_up)
		return;
	s->told_caught_up = true;
	b = tx_begin(s->push);
	buf_addc(b, '{');
	jw_str(b, "type", "caught_up");
	jw_int(b, "seq", s->cursor);
	buf_addc(b, '}');
	session_reply(s);
}

static void
page_read(struct push *p, struct push_note *note)
{
	struct session_job *j = job_of_note(note);
	struct session *s;
	bool last;

	s = push_session(p, j->no);
	if (s == NULL || s->state != SESSION_OPEN) {
		job_free(j);
		return;
	}
	s->reading = false;
	if (j->rc != RC_OK) {
		session_close(s, 1011, "the store failed");
		job_free(j);
		return;
	}
	/* An inbox has no holes: a page that is not full ended at the head. */
	last = j->count < j->limit;
	write_page(s, j);
	last = last && (j->count == 0 || s->cursor >= j->seqs[j->count - 1]);
	job_free(j);
	if (s->state != SESSION_OPEN)
		return;
	if (last && s->missed <= s->cursor) {
		s->behind = false;
		tell_caught_up(s);
		return;
	}
	session_kick(s);
}

void
session_kick(struct session *s)
{
	struct session_job *j;

	if (s->state != SESSION_OPEN || !s->behind || s->reading)
		return;
	if (room(s) <= 0) {
		note_full(s);
		return;
	}
	if (!session_writable(s)) {
		(void)lws_callback_on_writable(s->wsi);
		return;
	}
	j = mem_zalloc(1, sizeof(*j));
	if (j == NULL) {
		session_close(s, 1013, "out of memory");
		return;
	}
	buf_init(&j->frames, 0);
	j->user_id = s->member.user_id;
	j->after = s->cursor;
	j->limit = room(s) < PAGE_EVENTS ? room(s) : PAGE_EVENTS;
	s->reading = job_submit(s, j, read_page, page_read);
	/* When the readers are busy, the tick tries again. */
}

void
session_acked(struct session *s, int64_t seq)
{

	if (seq <= s->base)
		return;
	s->base = seq;
	if (room(s) > 0) {
		s->full_since_ms = 0;
		s->told_stalled = false;
		session_kick(s);
	}
}

void
session_tick(struct session *s, int64_t now_ms)
{

	if (s->state == SESSION_HELLO && now_ms - s->opened_ms >= HELLO_MS) {
		session_close(s, 4408, "no hello");
		return;
	}
	if (s->state != SESSION_OPEN)
		return;
	session_kick(s);
	if (s->full_since_ms != 0 && !s->told_stalled &&
	    now_ms - s->full_since_ms >= STALLED_MS) {
		s->told_stalled = true;
		buf_adds(tx_begin(s->push), "{\"type\":\"stalled\"}");
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
		return; /* has taken doc */
	case FRAME_TYPING:
		session_typing(s, f);
		break;
	case FRAME_PING:
		buf_adds(tx_begin(s->push), "{\"type\":\"pong\"");
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

void
session_received(struct session *s, const char *text, size_t n)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct frame f;
	enum rc rc;

	if (s->state == SESSION_CLOSING)
		return;
	memset(&f, 0, sizeof(f));
	rc = wire_parse(text, n, &doc, &r);
	if (rc != RC_OK) {
		session_refuse(s, false, 0, &r);
		session_close(s, 4400, "bad frame");
		return;
	}
	rc = wire_frame_read(&doc, &f, &r);
	if (rc != RC_OK) {
		/* A request with an id gets its answer and goes on; what
		 * cannot even be answered ends the session. */
		session_refuse(s, f.has_re, f.re, &r);
		if (!f.has_re || s->state != SESSION_OPEN)
			session_close(s, 4400, "bad frame");
		wire_doc_fini(&doc);
		return;
	}
	if (s->state == SESSION_OPEN) {
		dispatch(s, &doc, &f);
		return;
	}
	if (s->state == SESSION_HELLO && f.type == FRAME_HELLO) {
		hello(s, &f);
	} else {
		refusal_set(&r, PROBLEM_BAD_REQUEST, "/type",
		    "the first frame is hello; wait for welcome");
		session_refuse(s, f.has_re, f.re, &r);
		session_close(s, 4400, "hello comes first");
	}
	wire_doc_fini(&doc);
}
