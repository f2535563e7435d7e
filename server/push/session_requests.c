/* SPDX-License-Identifier: MIT */
/*
 * The requests of a client in a session: ack, read, send.  Each request is an
 * object of its own that names its session by number, because the session may
 * have ended when the answer comes.
 */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "chat/ack.h"
#include "chat/read.h"
#include "chat/send_request.h"
#include "push/push_internal.h"
#include "store/conversation.h"
#include "wire/json.h"

void *
session_request_new(struct session *s, size_t size,
    void (*back)(struct push *p, struct push_task *task))
{
	struct session_request *r;

	r = mem_zalloc(1, size);
	if (r == NULL) {
		session_close(s, 1013, "out of memory");
		return (NULL);
	}
	r->task.run = back;
	r->push = s->push;
	r->no = s->no;
	return (r);
}

void
session_request_back(struct session_request *r)
{

	push_post(r->push, &r->task);
}

struct buf *
session_ok_begin(struct session *s, const struct session_request *r,
    const struct refusal *refusal)
{
	struct buf *b;

	if (refusal->problem != PROBLEM_NONE) {
		session_refuse(s, r->has_re, r->re, refusal);
		return (NULL);
	}
	if (!r->has_re)
		return (NULL);
	b = push_frame_begin(s->push);
	buf_adds(b, "{\"type\":\"ok\"");
	jw_int(b, "re", r->re);
	return (b);
}

/* ---- ack ---- */

struct ack_request {
	struct session_request request; /* first */
	struct ack_unit unit;
};

static void
ack_finished(struct unit *base)
{
	struct ack_unit *unit = CONTAINER_OF(base, struct ack_unit, unit);
	struct ack_request *r = unit->arg;

	session_request_back(&r->request);
}

static void submit_stream(struct session *s);

static void
answer_ack(struct session *s, const struct ack_request *r)
{
	struct buf *b;

	if ((b = session_ok_begin(s, &r->request, &r->unit.refusal)) == NULL)
		return;
	jw_int(b, "acked", r->unit.acked);
	jw_int(b, "head", r->unit.head);
	buf_addc(b, '}');
	session_reply(s);
}

static void
acked(struct push *p, struct push_task *task)
{
	struct ack_request *r = (struct ack_request *)(void *)task;
	struct session *s;

	s = push_session(p, r->request.no);
	if (s != NULL && session_is_open(s)) {
		/* The client repeats a failed ack, or its next ack has a higher
		 * number. */
		if (r->unit.unit.rc != RC_OK)
			refusal_of_unit(&r->unit.refusal, r->unit.unit.rc);
		if (r->request.has_re)
			s->requests.reads--;
		else
			s->requests.acking = false;
		answer_ack(s, r);
		submit_stream(s);
	}
	mem_free(r);
}

static bool
submit_ack(struct session *s, int64_t upto, bool has_re, int64_t re)
{
	struct ack_request *r;

	r = session_request_new(s, sizeof(*r), acked);
	if (r == NULL)
		return (false);
	ack_unit_init(&r->unit);
	r->request.has_re = has_re;
	r->request.re = re;
	r->unit.user_id = s->member.user_id;
	r->unit.device_id = s->device_id;
	r->unit.upto = upto;
	r->unit.unit.finish = ack_finished;
	r->unit.arg = r;
	if (writer_submit(s->push->options.writer, &r->unit.unit) == RC_OK)
		return (true);
	mem_free(r);
	session_close(s, 1013, "busy");
	return (false);
}

/* Submits the ack without an id that waits (requests.ack_next), if one waits
 * and no other ack without an id is under way.  While one is, session_ack()
 * keeps in ack_next only the highest seq of those that come. */
static void
submit_stream(struct session *s)
{

	if (s->requests.acking || s->requests.ack_next == 0 ||
	    !session_is_open(s))
		return;
	s->requests.acking = submit_ack(s, s->requests.ack_next, false, 0);
	s->requests.ack_next = 0;
}

void
session_refuse_busy(struct session *s, const struct frame *f, int limit)
{
	struct refusal r = REFUSAL_INIT;

	refusal_set(&r, PROBLEM_BUSY, "",
	    "%d requests of this session are under way; wait for answers",
	    limit);
	session_refuse(s, f->has_re, f->re, &r);
}

void
session_refuse_rc(struct session *s, const struct frame *f, enum rc rc)
{
	struct refusal r = REFUSAL_INIT;

	refusal_of_rc(&r, rc);
	session_refuse(s, f->has_re, f->re, &r);
}

void
session_ack(struct session *s, const struct frame *f)
{

	if (f->has_re) {
		if (s->requests.reads >= READS_MAX)
			session_refuse_busy(s, f, READS_MAX);
		else if (submit_ack(s, f->upto, true, f->re))
			s->requests.reads++;
		return;
	}
	if (f->upto > s->requests.ack_next)
		s->requests.ack_next = f->upto;
	submit_stream(s);
}

/* ---- read ---- */

struct read_request {
	struct session_request request; /* first */
	struct read_unit unit;
	/* Counts the unread messages, if the client wants an answer. */
	struct read_job job;
	bool counted;
	int64_t unread;
};

static void
read_finished(struct unit *base)
{
	struct read_unit *unit = CONTAINER_OF(base, struct read_unit, unit);
	struct read_request *r = unit->arg;

	session_request_back(&r->request);
}

static void
count_unread(struct read_job *job, struct db *db, struct err *err)
{
	struct read_request *r = CONTAINER_OF(job, struct read_request, job);

	r->unit.unit.rc = db == NULL ? err->rc
				     : store_unread_total(db, r->unit.user_id,
					   &r->unread, err);
	session_request_back(&r->request);
}

static void
answer_read(struct session *s, const struct read_request *r)
{
	struct buf *b;

	if ((b = session_ok_begin(s, &r->request, &r->unit.refusal)) == NULL)
		return;
	jw_int(b, "unread", r->unread);
	buf_addc(b, '}');
	session_reply(s);
}

static void
read_done(struct push *p, struct push_task *task)
{
	struct read_request *r = (struct read_request *)(void *)task;
	struct session *s;

	s = push_session(p, r->request.no);
	if (s == NULL || !session_is_open(s)) {
		mem_free(r);
		return;
	}
	if (r->unit.unit.rc == RC_OK && r->request.has_re && !r->counted &&
	    r->unit.refusal.problem == PROBLEM_NONE) {
		r->counted = true;
		if (session_read(s, &r->job, count_unread) == RC_OK)
			return;
		r->unit.unit.rc = RC_BUSY;
	}
	if (r->unit.unit.rc != RC_OK && r->counted)
		refusal_of_rc(&r->unit.refusal, r->unit.unit.rc);
	else if (r->unit.unit.rc != RC_OK)
		refusal_of_unit(&r->unit.refusal, r->unit.unit.rc);
	s->requests.reads--;
	answer_read(s, r);
	mem_free(r);
}

void
session_mark_read(struct session *s, const struct frame *f)
{
	struct read_request *r;
	enum rc rc;

	if (s->requests.reads >= READS_MAX) {
		session_refuse_busy(s, f, READS_MAX);
		return;
	}
	r = session_request_new(s, sizeof(*r), read_done);
	if (r == NULL)
		return;
	read_unit_init(&r->unit);
	r->request.has_re = f->has_re;
	r->request.re = f->re;
	r->unit.user_id = s->member.user_id;
	r->unit.device_id = s->device_id;
	r->unit.form = f->has_conversation ? READ_CONVERSATION : READ_UPTO;
	r->unit.upto = f->has_conversation ? f->upto_conversation_seq : f->upto;
	r->unit.conversation = f->conversation;
	r->unit.is_private = f->is_private;
	r->unit.unit.finish = read_finished;
	r->unit.arg = r;
	rc = writer_submit(s->push->options.writer, &r->unit.unit);
	if (rc != RC_OK) {
		mem_free(r);
		session_refuse_rc(s, f, rc);
		return;
	}
	s->requests.reads++;
}

/* ---- send ---- */

struct send_frame {
	struct session_request request; /* first */
	struct send_request send;
	struct read_job job; /* a replay reads the current entry */
	struct wire_doc doc;
	struct buf entry;
	enum rc rc;
	struct refusal no_room; /* why there is no room for a new message */
};

/* Puts "/message" before the JSON pointer of a refusal, so that it starts at
 * the frame, whose member "message" is the message.  An empty pointer stays
 * empty. */
static void
name_message(struct refusal *r)
{

	if (r->pointer[0] != '\0')
		refusal_prefix(r, "/message");
}

static void
send_free(struct send_frame *r)
{

	wire_doc_fini(&r->doc);
	buf_fini(&r->entry);
	mem_free(r);
}

static void
write_sent(struct session *s, struct send_frame *r)
{
	struct buf *b;

	b = push_frame_begin(s->push);
	buf_adds(b, "{\"type\":\"sent\"");
	if (r->request.has_re)
		jw_int(b, "re", r->request.re);
	jw_bool(b, "replayed", r->send.unit.replayed);
	buf_adds(b, ",\"entry\":");
	if (r->send.unit.replayed) {
		buf_add(b, r->entry.data, r->entry.len);
	} else {
		send_request_entry(&r->send, b);
	}
	buf_addc(b, '}');
	session_reply(s);
}

static void
read_replayed(struct read_job *job, struct db *db, struct err *err)
{
	struct send_frame *r = CONTAINER_OF(job, struct send_frame, job);
	const struct entry_of of = {
	    r->send.unit.sender_id, r->send.unit.max_retries};

	r->rc = db == NULL ? err->rc
			   : entry_get(db, &of, &r->send.draft.id, entry_append,
				 &r->entry, err);
	if (r->rc == RC_OK && !buf_ok(&r->entry))
		r->rc = RC_NO_MEMORY;
	session_request_back(&r->request);
}

static void
sent(struct push *p, struct push_task *task)
{
	struct send_frame *r = (struct send_frame *)(void *)task;
	struct refusal *refusal = &r->send.unit.refusal;
	struct session *s;

	s = push_session(p, r->request.no);
	if (s == NULL || !session_is_open(s)) {
		send_free(r);
		return;
	}
	if (r->send.unit.unit.rc != RC_OK)
		refusal_of_unit(refusal, r->send.unit.unit.rc);
	if (refusal->problem == PROBLEM_NONE && r->send.unit.replayed &&
	    r->entry.len == 0 && r->rc == RC_OK) {
		if (session_read(s, &r->job, read_replayed) == RC_OK)
			return;
		refusal_of_rc(refusal, RC_BUSY);
	}
	if (r->rc != RC_OK)
		refusal_of_rc(refusal, r->rc);
	s->requests.sends--;
	if (refusal->problem != PROBLEM_NONE) {
		name_message(refusal);
		session_refuse(s, r->request.has_re, r->request.re, refusal);
	} else {
		write_sent(s, r);
	}
	send_free(r);
}

static void
send_finished(struct unit *base)
{
	struct send_unit *unit = CONTAINER_OF(base, struct send_unit, unit);
	struct send_frame *r = unit->arg;

	send_request_done(&r->send);
	session_request_back(&r->request);
}

/* Returns whether the user may send now.  If not, the refusal has been sent. */
static bool
may_send(struct session *s, const struct frame *f)
{
	const struct push_options *o = &s->push->options;
	struct refusal r = REFUSAL_INIT;

	if (s->requests.sends >= SENDS_MAX) {
		session_refuse_busy(s, f, SENDS_MAX);
		return (false);
	}
	if (o->admits == NULL ||
	    o->admits(o->admits_arg, s->member.user_id, &r.retry_after_s))
		return (true);
	refusal_set(&r, PROBLEM_RATE_LIMITED, "",
	    "at most %g requests a second", o->rate_limit);
	session_refuse(s, f->has_re, f->re, &r);
	return (false);
}

void
session_send(struct session *s, struct wire_doc *doc, const struct frame *f)
{
	struct refusal refusal = REFUSAL_INIT;
	struct send_frame *r;
	struct unit *unit;
	enum rc rc;

	if (!may_send(s, f)) {
		wire_doc_fini(doc);
		return;
	}
	r = session_request_new(s, sizeof(*r), sent);
	if (r == NULL) {
		wire_doc_fini(doc);
		return;
	}
	r->doc = *doc;
	r->send.draft = f->message;
	r->request.has_re = f->has_re;
	r->request.re = f->re;
	buf_init(&r->entry, 0);
	if (send_request_prepare(&r->send, s->push->options.gate,
		s->member.user_id, &refusal) != RC_OK) {
		name_message(&refusal);
		session_refuse(s, r->request.has_re, r->request.re, &refusal);
		send_free(r);
		return;
	}
	r->no_room = (struct refusal)REFUSAL_INIT;
	send_request_admit(&r->send, 1, &r->no_room);
	unit = &r->send.unit.unit;
	unit->finish = send_finished;
	r->send.unit.arg = r;
	rc = writer_submit(s->push->options.writer, unit);
	if (rc != RC_OK) {
		unit->rc = rc;
		refusal_of_rc(&refusal, rc);
		send_request_done(&r->send);
		session_refuse(s, r->request.has_re, r->request.re, &refusal);
		send_free(r);
		return;
	}
	s->requests.sends++;
}
